// SPDX-License-Identifier: BSD-3-Clause
// priv.h: the inside of struct net, for the files of this folder.
#pragma once
#include "net/neighbor_cache.h"
#include "net/net.h"
#include "stat/trace_points.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    NET_ID_COUNTERS = 1024,
    ROUTES_ALL = NET_LOCALS_MAX + NET_ROUTES_MAX + 1,
};
static_assert((int)NET_SETTINGS_ROUTES_MAX <= (int)ROUTES_ALL, "all may be of one family");

// NET_ROUTED: in place of a next hop: there are routes, call route_find(). It is the broadcast
// address, which is never a next hop.
#define NET_ROUTED UINT32_MAX

struct route {
    uint32_t mask, subnet;  // raw
    uint32_t via_raw;       // 0: the destination itself, which is on the link
};

struct net6;

// groups: the joined groups of one family, n of them. users: how often each was joined.
struct groups {
    uint32_t n;
    uint32_t users[NET_GROUPS_MAX];
    struct ip_addr addr[NET_GROUPS_MAX];
};

struct net {
    // Read for every packet, written by net_init() and net_change() alone.
    uint64_t mac_word_shl16;  // own MAC in the upper 48 bits
    uint32_t n_locals;
    uint16_t local_ix_first;
    uint16_t fast_local_ix;  // flow_key.local_ix of common[0]: of the first address
    uint16_t ip_bytes_max;
    bool tx_l4;                      // the port fills in TCP checksums
    bool tx_ip;                      // and IPv4 header checksums
    bool tso;                        // and splits large segments
    uint16_t chain_max;              // buffers of one packet, at most
    uint32_t gone;                   // bit k: local[k] is no address (any more)
    uint32_t off_link_hop_raw;       // of off-link destinations; 0: none; NET_ROUTED
    uint32_t local[NET_LOCALS_MAX];  // in wire order, as the next three
    uint32_t bcast[NET_LOCALS_MAX];
    uint32_t on_link_mask[NET_LOCALS_MAX];  // local prefixes that no configured route divides
    uint32_t on_link_subnet[NET_LOCALS_MAX];
    struct wire_common common[NET_LOCALS_MAX];  // [0]: of the first address, the others by local
    struct wire_from from[NET_LOCALS_MAX];
    struct core_stats *stats;  // of the worker, which counts there
    struct pkt_pool *pool;
    uint32_t pkt_room;  // bytes of a frame in a packet of the pool
    struct siphash_key id_key;
    uint32_t mask[NET_LOCALS_MAX];
    uint32_t subnet[NET_LOCALS_MAX];
    uint32_t n_routes;
    struct route routes[ROUTES_ALL];  // the longest prefixes first, the gateway's last
    bool source_top[256];             // whether this is a valid first byte of a source address
    bool source_low[256];             // no local and no broadcast address ends in this byte
    struct mac_addr mac;
    bool quiet;
    bool loops;
    bool to_linux, to_linux_echo;
    bool changes;  // of net_config
    uint32_t n_udp;
    struct net_udp_port udp[NET_UDP_PORTS_MAX];
    struct udp_table *open;
    struct reasm *reasm;
    uint16_t ip_bytes_most;  // ip_bytes_max of net_init()
    uint32_t n_pinned;       // permanent neighbors of the last net_change()
    struct net_static pinned[NET_STATICS_MAX];
    uint8_t port;
    uint8_t device_of[NET_LOCALS_MAX];  // by local: port index plus one
    struct net6 *v6;                    // NULL: no IPv6 address
    // Written by the worker.
    uint32_t icmp_per_s CACHE_ALIGNED, errors_per_s;  // rates of `echoes` and `errors`
    uint64_t defend_at_us[NET_LOCALS_MAX];            // when each address may be announced again
    uint32_t tick_ms;                                 // time of the last net_tick()
    uint64_t ids;                                     // identifications made so far
    uint16_t id_counter[NET_ID_COUNTERS];
    struct groups groups4, groups6;
    uint32_t n_waiting_more;  // packets that wait for a neighbor, without the first of each
    uint32_t n_lost;
    struct icmp_event lost[NET_LOST_MAX];  // for net_lost()
    struct limit echoes, errors;  // answers to echo requests; ICMP errors, of both families
    struct neighbor_cache arp;    // the last field: its entries follow
};

