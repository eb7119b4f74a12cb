// SPDX-License-Identifier: BSD-3-Clause
// af_xdp.h: a port on a kernel interface with AF_XDP sockets (DPDK's net_af_xdp). An XDP program
// redirects the frames of queues 0 to params->queues - 1 to the port, and the kernel's own stack
// does not receive them. If the interface's driver has no zero copy (veth), the port uses copy
// mode. af_packet.h says what happens to checksums that a sender left to the hardware.
#pragma once
#include "pkt/port.h"

// af_xdp_open: opens the interface params->device, which must be up. Control thread; needs
// CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF. Returns NULL with the reason in *err if it fails.
struct port *af_xdp_open(const struct port_params *params, struct err *err);

// af_xdp_check: makes the checks of af_xdp_open() without opening anything. Returns 0, or -1 with
// the reason in *err.
int af_xdp_check(const struct port_params *params, struct err *err);
