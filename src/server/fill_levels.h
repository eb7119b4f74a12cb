// fill_levels.h: how full the queues and pools of a worker are: what its structures say of
// themselves, read while it goes on. Control thread.
#pragma once
#include "base/text.h"
#include "server/server.h"

enum { DEPTH_POOLS_MAX = 16, DEPTH_NAME_BYTES = 24 };

// depth_pool: used_high: most that was used at once, as far as it is known.
struct depth_pool {
    const char *name;
    uint64_t size, used, used_high;
};

struct depth;

// depth_new: of all workers of s, which outlives it. NULL: no memory.
struct depth *depth_new(const struct server *s);
void depth_free(struct depth *d);

// depth_poll: DPDK's pools of packets keep no mark of their own: the highest of what the polls and
// readings find. Every PULSE_POLL_MS or so.
void depth_poll(struct depth *d);

// depth_pools: the pools of one worker, at most DEPTH_POOLS_MAX, into out; returns how many.
unsigned depth_pools(struct depth *d, unsigned worker, struct depth_pool *out);

// depth_pools_render: mem/pools: POOL_size, POOL_free_now, POOL_used_now, POOL_used_high of all
// workers together (the last one is the sum of each one's), then worker_N_POOL_used_now and so on
// of each.
void depth_pools_render(struct depth *d, struct text *out);

// depth_queues_render: cores/N/queues.
void depth_queues_render(const struct server *s, unsigned worker, struct text *out);
