// SPDX-License-Identifier: BSD-3-Clause
// priv.h: the inside of struct net, for the files of this folder.
#pragma once
#include "net/neighbor_cache.h"
#include "net/net.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    NET_ID_COUNTERS = 1024,
    ROUTES_ALL = NET_LOCALS_MAX + NET_ROUTES_MAX + 1,
};

// NET_ROUTED: no next hop, but the word that there are routes: the broadcast address.
#define NET_ROUTED UINT32_MAX

struct route {
    uint32_t mask, subnet;  // raw
    uint32_t via_raw;       // 0: the destination itself, which is on the link
};

struct net6;

// groups: those of one family that were joined, the first n; users: how many times.
struct groups {
    uint32_t n;
    uint32_t users[NET_GROUPS_MAX];
    struct ip_addr addr[NET_GROUPS_MAX];
};

struct net {
    // Read for every packet, written by net_init() alone.
    uint64_t mac_word_shl16;  // own MAC in the upper 48 bits
    uint32_t n_locals;
    uint16_t local_ix_first;
    uint16_t ip_bytes_max;
    bool tx_l4;                      // the port fills in TCP checksums
    bool tx_ip;                      // IPv4's header checksums as well
    bool tso;                        // and cuts large segments
    uint16_t chain_max;              // of so many packets
    uint32_t far_hop_raw;            // of all that is not near; 0: none, NET_ROUTED: ask route_find
    uint32_t local[NET_LOCALS_MAX];  // all raw
    uint32_t bcast[NET_LOCALS_MAX];
    uint32_t near_mask[NET_LOCALS_MAX];  // mask and subnet of local prefixes without a route inside
    uint32_t near_subnet[NET_LOCALS_MAX];
    struct wire_common common[NET_LOCALS_MAX];
    struct wire_from from[NET_LOCALS_MAX];
    struct core_stats *stats;  // of the worker, which counts there
    struct pkt_pool *pool;
    struct siphash_key id_key;
    uint32_t mask[NET_LOCALS_MAX];
    uint32_t subnet[NET_LOCALS_MAX];
    uint32_t n_routes;
    struct route routes[ROUTES_ALL];  // the longest prefixes first, the gateway's last
    bool source_top[256];             // may a source address begin with this byte?
    bool source_low[256];             // end in it: no address of ours, no broadcast does
    struct mac_addr mac;
    bool quiet;
    bool loops;
    uint32_t n_udp;
    struct net_udp_port udp[NET_UDP_PORTS_MAX];
    struct udp_table *open;
    struct reasm *reasm;
    uint8_t port;
    uint8_t device_of[NET_LOCALS_MAX];  // by local, numbered from 1
    struct net6 *v6;                    // NULL: no IPv6 address
    // Written by the worker.
    uint32_t icmp_per_s CACHE_ALIGNED, errors_per_s;  // of `echoes` and `errors`
    uint64_t defend_at_us[NET_LOCALS_MAX];            // when each address may be announced again
    uint32_t tick_ms;                                 // of the last net_tick()
    uint64_t ids;                                     // drawn by net_ip_id() and net_part_id6()
    uint16_t id_counter[NET_ID_COUNTERS];
    struct groups groups4, groups6;
    uint32_t n_waiting_more;  // packets that wait for a neighbour behind another
    uint32_t n_lost;
    struct icmp_event lost[NET_LOST_MAX];  // for net_lost()
    struct limit echoes, errors;  // answers to echo requests; ICMP errors, of both families
    struct neighbor_cache arp;    // the last field: its entries follow
};

// net_ip_id: the identification of a packet to dst_raw that may be cut on its way. Those to one
// address follow each other from where a key says; of NET_ID_COUNTERS that addresses share by a key
// each moves on by 1 to 8, so that who shares one cannot count what others get (RFC 7739 5.3, and
// Linux's ip_idents).
static inline uint16_t net_ip_id(struct net *net, uint32_t dst_raw)
{
    const uint64_t at = siphash_u64x2(&net->id_key, dst_raw, 0);
    uint16_t *counter = &net->id_counter[at >> 32 & (NET_ID_COUNTERS - 1)];
    const uint64_t step = siphash_u64x2(&net->id_key, *counter, ++net->ids);
    *counter = (uint16_t)(*counter + 1 + (step & 7));
    return (uint16_t)(at + *counter);
}

// net_part_id6: the same of an IPv6 packet that is cut here, of 32 bits: by chance, which with so
// many seldom makes two alike in REASM_TIMEOUT_MS (RFC 7739 5.2).
static inline uint32_t net_part_id6(struct net *net, const struct ip_addr *dst)
{
    return (uint32_t)siphash_u64x3(&net->id_key, load_raw64(dst->b), load_raw64(dst->b + 8),
                                   ++net->ids);
}

// net_alloc_some: as many of n packets as the pool gives, in halves.
static inline uint32_t net_alloc_some(struct net *net, struct pkt **pkts, uint32_t n)
{
    while (n != 0 && !pkt_alloc_bulk(net->pool, pkts, n))
        n /= 2;
    return n;
}

