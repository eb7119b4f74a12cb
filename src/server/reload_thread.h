// SPDX-License-Identifier: BSD-3-Clause
// reload_thread.h: the helper thread of reloads (c10m/reload.h). There is one task at a time:
// `read`, or `release` of one object. Each task has a thread of its own. It runs on the cores of
// [cpu] linux with the rights of the running server, and without capabilities unless the server
// stays root. Control thread only.
#pragma once
#include "base/err.h"
#include "c10m/reload.h"

struct reload_thread;
struct server;

// reload_result: what a task has returned. text: of `read`.
struct reload_result {
    unsigned service;
    bool released;  // the task was `release`
    int rc;         // of `read`
    void *made;     // by `read`, if rc is 0
    char text[C10M_RELOAD_TEXT_BYTES];
};

// reload_thread_new: without a task, for the services of s, which outlives it. NULL: no memory.
// reload_thread_free: tells a task to stop, waits for it, and releases what it has made.
struct reload_thread *reload_thread_new(struct server *s);
void reload_thread_free(struct reload_thread *t);

// reload_thread_busy: whether a task runs, or its result was not taken.
bool reload_thread_busy(const struct reload_thread *t);

// reload_thread_read, reload_thread_release: begin a task for a service whose application has
// `reload`, while none is busy. 0, or -1 with *err: there is no thread.
int reload_thread_read(struct reload_thread *t, unsigned service, struct err *err);
int reload_thread_release(struct reload_thread *t, unsigned service, void *object, struct err *err);

// reload_thread_take: whether the task has ended; then its result is in *r.
bool reload_thread_take(struct reload_thread *t, struct reload_result *r);
