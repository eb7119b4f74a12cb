// SPDX-License-Identifier: BSD-3-Clause
// tap_poll.h: makes net_tap poll its queues. By itself net_tap reads a queue only after a signal,
// which the kernel sends for each frame. The thread that gets the signal must first get a CPU. With
// few frames in flight, and if the sender runs on the same core, this wait is most of the round
// trip. Workers poll in any case. So the kernel is told to send no signals, and net_tap's signal
// handler is called before each poll.
#pragma once
#include "base/err.h"

// tap_poll_start: stops the signals for the queues of the interface `device`, which net_tap has
// opened in this process. Returns 0, or -1 with the reason in *err.
int tap_poll_start(const char *device, struct err *err);

// tap_poll_has_signal: whether net_tap has installed its signal handler in this process, for an
// earlier port.
bool tap_poll_has_signal(void);

// tap_poll_look: makes the next rte_eth_rx_burst() of each queue check for frames. Any worker.
void tap_poll_look(void);
