// SPDX-License-Identifier: BSD-3-Clause
// AGENT_RESET: closes all sockets, and removes the state of past connections from every worker.
// Requests of other clients wait until all workers have answered. Calls that are being executed end
// with EBADF.
#include <errno.h>
#include <stdlib.h>

#include "app/agent/agent.h"

// Disconnects all TCP sockets, including connections that were not accepted.
static void end_connections(struct agent *a)
{
    for (struct file *f = a->all, *next; f != NULL; f = next) {
        f->lent++;  // keep f in the list: the loop body may free other files
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
            udp_close_port(a, socket_of(f), NULL);
    for (unsigned fd = 0; fd < a->sockets_max; fd++) {
        struct file *f = a->fds[fd];
        a->fds[fd] = NULL;
        if (f != NULL)
            file_unuse(a, f);
    }
    time_wait_free(a);
}

// The next blocked call to end. A lingering close() has lent a message and ends with its
// connection.
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
    end_blocked(a);  // calls that blocked when their messages returned
    a->resetter = NULL;
    call_return(a, c, 0);
}

static void forget_workers(struct agent *a, struct call *c)
{
    c->lent += a->n_workers;
    for (unsigned w = 0; w < a->n_workers; w++)
        post(a, w, &c->fences[w], CMD_FORGET, forgotten, c);
}

// Runs after the fence: all earlier messages to the workers have returned. The messages that close
// the sockets arrive at the workers before CMD_FORGET.
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
