// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/clients.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

struct record {
    uint64_t handle;
    uint32_t next;  // in the hash chain, or in the list of free records
    // Odd: in use; even: free or being changed. The worker stores it with release after the other
    // fields; http_clients_look() loads it with acquire before and after its copy.
    _Atomic uint32_t turn;
    struct http_client client;
};
static_assert(sizeof(struct record) == 40, "conf/key_table.c documents this size, plus its bucket");

struct http_clients_of {
    _Alignas(64) struct record *records;
    uint32_t *buckets;
    uint32_t mask, free;
};

static bool init_one(struct http_clients_of *of, uint32_t records)
{
    uint32_t buckets = 16;
    while (buckets < records)
        buckets *= 2;
    of->records = calloc(records, sizeof(*of->records));
    of->buckets = malloc(buckets * sizeof(*of->buckets));
    if (of->records == NULL || of->buckets == NULL)
        return false;
    memset(of->buckets, 0xff, buckets * sizeof(*of->buckets));
    of->mask = buckets - 1;
    for (uint32_t i = 0; i < records; i++)  // this also touches all pages
        of->records[i].next = i + 1 < records ? i + 1 : NONE;
    return true;
}

bool http_clients_init(struct http_clients *c, unsigned workers, uint32_t records)
{
    *c = (struct http_clients){.at = aligned_alloc(64, workers * sizeof(*c->at)),
                               .records = records};
    if (c->at == NULL)
        return false;
    memset(c->at, 0, workers * sizeof(*c->at));
    while (c->workers < workers)
        if (!init_one(&c->at[c->workers++], records))
            return false;
    return true;
}

void http_clients_free(struct http_clients *c)
{
    for (unsigned i = 0; i < c->workers; i++) {
        free(c->at[i].records);
        free(c->at[i].buckets);
    }
    free(c->at);
    *c = (struct http_clients){0};
}

// The hash is not keyed, because a peer cannot choose a handle.
static uint32_t *bucket_of(struct http_clients_of *of, uint64_t handle)
{
    return &of->buckets[(uint32_t)(handle * 0x9e3779b97f4a7c15 >> 32) & of->mask];
}

static void turn(struct record *r)
{
    const uint32_t now = atomic_load_explicit(&r->turn, memory_order_relaxed);
    atomic_store_explicit(&r->turn, now + 1, memory_order_release);
}

bool http_clients_add(struct http_clients *c, unsigned worker, uint64_t handle,
                      const struct http_client *client)
{
    struct http_clients_of *of = &c->at[worker];
    uint32_t *bucket = bucket_of(of, handle);
    if (of->free == NONE)
        return false;
    const uint32_t i = of->free;
    struct record *r = &of->records[i];
    of->free = r->next;
    r->handle = handle;
    r->client = *client;
    r->next = *bucket;
    *bucket = i;
    turn(r);
    return true;
}

const struct http_client *http_clients_find(const struct http_clients *c, unsigned worker,
                                            uint64_t handle)
{
    struct http_clients_of *of = &c->at[worker];
    for (uint32_t i = *bucket_of(of, handle); i != NONE; i = of->records[i].next)
        if (of->records[i].handle == handle)
            return &of->records[i].client;
    return NULL;
}

void http_clients_remove(struct http_clients *c, unsigned worker, uint64_t handle)
{
    struct http_clients_of *of = &c->at[worker];
    for (uint32_t *at = bucket_of(of, handle); *at != NONE; at = &of->records[*at].next) {
        const uint32_t i = *at;
        struct record *r = &of->records[i];
        if (r->handle != handle)
            continue;
        turn(r);
        *at = r->next;
        r->next = of->free;
        of->free = i;
        return;
    }
}

bool http_clients_look(const struct http_clients *c, unsigned worker, uint32_t i,
                       struct http_client *client)
{
    const struct record *r = &c->at[worker].records[i];
    const uint32_t before = atomic_load_explicit(&r->turn, memory_order_acquire);
    if (before % 2 == 0)
        return false;
    memcpy(client, &r->client, sizeof(*client));
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&r->turn, memory_order_relaxed) == before;
}
