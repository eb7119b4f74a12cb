// SPDX-License-Identifier: BSD-3-Clause
// stall.h: turns of a worker's loop that took too long: the worker writes down what it knows, into
// a ring; the control thread takes it from there and finds the cause (server/stalls.h).
#pragma once
#include "base/shared.h"
#include "stat/counters.h"

enum { STALL_RING = 512 };  // 51 ms of nothing but stalls of 100 us

// stall: one turn. stage: the longest of its stages (STAGE_idle: it had no work), STAGE_COUNT: it
// was none of those whose stages are timed. The numbers are what it had to do.
struct stall {
    uint64_t end_tsc, cycles;
    uint64_t stage_cycles;  // of that stage
    uint16_t packets;       // received
    uint16_t events;        // segments with something for the application
    uint16_t timers;
    uint16_t segments;  // sent
    uint8_t stage;
};

// stall_ring: written by the worker; `n` last (release; stall_take acquires).
struct stall_ring {
    struct stall at[STALL_RING];
    struct shared_u64 n;  // so far: number i lies in at[i % STALL_RING]
};

// stall_put: the next one. The worker.
static inline void stall_put(struct stall_ring *r, const struct stall *s)
{
    const uint64_t n = shared_u64_load(&r->n);
    r->at[n % STALL_RING] = *s;
    shared_u64_store_release(&r->n, n + 1);
}

// stall_take: copies those from *taken on to out[0..max), oldest first, and returns how many;
// *taken moves behind them, and past those that had been overwritten, which *missed counts. Another
// thread.
unsigned stall_take(const struct stall_ring *r, uint64_t *taken, struct stall *out, unsigned max,
                    uint64_t *missed);

// stall_stage_name: as in cores/N/cycles, or "untimed".
const char *stall_stage_name(const struct stall *s);
