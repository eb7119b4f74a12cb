// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

// Watches and lingering closes stay at the worker for as long as it takes.
static bool comes_back_soon(const struct agent_msg *m)
{
    return m->verb != VERB_WATCH && m->verb != VERB_DATAGRAM_BACK &&
           !(m->verb == VERB_CLOSE && m->close.linger);
}

void post(struct agent *a, unsigned worker, struct agent_msg *m, enum agent_verb verb,
          agent_done_fn *done, void *owner)
{
    m->verb = (uint8_t)verb;
    m->worker = (uint8_t)worker;
    m->done = done;
    m->owner = owner;
    m->out = true;
    a->n_lent += comes_back_soon(m);
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
            c10m_post(a->s, w, &a->nudge);
    }
}

static void one_answer(struct agent *a, struct agent_msg *m)
{
    if (m->verb == VERB_ARRIVED) {
        listener_arrived(a, m);
    } else if (m->verb == VERB_DATAGRAM) {
        udp_arrived(a, m);
    } else {
        m->out = false;
        a->n_lent -= comes_back_soon(m);
        m->done(a, m);
    }
}

// What began at the workers comes in the order in which it did, all else before it.
static struct taken *first_of(struct agent *a)
{
    struct taken *first = NULL;
    uint64_t first_us = UINT64_MAX;
    for (struct taken *t = a->taken; t < a->taken + a->n_workers; t++) {
        if (t->next == t->n)
            continue;
        const struct agent_msg *m = t->msgs[t->next];
        const bool began = m->verb == VERB_ARRIVED || m->verb == VERB_DATAGRAM;
        if (!began)
            return t;
        if (first == NULL || m->begun_us < first_us) {
            first = t;
            first_us = m->begun_us;
        }
    }
    return first;
}

bool take_answers(struct agent *a)
{
    bool any = false;
    for (unsigned w = 0; w < a->n_workers; w++) {
        struct taken *t = &a->taken[w];
        t->next = 0;
        t->n = c10m_take(a->s, w, t->msgs, AGENT_TAKE_MAX);
        any |= t->n != 0;
    }
    for (struct taken *t; (t = first_of(a)) != NULL;)
        one_answer(a, t->msgs[t->next++]);
    return any;
}

void call_post(struct agent *a, struct call *c, enum agent_verb verb, agent_done_fn *done)
{
    const struct socket *k = c->socket;
    c->lent++;
    c->msg.end = k->end;
    post(a, k->worker, &c->msg, verb, done, c);
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
        post(a, w, &c->fences[w], VERB_FENCE, fence_done, c);
}

void each_free(struct each *e)
{
    if (e == NULL)
        return;
    free(e->msgs);
    free(e->ids);
    free(e);
}

struct each *each_new(const struct agent *a, void *owner)
{
    struct each *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return NULL;
    e->owner = owner;
    e->msgs = calloc(a->n_workers, sizeof(*e->msgs));
    e->ids = malloc(a->n_workers * sizeof(*e->ids));
    if (e->msgs == NULL || e->ids == NULL) {
        each_free(e);
        return NULL;
    }
    memset(e->ids, 0xff, a->n_workers * sizeof(*e->ids));
    return e;
}

static void each_done(struct agent *a, struct agent_msg *m)
{
    struct each *e = m->owner;
    if (m->ret < 0 && e->error == 0)
        e->error = (int)-m->ret;
    if (m->verb == VERB_LISTEN || m->verb == VERB_UDP_OPEN || m->verb == VERB_JOIN)
        e->ids[m->worker] = m->ret < 0 ? -1 : (int)m->ret;
    if (--e->left == 0)
        e->then(a, e);
}

void each_post(struct agent *a, struct each *e, enum agent_verb verb,
               void (*fill)(const struct each *e, unsigned worker, struct agent_msg *m),
               void (*then)(struct agent *a, struct each *e))
{
    e->left = a->n_workers;
    e->error = 0;
    e->then = then;
    for (unsigned w = 0; w < a->n_workers; w++) {
        fill(e, w, &e->msgs[w]);
        post(a, w, &e->msgs[w], verb, each_done, e);
    }
}
