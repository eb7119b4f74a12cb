// SPDX-License-Identifier: BSD-3-Clause
#include "server/wall_clock.h"

#include <time.h>

#include "server/server_internal.h"

// All workers count from the same moment, at the same rate.
void server_wall_set(struct server *s, uint64_t unix_us, uint64_t tsc)
{
    const uint64_t us = worker_now(&s->workers[0]->clock, tsc).us;
    shared_u64_store(&s->wall_us, unix_us - us);
}

void server_wall_follow(struct server *s)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    server_wall_set(s, (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000, tsc_read());
}
