// SPDX-License-Identifier: BSD-3-Clause
// SYN cookies (RFC 4987 3.6): what they keep, how long they are good, who cannot make one, and the
// flow when no record is left. Over both families.
#include "base/rng.h"
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

enum { PERIOD_MS = (4 << 24) / 1000 };  // of a cookie

// syn: what a peer offers.
struct syn {
    uint16_t mss;  // 0: none
    bool ts, sack;
    int wscale;  // -1: none
    bool ecn;
};

static struct raw *new_end(enum tcp_cookies how)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.syn_cookies = (uint8_t)how;
    r->e.role.shut_on_end = true;
    return r;
}

static void reset_and_free(struct raw *r)
{
    r->n = 0;
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        const struct block *b = &r->e.tcp.blocks[i];
        if (b->state == TCP_FREE)
            continue;
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
        raw_turn(r, 1);
    }
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

// The SYN; its SYN-ACK is in r->e.out[0], and r's numbers are those of the ACK that it asks for.
static void send_syn(struct raw *r, const struct syn *o)
{
    r->ts = o->ts;
    r->ts_ecr = 0;
    const uint8_t ask = o->ecn ? SEG_ECE | SEG_CWR : 0;
    struct seg_in *s = raw_seg(r, SEG_SYN | ask, r->seq, 0, 0, 0);
    s->mss = o->mss;
    s->opts |= o->mss != 0 ? SEG_OPT_MSS : 0;
    s->opts |= o->sack ? SEG_OPT_SACK_PERM : 0;
    if (o->wscale >= 0) {
        s->opts |= SEG_OPT_WSCALE;
        s->wscale = (uint8_t)o->wscale;
    }
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags & ~SEG_ECE, SEG_SYN | SEG_ACK);
    assert_int_equal(OUT(r, 0).ack, r->seq + 1);
    r->seq++;
    r->ack = OUT(r, 0).seq + 1;
    r->ts_ecr = OUT(r, 0).ts_val;
}

static const struct syn plain = {1460, false, false, -1, false},
                        whole = {1460, true, true, 7, true};

// The cookie's answer comes behind a SYN that got a record.
static void beside_a_record_a_cookie_counts_as_long_as_one_is_awaited(void **state)
{
    for (int awaited = 0; awaited < 2; awaited++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        send_syn(r, &plain);
        const uint32_t seq = r->seq, ack = r->ack;
        r->e.tcp.cfg.syn_cookies = TCP_COOKIES_AUTO;
        r->e.tcp.cookies_until_us = awaited ? UINT64_MAX : 0;
        r->seq = seq - 1;
        send_syn(r, &plain);
        assert_int_equal(r->e.stats.c.syn_records_now, 1);
        assert_int_not_equal(r->ack, ack);
        raw_seg(r, SEG_ACK, seq, ack, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.tcp.n_out, !awaited);
        if (!awaited)
            assert_int_equal(OUT(r, 0).flags, SEG_RST);
        assert_int_equal(raw_block(r) != NULL, awaited);
        assert_int_equal(r->e.stats.c.syn_records_now, !awaited);
        while (!tcp_flush(&r->e.tcp, 100))
            ;
        reset_and_free(r);
    }
}

// What was offered then, and is not wanted any more, is not agreed on.
static void a_cookie_agrees_on_nothing_that_the_configuration_does_not_want(void **state)
{
    for (int want = 0; want < 2; want++) {
        const struct syn all = {1460, true, true, 7, true};
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        r->e.tcp.cfg.ecn = TCP_ECN_ON;
        send_syn(r, &all);
        r->e.tcp.cfg.ecn = want ? TCP_ECN_ON : TCP_ECN_OFF;
        r->e.tcp.cfg.sack = want;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(raw_block(r)->agreed & (BA_SACK | BA_ECN), want ? BA_SACK | BA_ECN : 0);
        reset_and_free(r);
    }
}

static void a_cookie_leaves_nothing_behind_until_its_acknowledgment(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &plain);
    assert_null(end_leaks(&r->e));
    assert_int_equal(r->e.stats.c.syncookies_sent, 1);
    assert_int_equal(r->e.stats.c.synack_sent, 1);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_ESTABLISHED);
    assert_int_equal(r->e.stats.c.syncookies_received, 1);
    assert_int_equal(r->e.stats.c.conns_opened_passive, 1);
    assert_int_equal(r->e.role.opened, 1);
    raw_send(r, SEG_ACK, 0, 100);
    assert_int_equal(r->e.role.received, 100);
    reset_and_free(r);
}

