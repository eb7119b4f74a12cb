// SPDX-License-Identifier: BSD-3-Clause
// trace_turns.h: the events of a core, in order of time: those of a gathered turn, with its stages
// and requests, and those that belong to none. For trace_core.c.
#pragma once
#include "trace/trace_core.h"

// trace_turns_add: an event of a record that belongs to no turn, at ns or, if that is over, at the
// time of the event before.
void trace_turns_add(struct trace_core *c, int64_t ns, const struct trace_record *from);

// trace_turns_end: the gathered turn ends with this record, TRACE_stage: it, its stages and what is
// pending become events.
void trace_turns_end(struct trace_core *c, const struct trace_record *end);

// trace_turns_idle: pending records that no turn with work has claimed: levels and losses of an
// idle core. trace_turns_timed: those of a turn that is not shown: what has a time of its own needs
// no turn, the rest is dropped.
void trace_turns_idle(struct trace_core *c);
void trace_turns_timed(struct trace_core *c);

// trace_turns_forget: the open requests end, nobody knows how: their answers may be among records
// that are missing.
void trace_turns_forget(struct trace_core *c);
