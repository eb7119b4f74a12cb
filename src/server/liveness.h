// liveness.h: whether each worker's turns go on, and where it is when they do not; what it did in
// the last second. It is looked at from outside: a worker that is caught in a callback for ever
// says nothing, but its count of turns stands still. Control thread.
//
//     worker: core_counters.turns, worker.at (one store a stage), sock.serving (one a callback)
//                  |
//                  v  pulse_poll(), every PULSE_POLL_MS
//             moved since the last look?  no, for PULSE_STALLED_MS: stalled
#pragma once
#include "base/text.h"
#include "stat/counters.h"
#include "worker/worker.h"

enum {
    PULSE_POLL_MS = 20,
    PULSE_STALLED_MS = 50,   // more than two looks, and than Linux's time slices
    PULSE_IDLE_MS = 200,     // without a turn with work
    PULSE_WINDOW_MS = 1000,  // of what is shown as of the present
};

enum pulse_state {
    PULSE_STARTING,
    PULSE_RUNNING,  // there was work within PULSE_IDLE_MS
    PULSE_IDLE,
    PULSE_STALLED,
    PULSE_STOPPED,
};

// pulse_recent: the last whole window, or the time since the start. useful: the share of time in
// turns with work, 0 to 1. headroom_pps: packets a second that would fit beside those that came, at
// what they cost; 0: none came, ever.
struct pulse_recent {
    double packets_per_s, useful, headroom_pps;
};

// pulse_now: of one worker. for_ms: in this state so long.
struct pulse_now {
    enum pulse_state state;
    uint64_t for_ms, turn;
    unsigned stage;                // enum stage: where it is, or was a moment ago
    struct c10m_service *service;  // whose callback runs in that stage; NULL: none
    struct pulse_recent recent;
};

struct server;
struct pulse;

// pulse_clock_ns: the time that the others take: of a monotonic clock.
uint64_t pulse_clock_ns(void);

// pulse_new: of all workers of s, which outlives it. NULL: no memory.
struct pulse *pulse_new(const struct server *s, uint64_t now_ns);
void pulse_free(struct pulse *p);

// pulse_poll: every PULSE_POLL_MS or so; one that comes late sees no stall where there is none.
void pulse_poll(struct pulse *p, uint64_t now_ns);

// pulse_look: of one worker, up to this moment.
void pulse_look(struct pulse *p, unsigned worker, uint64_t now_ns, struct pulse_now *out);

// pulse_state_name: as cores/N/state shows it.
const char *pulse_state_name(enum pulse_state s);

// pulse_render: cores/N/state: `name value` a line, and for a stalled one `stalled for N ms in
// stage S of application A`.
void pulse_render(struct pulse *p, unsigned worker, uint64_t now_ns, struct text *out);
