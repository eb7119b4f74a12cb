// SPDX-License-Identifier: BSD-3-Clause
// tap_attached.h: a port on a TAP interface that somebody else has created (`attach` of driver
// tap). It needs only the right to open the interface, which `ip tuntap add dev NAME mode tap user
// USER multi_queue` gives to a user. So a server can run without root. The port does not change the
// interface, its addresses, its MTU and its state, and leaves it in place when it is closed.
//
//     kernel's side --- /dev/net/tun, one descriptor for each queue --- readv(), writev()
//
// DPDK's net_tap cannot do this: it sets the MTU and the MAC address of the interface. If the
// interface is deleted, the port stays without a device until the server is started again.
#pragma once
#include "pkt/port.h"

// tap_attached_open: opens as many queues of params->device as the interface permits: one, unless
// it was created with multi_queue. Control thread. If it fails, it leaves nothing behind and
// returns NULL with the reason in *err.
struct port *tap_attached_open(const struct port_params *params, struct err *err);

// tap_attached_check: whether the interface is there, is a TAP, and has an MTU that the port can
// take. It opens nothing, so that a running server does not notice. Returns 0, or -1 with the
// reason in *err.
int tap_attached_check(const struct port_params *params, struct err *err);
