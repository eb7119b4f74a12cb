// SPDX-License-Identifier: BSD-3-Clause
// pkt.h: a packet. The one header of the data path that knows it is an rte_mbuf; everything above
// calls these. A packet belongs to one worker at a time and lives in that worker's pool.
#pragma once
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/base.h"

struct pkt {
    struct rte_mbuf m;
};

struct pkt_pool {
    struct rte_mempool mp;
};

enum {
    PKT_HEADROOM = RTE_PKTMBUF_HEADROOM,
    PKT_ROOM = 2048,     // bytes of a frame that fit in one packet
    PKT_CHAIN_MAX = 33,  // segments of a packet: 64 KiB and its headers
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

// pkt_whole_len: bytes of a packet that lie together, at its first one: more than 64 KiB in one
// that holds a whole frame of others' memory (pkt_attach).
static inline uint32_t pkt_whole_len(const struct pkt *p)
{
    return p->m.nb_segs == 1 ? p->m.pkt_len : p->m.data_len;
}

static inline bool pkt_is_chain(const struct pkt *p)
{
    return p->m.nb_segs > 1;
}

// pkt_room: bytes that fit in p's first segment from its first byte on.
static inline uint32_t pkt_room(const struct pkt *p)
{
    return (uint32_t)p->m.buf_len - p->m.data_off;
}

// pkt_set_len: makes p one segment of len bytes from its first byte on. len <= PKT_ROOM.
static inline void pkt_set_len(struct pkt *p, uint32_t len)
{
    p->m.data_len = (uint16_t)len;
    p->m.pkt_len = len;
}

// pkt_alloc_bulk: n empty packets out of the worker's own pool, all or none. False: pool empty.
// Writes the packet's first cache line only: the offload field that belongs to tx flags
// (m.tx_offload) is not reset; who sets a tx flag sets the whole field.
static inline bool pkt_alloc_bulk(struct pkt_pool *pool, struct pkt **pkts, unsigned n)
{
    if (unlikely(rte_mempool_get_bulk(&pool->mp, (void **)pkts, n) != 0))
        return false;
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = &pkts[i]->m;
        m->data_off = PKT_HEADROOM;
        m->port = RTE_MBUF_PORT_INVALID;
        m->ol_flags = 0;
        m->packet_type = 0;
        m->pkt_len = 0;
        m->data_len = 0;
        m->vlan_tci = 0;
    }
    return true;
}

// pkt_free_bulk_slow: what pkt_free_bulk() does with a burst that holds a chain, a packet with more
// than one reference, or packets of several pools.
void pkt_free_bulk_slow(struct pkt **pkts, unsigned n);

// pkt_free_bulk: gives n packets back. They may be chains; they come from the worker's own pool. A
// packet taken out of a chain must have its m.next cleared before (nb_segs 1 means next NULL).
static inline void pkt_free_bulk(struct pkt **pkts, unsigned n)
{
    if (unlikely(n == 0))
        return;
    struct rte_mempool *mp = pkts[0]->m.pool;
    uint64_t odd = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct rte_mbuf *m = &pkts[i]->m;
        odd |= (uint64_t)((m->nb_segs ^ 1) | (rte_mbuf_refcnt_read(m) ^ 1)) |
               ((uintptr_t)m->pool ^ (uintptr_t)mp) |
               (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL));
    }
    if (likely(odd == 0))
        rte_mempool_put_bulk(mp, (void **)pkts, n);
    else
        pkt_free_bulk_slow(pkts, n);
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

// pkt_rx_cksum_all_good: both verdicts at once. pkt_rx_cksum_any: is there a verdict at all?
static inline bool pkt_rx_cksum_any(const struct pkt *p)
{
    return (p->m.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) != 0;
}

static inline bool pkt_rx_cksum_all_good(const struct pkt *p)
{
    return (p->m.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) ==
           (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
}

// pkt_tx_offload: asks the port to fill in the TCP checksum of an IPv4 packet whose headers have
// these lengths; its checksum field holds the pseudo header's folded sum. For ports with
// PORT_TX_L4_CKSUM.
static inline void pkt_tx_offload(struct pkt *p, unsigned l2_bytes, unsigned l3_bytes,
                                  unsigned l4_bytes)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, 0, 0, 0, 0);
}

