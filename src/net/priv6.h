// SPDX-License-Identifier: BSD-3-Clause
// priv6.h: the IPv6 half of struct net, for the files of this folder. It is there only where the
// port has an IPv6 address.
#pragma once
#include "net/priv.h"
#include "wire/build6.h"
#include "wire/parse6.h"

enum {
    NET6_OWN_MAX = NET_LOCALS_MAX + 1,  // with the link-local one that the port makes itself
    NET6_TO_GROUP = NET6_OWN_MAX,       // instead of the index of an address of ours
    ROUTES6_ALL = NET_LOCALS_MAX + 1 + NET_ROUTES_MAX + 1,
};

enum net6_far { FAR_NONE, FAR_GATEWAY, FAR_ROUTED };

struct route6 {
    wire_v16 mask, prefix;
    struct ip_addr via;  // all zero: the destination itself, which is on the link
};

struct net6 {
    // Written by net6_init() alone.
    uint32_t n;      // configured addresses
    uint32_t n_own;  // of local[]: with the port's own one, if it made one
    uint32_t n_near;
    uint32_t link_local;      // of local[]: the source of solicitations and reports
    uint16_t local_ix_first;  // flow_key.local_ix of local[0]
    bool loops;
    uint8_t far;                       // enum net6_far: where what is not near goes
    struct ip_addr far_hop;            // with FAR_GATEWAY
    wire_v16 near_mask[NET6_OWN_MAX];  // prefixes without a route inside
    wire_v16 near_prefix[NET6_OWN_MAX];
    struct wire_common6 common[NET_LOCALS_MAX];
    struct wire_from6 from[NET6_OWN_MAX];
    struct ip_addr local[NET6_OWN_MAX];
    uint32_t n_routes;
    struct route6 routes[ROUTES6_ALL];  // the longest prefixes first
    // Written by the worker.
    uint64_t defend_at_us[NET6_OWN_MAX] CACHE_ALIGNED;  // as net's
    struct neighbor_cache nd;                           // the last field: its entries follow
};

// net6_footprint: bytes for the IPv6 half, 0 if c has no IPv6 address. net6_check: -1 and *e: what
// of c cannot be. net6_init: places it in mem, of which the bytes are 0.
size_t net6_footprint(const struct net_config *c);
int net6_check(const struct net_config *c, struct err *e);
void net6_init(struct net *net, void *mem, const struct net_config *c);

static inline wire_v16 v16_of(const struct ip_addr *a)
{
    return wire_load16(a->b);
}

static inline bool ip6_same(const struct ip_addr *a, const struct ip_addr *b)
{
    return wire_is_zero(v16_of(a) ^ v16_of(b));
}

// net6_own: the index of a among our addresses, or -1.
static inline int net6_own(const struct net6 *v6, const struct ip_addr *a)
{
    for (uint32_t k = 0; k < v6->n_own; k++)
        if (ip6_same(a, &v6->local[k]))
            return (int)k;
    return -1;
}

// net6_near: is the address on the link for sure?
static inline bool net6_near(const struct net6 *v6, const struct ip_addr *a)
{
    const wire_v16 v = v16_of(a);
#pragma GCC unroll 1  // one prefix is the rule
    for (uint32_t k = 0; k < v6->n_near; k++)
        if (wire_is_zero((v & v6->near_mask[k]) ^ v6->near_prefix[k]))
            return true;
    return false;
}

// route6_find: the next hop to dst by the longest prefix. False: none. route6_way: the bits of that
// prefix as well; -1: none. route6_is_via: whether a
// route, or the gateway's, goes there.
bool route6_find(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop);
int route6_way(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop);
bool route6_is_via(const struct net6 *v6, const struct ip_addr *a);
void routes6_init(struct net6 *v6, const struct net_config *c);

// nd_init: makes v6->nd for c. nd_announce: net_announce() for IPv6.
void nd_init(struct net *net, const struct net_config *c);
void nd_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// nd_input: p is a neighbour solicitation or advertisement, its checksum right. DROP_NONE: taken;
// *replied: p itself was turned into a reply, to be sent.
enum drop_reason nd_input(struct net *net, struct clock_now now, struct pkt *p,
                          const struct wire_ip6 *ip, bool *replied, struct net_tx *tx);

// mld_changed: the group was joined (MLD_TO_EXCLUDE) or left (MLD_TO_INCLUDE): the link is told.
void mld_changed(struct net *net, struct clock_now now, const struct ip_addr *group, uint8_t kind,
                 struct net_tx *tx);

// mld_input: the ICMPv6 message, of type MLD_QUERY, is answered with a report.
enum drop_reason mld_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip6 *ip, struct net_tx *tx);

// input6_run: as input_run(), for the common packets of IPv6 from pkts[i] on.
uint32_t input6_run(struct net *net, struct pkt **pkts, uint32_t i, uint32_t n, struct seg_in *seg);

// input6_slow: every other packet of type ETH_TYPE_IP6 and to our MAC or a group's.
struct outcome input6_slow(struct net *net, struct clock_now now, struct pkt *p, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx);

// output6: packets for the first ones of n segments, of which the first is to an IPv6 address; one
// of pkts for each, as far as they are used: *used of them. Returns how many segments are done
// with, at least one. left: places of tx that the segments behind n have.
uint32_t output6(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                 struct pkt **pkts, struct net_tx *tx, uint32_t *used);

// net6_source: the index of our address to send to `to` from: RFC 6724 5, rules 1, 2 and 8, among
// the configured ones.
uint32_t net6_source(const struct net6 *v6, const struct ip_addr *to);

// udp6_input: as udp_input(). error6_send: an ICMPv6 error about p's packet, which was sent to our
// address ix, or NET6_TO_GROUP, and is neither an ICMPv6 error nor a redirect, as far as RFC 4443
// 2.4 (e) lets it go and within the rate.
enum drop_reason udp6_input(struct net *net, struct clock_now now, const struct pkt *p,
                            const struct wire_ip6 *ip, uint32_t ix, uint32_t pkt_ix,
                            struct net_rx *rx, struct net_tx *tx);
void error6_send(struct net *net, struct clock_now now, const struct pkt *p,
                 const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code, uint32_t value,
                 struct net_tx *tx);

// error6_quote: the same about a packet that begins with the n bytes quoted, n <= ICMP6_QUOTE_MAX,
// and came in a frame with this Ethernet header.
void error6_quote(struct net *net, struct clock_now now, const uint8_t *eth,
                  const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code,
                  uint32_t value, const uint8_t *quoted, uint32_t n, struct net_tx *tx);
