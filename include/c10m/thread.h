// SPDX-License-Identifier: BSD-3-Clause
// c10m/thread.h: an application's own thread on the Linux cores, and messages between it and the
// workers. There the application may do what a callback may not: wait, allocate, make system calls,
// talk to other processes.
//
//     thread (c10m_app.thread)                                 worker i
//        c10m_post(s, i, msg)   --- ring, SPSC --->   message(w, s, msg): c10m_at, c10m_send, ...
//        c10m_take(s, i, ...)   <-- ring, SPSC ---    c10m_answer(w, s, msg), from any callback
//
// A message is a pointer; what it points to is the application's, and whoever holds the message
// owns it. Messages of one worker and direction come in their order. Nobody waits and nobody is
// woken: a full ring refuses, and the thread polls.
//
// The rings are carved when the server starts, for services whose application has `thread`; a
// server without one has none.
#pragma once
#include "c10m/app.h"

enum {
    C10M_MESSAGES_MAX = 4095,     // in one ring: of one worker, service and direction
    C10M_MESSAGES_TURN_MAX = 32,  // that a worker takes of one service in one turn
};

// c10m_thread_stopping: whether the server wants to stop: it waits for `thread` to return, and the
// workers run, take messages and answer until then. Any thread.
bool c10m_thread_stopping(const struct c10m_service *s);

// c10m_post: hands msg to worker number `worker` (0..c10m_workers() - 1), whose `message` gets it
// soon. False: the ring is full, or the application has no `message`. From `thread` only, or a
// thread that takes its place (one at a time). What is posted and not taken when the workers stop
// is never told: `fini` knows what there was.
bool c10m_post(struct c10m_service *s, unsigned worker, void *msg);

// c10m_take: at most max messages that the worker's callbacks gave to c10m_answer, the oldest
// first; how many. As c10m_post.
unsigned c10m_take(struct c10m_service *s, unsigned worker, void **msgs, unsigned max);

// c10m_answer: hands msg to the service's thread. False: the ring is full, or there is no thread.
// From any callback on the worker. After `thread` has returned nobody takes any.
bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg);

// c10m_core_of: the worker that runs this callback of c. Like c it is valid during the callback
// only, also where the same pointer comes again.
struct c10m_core *c10m_core_of(struct c10m_conn *c);

// c10m_core_id: which worker it is, as c10m_worker(). c10m_core_now_us: as c10m_now_us():
// all workers of a server count from the same moment.
unsigned c10m_core_id(const struct c10m_core *w);
uint64_t c10m_core_now_us(const struct c10m_core *w);

// c10m_core_count: as c10m_count(), where there is no connection.
void c10m_core_count(struct c10m_core *w, const struct c10m_service *s, int counter, uint64_t n);

// c10m_at: the connection of this worker that `handle` names, as c10m_find() gives it: in
// `message`, where there is none to come from. Every call of app.h may be made on it until the
// callback returns, and what follows for it comes in the same turn, after the callback. NULL: it
// has been told `close`, or it would be one more than C10M_OTHERS_MAX for this message.
struct c10m_conn *c10m_at(struct c10m_core *w, uint64_t handle);
