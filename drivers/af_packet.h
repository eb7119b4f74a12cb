// SPDX-License-Identifier: BSD-3-Clause
// af_packet.h: a port on a kernel interface, for example one end of a veth pair. It uses the mapped
// rings of AF_PACKET (DPDK's net_af_packet). Bursts are system calls.
//
// The kernel keeps the interface and receives every frame too, so the port needs an IP address that
// the kernel does not have.
//
// A sender on the same host may leave the checksum to the hardware (veth with tx offload on;
// TP_STATUS_CSUMNOTREADY). The driver cannot recognize such a frame: it fails the stack's checksum
// test and is counted. Cure: `ethtool -K PEER tx off` at the sender.
#pragma once
#include "pkt/port.h"

// af_packet_open: opens the interface params->device, which must be up. Control thread; needs
// CAP_NET_RAW. Returns NULL with the reason in *err if it fails.
struct port *af_packet_open(const struct port_params *params, struct err *err);

// af_packet_check: makes the checks of af_packet_open() without opening anything. Returns 0, or -1
// with the reason in *err.
int af_packet_check(const struct port_params *params, struct err *err);
