// SPDX-License-Identifier: BSD-3-Clause
// c10m/thread.h: an application's own thread on the Linux cores, and messages between it and the
// workers. There the application may do what a callback may not: wait, allocate, make system calls,
// talk to other processes.
//
//     thread (c10m_app.thread)                                 worker i
//        c10m_post(s, i, msg)   --- ring, SPSC --->   message(w, s, msg): c10m_at, c10m_send, ...
//        c10m_take(s, i, ...)   <-- ring, SPSC ---    c10m_answer(w, s, msg), from any callback
//
// A message is a pointer. The memory that it points to belongs to the application; the holder of
// the message owns it. Messages of one worker and one direction arrive in order. Nothing blocks and
// nothing is woken: a call fails if the ring is full, and the thread polls.
//
// The server reserves the rings at start, for services whose application has `thread`.
#pragma once
#include "c10m/app.h"

enum {
    C10M_MESSAGES_MAX = 4095,     // in one ring: of one worker, service and direction
    C10M_MESSAGES_TURN_MAX = 32,  // processed by a worker for one service in one turn
};

// c10m_thread_stopping: whether the server is stopping. It then waits for `thread` to return; until
// that the workers run, process messages and answer. Any thread.
bool c10m_thread_stopping(const struct c10m_service *s);

// c10m_post: sends msg to worker number `worker` (0 to c10m_workers() - 1), which calls `message`
// soon. False: the ring is full, or the application has no `message`. Called by `thread`, or by one
// other thread in its place at a time. Messages that are in the ring when the workers stop are not
// delivered: `fini` has to release them.
bool c10m_post(struct c10m_service *s, unsigned worker, void *msg);

// c10m_take: gets at most max messages that callbacks of this worker have sent with c10m_answer(),
// oldest first. Returns how many. Called by the same thread as c10m_post().
unsigned c10m_take(struct c10m_service *s, unsigned worker, void **msgs, unsigned max);

// c10m_answer: sends msg to the thread of the service. False: the ring is full, or there is no
// thread. Called in any callback on the worker. After `thread` has returned, nothing receives it.
bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg);

// c10m_core_of: the worker that runs this callback of c. The pointer is valid during this callback
// only, even if later callbacks get the same value.
struct c10m_core *c10m_core_of(struct c10m_conn *c);

// c10m_core_id: the index of the worker, as c10m_worker(). c10m_core_now_us: as c10m_now_us(); the
// clocks of all workers of a server start at the same moment.
unsigned c10m_core_id(const struct c10m_core *w);
uint64_t c10m_core_now_us(const struct c10m_core *w);

// c10m_core_count: as c10m_count(), for callbacks without a connection.
void c10m_core_count(struct c10m_core *w, const struct c10m_service *s, int counter, uint64_t n);

// c10m_at: the connection of this worker that `handle` names, for callbacks without a connection.
// Like c10m_find(): all functions of app.h may be called on it until the callback returns, and the
// events that follow from them come in the same turn, after the callback. NULL: `close` was called
// for it already, or C10M_OTHERS_MAX would be exceeded for this message.
struct c10m_conn *c10m_at(struct c10m_core *w, uint64_t handle);
