// SPDX-License-Identifier: BSD-3-Clause
// load_pattern.h: the stream of RFC 864 (chargen): lines of 72 printable characters, each shifted
// by one, which begin again after 95 lines. Whoever knows how many bytes came before knows the
// next ones.
#pragma once
#include "pkt/pkt.h"

enum {
    LOAD_PATTERN_CHARS = '~' - ' ' + 1,
    LOAD_PATTERN_LINE = 72,
    LOAD_PATTERN_BYTES = LOAD_PATTERN_CHARS * (LOAD_PATTERN_LINE + 2),
    LOAD_PATTERN_MORE = PKT_ROOM,  // bytes of one look, at most
};

// load_pattern_fill: at, of LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE bytes: the stream's first ones.
void load_pattern_fill(uint8_t *at);

// load_pattern_step: where in the pattern n bytes after `at` are, n < 2^31.
static inline uint32_t load_pattern_step(uint32_t at, uint32_t n)
{
    at += n;
    if (likely(at < LOAD_PATTERN_BYTES))
        return at;
    at -= LOAD_PATTERN_BYTES;
    return likely(at < LOAD_PATTERN_BYTES) ? at : at % LOAD_PATTERN_BYTES;
}
