// SPDX-License-Identifier: BSD-3-Clause
// c10m/app.h: the interface of applications. An application runs inside the worker, on connections
// whose state is in the connection block. A callback gets the connection, does what it can do at
// once, and returns. It must not block, sleep, allocate or make system calls: its cycles are
// counted, and every packet of the core waits for it.
//
//                        open                 data / end / writable / timer
//   peer's handshake ------------> [ connection ] --------------------------> callbacks
//                                       |  close (exactly once, last)
//                                       v
//                                    block reused
//
// Threads: all callbacks of a connection run on the one worker that owns it. Only `init`, `fini`
// and `log` run on the control thread: before the workers start, after they have stopped, and while
// they run. `thread` has a thread of its own (c10m/thread.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct c10m_conn;    // one connection, valid during the callback that gets it
struct c10m_core;    // one worker, as a callback without a connection sees it (c10m/thread.h)
struct c10m_packet;  // a UDP datagram, and what an ICMP error says of one (c10m/socket.h)
struct c10m_packet_error;
struct c10m_service;  // one [service NAME] of the configuration that runs this application
struct tree_node;     // a directory of the control tree (c10m/tree.h)
struct c10m_image;  // immutable bytes in hugepages, shared by all workers, to be sent by reference

enum {
    C10M_STATE_BYTES = 64,  // application state per connection, zero at open
    // Unconsumed bytes are offered as one contiguous range of up to this many (from the first
    // unconsumed byte on, never fewer than before), so that a parser can wait for the end of an
    // element.
    C10M_DATA_CONTIG_BYTES = 16384,
    C10M_UNREAD_BYTES = 2048,  // growth of unread data after which `unread` is called
    C10M_SEND_REF_BYTES_MAX =
        1 << 30,                // of one c10m_send_ref(): sequence numbers compare within 2^31
    C10M_LOG_BYTES_MAX = 2048,  // of one c10m_log()
    C10M_OTHERS_MAX = 16,       // other connections that callbacks of one event use
};

// Why a connection ended, an argument of `close`.
enum c10m_close {
    C10M_CLOSED,       // both directions closed in order
    C10M_RESET,        // the peer reset it
    C10M_TIMED_OUT,    // the peer stopped answering (R2, keepalive)
    C10M_ABORTED,      // c10m_abort(), or the server stopped
    C10M_UNREACHABLE,  // active open failed: no answer, or an ICMP error
    C10M_REFUSED,      // active open answered by RST
};

// c10m_datagram: a UDP datagram of len bytes, and `room` bytes for the answer.
struct c10m_datagram {
    const uint8_t *data;
    size_t len;
    uint8_t *answer;
    size_t room;
    uint64_t now_us;   // as c10m_now_us()
    uint64_t unix_us;  // as c10m_unix_us()
};

