// SPDX-License-Identifier: BSD-3-Clause
// trace: what all workers do for some seconds, as Go's execution trace.
#include <errno.h>
#include <stdlib.h>

#include "prof/prof_kinds.h"
#include "prof/trace_source.h"
#include "trace/trace_file.h"

enum { LOG_BYTES_MAX = 64 * 1024 * 1024, SECONDS_DEFAULT = 1 };

struct trace_run {
    struct trace_log *log;
    enum trace_format format;
};

static int begin_run(const struct prof_shown *s, const struct prof_query *q, void **state,
                     struct err *err)
{
    const int format = trace_format_find(q->format);
    if (format < 0) {
        err_set(err, "format: expected %s, got \"%s\"", trace_format_names(), q->format);
        return -EINVAL;
    }
    if (trace_source_busy(s)) {
        err_set(err, "%d traces are being taken: try again later", TRACE_LOGS_MAX);
        return -EBUSY;
    }
    struct trace_run *r = malloc(sizeof(*r));
    if (r == NULL)
        return err_set(err, "no memory for a trace");
    r->format = (enum trace_format)format;
    r->log = trace_source_log(s, TRACE_KEEP_FIRST, LOG_BYTES_MAX, err);
    if (r->log == NULL) {
        free(r);
        return -1;
    }
    *state = r;
    return 0;
}

static void tick_run(void *state)
{
    struct trace_run *r = state;
    trace_log_collect(r->log);
}

static int stop_run(void *state, struct err *err)
{
    struct trace_run *r = state;
    trace_log_stop(r->log);
    return 0;
}

static int write_run(void *state, struct text *out, struct err *err)
{
    const struct trace_run *r = state;
    return trace_file_write(r->log, 0, r->format, out) == 0 ? 0 : -1;
}

static void release_run(void *state)
{
    struct trace_run *r = state;
    trace_log_free(r->log);
    free(r);
}

static const char *type_of(const struct prof_query *q)
{
    return trace_format_type((enum trace_format)MAX(trace_format_find(q->format), 0));
}

const struct prof_kind prof_kind_trace = {
    .name = "trace",
    .help = "what the workers do for seconds=N: turns, stages, requests, connections, losses, "
            "levels of pools. For go tool trace; format=perfetto and format=chrome for "
            "ui.perfetto.dev.",
    .timed = true,
    .seconds_default = SECONDS_DEFAULT,
    .begin = begin_run,
    .tick = tick_run,
    .stop = stop_run,
    .write = write_run,
    .release = release_run,
    .type = type_of,
};
