// What the peer's reports cost (RFC 2018): an acknowledgement with four blocks, beside as many runs
// in the log of what is in flight as the size says; and to find what leaves again in a send queue
// of so many pieces. A peer chooses all three. TCP alone, in ordinary memory.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/map.h"
#include "bench/micro.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_internal.h"

enum {
    SACK_BLOCKS = 64,
    SACK_MSS = 1460,
    SACK_BUFS = 8192,
    PIECE_BYTES = 100,  // a small answer of a pipeline
};

struct sack_ctx {
    struct tcp tcp;
    struct core_stats stats;
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_in[BURST_MAX][SEG_SACK_MAX], sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct tcp_place places[TCP_SEEK_PLACES];
    struct bench_map map[10];
    unsigned n_maps;
    uint32_t block, runs;
};

static void *zeroed(struct sack_ctx *c, size_t bytes)
{
    CHECK(c->n_maps < ARRAY_LEN(c->map));
    struct bench_map *m = &c->map[c->n_maps++];
    CHECK(bench_map(m, bytes));
    return m->at;
}

static void init_tcp(struct sack_ctx *c)
{
    struct tcp *t = &c->tcp;
    const struct siphash_key secret = {1, 2};
    t->table = calloc(1, sizeof(*t->table));
    CHECK(t->table != NULL);
    flow_init(t->table, zeroed(c, flow_footprint(SACK_BLOCKS)), SACK_BLOCKS, secret);
    t->blocks = zeroed(c, SACK_BLOCKS * sizeof(struct block));
    t->block_pool = index_pool_init(zeroed(c, index_pool_footprint(SACK_BLOCKS)), SACK_BLOCKS);
    t->wheel = wheel_init(zeroed(c, wheel_footprint(SACK_BLOCKS * 4)), SACK_BLOCKS * 4, 0);
    t->near = zeroed(c, 4096);
    t->exts = zeroed(c, SACK_BLOCKS * sizeof(struct ext));
    t->ext_pool = index_pool_init(zeroed(c, index_pool_footprint(SACK_BLOCKS)), SACK_BLOCKS);
    flight_pool_init(&t->flights, zeroed(c, flight_footprint(SACK_BLOCKS)), SACK_BLOCKS);
    buf_init(&t->bufs, zeroed(c, buf_footprint(SACK_BUFS, 1)), SACK_BUFS, 1);
    const struct keys keys = keys_from(secret);
    tcp_set_keys(t, &keys);
    t->stats = &c->stats;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->out = c->out;
    t->out_room = TCP_OUT_MAX;
    t->sacks_in = (const struct seq_range(*)[SEG_SACK_MAX])c->sacks_in;
    t->sacks_out = c->sacks_out;
    t->rounds = zeroed(c, SACK_BLOCKS * sizeof(*t->rounds));
    t->places = c->places;
    t->cfg = tcp_config_default();
    t->now.ms = 1000;
    t->now.us = 1000 * 1000;
    t->n_services = 1;
    t->services[0] = (struct tcp_service){.local_ix = UINT16_MAX,
                                          .rcv_limit = 65536,
                                          .snd_limit = 1 << 24,
                                          .connections_max = SACK_BLOCKS};
    tcp_set_limits(t);
}

// An acknowledgement that reports a byte in the middle of each of four segments from number k on.
static void report(struct sack_ctx *c, uint32_t k)
{
    struct tcp *t = &c->tcp;
    struct block *b = &t->blocks[c->block];
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
        c->sacks_in[0][3 - i] = (struct seq_range){at, at + 1};
    }
    struct tcp_verdict v;
    t->n_out = 0;
    tcp_input(t, &s, NULL, flow_index(FLOW_BLOCK, c->block), &v);
    b->flags &= (uint16_t)~BF_DIRTY;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->n_dirty = 0;
}

// In flight: segments that left at times of their own, until there are so many runs.
static void fill_flight(struct sack_ctx *c)
{
    struct tcp *t = &c->tcp;
    struct block *b = &t->blocks[c->block];
    b->snd_end = b->snd_una + (c->runs - 8) * SACK_MSS;
    struct flight *f = flight_open(t, b, (uint32_t)t->now.us);
    CHECK(f != NULL);
    while (b->snd_max != b->snd_end) {
        f = flight_room(t, b);
        t->now.us += 10;
        b->snd_max = b->snd_nxt = b->snd_max + SACK_MSS;
        flight_append(f, b->snd_max, (uint32_t)t->now.us);
    }
    report(c, c->runs - 12);  // four runs become three each
    CHECK(flight_of(t, b)->n == c->runs);
}

// A connection with an empty send queue.
static struct sack_ctx *open_connection(void)
{
    struct sack_ctx *c = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*c), CACHE_LINE));
    CHECK(c != NULL);
    memset(c, 0, sizeof(*c));
    init_tcp(c);
    const struct flow_key key = {ip_from_v4(0x0a000001), 0, 0, 40000, 7};
    c->block = tcp_block_new(&c->tcp, &key, 0, FLOW_NONE);
    CHECK(c->block != BLOCK_NONE);
    struct block *b = &c->tcp.blocks[c->block];
    b->rcv_adv = b->rcv_nxt + 65536;
    b->mss = SACK_MSS;
    b->agreed = BA_SACK;
    b->snd_wnd = 1 << 24;
    b->snd_wscale = 10;
    b->cwnd = 1 << 24;
    b->srtt_us = 8 * 10000;
    b->recover = b->snd_una - 1;
    tcp_set_state(b, STEP_PASSIVE_DONE);
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

// The send queue: so many pieces, all of them sent.
static void *open_pieces(uint32_t pieces, struct err *err)
{
    struct sack_ctx *c = open_connection();
    struct block *b = &c->tcp.blocks[c->block];
    struct buf *bufs = c->tcp.bufs.bufs;
    (void)err;
    for (uint32_t i = 0; i < pieces; i++) {
        const uint32_t ix = buf_get(&c->tcp.bufs);
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

// All of the queue again, piece by piece, from its end back to its head if `back`.
static void resend_all(struct sack_ctx *c, struct micro_run *r, bool back)
{
    struct tcp *t = &c->tcp;
    struct block *b = &t->blocks[c->block];
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

// Reports that are known already, at the end of what is in flight.
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
     "an acknowledgement with four reports, beside so many runs in flight",
     {16, 128, 512},
     false,
     open_sack,
     sack_run,
     NULL},
    {"ResendNext",
     NULL,
     "the next piece of a send queue of so many again",
     {1, 16, 128, 2048},
     false,
     open_pieces,
     pieces_run,
     NULL},
    {"ResendBack",
     NULL,
     "the piece before it again: none is found from the one before",
     {1, 16, 128, 2048},
     false,
     open_pieces,
     pieces_back_run,
     NULL},
    {.name = NULL},
};
