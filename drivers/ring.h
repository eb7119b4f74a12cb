// SPDX-License-Identifier: BSD-3-Clause
// ring.h: a wire between two ends in one process, without kernel or root.
//
//      end A, queue q                                        end B, queue q
//      tx_burst: copies bytes into --> [ posted by B ] -->   rx_burst: B's own packets
//      rx_burst: A's own packets   <-- [ posted by A ] <--   tx_burst: copies bytes into
//
// Each direction of a queue works like the ring of a NIC. The receiver posts empty packets of its
// own pool. The sender copies the bytes of a frame into the next posted packet and publishes its
// length. Packets, offload flags and reference counts do not cross.
//
// On each queue of each end one thread receives and one thread sends. There is no lock, no atomic
// read-modify-write and no system call.
//
// If no packet is posted, tx_burst takes fewer frames than it was offered, as on a full NIC. A
// frame longer than the packets of the receiver's pool is taken, dropped and counted (tx_errors). A
// chain arrives as one segment.
#pragma once
#include "pkt/port.h"

enum {
    RING_SLOTS_DEFAULT = 1024,  // posted packets of each queue and direction
    RING_SLOTS_MIN = 64,
    RING_SLOTS_MAX = 16384,
};

// ring_open: opens the near end. The ring toward it has params->rx_ring slots, the ring toward the
// far end params->tx_ring; 0 means RING_SLOTS_DEFAULT. While the far end is closed, no packets for
// it are taken. Control thread. Returns NULL with the reason in *err if it fails.
struct port *ring_open(const struct port_params *params, struct err *err);

// ring_check: checks the sizes of the rings as ring_open() does. Returns 0, or -1 with the reason
// in *err.
int ring_check(const struct port_params *params, struct err *err);

// ring_open_far: opens the other end of `near`, a port of ring_open(). It uses name, mac and pools
// of params; queues, mtu and rings are those of the near end. Returns NULL with the reason in *err
// if it fails. Each end is closed separately, while no thread uses either of them. A closed end can
// be opened again as long as the other end is open.
struct port *ring_open_far(struct port *near, const struct port_params *params, struct err *err);
