// SPDX-License-Identifier: BSD-3-Clause
// The log of what is in flight, against one that knows every byte; and what recovery by it does
// that no single packet script shows.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "sock/sock_internal.h"
#include "tcp/tcp_flight.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

enum { MSS = 1460, BYTES_MAX = 1 << 16 };

// ---- the log

// The log of a block that lies in no connection, and what is known of each of its bytes.
static struct log {
    struct raw *r;
    struct block b;
    uint32_t first;  // sequence number of byte 0
    uint32_t n;
    uint32_t sent_us[BYTES_MAX];
    uint8_t flags[BYTES_MAX];
} g;

static struct flight *log_of(void)
{
    return flight_of(&g.r->e.tcp, &g.b);
}

static void log_new(struct rng *rng)
{
    g.r = raw_new(NULL);
    g.first = (uint32_t)0 - rng_below(rng, 20000);
    g.n = 0;
    g.b = (struct block){.snd_una = g.first, .snd_nxt = g.first, .snd_max = g.first, .mss = 100};
    g.r->e.tcp.now = clock_at_us((1ull << 32) - 5000000);
    assert_non_null(flight_open(&g.r->e.tcp, &g.b, 0));
}

static void log_free(void)
{
    tcp_flight_close(&g.r->e.tcp, &g.b);
    raw_free(g.r, true);
}

static void append(uint32_t bytes)
{
    if (g.n + bytes > BYTES_MAX)
        return;
    const uint32_t now_us = (uint32_t)g.r->e.tcp.now.us;
    for (uint32_t i = 0; i < bytes; i++) {
        g.sent_us[g.n] = now_us;
        g.flags[g.n++] = 0;
    }
    g.b.snd_nxt = g.b.snd_max = g.first + g.n;
    flight_append(flight_room(&g.r->e.tcp, &g.b), g.b.snd_max, now_us);
}

static uint32_t una_at(void)
{
    return g.b.snd_una - g.first;
}

static void sack(uint32_t from, uint32_t to)
{
    struct flight *f = flight_room(&g.r->e.tcp, &g.b);
    flight_sack(&g.r->e.tcp, &g.b, f, (struct seq_range){g.first + from, g.first + to});
    memset(&g.flags[from], FLIGHT_SACKED, to - from);
}

static void ack(uint32_t to)
{
    while (to < g.n && (g.flags[to] & FLIGHT_SACKED))
        to++;
    g.b.snd_una = g.first + to;
    flight_pop(&g.r->e.tcp, &g.b, log_of(), g.b.snd_una);
}

static void lose(uint32_t pick, uint32_t most)
{
    struct flight *f = flight_room(&g.r->e.tcp, &g.b);
    const unsigned i = pick % f->n;
    if (flight_run(f, i)->flags & (FLIGHT_SACKED | FLIGHT_LOST))
        return;
    const uint32_t from = flight_run_start(f, i);
    const uint32_t bytes = MIN(flight_run(f, i)->end - from, most);
    flight_lose(f, i, most);
    for (uint32_t k = 0; k < bytes; k++)
        g.flags[from - g.first + k] |= FLIGHT_LOST;
}

static void again(uint32_t most)
{
    struct flight *f = flight_room(&g.r->e.tcp, &g.b);
    const unsigned i = flight_find_lost(f, 0);
    if (i == f->n)
        return;
    const uint32_t from = flight_run_start(f, i), bytes = MIN(flight_run(f, i)->end - from, most);
    flight_again(f, i, bytes, (uint32_t)g.r->e.tcp.now.us);
    for (uint32_t k = from - g.first; k < from - g.first + bytes; k++) {
        g.flags[k] = FLIGHT_AGAIN;
        g.sent_us[k] = (uint32_t)g.r->e.tcp.now.us;
    }
}

// What a run of the log says of one of its bytes.
static bool says_right(const struct flight_run *r, uint8_t flags, uint32_t sent_us, bool exact)
{
    const uint32_t is = r->flags & (FLIGHT_SACKED | FLIGHT_LOST);
    if (is == FLIGHT_SACKED && !(flags & FLIGHT_SACKED))
        return false;
    if (exact && is != (flags & (uint32_t)(FLIGHT_SACKED | FLIGHT_LOST)))
        return false;
    if (exact && is == 0 && (((r->flags ^ flags) & FLIGHT_AGAIN) || r->sent_us != sent_us))
        return false;
    return is != 0 || (flags & FLIGHT_SACKED) || !time_before(r->sent_us, sent_us);
}

