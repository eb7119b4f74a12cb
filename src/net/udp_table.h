// SPDX-License-Identifier: BSD-3-Clause
// udp_table.h: the UDP ports that applications of one worker opened while running, and what routers
// said of the paths to their peers. One for all nets of the worker, which look a datagram up here
// when no configured port is its.
//
//     first[port] --> open --> open: the same port on another address
//
// The worker writes; udp_table_view() may be called from any thread.
#pragma once
#include "base/addr.h"
#include "base/clock.h"
#include "base/siphash.h"

enum {
    UDP_PORTS_MAX = 4096,  // open at a time: as many as the ephemeral ports of a busy resolver
    UDP_PATHS = 256,       // destinations whose path MTU is remembered, in sets of:
    UDP_PATH_WAYS = 4,     // the one that is nearest its end goes for another
    UDP_PATH_MS = 600000,  // RFC 1191 6.3, Linux's mtu_expires
    UDP_PMTU_MIN4 = 552,   // what a router may lower a path to: Linux's min_pmtu
    UDP_NONE = 0xffff,     // no open port
};

// udp_open: an open port. at: an address; :: is all, of IPv4 as well unless v6only; ::ffff:0.0.0.0
// all of IPv4. With a peer_port only what that peer sends is for it.
struct udp_open {
    struct ip_addr at, peer;
    uint16_t port, peer_port;
    uint8_t service;  // the caller's own
    uint8_t device;   // the port, numbered from 1, by which it comes; 0: any
    bool icmp;        // for echo replies; port is their identifier
    bool v6only;
    bool open;
    uint32_t seq;   // odd while what is before it changes
    uint16_t next;  // of the same port, or free
};

struct udp_path {
    struct ip_addr to;
    uint64_t until_ms;  // 0: free
    uint16_t mtu;
};

struct udp_table {
    uint16_t n_open, free;
    struct siphash_key secret;  // where a destination falls among the paths
    struct udp_path paths[UDP_PATHS];
    struct udp_open open[UDP_PORTS_MAX];
    uint16_t first[UINT16_MAX + 1];
};

// udp_table_init: an empty one.
void udp_table_init(struct udp_table *t, struct siphash_key secret);

// udp_table_open: an entry for what e says (at, port, service, v6only, device,
// icmp); its index, or
// -EADDRINUSE: the very same address, port and device are open, :: of one family and of both told
// apart; -ENOBUFS: UDP_PORTS_MAX are. udp_table_close: index of an open one.
int udp_table_open(struct udp_table *t, const struct udp_open *e);
void udp_table_close(struct udp_table *t, uint16_t ix);

// udp_table_filter: entry ix, open, takes what peer sends from that port; 0: what anybody sends.
void udp_table_filter(struct udp_table *t, uint16_t ix, const struct ip_addr *peer, uint16_t port);

// udp_table_find: the entry that a datagram from src and src_port to dst and port, which came by
// that device, is for, or UDP_NONE: those of this peer first; then the address itself before any
// address; then those of the device; then all addresses of the family before all of both.
uint16_t udp_table_find(const struct udp_table *t, const struct ip_addr *dst, uint16_t port,
                        const struct ip_addr *src, uint16_t src_port, unsigned device);

// udp_table_find_echo: the same of an echo reply, whatever src it has, with that identifier.
uint16_t udp_table_find_echo(const struct udp_table *t, const struct ip_addr *dst, uint16_t id,
                             unsigned device);

// udp_table_view: copies entry ix, false if it is not open (or being rewritten at every one of some
// tries).
bool udp_table_view(const struct udp_table *t, uint16_t ix, struct udp_open *out);

// udp_table_shows: is this very address and port open? Any thread; may be wrong while the worker
// opens or closes some.
bool udp_table_shows(const struct udp_table *t, const struct ip_addr *at, uint16_t port);

// udp_path_lower: a router said that the path to `to` takes packets of mtu bytes, at most: believed
// down to UDP_PMTU_MIN4 or IP6_MTU_MIN, for UDP_PATH_MS. udp_path_mtu: what is known of the path;
// `mtu`, the link's, if nothing is. udp_paths_forget: nothing is known any more.
void udp_path_lower(struct udp_table *t, const struct ip_addr *to, uint16_t mtu, uint64_t now_ms);
uint16_t udp_path_mtu(const struct udp_table *t, const struct ip_addr *to, uint16_t mtu,
                      uint64_t now_ms);
void udp_paths_forget(struct udp_table *t);
