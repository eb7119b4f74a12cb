// SPDX-License-Identifier: BSD-3-Clause
// epoll. An item is one file that an epoll instance watches. Items that may be ready are in a list,
// in the order in which they became ready, as Linux's rdllist. epoll_wait() checks the items of
// this list.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "app/agent/agent.h"

#define PRIVATE_BITS (EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)
#define EXCLUSIVE_OK                                                                               \
    (EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE)

struct epoll_item {
    struct epoll *of;
    struct file *file;
    int fd;
    uint32_t events;
    uint64_t data;
    bool ready;
    struct epoll_item *next;  // of the epoll instance
    struct epoll_item *next_of_file;
    struct epoll_item *next_ready;
};

struct epoll {
    struct file f;  // first
    struct epoll_item *items;
    struct epoll_item *first_ready, *last_ready;
};

static struct epoll *epoll_of(struct file *f)
{
    return (struct epoll *)f;
}

static void set_ready(struct epoll_item *i)
{
    struct epoll *e = i->of;
    if (i->ready || (i->events & ~(uint32_t)PRIVATE_BITS) == 0)
        return;
    i->ready = true;
    i->next_ready = NULL;
    if (e->first_ready == NULL)
        e->first_ready = i;
    else
        e->last_ready->next_ready = i;
    e->last_ready = i;
}

static struct epoll_item *pop_ready(struct epoll *e)
{
    struct epoll_item *i = e->first_ready;
    e->first_ready = i->next_ready;
    i->ready = false;
    return i;
}

static void unset_ready(struct epoll_item *i)
{
    struct epoll *e = i->of;
    struct epoll_item **at = &e->first_ready, *last = NULL;
    if (!i->ready)
        return;
    while (*at != i) {
        last = *at;
        at = &(*at)->next_ready;
    }
    *at = i->next_ready;
    if (e->last_ready == i)
        e->last_ready = last;
    i->ready = false;
}

static uint32_t item_mask(struct agent *a, const struct epoll_item *i)
{
    return i->events & ~(uint32_t)PRIVATE_BITS ? file_mask(a, i->file) & i->events : 0;
}

uint32_t epoll_mask(struct agent *a, struct file *f)
{
    for (struct epoll_item *i = epoll_of(f)->first_ready; i != NULL; i = i->next_ready)
        if (item_mask(a, i) != 0)
            return EPOLLIN | EPOLLRDNORM;
    return 0;
}

// Requests reports of changes for all files that the epoll instance watches.
void epoll_watch(struct agent *a, struct file *f)
{
    for (struct epoll_item *i = epoll_of(f)->items; i != NULL; i = i->next)
        file_watch(a, i->file);
}

static bool has_waiter(const struct agent *a, const struct epoll *e)
{
    const struct call *c = a->first_blocked;
    while (c != NULL && c->file != &e->f)
        c = c->next_blocked;
    return c != NULL;
}

// Whether the event is not reported to further exclusive items, because a waiter of this item is
// woken (Linux's ep_poll_callback()).
static bool stops_wakeup(const struct agent *a, const struct epoll_item *i, uint32_t edges)
{
    const uint32_t both = EPOLLIN | EPOLLOUT;
    return (i->events & EPOLLEXCLUSIVE) && (edges & both) != both && has_waiter(a, i->of);
}

// Reports a change to the epoll instances that watch f, and to those that watch these.
// check_nesting() bounds the depth of the recursion.
void epoll_changed(struct agent *a, struct file *f, uint32_t edges)
{
    for (struct epoll_item *i = f->items; i != NULL; i = i->next_of_file) {
        if ((i->events & edges) == 0)
            continue;
        set_ready(i);
        epoll_changed(a, &i->of->f, EPOLLIN | EPOLLRDNORM);
        if (stops_wakeup(a, i, edges))
            return;
    }
}

// ---- adding and removing items

static void item_free(struct epoll_item *i)
{
    struct epoll_item **at = &i->of->items;
    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    for (at = &i->file->items; *at != i;)
        at = &(*at)->next_of_file;
    *at = i->next_of_file;
    unset_ready(i);
    free(i);
}

