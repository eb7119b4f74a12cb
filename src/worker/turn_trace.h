// SPDX-License-Identifier: BSD-3-Clause
// turn_trace.h: the records of a worker's turns (stat/trace_ring.h). Worker only.
//
// They are made at the end of a turn, or in its housekeeping, from what the turn left in the
// worker's arrays. So a turn that is not traced pays for one branch. (Each datagram pays for one
// more: only when it is handled is it known whether it is answered.)
//
// The previous millisecond decides what is recorded, because full records would slow a core that
// has a turn every few microseconds:
//
//     the stages of every turn    below BUSY_PER_MS busy turns, and idle half of the time
//     a request of every turn     below FOLLOWED_PER_MS busy turns, or if every turn is timed
//
// Otherwise it is recorded for one busy turn in WORKER_TIMED_TURNS.
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
