// SPDX-License-Identifier: BSD-3-Clause
#include "replace.h"

#include <assert.h>
#include <string.h>

static const char pattern[] = "elvis", replacement[] = "Elvis";

enum { PATTERN = sizeof(pattern) - 1 };

static_assert(sizeof(pattern) == sizeof(replacement), "an answer is as long as its stream");
static_assert(REPLACE_HELD_MAX == PATTERN - 1, "the whole pattern is never held");

// The first byte of the pattern occurs in it once. Therefore a match that fails at some byte can
// only begin anew at this byte, and no earlier one.
static size_t mismatch(struct replace_stream *s, uint8_t byte, uint8_t *out)
{
    size_t n = s->held;
    memcpy(out, pattern, n);
    s->held = byte == pattern[0];
    if (s->held == 0)
        out[n++] = byte;
    return n;
}

static size_t match(struct replace_stream *s, uint8_t *out)
{
    if (++s->held < PATTERN)
        return 0;
    s->held = 0;
    memcpy(out, replacement, PATTERN);
    return PATTERN;
}

size_t replace_feed(struct replace_stream *s, const uint8_t *data, size_t len, uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += data[i] == pattern[s->held] ? match(s, out + n) : mismatch(s, data[i], out + n);
    return n;
}

size_t replace_end(struct replace_stream *s, uint8_t *out)
{
    const size_t n = s->held;
    memcpy(out, pattern, n);
    s->held = 0;
    return n;
}