// The log is in order, and says nothing that is not so. exact: it also says all that is.
static void compare(bool exact)
{
    const struct flight *f = log_of();
    uint32_t at = g.b.snd_una, sacked = 0, lost = 0;
    assert_int_equal(f->una, at);
    assert_true(f->first + f->n <= f->cap);
    for (unsigned i = 0; i < f->n; i++) {
        const struct flight_run *r = &f->run[f->first + i];
        assert_true(seq_lt(at, r->end));
        for (uint32_t k = at - g.first; k < r->end - g.first; k++)
            if (!says_right(r, g.flags[k], g.sent_us[k], exact))  // an assertion a byte is slow
                fail_msg("run %u says of byte %u what is not so", i, k);
        sacked += r->flags & FLIGHT_SACKED ? r->end - at : 0;
        lost += r->flags & FLIGHT_LOST ? r->end - at : 0;
        at = r->end;
    }
    assert_int_equal(at, g.b.snd_max);
    assert_int_equal(sacked, f->sacked);
    assert_int_equal(lost, f->lost);
}

static void step(struct rng *rng, uint32_t most)
{
    const uint32_t una = una_at(), flight = g.n - una;
    struct tcp *t = &g.r->e.tcp;
    t->now = clock_at_us(t->now.us + rng_below(rng, 3) * rng_below(rng, 2000));
    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        append(1 + rng_below(rng, 300));
        break;
    case 2:
        if (flight > 2) {
            const uint32_t from = una + 1 + rng_below(rng, flight - 2);
            sack(from, from + 1 + rng_below(rng, MIN(g.n - from - 1, most)));
        }
        break;
    case 3:
        if (flight > 1 && rng_below(rng, 4) == 0)
            ack(una + 1 + rng_below(rng, MIN(flight - 1, 2 * most)));
        break;
    case 4:
        if (flight != 0)
            lose(rng_below(rng, 1000), 1 + rng_below(rng, 400));
        break;
    default:
        again(1 + rng_below(rng, 300));
        break;
    }
}

static void a_log_with_room_is_exact(void **state)
{
    struct rng rng = test_rng(__func__);
    for (int round = 0; round < 400; round++) {
        log_new(&rng);
        append(5000);
        for (int i = 0; i < 14 && una_at() < g.n; i++) {  // not as many runs as it holds
            step(&rng, 500);
            compare(true);
        }
        assert_int_equal(g.b.flight & FLIGHT_LARGE, 0);
        log_free();
    }
}

static void a_full_log_claims_nothing_that_is_not_so(void **state)
{
    struct rng rng = test_rng(__func__);
    unsigned large = 0;
    for (int round = 0; round < 16; round++) {
        log_new(&rng);
        // Half of them find no large record.
        if (round % 2 != 0)
            while (index_pool_get(g.r->e.tcp.flights.large_free) != INDEX_NONE)
                ;
        for (int i = 0; i < 700; i++) {
            step(&rng, 200);
            compare(false);
        }
        large += (g.b.flight & FLIGHT_LARGE) != 0;
        assert_true((g.b.flight & FLIGHT_LARGE) == 0 || round % 2 == 0);
        const uint32_t n = g.r->e.tcp.flights.large_free->count;
        if (round % 2 != 0)
            for (uint32_t i = 0; i < n; i++)
                index_pool_put(g.r->e.tcp.flights.large_free, i);
        log_free();
    }
    assert_true(large > 4);
}

// A stream of so many turns, none of it acknowledged: no time is wrong by more than an eighth of
// what the log covers.
static void a_long_flight_keeps_its_times_to_an_eighth(void **state)
{
    struct rng rng = test_rng(__func__);
    log_new(&rng);
    while (index_pool_get(g.r->e.tcp.flights.large_free) != INDEX_NONE)
        ;
    const uint32_t begin_us = (uint32_t)g.r->e.tcp.now.us;
    tcp_flight_close(&g.r->e.tcp, &g.b);
    assert_non_null(flight_open(&g.r->e.tcp, &g.b, begin_us));
    for (int i = 0; i < 5000; i++) {
        g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 10);
        append(10);
    }
    compare(false);
    const struct flight *f = log_of();
    const uint32_t age_us = (uint32_t)g.r->e.tcp.now.us - begin_us;
    for (unsigned i = 0; i < f->n; i++) {
        const uint32_t at = flight_run_start(f, i) - g.first;
        assert_true(f->run[f->first + i].sent_us - g.sent_us[at] <= age_us / 8);
    }
    for (uint32_t i = 0; i < g.r->e.tcp.flights.large_free->count; i++)
        index_pool_put(g.r->e.tcp.flights.large_free, i);
    log_free();
}

// A log with n runs of ten bytes, a millisecond apart, and no large record to be had but `large`.
static void log_of_runs(unsigned n, unsigned large)
{
    struct rng rng = {.state = n};
    log_new(&rng);
    for (unsigned i = g.r->e.tcp.flights.large_free->count; i > large; i--)
        index_pool_get(g.r->e.tcp.flights.large_free);
    for (unsigned i = 0; i < n; i++) {
        g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 1000);
        append(10);
    }
}

static void log_drop(void)
{
    tcp_flight_close(&g.r->e.tcp, &g.b);
    raw_free(g.r, false);
}