// net_ip_id: the IPv4 identification of a packet to dst_raw that may be fragmented. A keyed hash
// selects one of NET_ID_COUNTERS counters and an offset for the address. The counter advances by a
// random 1 to 8, so that a host that shares it cannot count packets to others (RFC 7739 5.3;
// Linux's ip_idents).
static inline uint16_t net_ip_id(struct net *net, uint32_t dst_raw)
{
    const uint64_t at = siphash_u64x2(&net->id_key, dst_raw, 0);
    uint16_t *counter = &net->id_counter[at >> 32 & (NET_ID_COUNTERS - 1)];
    const uint64_t step = siphash_u64x2(&net->id_key, *counter, ++net->ids);
    *counter = (uint16_t)(*counter + 1 + (step & 7));
    return (uint16_t)(at + *counter);
}

// net_part_id6: the identification of an IPv6 packet that is fragmented here: 32 random bits (RFC
// 7739 5.2). Two packets seldom get the same one within REASM_TIMEOUT_MS.
static inline uint32_t net_part_id6(struct net *net, const struct ip_addr *dst)
{
    return (uint32_t)siphash_u64x3(&net->id_key, load_raw64(dst->b), load_raw64(dst->b + 8),
                                   ++net->ids);
}

// net_alloc_some: allocates n packets, or half as many until the pool has them. Returns how many.
static inline uint32_t net_alloc_some(struct net *net, struct pkt **pkts, uint32_t n)
{
    while (n != 0 && !pkt_alloc_bulk(net->pool, pkts, n))
        n /= 2;
    return n;
}

// large_path: the next hop of a large segment.
struct large_path {
    uint64_t word;  // struct neighbor.word of the next hop
    bool known;     // the next hop has a usable MAC
    uint32_t hop_raw;
    const struct ip_addr *hop6;  // IPv6: the next hop; else NULL
};

// output_large: sends the large segment s as one packet that the port splits, or as several
// packets. The last `left` places of tx are reserved for other segments. Parts without a place or
// packet are dropped and counted. Returns how many segments of s->mss bytes became packets.
uint32_t output_large(struct net *net, struct clock_now now, const struct seg_out *s,
                      const struct large_path *path, struct net_tx *tx, uint32_t left);

// net_can_be_cut: whether s is a large segment that can be split: its parts fit the MTU with
// ip_head bytes of headers, and its data with payload_head bytes fit one IP packet of 64 KiB.
static inline bool net_can_be_cut(const struct net *net, const struct seg_out *s, uint32_t ip_head,
                                  uint32_t payload_head)
{
    const uint32_t data = (uint32_t)s->data_len[0] + s->data_len[1];
    return data > SEG_WHOLE_MAX && payload_head + data <= UINT16_MAX && s->mss != 0 &&
           ip_head + s->mss <= net->ip_bytes_max;
}

static inline void net_prefetch_headers(const struct pkt *p)
{
    const uint8_t *d = pkt_data(p);
    prefetch0(d);
    if (pkt_len(p) > CACHE_LINE)
        prefetch0(d + CACHE_LINE);
}

// net_sender_mac: the source MAC of a received frame, in the low 48 bits.
static inline uint64_t net_sender_mac(const struct pkt *p)
{
    struct mac_addr mac;
    memcpy(mac.b, pkt_data(p) + ETH_SRC_AT, 6);
    return wire_mac_word(&mac);
}

// outcome: the result of parsing one packet on the slow path.
struct outcome {
    enum drop_reason reason;
    bool replied;       // the packet became a reply and is in tx
    bool for_linux;     // it was used, and Linux wants it, too
    struct pkt *whole;  // the packet completed this reassembled one
};

