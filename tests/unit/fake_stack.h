// SPDX-License-Identifier: BSD-3-Clause
// fake_stack.h: c10m/app.h without a stack: the test plays the peer, the network and the clock. It
// keeps the contract of app.h to the letter and aborts the test when the application breaks it: it
// offers data as a copy of exactly its length (so that a sanitizer sees one byte too many), never
// calls back from inside a callback, and checks every argument. One service and its connections at
// a time belong to one thread. A callback may reach other connections (c10m_find): what follows for
// them follows after it, and an abort is told to `close` at once in a service where
// fake_tells_aborts().
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "c10m/trace.h"

struct fake_bytes {
    uint8_t *at;
    size_t len, room;
};

// fake_unix_us: what c10m_unix_us() says: Mon, 23 Nov 2026 13:14:08 GMT, until it is set.
extern uint64_t fake_unix_us;

struct c10m_conn {
    _Alignas(64) uint8_t state[C10M_STATE_BYTES];
    struct c10m_service *service;
    struct fake_bytes in;   // received, not consumed
    struct fake_bytes out;  // all that was ever sent
    size_t acked;           // bytes of out that the peer has acknowledged
    size_t send_room;       // most bytes of c10m_send in flight; SIZE_MAX: no limit
    unsigned refs_refused;  // so many c10m_send_ref are refused first
    uint64_t now_us, timer_us;
    uint32_t waited_us, overloaded_us;
    bool inside, paused, resume, cut_short, shut, aborted, peer_ended, end_told;
    bool closed;      // `close` was told: only fake_close() may follow
    bool connecting;  // made by c10m_connect, not yet answered
    bool draining;    // what c10m_draining() says
    bool in_request;  // c10m_request_begin() without c10m_request_end()
    unsigned data_calls, timer_sets, worker;
    uint64_t handle;
    uint8_t peer_addr[16];
    uint16_t peer_port;
};

// fake_service_new: runs the application's init with `params`: key, value, ... NULL. NULL: init
// failed, and err has its line.
struct c10m_service *fake_service_new(const struct c10m_app *app, const char *const *params,
                                      char *err, size_t err_bytes);
void fake_service_free(struct c10m_service *s);
// fake_warnings: how many lines the service's init gave to c10m_warn; *last: the last of them.
unsigned fake_warnings(const struct c10m_service *s, const char **last);
// fake_image_limit: images beyond `bytes` in a set find no room in the next service.
// fake_memory_lacks: so many of the next images find no memory. fake_image_sets: sets of images
// that are not freed.
void fake_image_limit(uint64_t bytes);
void fake_memory_lacks(struct c10m_service *s, unsigned n);
unsigned fake_image_sets(const struct c10m_service *s);
// fake_images_left: a process before has left FAKE_LEFT_BYTES of images. fake_move: from now on the
// connection is in another process, whose service is s. fake_adopted: its application looks at it;
// returns whether it goes on. Else it may only be closed, without a call of `close`.
enum { FAKE_LEFT_BYTES = 4096 };
void fake_images_left(struct c10m_service *s);
void fake_move(struct c10m_conn *c, struct c10m_service *s);
bool fake_adopted(struct c10m_conn *c);
// fake_reload: a reload, as c10m/reload.h has it, with the result of the last `read`. fake_release:
// releases what is unused, and returns how many objects. fake_stopping: what c10m_reload_stopping()
// says.
int fake_reload(struct c10m_service *s, char *text, size_t bytes);
unsigned fake_release(struct c10m_service *s);
void fake_stopping(struct c10m_service *s, bool stopping);
// fake_counter: the value of the counter called `name`; aborts when there is none.
uint64_t fake_counter(const struct c10m_service *s, const char *name);

struct c10m_conn *fake_open(struct c10m_service *s);
// fake_open_narrow: with this much room in the send queue from the start; fake_open_at: and at this
// time.
struct c10m_conn *fake_open_narrow(struct c10m_service *s, size_t send_room);
struct c10m_conn *fake_open_at(struct c10m_service *s, size_t send_room, uint64_t now_us);
void fake_close(struct c10m_conn *c);
// fake_tells_aborts: from now on `close` follows an abort in the same call, as in the stack.
void fake_tells_aborts(struct c10m_service *s);
// fake_refuse_connects: the next n c10m_connect of the service return rc. fake_connected: the
// connection that the last one made; NULL: none since this was asked. fake_answer: its peer
// accepts. fake_lost: the connection ends with `why`, told to `close`.
void fake_refuse_connects(struct c10m_service *s, unsigned n, int rc);
struct c10m_conn *fake_connected(struct c10m_service *s);
void fake_answer(struct c10m_conn *c);
void fake_lost(struct c10m_conn *c, enum c10m_close why);
// fake_feed: the peer sends bytes, in pieces of `piece` (0: all at once).
void fake_feed(struct c10m_conn *c, const void *bytes, size_t len, size_t piece);
// fake_end: the peer's FIN.
void fake_end(struct c10m_conn *c);
// fake_ack: the peer acknowledges up to `bytes` more; `writable` follows where it is due. Returns
// how many were acknowledged.
size_t fake_ack(struct c10m_conn *c, size_t bytes);
// fake_workers: the next service is run by so many workers, not by one; c->worker says by which.
void fake_workers(unsigned n);
// fake_refuse_logs: the next n records find the ring full. fake_log_end: no more records for now;
// returns how many the application lost.
void fake_refuse_logs(struct c10m_service *s, unsigned n);
unsigned fake_log_end(struct c10m_service *s);
// fake_drain: the peer acknowledges all that comes, until nothing more comes.
void fake_drain(struct c10m_conn *c);
// fake_advance: time passes, timers fire.
void fake_advance(struct c10m_conn *c, uint64_t ms);
// fake_service_drains: c10m_draining() says so from now on, and `drain` is told.
void fake_service_drains(struct c10m_conn *c);
