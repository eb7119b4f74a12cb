// SPDX-License-Identifier: BSD-3-Clause
// tap.h: a port on a kernel TAP interface that it creates (DPDK's net_tap): the first run on any
// Linux machine. The kernel is the host at the other end of the wire: it gets params->host_v4,
// host6 and its own MAC address, which differs from the port's; it sends whole checksums and no
// frame above the MTU.
//
// Bursts are system calls, and so is each look at a queue (tap_poll.h). params->rx_ring is the
// length of the kernel's queue to us (txqueuelen of the interface): what finds it full is lost.
#pragma once
#include "pkt/port.h"

// tap_open: creates interface params->device (which must not exist), gives the kernel's side the
// host address, brings it up. Control thread; needs CAP_NET_ADMIN. NULL: err says why, and nothing
// is left behind. Closing removes the interface.
struct port *tap_open(const struct port_params *params, struct err *err);

// tap_check: refuses what tap_open would refuse, and takes no resources. 0, or -1 with the reason.
int tap_check(const struct port_params *params, struct err *err);
