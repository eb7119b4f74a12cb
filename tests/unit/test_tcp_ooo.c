// SPDX-License-Identifier: BSD-3-Clause
// Data that comes out of order: what is kept, what it takes, whose it is, and who gives it up.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sack.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

enum { SEQ = 5000, PEERS_MAX = 256 };

// peer: one of many that the test plays.
struct peer {
    struct ip_addr remote;
    uint16_t port;
    uint32_t ack;
};

static struct seg_in *peer_seg(struct raw *r, const struct peer *p, uint8_t flags, uint32_t seq,
                               uint16_t len)
{
    struct seg_in *s = raw_seg(r, flags, seq, p->ack, seq - SEQ - 1, len);
    s->key.remote = p->remote;
    s->key.remote_port = p->port;
    return s;
}

static struct block *peer_block(struct raw *r, const struct peer *p)
{
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        struct block *b = &r->e.tcp.blocks[i];
        if (b->state != TCP_FREE && b->key.remote_port == p->port &&
            memcmp(&b->key.remote, &p->remote, sizeof(p->remote)) == 0)
            return b;
    }
    return NULL;
}

static struct block *peer_open(struct raw *r, struct peer *p)
{
    p->ack = 0;
    peer_seg(r, p, SEG_SYN, SEQ, 0)->opts = SEG_OPT_SACK_PERM;
    raw_turn(r, 1);
    p->ack = OUT(r, 0).seq + 1;
    peer_seg(r, p, SEG_ACK, SEQ + 1, 0);
    raw_turn(r, 1);
    struct block *b = peer_block(r, p);
    assert_non_null(b);
    return b;
}

// Data `at` bytes behind the first one of the stream, in a turn of its own.
static void peer_data(struct raw *r, const struct peer *p, uint32_t at, uint16_t len)
{
    peer_seg(r, p, SEG_ACK, SEQ + 1 + at, len);
    raw_turn(r, 0);
}

// Single bytes with a hole before each, `step` apart.
static void peer_bytes(struct raw *r, const struct peer *p, uint32_t n, uint32_t step)
{
    for (uint32_t k = 1; k <= n; k++)
        peer_data(r, p, k * step, 1);
}

static struct peer peer_of(uint32_t v4, uint16_t port)
{
    return (struct peer){.remote = ip_from_v4(v4), .port = port};
}

static uint32_t held_bufs(const struct raw *r, const struct block *b)
{
    return b->ext == EXT_NONE ? 0 : r->e.tcp.exts[b->ext].ooo_bufs;
}

// As in a worker of the default configuration.
static struct raw *worker(uint32_t connections)
{
    return raw_new(&(struct pair_sizes){.blocks = connections,
                                        .syns = connections,
                                        .exts = connections,
                                        .flights = connections,
                                        .bufs = 8192,
                                        .wheel = 8192});
}

static void end_all(struct raw *r)
{
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        const struct block *b = &r->e.tcp.blocks[i];
        if (b->state == TCP_FREE)
            continue;
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
        raw_turn(r, 0);
    }
    end_check_pools(&r->e);
    raw_turn(r, 1);
    raw_free(r, true);
}

// ---- what is kept, and where

static void small_segments_share_pages(void **state)
{
    struct raw *r = worker(16);
    struct peer p = peer_of(0x0a000100, 10000);
    const struct block *b = peer_open(r, &p);
    peer_bytes(r, &p, 128, 2);
    assert_int_equal(r->e.stats.c.out_of_order_queued, 128);
    assert_in_range(held_bufs(r, b), 2, 3);  // 256 numbers: one page or two, and the table
    assert_int_equal(r->e.tcp.exts[b->ext].ooo_runs, 128);
    for (uint32_t k = 1; k < 128; k++)
        peer_data(r, &p, 2 * k + 1, 1);
    assert_in_range(held_bufs(r, b), 2, 3);
    assert_int_equal(r->e.tcp.exts[b->ext].ooo_runs, 1);
    peer_data(r, &p, 0, 2);
    assert_int_equal(b->ext, EXT_NONE);
    assert_int_equal(b->rcv_nxt, SEQ + 1 + 257);
    assert_int_equal(r->e.role.received, 257);
    assert_false(r->e.role.wrong);
    end_all(r);
}

