// SPDX-License-Identifier: BSD-3-Clause
// event_loop.h: the event loop of the control thread: waits for file descriptors, periodic timers
// and signals, and calls their callbacks one after the other on this thread.
//
//     epoll_wait (at most CTL_EVENTS_A_WAKE) --> callback of the fd, timer or signal --> again
//
// A callback does a bounded amount of work and returns; if more is to do, its fd stays ready. It
// may add and remove any source, including its own. Control thread only.
#pragma once
#include <signal.h>
#include <sys/epoll.h>

#include "base/err.h"

enum {
    CTL_SOURCES_MAX = 96,    // fds, timers and the signal source together
    CTL_EVENTS_A_WAKE = 16,  // callbacks between two epoll_waits
    CTL_SIGNALS_A_WAKE = 8,
};

// ctl_on_*: the types of callbacks. events: epoll bits. periods: the number of periods passed, more
// than one if the loop was late. signal: its number.
typedef void ctl_on_fd(void *arg, uint32_t events);
typedef void ctl_on_timer(void *arg, uint64_t periods);
typedef void ctl_on_signal(void *arg, int signal_number);

struct ctl_loop;

// ctl_source: one source of events. generation identifies events of an earlier source in the same
// slot.
struct ctl_source {
    void (*ready)(struct ctl_loop *loop, struct ctl_source *s, uint32_t events);
    union {
        ctl_on_fd *fd;
        ctl_on_timer *timer;
        ctl_on_signal *signal;
    } on;
    void *arg;
    int fd;  // -1: the slot is free
    uint32_t generation;
    bool owned;  // the loop has created the fd and closes it
};

struct ctl_loop {
    int epoll_fd;
    bool stop, signals_on;
    sigset_t signals_before;  // the thread's signal mask, restored by ctl_loop_fini()
    struct ctl_source sources[CTL_SOURCES_MAX];
};

// ctl_loop_init: makes *loop an empty loop. Returns 0, or -1 with *e.
int ctl_loop_init(struct ctl_loop *loop, struct err *e);

// ctl_loop_fini: removes all sources and restores the signal mask. fds that callers have added stay
// open. Does nothing for a loop that is all zero or already finished.
void ctl_loop_fini(struct ctl_loop *loop);

// ctl_loop_add: calls on(arg, events) while fd has any of `events` (EPOLLIN, EPOLLOUT), an error or
// a hang-up. The caller owns fd and must remove it before closing it. Returns 0, or -1 with *e.
int ctl_loop_add(struct ctl_loop *loop, int fd, uint32_t events, ctl_on_fd *on, void *arg,
                 struct err *e);

// ctl_loop_change: changes the events of an fd that was added. Returns 0, or -1 with errno.
int ctl_loop_change(struct ctl_loop *loop, int fd, uint32_t events);

// ctl_loop_timer: calls on(arg, periods) every period_ms (1 or more) on the monotonic clock.
// Returns the timer's fd for ctl_loop_remove(), or -1 with *e.
int ctl_loop_timer(struct ctl_loop *loop, uint32_t period_ms, ctl_on_timer *on, void *arg,
                   struct err *e);

// ctl_loop_signals: blocks the signals of base/signals.h in this thread, and calls on(arg, signal)
// for each, including pending ones. Call it once per loop, before other threads are created, so
// that they inherit the mask. Returns 0, or -1 with *e.
int ctl_loop_signals(struct ctl_loop *loop, ctl_on_signal *on, void *arg, struct err *e);

// ctl_loop_remove: removes a source. Its callback is not called any more, not even for an event
// that was already fetched. Closes timers. Does nothing if fd is not registered.
void ctl_loop_remove(struct ctl_loop *loop, int fd);

// ctl_loop_turn: waits up to timeout_ms (-1: no limit) and calls the callbacks of ready sources.
// Returns how many were called, or -errno of epoll_wait(). An interruption by a signal handler
// returns 0.
int ctl_loop_turn(struct ctl_loop *loop, int timeout_ms);

// ctl_loop_run: runs turns until ctl_loop_stop(). Returns 0, or -errno.
int ctl_loop_run(struct ctl_loop *loop);

// ctl_loop_stop: makes ctl_loop_run() return after the present callback. Call it in a callback, or
// before ctl_loop_run().
void ctl_loop_stop(struct ctl_loop *loop);