// c10m_app: one application. Every callback may be NULL. Without `data` the application pulls
// (c10m/socket.h). Callbacks without a connection get the service in `s`.
struct c10m_app {
    const char *name;
    // init: called once for each service with this application, before the workers start. Returns
    // 0, or -1 with one line for the user in err[0..err_bytes). It may allocate, read files and
    // create images.
    int (*init)(struct c10m_service *s, char *err, size_t err_bytes);
    void (*fini)(struct c10m_service *s);
    // open: the connection is established. Its state is zero, except for what the caller of
    // c10m_connect() has stored there.
    void (*open)(struct c10m_conn *c);
    // data: in-order bytes of the stream, valid during the call. Returns how many were consumed
    // (0..len). The others stay queued, reduce the window, and are offered again, together with new
    // bytes, when more data arrives or after c10m_resume().
    size_t (*data)(struct c10m_conn *c, const uint8_t *data, size_t len);
    // unread: on a paused connection the unconsumed bytes have passed another multiple of
    // C10M_UNREAD_BYTES (c10m_receive_queued()), for applications that limit their sum over
    // connections.
    void (*unread)(struct c10m_conn *c);
    // readable: for an application without `data` (c10m/socket.h): new unread bytes, the peer's
    // FIN, or the connection ended with unread bytes (c10m_error). Called once in a turn, after all
    // other events. drained: after c10m_shutdown(): the peer has acknowledged everything, FIN
    // included. It may be called more than once.
    void (*readable)(struct c10m_conn *c);
    void (*drained)(struct c10m_conn *c);
    // end: the peer has sent FIN and all data before it was consumed. NULL: the stack closes this
    // direction too, unless the application pulls.
    void (*end)(struct c10m_conn *c);
    // writable: after a partial send, there is room again.
    void (*writable)(struct c10m_conn *c);
    // timer: the timer of c10m_set_timer() has expired.
    void (*timer)(struct c10m_conn *c);
    // close: the last callback of the connection. Nothing can be sent any more.
    void (*close)(struct c10m_conn *c, enum c10m_close why);
    // datagram: a UDP datagram to a port of a service with udp = on. Returns the bytes of d->answer
    // (0..d->room) to send back, from the address and port that it was sent to; -1: no answer.
    // There is no connection, and nothing is kept. NULL: the application serves TCP only.
    int (*datagram)(struct c10m_service *s, const struct c10m_datagram *d);
    // log: on the control thread: a record from c10m_log(), in order for each worker. record NULL,
    // len 0: no more for now, write them out. It may write files and allocate, but the control
    // thread waits for it. Returns how many records could not be written.
    unsigned (*log)(struct c10m_service *s, const void *record, size_t len);
    // tree: on the control thread, once for each service before the workers run: creates the
    // service's entries below dir, which is apps/SERVICE of the tree (c10m/tree.h; the names
    // `counters`, `state` and `log` are used). They are removed with the server, before fini.
    // Returns 0, or -1 with tree_error: the server does not start.
    int (*tree)(const struct c10m_service *s, struct tree_node *dir);
    // thread: once for each service, on a thread of its own on the Linux cores while the workers
    // run. It returns soon after c10m_thread_stopping() is true. message: on the worker: a message
    // that the thread has posted. See c10m/thread.h.
    void (*thread)(struct c10m_service *s);
    void (*message)(struct c10m_core *w, struct c10m_service *s, void *msg);
    // packet: a UDP datagram to a port of c10m_udp_open(), valid during the call. Returns whether
    // it was accepted; false: no room for it, which is counted. packet_error: an ICMP error about a
    // datagram from such a port: p->from is our side, p->to the receiver, the data is what the
    // error quotes. See c10m/socket.h.
    bool (*packet)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
    void (*packet_error)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                         const struct c10m_packet_error *e);
    // drain: the service accepts no new connections, and this one should end as soon as its work is
    // done: an idle one at once (c10m_shutdown()), a busy one afterwards (c10m_draining()). NULL:
    // it ends when its peer closes it, or is reset at the end of the drain.
    void (*drain)(struct c10m_conn *c);
};

// c10m_state: the connection's C10M_STATE_BYTES of application state, 64-byte aligned.
void *c10m_state(struct c10m_conn *c);

// c10m_service_of: the service that the connection belongs to.
struct c10m_service *c10m_service_of(struct c10m_conn *c);

// c10m_workers: the number of workers of the service, known from init on. c10m_worker: the index of
// the worker that runs this callback, from 0, for arrays that init has made.
unsigned c10m_workers(const struct c10m_service *s);
unsigned c10m_worker(const struct c10m_conn *c);

// c10m_service_data, c10m_service_set_data: one pointer of the service for what `init` has
// prepared. Set in init only; callbacks only read it.
void *c10m_service_data(const struct c10m_service *s);
void c10m_service_set_data(struct c10m_service *s, void *data);

// c10m_service_param: the value of `key` in the service's section of the configuration (`root`,
// ...); NULL: not set.
const char *c10m_service_param(const struct c10m_service *s, const char *key);

