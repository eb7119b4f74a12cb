// SPDX-License-Identifier: BSD-3-Clause
// accounting.h: what the turns of a worker cost: cycles of each stage, lengths of turns, stalls;
// and the marks and gauges of what has no counter of its own. Of the worker. What every turn needs
// is inline.
#pragma once
#include "base/clock.h"
#include "worker/worker.h"

static_assert((WORKER_TIMED_TURNS & (WORKER_TIMED_TURNS - 1)) == 0, "a mask of bits");

// account_highest: raises the marks in w->highest to what is there now. account_gauges: the gauges
// of what the timing wheel and the buffers count themselves.
void account_highest(struct worker *w);
void account_gauges(struct worker *w);

// account_unusual: a turn that is longer than all of `l` before it, or a stall.
NOINLINE void account_unusual(struct worker *w, struct latency *l, uint64_t cycles, uint32_t n);

// account_stage: `stage` is over; the next one begins.
static inline void account_stage(struct worker *w, enum stage stage)
{
    shared_u32_store(&w->at, stage + 1);
    if (w->timed)
        w->marks[stage + 1] = tsc_read();
}

// account_stages: the turn's cycles go to its stages, and those of the turns before it that were
// not timed in the same proportion.
static inline void account_stages(struct worker *w, uint64_t cycles)
{
    const double share = 1 + (double)w->unsplit_cycles / (double)cycles;
    for (unsigned s = 0; s <= STAGE_housekeeping; s++)
        w->stats->cycles[s] += (uint64_t)((double)(w->marks[s + 1] - w->marks[s]) * share);
    w->unsplit_cycles = 0;
}

static inline void account_latency(struct worker *w, struct latency *l, uint64_t cycles, uint32_t n)
{
    latency_add(l, cycles, n);
    if (unlikely(cycles > l->notice_cycles))
        account_unusual(w, l, cycles, n);
}

// account_turn: the turn is over; whether there was work. Turns without any work are idle time,
// whole. A reading of the TSC costs as much as a tenth of a packet's work a stage, so that of the
// others one in WORKER_TIMED_TURNS is timed.
static inline bool account_turn(struct worker *w)
{
    struct core_stats *st = w->stats;
    w->tsc_end = tsc_read();
    const uint64_t cycles = w->tsc_end - w->marks[0];
    st->c.turns++;
    if ((w->n_rx | w->tcp.n_out | w->n_expired | w->ordered) == 0) {
        st->cycles[STAGE_idle] += cycles;
        account_latency(w, &w->idle, cycles, 1);
        return false;
    }
    account_latency(w, &w->busy, cycles, w->n_rx);
    if (w->timed)
        account_stages(w, cycles);
    else
        w->unsplit_cycles += cycles;
    w->timed = (st->c.turns_busy++ & w->timed_mask) == 0;
    return true;
}
