// SPDX-License-Identifier: BSD-3-Clause
// net.h: the border between packets and TCP for one port queue: Ethernet; ARP, IPv4 and ICMP;
// neighbour discovery, IPv6 and ICMPv6; routes.
//
//   pkts -> net_input  -> segs (to the flow table), icmp events (to TCP), replies (to the port)
//   segs -> net_output -> packets (to the port), or a few waiting per neighbour
//           net_tick   -> requests to neighbours that are due, waiting packets that have waited too
//           long
//
// One struct net belongs to one worker and one port queue; no function locks, logs, allocates
// memory or makes a system call after net_init(). Only net_arp_read(), net_nd_read() and what
// renders them may be called from another thread.
#pragma once
#include "base/addr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/keys.h"
#include "base/limit.h"
#include "net/reasm.h"
#include "net/udp_table.h"
#include "pkt/pkt.h"
#include "pkt/port.h"
#include "stat/counters.h"
#include "wire/icmp_event.h"
#include "wire/seg.h"

enum {
    NET_LOCALS_MAX = 16,  // of both families
    NET_STATICS_MAX = 16,
    NET_ROUTES_MAX = 16,  // looked at one by one
    NET_NEIGHBOR_ENTRIES_MIN = 64,
    NET_NEIGHBOR_ENTRIES_MAX = 32768,
    NET_NEIGHBOR_WAYS = 8,          // entries of a set: four cache lines, with IPv6 eight
    NET_NEIGHBOR_PENDING_WAYS = 4,  // of them at most that wait for an answer: half the cache
    NET_NEIGHBOR_DYNAMIC_WAYS = 2,  // of them at least that permanent neighbours leave to others
    NET_NEIGHBOR_REACHABLE_MS = 60000,  // then it is asked again, or forgotten when nobody used it
    NET_NEIGHBOR_RETRY_MS = 1000,  // RFC 1122 2.3.2.1: at most one request a second for an address
    NET_NEIGHBOR_TRIES = 3,
    NET_DEFEND_MS = 10000,  // RFC 5227 1.1, DEFEND_INTERVAL
    NET_UDP_PORTS_MAX = 32,
    NET_CHOSEN_FIRST = 32768,  // from here on a port may be one that was chosen, and is a secret
    NET_WAIT_MAX = 48,         // packets that wait for one neighbour: 64 KiB in parts
    NET_WAIT_MORE_MAX = 256,   // of them in all, the first of each neighbour apart
    NET_LOST_MAX = 16,         // segments that net_lost() tells at a time
    NET_GROUPS_MAX = 64,       // joined, of each family
    NET_TICK_SLOTS = 64,  // entries of each family that one net_tick() looks at, once a millisecond
};

struct net_local {
    struct ip_addr addr;
    uint8_t prefix_bits;  // of the address's family: 0..32 or 0..128
};

struct net_static {
    struct ip_addr addr;
    struct mac_addr mac;
};

// net_route: packets to prefix/prefix_bits (1..32 or 1..128, no bit set behind them) go to via.
struct net_route {
    struct ip_addr prefix;
    uint8_t prefix_bits;
    struct ip_addr via;  // of the same family; on-link or one of statics, as the gateway
};

// net_udp_port: a UDP port that is served.
struct net_udp_port {
    uint16_t port;
    uint16_t local_ix;  // as in flow_key; UINT16_MAX: on all addresses
    uint8_t service;    // the caller's own
};

