// SPDX-License-Identifier: BSD-3-Clause
// loops.c: finds the loops of a program, as a compiler does, many times: the benchmark of the Go
// blog's "Profiling Go Programs", as a service.
//
//     GET /loops?n=50     -> {"analyses":50,"blocks":...,"loops":...,"irreducible":...,"depth":...}
//
// n: 1 to ANALYSES_MAX, 10 by default: how often the same graph is analyzed. A timer starts each
// analysis a millisecond after the one before, so that one of them is the longest time for which
// packets of other connections wait.
//
// The application `loops` analyzes with havlak_slow(), which spends its time in malloc() and in
// looking for blocks in a map; `loops_fast` with havlak_fast(). Both find the same loops.
#include <assert.h>
#include <c10m/socket.h>
#include <stdio.h>
#include <stdlib.h>

#include "ask.h"
#include "examples.h"
#include "havlak.h"

enum { ANALYSES_MAX = 1000, TREES = 4, STEP_MS = 1, JSON_BYTES = 160 };

// One service: the graph is read by all workers, memory w is used by worker w.
struct loops {
    struct flow_graph graph;
    struct havlak_work **work;
    unsigned workers;
};

struct client {
    struct ask_conn ask;
    uint16_t asked, left;  // analyses; left: 0 while no request is being handled
    bool keep, fast;
    struct loops_found found;
};

static_assert(sizeof(struct client) <= C10M_STATE_BYTES, "it lies in the connection's block");

static void loops_free(struct loops *l)
{
    for (unsigned w = 0; l != NULL && l->work != NULL && w < l->workers; w++)
        free(l->work[w]);
    if (l != NULL)
        free(l->work);
    free(l);
}

static bool loops_alloc(struct loops *l, unsigned workers)
{
    l->workers = workers;
    l->work = calloc(workers, sizeof(l->work[0]));
    bool all = l->work != NULL;
    for (unsigned w = 0; all && w < workers; w++)
        all = (l->work[w] = malloc(havlak_work_bytes())) != NULL;
    return all && flow_graph_program(&l->graph, TREES);
}

static int loops_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct loops *l = calloc(1, sizeof(*l));
    if (l != NULL && loops_alloc(l, c10m_workers(s))) {
        c10m_service_set_data(s, l);
        return 0;
    }
    loops_free(l);
    snprintf(err, err_bytes, "no memory for the graph");
    return -1;
}

static void loops_fini(struct c10m_service *s)
{
    loops_free(c10m_service_data(s));
}

static enum ask_handled handle(struct c10m_conn *c, const struct ask *ask, bool fast)
{
    struct client *me = c10m_state(c);
    unsigned n = 10;
    if (!ask_room(c, JSON_BYTES))
        return ASK_WAIT;
    if (!ask_is(ask, "/loops")) {
        ask_refuse(c, "404 Not Found", "try /loops?n=10");
        return ASK_DONE;
    }
    if (!ask_number(ask, "n", 1, ANALYSES_MAX, &n)) {
        ask_refuse(c, "400 Bad Request", "n: expected a number from 1 to 1000");
        return ASK_DONE;
    }
    me->asked = me->left = (uint16_t)n;
    me->keep = ask->keep;
    me->fast = fast;
    c10m_set_timer(c, STEP_MS);
    return ASK_BUSY;
}

static enum ask_handled handle_slow(struct c10m_conn *c, const struct ask *ask)
{
    return handle(c, ask, false);
}

static enum ask_handled handle_fast(struct c10m_conn *c, const struct ask *ask)
{
    return handle(c, ask, true);
}

static size_t loops_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle_slow);
}

static size_t loops_fast_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle_fast);
}

// The room was there when the request came, and nothing was sent since.
static void deliver(struct c10m_conn *c)
{
    const struct client *me = c10m_state(c);
    char json[JSON_BYTES];
    const int n = snprintf(json, sizeof(json),
                           "{\"analyses\":%u,\"blocks\":%u,\"loops\":%u,\"irreducible\":%u,"
                           "\"depth\":%u}\n",
                           me->asked, me->found.blocks, me->found.loops, me->found.irreducible,
                           me->found.depth);
    ask_open(c);
    ask_answer(c, me->keep, "200 OK", "application/json", json, (size_t)n);
    ask_finish(c, me->keep);
}

static bool analyze(struct c10m_conn *c)
{
    struct client *me = c10m_state(c);
    const struct loops *l = c10m_service_data(c10m_service_of(c));
    if (!me->fast)
        return havlak_slow(&l->graph, &me->found);
    havlak_fast(&l->graph, l->work[c10m_worker(c)], &me->found);
    return true;
}

static void step(struct c10m_conn *c)
{
    struct client *me = c10m_state(c);
    if (!analyze(c))
        c10m_abort(c);
    else if (--me->left == 0)
        deliver(c);
    else
        c10m_set_timer(c, STEP_MS);
}

static void loops_timer(struct c10m_conn *c)
{
    const struct client *me = c10m_state(c);
    if (me->left != 0)
        step(c);
    else
        ask_idle(c);
}

const struct c10m_app app_loops = {
    .name = "loops",
    .init = loops_init,
    .fini = loops_fini,
    .marks_requests = true,
    .allocates = true,
    .open = ask_open,
    .data = loops_data,
    .writable = c10m_resume,
    .timer = loops_timer,
    .end = ask_end,
    .drain = ask_drain,
};

const struct c10m_app app_loops_fast = {
    .name = "loops_fast",
    .init = loops_init,
    .fini = loops_fini,
    .marks_requests = true,
    .open = ask_open,
    .data = loops_fast_data,
    .writable = c10m_resume,
    .timer = loops_timer,
    .end = ask_end,
    .drain = ask_drain,
};
