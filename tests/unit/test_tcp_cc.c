// SPDX-License-Identifier: BSD-3-Clause
// Congestion control on connections: records, events, undo, idle times, pacing.
#include "check.h"
#include "tcp/tcp_cc.h"
#include "tcp/tcp_pace.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

enum { MSS = 1448, HORIZON_MS = 4096 };  // MSS: without the timestamp

// path: the other end of a connection with a round trip of so many ms. It acknowledges all that it
// gets, once a millisecond.
struct path {
    struct raw *r;
    uint32_t rtt_ms, now_ms;
    uint32_t acks[HORIZON_MS];  // of each ms to come; 0: none
    uint32_t echo[HORIZON_MS];  // their timestamps
    uint32_t sent;              // segments, in the last turn
    bool lose;                  // what leaves now does not arrive
};

static struct path path;

static void pass_ms(uint32_t ms)
{
    struct raw *r = path.r;
    for (; ms != 0; ms--) {
        uint32_t *due = &path.acks[++path.now_ms % HORIZON_MS];
        if (*due != 0) {
            r->ack = *due;
            r->ts_ecr = path.echo[path.now_ms % HORIZON_MS];
            raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
            *due = 0;
        }
        raw_turn(r, 1);
        path.sent = 0;
        const uint32_t then = (path.now_ms + path.rtt_ms) % HORIZON_MS;
        for (unsigned turns = 0; turns < 20; turns++) {
            for (uint32_t i = 0; i < r->e.tcp.n_out && !path.lose; i++)
                path.acks[then] = OUT(r, i).seq + OUT(r, i).data_len[0] + OUT(r, i).data_len[1];
            path.echo[then] = OUT(r, 0).ts_val;
            path.sent += r->e.tcp.n_out;
            if (r->e.tcp.n_out < TCP_OUT_BLOCK_MAX)
                break;
            raw_turn(r, 0);
        }
    }
}

// A connection over such a path that sends without end, and may have that much in flight.
static struct raw *opened(uint32_t rtt_ms, uint8_t congestion, uint32_t pacing_rtt_ms,
                          const struct pair_sizes *sizes)
{
    struct raw *r = raw_new(sizes);
    r->wnd = UINT16_MAX;
    r->ts = true;
    r->e.tcp.services[0].congestion = congestion;
    r->e.tcp.services[0].snd_limit = 1 << 20;
    r->e.tcp.cfg.pacing_rtt_ms = pacing_rtt_ms;
    r->e.role.source = 1ull << 40;
    path = (struct path){.r = r, .rtt_ms = rtt_ms};
    raw_open(r);
    struct block *b = raw_block(r);
    b->snd_wscale = 6;
    b->srtt_us = rtt_ms * 1000 * 8;
    b->rttvar_us = rtt_ms * 1000;
    path.acks[rtt_ms] = b->snd_max;
    path.echo[rtt_ms] = OUT(r, 0).ts_val;
    return r;
}

