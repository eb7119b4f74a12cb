// SPDX-License-Identifier: BSD-3-Clause
#include "havlak_result.h"

// A header has a smaller number than the blocks of its loop: its depth is known before theirs.
static uint16_t depth_of(const uint16_t *depth, uint32_t header, bool heads)
{
    return (uint16_t)((header == HAVLAK_UNREACHED ? 0 : depth[header]) + heads);
}

void havlak_result_add(struct loops_found *found, uint16_t *depth, uint32_t number, uint32_t header,
                       enum havlak_kind kind)
{
    const bool heads = kind != HAVLAK_NO_LOOP;
    depth[number] = depth_of(depth, header, heads);
    found->blocks++;
    found->loops += heads;
    found->irreducible += kind == HAVLAK_IRREDUCIBLE;
    if (depth[number] > found->depth)
        found->depth = depth[number];
    found->digest = (found->digest ^ (header << 2 | (uint32_t)kind)) * 0x100000001b3;  // FNV-1a
}