static void what_is_kept_takes_no_more_than_the_pages_of_the_window(void **state)
{
    struct raw *r = worker(16);
    struct peer p = peer_of(0x0a000100, 10000);
    const struct block *b = peer_open(r, &p);
    const uint32_t most = 65536 / BUF_BYTES + 2;
    for (uint32_t at = 65534; at >= 2; at -= 1) {  // from the end on, by single bytes
        peer_data(r, &p, at, 1);
        assert_true(held_bufs(r, b) <= most);
    }
    assert_int_equal(held_bufs(r, b), most);
    assert_int_equal(r->e.tcp.exts[b->ext].ooo_runs, 1);
    peer_data(r, &p, 0, 2);
    assert_int_equal(r->e.role.received, 65535);
    assert_false(r->e.role.wrong);
    end_all(r);
}

static void beside_the_most_runs_no_other_is_kept(void **state)
{
    struct raw *r = worker(16);
    struct peer p = peer_of(0x0a000100, 10000);
    const struct block *b = peer_open(r, &p);
    peer_bytes(r, &p, OOO_RUNS_MAX, 10);
    assert_int_equal(r->e.stats.drops[DROP_tcp_ooo_runs], 0);
    peer_data(r, &p, 10 * (OOO_RUNS_MAX + 1), 1);  // beyond them
    peer_data(r, &p, 15, 1);                       // among them
    assert_int_equal(r->e.stats.drops[DROP_tcp_ooo_runs], 2);
    const struct seg_out *o = &OUT(r, 0);  // the report goes on with what is held
    assert_int_equal(o->n_sack, 4);
    assert_int_equal(o->sack[0].start, SEQ + 1 + 10 * OOO_RUNS_MAX);
    peer_data(r, &p, 11, 1);   // grows one
    peer_data(r, &p, 21, 10);  // makes one of two
    assert_int_equal(r->e.tcp.exts[b->ext].ooo_runs, OOO_RUNS_MAX - 1);
    peer_data(r, &p, 10 * (OOO_RUNS_MAX + 1), 1);
    assert_int_equal(r->e.stats.drops[DROP_tcp_ooo_runs], 2);
    assert_int_equal(r->e.tcp.exts[b->ext].ooo_runs, OOO_RUNS_MAX);
    end_all(r);
}

// A page that ends in order goes to the application; what else lies in it is copied, unless that
// would take from the reserve of in-order data: then it is given up.
static void a_page_that_is_delivered_keeps_nothing_of_what_still_waits(void **state)
{
    for (int scarce = 0; scarce < 2; scarce++) {
        struct raw *r = worker(16);
        struct peer p = peer_of(0x0a000100, 10000);
        const struct block *b = peer_open(r, &p);
        struct buf_pool *pool = &r->e.tcp.bufs;
        const uint32_t base = ooo_page(SEQ + 1) + BUF_BYTES - SEQ - 1;  // of the stream's next page
        r->e.role.hold = true;
        peer_data(r, &p, base + 100, 100);
        peer_data(r, &p, base + 300, 2000);  // in two pages, the first of them the same
        peer_data(r, &p, base + 5000, 100);
        const uint32_t had = pool->n_free_data;
        if (scarce)
            pool->n_free_data = TCP_BUFS_RESERVE;
        peer_data(r, &p, 0, (uint16_t)(base + 100));
        const struct ext *e = &r->e.tcp.exts[b->ext];
        if (scarce)
            pool->n_free_data += had - TCP_BUFS_RESERVE;
        assert_int_equal(b->rcv_nxt, SEQ + 1 + base + 200);
        assert_int_equal(b->rcvq_bytes, base + 200);
        assert_int_equal(r->e.stats.c.ooo_pruned, scarce);
        assert_int_equal(e->ooo_runs, scarce ? 1 : 2);
        end_check_pools(&r->e);
        r->e.role.hold = false;
        for (uint32_t at = 200; at < 5000; at += 1600)
            peer_data(r, &p, base + at, 1600);
        assert_int_equal(b->rcv_nxt, SEQ + 1 + base + 5100);
        assert_int_equal(b->ext, EXT_NONE);
        assert_false(r->e.role.wrong);
        end_all(r);
    }
}

