// SPDX-License-Identifier: BSD-3-Clause
// fill_levels.h: how full the queues and pools of a worker are: what its structures say of
// themselves, read while it goes on. Control thread.
#pragma once
#include "base/text.h"
#include "server/server.h"

enum { FILL_POOLS_MAX = 16, FILL_NAME_BYTES = 24 };

// fill_pool: used_high: most that was used at once, as far as it is known. entry_bytes: of one, 0:
// they are parts of a table.
struct fill_pool {
    const char *name;
    uint64_t size, used, used_high;
    uint32_t entry_bytes;
};

struct fill_levels;

// fill_new: of all workers of s, which outlives it. NULL: no memory.
struct fill_levels *fill_new(const struct server *s);
void fill_free(struct fill_levels *d);

// fill_poll: DPDK's pools of packets keep no mark of their own: the highest of what the polls and
// readings find. Every LIVENESS_POLL_MS or so.
void fill_poll(struct fill_levels *d);

// fill_pools: the pools of one worker, at most FILL_POOLS_MAX, into out; returns how many.
unsigned fill_pools(struct fill_levels *d, unsigned worker, struct fill_pool *out);

// fill_pools_now: the same without a highest of packets. Any thread, while the workers exist.
unsigned fill_pools_now(const struct server *s, unsigned worker, struct fill_pool *out);

// fill_pools_render: mem/pools: POOL_size, POOL_free_now, POOL_used_now, POOL_used_high of all
// workers together (the last one is the sum of each one's), then worker_N_POOL_used_now and so on
// of each.
void fill_pools_render(struct fill_levels *d, struct text *out);

// fill_worker_render: cores/N/pools: POOL_size, POOL_free_now, POOL_used_now, POOL_used_high of one
// worker.
void fill_worker_render(struct fill_levels *d, unsigned worker, struct text *out);

// fill_queues_render: cores/N/queues.
void fill_queues_render(const struct server *s, unsigned worker, struct text *out);
