// SPDX-License-Identifier: BSD-3-Clause
// af_xdp.h: a port on a kernel interface by AF_XDP sockets (DPDK's net_af_xdp): an XDP program
// takes the frames of queues 0 to params->queues - 1 before the kernel sees them, so the kernel
// does not see these frames. It uses copy mode where the interface's driver has no zero copy
// (veth). For checksums that a sender left to the hardware see af_packet.h.
#pragma once
#include "pkt/port.h"

// af_xdp_open: params->device is the interface, which is up. Control thread; needs CAP_NET_RAW,
// CAP_NET_ADMIN and CAP_BPF. NULL: err says why.
struct port *af_xdp_open(const struct port_params *params, struct err *err);

// af_xdp_check: refuses what af_xdp_open would refuse, and takes no resources. 0, or -1 with the
// reason.
int af_xdp_check(const struct port_params *params, struct err *err);