// linux_offer: appends packet p, which is to be dropped for `reason`, to rx->linux_pkts. False:
// Linux does not get packets of this kind. linux_note: appends it unconditionally.
bool linux_offer(const struct net *net, const struct pkt *p, uint32_t pkt_ix,
                 enum drop_reason reason, struct net_rx *rx);
void linux_note(const struct pkt *p, uint32_t pkt_ix, enum net_linux_how how, struct net_rx *rx);

// echo_out: sends p, which was turned into an echo reply of len bytes; in fragments if it is longer
// than a packet.
struct outcome echo_out(struct net *net, struct clock_now now, struct pkt *p, uint32_t len,
                        struct net_tx *tx);

enum { PARTS = 128 };  // fragments of one packet: 64 KiB at an MTU of 552 bytes

// fragment_packet: allocates a packet for `bytes` contiguous bytes of a frame, at most
// REASM_FRAME_MAX. A frame of more than net->pkt_room bytes must not be sent as it is. NULL: no
// room.
struct pkt *fragment_packet(struct net *net, uint32_t bytes);

// fragment_input: passes a fragment to a local address to reassembly. Its data begins at data_off
// of the frame. The caller fills `part` from the IP headers; the other fields are set here.
// net->reasm is not NULL.
struct outcome fragment_input(struct net *net, struct clock_now now, const uint8_t *frame,
                              uint16_t data_off, struct reasm_part part);

// fragment_cut: copies the frame of an IP packet into fragments of at most ip_max bytes. Returns
// their number, at most `max`. 0: `max` is too small or the pool is empty.
//
// fragment_out: fragments to the path MTU and counts. fragment_send: also appends them to tx;
// false: no room for all of them.
uint32_t fragment_cut(struct net *net, const uint8_t *frame, uint32_t len, uint32_t ip_max,
                      uint32_t id, struct pkt **pkts, uint32_t max);
uint32_t fragment_out(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                      struct pkt **pkts, uint32_t max);
bool fragment_send(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                   struct net_tx *tx);

// fragment_room: places of tx that fragments may use: they leave half of tx to other packets.
static inline uint32_t fragment_room(const struct net_tx *tx)
{
    return tx->n < tx->room / 2 ? tx->room / 2 - tx->n : 0;
}

// net_may_be_cut: whether datagram d, which is longer than len_max, may be fragmented here.
bool net_may_be_cut(const struct net *net, const struct net_datagram *d, uint32_t len_max);

// fragment_dst: the destination address of the frame's IP packet.
static inline struct ip_addr fragment_dst(const uint8_t *frame)
{
    const uint8_t *ip = frame + ETH_BYTES;
    struct ip_addr a;
    if (ip[0] >> 4 == 4)
        return ip_from_v4(load_be32(ip + IP4_DST_AT));
    memcpy(a.b, ip + IP6_DST_AT, sizeof(a.b));
    return a;
}

// fragment_tick: drops a few datagrams whose reassembly timed out and sends ICMP errors to their
// senders.
void fragment_tick(struct net *net, struct clock_now now, struct net_tx *tx);

// lost_note: records the segment of p, whose neighbor did not answer, for net_lost(). too_big_note:
// records s, which does not fit the MTU. Rarely called.
void lost_note(struct net *net, const struct pkt *p);
void too_big_note(struct net *net, const struct seg_out *s);

// local_place: makes l, which may be net_local_none(), the address at place k. locals_tables: the
// tables of source addresses and common[0], when all places are set.
void local_place(struct net *net, uint32_t k, const struct net_local *l);
void locals_tables(struct net *net);

// local_first: the first place with an address; 0: none has one.
static inline uint32_t local_first(const struct net *net)
{
    const uint32_t live = ~net->gone & ((UINT32_C(1) << net->n_locals) - 1);
    return live != 0 ? (uint32_t)__builtin_ctz(live) : 0;
}

// locals_all_gone: whether there are places, and none has an address.
static inline bool locals_all_gone(const struct net *net)
{
    return net->n_locals != 0 && net->gone == (UINT32_C(1) << net->n_locals) - 1;
}

// local_is_gone: whether place ix < n_locals has no address.
static inline bool local_is_gone(const struct net *net, uint32_t ix)
{
    return (net->gone >> ix & 1) != 0;
}

