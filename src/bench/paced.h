// SPDX-License-Identifier: BSD-3-Clause
// paced.h: a client in an open loop: it sends requests at a fixed rate, independent of the server,
// on all connections in turn. A request acknowledges the previous reply. A request that does not
// fit into the server's ring when it is due is lost and is not sent again, so a server that is too
// slow causes losses.
//
//   client core:  request k is due at start + k / rate .... reply: latency from when it was due
//   server core:  turns of the worker, as worker_run() makes them
//
// If the client itself is late, because the host interrupted its core, its clock stands still in
// the meantime, and replies that may have been delayed by the client are not measured, because the
// server has not caused these delays.
//
// The time is divided into slices. A slice is disturbed if the host interrupted the core of the
// server or of the client in it or in the previous slice (a turn over 100 us, a late client),
// because the ring then overflows. Losses and latencies are given for all slices and for the
// undisturbed ones.
#pragma once
#include "bench/feed.h"
#include "server/server.h"
#include "stat/latency.h"
#include "worker/worker.h"

enum {
    PACED_SLICE_US = 5000,
    PACED_LATE_US = 50,  // the client is late if its turns are further apart
    PACED_PAYLOAD = 64,
};

struct paced_params {
    struct port *port;  // the client's end; its queue 0
    struct pkt_pool *pool;
    struct worker *w;  // must stand still, with connections 0 to connections - 1 (feed_conn_at())
    uint32_t server_v4, client_v4;
    uint16_t server_port;
    uint32_t connections;
    // Work of the control thread: called after the start of the server, and between slices.
    void (*begun)(void *arg);
    void (*between)(void *arg);
    void *arg;
};

struct paced;

// paced_new: returns NULL if there is no memory.
struct paced *paced_new(const struct paced_params *params);
void paced_free(struct paced *p);

struct paced_sum {
    uint64_t slices, sent, lost;  // sent, lost: requests
    struct latency latency;       // client side, cycles
    struct latency turns;         // rx to tx, of the worker
};

struct paced_result {
    struct paced_sum all, calm;  // calm: of the undisturbed slices
    double seconds;              // by the clock of the client
    double rate;                 // requests per second received by the server
    double busy_share;           // share of turns with work in the server's cycles
    double cycles;               // cycles of turns with work per request
    double burst;                // packets per turn with work
    uint64_t client_late;        // how often the client was late
    struct latency idle;         // turns of the worker without work
};

// paced_run: sends `rate` requests per second (0: as many as possible) for `seconds` s to the
// server on EAL worker 0, then waits for outstanding replies and acknowledges them. Returns 0, or
// -1 with the reason in *err: wrong or missing replies, or interrupted.
int paced_run(struct paced *p, double rate, double seconds, struct paced_result *r,
              struct err *err);

// paced_idle: runs passes of an idle loop on the server's core for `seconds` s. An undisturbed pass
// takes `cycles`; more means that the host interrupted it. Adds the durations to *out. Returns 0,
// or -1 with the reason in *err.
int paced_idle(struct paced *p, uint64_t cycles, double seconds, struct latency *out,
               struct err *err);
