// SPDX-License-Identifier: BSD-3-Clause
// fault.h: a port that wraps another and makes trouble on purpose, by a seed: the same seed and the
// same packets give the same trouble.
//
//   inner rx --> loss -> corrupt -> duplicate -> reorder -> delay --> the stack
//   inner tx <-- delay <- reorder <- duplicate <- corrupt <- loss <-- the stack
//
// Each direction of each queue draws its own numbers. A corrupted frame has one bit flipped in its
// IPv4 or IPv6 packet where a checksum always notices; other frames (ARP) carry none and are left
// alone.
// Its checksum verdict is gone, and a frame that somebody else holds too is copied first. A
// reordered frame lets 1 to REORDER_MAX later ones pass, or waits REORDER_WAIT_US. What is held is
// bounded: nothing is taken from the inner port or the stack that would not fit.
#pragma once
#include "pkt/port.h"

enum {
    FAULT_HOLD = 4096,  // frames held per direction and queue
    FAULT_ASIDE = 64,   // of which waiting for later ones to pass
    FAULT_REORDER_MAX = 8,
    FAULT_REORDER_WAIT_US = 2000,
    FAULT_DELAY_MS_MAX = 10000,
    FAULT_PPM = 1000000,
};

// fault_counts: one direction, summed over queues; frames.
struct fault_counts {
    uint64_t seen, lost, corrupted, duplicated, reordered;
    uint64_t no_packet;  // could not be copied (to duplicate or corrupt): the pool was empty
    uint64_t held;       // at this moment
};

// fault_open: opens params->wraps (with the outer name, queues and pools) and wraps it. Its MAC,
// MTU and capabilities are the inner port's; without transmit checksum offload, which would repair
// what was corrupted. Control thread. NULL: err says why.
struct port *fault_open(const struct port_params *params, struct err *err);

// fault_inner: the port inside; NULL if p is no fault port.
struct port *fault_inner(struct port *p);

// fault_read: what has been done so far. Any thread. p is a fault port.
void fault_read(struct port *p, struct fault_counts *rx, struct fault_counts *tx);
