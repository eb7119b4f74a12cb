// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

// ---- connections that were established and not accepted yet

static void queue_arrived(struct socket *k, struct socket *child)
{
    child->next_arrived = NULL;
    if (k->first_arrived == NULL)
        k->first_arrived = child;
    else
        k->last_arrived->next_arrived = child;
    k->last_arrived = child;
    k->n_arrived++;
}

static struct socket *pop_arrived(struct socket *k)
{
    struct socket *child = k->first_arrived;
    k->first_arrived = child->next_arrived;
    k->n_arrived--;
    return child;
}

// Resets a connection that will not be accepted.
static void refuse(struct agent *a, struct socket *child)
{
    child->o.linger = true;
    child->o.linger_s = 0;
    file_unuse(a, &child->f);
}

// Creates the socket of a new connection, with the options of the listener k. NULL: k was closed.
static struct socket *new_child(struct agent *a, const struct tcp_port *p, const struct socket *k,
                                struct agent_msg *m)
{
    struct socket *child = socket_new(a, FILE_TCP, p->domain);
    if (child == NULL)
        return NULL;
    if (k != NULL) {
        child->o = k->o;
        child->device = k->device;
        memcpy(child->device_name, k->device_name, sizeof(child->device_name));
    }
    if (!socket_ready(child)) {
        file_unuse(a, &child->f);
        return NULL;
    }
    socket_attach(child, m->worker, m->conn);
    child->connect = CONNECTED;
    socket_update(child, m);
    port_register(a, child);
    return child;
}

// SO_REUSEPORT: a hash of the peer's name selects one of the sockets that listen on the port.
static struct socket *listener_for(const struct agent *a, const struct tcp_port *p,
                                   const struct c10m_name *peer)
{
    struct socket *best = NULL;
    unsigned n = 0;
    for (struct socket *k = a->bound; k != NULL; k = k->next_bound)
        if (k->listens == p && k->state == TCP_LISTENING && name_hash(peer) % ++n == 0)
            best = k;
    return best;
}

// If there is no memory, the connection stays on the worker until the next AGENT_RESET, and no
// client sees it.
void listener_arrived(struct agent *a, struct agent_msg *m)
{
    const struct tcp_port *p = m->owner;
    struct socket *k = a->resetter == NULL ? listener_for(a, p, &m->conn->peer) : NULL;
    struct socket *child = a->resetter == NULL ? new_child(a, p, k, m) : NULL;
    if (child == NULL)
        return;
    if (k == NULL) {
        refuse(a, child);
        return;
    }
    queue_arrived(k, child);
    file_wake(a, &k->f, POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND);  // sock_def_readable
}

// ---- accept

// If the client has disconnected, it never learns the new descriptor, so the descriptor is closed.
static void accepted(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct file *child = &c->socket->f;
    c->lent--;
    socket_update(c->socket, m);
    if (c->gone && fd_get(a, (int)c->got) == child) {
        a->fds[c->got] = NULL;
        file_unuse(a, child);
    }
    call_return(a, c, c->got);
}

static void return_child(struct agent *a, struct call *c, int fd)
{
    struct socket *k = c->socket, *child = pop_arrived(k);
    a->fds[fd] = &child->f;
    c->got = fd;
    name_write(c, child, &child->peer);
    c->socket = child;
    call_post(a, c, CMD_ACCEPTED, accepted);
}

static void accept_step(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int fd = fd_new(a, NULL);
    if (fd < 0)
        call_return(a, c, fd);
    else if (k->state != TCP_LISTENING)
        call_return(a, c, -EINVAL);
    else if (k->first_arrived != NULL && !c->gone)
        return_child(a, c, fd);
    else if (c->nonblock && !c->fenced)
        call_fence(a, c, accept_step);
    else if (c->nonblock || c->timed_out)
        call_return(a, c, -EAGAIN);
    else
        call_block(a, c, &k->f, accept_step);
}

void op_accept(struct agent *a, struct call *c)
{
    c->nonblock = c->file->nonblock;
    call_deadline(a, c, c->socket->o.rcv_timeout_us);
    if (c->file->kind != FILE_TCP)
        call_return(a, c, -EOPNOTSUPP);
    else
        accept_step(a, c);
}

// ---- ports on the workers: one port for all sockets that listen on the same name

