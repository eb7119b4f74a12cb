// port.h: the contract between the stack and a driver. A port is one struct of operations on bursts
// plus capability bits; the stack asks the bits, never the name.
#pragma once
#include "base/addr.h"
#include "base/err.h"
#include "pkt/pkt.h"

enum port_cap {
    PORT_RX_IP_CKSUM = 1 << 0,  // says GOOD or BAD for the IPv4 header of what it receives
    PORT_RX_L4_CKSUM = 1 << 1,  // the same for TCP and UDP
    PORT_TX_IP_CKSUM = 1 << 2,  // fills in the IPv4 header checksum when asked
    PORT_TX_L4_CKSUM = 1 << 3,
    PORT_MULTI_SEG = 1 << 4,  // sends chains
    PORT_TSO = 1 << 5,
    PORT_RSS = 1 << 6,
    PORT_NO_SYSCALL = 1 << 7,  // rx_burst and tx_burst never enter the kernel
};

enum { PORTS_MAX = 16, PORT_NAME_BYTES = 32, PORT_QUEUES_MAX = 16 };

// port_stats: totals since open, as the device counts them; read by the control thread.
struct port_stats {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    uint64_t rx_missed;  // frames lost because no posted buffer was free (imissed)
    uint64_t rx_nombuf;  // frames lost because the pool was empty
    uint64_t rx_errors, tx_errors;
};

struct port;

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
};

struct port {
    const struct port_ops *ops;
    char name[PORT_NAME_BYTES];
    uint32_t caps;  // enum port_cap
    struct mac_addr mac;
    uint16_t mtu;  // bytes of an IP packet
    uint16_t queues;
    void *priv;  // the driver's
};
