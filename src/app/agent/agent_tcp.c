// SPDX-License-Identifier: BSD-3-Clause
// The commands on a connection, on its worker. Each command is executed at once. One that would
// block returns -EAGAIN; the thread sends it again when CMD_WATCH has reported a change.
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "app/agent/agent_worker.h"

// Linux's sock_error(): returns and clears the error.
static int conn_error(struct agent_conn *ac)
{
    const int error = ac->error;
    ac->error = 0;
    return error;
}

// Whether the connection can have received bytes: a connection that is being opened has none.
static bool has_queue(const struct agent_conn *ac, const struct c10m_conn *c)
{
    return c != NULL && (ac->up || ac->over);
}

// The result of a read without bytes, in the order of Linux's tcp_recvmsg(): FIN, error, shutdown,
// would block.
static int64_t nothing_read(struct agent_conn *ac, bool begun)
{
    const bool shut = ac->shut_in || ac->over;
    if (ac->done)
        return 0;
    if (ac->error != 0)
        return begun ? 0 : -conn_error(ac);
    return shut ? 0 : -EAGAIN;
}

void cmd_read(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_conn *ac = m->conn;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    size_t n = 0, left = 0;
    if (has_queue(ac, c)) {
        n = m->io.peek ? c10m_peek(c, 0, m->io.buf, m->io.bytes)
                       : c10m_read(c, m->io.buf, m->io.bytes);
        left = c10m_receive_queued(c);
        ac->bytes_read += m->io.peek ? 0 : n;
    }
    m->io.last = left == 0 && (ac->done || ac->shut_in || ac->over || ac->error != 0);
    agent_conn_answer(g, m, n != 0 || left != 0 ? (int64_t)n : nothing_read(ac, m->io.begun));
}

static void set_more(struct agent_conn *ac, struct c10m_conn *c, bool more)
{
    if (ac->more != more)
        c10m_set_option(c, C10M_OPT_MORE, more);
    ac->more = more;
}

void cmd_write(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_conn *ac = m->conn;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    if (ac->error != 0 && !m->io.begun) {
        agent_conn_answer(g, m, -conn_error(ac));
        return;
    }
    if (c == NULL || ac->over || ac->shut_out || ac->error != 0) {
        agent_conn_answer(g, m, -EPIPE);
        return;
    }
    if (!ac->up) {
        agent_conn_answer(g, m, -EAGAIN);
        return;
    }
    set_more(ac, c, m->io.more);
    const size_t n = m->io.bytes == 0 ? 0 : c10m_send(c, m->io.buf, m->io.bytes);
    if (n != 0)
        ac->sent_us = c10m_core_now_us(g->w);
    if (m->io.record && n != 0 && n == m->io.bytes)
        c10m_end_record(c);
    agent_conn_answer(g, m, n == 0 && m->io.bytes != 0 ? -EAGAIN : (int64_t)n);
}

// Answers -EALREADY for a connection that is being opened; the thread then disconnects the socket.
void cmd_shutdown(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_conn *ac = m->conn;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    if (c == NULL || ac->over || !ac->up) {
        agent_conn_answer(g, m, c == NULL || ac->over ? -ENOTCONN : -EALREADY);
        return;
    }
    const int rc = m->shutdown.how & 1 && !ac->shut_in ? c10m_shut_read(c) : 0;
    if (rc != 0) {  // nothing was changed
        agent_conn_answer(g, m, rc);
        return;
    }
    ac->shut_in |= (m->shutdown.how & 1) != 0;
    if ((m->shutdown.how & 2) && !ac->shut_out) {
        ac->shut_out = true;
        c10m_shutdown(c);
    }
    agent_conn_event(g, ac, EDGE_ALL);
    agent_conn_answer(g, m, 0);
}

// Without an error, returns the errno of the last ICMP error of an open connection.
void cmd_error(struct agent_worker *g, struct agent_msg *m)
{
    struct agent_conn *ac = m->conn;
    struct c10m_conn *c = agent_conn_stack(g, ac);
    int error = conn_error(ac);
    if (error == 0 && c != NULL && !ac->over)
        error = c10m_take_soft_error(c);
    agent_conn_answer(g, m, error);
}

void cmd_options(struct agent_worker *g, struct agent_msg *m)
{
    struct c10m_conn *c = agent_conn_stack(g, m->conn);
    const uint32_t before = m->conn->options.lowat;
    int rc = 0;
    if (c == NULL)
        m->conn->options = m->options;
    else
        rc = agent_conn_apply(m->conn, c, &m->options);
    if (m->conn->options.lowat != before && (agent_conn_mask(g, m->conn) & POLLIN))
        agent_conn_event(g, m->conn, POLLIN | POLLRDNORM);  // tcp_set_rcvlowat
    agent_conn_answer(g, m, rc);
}

static uint32_t ago_ms(const struct agent_worker *g, uint64_t then_us)
{
    return (uint32_t)((c10m_core_now_us(g->w) - then_us) / 1000);
}

// If the segments have become smaller since the handshake, their size is the path MTU; otherwise
// the known path MTU of the peer's address is used.
static uint32_t path_mtu(struct agent_worker *g, const struct agent_conn *ac, uint32_t packet)
{
    const uint32_t link = c10m_udp_mtu(g->w, &ac->peer);
    return ac->up && packet < ac->packet_first ? packet : link;
}

void cmd_info(struct agent_worker *g, struct agent_msg *m)
{
    const struct agent_conn *ac = m->conn;
    const struct c10m_conn *c = agent_conn_stack(g, m->conn);
    m->info.stack = (struct c10m_info){.state = TCP_CLOSE};
    m->info.bytes_acked = 0;
    m->info.bytes_received = ac->bytes_read;
    if (c != NULL) {
        c10m_get_info(c, &m->info.stack);
        m->info.stack.pmtu = path_mtu(g, ac, m->info.stack.pmtu);
    }
    if (has_queue(ac, c)) {
        m->info.bytes_received += c10m_receive_queued(c);
        m->info.bytes_acked = c10m_send_taken(c) - ac->taken_first;
    }
    m->info.sent_ms = ago_ms(g, ac->sent_us);
    m->info.received_ms = ago_ms(g, ac->received_us);
    m->info.acked_ms = ago_ms(g, ac->acked_us);
    agent_conn_answer(g, m, 0);
}

void cmd_queued(struct agent_worker *g, struct agent_msg *m)
{
    const struct agent_conn *ac = m->conn;
    const struct c10m_conn *c = agent_conn_stack(g, m->conn);
    struct c10m_info info = {0};
    const bool queues = has_queue(ac, c);
    if (queues)
        c10m_get_info(c, &info);
    m->queued.in = queues ? c10m_receive_queued(c) : 0;
    m->queued.out = ac->queued_at_end;
    if (queues && !ac->over)  // a FIN counts as a byte
        m->queued.out = (uint32_t)c10m_send_queued(c) + (ac->shut_out && !ac->drained);
    m->queued.unsent = queues ? info.notsent_bytes : 0;
    agent_conn_answer(g, m, 0);
}
