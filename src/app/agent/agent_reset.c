// AGENT_RESET: all sockets end, and every worker's stack is as new. Requests of other clients wait
// until each worker has confirmed it; their calls in work end with EBADF.
#include <errno.h>
#include <stdlib.h>

#include "app/agent/agent.h"

// What the workers have is forgotten here first: they end it by themselves.
static void forget_file(struct agent *a, struct file *f)
{
    f->busy = false;
    if (f->kind == FILE_EPOLL)
        return;
    struct socket *k = socket_of(f);
    if (k->state == TCP_LISTENING)
        a->n_listening--;
    k->state = TCP_IDLE;
    k->connect = UNCONNECTED;
    k->end = NULL;
    k->error = 0;
    k->shut_in = k->shut_out = true;
}

// Those that nobody accepted have no other use than that of their listener.
static void drop_arrived(struct agent *a, struct socket *k)
{
    while (k->first_arrived != NULL) {
        struct socket *young = k->first_arrived;
        k->first_arrived = young->next_arrived;
        k->n_arrived--;
        file_unuse(a, &young->f);
    }
}

static void forget_files(struct agent *a)
{
    for (struct file *f = a->all; f != NULL; f = f->all_next)
        forget_file(a, f);
    for (struct file *f = a->all; f != NULL; f = f->all_next)
        if (f->kind == FILE_TCP)
            drop_arrived(a, socket_of(f));
    for (unsigned fd = 0; fd < a->sockets_max; fd++) {
        struct file *f = a->fds[fd];
        a->fds[fd] = NULL;
        if (f != NULL)
            file_unuse(a, f);
    }
}

// A close that lingers has a message out: it ends with its connection.
static struct call *first_to_end(const struct agent *a)
{
    struct call *c = a->first_blocked;
    while (c != NULL && c->lent != 0)
        c = c->next_blocked;
    return c;
}

static void end_blocked(struct agent *a)
{
    struct call *c;
    while ((c = first_to_end(a)) != NULL) {
        call_unblock(a, c);
        call_return(a, c, -EBADF);
    }
}

static void forgotten(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    if (m->ret == -EAGAIN) {
        post(a, m->worker, m, VERB_FORGET, forgotten, c);
        return;
    }
    if (--c->lent != 0)
        return;
    a->resetter = NULL;
    call_return(a, c, 0);
}

static void forget_workers(struct agent *a, struct call *c)
{
    c->lent += a->n_workers;
    for (unsigned w = 0; w < a->n_workers; w++)
        post(a, w, &c->fences[w], VERB_FORGET, forgotten, c);
}

// Calls whose messages are out end when those are back, at a socket that is over: the fence is
// behind them.
static void reset_step(struct agent *a, struct call *c)
{
    end_blocked(a);
    forget_files(a);
    forget_workers(a, c);
}

void op_reset(struct agent *a, struct call *c)
{
    if (a->resetter != NULL) {  // two at once: the other's does for both
        call_return(a, c, 0);
        return;
    }
    a->resetter = c;
    end_blocked(a);
    call_fence(a, c, reset_step);
}
