// SPDX-License-Identifier: BSD-3-Clause
// load_schedule.h: an open loop: request k is due at a time that is fixed beforehand, whether those
// before it were answered or not.
//
//   due(k) = start + k / rate
//
// A latency that counts from there is not smaller because a slow server had held its client back
// (Gil Tene's "coordinated omission"). But where the client itself came late, in a turn that should
// have been earlier, the requests of that turn count from then, as far as the client is late by
// more than LOAD_SCHEDULE_LATE_NS: that is counted, and not the server's.
#pragma once
#include "base/base.h"

enum {
    LOAD_SCHEDULE_LATE_NS = 50000,
    LOAD_SCHEDULE_TURNS_MAX =
        64,  // late turns with requests that were not started yet; more become one
};

// load_late_turn: requests [begin, end) became due in a late turn: none counts from before from_ns.
struct load_late_turn {
    uint64_t begin, end, from_ns;
};

struct load_schedule {
    uint64_t rate;  // a second
    uint64_t start_ns;
    uint64_t due, started;  // requests
    uint64_t late;          // of those, how many the client came late for
    uint64_t late_max_ns;
    uint32_t head, n;  // of turns, a ring
    struct load_late_turn turns[LOAD_SCHEDULE_TURNS_MAX];
};

// load_schedule_begin: the first is due now. rate > 0.
void load_schedule_begin(struct load_schedule *d, uint64_t rate, uint64_t now_ns);

// load_schedule_backlog: how many are due and not started. now_ns does not go back.
uint64_t load_schedule_backlog(struct load_schedule *d, uint64_t now_ns);

// load_schedule_take: starts the next one, which is due: the time that it counts from.
uint64_t load_schedule_take(struct load_schedule *d);
