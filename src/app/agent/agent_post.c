// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

// Whether the worker answers at once. Watches and lingering closes wait for an event;
// CMD_DATAGRAM_BACK has no answer.
static bool is_answered_at_once(const struct agent_msg *m)
{
    return m->command != CMD_WATCH && m->command != CMD_DATAGRAM_BACK &&
           !(m->command == CMD_CLOSE && m->close.linger);
}

void post(struct agent *a, unsigned worker, struct agent_msg *m, enum agent_command command,
          agent_done_fn *done, void *owner)
{
    m->command = (uint8_t)command;
    m->worker = (uint8_t)worker;
    m->done = done;
    m->owner = owner;
    m->out = true;
    a->n_lent += is_answered_at_once(m);
    if (a->unsent_first[worker] == NULL && c10m_post(a->s, worker, m))
        return;
    m->next = NULL;
    if (a->unsent_first[worker] == NULL)
        a->unsent_first[worker] = m;
    else
        a->unsent_last[worker]->next = m;
    a->unsent_last[worker] = m;
}

void flush_posts(struct agent *a)
{
    for (unsigned w = 0; w < a->n_workers; w++) {
        while (a->unsent_first[w] != NULL) {
            struct agent_msg *m = a->unsent_first[w], *next = m->next;
            if (!c10m_post(a->s, w, m))
                break;
            a->unsent_first[w] = next;
        }
        if (__atomic_load_n(&a->workers[w]->refused, __ATOMIC_RELAXED))
            c10m_post(a->s, w, &a->flush);
    }
}

static void handle_message(struct agent *a, struct agent_msg *m)
{
    if (m->command == CMD_ARRIVED) {
        listener_arrived(a, m);
    } else if (m->command == CMD_DATAGRAM) {
        udp_arrived(a, m);
    } else {
        m->out = false;
        a->n_lent -= is_answered_at_once(m);
        m->done(a, m);
    }
}

// The worker whose first message is processed next: answers first, then connections and datagrams
// in the order of their times.
static struct inbox *next_inbox(struct agent *a)
{
    struct inbox *first = NULL;
    uint64_t first_us = UINT64_MAX;
    for (struct inbox *t = a->inboxes; t < a->inboxes + a->n_workers; t++) {
        if (t->next == t->n)
            continue;
        const struct agent_msg *m = t->msgs[t->next];
        const bool began = m->command == CMD_ARRIVED || m->command == CMD_DATAGRAM;
        if (!began)
            return t;
        if (first == NULL || m->begun_us < first_us) {
            first = t;
            first_us = m->begun_us;
        }
    }
    return first;
}

bool receive_messages(struct agent *a)
{
    bool any = false;
    for (unsigned w = 0; w < a->n_workers; w++) {
        struct inbox *t = &a->inboxes[w];
        t->next = 0;
        t->n = c10m_take(a->s, w, t->msgs, AGENT_RECEIVE_MAX);
        any |= t->n != 0;
    }
    for (struct inbox *t; (t = next_inbox(a)) != NULL;)
        handle_message(a, t->msgs[t->next++]);
    return any;
}

void call_post(struct agent *a, struct call *c, enum agent_command command, agent_done_fn *done)
{
    const struct socket *k = c->socket;
    c->lent++;
    c->msg.conn = k->conn;
    post(a, k->worker, &c->msg, command, done, c);
}

static void fence_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    if (--c->lent == 0)
        c->step(a, c);
}

void call_fence(struct agent *a, struct call *c, void (*step)(struct agent *a, struct call *c))
{
    c->fenced = true;
    c->step = step;
    c->lent += a->n_workers;
    for (unsigned w = 0; w < a->n_workers; w++)
        post(a, w, &c->fences[w], CMD_FENCE, fence_done, c);
}

void fanout_free(struct fanout *f)
{
    if (f == NULL)
        return;
    free(f->msgs);
    free(f->ids);
    free(f);
}

struct fanout *fanout_new(const struct agent *a, void *owner)
{
    struct fanout *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    f->owner = owner;
    f->msgs = calloc(a->n_workers, sizeof(*f->msgs));
    f->ids = malloc(a->n_workers * sizeof(*f->ids));
    if (f->msgs == NULL || f->ids == NULL) {
        fanout_free(f);
        return NULL;
    }
    memset(f->ids, 0xff, a->n_workers * sizeof(*f->ids));
    return f;
}

static void fanout_done(struct agent *a, struct agent_msg *m)
{
    struct fanout *f = m->owner;
    if (m->ret < 0 && f->error == 0)
        f->error = (int)-m->ret;
    if (m->command == CMD_LISTEN || m->command == CMD_UDP_OPEN || m->command == CMD_JOIN)
        f->ids[m->worker] = m->ret < 0 ? -1 : (int)m->ret;
    if (--f->left == 0)
        f->then(a, f);
}

void fanout_post(struct agent *a, struct fanout *f, enum agent_command command,
                 void (*fill)(const struct fanout *f, unsigned worker, struct agent_msg *m),
                 void (*then)(struct agent *a, struct fanout *f))
{
    f->left = a->n_workers;
    f->error = 0;
    f->then = then;
    for (unsigned w = 0; w < a->n_workers; w++) {
        fill(f, w, &f->msgs[w]);
        post(a, w, &f->msgs[w], command, fanout_done, f);
    }
}
