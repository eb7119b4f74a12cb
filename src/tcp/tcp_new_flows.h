// SPDX-License-Identifier: BSD-3-Clause
// tcp_new_flows.h: which connections were entered in the flow table while a burst was gone through:
// a segment whose look-up missed is looked up again only if its connection may be one of those. A
// Bloom filter of one hash: of 64 entries it mistakes a stranger for one in 32 times.
#pragma once
#include "tcp/tcp.h"

// new_flows_bit: a bit of the hash that neither the bucket nor the tag is made of alone.
static inline uint32_t new_flows_bit(uint64_t hash)
{
    return (uint32_t)(hash >> 16) % (TCP_NEW_FLOWS_WORDS * 64);
}

static inline void new_flows_add(struct tcp *t, uint64_t hash)
{
    t->new_flows[new_flows_bit(hash) / 64] |= 1ULL << new_flows_bit(hash) % 64;
}

// new_flows_may_have: false: no connection of that hash was entered since tcp_burst().
static inline bool new_flows_may_have(const struct tcp *t, uint64_t hash)
{
    return t->new_flows[new_flows_bit(hash) / 64] >> new_flows_bit(hash) % 64 & 1;
}
