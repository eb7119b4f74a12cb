// SPDX-License-Identifier: BSD-3-Clause
// Connections on the worker: open, close, poll() bits, and the callbacks of the application.
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "app/agent/agent_worker.h"

#define IN_BITS  (POLLIN | POLLRDNORM)
#define OUT_BITS (POLLOUT | POLLWRNORM)

// The application state in the connection's block.
struct state {
    struct agent_conn *conn;  // NULL: the thread has closed the connection
};

struct agent_conn *agent_conn_new(struct agent_worker *g)
{
    struct agent_conn *ac = g->free_conns;
    if (ac == NULL) {
        count(g, COUNT_ends_full);
        return NULL;
    }
    g->free_conns = ac->next;
    *ac = (struct agent_conn){.used = true, .listener = -1, .options = g->defaults};
    return ac;
}

void agent_conn_free(struct agent_worker *g, struct agent_conn *ac)
{
    ac->used = false;
    ac->next = g->free_conns;
    g->free_conns = ac;
}

void agent_conn_dequeue(struct agent_worker *g, struct agent_conn *ac)
{
    if (ac->listener >= 0)
        c10m_accepted(g->w, ac->listener);
    ac->listener = -1;
}

static struct agent_conn *agent_conn_of(struct c10m_conn *c)
{
    return ((const struct state *)c10m_state(c))->conn;
}

static void bind_conn(struct agent_conn *ac, struct c10m_conn *c)
{
    ((struct state *)c10m_state(c))->conn = ac;
    ac->handle = c10m_handle(c);
    c10m_local(c, &ac->local);
    c10m_peer(c, ac->peer.addr, &ac->peer.port);
}

// Removes the agent_conn from c: later callbacks of c do nothing.
static void unbind_conn(struct agent_conn *ac, struct c10m_conn *c)
{
    ((struct state *)c10m_state(c))->conn = NULL;
    ac->handle = 0;
}

struct c10m_conn *agent_conn_stack(struct agent_worker *g, struct agent_conn *ac)
{
    return ac->handle == 0 ? NULL : c10m_at(g->w, ac->handle);
}

// Linux's sk_stream_is_writeable(): at least a third of the send buffer is free, and less than half
// of TCP_NOTSENT_LOWAT bytes are not sent yet.
static bool has_room(const struct agent_conn *ac, const struct c10m_conn *c)
{
    const uint64_t queued = c10m_send_queued(c);
    if (queued >= ac->options.snd_limit || ac->options.snd_limit - queued < queued / 2 ||
        c10m_send_room(c) == 0)
        return false;
    if (ac->options.notsent_lowat == 0)
        return true;
    struct c10m_info info;
    c10m_get_info(c, &info);
    return (uint64_t)info.notsent_bytes * 2 < ac->options.notsent_lowat;
}

static uint32_t mask_of_open(const struct agent_conn *ac, struct c10m_conn *c)
{
    uint32_t mask = 0;
    const bool in_over = ac->shut_in || c10m_peer_closed(c);
    if (in_over && ac->shut_out)
        mask |= POLLHUP;
    if (in_over)
        mask |= IN_BITS | POLLRDHUP;
    else if (c10m_receive_queued(c) >= ac->options.lowat)
        mask |= IN_BITS;
    if (ac->shut_out || has_room(ac, c))
        mask |= OUT_BITS;
    else
        c10m_want_writable(c);
    return mask;
}

// Linux's tcp_poll(). A connection that has failed or ended counts as shut down in both directions.
uint32_t agent_conn_mask(struct agent_worker *g, struct agent_conn *ac)
{
    const uint32_t error = ac->error != 0 ? POLLERR : 0;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    if (c == NULL || ac->over)
        return error | POLLHUP | IN_BITS | POLLRDHUP | OUT_BITS;
    return error | (ac->up ? mask_of_open(ac, c) : 0);
}

void agent_conn_answer(struct agent_worker *g, struct agent_msg *m, int64_t ret)
{
    const struct agent_conn *ac = m->conn;
    m->ret = ret;
    m->mask = agent_conn_mask(g, m->conn);
    m->state = ac->over || ac->handle == 0 ? CONN_OVER : ac->up ? CONN_UP : CONN_OPENING;
    answer(g, m);
}

static void answer_watch(struct agent_worker *g, struct agent_conn *ac)
{
    struct agent_msg *m = ac->watch;
    ac->watch = NULL;
    m->edges = ac->edges;
    ac->edges = 0;
    agent_conn_answer(g, m, 0);
}

void agent_conn_event(struct agent_worker *g, struct agent_conn *ac, uint32_t edges)
{
    ac->edges |= edges;
    if (ac->watch != NULL)
        answer_watch(g, ac);
}

void cmd_watch(struct agent_worker *g, struct agent_msg *m)
{
    m->conn->watch = m;
    if (m->conn->edges != 0)
        answer_watch(g, m->conn);
}

void cmd_open(struct agent_worker *g, struct agent_msg *m)
{
    struct c10m_conn *c;
    struct agent_conn *ac = m->conn = agent_conn_new(g);
    m->ret = ac == NULL ? -ENOBUFS : c10m_open(g->w, g->s, &m->open.to, &c);
    if (m->ret != 0) {
        if (ac != NULL)
            agent_conn_free(g, ac);
        m->conn = NULL;
        answer(g, m);
        return;
    }
    ac->socket = m->open.socket;
    bind_conn(ac, c);
    agent_conn_apply(ac, c, &m->open.options);
    agent_conn_answer(g, m, 0);
}