static void each_combination_of_options_is_kept_with_timestamps(void **state)
{
    static const uint16_t mss[] = {1, 64, 300, 536, 1300, 1440, 1460, 8960};
    for (unsigned m = 0; m < ARRAY_LEN(mss); m++)
        for (int wscale = -1; wscale <= 14; wscale++)
            for (int more = 0; more < 4; more++) {
                const bool sack = more & 1, ecn = more & 2;
                struct raw *r = new_end(TCP_COOKIES_ALWAYS);
                r->now_us += (uint64_t)(m * 37 + (unsigned)(wscale + 1) * 11) * 1000;
                r->ts_val = 5000;
                send_syn(r, &(struct syn){mss[m], true, sack, wscale, ecn});
                assert_int_equal(OUT(r, 0).flags & SEG_ECE, ecn ? SEG_ECE : 0);
                assert_int_equal((OUT(r, 0).opts & SEG_OPT_WSCALE) != 0, wscale >= 0);
                assert_true(OUT(r, 0).opts & SEG_OPT_TS);
                assert_int_equal(OUT(r, 0).ts_ecr, 5000);
                r->ts_val = 5003;
                r->wnd = 1000;
                raw_send(r, SEG_ACK, 0, 0);
                const struct block *b = raw_block(r);
                assert_non_null(b);
                assert_true(b->flags & BF_TS);
                assert_int_equal(b->agreed, (sack ? BA_SACK : 0) | (ecn ? BA_ECN : 0) |
                                                (wscale >= 0 ? BA_WSCALE : 0));
                assert_int_equal(b->ts_recent, 5003);
                assert_int_equal(b->snd_wscale, wscale < 0 ? 0 : wscale);
                assert_int_equal(b->rcv_wscale, wscale < 0 ? 0 : 7);
                assert_int_equal(b->snd_wnd, 1000u << (wscale < 0 ? 0 : wscale));
                assert_true(b->mss + 12 <= MAX(mss[m], TCP_MSS_MIN));
                assert_true(b->mss + 12 >= MIN(mss[m], tcp_local_mss(&r->e.tcp, &b->key)) / 2);
                reset_and_free(r);
            }
}

static void without_timestamps_the_mss_alone_is_kept_and_agreed_to(void **state)
{
    for (int wscale = -1; wscale <= 14; wscale += 15) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        send_syn(r, &(struct syn){536, false, true, wscale, true});
        assert_int_equal(OUT(r, 0).opts, SEG_OPT_MSS);
        assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
        raw_send(r, SEG_ACK, 0, 0);
        const struct block *b = raw_block(r);
        assert_int_equal(b->agreed, 0);
        assert_int_equal(b->flags & BF_TS, 0);
        assert_int_equal(b->snd_wscale, 0);
        assert_int_equal(b->rcv_wscale, 0);
        assert_int_equal(b->mss, 536);
        reset_and_free(r);
    }
}

static void no_timestamps_are_taken_where_they_are_off(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    r->e.tcp.cfg.timestamps = false;
    send_syn(r, &whole);
    assert_int_equal(OUT(r, 0).opts, SEG_OPT_MSS);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->flags & BF_TS, 0);
    assert_int_equal(raw_block(r)->snd_wscale, 0);
    reset_and_free(r);
}

static void a_peer_without_an_mss_is_sent_the_default(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &(struct syn){0, false, false, -1, false});
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->mss, raw_ip6 ? TCP_MSS_DEFAULT6 : TCP_MSS_DEFAULT);
    reset_and_free(r);
}

// RFC 7323 5.3: what follows the SYN-ACK may not look older than it.
static void the_timestamp_of_a_cookie_is_never_ahead_of_the_clock(void **state)
{
    for (uint32_t ms = 0; ms < 300; ms++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        r->now_us += (uint64_t)ms * 1000;
        send_syn(r, &(struct syn){1460, true, ms & 1, (int)(ms % 16) - 1, ms & 2});
        const uint32_t now = tcp_ts_now(&r->e.tcp, &OUT(r, 0).key);
        assert_in_range(now - OUT(r, 0).ts_val, 0, 127);
        reset_and_free(r);
    }
}

