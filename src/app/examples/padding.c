// SPDX-License-Identifier: BSD-3-Clause
#include "padding.h"

#include <string.h>

// ---- as first written: strings are built by putting one character in front of the others

static void prepend(char *text, char c)
{
    char longer[PADDING_LEN_MAX + 1];
    longer[0] = c;
    strcpy(longer + 1, text);
    strcpy(text, longer);
}

static void append_escaped(char *out, char c)
{
    if (c == '"' || c == '\\')
        strcat(out, "\\");
    strncat(out, &c, 1);
}

size_t padding_slow(const char *text, size_t len, char c, char out[PADDING_JSON_MAX])
{
    char padded[PADDING_LEN_MAX + 1];
    strcpy(padded, text);
    while (strlen(padded) < len)
        prepend(padded, c);
    strcpy(out, "{\"str\":\"");
    for (size_t i = 0; i < strlen(padded); i++)
        append_escaped(out, padded[i]);
    strcat(out, "\"}\n");
    return strlen(out);
}

// ---- mended: the place of each byte is known, and each is written once

static char *put_escaped(char *at, char c)
{
    if (c == '"' || c == '\\')
        *at++ = '\\';
    *at++ = c;
    return at;
}

static char *put_filler(char *at, char c, size_t n)
{
    if (c != '"' && c != '\\')
        return (char *)memset(at, c, n) + n;
    for (size_t i = 0; i < n; i++)
        at = put_escaped(at, c);
    return at;
}

size_t padding_fast(const char *text, size_t len, char c, char out[PADDING_JSON_MAX])
{
    const size_t has = strlen(text);
    char *at = stpcpy(out, "{\"str\":\"");
    at = put_filler(at, c, len > has ? len - has : 0);
    for (size_t i = 0; i < has; i++)
        at = put_escaped(at, text[i]);
    at = stpcpy(at, "\"}\n");
    return (size_t)(at - out);
}
