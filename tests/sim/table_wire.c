// SPDX-License-Identifier: BSD-3-Clause
// The path: a bottleneck with a queue from host 0 to host 1, delay, and what is lost or late.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "table.h"
#include "wire/proto.h"

// view: what is looked at of a TCP segment over IPv4; len: of its payload.
struct view {
    struct table_flow *flow;
    uint32_t seq, ack, len;
    uint8_t flags;
};

static bool look(struct table_world *t, unsigned from, const struct pkt *p, struct view *v)
{
    const uint8_t *f = pkt_data(p), *ip = f + ETH_BYTES, *tcp = ip + IP4_BYTES;
    if (load_be16(f + 12) != ETH_TYPE_IP4 || ip[0] != 0x45 || ip[9] != IP_PROTO_TCP)
        return false;
    const uint16_t port = load_be16(tcp + (from == 0 ? 2 : 0));  // host 1's
    *v = (struct view){.seq = load_be32(tcp + 4),
                       .ack = load_be32(tcp + 8),
                       .len = load_be16(ip + 2) - (uint32_t)IP4_BYTES - (tcp[12] >> 4) * 4u,
                       .flags = tcp[13]};
    for (unsigned i = 0; i < t->n_flows; i++)
        if (t->flows[i].port == port)
            v->flow = &t->flows[i];
    return v->flow != NULL;
}

static bool earlier(const struct sim_frame *a, const struct sim_frame *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->serial < b->serial);
}

static void put(struct table_world *t, unsigned to, struct pkt *p, uint64_t at_ns)
{
    struct table_heap *h = &t->heap[to];
    if (h->n == h->room) {
        h->room = MAX(2 * h->room, 4096u);
        h->frames = realloc(h->frames, h->room * sizeof(h->frames[0]));
        CHECK(h->frames != NULL);
    }
    const struct sim_frame f = {at_ns, t->w.serial++, p};
    uint32_t i = h->n++;
    for (; i != 0 && earlier(&f, &h->frames[(i - 1) / 2]); i = (i - 1) / 2)
        h->frames[i] = h->frames[(i - 1) / 2];
    h->frames[i] = f;
}

static struct pkt *pop(struct table_heap *h)
{
    struct pkt *p = h->frames[0].p;
    const struct sim_frame f = h->frames[--h->n];
    uint32_t i = 0;
    for (uint32_t k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && earlier(&h->frames[k + 1], &h->frames[k]))
            k++;
        if (!earlier(&h->frames[k], &f))
            break;
        h->frames[i] = h->frames[k];
    }
    h->frames[i] = f;
    return p;
}

// A segment came right behind the one before it, as fast as four bottlenecks: one burst.
static void note_burst(struct table_world *t, uint64_t wire_ns)
{
    const bool close = t->w.now_ns - t->arrived_ns < wire_ns / 4;
    t->burst = close ? t->burst + 1 : 1;
    t->burst_max = MAX(t->burst_max, t->burst);
    t->arrived_ns = t->w.now_ns;
}

// When the last bit leaves the bottleneck; 0: its queue is full.
static uint64_t departure(struct table_world *t, const struct view *v, struct pkt *p)
{
    const struct table_path *path = &t->path;
    if (path->mbit_per_s == 0)
        return t->w.now_ns;
    const uint64_t wire_ns = (uint64_t)(pkt_len(p) + TABLE_WIRE_EXTRA) * 8000 / path->mbit_per_s;
    uint64_t from = MAX(t->busy_ns, t->w.now_ns);
    if (from >= path->spike_at_ns && from < path->spike_at_ns + path->spike_ns)
        from = path->spike_at_ns + path->spike_ns;
    const uint64_t queued = (from - t->w.now_ns) * path->mbit_per_s / 8000;
    if (v->len != 0) {
        note_burst(t, wire_ns);
        t->queue_sum_bytes += queued;
        t->queue_seen++;
    }
    if (queued + pkt_len(p) > path->queue_bytes) {
        t->queue_drops++;
        return 0;
    }
    t->queue_max_bytes = MAX(t->queue_max_bytes, queued + pkt_len(p));
    if (path->mark_bytes != 0 && queued >= path->mark_bytes && sim_mark_ce(p))
        v->flow->marked++;
    return t->busy_ns = from + wire_ns;
}

