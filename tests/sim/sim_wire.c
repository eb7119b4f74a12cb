// SPDX-License-Identifier: BSD-3-Clause
// Links: what becomes of a frame between two hosts.
#include <string.h>

#include "sim.h"
#include "wire/proto.h"

static inline uint64_t mum(uint64_t a, uint64_t b)
{
    const unsigned __int128 m = (unsigned __int128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

// Of every byte: two lanes of multiply and fold.
static uint64_t hash_bytes(uint64_t h, const uint8_t *p, uint32_t n)
{
    uint64_t a = h ^ 0xa0761d6478bd642fULL, b = n ^ 0xe7037ed1a0b428dbULL;
    for (; n >= 32; p += 32, n -= 32) {
        a = mum(a ^ word_at(p), 0x8ebc6af09c88c6e3ULL ^ word_at(p + 8));
        b = mum(b ^ word_at(p + 16), 0x589965cc75374cc3ULL ^ word_at(p + 24));
    }
    uint8_t rest[32] = {0};
    memcpy(rest, p, n);
    a = mum(a ^ word_at(rest), 0x1d8e4e27c47d124fULL ^ word_at(rest + 8));
    b = mum(b ^ word_at(rest + 16), 0xeb44accab455d165ULL ^ word_at(rest + 24));
    return mum(a ^ 0x2d358dccaa6c78a5ULL, b);
}

static void note(struct sim_world *w, unsigned host, bool received, const struct pkt *p,
                 const char *comment)
{
    if (unlikely(w->trace != NULL))
        sim_trace_frame(w->trace, w->now_ns, host, received, p, comment);
}

static void lose(struct sim_world *w, unsigned from, struct pkt *p, const char *why,
                 enum sim_fault f)
{
    sim_cover.fault[f]++;
    w->hash = mum(w->hash ^ (f + 1), 0x9e3779b97f4a7c15ULL);
    note(w, from, false, p, why);
    pkt_free(p);
}

static void heap_up(struct sim_frame *heap, uint32_t i)
{
    while (i != 0) {
        const uint32_t up = (i - 1) / 2;
        if (heap[up].at_ns < heap[i].at_ns ||
            (heap[up].at_ns == heap[i].at_ns && heap[up].serial < heap[i].serial))
            return;
        const struct sim_frame f = heap[up];
        heap[up] = heap[i];
        heap[i] = f;
        i = up;
    }
}

static bool earlier(const struct sim_frame *a, const struct sim_frame *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->serial < b->serial);
}

static void heap_down(struct sim_frame *heap, uint32_t n)
{
    for (uint32_t i = 0;;) {
        uint32_t least = i;
        for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
            if (earlier(&heap[k], &heap[least]))
                least = k;
        if (least == i)
            return;
        const struct sim_frame f = heap[least];
        heap[least] = heap[i];
        heap[i] = f;
        i = least;
    }
}

// A frame that keeps no order with the others of its link.
static void put_heap(struct sim_world *w, unsigned to, struct pkt *p, uint64_t at_ns)
{
    struct sim_host *h = w->hosts[to];
    if (h->n_heap == SIM_HEAP) {
        pkt_free(p);
        return;
    }
    h->heap[h->n_heap] = (struct sim_frame){at_ns, w->serial++, p};
    heap_up(h->heap, h->n_heap++);
}

static bool put_fifo(struct sim_world *w, struct sim_link *l, struct pkt *p, uint64_t at_ns)
{
    if (l->tail - l->head == SIM_FIFO)
        return false;
    l->last_ns = MAX(l->last_ns, at_ns);
    l->fifo[l->tail++ % SIM_FIFO] = (struct sim_frame){l->last_ns, w->serial++, p};
    return true;
}

static bool in_outage(const struct sim_world *w, const struct sim_link *l)
{
    for (unsigned i = 0; i < l->plan->n_outages; i++)
        if (w->now_ns >= l->plan->outages[i].from_ns && w->now_ns < l->plan->outages[i].to_ns)
            return true;
    return false;
}

static bool hit(struct sim_world *w, struct sim_link *l, enum sim_fault f)
{
    const uint32_t ppm = l->plan->ppm[f];
    if (ppm == 0)
        return false;
    // The number is drawn even where the fault is off: the others stay what they are.
    const bool now = rng_below(&l->rng[f], 1000000) < ppm;
    return now && sim_fault_on(w, f);
}

// Gilbert and Elliott's two states: losses come in bursts.
static bool burst_loss(struct sim_world *w, struct sim_link *l)
{
    struct rng *r = &l->rng[FAULT_BURST];
    if (l->plan->burst_enter_ppm == 0)
        return false;
    l->bad =
        l->bad ? !sim_chance(r, l->plan->burst_leave_ppm) : sim_chance(r, l->plan->burst_enter_ppm);
    return l->bad && rng_below(r, 100) < 70 && sim_fault_on(w, FAULT_BURST);
}

// Its IP packet is too long for the link. An ICMP error goes back, unless the link is a black hole.
static bool too_long(struct sim_world *w, struct sim_link *l, unsigned from, struct pkt *p)
{
    const uint16_t mtu = l->plan->mtu;
    if (mtu == 0 || pkt_len(p) <= (uint32_t)mtu + ETH_BYTES ||
        w->now_ns < (uint64_t)l->plan->mtu_from_ms * 1000000)
        return false;
    const bool hole = l->plan->ppm[FAULT_BLACKHOLE] != 0;
    if (!sim_fault_on(w, hole ? FAULT_BLACKHOLE : FAULT_MTU))
        return false;
    struct pkt *error = hole ? NULL : sim_too_big(w, p, mtu);
    if (error != NULL)
        put_heap(w, from, error, w->now_ns + 2 * (uint64_t)l->plan->delay_ns + 1000);
    lose(w, from, p, hole ? "black hole" : "too big", hole ? FAULT_BLACKHOLE : FAULT_MTU);
    return true;
}

static bool lost(struct sim_world *w, struct sim_link *l, unsigned from, struct pkt *p)
{
    if (in_outage(w, l) && sim_fault_on(w, FAULT_BLACKOUT)) {
        lose(w, from, p, "blackout", FAULT_BLACKOUT);
        return true;
    }
    if (hit(w, l, FAULT_LOSS)) {
        lose(w, from, p, "lost", FAULT_LOSS);
        return true;
    }
    if (burst_loss(w, l)) {
        lose(w, from, p, "lost in a burst", FAULT_BURST);
        return true;
    }
    return too_long(w, l, from, p);
}

// When the last bit leaves; 0: the queue is full.
static uint64_t departure(struct sim_world *w, struct sim_link *l, const struct pkt *p)
{
    const struct sim_link_plan *pl = l->plan;
    if (pl->mbit_per_s == 0)
        return w->now_ns;
    const uint64_t from = MAX(l->busy_ns, w->now_ns);
    if (from - w->now_ns > pl->queue_ns && sim_fault_on(w, FAULT_QUEUE))
        return 0;
    l->busy_ns = from + (uint64_t)(pkt_len(p) + 24) * 8000 / pl->mbit_per_s;
    return l->busy_ns;
}

// One bit of what the checksums cover: all single bits are found by them.
static void corrupt(struct sim_world *w, struct sim_link *l, struct pkt *p)
{
    struct rng *r = &l->rng[FAULT_CORRUPT];
    const uint8_t *f = pkt_data(p);
    const uint32_t type = (uint32_t)f[12] << 8 | f[13];
    uint32_t first = ETH_BYTES, len = type == ETH_TYPE_IP4 ? (uint32_t)f[16] << 8 | f[17] : 0;
    if (type == 0x86dd && f[20] == IP_PROTO_TCP) {  // IPv6 has no sum of its own: TCP's bytes
        first = ETH_BYTES + 40;
        len = (uint32_t)f[18] << 8 | f[19];
    }
    if (len == 0 || first + len > pkt_len(p))
        return;
    const uint32_t bit = rng_below(r, len * 8);
    pkt_data(p)[first + bit / 8] ^= (uint8_t)(1 << bit % 8);
    sim_cover.fault[FAULT_CORRUPT]++;
    w->hash = mum(w->hash ^ bit, 0x9e3779b97f4a7c15ULL);
}

// More of it on its way, each late by up to late_ns.
static void extra(struct sim_world *w, struct sim_link *l, unsigned to, struct pkt *more,
                  enum sim_fault f, uint64_t at_ns)
{
    if (more == NULL)
        return;
    sim_cover.fault[f]++;
    w->hash = hash_bytes(w->hash, pkt_data(more), pkt_len(more));
    put_heap(w, to, more, at_ns + rng_below(&l->rng[f], l->plan->late_ns + 1));
}

static void pass(struct sim_world *w, unsigned from, unsigned to, struct pkt *p)
{
    struct sim_link *l = &w->links[from][to];
    if (lost(w, l, from, p))
        return;
    const uint64_t leaves = departure(w, l, p);
    if (leaves == 0) {
        lose(w, from, p, "queue full", FAULT_QUEUE);
        return;
    }
    uint64_t at = leaves + l->plan->delay_ns;
    if (l->plan->jitter_ns != 0)
        at += rng_below(&l->rng[FAULT_REORDER], l->plan->jitter_ns);
    if (hit(w, l, FAULT_ECN) && sim_mark_ce(p))
        sim_cover.fault[FAULT_ECN]++;
    if (hit(w, l, FAULT_LIE) && sim_lie(&l->rng[FAULT_LIE], p, w->plan->hosts[from].lies))
        sim_cover.fault[FAULT_LIE]++;
    note(w, from, false, p, NULL);
    if (hit(w, l, FAULT_DUPLICATE))
        extra(w, l, to, sim_copy(w, p), FAULT_DUPLICATE, at);
    if (hit(w, l, FAULT_SPLIT))
        extra(w, l, to, sim_split(w, &l->rng[FAULT_SPLIT], p), FAULT_SPLIT, at);
    if (hit(w, l, FAULT_FORGE))
        extra(w, l, to, sim_forge(w, &l->rng[FAULT_FORGE], p), FAULT_FORGE, at);
    if (hit(w, l, FAULT_CORRUPT))
        corrupt(w, l, p);
    if (hit(w, l, FAULT_REORDER)) {
        sim_cover.fault[FAULT_REORDER]++;
        put_heap(w, to, p, at + rng_below(&l->rng[FAULT_REORDER], l->plan->late_ns + 1));
        return;
    }
    if (!put_fifo(w, l, p, at))
        lose(w, from, p, "link full", FAULT_QUEUE);
}

void sim_wire_send(struct sim_world *w, unsigned from, struct pkt *p)
{
    w->result->frames++;
    w->hash = hash_bytes(w->hash ^ w->now_ns ^ (uint64_t)from << 60, pkt_data(p), pkt_len(p));
    const uint8_t *dst = pkt_data(p);
    const unsigned n = w->plan->n_hosts;
    if (dst[0] & 1) {
        for (unsigned to = 0; to < n; to++) {
            struct pkt *copy = to != from ? sim_copy(w, p) : NULL;
            if (copy != NULL)
                pass(w, from, to, copy);
        }
        pkt_free(p);
        return;
    }
    const unsigned to = dst[5] - 1u;
    if (dst[4] != 0 || to >= n || to == from)
        pkt_free(p);  // to nobody
    else
        pass(w, from, to, p);
}

// The link whose first frame arrives at `to` first; `to` itself: its heap has an earlier one.
static unsigned first_of(const struct sim_world *w, unsigned to, struct sim_frame *f)
{
    const struct sim_host *h = w->hosts[to];
    unsigned best = to;
    *f = h->n_heap != 0 ? h->heap[0] : (struct sim_frame){UINT64_MAX, UINT64_MAX, NULL};
    for (unsigned from = 0; from < w->plan->n_hosts; from++) {
        const struct sim_link *l = &w->links[from][to];
        if (l->head != l->tail && earlier(&l->fifo[l->head % SIM_FIFO], f)) {
            *f = l->fifo[l->head % SIM_FIFO];
            best = from;
        }
    }
    return best;
}

uint64_t sim_wire_next(const struct sim_world *w, unsigned to)
{
    struct sim_frame f;
    first_of(w, to, &f);
    return f.at_ns;
}

static void take_off(struct sim_world *w, unsigned to, unsigned from)
{
    struct sim_host *h = w->hosts[to];
    if (from != to) {
        w->links[from][to].head++;
        return;
    }
    h->heap[0] = h->heap[--h->n_heap];
    heap_down(h->heap, h->n_heap);
}

bool sim_wire_take(struct sim_world *w, unsigned to, struct pkt **p)
{
    struct sim_frame f;
    const unsigned from = first_of(w, to, &f);
    if (f.at_ns > w->now_ns)
        return false;
    take_off(w, to, from);
    w->hash = mum(w->hash ^ f.serial ^ (uint64_t)to << 56, 0x8ebc6af09c88c6e3ULL);
    note(w, to, true, f.p, NULL);
    *p = f.p;
    return true;
}

void sim_wire_drain(struct sim_world *w)
{
    for (unsigned to = 0; to < w->plan->n_hosts; to++) {
        struct sim_frame f;
        for (unsigned from; from = first_of(w, to, &f), f.p != NULL;) {
            take_off(w, to, from);
            pkt_free(f.p);
        }
    }
}
