// SPDX-License-Identifier: BSD-3-Clause
// leftpad.c: pads a text on the left, as a service.
//
//     GET /v1/leftpad/?str=test&len=10&chr=*     ->     {"str":"******test"}
//
// str: at most PADDING_TEXT_MAX bytes of printable ASCII. len: at most PADDING_LEN_MAX, 0 by
// default. chr: one character, a space by default. Anything else gets status 400 or 404.
//
// The application `leftpad` is deliberately slow, in the way in which code is slow by accident:
// its strings grow from the wrong end (padding.c). `leftpad_fast` gives the same answers.
#include <assert.h>
#include <string.h>

#include "ask.h"
#include "examples.h"
#include "padding.h"

static_assert(PADDING_TEXT_MAX == (int)ASK_VALUE_BYTES_MAX, "a value that ask_text() accepts fits");

typedef size_t pad_function(const char *text, size_t len, char c, char out[PADDING_JSON_MAX]);

// The reason why the arguments are refused, or NULL.
static const char *take_arguments(const struct ask *ask, char text[ASK_VALUE_BYTES_MAX + 1],
                                  unsigned *len, char *c)
{
    char chr[ASK_VALUE_BYTES_MAX + 1] = " ";
    const int text_len = ask_text(ask, "str", text), chr_len = ask_text(ask, "chr", chr);
    if (text_len < 0)
        return "str: expected at most 1024 printable ASCII characters";
    if (chr_len != -1 && chr_len != 1)
        return "chr: expected one printable ASCII character";
    if (!ask_number(ask, "len", 0, PADDING_LEN_MAX, len))
        return "len: expected a number, at most 4000";
    *c = chr[0];
    return NULL;
}

static enum ask_handled handle(struct c10m_conn *c, const struct ask *ask, pad_function *pad)
{
    char text[ASK_VALUE_BYTES_MAX + 1], json[PADDING_JSON_MAX], chr = ' ';
    unsigned len = 0;
    if (!ask_room(c, sizeof(json)))
        return ASK_WAIT;
    const bool here = ask_is(ask, "/v1/leftpad/");
    const char *why = here ? take_arguments(ask, text, &len, &chr) : "try /v1/leftpad/?str=test";
    if (why != NULL)
        ask_answer(c, ask->keep, here ? "400 Bad Request" : "404 Not Found", "text/plain", why,
                   strlen(why));
    else
        ask_answer(c, ask->keep, "200 OK", "application/json", json, pad(text, len, chr, json));
    return ASK_DONE;
}

static enum ask_handled handle_slow(struct c10m_conn *c, const struct ask *ask)
{
    return handle(c, ask, padding_slow);
}

static enum ask_handled handle_fast(struct c10m_conn *c, const struct ask *ask)
{
    return handle(c, ask, padding_fast);
}

static size_t leftpad_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle_slow);
}

static size_t leftpad_fast_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle_fast);
}

const struct c10m_app app_leftpad = {
    .name = "leftpad",
    .marks_requests = true,
    .open = ask_open,
    .data = leftpad_data,
    .writable = c10m_resume,
    .timer = ask_idle,
    .end = ask_end,
    .drain = ask_drain,
};

const struct c10m_app app_leftpad_fast = {
    .name = "leftpad_fast",
    .marks_requests = true,
    .open = ask_open,
    .data = leftpad_fast_data,
    .writable = c10m_resume,
    .timer = ask_idle,
    .end = ask_end,
    .drain = ask_drain,
};
