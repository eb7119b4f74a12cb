// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/body.h"

#include "app/http/chars.h"
#include "app/http/scan.h"

enum class {
    HEX,
    TOKEN,
    BLANK,
    SEMICOLON,
    EQUALS,
    QUOTE,
    BACKSLASH,
    COLON,
    CR,
    LF,
    TEXT,
    BAD,
    CLASSES
};

enum state {
    REFUSED,  // empty entries of the table
    LENGTH,   // content with Content-Length
    SIZE_FIRST,
    SIZE,
    SIZE_BLANK,  // states of extensions from here ...
    NAME_FIRST,
    NAME,
    NAME_BLANK,
    VALUE_FIRST,
    VALUE,
    QUOTED,
    QUOTED_PAIR,
    VALUE_END,
    VALUE_BLANK,  // ... to here
    SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    FIELD_FIRST,  // states of trailers from here
    FIELD_NAME,
    FIELD_VALUE,
    FIELD_LF,
    END_LF,
    DONE,
    STATES
};

static const uint8_t next[STATES][CLASSES] = {
    [SIZE_FIRST] = {[HEX] = SIZE},
    [SIZE] = {[HEX] = SIZE, [BLANK] = SIZE_BLANK, [SEMICOLON] = NAME_FIRST, [CR] = SIZE_LF},
    [SIZE_BLANK] = {[BLANK] = SIZE_BLANK, [SEMICOLON] = NAME_FIRST},
    [NAME_FIRST] = {[BLANK] = NAME_FIRST, [HEX] = NAME, [TOKEN] = NAME},
    [NAME] = {[HEX] = NAME,
              [TOKEN] = NAME,
              [BLANK] = NAME_BLANK,
              [EQUALS] = VALUE_FIRST,
              [SEMICOLON] = NAME_FIRST,
              [CR] = SIZE_LF},
    [NAME_BLANK] = {[BLANK] = NAME_BLANK, [EQUALS] = VALUE_FIRST, [SEMICOLON] = NAME_FIRST},
    [VALUE_FIRST] = {[BLANK] = VALUE_FIRST, [HEX] = VALUE, [TOKEN] = VALUE, [QUOTE] = QUOTED},
    [VALUE] = {[HEX] = VALUE,
               [TOKEN] = VALUE,
               [BLANK] = VALUE_BLANK,
               [SEMICOLON] = NAME_FIRST,
               [CR] = SIZE_LF},
    [QUOTED] = {[HEX... EQUALS] = QUOTED,
                [COLON] = QUOTED,
                [TEXT] = QUOTED,
                [QUOTE] = VALUE_END,
                [BACKSLASH] = QUOTED_PAIR},
    [QUOTED_PAIR] = {[HEX... COLON] = QUOTED, [TEXT] = QUOTED},
    [VALUE_END] = {[BLANK] = VALUE_BLANK, [SEMICOLON] = NAME_FIRST, [CR] = SIZE_LF},
    [VALUE_BLANK] = {[BLANK] = VALUE_BLANK, [SEMICOLON] = NAME_FIRST},
    [SIZE_LF] = {[LF] = CHUNK},
    [CHUNK_CR] = {[CR] = CHUNK_LF},
    [CHUNK_LF] = {[LF] = SIZE_FIRST},
    [FIELD_FIRST] = {[HEX] = FIELD_NAME, [TOKEN] = FIELD_NAME, [CR] = END_LF},
    [FIELD_NAME] = {[HEX] = FIELD_NAME, [TOKEN] = FIELD_NAME, [COLON] = FIELD_VALUE},
    [FIELD_VALUE] = {[HEX... COLON] = FIELD_VALUE, [TEXT] = FIELD_VALUE, [CR] = FIELD_LF},
    [FIELD_LF] = {[LF] = FIELD_FIRST},
    [END_LF] = {[LF] = DONE},
};

static enum class class_of(uint8_t b) {
    switch (b){
        case ' ' : case '\t' : return BLANK; case ';' : return SEMICOLON; case '=' : return EQUALS;
        case '"' : return QUOTE;
        case '\\' : return BACKSLASH;
        case ':' : return COLON;
        case '\r' : return CR;
        case '\n' : return LF;
        default : if (http_hex(b) >= 0) return HEX;
        return http_is(b, HTTP_TCHAR) ? TOKEN
               : http_is_control(b)   ? BAD
                                      : TEXT;
    }
}

void http_body_begin(struct http_body *b, bool chunked, uint32_t length)
{
    *b = (struct http_body){
        .left = chunked ? 0 : length, .total = length, .state = chunked ? SIZE_FIRST : LENGTH};
    if (chunked)
        b->total = 0;
}

// Adds a digit to the chunk size. Leading zeros count as extras, because their number is not
// limited otherwise.
static int size_digit(struct http_body *b, const struct http_body_limits *limits, uint8_t digit)
{
    b->extras += b->left == 0 && digit == '0';
    const uint64_t left = (uint64_t)b->left << 4 | (uint64_t)http_hex(digit);
    if (left > limits->content_bytes - b->total)
        return 413;
    b->left = (uint32_t)left;
    return HTTP_MORE;
}

// Processes one byte that is not content.
static int step(struct http_body *b, const struct http_body_limits *limits, uint8_t byte)
{
    b->state = next[b->state][class_of(byte)];
    if (b->state == REFUSED)
        return 400;
    if (b->state == SIZE && size_digit(b, limits, byte) != HTTP_MORE)
        return 413;
    bool trailer = b->state >= FIELD_FIRST;
    b->extras += trailer || (b->state >= SIZE_BLANK && b->state <= VALUE_BLANK);
    if (b->extras > limits->extra_bytes)
        return trailer ? 431 : 413;
    if (b->state == CHUNK) {
        b->total += b->left;
        if (b->left == 0)
            b->state = FIELD_FIRST;
    }
    return b->state == DONE ? HTTP_DONE : HTTP_MORE;
}

int http_body_read(struct http_body *b, const struct http_body_limits *limits, const uint8_t *data,
                   size_t len, size_t *used, struct http_text *run)
{
    *run = (struct http_text){data, 0};
    for (*used = 0; *used < len && b->state != LENGTH && b->state != CHUNK;) {
        int verdict = step(b, limits, data[(*used)++]);
        if (verdict != HTTP_MORE)
            return verdict;
    }
    if (*used == len)
        return HTTP_MORE;
    size_t n = len - *used < b->left ? len - *used : (size_t)b->left;
    *run = (struct http_text){data + *used, n};
    *used += n;
    b->left -= (uint32_t)n;
    if (b->left != 0)
        return HTTP_MORE;
    b->state = b->state == LENGTH ? DONE : CHUNK_CR;
    return b->state == DONE ? HTTP_DONE : HTTP_MORE;
}