static void what_is_sacked_or_lost_is_one_run_whatever_its_times(void **state)
{
    log_of_runs(6, 0);
    sack(20, 30);
    sack(40, 50);
    assert_int_equal(log_of()->n, 6);
    sack(30, 40);
    assert_int_equal(log_of()->n, 4);
    assert_int_equal(flight_run(log_of(), 2)->flags, FLIGHT_SACKED | FLIGHT_COARSE);
    flight_renege(log_of());
    assert_int_equal(log_of()->n, 1);
    assert_int_equal(log_of()->sacked, 0);
    assert_int_equal(log_of()->lost, 60);
    log_drop();
    log_of_runs(1, 0);
    sack(2, 4);
    sack(4, 6);
    assert_int_equal(log_of()->n, 3);
    assert_int_equal(flight_run(log_of(), 1)->flags, FLIGHT_SACKED);  // of one time
    log_drop();
}

static void a_log_that_is_just_not_full_stays_as_it_is(void **state)
{
    log_of_runs(0, 0);
    const unsigned cap = log_of()->cap;
    log_drop();
    log_of_runs(cap - 1, 0);
    ack(10);
    assert_int_equal(log_of()->n, cap - 2);
    assert_int_equal(log_of()->first, 1);
    const struct flight *f = flight_room(&g.r->e.tcp, &g.b);
    assert_int_equal(f->n, cap - 2);
    assert_int_equal(f->first, 0);
    compare(true);
    assert_int_equal(g.r->e.stats.c.sack_forgotten, 0);
    for (unsigned i = 0; i < 3; i++) {  // now it is: only the time tells its runs apart
        g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 1000);
        append(10);
    }
    assert_true(log_of()->n < cap - 2);
    compare(false);
    log_drop();
}

static void a_large_record_goes_to_holes_and_to_others_while_there_are_many(void **state)
{
    const unsigned all = FLIGHT_LARGE_MIN;
    for (unsigned holes = 0; holes < 2; holes++)
        for (unsigned left = 0; left <= all; left++) {
            log_of_runs(0, 0);
            const unsigned cap = log_of()->cap;
            log_drop();
            log_of_runs(cap - 1, left);
            if (holes) {
                flight_run(log_of(), 3)->flags = FLIGHT_SACKED;
                log_of()->sacked = 10;
            }
            const bool grows = holes ? left != 0 : left > all / 2;
            flight_room(&g.r->e.tcp, &g.b);
            assert_int_equal((g.b.flight & FLIGHT_LARGE) != 0, grows);
            assert_int_equal(g.r->e.stats.c.flight_logs_large_missed, holes && left == 0);
            assert_int_equal(log_of()->cap > cap, grows);
            assert_int_equal(log_of()->n == cap - 1, grows);
            log_drop();
        }
}

// As long as a fifth of the places is free once the front has moved, nothing else is done.
static void a_log_grows_where_a_fifth_of_it_is_not_free(void **state)
{
    log_of_runs(0, 0);
    const unsigned cap = log_of()->cap;
    log_drop();
    for (unsigned n = cap / 2; n < cap - 2; n++) {
        log_of_runs(cap - 1, 1);
        ack(10 * (cap - 1 - n));
        assert_int_equal(log_of()->n, n);
        flight_run(log_of(), n / 2)->flags = FLIGHT_SACKED;
        log_of()->sacked = 10;
        flight_room(&g.r->e.tcp, &g.b);
        assert_int_equal((g.b.flight & FLIGHT_LARGE) != 0, n + n / 4 + 2 > cap);
        log_drop();
    }
}

// Karn's rule, RFC 6298 3: nor does anything that is acknowledged with it.
static void what_left_again_measures_no_round_trip(void **state)
{
    for (unsigned which = 0; which < 3; which++) {  // none, the first, the second left again
        log_of_runs(2, 0);
        struct flight *f = log_of();
        if (which != 0)
            flight_run(f, which - 1)->flags = FLIGHT_AGAIN;
        g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 500);
        ack(20);
        assert_int_equal(f->rtt_us, which == 0 ? 1500 : 0);
        log_drop();
    }
}

// Of several times that became one, only the end left at the time that is known.
static void the_middle_of_a_coarse_run_measures_nothing(void **state)
{
    log_of_runs(1, 0);
    struct flight *f = log_of();
    flight_run(f, 0)->flags = FLIGHT_COARSE;
    g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 500);
    ack(5);
    assert_int_equal(f->rtt_us, 0);
    assert_int_equal(f->min_rtt_us, 0);
    ack(10);
    assert_int_equal(f->rtt_us, 500);
    assert_int_equal(f->min_rtt_us, 500);
    log_drop();
}

// Holes between any two: n is how many runs there are then.
static void log_of_holes(unsigned n)
{
    log_of_runs(1, 0);
    append(495);
    g.r->e.tcp.now = clock_at_us(g.r->e.tcp.now.us + 1000);
    append(505);
    for (unsigned i = 0; log_of()->n + 2u <= n; i++)
        sack(10 + 20 * i, 20 + 20 * i);
    if (log_of()->n < n)
        sack(1000, 1010);
    assert_int_equal(log_of()->n, n);
}

static bool finds_room(uint32_t from, uint32_t to)
{
    const struct seq_range r = {g.first + from, g.first + to};
    return flight_room_for(&g.r->e.tcp, &g.b, r) != NULL;
}

