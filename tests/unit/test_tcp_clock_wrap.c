// SPDX-License-Identifier: BSD-3-Clause
// Connections that stay idle for longer than 32-bit clocks of milliseconds take to change their
// sign (24.9 days) and to come round (49.7 days), in virtual time.
#include "check.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])
#define DAY_MS    (24ULL * 3600 * 1000)
#define ROUND_MS  (1ULL << 32)

// idle: ms pass, in steps that a clock of 32 bits can tell apart; the wheel has caught up.
static void idle(struct raw *r, uint64_t ms)
{
    while (ms != 0) {
        const uint32_t step = (uint32_t)MIN(ms, 1ULL << 30);
        raw_turn(r, step);
        while (!time_before(r->e.tcp.now.ms, r->e.tcp.wheel->at_ms))
            raw_turn(r, 0);
        ms -= step;
    }
}

static void end_it(struct raw *r)
{
    struct block *b = raw_block(r);
    raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0);
    raw_turn(r, 0);
    idle(r, 200000);
    raw_free(r, true);
}

// echoed: the peer's byte is taken, answered, and the answer sent again until it is acknowledged.
static void echoed(struct raw *r)
{
    const uint64_t before = r->e.role.received;
    raw_send(r, SEG_ACK, before, 1);
    assert_int_equal(r->e.role.received, before + 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).data_len[0], 1);
    assert_true(raw_wait(r, 130000) != UINT32_MAX);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 0).data_len[0], 1);
    r->ack++;
    if (r->ts)
        r->ts_ecr = OUT(r, 0).ts_val;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->rto_at_ms, 0);
    assert_int_equal(raw_block(r)->snd_una, r->ack);
}

// The wheel's entry for a deadline that was called off comes out without a look at its block. Its
// time must not come to look like a time to come when the clock has gone round.
static void a_retransmission_comes_after_an_idle_time_of_any_length(void **state)
{
    static const uint64_t idle_ms[] = {1,
                                       25 * DAY_MS,
                                       50 * DAY_MS,
                                       ROUND_MS / 2 - 100,
                                       ROUND_MS - 100,
                                       ROUND_MS - 1,
                                       ROUND_MS + 100,
                                       2 * ROUND_MS - 100,
                                       100 * DAY_MS};
    for (unsigned start = 0; start < 2; start++)
        for (unsigned i = 0; i < ARRAY_LEN(idle_ms); i++) {
            struct raw *r = raw_new(NULL);
            r->e.role.echo = true;
            idle(r, start * (ROUND_MS / 2 - 1500));
            raw_open(r);
            echoed(r);
            raw_send(r, SEG_ACK, 1, 1);
            const uint32_t xmit = raw_block(r)->wheel_xmit_ms;
            r->ack++;
            raw_send(r, SEG_ACK, 0, 0);
            idle(r, xmit - r->e.tcp.now.ms + idle_ms[i]);
            echoed(r);
            end_it(r);
        }
}

// Each of the three notes, with and without the others.
static void silence_is_the_longest_that_a_note_tells_and_noted_where_none_does(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct block *b = raw_block(r);
    const uint32_t now = r->e.tcp.now.ms;
    for (unsigned ts = 0; ts < 3; ts++)  // none; shorter than the other note; longer
        for (unsigned probes = 0; probes < 2; probes++)
            for (unsigned moved = 0; moved < 2; moved++) {
                const uint32_t stamp_ms = ts == 1 ? 100 : 900, note_ms = probes ? 700 : 500;
                b->flags = (uint16_t)(ts != 0 ? b->flags | BF_TS : b->flags & ~BF_TS);
                b->ts_recent_ms = now - stamp_ms;
                b->probes = (uint8_t)probes;
                b->stuck_at_ms = now - 700;
                b->last_rx_ms = now - 500;
                b->last_progress = tcp_progress(b) + moved;
                const uint32_t note = moved ? 0 : note_ms;
                assert_int_equal(tcp_idle_time_ms(&r->e.tcp, b),
                                 ts != 0 ? MAX(note, stamp_ms) : note);
                const bool noted = moved && ts == 0 && !probes;
                assert_int_equal(b->last_rx_ms, noted ? now : now - 500);
                assert_int_equal(b->last_progress, tcp_progress(b) + (moved && !noted));
            }
    b->flags &= (uint16_t)~BF_TS;
    b->probes = 0;
    b->stuck_at_ms = 0;
    end_it(r);
}

