// SPDX-License-Identifier: BSD-3-Clause
// load_schedule.h: an open loop: the time at which request k is due does not depend on answers to
// earlier requests.
//
//   due(k) = start + k / rate
//
// A latency measured from this time also includes the time in which a slow server delays the
// client's next requests (Gil Tene's "coordinated omission"). If the client itself is late by more
// than LOAD_SCHEDULE_LATE_NS, because a turn started late, the requests of this turn are measured
// from the start of the turn. Such requests are counted, and their delay is not attributed to the
// server.
#pragma once
#include "base/base.h"

enum {
    LOAD_SCHEDULE_LATE_NS = 50000,
    LOAD_SCHEDULE_TURNS_MAX =
        64,  // late turns with requests not started yet; further ones are merged
};

// load_late_turn: requests [begin, end) became due in a late turn; they are measured from from_ns
// at the earliest.
struct load_late_turn {
    uint64_t begin, end, from_ns;
};

struct load_schedule {
    uint64_t rate;  // per second
    uint64_t start_ns;
    uint64_t due, started;  // number of requests
    uint64_t skipped;       // of the started ones: given up instead
    uint64_t late;          // requests for which the client was late
    uint64_t late_max_ns;
    uint32_t head, n;  // of the ring turns[]
    struct load_late_turn turns[LOAD_SCHEDULE_TURNS_MAX];
};

// load_schedule_begin: starts the schedule; the first request is due at now_ns. rate > 0.
void load_schedule_begin(struct load_schedule *d, uint64_t rate, uint64_t now_ns);

// load_schedule_backlog: the number of requests that are due and not started. now_ns must not go
// back.
uint64_t load_schedule_backlog(struct load_schedule *d, uint64_t now_ns);

// load_schedule_skip: gives up requests that have been due for more than late_ms and are not
// started. Returns their number. Call it after load_schedule_backlog() with the same now_ns.
uint64_t load_schedule_skip(struct load_schedule *d, uint64_t now_ns, uint32_t late_ms);

// load_schedule_take: starts the next request, which must be due. Returns the time from which its
// latency is measured.
uint64_t load_schedule_take(struct load_schedule *d);
