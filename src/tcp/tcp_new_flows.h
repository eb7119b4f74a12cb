// SPDX-License-Identifier: BSD-3-Clause
// tcp_new_flows.h: which connections were entered in the flow table while a burst was gone through:
// a segment whose look-up missed is looked up again only if its connection may be one of those. A
// Bloom filter of one hash: of 64 entries it mistakes a stranger for one in 32 times.
#pragma once
#include "tcp/tcp.h"

// born_bit: a bit of the hash that neither the bucket nor the tag is made of alone.
static inline uint32_t born_bit(uint64_t hash)
{
    return (uint32_t)(hash >> 16) % (TCP_BORN_WORDS * 64);
}

static inline void born_add(struct tcp *t, uint64_t hash)
{
    t->born[born_bit(hash) / 64] |= 1ULL << born_bit(hash) % 64;
}

// born_may: false: no connection of that hash was entered since tcp_burst().
static inline bool born_may(const struct tcp *t, uint64_t hash)
{
    return t->born[born_bit(hash) / 64] >> born_bit(hash) % 64 & 1;
}
