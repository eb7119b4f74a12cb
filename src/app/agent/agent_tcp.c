// SPDX-License-Identifier: BSD-3-Clause
// The calls on a connection, on its worker. Each is done at once: what would block says -EAGAIN,
// and the thread sends it again when the watch has told of a change.
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "app/agent/agent_worker.h"

// sock_error: the error is told once.
static int take_error(struct end *e)
{
    const int error = e->error;
    e->error = 0;
    return error;
}

// Whether bytes that may be read can be there: a connection that is being opened has none.
static bool has_queue(const struct end *e, const struct c10m_conn *c)
{
    return c != NULL && (e->up || e->over);
}

// The order of Linux's tcp_recvmsg: bytes, the peer's FIN, the error, shut down, would block.
static int64_t nothing_read(struct end *e, bool begun)
{
    const bool shut = e->shut_in || e->over;
    if (e->done)
        return 0;
    if (e->error != 0)
        return begun ? 0 : -take_error(e);
    return shut ? 0 : -EAGAIN;
}

void verb_read(struct agent_worker *g, struct agent_msg *m)
{
    struct end *e = m->end;
    struct c10m_conn *c = end_conn(g, e);
    size_t n = 0, left = 0;
    if (has_queue(e, c)) {
        n = m->io.peek ? c10m_peek(c, 0, m->io.buf, m->io.bytes)
                       : c10m_read(c, m->io.buf, m->io.bytes);
        left = c10m_receive_queued(c);
        e->bytes_read += m->io.peek ? 0 : n;
    }
    m->io.last = left == 0 && (e->done || e->shut_in || e->over || e->error != 0);
    end_answer(g, m, n != 0 || left != 0 ? (int64_t)n : nothing_read(e, m->io.begun));
}

static void say_more(struct end *e, struct c10m_conn *c, bool more)
{
    if (e->more != more)
        c10m_set_option(c, C10M_OPT_MORE, more);
    e->more = more;
}

void verb_write(struct agent_worker *g, struct agent_msg *m)
{
    struct end *e = m->end;
    struct c10m_conn *c = end_conn(g, e);
    if (e->error != 0 && !m->io.begun) {
        end_answer(g, m, -take_error(e));
        return;
    }
    if (c == NULL || e->over || e->shut_out || e->error != 0) {
        end_answer(g, m, -EPIPE);
        return;
    }
    if (!e->up) {
        end_answer(g, m, -EAGAIN);
        return;
    }
    say_more(e, c, m->io.more);
    const size_t n = m->io.bytes == 0 ? 0 : c10m_send(c, m->io.buf, m->io.bytes);
    if (n != 0)
        e->sent_us = c10m_core_now_us(g->w);
    if (m->io.record && n != 0 && n == m->io.bytes)
        c10m_end_record(c);
    end_answer(g, m, n == 0 && m->io.bytes != 0 ? -EAGAIN : (int64_t)n);
}

// -EALREADY: still opening: the thread disconnects it.
void verb_shutdown(struct agent_worker *g, struct agent_msg *m)
{
    struct end *e = m->end;
    struct c10m_conn *c = end_conn(g, e);
    if (c == NULL || e->over || !e->up) {
        end_answer(g, m, c == NULL || e->over ? -ENOTCONN : -EALREADY);
        return;
    }
    const int rc = m->shutdown.how & 1 && !e->shut_in ? c10m_shut_read(c) : 0;
    if (rc != 0) {  // nothing is shut
        end_answer(g, m, rc);
        return;
    }
    e->shut_in |= (m->shutdown.how & 1) != 0;
    if ((m->shutdown.how & 2) && !e->shut_out) {
        e->shut_out = true;
        c10m_shutdown(c);
    }
    end_event(g, e, EDGE_ALL);
    end_answer(g, m, 0);
}

// What ICMP said last of a connection that goes on is told where no error is.
void verb_error(struct agent_worker *g, struct agent_msg *m)
{
    struct end *e = m->end;
    struct c10m_conn *c = end_conn(g, e);
    int error = take_error(e);
    if (error == 0 && c != NULL && !e->over)
        error = c10m_take_soft_error(c);
    end_answer(g, m, error);
}

void verb_options(struct agent_worker *g, struct agent_msg *m)
{
    struct c10m_conn *c = end_conn(g, m->end);
    const uint32_t before = m->end->options.lowat;
    int rc = 0;
    if (c == NULL)
        m->end->options = m->options;
    else
        rc = end_apply(m->end, c, &m->options);
    if (m->end->options.lowat != before && (end_mask(g, m->end) & POLLIN))
        end_event(g, m->end, POLLIN | POLLRDNORM);  // tcp_set_rcvlowat
    end_answer(g, m, rc);
}

static uint32_t ago_ms(const struct agent_worker *g, uint64_t then_us)
{
    return (uint32_t)((c10m_core_now_us(g->w) - then_us) / 1000);
}

// Segments that became smaller say what the path takes; until then the link says it.
static uint32_t path_mtu(struct agent_worker *g, const struct end *e, uint32_t packet)
{
    const uint32_t link = c10m_udp_mtu(g->w, &e->peer);
    return e->up && packet < e->packet_first ? packet : link;
}

void verb_info(struct agent_worker *g, struct agent_msg *m)
{
    const struct end *e = m->end;
    const struct c10m_conn *c = end_conn(g, m->end);
    m->info.stack = (struct c10m_info){.state = TCP_CLOSE};
    m->info.bytes_acked = 0;
    m->info.bytes_received = e->bytes_read;
    if (c != NULL) {
        c10m_get_info(c, &m->info.stack);
        m->info.stack.pmtu = path_mtu(g, e, m->info.stack.pmtu);
    }
    if (has_queue(e, c)) {
        m->info.bytes_received += c10m_receive_queued(c);
        m->info.bytes_acked = c10m_send_taken(c) - e->taken_first;
    }
    m->info.sent_ms = ago_ms(g, e->sent_us);
    m->info.received_ms = ago_ms(g, e->received_us);
    m->info.acked_ms = ago_ms(g, e->acked_us);
    end_answer(g, m, 0);
}

void verb_queued(struct agent_worker *g, struct agent_msg *m)
{
    const struct end *e = m->end;
    const struct c10m_conn *c = end_conn(g, m->end);
    struct c10m_info info = {0};
    const bool queues = has_queue(e, c);
    if (queues)
        c10m_get_info(c, &info);
    m->queued.in = queues ? c10m_receive_queued(c) : 0;
    m->queued.out = e->queued_at_end;
    if (queues && !e->over)  // a FIN counts as a byte
        m->queued.out = (uint32_t)c10m_send_queued(c) + (e->shut_out && !e->drained);
    m->queued.unsent = queues ? info.notsent_bytes : 0;
    end_answer(g, m, 0);
}
