// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/fault.h"

#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/rng.h"
#include "drivers/port_table.h"
#include "pkt/refusal.h"
#include "tables/driver_table.h"

enum { AT_IP = 14 };

struct aside {
    struct pkt *pkt;
    uint64_t until_us;
    uint32_t passes;  // how many later frames must still be passed on first
};

// lane: one direction of one queue. Frames leave the fifo in the order in which they entered it.
struct lane {
    struct rng rng;
    uint32_t head, tail;  // free-running; tail - head frames wait
    uint32_t asides;
    struct pkt *fifo[FAULT_HOLD];
    uint64_t due_us[FAULT_HOLD];
    struct aside aside[FAULT_ASIDE];
    bool waits;  // tx: the inner port takes none
    uint64_t looked_us;
    struct refusal refusal;
    struct fault_counts counts;  // written by the worker, read by the control thread
};

struct fault_queue {
    struct lane rx, tx;
};

struct fault {
    struct port port;
    struct port *inner;
    struct pkt_pool *pools[PORT_QUEUES_MAX];
    uint32_t loss_ppm, reorder_ppm, duplicate_ppm, corrupt_ppm;
    uint64_t delay_us;
    const uint64_t *now_us;
    uint64_t tsc_per_ms;
    struct fault_queue *queues;
};

static const struct port_ops fault_ops;

static uint64_t now_us(const struct fault *f)
{
    return f->now_us != NULL ? *f->now_us : tsc_read() / f->tsc_per_ms * 1000;
}

static void count(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static bool chance(struct lane *l, uint32_t ppm)
{
    return ppm != 0 && rng_below(&l->rng, FAULT_PPM) < ppm;
}

static uint32_t room(const struct lane *l)
{
    return FAULT_HOLD - (l->tail - l->head) - l->asides;
}

static void enqueue(struct lane *l, struct pkt *p, uint64_t due_us)
{
    l->fifo[l->tail % FAULT_HOLD] = p;
    l->due_us[l->tail % FAULT_HOLD] = due_us;
    l->tail++;
}

// copy_of: copies a packet, with its flags, into one segment. NULL if the pool is empty or the
// packet is too long for one segment.
static struct pkt *copy_of(struct pkt_pool *pool, const struct pkt *p)
{
    struct pkt *c;
    if (pkt_total_len(p) > pkt_pool_room(pool) || !pkt_alloc_bulk(pool, &c, 1))
        return NULL;
    pkt_copy(c, p);
    c->m.ol_flags = p->m.ol_flags & ~(uint64_t)(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
    c->m.tx_offload = p->m.tx_offload;
    c->m.packet_type = p->m.packet_type;
    return c;
}

static bool alone(const struct pkt *p)
{
    return p->m.nb_segs == 1 && rte_mbuf_refcnt_read(&p->m) == 1 && RTE_MBUF_DIRECT(&p->m);
}

// covered: the bytes [*from, return value) of the frame that checksums protect; 0 if none. The
// first eight bytes of an IPv6 header are not protected: no checksum covers flow label and hop
// limit. The padding after a short packet is not protected either.
static uint32_t covered(const struct pkt *p, uint32_t *from)
{
    enum { IP4 = 20, IP4_TOTAL_AT = 2, IP6 = 40, IP6_PAYLOAD_AT = 4, IP6_UNCOVERED = 8 };
    const uint8_t *ip = pkt_data(p) + AT_IP;
    const uint32_t type = pkt_len(p) < AT_IP + IP4 ? 0 : load_be16(ip - 2);
    *from = AT_IP;
    if (type == 0x0800)
        return MAX((uint32_t)AT_IP + IP4,
                   MIN((uint32_t)AT_IP + load_be16(ip + IP4_TOTAL_AT), pkt_total_len(p)));
    if (type != 0x86dd || pkt_len(p) < AT_IP + IP6)
        return 0;
    *from += IP6_UNCOVERED;
    return MIN((uint32_t)AT_IP + IP6 + load_be16(ip + IP6_PAYLOAD_AT), pkt_total_len(p));
}

// corrupt: returns the frame to use from now on: p, or a private copy of it.
static struct pkt *corrupt(const struct fault *f, struct lane *l, unsigned q, struct pkt *p)
{
    uint32_t from;
    const uint32_t to = covered(p, &from);
    if (to == 0)
        return p;
    struct pkt *own = alone(p) ? p : copy_of(f->pools[q], p);
    if (own == NULL) {
        count(&l->counts.no_packet);
        return p;
    }
    if (own != p)
        pkt_free(p);
    const uint32_t bit = rng_below(&l->rng, (to - from) * 8);
    pkt_data(own)[from + bit / 8] ^= (uint8_t)(1u << bit % 8);
    own->m.ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    count(&l->counts.corrupted);
    return own;
}

// release_asides: moves frames to the fifo that have waited long enough, or for which enough later
// frames were passed on.
static void release_asides(struct lane *l, uint64_t now, uint64_t delay_us)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->asides; i++) {
        struct aside *a = &l->aside[i];
        if (a->passes == 0 || a->until_us <= now)
            enqueue(l, a->pkt, now + delay_us);
        else
            l->aside[kept++] = *a;
    }
    l->asides = kept;
}

