// SPDX-License-Identifier: BSD-3-Clause
// sock.h: the socket layer: turns TCP's events into an application's callbacks, keeps what the
// application did not consume, and implements the calls of c10m/app.h. One per worker.
#pragma once
#include "base/err.h"
#include "base/shared.h"
#include "c10m/socket.h"
#include "tcp/tcp.h"

enum {
    SOCK_COUNTERS_MAX = 32,  // per service
    SOCK_OFFER_MAX =
        16384,             // unconsumed bytes that `data` gets as one range: C10M_DATA_CONTIG_BYTES
    SOCK_ERRORS_MAX = 16,  // ICMP errors of a turn that it did not receive (net_lost())
    // That are told at the end of a turn; one a segment, an error and a timer at most.
    SOCK_READABLE_MAX = BURST_MAX + SOCK_ERRORS_MAX + TCP_EXPIRE_MAX,
    SOCK_RESETS_TURN_MAX = 64,
    SOCK_RESET_LOOKS = 4096,  // blocks looked at for them
    SOCK_ROUNDS_MAX = 64,     // times that one event may resume the same connection
    SOCK_SERVING_NONE = UINT8_MAX,
};

struct c10m_image {
    uint8_t *bytes;
    uint64_t len;
    struct c10m_image *next;  // of the same service
};

// c10m_service: one [service NAME]. Written before the workers start, then read only.
struct c10m_service {
    const char *name;
    const struct c10m_app *app;
    void *data;
    uint8_t ix;
    // param: looks a key of the service's section up in the configuration `conf`.
    const char *(*param)(const void *conf, const char *key);
    const void *conf;
    int n_counters;
    struct {
        char name[32];
        char help[96];
    } counters[SOCK_COUNTERS_MAX];
    struct c10m_image *images;
    uint64_t image_bytes, image_bytes_max;  // 0: no limit but memory
};

// c10m_conn: the connection as a callback sees it.
struct c10m_conn {
    struct sock *k;
    struct block *b;
    uint32_t ix;
    uint8_t due;  // enum sock_due
};

// c10m_core: the worker as a callback without a connection sees it; `root` stands for the
// connection that its event has not.
struct c10m_core {
    struct c10m_conn root;
};

struct sock {
    struct tcp *tcp;
    uint64_t wall_us;               // the time of day where tcp->now.us is 0
    struct c10m_service *services;  // TCP_SERVICES_MAX, the same index as tcp.services
    uint8_t *scratch;               // SOCK_OFFER_MAX: unconsumed data made contiguous
    uint64_t counters[TCP_SERVICES_MAX][SOCK_COUNTERS_MAX];  // this worker's; the reader adds up
    // The service whose callback runs, or ran last in this stage, or SOCK_SERVING_NONE: the control
    // thread names it when the turn does not end.
    struct shared_u8 serving;
    // Of the present event: whose it is, and what its callbacks reached beside that.
    struct c10m_conn *root;
    unsigned n_others;  // 0 between events
    struct c10m_conn others[C10M_OTHERS_MAX];
    // Connections of applications that pull, which sock_tell() tells of what is new to read.
    unsigned n_readable;
    uint32_t readable[SOCK_READABLE_MAX];
    // Local addresses by flow_key.local_ix, to open from; none: only from's.
    const struct ip_addr *locals;
    unsigned n_locals;
    struct c10m_core core;
    // Services whose connections are all being reset, a bit each; the next block to look at.
    uint32_t resets, reset_at;
    // While `open` runs, with listeners: whose, and by which it came.
    uint32_t opened;
    int opened_by;
};

static inline struct sock *sock_of(const struct c10m_core *w)
{
    return (struct sock *)((char *)(uintptr_t)w - offsetof(struct sock, core));
}

// sock_event: what TCP reported of one connection, handed to its application; `data` is the range
// of the verdict. Afterwards the block may be gone.
void sock_event(struct sock *k, const struct tcp_verdict *v, const uint8_t *data);

// sock_begin, sock_settle: around a callback that gets &k->core: the connections that it reaches
// are settled afterwards. sock_message: `message` of s with msg, in between.
void sock_begin(struct sock *k);
void sock_settle(struct sock *k);
void sock_message(struct sock *k, struct c10m_service *s, void *msg);

// sock_tell: after the last sock_event() of a turn, if n_readable is not 0: `readable`, once for
// each connection of an application that pulls to which something came.
void sock_tell(struct sock *k);

// sock_open: an active open under s; *made as c10m_open() gives it. 0, or -EADDRNOTAVAIL, -ENOBUFS.
int sock_open(struct sock *k, struct c10m_service *s, const struct flow_key *key,
              struct c10m_conn **made);

// sock_local: the index of a local address, -1: it is none.
int sock_local(const struct sock *k, const uint8_t addr[16]);

// sock_reset_some: while `resets` is not 0, once a turn: at most SOCK_RESETS_TURN_MAX connections
// of those services are reset, as far as there is room to say so.
void sock_reset_some(struct sock *k);

// sock_reset: connection ix, which is not FREE, is reset and its application told, as it is those
// of others that its callbacks reach. sock_drain: its application is told that the service drains.
// Both between two events; afterwards the block may be gone.
void sock_reset(struct sock *k, uint32_t ix);
void sock_drain(struct sock *k, uint32_t ix);

// sock_service_init: runs the application's init; -1 and *err. sock_service_fini: its fini, and
// frees the images. Control thread, before and after the workers run.
int sock_service_init(struct c10m_service *s, struct err *err);
void sock_service_fini(struct c10m_service *s);

// sock_abort_all: at most max connections from *cursor on are reset and told; true when none is
// left.
bool sock_abort_all(struct sock *k, uint32_t *cursor, uint32_t block_count, uint32_t max);
