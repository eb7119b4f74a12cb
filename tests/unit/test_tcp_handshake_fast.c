// SPDX-License-Identifier: BSD-3-Clause
// The fast path from a half-open connection to a block against the general one: two ends with
// the same past, the same third segment, and every byte of the block, every counter and every
// segment compared. And what must not go that way.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { CASES = 20000, PEER = 0x0a000002, START_US = 5 * 1000 * 1000 };

static struct end ends[2];  // 0: as in the data path; 1: the general way
static const uint8_t payload[2048] = {1, 2, 3};

static bool one_in(struct rng *r, uint32_t n)
{
    return rng_below(r, n) == 0;
}

static struct seg_in segment(uint8_t flags)
{
    struct seg_in s = {.flags = flags, .data_off = 54};
    s.key = (struct flow_key){ip_from_v4(PEER), 0, 0, 40000, PAIR_PORT};
    return s;
}

static struct seg_in make_syn(struct rng *r)
{
    struct seg_in s = segment(SEG_SYN);
    s.seq = (uint32_t)rng_u64(r);
    s.wnd = (uint16_t)rng_u64(r);
    if (!one_in(r, 4)) {
        s.opts |= SEG_OPT_MSS;
        s.mss = (uint16_t)(one_in(r, 4) ? rng_u64(r) : 1460);
    }
    if (!one_in(r, 4)) {
        s.opts |= SEG_OPT_TS;
        s.ts_val = (uint32_t)rng_u64(r);
    }
    if (!one_in(r, 4)) {
        s.opts |= SEG_OPT_WSCALE;
        s.wscale = (uint8_t)rng_below(r, 15);
    }
    if (!one_in(r, 4))
        s.opts |= SEG_OPT_SACK_PERM;
    if (one_in(r, 16))
        s.flags |= SEG_ECE | SEG_CWR;
    return s;
}

static void make_service(struct rng *r, struct tcp *t)
{
    struct tcp_service *sv = &t->services[0];
    sv->nodelay = one_in(r, 2);
    sv->pulls = one_in(r, 4);
    sv->keepalive_ms = one_in(r, 4) ? 7200000 : 0;
    sv->rcv_limit = one_in(r, 4) ? 2048 + rng_below(r, 2000) : 262144;
    sv->connections_max = one_in(r, 16) ? 0 : 8;
    t->cfg.quick_ack = !one_in(r, 4);
    t->cfg.mss = one_in(r, 4) ? 8960 : 1460;
    tcp_set_limits(t);
}

// Both ends' blocks, and their pools of buffers at the edge of the reserve now and then.
static void make_block(struct rng *r, struct tcp *t)
{
    struct block *b = &t->blocks[t->block_pool->free_list[t->block_pool->n_free - 1]];
    b->generation = (uint16_t)rng_u64(r);
    b->app[0] = b->app[63] = 77;
    b->error = 9;
    b->close_why = 1;
    t->bufs.n_free_data = one_in(r, 8) ? TCP_BUFS_RESERVE - 1 : t->bufs.data_count;
}

static struct seg_in make_third(struct rng *r, const struct seg_in *syn, uint32_t iss)
{
    struct seg_in s = segment(SEG_ACK);
    s.seq = syn->seq + 1;
    s.ack = iss + 1;
    s.wnd = (uint16_t)rng_u64(r);
    s.opts = syn->opts & SEG_OPT_TS;
    s.ts_val = syn->ts_val + (one_in(r, 2) ? 0 : rng_below(r, 1000));
    s.ts_ecr = (uint32_t)rng_u64(r);
    if (one_in(r, 2))
        s.flags |= SEG_PSH;
    if (one_in(r, 2))
        s.data_len = (uint16_t)(1 + rng_below(r, 1460));
    switch (rng_below(r, 20)) {
    case 0:
        s.seq += one_in(r, 2) ? 1 : -1u;
        break;
    case 1:
        s.ack += one_in(r, 2) ? 1 : -1u;
        break;
    case 2:
        s.flags ^= (uint8_t)(1u << rng_below(r, 8));
        break;
    case 3:
        s.opts ^= one_in(r, 2) ? SEG_OPT_TS : SEG_OPT_SACK;
        break;
    case 4:
        s.ts_val = syn->ts_val - 1;
        break;
    case 5:
        s.ecn = (uint8_t)(1 + rng_below(r, 3));
        break;
    default:
        break;
    }
    return s;
}

