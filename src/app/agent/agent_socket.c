// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "app/agent/agent.h"

enum {
    NPROTO = 46,  // Linux's number of address families
    TYPES = 11,   // Linux's number of socket types (SOCK_MAX)
    IP_PROTOCOLS = 263,
    TYPE_MASK = 0xf,
};

// Returns 0 or -errno. The checks have Linux's order: flags, family, type, protocol.
static int kind_of(int64_t domain, int64_t type, int64_t protocol, enum file_kind *kind, bool *icmp)
{
    const int echo = domain == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    const int64_t plain = type & TYPE_MASK;
    if (type & ~(int64_t)(TYPE_MASK | SOCK_NONBLOCK | SOCK_CLOEXEC))
        return -EINVAL;
    if (domain < 0 || domain >= NPROTO)
        return -EAFNOSUPPORT;
    if (plain >= TYPES)
        return -EINVAL;
    if (domain != AF_INET && domain != AF_INET6)
        return -EAFNOSUPPORT;
    if (protocol < 0 || protocol >= IP_PROTOCOLS)
        return -EINVAL;
    if (plain != SOCK_STREAM && plain != SOCK_DGRAM)
        return -ESOCKTNOSUPPORT;
    const int own = plain == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
    *icmp = plain == SOCK_DGRAM && protocol == echo;
    if (protocol != 0 && protocol != own && !*icmp)
        return -EPROTONOSUPPORT;
    *kind = plain == SOCK_STREAM ? FILE_TCP : FILE_UDP;
    return 0;
}

struct socket *socket_new(struct agent *a, enum file_kind kind, int domain)
{
    struct socket *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    file_init(a, &k->f, kind);
    k->domain = domain;
    name_any(k, &k->local);
    options_default(a, k);
    a->n_listening += kind == FILE_UDP;
    return k;
}

void op_socket(struct agent *a, struct call *c)
{
    const int64_t *arg = c->r->a;
    enum file_kind kind;
    bool icmp;
    const int rc = kind_of(arg[0], arg[1], arg[2], &kind, &icmp);
    if (rc != 0) {
        call_return(a, c, rc);
        return;
    }
    struct socket *k = socket_new(a, kind, (int)arg[0]);
    if (k == NULL) {
        call_return(a, c, -ENOBUFS);
        return;
    }
    k->f.nonblock = (arg[1] & SOCK_NONBLOCK) != 0;
    k->icmp = k->o.reuse_addr = icmp;  // INET_PROTOSW_REUSE
    const int fd = fd_new(a, &k->f);
    if (fd < 0)
        file_unuse(a, &k->f);
    call_return(a, c, fd);
}

bool socket_ready(struct socket *k)
{
    if (k->close_msg == NULL)
        k->close_msg = calloc(1, sizeof(*k->close_msg));
    return k->close_msg != NULL;
}

void socket_attach(struct socket *k, unsigned worker, struct agent_conn *ac)
{
    k->state = TCP_ATTACHED;
    k->worker = worker;
    k->conn = ac;
    k->local = ac->local;
    k->peer = ac->peer;
}

void socket_update(struct socket *k, const struct agent_msg *m)
{
    if (m->conn != k->conn || k->conn == NULL)
        return;
    k->mask = m->mask;
    k->conn_state = m->state;
}

int socket_error(struct socket *k)
{
    const int error = k->error;
    k->error = 0;
    return error;
}

// ---- poll

uint32_t socket_mask(const struct socket *k)
{
    uint32_t mask = POLLHUP | POLLOUT | POLLWRNORM;
    if (k->state == TCP_LISTENING)
        return k->n_arrived != 0 ? POLLIN | POLLRDNORM : 0;
    if (k->state == TCP_ATTACHED)
        return k->mask;
    if (k->shut_in)
        mask |= POLLIN | POLLRDNORM | POLLRDHUP;
    return mask | (k->error != 0 ? POLLERR : 0);
}

static void watch_done(struct agent *a, struct agent_msg *m)
{
    struct socket *k = m->owner;
    socket_update(k, m);
    file_wake(a, &k->f, m->edges);
    if (k->f.items != NULL && !k->f.released)
        socket_watch(a, k);
    file_back(a, &k->f);
}

void socket_watch(struct agent *a, struct socket *k)
{
    if (k->state != TCP_ATTACHED || k->watch.out)
        return;
    k->f.lent++;
    k->watch.conn = k->conn;
    post(a, k->worker, &k->watch, CMD_WATCH, watch_done, k);
}

// ---- close

