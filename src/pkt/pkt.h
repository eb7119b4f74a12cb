// SPDX-License-Identifier: BSD-3-Clause
// pkt.h: a packet. This is the only header of the data path that knows that it is an rte_mbuf. A
// packet belongs to one worker at a time and comes from that worker's pool.
#pragma once
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <string.h>

#include "base/base.h"

struct pkt {
    struct rte_mbuf m;
};

struct pkt_pool {
    struct rte_mempool mp;
};

enum {
    PKT_HEADROOM = RTE_PKTMBUF_HEADROOM,
    PKT_ROOM = 2048,        // bytes of a frame in one buffer
    PKT_JUMBO_ROOM = 9216,  // the same in a packet of a pool for jumbo frames
    PKT_CHAIN_MAX = 33,     // buffers of one packet: 64 KiB and headers
};

static inline uint8_t *pkt_data(const struct pkt *p)
{
    return rte_pktmbuf_mtod(&p->m, uint8_t *);
}

// pkt_len: bytes in the first buffer. pkt_total_len: bytes in all buffers.
static inline uint32_t pkt_len(const struct pkt *p)
{
    return p->m.data_len;
}

static inline uint32_t pkt_total_len(const struct pkt *p)
{
    return p->m.pkt_len;
}

// pkt_whole_len: contiguous bytes at the begin of a packet. More than 64 KiB for a packet with
// external memory (pkt_attach).
static inline uint32_t pkt_whole_len(const struct pkt *p)
{
    return p->m.nb_segs == 1 ? p->m.pkt_len : p->m.data_len;
}

static inline bool pkt_is_chain(const struct pkt *p)
{
    return p->m.nb_segs > 1;
}

// pkt_room: bytes of the first buffer from the first byte of data to its end.
static inline uint32_t pkt_room(const struct pkt *p)
{
    return (uint32_t)p->m.buf_len - p->m.data_off;
}

// pkt_set_len: makes p one buffer with len bytes of data, at most the room of its pool.
static inline void pkt_set_len(struct pkt *p, uint32_t len)
{
    p->m.data_len = (uint16_t)len;
    p->m.pkt_len = len;
}

// pkt_alloc_bulk: allocates n empty packets from the worker's own pool, all or none. False: the
// pool is empty. It writes only the first cache line of each. m.tx_offload is not reset; code that
// sets a tx flag sets the whole field.
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

// pkt_free_bulk_slow: pkt_free_bulk() for a burst with a chain, a packet with several references,
// or packets of several pools.
void pkt_free_bulk_slow(struct pkt **pkts, unsigned n);

// pkt_free_bulk: frees n packets, chains included, of the worker's own pool. Before a packet is
// taken out of a chain, m.next is cleared (nb_segs 1 implies next NULL).
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

// The port's verdict on the checksums of a received packet. PKT_CKSUM_UNKNOWN: the port did not
// check; src/net checks in software.
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

// pkt_rx_cksum_any: whether the port has any verdict. pkt_rx_cksum_all_good: whether both are GOOD.
static inline bool pkt_rx_cksum_any(const struct pkt *p)
{
    return (p->m.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) != 0;
}

static inline bool pkt_rx_cksum_all_good(const struct pkt *p)
{
    return (p->m.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) ==
           (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
}

// pkt_tx_offload: requests the TCP checksum of an IPv4 packet from the port. The arguments are the
// lengths of its headers; its checksum field holds the folded sum of the pseudo header. For ports
// with PORT_TX_L4_CKSUM.
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

// pkt_tx_offload_udp: the same for the checksum of a UDP datagram of either family.
static inline void pkt_tx_offload_udp(struct pkt *p, bool v4, unsigned l2_bytes, unsigned l3_bytes)
{
    enum { UDP_HEAD_BYTES = 8 };
    p->m.ol_flags = (v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6) | RTE_MBUF_F_TX_UDP_CKSUM;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, UDP_HEAD_BYTES, 0, 0, 0, 0);
}

// pkt_tx_tso: requests that the port split an IPv4 packet, a chain, into TCP segments of mss bytes
// of data and set the fields that differ. Its headers are in the first buffer, as written by
// wire_build_tso4(). ip_cksum: the port has PORT_TX_IP_CKSUM. For ports with PORT_TSO.
static inline void pkt_tx_tso(struct pkt *p, bool ip_cksum, unsigned l2_bytes, unsigned l3_bytes,
                              unsigned l4_bytes, unsigned mss)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV4 | (ip_cksum ? RTE_MBUF_F_TX_IP_CKSUM : 0) |
                    RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, mss, 0, 0, 0);
}

// pkt_tx_tso6: the same for an IPv6 packet with headers of wire_build_tso6().
static inline void pkt_tx_tso6(struct pkt *p, unsigned l2_bytes, unsigned l3_bytes,
                               unsigned l4_bytes, unsigned mss)
{
    p->m.ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    p->m.tx_offload = rte_mbuf_tx_offload(l2_bytes, l3_bytes, l4_bytes, mss, 0, 0, 0);
}

