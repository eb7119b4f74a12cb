// SPDX-License-Identifier: BSD-3-Clause
// accounting.h: what a worker measures of its turns: cycles of each stage, lengths of turns,
// stalls, and the high-water marks and gauges that have no counter. Worker only. Functions that
// every turn calls are inline.
#pragma once
#include "base/clock.h"
#include "worker/turn_trace.h"
#include "worker/worker.h"

static_assert((WORKER_TIMED_TURNS & (WORKER_TIMED_TURNS - 1)) == 0, "a mask of bits");

// account_highest: updates the high-water marks in w->highest. account_gauges: copies the fill
// levels of timing wheel and buffers to their gauges.
void account_highest(struct worker *w);
void account_gauges(struct worker *w);

// account_unusual: a turn that is the longest so far in `l`, or a stall.
NOINLINE void account_unusual(struct worker *w, struct latency *l, uint64_t cycles, uint32_t n);

// account_stage: `stage` has ended and the next one begins.
static inline void account_stage(struct worker *w, enum stage stage)
{
    // A process that adopts connections believes this word: see worker/hand.h and tcp_touch().
    __asm__ volatile("" ::: "memory");
    shared_u32_store(&w->at, stage + 1);
    __asm__ volatile("" ::: "memory");
    if (w->timed)
        w->marks[stage + 1] = tsc_read();
}

// account_stages: adds the cycles of the turn to its stages, and in the same proportion those of
// the turns before it whose stages were not timed.
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

// account_turn: ends the turn and returns whether it had work. A turn without work is idle time.
// Stages are timed in one of WORKER_TIMED_TURNS busy turns only: a TSC reading for each stage costs
// a tenth of the work for a packet.
static inline bool account_turn(struct worker *w)
{
    struct core_stats *st = w->stats;
    w->tsc_end = tsc_read();
    const uint64_t cycles = w->tsc_end - w->marks[0];
    st->c.turns++;
    if ((w->n_rx | w->tcp.n_out | w->n_expired | w->n_messages | w->ordered) == 0) {
        st->cycles[STAGE_idle] += cycles;
        account_latency(w, &w->idle, cycles, 1);
        return false;
    }
    account_latency(w, &w->busy, cycles, w->n_rx);
    if (unlikely(w->traced))
        turn_trace_end(w);
    if (w->timed)
        account_stages(w, cycles);
    else
        w->unsplit_cycles += cycles;
    w->timed = (st->c.turns_busy++ & w->timed_mask) == 0;
    return true;
}
