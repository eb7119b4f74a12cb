// SPDX-License-Identifier: BSD-3-Clause
// What entries a connection has in the timing wheel, whatever its peer and its application do, and
// what of others' time and room they cost.
#include <stdlib.h>

#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { WAKES = 3 };  // kinds of entries of a block

static void check_wheel(const struct raw *r)
{
    char what[TCP_CHECK_BYTES] = "";
    const bool good = tcp_check_wheel(&r->e.tcp, r->e.sizes.blocks, what);
    if (!good)
        print_error("%s\n", what);
    assert_true(good);
    assert_int_equal(r->e.tcp.wheel->refused, 0);
}

// end: what is left ends by itself, and the wheel is empty.
static void end(struct raw *r)
{
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++)
        if (r->e.tcp.blocks[i].state != TCP_FREE)
            r->e.tcp.blocks[i].keepalive_ms = 0;
    for (int i = 0; i < 400 && r->e.tcp.wheel->entries != 0; i++)
        raw_turn(r, 10000);
    check_wheel(r);
    raw_free(r, false);
}

// The application's timer comes long before keepalive's: each time it came the entry of the latter
// was forgotten, and another one made.
static void a_timer_set_again_and_again_leaves_no_entry_behind(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 7200 * 1000;
    r->e.role.timer_ms = 10000;
    raw_open(r);
    struct block *b = raw_block(r);
    const uint32_t ix = (uint32_t)(b - r->e.tcp.blocks);
    for (unsigned i = 0, came = 0; i < 60000; i++) {
        raw_turn(r, 100);
        if (r->e.role.timers != came) {
            came = r->e.role.timers;
            b->app_timer_at_ms = r->e.tcp.now.ms + 10000;
            tcp_arm_slow(&r->e.tcp, ix);
        }
        assert_in_range(r->e.tcp.wheel->entries, 1, WAKES);
    }
    check_wheel(r);
    assert_in_range(r->e.role.timers, 595, 600);
    b->app_timer_at_ms = 0;
    end(r);
}

// A delayed acknowledgment is due long before the retransmission timeout is: the same.
static void bytes_that_dribble_in_leave_no_entry_behind(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.rto_min_ms = 100000;
    r->e.role.source = 1000;
    raw_open(r);
    const uint32_t una = raw_block(r)->snd_una;
    assert_int_equal(raw_block(r)->snd_max - una, 1000);
    for (unsigned i = 0; i < 2000; i++) {
        raw_seg(r, SEG_ACK | SEG_PSH, r->seq++, una, i, 1);
        raw_turn(r, 0);
        raw_turn(r, 40);
        assert_int_equal(r->e.tcp.n_out, 1);  // in time
        raw_turn(r, 1);
        assert_in_range(r->e.tcp.wheel->entries, 1, WAKES);
    }
    check_wheel(r);
    end(r);
}

// Each deadline is nearer than the one before.
static void deadlines_that_come_nearer_and_nearer_are_met_by_one_entry(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct block *b = raw_block(r);
    const uint32_t ix = (uint32_t)(b - r->e.tcp.blocks);
    raw_turn(r, 2000);
    for (uint32_t in_ms = 1 << 24; in_ms > 16; in_ms -= in_ms / 16) {
        b->app_timer_at_ms = r->e.tcp.now.ms + in_ms;
        tcp_arm_slow(&r->e.tcp, ix);
        assert_in_range(r->e.tcp.wheel->entries, 1, WAKES);
    }
    b->app_timer_at_ms = r->e.tcp.now.ms + 16;
    tcp_arm_slow(&r->e.tcp, ix);
    check_wheel(r);
    raw_turn(r, 15);
    assert_int_equal(r->e.role.timers, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.timers, 1);
    check_wheel(r);
    end(r);
}