// large_way: where a large segment goes.
struct large_way {
    uint64_t word;  // of the next hop's entry
    bool known;     // there is one, with a MAC
    uint32_t hop_raw;
    const struct ip_addr *hop6;  // instead of it, over IPv6; else NULL
};

// output_large: the large segment s, as one packet that the port cuts, or in as many as it needs;
// the last `left` places of tx are not its own. What finds no place or no packet is dropped and
// counted. Returns how many segments of s->mss bytes became packets.
uint32_t output_large(struct net *net, struct clock_now now, const struct seg_out *s,
                      const struct large_way *way, struct net_tx *tx, uint32_t left);

// net_can_be_cut: is segment s, with ip_head bytes of headers from the IP header on, a large one, a
// single IP packet of payload_head bytes and its data, of parts that fit?
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

// net_sender_mac: of a received frame, as a word.
static inline uint64_t net_sender_mac(const struct pkt *p)
{
    struct mac_addr mac;
    memcpy(mac.b, pkt_data(p) + 6, 6);
    return wire_mac_word(&mac);
}

// outcome: what became of one packet of the slow path.
struct outcome {
    enum drop_reason reason;
    bool replied;       // the packet itself is in tx
    struct pkt *whole;  // the packet was the last missing part of this one
};

// echo_out: sends p, turned into an echo reply of len bytes; one that is longer than a packet in
// parts.
struct outcome echo_out(struct net *net, struct clock_now now, struct pkt *p, uint32_t len,
                        struct net_tx *tx);

enum { PARTS = 128 };  // of what is cut: 64 KiB in packets of 552 bytes

// fragment_packet: a packet for `bytes` of a frame that lie together, at most REASM_FRAME_MAX; not
// to be sent if they are more than PKT_ROOM. NULL: there is no room.
struct pkt *fragment_packet(struct net *net, uint32_t bytes);

// fragment_input: a part to an address of ours, whose data begins at data_off of the frame. `part`
// says what its headers do; the rest of it is filled in here. Not without net->reasm.
struct outcome fragment_input(struct net *net, struct clock_now now, const uint8_t *frame,
                              uint16_t data_off, struct reasm_part part);

// fragment_cut: the frame of an IP packet as fragments of at most ip_max bytes; how many, at most
// `max`. 0: it needs more, or there are not enough packets. fragment_out: the same as far as its
// way takes, counted. fragment_send: the same into tx; false: there was no room for all.
uint32_t fragment_cut(struct net *net, const uint8_t *frame, uint32_t len, uint32_t ip_max,
                      uint32_t id, struct pkt **pkts, uint32_t max);
uint32_t fragment_out(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                      struct pkt **pkts, uint32_t max);
bool fragment_send(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                   struct net_tx *tx);

// fragment_room: places of tx for parts: half of them are others'.
static inline uint32_t fragment_room(const struct net_tx *tx)
{
    return tx->n < tx->room / 2 ? tx->room / 2 - tx->n : 0;
}

// net_may_be_cut: is datagram d, too long for its way, one that we cut?
bool net_may_be_cut(const struct net *net, const struct net_datagram *d, uint32_t len_max);

// fragment_dst: where an IP packet goes.
static inline struct ip_addr fragment_dst(const uint8_t *frame)
{
    const uint8_t *ip = frame + ETH_BYTES;
    struct ip_addr a;
    if (ip[0] >> 4 == 4)
        return ip_from_v4(load_be32(ip + 16));
    memcpy(a.b, ip + 24, sizeof(a.b));
    return a;
}

// fragment_tick: gives datagrams up whose time is over, a few at a time, and tells their senders.
void fragment_tick(struct net *net, struct clock_now now, struct net_tx *tx);

// lost_note: p waited for a neighbour that never answered: net_lost() will say so of its segment.
void lost_note(struct net *net, const struct pkt *p);

// The packets of one neighbour, from the one that waits longest: at *first, NULL: none.
// wait_add: p waits behind them; where NET_WAIT_MAX do already, or NET_WAIT_MORE_MAX behind others
// in all, the first of them ends for `replaced`. wait_take: the first, which waits no more; NULL.
// wait_leave: all of them leave for this MAC, as far as there is room. wait_end: all end for
// `reason`; lost: and TCP hears of it. wait_drain: all are freed, uncounted.
void wait_add(struct net *net, struct pkt **first, struct pkt *p, enum drop_reason replaced);
struct pkt *wait_take(struct net *net, struct pkt **first);
void wait_leave(struct net *net, struct pkt **first, uint64_t mac_word, struct net_tx *tx);
void wait_end(struct net *net, struct pkt **first, enum drop_reason reason, bool lost);
void wait_drain(struct net *net, struct pkt **first);

// arp_init: makes net->arp for c. arp_announce: net_announce() for IPv4.
void arp_init(struct net *net, const struct net_config *c);
void arp_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// arp_input: a received ARP frame of len bytes in p. DROP_NONE: taken; *replied says whether p
// itself was turned into a reply, to be sent.
enum drop_reason arp_input(struct net *net, struct clock_now now, struct pkt *p, bool *replied,
                           struct net_tx *tx);