static void closed(struct raw *r)
{
    r->n = 0;
    raw_turn(r, 1);
    raw_seg(r, SEG_RST, raw_block(r)->rcv_nxt, 0, 0, 0);
    raw_turn(r, 0);
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

static uint32_t records(const struct raw *r)
{
    return (uint32_t)r->e.stats.c.ext_records_now;
}

static void a_record_comes_with_sixteen_segments_and_goes_with_an_rto_of_rest(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct block *b = raw_block(r);
    while (b->cwnd < 16u * MSS) {
        assert_int_equal(records(r), 0);
        pass_ms(1);
    }
    pass_ms(40);
    assert_int_equal(records(r), 1);
    pass_ms(1000);
    assert_int_equal(records(r), 1);
    r->e.role.source = r->e.role.sent;  // it has no more to say
    pass_ms(100 + tcp_rto_ms(&r->e.tcp, b));
    assert_int_equal(b->snd_una, b->snd_max);
    pass_ms(tcp_rto_ms(&r->e.tcp, b) + 10);
    assert_int_equal(records(r), 0);
    closed(r);
}

static void small_answers_give_the_record_back_though_they_go_on(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    pass_ms(300);
    assert_int_equal(records(r), 1);
    const uint32_t ix = (uint32_t)(raw_block(r) - r->e.tcp.blocks);
    r->e.role.source = r->e.role.sent;
    pass_ms(100);
    for (int i = 0; i < 40; i++) {
        struct c10m_conn c = {.k = &r->e.sock, .b = raw_block(r), .ix = ix};
        assert_int_equal(c10m_send(&c, "x", 1), 1);
        r->e.tcp.now = clock_at_us(r->now_us);
        pass_ms(21);
    }
    assert_int_equal(records(r), 0);
    closed(r);
}

static void without_a_record_it_is_newreno_and_counted(void **state)
{
    const struct pair_sizes one = {.exts = 8};
    struct raw *r = opened(20, TCP_CUBIC, 0, &one);
    while (r->e.tcp.ext_pool->n_free > 1)
        index_pool_get(r->e.tcp.ext_pool);
    pass_ms(300);
    struct block *b = raw_block(r);
    assert_true(b->cwnd > 20u * MSS);
    assert_true(r->e.stats.c.cc_records_missed > 0);
    assert_int_equal(records(r), 0);  // the last eighth is for losses
    b->cwnd = 100 * MSS;
    assert_int_equal(tcp_cc_ssthresh(&r->e.tcp, b, 100 * MSS), 50 * MSS);
    b->ssthresh = b->cwnd = 50 * MSS;
    tcp_cc_acked(&r->e.tcp, b, MSS, 0);
    assert_int_equal(b->cwnd, 50 * MSS + MSS / 50);
    assert_false(tcp_cc_undo(&r->e.tcp, b));
    r->e.tcp.ext_pool->n_free = 8;
    closed(r);
}

// RFC 3465 2.1: byte after byte is no more than the same bytes at once.
static void acknowledgments_of_single_bytes_grow_newreno_as_whole_ones(void **state)
{
    static const uint32_t windows[] = {2, 10, 50, 3000};  // segments
    struct raw *r = opened(20, TCP_NEWRENO, 0, NULL);
    struct block *b = raw_block(r);
    const uint32_t una = b->snd_una;
    b->ssthresh = 2 * MSS;
    for (unsigned i = 0; i < ARRAY_LEN(windows); i++) {
        const uint32_t before = b->cwnd = windows[i] * MSS, bytes = 10 * MSS;
        for (uint32_t k = 0; k < bytes; k++) {
            b->snd_una++;
            tcp_cc_acked(&r->e.tcp, b, 1, 0);
        }
        const uint32_t whole = bytes / windows[i];
        assert_in_range(b->cwnd - before, whole / 2, whole + 1);
    }
    b->snd_una = una;
    closed(r);
}

// RFC 7661 4.3: what Nagle held was not held by the window.
static void a_window_that_nagle_leaves_empty_does_not_grow(void **state)
{
    static const uint8_t few[100];
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct block *b = raw_block(r);
    const uint32_t before = b->cwnd;
    struct c10m_conn c = {&r->e.sock, b, (uint32_t)(b - r->e.tcp.blocks), 0};
    for (int i = 0; i < 20; i++) {
        c10m_send(&c, few, sizeof(few));
        raw_turn(r, 1);
        c10m_send(&c, few, sizeof(few));
        raw_turn(r, 1);
        assert_true(seq_lt(b->snd_max, b->snd_end));
        r->ack = b->snd_max;
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(b->cwnd, before);
    closed(r);
}

static void an_event_leaves_each_its_part_of_the_window(void **state)
{
    static const struct {
        uint8_t congestion;
        uint32_t loss, ecn;
    } rows[] = {{TCP_CUBIC, 70 * MSS, 85 * MSS}, {TCP_NEWRENO, 50 * MSS, 50 * MSS}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = opened(20, rows[i].congestion, 0, NULL);
        struct tcp *t = &r->e.tcp;
        struct block *b = raw_block(r);
        b->cwnd = 100 * MSS;
        assert_int_equal(tcp_cc_ssthresh(t, b, 100 * MSS), rows[i].loss);
        assert_true(tcp_cc_undo(t, b));
        assert_int_equal(b->cwnd, 100 * MSS);
        assert_int_equal(b->ssthresh, TCP_WINDOW_MAX);
        assert_false(tcp_cc_undo(t, b));  // once
        tcp_cc_ecn(t, b);
        assert_int_equal(b->cwnd, rows[i].ecn);
        assert_int_equal(b->ssthresh, rows[i].ecn);
        assert_false(tcp_cc_undo(t, b));  // a mark is no mistake
        b->cwnd = 100 * MSS;
        tcp_cc_timeout(t, b, true);
        assert_int_equal(b->cwnd, MSS);
        tcp_cc_timeout(t, b, false);
        assert_true(tcp_cc_undo(t, b));
        assert_int_equal(b->cwnd, 100 * MSS);
        b->cwnd = MSS;
        assert_int_equal(tcp_cc_ssthresh(t, b, MSS), 2 * MSS);
        closed(r);
    }
}

static struct ext_cc *cc_of(struct raw *r)
{
    struct block *b = raw_block(r);
    assert_true(b->flags & BF_EXT);
    return &r->e.tcp.exts[b->ext].cc;
}

static void what_was_before_an_event_comes_back_whole(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    b->cwnd = 100 * MSS;
    b->ssthresh = 90 * MSS;
    tcp_cc_ssthresh(t, b, 100 * MSS);
    cc_of(r)->cubic.w_max = 100 * MSS;
    cc_of(r)->used_ms = t->now.ms - 5000;
    tcp_cc_ssthresh(t, b, 100 * MSS);
    assert_int_equal(cc_of(r)->used_ms, t->now.ms);  // an event is a use: it keeps the record
    tcp_cc_timeout(t, b, false);
    assert_int_equal(cc_of(r)->cubic.w_max,
                     0);  // RFC 9438 4.8: no curve but from where slow start ends
    b->cwnd = 150 * MSS;
    assert_true(tcp_cc_undo(t, b));
    assert_int_equal(b->cwnd, 150 * MSS);  // which has grown since
    assert_int_equal(cc_of(r)->cubic.w_max, 100 * MSS);
    assert_int_equal(b->ssthresh, 70 * MSS);
    closed(r);
}

static void a_rest_moves_the_epoch_and_a_restart_ends_it(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 5, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    b->cwnd = 100 * MSS;
    b->ssthresh = tcp_cc_ssthresh(t, b, 100 * MSS);
    t->now = clock_at_us(t->now.us + 3000000);
    struct ext_cc *c = cc_of(r);
    c->cubic.epoch_ms = t->now.ms - 2000;
    c->used_ms = t->now.ms - 500;
    tcp_cc_acked(t, b, MSS, 20000);
    assert_int_equal(c->cubic.epoch_ms, t->now.ms - 2000 + 500 - 21);  // a round trip is no rest
    b->rtt_us = (uint32_t)t->now.us - (tcp_rto_ms(t, b) + 1) * 1000;
    tcp_cc_restart(t, b);
    assert_int_equal(c->cubic.epoch_ms, 0);
    closed(r);
}

// What is ahead of its time by a tick, or more, waits; and what is further ahead than any round
// trip is of another turn of the clock.
static void what_is_a_tick_ahead_waits(void **state)
{
    enum { TICK_US = 1000, RTT_US = 50000 };
    static const struct {
        uint32_t ahead_us;
        bool leaves;
    } rows[] = {{0, true},
                {TICK_US - 1, true},
                {TICK_US, false},
                {RTT_US + 2 * TICK_US, false},
                {RTT_US + 2 * TICK_US + 1, true}};
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    raw_open(r);
    struct block *b = raw_block(r);
    struct ext_cc *c = &tcp_ext_get(t, b)->cc;
    b->srtt_us = 8 * RTT_US;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        *c = (struct ext_cc){.flags = CC_LIVE, .pace_us = (uint32_t)t->now.us + rows[i].ahead_us};
        assert_int_equal(tcp_pace_room(t, b) != 0, rows[i].leaves);
    }
    raw_free(r, false);
}

// Two round trips without use are none yet, to the millisecond; and the wheel is asked once.
static void a_rest_is_longer_than_two_round_trips(void **state)
{
    enum { RTT_MS = 50 };
    for (unsigned more = 0; more < 2; more++)
        for (unsigned asked = 0; asked < 2; asked++) {
            struct raw *r = raw_new(NULL);
            struct tcp *t = &r->e.tcp;
            t->services[0].congestion = TCP_CUBIC;
            raw_open(r);
            raw_turn(r, 10000);
            struct block *b = raw_block(r);
            const uint32_t now = t->now.ms, used = now - 2 * (RTT_MS + 1) - more;
            struct ext_cc *c = &tcp_ext_get(t, b)->cc;
            *c = (struct ext_cc){.flags = CC_LIVE,
                                 .used_ms = used,
                                 .idle_at_ms = asked ? now + 7 : 0,
                                 .prior_cwnd = 30 * MSS,
                                 .cubic = {.epoch_ms = now - 5000, .w_max = 30 * MSS}};
            b->srtt_us = 8 * RTT_MS * 1000;
            b->cwnd = 20 * MSS;
            b->ssthresh = 10 * MSS;
            tcp_cc_acked(t, b, MSS, 0);
            assert_int_equal(c->used_ms, now);
            assert_int_equal(c->cubic.epoch_ms - (now - 5000), more ? RTT_MS + 2 : 0);
            assert_int_equal(c->idle_at_ms, asked ? now + 7 : now + tcp_timeout_ms(t, b));
            raw_free(r, false);
        }
}

static void what_is_left_of_a_window_after_a_rest_is_paced(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 5, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    assert_int_equal(records(r), 0);
    b->cwnd = 15 * MSS;
    b->rtt_us = (uint32_t)t->now.us - (tcp_rto_ms(t, b) + 1) * 1000;
    tcp_cc_restart(t, b);
    assert_int_equal(records(r), 0);  // the initial window: as at the begin
    b->cwnd = 100 * MSS;
    tcp_cc_restart(t, b);
    assert_int_equal(records(r), 1);
    assert_true(tcp_is_paced(t, b));
    closed(r);
}

// RFC 9438 4.6: flight_size, or cwnd where that was in use.
static void a_loss_takes_its_part_of_cwnd_only_if_that_was_in_use(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    b->cwnd = 100 * MSS;
    assert_int_equal(tcp_cc_ssthresh(t, b, 50 * MSS), 35 * MSS);  // nobody knows
    struct ext_cc *c = &t->exts[b->ext].cc;
    c->used_ms = t->now.ms - 30;
    assert_int_equal(tcp_cc_ssthresh(t, b, 50 * MSS), 70 * MSS);
    c->used_ms = t->now.ms - 50;
    assert_int_equal(tcp_cc_ssthresh(t, b, 50 * MSS), 35 * MSS);
    t->services[0].congestion = TCP_NEWRENO;
    c->used_ms = t->now.ms;
    assert_int_equal(tcp_cc_ssthresh(t, b, 50 * MSS), 25 * MSS);  // RFC 5681 3.1
    closed(r);
}

static void what_was_before_is_known_until_the_timeout_is_repaired(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct block *b = raw_block(r);
    pass_ms(100);
    const uint32_t cwnd = b->cwnd;
    path.lose = true;
    memset(path.acks, 0, sizeof(path.acks));
    pass_ms(2000);  // some timeouts
    assert_true(b->backoff >= 2);
    assert_int_equal(records(r), 1);
    assert_true(tcp_cc_undo(&r->e.tcp, b));
    assert_true(b->cwnd >= cwnd);
    closed(r);
}

// What is acknowledged then may have arrived before the timeout (RFC 3465 2.3). Paced, all that one
// acknowledgment brings counts.
static void an_acknowledgment_of_a_whole_window_after_a_timeout_adds_one_segment(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 5, NULL);
    struct block *b = raw_block(r);
    pass_ms(100);
    assert_true(b->snd_max - b->snd_una > 20u * MSS);
    path.lose = true;
    memset(path.acks, 0, sizeof(path.acks));
    while (r->e.stats.c.rto_fired == 0)
        pass_ms(1);
    assert_int_equal(b->cwnd, MSS);
    r->ack = b->snd_max;
    r->ts_ecr = tcp_ts_now(&r->e.tcp, &b->key);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(b->cwnd, 2 * MSS);
    assert_true(b->ssthresh > 10u * MSS);
    closed(r);
}

