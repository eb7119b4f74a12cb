// SPDX-License-Identifier: BSD-3-Clause
// call_filter.h: which system calls a thread may make (seccomp). A filter is made by the control
// thread, with libseccomp, and loaded by the thread that it confines. It cannot be taken back.
#pragma once
#include "base/err.h"

struct sock_filter;

// What happens on a system call that a filter does not allow.
enum call_mode {
    CALLS_OFF,  // there are no filters
    CALLS_LOG,  // the kernel logs the call (audit), and makes it
    CALLS_ON,   // the process ends (confine/violation.h)
};

enum { CALLS_MAX = 64 };

// call_list: numbers of system calls, as in <sys/syscall.h>.
struct call_list {
    unsigned n;
    int of[CALLS_MAX];
};

// call_list_add: those of `more` that the list does not have yet.
void call_list_add(struct call_list *list, const int *more, unsigned n);

// call_filter: starts zeroed.
struct call_filter {
    unsigned short n;  // instructions; 0: the filter allows everything
    struct sock_filter *code;
};

// call_filter_worker: allows `calls`, and what every worker needs: to end, to be profiled, to give
// up its core, to read the clock, to write to stderr, and to end the process by a signal.
int call_filter_worker(struct call_filter *f, const struct call_list *calls, enum call_mode mode,
                       struct err *err);

// call_filter_control: allows all but what no thread of a running server has a reason for: to start
// programs and processes, to inspect other processes, to change mounts, namespaces, users,
// the kernel or the clock, to make io_uring, and sockets of families that c10m does
// not use. `except`: calls that are allowed all the same.
int call_filter_control(struct call_filter *f, const struct call_list *except, enum call_mode mode,
                        struct err *err);

// call_filter_free: what was loaded stays in force.
void call_filter_free(struct call_filter *f);

// call_filter_load: confines the calling thread, and the threads that it creates. all: every thread
// of the process; no other one may have a filter yet. The threads can gain no privilege by execve()
// afterwards. Allocates nothing. Returns 0 or -errno.
int call_filter_load(const struct call_filter *f, bool all);