// net_config: plain values; net_config_default() sets what has a default.
struct net_config {
    struct mac_addr mac;
    uint16_t mtu;             // bytes of an IP packet; default 1500
    uint16_t local_ix_first;  // flow_key.local_ix of locals[0]; the others follow
    uint8_t n_locals;         // 1..NET_LOCALS_MAX
    uint8_t n_statics;
    struct net_local locals[NET_LOCALS_MAX];     // those of IPv4 before those of IPv6
    struct net_static statics[NET_STATICS_MAX];  // neighbours that are never asked, never age
    uint32_t gateway;         // of IPv4, host order; 0: none; on-link or one of statics
    struct ip_addr gateway6;  // of IPv6; all zero: none
    uint8_t n_routes;
    struct net_route routes[NET_ROUTES_MAX];  // the longest prefix counts, those of locals included
    uint32_t caps;                            // enum port_cap of the port
    uint16_t chain_max;                       // as the port's; 0: PKT_CHAIN_MAX
    uint32_t arp_entries;        // of each family's neighbours; a power of two; default 1024
    uint32_t arp_rate_per_s;     // requests sent at most, of each family; default 1000
    uint32_t icmp_rate_per_s;    // echo requests answered at most; default 10000; 0: none
    uint32_t icmp_errors_per_s;  // ICMP errors sent at most; default 1000 (Linux's); 0: none
    uint32_t n_udp;
    struct net_udp_port udp[NET_UDP_PORTS_MAX];
    struct udp_table *open;  // ports opened while running; NULL: no application does that
    struct reasm *reasm;     // of the worker; NULL: fragments are neither taken nor made
    uint8_t port;            // its number among the ports of the worker
    // By which port, numbered from 1, what is sent to each of locals comes: with `loops` that of
    // the port whose address it is; 0: this one.
    uint8_t device_of[NET_LOCALS_MAX];
    struct keys keys;
    // Another net with these addresses hears the same ARP and answers, defends and announces: this
    // one learns only, and asks for what it needs.
    bool quiet;
    // What is sent comes back: the addresses, those of loopback among them, are their own
    // neighbours, by statics, and may be a source. Nothing is announced.
    bool loops;
};

void net_config_default(struct net_config *c);

struct net;

// net_footprint: bytes of memory, aligned to CACHE_LINE, that net_init() needs for c. 0:
// arp_entries is out of range.
size_t net_footprint(const struct net_config *c);

// net_init: places a net in mem. pool: of the worker, for what it sends. stats: of the worker; its
// nets all count there. NULL: e says which value of c cannot be. Control thread, before the worker
// runs.
struct net *net_init(void *mem, const struct net_config *c, struct pkt_pool *pool,
                     struct core_stats *stats, struct err *e);

// net_tx: where packets to send are appended; n <= room, pkts has room entries.
struct net_tx {
    struct pkt **pkts;
    uint32_t n, room;
};

enum udp_kind {
    UDP_SERVED,      // to a configured port
    UDP_TO_OPEN,     // to one that was opened while running
    UDP_ECHO_REPLY,  // an answer to an open port for those: data is the whole message
    UDP_ERROR,       // an ICMP error about a datagram of one of those
};

// udp_in: a datagram for a served port, its checksum right or none. Its payload lies in the packet.
// With UDP_ERROR the one that an ICMP error quotes: src and src_port are those it was sent to,
// dst_port and local those it came from, and as much of its payload as is quoted.
struct udp_in {
    struct ip_addr src;
    uint16_t src_port;  // 0: no answer is wanted (RFC 768)
    uint16_t dst_port;
    uint16_t pkt_ix;
    uint16_t data_off, data_len;
    uint8_t local;       // of locals[]: which address was asked; NET_TO_GROUP
    uint8_t service;     // of struct net_udp_port, of struct udp_open
    uint8_t kind;        // enum udp_kind
    uint8_t type, code;  // of the ICMP error
    uint16_t open;       // index of the open port
    uint16_t mtu;        // an error's: what the router said that fits; 0: nothing
};

enum { NET_TO_GROUP = 255 };  // sent to a broadcast address or a group

struct net_rx {
    struct seg_in segs[BURST_MAX];
    struct seq_range sacks[BURST_MAX][SEG_SACK_MAX];  // by segs[].pkt_ix; wire_read_sack()
    struct icmp_event icmp[BURST_MAX];
    struct udp_in udp[BURST_MAX];
    uint32_t n_segs, n_icmp, n_udp;
    uint32_t n_whole;
    uint8_t whole[BURST_MAX];
};

// net_input: sorts n received packets, n <= BURST_MAX, into rx, which it empties first; replies are
// appended to tx. pkts[i] becomes NULL when the packet itself was turned into a reply and now is in
// tx; all others, delivered and dropped, stay the caller's, who frees them when the turn ends.
// segs[].pkt_ix and data_off say where a payload lies. Packets in tx leave for the port or are
// freed by the caller. Where the last missing fragment of a datagram was, at pkts[whole[]], the
// whole one lies: it is not looked at here. Its worker, which others than the fragments' may be,
// gives it to net_input_whole(), or has it handed to that one in parts by net_hand_over(). What
// comes into rx is counted by the caller as delivered, answered, kept or dropped; every other
// packet is counted here (stat_balance).
void net_input(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t n,
               struct net_rx *rx, struct net_tx *tx);

