// SPDX-License-Identifier: BSD-3-Clause
// AGENT_RESET: all sockets end, and every worker's stack is as new. Requests of other clients wait
// until each worker has confirmed it; their calls in work end with EBADF.
#include <errno.h>
#include <stdlib.h>

#include "app/agent/agent.h"

// What the sockets have at the workers, those that nobody accepted among them.
static void end_connections(struct agent *a)
{
    for (struct file *f = a->all, *next; f != NULL; f = next) {
        f->lent++;  // others may go meanwhile, this one stays in the list
        if (f->kind == FILE_TCP &&
            (socket_of(f)->state != TCP_IDLE || socket_of(f)->listens != NULL))
            socket_disconnect(a, socket_of(f));
        next = f->all_next;
        file_back(a, f);
    }
}

static void end_files(struct agent *a)
{
    end_connections(a);
    for (struct file *f = a->all; f != NULL; f = f->all_next)
        if (f->kind == FILE_UDP)
            udp_let_go(a, socket_of(f), NULL);
    for (unsigned fd = 0; fd < a->sockets_max; fd++) {
        struct file *f = a->fds[fd];
        a->fds[fd] = NULL;
        if (f != NULL)
            file_unuse(a, f);
    }
    time_wait_free(a);
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
        post(a, m->worker, m, CMD_FORGET, forgotten, c);
        return;
    }
    if (--c->lent != 0)
        return;
    end_blocked(a);  // those whose messages were on their way
    a->resetter = NULL;
    call_return(a, c, 0);
}

static void forget_workers(struct agent *a, struct call *c)
{
    c->lent += a->n_workers;
    for (unsigned w = 0; w < a->n_workers; w++)
        post(a, w, &c->fences[w], CMD_FORGET, forgotten, c);
}

// What was on its way to the workers is back: the fence was behind it. What ends here is told them
// before they forget.
static void reset_step(struct agent *a, struct call *c)
{
    end_blocked(a);
    end_files(a);
    forget_workers(a, c);
}

void op_reset(struct agent *a, struct call *c)
{
    a->resetter = c;
    end_blocked(a);
    call_fence(a, c, reset_step);
}
