// SPDX-License-Identifier: BSD-3-Clause
// siphash.h: SipHash-1-3, the keyed hash of everything that a peer can choose (flow table, initial
// sequence numbers, cookies). Source: Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012.
// 1-3 is the variant of Linux's hash tables (hsiphash on 64-bit machines).
#pragma once
#include "base/base.h"

struct siphash_key {
    uint64_t k0, k1;
};

#define SIPHASH_ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define SIPHASH_ROUND(v0, v1, v2, v3)                                                              \
    do {                                                                                           \
        v0 += v1;                                                                                  \
        v2 += v3;                                                                                  \
        v1 = SIPHASH_ROTL(v1, 13) ^ v0;                                                            \
        v3 = SIPHASH_ROTL(v3, 16) ^ v2;                                                            \
        v0 = SIPHASH_ROTL(v0, 32);                                                                 \
        v2 += v1;                                                                                  \
        v0 += v3;                                                                                  \
        v1 = SIPHASH_ROTL(v1, 17) ^ v2;                                                            \
        v3 = SIPHASH_ROTL(v3, 21) ^ v0;                                                            \
        v2 = SIPHASH_ROTL(v2, 32);                                                                 \
    } while (0)

// siphash_u64x3: SipHash-1-3 of exactly 24 bytes given as three little-endian words.
static inline uint64_t siphash_u64x3(const struct siphash_key *key, uint64_t a, uint64_t b,
                                     uint64_t c)
{
    uint64_t v0 = key->k0 ^ 0x736f6d6570736575ULL, v1 = key->k1 ^ 0x646f72616e646f6dULL;
    uint64_t v2 = key->k0 ^ 0x6c7967656e657261ULL, v3 = key->k1 ^ 0x7465646279746573ULL;
    const uint64_t last = (uint64_t)24 << 56;
    v3 ^= a;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= a;
    v3 ^= b;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= b;
    v3 ^= c;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= c;
    v3 ^= last;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= last;
    v2 ^= 0xff;
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}

// siphash_u64x2: SipHash-1-3 of exactly 16 bytes given as two little-endian words.
static inline uint64_t siphash_u64x2(const struct siphash_key *key, uint64_t a, uint64_t b)
{
    uint64_t v0 = key->k0 ^ 0x736f6d6570736575ULL, v1 = key->k1 ^ 0x646f72616e646f6dULL;
    uint64_t v2 = key->k0 ^ 0x6c7967656e657261ULL, v3 = key->k1 ^ 0x7465646279746573ULL;
    const uint64_t last = (uint64_t)16 << 56;
    v3 ^= a;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= a;
    v3 ^= b;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= b;
    v3 ^= last;
    SIPHASH_ROUND(v0, v1, v2, v3);
    v0 ^= last;
    v2 ^= 0xff;
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    SIPHASH_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}

// siphash_bytes: SipHash-1-3 of n bytes.
uint64_t siphash_bytes(const struct siphash_key *key, const void *data, size_t n);
