// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_pattern.h"

void load_pattern_fill(uint8_t *at)
{
    for (uint32_t i = 0; i < LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE; i++) {
        const uint32_t line = i / (LOAD_PATTERN_LINE + 2), column = i % (LOAD_PATTERN_LINE + 2);
        at[i] = column == LOAD_PATTERN_LINE ? '\r'
                : column == LOAD_PATTERN_LINE + 1
                    ? '\n'
                    : (uint8_t)(' ' + (line + column) % LOAD_PATTERN_CHARS);
    }
}
