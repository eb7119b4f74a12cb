// SPDX-License-Identifier: BSD-3-Clause
// ethdev.h: the functions that all ports on DPDK devices share: configuration, queues, start,
// bursts, counters. A driver file adds a short profile.
#pragma once
#include "base/shared.h"
#include "base/toeplitz.h"
#include "drivers/kernel_side.h"
#include "drivers/nic_profiles.h"
#include "drivers/pci_slot.h"
#include "pkt/port.h"

// ethdev_profile: what a driver requests from its device.
struct ethdev_profile {
    const struct port_ops *ops;         // its `close` must end in ethdev_close()
    uint64_t rx_offloads, tx_offloads;  // RTE_ETH_*_OFFLOAD_*: enabled if the device has them
    uint64_t rx_by_name, tx_by_name;    // enabled only if params->offloads names them
    uint64_t rx_jumbo;                  // enabled with jumbo frames if the device has them
    bool keeps_mtu;                     // the device has params->mtu already
    bool rx_interrupts;                 // has a descriptor for each receive queue, if asked to
    bool filters_mac;                   // drops multicast frames for groups that it was not told
    bool rss;  // with several queues: hash addresses and ports to choose one
};

// ethdev_away: the state of a port that has lost its device (ethdev_replug.h).
struct ethdev_away {
    struct port_ops ops;          // operations of the port while it has no device
    const struct port_ops *with;  // its operations while it has a device
    bool closed;                  // the lost device has been closed
    struct port_stats base;       // sums of the counters of all earlier devices
    struct pkt_pool *pools[PORT_QUEUES_MAX];
    struct shared_u32 pause;  // control thread to workers: number of the pause; 0: none
    struct shared_u32 paused[PORT_QUEUES_MAX];  // worker to control thread: the pause it is in
    uint32_t pauses;
    uint64_t tx_no_device[PORT_QUEUES_MAX];  // written by the worker
};

struct ethdev {
    struct port port;   // first: port.priv points to this struct
    uint16_t id;        // DPDK's port number
    uint16_t rx_slots;  // of each receive queue
    // Some drivers leave flags of the mbuf's previous use in a received packet. If clear_flags is
    // set, only the flags in keep_flags remain in m.ol_flags.
    bool clear_flags;
    bool gathers;  // jumbo frames may arrive as chains
    uint64_t keep_flags;
    uint64_t left_flags;  // cleared if the verdict is RTE_MBUF_F_RX_L4_CKSUM_NONE
    const struct nic_profile *nic;
    uint64_t spread;                          // RTE_ETH_RSS_*: fields that we asked it to hash
    uint64_t rss_types;                       // those of `spread` that it reported after its start
    uint8_t rss_key[TOEPLITZ_KEY_BYTES_MAX];  // key of the hash
    uint64_t tx_refused[PORT_QUEUES_MAX];     // by us or the driver; written by the worker
    struct kernel_side *kernel;               // NULL: the device is no kernel interface
    struct af_xdp_rings *rings;               // af_xdp with one queue; else NULL
    bool failed_open_keeps_packets;           // as DPDK 22.11's net_af_xdp does
    struct pci_slot slot;                     // of a PCI device
    struct port_stats seen;                   // the device's counters as they were last read
    struct ethdev_away away;
};

// ethdev_open: configures DPDK port `id` by params (queues, rings, mtu, pools) and starts it.
// `caps` of the returned port has the granted offloads. Its `queues` is params->queues, or the
// device's maximum if that is lower. If it fails, it closes the device and returns NULL with the
// reason in *err.
struct port *ethdev_open(uint16_t id, const struct port_params *params,
                         const struct ethdev_profile *profile, struct err *err);

// ethdev_caps: the capabilities (enum port_cap) of a device of that DPDK driver to which these
// offloads were granted. ethdev_verdicts: sets clear_flags, keep_flags and left_flags by the caps
// of e. ethdev_chain_max: how many segments a packet may have that the device splits (TSO); `said`
// is what the driver reports, 0 if it reports nothing.
uint32_t ethdev_caps(const char *dpdk_driver, uint64_t rx_offloads, uint64_t tx_offloads);
void ethdev_verdicts(struct ethdev *e);
uint16_t ethdev_chain_max(const char *dpdk_driver, uint16_t said);

// ethdev_close: stops and closes the device, and frees the port.
void ethdev_close(struct port *p);

// The operations that need no profile. If the device cannot send chains, ethdev_tx_burst() copies
// each chain into one segment. A chain that does not fit into one segment is taken, dropped and
// counted (tx_errors).
uint16_t ethdev_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
int ethdev_rx_waiting(struct port *p, uint16_t q, uint32_t *slots);
uint16_t ethdev_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
void ethdev_stats(struct port *p, struct port_stats *out);

// ethdev_socket_wait: waits by the sockets of a kernel interface, in which DPDK does not tell the
// queues apart: with several of them a worker also wakes for the packets of another.
extern const struct port_wait ethdev_socket_wait;

// ethdev_device_stats: adds to *sum the counters of the present device since it was opened. If the
// device no longer answers, their last values are added.
void ethdev_device_stats(struct ethdev *e, struct port_stats *sum);
