// SPDX-License-Identifier: BSD-3-Clause
// The handshake: what a peer can see of our numbers, what is announced, and how often we answer.
// Over both families.
#include <errno.h>

#include "check.h"
#include "seed.h"
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
        t->numbers_key = (struct siphash_key){s, 1};
        const uint32_t apart = tcp_isn_hash(t, &a) - tcp_isn_hash(t, &b);
        changed += bits_in(apart ^ before);
        before = apart;
        n++;
    }
    assert_in_range(changed, 15 * n, 17 * n);
    reset_and_free(r);
}

// Of a million addresses no difference of two offsets comes again where the addresses differ by the
// same: what an attacker is told at his own addresses says nothing of another's.
static void the_offset_of_timestamps_is_linear_in_nothing(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    struct rng rng = test_rng("timestamps");
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned same = 0, same_xor = 0, changed = 0;
        uint32_t add = 0, diff = 0;
        for (unsigned i = 0; i < 1000; i++) {
            const uint32_t v4 = (uint32_t)rng_u64(&rng);
            const struct flow_key a = {.remote = ip_from_v4(v4)};
            const struct flow_key b = {.remote = ip_from_v4(v4 ^ 1u << bit)};
            const uint32_t x = tcp_ts_now(t, &a), y = tcp_ts_now(t, &b);
            same += x - y == add || y - x == add;
            same_xor += (x ^ y) == diff;
            changed += bits_in(x ^ y);
            add = x - y;
            diff = x ^ y;
        }
        assert_true(same == 0 && same_xor == 0);
        assert_in_range(changed, 15500, 16500);
    }
    reset_and_free(r);
}

// No purpose's key is another's, nor leads to it.
static void every_purpose_has_a_key_of_its_own(void **state)
{
    unsigned changed = 0, n = 0;
    for (unsigned bit = 0; bit < 128; bit++) {
        struct siphash_key s = {1, 2};
        const struct keys was = keys_from(s);
        *(bit < 64 ? &s.k0 : &s.k1) ^= UINT64_C(1) << bit % 64;
        const struct keys is = keys_from(s);
        for (unsigned i = 0; i < SECRET_COUNT; i++, n++) {
            changed += (unsigned)(__builtin_popcountll(was.of[i].k0 ^ is.of[i].k0) +
                                  __builtin_popcountll(was.of[i].k1 ^ is.of[i].k1));
            for (unsigned k = 0; k < i; k++)
                assert_true(is.of[i].k0 != is.of[k].k0 && is.of[i].k1 != is.of[k].k1);
        }
    }
    assert_in_range(changed, 60 * n, 68 * n);
}

// RFC 6056: a port says nothing of the next, and the whole range is used.
static void the_ports_of_active_opens_are_not_foretold(void **state)
{
    enum { FIRST = 32768, COUNT = 28232, OPENS = 4000 };
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = OPENS + 8, .wheel = 4 * OPENS});
    unsigned steps = 0, low = 0;
    uint16_t before = 0, before_step = 0;
    static bool seen[65536];
    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < OPENS; i++) {
        const uint32_t ix = end_connect(&r->e, 0x0a000002, 80);
        const uint16_t port = r->e.tcp.blocks[ix].key.local_port;
        assert_in_range(port, FIRST, FIRST + COUNT - 1);
        assert_false(seen[port]);
        seen[port] = true;
        steps += (uint16_t)(port - before) == before_step || (uint16_t)(port - before) <= 8;
        low += port < FIRST + COUNT / 2;
        before_step = (uint16_t)(port - before);
        before = port;
    }
    assert_in_range(steps, 0, 20);
    assert_in_range(low, OPENS / 2 - 5 * 32, OPENS / 2 + 5 * 32);
    raw_free(r, false);
}

// Each port to the peer's port 80 is one of a connection that we have closed.
static struct raw *ports_in_time_wait(bool timestamps)
{
    enum { FIRST = 32768, COUNT = 28232 };
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = 64, .tw = COUNT});
    for (unsigned i = 0; i < COUNT; i++) {
        const struct flow_key key = {r->remote, 0, 0, 80, (uint16_t)(FIRST + i)};
        uint32_t ix;
        assert_int_equal(tcp_open(&r->e.tcp, &key, 0, &ix), 0);
        struct block *b = &r->e.tcp.blocks[ix];
        b->flags |= timestamps ? BF_TS : 0;
        b->state = TCP_TIME_WAIT;
        tcp_free(&r->e.tcp, ix);
        index_pool_turn_end(r->e.tcp.block_pool);
    }
    assert_int_equal(r->e.stats.c.time_wait_now, COUNT);
    return r;
}