static void in_a_log_that_is_nearly_full_a_report_has_to_touch_another(void **state)
{
    static const struct {
        uint32_t from, to;
        bool touches;
    } rows[] = {{3, 5, false},  {5, 9, false},     {5, 10, true},    {5, 30, true},  {10, 20, true},
                {12, 14, true}, {20, 22, true},    {21, 29, false},  {21, 30, true}, {22, 45, true},
                {20, 30, true}, {505, 510, false}, {900, 990, false}};
    log_of_runs(0, 0);
    const unsigned cap = log_of()->cap, most = cap - cap / FLIGHT_SPARED_SHARE;
    log_drop();
    for (unsigned n = most - 1; n < most + 2; n += 2)
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
            log_of_holes(n);
            const bool is = n <= most || rows[i].touches;
            assert_int_equal(finds_room(rows[i].from, rows[i].to), is);
            assert_int_equal(log_of()->full, !is);
            assert_int_equal(g.r->e.stats.c.sack_forgotten, !is);
            log_drop();
        }
    log_of_holes(most);  // and not one less
    assert_true(finds_room(505, 510));
    log_drop();
    log_of_holes(most + 1);
    assert_false(finds_room(505, 510));
    log_drop();
}

// ---- recovery

static struct raw *opened(uint64_t source)
{
    struct raw *r = raw_new(NULL);
    r->sack = true;
    r->e.role.source = source;
    raw_open(r);
    return r;
}

static struct flight *log_in(struct raw *r)
{
    assert_true(raw_block(r)->has_flight);
    return flight_of(&r->e.tcp, raw_block(r));
}

static void reset_and_free(struct raw *r)
{
    r->n = 0;
    raw_turn(r, 1);
    struct block *b = raw_block(r);
    if (b != NULL) {
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0);
        raw_turn(r, 0);
    }
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

// Acknowledges nothing new, with a block at segments [from, to) of what was sent.
static void sacked(struct raw *r, uint32_t from, uint32_t to, uint32_t ms)
{
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + from * MSS, r->ack + to * MSS);
    raw_turn(r, ms);
}

// The peer had again what it acknowledged last.
static void reported_twice(struct raw *r)
{
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack - MSS, r->ack);
    raw_turn(r, 0);
}

static void a_dsack_widens_the_window_of_reordering_once_a_round_trip(void **state)
{
    struct raw *r = opened(200000);
    const struct flight *f = log_in(r);
    assert_int_equal(f->reo_mult, 1);
    r->ack += MSS;
    raw_send(r, SEG_ACK, 0, 0);
    for (int i = 0; i < 3; i++)  // all in one round trip
        reported_twice(r);
    assert_int_equal(f->reo_mult, 2);
    assert_int_equal(f->reo_persist, FLIGHT_REO_PERSIST);
    const uint32_t round = f->dsack_round;
    r->ack += MSS;
    raw_send(r, SEG_ACK, 0, 0);  // another segment leaves, beyond that round
    reported_twice(r);
    assert_int_equal(f->reo_mult, 2);
    assert_true(seq_lt(round, raw_block(r)->snd_max));
    r->ack = round;
    raw_send(r, SEG_ACK, 0, 0);
    reported_twice(r);
    assert_int_equal(log_in(r)->reo_mult, 3);
    reset_and_free(r);
}

static void sixteen_recoveries_without_dsack_make_it_narrow_again(void **state)
{
    struct flight f = {.reo_mult = 5, .reo_persist = FLIGHT_REO_PERSIST};
    for (int i = 1; i < FLIGHT_REO_PERSIST; i++)
        rack_calm(&f);
    assert_int_equal(f.reo_mult, 5);
    rack_calm(&f);
    assert_int_equal(f.reo_mult, 1);
    rack_calm(&f);
    assert_int_equal(f.reo_mult, 1);
    assert_int_equal(f.reo_persist, 0);
}

static void the_window_of_reordering_is_never_longer_than_a_round_trip(void **state)
{
    const struct block b = {.srtt_us = 8 * 10000, .mss = MSS};
    struct flight f = {.reo_mult = UINT8_MAX, .min_rtt_us = 9000, .reordering = 1};
    assert_int_equal(rack_window(&b, &f), 10000);
    f.reo_mult = 2;
    assert_int_equal(rack_window(&b, &f), 4500);
    f.reordering = 0;
    assert_int_equal(rack_window(&b, &f), 4500);  // nothing SACKed: it may be late only
    f.sacked = 2 * MSS + 1;
    assert_int_equal(rack_window(&b, &f), 0);
    f.sacked = 0;
    f.state = FLIGHT_LOSS;
    assert_int_equal(rack_window(&b, &f), 0);
}

