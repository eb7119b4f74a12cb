// SPDX-License-Identifier: BSD-3-Clause
// load_pattern.h: the stream of RFC 864 (chargen): lines of 72 printable characters, each shifted
// by one, repeated after 95 lines. The position in the stream determines the bytes.
#pragma once
#include "pkt/pkt.h"

enum {
    LOAD_PATTERN_CHARS = '~' - ' ' + 1,
    LOAD_PATTERN_LINE = 72,
    LOAD_PATTERN_BYTES = LOAD_PATTERN_CHARS * (LOAD_PATTERN_LINE + 2),
    LOAD_PATTERN_MORE = PKT_JUMBO_ROOM,  // most bytes compared or sent at once
};

// load_pattern_fill: writes the first LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE bytes of the stream.
void load_pattern_fill(uint8_t *at);

// load_pattern_step: the position in the pattern n bytes after `at`, n < 2^31.
static inline uint32_t load_pattern_step(uint32_t at, uint32_t n)
{
    at += n;
    if (likely(at < LOAD_PATTERN_BYTES))
        return at;
    at -= LOAD_PATTERN_BYTES;
    return likely(at < LOAD_PATTERN_BYTES) ? at : at % LOAD_PATTERN_BYTES;
}
