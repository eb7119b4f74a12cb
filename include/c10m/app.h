// SPDX-License-Identifier: BSD-3-Clause
// c10m/app.h: what an application sees. It runs inside the worker, on connections whose state lies
// in the connection block: a callback gets the connection, does what can be done at once, and
// returns. It may not block, sleep, allocate or make system calls: its cycles are counted and every
// packet of the core waits for it.
//
//                        open                 data / end / writable / timer
//   peer's handshake ------------> [ connection ] --------------------------> callbacks
//                                       |  close (exactly once, last)
//                                       v
//                                    block reused
//
// Threads: all callbacks of a connection run on the one worker that owns it for life. Only `init`,
// `fini` and `log` run on the control thread: before the workers start, after they have stopped,
// and beside them; `thread` is a thread of its own beside them (c10m/thread.h).
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
    // Bytes an application left unconsumed are offered as one contiguous range up to this many
    // (from the first unconsumed byte on, never fewer than the time before): a parser that waits
    // for the end of something may rely on it.
    C10M_DATA_CONTIG_BYTES = 16384,
    C10M_UNREAD_BYTES = 2048,  // of growth that `unread` is told
    C10M_SEND_REF_BYTES_MAX =
        1 << 30,                // of one c10m_send_ref: sequence numbers compare within 2^31
    C10M_LOG_BYTES_MAX = 2048,  // of one c10m_log
    C10M_OTHERS_MAX = 16,       // connections that callbacks of one event reach besides their own
};

// Why a connection ended, as `close` is told.
enum c10m_close {
    C10M_CLOSED,       // both directions closed in order
    C10M_RESET,        // the peer reset it
    C10M_TIMED_OUT,    // the peer stopped answering (R2, keepalive)
    C10M_ABORTED,      // c10m_abort(), or the server stops
    C10M_UNREACHABLE,  // active open failed: no answer or refused by the network
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

// c10m_app: one application. Every callback may be NULL; without `data` it pulls (c10m/socket.h).
// `s` is where the result of c10m_service_data() for its service can be found.
struct c10m_app {
    const char *name;
    // init: once per service that names this application, before the workers start. Returns 0, or
    // -1 with a line for the user in err[0..err_bytes). May allocate, read files, make images.
    int (*init)(struct c10m_service *s, char *err, size_t err_bytes);
    void (*fini)(struct c10m_service *s);
    // open: the connection is established; state is all zero, but for what c10m_connect's caller
    // has put there.
    void (*open)(struct c10m_conn *c);
    // data: in-order bytes of the stream, where they lie. Returns how many were consumed (0..len);
    // what is not stays queued, closes the window, and is offered again, together with what
    // follows, when more arrives or after c10m_resume(). The bytes are valid during the call only.
    size_t (*data)(struct c10m_conn *c, const uint8_t *data, size_t len);
    // unread: of a connection that is paused: what waits has come over a further multiple of
    // C10M_UNREAD_BYTES (c10m_receive_queued). For who bounds what waits on all connections.
    void (*unread)(struct c10m_conn *c);
    // readable: of an application without `data` (c10m/socket.h): bytes were added to what is
    // unread, the peer's FIN came, or the connection ended with bytes unread (c10m_error). Once a
    // turn, after all else of it. drained: after c10m_shutdown: the peer has acknowledged all that
    // was sent, FIN included; perhaps more than once.
    void (*readable)(struct c10m_conn *c);
    void (*drained)(struct c10m_conn *c);
    // end: the peer has sent FIN and every byte before it was consumed. NULL: the stack closes this
    // direction too, unless the application pulls.
    void (*end)(struct c10m_conn *c);
    // writable: a send that was cut short may be continued.
    void (*writable)(struct c10m_conn *c);
    // timer: the time set with c10m_set_timer() has come.
    void (*timer)(struct c10m_conn *c);
    // close: last callback of the connection; nothing can be sent any more.
    void (*close)(struct c10m_conn *c, enum c10m_close why);
    // datagram: a UDP datagram to a port of the service, whose section says udp = on. Returns how
    // many bytes of d->answer (0..d->room) go back to the sender, from the address and port that it
    // asked, or -1: none, nor an empty one. There is no connection and nothing is kept. NULL: the
    // application serves TCP alone.
    int (*datagram)(struct c10m_service *s, const struct c10m_datagram *d);
    // log: on the control thread: a record that a callback gave to c10m_log, each worker's in their
    // order; record NULL, len 0: the last one for now, to be written out. May write files and
    // allocate, but all control waits for it. Returns how many records could not be written.
    unsigned (*log)(struct c10m_service *s, const void *record, size_t len);
    // tree: on the control thread, once per service before the workers run: makes the service's own
    // entries below dir, which is apps/SERVICE of the tree (c10m/tree.h; `counters`, `state` and
    // `log` are taken). They go with the server, before fini. 0, or -1 with tree_error: it does not
    // start.
    int (*tree)(const struct c10m_service *s, struct tree_node *dir);
    // thread: once per service, on a thread of its own on the Linux cores, from when the workers
    // run; returns soon after c10m_thread_stopping() says so. message: on the worker, one that the
    // thread posted to it. Both: c10m/thread.h.
    void (*thread)(struct c10m_service *s);
    void (*message)(struct c10m_core *w, struct c10m_service *s, void *msg);
    // packet: a UDP datagram to a port that c10m_udp_open() opened, its bytes where they lie, valid
    // during the call. Returns whether it was taken; false: there was no room for it, counted so.
    // packet_error: an ICMP error about one that was sent from such a port: p->from is our side,
    // p->to its receiver, the bytes those that the error quotes. Both: c10m/socket.h.
    bool (*packet)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
    void (*packet_error)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                         const struct c10m_packet_error *e);
    // drain: the service takes no new connections any more, and this one should end as soon as what
    // is under way is done: an idle one at once (c10m_shutdown), one at work after that
    // (c10m_draining). NULL: it ends when its peer closes it, or is reset when time is up.
    void (*drain)(struct c10m_conn *c);
};