static void slow_start_stops_at_ssthresh(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 5, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    pass_ms(100);
    assert_int_equal(records(r), 1);
    assert_true(tcp_is_paced(t, b));
    b->cwnd = 10 * MSS;
    b->ssthresh = 12 * MSS;
    tcp_cc_acked(t, b, 30 * MSS, 20000);
    assert_int_equal(b->cwnd, 12 * MSS);
    closed(r);
}

static void each_rto_of_rest_halves_the_window_down_to_the_initial_one(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct block *b = raw_block(r);
    const uint32_t rto_us = tcp_rto_ms(&r->e.tcp, b) * 1000;
    static const uint32_t left[] = {100, 50, 25, 12, 10, 10};
    for (uint32_t i = 0; i < ARRAY_LEN(left); i++) {
        b->cwnd = 100 * MSS;
        b->ssthresh = 40 * MSS;
        b->rtt_us = (uint32_t)r->e.tcp.now.us - i * rto_us - (i == 0 ? 0 : 1000);
        tcp_cc_restart(&r->e.tcp, b);
        assert_int_equal(b->cwnd, left[i] * MSS + (i == 3 ? MSS / 2 : 0));
        assert_int_equal(b->ssthresh, (i == 0 ? 40 : 75) * MSS);
    }
    b->cwnd = 3 * MSS;
    b->rtt_us -= 1000000000;
    tcp_cc_restart(&r->e.tcp, b);
    assert_int_equal(b->cwnd, 3 * MSS);
    closed(r);
}