// RFC 7323 5.5: a timestamp older than 24 days says nothing, however old it is, with every clock
// that 5.4 permits: of 1 ms to 1 s a tick.
static void a_peer_that_was_idle_for_weeks_is_not_taken_for_an_old_segment(void **state)
{
    static const uint64_t days[] = {1, 25, 50, 60, 100};
    static const uint32_t tick_ms[] = {1, 2, 1000};
    for (unsigned i = 0; i < ARRAY_LEN(days); i++)
        for (unsigned k = 0; k < ARRAY_LEN(tick_ms); k++) {
            struct raw *r = raw_new(NULL);
            r->e.role.echo = true;
            r->ts = true;
            r->ts_val = 0x10000000;
            raw_open(r);
            echoed(r);
            const uint64_t from_us = r->now_us;
            idle(r, days[i] * DAY_MS);
            r->ts_val += (uint32_t)((r->now_us - from_us) / 1000 / tick_ms[k]);
            echoed(r);
            end_it(r);
        }
}

static void a_timestamp_that_is_old_is_refused_for_24_days(void **state)
{
    static const uint64_t days[] = {0, 1, 23};
    for (unsigned i = 0; i < ARRAY_LEN(days); i++) {
        struct raw *r = raw_new(NULL);
        r->ts = true;
        r->ts_val = 1000;
        raw_open(r);
        idle(r, days[i] * DAY_MS);
        r->ts_val--;
        raw_send(r, SEG_ACK, 0, 1);
        assert_int_equal(r->e.role.received, 0);
        assert_int_equal(r->e.stats.drops[DROP_tcp_old_timestamp], 1);
        end_it(r);
    }
}

static void the_longest_timer_of_an_application_comes_once_and_in_time(void **state)
{
    for (unsigned start = 0; start < 3; start++) {
        struct raw *r = raw_new(NULL);
        r->e.role.timer_ms = 1 << 30;
        idle(r, start * (ROUND_MS / 2 - (1 << 29)));
        raw_open(r);
        idle(r, (1 << 30) - 5);
        assert_int_equal(r->e.role.timers, 0);
        idle(r, 10);
        assert_int_equal(r->e.role.timers, 1);
        idle(r, 50 * DAY_MS);
        assert_int_equal(r->e.role.timers, 1);
        end_it(r);
    }
}

// Ten million blocks: the sweep goes round in days and looks at no more than a few a turn.
static void the_sweep_goes_round_before_the_clock_changes_its_sign(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    const uint64_t rounds = (uint64_t)TCP_SWEEP_STEPS * TCP_SWEEP_MS;
    assert_true(rounds < ROUND_MS / 2);
    assert_int_equal(tcp_sweep(t), 0);
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        t->blocks[i].wheel_xmit_ms = t->now.ms + 1;
        t->blocks[i].flags = BF_TS;
        t->blocks[i].ts_recent_ms = t->now.ms;
    }
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        uint32_t out;
        t->now.ms += TCP_SWEEP_MS;
        assert_int_equal(wheel_expire(t->wheel, t->now.ms, &out, 1), 0);
        assert_int_equal(tcp_sweep(t), 1);
        assert_int_equal(tcp_sweep(t), 0);
    }
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        assert_int_equal(t->blocks[i].wheel_xmit_ms, 0);
        assert_true(t->now.ms - t->blocks[i].ts_recent_ms < TCP_PAWS_MS);
        t->blocks[i].flags = 0;
    }
    t->now.ms += 1 << 30;  // the worker slept: no more than the limit at a time
    assert_true(tcp_sweep(t) <= TCP_SWEEP_MAX);
    raw_free(r, true);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(silence_is_the_longest_that_a_note_tells_and_noted_where_none_does),
        T(a_retransmission_comes_after_an_idle_time_of_any_length),
        T(a_peer_that_was_idle_for_weeks_is_not_taken_for_an_old_segment),
        T(a_timestamp_that_is_old_is_refused_for_24_days),
        T(the_longest_timer_of_an_application_comes_once_and_in_time),
        T(the_sweep_goes_round_before_the_clock_changes_its_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
