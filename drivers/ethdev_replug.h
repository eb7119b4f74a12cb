// SPDX-License-Identifier: BSD-3-Clause
// ethdev_replug.h: keeps a port on a DPDK device open while the device is gone, and connects it to
// the new device later.
//
//     with a device --detach--> away: bursts do nothing --every worker waits--> device closed
//           ^                                                                        |
//           |<--attach: every worker waits, the new device is opened as the first was-|
//
// Closing and opening a device takes packets from the pools or returns packets to them. Each pool
// belongs to one worker and has no lock. So the worker of each queue waits in rx_burst meanwhile,
// for some milliseconds: a pause. A pause also proves that no worker is inside the device. If a
// worker does not reach its rx_burst within ETHDEV_PAUSE_MS, because its turn is long, the other
// workers continue and the pause is tried again later.
#pragma once
#include "pkt/port.h"

enum { ETHDEV_PAUSE_MS = 20 };

// ethdev_replug: for the port_ops of a port of ethdev_open() that port_open() can open again with
// the same parameters.
extern const struct port_replug ethdev_replug;

// ethdev_leave: the first step of its `detach`: no burst that begins from now on uses the device.
// Returns false if that was so before.
bool ethdev_leave(struct port *p);
