// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_share.h"

// is_over: whether that many connections are the share, or more, which counts while fewer than
// 1 / part of the blocks are free. share_ppm 0: there is no limit.
static bool is_over(const struct tcp *t, uint32_t connections, uint32_t share_ppm, uint32_t part)
{
    const uint64_t share = (uint64_t)share_ppm * t->block_pool->n_free * part;
    return share_ppm != 0 && t->block_pool->n_free < t->block_pool->count / part &&
           connections * 1000000ULL >= share;
}

enum drop_reason tcp_share_drop(const struct tcp *t, uint8_t service, const struct ip_addr *remote)
{
    if (t->prefixes != NULL && is_over(t, prefixes_count(t->prefixes, remote),
                                       t->cfg.prefix_share_ppm, TCP_PRESSURE_SHARE))
        return DROP_prefix_share;
    if (t->n_services > 1 && is_over(t, t->services[service].connections, t->cfg.service_share_ppm,
                                     TCP_PRESSURE_SERVICE_SHARE))
        return DROP_service_share;
    return DROP_NONE;
}
