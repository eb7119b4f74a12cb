// SPDX-License-Identifier: BSD-3-Clause
// af_packet.h: a port on a kernel interface or one end of a veth pair, by AF_PACKET's mapped rings
// (DPDK's net_af_packet). The kernel keeps the interface and sees every frame too: give the port an
// address that the kernel does not have. Bursts are system calls. A frame whose checksum its sender
// left to the hardware (veth with tx offload on; TP_STATUS_CSUMNOTREADY) cannot be recognized: it
// fails the checksum test of the stack and is counted; turn tx off at the sender: ethtool -K PEER
// tx off.
#pragma once
#include "pkt/port.h"

// af_packet_open: params->device is the interface, which is up. Control thread; needs CAP_NET_RAW.
// NULL: err says why.
struct port *af_packet_open(const struct port_params *params, struct err *err);

// af_packet_check: refuses what af_packet_open would refuse, and takes no resources. 0, or -1 with
// the reason.
int af_packet_check(const struct port_params *params, struct err *err);