// What the application leaves: two neighbors hold more than one buffer has room for, however small
// the segments were and in whatever order they came.
static void what_is_unread_takes_two_buffers_for_a_page_at_most(void **state)
{
    struct rng rng = test_rng(__func__);
    for (unsigned round = 0; round < 20; round++) {
        struct raw *r = worker(16);
        struct peer p = peer_of(0x0a000100, 10000);
        const struct block *b = peer_open(r, &p);
        const uint32_t longest = 1 + rng_below(&rng, 2000);
        r->e.role.hold = true;
        for (unsigned i = 0; i < 3000 && b->rcvq_bytes < 60000; i++) {
            const uint32_t next = b->rcv_nxt - SEQ - 1;
            const uint32_t gap = rng_below(&rng, 2) == 0 ? 0 : rng_below(&rng, 2 * longest);
            if (next + gap + longest < 65000)
                peer_data(r, &p, next + gap, (uint16_t)(1 + rng_below(&rng, longest)));
            const uint32_t used = r->e.tcp.bufs.data_count - r->e.tcp.bufs.n_free_data;
            assert_true(used - held_bufs(r, b) <= 2 * (b->rcvq_bytes / BUF_BYTES + 1));
        }
        r->e.role.hold = false;
        end_all(r);
    }
}

// ---- limits and pressure

// 54 connections with 128 single bytes each once held seven eighths of all buffers.
static void many_single_bytes_leave_the_buffers_to_others(void **state)
{
    struct raw *r = worker(128);
    for (uint16_t i = 0; i < 54; i++) {
        struct peer p = peer_of(0x0a000100, (uint16_t)(10000 + i));
        peer_open(r, &p);
        peer_bytes(r, &p, 128, 2);
    }
    assert_int_equal(r->e.stats.c.out_of_order_queued, 54 * 128);
    assert_true(r->e.stats.c.ooo_buffers_now <= 54 * 3);
    for (unsigned i = 0; i < 100; i++)
        raw_turn(r, 1000);
    struct peer p = peer_of(0x0a000200, 10000);
    const uint64_t kept = r->e.stats.c.kept;
    peer_open(r, &p);
    peer_data(r, &p, 1000, 1000);
    assert_int_equal(r->e.stats.c.kept, kept + 1);
    end_all(r);
}

// Holders that take a page for a byte, from as many addresses as they like.
static void hold_pages(struct raw *r, uint32_t v4, bool one_source, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct peer p = peer_of(one_source ? v4 : v4 + i, (uint16_t)(10000 + i));
        peer_open(r, &p);
        peer_bytes(r, &p, 31, BUF_BYTES);
    }
}

static void one_source_holds_a_quarter_and_its_oldest_gives_way(void **state)
{
    struct raw *r = worker(256);
    struct peer first = peer_of(0x0a000100, 9999), other = peer_of(0x0a000200, 10000);
    struct block *b = peer_open(r, &first);
    peer_bytes(r, &first, 31, BUF_BYTES);
    assert_int_equal(held_bufs(r, b), 32);
    hold_pages(r, 0x0a000100, true, 200);
    assert_in_range(r->e.stats.c.ooo_buffers_now, 8192 / OOO_SOURCE_SHARE - 32,
                    8192 / OOO_SOURCE_SHARE);
    assert_int_equal(b->ext, EXT_NONE);  // it was the oldest
    assert_in_range(r->e.stats.c.ooo_pruned, 1, UINT32_MAX);
    const uint64_t pruned = r->e.stats.c.ooo_pruned;
    struct block *c = peer_open(r, &other);
    peer_bytes(r, &other, 31, BUF_BYTES);
    assert_int_equal(held_bufs(r, c), 32);
    assert_int_equal(r->e.stats.c.ooo_pruned, pruned);  // at nobody's cost
    end_check_pools(&r->e);
    end_all(r);
}

