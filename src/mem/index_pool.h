// SPDX-License-Identifier: BSD-3-Clause
// index_pool.h: a LIFO of the free indices of a fixed number of objects, 4 bytes for each, placed
// in given memory. One owner.
//
// index_pool_put_deferred() keeps an index back until index_pool_turn_end(): an object that is
// freed in a turn is reused in a later turn only. A block found at the begin of a turn therefore
// still belongs to the same connection, or to none.
#pragma once
#include "base/base.h"

#define INDEX_NONE UINT32_MAX

struct index_pool {
    uint32_t count;
    uint32_t n_free;      // free_list[0..n_free)
    uint32_t n_deferred;  // free_list[n_free..n_free + n_deferred): free from the next turn on
    uint32_t low_water;   // the lowest n_free so far
    uint32_t free_list[];
};

// index_pool_footprint: bytes for count indices. index_pool_init: places the pool in mem. The
// lowest index is returned first.
static inline size_t index_pool_footprint(uint32_t count)
{
    return ALIGN_UP(sizeof(struct index_pool) + (size_t)count * sizeof(uint32_t), CACHE_LINE);
}

static inline struct index_pool *index_pool_init(void *mem, uint32_t count)
{
    struct index_pool *p = mem;
    *p = (struct index_pool){.count = count, .n_free = count, .low_water = count};
    for (uint32_t i = 0; i < count; i++)
        p->free_list[i] = count - 1 - i;
    return p;
}

// index_pool_get: a free index, or INDEX_NONE.
static inline uint32_t index_pool_get(struct index_pool *p)
{
    if (unlikely(p->n_free == 0))
        return INDEX_NONE;
    const uint32_t ix = p->free_list[--p->n_free];
    if (unlikely(p->n_deferred != 0))  // close the gap: order among deferred ones does not matter
        p->free_list[p->n_free] = p->free_list[p->n_free + p->n_deferred];
    if (p->n_free < p->low_water)
        p->low_water = p->n_free;
    return ix;
}

static inline void index_pool_put(struct index_pool *p, uint32_t ix)
{
    DCHECK(ix < p->count && p->n_free + p->n_deferred < p->count);
    if (unlikely(p->n_deferred != 0))
        p->free_list[p->n_free + p->n_deferred] = p->free_list[p->n_free];
    p->free_list[p->n_free++] = ix;
}

static inline void index_pool_put_deferred(struct index_pool *p, uint32_t ix)
{
    DCHECK(ix < p->count && p->n_free + p->n_deferred < p->count);
    p->free_list[p->n_free + p->n_deferred++] = ix;
}

static inline void index_pool_turn_end(struct index_pool *p)
{
    p->n_free += p->n_deferred;
    p->n_deferred = 0;
}

static inline uint32_t index_pool_in_use(const struct index_pool *p)
{
    return p->count - p->n_free - p->n_deferred;
}
