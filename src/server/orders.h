// SPDX-License-Identifier: BSD-3-Clause
// orders.h: the control thread's side of orders (worker/order.h): a queue of jobs, each for all
// workers, and the settings that all of them should have. Nothing here waits: a job ends when every
// worker has answered, or when one has not moved for ORDERS_TIMEOUT_MS.
//
//     orders_post() --> queue --> slot of each worker, one job at a time --> answers --> done()
//     orders_set()  --> settings --> slot of each worker that has old ones, before its next job
//
// The jobs of a stalled worker end with -ETIMEDOUT. If it resumes, it executes the job that was in
// its slot and no other one, and receives the latest settings. Control thread only.
#pragma once
#include "worker/order.h"

enum {
    ORDERS_MAX = 64,           // jobs at a time
    ORDERS_TIMEOUT_MS = 2000,  // without an answer and without a step of a walk
    ORDERS_POLL_MS = 2,        // between two polls while a job is under way
};

struct server;
struct orders;

// order_answer: the result of a job on all workers.
struct order_answer {
    int error;         // 0, -ETIMEDOUT, or the first -errno of a worker
    unsigned workers;  // number of workers that received the job
    unsigned done;     // number of workers that executed it without an error
    uint64_t count;    // sum of the counts that they returned
    uint64_t looked;   // blocks that walks have looked at
    unsigned late;     // with -ETIMEDOUT: the first worker that did not answer
};

// orders_done: a job is over. May post.
typedef void orders_done(void *arg, const struct order_answer *a);

// orders_new: for the workers of s, which outlives it, with its parameters as the settings that
// they have. NULL: no memory. orders_free: those under way are forgotten, and nobody is told.
struct orders *orders_new(const struct server *s);
void orders_free(struct orders *o);

// orders_post: a job: `order` to every worker. 0, or -EBUSY: ORDERS_MAX are under way.
int orders_post(struct orders *o, const struct order *order, orders_done *done, void *arg);

// orders_settings: what all workers should have, to be changed and then given by orders_set();
// connections_max and source_max are of all workers together.
struct order_settings *orders_settings(struct orders *o);
void orders_set(struct orders *o);

// orders_poll: takes answers and hands out what is next, at now_ms of any clock that goes on.
// False: nothing is under way, and none is needed before the next post or set.
bool orders_poll(struct orders *o, uint64_t now_ms);

// orders_lagging: the first worker that has not got the last settings yet, -1: all have.
int orders_lagging(const struct orders *o);
