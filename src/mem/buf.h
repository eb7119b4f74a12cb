// SPDX-License-Identifier: BSD-3-Clause
// buf.h: buffers of the send queue, of received data that is not consumed, and of out-of-order
// data. A 32-bit index identifies a buffer. The first `data_count` buffers have BUF_BYTES of room
// each; the others are references to immutable memory (images). One pool per worker, which alone
// accesses it.
//
//   descriptors  [ buf 0 | buf 1 | ... | data_count - 1 | references ... count - 1 ]
//   room         [ 2 KiB | 2 KiB | ... ]   stride 2,112, an odd number of cache lines: buffers then
//                                          use all sets of the cache
#pragma once
#include "base/base.h"

#define BUF_NONE UINT32_MAX

enum { BUF_BYTES = 2048, BUF_STRIDE = BUF_BYTES + CACHE_LINE };

struct buf {
    const uint8_t *at;     // first valid byte
    uint32_t next;         // BUF_NONE: last of its queue
    uint32_t seq;          // sequence number of the first byte
    uint32_t len;          // valid bytes
    uint32_t ends_record;  // send queue: 1: a segment ends with this buffer
};

static_assert(sizeof(struct buf) == 24, "a descriptor");

struct buf_pool {
    struct buf *bufs;
    uint8_t *room;
    uint32_t *free_data, *free_refs;  // LIFO of indices
    uint32_t n_free_data, n_free_refs;
    uint32_t data_count, count;
    uint32_t low_water;  // fewest free data buffers seen
};

// buf_footprint: bytes for data_count buffers and ref_count references. buf_init: places the pool
// in mem, 64-byte aligned. buf_place: as buf_init() without a store to mem: what lies there stays,
// and no buffer is free.
size_t buf_footprint(uint32_t data_count, uint32_t ref_count);
void buf_place(struct buf_pool *p, void *mem, uint32_t data_count, uint32_t ref_count);
void buf_init(struct buf_pool *p, void *mem, uint32_t data_count, uint32_t ref_count);

static inline uint8_t *buf_room(const struct buf_pool *p, uint32_t ix)
{
    return p->room + (size_t)ix * BUF_STRIDE;
}

// buf_get: an empty buffer with room; BUF_NONE: none is free.
static inline uint32_t buf_get(struct buf_pool *p)
{
    if (unlikely(p->n_free_data == 0))
        return BUF_NONE;
    uint32_t ix = p->free_data[--p->n_free_data];
    if (p->n_free_data < p->low_water)
        p->low_water = p->n_free_data;
    struct buf *b = &p->bufs[ix];
    b->at = buf_room(p, ix);
    b->next = BUF_NONE;
    b->len = b->ends_record = 0;  // one store
    return ix;
}

// buf_get_ref: a reference to len bytes at `at`; BUF_NONE: none is free.
static inline uint32_t buf_get_ref(struct buf_pool *p, const uint8_t *at, uint32_t len)
{
    if (unlikely(p->n_free_refs == 0))
        return BUF_NONE;
    uint32_t ix = p->free_refs[--p->n_free_refs];
    p->bufs[ix] = (struct buf){.at = at, .next = BUF_NONE, .len = len};
    return ix;
}

static inline bool buf_is_ref(const struct buf_pool *p, uint32_t ix)
{
    return ix >= p->data_count;
}

static inline void buf_put(struct buf_pool *p, uint32_t ix)
{
    DCHECK(ix < p->count);
    if (likely(!buf_is_ref(p, ix)))
        p->free_data[p->n_free_data++] = ix;
    else
        p->free_refs[p->n_free_refs++] = ix;
}

// buf_tail: the first free byte after the data of a buffer; *room: free bytes there, 0 for a
// reference.
static inline uint8_t *buf_tail(const struct buf_pool *p, uint32_t ix, uint32_t *room)
{
    const struct buf *b = &p->bufs[ix];
    uint8_t *tail = (uint8_t *)(uintptr_t)b->at + b->len;
    *room = buf_is_ref(p, ix) ? 0 : (uint32_t)(buf_room(p, ix) + BUF_BYTES - tail);
    return tail;
}

// buf_put_chain: frees a whole queue. BUF_NONE: the empty queue.
void buf_put_chain(struct buf_pool *p, uint32_t head);
