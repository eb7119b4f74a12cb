// SPDX-License-Identifier: BSD-3-Clause
// wheel.h: timers: a timing wheel (Varghese, Lauck, "Hashed and hierarchical timing wheels", 1987)
// whose slots are chunked arrays of 4-byte handles, so that blocks need no links.
//
//   level 0   4,096 slots of 1 ms        retransmission, delayed ACK: exact
//   level 1   1,024 slots of 4.096 s     keepalive, FIN-WAIT-2, applications: up to 70 minutes
//   level 2   1,024 slots of 70 minutes  up to 2^31 ms
//
// Entries store no deadline. An entry of level 1 or 2 expires when its slot begins, which is early:
// its owner checks its deadlines and adds the entry again, now on a finer level. wheel_add()
// therefore returns when the entry will expire. No entry expires late, except by the limits of
// wheel_expire().
//
// A slot of level 1 or 2 may hold millions of entries (keepalive). They are returned over many
// calls while time goes on, in the room that level 0 leaves, at least a quarter of each call's.
// Exact timers do not wait for them. If such a slot is not empty when the next slot of its level
// begins, time waits for it.
//
// An entry stays until it expires: canceling or postponing a deadline changes nothing in the
// wheel. An owner that may need an earlier entry stores its place (wheel_place()) and removes it
// there (wheel_remove()). Each owner thus has a fixed number of entries, and a wheel with that many
// times the owners is never full. For this bound an owner adds an entry only after the one before
// has expired or was removed. wheel_may_hold() answers that for an entry whose expiry its owner did
// not see.
//
// Only the first chunk of a slot may be partly filled: wheel_remove() fills the gap from there.
// `entries` handles therefore never need more chunks than wheel_footprint() counts.
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
    WHEEL_STEPS_MAX = 256,  // steps of time of one wheel_expire()
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
    uint32_t draining[WHEEL_LEVELS];  // remaining chunks of the slot begun last, by level
    uint32_t begun_ms[WHEEL_LEVELS];  // when those slots began
    uint32_t at_ms;                   // the next tick, or the current one
    bool opened;                      // the slots of at_ms were moved to draining
    uint32_t entries;
    uint32_t recent_ms;                  // the deadline added last, if its slot has not begun
    uint32_t recent;                     // first chunk of that slot, or WHEEL_EMPTY
    uint64_t refused;                    // additions that found no chunk
    uint64_t used[WHEEL_L0_SLOTS / 64];  // level 0: slots that are not empty
    uint32_t slot[WHEEL_SLOTS];          // first chunk, or WHEEL_EMPTY
};

#define WHEEL_EMPTY UINT32_MAX

// wheel_footprint: bytes for the wheel and `entries` handles: a full chunk for each 61, and one
// partly filled chunk for each slot and each level that is being drained. At 10 million 4.36 bytes
// an entry. wheel_init: places the wheel in mem, 64-byte aligned; time begins at now_ms.
size_t wheel_footprint(uint64_t entries);
struct wheel *wheel_init(void *mem, uint64_t entries, uint32_t now_ms);

// wheel_add: adds `handle`, to expire at deadline_ms or earlier. Returns the time of its expiry,
// never 0. 0: no chunk is free (counted). A deadline in the past expires at the next tick.
static inline uint32_t wheel_add(struct wheel *w, uint32_t deadline_ms, uint32_t handle);

// wheel_place: as wheel_add(), but returns the place of the entry for wheel_remove(). WHEEL_EMPTY:
// no chunk is free. wheel_place_ms: when the entry at `place` will expire.
uint32_t wheel_place(struct wheel *w, uint32_t deadline_ms, uint32_t handle);
static inline uint32_t wheel_place_ms(const struct wheel *w, uint32_t place);

// wheel_remove: removes the handle from its place; it occurs at most once there. False: it is not
// there, because it has expired. *moved: the handle that was moved to `place`, whose owner may have
// to update its place; WHEEL_EMPTY: none. Reads one chunk.
bool wheel_remove(struct wheel *w, uint32_t place, uint32_t handle, uint32_t *moved);

// wheel_may_hold: whether the entry for which wheel_add() returned at_ms may still be in the wheel.
// Never false for one that is. True for an expired one only while other entries of that time have
// not expired.
static inline bool wheel_may_hold(const struct wheel *w, uint32_t at_ms);

// wheel_expire: returns up to max handles that have expired by now_ms, after at most
// WHEEL_STEPS_MAX ticks; the others come in later calls. Calls are less than 2^31 ms apart. If
// now_ms goes back, nothing new expires.
uint32_t wheel_expire(struct wheel *w, uint32_t now_ms, uint32_t *out, uint32_t max);

// wheel_next_ms: a lower bound of the time of the next expiry, for simulators.
uint32_t wheel_next_ms(const struct wheel *w);

// wheel_add_any: wheel_add() for a deadline other than the one before.
uint32_t wheel_add_any(struct wheel *w, uint32_t deadline_ms, uint32_t handle);

// The segments of one turn nearly always have the same deadline.
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
