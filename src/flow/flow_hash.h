// SPDX-License-Identifier: BSD-3-Clause
// flow_hash.h: the keyed hash of a flow key. Without the secret nobody can choose keys for one
// bucket.
//
// With AES instructions (every x86 server since 2011): four rounds of AES over the key under five
// secret round keys. No differential over four rounds of AES has a probability above 2^-113
// (Keliher, Sui, "Exact maximum expected differential and linear probability for two-round AES",
// 2007; Daemen, Rijmen, "The Design of Rijndael", 2002, 9.5), so that colliding keys cannot be
// chosen. An IPv6 address needs a second block, chained as in CBC-MAC. Without those instructions:
// SipHash-1-3 of all 24 bytes.
#pragma once
#include "base/addr.h"
#include "flow/aes_rounds.h"

#ifdef __AES__
enum { FLOW_HASH_ROUNDS = 4 };

struct flow_hash_key {
    __m128i round[FLOW_HASH_ROUNDS + 1];
};

static inline struct flow_hash_key flow_hash_key_from(struct siphash_key secret)
{
    struct flow_hash_key k;
    aes_round_keys(secret, k.round, FLOW_HASH_ROUNDS);
    return k;
}

static inline uint64_t flow_hash_of(const struct flow_hash_key *k, const struct flow_key *key)
{
    const uint64_t *w = (const uint64_t *)key;
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(w + 1));
    if (unlikely(w[0] != 0)) {
        const __m128i first = _mm_set_epi64x(0, (long long)w[0]);
        block = _mm_xor_si128(block, aes_rounds(k->round, FLOW_HASH_ROUNDS, first));
    }
    return (uint64_t)_mm_cvtsi128_si64(aes_rounds(k->round, FLOW_HASH_ROUNDS, block));
}
#else
struct flow_hash_key {
    struct siphash_key secret;
};

static inline struct flow_hash_key flow_hash_key_from(struct siphash_key secret)
{
    return (struct flow_hash_key){secret};
}

static inline uint64_t flow_hash_of(const struct flow_hash_key *k, const struct flow_key *key)
{
    const uint64_t *w = (const uint64_t *)key;
    return siphash_u64x3(&k->secret, w[0], w[1], w[2]);
}
#endif