// misses: why the segment may not take the fast path. NULL: it may.
static const char *misses(const struct tcp *t, const struct seg_in *syn, const struct seg_in *s,
                          uint32_t iss)
{
    const struct tcp_service *sv = &t->services[0];
    if ((s->flags | SEG_PSH) != (SEG_ACK | SEG_PSH))
        return "flags";
    if (s->seq != syn->seq + 1)
        return "out of order";
    if (s->ack != iss + 1)
        return "the ACK of another SYN-ACK";
    if ((s->opts ^ syn->opts) & SEG_OPT_TS)
        return "timestamp missing or unasked for";
    if ((s->opts & SEG_OPT_TS) && time_before(s->ts_val, syn->ts_val))
        return "PAWS";
    if (s->opts & SEG_OPT_SACK)
        return "SACK blocks";
    if (s->ecn != 0 || (syn->flags & SEG_ECE))
        return "ECN";
    if (s->data_len > MIN(sv->rcv_limit, 65535u))
        return "more than the window";
    if (s->data_len != 0 && t->bufs.n_free_data < TCP_BUFS_RESERVE)
        return "buffers";
    return sv->connections_max == 0 ? "the service is full" : NULL;
}

static void set_up(struct rng *r, struct end *e, uint64_t now_us)
{
    struct tcp *t = &e->tcp;
    t->now = clock_at_us(now_us);
    t->n_out = 0;
    t->out_room = TCP_OUT_MAX;
    make_service(r, t);
    make_block(r, t);
    memset(&e->stats, 0, sizeof(e->stats));
    tcp_burst(t);
}

// The connection goes, whatever became of it.
static void tear_down(struct end *e)
{
    struct tcp *t = &e->tcp;
    for (uint32_t i = 0; i < e->sizes.syns; i++)
        tcp_syn_drop(t, i);
    for (uint32_t i = 0; i < e->sizes.blocks; i++)
        if (t->blocks[i].state != TCP_FREE) {
            if (t->blocks[i].state != TCP_CLOSED)
                tcp_abort(t, i);
            tcp_free(t, i);
        }
    // Nothing of it was sent: the dirty list goes as a turn's output would take it.
    for (; t->dirty_head != BLOCK_NONE; t->dirty_head = t->blocks[t->dirty_head].dirty_next)
        t->blocks[t->dirty_head].flags &= (uint16_t)~BF_DIRTY;
    t->dirty_tail = BLOCK_NONE;
    t->n_dirty = 0;
    index_pool_turn_end(t->block_pool);
    index_pool_turn_end(t->syn_pool);
    t->bufs.n_free_data = t->bufs.data_count;
}

static void same_ends(uint32_t i)
{
    const struct tcp *a = &ends[0].tcp, *b = &ends[1].tcp;
    for (uint32_t ix = 0; ix < ends[0].sizes.blocks; ix++)
        if (memcmp(&a->blocks[ix], &b->blocks[ix], sizeof(a->blocks[ix])) != 0)
            for (unsigned k = 0; k < sizeof(a->blocks[ix]); k++)
                if (((const uint8_t *)&a->blocks[ix])[k] != ((const uint8_t *)&b->blocks[ix])[k])
                    fail_msg("case %u: byte %u of block %u", i, k, ix);
    assert_int_equal(a->n_out, b->n_out);
    assert_int_equal(a->dirty_head, b->dirty_head);
    assert_int_equal(a->dirty_tail, b->dirty_tail);
    assert_int_equal(a->services[0].connections, b->services[0].connections);
    assert_int_equal(a->syn_pool->n_free, b->syn_pool->n_free);
    assert_int_equal(a->syn_pool->n_deferred, b->syn_pool->n_deferred);
    assert_int_equal(a->block_pool->n_free, b->block_pool->n_free);
    assert_int_equal(a->table->count, b->table->count);
    if (memcmp(&ends[0].stats, &ends[1].stats, sizeof(ends[0].stats)) != 0)
        fail_msg("case %u: a counter", i);
}

