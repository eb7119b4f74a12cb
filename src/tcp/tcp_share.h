// SPDX-License-Identifier: BSD-3-Clause
// tcp_share.h: who gets the last connections. While fewer than an eighth of a worker's blocks are
// free, a prefix of addresses (flow/prefixes.h) or a service gets no more blocks than its share.
// The share shrinks with the number of free blocks. So blocks are left for those who have few
// connections, however many others have many ("Dynamic queue length thresholds for shared-memory
// packet switches", Choudhury, Hahne, 1998):
//
//     free blocks     [tcp] prefix_share = 50 %: a prefix that has so many connections gets no more
//     an eighth       a half of the blocks; with more free blocks there is no limit
//     a 16th          a quarter
//     a 64th          a 16th
//
// Above an eighth there is no limit, so that the only client of an idle server, such as a load
// balancer, can use seven eighths of it. No open connection is closed.
//
// The share of a service counts from a 16th on, and is then the same part for half as many free
// blocks. If both counted from an eighth on, one network with seven eighths of the blocks in one
// service would close this service to all others.
#pragma once
#include "tcp/tcp_internal.h"

enum {
    TCP_PRESSURE_SHARE = 8,          // an eighth: of prefixes
    TCP_PRESSURE_SERVICE_SHARE = 16  // of services
};

// tcp_is_pressed: whether shares count now.
static inline bool tcp_is_pressed(const struct tcp *t)
{
    return t->block_pool->n_free < t->block_pool->count / TCP_PRESSURE_SHARE;
}

// tcp_share_drop: while tcp_is_pressed(): why a new connection of `remote` to the service is
// refused, or DROP_NONE.
enum drop_reason tcp_share_drop(const struct tcp *t, uint8_t service, const struct ip_addr *remote);

// tcp_share_enter: counts b, which a peer has opened, with its prefix until it is freed. Its key
// must be set.
static inline void tcp_share_enter(struct tcp *t, struct block *b)
{
    if (t->prefixes == NULL)
        return;
    prefixes_enter(t->prefixes, &b->key.remote);
    b->in_prefix = true;
}