// c10m_send: copies up to len bytes into the send queue. Returns how many (0 at the limit of the
// service, without free buffers, or after c10m_shutdown()). After a partial send `writable` is
// called.
size_t c10m_send(struct c10m_conn *c, const void *data, size_t len);

// c10m_send_room: how many bytes c10m_send() would accept now.
size_t c10m_send_room(const struct c10m_conn *c);

// c10m_send_ref: queues bytes [off, off + len) of an image without copying (short ranges are
// copied), len <= C10M_SEND_REF_BYTES_MAX; all or nothing. False: no reference is free; `writable`
// is called later.
bool c10m_send_ref(struct c10m_conn *c, const struct c10m_image *image, uint64_t off, uint64_t len);

// c10m_send_queued: bytes queued by c10m_send() and c10m_send_ref() that the peer has not
// acknowledged. An idle timer uses it to tell an idle connection from one with a long answer.
uint64_t c10m_send_queued(const struct c10m_conn *c);

// c10m_send_taken: bytes that the peer has acknowledged, modulo 2^32 and from an arbitrary start:
// use the difference of two calls.
uint32_t c10m_send_taken(const struct c10m_conn *c);

// c10m_receive_queued: unconsumed bytes that were offered before, and those after them. In `data`
// they include the bytes just offered, unless none were left before: then it is 0.
uint32_t c10m_receive_queued(const struct c10m_conn *c);

// c10m_shutdown: sends FIN after the queued data. A second call does nothing. `data` and `end` are
// called until the peer's FIN.
void c10m_shutdown(struct c10m_conn *c);

// c10m_abort: sends RST. `close` with C10M_ABORTED is called after the current callback.
void c10m_abort(struct c10m_conn *c);

// c10m_pause: stops `data`; the window closes as the queue fills, and `unread` is called.
// c10m_resume: continues, and offers the unconsumed bytes again, paused or not: in the same turn,
// after the current callback has returned.
void c10m_pause(struct c10m_conn *c);
void c10m_resume(struct c10m_conn *c);

// c10m_set_timer: calls `timer` after ms milliseconds (resolution 1 ms; at most 2^30); 0 cancels
// it. A connection has one timer; setting it again replaces it.
void c10m_set_timer(struct c10m_conn *c, uint32_t ms);

// c10m_draining: whether the service is draining (see `drain`).
bool c10m_draining(const struct c10m_conn *c);

// c10m_now_us: the protocol clock of this turn, in microseconds since start.
uint64_t c10m_now_us(const struct c10m_conn *c);

// c10m_unix_us: the time of day of this turn, in microseconds since 1970: the host's CLOCK_REALTIME
// to some tenths of a second. It may go back when the host's clock is set.
uint64_t c10m_unix_us(const struct c10m_conn *c);

// c10m_option: options of one connection; 0 restores the service's value unless stated otherwise.
// From C10M_OPT_KEEPALIVE_INTERVAL_MS on, each option that differs from the service's needs an
// extension record, of which a worker has a limited number, and the connection uses a slower path.
enum c10m_option {
    C10M_OPT_NODELAY,                // 1: send small segments at once (RFC 1122 4.2.3.4 off)
    C10M_OPT_KEEPALIVE_MS,           // idle time before the first probe, 0: off
    C10M_OPT_QUICKACK,               // 1: acknowledge at once for a while; 0: do not
    C10M_OPT_KEEPALIVE_INTERVAL_MS,  // between two probes
    C10M_OPT_KEEPALIVE_PROBES,       // unanswered probes, 1..127
    C10M_OPT_USER_TIMEOUT_MS,        // RFC 5482
    C10M_OPT_RCV_LIMIT,              // limit of unread bytes; at least 2,048
    C10M_OPT_SND_LIMIT,              // limit of bytes sent and not acknowledged
    C10M_OPT_WINDOW_CLAMP,           // limit of the announced window, bytes
    C10M_OPT_MAXSEG,                 // 64..65535; effective until the SYN is sent
    C10M_OPT_SYN_RETRIES,            // retransmissions of the SYN, 1..127
    C10M_OPT_LINGER2_MS,             // of FIN-WAIT-2 after c10m_close; UINT32_MAX: skip it
    C10M_OPT_TTL,                    // hop limit
    C10M_OPT_TOS,                    // traffic class without the ECN bits; 0 means 0
    C10M_OPT_DF,  // 1, as a rule: paths' MTUs are discovered; 0: packets may be split, and ICMP is
                  // not asked for their size; 2: they may not, and it is not
    C10M_OPT_CORK,        // 1: a partial segment waits, at most one timeout
    C10M_OPT_MORE,        // the same until the next send (MSG_MORE)
    C10M_OPT_CONGESTION,  // enum c10m_congestion; 0 is C10M_CUBIC
};