static void pass(struct lane *l, struct pkt *p, uint64_t now, uint64_t delay_us)
{
    enqueue(l, p, now + delay_us);
    for (uint32_t i = 0; i < l->asides; i++)
        if (l->aside[i].passes != 0)
            l->aside[i].passes--;
    release_asides(l, now, delay_us);
}

// trouble: passes one frame through the lane, which must have room for two.
static void trouble(const struct fault *f, struct lane *l, unsigned q, struct pkt *p, uint64_t now)
{
    count(&l->counts.seen);
    if (chance(l, f->loss_ppm)) {
        count(&l->counts.lost);
        pkt_free(p);
        return;
    }
    if (chance(l, f->corrupt_ppm))
        p = corrupt(f, l, q, p);
    struct pkt *twin = NULL;
    if (chance(l, f->duplicate_ppm)) {
        twin = copy_of(f->pools[q], p);
        count(twin != NULL ? &l->counts.duplicated : &l->counts.no_packet);
    }
    if (chance(l, f->reorder_ppm) && l->asides < FAULT_ASIDE) {
        uint32_t passes = 1 + rng_below(&l->rng, FAULT_REORDER_MAX);
        l->aside[l->asides++] = (struct aside){p, now + FAULT_REORDER_WAIT_US, passes};
        count(&l->counts.reordered);
    } else {
        pass(l, p, now, f->delay_us);
    }
    if (twin != NULL)
        pass(l, twin, now, f->delay_us);
}

// due: how many frames, at most n, are due, from the oldest on.
static uint32_t due(const struct lane *l, uint64_t now, uint32_t n)
{
    uint32_t k = 0, waiting = l->tail - l->head;
    while (k < n && k < waiting && l->due_us[(l->head + k) % FAULT_HOLD] <= now)
        k++;
    return k;
}

static void note_held(struct lane *l)
{
    __atomic_store_n(&l->counts.held, l->tail - l->head + l->asides, __ATOMIC_RELAXED);
}

// get_past: the inner port takes none of the k due frames of `out`. Those that are left stay due.
static void get_past(struct fault *f, uint16_t q, struct pkt **out, uint32_t k, uint64_t now)
{
    struct lane *l = &f->queues[q].tx;
    struct refusal_result got;
    if (!l->waits) {
        l->waits = true;
        l->refusal = (struct refusal){0};
        l->looked_us = now;
    }
    if (now - l->looked_us < FAULT_REFUSED_US)
        return;
    l->looked_us = now;
    const uint32_t left = refusal_look(&l->refusal, f->inner, q, out, k, &got);
    l->head += k - left;
    for (uint32_t i = 0; i < left; i++)
        l->fifo[(l->head + i) % FAULT_HOLD] = out[i];
    if (got.refused != NULL) {
        pkt_free(got.refused);
        count(&l->counts.refused);
    }
}

static void pump_tx(struct fault *f, uint16_t q, uint64_t now)
{
    struct lane *l = &f->queues[q].tx;
    release_asides(l, now, f->delay_us);
    for (uint32_t k; (k = due(l, now, BURST_MAX)) != 0;) {
        struct pkt *out[BURST_MAX];
        for (uint32_t i = 0; i < k; i++)
            out[i] = l->fifo[(l->head + i) % FAULT_HOLD];
        uint16_t sent = f->inner->ops->tx_burst(f->inner, q, out, (uint16_t)k);
        l->head += sent;
        if (sent != 0)
            l->waits = false;
        else
            get_past(f, q, out, k, now);
        if (sent < k)
            break;
    }
    note_held(l);
}

