// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_reader.h"

#include <stdlib.h>

#include "trace/trace_core.h"

struct trace_reader {
    struct trace_scope scope;
    int64_t last_ns;
    int64_t end_ns;  // if the log has ended
    bool cut;
    enum trace_tells why;  // it was cut off
    unsigned told;         // enum trace_tells
    struct trace_core cores[];
};

struct trace_reader *trace_reader_new(const struct trace_log *l, int64_t from_ns)
{
    struct trace_reader *r = calloc(1, sizeof(*r) + l->about.n_cores * sizeof(r->cores[0]));
    if (r == NULL)
        return NULL;
    r->scope.log = l;
    r->scope.from_ns = from_ns;
    r->end_ns = l->ended ? trace_scope_ns(&r->scope, l->end_tsc) : INT64_MAX;
    for (unsigned i = 0; i < l->about.n_cores; i++)
        trace_core_init(&r->cores[i], &r->scope, i);
    return r;
}

void trace_reader_free(struct trace_reader *r)
{
    free(r);
}

static void cut(struct trace_reader *r, enum trace_tells why)
{
    if (r->cut)
        return;
    r->cut = true;
    r->why = why;
}

// next_of_all: the first of the events that the cores have next. If the log has ended, the events
// end with it.
static bool next_of_all(struct trace_reader *r, struct trace_event *e)
{
    struct trace_core *first = NULL;
    for (unsigned i = 0; i < r->scope.log->about.n_cores; i++) {
        struct trace_core *c = &r->cores[i];
        if (trace_core_refill(c) &&
            (first == NULL || c->ready[c->next_ready].ns < first->ready[first->next_ready].ns))
            first = c;
    }
    if (r->scope.log->ended && (first == NULL || first->ready[first->next_ready].ns > r->end_ns)) {
        r->last_ns = MAX(r->last_ns, r->end_ns);
        cut(r, TRACE_LOG_FULL);
    }
    if (r->cut || first == NULL)
        return false;
    *e = first->ready[first->next_ready++];
    e->core = (uint8_t)(first - r->cores);
    r->last_ns = e->ns;
    trace_cut_note(&first->cut, e);
    return true;
}

// end_open: ends what is open where the events are cut off.
static bool end_open(struct trace_reader *r, struct trace_event *e)
{
    for (unsigned i = 0; r->cut && i < r->scope.log->about.n_cores; i++)
        if (trace_cut_next(&r->cores[i].cut, r->last_ns, e))
            return true;
    return false;
}

// tell: what is to be said at the end, each once.
static bool tell(struct trace_reader *r, struct trace_event *e)
{
    const uint64_t counts[TRACE_TELLS] = {[TRACE_NOT_FOLLOWED] = r->scope.not_followed,
                                          [TRACE_LOST_IN_ALL] = trace_log_lost(r->scope.log),
                                          [TRACE_FILE_FULL] = r->why == TRACE_FILE_FULL,
                                          [TRACE_LOG_FULL] = r->why == TRACE_LOG_FULL};
    while (r->told < TRACE_TELLS) {
        const unsigned what = r->told++;
        if (counts[what] == 0)
            continue;
        *e = (struct trace_event){.kind = TRACE_LOST,
                                  .ns = r->last_ns,
                                  .end = true,
                                  .mid = (uint16_t)what,
                                  .id = (uint32_t)MIN(counts[what], (uint64_t)UINT32_MAX)};
        return true;
    }
    return false;
}

bool trace_reader_next(struct trace_reader *r, struct trace_event *e)
{
    if (!r->cut && next_of_all(r, e))
        return true;
    return end_open(r, e) || tell(r, e);
}

void trace_reader_cut(struct trace_reader *r)
{
    cut(r, TRACE_FILE_FULL);
}

unsigned trace_reader_ends(const struct trace_reader *r)
{
    return r->scope.log->about.n_cores * TRACE_CUT_EVENTS_MAX + TRACE_TELLS;
}
