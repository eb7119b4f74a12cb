// SPDX-License-Identifier: BSD-3-Clause
// trace_cut.h: what has begun among the events of a core that were given, and has not ended. Where
// the events are cut off, all of it ends, so that what reads the trace finds it whole.
#pragma once
#include "trace/trace_reader.h"

enum { TRACE_CUT_EVENTS_MAX = 2 + TRACE_SLOTS };  // that end a core: stage, turn, requests

struct trace_cut {
    struct trace_event turn, stage, requests[TRACE_SLOTS];
    bool in_turn, in_stage;
};

// trace_cut_note: e was given. trace_cut_next: the end, at time ns, of what began last; of a
// request it is not known. False: nothing is open any more.
void trace_cut_note(struct trace_cut *c, const struct trace_event *e);
bool trace_cut_next(struct trace_cut *c, int64_t ns, struct trace_event *e);