// group_is_joined: one of those that net_group_join() was told.
bool group_is_joined(const struct groups *g, const struct ip_addr *group);

// udp_input: the UDP datagram of p, to local address ix, or NET_TO_GROUP. DROP_NONE: it is in rx.
enum drop_reason udp_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx);

// udp_deliver: datagram m from src to dst, which is address `local` of c's locals or with
// NET_TO_GROUP none, into rx. Else why not.
enum drop_reason udp_deliver(struct net *net, const struct wire_udp *m, const struct ip_addr *src,
                             const struct ip_addr *dst, uint32_t local, uint32_t pkt_ix,
                             struct net_rx *rx);

// echo_deliver: the echo reply of len bytes at off of p's frame, from src to dst, address `local`
// of c's locals, into rx, where a port is open for its identifier. Else false.
bool echo_deliver(struct net *net, const uint8_t *frame, uint16_t off, uint16_t len,
                  const struct ip_addr *src, const struct ip_addr *dst, uint32_t local,
                  uint32_t pkt_ix, struct net_rx *rx);

// udp_is_secret: u is for a port that may have been chosen by chance. An ICMP error to its source
// is taken from the limits then, as the datagram would have caused one with the port closed: by
// what is left nobody can tell which ports are open.
static inline bool udp_is_secret(const struct udp_in *u)
{
    return u->kind == UDP_TO_OPEN && u->dst_port >= NET_CHOSEN_FIRST && u->local != NET_TO_GROUP;
}

// udp_error: an ICMP error about the datagram that e says (src, src_port, dst_port, local,
// data_off, data_len, type, code, mtu; kind: UDP_ECHO_REPLY: an echo request with the identifier
// dst_port), which came from `ours`, into rx. Else why not.
enum drop_reason udp_error(struct net *net, const struct udp_in *e, const struct ip_addr *ours,
                           struct net_rx *rx);

// net6_send: net_send() to an IPv6 address. net6_way: net_egress().
int net6_send(struct net *net, struct clock_now now, const struct net_datagram *d,
              struct net_tx *tx);
int net6_way(const struct net *net, const struct ip_addr *to, struct ip_addr *from);

// unreachable_send: ICMP destination unreachable of `code` about p's packet, which was sent to
// local address ix and is whole, as far as RFC 1122 3.2.2 lets it go and within the rate.
void unreachable_send(struct net *net, struct clock_now now, const struct pkt *p,
                      const struct wire_ip4 *ip, uint32_t ix, uint8_t code, struct net_tx *tx);

// error4_send: an ICMP error about the packet of which n bytes are quoted, n <= ICMP_QUOTE_MAX,
// that came in a frame with this Ethernet header to our address ix; within the rate.
void error4_send(struct net *net, struct clock_now now, const uint8_t *eth, const uint8_t *quoted,
                 uint32_t n, uint32_t ix, uint8_t type, uint8_t code, struct net_tx *tx);

// net_on_link: the index of the local address whose prefix holds addr_raw, or -1.
static inline int net_on_link(const struct net *net, uint32_t addr_raw)
{
#pragma GCC unroll 1  // one address is the rule
    for (uint32_t k = 0; k < net->n_locals; k++)
        if ((addr_raw & net->mask[k]) == net->subnet[k])
            return (int)k;
    return -1;
}

// route_find: the next hop to dst_raw by the longest prefix, 0: none. route_is_via: whether a
// route, or the gateway's, goes there.
uint32_t route_find(const struct net *net, uint32_t dst_raw);
bool route_is_via(const struct net *net, uint32_t v4_raw);

// route_way: the bits of that prefix, and the next hop; -1: none.
int route_way(const struct net *net, uint32_t dst_raw, uint32_t *hop_raw);

// routes_init: from c, whose locals are in net. routes_check: -1 and *e: what of c cannot be.
void routes_init(struct net *net, const struct net_config *c);
int routes_check(const struct net_config *c, struct err *e);

// mask_of: of a prefix, host order.
static inline uint32_t mask_of(uint8_t prefix_bits)
{
    return prefix_bits == 0 ? 0 : UINT32_MAX << (32 - prefix_bits);
}

// net_local_index: the index of addr_raw among our addresses, or -1.
static inline int net_local_index(const struct net *net, uint32_t addr_raw)
{
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (addr_raw == net->local[k])
            return (int)k;
    return -1;
}

// is_broadcast: the limited broadcast address, or one of ours.
static inline bool is_broadcast(const struct net *net, uint32_t addr_raw)
{
    bool is = addr_raw == UINT32_MAX;
    for (uint32_t k = 0; k < net->n_locals; k++)
        is |= addr_raw == net->bcast[k];
    return is && net->n_locals != 0;
}

// net_source_top_ok: the first byte of a source address: not 0/8, loopback, multicast, 255/8. The
// rest of 240/4 is let through as Linux does.
static inline bool net_source_top_ok(uint32_t src_raw)
{
    uint32_t top = src_raw & 0xff;
    return top - 1 < 254 && top != 127 && (top & 0xf0) != 0xe0;
}
