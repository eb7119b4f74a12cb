// SPDX-License-Identifier: BSD-3-Clause
// paced.h: an open loop: requests leave at a fixed rate whatever the server does, on connections in
// turn, each acknowledging the reply before it. What the server's ring has no room for at its
// moment is lost and is not sent again: so a server that is too slow shows by losses.
//
//   client core:  request k is due at start + k / rate .... reply: latency from when it was due
//   server core:  turns of the worker, as worker_run() makes them
//
// When the client itself comes late (its core was taken away), its clock stands still meanwhile,
// and replies that may have waited for it are not timed: neither is the server's doing.
//
// The time is cut into slices. One in which the machine took the server's or the client's core
// away for long (a turn over 100 us, a late client), or the next one, is disturbed: a ring holds
// only so much. Losses and latencies are told of all slices and of the undisturbed ones.
#pragma once
#include "bench/feed.h"
#include "server/server.h"
#include "stat/latency.h"
#include "worker/worker.h"

enum {
    PACED_SLICE_US = 5000,
    PACED_LATE_US = 50,  // between two turns of the client
    PACED_PAYLOAD = 64,
};

struct paced_params {
    struct port *port;  // the client's end; its queue 0
    struct pkt_pool *pool;
    struct worker *w;  // stands still, with the connections 0 to connections - 1 (feed_conn_at)
    uint32_t server_v4, client_v4;
    uint16_t server_port;
    uint32_t connections;
    // The control thread's work: called when the server has begun, and between two slices.
    void (*begun)(void *arg);
    void (*between)(void *arg);
    void *arg;
};

struct paced;

// paced_new: NULL: no memory. paced_free.
struct paced *paced_new(const struct paced_params *params);
void paced_free(struct paced *p);

struct paced_sum {
    uint64_t slices, sent, lost;  // requests
    struct latency latency;       // client side, cycles
    struct latency turns;         // rx to tx, of the worker
};

struct paced_result {
    struct paced_sum all, calm;  // calm: of the undisturbed slices
    double seconds;              // on the client's clock
    double rate;                 // requests a second that the server took
    double busy_share;           // of the server's cycles: turns with work
    double cycles;               // of turns with work, per request
    double burst;                // packets a turn with work
    uint64_t client_late;        // times that the client came late
    struct latency idle;         // the worker's turns without work
};

// paced_run: so many requests a second (0: as many as the client makes) for so long, the server on
// EAL worker 0; then what is outstanding is waited for and acknowledged. 0, or -1 and *err: wrong
// or missing replies, or interrupted.
int paced_run(struct paced *p, double rate, double seconds, struct paced_result *r,
              struct err *err);

// paced_idle: passes of an idle loop on the server's core for so long: each does nothing for as
// long as a turn of `cycles` takes when nobody disturbs it; their lengths are added to *out. What
// is above `cycles` there, the machine took. 0, or -1 and *err.
int paced_idle(struct paced *p, uint64_t cycles, double seconds, struct latency *out,
               struct err *err);
