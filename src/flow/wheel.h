// SPDX-License-Identifier: BSD-3-Clause
// wheel.h: who is to be woken when. A timing wheel (Varghese, Lauck, "Hashed and hierarchical
// timing wheels", 1987) whose slots are chunked arrays of 4-byte handles: no link in the block.
//
//   level 0   4,096 slots of 1 ms        retransmission, delayed ACK: exact
//   level 1   1,024 slots of 4.096 s     keepalive, FIN-WAIT-2, applications: up to 70 minutes
//   level 2   1,024 slots of 70 minutes  up to 2^31 ms
//
// Entries carry no deadline. One of level 1 or 2 comes out when its slot begins, that is early: the
// owner looks at its deadlines and adds itself again, now on a finer level. wheel_add() therefore
// returns when the entry will come out. Nobody is woken late but by the bound of wheel_expire().
//
// A slot of level 1 or 2 may hold millions (everybody's keepalive). They are given out beside the
// ticks that go on, in the room that level 0 leaves, at least a quarter of each call's: what is due
// exactly does not wait for what is early anyway. Where one such slot is not empty when the next of
// its level begins, time waits for it.
//
// An entry stays until it comes out: a deadline that is called off, or moves to later, moves
// nothing. Who may want one sooner than its entry comes keeps the entry's place (wheel_place()) and
// takes it out by that (wheel_take()). So an owner has a fixed number of entries, whatever its
// deadlines do, and a wheel of that many times the owners is never full. The bound rests on this:
// who adds an entry knows that the one before has come out, or has taken it. wheel_may_hold() says
// it of entries whose coming out nobody saw.
//
// Only the first chunk of a slot is not full: the gap that wheel_take() leaves is filled from
// there. Therefore `entries` handles never need more chunks than wheel_footprint() counts.
#pragma once
#include "base/base.h"
#include "base/clock.h"

enum {
    WHEEL_CHUNK_HANDLES = 61,
    WHEEL_LEVELS = 3,
    WHEEL_L0_SLOTS = 4096,  // 1 ms
    WHEEL_L1_SLOTS = 1024,  // 2^12 ms
    WHEEL_L2_SLOTS = 1024,  // 2^22 ms
    WHEEL_SLOTS = WHEEL_L0_SLOTS + WHEEL_L1_SLOTS + WHEEL_L2_SLOTS,
    WHEEL_STEPS_MAX = 256,  // empty stretches that one wheel_expire() skips
};

struct wheel_chunk {
    uint32_t next;
    uint32_t at_ms;  // when its slot begins
    uint16_t count;
    uint16_t slot;
    uint32_t handle[WHEEL_CHUNK_HANDLES];
} CACHE_ALIGNED;

static_assert(sizeof(struct wheel_chunk) == 256, "four lines, fetched together");

struct wheel {
    struct wheel_chunk *chunks;
    uint32_t free;                    // chunks linked through next
    uint32_t draining[WHEEL_LEVELS];  // what the slots begun last still have to give out
    uint32_t begun_ms[WHEEL_LEVELS];  // when those began
    uint32_t at_ms;                   // the next tick, or the one being given out
    bool opened;                      // the slots of at_ms have been moved to draining
    uint32_t entries;
    uint32_t recent_ms;                  // the deadline added last, while its slot has not begun
    uint32_t recent;                     // first chunk of that slot, or WHEEL_EMPTY
    uint64_t refused;                    // additions that found no chunk
    uint64_t used[WHEEL_L0_SLOTS / 64];  // level 0: slots that are not empty
    uint32_t slot[WHEEL_SLOTS];          // first chunk, or WHEEL_EMPTY
};

#define WHEEL_EMPTY UINT32_MAX

// wheel_footprint: bytes for the wheel and `entries` handles: a full chunk per 61, and one chunk
// that is not full per slot and level being given out: at 10 million 4.36 bytes an entry.
// wheel_init: places it in mem, 64-byte aligned; time begins at now_ms.
size_t wheel_footprint(uint64_t entries);
struct wheel *wheel_init(void *mem, uint64_t entries, uint32_t now_ms);

// wheel_add: handle comes out of wheel_expire() at deadline_ms or earlier; returns at what time,
// never 0. 0: no chunk left (counted). A deadline that has passed comes out at the next tick.
static inline uint32_t wheel_add(struct wheel *w, uint32_t deadline_ms, uint32_t handle);

// wheel_place: the same, but returns the entry's place for wheel_take(), WHEEL_EMPTY: no chunk
// left. wheel_place_ms: when the entry at `place`, which has not come out, will.
uint32_t wheel_place(struct wheel *w, uint32_t deadline_ms, uint32_t handle);
static inline uint32_t wheel_place_ms(const struct wheel *w, uint32_t place);

// wheel_take: takes the handle, of which there is one, out of its place. False: it is not there,
// for it has come out. *moved: the handle that lies at `place` from now on instead, which may be of
// somebody who keeps its place; WHEEL_EMPTY: none. Looks at one chunk.
bool wheel_take(struct wheel *w, uint32_t place, uint32_t handle, uint32_t *moved);

// wheel_may_hold: whether an entry of which wheel_add() said at_ms may still be there. Never false
// of one that is; true of one that has come out only while others of that time have not.
static inline bool wheel_may_hold(const struct wheel *w, uint32_t at_ms);

// wheel_expire: up to max handles whose time has come by now_ms, and no more than WHEEL_STEPS_MAX
// ticks; the rest stays for the next call. Calls come less than 2^31 ms apart; a now_ms that goes
// back gives out nothing new.
uint32_t wheel_expire(struct wheel *w, uint32_t now_ms, uint32_t *out, uint32_t max);

// wheel_next_ms: no entry comes out before this time (a lower bound, for simulators).
uint32_t wheel_next_ms(const struct wheel *w);

// wheel_add_any: wheel_add() of a deadline other than the one before.
uint32_t wheel_add_any(struct wheel *w, uint32_t deadline_ms, uint32_t handle);

// What one turn sends has nearly always the same deadline.
static inline uint32_t wheel_add(struct wheel *w, uint32_t deadline_ms, uint32_t handle)
{
    if (likely(deadline_ms == w->recent_ms && w->recent != WHEEL_EMPTY)) {
        struct wheel_chunk *c = &w->chunks[w->recent];
        if (likely(c->count < WHEEL_CHUNK_HANDLES)) {
            c->handle[c->count++] = handle;
            w->entries++;
            return deadline_ms;
        }
    }
    return wheel_add_any(w, deadline_ms, handle);
}

static inline uint32_t wheel_place_ms(const struct wheel *w, uint32_t place)
{
    return w->chunks[place].at_ms;
}

static inline bool wheel_may_hold(const struct wheel *w, uint32_t at_ms)
{
    const uint32_t at = at_ms + (at_ms == UINT32_MAX);  // wheel_add() says so for 0
    return !time_before(at, w->at_ms) ||
           unlikely((w->draining[1] != WHEEL_EMPTY && at == w->begun_ms[1]) ||
                    (w->draining[2] != WHEEL_EMPTY && at == w->begun_ms[2]));
}
