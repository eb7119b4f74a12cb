// SPDX-License-Identifier: BSD-3-Clause
// worker_start.h: the start of a worker's thread, under its filter of system calls.
#pragma once
#include "base/err.h"
#include "confine/call_filter.h"
#include "confine/violation.h"
#include "worker/worker.h"

struct server;
struct server_params;

// worker_start: what the thread of one worker is given. It outlives the thread.
struct worker_start {
    struct worker *worker;
    int (*run)(void *worker);
    const struct call_filter *filter;
    struct violation_place place;
};

// worker_filter: of the drivers of all ports, and of applications that allocate; all workers have
// the same. Control thread.
int worker_filter(const struct server_params *p, struct call_filter *filter, struct err *err);

// worker_control_calls: those system calls that the control thread makes for a driver alone.
void worker_control_calls(const struct server_params *p, struct call_list *calls);

// worker_capabilities: what the control thread needs to open the devices again, when they return.
uint64_t worker_capabilities(const struct server_params *p);

// worker_place: where the worker is: "worker on CPU 1, stage app of service web". Of a worker only.
void worker_place(const void *worker, char *text, size_t n);

// worker_begin: loads the filter, and runs the worker. Its thread calls it. The process ends if the
// filter cannot be loaded.
int worker_begin(void *start);
