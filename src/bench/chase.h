// SPDX-License-Identifier: BSD-3-Clause
// chase.h: measures the cost of a memory access. Two patterns: a linked list of cache lines in
// random order (pointer chasing), so that each access waits for the previous one; and batches of
// random cache lines that are prefetched together.
#pragma once
#include "base/base.h"
#include "base/rng.h"

enum { CHASE_BATCH = 32 };  // cache lines prefetched together

// chase: n nodes of one cache line. Node i is in the area at i * stride_bytes, at an offset that
// grows by one cache line per node, modulo the stride. So nodes one page apart do not map to the
// same cache set.
struct chase {
    uint8_t *at;
    uint32_t n;
    size_t stride_bytes;  // a multiple of the cache line size
    uint8_t *next;        // next node of the walk
};

// chase_init: links n nodes in mem (n * stride_bytes bytes) to one cycle in random order (Sattolo,
// "An algorithm to generate a random cyclic permutation", 1986).
void chase_init(struct chase *c, void *mem, uint32_t n, size_t stride_bytes, struct rng *rng);

// chase_cycles: TSC cycles per access for `loads` accesses, each of which waits for the previous
// one.
double chase_cycles(struct chase *c, uint32_t loads);

// chase_batch_cycles: TSC cycles per access for at least `loads` random cache lines of the same
// memory, prefetched in batches of CHASE_BATCH before they are read.
double chase_batch_cycles(const struct chase *c, uint32_t loads, struct rng *rng);
