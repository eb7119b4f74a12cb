// SPDX-License-Identifier: BSD-3-Clause
// flight: what the flight recorder has kept, as a trace.
#include <errno.h>
#include <stdlib.h>

#include "prof/prof_kinds.h"
#include "prof/recorder.h"
#include "trace/trace_file.h"

struct flight_read {
    struct recorder_flight *kept;
    enum trace_format format;
};

static int begin_run(const struct prof_shown *s, const struct prof_query *q, void **state,
                     struct err *err)
{
    struct recorder_flight *kept = s->recorder == NULL ? NULL : recorder_take(s->recorder);
    struct flight_read *r = malloc(sizeof(*r));
    if (kept == NULL || r == NULL) {
        recorder_drop(kept);
        free(r);
        err_set(err, "no flight is kept: ctl/trace says what is recorded");
        return -EINVAL;
    }
    *r = (struct flight_read){kept, (enum trace_format)MAX(trace_format_find(q->format), 0)};
    *state = r;
    return 0;
}

static int stop_run(void *state, struct err *err)
{
    return 0;
}

static int write_run(void *state, struct text *out, struct err *err)
{
    const struct flight_read *r = state;
    return trace_file_write(r->kept->log, r->kept->from_ns, r->format, out) == 0 ? 0 : -1;
}

static void release_run(void *state)
{
    struct flight_read *r = state;
    recorder_drop(r->kept);
    free(r);
}

static const char *type_of(const struct prof_query *q)
{
    return trace_format_type((enum trace_format)MAX(trace_format_find(q->format), 0));
}

static uint64_t kept_flights(const struct prof_shown *s)
{
    return s->recorder != NULL && recorder_state(s->recorder) == RECORDER_KEPT;
}

const struct prof_kind prof_kind_flight = {
    .name = "flight",
    .help = "the seconds before a long turn or a drop, which the flight recorder (ctl/trace) has "
            "kept, as a trace.",
    .begin = begin_run,
    .stop = stop_run,
    .write = write_run,
    .release = release_run,
    .type = type_of,
    .count = kept_flights,
};