static void a_cookie_is_good_in_its_period_and_the_next_and_no_longer(void **state)
{
    for (unsigned part = 0; part < 4; part++) {  // of a period that has passed when it is made
        for (unsigned quarters = 0; quarters < 16; quarters++) {
            struct raw *r = new_end(TCP_COOKIES_ALWAYS);
            r->now_us = (uint64_t)PERIOD_MS * 1000 * 100 + PERIOD_MS * 250ULL * part + 200000;
            send_syn(r, &plain);
            raw_turn(r, PERIOD_MS / 4 * quarters);
            raw_send(r, SEG_ACK, 0, 0);
            const bool good = part + quarters < 8;
            assert_int_equal(raw_block(r) != NULL, good);
            assert_int_equal(r->e.stats.c.syncookies_failed, !good);
            if (!good)
                assert_int_equal(OUT(r, 0).flags, SEG_RST);
            reset_and_free(r);
        }
    }
}

static void a_replay_after_the_connection_is_over_and_the_cookie_old_fails(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &plain);
    const uint32_t seq = r->seq, ack = r->ack;
    raw_send(r, SEG_ACK, 0, 0);
    raw_send(r, SEG_RST, 0, 0);
    assert_null(raw_block(r));
    raw_turn(r, 2 * PERIOD_MS + 1);
    raw_seg(r, SEG_ACK, seq, ack, 0, 0);
    raw_turn(r, 1);
    assert_null(raw_block(r));
    assert_int_equal(OUT(r, 0).flags, SEG_RST);
    reset_and_free(r);
}

static void a_million_guesses_open_nothing(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    struct rng rng = {.state = 4};
    send_syn(r, &plain);
    for (uint32_t i = 0; i < 1u << 20; i += BURST_MAX) {
        for (unsigned k = 0; k < BURST_MAX; k++) {
            const uint64_t n = rng_u64(&rng);
            raw_seg(r, SEG_ACK, (uint32_t)n, (uint32_t)(n >> 32), 0, 0);
        }
        raw_turn(r, 0);
    }
    assert_int_equal(r->e.stats.c.syncookies_failed, 1 << 20);
    assert_int_equal(r->e.stats.c.syncookies_received, 0);
    assert_int_equal(r->e.stats.c.conns_opened_passive, 0);
    assert_true(r->e.stats.c.rst_sent <= r->e.tcp.cfg.rst_per_s / 10);
    reset_and_free(r);
}

// The MAC covers the MSS index. A forged number near the right one would shift the whole stream.
static void an_acknowledgment_near_the_right_one_opens_nothing(void **state)
{
    static const uint16_t mss[] = {1, 300, 536, 1100, 1310, 1440, 1460, 9000};
    for (unsigned m = 0; m < ARRAY_LEN(mss); m++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        send_syn(r, &(struct syn){mss[m], false, false, -1, false});
        for (int by = -64; by <= 64; by++) {
            if (by == 0)
                continue;
            raw_seg(r, SEG_ACK, r->seq, r->ack + (uint32_t)by, 0, 0);
            raw_turn(r, 1);
        }
        assert_int_equal(r->e.stats.c.syncookies_failed, 128);
        assert_int_equal(r->e.stats.c.conns_opened_passive, 0);
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(r->e.stats.c.conns_opened_passive, 1);
        reset_and_free(r);
    }
}

// The process that sent it has ended. Only the SYN-ACK has left it.
static void a_cookie_of_the_process_before_opens_a_connection(void **state)
{
    static const enum tcp_cookies hows[] = {TCP_COOKIES_OFF, TCP_COOKIES_AUTO, TCP_COOKIES_ALWAYS};
    for (unsigned i = 0; i < ARRAY_LEN(hows); i++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        send_syn(r, &plain);
        r->e.tcp.cfg.syn_cookies = (uint8_t)hows[i];
        r->e.tcp.cookies_until_us = 0;
        tcp_cookies_expect(&r->e.tcp);
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.stats.c.conns_opened_passive, hows[i] != TCP_COOKIES_OFF);
        reset_and_free(r);
    }
}