static void connection_closed(struct agent *a, struct agent_msg *m)
{
    struct socket *k = m->owner;
    if (m->ret > 0)
        time_wait_add(a, k);
    free(m);
    file_back(a, &k->f);
}

// Removes the connection from the socket. Returns the reserved message for its CMD_CLOSE.
static struct agent_msg *detach(struct socket *k)
{
    struct agent_msg *m = k->close_msg;
    m->conn = k->conn;
    k->close_msg = NULL;
    k->closed_name = k->local;
    k->conn = NULL;
    k->state = TCP_IDLE;
    k->f.lent++;
    return m;
}

static void close_connection(struct agent *a, struct socket *k, bool abort)
{
    struct agent_msg *m = detach(k);
    m->close.abort = abort;
    m->close.linger = false;
    post(a, k->worker, m, CMD_CLOSE, connection_closed, k);
}

static void linger_over(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    if (--c->lent == 0)
        call_return(a, c, 0);
}

// The time of SO_LINGER has expired: the worker stops waiting and answers both this message and the
// waiting CMD_CLOSE.
static void linger_expired(struct agent *a, struct call *c)
{
    struct agent_msg *waiting = c->waiting;
    c->lent++;
    c->msg.conn = waiting->conn;
    c->msg.close.abort = c->msg.close.linger = false;
    c->msg.close.waiting = waiting;
    post(a, waiting->worker, &c->msg, CMD_CLOSE, linger_over, c);
}

static void close_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct socket *k = c->socket;
    if (c->blocked)
        call_unblock(a, c);
    if (m->ret > 0)
        time_wait_add(a, k);
    free(m);
    if (--c->lent == 0)
        call_return(a, c, 0);
    file_back(a, &k->f);
}

static void close_with_call(struct agent *a, struct socket *k, struct call *c, bool abort)
{
    struct agent_msg *m = detach(k);
    m->close.abort = abort;
    m->close.linger = k->o.linger && !abort;
    c->waiting = m;
    c->lent++;
    post(a, k->worker, m, CMD_CLOSE, close_done, c);
    if (!m->close.linger)
        return;
    call_deadline(a, c, (uint64_t)k->o.linger_s * 1000000);
    call_block(a, c, NULL, linger_expired);
}

void socket_release(struct agent *a, struct socket *k, struct call *c)
{
    const bool abort = k->o.linger && k->o.linger_s == 0;
    if (k->f.kind == FILE_UDP)
        udp_release(a, k, c);
    else if (k->listens != NULL)
        listener_end(a, k, c);
    else if (k->state == TCP_ATTACHED && c != NULL)
        close_with_call(a, k, c, abort);
    else if (k->state == TCP_ATTACHED)
        close_connection(a, k, abort);
    free(k->close_msg);
    k->close_msg = NULL;
    port_free(a, k);
}

void socket_disconnect(struct agent *a, struct socket *k)
{
    if (k->listens != NULL) {
        listener_end(a, k, NULL);
    } else if (k->state == TCP_ATTACHED) {
        if (k->conn_state != CONN_OVER)
            k->error = ECONNRESET;
        close_connection(a, k, true);
    }
    k->state = TCP_IDLE;
    k->connect = UNCONNECTED;
    k->disconnects++;
    k->shut_in = k->shut_out = false;
    if (!k->port_chosen)
        port_free(a, k);
    if (!k->addr_given)
        name_any_addr(k);
    file_wake(a, &k->f, EDGE_ALL);
}

// ---- shutdown

static void shutdown_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct socket *k = c->socket;
    c->lent--;
    socket_update(k, m);
    if (m->ret == -EALREADY && m->conn == k->conn) {
        socket_disconnect(a, k);
        m->ret = 0;
    } else if (k->connect == CONNECTING) {
        k->connect = m->ret == 0 ? CONNECTED : DISCONNECTING;
    }
    call_return(a, c, m->ret);
}

// Linux's inet_shutdown().
void op_shutdown(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int64_t how = c->r->a[0] + 1;
    if (how < 1 || how > 3) {
        call_return(a, c, -EINVAL);
    } else if (k->f.kind == FILE_UDP) {
        udp_shutdown(a, c);
    } else if (k->state == TCP_ATTACHED) {
        c->msg.shutdown.how = (int)how;
        call_post(a, c, CMD_SHUTDOWN, shutdown_done);
    } else if (k->state == TCP_LISTENING) {
        if (how & 1)
            socket_disconnect(a, k);
        call_return(a, c, 0);
    } else {
        k->shut_in |= (how & 1) != 0;
        k->shut_out |= (how & 2) != 0;
        file_wake(a, &k->f, EDGE_ALL);
        call_return(a, c, -ENOTCONN);
    }
}