// pkt_tx_offload6: the same for an IPv6 packet.
static inline void pkt_tx_offload6(struct pkt *p, unsigned l2_bytes, unsigned l3_bytes,
                                   unsigned l4_bytes)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, 0, 0, 0, 0);
}

// pkt_tx_offload_udp: the same for the checksum of a UDP datagram, of either family.
static inline void pkt_tx_offload_udp(struct pkt *p, bool v4, unsigned l2_bytes, unsigned l3_bytes)
{
    enum { UDP_HEAD_BYTES = 8 };
    p->m.ol_flags = (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6) | RTE_MBUF_F_TX_UDP_CKSUM;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, UDP_HEAD_BYTES, 0, 0, 0, 0);
}

// pkt_tx_tso: asks the port to cut an IPv4 packet, a chain, into TCP segments of mss bytes of data
// and to fill in what differs. Its headers lie in the first segment as wire_build_tso4() makes
// them; ip_cksum: the port has PORT_TX_IP_CKSUM. For ports with PORT_TSO.
static inline void pkt_tx_tso(struct pkt *p, bool ip_cksum, unsigned l2_bytes, unsigned l3_bytes,
                              unsigned l4_bytes, unsigned mss)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV4 | (ip_cksum ? RTE_MBUF_F_TX_IP_CKSUM : 0) |
                    RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, mss, 0, 0, 0);
}

// pkt_tx_tso6: the same for an IPv6 packet, with headers of wire_build_tso6().
static inline void pkt_tx_tso6(struct pkt *p, unsigned l2_bytes, unsigned l3_bytes,
                               unsigned l4_bytes, unsigned mss)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, mss, 0, 0, 0);
}

// pkt_chain: makes n packets of one segment each, n in 1..PKT_CHAIN_MAX, one packet: the first one.
static inline void pkt_chain(struct pkt **pkts, unsigned n)
{
    uint32_t total = 0;
    for (unsigned i = 0; i < n; i++) {
        total += pkts[i]->m.data_len;
        pkts[i]->m.next = i + 1 < n ? &pkts[i + 1]->m : NULL;
    }
    pkts[0]->m.nb_segs = (uint16_t)n;
    pkts[0]->m.pkt_len = total;
}

// pkt_attach: makes p, which was just allocated, one whose bytes are the len at buf, until it is
// freed: then freed(buf, arg) is called by who frees it. shared: 64 bytes of the caller's, aligned,
// that live as long. It is not to be sent.
static inline void pkt_attach(struct pkt *p, uint8_t *buf, uint32_t len, void *shared,
                              void (*freed)(void *buf, void *arg), void *arg)
{
    struct rte_mbuf_ext_shared_info *s = (struct rte_mbuf_ext_shared_info *)shared;
    s->free_cb = freed;
    s->fcb_opaque = arg;
    rte_mbuf_ext_refcnt_set(s, 1);
    rte_pktmbuf_attach_extbuf(&p->m, buf, RTE_BAD_IOVA, (uint16_t)MIN(len, (uint32_t)UINT16_MAX),
                              s);
    p->m.data_len = (uint16_t)MIN(len, (uint32_t)UINT16_MAX);
    p->m.pkt_len = len;
}

// pkt_is_attached: its bytes are others' memory (pkt_attach): not to be sent.
static inline bool pkt_is_attached(const struct pkt *p)
{
    return (p->m.ol_flags & RTE_MBUF_F_EXTERNAL) != 0;
}

// pkt_turn_round: makes a received packet one to send: the port's verdicts on it are forgotten.
static inline void pkt_turn_round(struct pkt *p)
{
    p->m.ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
}

// pkt_pool_create: a pool of at least `count` packets of PKT_ROOM bytes for one worker, on NUMA
// node `node` (-1: any), single producer and consumer, with a cache of 512 for that worker (at
// least 1,024 packets). `name` at most 20 characters, unique. NULL: rte_errno says why. Control
// thread. The cache serves EAL threads only; another thread reaches the ring behind it each time.
struct pkt_pool *pkt_pool_create(const char *name, unsigned count, int node);

// pkt_pool_destroy: gives the pool's memory back. No packet of it is in use. NULL: nothing.
void pkt_pool_destroy(struct pkt_pool *pool);

// pkt_pool_free_count: packets neither in use nor posted to a port; exact while its worker stands
// still. Any thread.
unsigned pkt_pool_free_count(const struct pkt_pool *pool);
