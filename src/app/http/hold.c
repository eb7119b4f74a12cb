#include "app/http/hold.h"

#include <stdlib.h>

struct http_pool {
    _Alignas(64) struct http_hold *holds;
    uint16_t *free;  // numbers of those that are
    uint32_t n_free;
    uint32_t n_units;  // not taken
};

static bool pool_init(struct http_pool *p, unsigned holds, size_t buffer_bytes, bool logs)
{
    const size_t buffer = (buffer_bytes + 63) / 64 * 64;
    const size_t room = buffer + (logs ? (sizeof(struct http_log_record) + 63) / 64 * 64 : 0);
    p->holds = calloc(holds, sizeof(*p->holds) + room);
    p->free = malloc(holds * sizeof(*p->free));
    if (p->holds == NULL || p->free == NULL)
        return false;
    uint8_t *bytes = (uint8_t *)(p->holds + holds);
    memset(bytes, 0, holds * room);  // so that the pages are there
    for (unsigned i = 0; i < holds; i++) {
        p->holds[i].bytes = bytes + i * room;
        p->holds[i].log =
            logs ? (struct http_log_record *)(void *)(bytes + i * room + buffer) : NULL;
        p->free[p->n_free++] = (uint16_t)(holds - i);
    }
    return true;
}

bool http_pools_init(struct http_pools *p, unsigned workers, unsigned holds, size_t buffer_bytes,
                     bool logs, uint32_t units)
{
    *p = (struct http_pools){.pools = aligned_alloc(64, workers * sizeof(*p->pools))};
    if (p->pools == NULL)
        return false;
    memset(p->pools, 0, workers * sizeof(*p->pools));
    for (p->n = 0; p->n < workers;) {
        p->pools[p->n].n_units = units;
        if (!pool_init(&p->pools[p->n++], holds, buffer_bytes, logs))
            return false;
    }
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

uint16_t http_hold_take(struct http_pools *p, unsigned worker)
{
    struct http_pool *pool = &p->pools[worker];
    if (pool->n_free == 0)
        return 0;
    uint16_t hold = pool->free[--pool->n_free];
    struct http_hold *h = http_hold_at(p, worker, hold);
    h->filled = 0;
    h->n_ranges = 0;
    h->logged = 0;
    return hold;
}

void http_hold_give(struct http_pools *p, unsigned worker, uint16_t hold)
{
    struct http_pool *pool = &p->pools[worker];
    pool->free[pool->n_free++] = hold;
}

struct http_hold *http_hold_at(const struct http_pools *p, unsigned worker, uint16_t hold)
{
    return &p->pools[worker].holds[hold - 1];
}

bool http_units_take(struct http_pools *p, unsigned worker, uint32_t n)
{
    struct http_pool *pool = &p->pools[worker];
    if (n > pool->n_units)
        return false;
    pool->n_units -= n;
    return true;
}

void http_units_give(struct http_pools *p, unsigned worker, uint32_t n)
{
    p->pools[worker].n_units += n;
}
