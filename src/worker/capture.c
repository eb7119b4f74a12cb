// SPDX-License-Identifier: BSD-3-Clause
// capture.c: the worker's side of dumps.
#include "worker/capture.h"

#include <rte_bpf.h>
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>
#include <string.h>

#include "base/clock.h"
#include "wire/link_talk.h"
#include "worker/capture_ring.h"

// room: the free memory of the ring for a record: `left` bytes at `at`, then the bytes at `next`.
struct room {
    uint8_t *at, *next;
    size_t left;  // bytes at `at`
};

static void put(struct room *r, const uint8_t *from, size_t n)
{
    const size_t first = MIN(n, r->left);
    memcpy(r->at, from, first);
    r->at += first;
    r->left -= first;
    if (likely(first == n))
        return;
    memcpy(r->next, from + first, n - first);
    r->at = r->next + (n - first);
    r->left = SIZE_MAX;
}

// put_packet: the first n bytes of a packet, which may be a chain.
static void put_packet(struct room *r, const struct pkt *p, uint32_t n)
{
    for (const struct rte_mbuf *m = &p->m; n != 0 && m != NULL; m = m->next) {
        const uint32_t here = MIN(n, (uint32_t)m->data_len);
        put(r, rte_pktmbuf_mtod(m, const uint8_t *), here);
        n -= here;
    }
}

static bool copy(struct rte_ring *ring, const struct capture_record *head, const struct pkt *p)
{
    struct rte_ring_zc_data zc;
    const unsigned units = 1 + capture_units(head->bytes);
    CAPTURE_RING_ONE(ring, prod);
    if (rte_ring_enqueue_zc_bulk_elem_start(ring, CAPTURE_UNIT_BYTES, units, &zc, NULL) != units)
        return false;
    struct room r = {zc.ptr1, zc.ptr2, (size_t)zc.n1 * CAPTURE_UNIT_BYTES};
    put(&r, (const uint8_t *)head, sizeof(*head));
    put_packet(&r, p, head->bytes);
    CAPTURE_RING_ONE(ring, prod);
    rte_ring_enqueue_zc_elem_finish(ring, units);
    return true;
}

uint32_t capture_filter_run(const struct capture_filter *f, struct pkt *p)
{
    return (uint32_t)rte_bpf_exec(f->bpf, &p->m);
}

static void copy_one(struct capture_sink *t, unsigned port, enum capture_direction direction,
                     struct pkt *p, uint64_t tsc)
{
    struct capture_ring_counts *c = &t->counts[port];
    c->seen++;
    const uint32_t wanted = t->filter == NULL ? UINT32_MAX : capture_filter_run(t->filter, p);
    if (wanted == 0)
        return;
    c->matched++;
    const uint32_t orig = pkt_total_len(p);
    const struct capture_record head = {.tsc = tsc,
                                        .bytes = MIN(orig, MIN(wanted, t->snap_bytes)),
                                        .orig_bytes = orig,
                                        .port = (uint8_t)port,
                                        .direction = (uint8_t)direction};
    if (unlikely(!copy(t->ring, &head, p)))
        c->dropped++;
}

static void copy_matching(struct capture_sink *t, unsigned port, enum capture_direction direction,
                          struct pkt *const *pkts, uint32_t n, uint64_t tsc)
{
    const uint16_t tag = t->tags[port];
    for (uint32_t i = 0; i < n; i++) {
        struct pkt *p = pkts[i];
        if (t->quiet && direction == CAPTURE_IN && wire_is_link_talk(pkt_data(p), pkt_len(p)))
            continue;
        if (tag != 0)
            pkt_tag(p, tag);
        copy_one(t, port, direction, p, tsc);
        if (tag != 0)
            pkt_untag(p);
    }
}

void capture_burst(const struct capture_list *l, unsigned port, enum capture_direction direction,
                   struct pkt *const *pkts, uint32_t n)
{
    if (n == 0)
        return;
    const uint64_t tsc = tsc_read();
    for (unsigned i = 0; i < l->n; i++) {
        struct capture_sink *t = l->at[i];
        if ((t->ports >> port & 1) != 0 && (t->directions & direction) != 0)
            copy_matching(t, port, direction, pkts, n, tsc);
    }
}