// few_records: a worker with 64 extension records for 256 connections.
static struct raw *few_records(void)
{
    return raw_new(&(struct pair_sizes){
        .blocks = 256, .syns = 256, .exts = 64, .flights = 256, .bufs = 8192, .wheel = 8192});
}

// Connections `from` to `to` of one source send what waits behind a gap: a FIN, or a byte.
static void wait_behind_gaps(struct raw *r, uint32_t v4, unsigned from, unsigned to, bool fin)
{
    for (unsigned i = from; i < to; i++) {
        struct peer p = peer_of(v4, (uint16_t)(10000 + i));
        peer_open(r, &p);
        peer_seg(r, &p, fin ? SEG_ACK | SEG_FIN : SEG_ACK, SEQ + 1 + 5, !fin);
        raw_turn(r, 0);
    }
}

static void bystander_keeps(struct raw *r, uint32_t v4)
{
    struct peer p = peer_of(v4, 77);
    const struct block *b = peer_open(r, &p);
    const uint64_t dropped = r->e.stats.drops[DROP_ext_pool_empty];
    peer_data(r, &p, 1000, 1000);
    assert_int_equal(r->e.stats.drops[DROP_ext_pool_empty], dropped);
    assert_int_not_equal(b->ext, EXT_NONE);
}

static void fins_behind_gaps_hold_half_of_the_records_at_most(void **state)
{
    struct raw *r = few_records();
    for (unsigned s = 0; s < 4; s++)
        wait_behind_gaps(r, 0x0a000100 + s, 0, 40, true);
    assert_int_equal(r->e.stats.c.ext_records_now, 32);
    bystander_keeps(r, 0x0b000001);
    end_all(r);
}

static void a_source_leaves_records_to_others(void **state)
{
    struct raw *r = few_records();
    wait_behind_gaps(r, 0x0a000100, 0, 100, false);
    assert_int_equal(r->e.stats.c.ext_records_now, 32);
    assert_in_range(r->e.stats.c.ext_records_missed, 68, 68);
    wait_behind_gaps(r, 0x0a000200, 100, 150, false);
    assert_int_equal(r->e.stats.c.ext_records_now, 48);
    bystander_keeps(r, 0x0b000001);
    end_all(r);
}

static void a_fin_that_was_not_kept_ends_the_stream_when_it_comes_again(void **state)
{
    struct raw *r = few_records();
    wait_behind_gaps(r, 0x0a000100, 0, 32, true);
    struct peer p = peer_of(0x0b000001, 77);
    const struct block *b = peer_open(r, &p);
    peer_seg(r, &p, SEG_ACK | SEG_FIN, SEQ + 1 + 5, 0);
    raw_turn(r, 0);
    assert_int_equal(b->ext, EXT_NONE);
    peer_data(r, &p, 0, 5);
    assert_int_equal(b->state, TCP_ESTABLISHED);
    peer_seg(r, &p, SEG_ACK | SEG_FIN, SEQ + 1 + 5, 0);
    raw_turn(r, 0);
    assert_int_equal(b->rcv_nxt, SEQ + 1 + 5 + 1);
    end_all(r);
}

static void a_prefix_of_ipv6_is_one_source(void **state)
{
    struct raw *r = worker(256);
    for (unsigned i = 0; i < 200; i++) {
        struct peer p = {.port = (uint16_t)(10000 + i)};
        CHECK(ip_parse("2001:db8:1:2::1", &p.remote));
        p.remote.b[15] = (uint8_t)i;
        peer_open(r, &p);
        peer_bytes(r, &p, 31, BUF_BYTES);
    }
    assert_true(r->e.stats.c.ooo_buffers_now <= 8192 / OOO_SOURCE_SHARE);
    end_all(r);
}

static void many_sources_hold_a_half_and_the_largest_gives_way(void **state)
{
    struct raw *r = worker(256);
    hold_pages(r, 0x0a000100, false, 250);
    assert_in_range(r->e.stats.c.ooo_buffers_now, 8192 / OOO_ALL_SHARE - 32, 8192 / OOO_ALL_SHARE);
    struct peer p = peer_of(0x0b000001, 77);
    const struct block *b = peer_open(r, &p);
    peer_data(r, &p, 1000, 1000);  // a newcomer finds room, and keeps it
    hold_pages(r, 0x0c000000, false, 3);
    assert_in_range(held_bufs(r, b), 2, 3);
    peer_data(r, &p, 0, 1000);
    assert_int_equal(b->rcv_nxt, SEQ + 1 + 2000);
    end_all(r);
}

