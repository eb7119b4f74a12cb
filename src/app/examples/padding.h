// SPDX-License-Identifier: BSD-3-Clause
// padding.h: the work of leftpad, twice: as it was first written, and mended. Both give the same
// text for the same arguments. Pure functions, without a stack; any thread.
#pragma once
#include <stddef.h>

enum {
    PADDING_TEXT_MAX = 1024,  // bytes of the text
    PADDING_LEN_MAX = 4000,   // bytes of the padded text
    // {"str":"..."} with each byte as a pair, a newline and the terminator.
    PADDING_JSON_MAX = 2 * PADDING_LEN_MAX + 16,
};

// padding_slow, padding_fast: {"str":"..."} and a newline, terminated, in out: text, preceded by as
// many c that the whole has len bytes; text alone if it has more. text: printable ASCII of at most
// PADDING_TEXT_MAX bytes. c: printable ASCII. len: at most PADDING_LEN_MAX. Return the number of
// bytes. Time: padding_slow grows with the square of len.
size_t padding_slow(const char *text, size_t len, char c, char out[PADDING_JSON_MAX]);
size_t padding_fast(const char *text, size_t len, char c, char out[PADDING_JSON_MAX]);
