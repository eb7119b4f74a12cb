// SPDX-License-Identifier: BSD-3-Clause
#include "pkt/pkt.h"

#include <errno.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memzone.h>
#include <stdio.h>
#include <string.h>

#include "base/copy.h"

enum {
    POOL_CACHE = 512,
    NAME_MAX_CHARS = 20,
};

// A ring for one producer and one consumer under the mempool's cache. The owner's alloc and free
// then have no atomic instruction. rte_pktmbuf_pool_create() would choose a multi-producer ring.
static const char pool_ops[] = "ring_sp_sc";

static void free_zone(struct rte_mempool_memhdr *chunk, void *zone)
{
    (void)chunk;
    rte_memzone_free(zone);
}

// populate: one packet directly after the other in one zone. -1: rte_errno says why.
static int populate(struct rte_mempool *mp, int socket)
{
    char name[RTE_MEMZONE_NAMESIZE];
    snprintf(name, sizeof(name), RTE_MEMPOOL_MZ_FORMAT "_0", mp->name);
    const size_t each = mp->header_size + mp->elt_size + mp->trailer_size;
    const struct rte_memzone *zone =
        rte_memzone_reserve_aligned(name, mp->size * each, socket, 0, RTE_MEMPOOL_ALIGN);
    if (zone == NULL)
        return -1;
    const int n = rte_mempool_populate_iova(mp, zone->addr, zone->iova, zone->len, free_zone,
                                            (void *)(uintptr_t)zone);
    if (n == (int)mp->size) {
        mp->flags &= ~(unsigned)(RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NON_IO);
        return 0;
    }
    if (n <= 0)  // the pool did not take the zone
        rte_memzone_free(zone);
    rte_errno = n < 0 ? -n : ENOMEM;
    return -1;
}

// create_dense: like rte_pktmbuf_pool_create_by_ops(), but packets cross pages. There, no packet
// does, so that each would take a page of 4 KiB. RTE_MEMPOOL_F_NO_IOVA_CONTIG is what lets them
// cross. As a statement about the pool it is wrong, because a device's addresses are the virtual
// ones: populate() clears it.
static struct rte_mempool *create_dense(const char *name, unsigned n, unsigned bytes, int socket)
{
    struct rte_pktmbuf_pool_private room = {.mbuf_data_room_size = (uint16_t)bytes};
    struct rte_mempool *mp =
        rte_mempool_create_empty(name, n, sizeof(struct rte_mbuf) + bytes, POOL_CACHE, sizeof(room),
                                 socket, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
    if (mp == NULL)
        return NULL;
    int rc = rte_mempool_set_ops_byname(mp, pool_ops, NULL);
    if (rc != 0)
        rte_errno = -rc;
    if (rc == 0) {
        rte_pktmbuf_pool_init(mp, &room);
        rc = populate(mp, socket);
    }
    if (rc != 0) {
        const int why = rte_errno;
        rte_mempool_free(mp);
        rte_errno = why;
        return NULL;
    }
    rte_mempool_obj_iter(mp, rte_pktmbuf_init, NULL);
    return mp;
}

static struct pkt_pool *create(const char *name, unsigned count, unsigned room, int node)
{
    if (strlen(name) > NAME_MAX_CHARS) {
        rte_errno = ENAMETOOLONG;
        return NULL;
    }
    // rte_mempool refuses a cache of more than two thirds of the number of packets.
    unsigned n = MAX(count, 2u * POOL_CACHE);
    const int socket = node < 0 ? SOCKET_ID_ANY : node;
    const bool dense = !rte_eal_has_hugepages() && rte_eal_iova_mode() == RTE_IOVA_VA;
    const unsigned bytes = PKT_HEADROOM + room;
    return (struct pkt_pool *)(dense ? create_dense(name, n, bytes, socket)
                                     : rte_pktmbuf_pool_create_by_ops(name, n, POOL_CACHE, 0,
                                                                      (uint16_t)bytes, socket,
                                                                      pool_ops));
}

struct pkt_pool *pkt_pool_create(const char *name, unsigned count, int node)
{
    return create(name, count, PKT_ROOM, node);
}

struct pkt_pool *pkt_pool_create_jumbo(const char *name, unsigned count, int node)
{
    return create(name, count, PKT_JUMBO_ROOM, node);
}

void pkt_copy(struct pkt *to, const struct pkt *from)
{
    uint8_t *at = pkt_data(to);
    for (const struct rte_mbuf *m = &from->m; m != NULL; m = m->next) {
        copy_bytes(at, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
        at += m->data_len;
    }
    pkt_set_len(to, pkt_total_len(from));
}

struct pkt *pkt_gather(struct pkt_pool *pool, struct pkt *p)
{
    struct pkt *one;
    if (!pkt_is_chain(p) || pkt_total_len(p) > pkt_pool_room(pool) ||
        !pkt_alloc_bulk(pool, &one, 1))
        return p;
    pkt_copy(one, p);
    one->m.ol_flags = p->m.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    pkt_free(p);
    return one;
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
