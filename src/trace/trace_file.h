// SPDX-License-Identifier: BSD-3-Clause
// trace_file.h: a log as a file, in one of three formats. Slow: seconds for the largest logs. Not
// for the control thread or a worker.
//
// | in the stack           | Go                      | Perfetto, Chrome         |
// |------------------------|-------------------------|--------------------------|
// | worker                 | processor and thread    | thread                   |
// | stage of a turn        | goroutine that runs     | slice                    |
// | request                | user task               | slice of a track "requests" |
// | pools                  | heap, its goal: all     | counters                 |
// | everything else        | user log                | instant event            |
#pragma once
#include "base/text.h"
#include "trace/trace_log.h"

enum trace_format { TRACE_FORMAT_GO, TRACE_FORMAT_PERFETTO, TRACE_FORMAT_CHROME, TRACE_FORMATS };

// trace_format_find: the format of this name ("go", "perfetto", "chrome"; NULL: go), -1: there is
// none. trace_format_names: "go, perfetto or chrome". trace_format_type: its media type.
int trace_format_find(const char *name);
const char *trace_format_names(void);
const char *trace_format_type(enum trace_format f);

// trace_file_write: appends the events of l from from_ns on (see trace_reader.h) to out. Returns 0
// or -ENOMEM, -EFBIG (out's limit).
int trace_file_write(const struct trace_log *l, int64_t from_ns, enum trace_format f,
                     struct text *out);
