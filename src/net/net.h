// SPDX-License-Identifier: BSD-3-Clause
// net.h: converts between packets and TCP segments for one port queue. It handles Ethernet; ARP,
// IPv4 and ICMP; neighbor discovery, IPv6 and ICMPv6; routes.
//
//   pkts -> net_input  -> segs (to the flow table), ICMP events (to TCP), replies (to the port)
//   segs -> net_output -> packets (to the port), or packets that wait for a neighbor's MAC
//           net_tick   -> requests to neighbors; drops packets that have waited too long
//
// One struct net belongs to one worker and one port queue. After net_init() no function locks,
// logs, allocates memory or makes a system call. Other threads may call only net_arp_read(),
// net_nd_read() and the functions that render them.
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
    NET_ROUTES_MAX = 16,           // searched linearly
    NET_SETTINGS_ROUTES_MAX = 32,  // of net_change(), with those of prefixes on the link
    NET_NEIGHBOR_ENTRIES_MIN = 64,
    NET_NEIGHBOR_ENTRIES_MAX = 32768,
    NET_NEIGHBOR_WAYS = 8,              // entries of a set: four cache lines, with IPv6 eight
    NET_NEIGHBOR_PENDING_WAYS = 4,      // of them, at most, unresolved: half the cache
    NET_NEIGHBOR_DYNAMIC_WAYS = 2,      // of them, at least, not permanent
    NET_NEIGHBOR_REACHABLE_MS = 60000,  // then probed again, or removed if unused
    NET_NEIGHBOR_RETRY_MS = 1000,  // RFC 1122 2.3.2.1: at most one request a second for an address
    NET_NEIGHBOR_TRIES = 3,
    NET_DEFEND_MS = 10000,  // RFC 5227 1.1, DEFEND_INTERVAL
    NET_UDP_PORTS_MAX = 32,
    NET_CHOSEN_FIRST = 32768,  // ports from here on may be ephemeral: udp_is_secret()
    NET_WAIT_MAX = 48,         // packets that wait for one neighbor: 64 KiB of fragments
    NET_WAIT_MORE_MAX = 256,   // the same of all neighbors, without the first packet of each
    NET_LOST_MAX = 16,         // segments that one net_lost() reports
    NET_GROUPS_MAX = 64,       // joined groups of each family
    NET_ANNOUNCE_MAX = 2 * NET_LOCALS_MAX + NET_ROUTES_MAX + 5,  // packets of net_announce()
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

// net_route: packets to prefix/prefix_bits go to via. prefix_bits is 1..32 or 1..128; the bits of
// prefix after it are 0.
struct net_route {
    struct ip_addr prefix;
    uint8_t prefix_bits;
    struct ip_addr via;  // same family; on-link or in statics
};

// net_udp_port: a UDP port that the configuration gives to a service.
struct net_udp_port {
    uint16_t port;
    uint16_t local_ix;  // as in flow_key; UINT16_MAX: on all addresses
    uint8_t service;    // chosen by the caller
};

// net_config: the parameters of net_init(). net_config_default() sets the default values.
struct net_config {
    struct mac_addr mac;
    uint16_t mtu;             // bytes of an IP packet; default 1500
    uint16_t local_ix_first;  // flow_key.local_ix of locals[0]; the others follow
    uint8_t n_locals;         // 1..NET_LOCALS_MAX
    uint8_t n_statics;
    struct net_local locals[NET_LOCALS_MAX];     // those of IPv4 before those of IPv6
    struct net_static statics[NET_STATICS_MAX];  // neighbors that are never probed and never expire
    uint32_t gateway;         // of IPv4, host order; 0: none; on-link or one of statics
    struct ip_addr gateway6;  // of IPv6; all zero: none
    uint8_t n_routes;
    struct net_route routes[NET_ROUTES_MAX];  // longest prefix match, together with locals
    uint32_t caps;                            // enum port_cap of the port
    uint16_t chain_max;                       // as the port's; 0: PKT_CHAIN_MAX
    uint32_t arp_entries;        // of each family's neighbors; a power of two; default 1024
    uint32_t arp_rate_per_s;     // limit of requests sent, each family; default 1000
    uint32_t icmp_rate_per_s;    // limit of echo replies; default 10000; 0: none
    uint32_t icmp_errors_per_s;  // limit of ICMP errors sent; default 1000 (Linux's); 0: none
    uint32_t n_udp;
    struct net_udp_port udp[NET_UDP_PORTS_MAX];
    struct udp_table *open;  // ports opened at run time; NULL: no application opens any
    struct reasm *reasm;     // of the worker; NULL: fragments are dropped, and none are sent
    uint8_t port;            // index among the ports of the worker
    // The device number of each local address: port index plus one. On a port with `loops`,
    // addresses belong to other ports. 0: this port.
    uint8_t device_of[NET_LOCALS_MAX];
    struct keys keys;
    // Another net with the same addresses receives the same ARP packets and answers, defends and
    // announces. This net only learns, and sends the requests that it needs.
    bool quiet;
    // What no service owns goes to Linux (net_linux). with_echo: echo requests too.
    bool to_linux, to_linux_echo;
    // net_change() may be called. locals[] then has a place for each address that the port may get,
    // some of them free (net_local_none()), and routes of `locals` are those until the first call.
    bool changes;
    // The port returns what is sent. Its addresses, loopback among them, are their own neighbors
    // (in statics) and are valid as a source. Nothing is announced.
    bool loops;
};

