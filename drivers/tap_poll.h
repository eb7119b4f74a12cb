// SPDX-License-Identifier: BSD-3-Clause
// tap_poll.h: net_tap polled. It reads a queue only after a signal, which the kernel sends for each
// frame that it puts there, to a thread that has to get a CPU first: with few frames under way, on
// a core that the sender has, that wait is most of the round trip. A worker polls anyway. The
// kernel is told to send none, and the handler that net_tap has for them is called before each
// look.
#pragma once
#include "base/err.h"

// tap_poll_start: for the queues of interface `device`, which net_tap has opened in this process:
// no more signals. 0, or -1 with the reason.
int tap_poll_start(const char *device, struct err *err);

// tap_poll_has_signal: whether net_tap has its signal in this process, from a port before.
bool tap_poll_has_signal(void);

// tap_poll_look: the next rte_eth_rx_burst() of a queue looks whether there are frames. Any worker.
void tap_poll_look(void);
