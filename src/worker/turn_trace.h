// SPDX-License-Identifier: BSD-3-Clause
// turn_trace.h: the records of a worker's turns (stat/trace_ring.h). Worker only.
//
// All of them are made at the end of a turn, or in its housekeeping, from what the turn left in the
// worker's arrays, so that a turn that is not traced pays for one branch. (Datagrams pay for one
// each: only the moment tells whether they are answered.)
//
// What a turn is recorded with depends on the millisecond before, because a core with a turn every
// few microseconds would pay for all of it with packets:
//
//     stages of each    less than BUSY_PER_MS busy turns, and half of the time idle
//     a request of each less than FOLLOWED_PER_MS busy turns, or the stages of each are timed
//
// Else both of one in WORKER_TIMED_TURNS.
#pragma once
#include "worker/worker.h"

// turn_trace_look: in the housekeeping every WORKER_HOUSE_TURNS turns: begins and ends tracing as
// the control thread asks; records drops and fill levels that changed. Returns whether every busy
// turn is to be timed.
bool turn_trace_look(struct worker *w);

// turn_trace_end: a busy turn has ended: w->tsc_end and, if it was timed, w->marks are its times.
NOINLINE void turn_trace_end(struct worker *w);

// turn_trace_stall: a turn of so many cycles was too long.
void turn_trace_stall(struct worker *w, const struct stall *s);
