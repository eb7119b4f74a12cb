// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ring.h"

#include <rte_malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"

enum {
    POST_MIN = 32,  // under load, post again when so many packets are missing
    POST_MAX = 64,  // packets for each call to the pool
    CHUNK = 64,     // packets whose buffers are prefetched together
    AHEAD = 2,      // packets between the prefetch of a long one's other lines and its copy
    FIRST_LINES = 3,
};

// wire: one direction of one queue. Indices are free-running; `mask` selects the slot. The sender
// fills posted packets in order, so it returns only their lengths.
struct wire {
    // Written by the receiver, read by the sender: release store, acquire load.
    uint32_t posted CACHE_ALIGNED;
    // Written by the sender, read by the receiver: release store, acquire load.
    uint32_t filled CACHE_ALIGNED;

    struct {  // used by the receiver only
        uint32_t taken, posted, filled_seen;
        struct pkt_pool *pool;  // NULL: this end is closed
        uint64_t packets, bytes;
    } rx CACHE_ALIGNED;

    struct {  // used by the sender only
        uint32_t filled, posted_seen;
        uint64_t packets, bytes, errors;
    } tx CACHE_ALIGNED;

    uint32_t mask CACHE_ALIGNED;  // mask and both pointers are constant
    uint32_t room;   // bytes of a posted packet; set when the receiver opens, before it posts one
    uint8_t **data;  // [slot] first byte of the posted packet; written by the receiver
    uint16_t *len;   // [slot] bytes of the frame; written by the sender
};

struct cable;

struct ring_end {
    struct port port;
    struct cable *cable;
    bool open;
    struct wire *rx[PORT_QUEUES_MAX], *tx[PORT_QUEUES_MAX];
};

struct cable {
    struct ring_end end[2];
    unsigned queues;
    struct wire *wires[2][PORT_QUEUES_MAX];  // [receiving end][queue]
};

static const struct port_ops ring_ops;

// count: a counter has one writer, and the control thread reads it at any time.
static inline void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t counted(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

// The pool has no private area (checked at open), so the offset of the data is constant.
enum { DATA_OFFSET = sizeof(struct rte_mbuf) + PKT_HEADROOM };

static inline uint8_t *posted_data(struct pkt *p)
{
    return (uint8_t *)p + DATA_OFFSET;
}

static inline struct pkt *posted_pkt(uint8_t *data)
{
    return (struct pkt *)(data - DATA_OFFSET);
}

static void copy_chain(uint8_t *to, const struct pkt *p)
{
    for (const struct rte_mbuf *m = &p->m; m != NULL; m = m->next) {
        memcpy(to, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
        to += m->data_len;
    }
}

// prefetch_posted: prefetches the first lines of the posted packets for writing. They are in the
// receiver's cache.
static inline void prefetch_posted(const struct wire *w, struct pkt **pkts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *to = w->data[(w->tx.filled + i) & w->mask];
        prefetch0_w(to);
        prefetch0_w(to + CACHE_LINE);
        if (pkt_len(pkts[i]) > 2 * CACHE_LINE)
            prefetch0_w(to + 2 * CACHE_LINE);
    }
}

// prefetch_rest: the other lines of a long packet. The CPU does not prefetch for these stores by
// itself, so they would wait for one line after the other (22 Gb/s; with it 57 Gb/s).
static inline void prefetch_rest(uint8_t *to, uint32_t len)
{
    for (uint32_t at = FIRST_LINES * CACHE_LINE; at < len; at += CACHE_LINE)
        prefetch0_w(to + at);
}

// copy_burst: copies n frames into the next posted packets. Frames that are too long are counted.
static uint64_t copy_burst(struct wire *w, struct pkt **pkts, uint32_t n, uint32_t *errors)
{
    const uint32_t room = w->room;
    uint32_t filled = w->tx.filled;
    uint64_t bytes = 0;
    prefetch_posted(w, pkts, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct pkt *f = pkts[i];
        uint32_t len = pkt_total_len(f);
        if (unlikely(len > room)) {
            (*errors)++;
            continue;
        }
        uint32_t slot = filled++ & w->mask;
        if (i + AHEAD < n)
            prefetch_rest(w->data[(slot + AHEAD) & w->mask], pkt_total_len(pkts[i + AHEAD]));
        if (unlikely(pkt_is_chain(f)))
            copy_chain(w->data[slot], f);
        else
            copy_bytes(w->data[slot], pkt_data(f), len);
        w->len[slot] = (uint16_t)len;
        bytes += len;
    }
    w->tx.filled = filled;
    return bytes;
}

// ring_tx_burst: publishes once for each call. Packets are prefetched in chunks that fit in the
// cache.
static uint16_t ring_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct wire *w = ((struct ring_end *)p->priv)->tx[q];
    if (w->tx.posted_seen - w->tx.filled < n)
        w->tx.posted_seen = __atomic_load_n(&w->posted, __ATOMIC_ACQUIRE);
    n = (uint16_t)MIN((uint32_t)n, w->tx.posted_seen - w->tx.filled);
    if (n == 0)
        return 0;
    uint64_t bytes = 0;
    uint32_t errors = 0;
    for (uint32_t at = 0; at < n; at += CHUNK)
        bytes += copy_burst(w, pkts + at, MIN((uint32_t)CHUNK, n - at), &errors);
    __atomic_store_n(&w->filled, w->tx.filled, __ATOMIC_RELEASE);
    count(&w->tx.packets, n - errors);
    count(&w->tx.bytes, bytes);
    if (unlikely(errors != 0))
        count(&w->tx.errors, errors);
    for (uint32_t at = 0; at < n; at += CHUNK)
        pkt_free_bulk(pkts + at, MIN((uint32_t)CHUNK, n - at));
    return n;
}

