// SPDX-License-Identifier: BSD-3-Clause
// port.h: the interface between the stack and a driver: a struct of operations on bursts, and
// capability bits. The stack tests the bits, never the driver's name.
#pragma once
#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"
#include "pkt/pkt.h"

enum port_cap {
    PORT_RX_IP_CKSUM = 1 << 0,  // checks the IPv4 header checksum of received packets
    PORT_RX_L4_CKSUM = 1 << 1,  // the same for TCP and UDP
    PORT_TX_IP_CKSUM = 1 << 2,  // computes the IPv4 header checksum on request
    PORT_TX_L4_CKSUM = 1 << 3,
    PORT_MULTI_SEG = 1 << 4,  // sends chains
    // splits large segments (pkt_tx_tso); implies PORT_TX_L4_CKSUM and PORT_MULTI_SEG. It writes
    // the IPv4 header of each part. Without PORT_TX_IP_CKSUM the header checksum of the whole must
    // be right already
    PORT_TSO = 1 << 5,
    PORT_RSS = 1 << 6,         // spreads IPv4 TCP over its queues as base/toeplitz.h
    PORT_NO_SYSCALL = 1 << 7,  // rx_burst and tx_burst never enter the kernel
    // With PORT_RX_L4_CKSUM: a packet from a sender on the same host that left its TCP or UDP
    // checksum to a later port counts as GOOD, whatever the field holds
    PORT_RX_L4_LEFT = 1 << 8,
    PORT_RSS_TAGGED = 1 << 9,  // with PORT_RSS: spreads a tagged packet as the one in it
};

enum {
    PORTS_MAX = 16,
    PORT_NAME_BYTES = 32,
    PORT_QUEUES_MAX = 16,
    PORT_MEMBERS_MAX = 8,  // of a port over several ports
    PORT_MTU_DEFAULT = 1500,
    PORT_MTU_MIN = 68,  // RFC 791: every link must carry it unfragmented
    // A larger MTU needs jumbo packets (PKT_JUMBO_ROOM). A frame of this size, with VLAN tags and
    // what the kernel puts in front of it, has room in PKT_ROOM bytes.
    PORT_MTU_SMALL = 1900,
    PORT_MTU_MAX = 9000,
};

// port_stats: totals since open, as the device counts them. Control thread.
struct port_stats {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed;  // frames lost because no posted buffer was free (imissed)
    uint64_t rx_nombuf;  // times that the pool was empty: frames are lost, or wait in the ring
    uint64_t rx_errors, tx_errors;
    uint64_t tx_no_device;  // of tx_errors: to be sent while the port was without a device
    // Frames that a fault port removed or added on purpose, after the counts above (rx) and before
    // them (tx): the stack received rx_packets - rx_taken_away + rx_added.
    uint64_t rx_taken_away, rx_added, tx_taken_away, tx_added;
};

// port_rx_lost, port_tx_lost: the port's own account: what it lost before a worker received it, and
// what of ours was not sent.
static inline uint64_t port_rx_lost(const struct port_stats *s)
{
    return s->rx_missed + s->rx_nombuf + s->rx_errors;
}

static inline uint64_t port_tx_lost(const struct port_stats *s)
{
    return s->tx_errors;
}

struct port;
struct port_params;
struct rte_power_monitor_cond;

// Kinds of packets by how devices hash them. Those before PORT_RSS_KINDS by addresses and ports; of
// the others a device may hash a part of what software hashes, or nothing.
enum port_rss_kind {
    PORT_RSS_IP4_TCP,
    PORT_RSS_IP4_UDP,
    PORT_RSS_IP6_TCP,
    PORT_RSS_IP6_UDP,
    PORT_RSS_KINDS,
    PORT_RSS_FRAGMENT = PORT_RSS_KINDS,
    PORT_RSS_OTHER,
    PORT_RSS_ALL_KINDS,
};

// port_rss_check: what a device's key and table were found to be. mended: what was wrong has been
// written again, and then read back right.
struct port_rss_check {
    bool readable, key_wrong, mended;
    uint16_t entries_wrong;
};

// port_link_reason: why a link is not up.
enum port_link_reason {
    PORT_LINK_NO_CARRIER,  // no cable, no light, or nobody at the other end
    PORT_LINK_SET_DOWN,    // the administrator took the interface down
    PORT_LINK_GONE,        // the interface or the device was removed
    PORT_LINK_REPLACED,    // and another interface has its name now, to which the port is not bound
    PORT_LINK_UNKNOWN,     // the device does not tell
    PORT_LINK_NO_PARTNER,  // of a port over several ports: the other end has not agreed yet (LACP)
};

