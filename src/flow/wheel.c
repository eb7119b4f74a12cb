// SPDX-License-Identifier: BSD-3-Clause
#include "flow/wheel.h"

#include <string.h>

static uint64_t chunk_count(uint64_t entries)
{
    return (entries + WHEEL_CHUNK_HANDLES - 1) / WHEEL_CHUNK_HANDLES + WHEEL_SLOTS + WHEEL_LEVELS;
}

size_t wheel_footprint(uint64_t entries)
{
    return ALIGN_UP(sizeof(struct wheel), CACHE_LINE) +
           chunk_count(entries) * sizeof(struct wheel_chunk);
}

struct wheel *wheel_init(void *mem, uint64_t entries, uint32_t now_ms)
{
    CHECK((uintptr_t)mem % CACHE_LINE == 0);
    struct wheel *w = mem;
    memset(w, 0, sizeof(*w));
    w->chunks = (struct wheel_chunk *)((uint8_t *)mem + ALIGN_UP(sizeof(*w), CACHE_LINE));
    const uint64_t n = chunk_count(entries);
    CHECK(n < WHEEL_EMPTY);
    for (uint64_t i = 0; i < n; i++)
        w->chunks[i].next = i + 1 < n ? (uint32_t)(i + 1) : WHEEL_EMPTY;
    for (int i = 0; i < WHEEL_LEVELS; i++) {
        w->draining[i] = WHEEL_EMPTY;
        w->begun_ms[i] = now_ms - 1;  // no chunk has this time yet
    }
    w->at_ms = now_ms;
    w->recent = WHEEL_EMPTY;
    for (int i = 0; i < WHEEL_SLOTS; i++)
        w->slot[i] = WHEEL_EMPTY;
    return w;
}

// push: appends the handle to the slot's first chunk, or to a new chunk that becomes the first.
// Returns false if no chunk is free.
static bool push(struct wheel *w, uint32_t slot, uint32_t at_ms, uint32_t handle)
{
    uint32_t ix = w->slot[slot];
    if (ix == WHEEL_EMPTY || w->chunks[ix].count == WHEEL_CHUNK_HANDLES) {
        if (unlikely(w->free == WHEEL_EMPTY)) {
            w->refused++;
            return false;
        }
        const uint32_t fresh = w->free;
        w->free = w->chunks[fresh].next;
        w->chunks[fresh].next = ix;
        w->chunks[fresh].at_ms = at_ms;
        w->chunks[fresh].count = 0;
        w->chunks[fresh].slot = (uint16_t)slot;
        w->slot[slot] = ix = fresh;
    }
    struct wheel_chunk *c = &w->chunks[ix];
    c->handle[c->count++] = handle;
    w->entries++;
    return true;
}

// add: returns the slot whose first chunk then has the entry, or WHEEL_EMPTY if no chunk is free.
static inline uint32_t add(struct wheel *w, uint32_t deadline_ms, uint32_t handle, uint32_t *at_ms)
{
    const uint32_t first = w->at_ms + w->opened;
    uint32_t at = time_before(deadline_ms, first) ? first : deadline_ms, slot;
    const uint32_t away = at - w->at_ms;
    if (away < WHEEL_L0_SLOTS) {
        slot = at % WHEEL_L0_SLOTS;
    } else if (away < 1u << 22) {
        slot = WHEEL_L0_SLOTS + (at >> 12) % WHEEL_L1_SLOTS;
        at &= ~((1u << 12) - 1);
    } else {
        slot = WHEEL_L0_SLOTS + WHEEL_L1_SLOTS + (at >> 22) % WHEEL_L2_SLOTS;
        at &= ~((1u << 22) - 1);
    }
    if (!push(w, slot, at, handle))
        return WHEEL_EMPTY;
    if (slot < WHEEL_L0_SLOTS) {
        w->used[slot / 64] |= 1ULL << slot % 64;
        w->recent_ms = at;
        w->recent = at != 0 ? w->slot[slot] : WHEEL_EMPTY;
    }
    *at_ms = at;
    return slot;
}

uint32_t wheel_add_any(struct wheel *w, uint32_t deadline_ms, uint32_t handle)
{
    uint32_t at = 0;
    if (add(w, deadline_ms, handle, &at) == WHEEL_EMPTY)
        return 0;
    // 0 means refused. UINT32_MAX, one millisecond earlier, stands for the time 0.
    return at != 0 ? at : UINT32_MAX;
}

uint32_t wheel_place(struct wheel *w, uint32_t deadline_ms, uint32_t handle)
{
    uint32_t at;
    const uint32_t slot = add(w, deadline_ms, handle, &at);
    return slot == WHEEL_EMPTY ? WHEEL_EMPTY : w->slot[slot];
}

static unsigned level_of(uint32_t slot)
{
    return slot < WHEEL_L0_SLOTS ? 0 : slot < WHEEL_L0_SLOTS + WHEEL_L1_SLOTS ? 1 : 2;
}

// list_of: the head of the list that contains the chunk: the list of its slot, or the list that its
// level is draining. The draining chunks are those whose at_ms is the time at which the level's
// current slot began, because no entry is added to a slot at that time.
static uint32_t *list_of(struct wheel *w, const struct wheel_chunk *c)
{
    const unsigned level = level_of(c->slot);
    return c->at_ms == w->begun_ms[level] ? &w->draining[level] : &w->slot[c->slot];
}

static void free_first(struct wheel *w, uint32_t *list)
{
    const uint32_t ix = *list, slot = w->chunks[ix].slot;
    *list = w->chunks[ix].next;
    w->chunks[ix].next = w->free;
    w->free = ix;
    if (w->recent == ix)
        w->recent = WHEEL_EMPTY;
    if (list == &w->slot[slot] && *list == WHEEL_EMPTY && slot < WHEEL_L0_SLOTS)
        w->used[slot / 64] &= ~(1ULL << slot % 64);
}

