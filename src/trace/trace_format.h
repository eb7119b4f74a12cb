// SPDX-License-Identifier: BSD-3-Clause
// trace_format.h: the formats, for trace_file.c. Each appends the reader's events to out and
// returns 0 or out->error. A file that reaches the limit of out ends early and says so.
#pragma once
#include "base/text.h"
#include "trace/trace_reader.h"

// trace_next: the reader's next event. event_bytes: that an event may take; rest: what follows the
// last one. If out has no room for one more, the events are cut off.
bool trace_next(struct trace_reader *r, const struct text *out, size_t event_bytes, size_t rest,
                struct trace_event *e);

int go_trace_write(struct trace_reader *r, const struct trace_about *a, struct text *out);
int perfetto_write(struct trace_reader *r, const struct trace_about *a, struct text *out);
int chrome_write(struct trace_reader *r, const struct trace_about *a, struct text *out);