// Of one source. In order the first page frees its buffer, or a byte of it does not.
static void who_gives_back_a_page_by_what_is_in_order_is_the_youngest_again(void **state)
{
    for (unsigned frees = 0; frees < 2; frees++) {
        struct raw *r = worker(256);
        struct peer p = peer_of(0x0a000100, 77);
        const struct block *b = peer_open(r, &p);
        const uint32_t page = BUF_BYTES - (SEQ + 1) % BUF_BYTES;  // where the second page begins
        peer_data(r, &p, 1, 1);
        peer_data(r, &p, 3, (uint16_t)(frees ? page - 3 : 1));
        peer_data(r, &p, page + 1000, 100);
        hold_pages(r, 0x0a000100, true, 40);
        peer_data(r, &p, 0, 1);
        if (frees)
            peer_data(r, &p, 2, 1);
        assert_int_equal(b->rcv_nxt, SEQ + 1 + (frees ? page : 2));
        for (uint16_t i = 0; i < 40; i++) {
            struct peer more = peer_of(0x0a000100, (uint16_t)(20000 + i));
            peer_open(r, &more);
            peer_bytes(r, &more, 31, BUF_BYTES);
        }
        assert_in_range(r->e.stats.c.ooo_pruned, 1, UINT32_MAX);
        assert_int_equal(b->ext != EXT_NONE, frees);
        end_all(r);
    }
}

// Two sources have all that may be held: 50 single bytes with holes in the first page, then one in
// each of 30 pages, on 64 connections each. In each round trip of a bystander who loses one segment
// in ten all of them fill a hole, which frees nothing, and want the pages again that they gave up.
static void who_holds_least_keeps_it_whatever_two_large_sources_do(void **state)
{
    enum { LIARS = 128, LOST = 1000 };
    struct raw *r = worker(256);
    static struct peer liar[LIARS];
    for (unsigned i = 0; i < LIARS; i++) {
        liar[i] = peer_of(0x0a000100 + i / 64, (uint16_t)(10000 + i));
        peer_open(r, &liar[i]);
        for (uint32_t k = 1; k < 100; k += 2)
            peer_data(r, &liar[i], k, 1);
        for (uint32_t k = 1; k <= 30; k++)
            peer_data(r, &liar[i], k * BUF_BYTES + 500, 1);
    }
    assert_in_range(r->e.stats.c.ooo_buffers_now, 8192 / OOO_ALL_SHARE - 32, 8192 / OOO_ALL_SHARE);
    struct peer p = peer_of(0x0b000001, 77);
    const struct block *b = peer_open(r, &p);
    for (uint32_t round = 0, at = 0; round < 10; round++, at += 10 * LOST) {
        for (uint32_t k = 1; k < 10; k++)
            peer_data(r, &p, at + k * LOST, LOST);
        for (unsigned i = 0; i < LIARS; i++)
            peer_data(r, &liar[i], 2 * round, 1);
        for (unsigned i = 0; i < LIARS; i++)
            for (uint32_t k = 30; k >= 28; k--)
                peer_data(r, &liar[i], k * BUF_BYTES + 500, 1);
        peer_data(r, &p, at, LOST);
        assert_int_equal(b->rcv_nxt, SEQ + 1 + at + 10 * LOST);
    }
    end_check_pools(&r->e);
    end_all(r);
}