// RFC 7323 3.2: an echo of zero is none; nor is one that was not agreed on, or did not come.
static void an_echo_is_one_if_timestamps_are_agreed_on_and_it_is_not_zero(void **state)
{
    struct raw *r = opened(100000);
    const struct tcp *t = &r->e.tcp;
    struct flight *f = log_in(r);
    const uint32_t now = tcp_ts_now(t, &raw_block(r)->key);
    const uint32_t ecr[] = {0, now, now - 7};
    for (unsigned has_ts = 0; has_ts < 2; has_ts++)
        for (unsigned i = 0; i < ARRAY_LEN(ecr); i++) {
            f->echo_ms = 1;
            rack_echo(t, raw_block(r), f, has_ts, ecr[i]);
            assert_int_equal(f->has_echo, has_ts && i != 0);
            assert_int_equal(f->echo_ms, has_ts && i != 0 ? t->now.ms - (now - ecr[i]) : 1);
            assert_int_equal(f->acked, raw_block(r)->snd_una);
        }
    reset_and_free(r);
}

// Step 2: of what left again, what a timestamp echoes tells which of the two arrived, if nothing is
// missing before it; else the time does.
static void what_left_twice_counts_if_it_can_have_been_the_second(void **state)
{
    struct raw *r = opened(100000);
    const struct tcp *t = &r->e.tcp;
    const struct block *b = raw_block(r);
    const uint32_t sent_us = (uint32_t)t->now.us - 3000;
    for (unsigned i = 0; i < 32; i++) {
        const bool again = i & 1, echo = i & 2, below = i & 4, late = i & 8, slow = i & 16;
        const struct flight_run run = {b->snd_una + 100, sent_us, again ? FLIGHT_AGAIN : 0};
        struct flight f = {.has_echo = echo,
                           .echo_ms = t->now.ms - (late ? 3 : 4),
                           .acked = run.end - !below,
                           .min_rtt_us = slow ? 3000 : 4000,
                           .fack = b->snd_una + 1000};
        const bool counts = !again || (echo && below ? late : slow);
        rack_delivered(t, b, &f, &run, run.end, true);
        assert_int_equal(f.has_rack, counts);
    }
    reset_and_free(r);
}

// Nothing is undone that was not begun, and nothing before it left again.
static void before_anything_left_again_there_is_nothing_to_undo(void **state)
{
    struct raw *r = opened(100000);
    struct block *b = raw_block(r);
    struct ext_cc *c = &tcp_ext_get(&r->e.tcp, b)->cc;
    for (unsigned i = 0; i < 4; i++) {
        struct flight f = {
            .can_undo = i & 1, .sent_again = i >> 1, .dsack = 1, .state = FLIGHT_RECOVERY};
        *c = (struct ext_cc){.flags = CC_LIVE | CC_UNDO, .prior_cwnd = b->cwnd};
        assert_int_equal(undo_judge(&r->e.tcp, b, &f), i == 3);
        assert_int_equal(f.state, i == 3 ? FLIGHT_OPEN : FLIGHT_RECOVERY);
    }
    for (unsigned in = FLIGHT_OPEN; in <= FLIGHT_LOSS; in++) {  // a recovery ends by it, too
        struct flight f = {
            .can_undo = 1, .sent_again = 1, .dsack = 1, .state = (uint8_t)in, .reo_persist = 2};
        *c = (struct ext_cc){.flags = CC_LIVE | CC_UNDO, .prior_cwnd = b->cwnd};
        assert_true(undo_judge(&r->e.tcp, b, &f));
        assert_int_equal(f.reo_persist, in == FLIGHT_OPEN ? 2 : 1);
        assert_int_equal(f.state, FLIGHT_OPEN);
    }
    raw_free(r, false);
}

// RFC 8985 6.2, step 1: of what has arrived that counts which left last, and of one burst the last.
static void the_latest_segment_that_arrived_is_remembered(void **state)
{
    struct raw *r = opened(100000);
    const struct tcp *t = &r->e.tcp;
    const struct block *b = raw_block(r);
    const uint32_t now_us = (uint32_t)t->now.us;
    for (unsigned had = 0; had < 2; had++)
        for (unsigned when = 0; when < 3; when++)
            for (unsigned end = 0; end < 3; end++) {
                struct flight f = {.has_rack = had,
                                   .rack_sent_us = now_us - 500,
                                   .rack_end = b->snd_una + 100,
                                   .fack = b->snd_una + 1000};
                const struct flight_run run = {b->snd_una + 99 + end, now_us - 501 + when, 0};
                const bool later = !had || when == 2 || (when == 1 && end == 2);
                rack_delivered(t, b, &f, &run, run.end, true);
                assert_true(f.has_rack);
                assert_int_equal(f.rack_sent_us, later ? run.sent_us : now_us - 500);
                assert_int_equal(f.rack_end, later ? run.end : b->snd_una + 100);
                assert_int_equal(f.rack_rtt_us, later ? now_us - run.sent_us : 0);
            }
    reset_and_free(r);
}