// RFC 7661 3: they do not say that the path still takes bursts.
static void lone_segments_do_not_keep_a_window_that_is_not_used(void **state)
{
    static const uint8_t bytes[4 * MSS];
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct block *b = raw_block(r);
    const uint32_t ix = (uint32_t)(b - r->e.tcp.blocks);
    struct c10m_conn c = {.k = &r->e.sock, .b = b, .ix = ix};
    r->e.role.source = r->e.role.sent;
    while (b->snd_una != b->snd_end)
        pass_ms(1);
    b->cwnd = 100 * MSS;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(c10m_send(&c, "x", 1), 1);
        pass_ms(100);
    }
    assert_int_equal(b->cwnd, 100 * MSS);
    assert_int_equal(c10m_send(&c, bytes, sizeof(bytes)), sizeof(bytes));
    pass_ms(1);
    assert_int_equal(b->cwnd, 10 * MSS);
    closed(r);
}

static void a_paced_window_leaves_a_millisecond_at_a_time(void **state)
{
    struct raw *r = opened(50, TCP_CUBIC, 5, NULL);
    struct block *b = raw_block(r);
    pass_ms(400);
    assert_true(b->cwnd > 200u * MSS);
    uint32_t most = 0, all = 0;
    const uint32_t cwnd = b->cwnd, from = b->snd_max;
    for (int i = 0; i < 50; i++) {
        pass_ms(1);
        most = MAX(most, path.sent);
        all += path.sent;
    }
    // Twice the window a round trip at most, of it a tick and what one tick may be late.
    assert_true(most <= 2 * 2 * b->cwnd / MSS / 50 + 2);
    assert_true(all >= cwnd / MSS && all <= 2 * b->cwnd / MSS);
    assert_int_equal(b->snd_max - from, all * MSS);
    closed(r);
}

