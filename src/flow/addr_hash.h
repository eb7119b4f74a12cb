// SPDX-License-Identifier: BSD-3-Clause
// addr_hash.h: a keyed 32-bit hash of an address, cheap enough for every packet, and not linear: a
// host that knows the hash of its own addresses learns nothing about the hash of another.
//
// With AES instructions: six rounds of AES over the address under seven secret round keys, nine
// instructions besides the loads. (A secret sum, product or CRC is linear: the difference of two
// known hashes reveals all others.) Without them: SipHash-1-3.
#pragma once
#include "base/addr.h"
#include "flow/aes_rounds.h"

#ifdef __AES__
enum { ADDR_HASH_ROUNDS = 6 };

struct addr_hash_key {
    __m128i round[ADDR_HASH_ROUNDS + 1];
};

static inline struct addr_hash_key addr_hash_key_from(struct siphash_key secret)
{
    struct addr_hash_key k;
    aes_round_keys(secret, k.round, ADDR_HASH_ROUNDS);
    return k;
}

static inline uint32_t addr_hash(const struct addr_hash_key *k, const struct ip_addr *a)
{
    const __m128i block = _mm_loadu_si128((const __m128i *)(const void *)a);
    return (uint32_t)_mm_cvtsi128_si32(aes_rounds(k->round, ADDR_HASH_ROUNDS, block));
}
#else
struct addr_hash_key {
    struct siphash_key secret;
};

static inline struct addr_hash_key addr_hash_key_from(struct siphash_key secret)
{
    return (struct addr_hash_key){secret};
}

static inline uint32_t addr_hash(const struct addr_hash_key *k, const struct ip_addr *a)
{
    uint64_t w[2];
    memcpy(w, a, sizeof(w));
    return (uint32_t)siphash_u64x2(&k->secret, w[0], w[1]);
}
#endif