void net_config_default(struct net_config *c);

struct net;

// net_footprint: bytes of memory that net_init() needs for c, a multiple of CACHE_LINE. 0:
// arp_entries is out of range.
size_t net_footprint(const struct net_config *c);

// net_init: places a net in mem, which is aligned to CACHE_LINE. The worker owns pool, from which
// packets are allocated (NULL: nothing is to be sent), and stats, in which all its nets count.
// Returns NULL if c is not valid; *e names the value. Control thread, before the worker runs.
struct net *net_init(void *mem, const struct net_config *c, struct pkt_pool *pool,
                     struct core_stats *stats, struct err *e);

// net_tx: an array of packets to send, to which functions append. n <= room; pkts has room for
// `room` packets.
struct net_tx {
    struct pkt **pkts;
    uint32_t n, room;
};

enum udp_kind {
    UDP_SERVED,      // to a configured port
    UDP_TO_OPEN,     // to a port opened at run time
    UDP_ECHO_REPLY,  // an echo reply to an open port; data is the whole message
    UDP_ERROR,       // an ICMP error about a datagram from an open port
};

// udp_in: a received datagram whose checksum is right or absent. Its payload is in the packet at
// data_off. With UDP_ERROR it describes the datagram that the ICMP error quotes: src and src_port
// are its destination, dst_port and local its source, and the payload is the part that was quoted.
struct udp_in {
    struct ip_addr src;
    uint16_t src_port;  // 0: the sender wants no answer (RFC 768)
    uint16_t dst_port;
    uint16_t pkt_ix;
    uint16_t data_off, data_len;
    uint8_t local;       // index in locals[], or NET_TO_GROUP
    uint8_t service;     // of struct net_udp_port, of struct udp_open
    uint8_t kind;        // enum udp_kind
    uint8_t type, code;  // of the ICMP error
    uint16_t open;       // index of the open port
    uint16_t mtu;        // UDP_ERROR: the MTU that the router reported; 0: none
};

enum { NET_TO_GROUP = 255 };  // sent to a broadcast address or a group

// net_linux_class: kinds of packets for Linux, each with a rate of its own (worker/linux_box.h), so
// that a flood of one kind does not displace the others.
enum net_linux_class {
    NET_LINUX_FLOW,   // TCP of connections in which Linux has sent data
    NET_LINUX_LINK,   // only from the link: ARP, neighbor discovery, other EtherTypes, multicast
    NET_LINUX_TCP,    // other TCP: SYNs, scans
    NET_LINUX_PROTO,  // other IP protocols, DHCP to an address of ours
    NET_LINUX_REST,   // UDP, ICMP, packets to other addresses
    NET_LINUX_CLASSES,
};

// net_linux: a packet for Linux. The worker counts it: as delivered, or dropped.
struct net_linux {
    uint8_t pkt_ix;
    uint8_t cls;  // enum net_linux_class
    uint8_t how;  // enum net_linux_how
};

enum net_linux_how {
    NET_LINUX_GIVE,
    NET_LINUX_COPY,   // counted already: it was of use here, too
    NET_LINUX_CLAIM,  // counted already: it only takes a token, as if the port were Linux's
};

struct net_rx {
    struct seg_in segs[BURST_MAX];
    struct seq_range sacks[BURST_MAX][SEG_SACK_MAX];  // by segs[].pkt_ix; wire_read_sack()
    struct icmp_event icmp[BURST_MAX];
    struct udp_in udp[BURST_MAX];
    uint32_t n_segs, n_icmp, n_udp;
    uint32_t n_whole, n_linux;
    uint8_t whole[BURST_MAX];
    struct net_linux linux_pkts[BURST_MAX];
};

