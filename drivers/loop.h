// SPDX-License-Identifier: BSD-3-Clause
// loop.h: a port that returns its packets, for connections of a host to itself.
//
//     tx_burst, queue q --> [ LOOP_SLOTS packets ] --> rx_burst, queue q
//
// A packet that is sent on a queue is received on the same queue, without a copy and without its
// offload flags.
#pragma once
#include "pkt/port.h"

enum { LOOP_SLOTS = 1024 };  // for each queue; a full queue takes no more packets

// loop_open: uses name, queues and mtu of params. Returns NULL with the reason in *err if it fails.
struct port *loop_open(const struct port_params *params, struct err *err);

// loop_check: returns 0, because the port needs nothing that could be missing.
int loop_check(const struct port_params *params, struct err *err);