static void established(struct agent_conn *ac, const struct c10m_conn *c)
{
    ac->up = true;
    struct c10m_info info;
    c10m_get_info(c, &info);
    ac->packet_first = info.pmtu;
    ac->taken_first = c10m_send_taken(c);
    ac->sent_us = ac->received_us = ac->acked_us = c10m_now_us(c);
}

static void arrive(struct agent_worker *g, struct c10m_conn *c)
{
    const int id = c10m_listener(c);
    const struct agent_listener *l = listener_of(g, id);
    struct agent_conn *ac = l == NULL ? NULL : agent_conn_new(g);
    if (ac == NULL) {
        c10m_accepted(g->w, id);
        c10m_abort(c);
        return;
    }
    ac->listener = id;
    bind_conn(ac, c);
    established(ac, c);
    agent_conn_apply(ac, c, &l->options);
    ac->arrived = (struct agent_msg){.command = CMD_ARRIVED,
                                     .worker = (uint8_t)g->id,
                                     .conn = ac,
                                     .owner = l->socket,
                                     .begun_us = c10m_now_us(c)};
    agent_conn_answer(g, &ac->arrived, 0);
}

void agent_open(struct c10m_conn *c)
{
    struct agent_worker *g = worker_of_conn(c);
    struct agent_conn *ac = agent_conn_of(c);
    if (ac == NULL) {
        arrive(g, c);
        return;
    }
    established(ac, c);
    agent_conn_event(g, ac, EDGE_ALL);
}

// Stores the error of the connection. The first callback that sees an error does this; later ones
// change nothing.
static void note_error(struct agent_conn *ac, const struct c10m_conn *c)
{
    ac->done |= c10m_peer_closed(c);
    if (ac->over || c10m_error(c) == 0)
        return;
    ac->error = c10m_error(c);
    ac->over = true;
    ac->queued_at_end = ac->up ? (uint32_t)c10m_send_queued(c) : 0;
}

void agent_readable(struct c10m_conn *c)
{
    struct agent_conn *ac = agent_conn_of(c);
    if (ac == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    note_error(ac, c);
    ac->received_us = c10m_now_us(c);
    // A FIN or an error wakes all waiters (sk_state_change), received bytes wake readers only.
    agent_conn_event(g, ac, ac->done || ac->over ? EDGE_ALL : IN_BITS);
}

// Reports the event only if poll() would return POLLOUT; otherwise agent_conn_mask() requests
// `writable` again.
void agent_writable(struct c10m_conn *c)
{
    struct agent_conn *ac = agent_conn_of(c);
    if (ac == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    ac->acked_us = c10m_now_us(c);
    if (agent_conn_mask(g, ac) & POLLOUT)
        agent_conn_event(g, ac, OUT_BITS);
}

// Whether the connection will enter TIME-WAIT: this side sends FIN first, and nothing resets it.
static bool enters_time_wait(const struct agent_conn *ac, const struct agent_msg *m,
                             const struct c10m_conn *c)
{
    return ac->up && !ac->over && !m->close.abort && !ac->done && c10m_receive_queued(c) == 0;
}

// Answers the CMD_CLOSE that waited (SO_LINGER) and frees the agent_conn.
static void finish_lingering(struct agent_worker *g, struct agent_conn *ac)
{
    struct agent_msg *m = ac->lingering;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    const bool waits = c != NULL && enters_time_wait(ac, m, c);
    if (c != NULL) {
        unbind_conn(ac, c);
        c10m_close(c);
    }
    ac->lingering = NULL;
    agent_conn_event(g, ac, EDGE_ALL);
    m->ret = waits;
    agent_conn_free(g, ac);
    answer(g, m);
}

void agent_drained(struct c10m_conn *c)
{
    struct agent_conn *ac = agent_conn_of(c);
    if (ac == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    ac->acked_us = c10m_now_us(c);
    ac->drained |= ac->shut_out;
    if (ac->lingering != NULL)
        finish_lingering(g, ac);
    else
        agent_conn_event(g, ac, OUT_BITS);
}

void agent_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)why;
    struct agent_conn *ac = agent_conn_of(c);
    if (ac == NULL)
        return;
    struct agent_worker *g = worker_of_conn(c);
    note_error(ac, c);
    unbind_conn(ac, c);
    ac->over = true;
    if (ac->lingering != NULL)
        finish_lingering(g, ac);
    else
        agent_conn_event(g, ac, EDGE_ALL);
}

static bool lingers(const struct agent_conn *ac, const struct agent_msg *m,
                    const struct c10m_conn *c)
{
    return m->close.linger && ac->up && !ac->over && c10m_receive_queued(c) == 0;
}

// A connection in SYN-SENT is closed without a segment to the peer, as on Linux.
void cmd_close(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_conn *ac = m->conn;
    m->ret = 0;
    if (m->close.waiting != NULL) {
        if (ac->lingering == m->close.waiting)
            finish_lingering(g, ac);
        answer(g, m);
        return;
    }
    agent_conn_dequeue(g, ac);  // if it was not accepted
    struct c10m_conn *c = agent_conn_stack(g, ac);
    if (c != NULL && !m->close.abort && lingers(ac, m, c)) {
        ac->lingering = m;
        c10m_shutdown(c);
        return;
    }
    if (c != NULL) {
        m->ret = enters_time_wait(ac, m, c);
        unbind_conn(ac, c);
        if (m->close.abort || !ac->up)
            c10m_abort(c);
        else
            c10m_close(c);
    }
    agent_conn_event(g, ac, EDGE_ALL);
    agent_conn_free(g, ac);
    answer(g, m);
}