// post: posts `missing` packets, or fewer if the pool has fewer.
static void post(struct wire *w, uint32_t missing)
{
    uint32_t posted = w->rx.posted;
    struct pkt *fresh[POST_MAX];
    while (missing != 0) {
        uint32_t n = MIN(missing, (uint32_t)POST_MAX);
        while (n != 0 && rte_mempool_get_bulk(&w->rx.pool->mp, (void **)fresh, n) != 0)
            n /= 2;
        if (n == 0)
            break;
        for (uint32_t i = 0; i < n; i++)
            w->data[posted++ & w->mask] = posted_data(fresh[i]);
        missing -= n;
    }
    w->rx.posted = posted;
    __atomic_store_n(&w->posted, posted, __ATOMIC_RELEASE);
}

// packet_init: writes one cache line. A packet from the pool already has no next and one reference.
static inline void packet_init(struct rte_mbuf *m, uint16_t len)
{
    m->data_off = PKT_HEADROOM;
    m->refcnt = 1;
    m->nb_segs = 1;
    m->port = RTE_MBUF_PORT_INVALID;
    m->ol_flags = 0;
    m->packet_type = 0;
    m->pkt_len = len;
    m->data_len = len;
    m->vlan_tci = 0;
}

static uint16_t ring_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct wire *w = ((struct ring_end *)p->priv)->rx[q];
    uint32_t taken = w->rx.taken;
    if (w->rx.filled_seen - taken < n)
        w->rx.filled_seen = __atomic_load_n(&w->filled, __ATOMIC_ACQUIRE);
    n = (uint16_t)MIN((uint32_t)n, w->rx.filled_seen - taken);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = (taken + i) & w->mask;
        uint8_t *data = w->data[slot];
        prefetch0(data);
        pkts[i] = posted_pkt(data);
        packet_init(&pkts[i]->m, w->len[slot]);
        bytes += w->len[slot];
    }
    w->rx.taken = taken + n;
    uint32_t missing = w->mask + 1 - (w->rx.posted - w->rx.taken);
    if (missing >= POST_MIN || (n == 0 && missing != 0))
        post(w, missing);
    if (n != 0) {
        count(&w->rx.packets, n);
        count(&w->rx.bytes, bytes);
    }
    return n;
}

