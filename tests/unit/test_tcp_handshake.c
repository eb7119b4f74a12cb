// The handshake: what a peer can see of our numbers, what is announced, and how often we answer.
// Over both families.
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

static struct raw *opened(void)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    return r;
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

// The first time at once: our SYN-ACK may have been lost. A flood of them is no flood of answers.
static void a_syn_again_is_answered_once_and_then_once_a_second(void **state)
{
    struct raw *r = raw_new(NULL);
    unsigned answers = 0;
    for (unsigned ms = 0; ms < 10000; ms += 10) {
        raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
        raw_turn(r, 10);
        answers += r->e.tcp.n_out;
        if (ms <= 10)
            assert_int_equal(r->e.tcp.n_out, 1);
        else if (ms < 900)
            assert_int_equal(r->e.tcp.n_out, 0);
    }
    assert_in_range(answers, 10, 13);
    // Some of the answers are the timer's.
    assert_in_range(r->e.stats.c.ack_skipped_syn_received, 1000 - answers, 1005 - answers);
    assert_int_equal(r->e.stats.c.synack_retransmits, answers - 1);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.syn_records_reset, 1);
    reset_and_free(r);
}

// Karn's rule, RFC 6298 3; RFC 5681 3.1.
static void a_syn_ack_sent_twice_measures_nothing_and_starts_small(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    raw_turn(r, 300);
    r->ack = OUT(r, 0).seq + 1;
    raw_turn(r, 5);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->srtt_us, 0);
    assert_int_equal(raw_block(r)->cwnd, raw_block(r)->mss);
    reset_and_free(r);
}

// A fixed number would tell a third party what it provoked (see tcp_output.c).
static void the_number_of_challenge_acks_is_never_known(void **state)
{
    uint64_t seen[20], before = 0;
    unsigned distinct = 0;
    struct raw *r = opened();
    r->e.tcp.cfg.rst_per_s = 0;
    r->e.tcp.cfg.invalid_ack_ms = 0;  // one connection may have them all
    for (unsigned second = 0; second < ARRAY_LEN(seen); second++) {
        for (int turn = 0; turn < 4; turn++) {
            for (int i = 0; i < BURST_MAX; i++)
                raw_seg(r, SEG_RST, r->seq + 5, 0, 0, 0);
            raw_turn(r, turn == 0 ? 1000 : 0);
        }
        seen[second] = r->e.stats.c.challenge_acks - before;
        before = r->e.stats.c.challenge_acks;
        assert_in_range(seen[second], 1, 150);
        distinct += second == 0 || seen[second] != seen[second - 1];
    }
    assert_true(distinct > ARRAY_LEN(seen) / 2);
    r->e.tcp.cfg.challenges_per_s = 0;
    raw_seg(r, SEG_RST, r->seq + 5, 0, 0, 0);
    raw_turn(r, 1000);
    assert_int_equal(r->e.tcp.n_out, 0);
    reset_and_free(r);
}

static void no_resets_are_sent_at_a_rate_of_none(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.rst_per_s = 0;
    raw_seg(r, SEG_ACK, 1, 1, 0, 0);
    raw_turn(r, 1000);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(r->e.stats.drops[DROP_tcp_no_owner], 1);
    reset_and_free(r);
}

static unsigned bits_in(uint32_t x)
{
    return (unsigned)__builtin_popcount(x);
}

