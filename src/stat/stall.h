// SPDX-License-Identifier: BSD-3-Clause
// stall.h: turns of a worker that took too long. The worker records them in a ring. The control
// thread reads them and determines the cause (server/stalls.h).
#pragma once
#include "base/shared.h"
#include "stat/counters.h"

enum {
    STALL_RING = 512,  // 51 ms of consecutive stalls of 100 us
    STALL_NO_SERVICE = 255,
};

// stall: one turn. stage: its longest stage (STAGE_idle: the turn had no work); STAGE_COUNT: its
// stages were not timed. The counts are the work of the turn. service: of all its events and
// datagrams; STALL_NO_SERVICE: it had none, or of several services.
struct stall {
    uint64_t end_tsc, cycles;
    uint64_t stage_cycles;  // of that stage
    uint16_t packets;       // received
    uint16_t events;        // segments with an event, and messages, for applications
    uint16_t timers;
    uint16_t segments;  // sent
    uint8_t stage;
    uint8_t service;
};

// stall_ring: written by the worker; `n` last (release; stall_take() acquires).
struct stall_ring {
    struct stall at[STALL_RING];
    struct shared_u64 n;  // stalls so far: number i is in at[i % STALL_RING]
};

// stall_put: appends a stall. Worker.
static inline void stall_put(struct stall_ring *r, const struct stall *s)
{
    const uint64_t n = shared_u64_load(&r->n);
    r->at[n % STALL_RING] = *s;
    shared_u64_store_release(&r->n, n + 1);
}

// stall_take: copies stalls from number *taken on to out[0..max), oldest first, and returns how
// many. *taken advances past them and past overwritten ones, which are added to *missed. Control
// thread.
unsigned stall_take(const struct stall_ring *r, uint64_t *taken, struct stall *out, unsigned max,
                    uint64_t *missed);

// stall_stage_name: the name as in cores/N/cycles, or "untimed".
const char *stall_stage_name(const struct stall *s);