// What was given up is not reported, is no duplicate, and is taken when it comes again.
static void what_was_given_up_can_come_again(void **state)
{
    struct raw *r = worker(256);
    struct peer p = peer_of(0x0b000001, 77);
    const struct block *b = peer_open(r, &p);
    const uint32_t page = BUF_BYTES;
    peer_data(r, &p, 2 * page, 1000);
    peer_data(r, &p, 5 * page, 1000);
    peer_data(r, &p, 9 * page, 1000);
    struct tcp *t = &r->e.tcp;
    const uint32_t free = t->bufs.n_free_data;
    const uint32_t scarce = TCP_BUFS_RESERVE + t->bufs.data_count / TCP_SCARCE_SHARE;
    t->bufs.n_free_data = scarce - 1;
    tcp_ooo_relieve(t);
    const uint32_t given = t->bufs.n_free_data - (scarce - 1);
    t->bufs.n_free_data = free + given;
    assert_in_range(given, 1, 2);
    assert_int_equal(r->e.stats.c.ooo_pruned, 1);
    assert_int_equal(t->exts[b->ext].ooo_runs, 2);  // the furthest went
    end_check_pools(&r->e);
    peer_data(r, &p, 9 * page, 1000);
    assert_int_equal(r->e.stats.c.dsack_sent_ooo, 0);
    assert_int_equal(OUT(r, 0).sack[0].start, SEQ + 1 + 9 * page);
    assert_int_equal(OUT(r, 0).n_sack, 3);
    for (uint32_t at = 0; at < 10 * page; at += page)
        peer_data(r, &p, at, (uint16_t)page);
    assert_int_equal(r->e.role.received, 10 * page);
    assert_false(r->e.role.wrong);
    end_all(r);
}

// In-order data and data to be sent come before data that waits for a gap.
static void what_waits_gives_way_to_what_goes_on(void **state)
{
    struct raw *r = worker(256);
    hold_pages(r, 0x0a000100, false, 100);
    struct tcp *t = &r->e.tcp;
    const uint32_t free = t->bufs.n_free_data;
    const uint64_t held = r->e.stats.c.ooo_buffers_now;
    struct peer p = peer_of(0x0b000001, 77);
    const struct block *b = peer_open(r, &p);
    t->bufs.n_free_data = TCP_BUFS_RESERVE - 1;
    peer_data(r, &p, 0, 100);
    const uint32_t given = t->bufs.n_free_data - (TCP_BUFS_RESERVE - 1);
    t->bufs.n_free_data = free + given;
    assert_int_equal(b->rcv_nxt, SEQ + 1 + 100);
    assert_int_equal(r->e.stats.drops[DROP_tcp_buffer], 0);
    assert_in_range(given, TCP_OOO_RELIEVE_MAX, held);
    end_all(r);
}

// ---- against a model

enum { MODEL_BYTES = 8 * BUF_BYTES };

// model: which numbers of the stream, from `next` on, have come; in which segment each came last.
struct model {
    uint32_t next, segment;
    bool has[1 << 20];
    uint32_t last[1 << 20];
};

static uint32_t model_runs(const struct model *m, uint32_t end, struct seq_range *runs)
{
    uint32_t n = 0;
    for (uint32_t i = m->next; i < end; i++) {
        if (!m->has[i])
            continue;
        if (i == m->next || !m->has[i - 1])
            runs[n++].start = i;
        runs[n - 1].end = i + 1;
    }
    return n;
}

static uint32_t model_pages(const struct model *m, uint32_t end)
{
    uint32_t n = 0, last = 1;
    for (uint32_t i = m->next; i < end; i++)
        if (m->has[i] && (n == 0 || ooo_page(SEQ + 1 + i) != last)) {
            last = ooo_page(SEQ + 1 + i);
            n++;
        }
    return n;
}

static void check_model(const struct raw *r, const struct block *b, const struct model *m)
{
    static struct seq_range want[MODEL_BYTES];
    const uint32_t end = m->next + MODEL_BYTES, n = model_runs(m, end, want);
    assert_int_equal(b->rcv_nxt, SEQ + 1 + m->next);
    assert_int_equal(r->e.role.received, m->next);
    assert_false(r->e.role.wrong);
    if (n == 0) {
        assert_int_equal(b->ext, EXT_NONE);
        return;
    }
    const struct ext *e = &r->e.tcp.exts[b->ext];
    const struct ooo_run *runs = ooo_runs(&r->e.tcp.bufs, e);
    assert_int_equal(e->ooo_runs, n);
    assert_int_equal(e->ooo_bufs, model_pages(m, end) + 1);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(runs[i].start, SEQ + 1 + want[i].start);
        assert_int_equal(runs[i].end, SEQ + 1 + want[i].end);
    }
}