static void a_slow_paced_window_leaves_a_few_segments_at_a_time(void **state)
{
    struct raw *r = opened(200, TCP_NEWRENO, 5, NULL);
    struct block *b = raw_block(r);
    b->cwnd = 20 * MSS;
    b->ssthresh = 20 * MSS;  // 1.2 windows a round trip: a segment in 8.3 ms
    pass_ms(600);
    assert_int_equal(records(r), 1);
    uint32_t all = 0;
    for (int i = 0; i < 200; i++) {
        pass_ms(1);
        assert_true(path.sent <= 4);
        all += path.sent;
    }
    assert_in_range(all, 15, 26);
    closed(r);
}

static void after_slow_start_the_pace_is_six_fifths_of_the_window_a_round_trip(void **state)
{
    struct raw *r = opened(100, TCP_NEWRENO, 5, NULL);
    struct block *b = raw_block(r);
    tcp_cc_ssthresh(&r->e.tcp, b, 100 * MSS);  // a record
    b->cwnd = 200 * MSS;
    b->ssthresh = 100 * MSS;
    uint32_t all = 0;
    while (path.sent == 0)  // until the first window is acknowledged
        pass_ms(1);
    for (int i = 0; i < 50; i++) {
        pass_ms(1);
        all += path.sent;
    }
    assert_in_range(all, 116, 130);
    closed(r);
}

// The next tick may be further away than the end of the time after which an unused record goes.
static void what_pacing_holds_back_keeps_the_record_that_wakes_it(void **state)
{
    struct raw *r = opened(200, TCP_NEWRENO, 5, NULL);
    struct block *b = raw_block(r);
    const uint32_t ix = (uint32_t)(b - r->e.tcp.blocks);
    pass_ms(900);
    assert_int_equal(records(r), 1);
    r->e.role.source = r->e.role.sent;
    for (int i = 0; i < 60000 && b->snd_una != b->snd_end; i++)
        pass_ms(1);
    assert_int_equal(b->snd_una, b->snd_end);
    assert_int_equal(records(r), 1);
    struct ext_cc *c = &r->e.tcp.exts[b->ext].cc;
    struct c10m_conn conn = {.k = &r->e.sock, .b = b, .ix = ix};
    assert_int_equal(c10m_send(&conn, path.acks, 4 * MSS), 4 * MSS);
    c->pace_us = (uint32_t)r->e.tcp.now.us + (b->srtt_us >> 3);
    pass_ms(1);
    assert_int_equal(path.sent, 0);
    assert_true(c->flags & CC_PACED);
    c->used_ms -= 60 * 1000;
    c->idle_at_ms = r->e.tcp.now.ms;
    tcp_timer(&r->e.tcp, ix, WAKE_XMIT);
    assert_int_equal(records(r), 1);
    for (int i = 0; i < 1000 && b->snd_max != b->snd_end; i++)
        pass_ms(1);
    assert_int_equal(b->snd_max, b->snd_end);
    closed(r);
}