// RFC 6191 2, as the opener: the proxy's client ends first, and its ports would be gone for 2 MSL.
static void where_no_port_is_free_one_in_time_wait_is_taken(void **state)
{
    enum { OPENS = 40 };
    struct raw *r = ports_in_time_wait(true);
    const uint64_t drawn = r->e.tcp.ports_drawn;
    uint32_t ix[OPENS];
    for (unsigned i = 0; i < OPENS; i++) {
        assert_int_equal(tcp_connect(&r->e.tcp, &r->remote, 80, 0, 0, &ix[i]), 0);
        assert_in_range(r->e.tcp.blocks[ix[i]].key.local_port, 32768, 60999);
    }
    assert_int_equal(r->e.stats.c.time_wait_recycled, OPENS);
    assert_in_range(r->e.tcp.ports_drawn - drawn, 4 * OPENS, 5 * OPENS);
    assert_int_equal(r->e.stats.c.ports_refused, 0);
    raw_free(r, false);
}

static void who_finds_no_port_has_looked_at_a_few_dozen(void **state)
{
    struct raw *r = ports_in_time_wait(false);
    const uint64_t drawn = r->e.tcp.ports_drawn;
    uint32_t ix;
    assert_int_equal(tcp_connect(&r->e.tcp, &r->remote, 80, 0, 0, &ix), -EADDRNOTAVAIL);
    assert_in_range(r->e.tcp.ports_drawn - drawn, 24, 64);
    assert_int_equal(r->e.stats.c.ports_refused, 1);
    assert_int_equal(tcp_connect(&r->e.tcp, &r->remote, 81, 0, 0, &ix), 0);
    raw_free(r, false);
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

// What c10m_forget() has to come back for is told, and all of it goes, of each family.
static void what_time_wait_holds_is_forgotten_in_slices(void **state)
{
    struct raw *r = raw_new(NULL);
    for (unsigned i = 0; i < 3; i++) {
        r->port = (uint16_t)(PAIR_RAW_PORT + i);
        r->e.role.shut = true;
        raw_open(r);
        r->ack++;
        raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.stats.c.time_wait_now, i + 1);
    }
    assert_false(tcp_flush(&r->e.tcp, 2));
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    assert_true(tcp_flush(&r->e.tcp, 100));
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    reset_and_free(r);
}