// arp_announce_local, nd_announce_local: announces the address at a place of its family, unless the
// net is quiet. nd_leave_local: reports that its solicited-node group is left.
void arp_announce_local(struct net *net, uint32_t k, struct net_tx *tx);
void nd_announce_local(struct net *net, uint32_t k, struct net_tx *tx);
void nd_leave_local(struct net *net, const struct ip_addr *gone, struct net_tx *tx);

// net_route_divides: whether r sends a part of the on-link prefix `on_link` elsewhere.
static inline bool net_route_divides(const struct net_route *r, const struct net_route *on_link)
{
    return !ip_is_zero(&r->via) && r->prefix_bits > on_link->prefix_bits &&
           ip_in_prefix(&r->prefix, &on_link->prefix, on_link->prefix_bits);
}

// routes_change, routes6_change: the routes of net_change(). True: they are other ones.
bool routes_change(struct net *net, const struct net_settings *to);
bool routes6_change(struct net *net, const struct net_settings *to);

// Packets that wait for one neighbor: a list from the oldest, *first; NULL: empty.
//
// wait_add: appends p. If NET_WAIT_MAX wait for this neighbor, or NET_WAIT_MORE_MAX for all, the
// oldest of this list is dropped for `replaced`. wait_take: removes the oldest; NULL: none.
// wait_leave: sends all to this MAC while tx has room. wait_end: drops all for `reason`; with
// `lost` TCP is informed. wait_drain: frees all without counting them.
void wait_add(struct net *net, struct pkt **first, struct pkt *p, enum drop_reason replaced);
struct pkt *wait_take(struct net *net, struct pkt **first);
void wait_leave(struct net *net, struct pkt **first, uint64_t mac_word, struct net_tx *tx);
void wait_end(struct net *net, struct pkt **first, enum drop_reason reason, bool lost);
void wait_drain(struct net *net, struct pkt **first);

// arp_init: sets up net->arp for c. arp_announce: the part of net_announce() for IPv4.
void arp_init(struct net *net, const struct net_config *c);
void arp_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// arp_input: handles the ARP frame of len bytes in p. Returns DROP_NONE if it was used. *replied: p
// became a reply, to be sent.
enum drop_reason arp_input(struct net *net, struct clock_now now, struct pkt *p, bool *replied,
                           struct net_tx *tx);

// group_is_joined: whether net_group_join() was called for the group.
bool group_is_joined(const struct groups *g, const struct ip_addr *group);

// udp_input: parses the UDP datagram of p to local address ix, or to NET_TO_GROUP. DROP_NONE: it
// was added to rx.
enum drop_reason udp_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx);

// udp_deliver: adds datagram m from src to dst to rx, if a port is served or open for it. local:
// index of dst in locals, or NET_TO_GROUP. DROP_NONE, or why it was not added.
enum drop_reason udp_deliver(struct net *net, const struct wire_udp *m, const struct ip_addr *src,
                             const struct ip_addr *dst, uint32_t local, uint32_t pkt_ix,
                             struct net_rx *rx);

// echo_deliver: adds the echo reply of len bytes at offset off of the frame to rx, if a port is
// open for its identifier. local: index of dst in locals. False: there is none.
bool echo_deliver(struct net *net, const uint8_t *frame, uint16_t off, uint16_t len,
                  const struct ip_addr *src, const struct ip_addr *dst, uint32_t local,
                  uint32_t pkt_ix, struct net_rx *rx);

// udp_is_secret: whether u is for a port that may be an ephemeral one. Such a datagram uses up a
// token of the ICMP error limit, as it would if the port were closed. Otherwise a peer could find
// open ports from the errors that are left.
static inline bool udp_is_secret(const struct udp_in *u)
{
    return u->kind == UDP_TO_OPEN && u->dst_port >= NET_CHOSEN_FIRST && u->local != NET_TO_GROUP;
}