// What of [at, end) was there before it came: the first run of it.
static struct seq_range model_again(const struct model *m, uint32_t at, uint32_t end)
{
    uint32_t from = at;
    while (from < end && from >= m->next && !m->has[from])
        from++;
    uint32_t to = from;
    while (to < end && (from < m->next ? to < m->next : m->has[to]))
        to++;
    return (struct seq_range){from, to};
}

// The segment that touched the run of r last.
static uint32_t model_touched(const struct model *m, struct seq_range r)
{
    uint32_t last = 0;
    for (uint32_t i = r.start; i < r.end; i++)
        last = MAX(last, m->last[i]);
    return last;
}

// The blocks of the answer to [at, end): what came twice first, once, and nothing that did not;
// then whole runs of what is held, the one touched last before the others (RFC 2018 4, RFC 2883 4).
static void check_blocks(const struct raw *r, const struct model *m, uint32_t at, uint32_t end,
                         struct seq_range again, bool kept)
{
    const struct seg_out *o = &OUT(r, 0);
    const unsigned n = r->e.tcp.n_out != 0 && (o->opts & SEG_OPT_SACK) ? o->n_sack : 0;
    const bool twice = again.start != again.end;
    uint32_t touched = UINT32_MAX;
    assert_true(!twice || (r->e.tcp.n_out == 1 && n != 0));
    for (unsigned i = 0; i < n; i++) {
        const struct seq_range b = {o->sack[i].start - SEQ - 1, o->sack[i].end - SEQ - 1};
        if (i == 0 && twice) {
            assert_int_equal(b.start, again.start);
            assert_int_equal(b.end, again.end);
            continue;
        }
        assert_true(b.start > m->next && b.start < b.end && !m->has[b.start - 1]);
        assert_false(m->has[b.end]);
        for (uint32_t k = b.start; k < b.end; k++)
            assert_true(m->has[k]);
        if (i == twice && kept && at > m->next)
            assert_true(b.start <= at && end <= b.end);
        const uint32_t its = model_touched(m, b);
        assert_true(its < touched);
        touched = its;
    }
    // Held, but the answer tells nothing.
    assert_false(r->e.tcp.n_out != 0 && at > m->next && kept && n == twice);
}

static void what_is_held_equals_a_map_of_bytes(void **state)
{
    struct rng rng = test_rng(__func__);
    static struct model m;
    for (unsigned round = 0; round < 20; round++) {
        struct raw *r = worker(16);
        struct peer p = peer_of(0x0a000100, 10000);
        memset(&m, 0, sizeof(m));
        const struct block *b = peer_open(r, &p);
        const uint32_t longest = 1u << rng_below(&rng, 12);
        for (unsigned i = 0; i < 1500 && m.next < ARRAY_LEN(m.has) - 2 * MODEL_BYTES; i++) {
            uint32_t at = m.next + rng_below(&rng, MODEL_BYTES - longest);
            if (rng_below(&rng, 8) == 0) {
                const uint32_t back = rng_below(&rng, longest);
                at = m.next - MIN(m.next, back);
            }
            const uint32_t len = 1 + rng_below(&rng, longest);
            static struct seq_range runs[MODEL_BYTES];
            const uint64_t refused = r->e.stats.drops[DROP_tcp_ooo_runs];
            const struct seq_range again = model_again(&m, at, at + len);
            peer_data(r, &p, at, (uint16_t)len);
            const bool kept = r->e.stats.drops[DROP_tcp_ooo_runs] == refused;
            m.segment++;
            for (uint32_t k = at; kept && k < at + len; k++) {
                m.has[k] = true;
                m.last[k] = m.segment;
            }
            if (!kept)
                assert_int_equal(model_runs(&m, m.next + MODEL_BYTES, runs), OOO_RUNS_MAX);
            while (m.has[m.next])
                m.next++;
            check_model(r, b, &m);
            check_blocks(r, &m, at, at + len, again, kept);
        }
        end_check_pools(&r->e);
        end_all(r);
    }
}

