// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_lose.h"

#include <string.h>

static void lose_lists(struct tcp *t)
{
    struct flight_pool *f = &t->flights;
    index_pool_init(t->block_pool, t->block_pool->count);
    index_pool_init(t->syn_pool, t->syn_pool->count);
    index_pool_init(t->ext_pool, t->ext_pool->count);
    index_pool_init(f->small_free, f->small_free->count);
    index_pool_init(f->large_free, f->large_free->count);
    const uint32_t refs = t->bufs.count - t->bufs.data_count;
    buf_init(&t->bufs, t->bufs.bufs, t->bufs.data_count, refs);
}

static void lose_table(struct flow_table *f)
{
    memset(f->buckets, 0, f->n_buckets * sizeof(struct flow_bucket));
    f->count = f->in_second = 0;
}

void tcp_lose_to(struct tcp *t, struct wheel *wheel)
{
    lose_lists(t);
    lose_table(t->table);
    t->tw4.head = t->tw4.used = t->tw6.head = t->tw6.used = 0;
    t->wheel = wheel;
    memset(t->xmit_runs, 0, (t->block_pool->count + 63) / 64 * sizeof(uint64_t));
    memset(t->ooo_of, 0, sizeof(t->ooo_of));
    memset(t->ooo_most, 0, sizeof(t->ooo_most));
    memset(&t->shed, 0, sizeof(t->shed));
    memset(t->places, 0, TCP_SEEK_PLACES * sizeof(t->places[0]));
    if (t->prefixes != NULL)
        memset(t->prefixes->cell, 0, sizeof(t->prefixes->cell));
    t->ooo_bufs = 0;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->n_dirty = 0;
}

void tcp_lose(struct tcp *t, uint64_t timers)
{
    tcp_lose_to(t, wheel_init(t->wheel, timers, t->now.ms));
}
