// SPDX-License-Identifier: BSD-3-Clause
// notify.h: tells the service manager what the server does, in the datagrams of sd_notify(3). The
// protocol is documented and stable, so that no library is needed for it.
//
//     $NOTIFY_SOCKET: unix datagram socket of the manager, /PATH or @ABSTRACT; unset: no manager
//     server --"READY=1\nSTATUS=serving"--> manager
//     $WATCHDOG_USEC, $WATCHDOG_PID: the manager ends the process if "WATCHDOG=1" does not come
//
// The process has one manager, as it has one log. Control thread.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { NOTIFY_BYTES_MAX = 1024, NOTIFY_WAIT_MS = 2000 };

// notify_open: connects to the manager of the environment, if there is one, and removes the
// variables, so that child processes have no manager. Call it before privileges are given up. A
// manager that cannot be reached is logged. notify_close: allows another notify_open().
void notify_open(void);
void notify_close(void);

// notify_watchdog_us: the time within which the manager expects WATCHDOG=1; 0: it expects none.
uint64_t notify_watchdog_us(void);

// notify_say: sends `state` ("READY=1") with a status for people, one line. Waits up to
// NOTIFY_WAIT_MS for room. Returns false, after logging why, if the manager did not get it; true
// without a manager.
bool notify_say(const char *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

// notify_watchdog: sends WATCHDOG=1 without waiting; the next one repeats it.
void notify_watchdog(void);
