// SPDX-License-Identifier: BSD-3-Clause
#include "heir.h"

#include <stdlib.h>
#include <string.h>

static void add(struct heir *h, const void *at, size_t bytes)
{
    CHECK(h->n_lasting < HEIR_RANGES);
    if (bytes != 0)
        h->lasting[h->n_lasting++] = (struct store_range){at, bytes};
}

// add_records: the free lists, which lie behind, are built anew by each process.
static void add_records(struct heir *h, const struct tcp *t)
{
    const struct flight_pool *f = &t->flights;
    const uint32_t n = t->block_pool->count;
    add(h, t->blocks, n * sizeof(struct block));
    add(h, t->bufs.bufs, t->bufs.count * sizeof(struct buf));
    add(h, t->bufs.room, (size_t)t->bufs.data_count * BUF_STRIDE);
    add(h, t->exts, t->ext_pool->count * sizeof(struct ext));
    add(h, f->small, (uint8_t *)f->small_free - f->small);
    add(h, t->syns, t->syn_pool->count * sizeof(struct syn_record));
    add(h, t->tw4.records, (size_t)t->tw4.capacity * t->tw4.record_bytes);
    add(h, t->tw6.records, (size_t)t->tw6.capacity * t->tw6.record_bytes);
}

static void add_hand(struct heir *h, const struct end *e)
{
    add(h, &e->burst_in_hand, offsetof(struct end, held) - offsetof(struct end, burst_in_hand));
    add(h, &e->tcp.touched, sizeof(e->tcp.touched));
    add(h, &e->tcp.pruned, sizeof(e->tcp.pruned));
    add(h, &e->sock.n_others, sizeof(e->sock.n_others) + sizeof(e->sock.others));
}

// inherit_bufs: as buf_init() leaves them.
static void inherit_bufs(struct heir *h, const struct buf_pool *o)
{
    struct buf_pool *p = &h->end.tcp.bufs;
    CHECK(o->count <= HEIR_BUFS_MAX);
    *p = *o;
    p->free_data = h->free_bufs;
    p->free_refs = h->free_bufs + o->data_count;
    for (uint32_t i = 0; i < o->data_count; i++)
        p->free_data[i] = o->data_count - 1 - i;
    for (uint32_t i = 0; i < o->count - o->data_count; i++)
        p->free_refs[i] = o->count - 1 - i;
    p->n_free_data = p->low_water = o->data_count;
    p->n_free_refs = o->count - o->data_count;
}

// inherit: t works on the lasting memory of o, with lists of its own.
static void inherit(struct tcp *t, const struct tcp *o)
{
    t->blocks = o->blocks;
    t->rounds = o->rounds;
    t->exts = o->exts;
    t->syns = o->syns;
    t->tw4.records = o->tw4.records;
    t->tw6.records = o->tw6.records;
    t->flights.small = o->flights.small;
    t->flights.large = o->flights.large;
    t->cfg = o->cfg;
    t->n_services = o->n_services;
    memcpy(t->services, o->services, sizeof(t->services));
    for (uint32_t i = 0; i < t->n_services; i++)
        t->services[i].connections = t->services[i].fast_open_now = 0;
}

struct heir *heir_new(struct end *e)
{
    struct heir *h = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*h), CACHE_LINE));
    CHECK(h != NULL);
    memset(h, 0, sizeof(*h));
    h->of = e;
    struct pair_sizes z = e->sizes;
    z.bufs = 1;  // it has those of e
    end_init(&h->end, e->v4, &z);
    inherit(&h->end.tcp, &e->tcp);
    inherit_bufs(h, &e->tcp.bufs);
    tcp_set_limits(&h->end.tcp);
    add_records(h, &e->tcp);
    add_hand(h, e);
    return h;
}

void heir_free(struct heir *h)
{
    if (h != NULL)
        end_fini(&h->end, false);
    free(h);
}

// set_wheel: as wheel_init() does, whose list of 1.6 MB is complete: a wheel that is put back
// differs from a new one in the time only.
static void set_wheel(struct wheel *w, uint32_t now_ms)
{
    CHECK(w->entries == 0 && !w->opened);
    w->at_ms = now_ms;
    for (unsigned i = 0; i < WHEEL_LEVELS; i++)
        w->begun_ms[i] = now_ms - 1;
}

void heir_start(struct heir *h, uint64_t now_us)
{
    struct tcp *t = &h->end.tcp;
    t->now = clock_at_us(now_us);
    set_wheel(t->wheel, t->now.ms);
}

void heir_keep(const struct heir *h)
{
    store_hook_keep((struct store_range){h->free_bufs, sizeof(h->free_bufs)});
}

// sum_of: words of 8 bytes; what is left over is of no interest.
static uint64_t sum_of(uint64_t sum, const void *at, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)at + i, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
    }
    return sum;
}

static uint64_t sum_of_end(uint64_t sum, const struct end *e)
{
    sum = sum_of(sum, e, sizeof(*e));
    for (unsigned i = 0; i < e->n_held; i++)
        sum = sum_of(sum, e->held[i].at, e->held[i].bytes);
    return sum;
}

uint64_t heir_sum(const struct heir *h)
{
    return sum_of_end(sum_of_end(0, h->of), &h->end);
}
