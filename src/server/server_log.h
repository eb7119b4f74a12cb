// SPDX-License-Identifier: BSD-3-Clause
// server_log.h: records of applications on their way from the workers to the control thread: one
// SPSC ring of DPDK per worker (worker/log_ring.h), made and emptied here.
#pragma once
#include "server/server.h"

enum {
    LOG_RING_UNITS = 1 << 16,  // 1 MiB: some 5,000 lines of an access log
    LOG_DRAIN_MAX = 8192,      // records of one worker taken at once
    LOG_PERIOD_MS = 10,        // between two times
};

// server_logs: whether a service of these parameters keeps a log.
bool server_logs(const struct server_params *p);

// server_log_footprint, server_log_init: a worker's ring, in memory aligned to a cache line.
uint64_t server_log_footprint(void);
struct rte_ring *server_log_init(void *mem);

// server_log_drain: hands what lies in the rings to the services. Control thread, every
// LOG_PERIOD_MS, and once more when the workers have stopped.
void server_log_drain(struct server *s);

// server_log_reopen: drains the rings, and lets the services open their files again (SIGUSR1).
// Control thread.
void server_log_reopen(struct server *s);

// server_log_counts: records of a service that were handed to it, and those of them that it could
// not write.
void server_log_counts(const struct server *s, unsigned service, uint64_t *handed, uint64_t *lost);