// One cookie says nothing of what another connection, number or window needs.
static void a_cookie_opens_no_other_connection(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &plain);
    r->port++;
    raw_send(r, SEG_ACK, 0, 0);
    r->port--;
    for (uint32_t by = 1; by < 5000; by++) {
        raw_seg(r, SEG_ACK, r->seq + by, r->ack, 0, 0);
        raw_turn(r, 0);
        raw_seg(r, SEG_ACK, r->seq, r->ack + 7 + by, 0, 0);
        raw_turn(r, 0);
    }
    assert_null(raw_block(r));
    raw_send(r, SEG_ACK, 0, 0);
    assert_non_null(raw_block(r));
    reset_and_free(r);
}

static void nothing_but_an_ack_completes_a_handshake(void **state)
{
    static const uint8_t flags[] = {SEG_SYN | SEG_ACK, SEG_RST | SEG_ACK, SEG_FIN, SEG_RST};
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &plain);
    for (unsigned i = 0; i < ARRAY_LEN(flags); i++) {
        raw_seg(r, flags[i], r->seq, r->ack, 0, 0);
        raw_turn(r, 1);
        assert_null(raw_block(r));
    }
    raw_send(r, SEG_ACK, 0, 0);
    assert_non_null(raw_block(r));
    reset_and_free(r);
}

// Until a cookie was sent, and when the last one is old, ACKs are not looked at.
static void in_auto_an_ack_counts_only_while_a_cookie_may_be_out(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_AUTO);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(OUT(r, 0).flags, SEG_RST);
    assert_int_equal(r->e.stats.c.syncookies_failed, 0);
    reset_and_free(r);
}

static void without_a_record_left_the_handshake_goes_by_cookie(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.syns = 2});
    r->e.role.shut_on_end = true;
    for (uint16_t i = 0; i < 6; i++) {
        r->port = (uint16_t)(5000 + i);
        r->seq = 100u * i;
        send_syn(r, &whole);
        assert_int_equal(r->e.stats.c.syncookies_sent, i < 2 ? 0 : i - 1);
        if (i < 2)
            continue;
        raw_send(r, SEG_ACK, 0, 10);
        assert_int_equal(r->e.role.opened, i - 1);
        assert_int_equal(r->e.stats.c.syncookies_received, i - 1);
    }
    assert_int_equal(r->e.role.received, 40);
    assert_int_equal(r->e.stats.c.syn_records_now, 2);
    assert_int_equal(r->e.stats.drops[DROP_syn_table_full], 0);
    for (int i = 0; i < 200000 && r->e.stats.c.syn_records_now != 0; i++)
        raw_turn(r, 1);
    // Records are there again: no more cookies, and soon no ACK is one.
    r->port++;
    send_syn(r, &plain);
    assert_int_equal(r->e.stats.c.syncookies_sent, 4);
    raw_turn(r, 2 * PERIOD_MS + 1000);
    r->port++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.c.syncookies_failed, 0);
    reset_and_free(r);
}

// The SYN again found a record; the answer to the first one was on its way.
static void a_cookie_is_good_beside_a_record_that_came_later(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.syns = 1});
    const uint16_t port = r->port;
    send_syn(r, &whole);  // the record
    const uint32_t seq = r->seq;
    r->port++;
    r->seq = 5000;
    send_syn(r, &whole);
    assert_int_equal(r->e.stats.c.syncookies_sent, 1);
    const uint32_t ack = r->ack, ts_ecr = r->ts_ecr;
    raw_seg(r, SEG_RST, seq, 0, 0, 0)->key.remote_port = port;
    raw_turn(r, 1);
    r->seq = 5000;
    send_syn(r, &whole);
    assert_int_equal(r->e.stats.c.syn_records_now, 1);
    assert_true(r->ack != ack);
    raw_seg(r, SEG_ACK, r->seq, ack + 100, 0, 0);  // neither the one nor the other
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_RST);
    assert_int_equal(r->e.stats.c.syn_records_now, 1);
    r->ack = ack;
    r->ts_ecr = ts_ecr;
    raw_send(r, SEG_ACK, 0, 10);
    assert_int_equal(raw_block(r)->state, TCP_ESTABLISHED);
    assert_int_equal(r->e.role.received, 10);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    reset_and_free(r);
}

