// SPDX-License-Identifier: BSD-3-Clause
// Listeners on the worker. Each listener of the thread exists on every worker.
#include <errno.h>

#include "app/agent/agent_worker.h"

// The slot of an id, after i collisions (open addressing).
static struct agent_listener *place(struct agent_worker *g, int id, unsigned i)
{
    return &g->listeners[((unsigned)id + i) % AGENT_LISTENERS_MAX];
}

struct agent_listener *listener_of(struct agent_worker *g, int id)
{
    for (unsigned i = 0; id >= 0 && i < AGENT_LISTENERS_MAX; i++)
        if (place(g, id, i)->used && place(g, id, i)->id == id)
            return place(g, id, i);
    return NULL;
}

static struct agent_listener *free_listener(struct agent_worker *g, int id)
{
    for (unsigned i = 0; i < AGENT_LISTENERS_MAX; i++)
        if (!place(g, id, i)->used)
            return place(g, id, i);
    return NULL;
}

void cmd_listen(struct agent_worker *g, struct agent_msg *m)
{
    m->ret = c10m_listen(g->w, g->s, &m->listen.at);
    if (m->ret >= 0)  // a slot is free: there are as many slots as c10m_listen() has listeners
        *free_listener(g, (int)m->ret) = (struct agent_listener){.used = true,
                                                                 .id = (int)m->ret,
                                                                 .socket = m->listen.socket,
                                                                 .options = m->listen.options};
    answer(g, m);
}

void cmd_relisten(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_listener *l = listener_of(g, m->listen.id);
    m->ret = l == NULL ? -EINVAL : c10m_listen_set(g->w, l->id, &m->listen.at);
    if (l != NULL)
        l->options = m->listen.options;
    answer(g, m);
}

void cmd_unlisten(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_listener *l = listener_of(g, m->listen.id);
    if (l != NULL) {
        c10m_unlisten(g->w, l->id);
        l->used = false;
    }
    m->ret = 0;
    answer(g, m);
}

void cmd_accepted(struct agent_worker *g, struct agent_msg *m)
{
    agent_conn_dequeue(g, m->conn);
    agent_conn_answer(g, m, 0);
}

void listeners_end(struct agent_worker *g)
{
    for (unsigned i = 0; i < AGENT_LISTENERS_MAX; i++) {
        if (g->listeners[i].used)
            c10m_unlisten(g->w, g->listeners[i].id);
        g->listeners[i].used = false;
    }
}