// c10m_state: the connection's C10M_STATE_BYTES of application state, 64-byte aligned.
void *c10m_state(struct c10m_conn *c);

// c10m_service_of: the service that the connection belongs to.
struct c10m_service *c10m_service_of(struct c10m_conn *c);

// c10m_workers: how many workers run the service, known from init on. c10m_worker: which of them,
// counted from 0, runs this callback: the index of what init made for each.
unsigned c10m_workers(const struct c10m_service *s);
unsigned c10m_worker(const struct c10m_conn *c);

// c10m_service_data, c10m_service_set_data: one pointer per service for what `init` prepared. Set
// in init only; read only from callbacks.
void *c10m_service_data(const struct c10m_service *s);
void c10m_service_set_data(struct c10m_service *s, void *data);

// c10m_service_param: the value of `key` in the service's section of the configuration (`root`,
// ...); NULL: not given.
const char *c10m_service_param(const struct c10m_service *s, const char *key);

// c10m_send: copies up to len bytes into the connection's send queue; returns how many were taken
// (0 when the limit of the service or the worker's buffers are reached, or after c10m_shutdown). A
// short count is followed by `writable`.
size_t c10m_send(struct c10m_conn *c, const void *data, size_t len);

// c10m_send_room: bytes that c10m_send would take now.
size_t c10m_send_room(const struct c10m_conn *c);

// c10m_send_ref: queues bytes [off, off + len) of an image without copying (but for a few, which
// are copied faster), len at most C10M_SEND_REF_BYTES_MAX; all or nothing. False: the queue of
// references is full; `writable` follows.
bool c10m_send_ref(struct c10m_conn *c, const struct c10m_image *image, uint64_t off, uint64_t len);

// c10m_send_queued: bytes taken by c10m_send and c10m_send_ref that the peer has not acknowledged
// yet. An idle timer asks it whether the connection is idle or still busy with a long answer.
uint64_t c10m_send_queued(const struct c10m_conn *c);

// c10m_send_taken: bytes that the peer has acknowledged, modulo 2^32 and from an arbitrary start:
// the difference of two calls is what it took in between.
uint32_t c10m_send_taken(const struct c10m_conn *c);

// c10m_receive_queued: bytes that were offered before and not consumed, with those behind them; in
// `data` those just offered are among them, unless nothing was left before: then it is 0.
uint32_t c10m_receive_queued(const struct c10m_conn *c);

// c10m_shutdown: FIN after all that was queued. More than once does nothing. `data` and `end` go on
// until the peer's FIN.
void c10m_shutdown(struct c10m_conn *c);

// c10m_abort: RST now; `close` follows with C10M_ABORTED after the current callback.
void c10m_abort(struct c10m_conn *c);

// c10m_pause, c10m_resume: no `data` until resumed; the window closes as the queue fills, and
// `unread` is told.
// c10m_resume also offers again what was left unconsumed, paused or not: in the same turn, but
// after the present callback has returned, never inside it.
void c10m_pause(struct c10m_conn *c);
void c10m_resume(struct c10m_conn *c);

// c10m_set_timer: `timer` after ms milliseconds (granularity 1 ms; at most 2^30); 0 cancels. One
// timer a connection; setting it again moves it.
void c10m_set_timer(struct c10m_conn *c, uint32_t ms);

// c10m_draining: does the service end its connections (see `drain`)?
bool c10m_draining(const struct c10m_conn *c);

// c10m_now_us: the protocol clock of this turn, microseconds since start.
uint64_t c10m_now_us(const struct c10m_conn *c);

// c10m_unix_us: the time of day of this turn, microseconds since 1970: the host's CLOCK_REALTIME,
// to some tenths of a second, also after it was set: it may go back.
uint64_t c10m_unix_us(const struct c10m_conn *c);

