// SPDX-License-Identifier: BSD-3-Clause
// Connections on the worker: their life, what poll says of them, and the callbacks.
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "app/agent/agent_worker.h"

#define IN_BITS  (POLLIN | POLLRDNORM)
#define OUT_BITS (POLLOUT | POLLWRNORM)

// What lies in the connection's block.
struct state {
    struct end *end;  // NULL: the thread is done with it
};

struct end *end_new(struct agent_worker *g)
{
    struct end *e = g->free_ends;
    if (e == NULL) {
        count(g, COUNT_ends_full);
        return NULL;
    }
    g->free_ends = e->next;
    *e = (struct end){.used = true, .listener = -1, .options = g->defaults};
    return e;
}

void end_free(struct agent_worker *g, struct end *e)
{
    e->used = false;
    e->next = g->free_ends;
    g->free_ends = e;
}

void end_leave_queue(struct agent_worker *g, struct end *e)
{
    if (e->listener >= 0)
        c10m_accepted(g->w, e->listener);
    e->listener = -1;
}

static struct end *end_of(struct c10m_conn *c)
{
    return ((const struct state *)c10m_state(c))->end;
}

static void bind_end(struct end *e, struct c10m_conn *c)
{
    ((struct state *)c10m_state(c))->end = e;
    e->handle = c10m_handle(c);
    c10m_local(c, &e->local);
    c10m_peer(c, e->peer.addr, &e->peer.port);
}

// unbind: no callback of c has an end any more.
static void unbind_end(struct end *e, struct c10m_conn *c)
{
    ((struct state *)c10m_state(c))->end = NULL;
    e->handle = 0;
}

struct c10m_conn *end_conn(struct agent_worker *g, struct end *e)
{
    return e->handle == 0 ? NULL : c10m_at(g->w, e->handle);
}

// Linux's sk_stream_is_writeable: a third of the buffer is free, and what was not sent yet is less
// than half of TCP_NOTSENT_LOWAT.
static bool has_room(const struct end *e, const struct c10m_conn *c)
{
    const uint64_t queued = c10m_send_queued(c);
    if (queued >= e->options.snd_limit || e->options.snd_limit - queued < queued / 2 ||
        c10m_send_room(c) == 0)
        return false;
    if (e->options.notsent_lowat == 0)
        return true;
    struct c10m_info info;
    c10m_get_info(c, &info);
    return (uint64_t)info.notsent_bytes * 2 < e->options.notsent_lowat;
}

static uint32_t mask_of_open(const struct end *e, struct c10m_conn *c)
{
    uint32_t mask = 0;
    const bool in_over = e->shut_in || c10m_peer_closed(c);
    if (in_over && e->shut_out)
        mask |= POLLHUP;
    if (in_over)
        mask |= IN_BITS | POLLRDHUP;
    else if (c10m_receive_queued(c) >= e->options.lowat)
        mask |= IN_BITS;
    if (e->shut_out || has_room(e, c))
        mask |= OUT_BITS;
    else
        c10m_want_writable(c);
    return mask;
}

// The order of Linux's tcp_poll. One that failed or ended is shut in both directions.
uint32_t end_mask(struct agent_worker *g, struct end *e)
{
    const uint32_t error = e->error != 0 ? POLLERR : 0;
    struct c10m_conn *c = end_conn(g, e);
    if (c == NULL || e->over)
        return error | POLLHUP | IN_BITS | POLLRDHUP | OUT_BITS;
    return error | (e->up ? mask_of_open(e, c) : 0);
}

void end_answer(struct agent_worker *g, struct agent_msg *m, int64_t ret)
{
    const struct end *e = m->end;
    m->ret = ret;
    m->mask = end_mask(g, m->end);
    m->state = e->over || e->handle == 0 ? END_OVER : e->up ? END_UP : END_OPENING;
    answer(g, m);
}

static void answer_watch(struct agent_worker *g, struct end *e)
{
    struct agent_msg *m = e->watch;
    e->watch = NULL;
    m->edges = e->edges;
    e->edges = 0;
    end_answer(g, m, 0);
}

void end_event(struct agent_worker *g, struct end *e, uint32_t edges)
{
    e->edges |= edges;
    if (e->watch != NULL)
        answer_watch(g, e);
}

void verb_watch(struct agent_worker *g, struct agent_msg *m)
{
    m->end->watch = m;
    if (m->end->edges != 0)
        answer_watch(g, m->end);
}

void verb_open(struct agent_worker *g, struct agent_msg *m)
{
    struct c10m_conn *c;
    struct end *e = m->end = end_new(g);
    m->ret = e == NULL ? -ENOBUFS : c10m_open(g->w, g->s, &m->open.to, &c);
    if (m->ret != 0) {
        if (e != NULL)
            end_free(g, e);
        m->end = NULL;
        answer(g, m);
        return;
    }
    e->socket = m->open.socket;
    bind_end(e, c);
    end_apply(e, c, &m->open.options);
    end_answer(g, m, 0);
}