static void a_short_round_trip_is_not_paced(void **state)
{
    struct raw *r = opened(4, TCP_CUBIC, 5, NULL);
    pass_ms(400);
    assert_true(records(r) == 1 && raw_block(r)->cwnd > 100u * MSS);
    for (int i = 0; i < 40; i++) {
        pass_ms(1);
        assert_false(r->e.tcp.exts[raw_block(r)->ext].cc.flags & CC_PACED);
    }
    closed(r);
}

static void without_wheel_chunks_what_is_paced_leaves_all_the_same(void **state)
{
    struct raw *r = opened(50, TCP_CUBIC, 5, NULL);
    pass_ms(200);
    struct wheel *w = r->e.tcp.wheel;
    const uint32_t was = w->free, una = raw_block(r)->snd_una;
    for (int i = 0; i < 200; i++) {
        w->free = WHEEL_EMPTY;  // not even what has come out
        pass_ms(1);
    }
    w->free = was;
    assert_true(w->refused > 0);
    assert_true(raw_block(r)->snd_una - una > 100u * MSS);
    closed(r);
}

// The clock of pacing goes round in 71 minutes: a time of long ago looks like one to come.
static void what_was_not_paced_for_40_minutes_is_paced_by_the_present(void **state)
{
    for (uint32_t minutes = 10; minutes < 71; minutes += 10) {
        struct raw *r = opened(4, TCP_CUBIC, 5, NULL);
        struct block *b = raw_block(r);
        pass_ms(400);
        assert_int_equal(records(r), 1);
        r->e.tcp.exts[b->ext].cc.pace_us = (uint32_t)r->now_us - minutes * 60000000;
        path.rtt_ms = 50;  // the queue on the path has grown
        b->srtt_us = 50 * 1000 * 8;
        const uint32_t una = b->snd_una;
        pass_ms(500);
        assert_true(b->snd_una - una > 100u * MSS);
        closed(r);
    }
}

static void a_window_closed_for_40_minutes_holds_no_record_and_opens_at_once(void **state)
{
    struct raw *r = opened(50, TCP_CUBIC, 5, NULL);
    struct block *b = raw_block(r);
    pass_ms(300);
    assert_int_equal(records(r), 1);
    const uint16_t wnd = r->wnd;
    r->wnd = 0;
    pass_ms(500);
    r->ack = b->snd_una;
    for (uint32_t s = 0; s < 40 * 60; s++) {
        raw_turn(r, 1000);
        if (r->e.tcp.n_out != 0)  // a probe
            raw_send(r, SEG_ACK, 0, 0);
    }
    assert_true(b->flags & BF_PROBE);
    assert_int_equal(records(r), 0);
    r->wnd = wnd;
    const uint32_t una = b->snd_una;
    raw_send(r, SEG_ACK, 0, 0);
    path.now_ms = 0;
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++)
        path.acks[50] = OUT(r, i).seq + OUT(r, i).data_len[0] + OUT(r, i).data_len[1];
    path.echo[50] = OUT(r, 0).ts_val;
    pass_ms(500);
    assert_true(b->snd_una - una > 20u * MSS);
    closed(r);
}

static void a_fin_waits_for_its_tick_and_not_for_an_acknowledgment(void **state)
{
    struct raw *r = opened(200, TCP_NEWRENO, 5, NULL);
    struct block *b = raw_block(r);
    b->cwnd = b->ssthresh = 20 * MSS;
    pass_ms(600);
    r->e.role.source = r->e.role.sent;
    while (b->snd_nxt != b->snd_end)
        pass_ms(1);
    r->e.tcp.exts[b->ext].cc.pace_us = (uint32_t)r->e.tcp.now.us + 20000;
    tcp_close(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks));
    for (uint32_t i = 0; i < ARRAY_LEN(path.acks); i++)
        path.acks[i] = 0;
    pass_ms(1);
    assert_int_equal(b->snd_max, b->snd_end);
    pass_ms(25);
    assert_int_equal(b->snd_max, b->snd_end + 1);
    closed(r);
}