// Step 1, of the shortest and of the last round trip: what left again tells neither, nor what was
// written down later, nor the middle of runs that were put together.
static void what_left_once_and_is_known_by_itself_measures_the_round_trip(void **state)
{
    struct raw *r = opened(100000);
    const struct tcp *t = &r->e.tcp;
    const struct block *b = raw_block(r);
    const uint32_t flags[] = {0, FLIGHT_AGAIN, FLIGHT_GUESS, FLIGHT_COARSE},
                   had_us[] = {0, 300, 500, 700};
    for (unsigned i = 0; i < ARRAY_LEN(flags); i++)
        for (unsigned k = 0; k < ARRAY_LEN(had_us); k++)
            for (unsigned whole = 0; whole < 2; whole++) {
                struct flight f = {.min_rtt_us = had_us[k], .rtt_us = k == 1 ? 9 : 0};
                const struct flight_run run = {b->snd_una + 1, (uint32_t)t->now.us - 500, flags[i]};
                const bool tells = i == 0 || (i == 3 && whole);
                rack_delivered(t, b, &f, &run, run.end, whole);
                assert_int_equal(f.min_rtt_us, !tells || k == 1 || k == 2 ? had_us[k] : 500);
                assert_int_equal(f.rtt_us, k == 1 ? 9 : tells ? 500 : 0);
            }
    reset_and_free(r);
}

// Step 3. Each counted once, and of what left again nobody knows.
static void what_arrives_behind_later_ones_is_reordering_if_it_left_once(void **state)
{
    struct raw *r = opened(100000);
    const struct tcp *t = &r->e.tcp;
    const struct block *b = raw_block(r);
    for (unsigned again = 0; again < 2; again++)
        for (unsigned known = 0; known < 2; known++)
            for (uint32_t end = 9; end < 12; end++) {
                struct flight f = {.fack = b->snd_una + 10, .reordering = known, .min_rtt_us = 1};
                const struct flight_run run = {b->snd_una + end, (uint32_t)t->now.us - 500,
                                               again ? FLIGHT_AGAIN : 0};
                r->e.stats.c.sack_reorders = 0;
                rack_delivered(t, b, &f, &run, run.end, true);
                assert_int_equal(f.fack, b->snd_una + MAX(end, 10));
                assert_int_equal(f.reordering, known || (!again && end == 9));
                assert_int_equal(r->e.stats.c.sack_reorders, !known && !again && end == 9);
                assert_int_equal(f.orig_acked, !again && seq_leq(run.end, b->recover));
            }
    reset_and_free(r);
}

// RFC 6675 4, IsLost(): three ranges, or more than two segments.
static void three_reports_make_it_narrow_and_two_do_not(void **state)
{
    struct raw *r = opened(100000);
    struct flight *f = log_in(r);
    const struct block *b = raw_block(r);
    for (uint32_t bytes = 1; bytes <= MSS; bytes += MSS - 1)
        for (uint32_t i = 0; i < 4; i++) {
            f->first = 0;
            f->n = (uint16_t)(2 * i);
            for (uint32_t k = 0; k < 2 * i; k++)
                f->run[k] = (struct flight_run){b->snd_una + k, 0, k % 2 ? FLIGHT_SACKED : 0};
            f->run[2 * i] = (struct flight_run){b->snd_una + 2 * i, 0, FLIGHT_SACKED};  // not of it
            f->sacked = i * bytes;
            f->min_rtt_us = 4000;
            assert_int_equal(rack_window(b, f) == 0, i >= 3);
        }
    f->n = 1;
    f->sacked = 2 * MSS;
    assert_int_not_equal(rack_window(b, f), 0);
    raw_free(r, false);
}

static void a_smaller_segment_size_keeps_what_the_peer_has(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 3, 0);
    const struct icmp_event e = {
        .key = raw_block(r)->key, .seq = r->ack, .mtu = 1040, .kind = ICMP_TOO_BIG};
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, &e, &v);
    assert_int_equal(raw_block(r)->mss, 1000);
    raw_turn(r, 1);
    const uint32_t want[][2] = {{0, 1000}, {1000, 460}, {3 * MSS, 1000}};
    for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(OUT(r, i).seq - r->ack, want[i][0]);
        assert_int_equal(OUT(r, i).data_len[0] + OUT(r, i).data_len[1], want[i][1]);
    }
    reset_and_free(r);
}

static void reports_out_of_order_in_one_acknowledgment_are_no_reordering(void **state)
{
    struct raw *r = opened(100000);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);  // the latest first, as RFC 2018 4 has it
    raw_sack(r, r->ack + 6 * MSS, r->ack + 7 * MSS);
    raw_sack(r, r->ack + 4 * MSS, r->ack + 5 * MSS);
    raw_sack(r, r->ack + 2 * MSS, r->ack + 3 * MSS);
    raw_turn(r, 1);
    assert_int_equal(log_in(r)->reordering, 0);
    assert_int_equal(r->e.stats.c.sack_reorders, 0);
    reset_and_free(r);
}