// port_link: the state of the link. `reason` counts where it is not up. speed_mbps 0: unknown, or
// none. moves: how often the port went on by another device, so that switches have to learn its
// address anew.
struct port_link {
    bool up, full_duplex;
    uint8_t reason;  // enum port_link_reason
    uint32_t speed_mbps;
    uint32_t moves;
};

enum { PORT_XSTAT_NAME_BYTES = 64 };

struct port_xstat {
    char name[PORT_XSTAT_NAME_BYTES];
    uint64_t value;
};

// port_view: queries besides the counters. Control thread, at any time. A function is NULL if the
// driver does not support it.
struct port_view {
    void (*link)(struct port *p, struct port_link *out);
    // xstats: writes at most max of the device's own counters; returns how many it has.
    unsigned (*xstats)(struct port *p, struct port_xstat *out, unsigned max);
    // rx_waiting: packets that wait in receive queue q; -1: unknown.
    int (*rx_waiting)(struct port *p, uint16_t q);
    // rss_table: writes the queue of each entry of the device's table, at most max; returns how
    // many it has.
    unsigned (*rss_table)(struct port *p, uint16_t *queues, unsigned max);
    // rss_check: with PORT_RSS: reads key and table back, and writes them again if they are not
    // what the port gave the device at its start.
    void (*rss_check)(struct port *p, struct port_rss_check *out);
    // describe: adds `name value` lines about the device.
    void (*describe)(struct port *p, struct text *out);
    struct port *(*inner)(struct port *p);  // the port inside this one
};

// port_replug: of a port whose device may go, and come again, while workers run. Control thread.
struct port_replug {
    // detach: no burst that begins from now on uses the device: nothing is received, and what is to
    // be sent is dropped and counted (tx_no_device). Closes the device as soon as no worker is in a
    // burst that began before. Returns whether it is closed; else it is to be called again. The
    // worker of each queue has to call rx_burst, where it waits while packets of its pool are taken
    // or given back.
    bool (*detach)(struct port *p);
    // attach: of a port that is detached: opens the device again and lets bursts use it. `params`
    // are those of its open. The port keeps its MAC address, its counters and its offloads. 0, or
    // -1 with the reason: the port stays without a device.
    int (*attach)(struct port *p, const struct port_params *params, struct err *err);
};

// port_member: of a port over several ports. up: it has a link, or does not tell. usable: it is up,
// and with LACP the partner agreed. active: what is sent goes to it, or to others that are active.
// state: a word for files; why: words for the log, why it is not usable.
struct port_member {
    struct port *port;
    struct port_link link;
    bool up, usable, active;
    const char *state, *why;
    uint64_t changes;  // times that it became usable, or was no longer
};

// port_group: of a port over several ports. Control thread.
struct port_group {
    // look: takes the links of the members as of now, and decides which are used. now_ns: of any
    // clock that goes on. To be called every 100 ms.
    void (*look)(struct port *p, uint64_t now_ns);
    // member: false: there is no member m.
    bool (*member)(struct port *p, unsigned m, struct port_member *out);
    // describe: adds `name value` lines about member m.
    void (*describe)(struct port *p, unsigned m, struct text *out);
};

// port_wait: how the worker of a queue may wait instead of polling. That worker.
struct port_wait {
    // fds: writes descriptors that are readable while packets wait in queue q, at most max, and
    // returns how many. PORT_WAIT_NOT: the worker has to poll: packets wait inside the port, or it
    // has no such descriptors, or none at present.
    int (*fds)(struct port *p, uint16_t q, int *out, unsigned max);
    // line: the memory that the device writes when it puts a packet into queue q, and how to see
    // that it has (rte_power_intrinsics.h). False: as PORT_WAIT_NOT.
    bool (*line)(struct port *p, uint16_t q, struct rte_power_monitor_cond *out);
};

enum { PORT_WAIT_NOT = -1 };