static uint16_t fault_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct fault *f = p->priv;
    struct lane *l = &f->queues[q].rx;
    uint64_t now = now_us(f);
    pump_tx(f, q, now);  // delayed frames must leave even if no new frame is sent
    struct pkt *in[BURST_MAX];
    uint32_t want = MIN(MIN((uint32_t)n, (uint32_t)BURST_MAX), room(l) / 2);
    uint16_t got = want ? f->inner->ops->rx_burst(f->inner, q, in, (uint16_t)want) : 0;
    for (uint16_t i = 0; i < got; i++)
        trouble(f, l, q, in[i], now);
    release_asides(l, now, f->delay_us);
    uint32_t k = due(l, now, n);
    for (uint32_t i = 0; i < k; i++)
        pkts[i] = l->fifo[(l->head + i) % FAULT_HOLD];
    l->head += k;
    note_held(l);
    return (uint16_t)k;
}

static uint16_t fault_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct fault *f = p->priv;
    struct lane *l = &f->queues[q].tx;
    uint64_t now = now_us(f);
    uint16_t took = 0;
    for (; took < n && room(l) >= 2; took++)
        trouble(f, l, q, pkts[took], now);
    pump_tx(f, q, now);
    return took;
}

// holds_any: frames that are held have a time of their own.
static bool holds_any(const struct fault_queue *q)
{
    return room(&q->rx) != FAULT_HOLD || room(&q->tx) != FAULT_HOLD;
}

static int fault_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const struct fault *f = p->priv;
    return holds_any(&f->queues[q]) ? PORT_WAIT_NOT : port_wait_fds(f->inner, q, out, max);
}

static bool fault_line(struct port *p, uint16_t q, struct rte_power_monitor_cond *out)
{
    const struct fault *f = p->priv;
    return !holds_any(&f->queues[q]) && port_wait_line(f->inner, q, out);
}

static const struct port_wait fault_wait = {.fds = fault_fds, .line = fault_line};

static void add_counts(struct fault_counts *sum, const struct fault_counts *c)
{
    const uint64_t *from = (const uint64_t *)c;
    for (size_t i = 0; i < sizeof(*c) / sizeof(*from); i++)
        ((uint64_t *)sum)[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void fault_read(struct port *p, struct fault_counts *rx, struct fault_counts *tx)
{
    const struct fault *f = p->priv;
    memset(rx, 0, sizeof(*rx));
    memset(tx, 0, sizeof(*tx));
    for (unsigned q = 0; q < p->queues; q++) {
        add_counts(rx, &f->queues[q].rx.counts);
        add_counts(tx, &f->queues[q].tx.counts);
    }
}

static void fault_stats(struct port *p, struct port_stats *out)
{
    struct fault *f = p->priv;
    struct fault_counts rx, tx;
    f->inner->ops->stats(f->inner, out);
    fault_read(p, &rx, &tx);
    out->rx_taken_away += rx.lost;
    out->rx_added += rx.duplicated;
    out->tx_taken_away += tx.lost;
    out->tx_added += tx.duplicated;
    out->tx_errors += tx.refused;
}

static void add_xstats(struct port_xstat *out, unsigned max, unsigned *n, const char *side,
                       const struct fault_counts *c)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"seen", c->seen},           {"lost", c->lost},
                {"corrupted", c->corrupted}, {"duplicated", c->duplicated},
                {"reordered", c->reordered}, {"not_copied", c->no_packet},
                {"refused", c->refused},     {"held_now", c->held}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++, (*n)++)
        if (*n < max) {
            snprintf(out[*n].name, sizeof(out[*n].name), "%s_%s", side, rows[i].name);
            out[*n].value = rows[i].value;
        }
}

static unsigned fault_xstats(struct port *p, struct port_xstat *out, unsigned max)
{
    struct fault_counts rx, tx;
    unsigned n = 0;
    fault_read(p, &rx, &tx);
    add_xstats(out, max, &n, "rx", &rx);
    add_xstats(out, max, &n, "tx", &tx);
    return n;
}

static void fault_link(struct port *p, struct port_link *out)
{
    struct port *inner = fault_inner(p);
    memset(out, 0, sizeof(*out));
    if (inner->ops->view != NULL && inner->ops->view->link != NULL)
        inner->ops->view->link(inner, out);
}

