// SPDX-License-Identifier: BSD-3-Clause
// c10m/app.h: the interface of applications. An application runs in the worker. Its state for each
// connection is in the connection block. A callback gets the connection, does what it can do at
// once, and returns. It must not block, sleep, allocate or make system calls, because every packet
// of the core waits until it returns.
//
//                        open                 data / end / writable / timer
//   peer's handshake ------------> [ connection ] --------------------------> callbacks
//                                       |  close (exactly once, last)
//                                       v
//                                    block reused
//
// Threads: all callbacks of a connection run on the worker that owns it. The control thread runs
// `init`, `tree`, `adopt` and `adopted` before the workers start, `log` while they run, and `fini`
// after they have stopped. `thread` runs on a separate thread (c10m/thread.h), and so does reading
// files again (c10m/reload.h).
//
// Rights: `init` and `tree` run with the rights with which the server was started. Before the
// workers start, the server gives up root, most system calls and most files. A system call in a
// callback on a worker ends the process, with few exceptions. `log`, `fini`, `thread`, `reload` and
// the functions of tree entries may use sockets, files in run_dir, and files that the server reads;
// they may not start programs ([control] seccomp and landlock).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct c10m_conn;    // one connection; the pointer is valid during the callback that gets it
struct c10m_core;    // one worker, for callbacks without a connection (c10m/thread.h)
struct c10m_packet;  // a UDP datagram, and what an ICMP error says of one (c10m/socket.h)
struct c10m_packet_error;
struct c10m_service;  // one [service NAME] of the configuration that runs this application
struct c10m_reload;   // how it reads its files again (c10m/reload.h)
struct tree_node;     // a directory of the control tree (c10m/tree.h)
struct c10m_image;  // immutable bytes in hugepages, shared by all workers, to be sent by reference

enum {
    C10M_STATE_BYTES = 64,  // application state per connection, zero at open
    // Unconsumed bytes are passed to `data` as one contiguous range of up to this many bytes. The
    // range starts at the first unconsumed byte and never becomes shorter, so that a parser can
    // wait for the end of an element.
    C10M_DATA_CONTIG_BYTES = 16384,
    C10M_UNREAD_BYTES = 2048,  // `unread` is called when the unread data has grown by this much
    C10M_SEND_REF_BYTES_MAX =
        1 << 30,  // in one c10m_send_ref(); sequence numbers compare correctly within 2^31
    C10M_LOG_BYTES_MAX = 2048,  // in one c10m_log()
    C10M_LOG_REOPEN = 1,        // len of `log` without a record
    C10M_OTHERS_MAX = 16,       // other connections that the callbacks of one event may use
};