// net_input_whole: sorts pkts[i], one of rx->whole, into rx as well. net_hand_over: makes it parts
// of packets, for another worker to put together; how many, at most `max`, 0: that many it needs,
// or there are no packets; the whole one then ends as the caller says.
void net_input_whole(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t i,
                     struct net_rx *rx, struct net_tx *tx);
uint32_t net_hand_over(struct net *net, const struct pkt *whole, struct pkt **pkts, uint32_t max);

// net_udp_begin: a packet for the answer to datagram u: *room bytes for its payload lie at
// net_udp_payload(). NULL: tx is full or the pool empty. net_udp_send: sends p with n of them
// (n <= *room) to the MAC, address and port that u, in packet `asked`, came from, out of the
// address and port that it asked. A packet that is not wanted after all is freed by the caller.
// *room: what fits in a packet, or, of a question that was longer and came in fragments, as much as
// that: its answer is cut as well. net_udp_send: false: there was no room for its parts.
struct pkt *net_udp_begin(struct net *net, const struct udp_in *u, const struct net_tx *tx,
                          uint32_t *room);
uint8_t *net_udp_payload(const struct udp_in *u, struct pkt *p);
bool net_udp_send(struct net *net, struct clock_now now, const struct udp_in *u,
                  const struct pkt *asked, struct pkt *p, uint32_t n, struct net_tx *tx);

// net_datagram: a datagram of an application. Addresses of one family, `from` one of locals; ports
// are not 0; a group of receivers as a broadcast address of ours, 255.255.255.255, or multicast.
struct net_datagram {
    struct ip_addr from, to;
    uint16_t from_port, to_port;
    uint8_t ttl, tos;  // ttl 0: 64, to a multicast group 1 (Linux's defaults)
    bool df;           // IPv4: not to be cut on its way, if it fits a packet
    bool whole;        // not to be cut here
    const uint8_t *data;
    size_t len;
    // Not NULL: ICMP_BYTES that a message of ICMP begins with; data is what follows, from_port the
    // identifier, to_port nothing.
    const uint8_t *icmp;
};

// net_egress: has a datagram to `to` a way out of here? -1: no, else the bits of the prefix that
// leads there, 0 the gateway's; *from is the address of ours to send from: on the next hop's
// prefix, of to's scope, the one most like it (RFC 6724 5, rules 2 and 8), the first of them.
int net_egress(const struct net *net, const struct ip_addr *to, struct ip_addr *from);

// net_send: builds datagram d's packet, or its packets, and appends them to tx, or lets them wait
// for the neighbour, whom it asks for. The packets' number; -EADDRNOTAVAIL: d->from is not ours;
// -ENETUNREACH: no way to d->to, an address of ours among those; -EMSGSIZE: longer than the link,
// or the path (udp_path_mtu), takes whole and not to be cut, or longer than 64 KiB; -ENOBUFS: tx is
// full or the pool empty.
int net_send(struct net *net, struct clock_now now, const struct net_datagram *d,
             struct net_tx *tx);

// net_group_join: what is sent to the group comes in from now on, for as many net_group_leave() as
// there were joins. The link is told (RFC 3810 6.1), where there is room, by a packet in tx. 0;
// -EINVAL: no multicast address; -ENODEV: the port has no address of that family; -ENOBUFS:
// NET_GROUPS_MAX are joined. net_group_leave: 0, or -EADDRNOTAVAIL: it is not joined.
int net_group_join(struct net *net, struct clock_now now, const struct ip_addr *group,
                   struct net_tx *tx);
int net_group_leave(struct net *net, struct clock_now now, const struct ip_addr *group,
                    struct net_tx *tx);

// net_mtu: of packets to `to`, as far as it is known.
uint16_t net_mtu(const struct net *net, struct clock_now now, const struct ip_addr *to);

// net_device: by which port, numbered from 1, what was sent to address `local` (udp_in.local) came.
unsigned net_device(const struct net *net, uint8_t local);

// net_is_group: does a datagram to this address go to all who listen on the link: a broadcast
// address of ours, 255.255.255.255, any multicast one?
bool net_is_group(const struct net *net, const struct ip_addr *a);

// net_local_addr: locals[local].
struct ip_addr net_local_addr(const struct net *net, uint8_t local);

// net_serves: is UDP port `port` of address local_ix (UINT16_MAX: of all) configured?
bool net_serves(const struct net *net, uint16_t port, uint16_t local_ix);