// RFC 6528: each connection has a clock of 4 us, begun at a place that no other tells.
static void initial_numbers_follow_the_clock_and_tell_nothing_of_each_other(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    struct flow_key a = {r->remote, 0, 0, 40000, 7};
    unsigned changed = 0, n = 0;
    t->now = clock_at_us(1000);
    const uint32_t first = tcp_isn(t, &a);
    t->now = clock_at_us(1000 + 4 * 12345);
    assert_int_equal(tcp_isn(t, &a) - first, 12345);
    for (unsigned bit = 0; bit < 8 * sizeof(a); bit++) {
        struct flow_key b = a;
        ((uint8_t *)&b)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const unsigned d = bits_in(tcp_isn_hash(t, &a) ^ tcp_isn_hash(t, &b));
        assert_in_range(d, 4, 28);
        changed += d;
        n++;
    }
    assert_in_range(changed, 15 * n, 17 * n);
    // The distance between two connections' is another with each secret.
    changed = n = 0;
    struct flow_key b = a;
    b.remote_port++;
    uint32_t before = 0;
    for (uint64_t s = 0; s < 200; s++) {
        tcp_set_secret(t, (struct siphash_key){s, 1});
        const uint32_t apart = tcp_isn_hash(t, &a) - tcp_isn_hash(t, &b);
        changed += bits_in(apart ^ before);
        before = apart;
        n++;
    }
    assert_in_range(changed, 15 * n, 17 * n);
    reset_and_free(r);
}

// The timestamps' offset is a cheap function of its secret, that enough addresses can work out.
static void the_secret_of_the_timestamps_is_another_than_that_of_the_numbers(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    unsigned changed = 0, n = 0;
    for (unsigned bit = 0; bit < 128; bit++) {
        struct siphash_key s = {1, 2};
        tcp_set_secret(t, s);
        const struct siphash_key was = t->ts_secret;
        *(bit < 64 ? &s.k0 : &s.k1) ^= UINT64_C(1) << bit % 64;
        tcp_set_secret(t, s);
        assert_true(t->ts_secret.k0 != s.k0 && t->ts_secret.k1 != s.k1);
        changed += (unsigned)(__builtin_popcountll(was.k0 ^ t->ts_secret.k0) +
                              __builtin_popcountll(was.k1 ^ t->ts_secret.k1));
        n++;
    }
    assert_in_range(changed, 60 * n, 68 * n);
    reset_and_free(r);
}

static void a_segment_larger_than_the_announced_mss_is_taken(void **state)
{
    struct raw *r = opened();
    r->e.tcp.cfg.mss = r->e.tcp.cfg.mss6 = 536;
    raw_send(r, SEG_ACK, 0, 1994);
    raw_send(r, SEG_ACK, 1994, 2048);
    assert_int_equal(r->e.role.received, 1994 + 2048);
    assert_false(r->e.role.wrong);
    reset_and_free(r);
}

// MTU less 40 or 60 (RFC 9293 3.7.1), both ways of opening.
static void the_mss_announced_is_that_of_the_family(void **state)
{
    struct raw *r = raw_new(NULL);
    const uint16_t want = raw_ip6 ? 1440 : 1460;
    r->e.tcp.cfg = tcp_config_default();
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).mss, want);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    uint32_t ix;
    assert_int_equal(tcp_connect(&r->e.tcp, &r->remote, 80, 0, 0, &ix), 0);
    assert_int_equal(r->e.tcp.blocks[ix].mss, raw_ip6 ? 1220 : 536);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN);
    assert_int_equal(OUT(r, 0).mss, want);
    raw_seg(r, SEG_RST | SEG_ACK, 0, OUT(r, 0).seq + 1, 0, 0)->key = OUT(r, 0).key;
    raw_turn(r, 1);
    reset_and_free(r);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_syn_again_is_answered_once_and_then_once_a_second),
        T(a_syn_ack_sent_twice_measures_nothing_and_starts_small),
        T(the_number_of_challenge_acks_is_never_known),
        T(no_resets_are_sent_at_a_rate_of_none),
        T(initial_numbers_follow_the_clock_and_tell_nothing_of_each_other),
        T(the_secret_of_the_timestamps_is_another_than_that_of_the_numbers),
        T(a_segment_larger_than_the_announced_mss_is_taken),
        T(the_mss_announced_is_that_of_the_family),
    };
    int failed = 0;
    for (int ip6 = 0; ip6 < 2; ip6++) {
        raw_ip6 = ip6 != 0;
        failed += cmocka_run_group_tests_name(ip6 ? "IPv6" : "IPv4", tests, NULL, NULL);
    }
    return failed;
}