static void ring_stats(struct port *p, struct port_stats *out)
{
    const struct ring_end *end = p->priv;
    memset(out, 0, sizeof(*out));
    for (unsigned q = 0; q < p->queues; q++) {
        out->rx_packets += counted(&end->rx[q]->rx.packets);
        out->rx_bytes += counted(&end->rx[q]->rx.bytes);
        out->tx_packets += counted(&end->tx[q]->tx.packets);
        out->tx_bytes += counted(&end->tx[q]->tx.bytes);
        out->tx_errors += counted(&end->tx[q]->tx.errors);
    }
}

static bool far_is_open(const struct ring_end *end)
{
    return end->cable->end[end == &end->cable->end[0]].open;
}

static void ring_link(struct port *p, struct port_link *out)
{
    *out = (struct port_link){.up = far_is_open(p->priv), .full_duplex = true};
}

static int ring_waiting(struct port *p, uint16_t q)
{
    const struct wire *w = ((const struct ring_end *)p->priv)->rx[q];
    const uint32_t taken = __atomic_load_n(&w->rx.taken, __ATOMIC_RELAXED);
    return (int)MIN(__atomic_load_n(&w->filled, __ATOMIC_RELAXED) - taken, w->mask + 1);
}

static int ring_rx_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    *slots = ((const struct ring_end *)p->priv)->rx[q]->mask + 1;
    return ring_waiting(p, q);
}

static void ring_describe(struct port *p, struct text *out)
{
    const struct ring_end *end = p->priv;
    text_printf(out, "rx_ring %u\ntx_ring %u\n", end->rx[0]->mask + 1, end->tx[0]->mask + 1);
}

static const struct port_view ring_view = {
    .link = ring_link, .rx_waiting = ring_waiting, .describe = ring_describe};

static void wire_free(struct wire *w)
{
    if (w == NULL)
        return;
    rte_free(w->data);
    rte_free(w->len);
    rte_free(w);
}

static struct wire *wire_new(uint32_t slots, int node)
{
    if (node < 0)
        node = SOCKET_ID_ANY;
    struct wire *w = rte_zmalloc_socket("ring wire", sizeof(*w), CACHE_LINE, node);
    if (w == NULL)
        return NULL;
    w->mask = slots - 1;
    w->data = rte_zmalloc_socket("ring data", slots * sizeof(w->data[0]), CACHE_LINE, node);
    w->len = rte_zmalloc_socket("ring len", slots * sizeof(w->len[0]), CACHE_LINE, node);
    if (w->data == NULL || w->len == NULL) {
        wire_free(w);
        return NULL;
    }
    return w;
}

static void cable_free(struct cable *c)
{
    for (unsigned q = 0; q < c->queues; q++) {
        wire_free(c->wires[0][q]);
        wire_free(c->wires[1][q]);
    }
    free(c);
}

// wire_drain: returns all posted packets, and received ones that were not taken, to the receiver's
// pool. The wire is then empty for the next receiver. The sender's totals stay.
static void wire_drain(struct wire *w)
{
    for (uint32_t at = w->rx.taken; at != w->rx.posted; at++)
        rte_mempool_put(&w->rx.pool->mp, posted_pkt(w->data[at & w->mask]));
    memset(&w->rx, 0, sizeof(w->rx));
    w->posted = w->filled = w->tx.filled = w->tx.posted_seen = 0;
}

static void ring_close(struct port *p)
{
    struct ring_end *end = p->priv;
    struct cable *c = end->cable;
    for (unsigned q = 0; q < c->queues; q++)
        wire_drain(end->rx[q]);
    end->open = false;
    if (!c->end[0].open && !c->end[1].open)
        cable_free(c);
}

static int check_slots(const struct port_params *p, const char *key, uint32_t slots,
                       struct err *err)
{
    if (slots == 0 ||
        (slots >= RING_SLOTS_MIN && slots <= RING_SLOTS_MAX && (slots & (slots - 1)) == 0))
        return 0;
    return err_set(err, "port %s: %s = %u: a power of two from %d to %d was expected", p->name, key,
                   slots, RING_SLOTS_MIN, RING_SLOTS_MAX);
}