static void without_a_place_in_the_wheel_a_record_still_goes_with_the_next_wake(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct block *b = raw_block(r);
    pass_ms(300);
    r->e.role.source = r->e.role.sent;
    while (b->snd_una != b->snd_end)
        pass_ms(1);
    assert_int_equal(records(r), 1);
    r->e.tcp.exts[b->ext].cc.idle_at_ms = 0;  // refused
    pass_ms(1000);
    const uint32_t ix = (uint32_t)(b - r->e.tcp.blocks);
    tcp_timer(&r->e.tcp, ix, WAKE_XMIT);  // for whatever
    assert_int_equal(records(r), 0);
    closed(r);
}

static void a_growing_round_trip_ends_the_first_slow_start_without_a_loss(void **state)
{
    struct raw *r = opened(50, TCP_CUBIC, 5, NULL);
    struct block *b = raw_block(r);
    for (int i = 0; i < 100 && b->ssthresh >= TCP_WINDOW_MAX; i++) {
        pass_ms(20);
        path.rtt_ms += b->cwnd > 40u * MSS ? 4 : 0;
    }
    assert_true(b->ssthresh < TCP_WINDOW_MAX);
    assert_int_equal(r->e.stats.c.tx_retransmits_segs, 0);
    closed(r);
}

// A peer that fills the window it was told, each round trip of 20 ms, but with `most` bytes at
// most.
static void received(struct raw *r, uint32_t rounds, uint32_t most)
{
    for (uint32_t i = 0; i < rounds; i++) {
        struct block *b = raw_block(r);
        uint32_t left = MIN(b->rcv_adv - b->rcv_nxt, most);
        while (left >= MSS) {
            for (int k = 0; k < 32 && left >= MSS; k++, left -= MSS, r->seq += MSS)
                raw_seg(r, SEG_ACK, r->seq, r->ack, r->e.role.received + (uint64_t)k * MSS, MSS);
            raw_turn(r, 0);
        }
        raw_turn(r, 20);
    }
}

static struct raw *receiving(uint32_t initial, uint32_t limit)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].rcv_initial = initial;
    r->e.tcp.services[0].rcv_limit = limit;
    r->ts = true;
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    s->opts |= SEG_OPT_MSS | SEG_OPT_WSCALE;
    s->mss = 1460;
    raw_turn(r, 1);
    r->ack = OUT(r, 0).seq + 1;
    raw_turn(r, 20);
    raw_send(r, SEG_ACK, 0, 0);
    assert_in_range(raw_block(r)->srtt_us >> 3, 20000, 21000);
    return r;
}

static uint32_t window(struct raw *r)
{
    return raw_block(r)->rcv_adv - raw_block(r)->rcv_nxt;
}

static void the_window_grows_to_its_limit_with_what_a_round_trip_brings(void **state)
{
    struct raw *r = receiving(65536, 1000000);
    uint32_t before = window(r);
    assert_true(before <= 65536);
    for (int i = 0; i < 12; i++) {
        received(r, 1, UINT32_MAX);
        assert_true(window(r) + 128 + MSS >= before);
        before = window(r);
    }
    assert_in_range(before, 1000000 - MSS, 1000000 + 127);
    assert_false(r->e.role.wrong);
    closed(r);
}

static void a_window_that_is_not_filled_stays(void **state)
{
    struct raw *r = receiving(65536, 1 << 20);
    received(r, 100, 20000);  // a third of it
    assert_true(window(r) <= 65536 + 127);
    closed(r);
}

static void a_window_grows_to_between_three_and_six_times_what_comes(void **state)
{
    struct raw *r = receiving(65536, 1 << 20);
    received(r, 100, 50000);
    assert_in_range(window(r), 4 * 65536 - MSS, 4 * 65536 + 127);
    received(r, 100, 100000);
    assert_in_range(window(r), 8 * 65536 - MSS, 8 * 65536 + 127);
    closed(r);
}

static void an_application_that_does_not_read_gets_no_larger_window(void **state)
{
    struct raw *r = receiving(65536, 1 << 20);
    r->e.role.hold = true;
    received(r, 20, UINT32_MAX);
    assert_true(raw_block(r)->rcvq_bytes <= 65536);
    assert_true(window(r) < 2 * MSS);
    closed(r);
}

