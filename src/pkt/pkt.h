// pkt.h: a packet. The one header of the data path that knows it is an rte_mbuf; everything above
// calls these. A packet belongs to one worker at a time and lives in that worker's pool.
#pragma once
#include "base/base.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

struct pkt {
    struct rte_mbuf m;
};

struct pkt_pool {
    struct rte_mempool mp;
};

enum {
    PKT_HEADROOM = RTE_PKTMBUF_HEADROOM,
    PKT_ROOM = 2048,  // bytes of a frame that fit in one packet
};

static inline uint8_t *pkt_data(const struct pkt *p)
{
    return rte_pktmbuf_mtod(&p->m, uint8_t *);
}

// pkt_len: bytes in the first segment; pkt_total_len: in all of them.
static inline uint32_t pkt_len(const struct pkt *p)
{
    return p->m.data_len;
}

static inline uint32_t pkt_total_len(const struct pkt *p)
{
    return p->m.pkt_len;
}

static inline bool pkt_is_chain(const struct pkt *p)
{
    return p->m.nb_segs > 1;
}

// pkt_set_len: makes p one segment of len bytes from its first byte on. len <= PKT_ROOM.
static inline void pkt_set_len(struct pkt *p, uint32_t len)
{
    p->m.data_len = (uint16_t)len;
    p->m.pkt_len = len;
}

// pkt_alloc_bulk: n empty packets out of the worker's own pool, all or none. False: pool empty.
static inline bool pkt_alloc_bulk(struct pkt_pool *pool, struct pkt **pkts, unsigned n)
{
    return rte_pktmbuf_alloc_bulk(&pool->mp, (struct rte_mbuf **)pkts, n) == 0;
}

// pkt_free_bulk: gives n packets back. They may be chains; they come from the worker's own pool.
static inline void pkt_free_bulk(struct pkt **pkts, unsigned n)
{
    rte_pktmbuf_free_bulk((struct rte_mbuf **)pkts, n);
}

static inline void pkt_free(struct pkt *p)
{
    rte_pktmbuf_free(&p->m);
}

// What the port says of the checksums of a received packet. A port that does not check leaves
// PKT_CKSUM_UNKNOWN: the border verifies in software.
enum pkt_cksum { PKT_CKSUM_UNKNOWN, PKT_CKSUM_GOOD, PKT_CKSUM_BAD };

static inline enum pkt_cksum pkt_rx_ip_cksum(const struct pkt *p)
{
    uint64_t f = p->m.ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
    if (f == RTE_MBUF_F_RX_IP_CKSUM_GOOD)
        return PKT_CKSUM_GOOD;
    return f == RTE_MBUF_F_RX_IP_CKSUM_BAD ? PKT_CKSUM_BAD : PKT_CKSUM_UNKNOWN;
}

static inline enum pkt_cksum pkt_rx_l4_cksum(const struct pkt *p)
{
    uint64_t f = p->m.ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (f == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
        return PKT_CKSUM_GOOD;
    return f == RTE_MBUF_F_RX_L4_CKSUM_BAD ? PKT_CKSUM_BAD : PKT_CKSUM_UNKNOWN;
}

// pkt_pool_create: a pool of at least `count` packets of PKT_ROOM bytes for one worker, on NUMA
// node `node` (-1: any), single producer and consumer, with a cache of 512 for that worker.
// `name` at most 20 characters, unique. NULL: rte_errno says why.
struct pkt_pool *pkt_pool_create(const char *name, unsigned count, int node);