// Why a connection ended, an argument of `close`.
enum c10m_close {
    C10M_CLOSED,       // both directions closed in order
    C10M_RESET,        // the peer reset it
    C10M_TIMED_OUT,    // the peer stopped answering (R2, keepalive)
    C10M_ABORTED,      // c10m_abort(), or the server stopped
    C10M_UNREACHABLE,  // the active open failed: no answer, or an ICMP error
    C10M_REFUSED,      // the active open was answered by RST
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

// c10m_app: one application. Every callback may be NULL. An application without `data` reads with
// c10m_read() (c10m/socket.h). Callbacks without a connection get the service in `s`.
struct c10m_app {
    const char *name;
    bool marks_requests;  // it calls c10m_request_begin() and c10m_request_end() (c10m/trace.h)
    // Its connections go on in another process after this one was killed, or ended for a restart
    // ([control] adopt): `close` is not called, and the other process does not call `open`. Their
    // 64 bytes of state have no pointer, and `adopted` builds anew what else the application
    // knows of them.
    bool adopts;
    // With `adopts`: the connections also go on after a start with other memory, workers, services
    // or addresses, which copies them to other places. Then the state has no number that
    // c10m_find() would look up.
    bool moves;
    // With `adopts`: the version of what these bytes mean. Increase it with each change of that.
    // The connections of a process with another version are passed to `adopt`.
    uint32_t state_version;
    bool allocates;  // its callbacks call malloc(), although they should not: workers may then ask
                     // the kernel for memory, and still make no other system call
    // init: called once for each service with this application, before the workers start. Returns
    // 0, or -1 with one line for the user in err[0..err_bytes). It may allocate, read files and
    // create images. fini: called once for each service after the workers have stopped; releases
    // what init has allocated.
    int (*init)(struct c10m_service *s, char *err, size_t err_bytes);
    void (*fini)(struct c10m_service *s);
    // open: the connection is established. Its state is zero, except for what the caller of
    // c10m_connect() has stored there.
    void (*open)(struct c10m_conn *c);
    // data: in-order bytes of the stream, valid during the call. Returns how many were consumed
    // (0..len). The remaining bytes stay queued and reduce the window. They are passed again,
    // together with new bytes, when more data arrives or after c10m_resume().
    size_t (*data)(struct c10m_conn *c, const uint8_t *data, size_t len);
    // unread: on a paused connection the number of unconsumed bytes (c10m_receive_queued()) has
    // passed another multiple of C10M_UNREAD_BYTES. For applications that limit the sum of these
    // bytes over all connections.
    void (*unread)(struct c10m_conn *c);
    // readable: for an application without `data` (c10m/socket.h): there are new unread bytes, the
    // peer has sent FIN, or the connection ended with unread bytes (c10m_error()). Called at most
    // once in a turn, after all other events. drained: after c10m_shutdown(), the peer has
    // acknowledged all data and the FIN. It may be called more than once.
    void (*readable)(struct c10m_conn *c);
    void (*drained)(struct c10m_conn *c);
    // end: the peer has sent FIN, and all data before the FIN was consumed. Without `end` the stack
    // then sends FIN too, unless the application has no `data`.
    void (*end)(struct c10m_conn *c);
    // writable: the send queue has room again after a partial send.
    void (*writable)(struct c10m_conn *c);
    // timer: the timer of c10m_set_timer() has expired.
    void (*timer)(struct c10m_conn *c);
    // close: the last callback of the connection. Nothing can be sent any more.
    void (*close)(struct c10m_conn *c, enum c10m_close why);
    // datagram: a UDP datagram to a port of a service with udp = on. Returns the number of bytes of
    // d->answer (0..d->room) to send back to the sender; their source is the destination address
    // and port of the datagram. -1: no answer. There is no connection, and no state is kept.
    // Without `datagram` the application serves TCP only.
    int (*datagram)(struct c10m_service *s, const struct c10m_datagram *d);
    // log: a record of len bytes from c10m_log(), in order for each worker, on the control thread.
    // record NULL, len 0: there are no more records now; write the earlier ones to the file. record
    // NULL, len C10M_LOG_REOPEN: the same, and open the file at its path again (SIGUSR1). It may
    // write files and allocate; the control thread waits until it returns. Returns how many records
    // could not be written.
    unsigned (*log)(struct c10m_service *s, const void *record, size_t len);
    // tree: called once for each service on the control thread before the workers run. Creates the
    // service's entries below dir, which is apps/SERVICE of the tree (c10m/tree.h). The server
    // itself creates `counters`, `state` and `log` there. The entries are removed when the server
    // stops, before fini. Returns 0, or -1 with the reason in tree_error(): the server does not
    // start.
    int (*tree)(const struct c10m_service *s, struct tree_node *dir);
    // thread: runs once for each service, on a separate thread on the Linux cores, while the
    // workers run. It must return within a short time after c10m_thread_stopping() becomes true.
    // message: a message that the thread has sent with c10m_post(), on the worker. See
    // c10m/thread.h.
    void (*thread)(struct c10m_service *s);
    void (*message)(struct c10m_core *w, struct c10m_service *s, void *msg);
    // packet: a UDP datagram to a port of c10m_udp_open(), valid during the call. Returns whether
    // the datagram was accepted; false: the application has no room, and the drop is counted.
    // packet_error: an ICMP error about a datagram from such a port. p->from is the local side,
    // p->to the receiver of that datagram, and p->data the part of it that the error quotes. See
    // c10m/socket.h.
    bool (*packet)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);
    void (*packet_error)(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p,
                         const struct c10m_packet_error *e);
    // drain: the service accepts no new connections, and this connection should end as soon as its
    // work is done. Call c10m_shutdown() at once on an idle connection, and at the end of the work
    // (c10m_draining()) on a busy one. Without `drain` the connection ends when its peer closes it,
    // or is reset at the end of the drain.
    void (*drain)(struct c10m_conn *c);
    // reload: reads the files of a service again while it runs. NULL: only a restart reads them.
    const struct c10m_reload *reload;
    // adopt: an application with another state_version wrote the C10M_STATE_BYTES at `state`
    // (64-byte aligned); `version` was its version, older or newer. Changes them to what this
    // application understands. Returns false if it cannot: the connection is reset, without a call
    // of `close`. Called once for each such connection, on the control thread, after init and
    // before the workers start: there is no connection to call functions on. It makes no system
    // call, because the server has given up its rights. Without `adopt` all such connections are
    // reset.
    bool (*adopt)(const struct c10m_service *s, uint32_t version, void *state);
    // adopted: with `adopts`: the connection goes on in this process. Called once for each, after
    // `adopt`, in the same place: the functions that return something about a connection may be
    // called (c10m_send_queued(), c10m_peer(), ...), and c10m_find(), but none that changes it.
    // Returns false if the application cannot continue it: it is reset, without a call of `close`,
    // and those for which `adopted` was called before are not told of that. What the application
    // keeps outside of the connections' state is built anew here.
    bool (*adopted)(struct c10m_conn *c);
};

