// SPDX-License-Identifier: BSD-3-Clause
// The cost of SACK blocks (RFC 2018): an acknowledgment with four blocks, with as many runs in the
// log of data in flight as the size of the benchmark; and the search for the data to retransmit in
// a send queue with as many pieces. A peer chooses all three. Only TCP, in 4 KiB pages.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/micro.h"
#include "bench/micro_tcp.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_internal.h"

enum {
    SACK_MSS = MICRO_TCP_MSS,
    SACK_BUFS = 8192,
    PIECE_BYTES = 100,  // a small response with HTTP pipelining
};

struct sack_ctx {
    struct micro_tcp m;
    uint32_t runs;
};

// Receives an acknowledgment with four SACK blocks: one byte in the middle of each of four segments
// from number k.
static void report(struct sack_ctx *c, uint32_t k)
{
    struct tcp *t = &c->m.tcp;
    struct block *b = &t->blocks[c->m.block];
    struct seg_in s = {.key = b->key,
                       .seq = b->rcv_nxt,
                       .ack = b->snd_una,
                       .wnd = 65535,
                       .data_off = 54,
                       .flags = SEG_ACK,
                       .opts = SEG_OPT_SACK,
                       .sack_count = 4};
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t at = b->snd_una + (k + i) * SACK_MSS + SACK_MSS / 2;
        c->m.sacks_in[0][3 - i] = (struct seq_range){at, at + 1};
    }
    struct tcp_verdict v;
    t->n_out = 0;
    tcp_input(t, &s, NULL, flow_index(FLOW_BLOCK, c->m.block), &v);
    b->flags &= (uint16_t)~BF_DIRTY;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->n_dirty = 0;
}

// Sends segments at different times until the log has the given number of runs.
static void fill_flight(struct sack_ctx *c)
{
    struct tcp *t = &c->m.tcp;
    struct block *b = &t->blocks[c->m.block];
    b->snd_end = b->snd_una + (c->runs - 8) * SACK_MSS;
    struct flight *f = flight_open(t, b, (uint32_t)t->now.us);
    CHECK(f != NULL);
    while (b->snd_max != b->snd_end) {
        f = flight_room(t, b);
        t->now.us += 10;
        b->snd_max = b->snd_nxt = b->snd_max + SACK_MSS;
        flight_append(f, b->snd_max, (uint32_t)t->now.us);
    }
    report(c, c->runs - 12);  // each of four runs is split into three
    CHECK(flight_of(t, b)->n == c->runs);
}

// Opens a connection with an empty send queue.
static struct sack_ctx *open_connection(void)
{
    struct sack_ctx *c = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*c), CACHE_LINE));
    CHECK(c != NULL);
    memset(c, 0, sizeof(*c));
    micro_tcp_init(&c->m, SACK_BUFS, 65536, 1 << 24);
    struct block *b = micro_tcp_open(&c->m);
    b->rcv_adv = b->rcv_nxt + 65536;
    b->snd_wnd = 1 << 24;
    b->snd_wscale = 10;
    b->cwnd = 1 << 24;
    b->srtt_us = 8 * 10000;
    b->recover = b->snd_una - 1;
    return c;
}

static void *open_sack(uint32_t runs, struct err *err)
{
    struct sack_ctx *c = open_connection();
    (void)err;
    c->runs = runs;
    fill_flight(c);
    return c;
}

// Opens a connection whose send queue has `pieces` pieces, all sent.
static void *open_pieces(uint32_t pieces, struct err *err)
{
    struct sack_ctx *c = open_connection();
    struct block *b = &c->m.tcp.blocks[c->m.block];
    struct buf *bufs = c->m.tcp.bufs.bufs;
    (void)err;
    for (uint32_t i = 0; i < pieces; i++) {
        const uint32_t ix = buf_get(&c->m.tcp.bufs);
        CHECK(ix != BUF_NONE);
        bufs[ix].len = PIECE_BYTES;
        bufs[ix].seq = b->snd_end;
        if (b->snd_head == BUF_NONE)
            b->snd_head = ix;
        else
            bufs[b->snd_tail].next = ix;
        b->snd_tail = ix;
        b->snd_end += PIECE_BYTES;
    }
    b->snd_max = b->snd_nxt = b->snd_end;
    b->snd_cur = b->snd_tail;
    c->runs = pieces;
    return c;
}

// Searches all pieces of the queue, one after the other; from the end to the head if `back`.
static void resend_all(struct sack_ctx *c, struct micro_run *r, bool back)
{
    struct tcp *t = &c->m.tcp;
    struct block *b = &t->blocks[c->m.block];
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < c->runs; i++) {
        const uint32_t k = back ? c->runs - 1 - i : i, from = b->snd_una + k * PIECE_BYTES;
        t->n_out = 0;
        CHECK(tcp_resend(t, b, from, from + PIECE_BYTES) == PIECE_BYTES);
    }
    r->cycles += tsc_read() - start;
    r->ops += c->runs;
}

static void pieces_run(void *ctx, struct micro_run *r)
{
    resend_all(ctx, r, false);
}

static void pieces_back_run(void *ctx, struct micro_run *r)
{
    resend_all(ctx, r, true);
}

// Receives SACK blocks that are known already, at the end of the data in flight.
static void sack_run(void *ctx, struct micro_run *r)
{
    struct sack_ctx *c = ctx;
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < MICRO_LOT; i++)
        report(c, c->runs - 12);
    r->cycles += tsc_read() - start;
    r->ops += MICRO_LOT;
}

const struct micro micro_sack[] = {
    {"SackReports",
     NULL,
     "an acknowledgment with four SACK blocks, with SIZE runs in flight",
     {16, 128, 512},
     false,
     open_sack,
     sack_run,
     NULL},
    {"ResendNext",
     NULL,
     "retransmit the next piece of a send queue of SIZE pieces",
     {1, 16, 128, 2048},
     false,
     open_pieces,
     pieces_run,
     NULL},
    {"ResendBack",
     NULL,
     "retransmit the previous piece, which the last position does not help to find",
     {1, 16, 128, 2048},
     false,
     open_pieces,
     pieces_back_run,
     NULL},
    {.name = NULL},
};
