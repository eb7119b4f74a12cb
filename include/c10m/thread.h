// SPDX-License-Identifier: BSD-3-Clause
// c10m/thread.h: an application's own thread on the Linux cores, and messages between it and the
// workers. The thread may do what a callback may not do: wait, allocate, make system calls,
// communicate with other processes. Its rights are those of the running server (c10m/app.h).
//
//     thread (c10m_app.thread)                                 worker i
//        c10m_post(s, i, msg)   --- ring, SPSC --->   message(w, s, msg): c10m_at, c10m_send, ...
//        c10m_take(s, i, ...)   <-- ring, SPSC ---    c10m_answer(w, s, msg), from any callback
//
// A message is a pointer. The memory that it points to belongs to the application: the sender owns
// it until the call succeeds, then the receiver. Messages of one worker and one direction arrive in
// order. No call blocks: a call fails if the ring is full. No call wakes the receiver: the thread
// polls.
//
// Signals are blocked in the thread, except SIGPROF: while a CPU profile is taken, a system call
// that waits may return early with EINTR. Threads that `thread` creates are not in the profile.
//
// The server reserves the rings at start, for services whose application has `thread`.
#pragma once
#include "c10m/app.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    C10M_MESSAGES_MAX = 4095,     // in one ring: for one worker, one service and one direction
    C10M_MESSAGES_TURN_MAX = 32,  // processed by a worker for one service in one turn
};

// c10m_thread_stopping: whether the server is stopping. A stopping server waits for `thread` to
// return. Until `thread` has returned, the workers run, process messages and send answers. Any
// thread.
bool c10m_thread_stopping(const struct c10m_service *s);

// c10m_post: sends msg to worker number `worker` (0 to c10m_workers() - 1), which calls `message`
// in one of its next turns. Returns false if the ring is full or the application has no `message`.
// Thread: `thread`, or another thread instead of it, but only one thread at a time. Messages that
// are in the ring when the workers stop are not delivered; `fini` must release them.
bool c10m_post(struct c10m_service *s, unsigned worker, void *msg);

// c10m_take: removes at most max messages from the ring of this worker and stores them in msgs,
// oldest first. Callbacks of the worker have sent them with c10m_answer(). Returns how many; 0: the
// ring is empty. Thread: as c10m_post().
unsigned c10m_take(struct c10m_service *s, unsigned worker, void **msgs, unsigned max);

// c10m_answer: sends msg to the thread of the service. Returns false if the ring is full or the
// service has no thread. Call it in any callback on the worker. A message sent after `thread` has
// returned is not received.
bool c10m_answer(struct c10m_core *w, struct c10m_service *s, void *msg);

// c10m_core_of: the worker that runs this callback of c. The pointer is valid during this callback
// only, even if later callbacks get a pointer of the same value.
struct c10m_core *c10m_core_of(struct c10m_conn *c);

// c10m_core_id: the index of the worker, as c10m_worker(). c10m_core_now_us: as c10m_now_us(); the
// clocks of all workers of a server start at the same moment.
unsigned c10m_core_id(const struct c10m_core *w);
uint64_t c10m_core_now_us(const struct c10m_core *w);

// c10m_core_count: adds n to the counter of this worker, as c10m_count(), in callbacks without a
// connection.
void c10m_core_count(struct c10m_core *w, const struct c10m_service *s, int counter, uint64_t n);

// c10m_at: the connection of this worker that `handle` names, for callbacks without a connection.
// As with c10m_find(), all functions of app.h may be called on the connection until the callback
// returns. Callbacks that result from these calls run in the same turn, after the callback. NULL:
// `close` was already called for the connection, or this callback has used C10M_OTHERS_MAX other
// connections.
struct c10m_conn *c10m_at(struct c10m_core *w, uint64_t handle);

#ifdef __cplusplus
}
#endif
