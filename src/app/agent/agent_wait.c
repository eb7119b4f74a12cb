// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "app/agent/agent.h"

static void join_file(struct call *c, struct file *f)
{
    c->waits_for = f;
    c->next_waiting = NULL;
    c->prev_waiting = f->last_waiting;
    if (f->last_waiting != NULL)
        f->last_waiting->next_waiting = c;
    else
        f->first_waiting = c;
    f->last_waiting = c;
}

static void leave_file(struct call *c)
{
    struct file *f = c->waits_for;
    if (f == NULL)
        return;
    if (c->prev_waiting != NULL)
        c->prev_waiting->next_waiting = c->next_waiting;
    else
        f->first_waiting = c->next_waiting;
    if (c->next_waiting != NULL)
        c->next_waiting->prev_waiting = c->prev_waiting;
    else
        f->last_waiting = c->prev_waiting;
    c->waits_for = NULL;
}

// If the client has disconnected, the deadline is set to 0, so that run_deadlines() runs `step`,
// which ends the call.
void call_block(struct agent *a, struct call *c, struct file *f,
                void (*step)(struct agent *a, struct call *c))
{
    c->step = step;
    c->blocked = true;
    c->prev_blocked = NULL;
    c->next_blocked = a->first_blocked;
    if (a->first_blocked != NULL)
        a->first_blocked->prev_blocked = c;
    a->first_blocked = c;
    if (c->gone)
        c->deadline_us = 0;
    if (f == NULL)
        return;
    join_file(c, f);
    file_watch(a, f);
}

void call_unblock(struct agent *a, struct call *c)
{
    leave_file(c);
    if (c->prev_blocked != NULL)
        c->prev_blocked->next_blocked = c->next_blocked;
    else
        a->first_blocked = c->next_blocked;
    if (c->next_blocked != NULL)
        c->next_blocked->prev_blocked = c->prev_blocked;
    c->blocked = c->due = false;
}

void call_deadline(const struct agent *a, struct call *c, uint64_t timeout_us)
{
    c->deadline_us = timeout_us == 0 ? NEVER : a->now_us + timeout_us;
}

static void wake_call(struct agent *a, struct call *c)
{
    call_unblock(a, c);
    c->step(a, c);
}

// A step may end other calls, or block again. Therefore the calls that are due were marked before,
// the loop starts again after each step, and each call is stepped once.
static void wake_due(struct agent *a)
{
    for (struct call *c = a->first_blocked; c != NULL;) {
        if (!c->due) {
            c = c->next_blocked;
            continue;
        }
        wake_call(a, c);
        c = a->first_blocked;
    }
}

// Wakes the calls that wait for f, in the order in which they blocked.
static void wake_waiting(struct agent *a, struct file *f)
{
    for (struct call *c = f->first_waiting; c != NULL; c = c->next_waiting)
        c->due = true;
    for (struct call *c = f->first_waiting; c != NULL;) {
        if (!c->due) {
            c = c->next_waiting;
            continue;
        }
        wake_call(a, c);
        c = f->first_waiting;
    }
}

static void wake_pollers(struct agent *a)
{
    for (struct call *c = a->first_blocked; c != NULL; c = c->next_blocked)
        c->due |= c->to_epoll && c->waits_for == NULL;
    wake_due(a);
}

void file_wake(struct agent *a, struct file *f, uint32_t edges)
{
    f->lent++;  // keeps f until the end of this function
    epoll_changed(a, f, edges);
    wake_waiting(a, f);
    wake_pollers(a);
    file_back(a, f);
}

uint32_t file_mask(struct agent *a, struct file *f)
{
    if (f->kind == FILE_EPOLL)
        return epoll_mask(a, f);
    return f->kind == FILE_UDP ? udp_mask(socket_of(f)) : socket_mask(socket_of(f));
}

void file_watch(struct agent *a, struct file *f)
{
    if (f->kind == FILE_EPOLL)
        epoll_watch(a, f);
    else if (f->kind == FILE_TCP)
        socket_watch(a, socket_of(f));
}

uint64_t run_deadlines(struct agent *a)
{
    uint64_t next_us = NEVER;
    for (struct call *c = a->first_blocked; c != NULL; c = c->next_blocked) {
        c->due |= c->deadline_us <= a->now_us;
        c->timed_out |= c->due;
    }
    wake_due(a);
    for (const struct call *c = a->first_blocked; c != NULL; c = c->next_blocked)
        if (c->deadline_us < next_us)
            next_us = c->deadline_us;
    return next_us;
}

// ---- poll(): the call is a user of the files in c->polled

static struct pollfd *polled_at(struct call *c)
{
    return (struct pollfd *)(uintptr_t)c->reply->data;
}

// A descriptor that was closed during the call gives POLLNVAL, although its file exists until the
// call ends.
static int poll_look(struct agent *a, struct call *c)
{
    struct pollfd *p = polled_at(c);
    int n = 0;
    for (unsigned i = 0; i < c->n_polled; i++) {
        if (c->polled[i] != NULL && fd_get(a, p[i].fd) == NULL)
            p[i].revents = POLLNVAL;
        else if (c->polled[i] != NULL)
            p[i].revents = (short)(file_mask(a, c->polled[i]) &
                                   ((uint32_t)(uint16_t)p[i].events | POLLERR | POLLHUP));
        n += p[i].revents != 0;
    }
    return n;
}

static void watch_polled(struct agent *a, struct call *c)
{
    for (unsigned i = 0; i < c->n_polled; i++)
        if (c->polled[i] != NULL)
            file_watch(a, c->polled[i]);
}

static void poll_step(struct agent *a, struct call *c)
{
    const int n = poll_look(a, c);
    if (n != 0 || c->timed_out || c->deadline_us <= a->now_us) {
        call_return_data(a, c, n, c->n_polled * (uint32_t)sizeof(struct pollfd));
        return;
    }
    c->to_epoll = true;
    watch_polled(a, c);
    call_block(a, c, NULL, poll_step);
}

static int read_poll_request(struct agent *a, struct call *c)
{
    const uint64_t n = (uint64_t)c->r->a[0];
    if (n * sizeof(struct pollfd) != c->r->data_bytes || n > AGENT_DATA_BYTES_MAX)
        return -EINVAL;
    if (n > a->sockets_max)  // Linux compares with RLIMIT_NOFILE
        return -EINVAL;
    c->polled = calloc(n + 1, sizeof(*c->polled));
    if (c->polled == NULL)
        return -ENOMEM;
    c->n_polled = (unsigned)n;
    memcpy(c->reply->data, c->r->data, c->r->data_bytes);
    struct pollfd *p = polled_at(c);
    for (unsigned i = 0; i < n; i++) {
        c->polled[i] = fd_get(a, p[i].fd);
        p[i].revents = p[i].fd >= 0 && c->polled[i] == NULL ? POLLNVAL : 0;
        if (c->polled[i] != NULL)
            file_use(c->polled[i]);
    }
    return 0;
}

void op_poll(struct agent *a, struct call *c)
{
    const int rc = read_poll_request(a, c);
    if (rc != 0) {
        call_return(a, c, rc);
        return;
    }
    const int64_t ms = c->r->a[1];
    c->deadline_us = ms < 0 ? NEVER : a->now_us + (uint64_t)(ms < INT_MAX ? ms : INT_MAX) * 1000;
    watch_polled(a, c);
    call_fence(a, c, poll_step);
}