static void established(struct end *e, const struct c10m_conn *c)
{
    e->up = true;
    struct c10m_info info;
    c10m_get_info(c, &info);
    e->packet_first = info.pmtu;
    e->taken_first = c10m_send_taken(c);
    e->sent_us = e->received_us = e->acked_us = c10m_now_us(c);
}

static void arrive(struct agent_worker *g, struct c10m_conn *c)
{
    const int id = c10m_listener(c);
    const struct agent_listener *l = listener_of(g, id);
    struct end *e = l == NULL ? NULL : end_new(g);
    if (e == NULL) {
        c10m_accepted(g->w, id);
        c10m_abort(c);
        return;
    }
    e->listener = id;
    bind_end(e, c);
    established(e, c);
    end_apply(e, c, &l->options);
    e->arrived = (struct agent_msg){.verb = VERB_ARRIVED,
                                    .worker = (uint8_t)g->id,
                                    .end = e,
                                    .owner = l->socket,
                                    .begun_us = c10m_now_us(c)};
    end_answer(g, &e->arrived, 0);
}

void agent_open(struct c10m_conn *c)
{
    struct agent_worker *g = worker_of_conn(c);
    struct end *e = end_of(c);
    if (e == NULL) {
        arrive(g, c);
        return;
    }
    established(e, c);
    end_event(g, e, EDGE_ALL);
}

// An error is noted once: from the first callback that knows of it.
static void note_end(struct end *e, const struct c10m_conn *c)
{
    e->done |= c10m_peer_closed(c);
    if (e->over || c10m_error(c) == 0)
        return;
    e->error = c10m_error(c);
    e->over = true;
    e->queued_at_end = e->up ? (uint32_t)c10m_send_queued(c) : 0;
}

void agent_readable(struct c10m_conn *c)
{
    struct end *e = end_of(c);
    if (e == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    note_end(e, c);
    e->received_us = c10m_now_us(c);
    // A FIN or an error wakes everybody (sk_state_change), bytes those who read.
    end_event(g, e, e->done || e->over ? EDGE_ALL : IN_BITS);
}

// Not before poll would say so; until then it is asked for again.
void agent_writable(struct c10m_conn *c)
{
    struct end *e = end_of(c);
    if (e == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    e->acked_us = c10m_now_us(c);
    if (end_mask(g, e) & POLLOUT)
        end_event(g, e, OUT_BITS);
}

// Whether it will stay in TIME-WAIT: this side closes first, in order.
static bool waits_after(const struct end *e, const struct agent_msg *m, const struct c10m_conn *c)
{
    return e->up && !e->over && !m->close.abort && !e->done && c10m_receive_queued(c) == 0;
}

// finish_lingering: the thread's VERB_CLOSE that waited is answered, and the end is free.
static void finish_lingering(struct agent_worker *g, struct end *e)
{
    struct agent_msg *m = e->lingering;
    struct c10m_conn *c = end_conn(g, e);
    const bool waits = c != NULL && waits_after(e, m, c);
    if (c != NULL) {
        unbind_end(e, c);
        c10m_close(c);
    }
    e->lingering = NULL;
    end_event(g, e, EDGE_ALL);
    m->ret = waits;
    end_free(g, e);
    answer(g, m);
}

void agent_drained(struct c10m_conn *c)
{
    struct end *e = end_of(c);
    if (e == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    e->acked_us = c10m_now_us(c);
    e->drained |= e->shut_out;
    if (e->lingering != NULL)
        finish_lingering(g, e);
    else
        end_event(g, e, OUT_BITS);
}

void agent_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)why;
    struct end *e = end_of(c);
    if (e == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    note_end(e, c);
    unbind_end(e, c);
    e->over = true;
    if (e->lingering != NULL)
        finish_lingering(g, e);
    else
        end_event(g, e, EDGE_ALL);
}

static bool lingers(const struct end *e, const struct agent_msg *m, const struct c10m_conn *c)
{
    return m->close.linger && e->up && !e->over && c10m_receive_queued(c) == 0;
}

// A connection that was never established goes without a word, as Linux's does.
void verb_close(struct agent_worker *g, struct agent_msg *m)
{
    struct end *e = m->end;
    m->ret = 0;
    if (m->close.waiting != NULL) {
        if (e->lingering == m->close.waiting)
            finish_lingering(g, e);
        answer(g, m);
        return;
    }
    end_leave_queue(g, e);  // nobody accepted it
    struct c10m_conn *c = end_conn(g, e);
    if (c != NULL && !m->close.abort && lingers(e, m, c)) {
        e->lingering = m;
        c10m_shutdown(c);
        return;
    }
    if (c != NULL) {
        m->ret = waits_after(e, m, c);
        unbind_end(e, c);
        if (m->close.abort || !e->up)
            c10m_abort(c);
        else
            c10m_close(c);
    }
    end_event(g, e, EDGE_ALL);
    end_free(g, e);
    answer(g, m);
}
