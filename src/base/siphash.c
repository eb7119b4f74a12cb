// SPDX-License-Identifier: BSD-3-Clause
#include "base/siphash.h"

#include <string.h>

uint64_t siphash_bytes(const struct siphash_key *key, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t v0 = key->k0 ^ 0x736f6d6570736575ULL, v1 = key->k1 ^ 0x646f72616e646f6dULL;
    uint64_t v2 = key->k0 ^ 0x6c7967656e657261ULL, v3 = key->k1 ^ 0x7465646279746573ULL;
    uint64_t m;
    size_t left = n;
    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&m, p, 8);
        v3 ^= m;
        SIPHASH_ROUND(v0, v1, v2, v3);
        v0 ^= m;
    }
    m = 0;
    memcpy(&m, p, left);
    m |= (uint64_t)n << 56;
    v3 ^= m;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= m;
    v2 ^= 0xff;
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}