// c10m_set_option: returns 0, -EINVAL, or -ENOBUFS: no extension record is free.
int c10m_set_option(struct c10m_conn *c, enum c10m_option option, uint32_t value);

// c10m_peer: the peer's address (16 bytes, IPv4 mapped) and port in host order; either may be NULL.
void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port);

// c10m_handle: an identifier of the connection that can be stored after the callback. It is valid
// while the connection lives, and finds nothing afterwards. Never 0.
uint64_t c10m_handle(const struct c10m_conn *c);

// c10m_find: in a callback of `from`, the connection of this worker that `handle` names (it may be
// from itself). All functions of this header may be called on it until the callback returns. Its
// events, `data` after c10m_resume() or `close` after c10m_abort(), come in the same turn, after
// the callback. NULL: `close` was called for it already, or it would exceed C10M_OTHERS_MAX for
// this event.
struct c10m_conn *c10m_find(struct c10m_conn *from, uint64_t handle);

// c10m_connect: opens a connection from a callback of `from`, under the same service, on the same
// worker, from the same local address (the first one of the peer's family if that differs). `open`
// is called in a later turn, or `close` without it. Returns 0, -EADDRNOTAVAIL (no free port),
// -ENOBUFS (no block, or C10M_OTHERS_MAX exceeded) or -ENETUNREACH (no local address of that
// family). made: NULL, or *made is the new connection, as from c10m_find(); its state is zero and
// may be set now, for `open`.
int c10m_connect(struct c10m_conn *from, const uint8_t addr[16], uint16_t port,
                 struct c10m_conn **made);

// c10m_image_create: copies len bytes into the server's image arena; NULL: it is full (size:
// [memory] image_bytes). In init only. Freed when the server stops.
const struct c10m_image *c10m_image_create(struct c10m_service *s, const void *data, uint64_t len);

// c10m_image_reserve: reserves an image of len bytes, which init writes at *room (for example by
// reading a file).
const struct c10m_image *c10m_image_reserve(struct c10m_service *s, uint64_t len, uint8_t **room);

// c10m_image_bytes: the first byte of the image, readable by every worker; *len: its size.
const uint8_t *c10m_image_bytes(const struct c10m_image *image, uint64_t *len);

// c10m_warn: writes "service NAME: TEXT" as a warning to the server's log. In init only.
void c10m_warn(const struct c10m_service *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// c10m_counter: registers a counter `name` of the service, shown with `help` in
// apps/SERVICE/counters. Returns its number (0..31); -1: there are 32 already. In init only.
int c10m_counter(struct c10m_service *s, const char *name, const char *help);

// c10m_count: adds n to the counter of this worker.
void c10m_count(struct c10m_conn *c, int counter, uint64_t n);

// c10m_log: passes a record of len bytes (1..C10M_LOG_BYTES_MAX) to the service's `log` callback on
// the control thread, through a ring of the worker. It is copied; the worker never waits. False:
// dropped, because the ring is full or the service has no log (callback `log`, key access_log). The
// caller counts that.
bool c10m_log(struct c10m_conn *c, const void *record, size_t len);