// net_output: builds one packet for each of n segments and appends it to tx. tx has room for n
// more; what finds none, no route, no buffer or no place to wait is dropped and counted. A segment
// whose neighbour is not known yet waits here, one per neighbour, which is asked for.
// A large segment (SEG_WHOLE_MAX) counts for n as many as it is cut into, unless the port cuts it.
// Returns how many packets were appended. The segments' data is not needed after the return.
uint32_t net_output(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                    struct net_tx *tx);

// net_forget: nothing is known of paths (udp_path_mtu), the limits of rates are as at the start.
void net_forget(struct net *net);

// net_announce: appends a gratuitous ARP request for every local address (RFC 5227 2.3) and asks
// for the gateways and those of the routes. For IPv6 addresses: probes (RFC 4862 5.4) and unasked
// advertisements (RFC 4861 7.2.6), and a report of the groups (RFC 3810). Needs room for
// 2 * n_locals + n_routes + 5.
void net_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// net_tick: ages NET_TICK_SLOTS entries of each family; does nothing twice in one millisecond, and
// returns whether it did. Requests go to tx as far as there is room. Called at least every 10 ms
// (1024 entries then take 160 ms).
bool net_tick(struct net *net, struct clock_now now, struct net_tx *tx);

// net_lost: since the last call, the segments that waited for a neighbour who never answered (and
// ended so): as errors about them, EHOSTUNREACH, into events[NET_LOST_MAX]; returns how many. Of
// more than NET_LOST_MAX the first ones.
uint32_t net_lost(struct net *net, struct icmp_event *events);

// net_neighbor_add: neighbour a is at mac: as if it had said so itself, or for good (permanent);
// packets that wait for it leave. 0; -EAFNOSUPPORT: no address of that family here; -EPERM: it is
// one of the configuration; -ENOSPC: no room for another permanent one in its set; -ENOBUFS: none.
// net_neighbor_del: it is forgotten; -ENOENT: it is not known. net_neighbors_flush: all are, but
// permanent ones and those of the configuration; returns how many. Of the worker.
int net_neighbor_add(struct net *net, struct clock_now now, const struct ip_addr *a,
                     const struct mac_addr *mac, bool permanent, struct net_tx *tx);
int net_neighbor_del(struct net *net, const struct ip_addr *a);
unsigned net_neighbors_flush(struct net *net);

// net_drain: frees the packets that wait for a neighbour, uncounted. Before the pool goes.
void net_drain(struct net *net);

// net_mss: the largest TCP payload plus options of one packet (RFC 9293 3.7.1): MTU less 40.
// net_mss6: the same over IPv6: MTU less 60.
uint16_t net_mss(const struct net *net);
uint16_t net_mss6(const struct net *net);

enum net_neighbor_state {  // of the neighbours of both families
    NET_NEIGHBOR_FREE,
    NET_NEIGHBOR_PENDING,  // asked for; mac is zero
    NET_NEIGHBOR_REACHABLE,
    NET_NEIGHBOR_PROBE,  // asked for again; used meanwhile
    NET_NEIGHBOR_STATIC,
};

struct net_neighbor {
    uint32_t v4;  // host order
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};

// net_arp_slots: slots of the ARP cache, statics included. net_arp_read: copies slot's entry to
// out, false if it is free (or being rewritten at every one of some tries). Any thread, never waits
// for the worker nor disturbs it: each entry has a sequence count, and it is the reader who tries
// again.
uint32_t net_arp_slots(const struct net *net);
bool net_arp_read(const struct net *net, uint32_t slot, struct net_neighbor *out);

// net_arp_render: the cache as Linux's /proc/net/arp without its head line (NET_ARP_HEAD), one line
// an entry on `device`, at most size bytes, whole lines. Returns the bytes written; *slot is where
// to go on, net_arp_slots() when all is written; it begins at 0. Any thread.
#define NET_ARP_HEAD                                                                               \
    "IP address       HW type     Flags       HW address            Mask     Device\n"
size_t net_arp_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                      size_t size);

struct net_neighbor6 {
    struct ip_addr addr;
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};

// net_nd_slots, net_nd_read: as net_arp_slots() and net_arp_read(), for the neighbours of IPv6; no
// slots without an IPv6 address.
uint32_t net_nd_slots(const struct net *net);
bool net_nd_read(const struct net *net, uint32_t slot, struct net_neighbor6 *out);

// net_nd_render: them as `ip -6 neigh` prints neighbours, otherwise as net_arp_render().
size_t net_nd_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                     size_t size);
