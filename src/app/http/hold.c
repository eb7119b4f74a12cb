// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/hold.h"

#include <stdlib.h>
#include <sys/random.h>

// share: units and holds of the sources with one entry.
struct share {
    uint32_t units, holds;
};

struct http_pool {
    _Alignas(64) struct http_hold *holds;
    uint16_t *free;  // numbers of the free holds
    uint32_t n_free, n_holds;
    uint32_t n_units[2];  // free units: all, and those for HTTP_BEHIND_ANSWER
    struct share most;    // limit of one source
    struct share at[HTTP_SOURCES];
};

static bool pool_init(struct http_pool *p, const struct http_pool_sizes *z)
{
    const unsigned holds = z->holds;
    const size_t buffer = (z->buffer_bytes + 63) / 64 * 64;
    const size_t room = buffer + (z->logs ? (sizeof(struct http_log_record) + 63) / 64 * 64 : 0);
    p->n_units[HTTP_OF_HEAD] = z->units;
    p->n_units[HTTP_BEHIND_ANSWER] = z->units / HTTP_BEHIND_SHARE;
    p->most.units = z->units / HTTP_SOURCE_SHARE;
    if (p->most.units < z->head_units)
        p->most.units = z->head_units;
    p->most.holds = (holds + HTTP_SOURCE_SHARE - 1) / HTTP_SOURCE_SHARE;
    p->holds = calloc(holds, sizeof(*p->holds) + room);
    p->free = malloc(holds * sizeof(*p->free));
    if (p->holds == NULL || p->free == NULL)
        return false;
    uint8_t *bytes = (uint8_t *)(p->holds + holds);
    memset(bytes, 0, holds * room);  // touches all pages
    p->n_holds = holds;
    for (unsigned i = 0; i < holds; i++) {
        p->holds[i].bytes = bytes + i * room;
        p->holds[i].log =
            z->logs ? (struct http_log_record *)(void *)(bytes + i * room + buffer) : NULL;
        p->free[p->n_free++] = (uint16_t)(holds - i);
    }
    return true;
}

bool http_pools_init(struct http_pools *p, unsigned workers, const struct http_pool_sizes *z)
{
    *p = (struct http_pools){.pools = aligned_alloc(64, workers * sizeof(*p->pools))};
    if (p->pools == NULL || getrandom(p->key, sizeof(p->key), 0) != sizeof(p->key))
        return false;
    memset(p->pools, 0, workers * sizeof(*p->pools));
    while (p->n < workers)
        if (!pool_init(&p->pools[p->n++], z))
            return false;
    return true;
}

void http_pools_free(struct http_pools *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        free(p->pools[i].holds);
        free(p->pools[i].free);
    }
    free(p->pools);
    *p = (struct http_pools){0};
}

// The key is mixed in before and between two rounds, so that addresses which collide under one key
// reveal little about other collisions. A source that collides with another one can only use the
// share of that source.
uint32_t http_source(const struct http_pools *p, const uint8_t addr[16])
{
    static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
    uint64_t who = 0;
    if (memcmp(addr, v4, sizeof(v4)) == 0)
        memcpy(&who, addr + 12, 4);
    else
        memcpy(&who, addr, 8);
    who = (who ^ p->key[0]) * (p->key[1] | 1);
    who = (who ^ who >> 32 ^ p->key[1]) * (p->key[0] | 1);
    return (uint32_t)(who >> 32) % HTTP_SOURCES;
}

uint16_t http_hold_take(struct http_pools *p, unsigned worker, uint32_t source)
{
    struct http_pool *pool = &p->pools[worker];
    if (pool->n_free == 0 || http_holds_shared(p, worker, source))
        return 0;
    uint16_t hold = pool->free[--pool->n_free];
    struct http_hold *h = http_hold_at(p, worker, hold);
    pool->at[source].holds++;
    h->source = source;
    h->filled = 0;
    h->n_ranges = 0;
    h->logged = 0;
    return hold;
}

uint16_t http_hold_take_spare(struct http_pools *p, unsigned worker, uint32_t source)
{
    const struct http_pool *pool = &p->pools[worker];
    return pool->n_free * 2 <= pool->n_holds + 1 ? 0 : http_hold_take(p, worker, source);
}

void http_hold_give(struct http_pools *p, unsigned worker, uint16_t hold)
{
    struct http_pool *pool = &p->pools[worker];
    pool->at[http_hold_at(p, worker, hold)->source].holds--;
    pool->free[pool->n_free++] = hold;
}

struct http_hold *http_hold_at(const struct http_pools *p, unsigned worker, uint16_t hold)
{
    return &p->pools[worker].holds[hold - 1];
}

bool http_units_take(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n)
{
    struct http_pool *pool = &p->pools[worker];
    if (n > pool->n_units[HTTP_OF_HEAD] || n > pool->n_units[use] ||
        http_units_shared(p, worker, source, n))
        return false;
    pool->n_units[HTTP_OF_HEAD] -= n;
    if (use != HTTP_OF_HEAD)
        pool->n_units[use] -= n;
    pool->at[source].units += n;
    return true;
}

void http_units_give(struct http_pools *p, unsigned worker, uint32_t source, enum http_use use,
                     uint32_t n)
{
    struct http_pool *pool = &p->pools[worker];
    pool->n_units[HTTP_OF_HEAD] += n;
    if (use != HTTP_OF_HEAD)
        pool->n_units[use] += n;
    pool->at[source].units -= n;
}

bool http_units_shared(const struct http_pools *p, unsigned worker, uint32_t source, uint32_t n)
{
    const struct http_pool *pool = &p->pools[worker];
    return n > pool->most.units - pool->at[source].units;
}

bool http_holds_shared(const struct http_pools *p, unsigned worker, uint32_t source)
{
    const struct http_pool *pool = &p->pools[worker];
    return pool->at[source].holds == pool->most.holds;
}