// One who opens, is sent a SYN-ACK some times, and goes: the next record in that place has its
// first retry in time, and no second entry.
static void half_open_records_have_one_entry_each_however_often_they_begin(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.syns = 4});
    for (unsigned i = 0; i < 200; i++) {
        const uint32_t wait_ms = i % 4 == 3 ? 20000 : 100 * i % 9000;
        raw_seg(r, SEG_SYN, 1000, 0, 0, 0)->key.remote_port = (uint16_t)(2000 + i);
        raw_turn(r, 0);
        assert_int_equal(r->e.tcp.n_out, 1);
        const uint32_t ack = r->e.out[0].seq + 1, first = raw_wait(r, 1001);
        assert_in_range(first, 1000, 1001);
        for (uint32_t ms = 0; ms < wait_ms; ms += 100)
            raw_turn(r, 100);
        raw_seg(r, SEG_RST, 1001, ack, 0, 0)->key.remote_port = (uint16_t)(2000 + i);
        raw_turn(r, 0);
        assert_int_equal(r->e.stats.c.syn_records_now, 0);
        assert_true(r->e.tcp.wheel->entries <= 4);
        check_wheel(r);
    }
    end(r);
}

// lie: what a peer may say that has the timers go anywhere.
static void lie(struct raw *r, struct rng *g, const struct block *b)
{
    const uint32_t flight = b->snd_max - b->snd_una;
    const uint32_t ack = b->snd_una + (rng_below(g, 3) != 0 ? 0 : rng_below(g, flight + 1));
    struct seg_in *s = raw_seg(r, SEG_ACK, b->rcv_nxt, ack, 0, (uint16_t)rng_below(g, 3));
    s->key = b->key;
    s->opts = SEG_OPT_TS;
    s->ts_val = b->ts_recent + rng_below(g, 2);
    s->ts_ecr = tcp_ts_now(&r->e.tcp, &b->key) - rng_below(g, 1u << rng_below(g, 18));
    if (rng_below(g, 8) == 0)
        s->wnd = 0;
}

// open_among: one more connection beside those that are there.
static void open_among(struct raw *r, uint16_t port)
{
    const struct tcp *t = &r->e.tcp;
    raw_seg(r, SEG_SYN, 1, 0, 0, 0)->key.remote_port = port;
    raw_turn(r, 0);
    for (uint32_t i = 0; i < r->e.sizes.syns; i++)
        if (t->syns[i].live && t->syns[i].key.remote_port == port) {
            struct seg_in *s = raw_seg(r, SEG_ACK, 2, t->syns[i].iss + 1, 0, 0);
            s->key.remote_port = port;
            s->ts_ecr = tcp_ts_now(t, &s->key);
        }
    raw_turn(r, 0);
}

static void use(struct raw *r, struct rng *g, uint32_t ix)
{
    struct tcp *t = &r->e.tcp;
    struct block *b = &t->blocks[ix];
    struct c10m_conn c = {.k = &r->e.sock, .b = b, .ix = ix};
    static const uint8_t bytes[3000];
    if (rng_below(g, 2) == 0)
        c10m_set_timer(&c, 1 + rng_below(g, 1u << rng_below(g, 26)));
    else if (!(b->flags & BF_FIN_QUEUED))
        c10m_send(&c, bytes, rng_below(g, sizeof(bytes)));
}

// Peers that dribble, echo times that never were, close their windows and stop to acknowledge,
// applications that set timers far and near, connections that end and others in their blocks: no
// block has a second entry of a kind, and a wheel of just their number is never full.
static void no_peer_and_no_application_has_more_entries_than_its_reserve(void **state)
{
    enum { BLOCKS = 48, TURNS = 60000 };
    struct rng g = test_rng(__func__);
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = BLOCKS,
                                                 .syns = 8,
                                                 .exts = 2 * BLOCKS,
                                                 .flights = BLOCKS,
                                                 .wheel = WAKES * BLOCKS + 8});
    r->e.tcp.cfg.pacing_rtt_ms = 1;
    r->e.tcp.services[0].keepalive_ms = 5000;
    r->e.tcp.services[0].keepalive_interval_ms = 700;
    r->ts = r->sack = true;
    r->ts_val = 1;
    unsigned opened = 0;
    for (unsigned i = 0; i < TURNS; i++) {
        for (unsigned k = 0; k < 6; k++) {
            const uint32_t ix = rng_below(&g, BLOCKS);
            const struct block *b = &r->e.tcp.blocks[ix];
            if (b->state == TCP_FREE && r->n == 0) {
                open_among(r, (uint16_t)(1000 + opened++ % 60000));
            } else if (b->state == TCP_ESTABLISHED && rng_below(&g, 400) == 0) {
                raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
            } else if (b->state == TCP_ESTABLISHED && rng_below(&g, 2) == 0) {
                lie(r, &g, b);
            } else if (b->state == TCP_ESTABLISHED) {
                use(r, &g, ix);
            }
        }
        raw_turn(r,
                 rng_below(&g, 4) != 0 ? rng_below(&g, 3) : rng_below(&g, 1u << rng_below(&g, 12)));
        assert_true(r->e.tcp.wheel->entries <= WAKES * BLOCKS + 8);
        if (i % 16 == 0)
            check_wheel(r);
    }
    assert_true(opened > BLOCKS);
    check_wheel(r);
    end(r);
}