static void fill_port(const struct fanout *f, unsigned worker, struct agent_msg *m)
{
    struct tcp_port *p = f->owner;
    m->listen.at = p->at;
    m->listen.options = p->options;
    m->listen.socket = p;
    m->listen.id = f->ids[worker];
}

static struct tcp_port *find_port(struct agent *a, const struct socket *k)
{
    struct tcp_port *p = a->tcp_ports;
    while (p != NULL &&
           (memcmp(p->at.at.addr, k->local.addr, 16) != 0 || p->at.at.port != k->local.port ||
            p->at.v6only != k->o.v6only || p->at.device != k->device || p->domain != k->domain))
        p = p->next;
    return p;
}

static void free_port(struct tcp_port *p)
{
    fanout_free(p->fanout);
    fanout_free(p->renewal);
    free(p);
}

static struct tcp_port *new_port(struct agent *a, const struct socket *k)
{
    struct tcp_port *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->fanout = fanout_new(a, p);
    p->renewal = fanout_new(a, p);
    if (p->fanout == NULL || p->renewal == NULL) {
        free_port(p);
        return NULL;
    }
    p->domain = k->domain;
    p->at.at = k->local;
    p->at.v6only = k->o.v6only;
    p->at.device = k->device;
    p->next = a->tcp_ports;
    a->tcp_ports = p;
    return p;
}

// Sets the options that SYN-ACKs need. The other options are set in `open`. 0: the service's value.
static void update_syn_acks(const struct agent *a, struct tcp_port *p)
{
    const struct agent_options *o = &p->options, *usual = &a->defaults;
    p->at.rcv_limit = o->rcv_limit != usual->rcv_limit ? o->rcv_limit : 0;
    p->at.syn_retries = o->syn_retries != usual->syn_retries ? o->syn_retries : 0;
    p->at.ttl = o->ttl != usual->ttl ? o->ttl : 0;
    p->at.maxseg = o->maxseg;
    p->at.tos = o->tos;
}

// Combines the backlogs and the options of all sockets that listen on the port.
static void update_port(const struct agent *a, struct tcp_port *p)
{
    uint64_t backlog = 0;
    for (const struct socket *k = a->bound; k != NULL; k = k->next_bound) {
        if (k->listens != p)
            continue;
        backlog += k->backlog;
        p->at.defer_s = (uint32_t)k->o.defer_s;
        options_of(a, k, &p->options);
    }
    update_syn_acks(a, p);
    p->at.backlog = backlog < AGENT_SOMAXCONN ? (uint32_t)backlog : AGENT_SOMAXCONN;
}

static void port_closed(struct agent *a, struct fanout *f)
{
    struct tcp_port *p = f->owner;
    struct call *c = f->call;
    (void)a;
    if (c != NULL && --c->lent == 0)
        call_return(a, c, -p->error);
    free_port(p);
}

static void fill_renewal(const struct fanout *f, unsigned worker, struct agent_msg *m)
{
    const struct tcp_port *p = f->owner;
    m->listen.at = p->at;
    m->listen.options = p->options;
    m->listen.id = p->fanout->ids[worker];
}

static void renew_port(struct agent *a, struct tcp_port *p);

static void renewed(struct agent *a, struct fanout *f)
{
    struct tcp_port *p = f->owner;
    if (p->stale && p->users != 0)
        renew_port(a, p);
}

// Updates the options after one of several sockets on the port was closed. No call waits for the
// answers. Messages to a worker arrive in order: the last options stay valid, and a CMD_UNLISTEN
// that is posted during the renewal is executed after it.
static void renew_port(struct agent *a, struct tcp_port *p)
{
    p->stale = p->renewal->left != 0 || p->fanout->left != 0;
    if (p->stale)
        return;
    update_port(a, p);
    fanout_post(a, p->renewal, CMD_RELISTEN, fill_renewal, renewed);
}

// c: the call that waits until the port is closed, or NULL.
static void close_port(struct agent *a, struct tcp_port *p, struct call *c)
{
    struct tcp_port **at = &a->tcp_ports;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->fanout->call = c;
    if (c != NULL)
        c->lent++;
    fanout_post(a, p->fanout, CMD_UNLISTEN, fill_port, port_closed);
}

void tcp_ports_free(struct agent *a)
{
    while (a->tcp_ports != NULL) {
        struct tcp_port *p = a->tcp_ports;
        a->tcp_ports = p->next;
        free_port(p);
    }
}

// ---- listen

