// SPDX-License-Identifier: BSD-3-Clause
// recorder.h: the flight recorder: workers write their records all the time, and when a turn takes
// too long or a packet is dropped for a named reason, the last seconds before it are kept.
//
//             order                       trigger
//     off ------------------> records ------------------> kept      any order begins anew
//      ^                         |                          |
//      +----------- off ---------+------------ off ---------+
//
// Memory: RECORDER_BYTES_MAX while it records, and as much for a flight that was replaced while
// somebody reads it. Control thread.
#pragma once
#include "prof/prof_kind.h"
#include "trace/trace_log.h"

enum {
    RECORDER_BYTES_MAX = 64 * 1024 * 1024,
    RECORDER_TICK_MS = PROF_TICK_MS,
    RECORDER_SECONDS_MAX = 60,
    RECORDER_US_MIN = 100,  // shorter turns are no stalls (WORKER_STALL_US)
    RECORDER_US_MAX = 60 * 1000 * 1000,
    RECORDER_WORDS_MAX = 8,
};

enum recorder_state { RECORDER_OFF, RECORDER_RECORDS, RECORDER_KEPT };

struct recorder;

// recorder_flight: a flight that was kept. from_ns: where it begins, of the workers' clock.
struct recorder_flight {
    struct trace_log *log;
    int64_t from_ns;
    unsigned users;
};

// recorder_new: off. started(arg) is called when it begins to record, so that the caller makes sure
// that recorder_tick() is called. NULL: no memory. recorder_free: a flight that is in use lives on
// until recorder_drop(). NULL is allowed.
struct recorder *recorder_new(const struct prof_shown *s, void (*started)(void *arg), void *arg);
void recorder_free(struct recorder *f);

// recorder_order: `off`, or conditions and seconds: `stall 500us 2s`, `drop tcp_checksum 1s`, or
// both before the seconds; the words of the line are changed. Returns 0, or with *err -EINVAL,
// -ERANGE, -EBUSY (TRACE_LOGS_MAX logs collect, or orders come too often) or -ENOMEM; after these
// what was ordered before goes on.
int recorder_order(struct recorder *f, char *line, struct err *err);

// recorder_tick: collects records and looks for a trigger. Call it every RECORDER_TICK_MS until it
// returns false.
bool recorder_tick(struct recorder *f);

// recorder_render: state, conditions, what triggered, `name value` lines.
void recorder_render(const struct recorder *f, struct text *out);

enum recorder_state recorder_state(const struct recorder *f);

// recorder_take: the flight that is kept; NULL: none is. recorder_drop: the caller no longer uses
// it.
struct recorder_flight *recorder_take(struct recorder *f);
void recorder_drop(struct recorder_flight *l);
