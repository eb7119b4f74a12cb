// SPDX-License-Identifier: BSD-3-Clause
// ethdev_replug.h: a port on a DPDK device goes on without it, and later with a new one.
//
//     with a device --detach--> away: bursts do nothing --every worker waits--> device closed
//           ^                                                                        |
//           |<--attach: every worker waits, the new device is opened as the first was-|
//
// The pools of packets belong to one worker each and hold no lock. To close or open a device takes
// packets from them, or gives some back. So while that happens the worker of each queue waits in
// rx_burst, some milliseconds: a pause. It is also the proof that no worker is inside the device.
// If a worker does not come to its rx_burst within ETHDEV_PAUSE_MS, because its turn is long, the
// others go on and the pause is tried again later.
#pragma once
#include "pkt/port.h"

enum { ETHDEV_PAUSE_MS = 20 };

// ethdev_replug: for the port_ops of a port that ethdev_open() made and whose params port_open()
// takes again.
extern const struct port_replug ethdev_replug;