// c10m_option: of one connection; 0 is the service's value unless told otherwise. From
// C10M_OPT_KEEPALIVE_INTERVAL_MS on each takes an extension record while it differs from the
// service's, of which a worker has a limited number, and such a connection takes the longer path.
enum c10m_option {
    C10M_OPT_NODELAY,                // 1: send small segments at once (RFC 1122 4.2.3.4 off)
    C10M_OPT_KEEPALIVE_MS,           // idle time before the first probe, 0: off
    C10M_OPT_QUICKACK,               // 1: acknowledge at once for a while, 0: not; passes
    C10M_OPT_KEEPALIVE_INTERVAL_MS,  // between two probes
    C10M_OPT_KEEPALIVE_PROBES,       // without answer, 1..127
    C10M_OPT_USER_TIMEOUT_MS,        // RFC 5482
    C10M_OPT_RCV_LIMIT,              // bytes unread, at most; at least 2,048 are granted
    C10M_OPT_SND_LIMIT,              // bytes sent and not acknowledged, at most
    C10M_OPT_WINDOW_CLAMP,           // bytes of the window that the peer is told, at most
    C10M_OPT_MAXSEG,                 // 64..65535; counts until the SYN has left; later: is read
    C10M_OPT_SYN_RETRIES,            // of the SYN, 1..127
    C10M_OPT_LINGER2_MS,             // of FIN-WAIT-2 after c10m_close; UINT32_MAX: none at all
    C10M_OPT_TTL,                    // hop limit
    C10M_OPT_TOS,                    // traffic class, but for ECN's two bits; 0 is 0
    C10M_OPT_DF,  // 1, as a rule: paths' MTUs are discovered; 0: packets may be split, and ICMP is
                  // not asked for their size; 2: they may not, and it is not
    C10M_OPT_CORK,        // 1: what does not fill a segment waits, at most a timeout's time
    C10M_OPT_MORE,        // the same, for what is sent next (MSG_MORE)
    C10M_OPT_CONGESTION,  // enum c10m_congestion; 0 is C10M_CUBIC
};

// c10m_set_option: 0, -EINVAL, or -ENOBUFS: there is no extension record for it.
int c10m_set_option(struct c10m_conn *c, enum c10m_option option, uint32_t value);

// c10m_peer: the peer's address (16 bytes, IPv4 mapped) and port in host order; either may be NULL.
void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port);

// c10m_handle: a name of the connection that can be kept, in a state say, when the callback is
// over: it means this connection for as long as that lives, and none afterwards. Never 0.
uint64_t c10m_handle(const struct c10m_conn *c);

// c10m_find: from a callback of `from`, the other connection of this worker that `handle` names (or
// from itself): every call of this page may be made on it until the callback returns. What follows
// for it, `data` after c10m_resume(), `close` after c10m_abort(), comes in the same turn, after the
// callback, never inside. NULL: that connection has been told `close`, or it would be one more than
// C10M_OTHERS_MAX for this event.
struct c10m_conn *c10m_find(struct c10m_conn *from, uint64_t handle);

// c10m_connect: active open from a callback of `from`: the new connection runs under the same
// service, on the same worker, from from's local address (the first one of the peer's family where
// that differs), and gets `open`, or `close` without it, in a later turn. 0, or -EADDRNOTAVAIL (no
// port left), -ENOBUFS (no block, or more than C10M_OTHERS_MAX for this event), -ENETUNREACH (no
// local address of that family). made, unless NULL: *made is the new connection, as c10m_find gives
// it; its state, zero now, may be filled in at once, and is what `open` finds.
int c10m_connect(struct c10m_conn *from, const uint8_t addr[16], uint16_t port,
                 struct c10m_conn **made);

// c10m_image_create: copies len bytes into the image arena of the server; NULL when it is full
// (size: [memory] image_bytes). Only in init. Freed when the server stops.
const struct c10m_image *c10m_image_create(struct c10m_service *s, const void *data, uint64_t len);

// c10m_image_reserve: the same with room for len bytes that init fills itself through *room (files
// are read straight into place).
const struct c10m_image *c10m_image_reserve(struct c10m_service *s, uint64_t len, uint8_t **room);

// c10m_image_bytes: its first byte, readable by every worker; *len its size.
const uint8_t *c10m_image_bytes(const struct c10m_image *image, uint64_t *len);

// c10m_warn: a warning to the server's log: "service NAME: TEXT". In init only.
void c10m_warn(const struct c10m_service *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// c10m_counter: registers a counter `name` of the service, shown in apps/SERVICE/counters with
// `help`; returns its number (0..31), or -1 when there are 32. In init only.
int c10m_counter(struct c10m_service *s, const char *name, const char *help);

// c10m_count: adds n to the worker's own cell of the counter.
void c10m_count(struct c10m_conn *c, int counter, uint64_t n);

// c10m_log: hands a record of len bytes (1..C10M_LOG_BYTES_MAX) to the service's `log` callback on
// the control thread, through a ring of the worker: copied, never waited for. False: dropped, as
// the control thread cannot follow, or the service has no log (its application has the callback,
// its section the key access_log). The caller counts.
bool c10m_log(struct c10m_conn *c, const void *record, size_t len);
