// SPDX-License-Identifier: BSD-3-Clause
// liveness.h: whether each worker's turns go on, and where it is when they do not; what it did in
// the last second. It is looked at from outside: a worker that is caught in a callback forever
// says nothing, but its count of turns stands still. Control thread.
//
//     worker: core_counters.turns, worker.at (one store a stage), sock.serving (one a callback)
//                  |
//                  v  liveness_poll(), every LIVENESS_POLL_MS
//             moved since the last look?  no, for LIVENESS_STALLED_MS: stalled
#pragma once
#include "base/text.h"
#include "stat/counters.h"
#include "worker/worker.h"

enum {
    LIVENESS_POLL_MS = 20,
    LIVENESS_STALLED_MS = 50,   // more than two looks, and than Linux's time slices
    LIVENESS_IDLE_MS = 200,     // without a turn with work
    LIVENESS_WINDOW_MS = 1000,  // of what is shown as of the present
};

enum liveness_state {
    LIVENESS_STARTING,
    LIVENESS_RUNNING,  // there was work within LIVENESS_IDLE_MS
    LIVENESS_IDLE,
    LIVENESS_STALLED,
    LIVENESS_STOPPED,
};

// liveness_recent: the last whole window, or the time since the start. useful: the share of time in
// turns with work, 0 to 1. headroom_pps: packets a second that would fit beside those that came, at
// what they cost; 0: none came, ever.
struct liveness_recent {
    double packets_per_s, useful, headroom_pps;
};

// liveness_now: of one worker. for_ms: in this state so long.
struct liveness_now {
    enum liveness_state state;
    uint64_t for_ms, turn;
    unsigned stage;                // enum stage: where it is, or was a moment ago
    struct c10m_service *service;  // whose callback runs in that stage; NULL: none
    struct liveness_recent recent;
};

struct server;
struct liveness;

// liveness_clock_ns: the time that the others take: of a monotonic clock.
uint64_t liveness_clock_ns(void);

// liveness_new: of all workers of s, which outlives it. NULL: no memory.
struct liveness *liveness_new(const struct server *s, uint64_t now_ns);
void liveness_free(struct liveness *p);

// liveness_poll: every LIVENESS_POLL_MS or so; one that comes late sees no stall where there is
// none.
void liveness_poll(struct liveness *p, uint64_t now_ns);

// liveness_look: of one worker, up to this moment.
void liveness_look(struct liveness *p, unsigned worker, uint64_t now_ns, struct liveness_now *out);

// liveness_state_name: as cores/N/state shows it.
const char *liveness_state_name(enum liveness_state s);

// liveness_render: cores/N/state: `name value` a line, and for a stalled one `stalled for N ms in
// stage S of application A`.
void liveness_render(struct liveness *p, unsigned worker, uint64_t now_ns, struct text *out);
