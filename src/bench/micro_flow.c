// SPDX-License-Identifier: BSD-3-Clause
// Lookups of connections in the server's table and in rte_hash. Both include a prefetch and a read
// of the first cache line of the connection block.
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench/map.h"
#include "bench/micro.h"
#include "flow/flow_table.h"

enum { BLOCK_BYTES = 256, BURSTS = 64, SLACK = 4 };  // rte_hash has 1/4 more entries

struct seg {
    struct flow_key key;
} CACHE_ALIGNED;

struct flow_ctx {
    uint32_t n;
    struct rng rng;
    struct bench_map blocks_map, table_map;
    uint8_t *blocks;
    struct flow_table table;
    struct rte_hash *rte;
    uint64_t wrong;
};

static struct flow_key key_of(uint32_t i)
{
    struct flow_key k = {.remote = ip_from_v4(0x0a000000 + i / 60000), .local_port = 80};
    k.remote_port = (uint16_t)(1024 + i % 60000);
    return k;
}

static uint8_t *block(const struct flow_ctx *c, uint32_t i)
{
    return c->blocks + (size_t)i * BLOCK_BYTES;
}

static bool is_key(const struct flow_ctx *c, uint32_t i, const struct flow_key *k)
{
    return flow_key_equal(k, (const struct flow_key *)(const void *)block(c, i));
}

static struct flow_ctx *open_blocks(uint32_t n, struct err *err)
{
    struct flow_ctx *c = calloc(1, sizeof(*c));
    CHECK(c != NULL);
    c->n = n;
    c->rng.state = 1;
    if (!bench_map(&c->blocks_map, (size_t)n * BLOCK_BYTES)) {
        err_set(err, "no memory for %u blocks", n);
        free(c);
        return NULL;
    }
    c->blocks = c->blocks_map.at;
    for (uint32_t i = 0; i < n; i++) {
        const struct flow_key k = key_of(i);
        memcpy(block(c, i), &k, sizeof(k));
    }
    return c;
}

static void *open_ours(uint32_t n, struct err *err)
{
    struct flow_ctx *c = open_blocks(n, err);
    if (c == NULL)
        return NULL;
    if (!bench_map(&c->table_map, flow_footprint(n))) {
        err_set(err, "no memory for a table of %u", n);
        return NULL;
    }
    flow_init(&c->table, c->table_map.at, n, (struct siphash_key){1, 2});
    for (uint32_t i = 0; i < n; i++) {
        const struct flow_key k = key_of(i);
        CHECK(flow_insert(&c->table, flow_hash(&c->table, &k), i));
    }
    return c;
}

// rte_hash assigns a position to each entry, which is used as the index of the block.
static void *open_rte(uint32_t n, struct err *err)
{
    const uint32_t entries = n + n / SLACK;
    if (micro_eal((64 << 20) + (uint64_t)entries * 96, err) != 0)
        return NULL;
    struct flow_ctx *c = open_blocks(n, err);
    if (c == NULL)
        return NULL;
    const struct rte_hash_parameters p = {.name = "flows",
                                          .entries = MAX(entries, 16u),
                                          .key_len = sizeof(struct flow_key),
                                          .hash_func = rte_hash_crc,
                                          .socket_id = SOCKET_ID_ANY};
    if ((c->rte = rte_hash_create(&p)) == NULL) {
        err_set(err, "rte_hash: no memory for %u entries", entries);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct flow_key k = key_of(i);
        const int at = rte_hash_add_key_data(c->rte, &k, (void *)(uintptr_t)i);
        if (at < 0) {
            err_set(err, "rte_hash: no free place for entry %u of %u", i, n);
            return NULL;
        }
    }
    return c;
}

static void choose(struct flow_ctx *c, struct seg *segs)
{
    for (unsigned i = 0; i < MICRO_LOT; i++)
        segs[i].key = key_of(rng_below(&c->rng, c->n));
}

