// SPDX-License-Identifier: BSD-3-Clause
// watchdog.h: feeds the watchdog of the service manager (base/notify.h) while all workers turn.
//
//     timer, four times in the manager's period, at least once a second:
//         has the number of turns of every worker changed since the last time?
//             yes: WATCHDOG=1          no: nothing is sent; the status says which worker hangs
//
// A control thread that hangs feeds nothing either. Control thread.
#pragma once
#include "ctl/event_loop.h"
#include "ctl/files/tree_files.h"
#include "server/server_conf.h"

enum { WATCHDOG_LOOK_MS_MAX = 1000, WATCHDOG_LOOK_MS_MIN = 5 };

// ctl_watchdog: it does not move. All zero: none.
struct ctl_watchdog {
    struct ctl_loop *loop;
    const struct ctl_shown *shown;
    int timer_fd;
    unsigned n;
    bool hungry;      // the last time, a worker hung
    uint64_t *turns;  // [worker], at the last time
};

// ctl_watchdog_start: does nothing if the manager expects no WATCHDOG=1. shown outlives it.
// Returns 0, or -1 with *err. ctl_watchdog_stop: also of one that is all zero.
int ctl_watchdog_start(struct ctl_watchdog *w, struct ctl_loop *loop, const struct ctl_shown *shown,
                       struct err *err);
void ctl_watchdog_stop(struct ctl_watchdog *w);
