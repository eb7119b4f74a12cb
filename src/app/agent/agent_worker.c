// SPDX-License-Identifier: BSD-3-Clause
#include "app/agent/agent_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

static void init_conn_pool(struct agent_worker *g)
{
    g->free_conns = NULL;
    for (unsigned i = g->n_conns; i-- > 0;) {
        g->conns[i].next = g->free_conns;
        g->free_conns = &g->conns[i];
    }
}

static void init_datagram_pool(struct agent_worker *g)
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

struct agent_worker *agent_worker_new(struct c10m_service *s, unsigned id, unsigned n_conns,
                                      const struct agent_options *defaults,
                                      const int counters[WORKER_COUNTS_N])
{
    struct agent_worker *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->s = s;
    g->id = id;
    g->n_conns = n_conns;
    g->defaults = *defaults;
    memcpy(g->counters, counters, sizeof(g->counters));
    g->conns = calloc(n_conns, sizeof(*g->conns));
    g->datagrams = calloc(AGENT_DATAGRAMS + AGENT_LARGE, sizeof(*g->datagrams));
    g->datagram_bytes =
        calloc(1, AGENT_DATAGRAMS * AGENT_DATAGRAM_BYTES + AGENT_LARGE * AGENT_LARGE_BYTES);
    if (g->conns == NULL || g->datagrams == NULL || g->datagram_bytes == NULL) {
        agent_worker_free(g);
        return NULL;
    }
    init_conn_pool(g);
    init_datagram_pool(g);
    return g;
}

void agent_worker_free(struct agent_worker *g)
{
    if (g == NULL)
        return;
    free(g->conns);
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

static void cmd_fence(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = 0;
    answer(g, m);
}

// Frees all agent_conns, also those whose CMD_ARRIVED the thread has not processed yet: it gets
// these messages before the answer to CMD_FORGET and ignores them.
static void free_all_conns(struct agent_worker *g)
{
    for (unsigned i = 0; i < g->n_conns; i++) {
        struct agent_conn *ac = &g->conns[i];
        if (!ac->used)
            continue;
        agent_conn_event(g, ac, EDGE_ALL);
        if (ac->lingering != NULL)
            agent_conn_answer(g, ac->lingering, 0);
        ac->used = false;
    }
    init_conn_pool(g);
}

void cmd_forget(struct agent_worker *g, struct agent_msg *m)
{
    listeners_end(g);
    udp_end(g);
    bool over = false;
    if (c10m_abort_all(g->w, g->s))
        for (int i = 0; !over && i < FORGET_ROUNDS; i++)
            over = c10m_forget(g->w);
    if (over)
        free_all_conns(g);
    m->ret = over ? 0 : -EAGAIN;
    answer(g, m);
}

// Does nothing: agent_message() sends refused answers again after every message.
static void cmd_flush(struct agent_worker *g, struct agent_msg *m)
{
    (void)g;
    (void)m;
}

typedef void cmd_fn(struct agent_worker *g, struct agent_msg *m);

static cmd_fn *const commands[COMMANDS_N] = {
    [CMD_FLUSH] = cmd_flush,       [CMD_FENCE] = cmd_fence,
    [CMD_OPEN] = cmd_open,         [CMD_LISTEN] = cmd_listen,
    [CMD_RELISTEN] = cmd_relisten, [CMD_UNLISTEN] = cmd_unlisten,
    [CMD_ACCEPTED] = cmd_accepted, [CMD_READ] = cmd_read,
    [CMD_WRITE] = cmd_write,       [CMD_SHUTDOWN] = cmd_shutdown,
    [CMD_CLOSE] = cmd_close,       [CMD_WATCH] = cmd_watch,
    [CMD_ERROR] = cmd_error,       [CMD_OPTIONS] = cmd_options,
    [CMD_INFO] = cmd_info,         [CMD_QUEUED] = cmd_queued,
    [CMD_UDP_OPEN] = cmd_udp_open, [CMD_UDP_CLOSE] = cmd_udp_close,
    [CMD_UDP_SEND] = cmd_udp_send, [CMD_UDP_PEER] = cmd_udp_peer,
    [CMD_UDP_MTU] = cmd_udp_mtu,   [CMD_DATAGRAM_BACK] = cmd_datagram_back,
    [CMD_FORGET] = cmd_forget,     [CMD_JOIN] = cmd_join,
    [CMD_LEAVE] = cmd_leave,
};

void agent_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    struct agent_msg *m = msg;
    struct agent_worker *g = worker_of(w, s);
    commands[m->command](g, m);
    flush_answers(g);
}