void epoll_forget(struct agent *a, struct file *f)
{
    (void)a;
    while (f->items != NULL)
        item_free(f->items);
}

void epoll_release(struct agent *a, struct file *f)
{
    (void)a;
    while (epoll_of(f)->items != NULL)
        item_free(epoll_of(f)->items);
}

static struct epoll_item *item_find(struct epoll *e, const struct file *f, int fd)
{
    struct epoll_item *i = e->items;
    while (i != NULL && (i->file != f || i->fd != fd))
        i = i->next;
    return i;
}

// The depth of nested epoll instances below f, f included. -1: deeper than `left`, or `top` is
// among them. Increments *paths for each path, up to the limit.
static int depth(const struct epoll *top, struct file *f, int left, unsigned *paths)
{
    int most = 0;
    if (f->kind != FILE_EPOLL || ++*paths > AGENT_EPOLL_PATHS_MAX)
        return 0;
    if (f == &top->f || left == 0)
        return -1;
    for (struct epoll_item *i = epoll_of(f)->items; i != NULL; i = i->next) {
        const int n = depth(top, i->file, left - 1, paths);
        if (n < 0)
            return -1;
        most = n > most ? n : most;
    }
    return most + 1;
}

// The depth of nested epoll instances that watch f; 0: none. *paths: as in depth().
static int height(const struct file *f, int left, unsigned *paths)
{
    int most = 0;
    if (++*paths > AGENT_EPOLL_PATHS_MAX)
        return 0;
    for (struct epoll_item *i = f->items; left != 0 && i != NULL; i = i->next_of_file) {
        const int n = 1 + height(&i->of->f, left - 1, paths);
        most = n > most ? n : most;
    }
    return most;
}

// Linux's ep_loop_check(), and a limit on the number of paths similar to its reverse_path_check().
// Without the limit, nested epoll instances could make one event follow millions of paths.
static int check_nesting(const struct epoll *e, struct file *f)
{
    unsigned down = 0, up = 0;
    const int below = depth(e, f, AGENT_EPOLL_DEPTH_MAX, &down);
    const int above = below > 0 ? height(&e->f, AGENT_EPOLL_DEPTH_MAX, &up) : 0;
    if (below < 0 || (below > 0 && below + above >= AGENT_EPOLL_DEPTH_MAX))
        return -ELOOP;
    return (uint64_t)down * up > AGENT_EPOLL_PATHS_MAX ? -EINVAL : 0;
}

static int add(struct epoll *e, struct file *f, int fd, const struct epoll_event *event)
{
    const int rc = check_nesting(e, f);
    if (rc != 0)
        return rc;
    struct epoll_item *i = calloc(1, sizeof(*i));
    if (i == NULL)
        return -ENOMEM;
    *i = (struct epoll_item){.of = e,
                             .file = f,
                             .fd = fd,
                             .events = event->events | EPOLLERR | EPOLLHUP,
                             .data = event->data.u64,
                             .next = e->items};
    // Exclusive items are at the end of the list, in the order of their addition.
    struct epoll_item **at = &f->items;
    while (*at != NULL && (event->events & EPOLLEXCLUSIVE))
        at = &(*at)->next_of_file;
    i->next_of_file = *at;
    e->items = *at = i;
    set_ready(i);
    return 0;
}

static int modify(struct epoll_item *i, const struct epoll_event *event)
{
    if (i->events & EPOLLEXCLUSIVE)
        return -EINVAL;
    i->events = event->events | EPOLLERR | EPOLLHUP;
    i->data = event->data.u64;
    set_ready(i);
    return 0;
}

static int change(struct epoll *e, struct file *f, int op, int fd, const struct epoll_event *event)
{
    struct epoll_item *i = item_find(e, f, fd);
    switch (op) {
    case EPOLL_CTL_ADD:
        return i != NULL ? -EEXIST : add(e, f, fd, event);
    case EPOLL_CTL_MOD:
        return i == NULL ? -ENOENT : modify(i, event);
    case EPOLL_CTL_DEL:
        if (i == NULL)
            return -ENOENT;
        item_free(i);
        return 0;
    default:
        return -EINVAL;
    }
}