static void without_cookies_a_syn_without_a_record_is_dropped(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.syns = 1});
    r->e.tcp.cfg.syn_cookies = TCP_COOKIES_OFF;
    send_syn(r, &plain);
    r->port++;
    raw_seg(r, SEG_SYN, 7, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(r->e.stats.drops[DROP_syn_table_full], 1);
    reset_and_free(r);
}

static void the_first_ack_may_carry_data_and_a_fin(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    send_syn(r, &whole);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 500);  // the bare acknowledgment before it was lost
    assert_int_equal(r->e.role.received, 500);
    assert_int_equal(r->e.role.ended, 1);
    assert_int_equal(raw_block(r)->state, TCP_LAST_ACK);
    reset_and_free(r);
}

static void a_cookie_measures_no_round_trip(void **state)
{
    for (int ts = 0; ts < 2; ts++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        r->e.role.source = 100;
        send_syn(r, ts ? &whole : &plain);
        raw_turn(r, 3000);
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(raw_block(r)->srtt_us, 0);
        assert_true(raw_block(r)->cwnd > 3u * raw_block(r)->mss);
        raw_turn(r, 20);
        r->ack += 100;
        r->ts_ecr = OUT(r, 0).ts_val;
        r->ts_ecr = tcp_ts_now(&r->e.tcp, &raw_block(r)->key) - 20;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(raw_block(r)->srtt_us, 8 * 20000);
        reset_and_free(r);
    }
}

static void a_service_that_is_full_sends_no_cookie(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    struct tcp_service *sv = &r->e.tcp.services[0];
    send_syn(r, &plain);
    sv->connections_max = 0;
    raw_send(r, SEG_ACK, 0, 0);  // it came in time, but the service is full now
    assert_null(raw_block(r));
    assert_int_equal(r->e.stats.drops[DROP_service_connections], 1);
    r->port++;
    raw_seg(r, SEG_SYN, 7, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(r->e.stats.c.syncookies_sent, 1);
    sv->connections_max = 16;
    r->port--;
    raw_send(r, SEG_ACK, 0, 0);
    assert_non_null(raw_block(r));
    reset_and_free(r);
}

static void a_service_that_is_not_open_refuses_and_sends_no_cookie(void **state)
{
    const enum tcp_service_state states[] = {TCP_SERVICE_DRAINING, TCP_SERVICE_CLOSED};
    for (unsigned i = 0; i < ARRAY_LEN(states); i++) {
        struct raw *r = new_end(TCP_COOKIES_ALWAYS);
        struct tcp_service *sv = &r->e.tcp.services[0];
        send_syn(r, &plain);
        sv->state = (uint8_t)states[i];
        raw_send(r, SEG_ACK, 0, 0);
        assert_null(raw_block(r));
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_true(r->e.out[0].flags & SEG_RST);
        r->port++;
        raw_seg(r, SEG_SYN, 7, 0, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_true(r->e.out[0].flags & SEG_RST);
        assert_int_equal(r->e.stats.c.syncookies_sent, 1);
        assert_int_equal(r->e.stats.c.service_refused, 2);
        sv->state = TCP_SERVICE_OPEN;
        r->port--;
        raw_send(r, SEG_ACK, 0, 0);
        assert_non_null(raw_block(r));
        reset_and_free(r);
    }
}

// Its half-open connection came before: it is let in.
static void a_handshake_that_began_before_the_drain_is_completed(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_OFF);
    send_syn(r, &plain);
    r->e.tcp.services[0].state = TCP_SERVICE_DRAINING;
    raw_send(r, SEG_ACK, 0, 0);
    assert_non_null(raw_block(r));
    reset_and_free(r);
}

// Its peer hears what it would have heard a moment later; so does one whose timer comes first.
static void a_handshake_that_began_before_the_service_was_closed_is_forgotten(void **state)
{
    for (unsigned plain_third = 0; plain_third < 2; plain_third++) {
        struct raw *r = new_end(TCP_COOKIES_OFF);
        send_syn(r, &plain);
        assert_int_equal(r->e.stats.c.syn_records_now, 1);
        r->e.tcp.services[0].state = TCP_SERVICE_CLOSED;
        raw_send(r, plain_third ? SEG_ACK : SEG_ACK | SEG_PSH, 0, 0);
        assert_null(raw_block(r));
        assert_int_equal(r->e.stats.c.syn_records_now, 0);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_true(r->e.out[0].flags & SEG_RST);
        r->e.tcp.services[0].state = TCP_SERVICE_OPEN;
        raw_send(r, SEG_ACK, 0, 0);
        assert_null(raw_block(r));
        reset_and_free(r);
    }
    struct raw *r = new_end(TCP_COOKIES_OFF);
    send_syn(r, &plain);
    r->e.tcp.services[0].state = TCP_SERVICE_CLOSED;
    raw_turn(r, r->e.tcp.cfg.rto_initial_ms + 10);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    reset_and_free(r);
}

static void without_a_block_the_acknowledgment_is_dropped_and_may_come_again(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = 1});
    r->e.tcp.cfg.syn_cookies = TCP_COOKIES_ALWAYS;
    r->e.tcp.services[0].connections_max = 5;
    send_syn(r, &plain);
    raw_send(r, SEG_ACK, 0, 0);
    const struct flow_key first = raw_block(r)->key;
    const uint32_t first_seq = r->seq;
    r->port++;
    send_syn(r, &plain);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.drops[DROP_block_pool_empty], 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_RST, first_seq, 0, 0, 0)->key = first;
    raw_turn(r, 1);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.role.opened, 2);
    reset_and_free(r);
}

