// SPDX-License-Identifier: BSD-3-Clause
#include "app/agent/agent_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

static void pool_ends(struct agent_worker *g)
{
    g->free_ends = NULL;
    for (unsigned i = g->n_ends; i-- > 0;) {
        g->ends[i].next = g->free_ends;
        g->free_ends = &g->ends[i];
    }
}

static void pool_rest(struct agent_worker *g)
{
    uint8_t *data = g->datagram_bytes;
    for (unsigned i = 0; i < AGENT_DATAGRAMS + AGENT_LARGE; i++) {
        struct datagram *d = &g->datagrams[i];
        d->large = i >= AGENT_DATAGRAMS;
        d->data = data;
        data += d->large ? AGENT_LARGE_BYTES : AGENT_DATAGRAM_BYTES;
        datagram_back(g, d);
    }
}

struct agent_worker *agent_worker_new(struct c10m_service *s, unsigned id, unsigned n_ends,
                                      const struct agent_options *defaults,
                                      const int counters[WORKER_COUNTS_N])
{
    struct agent_worker *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->s = s;
    g->id = id;
    g->n_ends = n_ends;
    g->defaults = *defaults;
    memcpy(g->counters, counters, sizeof(g->counters));
    g->ends = calloc(n_ends, sizeof(*g->ends));
    g->datagrams = calloc(AGENT_DATAGRAMS + AGENT_LARGE, sizeof(*g->datagrams));
    g->datagram_bytes =
        calloc(1, AGENT_DATAGRAMS * AGENT_DATAGRAM_BYTES + AGENT_LARGE * AGENT_LARGE_BYTES);
    if (g->ends == NULL || g->datagrams == NULL || g->datagram_bytes == NULL) {
        agent_worker_free(g);
        return NULL;
    }
    pool_ends(g);
    pool_rest(g);
    return g;
}

void agent_worker_free(struct agent_worker *g)
{
    if (g == NULL)
        return;
    free(g->ends);
    free(g->datagrams);
    free(g->datagram_bytes);
    free(g);
}

struct agent_worker *worker_of(struct c10m_core *w, struct c10m_service *s)
{
    struct agent_worker *g = agent_of(s)->workers[c10m_core_id(w)];
    g->w = w;
    return g;
}

struct agent_worker *worker_of_conn(struct c10m_conn *c)
{
    return worker_of(c10m_core_of(c), c10m_service_of(c));
}

void count(struct agent_worker *g, enum agent_worker_count which)
{
    c10m_core_count(g->w, g->s, g->counters[which], 1);
}

static void flush_answers(struct agent_worker *g)
{
    while (g->first != NULL) {
        struct agent_msg *m = g->first, *next = m->next;
        if (!c10m_answer(g->w, g->s, m))
            return;
        g->first = next;
    }
    __atomic_store_n(&g->refused, 0, __ATOMIC_RELAXED);
}

void answer(struct agent_worker *g, struct agent_msg *m)
{
    flush_answers(g);
    if (g->first == NULL && c10m_answer(g->w, g->s, m))
        return;
    m->next = NULL;
    if (g->first == NULL)
        g->first = m;
    else
        g->last->next = m;
    g->last = m;
    __atomic_store_n(&g->refused, 1, __ATOMIC_RELAXED);
}

static void verb_fence(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = 0;
    answer(g, m);
}

// Accepted connections that the thread has not heard of yet end with the others: it hears of them
// before the answer, and forgets them.
static void forget_ends(struct agent_worker *g)
{
    for (unsigned i = 0; i < g->n_ends; i++) {
        struct end *e = &g->ends[i];
        if (!e->used)
            continue;
        end_event(g, e, EDGE_ALL);
        if (e->lingering != NULL)
            end_answer(g, e->lingering, 0);
        e->used = false;
    }
    pool_ends(g);
}

void verb_forget(struct agent_worker *g, struct agent_msg *m)
{
    listeners_end(g);
    udp_end(g);
    bool over = false;
    if (c10m_abort_all(g->w, g->s))
        for (int i = 0; !over && i < FORGET_ROUNDS; i++)
            over = c10m_forget(g->w);
    if (over)
        forget_ends(g);
    m->ret = over ? 0 : -EAGAIN;
    answer(g, m);
}

// agent_message sends what was refused behind every message.
static void verb_nudge(struct agent_worker *g, struct agent_msg *m)
{
    (void)g;
    (void)m;
}

typedef void verb_fn(struct agent_worker *g, struct agent_msg *m);

static verb_fn *const verbs[VERB_COUNT] = {
    [VERB_NUDGE] = verb_nudge,       [VERB_FENCE] = verb_fence,
    [VERB_OPEN] = verb_open,         [VERB_LISTEN] = verb_listen,
    [VERB_RELISTEN] = verb_relisten, [VERB_UNLISTEN] = verb_unlisten,
    [VERB_ACCEPTED] = verb_accepted, [VERB_READ] = verb_read,
    [VERB_WRITE] = verb_write,       [VERB_SHUTDOWN] = verb_shutdown,
    [VERB_CLOSE] = verb_close,       [VERB_WATCH] = verb_watch,
    [VERB_ERROR] = verb_error,       [VERB_OPTIONS] = verb_options,
    [VERB_INFO] = verb_info,         [VERB_QUEUED] = verb_queued,
    [VERB_UDP_OPEN] = verb_udp_open, [VERB_UDP_CLOSE] = verb_udp_close,
    [VERB_UDP_SEND] = verb_udp_send, [VERB_UDP_PEER] = verb_udp_peer,
    [VERB_UDP_MTU] = verb_udp_mtu,   [VERB_DATAGRAM_BACK] = verb_datagram_back,
    [VERB_FORGET] = verb_forget,     [VERB_JOIN] = verb_join,
    [VERB_LEAVE] = verb_leave,
};

void agent_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    struct agent_msg *m = msg;
    struct agent_worker *g = worker_of(w, s);
    verbs[m->verb](g, m);
    flush_answers(g);
}