static void forged_reports_of_single_bytes_fill_a_large_log_and_no_more(void **state)
{
    struct raw *r = opened(400000);
    r->e.tcp.services[0].snd_limit = 400000;
    for (uint32_t i = 0; i < 4000 && raw_block(r)->has_flight; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t at = r->ack + 2 + (3 * i + k) * 2 % (uint32_t)(10 * MSS - 4);
            raw_sack(r, at, at + 1);
        }
        raw_turn(r, 0);
    }
    assert_int_equal(r->e.stats.c.flight_logs_large_now, 1);
    assert_true(r->e.stats.c.sack_forgotten > 100);
    assert_int_equal(log_in(r)->full, 1);  // and the times of its runs are not weighed again
    r->ack += MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(log_in(r)->full, 0);
    reset_and_free(r);
}

// What left again is lost again, as a report of one byte shows: nothing is in flight whose
// acknowledgment could let more leave.
static void a_recovery_with_nothing_in_flight_goes_on_by_a_segment(void **state)
{
    struct raw *r = opened(400000);
    raw_turn(r, 50);
    sacked(r, 7, 10, 0);
    const struct flight *f = log_in(r);
    assert_int_equal(f->state, FLIGHT_RECOVERY);
    r->ack += MSS;
    raw_turn(r, 50);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 0);
    assert_true(r->e.tcp.n_out > 0);
    const struct seg_out *last = &OUT(r, r->e.tcp.n_out - 1);
    const uint32_t end = last->seq + last->data_len[0] + last->data_len[1];
    raw_turn(r, 50);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, end - 1, end);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(r->e.stats.c.rto_fired, 0);
    reset_and_free(r);
}

static void a_probe_that_was_too_large_says_nothing_of_a_loss(void **state)
{
    struct raw *r = opened(5 * MSS);
    assert_true(raw_wait(r, 1000) != UINT32_MAX);
    assert_int_equal(r->e.stats.c.loss_probes, 1);
    const struct icmp_event e = {
        .key = raw_block(r)->key, .seq = r->ack, .mtu = 1040, .kind = ICMP_TOO_BIG};
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, &e, &v);
    assert_int_equal(log_in(r)->probe_out, 0);
    raw_turn(r, 100);
    r->ack = raw_block(r)->snd_max;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.c.loss_probe_recoveries, 0);
    reset_and_free(r);
}

static void with_a_timeout_undone_the_user_timeout_begins_anew(void **state)
{
    struct raw *r = opened(4 * MSS);
    struct block *b = raw_block(r);
    for (int i = 0; i < 5000 && r->e.stats.c.rto_fired == 0; i++)
        raw_turn(r, 1);
    assert_true(b->stuck_at_ms != 0 && b->backoff != 0);
    const uint32_t again = log_in(r)->again_bytes;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + MSS, r->ack + MSS + again);
    raw_sack(r, r->ack + MSS, r->ack + 3 * MSS);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.loss_undos, 1);
    assert_int_equal(b->backoff, 0);
    assert_int_equal(b->stuck_at_ms, 0);
    reset_and_free(r);
}

// A connection that found no log; from now on there are some.
static struct raw *opened_without_a_log(uint64_t source)
{
    struct raw *r = raw_new(NULL);
    struct index_pool *p = r->e.tcp.flights.small_free;
    uint32_t taken[64], n = 0;
    while (n < ARRAY_LEN(taken) && (taken[n] = index_pool_get(p)) != INDEX_NONE)
        n++;
    r->sack = true;
    r->e.role.source = source;
    raw_open(r);
    assert_false(raw_block(r)->has_flight);
    while (n != 0)
        index_pool_put(p, taken[--n]);
    return r;
}

static void what_a_recovery_without_a_log_has_begun_it_ends(void **state)
{
    struct raw *r = opened_without_a_log(100000);
    sacked(r, 1, 4, 0);
    assert_true(tcp_recovering(&r->e.tcp, raw_block(r)));
    for (uint32_t i = 5; i < 10; i++) {
        sacked(r, 1, i, 0);
        assert_false(raw_block(r)->has_flight);
    }
    assert_true(r->e.stats.c.tx_retransmits_segs > 0);
    reset_and_free(r);
}

// After a timeout there is a log, if one is left, of what left before it.
static void a_timeout_opens_a_log_and_what_leaves_again_without_one_does_not(void **state)
{
    struct raw *r = opened_without_a_log(100000);
    assert_true(raw_wait(r, 3000) != UINT32_MAX);
    assert_int_equal(r->e.stats.c.rto_fired, 1);
    assert_true(raw_block(r)->has_flight);
    reset_and_free(r);
    r = opened_without_a_log(100000);
    struct block *b = raw_block(r);
    b->snd_nxt = b->snd_una + MSS;  // as it is where none was left
    b->snd_cur = b->snd_head;
    b->recover = b->snd_max;
    b->cwnd = 3 * MSS;
    tcp_dirty(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks));
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(OUT(r, 0).seq, r->ack + MSS);
    assert_false(b->has_flight);
    reset_and_free(r);
}

