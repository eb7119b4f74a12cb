// SPDX-License-Identifier: BSD-3-Clause
// ethdev.h: what every DPDK device has in common: configure, queues, start, bursts, counters. A
// driver file is a short profile over this.
#pragma once
#include "base/shared.h"
#include "base/toeplitz.h"
#include "drivers/kernel_side.h"
#include "drivers/nic_profiles.h"
#include "pkt/port.h"

// ethdev_profile: what a driver asks of its device.
struct ethdev_profile {
    const struct port_ops *ops;         // its close ends in ethdev_close()
    uint64_t rx_offloads, tx_offloads;  // RTE_ETH_*_OFFLOAD_*: used as far as the device has them
    uint64_t rx_by_name, tx_by_name;    // also, where params->offloads names them
    bool filters_mac;                   // drops frames for groups that it was not told to take
    bool rss;  // several queues: let the device spread by addresses and ports
};

// ethdev_away: of a port that has lost its device (ethdev_replug.h).
struct ethdev_away {
    struct port_ops ops;          // of the port meanwhile
    const struct port_ops *with;  // those that it had, and gets again
    bool closed;                  // the device is
    struct port_stats base;       // what the devices before this one have counted
    struct pkt_pool *pools[PORT_QUEUES_MAX];
    struct shared_u32 pause;  // control thread to workers: wait; a number, 0: none
    struct shared_u32 paused[PORT_QUEUES_MAX];  // worker to control thread: the number it waits for
    uint32_t pauses;
    uint64_t tx_no_device[PORT_QUEUES_MAX];  // written by the worker
};

struct ethdev {
    struct port port;  // first: port.priv points to this struct
    uint16_t id;       // DPDK's port number
    // Some devices leave in a packet what an earlier owner wrote there: with clear_flags only these
    // of m.ol_flags are kept on receipt.
    bool clear_flags;
    uint64_t keep_flags;
    uint64_t left_flags;  // of RTE_MBUF_F_RX_L4_CKSUM_NONE, those that are taken away
    const struct nic_profile *nic;
    uint64_t spread;                          // RTE_ETH_RSS_*: what its queues are chosen by
    uint64_t rss_types;                       // of spread, what it said at its start that it hashes
    uint8_t rss_key[TOEPLITZ_KEY_BYTES_MAX];  // by which key
    uint64_t tx_refused[PORT_QUEUES_MAX];     // by us or the driver; written by the worker
    struct kernel_side *kernel;               // NULL: no interface of the kernel is its device
    struct ethdev_away away;
};

// ethdev_open: configures DPDK port `id` for params (its queues, rings, mtu, pools) and starts it.
// caps tell what was granted; queues are as many of those asked for as the device has. NULL: err
// says why; the device is left closed.
struct port *ethdev_open(uint16_t id, const struct port_params *params,
                         const struct ethdev_profile *profile, struct err *err);

// ethdev_caps: what a device of that DPDK driver is, with these offloads granted. ethdev_verdicts:
// which flags of received packets are kept, by e's caps. ethdev_chain_max: segments of a packet
// that it cuts, of those that it says a packet may have (0: it does not say).
uint32_t ethdev_caps(const char *dpdk_driver, uint64_t rx_offloads, uint64_t tx_offloads);
void ethdev_verdicts(struct ethdev *e);
uint16_t ethdev_chain_max(const char *dpdk_driver, uint16_t said);

// ethdev_close: stops and closes the device, frees the port.
void ethdev_close(struct port *p);

// The operations that need no profile. A device that sends no chains gets them as one segment, made
// in software; one that would not fit in a packet is taken, dropped and counted (tx_errors).
uint16_t ethdev_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
uint16_t ethdev_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
void ethdev_stats(struct port *p, struct port_stats *out);

// ethdev_device_stats: adds what the device of now has counted since it was opened.
void ethdev_device_stats(struct ethdev *e, struct port_stats *sum);
