// Data that comes out of order: what a segment costs beside as many holes as the size says. A peer
// chooses both, so the cost must not grow with the holes (CVE-2018-5390). TCP alone, in ordinary
// memory; the segments are single bytes with a hole before each.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench/map.h"
#include "bench/micro.h"
#include "tcp/tcp.h"

enum {
    OOO_BUFS = 32768,
    OOO_BLOCKS = 64,
    OOO_WINDOW = 4 << 20,
    OOO_IRS = 5000,
};

struct ooo_ctx {
    struct tcp tcp;
    struct core_stats stats;
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_in[BURST_MAX][SEG_SACK_MAX], sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct bench_map map[9];
    unsigned n_maps;
    struct rng rng;
    uint32_t holes, step, block;
    uint32_t *order;  // in which the holes are made
};

static void *zeroed(struct ooo_ctx *c, size_t bytes)
{
    CHECK(c->n_maps < ARRAY_LEN(c->map));
    struct bench_map *m = &c->map[c->n_maps++];
    CHECK(bench_map(m, bytes));
    return m->at;
}

static void init_tcp(struct ooo_ctx *c)
{
    struct tcp *t = &c->tcp;
    const struct siphash_key secret = {1, 2};
    t->table = calloc(1, sizeof(*t->table));
    CHECK(t->table != NULL);
    flow_init(t->table, zeroed(c, flow_footprint(OOO_BLOCKS)), OOO_BLOCKS, secret);
    t->blocks = zeroed(c, OOO_BLOCKS * sizeof(struct block));
    t->block_pool = index_pool_init(zeroed(c, index_pool_footprint(OOO_BLOCKS)), OOO_BLOCKS);
    t->wheel = wheel_init(zeroed(c, wheel_footprint(OOO_BLOCKS * 4)), OOO_BLOCKS * 4, 0);
    t->near = zeroed(c, 4096);
    t->rounds = zeroed(c, OOO_BLOCKS * sizeof(*t->rounds));
    t->exts = zeroed(c, OOO_BLOCKS * sizeof(struct ext));
    t->ext_pool = index_pool_init(zeroed(c, index_pool_footprint(OOO_BLOCKS)), OOO_BLOCKS);
    buf_init(&t->bufs, zeroed(c, buf_footprint(OOO_BUFS, 1)), OOO_BUFS, 1);
    const struct keys keys = keys_from(secret);
    tcp_set_keys(t, &keys);
    t->stats = &c->stats;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->out = c->out;
    t->out_room = TCP_OUT_MAX;
    t->sacks_in = (const struct seq_range(*)[SEG_SACK_MAX])c->sacks_in;
    t->sacks_out = c->sacks_out;
    t->cfg = tcp_config_default();
    t->now.ms = 1000;
    t->n_services = 1;
    t->services[0] = (struct tcp_service){.local_ix = UINT16_MAX,
                                          .rcv_limit = OOO_WINDOW,
                                          .snd_limit = 65536,
                                          .connections_max = OOO_BLOCKS};
    tcp_set_limits(t);
}

static void open_block(struct ooo_ctx *c)
{
    struct tcp *t = &c->tcp;
    const struct flow_key key = {ip_from_v4(0x0a000001), 0, 0, 40000, 7};
    c->block = tcp_block_new(t, &key, 0, FLOW_NONE);
    CHECK(c->block != BLOCK_NONE);
    struct block *b = &t->blocks[c->block];
    b->rcv_nxt = OOO_IRS + 1;
    b->rcv_adv = b->rcv_nxt + OOO_WINDOW;
    b->rcv_wscale = 7;
    b->mss = 1460;
    b->agreed = BA_SACK;
    tcp_set_state(b, STEP_PASSIVE_DONE);
    t->stats->c.established_now++;
}

static void close_block(struct ooo_ctx *c)
{
    tcp_set_state(&c->tcp.blocks[c->block], STEP_END);
    tcp_free(&c->tcp, c->block);
    index_pool_turn_end(c->tcp.block_pool);
    c->tcp.stats->c.established_now--;
}

// The byte behind hole k.
static void segment(struct ooo_ctx *c, uint32_t k)
{
    struct tcp *t = &c->tcp;
    const struct block *b = &t->blocks[c->block];
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
    tcp_input(t, &s, &byte, flow_index(FLOW_BLOCK, c->block), &v);
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
    init_tcp(c);
    open_block(c);
    make_holes(c);
    return c;
}

// Bytes that are there already, by turns near the end and near the begin.
static void again_run(void *ctx, struct micro_run *r)
{
    struct ooo_ctx *c = ctx;
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < MICRO_LOT; i++)
        segment(c, i % 2 == 0 ? c->holes - 1 - MIN(c->holes - 1, 1u) : 0);
    r->cycles += tsc_read() - start;
    r->ops += MICRO_LOT;
}

// All holes anew, in a random order.
static void new_run(void *ctx, struct micro_run *r)
{
    struct ooo_ctx *c = ctx;
    close_block(c);
    open_block(c);
    const uint64_t start = tsc_read();
    make_holes(c);
    r->cycles += tsc_read() - start;
    r->ops += c->holes;
}

const struct micro micro_ooo[] = {
    {"OutOfOrderAgain",
     NULL,
     "a byte that is held already, behind so many holes",
     {1, 16, 128, 2048},
     false,
     open_ooo,
     again_run,
     NULL},
    {"OutOfOrderNew",
     NULL,
     "a byte that makes a hole, up to so many",
     {1, 16, 128, 2048},
     false,
     open_ooo,
     new_run,
     NULL},
    {.name = NULL},
};
