// SPDX-License-Identifier: BSD-3-Clause
#include "bench/chase.h"

#include <immintrin.h>

#include "base/clock.h"

enum { UNROLLED = 8 };

struct node {
    struct node *next;
    uint64_t number;
};

static struct node *node_at(const struct chase *c, uint32_t i)
{
    const size_t lines = c->stride_bytes / CACHE_LINE;
    return (struct node *)(void *)(c->at + i * c->stride_bytes + i % lines * CACHE_LINE);
}

void chase_init(struct chase *c, void *mem, uint32_t n, size_t stride_bytes, struct rng *rng)
{
    *c = (struct chase){.at = mem, .n = n, .stride_bytes = stride_bytes};
    for (uint32_t i = 0; i < n; i++)
        *node_at(c, i) = (struct node){node_at(c, i), i};
    for (uint32_t i = n - 1; i > 0; i--) {
        struct node *a = node_at(c, i), *b = node_at(c, rng_below(rng, i)), *next = a->next;
        a->next = b->next;
        b->next = next;
    }
    c->next = (uint8_t *)node_at(c, 0);
}

double chase_cycles(struct chase *c, uint32_t loads)
{
    const struct node *p = (const struct node *)(const void *)c->next;
    const uint32_t rounds = MAX(loads / UNROLLED, 1u);
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < rounds; i++)
        p = p->next->next->next->next->next->next->next->next;
    __asm__ volatile("" : : "r"(p) : "memory");
    const uint64_t took = tsc_read() - start;
    c->next = (uint8_t *)(uintptr_t)p;
    return (double)took / ((double)rounds * UNROLLED);
}

double chase_batch_cycles(const struct chase *c, uint32_t loads, struct rng *rng)
{
    const uint32_t rounds = MAX(loads / CHASE_BATCH, 1u);
    const struct node *batch[CHASE_BATCH];
    uint64_t took = 0, sum = 0;
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < CHASE_BATCH; i++)
            batch[i] = node_at(c, rng_below(rng, c->n));
        const uint64_t start = tsc_read();
        for (uint32_t i = 0; i < CHASE_BATCH; i++)
            prefetch0(batch[i]);
        for (uint32_t i = 0; i < CHASE_BATCH; i++)
            sum += batch[i]->number;
        __asm__ volatile("" : : "r"(sum) : "memory");
        _mm_lfence();  // read the counter only after the loads have completed
        took += tsc_read() - start;
    }
    return (double)took / ((double)rounds * CHASE_BATCH);
}
