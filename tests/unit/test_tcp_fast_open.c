// SPDX-License-Identifier: BSD-3-Clause
// TCP Fast Open (RFC 7413): whose cookie is good, for how long, where; the bound of pending ones
// and the option on the wire. What it does to a connection is in tests/pkt/open/fast_open_*.
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "tcp/tcp_fast_open.h"
#include "tcp_pair.h"
#include "wire/build.h"
#include "wire/parse.h"

static const uint64_t PERIOD_US = 1ULL << 34;

static struct raw *new_end(uint32_t most)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].fast_open = most;
    return r;
}

// A SYN with 10 bytes and that cookie, judged.
static enum fast_open judge(struct raw *r, const struct ip_addr *from, struct seq_range cookie)
{
    struct seg_in s = {.flags = SEG_SYN, .opts = SEG_OPT_FAST_OPEN, .data_len = 10};
    s.key.remote = *from;
    s.sack_off = TCP_BYTES + 2;
    s.sack_count = 1;
    r->e.sacks_in[0][0] = cookie;
    return tcp_fast_open_judge(&r->e.tcp, 0, &s);
}

static struct ip_addr random_address(struct rng *g)
{
    struct ip_addr a = ip_from_v4((uint32_t)rng_u64(g));
    if (rng_below(g, 2) != 0)
        for (unsigned i = 0; i < sizeof(a.b); i++)
            a.b[i] = (uint8_t)rng_u64(g);
    return a;
}

static void a_cookie_is_good_for_its_own_address_only(void **state)
{
    struct raw *r = new_end(4);
    struct rng g = {1};
    for (int i = 0; i < 20000; i++) {
        const struct ip_addr a = random_address(&g);
        struct ip_addr b = a;
        b.b[rng_below(&g, 16)] ^= (uint8_t)(1 << rng_below(&g, 8));
        const struct seq_range c = tcp_fast_open_cookie(&r->e.tcp, &a);
        assert_int_equal(judge(r, &a, c), FAST_OPEN_ACCEPT);
        assert_int_equal(judge(r, &b, c), FAST_OPEN_OFFER);
    }
    assert_int_equal(r->e.stats.c.fast_opens_failed, 20000);
    raw_free(r, true);
}

static void each_bit_of_a_cookie_counts(void **state)
{
    struct raw *r = new_end(4);
    const struct ip_addr a = ip_from_v4(0x0a000002);
    for (unsigned bit = 0; bit < 64; bit++) {
        struct seq_range c = tcp_fast_open_cookie(&r->e.tcp, &a);
        if (bit < 32)
            c.start ^= 1u << bit;
        else
            c.end ^= 1u << (bit - 32);
        assert_int_equal(judge(r, &a, c), FAST_OPEN_OFFER);
    }
    raw_free(r, true);
}

static void a_cookie_is_good_in_its_period_and_the_next(void **state)
{
    struct raw *r = new_end(4);
    struct tcp *t = &r->e.tcp;
    const struct ip_addr a = ip_from_v4(0x0a000002);
    t->now = clock_at_us(7 * PERIOD_US);
    const struct seq_range c = tcp_fast_open_cookie(t, &a);
    t->now = clock_at_us(7 * PERIOD_US - 1);
    assert_int_equal(judge(r, &a, c), FAST_OPEN_OFFER);
    t->now = clock_at_us(9 * PERIOD_US - 1);
    assert_int_equal(judge(r, &a, c), FAST_OPEN_ACCEPT);
    t->now = clock_at_us(9 * PERIOD_US);
    assert_int_equal(judge(r, &a, c), FAST_OPEN_OFFER);
    raw_free(r, true);
}

static void another_secret_makes_other_cookies(void **state)
{
    struct raw *r = new_end(4);
    const struct ip_addr a = ip_from_v4(0x0a000002);
    const struct seq_range c = tcp_fast_open_cookie(&r->e.tcp, &a);
    r->e.tcp.fast_open_key = (struct siphash_key){77, 78};
    assert_int_equal(judge(r, &a, c), FAST_OPEN_OFFER);
    raw_free(r, true);
}

