// SPDX-License-Identifier: BSD-3-Clause
// udp_table.h: the UDP ports that applications of one worker opened at run time, and the path MTUs
// to their peers. All nets of the worker share it. They search it if no configured port matches.
//
//     first[port] --> open --> open: the same port on another address
//
// The worker writes; udp_table_view() may be called from any thread.
#pragma once
#include "base/addr.h"
#include "base/clock.h"
#include "base/siphash.h"
#include "stat/counters.h"

enum {
    UDP_PORTS_MAX = 4096,  // open at a time: as many as the ephemeral ports of a busy resolver
    UDP_PATHS = 256,       // destinations whose path MTU is stored, in sets of
    UDP_PATH_WAYS = 4,     // of which the one that expires first is replaced
    UDP_PATH_MS = 600000,  // RFC 1191 6.3, Linux's mtu_expires
    UDP_PMTU_MIN4 = 552,   // what a router may lower a path to: Linux's min_pmtu
    UDP_NONE = 0xffff,     // no open port
};

// udp_open: an open port. at: its address; :: stands for all addresses, of IPv4 too unless v6only;
// ::ffff:0.0.0.0 for all of IPv4. With a peer_port it receives only from that peer.
struct udp_open {
    struct ip_addr at, peer;
    uint16_t port, peer_port;
    uint8_t service;  // chosen by the caller
    uint8_t device;   // only from this device number (net_device()); 0: any
    bool icmp;        // receives echo replies; port is their identifier
    bool v6only;
    bool open;
    uint32_t seq;   // odd while the worker changes the fields above
    uint16_t next;  // next of the same port, or of the free list
};

struct udp_path {
    struct ip_addr to;
    uint64_t until_ms;  // 0: free
    uint16_t mtu;
};

struct udp_table {
    uint16_t n_open, free;
    uint64_t narrow_until_ms;   // paths[] has an entry that is valid up to then
    struct siphash_key secret;  // key of the hash of paths
    struct udp_path paths[UDP_PATHS];
    struct udp_open open[UDP_PORTS_MAX];
    uint16_t first[UINT16_MAX + 1];
};

// udp_table_init: makes t empty.
void udp_table_init(struct udp_table *t, struct siphash_key secret);

// udp_table_open: opens a port with at, port, service, v6only, device and icmp of e. Returns its
// index; -EADDRINUSE: the same address, port and device are open (:: with and without v6only
// differ); -ENOBUFS: UDP_PORTS_MAX are open. udp_table_close: closes index ix.
int udp_table_open(struct udp_table *t, const struct udp_open *e);
void udp_table_close(struct udp_table *t, uint16_t ix);

// udp_table_filter: from now on the open entry ix receives only from this peer and port. port 0:
// from any.
void udp_table_filter(struct udp_table *t, uint16_t ix, const struct ip_addr *peer, uint16_t port);

// udp_table_find: the entry for a datagram from src and src_port to dst and port that came by
// `device`, or UDP_NONE. Of several the best match: first an entry with this peer, then one with
// this address, then one with this device, then one for all addresses of the family only.
uint16_t udp_table_find(const struct udp_table *t, const struct ip_addr *dst, uint16_t port,
                        const struct ip_addr *src, uint16_t src_port, unsigned device);

// udp_table_find_echo: the entry for an echo reply with identifier id, from any source.
uint16_t udp_table_find_echo(const struct udp_table *t, const struct ip_addr *dst, uint16_t id,
                             unsigned device);

// udp_table_view: copies entry ix. False: it is not open, or the worker changed it during every
// try. Any thread.
bool udp_table_view(const struct udp_table *t, uint16_t ix, struct udp_open *out);

// udp_table_shows: whether exactly this address and port are open. Any thread; the answer may be
// wrong while the worker opens or closes ports.
bool udp_table_shows(const struct udp_table *t, const struct ip_addr *at, uint16_t port);

// udp_path_lower: stores the MTU of mtu bytes that a router reported for the path to `to`, at least
// UDP_PMTU_MIN4 or IP6_MTU_MIN, for UDP_PATH_MS. Counts in *c that it did, and
// that another path lost its place.
//
// udp_path_mtu: the stored MTU of the path, or `mtu`, the link's, if there is none.
// udp_paths_forget: removes all.
void udp_path_lower(struct udp_table *t, const struct ip_addr *to, uint16_t mtu, uint64_t now_ms,
                    struct core_counters *c);
uint16_t udp_path_mtu(const struct udp_table *t, const struct ip_addr *to, uint16_t mtu,
                      uint64_t now_ms);
void udp_paths_forget(struct udp_table *t);
