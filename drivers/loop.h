// SPDX-License-Identifier: BSD-3-Clause
// loop.h: a port that returns its packets, for connections of a host to itself.
//
//     tx_burst, queue q --> [ LOOP_SLOTS packets ] --> rx_burst, queue q
//
// A packet that is sent on a queue is received on the same queue, without a copy and without its
// offload flags.
#pragma once
#include "pkt/port.h"

enum { LOOP_SLOTS = 1024 };  // of a queue; a full one takes no more

// loop_open: name, queues and mtu of params count. NULL: err says why.
struct port *loop_open(const struct port_params *params, struct err *err);

// loop_check: 0, since the port takes nothing that could be missing.
int loop_check(const struct port_params *params, struct err *err);