// Its bytes are not read: those of another packet may lie where they would be.
static void a_cookie_of_another_length_opens_nothing(void **state)
{
    struct raw *r = new_end(4);
    const struct ip_addr a = ip_from_v4(0x0a000002);
    assert_int_equal(judge(r, &a, tcp_fast_open_cookie(&r->e.tcp, &a)), FAST_OPEN_ACCEPT);
    struct seg_in s = {.flags = SEG_SYN, .opts = SEG_OPT_FAST_OPEN, .data_len = 10};
    s.key.remote = a;
    s.sack_off = TCP_BYTES + 2;
    assert_int_equal(tcp_fast_open_judge(&r->e.tcp, 0, &s), FAST_OPEN_OFFER);
    assert_int_equal(r->e.stats.c.fast_opens_failed, 1);
    raw_free(r, true);
}

static void without_buffers_for_the_data_the_handshake_is_an_ordinary_one(void **state)
{
    struct raw *r = new_end(4);
    const struct ip_addr a = ip_from_v4(0x0a000002);
    const uint32_t n = r->e.tcp.bufs.n_free_data;
    r->e.tcp.bufs.n_free_data = TCP_BUFS_RESERVE - 1;
    assert_int_equal(judge(r, &a, tcp_fast_open_cookie(&r->e.tcp, &a)), FAST_OPEN_NONE);
    r->e.tcp.bufs.n_free_data = n;
    raw_free(r, true);
}

static void with_just_the_reserve_of_buffers_the_data_are_taken(void **state)
{
    struct raw *r = new_end(4);
    const struct ip_addr a = ip_from_v4(0x0a000002);
    const struct seq_range c = tcp_fast_open_cookie(&r->e.tcp, &a);
    const uint32_t n_free = r->e.tcp.bufs.n_free_data;
    r->e.tcp.bufs.n_free_data = TCP_BUFS_RESERVE;
    assert_int_equal(judge(r, &a, c), FAST_OPEN_ACCEPT);
    r->e.tcp.bufs.n_free_data = TCP_BUFS_RESERVE - 1;
    assert_int_equal(judge(r, &a, c), FAST_OPEN_NONE);
    r->e.tcp.bufs.n_free_data = n_free;
    raw_free(r, true);
}

// To the millisecond.
static void a_reset_one_counts_until_the_second_turn_of_a_minute_ends(void **state)
{
    enum { TURN_MS = 60000 };
    static const uint32_t ms[] = {0, TURN_MS - 1, TURN_MS, 2 * TURN_MS - 1, 2 * TURN_MS};
    for (unsigned i = 0; i < ARRAY_LEN(ms); i++) {
        struct raw *r = new_end(1);
        struct tcp_service *sv = &r->e.tcp.services[0];
        const struct ip_addr a = ip_from_v4(0x0a000002);
        raw_turn(r, 5000);
        sv->fast_open_reset_ms = r->e.tcp.now.ms;
        sv->fast_open_reset[0] = 1;
        raw_turn(r, ms[i]);
        const struct seq_range c = tcp_fast_open_cookie(&r->e.tcp, &a);
        assert_int_equal(judge(r, &a, c), ms[i] < 2 * TURN_MS ? FAST_OPEN_NONE : FAST_OPEN_ACCEPT);
        assert_int_equal(sv->fast_open_reset[0], ms[i] < TURN_MS);
        assert_int_equal(sv->fast_open_reset[1], ms[i] >= TURN_MS && ms[i] < 2 * TURN_MS);
        raw_free(r, true);
    }
}

static void listeners_opened_while_running_have_none(void **state)
{
    struct raw *r = new_end(4);
    struct seg_in s = {.flags = SEG_SYN, .opts = SEG_OPT_FAST_OPEN};
    assert_int_equal(tcp_fast_open_judge(&r->e.tcp, 1 << 8, &s), FAST_OPEN_NONE);
    assert_int_equal(tcp_fast_open_judge(&r->e.tcp, 0, &s), FAST_OPEN_OFFER);
    assert_int_equal(r->e.stats.c.fast_open_requests, 1);
    raw_free(r, true);
}

