// SPDX-License-Identifier: BSD-3-Clause
// trace_source.h: logs of the records of all workers of a server. Control thread.
#pragma once
#include "base/err.h"
#include "prof/prof_kind.h"
#include "trace/trace_log.h"

enum { TRACE_LOGS_MAX = 3 };  // that collect at a time, that of the flight recorder included

// trace_source_busy: whether TRACE_LOGS_MAX logs collect: no other one may begin.
bool trace_source_busy(const struct prof_shown *s);

// trace_source_log: an empty log of all workers; from now on they write records. NULL with *err: no
// memory, or [control] trace_ring is 0.
struct trace_log *trace_source_log(const struct prof_shown *s, enum trace_full full,
                                   uint64_t bytes_max, struct err *err);
