// SPDX-License-Identifier: BSD-3-Clause
// aes_rounds.h: one block through some rounds of AES under secret round keys: what flow_hash.h and
// addr_hash.h are made of. They differ in the number of rounds, and each says why. Only with AES
// instructions.
#pragma once
#include "base/siphash.h"

#ifdef __AES__
#include <wmmintrin.h>

// aes_round_keys: rounds + 1 keys out of the secret.
static inline void aes_round_keys(struct siphash_key secret, __m128i *keys, unsigned rounds)
{
    for (uint64_t i = 0; i <= rounds; i++)
        keys[i] = _mm_set_epi64x((long long)siphash_u64x2(&secret, i, 0),
                                 (long long)siphash_u64x2(&secret, i, 1));
}

// aes_rounds: the block under keys[0..rounds]. rounds: a constant, for the loop to be unrolled.
static ALWAYS_INLINE __m128i aes_rounds(const __m128i *keys, unsigned rounds, __m128i block)
{
    __m128i x = _mm_xor_si128(block, keys[0]);
    for (unsigned i = 1; i <= rounds; i++)
        x = _mm_aesenc_si128(x, keys[i]);
    return x;
}
#endif
