// SPDX-License-Identifier: BSD-3-Clause
// tcp_new_flows.h: a filter of the connections that were entered in the flow table during a burst.
// A segment whose look-up failed is looked up again only if its connection may be one of those. A
// Bloom filter with one hash: with 64 entries 1 of 32 other segments passes too.
#pragma once
#include "tcp/tcp.h"

// new_flows_bit: a bit from parts of the hash that neither the bucket nor the tag alone uses.
static inline uint32_t new_flows_bit(uint64_t hash)
{
    return (uint32_t)(hash >> 16) % (TCP_NEW_FLOWS_WORDS * 64);
}

static inline void new_flows_add(struct tcp *t, uint64_t hash)
{
    t->new_flows[new_flows_bit(hash) / 64] |= 1ULL << new_flows_bit(hash) % 64;
}

// new_flows_may_have: false: no connection with that hash was entered since tcp_burst().
static inline bool new_flows_may_have(const struct tcp *t, uint64_t hash)
{
    return t->new_flows[new_flows_bit(hash) / 64] >> new_flows_bit(hash) % 64 & 1;
}
