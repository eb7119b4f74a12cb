// SPDX-License-Identifier: BSD-3-Clause
// aes_rounds.h: some rounds of AES over one block under secret round keys, for flow_hash.h and
// addr_hash.h. Each of them says why it needs its number of rounds. Only with AES instructions.
#pragma once
#include "base/siphash.h"

#ifdef __AES__
#include <wmmintrin.h>

// aes_round_keys: derives rounds + 1 keys from the secret.
static inline void aes_round_keys(struct siphash_key secret, __m128i *keys, unsigned rounds)
{
    for (uint64_t i = 0; i <= rounds; i++)
        keys[i] = _mm_set_epi64x((long long)siphash_u64x2(&secret, i, 0),
                                 (long long)siphash_u64x2(&secret, i, 1));
}

// aes_rounds: encrypts the block under keys[0..rounds]. rounds is a constant, so that the loop is
// unrolled.
static ALWAYS_INLINE __m128i aes_rounds(const __m128i *keys, unsigned rounds, __m128i block)
{
    __m128i x = _mm_xor_si128(block, keys[0]);
    for (unsigned i = 1; i <= rounds; i++)
        x = _mm_aesenc_si128(x, keys[i]);
    return x;
}
#endif