// net_input: parses n received packets, n <= BURST_MAX, into rx, which it empties first. Replies
// are appended to tx.
//
// A packet that became a reply is in tx, and its pkts[i] is NULL. The caller keeps all other
// packets, delivered or dropped, and frees them at the end of the turn. segs[].pkt_ix and data_off
// locate a payload.
//
// If pkts[i] was the last missing fragment, it is replaced by the reassembled packet and i is
// appended to rx->whole. That packet is not parsed here: its flow may belong to another worker. The
// caller passes it to net_input_whole(), or sends it to its worker with net_hand_over().
//
// Packets that nobody here owns are appended to rx->linux_pkts on a port with to_linux. The caller
// hands them to Linux, and what TCP does not own as well.
//
// The caller counts every entry of rx as delivered, answered, kept or dropped. Every other packet
// is counted here (stat_balance()).
void net_input(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t n,
               struct net_rx *rx, struct net_tx *tx);

// net_input_whole: parses the reassembled packet pkts[i], i from rx->whole, into rx.
//
// net_hand_over: splits a reassembled packet into packets that another worker can reassemble.
// Returns their number, at most `max`. 0: `max` is too small or the pool is empty; the caller then
// drops the packet.
void net_input_whole(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t i,
                     struct net_rx *rx, struct net_tx *tx);
uint32_t net_hand_over(struct net *net, const struct pkt *whole, struct pkt **pkts, uint32_t max);

// net_udp_begin: allocates the packet for the answer to datagram u. The payload goes to
// net_udp_payload(). *room: bytes available for it: one packet's, or as much as the question had if
// that came in fragments, because the answer is then fragmented too. NULL: tx is full or the pool
// is empty. The caller frees a packet that it does not send.
//
// net_udp_send: sends p with n <= *room bytes of payload to the MAC, address and port that u, in
// packet `asked`, came from. The source is the address and port that u was sent to. Takes p. False:
// its fragments found no room.
struct pkt *net_udp_begin(struct net *net, const struct udp_in *u, const struct net_tx *tx,
                          uint32_t *room);
uint8_t *net_udp_payload(const struct udp_in *u, struct pkt *p);
bool net_udp_send(struct net *net, struct clock_now now, const struct udp_in *u,
                  const struct pkt *asked, struct pkt *p, uint32_t n, struct net_tx *tx);

// net_datagram: a datagram of an application. Both addresses are of one family; `from` is one of
// locals; ports are not 0. `to` may be multicast, 255.255.255.255 or a local broadcast address.
struct net_datagram {
    struct ip_addr from, to;
    uint16_t from_port, to_port;
    uint8_t ttl, tos;  // ttl 0: Linux's default, 64, or 1 to a multicast group
    bool df;           // IPv4: set DF if it fits one packet
    bool whole;        // do not fragment it here
    const uint8_t *data;
    size_t len;
    // Not NULL: an ICMP message with these first ICMP_BYTES bytes. data follows them, from_port is
    // the identifier, to_port is not used.
    const uint8_t *icmp;
};

// net_egress: whether there is a route to `to`. Returns the prefix length of that route, 0 for the
// default route, -1 for none. *from: the source address: on the prefix of the next hop, of the
// scope of `to`, with the longest common prefix (RFC 6724 5, rules 2 and 8), and the first of
// those.
int net_egress(const struct net *net, const struct ip_addr *to, struct ip_addr *from);

// net_send: builds the packets of datagram d and appends them to tx. If the neighbor's MAC is not
// known, they wait, and a request is sent. Returns the number of packets, or
//   -EADDRNOTAVAIL  d->from is not a local address
//   -ENETUNREACH    there is no route to d->to, or it is a local address
//   -EMSGSIZE       d is longer than 64 KiB, or longer than the link or path MTU
//                   (udp_path_mtu()) and must not be fragmented
//   -ENOBUFS        tx is full or the pool is empty
int net_send(struct net *net, struct clock_now now, const struct net_datagram *d,
             struct net_tx *tx);

// net_group_join: receives what is sent to the group, until net_group_leave() was called as often
// as net_group_join(). Appends a report to tx (RFC 3810 6.1) if there is room. Returns 0; -EINVAL:
// not a multicast address; -ENODEV: the port has no address of that family; -ENOBUFS:
// NET_GROUPS_MAX groups are joined.
//
// net_group_leave: 0, or -EADDRNOTAVAIL: the group is not joined.
int net_group_join(struct net *net, struct clock_now now, const struct ip_addr *group,
                   struct net_tx *tx);