// Those that were reset count for one whole turn of 60 s after their own, and no longer.
static void the_reset_ones_count_for_a_minute_at_least_and_two_at_most(void **state)
{
    const struct ip_addr a = ip_from_v4(0x0a000002);
    for (uint32_t at_ms = 0; at_ms < 60000; at_ms += 1777) {
        struct raw *r = new_end(1);
        struct tcp *t = &r->e.tcp;
        const uint64_t begin_us = 1ULL << 33;
        const struct block b = {.service = 0};
        t->now = clock_at_us(begin_us);
        assert_int_equal(judge(r, &a, tcp_fast_open_cookie(t, &a)), FAST_OPEN_ACCEPT);
        t->now = clock_at_us(begin_us + at_ms * 1000);
        tcp_fast_open_begun(t, &b);
        tcp_fast_open_ended(t, &b, true);
        t->now = clock_at_us(begin_us + (at_ms + 59999) * 1000ULL);
        assert_int_equal(judge(r, &a, tcp_fast_open_cookie(t, &a)), FAST_OPEN_NONE);
        t->now = clock_at_us(begin_us + (at_ms + 120000) * 1000ULL);
        assert_int_equal(judge(r, &a, tcp_fast_open_cookie(t, &a)), FAST_OPEN_ACCEPT);
        raw_free(r, true);
    }
}

static enum drop_reason options(uint8_t flags, const uint8_t *o, uint32_t n, struct seg_in *s)
{
    *s = (struct seg_in){.flags = flags};
    return wire_parse_tcp_options(o, n, s);
}

static void the_option_is_read_of_a_syn_in_every_length(void **state)
{
    for (uint32_t len = 2; len <= 38; len++) {
        uint8_t o[40] = {TCP_OPT_NOP, TCP_OPT_FAST_OPEN, (uint8_t)len};
        const bool asks = len == 2, cookie = len >= 6 && len <= 18 && len % 2 == 0;
        struct seg_in s;
        assert_int_equal(options(SEG_SYN, o, 40, &s), DROP_NONE);
        assert_int_equal(s.opts, asks || cookie ? SEG_OPT_FAST_OPEN : 0);
        assert_int_equal(s.sack_off, cookie ? TCP_BYTES + 3 : 0);
        assert_int_equal(s.sack_count, len == 10);
        assert_int_equal(options(SEG_SYN | SEG_ACK, o, 40, &s), DROP_NONE);
        assert_int_equal(s.opts, 0);
        assert_int_equal(options(SEG_ACK, o, 40, &s), DROP_NONE);
        assert_int_equal(s.opts, 0);
    }
    uint8_t cut[] = {TCP_OPT_FAST_OPEN, 10, 1, 2};
    struct seg_in s;
    assert_int_equal(options(SEG_SYN, cut, sizeof(cut), &s), DROP_tcp_options);
}

static void the_cookie_that_is_written_is_the_one_that_is_read(void **state)
{
    const struct seq_range cookie = {0x01234567, 0x89abcdef};
    for (unsigned others = 0; others < 16; others++) {
        const uint8_t opts = (uint8_t)others | SEG_OPT_FAST_OPEN;
        struct seg_out o = {.flags = SEG_SYN | SEG_ACK, .opts = opts, .sack = &cookie};
        uint8_t frame[TCP_BYTES + 40];
        const uint32_t n = wire_put_tcp_options(frame + TCP_BYTES, &o);
        assert_int_equal(n, wire_tcp_head_bytes(&o) - TCP_BYTES);
        assert_true(n <= 40 && n % 4 == 0);
        struct seg_in s;
        struct seq_range got;
        assert_int_equal(options(SEG_SYN, frame + TCP_BYTES, n, &s), DROP_NONE);
        assert_true(s.opts & SEG_OPT_FAST_OPEN);
        assert_int_equal(s.sack_count, 1);
        wire_read_sack(frame, &s, &got);
        assert_int_equal(got.start, cookie.start);
        assert_int_equal(got.end, cookie.end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_is_good_for_its_own_address_only),
        cmocka_unit_test(each_bit_of_a_cookie_counts),
        cmocka_unit_test(a_cookie_is_good_in_its_period_and_the_next),
        cmocka_unit_test(another_secret_makes_other_cookies),
        cmocka_unit_test(a_cookie_of_another_length_opens_nothing),
        cmocka_unit_test(without_buffers_for_the_data_the_handshake_is_an_ordinary_one),
        cmocka_unit_test(with_just_the_reserve_of_buffers_the_data_are_taken),
        cmocka_unit_test(a_reset_one_counts_until_the_second_turn_of_a_minute_ends),
        cmocka_unit_test(listeners_opened_while_running_have_none),
        cmocka_unit_test(the_reset_ones_count_for_a_minute_at_least_and_two_at_most),
        cmocka_unit_test(the_option_is_read_of_a_syn_in_every_length),
        cmocka_unit_test(the_cookie_that_is_written_is_the_one_that_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