static void cookies_of_one_connection_grow_with_time_as_other_numbers_do(void **state)
{
    struct raw *r = new_end(TCP_COOKIES_ALWAYS);
    uint32_t before = 0;
    for (unsigned i = 0; i < 20; i++) {
        r->seq = 1000 + 77 * i;
        send_syn(r, &plain);
        assert_true(i == 0 || seq_lt(before, OUT(r, 0).seq));
        before = OUT(r, 0).seq;
        const uint32_t ahead = OUT(r, 0).seq - tcp_isn(&r->e.tcp, &OUT(r, 0).key);
        assert_true(ahead + (1u << 24) < 2u << 24);
        raw_turn(r, 2 * PERIOD_MS);
    }
    reset_and_free(r);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_cookie_leaves_nothing_behind_until_its_acknowledgment),
        T(each_combination_of_options_is_kept_with_timestamps),
        T(without_timestamps_the_mss_alone_is_kept_and_agreed_to),
        T(no_timestamps_are_taken_where_they_are_off),
        T(a_peer_without_an_mss_is_sent_the_default),
        T(the_timestamp_of_a_cookie_is_never_ahead_of_the_clock),
        T(a_cookie_is_good_in_its_period_and_the_next_and_no_longer),
        T(a_replay_after_the_connection_is_over_and_the_cookie_old_fails),
        T(a_million_guesses_open_nothing),
        T(an_acknowledgment_near_the_right_one_opens_nothing),
        T(a_cookie_of_the_process_before_opens_a_connection),
        T(a_cookie_opens_no_other_connection),
        T(nothing_but_an_ack_completes_a_handshake),
        T(in_auto_an_ack_counts_only_while_a_cookie_may_be_out),
        T(without_a_record_left_the_handshake_goes_by_cookie),
        T(a_cookie_is_good_beside_a_record_that_came_later),
        T(without_cookies_a_syn_without_a_record_is_dropped),
        T(the_first_ack_may_carry_data_and_a_fin),
        T(a_cookie_measures_no_round_trip),
        T(a_service_that_is_full_sends_no_cookie),
        T(a_service_that_is_not_open_refuses_and_sends_no_cookie),
        T(a_handshake_that_began_before_the_drain_is_completed),
        T(a_handshake_that_began_before_the_service_was_closed_is_forgotten),
        T(without_a_block_the_acknowledgment_is_dropped_and_may_come_again),
        T(cookies_of_one_connection_grow_with_time_as_other_numbers_do),
        T(beside_a_record_a_cookie_counts_as_long_as_one_is_awaited),
        T(a_cookie_agrees_on_nothing_that_the_configuration_does_not_want),
    };
    int failed = 0;
    for (int ip6 = 0; ip6 < 2; ip6++) {
        raw_ip6 = ip6 != 0;
        failed += cmocka_run_group_tests_name(ip6 ? "IPv6" : "IPv4", tests, NULL, NULL);
    }
    return failed;
}
