// SPDX-License-Identifier: BSD-3-Clause
// ring.h: a wire between two ends in one process, without kernel or root.
//
//      end A, queue q                                        end B, queue q
//      tx_burst: copies bytes into --> [ posted by B ] -->   rx_burst: B's own packets
//      rx_burst: A's own packets   <-- [ posted by A ] <--   tx_burst: copies bytes into
//
// Each direction of a queue works like a NIC's ring: the receiver posts empty packets of its own
// pool, the sender copies a frame's bytes into the next one and publishes its length. Nothing else
// crosses: no packet, offload flag or reference count. One thread receives and one sends on each
// queue of each end; no lock, no atomic read-modify-write, no system call. A sender that finds no
// posted packet keeps its own (short count), as on a full NIC; frames above PKT_ROOM bytes are
// taken, dropped and counted (tx_errors). Chains arrive as one segment.
#pragma once
#include "pkt/port.h"

enum {
    RING_SLOTS_DEFAULT = 1024,  // posted packets per queue and direction
    RING_SLOTS_MIN = 64,
    RING_SLOTS_MAX = 16384,
};

// ring_open: the near end: params->rx_ring slots toward it, tx_ring toward the far end (0: the
// default). Control thread. NULL: err says why. Packets for a far end that nobody has opened are
// not taken.
struct port *ring_open(const struct port_params *params, struct err *err);

// ring_check: whether ring_open would take the sizes of the rings. 0, or -1 with the reason.
int ring_check(const struct port_params *params, struct err *err);

// ring_open_far: the other end of `near` (a port of ring_open), an ordinary port: name, mac and
// pools of `params` are used; queues, mtu and rings are those of the near end. NULL: err says why.
// Each end is closed by itself, while no thread uses either; a closed end can be opened anew as
// long as the other is open.
struct port *ring_open_far(struct port *near, const struct port_params *params, struct err *err);