static void with_a_log_a_lossy_stream_has_few_timeouts(void **state)
{
    uint64_t timeouts[2] = {0, 0};
    for (int with = 0; with < 2; with++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct pair *p = pair_new(seed);
            p->loss_pm = 20;
            p->delay_us = 10000;
            for (int k = 0; k < 2; k++)
                p->e[k].tcp.cfg.sack = with;
            p->e[0].role = (struct role){.source = 300000, .shut = true};
            p->e[1].role.shut_on_end = true;
            end_connect(&p->e[0], p->e[1].v4, PAIR_PORT);
            pair_run(p, 4000 * 1000);
            assert_int_equal(p->e[1].role.received, 300000);
            timeouts[with] += p->e[0].stats.c.rto_fired;
            pair_free(p, true);
        }
    printf("timeouts: %u without SACK, %u with a log\n", (unsigned)timeouts[0],
           (unsigned)timeouts[1]);
    assert_true(timeouts[1] * 3 < timeouts[0]);
}

// A timeout that is called needless sent again what had arrived: the peer has seen it twice, unless
// the link lost what left again. With and without SACK, and timestamps.
static void each_timeout_that_is_undone_was_needless(void **state)
{
    struct rng rng = test_rng(__func__);
    unsigned undone = 0, timeouts = 0, strict = 0;
    for (unsigned i = 0; i < 160; i++) {
        struct pair *p = pair_new(rng_u64(&rng));
        p->delay_us = 10000;
        for (int k = 0; k < 2; k++) {
            p->e[k].tcp.cfg.sack = i & 1;
            p->e[k].tcp.cfg.timestamps = (i & 2) != 0;
        }
        p->e[0].role = (struct role){.source = 300000};
        end_connect(&p->e[0], p->e[1].v4, PAIR_PORT);
        pair_run_for(p, 60);
        p->loss_pm = i & 4 ? 100 : 0;
        p->reorder_pm = 20;
        for (int k = 0; k < 6; k++) {
            p->delay_us = k % 2 != 0 ? 10000 : 350000;  // the path stands still for a while
            pair_run_for(p, 300);
        }
        pair_run_for(p, 20000);
        p->loss_pm = 0;  // Karn's backoff may have come to a minute where nothing can be measured
        pair_run_for(p, 130000);
        assert_int_equal(p->e[1].role.received, 300000);
        const uint64_t spurious = p->e[0].stats.c.spurious_rtos;
        const struct core_stats *peer = &p->e[1].stats;
        assert_true(spurious <= peer->c.delayed_acks_lost + peer->c.dsack_sent_ooo +
                                    peer->c.ooo_merged + peer->drops[DROP_tcp_old_timestamp] +
                                    p->again_lost[0]);
        strict += (unsigned)(i & 4 ? 0 : spurious);
        undone += (unsigned)spurious;
        timeouts += (unsigned)p->e[0].stats.c.rto_fired;
        pair_free(p, false);
    }
    printf("%u timeouts, %u undone, %u of them where nothing is lost\n", timeouts, undone, strict);
    assert_true(undone > 20 && strict > 20);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_log_with_room_is_exact),
        T(a_full_log_claims_nothing_that_is_not_so),
        T(a_long_flight_keeps_its_times_to_an_eighth),
        T(what_is_sacked_or_lost_is_one_run_whatever_its_times),
        T(a_log_that_is_just_not_full_stays_as_it_is),
        T(a_large_record_goes_to_holes_and_to_others_while_there_are_many),
        T(a_log_grows_where_a_fifth_of_it_is_not_free),
        T(what_left_again_measures_no_round_trip),
        T(the_middle_of_a_coarse_run_measures_nothing),
        T(in_a_log_that_is_nearly_full_a_report_has_to_touch_another),
        T(a_dsack_widens_the_window_of_reordering_once_a_round_trip),
        T(sixteen_recoveries_without_dsack_make_it_narrow_again),
        T(the_window_of_reordering_is_never_longer_than_a_round_trip),
        T(an_echo_is_one_if_timestamps_are_agreed_on_and_it_is_not_zero),
        T(the_latest_segment_that_arrived_is_remembered),
        T(what_left_once_and_is_known_by_itself_measures_the_round_trip),
        T(what_arrives_behind_later_ones_is_reordering_if_it_left_once),
        T(what_left_twice_counts_if_it_can_have_been_the_second),
        T(before_anything_left_again_there_is_nothing_to_undo),
        T(three_reports_make_it_narrow_and_two_do_not),
        T(a_smaller_segment_size_keeps_what_the_peer_has),
        T(reports_out_of_order_in_one_acknowledgment_are_no_reordering),
        T(forged_reports_of_single_bytes_fill_a_large_log_and_no_more),
        T(a_recovery_with_nothing_in_flight_goes_on_by_a_segment),
        T(a_probe_that_was_too_large_says_nothing_of_a_loss),
        T(with_a_timeout_undone_the_user_timeout_begins_anew),
        T(with_a_log_a_lossy_stream_has_few_timeouts),
        T(each_timeout_that_is_undone_was_needless),
        T(what_a_recovery_without_a_log_has_begun_it_ends),
        T(a_timeout_opens_a_log_and_what_leaves_again_without_one_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
