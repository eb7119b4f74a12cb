// SPDX-License-Identifier: BSD-3-Clause
// Data out of order: the cost of a segment with as many holes as the size of the benchmark. A peer
// chooses both, so the cost must not grow with the number of holes (CVE-2018-5390). Only TCP, in
// 4 KiB pages; the segments are single bytes with a hole before each.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench/micro.h"
#include "bench/micro_tcp.h"

enum {
    OOO_BUFS = 32768,
    OOO_WINDOW = 4 << 20,
    OOO_IRS = 5000,
};

struct ooo_ctx {
    struct micro_tcp m;
    struct rng rng;
    uint32_t holes, step;
    uint32_t *order;  // order in which the holes are created
};

static void open_connection(struct ooo_ctx *c)
{
    struct block *b = micro_tcp_open(&c->m);
    b->rcv_nxt = OOO_IRS + 1;
    b->rcv_adv = b->rcv_nxt + OOO_WINDOW;
    b->rcv_wscale = 7;
}

// Receives the byte after hole k.
static void segment(struct ooo_ctx *c, uint32_t k)
{
    struct tcp *t = &c->m.tcp;
    const struct block *b = &t->blocks[c->m.block];
    const uint8_t byte = 1;
    const struct seg_in s = {.key = b->key,
                             .seq = OOO_IRS + 1 + (k + 1) * c->step,
                             .ack = b->snd_una,
                             .wnd = 65535,
                             .data_off = 54,
                             .data_len = 1,
                             .flags = SEG_ACK};
    struct tcp_verdict v;
    t->n_out = 0;
    tcp_input(t, &s, &byte, flow_index(FLOW_BLOCK, c->m.block), &v);
}

static void make_holes(struct ooo_ctx *c)
{
    for (uint32_t i = 0; i < c->holes; i++)
        segment(c, c->order[i]);
}

static void *open_ooo(uint32_t holes, struct err *err)
{
    struct ooo_ctx *c = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*c), CACHE_LINE));
    (void)err;
    CHECK(c != NULL);
    memset(c, 0, sizeof(*c));
    c->rng.state = 1;
    c->holes = holes;
    c->step = OOO_WINDOW / (holes + 2);
    c->order = calloc(holes, sizeof(*c->order));
    CHECK(c->order != NULL);
    for (uint32_t i = 0; i < holes; i++) {  // shuffled
        const uint32_t at = rng_below(&c->rng, i + 1);
        c->order[i] = c->order[at];
        c->order[at] = i;
    }
    micro_tcp_init(&c->m, OOO_BUFS, OOO_WINDOW, 65536);
    open_connection(c);
    make_holes(c);
    return c;
}

// Receives stored bytes again, alternately near the end and near the beginning.
static void again_run(void *ctx, struct micro_run *r)
{
    struct ooo_ctx *c = ctx;
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < MICRO_LOT; i++)
        segment(c, i % 2 == 0 ? c->holes - 1 - MIN(c->holes - 1, 1u) : 0);
    r->cycles += tsc_read() - start;
    r->ops += MICRO_LOT;
}

// Creates all holes again in random order.
static void new_run(void *ctx, struct micro_run *r)
{
    struct ooo_ctx *c = ctx;
    micro_tcp_close(&c->m);
    open_connection(c);
    const uint64_t start = tsc_read();
    make_holes(c);
    r->cycles += tsc_read() - start;
    r->ops += c->holes;
}

const struct micro micro_ooo[] = {
    {"OutOfOrderAgain",
     NULL,
     "a byte that is stored already, after SIZE holes",
     {1, 16, 128, 2048},
     false,
     open_ooo,
     again_run,
     NULL},
    {"OutOfOrderNew",
     NULL,
     "a byte that creates a hole, up to SIZE holes",
     {1, 16, 128, 2048},
     false,
     open_ooo,
     new_run,
     NULL},
    {.name = NULL},
};