static void fault_describe(struct port *p, struct text *out)
{
    const struct fault *f = p->priv;
    text_printf(out, "loss_ppm %u\nreorder_ppm %u\nduplicate_ppm %u\ncorrupt_ppm %u\n", f->loss_ppm,
                f->reorder_ppm, f->duplicate_ppm, f->corrupt_ppm);
    text_printf(out, "delay_us %llu\n", (unsigned long long)f->delay_us);
}

static const struct port_view fault_view = {
    .link = fault_link, .xstats = fault_xstats, .describe = fault_describe, .inner = fault_inner};

static void free_lane(struct lane *l)
{
    for (; l->head != l->tail; l->head++)
        pkt_free(l->fifo[l->head % FAULT_HOLD]);
    for (uint32_t i = 0; i < l->asides; i++)
        pkt_free(l->aside[i].pkt);
}

static void fault_close(struct port *p)
{
    struct fault *f = p->priv;
    for (unsigned q = 0; q < p->queues; q++) {
        free_lane(&f->queues[q].rx);
        free_lane(&f->queues[q].tx);
    }
    port_close(f->inner);
    free(f->queues);
    free(f);
}

struct port *fault_inner(struct port *p)
{
    return p->ops == &fault_ops ? ((struct fault *)p->priv)->inner : NULL;
}

static int check_ppm(const struct port_params *p, const char *key, uint32_t ppm, struct err *err)
{
    return ppm <= FAULT_PPM
               ? 0
               : err_set(err, "port %s: %s: at most 100 percent was expected", p->name, key);
}

int fault_check(const struct port_params *p, struct err *err)
{
    if (p->wraps == NULL)
        return err_set(err, "port %s: wraps: the name of the port to wrap was expected", p->name);
    if (driver_wraps(p->wraps->driver))
        return err_set(err, "port %s: wraps: not another %s port", p->name, p->wraps->driver);
    if (p->delay_ms > FAULT_DELAY_MS_MAX)
        return err_set(err, "port %s: delay_ms = %u: 0 to %d was expected", p->name, p->delay_ms,
                       FAULT_DELAY_MS_MAX);
    return check_ppm(p, "loss", p->loss_ppm, err) || check_ppm(p, "reorder", p->reorder_ppm, err) ||
                   check_ppm(p, "duplicate", p->duplicate_ppm, err) ||
                   check_ppm(p, "corrupt", p->corrupt_ppm, err)
               ? -1
               : 0;
}

static struct port *open_inner(const struct port_params *p, struct err *err)
{
    struct port_params inner = *p->wraps;
    inner.name = p->name;
    inner.queues = p->queues;
    inner.waits = p->waits;
    memcpy(inner.pools, p->pools, sizeof(inner.pools));
    return port_open(&inner, err);
}

struct port *fault_open(const struct port_params *p, struct err *err)
{
    if (fault_check(p, err) != 0)
        return NULL;
    struct port *inner = open_inner(p, err);
    if (inner == NULL)
        return NULL;
    struct fault *f = calloc(1, sizeof(*f));
    CHECK(f != NULL);
    f->queues = calloc(p->queues, sizeof(f->queues[0]));
    CHECK(f->queues != NULL);
    f->inner = inner;
    f->port = *inner;
    f->port.ops = &fault_ops;
    f->port.caps &= ~(uint32_t)(PORT_TX_IP_CKSUM | PORT_TX_L4_CKSUM | PORT_TSO);
    f->port.priv = f;
    memcpy(f->pools, p->pools, sizeof(f->pools));
    f->loss_ppm = p->loss_ppm;
    f->reorder_ppm = p->reorder_ppm;
    f->duplicate_ppm = p->duplicate_ppm;
    f->corrupt_ppm = p->corrupt_ppm;
    f->delay_us = (uint64_t)p->delay_ms * 1000;
    f->now_us = p->now_us;
    f->tsc_per_ms = MAX((uint64_t)1, rte_get_tsc_hz() / 1000);
    struct rng seeds = {p->seed};
    for (unsigned q = 0; q < p->queues; q++) {
        f->queues[q].rx.rng.state = rng_u64(&seeds);
        f->queues[q].tx.rng.state = rng_u64(&seeds);
    }
    return &f->port;
}

static const struct port_ops fault_ops = {
    .driver = "fault",
    .rx_burst = fault_rx_burst,
    .tx_burst = fault_tx_burst,
    .stats = fault_stats,
    .close = fault_close,
    .view = &fault_view,
    .wait = &fault_wait,
};