static void no_window_grows_while_half_of_the_buffers_are_in_use(void **state)
{
    struct raw *r = receiving(65536, 1 << 20);
    struct buf_pool *p = &r->e.tcp.bufs;
    const uint32_t n_free = p->n_free_data;
    p->n_free_data = p->data_count / 2 - 1;
    received(r, 20, UINT32_MAX);
    assert_true(window(r) <= 65536 + 127);
    p->n_free_data = n_free;
    closed(r);
}

static void what_may_be_queued_grows_with_the_window_of_congestion(void **state)
{
    struct raw *r = opened(20, TCP_CUBIC, 0, NULL);
    struct tcp *t = &r->e.tcp;
    struct block *b = raw_block(r);
    t->services[0].snd_initial = 65536;
    t->services[0].snd_limit = 500000;
    b->cwnd = 10 * MSS;
    assert_int_equal(tcp_snd_limit(t, b), 65536);
    b->cwnd = 100000;
    assert_int_equal(tcp_snd_limit(t, b), 200000);
    b->cwnd = TCP_WINDOW_MAX;
    assert_int_equal(tcp_snd_limit(t, b), 500000);
    const uint32_t n_free = t->bufs.n_free_data;
    t->bufs.n_free_data = t->bufs.data_count / 2 - 1;
    assert_int_equal(tcp_snd_limit(t, b), 65536);
    t->bufs.n_free_data = n_free;
    b->cwnd = 10 * MSS;
    closed(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_with_sixteen_segments_and_goes_with_an_rto_of_rest),
        cmocka_unit_test(small_answers_give_the_record_back_though_they_go_on),
        cmocka_unit_test(without_a_record_it_is_newreno_and_counted),
        cmocka_unit_test(acknowledgments_of_single_bytes_grow_newreno_as_whole_ones),
        cmocka_unit_test(a_window_that_nagle_leaves_empty_does_not_grow),
        cmocka_unit_test(an_event_leaves_each_its_part_of_the_window),
        cmocka_unit_test(what_was_before_an_event_comes_back_whole),
        cmocka_unit_test(a_rest_moves_the_epoch_and_a_restart_ends_it),
        cmocka_unit_test(a_rest_is_longer_than_two_round_trips),
        cmocka_unit_test(what_is_a_tick_ahead_waits),
        cmocka_unit_test(what_is_left_of_a_window_after_a_rest_is_paced),
        cmocka_unit_test(a_loss_takes_its_part_of_cwnd_only_if_that_was_in_use),
        cmocka_unit_test(what_was_before_is_known_until_the_timeout_is_repaired),
        cmocka_unit_test(an_acknowledgment_of_a_whole_window_after_a_timeout_adds_one_segment),
        cmocka_unit_test(slow_start_stops_at_ssthresh),
        cmocka_unit_test(each_rto_of_rest_halves_the_window_down_to_the_initial_one),
        cmocka_unit_test(lone_segments_do_not_keep_a_window_that_is_not_used),
        cmocka_unit_test(a_paced_window_leaves_a_millisecond_at_a_time),
        cmocka_unit_test(a_slow_paced_window_leaves_a_few_segments_at_a_time),
        cmocka_unit_test(after_slow_start_the_pace_is_six_fifths_of_the_window_a_round_trip),
        cmocka_unit_test(what_pacing_holds_back_keeps_the_record_that_wakes_it),
        cmocka_unit_test(a_short_round_trip_is_not_paced),
        cmocka_unit_test(without_wheel_chunks_what_is_paced_leaves_all_the_same),
        cmocka_unit_test(what_was_not_paced_for_40_minutes_is_paced_by_the_present),
        cmocka_unit_test(a_window_closed_for_40_minutes_holds_no_record_and_opens_at_once),
        cmocka_unit_test(a_fin_waits_for_its_tick_and_not_for_an_acknowledgment),
        cmocka_unit_test(without_a_place_in_the_wheel_a_record_still_goes_with_the_next_wake),
        cmocka_unit_test(a_growing_round_trip_ends_the_first_slow_start_without_a_loss),
        cmocka_unit_test(the_window_grows_to_its_limit_with_what_a_round_trip_brings),
        cmocka_unit_test(a_window_that_is_not_filled_stays),
        cmocka_unit_test(a_window_grows_to_between_three_and_six_times_what_comes),
        cmocka_unit_test(an_application_that_does_not_read_gets_no_larger_window),
        cmocka_unit_test(no_window_grows_while_half_of_the_buffers_are_in_use),
        cmocka_unit_test(what_may_be_queued_grows_with_the_window_of_congestion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