// udp_error: adds an ICMP error about the datagram e to rx, if its port is open. e has src,
// src_port, dst_port, local, data_off, data_len, type, code, mtu; for an echo request kind is
// UDP_ECHO_REPLY and dst_port the identifier. `ours`: the source address of the quoted packet.
// If the port is that of a service, only the path MTU that the error reports is stored. DROP_NONE,
// or why nothing was done.
enum drop_reason udp_error(struct net *net, struct clock_now now, const struct udp_in *e,
                           const struct ip_addr *ours, struct net_rx *rx);

// net6_send: net_send() for an IPv6 destination. net6_way: net_egress() for an IPv6 destination.
int net6_send(struct net *net, struct clock_now now, const struct net_datagram *d,
              struct net_tx *tx);
int net6_way(const struct net *net, const struct ip_addr *to, struct ip_addr *from);

// unreachable_send: sends an ICMP destination unreachable of `code` about p's packet, which was
// sent to local address ix and is not a fragment; unless RFC 1122 3.2.2 or the rate limit forbids
// it, or Linux gets the packet.
void unreachable_send(struct net *net, struct clock_now now, const struct pkt *p,
                      const struct wire_ip4 *ip, uint32_t ix, uint8_t code, struct net_tx *tx);

// error4_send: sends an ICMP error within the rate limit. It quotes n bytes, n <= ICMP_QUOTE_MAX,
// of a packet that came in a frame with the Ethernet header `eth` to local address ix.
void error4_send(struct net *net, struct clock_now now, const uint8_t *eth, const uint8_t *quoted,
                 uint32_t n, uint32_t ix, uint8_t type, uint8_t code, struct net_tx *tx);

// net_on_link: the index of the local address whose prefix contains addr_raw, or -1.
static inline int net_on_link(const struct net *net, uint32_t addr_raw)
{
#pragma GCC unroll 1  // one address is the rule
    for (uint32_t k = 0; k < net->n_locals; k++)
        if ((addr_raw & net->mask[k]) == net->subnet[k])
            return (int)k;
    return -1;
}

// route_find: the next hop to dst_raw by longest prefix match; 0: none. route_is_via: whether
// v4_raw is the next hop of a route or the gateway.
uint32_t route_find(const struct net *net, uint32_t dst_raw);
bool route_is_via(const struct net *net, uint32_t v4_raw);

// route_way: sets the next hop as route_find() and returns the prefix length of the route; -1:
// none.
int route_way(const struct net *net, uint32_t dst_raw, uint32_t *hop_raw);

// routes_init: builds the routing table from c; net has the local addresses already. routes_check:
// -1 if a route or gateway of c is not valid; *e says which.
void routes_init(struct net *net, const struct net_config *c);
int routes_check(const struct net_config *c, struct err *e);

// mask_of: the mask of a prefix length, in host order.
static inline uint32_t mask_of(uint8_t prefix_bits)
{
    return prefix_bits == 0 ? 0 : UINT32_MAX << (32 - prefix_bits);
}

// net_local_index: the index of local address addr_raw, or -1.
static inline int net_local_index(const struct net *net, uint32_t addr_raw)
{
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (addr_raw == net->local[k])
            return addr_raw != 0 ? (int)k : -1;  // a free place has 0.0.0.0
    return -1;
}

// is_broadcast: whether addr_raw is 255.255.255.255 or the broadcast address of a local prefix.
static inline bool is_broadcast(const struct net *net, uint32_t addr_raw)
{
    bool is = addr_raw == UINT32_MAX;
    for (uint32_t k = 0; k < net->n_locals; k++)
        is |= addr_raw == net->bcast[k];
    return is && net->n_locals != 0;
}

// net_is_unicast_mac: whether a host can have this MAC: neither a group's nor zero.
bool net_is_unicast_mac(const struct mac_addr *mac);

// net_source_top_ok: whether the first byte of a source address is valid: not 0/8, loopback,
// multicast or 255/8. As on Linux, the rest of 240/4 is valid.
static inline bool net_source_top_ok(uint32_t src_raw)
{
    uint32_t top = src_raw & 0xff;
    return top - 1 < 254 && top != 127 && (top & 0xf0) != 0xe0;
}
