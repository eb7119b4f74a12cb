// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/sampler.h"
#include "prof/prof_run.h"
#include "prof/prof_state.h"

uint64_t prof_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_over(const struct prof_run *r)
{
    return r->phase == PROF_READY || r->phase == PROF_FAILED;
}

struct prof *prof_new(const struct prof_params *params, struct err *err)
{
    struct prof *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        err_set(err, "no memory for profiles");
        return NULL;
    }
    p->params = *params;
    p->results.limit_bytes = PROF_RESULTS_BYTES_MAX;
    sampler_prepare();  // now nobody waits for the control thread
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++)
        p->runs[i].prof = p;
    return p;
}

void prof_free(struct prof *p)
{
    if (p != NULL)
        p->results.closed = true;  // what still writes fails
    for (unsigned i = 0; p != NULL && i < PROF_RUNS_MAX; i++)
        if (p->runs[i].kind != NULL)
            run_free(&p->runs[i]);
    free(p);
}

const struct prof_shown *prof_shown_of(const struct prof *p)
{
    return &p->params.shown;
}

const struct prof_kind *prof_kind_at(const struct prof *p, unsigned i)
{
    return i < p->params.n_kinds ? p->params.kinds[i] : NULL;
}

const struct prof_kind *prof_kind_named(const struct prof *p, const char *name)
{
    for (unsigned i = 0; i < p->params.n_kinds; i++)
        if (strcmp(p->params.kinds[i]->name, name) == 0)
            return p->params.kinds[i];
    return NULL;
}

// ---- limits

// room_for: a free place; NULL with *err: a limit is reached.
static struct prof_run *room_for(struct prof *p, const struct prof_order *order, struct err *err)
{
    struct prof_run *place = NULL;
    unsigned n_free = 0, same = 0;
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++) {
        struct prof_run *r = &p->runs[i];
        place = r->kind == NULL ? r : place;
        n_free += r->kind == NULL;
        same += r->kind != NULL && strcmp(r->client, order->client) == 0;
    }
    if (!order->root && same >= PROF_RUNS_CLIENT_MAX) {
        p->counts.refused_client++;
        err_set(err, "this client has %u profiles running, the most of one client", same);
        return NULL;
    }
    if (n_free > (order->root ? 0 : PROF_RUNS_ROOT))
        return place;
    p->counts.refused_full++;
    err_set(err, "%u profiles are running; there may be %d, %d of them only for root",
            PROF_RUNS_MAX - n_free, PROF_RUNS_MAX, PROF_RUNS_ROOT);
    return NULL;
}

// may_start: false with *err: the client has begun too many in too short a time.
static bool may_start(struct prof *p, const struct prof_order *order, uint64_t now_ms,
                      struct err *err)
{
    const uint32_t ms = prof_starts_take(&p->starts, order->client, now_ms);
    if (ms == 0)
        return true;
    p->counts.refused_often++;
    err_set(err, "this client may begin %d profiles at once and then one in %d ms: again in %u ms",
            PROF_STARTS_BURST, PROF_STARTS_MS, ms);
    return false;
}

// ---- runs

int prof_start(struct prof *p, const struct prof_order *order, uint64_t now_ms,
               struct prof_run **run, struct err *err)
{
    struct prof_run *r = room_for(p, order, err);
    if (r == NULL)
        return -EBUSY;
    if (!may_start(p, order, now_ms, err))
        return -EAGAIN;
    const int rc = run_begin(r, &p->params.shown, order, now_ms, err);
    p->counts.started += rc == 0;
    p->counts.refused_kind += rc != 0;
    if (rc != 0)
        return rc;
    *run = r;
    if (p->params.started != NULL)
        p->params.started(p->params.arg);
    return 0;
}

void prof_stop(struct prof_run *run)
{
    run->due_ms = 0;
}

// end: frees a run that is over and counts how it ended.
static void end(struct prof *p, struct prof_run *r)
{
    p->counts.ready += r->phase == PROF_READY && !r->left;
    p->counts.failed += r->phase == PROF_FAILED && !r->left;
    p->counts.left += r->left;
    run_free(r);
}

void prof_end(struct prof_run *run)
{
    struct prof *p = run->prof;
    run_look(run);
    run->left = !is_over(run);
    if (run->phase != PROF_WRITES)
        end(p, run);
    else if (p->params.started != NULL)
        p->params.started(p->params.arg);
}

enum prof_phase prof_phase(struct prof_run *run)
{
    run_look(run);
    return run->phase;
}

const struct text *prof_result(const struct prof_run *run)
{
    return &run->out;
}

const char *prof_error(const struct prof_run *run)
{
    return run->err.text;
}

const char *prof_type(const struct prof_run *run)
{
    return run->kind->type(&run->query);
}

// wanted_ms: when the run wants to be looked at again; 0: not by itself.
static uint32_t wanted_ms(const struct prof_run *r)
{
    return is_over(r) ? 0 : r->phase == PROF_STOPS ? PROF_SLICE_MS : PROF_TICK_MS;
}

uint32_t prof_turn(struct prof *p, uint64_t now_ms)
{
    uint32_t soonest = 0;
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++) {
        struct prof_run *r = &p->runs[i];
        if (r->kind == NULL)
            continue;
        run_step(r, &p->params.shown, now_ms);
        const uint32_t ms = wanted_ms(r);
        soonest = soonest == 0 || (ms != 0 && ms < soonest) ? ms : soonest;
        if (r->left && is_over(r))
            end(p, r);
    }
    return soonest;
}