static void note_data(struct table_world *t, const struct view *v, struct table_seg *s)
{
    struct table_flow *f = v->flow;
    // Streams longer than 4 GiB: the offset that is nearest to what was sent last.
    const uint32_t low = v->seq - f->iss - 1;
    *s = (struct table_seg){.flow = (uint32_t)(f - t->flows),
                            .off = f->off_max +
                                   (uint64_t)(int64_t)(int32_t)(low - (uint32_t)f->off_max),
                            .len = v->len};
    s->again = s->off < f->off_max;
    f->segs++;
    f->bytes += v->len;
    if (s->again) {
        f->again_segs++;
        f->again_bytes += v->len;
        if (f->first_again_ns == 0)
            f->first_again_ns = t->w.now_ns;
    } else {
        f->last_first_ns = t->w.now_ns;
    }
    f->off_max = MAX(f->off_max, s->off + v->len);
}

static void drop(const struct view *v, struct pkt *p)
{
    if (v->len != 0) {
        v->flow->dropped_segs++;
        v->flow->dropped_bytes += v->len;
    }
    pkt_free(p);
}

static void forward(struct table_world *t, struct view *v, struct pkt *p)
{
    const struct table_path *path = &t->path;
    struct table_seg s;
    if (v->flags & SEG_SYN)
        v->flow->iss = v->seq;
    if (v->len != 0) {
        note_data(t, v, &s);
        if (path->drop != NULL && path->drop(t, &s)) {
            drop(v, p);
            return;
        }
    }
    uint64_t at = departure(t, v, p);
    if (at == 0 || (v->len != 0 && sim_chance(&t->rng, path->loss_ppm))) {
        drop(v, p);
        return;
    }
    at += (path->rtt_ns + path->more_ns[v->flow - t->flows]) / 2;
    if (v->len != 0 && sim_chance(&t->rng, path->late_ppm))
        at += rng_below(&t->rng, (uint32_t)path->late_ns + 1);
    put(t, 1, p, at);
}

static void backward(struct table_world *t, const struct view *v, struct pkt *p)
{
    const struct table_path *path = &t->path;
    if (sim_chance(&t->rng, path->ack_loss_ppm)) {
        pkt_free(p);
        return;
    }
    const uint64_t late_ns = path->jitter_ns != 0 ? rng_below(&t->rng, path->jitter_ns) : 0;
    const uint64_t way_ns = (path->rtt_ns + path->more_ns[v->flow - t->flows]) / 2;
    v->flow->ack_at_ns = MAX(v->flow->ack_at_ns, t->w.now_ns + way_ns + late_ns);
    put(t, 0, p, v->flow->ack_at_ns);
}

void sim_wire_send(struct sim_world *w, unsigned from, struct pkt *p)
{
    struct table_world *t = table_now;
    struct view v;
    if (!look(t, from, p, &v))
        put(t, !from, p, w->now_ns);  // ARP takes no time
    else if (from == 0)
        forward(t, &v, p);
    else
        backward(t, &v, p);
}

uint64_t sim_wire_next(const struct sim_world *w, unsigned to)
{
    const struct table_heap *h = &table_now->heap[to];
    return h->n == 0 ? UINT64_MAX : h->frames[0].at_ns;
}

bool sim_wire_take(struct sim_world *w, unsigned to, struct pkt **p)
{
    struct table_heap *h = &table_now->heap[to];
    struct view v;
    if (h->n == 0 || h->frames[0].at_ns > w->now_ns)
        return false;
    *p = pop(h);
    if (to == 0 && look(table_now, 1, *p, &v))
        v.flow->last_ack_ns = w->now_ns;
    return true;
}

void sim_wire_drain(struct sim_world *w)
{
    for (unsigned to = 0; to < 2; to++) {
        struct table_heap *h = &table_now->heap[to];
        while (h->n != 0)
            pkt_free(pop(h));
        free(h->frames);
    }
}