int net_group_leave(struct net *net, struct clock_now now, const struct ip_addr *group,
                    struct net_tx *tx);

// net_mtu: the MTU to `to` in bytes of an IP packet: the path MTU if one is known, else the link's.
uint16_t net_mtu(const struct net *net, struct clock_now now, const struct ip_addr *to);

// net_device: the device number, port index plus one, of address `local` (udp_in.local).
unsigned net_device(const struct net *net, uint8_t local);

// net_is_group: whether a is multicast, 255.255.255.255 or a local broadcast address.
bool net_is_group(const struct net *net, const struct ip_addr *a);

// net_local_addr: locals[local].
struct ip_addr net_local_addr(const struct net *net, uint8_t local);

// net_serves: whether the configuration serves UDP port `port` on address local_ix (UINT16_MAX: on
// all).
bool net_serves(const struct net *net, uint16_t port, uint16_t local_ix);

// net_output: builds one packet for each of n segments and appends it to tx. tx needs room for n
// more packets; a large segment (SEG_WHOLE_MAX) counts once for each of its parts, unless the port
// splits it. A segment without a route, packet or room is dropped and counted. A segment whose next
// hop has no MAC yet waits, one for each neighbor, and a request is sent. Returns the number of
// packets appended. The segments' data is not used after the return.
uint32_t net_output(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                    struct net_tx *tx);

// net_forget: forgets all path MTUs (udp_path_mtu()) and resets the rate limits.
void net_forget(struct net *net);

// net_announce: appends a gratuitous ARP request for every local address (RFC 5227 2.3) and
// requests for the gateways and next hops of routes. For IPv6: probes (RFC 4862 5.4), unsolicited
// advertisements (RFC 4861 7.2.6) and a report of the groups (RFC 3810). tx needs room for 2 *
// n_locals + n_routes + 5 packets, at most NET_ANNOUNCE_MAX. The next calls of net_tick() ask again
// for the MAC of each neighbor that is known.
void net_announce(struct net *net, struct clock_now now, struct net_tx *tx);

// net_local_none: what a free place of locals[] has: 0.0.0.0/32 or ::/128. net_local_is_none:
// whether l is one.
struct net_local net_local_none(bool v6);
bool net_local_is_none(const struct net_local *l);

// net_settings: what a running net uses from net_change() on, all of it.
struct net_settings {
    uint16_t mtu;  // bytes of an IP packet; net_init()'s is the most
    uint8_t n_routes, n_statics;
    // As many places as net_init() had, each of the same family. A connection or listener belongs
    // to a place, so that an address keeps its place as long as they are to have it.
    struct net_local locals[NET_LOCALS_MAX];
    // Every route, of both families, with prefixes on the link, whose `via` is all zero, and with
    // default routes, whose prefix_bits are 0. Of equal prefixes the first one is used.
    struct net_route routes[NET_SETTINGS_ROUTES_MAX];
    struct net_static statics[NET_STATICS_MAX];  // permanent neighbors, beside net_config's
};

// net_change: from now on the net has these addresses, routes, permanent neighbors and this MTU.
// Worker only, when nothing in rx is used any more; net_config.changes was set.
//
// A new address is announced by a gratuitous ARP request, or an unsolicited advertisement and a
// report of its solicited-node group. It is not probed: the caller knows that nobody else has it.
// Next hops are asked for their MAC. What comes for an address that is gone is dropped as not for
// us, and what its connections send as ip_address_gone; they go on if it comes back to its place,
// and end when TCP gives them up otherwise. Path MTUs of datagrams are forgotten if routes changed.
// TCP learns by net_lost() which segments do not fit a smaller MTU. Returns the number of permanent
// neighbors for which the cache had no room.
//
// net_may_change: whether net_config.changes was set.
unsigned net_change(struct net *net, struct clock_now now, const struct net_settings *to,
                    struct net_tx *tx);
bool net_may_change(const struct net *net);

// net_tick: runs the timers of NET_TICK_SLOTS neighbor entries of each family and of reassembly. A
// second call in the same millisecond does nothing. Requests are appended to tx while it has room.
// Call it at least every 10 ms; 1,024 entries then take 160 ms.
void net_tick(struct net *net, struct clock_now now, struct net_tx *tx);

