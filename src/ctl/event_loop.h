// SPDX-License-Identifier: BSD-3-Clause
// event_loop.h: the loop of the control thread: waits for file descriptors, periodic timers and
// signals, and calls what was registered for them, one after the other, on this thread.
//
//     epoll_wait (at most CTL_EVENTS_A_WAKE) --> callback of the fd, timer or signal --> again
//
// A callback does a bounded piece of work and returns; what is left makes its fd ready again. It
// may add and remove any source, its own too. Control thread only.
#pragma once
#include <signal.h>
#include <sys/epoll.h>

#include "base/err.h"

enum {
    CTL_SOURCES_MAX = 96,    // fds, timers and the signal source together
    CTL_EVENTS_A_WAKE = 16,  // callbacks between two epoll_waits
    CTL_SIGNALS_A_WAKE = 8,
};

// ctl_on_*: what is called: with epoll's event bits, the number of periods passed (more than one
// when the loop was late), or the signal's number.
typedef void ctl_on_fd(void *arg, uint32_t events);
typedef void ctl_on_timer(void *arg, uint64_t periods);
typedef void ctl_on_signal(void *arg, int signal_number);

struct ctl_loop;

// ctl_source: one thing waited for. generation tells an event for an earlier source of the same
// slot.
struct ctl_source {
    void (*ready)(struct ctl_loop *loop, struct ctl_source *s, uint32_t events);
    union {
        ctl_on_fd *fd;
        ctl_on_timer *timer;
        ctl_on_signal *signal;
    } on;
    void *arg;
    int fd;  // -1: slot is free
    uint32_t generation;
    bool owned;  // the loop made the fd and closes it
};

struct ctl_loop {
    int epoll_fd;
    bool stop, signals_on;
    sigset_t signals_before;  // the thread's mask, given back by ctl_loop_fini
    struct ctl_source sources[CTL_SOURCES_MAX];
};

// ctl_loop_init: an empty loop in *loop. 0, or -1 with *e.
int ctl_loop_init(struct ctl_loop *loop, struct err *e);

// ctl_loop_fini: removes all sources and restores the signal mask. The fds that callers added stay
// open. Also of a loop that is all zero bytes or already finished: does nothing.
void ctl_loop_fini(struct ctl_loop *loop);

// ctl_loop_add: calls on(arg, events) while fd shows any of `events` (EPOLLIN, EPOLLOUT; errors and
// hang-ups always). The caller keeps fd, and removes it before closing it. 0, or -1 with *e.
int ctl_loop_add(struct ctl_loop *loop, int fd, uint32_t events, ctl_on_fd *on, void *arg,
                 struct err *e);

// ctl_loop_change: from now on other events of an fd that was added. 0, or -1 with errno.
int ctl_loop_change(struct ctl_loop *loop, int fd, uint32_t events);

// ctl_loop_timer: calls on(arg, periods) every period_ms (1 or more) on the monotonic clock.
// Returns the timer's fd, which ctl_loop_remove takes, or -1 with *e.
int ctl_loop_timer(struct ctl_loop *loop, uint32_t period_ms, ctl_on_timer *on, void *arg,
                   struct err *e);

// ctl_loop_signals: blocks the signals that mean something (base/signals.h) in this thread, and
// calls on(arg, signal) for each, for those too that have waited. Before other threads are made, so
// that they inherit the mask; once per loop. 0, or -1 with *e.
int ctl_loop_signals(struct ctl_loop *loop, ctl_on_signal *on, void *arg, struct err *e);

// ctl_loop_remove: no callback for fd any more, not even for an event already fetched. An fd that
// is not registered: nothing. Closes timers.
void ctl_loop_remove(struct ctl_loop *loop, int fd);

// ctl_loop_turn: waits up to timeout_ms (-1: no limit) and calls what is ready. Returns how many
// callbacks ran, or -errno of epoll_wait. A signal handler's interruption counts as nothing ready.
int ctl_loop_turn(struct ctl_loop *loop, int timeout_ms);

// ctl_loop_run: turns until ctl_loop_stop. 0, or -errno.
int ctl_loop_run(struct ctl_loop *loop);

// ctl_loop_stop: ctl_loop_run returns after the present callback. From a callback, or before the
// run.
void ctl_loop_stop(struct ctl_loop *loop);
