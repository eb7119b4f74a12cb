// SPDX-License-Identifier: BSD-3-Clause
// app_threads.h: the threads of applications (c10m/thread.h) and their rings: two SPSC rings of
// DPDK for each such service and worker. The workers' side of the rings is worker/messages.h.
#pragma once
#include <pthread.h>

#include "server/server.h"

enum { THREAD_RING_SLOTS = C10M_MESSAGES_MAX + 1 };

// server_threads: how many services of these parameters have a thread.
unsigned server_threads(const struct server_params *p);

// server_thread_footprint, server_thread_init: one worker's rings for all of them, in memory
// aligned to a cache line; w knows them from then on.
uint64_t server_thread_footprint(const struct server_params *p);
void server_thread_init(const struct server_params *p, struct worker *w, uint8_t *mem);

// server_threads_start: the threads, once the workers run; -1: *err. server_threads_stop: tells
// them, and waits until each has returned. Control thread.
int server_threads_start(struct server *s, struct err *err);
void server_threads_stop(struct server *s);

// server_thread_cpus: the thread runs on all cores of [cpu] linux from now on; where these are not
// allowed, on those of the control thread, which has created it.
void server_thread_cpus(const struct server_params *p, pthread_t thread);