// c10m_state: the connection's C10M_STATE_BYTES of application state, 64-byte aligned.
void *c10m_state(struct c10m_conn *c);

// c10m_service_of: the service that the connection belongs to.
struct c10m_service *c10m_service_of(struct c10m_conn *c);

// c10m_workers: the number of workers of the service, known from init on. c10m_worker: the index of
// the worker that runs this callback, from 0, for arrays that init has made.
unsigned c10m_workers(const struct c10m_service *s);
unsigned c10m_worker(const struct c10m_conn *c);

// c10m_service_data, c10m_service_set_data: one pointer of the service, for data that `init` has
// prepared. Set it in init only. Any thread may get it.
void *c10m_service_data(const struct c10m_service *s);
void c10m_service_set_data(struct c10m_service *s, void *data);

// c10m_service_param: the value of `key` (`root`, ...) in the service's section of the
// configuration. NULL: the key is not set.
const char *c10m_service_param(const struct c10m_service *s, const char *key);

// c10m_send: copies up to len bytes into the send queue. Returns how many: 0 if the queue has
// reached the limit of the service, if no buffer is free, or after c10m_shutdown(). After a partial
// send `writable` is called.
size_t c10m_send(struct c10m_conn *c, const void *data, size_t len);

// c10m_send_room: how many bytes c10m_send() would accept now.
size_t c10m_send_room(const struct c10m_conn *c);

// c10m_send_ref: adds bytes [off, off + len) of an image to the send queue by reference; short
// ranges are copied. len <= C10M_SEND_REF_BYTES_MAX. Returns false if no reference is free: then
// nothing is queued, and `writable` is called later.
bool c10m_send_ref(struct c10m_conn *c, const struct c10m_image *image, uint64_t off, uint64_t len);

// c10m_send_queued: bytes queued by c10m_send() and c10m_send_ref() that the peer has not
// acknowledged. With it, an idle timer can distinguish an idle connection from one that still sends
// a long answer.
uint64_t c10m_send_queued(const struct c10m_conn *c);

// c10m_send_taken: bytes that the peer has acknowledged, modulo 2^32, counted from an arbitrary
// value. Use only the difference of two calls.
uint32_t c10m_send_taken(const struct c10m_conn *c);

// c10m_receive_queued: the number of bytes in the receive queue. In `data` the bytes of this call
// count if unconsumed bytes were queued before them; otherwise the result is 0.
uint32_t c10m_receive_queued(const struct c10m_conn *c);