// The checks of EPOLLEXCLUSIVE in Linux's do_epoll_ctl().
static bool exclusive_is_valid(const struct file *f, int op, uint32_t events)
{
    if (!(events & EPOLLEXCLUSIVE) || op == EPOLL_CTL_DEL)
        return true;
    return op == EPOLL_CTL_ADD && f->kind != FILE_EPOLL && !(events & ~(uint32_t)EXCLUSIVE_OK);
}

void op_epoll_ctl(struct agent *a, struct call *c)
{
    const int op = (int)c->r->a[0], fd = (int)c->r->a[1];
    struct file *f = fd_get(a, fd);
    struct epoll_event event = {.events = 0};
    int rc = 0;
    if (op != EPOLL_CTL_DEL && c->r->data_bytes < sizeof(event))
        rc = -EFAULT;
    else if (op != EPOLL_CTL_DEL)
        memcpy(&event, c->r->data, sizeof(event));
    if (rc == 0 && f == NULL)
        rc = -EBADF;
    if (rc == 0 &&
        (f == c->file || c->file->kind != FILE_EPOLL || !exclusive_is_valid(f, op, event.events)))
        rc = -EINVAL;
    if (rc == 0)
        rc = change(epoll_of(c->file), f, op, fd, &event);
    if (rc == 0 && op != EPOLL_CTL_DEL) {
        file_watch(a, f);
        file_wake(a, c->file, EPOLLIN | EPOLLRDNORM);
    }
    call_return(a, c, rc);
}

void op_epoll_create(struct agent *a, struct call *c)
{
    struct epoll *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        call_return(a, c, -ENOMEM);
        return;
    }
    file_init(a, &e->f, FILE_EPOLL);
    const int fd = fd_new(a, &e->f);
    if (fd < 0)
        file_unuse(a, &e->f);
    call_return(a, c, fd);
}

// ---- epoll_wait

// Level-triggered items return to the end of the list. One-shot items are disabled after one
// report.
static int collect(struct agent *a, struct epoll *e, struct epoll_event *to, int most)
{
    struct epoll_item *end = e->last_ready, *i;
    int n = 0;
    while (n < most && e->first_ready != NULL) {
        i = pop_ready(e);
        const uint32_t mask = item_mask(a, i);
        if (mask != 0) {
            to[n++] = (struct epoll_event){.events = mask, .data.u64 = i->data};
            if (i->events & EPOLLONESHOT)
                i->events &= PRIVATE_BITS;
            else if (!(i->events & EPOLLET))
                set_ready(i);
        }
        if (i == end)
            break;
    }
    return n;
}

static void wait_step(struct agent *a, struct call *c)
{
    struct epoll *e = epoll_of(c->file);
    const int n =
        c->gone ? 0 : collect(a, e, (struct epoll_event *)(uintptr_t)c->reply->data, (int)c->want);
    if (n != 0 || c->timed_out || c->deadline_us <= a->now_us) {
        call_return_data(a, c, n, (uint32_t)n * (uint32_t)sizeof(struct epoll_event));
        return;
    }
    c->to_epoll = true;
    epoll_watch(a, c->file);
    call_block(a, c, NULL, wait_step);
}

// As in Linux, the number of events is checked before the descriptor.
void op_epoll_wait(struct agent *a, struct call *c)
{
    enum { ROOM = AGENT_DATA_BYTES_MAX / sizeof(struct epoll_event) };
    const int64_t most = c->r->a[0], ms = c->r->a[1];
    struct file *f = fd_get(a, c->r->fd);
    if (most <= 0 || most > INT_MAX / (int)sizeof(struct epoll_event) || f == NULL ||
        f->kind != FILE_EPOLL) {
        const bool bad_most = most <= 0 || most > INT_MAX / (int)sizeof(struct epoll_event);
        call_return(a, c, bad_most || f != NULL ? -EINVAL : -EBADF);
        return;
    }
    file_use(f);
    c->file = f;
    c->want = most < ROOM ? most : ROOM;
    c->deadline_us = ms < 0 ? NEVER : a->now_us + (uint64_t)(ms < INT_MAX ? ms : INT_MAX) * 1000;
    epoll_watch(a, f);
    call_fence(a, c, wait_step);
}