static void a_fast_opening_equals_the_general_one(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t taken = 0, with_data = 0;
    for (unsigned e = 0; e < 2; e++)
        end_init(&ends[e], 0x0a000001, NULL);
    for (uint32_t i = 0; i < CASES; i++) {
        const uint64_t now_us = START_US + (uint64_t)i * 100000;
        const struct rng again = rng;
        struct tcp_verdict v[2];
        struct seg_in syn, s = {.flags = 0};
        const char *why = NULL;
        for (unsigned e = 0; e < 2; e++) {
            rng = again;
            struct tcp *t = &ends[e].tcp;
            set_up(&rng, &ends[e], now_us);
            const uint32_t most = t->services[0].connections_max;
            t->services[0].connections_max = 8;
            syn = make_syn(&rng);
            tcp_input(t, &syn, NULL, FLOW_NONE, &v[e]);
            assert_int_equal(t->n_out, 1);
            const uint32_t iss = t->out[0].seq;
            index_pool_turn_end(t->syn_pool);
            t->services[0].connections_max = most;
            t->now = clock_at_us(now_us + rng_below(&rng, 20000));
            s = make_third(&rng, &syn, iss);
            const uint32_t found = tcp_owner(t, &s.key);
            assert_int_equal(flow_index_kind(found), FLOW_SYN);
            why = misses(t, &syn, &s, iss);
            tcp_burst(t);
            if (e == 0) {
                tcp_input(t, &s, payload, found, &v[0]);
            } else {
                v[1] = (struct tcp_verdict){.block = BLOCK_NONE, .chain = v[0].chain};
                tcp_handshake_full(t, flow_index_ix(found), &s, payload, &v[1]);
            }
        }
        const uint64_t fast = ends[0].stats.c.segs_opening;
        assert_int_equal(fast, why == NULL);
        taken += fast != 0;
        with_data += fast != 0 && s.data_len != 0;
        ends[0].stats.c.segs_opening = 0;
        assert_int_equal(v[0].block, v[1].block);
        assert_int_equal(v[0].events, v[1].events);
        assert_int_equal(v[0].drop, v[1].drop);
        if (v[0].events & TCP_EV_DATA) {
            assert_int_equal(v[0].data_off, v[1].data_off);
            assert_int_equal(v[0].data_len, v[1].data_len);
        }
        same_ends(i);
        for (unsigned e = 0; e < 2; e++)
            tear_down(&ends[e]);
    }
    assert_true(taken > CASES / 4 && with_data > CASES / 10);
    for (unsigned e = 0; e < 2; e++) {
        memset(&ends[e].stats, 0, sizeof(ends[e].stats));
        end_fini(&ends[e], false);
    }
}

// SYN, third segment and request of one connection, whose owner no look-up before the burst knew or
// knew as half-open.
static void one_look_up_does_for_a_burst(void **state)
{
    struct end *e = &ends[0];
    struct tcp_verdict v;
    end_init(e, 0x0a000001, NULL);
    struct tcp *t = &e->tcp;
    t->now = clock_at_us(START_US);
    t->out_room = TCP_OUT_MAX;
    tcp_set_limits(t);
    tcp_burst(t);
    struct seg_in syn = segment(SEG_SYN), other = syn, s = segment(SEG_ACK);
    tcp_input(t, &syn, NULL, FLOW_NONE, &v);
    assert_int_equal(t->stats->c.owners_again, 0);  // nothing was entered before
    tcp_input(t, &syn, NULL, FLOW_NONE, &v);        // the same again: it is found
    assert_int_equal(t->stats->c.owners_again, 1);
    assert_int_equal(t->stats->c.syn_records_now, 1);
    other.key.remote_port++;
    tcp_input(t, &other, NULL, FLOW_NONE, &v);
    assert_int_equal(t->stats->c.syn_records_now, 2);
    index_pool_turn_end(t->syn_pool);

    tcp_burst(t);
    const uint32_t found = tcp_owner(t, &s.key);
    const uint64_t again = t->stats->c.owners_again;
    s.seq = 1;
    s.ack = t->out[0].seq + 1;
    t->syns[flow_index_ix(found)].sends = 1;
    tcp_input(t, &s, payload, found, &v);
    assert_int_equal(t->stats->c.segs_opening, 1);
    const uint32_t block = v.block;
    s.data_len = 10;
    tcp_input(t, &s, payload, found, &v);  // of the same burst: by the record's child
    assert_int_equal(v.block, block);
    assert_int_equal(v.events, TCP_EV_DATA);
    assert_int_equal(t->stats->c.owners_again, again);

    // The child is over, and nobody has the key any more; nor does a record that was reset have
    // one.
    tcp_abort(t, block);
    tcp_free(t, block);
    s.seq += 10;
    tcp_input(t, &s, payload, found, &v);
    assert_int_equal(v.block, BLOCK_NONE);
    assert_int_equal(t->stats->c.owners_again, again + 1);
    const uint32_t second = tcp_owner(t, &other.key);
    other.flags = SEG_RST;
    other.seq = 1;
    tcp_input(t, &other, NULL, second, &v);
    assert_int_equal(t->stats->c.syn_records_reset, 1);
    other.flags = SEG_ACK;
    tcp_input(t, &other, NULL, second, &v);
    assert_int_equal(v.block, BLOCK_NONE);
    assert_int_equal(t->stats->c.conns_opened_passive, 1);
    end_fini(e, false);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_fast_opening_equals_the_general_one),
        T(one_look_up_does_for_a_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