// c10m_shutdown: sends FIN after the queued data. A second call does nothing. `data` and `end` are
// still called until the peer sends FIN.
void c10m_shutdown(struct c10m_conn *c);

// c10m_abort: sends RST. `close` with C10M_ABORTED is called after the current callback.
void c10m_abort(struct c10m_conn *c);

// c10m_pause: stops the calls of `data`. Received bytes are queued, the window shrinks, and
// `unread` is called. c10m_resume: ends the pause. The unconsumed bytes are passed to `data` again
// in the same turn, after the current callback has returned, also if the connection was not paused.
void c10m_pause(struct c10m_conn *c);
void c10m_resume(struct c10m_conn *c);

// c10m_set_timer: calls `timer` after ms milliseconds (resolution 1 ms; at most 2^30); 0 cancels
// the timer. A connection has one timer: a second call replaces its time.
void c10m_set_timer(struct c10m_conn *c, uint32_t ms);

// c10m_draining: whether the service is draining (see `drain`).
bool c10m_draining(const struct c10m_conn *c);

// c10m_now_us: the protocol clock of this turn, in microseconds since the server started.
uint64_t c10m_now_us(const struct c10m_conn *c);

// c10m_waited_us: how long what has arrived in this turn has waited in the device's queue, at most:
// the time since the worker last found the queue empty, or since it counted the packets in it, if
// the driver can, and has received them all; 0: the queue is empty. It tells a service that a
// request cannot be answered in time, before it has done anything for it. It does not see what
// waits in the network, in a switch or in Linux, nor data that the application itself left unread.
uint32_t c10m_waited_us(const struct c10m_conn *c);

// c10m_overloaded_us: c10m_waited_us() while the device is about to lose packets, because its queue
// is nearly full, but not more than for how long the worker has not kept up: 0 if it only stood
// still for a while, and also if the driver cannot count the packets in its queue.
uint32_t c10m_overloaded_us(const struct c10m_conn *c);

// c10m_unix_us: the time of day of this turn, in microseconds since 1970-01-01 UTC. It differs from
// the host's CLOCK_REALTIME by up to some tenths of a second. It may go back when the host's clock
// is set.
uint64_t c10m_unix_us(const struct c10m_conn *c);

// c10m_option: options of one connection; 0 restores the service's value unless stated otherwise.
// From C10M_OPT_KEEPALIVE_INTERVAL_MS on, each option that differs from the service's needs an
// extension record, of which a worker has a limited number, and the connection uses a slower path.
enum c10m_option {
    C10M_OPT_NODELAY,       // 1: send small segments at once (RFC 1122 4.2.3.4 off)
    C10M_OPT_KEEPALIVE_MS,  // idle time before the first probe, 0: off
    C10M_OPT_QUICKACK,      // 1: acknowledge the next segments at once; 0: use delayed ACKs
    C10M_OPT_KEEPALIVE_INTERVAL_MS,  // between two probes
    C10M_OPT_KEEPALIVE_PROBES,       // unanswered probes, 1..127
    C10M_OPT_USER_TIMEOUT_MS,        // RFC 5482
    C10M_OPT_RCV_LIMIT,              // limit of unread bytes; at least 2,048
    C10M_OPT_SND_LIMIT,              // limit of bytes sent and not acknowledged
    C10M_OPT_WINDOW_CLAMP,           // limit of the announced window, bytes
    C10M_OPT_MAXSEG,                 // 64..65535; effective until the SYN is sent
    C10M_OPT_SYN_RETRIES,            // retransmissions of the SYN, 1..127
    C10M_OPT_LINGER2_MS,             // time in FIN-WAIT-2 after c10m_close(); UINT32_MAX: none
    C10M_OPT_TTL,                    // hop limit
    C10M_OPT_TOS,                    // traffic class without the ECN bits; 0 means 0
    C10M_OPT_DF,  // 1: path MTU discovery (default); 0: no DF bit, over IPv4 reported path MTUs are
                  // ignored; 2: DF bit, reported path MTUs are ignored
    C10M_OPT_CORK,        // 1: a partial segment waits for more data, at most one RTO
    C10M_OPT_MORE,        // as CORK, until the next send (MSG_MORE)
    C10M_OPT_CONGESTION,  // enum c10m_congestion; 0 is C10M_CUBIC
};