static void a_service_of_one_address_is_none_on_another(void **state)
{
    for (uint16_t local = 0; local < 3; local++) {
        struct raw *r = raw_new(NULL);
        r->e.tcp.services[0].local_ix = local == 2 ? UINT16_MAX : local;
        raw_seg(r, SEG_SYN, 1000, 0, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(r->e.out[0].flags, local == 1 ? SEG_RST | SEG_ACK : SEG_SYN | SEG_ACK);
        while (!tcp_flush(&r->e.tcp, 100))
            ;
        raw_free(r, false);
    }
}

// How many RSTs to strangers the segment took from their limit (tcp_claim_reset()).
static unsigned charged(struct raw *r, uint8_t flags, uint32_t seq, uint32_t ack, uint16_t len)
{
    const uint64_t before = r->e.tcp.resets_asked;
    raw_seg(r, flags, seq, ack, 0, len);
    raw_turn(r, 1);
    return (unsigned)(r->e.tcp.resets_asked - before);
}

// Who cannot be the peer pays as if there were no connection, and is told nothing by that; the peer
// pays nothing, whatever has become of its segment.
static void strangers_to_a_connection_are_charged_and_its_peer_is_not(void **state)
{
    enum { FAR = 1 << 30 };
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    r->e.role.shut_on_end = true;
    assert_int_equal(charged(r, SEG_SYN, 999, 0, 0), 0);
    r->seq = 1000;
    r->ack = r->e.out[0].seq + 1;
    assert_int_equal(charged(r, SEG_SYN, 999, 0, 0), 0);  // again
    assert_int_equal(charged(r, SEG_SYN | SEG_ACK, 999, r->ack, 0), 1);
    assert_int_equal(charged(r, SEG_ACK, r->seq, r->ack, 0), 0);
    const struct block *b = raw_block(r);
    assert_int_equal(b->state, TCP_ESTABLISHED);
    raw_send(r, SEG_ACK, 0, 100);
    assert_int_equal(charged(r, SEG_ACK, r->seq - 100, r->ack, 100), 0);  // a duplicate
    assert_int_equal(r->e.stats.drops[DROP_tcp_duplicate], 2);
    assert_int_equal(charged(r, SEG_ACK, r->seq + FAR, r->ack, 100), 1);
    assert_int_equal(charged(r, SEG_ACK, r->seq, r->ack + FAR, 0), 1);
    assert_int_equal(charged(r, SEG_RST, r->seq + FAR, 0, 0), 0);  // which nothing answers
    assert_int_equal(charged(r, SEG_SYN, r->seq + FAR, 0, 0), 0);  // here somebody listens
    t->services[0].state = TCP_SERVICE_CLOSED;
    assert_int_equal(charged(r, SEG_SYN, r->seq + FAR, 0, 0), 1);
    t->services[0].state = TCP_SERVICE_OPEN;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(charged(r, SEG_ACK, r->seq, b->snd_max, 0), 0);
    assert_null(raw_block(r));
    assert_int_equal(charged(r, SEG_ACK, r->seq, r->ack, 0), 1);  // nobody is there
    const uint32_t ix = end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    const uint64_t before = t->resets_asked;
    raw_seg(r, SEG_SYN | SEG_ACK, 7000, t->blocks[ix].snd_max, 0, 0)->key = t->blocks[ix].key;
    raw_turn(r, 1);
    assert_int_equal(t->blocks[ix].state, TCP_ESTABLISHED);
    assert_int_equal(t->resets_asked, before);
    raw_free(r, false);
}

// The table tells by a few bits of a hash: what it found may be another half-open connection.
static void a_segment_for_which_another_half_open_one_was_found_comes_to_its_own(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    struct seg_in acks[2];
    uint32_t found[2];
    for (unsigned i = 0; i < 2; i++) {
        r->port++;
        raw_seg(r, SEG_SYN, 1000, 0, 0, 0);
        raw_turn(r, 1);
        acks[i] = *raw_seg(r, SEG_ACK, 1001, r->e.out[0].seq + 1, 0, 0);
        found[i] = tcp_owner(t, &acks[i].key);
        r->n = 0;
    }
    for (unsigned i = 0; i < 2; i++) {  // the other lives; the other is a connection already
        struct tcp_verdict v;
        tcp_input(t, &acks[i], NULL, found[!i], &v);
        assert_int_equal(v.drop, DROP_NONE);
        assert_int_not_equal(v.block, BLOCK_NONE);
        assert_true(flow_key_equal(&t->blocks[v.block].key, &acks[i].key));
        assert_int_equal(t->blocks[v.block].state, TCP_ESTABLISHED);
        assert_int_equal(r->e.stats.c.owners_again, i + 1);
    }
    raw_free(r, false);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_syn_again_is_answered_once_and_then_once_a_second),
        T(a_syn_ack_sent_twice_measures_nothing_and_starts_small),
        T(no_resets_are_sent_at_a_rate_of_none),
        T(initial_numbers_follow_the_clock_and_tell_nothing_of_each_other),
        T(the_offset_of_timestamps_is_linear_in_nothing),
        T(every_purpose_has_a_key_of_its_own),
        T(the_ports_of_active_opens_are_not_foretold),
        T(where_no_port_is_free_one_in_time_wait_is_taken),
        T(who_finds_no_port_has_looked_at_a_few_dozen),
        T(a_segment_larger_than_the_announced_mss_is_taken),
        T(the_mss_announced_is_that_of_the_family),
        T(what_time_wait_holds_is_forgotten_in_slices),
        T(a_service_of_one_address_is_none_on_another),
        T(a_segment_for_which_another_half_open_one_was_found_comes_to_its_own),
        T(strangers_to_a_connection_are_charged_and_its_peer_is_not),
    };
    int failed = 0;
    for (int ip6 = 0; ip6 < 2; ip6++) {
        raw_ip6 = ip6 != 0;
        failed += cmocka_run_group_tests_name(ip6 ? "IPv6" : "IPv4", tests, NULL, NULL);
    }
    return failed;
}
