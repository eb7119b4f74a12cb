// SPDX-License-Identifier: BSD-3-Clause
// heap_internal.h: what the files of heap_memory.h share.
#pragma once
#include "prof/conn_tally.h"
#include "prof/heap_memory.h"
#include "prof/prof_frames.h"
#include "server/fill_levels.h"

// heap: the worker whose memory is being added.
struct heap {
    const struct reading *r;
    int64_t sign;
    unsigned worker;
    const struct conn_tally *tally;
    unsigned n_pools;
    struct fill_pool pools[FILL_POOLS_MAX];
};

// amount: objects that are there, and bytes.
struct amount {
    uint64_t objects, bytes;
};

// heap_put: adds a sample. heap_put_used: what is allocated, in use and reserved alike.
void heap_put(const struct heap *h, const struct frames *f, struct amount alloc,
              struct amount inuse, uint64_t reserved);
void heap_put_used(const struct heap *h, const struct frames *f, struct amount a);

// heap_put_worker: adds the regions of one worker.
void heap_put_worker(struct heap *h);
