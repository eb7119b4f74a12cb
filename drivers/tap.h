// SPDX-License-Identifier: BSD-3-Clause
// tap.h: a port on a TAP interface that the port creates (DPDK's net_tap). It works on any Linux
// machine without a NIC. The kernel is the host at the other end of the wire: its side of the
// interface gets the addresses params->host_v4 and host6, and a MAC address that differs from the
// port's. The kernel computes all checksums of its frames and sends no frame above the MTU.
//
// Bursts are system calls, and so is each poll of a queue (tap_poll.h). params->rx_ring is
// the length of the kernel's queue to the port (txqueuelen of the interface). Frames are lost while
// that queue is full.
//
// With params->attach the interface exists already, and all of this is different: tap_attached.h.
#pragma once
#include "pkt/port.h"

// tap_open: creates the interface params->device, which must not exist, gives the kernel's side its
// addresses and sets it up. Closing the port removes the interface. Control thread; needs
// CAP_NET_ADMIN. If it fails, it leaves nothing behind and returns NULL with the reason in *err.
struct port *tap_open(const struct port_params *params, struct err *err);

// tap_check: makes the checks of tap_open() without opening anything. Returns 0, or -1 with the
// reason in *err.
int tap_check(const struct port_params *params, struct err *err);
