// SPDX-License-Identifier: BSD-3-Clause
#include "worker/frame_ring.h"

#include <rte_ring.h>
#include <rte_ring_peek_zc.h>
#include <string.h>

// One thread on each side. This removes the locking code of rte_ring_peek_zc.h at compile time.
#define ONE(ring, side)                                                                            \
    do {                                                                                           \
        if ((ring)->side.sync_type != RTE_RING_SYNC_ST)                                            \
            __builtin_unreachable();                                                               \
    } while (0)

// span: memory of the ring: `left` bytes at `at`, then the bytes at `next`.
struct span {
    uint8_t *at, *next;
    size_t left;
};

static struct span span_of(const struct rte_ring_zc_data *zc)
{
    return (struct span){zc->ptr1, zc->ptr2, (size_t)zc->n1 * FRAME_UNIT_BYTES};
}

// step: the longest piece of the next n bytes that is contiguous; moves on by it.
static uint8_t *step(struct span *s, size_t n, size_t *got)
{
    if (s->left == 0)
        *s = (struct span){s->next, NULL, SIZE_MAX};
    uint8_t *at = s->at;
    *got = MIN(n, s->left);
    s->at += *got;
    s->left -= *got;
    return at;
}

static void put(struct span *s, const void *from, size_t n)
{
    for (size_t done = 0, got; done < n; done += got) {
        uint8_t *at = step(s, n - done, &got);
        memcpy(at, (const uint8_t *)from + done, got);
    }
}

uint64_t frame_ring_footprint(uint32_t units)
{
    return ALIGN_UP((uint64_t)rte_ring_get_memsize_elem(FRAME_UNIT_BYTES, units), CACHE_LINE);
}

struct rte_ring *frame_ring_init(void *mem, uint32_t units)
{
    struct rte_ring *r = mem;
    CHECK(rte_ring_init(r, "frames", units, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    return r;
}

uint32_t frame_ring_room(const struct rte_ring *r)
{
    return rte_ring_free_count(r);
}

// begin: the room for a frame of len bytes, with its head written. 0: there is none.
static uint32_t begin(struct rte_ring *r, uint32_t len, struct span *s)
{
    const uint64_t head = len;
    const uint32_t units = frame_ring_units(len);
    struct rte_ring_zc_data zc;
    ONE(r, prod);
    if (len == 0 || len > FRAME_BYTES_MAX ||
        rte_ring_enqueue_zc_bulk_elem_start(r, FRAME_UNIT_BYTES, units, &zc, NULL) != units)
        return 0;
    *s = span_of(&zc);
    static_assert(sizeof(head) == FRAME_HEAD_BYTES, "the head is its length");
    put(s, &head, sizeof(head));
    return units;
}

bool frame_ring_put(struct rte_ring *r, const uint8_t *frame, uint32_t len)
{
    struct span s;
    const uint32_t units = begin(r, len, &s);
    if (units == 0)
        return false;
    put(&s, frame, len);
    ONE(r, prod);
    rte_ring_enqueue_zc_elem_finish(r, units);
    return true;
}

bool frame_ring_put_pkt(struct rte_ring *r, const struct pkt *p)
{
    struct span s;
    const uint32_t units = begin(r, pkt_total_len(p), &s);
    if (units == 0)
        return false;
    if (!pkt_is_chain(p))
        put(&s, pkt_data(p), pkt_whole_len(p));
    for (const struct rte_mbuf *m = &p->m; m != NULL && pkt_is_chain(p); m = m->next)
        put(&s, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
    ONE(r, prod);
    rte_ring_enqueue_zc_elem_finish(r, units);
    return true;
}

uint32_t frame_ring_next(struct rte_ring *r)
{
    struct rte_ring_zc_data zc;
    uint64_t len;
    ONE(r, cons);
    if (rte_ring_dequeue_zc_bulk_elem_start(r, FRAME_UNIT_BYTES, 1, &zc, NULL) == 0)
        return 0;
    memcpy(&len, zc.ptr1, sizeof(len));
    ONE(r, cons);
    rte_ring_dequeue_zc_elem_finish(r, 0);
    return (uint32_t)len;
}

// The other thread puts whole frames: with its head a frame is there.
void frame_ring_take(struct rte_ring *r, uint8_t *to)
{
    const uint32_t len = frame_ring_next(r), units = frame_ring_units(len);
    struct rte_ring_zc_data zc;
    ONE(r, cons);
    CHECK(len != 0 &&
          rte_ring_dequeue_zc_bulk_elem_start(r, FRAME_UNIT_BYTES, units, &zc, NULL) == units);
    struct span s = span_of(&zc);
    s.at += FRAME_HEAD_BYTES;
    s.left -= FRAME_HEAD_BYTES;
    for (size_t done = 0, got; to != NULL && done < len; done += got) {
        const uint8_t *at = step(&s, len - done, &got);
        memcpy(to + done, at, got);
    }
    ONE(r, cons);
    rte_ring_dequeue_zc_elem_finish(r, units);
}
