// SPDX-License-Identifier: BSD-3-Clause
// chase.h: what an access to memory costs: a chain of lines in random order, each of which names
// the next, so that no access begins before the one before has ended; and batches of random lines
// that are prefetched together.
#pragma once
#include "base/base.h"
#include "base/rng.h"

enum { CHASE_BATCH = 32 };  // lines prefetched together

// chase: n nodes of one line; node i lies at i * stride_bytes, one line further for each node
// (around within the stride), so that nodes a page apart do not fall into the same set of a cache.
struct chase {
    uint8_t *at;
    uint32_t n;
    size_t stride_bytes;  // a multiple of a line
    uint8_t *next;        // where the walk stands
};

// chase_init: links n nodes in mem, n * stride_bytes bytes, into one cycle in random order
// (Sattolo, "An algorithm to generate a random cyclic permutation", 1986).
void chase_init(struct chase *c, void *mem, uint32_t n, size_t stride_bytes, struct rng *rng);

// chase_cycles: TSC cycles per access of `loads` in a row, each waiting for the one before.
double chase_cycles(struct chase *c, uint32_t loads);

// chase_batch_cycles: TSC cycles per access of at least `loads` random lines of the same memory,
// CHASE_BATCH of which are prefetched before the first of them is read.
double chase_batch_cycles(const struct chase *c, uint32_t loads, struct rng *rng);