// Removes the port from all its sockets. Calls of other sockets that wait to share it then fail in
// listen_step().
static void leave_port(const struct agent *a, const struct tcp_port *p)
{
    for (struct socket *k = a->bound; k != NULL; k = k->next_bound)
        if (k->listens == p)
            k->listens = NULL;
}

// Runs after all workers have answered. If one worker failed, the others close the port.
static void listening(struct agent *a, struct fanout *f)
{
    struct tcp_port *p = f->owner;
    struct call *c = f->call;
    struct socket *k = c->socket;
    f->call = NULL;
    c->lent--;
    k->f.busy = false;
    if (f->error != 0 && k->state != TCP_LISTENING) {
        leave_port(a, p);
        p->error = f->error;
        close_port(a, p, c);
    } else {
        a->n_listening += k->state != TCP_LISTENING;
        k->state = TCP_LISTENING;
        if (p->stale)
            renew_port(a, p);
    }
    file_wake(a, &k->f, EDGE_ALL);
    if (c->lent == 0)
        call_return(a, c, 0);
}

static void listen_step(struct agent *a, struct call *c);

// If another call is changing the port on the workers, this call tries again after 1 ms.
static void listen_all(struct agent *a, struct call *c, bool is_new)
{
    struct socket *k = c->socket;
    struct tcp_port *p = k->listens;
    if (p->fanout->left != 0) {
        c->deadline_us = a->now_us + 1000;
        call_block(a, c, NULL, listen_step);
        return;
    }
    p->fanout->call = c;
    k->f.busy = true;
    c->lent++;
    update_port(a, p);
    fanout_post(a, p->fanout, is_new ? CMD_LISTEN : CMD_RELISTEN, fill_port, listening);
}

static void listen_step(struct agent *a, struct call *c)
{
    if (c->socket->listens == NULL)  // the port was closed while this call waited
        call_return(a, c, -EADDRINUSE);
    else
        listen_all(a, c, false);
}

void listener_renew(struct agent *a, struct call *c)
{
    listen_all(a, c, false);
}

// Checks that k may listen. A socket without a port gets a free port, as by bind() to port 0.
static int prepare(struct agent *a, struct socket *k)
{
    if (k->f.kind != FILE_TCP)
        return -EOPNOTSUPP;
    if (k->connect != UNCONNECTED || k->state == TCP_ATTACHED)
        return -EINVAL;
    if (k->state == TCP_LISTENING)
        return 0;
    const struct c10m_name any = k->local;
    if (!k->bound)
        return port_bind(a, k, &any);
    return port_conflicts(a, k) ? -EADDRINUSE : 0;
}

// Finds or creates the port of k's name and device. NULL: no memory.
static struct tcp_port *port_of(struct agent *a, const struct socket *k, bool *is_new)
{
    struct tcp_port *p = find_port(a, k);
    *is_new = p == NULL;
    return p != NULL ? p : new_port(a, k);
}

// Opens the port on the new device before it closes the port on the old one.
void listener_rebind(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    struct tcp_port *old = k->listens;
    bool is_new;
    struct tcp_port *p = port_of(a, k, &is_new);
    if (p == NULL) {
        call_return(a, c, -ENOBUFS);
        return;
    }
    p->users++;
    k->listens = p;
    listen_all(a, c, is_new);
    if (--old->users == 0)
        close_port(a, old, NULL);
    else
        renew_port(a, old);
}

void op_listen(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int64_t backlog = c->r->a[0];
    int rc = prepare(a, k);
    bool is_new = false;
    struct tcp_port *p = rc != 0 ? NULL : port_of(a, k, &is_new);
    if (rc == 0 && p == NULL)
        rc = -ENOBUFS;
    if (rc != 0) {
        call_return(a, c, rc);
        return;
    }
    p->users += k->listens == NULL;
    k->listens = p;
    k->backlog = backlog < 0 || backlog > AGENT_SOMAXCONN ? AGENT_SOMAXCONN : (unsigned)backlog;
    listen_all(a, c, is_new);
}

// ---- close

void listener_end(struct agent *a, struct socket *k, struct call *c)
{
    struct tcp_port *p = k->listens;
    k->listens = NULL;
    a->n_listening -= k->state == TCP_LISTENING;
    k->state = TCP_IDLE;
    while (k->first_arrived != NULL)
        refuse(a, pop_arrived(k));
    if (--p->users == 0)
        close_port(a, p, c);
    else
        renew_port(a, p);
}
