// SPDX-License-Identifier: BSD-3-Clause
// loop.h: a port whose packets come back: for a host's connections to itself.
//
//     tx_burst, queue q --> [ LOOP_SLOTS packets ] --> rx_burst, queue q
//
// The packets are not copied: who sends on a queue receives on it. Offload flags do not come back.
#pragma once
#include "pkt/port.h"

enum { LOOP_SLOTS = 1024 };  // of a queue; a full one takes no more

// loop_open: name, queues and mtu of params count. NULL: err says why.
struct port *loop_open(const struct port_params *params, struct err *err);
