// SPDX-License-Identifier: BSD-3-Clause
// violation.h: the end of a process one of whose threads made a system call that its filter does
// not allow (confine/call_filter.h). The kernel sends SIGSYS to that thread. The handler writes one
// line to stderr, which names the thread, what it was doing and the call, and the process ends by
// SIGSYS.
//
//     c10m: worker on CPU 1, stage app of service web: the system call socket (41) is not allowed
//     (seccomp): the process ends
//
// A SIGSYS that another process sends has its meaning for all threads (base/signals.h): the handler
// hands it over to the main thread, which reads it from its signalfd.
#pragma once
#include <stddef.h>

// violation_place: what the thread does now: fills in text of n bytes. Called in a signal handler:
// it may use snprintf() for integers and strings, and nothing else of libc.
struct violation_place {
    void (*say)(const void *arg, char *text, size_t n);
    const void *arg;
};

// violation_catch: installs the handler. Main thread, before it loads a filter. What it needs is
// there afterwards; the handler allocates nothing.
void violation_catch(void);

// violation_accept: the calling thread accepts the signal, and is where `place` says. The caller
// keeps `place`. A thread that does not call it ends the process without the line.
void violation_accept(const struct violation_place *place);
