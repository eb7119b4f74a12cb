// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cksum.h"

// Four lanes of 64 bits: one AVX2 register, or two SSE registers. The low and the high halves of
// the words are summed separately, so no carry is lost in 2^31 words.
typedef uint64_t cksum_lanes __attribute__((vector_size(32)));

#define LANES_LOW ((cksum_lanes){0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff})

uint64_t cksum_blocks(const uint8_t *p, size_t n)
{
    cksum_lanes low = {0}, high = {0};
    for (const uint8_t *end = p + n; p != end; p += 64) {
        cksum_lanes a, b;
        memcpy(&a, p, 32);
        memcpy(&b, p + 32, 32);
        low += (a & LANES_LOW) + (b & LANES_LOW);
        high += (a >> 32) + (b >> 32);
    }
    low += high;
    return low[0] + low[1] + low[2] + low[3];
}

uint64_t cksum_copy_blocks(uint8_t *to, const uint8_t *from, size_t n)
{
    cksum_lanes low = {0}, high = {0};
    for (const uint8_t *end = from + n; from != end; from += 64, to += 64) {
        cksum_lanes a, b;
        memcpy(&a, from, 32);
        memcpy(&b, from + 32, 32);
        memcpy(to, &a, 32);
        memcpy(to + 32, &b, 32);
        low += (a & LANES_LOW) + (b & LANES_LOW);
        high += (a >> 32) + (b >> 32);
    }
    low += high;
    return low[0] + low[1] + low[2] + low[3];
}