// port_ops: the worker that owns queue q calls rx_burst and tx_burst. The control thread calls the
// others before the workers start or after they have stopped (stats: at any time).
struct port_ops {
    const char *driver;
    // rx_burst: receives up to n packets from queue q, allocated from that queue's pool; returns
    // how many. Offload flags are the driver's verdict on this packet, or absent; they are never
    // stale.
    uint16_t (*rx_burst)(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
    // tx_burst: sends packets and returns how many, from the first. Those belong to the driver; the
    // others stay with the caller.
    uint16_t (*tx_burst)(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
    // rx_waiting: by the same worker: how many packets, or parts of packets, wait in queue q behind
    // the last burst; *slots: how many it holds. -1: it cannot be told now. NULL: never.
    int (*rx_waiting)(struct port *p, uint16_t q, uint32_t *slots);
    void (*stats)(struct port *p, struct port_stats *out);
    void (*close)(struct port *p);
    const struct port_view *view;      // NULL: no further queries
    const struct port_replug *replug;  // NULL: without its device the port is dead
    const struct port_group *group;    // NULL: the port is not over several ports
    const struct port_wait *wait;      // NULL: a worker has to poll
};

struct port {
    // Changed while workers run by port_replug alone, with a release; a worker reads it for each
    // burst.
    const struct port_ops *ops;
    char name[PORT_NAME_BYTES];
    uint32_t caps;  // enum port_cap
    struct mac_addr mac;
    uint16_t mtu;          // bytes of an IP packet
    uint16_t vlan;         // VLAN whose tag frames have on the wire; 0: none
    uint16_t queues;       // may be fewer than requested
    uint16_t rss_entries;  // with PORT_RSS: entries of its table, a power of two
    uint16_t rss_kinds;  // with PORT_RSS: a bit for each kind below PORT_RSS_KINDS that it spreads
    uint16_t chain_max;  // buffers of a packet that it splits, at most; 0: PKT_CHAIN_MAX
    void *priv;          // belongs to the driver
};

// port_rx_waiting: port_ops.rx_waiting; -1: the driver has none.
static inline int port_rx_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    const struct port_ops *ops = p->ops;  // another one at any time (port_replug)
    return ops->rx_waiting == NULL ? -1 : ops->rx_waiting(p, q, slots);
}

// port_wait_fds, port_wait_line: the functions of port_wait, of any port.
static inline int port_wait_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const struct port_wait *w = p->ops->wait;
    return w != NULL && w->fds != NULL ? w->fds(p, q, out, max) : PORT_WAIT_NOT;
}

static inline bool port_wait_line(struct port *p, uint16_t q, struct rte_power_monitor_cond *out)
{
    const struct port_wait *w = p->ops->wait;
    return w != NULL && w->line != NULL && w->line(p, q, out);
}

// port_params: parameters of a driver's open function, set from the configuration. Strings and
// inner parameters belong to the caller and live until the open returns.
struct port_params {
    const char *name;    // of the port, at most PORT_NAME_BYTES - 1 characters
    const char *driver;  // one of src/tables/driver_table.h
    // tap, af_packet, af_xdp: the kernel interface, at most 15 characters; pci: the address; memif:
    // the socket; pcap: the capture to replay
    const char *device;
    const char *capture;  // pcap: the capture to write; NULL or empty: none
    bool memif_client;    // memif: client, else server
    uint32_t memif_id;    // memif: equal on both sides
    bool has_mac;         // else the driver chooses a locally administered MAC
    struct mac_addr mac;
    uint16_t mtu;               // 0: 1,500
    uint16_t queues;            // at most, 1..PORT_QUEUES_MAX
    bool has_offloads;          // else the driver chooses its offloads
    uint32_t offloads;          // enum port_cap: offloads that it may use
    uint32_t rx_ring, tx_ring;  // packets of a queue, a power of two; 0: the driver chooses
    bool waits;                 // workers may wait for packets (port_wait)
    uint32_t open_ms;           // pci: after it the process ends with an error; 0: no limit
    int node;                   // NUMA node for rings, -1: any
    // RSS key of TOEPLITZ_KEY_BYTES_MAX bytes; NULL: the specification's
    const uint8_t *rss_key;
    // By queue: the pool of its worker; of jumbo packets with an MTU above PORT_MTU_SMALL.
    struct pkt_pool *pools[PORT_QUEUES_MAX];
    bool attach;          // tap: the interface exists already (drivers/tap_attached.h)
    bool has_host;        // tap: assign host_v4 to the kernel side
    uint32_t host_v4;     // host order
    uint8_t host_prefix;  // bits, 1..32
    struct ip_addr host6;
    uint8_t host6_prefix;  // bits, 1..128; 0: no IPv6 address
    // fault:
    const struct port_params
        *wraps;  // the port inside; it gets name, pools and queues from this one
    uint64_t seed;
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;  // each direction; 0..1,000,000
    uint32_t delay_ms;                                           // each direction; 0..10,000
    const uint64_t *now_us;                                      // clock of delays; NULL: the TSC
    // vlan:
    struct port *parent;  // of vlan_trunk_open(); NULL in a check
    uint16_t vlan;
    // the VLANs of the ports whose parent this one is
    unsigned n_vlans;
    uint16_t vlans[PORTS_MAX];
    // bond: the ports that it is over, with queues and pools of this one; it sets their MAC address
    const struct port_params *members;
    unsigned n_members;
    bool lacp;          // else active-backup
    bool lacp_fast;     // partners are asked for a LACPDU each second, else each 30 s
    int primary;        // active-backup: the member that is used whenever it has a link; -1: none
    uint8_t bond_hash;  // enum bond_hash
};