static int check_pools(const struct port_params *p, unsigned queues, struct err *err)
{
    for (unsigned q = 0; q < queues; q++) {
        if (p->pools[q] == NULL)
            return err_set(err, "port %s: queue %u has no packet pool", p->name, q);
        if (rte_pktmbuf_priv_size(&p->pools[q]->mp) != 0 ||
            rte_pktmbuf_data_room_size(&p->pools[q]->mp) < PKT_HEADROOM + PKT_ROOM)
            return err_set(err, "port %s: queue %u: not a pool of pkt_pool_create()", p->name, q);
    }
    return 0;
}

static struct port *end_open(struct cable *c, unsigned side, const struct port_params *params,
                             uint16_t mtu)
{
    struct ring_end *end = &c->end[side];
    memset(end, 0, sizeof(*end));
    end->cable = c;
    end->open = true;
    for (unsigned q = 0; q < c->queues; q++) {
        end->rx[q] = c->wires[side][q];
        end->tx[q] = c->wires[!side][q];
        end->rx[q]->rx.pool = params->pools[q];
        end->rx[q]->room = pkt_pool_room(params->pools[q]);
    }
    struct port *p = &end->port;
    p->ops = &ring_ops;
    strcpy(p->name, params->name);
    p->caps = PORT_NO_SYSCALL;
    p->caps |= params->has_offloads ? params->offloads & PORT_MULTI_SEG : PORT_MULTI_SEG;
    p->mac = params->has_mac ? params->mac
                             : (struct mac_addr){{0x02, 0xc1, 0x0a, 0, 0, (uint8_t)(1 + side)}};
    p->mtu = mtu;
    p->queues = (uint16_t)c->queues;
    p->priv = end;
    return p;
}

static int cable_wires(struct cable *c, const struct port_params *params)
{
    const uint32_t slots[2] = {params->rx_ring ? params->rx_ring : RING_SLOTS_DEFAULT,
                               params->tx_ring ? params->tx_ring : RING_SLOTS_DEFAULT};
    for (unsigned q = 0; q < c->queues; q++)
        for (unsigned side = 0; side < 2; side++)
            if ((c->wires[side][q] = wire_new(slots[side], params->node)) == NULL)
                return -1;
    return 0;
}

int ring_check(const struct port_params *params, struct err *err)
{
    return check_slots(params, "rx_ring", params->rx_ring, err) != 0 ||
                   check_slots(params, "tx_ring", params->tx_ring, err) != 0
               ? -1
               : 0;
}

struct port *ring_open(const struct port_params *params, struct err *err)
{
    if (ring_check(params, err) != 0 || check_pools(params, params->queues, err) != 0)
        return NULL;
    struct cable *c = calloc(1, sizeof(*c));
    CHECK(c != NULL);
    c->queues = params->queues;
    if (cable_wires(c, params) != 0) {
        err_set(err, "port %s: no packet memory left for its rings", params->name);
        cable_free(c);
        return NULL;
    }
    return end_open(c, 0, params, params->mtu ? params->mtu : PORT_MTU_DEFAULT);
}

struct port *ring_open_far(struct port *near, const struct port_params *params, struct err *err)
{
    CHECK(near->ops == &ring_ops);
    struct cable *c = ((struct ring_end *)near->priv)->cable;
    unsigned side = near->priv == &c->end[0];
    if (c->end[side].open) {
        err_set(err, "port %s: its other end is open already", near->name);
        return NULL;
    }
    if (check_pools(params, c->queues, err) != 0)
        return NULL;
    return end_open(c, side, params, near->mtu);
}

static const struct port_ops ring_ops = {
    .driver = "ring",
    .rx_burst = ring_rx_burst,
    .rx_waiting = ring_rx_waiting,
    .tx_burst = ring_tx_burst,
    .stats = ring_stats,
    .close = ring_close,
    .view = &ring_view,
};
