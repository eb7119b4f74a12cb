// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_view.h"

#include "tcp/tcp_internal.h"

// One life of a block takes at least two packets, which takes much longer than this.
enum { LIFE_CYCLES_MIN = 16, COPY_CYCLES_MAX = UINT16_MAX * LIFE_CYCLES_MIN };

// words_copy: copies word by word, because the source changes during the copy.
static void words_copy(void *to, const void *from, size_t bytes)
{
    uint64_t *d = to;
    const uint64_t *s = from;
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        d[i] = __atomic_load_n(&s[i], __ATOMIC_RELAXED);
}

enum { VIEW_BYTES = offsetof(struct tcp, ooo_of) };

static_assert(VIEW_BYTES % sizeof(uint64_t) == 0, "copied by words");

void tcp_view_begin(struct tcp *view, const struct tcp *t)
{
    words_copy(view, t, VIEW_BYTES);
}

static bool block_once(const struct block *b, struct block *copy)
{
    const uint64_t start = tsc_read();
    const uint16_t generation = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);
    if (generation == 0 || __atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == TCP_FREE)
        return false;
    words_copy(copy, b, offsetof(struct block, app));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == TCP_FREE)
        return false;
    return __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == generation &&
           tsc_read() - start < COPY_CYCLES_MAX;
}

bool tcp_view_block(const struct tcp *t, uint32_t ix, struct block *copy)
{
    const struct block *b = &t->blocks[ix];
    for (int i = 0; i < TCP_VIEW_TRIES; i++) {
        if (__atomic_load_n(&b->state, __ATOMIC_RELAXED) == TCP_FREE)
            return false;
        if (block_once(b, copy))
            return true;
    }
    return false;
}

// record_view: the copy is valid if two reads are equal and the record is live before, between and
// after them.
static bool record_view(const void *record, const uint8_t *live, void *copy, size_t bytes)
{
    uint64_t again[8];
    CHECK(bytes <= sizeof(again));
    for (int i = 0; i < TCP_VIEW_TRIES; i++) {
        if (!__atomic_load_n(live, __ATOMIC_ACQUIRE))
            return false;
        words_copy(copy, record, bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!__atomic_load_n(live, __ATOMIC_ACQUIRE))
            return false;
        words_copy(again, record, bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(live, __ATOMIC_ACQUIRE) && __builtin_memcmp(copy, again, bytes) == 0)
            return true;
    }
    return false;
}

bool tcp_view_syn(const struct tcp *t, uint32_t ix, struct syn_record *copy)
{
    return record_view(&t->syns[ix], &t->syns[ix].live, copy, sizeof(*copy));
}

bool tcp_view_listening(const struct listen_table *l, uint32_t ix, struct listening *copy)
{
    return record_view(&l->at[ix], &l->at[ix].live, copy, sizeof(*copy));
}

bool tcp_view_time_wait(const struct time_wait_ring *g, uint32_t ix, struct time_wait6 *copy)
{
    const struct time_wait *w = time_wait_at(g, ix);
    return record_view(w, &w->live, copy, g->record_bytes);
}

uint32_t tcp_view_tw_next(const struct time_wait_ring *g, uint32_t place)
{
    const uint32_t head = g->head, used = g->used;
    const uint32_t behind = place >= head ? place - head : place + (g->capacity - head);
    if (behind < used)
        return place;
    return place < head && used != 0 ? head : g->capacity;
}
