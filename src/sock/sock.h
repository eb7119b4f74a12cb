// SPDX-License-Identifier: BSD-3-Clause
// sock.h: the socket layer: passes TCP's events to application callbacks, keeps data that the
// application did not consume, and implements the functions of c10m/app.h. One per worker.
#pragma once
#include "base/err.h"
#include "base/shared.h"
#include "c10m/reload.h"
#include "c10m/socket.h"
#include "c10m/trace.h"
#include "tcp/tcp.h"

enum {
    SOCK_COUNTERS_MAX = 32,  // of one service
    SOCK_OFFER_MAX =
        16384,             // unconsumed bytes that `data` gets as one range: C10M_DATA_CONTIG_BYTES
    SOCK_ERRORS_MAX = 16,  // errors of a turn from net_lost()
    // Connections told at the end of a turn: at most one for each segment, error and timer.
    SOCK_READABLE_MAX = BURST_MAX + SOCK_ERRORS_MAX + TCP_EXPIRE_MAX,
    SOCK_RESETS_TURN_MAX = 64,
    SOCK_RESET_LOOKS = 4096,  // blocks examined for them in a turn
    SOCK_ROUNDS_MAX = 64,     // limit of resumes of a connection in one event
    SOCK_SERVING_NONE = UINT8_MAX,
};

struct c10m_image {
    uint8_t *bytes;
    uint64_t len;
    struct c10m_image *next;  // next image of the set
};

// c10m_service: one [service NAME]. Written before the workers start, then only read, except for
// the amounts of images and `reload_stops`.
struct c10m_service {
    const char *name;
    const struct c10m_app *app;
    void *data;
    uint8_t ix;
    uint8_t image_owner;  // its number in image_store
    // param: returns the value of a key in the service's section of the configuration `conf`.
    const char *(*param)(const void *conf, const char *key);
    const void *conf;
    int n_counters;
    struct {
        char name[32];
        char help[96];
    } counters[SOCK_COUNTERS_MAX];
    int n_trace_events;
    char trace_events[C10M_TRACE_EVENTS_MAX][C10M_TRACE_NAME_BYTES];
    uint64_t image_bytes_max;         // of each set of images; 0: limited by memory only
    struct c10m_images *images;       // of c10m_image_reserve(); NULL: none
    struct image_store *image_store;  // where sets outlive the process; NULL: they do not
    uint64_t left_taken;              // its spans that c10m_images_left() has returned
    // Of all sets. Written by the control thread in init and fini, between them by the one thread
    // that a reload has at a time; read by any.
    // image_private_bytes: of mappings that do not outlive the process.
    struct shared_u64 image_bytes, image_count, image_private_bytes;
    bool started;                     // init has returned
    struct shared_bool reload_stops;  // control thread to the thread of a reload
};

// c10m_conn: a connection, as a callback gets it.
struct c10m_conn {
    struct sock *k;
    struct block *b;
    uint32_t ix;
    uint8_t due;  // enum sock_due
};

// c10m_core: the worker, as a callback without a connection gets it. `root` stands in for the
// connection of its event.
struct c10m_core {
    struct c10m_conn root;
};

struct sock {
    struct tcp *tcp;
    uint64_t wall_us;               // the time of day at which tcp->now.us is 0
    struct c10m_service *services;  // TCP_SERVICES_MAX, the same index as tcp.services
    uint8_t *scratch;               // SOCK_OFFER_MAX bytes: unconsumed data, made contiguous
    uint64_t counters[TCP_SERVICES_MAX]
                     [SOCK_COUNTERS_MAX];  // of this worker; readers sum over workers
    // The service whose callback runs, or ran last in this stage, or SOCK_SERVING_NONE. The control
    // thread reports it if the turn does not end.
    struct shared_u8 serving;
    // The current event: its connection, and the other connections that its callbacks used.
    struct c10m_conn *root;
    unsigned n_others;  // 0 between events
    struct c10m_conn others[C10M_OTHERS_MAX];
    // Connections of applications that pull, with new data; sock_tell() tells them.
    unsigned n_readable;
    uint32_t readable[SOCK_READABLE_MAX];
    // Local addresses by flow_key.local_ix, to open connections from.
    // A place without an address has :: or 0.0.0.0. shown: with addresses that are gone, too, for
    // their connections.
    const struct ip_addr *locals, *shown;
    unsigned n_locals;
    struct c10m_core core;
    // Services whose connections are all being reset, one bit each; the next block to examine.
    uint32_t resets, reset_at;
    // While `open` runs, if there are listeners: the connection, and the listener that it came by.
    uint32_t opened;
    int opened_by;
};

static inline struct sock *sock_of(const struct c10m_core *w)
{
    return (struct sock *)((char *)(uintptr_t)w - offsetof(struct sock, core));
}

// sock_event: passes the event that TCP reported for a connection to its application. data: the
// data of the verdict. The block may be free afterwards.
void sock_event(struct sock *k, const struct tcp_verdict *v, const uint8_t *data);

// sock_begin, sock_settle: enclose a callback that gets &k->core; sock_settle() completes the
// events of connections that it used. sock_message: calls `message` of s with msg, in between.
void sock_begin(struct sock *k);
void sock_settle(struct sock *k);
void sock_message(struct sock *k, struct c10m_service *s, void *msg);

// sock_tell: call it after the last sock_event() of a turn if n_readable is not 0: calls `readable`
// once for each connection of an application that pulls that has something new.
void sock_tell(struct sock *k);

// sock_open: opens a connection under s; *made as in c10m_open(). Returns 0, -EADDRNOTAVAIL or
// -ENOBUFS.
int sock_open(struct sock *k, struct c10m_service *s, const struct flow_key *key,
              struct c10m_conn **made);

// sock_local: the index of a local address; -1: it is not local.
int sock_local(const struct sock *k, const uint8_t addr[16]);

// sock_reset_some: while `resets` is not 0, once in a turn: resets at most SOCK_RESETS_TURN_MAX
// connections of those services, as long as there is room for RSTs.
void sock_reset_some(struct sock *k);

// sock_reset: resets connection ix, which is not FREE, and calls `close`, also for other
// connections that its callbacks end. sock_drain, sock_shown: call `drain`, or `shown` of its
// reload, of its application. All between two events; the block may be free afterwards.
void sock_reset(struct sock *k, uint32_t ix);
void sock_drain(struct sock *k, uint32_t ix);
void sock_shown(struct sock *k, uint32_t ix);

// sock_service_init: calls the application's init; -1 and *err. sock_service_fini: calls its fini
// and frees the images. Control thread, before and after the workers run.
int sock_service_init(struct c10m_service *s, struct err *err);
void sock_service_fini(struct c10m_service *s);

// sock_abort_all: looks at max blocks at most from *cursor on, resets the connections of these
// services, one bit each, and tells their applications. True: none is left.
bool sock_abort_all(struct sock *k, uint32_t services, uint32_t *cursor, uint32_t block_count,
                    uint32_t max);
