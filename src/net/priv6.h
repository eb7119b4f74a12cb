// SPDX-License-Identifier: BSD-3-Clause
// priv6.h: the IPv6 half of struct net, for the files of this folder. It exists only if the port
// has an IPv6 address.
#pragma once
#include "net/priv.h"
#include "wire/build6.h"
#include "wire/parse6.h"

enum {
    NET6_OWN_MAX = NET_LOCALS_MAX + 1,  // with the link-local address that the port makes
    NET6_TO_GROUP = NET6_OWN_MAX,       // in place of an index: sent to a group
    ROUTES6_ALL = NET_LOCALS_MAX + 1 + NET_ROUTES_MAX + 1,
};

enum net6_off_link { OFF_LINK_NONE, OFF_LINK_GATEWAY, OFF_LINK_ROUTED };

struct route6 {
    wire_v16 mask, prefix;
    struct ip_addr via;  // all zero: the destination is on-link
};

struct net6 {
    // Written by net6_init() and net_change() alone.
    uint32_t n;      // configured addresses, with free places
    uint32_t n_own;  // of local[]: with the port's link-local address
    uint32_t n_on_link;
    uint32_t link_local;      // index in local[]: source of solicitations and reports
    uint16_t local_ix_first;  // flow_key.local_ix of local[0]
    uint16_t fast_local_ix;   // flow_key.local_ix of common[0]: of the first address
    uint32_t gone;            // bit k: local[k] is no address (any more); it is then ::
    bool loops;
    uint8_t off_link;             // enum net6_off_link: the next hop of off-link destinations
    struct ip_addr off_link_hop;  // the gateway, with OFF_LINK_GATEWAY
    wire_v16 on_link_mask[NET6_OWN_MAX];  // prefixes that no configured route divides
    wire_v16 on_link_prefix[NET6_OWN_MAX];
    struct wire_common6 common[NET_LOCALS_MAX];
    struct wire_from6 from[NET6_OWN_MAX];
    struct ip_addr local[NET6_OWN_MAX];
    uint32_t n_routes;
    struct route6 routes[ROUTES6_ALL];  // the longest prefixes first
    // Written by the worker.
    uint64_t defend_at_us[NET6_OWN_MAX] CACHE_ALIGNED;  // as in struct net
    struct neighbor_cache nd;                           // the last field: its entries follow
};

// net6_footprint: bytes of the IPv6 half; 0 if c has no IPv6 address. net6_check: -1 if the IPv6
// part of c is not valid; *e says why. net6_init: places the IPv6 half in mem, which is all zero.
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

// net6_own: the index of local address a, or -1.
static inline int net6_own(const struct net6 *v6, const struct ip_addr *a)
{
    for (uint32_t k = 0; k < v6->n_own; k++)
        if (ip6_same(a, &v6->local[k]))
            return ip_is_zero(a) ? -1 : (int)k;  // a free place has ::
    return -1;
}

// local6_is_gone: whether place ix < n has no address.
static inline bool local6_is_gone(const struct net6 *v6, uint32_t ix)
{
    return (v6->gone >> ix & 1) != 0;
}

// locals6_all_gone: whether there are places, and none has an address.
static inline bool locals6_all_gone(const struct net6 *v6)
{
    return v6->n != 0 && v6->gone == (UINT32_C(1) << v6->n) - 1;
}

// local6_place, locals6_tables: as local_place() and locals_tables(). Also chooses link_local.
void local6_place(struct net *net, uint32_t k, const struct ip_addr *addr);
void locals6_tables(struct net *net);

// net6_on_link: whether a lies in an on-link prefix that no configured route divides.
static inline bool net6_on_link(const struct net6 *v6, const struct ip_addr *a)
{
    const wire_v16 v = v16_of(a);
#pragma GCC unroll 1  // one prefix is the rule
    for (uint32_t k = 0; k < v6->n_on_link; k++)
        if (wire_is_zero((v & v6->on_link_mask[k]) ^ v6->on_link_prefix[k]))
            return true;
    return false;
}

// route6_find: the next hop to dst by longest prefix match. False: there is no route. route6_way:
// the same, but returns the prefix length; -1: none. route6_is_via: whether a is the next hop of a
// route or the gateway. routes6_init: builds the routing table from c.
bool route6_find(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop);
int route6_way(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop);
bool route6_is_via(const struct net6 *v6, const struct ip_addr *a);
void routes6_init(struct net6 *v6, const struct net_config *c);

// nd_init: sets up v6->nd for c. nd_announce: the part of net_announce() for IPv6.
void nd_init(struct net *net, const struct net_config *c);
void nd_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// nd_input: handles the neighbor solicitation or advertisement in p, whose checksum is right.
// Returns DROP_NONE if it was used. *replied: p became a reply, to be sent.
enum drop_reason nd_input(struct net *net, struct clock_now now, struct pkt *p,
                          const struct wire_ip6 *ip, bool *replied, struct net_tx *tx);

// mld_changed: reports to the link that the group was joined (MLD_TO_EXCLUDE) or left
// (MLD_TO_INCLUDE).
void mld_changed(struct net *net, struct clock_now now, const struct ip_addr *group, uint8_t kind,
                 struct net_tx *tx);

// mld_input: answers a query (MLD_QUERY) with a report.
enum drop_reason mld_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip6 *ip, struct net_tx *tx);

// input6_run: parses the packets from pkts[i] on, as long as they are common IPv6 segments, into
// seg. Returns the index of the first other packet, or n.
uint32_t input6_run(struct net *net, struct pkt **pkts, uint32_t i, uint32_t n, struct seg_in *seg);

// input6_slow: handles any packet of type ETH_TYPE_IP6 that was sent to our MAC or to a multicast
// MAC.
struct outcome input6_slow(struct net *net, struct clock_now now, struct pkt *p, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx);

// output6: builds packets for the first of n segments; segs[0] is to an IPv6 address. Uses one
// packet of pkts for each, *used of them. Returns how many segments are done, at least one.
uint32_t output6(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                 struct pkt **pkts, struct net_tx *tx, uint32_t *used);

// net6_source: the index of the configured address to use as the source to `to` (RFC 6724 5, rules
// 1, 2 and 8).
uint32_t net6_source(const struct net6 *v6, const struct ip_addr *to);

// udp6_input: as udp_input().
//
// error6_send: sends an ICMPv6 error about p's packet, unless RFC 4443 2.4 (e) or the rate limit
// forbids it. The packet was sent to local address ix or NET6_TO_GROUP, and is neither an ICMPv6
// error nor a redirect. value: the 32 bits after the checksum.
enum drop_reason udp6_input(struct net *net, struct clock_now now, const struct pkt *p,
                            const struct wire_ip6 *ip, uint32_t ix, uint32_t pkt_ix,
                            struct net_rx *rx, struct net_tx *tx);
void error6_send(struct net *net, struct clock_now now, const struct pkt *p,
                 const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code, uint32_t value,
                 struct net_tx *tx);

// error6_quote: as error6_send(), about a packet of which n bytes are quoted, n <= ICMP6_QUOTE_MAX,
// and that came in a frame with the Ethernet header `eth`.
void error6_quote(struct net *net, struct clock_now now, const uint8_t *eth,
                  const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code,
                  uint32_t value, const uint8_t *quoted, uint32_t n, struct net_tx *tx);