// pkt_chain: links n packets of one buffer each, n in 1..PKT_CHAIN_MAX, into one packet, pkts[0].
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

// The tag of a VLAN (IEEE 802.1Q 9.3): a type, and 16 bits with priority and VLAN identifier,
// before the type of the frame.
enum {
    PKT_TAG_BYTES = 4,
    PKT_TAG_TYPE_AT = 12,
    PKT_TAG_TYPE = 0x8100,
    PKT_TAG_TYPE_OUTER = 0x88a8,  // of a provider, before the tag of a customer (QinQ)
    PKT_TAG_VID_MASK = 0xfff,
    PKT_TAG_FRAME_BYTES = PKT_TAG_TYPE_AT + PKT_TAG_BYTES + 2,  // with the type behind the tag
};

// pkt_tag: puts a tag before the type of a frame of ours, in the headroom.
static inline void pkt_tag(struct pkt *p, uint16_t tci)
{
    const uint32_t word = __builtin_bswap32((uint32_t)PKT_TAG_TYPE << 16 | tci);
    uint8_t *to = pkt_data(p) - PKT_TAG_BYTES;
    memmove(to, to + PKT_TAG_BYTES, PKT_TAG_TYPE_AT);
    memcpy(to + PKT_TAG_TYPE_AT, &word, sizeof(word));
    p->m.data_off = (uint16_t)(p->m.data_off - PKT_TAG_BYTES);
    p->m.data_len = (uint16_t)(p->m.data_len + PKT_TAG_BYTES);
    p->m.pkt_len += PKT_TAG_BYTES;
    if (p->m.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK)
        p->m.l2_len = (p->m.l2_len + PKT_TAG_BYTES) & 0x7f;
}

// pkt_untag: takes the tag out of a frame that has one, of at least PKT_TAG_FRAME_BYTES in its
// first buffer.
static inline void pkt_untag(struct pkt *p)
{
    uint8_t *from = pkt_data(p);
    memmove(from + PKT_TAG_BYTES, from, PKT_TAG_TYPE_AT);
    p->m.data_off = (uint16_t)(p->m.data_off + PKT_TAG_BYTES);
    p->m.data_len = (uint16_t)(p->m.data_len - PKT_TAG_BYTES);
    p->m.pkt_len -= PKT_TAG_BYTES;
    if (p->m.ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK)
        p->m.l2_len = (p->m.l2_len - PKT_TAG_BYTES) & 0x7f;
}

// pkt_attach: gives p, which was just allocated, the len bytes at buf as its data. When p is freed,
// that thread calls freed(buf, arg). shared: 64 aligned bytes of the caller that live as long. Such
// a packet is never sent.
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

// pkt_is_attached: whether its data is external memory (pkt_attach), so that it must not be sent.
static inline bool pkt_is_attached(const struct pkt *p)
{
    return (p->m.ol_flags & RTE_MBUF_F_EXTERNAL) != 0;
}

// pkt_turn_round: prepares a received packet to be sent: clears the port's verdicts.
static inline void pkt_turn_round(struct pkt *p)
{
    p->m.ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
}

// pkt_pool_create: a pool of at least `count` packets (minimum 1,024) of PKT_ROOM bytes for one
// worker, on NUMA node `node` (-1: any), single producer and consumer, with a cache of 512. name:
// unique, at most 20 characters. Without hugepages the packets lie side by side in one piece of
// memory. NULL: rte_errno says why. Control thread. Only EAL threads have the cache; other threads
// access the ring behind it each time.
struct pkt_pool *pkt_pool_create(const char *name, unsigned count, int node);

// pkt_pool_create_jumbo: the same with packets of PKT_JUMBO_ROOM bytes.
struct pkt_pool *pkt_pool_create_jumbo(const char *name, unsigned count, int node);

// pkt_pool_room: bytes of a frame in one packet of the pool.
static inline uint32_t pkt_pool_room(const struct pkt_pool *pool)
{
    return (uint32_t)rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)&pool->mp) -
           PKT_HEADROOM;
}

// pkt_copy: copies the data of `from`, a chain or not, into `to`, which has room for it and becomes
// one buffer. Flags are not copied. `from` is only read.
void pkt_copy(struct pkt *to, const struct pkt *from);

// pkt_gather: makes a received chain one packet of the pool, with the port's verdicts, and frees
// the chain. Returns p itself if it is no chain, if it does not fit in one packet, or if the pool
// is empty.
struct pkt *pkt_gather(struct pkt_pool *pool, struct pkt *p);

// pkt_pool_destroy: frees the pool, of which no packet is in use. NULL: does nothing.
void pkt_pool_destroy(struct pkt_pool *pool);

// pkt_pool_uncache: gives back what the calling thread's cache holds of the pool, which nobody else
// could take. EAL thread; the pool's worker waits meanwhile.
void pkt_pool_uncache(struct pkt_pool *pool);

// pkt_pool_free_count: packets that are neither in use nor posted to a port; exact while the worker
// does not run. Any thread.
unsigned pkt_pool_free_count(const struct pkt_pool *pool);