// A peer that acknowledges a little at a time, each time with an echo of long ago, and one that
// does so in each way to have losses repaired: the timeout grows by what took that long, and
// nothing else.
static void echoes_of_what_was_never_sent_do_not_make_the_timeout_longer(void **state)
{
    for (unsigned how = 0; how < 4; how++) {
        struct raw *r = raw_new(NULL);
        r->ts = true;
        r->ts_val = 1;
        r->sack = how % 2;
        r->e.role.source = 1u << 20;
        raw_open(r);
        struct block *b = raw_block(r);
        const uint32_t before_ms = tcp_timeout_ms(&r->e.tcp, b);
        for (int i = 0; i < 40; i++) {
            const uint32_t now = tcp_ts_now(&r->e.tcp, &b->key);
            r->ts_val++;
            r->ts_ecr = how < 2 ? now - 59000 : now + 1 + (1u << i % 31);
            raw_seg(r, SEG_ACK, r->seq, b->snd_una + b->mss, 0, 0);
            raw_turn(r, 1);
        }
        assert_true(tcp_timeout_ms(&r->e.tcp, b) <= before_ms + 1);
        end(r);
    }
}

// What left again is measured by its echo, of whichever time it left: not by others.
static void an_echo_of_either_time_that_a_segment_left_is_measured(void **state)
{
    for (unsigned how = 0; how < 3; how++) {
        struct raw *r = raw_new(NULL);
        r->ts = true;
        r->ts_val = 1;
        r->e.role.source = 1000;
        raw_open(r);
        struct block *b = raw_block(r);
        const uint32_t first = r->e.out[0].ts_val, srtt_us = b->srtt_us;
        for (int i = 0; i < 2; i++)
            assert_true(raw_wait(r, 3000) != UINT32_MAX);
        const uint32_t last = r->e.out[0].ts_val;
        assert_true(last - first > 500);
        r->ts_ecr = how == 0 ? first : how == 1 ? last : first - 1;
        raw_turn(r, 10);
        raw_seg(r, SEG_ACK, r->seq, b->snd_max, 0, 0);
        raw_turn(r, 0);
        assert_int_equal(b->srtt_us != srtt_us, how < 2);
        end(r);
    }
}

// Dirty blocks that send nothing cost time as well.
static void a_turn_looks_at_so_many_dirty_blocks_and_leaves_the_rest_to_the_next(void **state)
{
    enum { BLOCKS = 3 * TCP_VISITS_MAX / 2 };
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = BLOCKS});
    struct tcp *t = &r->e.tcp;
    t->now = clock_at_us(r->now_us);
    t->out_room = TCP_OUT_MAX;
    for (uint32_t ix = 0; ix < BLOCKS; ix++)
        tcp_dirty(t, ix);
    for (unsigned turn = 0; turn < 2; turn++) {
        const uint32_t before = t->n_dirty;
        tcp_output_dirty(t);
        assert_int_equal(before - t->n_dirty, turn == 0 ? TCP_VISITS_MAX : BLOCKS - TCP_VISITS_MAX);
        assert_int_equal(r->e.stats.c.turns_dirty_limited, 1);
    }
    assert_int_equal(t->dirty_head, BLOCK_NONE);
    raw_free(r, true);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_timer_set_again_and_again_leaves_no_entry_behind),
        T(bytes_that_dribble_in_leave_no_entry_behind),
        T(deadlines_that_come_nearer_and_nearer_are_met_by_one_entry),
        T(half_open_records_have_one_entry_each_however_often_they_begin),
        T(no_peer_and_no_application_has_more_entries_than_its_reserve),
        T(echoes_of_what_was_never_sent_do_not_make_the_timeout_longer),
        T(an_echo_of_either_time_that_a_segment_left_is_measured),
        T(a_turn_looks_at_so_many_dirty_blocks_and_leaves_the_rest_to_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
