// SPDX-License-Identifier: BSD-3-Clause
// fault.h: a port that wraps another port and makes faults on purpose. The same seed and the same
// packets give the same faults.
//
//   inner rx --> loss -> corrupt -> duplicate -> reorder -> delay --> the stack
//   inner tx <-- delay <- reorder <- duplicate <- corrupt <- loss <-- the stack
//
// Each direction of each queue has its own random numbers. A corrupted frame has one bit flipped in
// its IPv4 or IPv6 packet where a checksum always notices; frames without a checksum (ARP) are not
// changed. A corrupted frame loses its checksum verdict. A frame with other references is copied
// before a bit of it is flipped. A reordered frame lets 1 to REORDER_MAX later ones pass, or waits
// REORDER_WAIT_US. The number of held frames is bounded: frames that would not fit are not taken
// from the inner port or the stack.
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

// fault_check: whether fault_open would take these parameters; the port inside is not checked. 0,
// or -1 with the reason.
int fault_check(const struct port_params *params, struct err *err);

// fault_inner: the port inside; NULL if p is no fault port.
struct port *fault_inner(struct port *p);

// fault_read: the counts of both directions until now. Any thread. p is a fault port.
void fault_read(struct port *p, struct fault_counts *rx, struct fault_counts *tx);