bool wheel_remove(struct wheel *w, uint32_t place, uint32_t handle, uint32_t *moved)
{
    struct wheel_chunk *c = &w->chunks[place];
    uint32_t i = c->count;  // from the end, because recent entries are removed most often
    *moved = WHEEL_EMPTY;
    while (i != 0 && c->handle[i - 1] != handle)
        i--;
    if (i-- == 0)
        return false;
    uint32_t *list = list_of(w, c);
    struct wheel_chunk *first = &w->chunks[*list];
    const uint32_t last = first->handle[--first->count];
    if (first != c)
        *moved = last;
    if (first != c || i != c->count)
        c->handle[i] = last;
    w->entries--;
    if (first->count == 0)
        free_first(w, list);
    return true;
}

static void begin_slot(struct wheel *w, int level, uint32_t slot)
{
    CHECK(w->draining[level] == WHEEL_EMPTY);
    w->draining[level] = w->slot[slot];
    w->begun_ms[level] = w->at_ms;
    w->slot[slot] = WHEEL_EMPTY;
}

static void open_tick(struct wheel *w)
{
    const uint32_t s0 = w->at_ms % WHEEL_L0_SLOTS;
    begin_slot(w, 0, s0);
    if (w->recent_ms == w->at_ms)
        w->recent = WHEEL_EMPTY;
    w->used[s0 / 64] &= ~(1ULL << s0 % 64);
    if (s0 == 0) {
        const uint32_t s1 = (w->at_ms >> 12) % WHEEL_L1_SLOTS;
        begin_slot(w, 1, WHEEL_L0_SLOTS + s1);
        if (s1 == 0)
            begin_slot(w, 2, WHEEL_L0_SLOTS + WHEEL_L1_SLOTS + (w->at_ms >> 22) % WHEEL_L2_SLOTS);
    }
    w->opened = true;
}

// must_wait: whether a slot of level 1 or 2 begins at at_ms while the level's previous slot is
// still being drained.
static bool must_wait(const struct wheel *w)
{
    return w->at_ms % (1u << 12) == 0 &&
           (w->draining[1] != WHEEL_EMPTY ||
            (w->at_ms % (1u << 22) == 0 && w->draining[2] != WHEEL_EMPTY));
}

// next_tick: the first tick from from_ms on at which level 0 has entries or a slot of a higher
// level begins. It is found in the bitmap of level 0.
static uint32_t next_tick(const struct wheel *w, uint32_t from_ms)
{
    const uint32_t s = from_ms % WHEEL_L0_SLOTS;
    if (s == 0)
        return from_ms;
    uint32_t word = s / 64;
    uint64_t bits = w->used[word] & ~0ULL << s % 64;
    while (bits == 0 && ++word < WHEEL_L0_SLOTS / 64)
        bits = w->used[word];
    const uint32_t to =
        bits != 0 ? word * 64 + (uint32_t)__builtin_ctzll(bits) : (uint32_t)WHEEL_L0_SLOTS;
    return from_ms + (to - s);
}

static inline void fetch(const struct wheel_chunk *c)
{
    for (unsigned i = 0; i < sizeof(*c); i += CACHE_LINE)
        prefetch0_w((const uint8_t *)c + i);
}

// drain: writes up to max handles of the list that the level is draining to out. Returns how many.
static uint32_t drain(struct wheel *w, int level, uint32_t *out, uint32_t max)
{
    uint32_t n = 0;
    while (w->draining[level] != WHEEL_EMPTY && n != max) {
        const uint32_t ix = w->draining[level];
        struct wheel_chunk *c = &w->chunks[ix];
        if (c->next != WHEEL_EMPTY)
            fetch(&w->chunks[c->next]);
        const uint32_t k = MIN(c->count, max - n);
        c->count = (uint16_t)(c->count - k);
        memcpy(out + n, &c->handle[c->count], k * sizeof(*out));
        n += k;
        if (c->count != 0)
            break;
        w->draining[level] = c->next;
        c->next = w->free;
        w->free = ix;
    }
    w->entries -= n;
    return n;
}

static uint32_t drain_early(struct wheel *w, uint32_t *out, uint32_t max)
{
    const uint32_t n = drain(w, 1, out, max);
    return n + drain(w, 2, out + n, max - n);
}

static bool early_pending(const struct wheel *w)
{
    return w->draining[1] != WHEEL_EMPTY || w->draining[2] != WHEEL_EMPTY;
}

uint32_t wheel_expire(struct wheel *w, uint32_t now_ms, uint32_t *out, uint32_t max)
{
    uint32_t n = 0;
    for (int steps = 0; steps < WHEEL_STEPS_MAX && !time_before(now_ms, w->at_ms); steps++) {
        if (!w->opened && must_wait(w)) {
            n += drain_early(w, out + n, max - n);
            if (must_wait(w))
                break;
        }
        if (!w->opened)
            open_tick(w);
        const uint32_t room = early_pending(w) ? max - (max + 3) / 4 : max;
        n += drain(w, 0, out + n, room - MIN(n, room));
        if (w->draining[0] != WHEEL_EMPTY)
            break;
        w->opened = false;
        const uint32_t next = next_tick(w, w->at_ms + 1);
        w->at_ms = time_before(now_ms, next) ? now_ms + 1 : next;
    }
    return n + drain_early(w, out + n, max - n);
}

uint32_t wheel_next_ms(const struct wheel *w)
{
    if (early_pending(w))
        return w->at_ms - 1;
    return w->opened ? w->at_ms : next_tick(w, w->at_ms);
}
