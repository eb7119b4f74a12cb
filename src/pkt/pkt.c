// SPDX-License-Identifier: BSD-3-Clause
#include "pkt/pkt.h"

#include <errno.h>
#include <rte_errno.h>
#include <string.h>

enum {
    POOL_CACHE = 512,
    NAME_MAX_CHARS = 20,
};

// A ring for one producer and one consumer under the mempool's cache. The owner's alloc and free
// then have no atomic instruction. rte_pktmbuf_pool_create() would choose a multi-producer ring.
static const char pool_ops[] = "ring_sp_sc";

struct pkt_pool *pkt_pool_create(const char *name, unsigned count, int node)
{
    if (strlen(name) > NAME_MAX_CHARS) {
        rte_errno = ENAMETOOLONG;
        return NULL;
    }
    // rte_mempool refuses a cache of more than two thirds of the number of packets.
    unsigned n = MAX(count, 2u * POOL_CACHE);
    struct rte_mempool *mp = rte_pktmbuf_pool_create_by_ops(
        name, n, POOL_CACHE, 0, PKT_HEADROOM + PKT_ROOM, node < 0 ? SOCKET_ID_ANY : node, pool_ops);
    return (struct pkt_pool *)mp;
}

void pkt_pool_destroy(struct pkt_pool *pool)
{
    if (pool != NULL)
        rte_mempool_free(&pool->mp);
}

void pkt_pool_uncache(struct pkt_pool *pool)
{
    struct rte_mempool_cache *c = rte_mempool_default_cache(&pool->mp, rte_lcore_id());
    if (c != NULL)
        rte_mempool_cache_flush(c, &pool->mp);
}

unsigned pkt_pool_free_count(const struct pkt_pool *pool)
{
    return rte_mempool_avail_count(&pool->mp);
}

void pkt_free_bulk_slow(struct pkt **pkts, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        rte_pktmbuf_free(&pkts[i]->m);
}