// net_lost: reports the segments that were dropped since the last call: with EHOSTUNREACH because
// their neighbor did not answer, with ICMP_TOO_BIG because they do not fit the MTU of the port.
// Writes at most NET_LOST_MAX events, for the first ones, and returns their number.
uint32_t net_lost(struct net *net, struct icmp_event *events);

// net_linux_class_of: the class of a frame of len bytes for Linux, apart from NET_LINUX_FLOW.
enum net_linux_class net_linux_class_of(const uint8_t *frame, uint32_t len);

// net_neighbor_add: sets the MAC of neighbor a, as a reply from it would, or forever (permanent).
// Packets that wait for it are sent. Returns 0; -EAFNOSUPPORT: the port has no address of that
// family; -EPERM: the configuration defines a; -ENOSPC: its set has no room for another permanent
// entry; -ENOBUFS: its set is full.
//
// net_neighbor_del: removes a. -ENOENT: it is not known. net_neighbors_flush: removes all but
// permanent and configured neighbors; returns how many. All three: worker only.
int net_neighbor_add(struct net *net, struct clock_now now, const struct ip_addr *a,
                     const struct mac_addr *mac, bool permanent, struct net_tx *tx);
int net_neighbor_del(struct net *net, const struct ip_addr *a);
unsigned net_neighbors_flush(struct net *net);

// net_drain: frees the packets that wait for neighbors, without counting them. Call it before the
// pool is destroyed.
void net_drain(struct net *net);

// net_mss: the largest sum of TCP payload and options of one packet: MTU less 40 (RFC 9293 3.7.1).
// net_mss6: over IPv6, MTU less 60.
uint16_t net_mss(const struct net *net);
uint16_t net_mss6(const struct net *net);

enum net_neighbor_state {  // of the neighbors of both families
    NET_NEIGHBOR_FREE,
    NET_NEIGHBOR_PENDING,  // request sent; mac is zero
    NET_NEIGHBOR_REACHABLE,
    NET_NEIGHBOR_PROBE,  // request sent; mac is in use meanwhile
    NET_NEIGHBOR_STATIC,
};

struct net_neighbor {
    uint32_t v4;  // host order
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};

// net_arp_slots: slots of the ARP cache, static entries included. net_arp_read: copies the entry of
// `slot`. False: the slot is free, or the worker changed it during every try. Any thread; the
// worker never waits for it: each entry has a sequence count, and the reader retries.
uint32_t net_arp_slots(const struct net *net);
bool net_arp_read(const struct net *net, uint32_t slot, struct net_neighbor *out);

// net_arp_render: writes the ARP cache as Linux's /proc/net/arp, one line for each entry, without
// the head line (NET_ARP_HEAD). Writes whole lines, at most `size` bytes, and returns the bytes.
// *slot: the slot to begin at, 0 first; net_arp_slots() when all are written. Any thread.
#define NET_ARP_HEAD                                                                               \
    "IP address       HW type     Flags       HW address            Mask     Device\n"
size_t net_arp_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                      size_t size);

struct net_neighbor6 {
    struct ip_addr addr;
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};

// net_nd_slots, net_nd_read: as net_arp_slots() and net_arp_read(), for IPv6 neighbors. Without an
// IPv6 address there are no slots.
uint32_t net_nd_slots(const struct net *net);
bool net_nd_read(const struct net *net, uint32_t slot, struct net_neighbor6 *out);

// net_nd_render: as net_arp_render(), in the format of `ip -6 neigh`.
size_t net_nd_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                     size_t size);

// net_neighbor_left: a neighbor that a net of an ended process knew. permanent: by an order of an
// operator; those of Linux (net_change()) are not.
struct net_neighbor_left {
    struct ip_addr addr;
    struct mac_addr mac;
    bool permanent;
    uint32_t due_ms, used_ms;  // of that process's clock, which goes on
};

// net_neighbors_left: copies to `out` the neighbors that the net in `before` knew, at most
// net_neighbors_left_max(c), and returns their number. An ended process left `before`, perhaps in
// the middle of a store; its configuration had c's footprint. Nothing in it is believed without a
// check, and pointers in it are not followed. Those of c's statics are not among them. Control
// thread, before net_init() of the same memory.
//
// net_neighbors_take: makes net know n of them, with the time that each has left until it is asked
// for again. Control thread, before the worker runs.
uint32_t net_neighbors_left_max(const struct net_config *c);
uint32_t net_neighbors_left(const void *before, const struct net_config *c,
                            struct net_neighbor_left *out);
void net_neighbors_take(struct net *net, struct clock_now now, const struct net_neighbor_left *left,
                        uint32_t n);
