// SPDX-License-Identifier: BSD-3-Clause
// fault.h: a port that wraps another port and makes faults on purpose. The same seed and the same
// packets give the same faults.
//
//   inner rx --> loss -> corrupt -> duplicate -> reorder -> delay --> the stack
//   inner tx <-- delay <- reorder <- duplicate <- corrupt <- loss <-- the stack
//
// Each direction of each queue has its own sequence of random numbers.
//
// Corrupt: one bit of the IPv4 or IPv6 packet is flipped, at a place that a checksum covers. Frames
// without a checksum (ARP) are not changed. The frame loses the checksum verdict of the hardware.
// If the frame has other references, a copy of it is changed.
//
// Reorder: 1 to FAULT_REORDER_MAX later frames overtake the frame, or it waits
// FAULT_REORDER_WAIT_US, whichever comes first.
//
// The number of held frames is bounded. When it is reached, no more frames are taken from the inner
// port or the stack. A held frame that the inner port never takes, while it takes others, is
// dropped (refusal.h).
#pragma once
#include "pkt/port.h"

enum {
    FAULT_HOLD = 4096,  // frames held, for each direction and queue
    FAULT_ASIDE = 64,   // of FAULT_HOLD: reordered frames that wait
    FAULT_REORDER_MAX = 8,
    FAULT_REORDER_WAIT_US = 2000,
    FAULT_REFUSED_US = 1000,  // between two looks whether the inner port takes other frames
    FAULT_DELAY_MS_MAX = 10000,
    FAULT_PPM = 1000000,
};

// fault_counts: frames of one direction, summed over all queues.
struct fault_counts {
    uint64_t seen, lost, corrupted, duplicated, reordered;
    uint64_t no_packet;  // not duplicated or corrupted, because the pool had no packet for a copy
    uint64_t refused;    // that the inner port never took
    uint64_t held;       // at this moment
};

// fault_open: opens the inner port params->wraps, with the name, queues and pools of params, and
// wraps it. MAC, MTU and capabilities are those of the inner port, but without transmit checksum
// offload, which would give corrupted frames a valid checksum. Control thread. Returns NULL with
// the reason in *err if it fails.
struct port *fault_open(const struct port_params *params, struct err *err);

// fault_check: checks the parameters of the wrapper, not those of the inner port. Returns 0, or -1
// with the reason in *err.
int fault_check(const struct port_params *params, struct err *err);

// fault_inner: the inner port of p; NULL if p is no fault port.
struct port *fault_inner(struct port *p);

// fault_read: the counts of both directions of p, which is a fault port. Any thread.
void fault_read(struct port *p, struct fault_counts *rx, struct fault_counts *tx);
