// SPDX-License-Identifier: BSD-3-Clause
// connect(), as Linux's __inet_stream_connect().
#include <errno.h>
#include <sys/socket.h>

#include "app/agent/agent.h"

// The checks of Linux's tcp_v4_connect() and tcp_v6_connect() before the SYN.
static int read_peer(const struct call *c, const struct socket *k, struct c10m_name *to)
{
    const int rc = name_read(c, k, to);
    if (rc != 0)
        return rc;
    if (k->domain == AF_INET6 && name_is_multicast(to) && !name_is_v4(to))
        return -ENETUNREACH;
    if (name_needs_scope(c, k, to))
        return -EINVAL;
    if (k->addr_given && name_is_v4(&k->local) != name_is_v4(to))
        return name_is_v4(to) ? -ENETUNREACH : -EAFNOSUPPORT;
    if (name_is_group(to) || (k->domain == AF_INET6 && name_is_v4(to) && k->o.v6only))
        return -ENETUNREACH;
    return 0;
}

static void failed(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct socket *k = c->socket;
    const int error = m->ret > 0 ? (int)m->ret : ECONNABORTED;
    c->lent--;
    socket_update(k, m);
    if (k->state == TCP_ATTACHED && m->conn == k->conn)
        socket_disconnect(a, k);
    call_return(a, c, -error);
}

// c->got: the errno if the call returns before the end of the handshake: EINPROGRESS for the first
// call, EALREADY for later ones.
static void wait_step(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    if (k->state != TCP_ATTACHED) {  // disconnected by another call
        const int error = socket_error(k);
        call_return(a, c, error != 0 ? -error : -ECONNABORTED);
    } else if (k->conn_state == CONN_UP) {
        k->connect = CONNECTED;
        call_return(a, c, 0);
    } else if (k->conn_state == CONN_OVER) {
        call_post(a, c, CMD_ERROR, failed);
    } else if (c->nonblock || c->timed_out) {
        call_return(a, c, -c->got);
    } else {
        call_block(a, c, &k->f, wait_step);
    }
}

static void opened(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct socket *k = c->socket;
    c->lent--;
    k->f.busy = false;
    if (m->ret == -EINVAL)  // port 0: no listener can exist
        m->ret = -ECONNREFUSED;
    if (a->resetter != NULL)  // AGENT_RESET ends the connection on the worker
        m->ret = -EBADF;
    if (m->ret == 0) {
        socket_attach(k, m->worker, m->conn);
        socket_update(k, m);
        k->connect = CONNECTING;
        if (!k->bound)
            port_register(a, k);
    }
    file_wake(a, &k->f, EDGE_ALL);
    if (m->ret == 0)
        wait_step(a, c);
    else
        call_return(a, c, m->ret);
}

// The worker that opens the connection. With a fixed local port it is the one that receives the
// packets of the connection; otherwise the workers are used in rotation.
static unsigned worker_for(struct agent *a, const struct socket *k, const struct c10m_name *to)
{
    if (k->bound)
        return c10m_home_by(a->s, &(struct c10m_opening){k->local, *to, k->device});
    return a->turn++ % a->n_workers;
}

static void open_connection(struct agent *a, struct call *c, const struct c10m_name *to)
{
    struct socket *k = c->socket;
    struct agent_msg *m = &c->msg;
    m->open.to = (struct c10m_opening){.from = k->local, .to = *to, .device = k->device};
    name_source(a, &m->open.to.from);
    k->peer = *to;
    options_of(a, k, &m->open.options);
    m->open.socket = k;
    k->f.busy = true;
    k->shut_in = k->shut_out = false;
    c->lent++;
    post(a, worker_for(a, k, to), m, CMD_OPEN, opened, c);
}

static void first_connect(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    struct c10m_name to;
    int rc = k->state != TCP_IDLE ? -EISCONN : read_peer(c, k, &to);
    if (rc == 0)
        rc = name_apply_scope(a, c, k, &to, false);
    if (rc == 0 && !socket_ready(k))
        rc = -ENOBUFS;
    c->got = EINPROGRESS;
    if (rc == 0)
        open_connection(a, c, &to);
    else
        call_return(a, c, rc);
}

static void disconnect(struct agent *a, struct call *c)
{
    socket_disconnect(a, c->socket);
    call_return(a, c, 0);
}

static void tcp_connect(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    if (c->r->addr_bytes < sizeof(sa_family_t)) {
        call_return(a, c, -EINVAL);
    } else if (name_family(c) == AF_UNSPEC) {
        disconnect(a, c);
    } else if (k->connect == UNCONNECTED) {
        first_connect(a, c);
    } else if (k->connect == CONNECTING) {
        c->got = EALREADY;
        file_watch(a, &k->f);
        call_fence(a, c, wait_step);
    } else {
        call_return(a, c, k->connect == CONNECTED ? -EISCONN : -EINVAL);
    }
}

void op_connect(struct agent *a, struct call *c)
{
    c->nonblock = c->file->nonblock;
    call_deadline(a, c, c->socket->o.snd_timeout_us);
    if (c->file->kind == FILE_UDP)
        udp_connect(a, c);
    else
        tcp_connect(a, c);
}