// What the connection holds now is part of what the model has; that forgets the rest.
static void model_forgets(const struct raw *r, const struct block *b, struct model *m)
{
    static bool held[MODEL_BYTES];
    memset(held, 0, sizeof(held));
    if (b->ext != EXT_NONE) {
        const struct ext *e = &r->e.tcp.exts[b->ext];
        for (unsigned i = 0; i < e->ooo_runs; i++) {
            const struct ooo_run *run = &ooo_runs(&r->e.tcp.bufs, e)[i];
            for (uint32_t seq = run->start; seq != run->end; seq++)
                held[seq - SEQ - 1 - m->next] = true;
        }
    }
    for (uint32_t i = 0; i < MODEL_BYTES; i++) {
        assert_true(!held[i] || m->has[m->next + i]);
        m->has[m->next + i] = held[i];
    }
}

// Others take what they can get, and end; one connection goes on. What is given up was never
// acknowledged, and each byte arrives once, as it was sent.
static void what_is_given_up_was_never_acknowledged(void **state)
{
    struct rng rng = test_rng(__func__);
    static struct model m;
    for (unsigned round = 0; round < 10; round++) {
        struct raw *r = raw_new(&(struct pair_sizes){.blocks = 64, .exts = 64, .bufs = 700});
        struct peer p = peer_of(0x0b000001, 77), others[40];
        memset(&m, 0, sizeof(m));
        const struct block *b = peer_open(r, &p);
        for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
            others[i] = peer_of(0x0a000100 + i / 4, (uint16_t)(10000 + i));
            peer_open(r, &others[i]);
        }
        for (unsigned i = 0; i < 3000; i++) {
            const struct peer *o = &others[rng_below(&rng, ARRAY_LEN(others))];
            peer_data(r, o, 1 + rng_below(&rng, 60000), (uint16_t)(1 + rng_below(&rng, 2000)));
            if (i % 3 != 0)
                continue;
            const uint32_t gap = rng_below(&rng, 4) == 0 ? 0 : rng_below(&rng, MODEL_BYTES - 2000);
            const uint32_t at = m.next + gap, len = 1 + rng_below(&rng, 2000);
            const uint64_t kept = r->e.stats.c.kept + r->e.stats.c.delivered;
            peer_data(r, &p, at, (uint16_t)len);
            if (r->e.stats.c.kept + r->e.stats.c.delivered != kept)
                memset(&m.has[at], true, len);
            while (m.has[m.next])
                m.next++;
            assert_int_equal(b->rcv_nxt, SEQ + 1 + m.next);
            assert_int_equal(r->e.role.received, m.next);
            model_forgets(r, b, &m);
            end_check_pools(&r->e);
        }
        assert_in_range(r->e.stats.c.ooo_pruned, 1, UINT32_MAX);
        assert_false(r->e.role.wrong);
        end_all(r);
    }
}

#define T(f) cmocka_unit_test(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(small_segments_share_pages),
        T(what_is_kept_takes_no_more_than_the_pages_of_the_window),
        T(beside_the_most_runs_no_other_is_kept),
        T(a_page_that_is_delivered_keeps_nothing_of_what_still_waits),
        T(what_is_unread_takes_two_buffers_for_a_page_at_most),
        T(many_single_bytes_leave_the_buffers_to_others),
        T(one_source_holds_a_quarter_and_its_oldest_gives_way),
        T(fins_behind_gaps_hold_half_of_the_records_at_most),
        T(a_source_leaves_records_to_others),
        T(a_fin_that_was_not_kept_ends_the_stream_when_it_comes_again),
        T(a_prefix_of_ipv6_is_one_source),
        T(many_sources_hold_a_half_and_the_largest_gives_way),
        T(who_gives_back_a_page_by_what_is_in_order_is_the_youngest_again),
        T(who_holds_least_keeps_it_whatever_two_large_sources_do),
        T(what_was_given_up_can_come_again),
        T(what_waits_gives_way_to_what_goes_on),
        T(what_is_held_equals_a_map_of_bytes),
        T(what_is_given_up_was_never_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
