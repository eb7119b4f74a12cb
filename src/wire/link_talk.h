// SPDX-License-Identifier: BSD-3-Clause
// link_talk.h: frames by which hosts of a link find each other. Where several workers share a port,
// each of them gets these (worker/handoff.h).
#pragma once
#include "wire/proto.h"
#include "wire/raw.h"

// wire_is_link_talk: whether a frame of n bytes is ARP, neighbor discovery or an MLD query.
static inline bool wire_is_link_talk(const uint8_t *f, uint32_t n)
{
    if (n < ETH_BYTES)
        return false;
    const uint16_t type = load_be16(f + ETH_TYPE_AT);
    if (type != ETH_TYPE_IP6 || n <= ETH_BYTES + IP6_BYTES)
        return type == ETH_TYPE_ARP;
    // An MLD query follows a hop-by-hop header of 8 bytes.
    const uint8_t *l4 = f + ETH_BYTES + IP6_BYTES, *end = f + n;
    uint8_t proto = f[ETH_BYTES + IP6_NEXT_AT];
    if (proto == IP_PROTO_HOPS && l4 + 8 < end) {
        proto = l4[0];
        l4 += 8;
    }
    return proto == IP_PROTO_ICMP6 &&
           ((l4[0] >= ND_ROUTER_SOLICIT && l4[0] <= ND_REDIRECT) || l4[0] == MLD_QUERY);
}