// c10m_set_option: returns 0, -EINVAL, or -ENOBUFS: no extension record is free.
int c10m_set_option(struct c10m_conn *c, enum c10m_option option, uint32_t value);

// c10m_peer: the peer's address (16 bytes; IPv4 in the mapped form) and port (host order). addr and
// port may be NULL.
void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port);

// c10m_handle: an identifier of the connection that may be stored after the callback. Never 0.
// After `close`, c10m_find() and c10m_at() return NULL for it.
uint64_t c10m_handle(const struct c10m_conn *c);

// c10m_find: in a callback of `from`, the connection of this worker that `handle` names, possibly
// `from` itself. All functions of this header may be called on the connection until the callback
// returns. Callbacks that result from these calls (`data` after c10m_resume(), `close` after
// c10m_abort()) run in the same turn, after the current callback. NULL: `close` was already called
// for the connection, or this event has used C10M_OTHERS_MAX other connections.
struct c10m_conn *c10m_find(struct c10m_conn *from, uint64_t handle);

// c10m_connect: opens a connection from a callback of `from`, under the same service, on the same
// worker, to addr (16 bytes; IPv4 in the mapped form) and port (host order). The local address is
// that of `from`, or the first local address of the family of addr if the families differ. In a
// later turn `open` is called, or `close` if the open fails. Returns 0, -EADDRNOTAVAIL (no local
// port is free), -ENOBUFS (no block is free, or C10M_OTHERS_MAX would be exceeded) or -ENETUNREACH
// (no local address of that family). Unless made is NULL, *made is set to the new connection,
// usable as from c10m_find(). Its state is zero and may be set for `open`.
int c10m_connect(struct c10m_conn *from, const uint8_t addr[16], uint16_t port,
                 struct c10m_conn **made);

// c10m_image_create: copies len bytes into the service's images. Returns NULL if these have
// [memory] image_bytes, or without memory. In init only. The image is freed when the server stops.
// c10m_images_new() (c10m/reload.h) makes images that can be freed earlier.
const struct c10m_image *c10m_image_create(struct c10m_service *s, const void *data, uint64_t len);

// c10m_image_reserve: reserves an image of len bytes. init must write its bytes to *room, for
// example by reading a file. Returns NULL as c10m_image_create(). In init only.
const struct c10m_image *c10m_image_reserve(struct c10m_service *s, uint64_t len, uint8_t **room);

// c10m_image_bytes: the address of the first byte of the image. *len: its size in bytes. Any
// thread.
const uint8_t *c10m_image_bytes(const struct c10m_image *image, uint64_t *len);

// c10m_warn: writes "service NAME: TEXT" as a warning to the server's log. In init, and in `read`
// of c10m/reload.h.
void c10m_warn(const struct c10m_service *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// c10m_counter: registers a counter `name` of the service, shown with `help` in
// apps/SERVICE/counters. Returns the number of the counter (0..31), or -1 if the service has 32
// counters already. In init only.
int c10m_counter(struct c10m_service *s, const char *name, const char *help);

// c10m_count: adds n to a counter of the service on this worker. counter: as returned by
// c10m_counter().
void c10m_count(struct c10m_conn *c, int counter, uint64_t n);

// c10m_log: passes a record of len bytes (1..C10M_LOG_BYTES_MAX) to the service's `log` callback on
// the control thread, through a ring of the worker. The record is copied; the worker never waits.
// Returns false if the ring is full, or the service has no log (callback `log`, key access_log):
// the record is dropped, and the caller has to count the drop.
bool c10m_log(struct c10m_conn *c, const void *record, size_t len);

#ifdef __cplusplus
}
#endif
