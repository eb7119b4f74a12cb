// SPDX-License-Identifier: BSD-3-Clause
// port.h: the contract between the stack and a driver. A port is one struct of operations on bursts
// plus capability bits; the stack asks the bits, never the name.
#pragma once
#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"
#include "pkt/pkt.h"

enum port_cap {
    PORT_RX_IP_CKSUM = 1 << 0,  // says GOOD or BAD for the IPv4 header of what it receives
    PORT_RX_L4_CKSUM = 1 << 1,  // the same for TCP and UDP
    PORT_TX_IP_CKSUM = 1 << 2,  // fills in the IPv4 header checksum when asked
    PORT_TX_L4_CKSUM = 1 << 3,
    PORT_MULTI_SEG = 1 << 4,  // sends chains
    // cuts large segments (pkt_tx_tso); has PORT_TX_L4_CKSUM and PORT_MULTI_SEG. It makes the IPv4
    // header of each part; that of the whole is right already where it lacks PORT_TX_IP_CKSUM
    PORT_TSO = 1 << 5,
    PORT_RSS = 1 << 6,         // spreads IPv4 TCP over its queues as base/toeplitz.h has it
    PORT_NO_SYSCALL = 1 << 7,  // rx_burst and tx_burst never enter the kernel
    // With PORT_RX_L4_CKSUM: a packet whose sender is on the same host and left its TCP or UDP
    // checksum to the last port on the way counts as GOOD, whatever stands in that field
    PORT_RX_L4_LEFT = 1 << 8,
};

enum {
    PORTS_MAX = 16,
    PORT_NAME_BYTES = 32,
    PORT_QUEUES_MAX = 16,
    PORT_MTU_DEFAULT = 1500,
    PORT_MTU_MIN = 68,             // RFC 791: what every host must be able to send whole
    PORT_MTU_MAX = PKT_ROOM - 14,  // one frame in one packet
};

// port_stats: totals since open, as the device counts them; read by the control thread.
struct port_stats {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed;  // frames lost because no posted buffer was free (imissed)
    uint64_t rx_nombuf;  // frames lost because the pool was empty
    uint64_t rx_errors, tx_errors;
    // Frames that a fault port took away or added on purpose, behind the counts above (rx) and
    // before them (tx): the stack received rx_packets - rx_taken_away + rx_added.
    uint64_t rx_taken_away, rx_added, tx_taken_away, tx_added;
};

struct port;

// port_link: what the device says of its link. speed_mbps 0: it does not know, or has none.
struct port_link {
    bool up, full_duplex;
    uint32_t speed_mbps;
};

enum { PORT_XSTAT_NAME_BYTES = 64 };

struct port_xstat {
    char name[PORT_XSTAT_NAME_BYTES];
    uint64_t value;
};

// port_view: what can be asked of a port beside its counters, at any time, by the control thread
// alone. A function that is NULL: the driver knows nothing of it.
struct port_view {
    void (*link)(struct port *p, struct port_link *out);
    // xstats: the device's own counters, at most max of them; returns how many it has.
    unsigned (*xstats)(struct port *p, struct port_xstat *out, unsigned max);
    // rx_waiting: packets that wait in queue q to be received, -1: the device does not tell.
    int (*rx_waiting)(struct port *p, uint16_t q);
    // rss_table: the queue of each entry of the device's table, at most max; returns how many.
    unsigned (*rss_table)(struct port *p, uint16_t *queues, unsigned max);
    // describe: more `name value` lines of what the device is.
    void (*describe)(struct port *p, struct text *out);
    struct port *(*inner)(struct port *p);  // what this port wraps
};

// port_ops: rx_burst and tx_burst are called by the one worker that owns queue q; the others by the
// control thread, before the workers start or after they have stopped (stats: at any time).
struct port_ops {
    const char *driver;
    // rx_burst: up to n packets from queue q into pkts, allocated from that queue's pool; returns
    // how many. Offload flags are the driver's verdict on this packet or none, never stale.
    uint16_t (*rx_burst)(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
    // tx_burst: takes ownership of the first `returned` packets of pkts; the rest stay the
    // caller's.
    uint16_t (*tx_burst)(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
    void (*stats)(struct port *p, struct port_stats *out);
    void (*close)(struct port *p);
    const struct port_view *view;  // NULL: nothing more is known of it
};

struct port {
    const struct port_ops *ops;
    char name[PORT_NAME_BYTES];
    uint32_t caps;  // enum port_cap
    struct mac_addr mac;
    uint16_t mtu;          // bytes of an IP packet
    uint16_t queues;       // as many as it could have of those that were asked for
    uint16_t rss_entries;  // of its table, a power of two: with PORT_RSS
    uint16_t chain_max;    // segments of a packet that it cuts, at most; 0: PKT_CHAIN_MAX
    void *priv;            // the driver's
};

// port_params: what a driver needs to open a port. Start-up fills it from the configuration;
// strings and the inner parameters stay the caller's and need to live until the open returns.
struct port_params {
    const char *name;    // of the port, at most PORT_NAME_BYTES - 1 characters
    const char *driver;  // one of the table in drivers/port_table.c
    // tap, af_packet, af_xdp: the kernel interface, at most 15 characters; pci: the address; memif:
    // the socket; pcap: the capture to replay
    const char *device;
    const char *capture;  // pcap: the capture to write; NULL or empty: none
    bool memif_client;    // memif: else the server
    uint32_t memif_id;    // memif: the same at both sides
    bool has_mac;         // else the driver chooses a locally administered one
    struct mac_addr mac;
    uint16_t mtu;               // 0: 1,500
    uint16_t queues;            // at most, 1..PORT_QUEUES_MAX
    bool has_offloads;          // else the driver chooses what it does itself
    uint32_t offloads;          // enum port_cap: what it may do, as far as it can
    uint32_t rx_ring, tx_ring;  // packets a queue can hold, a power of two; 0: the driver's choice
    int node;                   // NUMA node for rings, -1: any
    // TOEPLITZ_KEY_BYTES_MAX bytes, by which the device spreads; NULL: the specification's
    const uint8_t *rss_key;
    struct pkt_pool *pools[PORT_QUEUES_MAX];  // one per queue: the pool of the worker that owns it
    bool has_host;                            // tap: give the kernel side an address
    uint32_t host_v4;                         // host order
    uint8_t host_prefix;                      // bits, 1..32
    struct ip_addr host6;
    uint8_t host6_prefix;  // bits, 1..128; 0: it gets no address of IPv6
    // fault:
    const struct port_params *wraps;  // the port inside; name, pools and queues are the outer ones
    uint64_t seed;
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;  // each way; 0..1,000,000
    uint32_t delay_ms;                                           // each way; 0..10,000
    const uint64_t *now_us;                                      // clock of delays; NULL: the TSC
};
