#include <errno.h>
#include <stdlib.h>

#include "app/agent/agent.h"

// ---- what arrived and was not accepted yet

static void queue_arrived(struct socket *k, struct socket *young)
{
    young->next_arrived = NULL;
    if (k->first_arrived == NULL)
        k->first_arrived = young;
    else
        k->last_arrived->next_arrived = young;
    k->last_arrived = young;
    k->n_arrived++;
}

static struct socket *take_arrived(struct socket *k)
{
    struct socket *young = k->first_arrived;
    k->first_arrived = young->next_arrived;
    k->n_arrived--;
    return young;
}

// A connection that nobody will accept.
static void refuse(struct agent *a, struct socket *young)
{
    young->o.linger = true;
    young->o.linger_s = 0;
    file_unuse(a, &young->f);
}

static struct socket *young_of(struct agent *a, struct socket *k, struct agent_msg *m)
{
    struct socket *young = socket_new(a, FILE_TCP, k->domain);
    if (young == NULL)
        return NULL;
    young->o = k->o;
    if (!socket_ready(young)) {
        file_unuse(a, &young->f);
        return NULL;
    }
    socket_attach(young, m->worker, m->end);
    young->connect = CONNECTED;
    socket_note(young, m);
    port_take(a, young);
    return young;
}

// Without memory the connection stays at the worker until the next reset, unseen.
void listener_arrived(struct agent *a, struct agent_msg *m)
{
    struct socket *k = m->owner;
    struct socket *young = a->resetter == NULL ? young_of(a, k, m) : NULL;
    if (young == NULL)
        return;
    if (k->state != TCP_LISTENING) {
        refuse(a, young);
        return;
    }
    queue_arrived(k, young);
    file_wake(a, &k->f, EDGE_ALL);
}

// ---- accept

static void accepted(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_note(c->socket, m);
    call_return(a, c, c->got);
}

static void give(struct agent *a, struct call *c, int fd)
{
    struct socket *k = c->socket, *young = take_arrived(k);
    a->fds[fd] = &young->f;
    c->got = fd;
    name_write(c, young, &young->peer);
    c->socket = young;
    call_post(a, c, VERB_ACCEPTED, accepted);
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
        give(a, c, fd);
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

// ---- listen

static void fill_listen(const struct each *e, unsigned worker, struct agent_msg *m)
{
    const struct socket *k = e->owner;
    m->listen.at = (struct c10m_listening){
        .at = k->local,
        .v6only = k->o.v6only,
        .backlog = k->backlog,
        .defer_s = (uint32_t)k->o.defer_s,
    };
    m->listen.options = k->listens_with;
    m->listen.socket = e->owner;
    m->listen.id = e->ids[worker];
}

// The socket is as it was before: what some workers did is undone.
static void not_listening(struct agent *a, struct each *e)
{
    struct socket *k = e->owner;
    struct call *c = e->call;
    e->call = NULL;
    k->f.busy = false;
    file_wake(a, &k->f, EDGE_ALL);
    c->lent--;
    call_return(a, c, -k->error_kept);
}

static void listening(struct agent *a, struct each *e)
{
    struct socket *k = e->owner;
    struct call *c = e->call;
    if (e->error != 0 && k->state != TCP_LISTENING) {
        k->error_kept = e->error;
        each_post(a, e, VERB_UNLISTEN, fill_listen, not_listening);
        return;
    }
    e->call = NULL;
    a->n_listening += k->state != TCP_LISTENING;
    k->state = TCP_LISTENING;
    k->f.busy = false;
    file_wake(a, &k->f, EDGE_ALL);
    c->lent--;
    call_return(a, c, 0);
}

static void listen_all(struct agent *a, struct call *c, enum agent_verb verb)
{
    struct socket *k = c->socket;
    k->listener->call = c;
    k->f.busy = true;
    c->lent++;
    options_of(a, k, &k->listens_with);
    each_post(a, k->listener, verb, fill_listen, listening);
}

void listener_renew(struct agent *a, struct call *c)
{
    listen_all(a, c, VERB_RELISTEN);
}

// A listener without a port gets one, as any bind to port 0.
static int prepare(struct agent *a, struct socket *k)
{
    if (k->f.kind != FILE_TCP)
        return -EOPNOTSUPP;
    if (k->connect != UNCONNECTED || k->state == TCP_ATTACHED)
        return -EINVAL;
    if (k->listener == NULL)
        k->listener = each_new(a, k);
    if (k->listener == NULL)
        return -ENOBUFS;
    if (k->state == TCP_LISTENING)
        return 0;
    const struct c10m_name any = k->local;
    if (!k->bound)
        return port_bind(a, k, &any);
    return port_listens(a, k) ? -EADDRINUSE : 0;
}

void op_listen(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int64_t backlog = c->r->a[0];
    const int rc = prepare(a, k);
    if (rc != 0) {
        call_return(a, c, rc);
        return;
    }
    k->backlog = backlog < 0 || backlog > AGENT_SOMAXCONN ? AGENT_SOMAXCONN : (unsigned)backlog;
    listen_all(a, c, k->state == TCP_LISTENING ? VERB_RELISTEN : VERB_LISTEN);
}

// ---- the end

static void unlistened(struct agent *a, struct each *e)
{
    struct socket *k = e->owner;
    struct call *c = e->call;
    e->call = NULL;
    k->f.busy = false;
    if (c != NULL && --c->lent == 0)
        call_return(a, c, 0);
    file_wake(a, &k->f, EDGE_ALL);
    file_back(a, &k->f);
}

void listener_end(struct agent *a, struct socket *k, struct call *c)
{
    k->state = TCP_IDLE;
    a->n_listening--;
    while (k->first_arrived != NULL)
        refuse(a, take_arrived(k));
    k->f.lent++;
    k->f.busy = true;
    k->listener->call = c;
    if (c != NULL)
        c->lent++;
    each_post(a, k->listener, VERB_UNLISTEN, fill_listen, unlistened);
}