static void find_ours(void *ctx, struct micro_run *r)
{
    struct flow_ctx *c = ctx;
    struct seg segs[MICRO_LOT];
    uint64_t hash[MICRO_LOT], wrong = 0;
    uint32_t at[MICRO_LOT];
    for (unsigned b = 0; b < BURSTS; b++) {
        choose(c, segs);
        const uint64_t start = tsc_read();
        flow_hash_burst(&c->table, &segs[0].key, sizeof(segs[0]), MICRO_LOT, hash);
        flow_find_burst(&c->table, hash, MICRO_LOT, at);
        for (unsigned i = 0; i < MICRO_LOT; i++)
            prefetch0(block(c, at[i]));
        for (unsigned i = 0; i < MICRO_LOT; i++) {
            unsigned walk = 0;
            // another connection with the same tag
            while (unlikely(!is_key(c, at[i], &segs[i].key))) {
                at[i] = flow_next(&c->table, hash[i], &walk);
                CHECK(at[i] != FLOW_NONE);
            }
        }
        r->cycles += tsc_read() - start;
    }
    c->wrong += wrong;
    r->ops += (uint64_t)BURSTS * MICRO_LOT;
}

static void find_rte(void *ctx, struct micro_run *r)
{
    struct flow_ctx *c = ctx;
    struct seg segs[MICRO_LOT];
    const void *keys[MICRO_LOT];
    void *data[MICRO_LOT];
    for (unsigned b = 0; b < BURSTS; b++) {
        uint64_t hits = 0;
        choose(c, segs);
        for (unsigned i = 0; i < MICRO_LOT; i++)
            keys[i] = &segs[i].key;
        const uint64_t start = tsc_read();
        CHECK(rte_hash_lookup_bulk_data(c->rte, keys, MICRO_LOT, &hits, data) == MICRO_LOT);
        for (unsigned i = 0; i < MICRO_LOT; i++)
            prefetch0(block(c, (uint32_t)(uintptr_t)data[i]));
        for (unsigned i = 0; i < MICRO_LOT; i++)
            CHECK(is_key(c, (uint32_t)(uintptr_t)data[i], &segs[i].key));
        r->cycles += tsc_read() - start;
    }
    r->ops += (uint64_t)BURSTS * MICRO_LOT;
}

// Removes a connection and adds it again.
static void churn_ours(void *ctx, struct micro_run *r)
{
    struct flow_ctx *c = ctx;
    for (unsigned b = 0; b < BURSTS * MICRO_LOT; b++) {
        const uint32_t i = rng_below(&c->rng, c->n);
        const struct flow_key k = key_of(i);
        const uint64_t start = tsc_read();
        const uint64_t hash = flow_hash(&c->table, &k);
        CHECK(flow_remove(&c->table, hash, i));
        CHECK(flow_insert(&c->table, hash, i));
        r->cycles += tsc_read() - start;
    }
    r->ops += (uint64_t)BURSTS * MICRO_LOT;
}

static void churn_rte(void *ctx, struct micro_run *r)
{
    struct flow_ctx *c = ctx;
    for (unsigned b = 0; b < BURSTS * MICRO_LOT; b++) {
        const uint32_t i = rng_below(&c->rng, c->n);
        const struct flow_key k = key_of(i);
        const uint64_t start = tsc_read();
        CHECK(rte_hash_del_key(c->rte, &k) >= 0);
        CHECK(rte_hash_add_key_data(c->rte, &k, (void *)(uintptr_t)i) == 0);
        r->cycles += tsc_read() - start;
    }
    r->ops += (uint64_t)BURSTS * MICRO_LOT;
}

#define FLOW(n, p, h, o, f)                                                                        \
    {                                                                                              \
        .name = n, .peer = p, .help = h, .sizes = {1000, 10000, 100000, 1000000, 10000000},        \
        .open = o, .run = f                                                                        \
    }

const struct micro micro_flow[] = {
    FLOW("FlowFindRte", NULL, "rte_hash: 64 lookups in bulk, blocks read", open_rte, find_rte),
    FLOW("FlowFind", "FlowFindRte", "c10m: 64 lookups in bulk, keys compared in the blocks",
         open_ours, find_ours),
    FLOW("FlowChurnRte", NULL, "rte_hash: delete and add, one at a time", open_rte, churn_rte),
    FLOW("FlowChurn", "FlowChurnRte", "c10m: remove and insert, one at a time", open_ours,
         churn_ours),
    {.name = NULL},
};
