// SPDX-License-Identifier: BSD-3-Clause
// The details of RFC 9293 and 1122 that connections seldom meet: one claim a test, in virtual time.
#include "check.h"
#include "tcp/tcp_ack.h"
#include "tcp/tcp_tune.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

static void reset_and_free(struct raw *r)
{
    struct block *b = raw_block(r);
    if (b != NULL && b->state != TCP_TIME_WAIT) {
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
        raw_turn(r, 1);
    }
    for (int i = 0; i < 100 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 1000);
    raw_free(r, true);
}

// Milliseconds until the connection ends, all that leaves before being unanswered.
static uint32_t lives_ms(struct raw *r, uint32_t max)
{
    uint32_t ms = 0;
    for (; ms < max && r->e.role.closed == 0; ms++)
        raw_turn(r, 1);
    return ms;
}

// RFC 9293 3.8.3: R2 is at least 100 seconds with the defaults.
static void without_an_answer_data_is_tried_for_at_least_100_seconds(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 100;
    raw_open(r);
    assert_in_range(lives_ms(r, 2000000), 100000, 1000000);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    assert_int_equal(r->e.stats.c.user_timeouts, 0);
    assert_int_equal(r->e.stats.c.paths_suspected, 1);
    reset_and_free(r);
}

static void the_user_timeout_ends_what_is_not_acknowledged_in_time(void **state)
{
    static const uint32_t user_ms[] = {1000, 5000, 30000, 2000000};
    for (unsigned i = 0; i < ARRAY_LEN(user_ms); i++) {
        struct raw *r = raw_new(NULL);
        r->e.tcp.services[0].user_timeout_ms = user_ms[i];
        r->e.role.source = 100;
        raw_open(r);
        assert_in_range(lives_ms(r, 3000000), user_ms[i], user_ms[i] + 5);
        assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
        assert_int_equal(r->e.stats.c.user_timeouts, 1);
        assert_int_equal(r->e.stats.c.conns_timed_out, 1);
        reset_and_free(r);
    }
}

// The window closes with bytes in flight, and the timeout finds nothing that may leave: the timer
// is the window's. It opens by an acknowledgment that also shows that nothing had been lost: the
// bytes are in flight as before, and their own timer runs.
static void undone_behind_a_window(uint16_t wnd)
{
    struct raw *r = raw_new(NULL);
    r->ts = true;
    r->ts_val = 1;
    r->e.role.source = 1000;
    r->e.tcp.services[0].nodelay = true;
    raw_open(r);
    struct block *b = raw_block(r);
    const uint32_t una = b->snd_una, ecr = OUT(r, 0).ts_val;
    assert_int_equal(b->snd_max - una, 1000);
    raw_send(r, SEG_ACK, 0, 1);  // what is newer may make the window smaller
    raw_seg(r, SEG_ACK, r->seq, una, 1, 1)->wnd = wnd;
    r->seq++;
    raw_turn(r, 1);
    assert_int_equal(b->snd_wnd, wnd);
    for (int i = 0; i < 5000 && !(b->flags & BF_PROBE); i++)
        raw_turn(r, 1);
    assert_true(b->flags & BF_PROBE);
    assert_int_equal(b->snd_nxt, una);
    raw_seg(r, SEG_ACK, r->seq, una + 400, 0, 0)->ts_ecr = ecr;
    raw_turn(r, 1);
    assert_int_equal(b->snd_nxt, una + 1000);
    assert_int_not_equal(b->rto_at_ms, 0);
    assert_true(raw_wait(r, 130000) != UINT32_MAX);
    assert_int_equal(OUT(r, 0).seq, una + 400);
    reset_and_free(r);
}

static void a_window_that_opens_behind_an_undone_timeout_leaves_a_timer_running(void **state)
{
    undone_behind_a_window(0);
    undone_behind_a_window(100);
}

// Each acknowledgment of something new begins the user timeout anew.
static void the_user_timeout_counts_from_the_last_progress(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].user_timeout_ms = 3000;
    r->e.role.source = 6 * 1460;
    raw_open(r);
    for (int i = 0; i < 5; i++) {
        for (int ms = 0; ms < 2500; ms++)
            raw_turn(r, 1);
        r->ack += 1460;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(r->e.role.closed, 0);
    }
    assert_in_range(lives_ms(r, 100000), 2500, 3100);
    assert_int_equal(r->e.stats.c.user_timeouts, 1);
    reset_and_free(r);
}

// As Linux: a peer that answers every probe of its closed window is still given up.
static void the_user_timeout_ends_a_closed_window_though_it_is_answered(void **state)
{
    struct raw *r = raw_new(NULL);
    r->wnd = 0;
    r->e.tcp.services[0].user_timeout_ms = 10000;
    r->e.role.source = 1000;
    raw_open(r);
    const uint64_t from_us = r->now_us;
    while (r->e.role.closed == 0) {
        assert_true(raw_wait(r, 10000) != UINT32_MAX);
        if (r->e.role.closed == 0)
            raw_send(r, SEG_ACK, 0, 0);
    }
    assert_in_range((r->now_us - from_us) / 1000, 10000, 10010);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    assert_int_equal(r->e.stats.c.user_timeouts, 1);
    assert_true(r->e.stats.c.window_probes > 3);
    reset_and_free(r);
}

static void an_open_without_an_answer_ends_by_the_user_timeout(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].user_timeout_ms = 4000;
    end_connect(&r->e, 0x0a000002, 80);
    assert_in_range(lives_ms(r, 300000), 4000, 4005);
    assert_int_equal(r->e.role.why, C10M_UNREACHABLE);
    reset_and_free(r);
}

// Linux's tcp_keepalive_time, _intvl and _probes: 2 probes after the idle time, then the end.
static void keepalive_has_its_own_interval_and_number_of_probes(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp_service *sv = &r->e.tcp.services[0];
    sv->keepalive_ms = 20000;
    sv->keepalive_interval_ms = 3000;
    sv->keepalive_probes = 2;
    raw_open(r);
    assert_in_range(raw_wait(r, 100000), 19990, 20200);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    assert_int_equal(OUT(r, 0).seq, r->ack - 1);
    assert_int_equal(OUT(r, 0).data_len[0], 0);
    assert_in_range(raw_wait(r, 100000), 2990, 3200);
    assert_in_range(raw_wait(r, 100000), 2990, 3200);
    assert_true(OUT(r, 0).flags & SEG_RST);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    assert_int_equal(r->e.stats.c.keepalive_probes, 2);
    reset_and_free(r);
}

static void an_answered_probe_begins_the_idle_time_anew(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 2000;  // shorter than the interval, longer below
    raw_open(r);
    for (int i = 0; i < 3; i++) {
        assert_in_range(raw_wait(r, 100000), 1990, 2010);
        raw_send(r, SEG_ACK, 0, 0);
    }
    reset_and_free(r);
    r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 200000;
    r->e.tcp.services[0].keepalive_interval_ms = 1000;
    raw_open(r);
    for (int i = 0; i < 3; i++) {
        assert_in_range(raw_wait(r, 300000), 195000, 205000);
        raw_send(r, SEG_ACK, 0, 0);
    }
    reset_and_free(r);
}

static void the_user_timeout_takes_the_place_of_the_number_of_probes(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp_service *sv = &r->e.tcp.services[0];
    sv->keepalive_ms = 5000;
    sv->keepalive_interval_ms = 1000;
    sv->keepalive_probes = 2;
    sv->user_timeout_ms = 9000;
    raw_open(r);
    assert_in_range(lives_ms(r, 300000), 9000, 9200);
    assert_int_equal(r->e.stats.c.keepalive_probes, 4);
    assert_int_equal(r->e.stats.c.user_timeouts, 1);
    reset_and_free(r);
}

// Linux's tcp_keepalive_timer(): with a user timeout the time decides, however many probes that
// are.
static void the_user_timeout_ends_a_silent_peer_after_any_number_of_probes(void **state)
{
    static const struct {
        uint32_t keepalive_ms, interval_ms, user_ms;
    } rows[] = {{60000, 1000, 100000},
                {60000, 1000, 600000},
                {10000, 5000, 1800000},
                {1000, 10, 50000},
                {5000, 7000, 1000}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = raw_new(NULL);
        struct tcp_service *sv = &r->e.tcp.services[0];
        sv->keepalive_ms = rows[i].keepalive_ms;
        sv->keepalive_interval_ms = rows[i].interval_ms;
        sv->keepalive_probes = 2;
        sv->user_timeout_ms = rows[i].user_ms;
        raw_open(r);
        const uint32_t least = MAX(rows[i].user_ms, rows[i].keepalive_ms + rows[i].interval_ms);
        const uint32_t ms = lives_ms(r, 3 * least);
        assert_in_range(ms, least - 20, least + rows[i].interval_ms + 20);
        assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
        assert_int_equal(r->e.stats.c.user_timeouts, 1);
        assert_in_range(r->e.stats.c.keepalive_probes,
                        (least - rows[i].keepalive_ms) / rows[i].interval_ms - 1,
                        (least - rows[i].keepalive_ms) / rows[i].interval_ms + 1);
        reset_and_free(r);
    }
}

// The time of the user timeout begins with what is sent, not with the silence before it.
static void what_is_sent_to_a_silent_peer_has_its_whole_user_timeout(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp_service *sv = &r->e.tcp.services[0];
    sv->keepalive_ms = 10000;
    sv->keepalive_interval_ms = 1000;
    sv->user_timeout_ms = 30000;
    raw_open(r);
    raw_turn(r, 0);
    struct block *b = raw_block(r);
    for (int i = 0; i < 250; i++)
        raw_turn(r, 100);
    assert_true(b->probes > 10);
    struct c10m_conn c = {.k = &r->e.sock, .b = b, .ix = (uint32_t)(b - r->e.tcp.blocks)};
    assert_int_equal(c10m_send(&c, "request", 7), 7);
    assert_in_range(lives_ms(r, 100000), 29000, 31000);
    assert_int_equal(r->e.stats.c.user_timeouts, 1);
    reset_and_free(r);
}

// Keepalive and the retransmission timeout come in the same millisecond, again and again.
static void keepalive_beside_a_retransmission_does_not_put_the_user_timeout_off(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp_service *sv = &r->e.tcp.services[0];
    r->e.tcp.cfg.rto_min_ms = r->e.tcp.cfg.rto_max_ms = 2000;
    sv->keepalive_ms = 4000;
    sv->keepalive_interval_ms = 2000;
    sv->user_timeout_ms = 30000;
    r->e.role.source = 100;
    raw_open(r);
    assert_in_range(lives_ms(r, 100000), 29000, 33000);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    assert_int_equal(r->e.stats.c.user_timeouts, 1);
    assert_int_equal(r->e.stats.c.keepalive_probes, 0);
    reset_and_free(r);
}

// The mark of the persist timer may stay when the last byte has been acknowledged. It means nothing
// then: a silent peer is given up all the same.
static void keepalive_is_not_held_back_by_a_persist_timer_that_is_over(void **state)
{
    struct raw *r = raw_new(NULL);
    struct tcp_service *sv = &r->e.tcp.services[0];
    sv->keepalive_ms = 4000;
    sv->keepalive_interval_ms = 1000;
    sv->keepalive_probes = 5;
    raw_open(r);
    raw_turn(r, 0);
    raw_block(r)->flags |= BF_PROBE;
    assert_in_range(lives_ms(r, 100000), 8000, 11000);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    reset_and_free(r);
}

// RFC 9293 3.8.4: a keepalive is sent only when no data is in flight, and only after an interval in
// which neither data nor acknowledgments came.
static void a_peer_that_acknowledges_is_not_probed(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 1000;
    r->e.role.source = 100 * 1460;
    raw_open(r);
    for (int i = 0; i < 40; i++) {
        r->ack += 1460;
        raw_send(r, SEG_ACK, 0, 0);
        for (int ms = 0; ms < 150; ms++)
            raw_turn(r, 1);
    }
    assert_int_equal(r->e.stats.c.keepalive_probes, 0);
    r->e.tcp.cfg.retries = 3;
    lives_ms(r, 100000);  // nothing is acknowledged any more
    assert_int_equal(r->e.stats.c.keepalive_probes, 0);
    reset_and_free(r);
}

// A connection that the peer opens with `flags` beside SYN, in a packet marked `ecn`.
static struct raw *opened_with(uint8_t flags, uint8_t ecn, uint64_t source)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = source;
    struct seg_in *s = raw_seg(r, SEG_SYN | flags, r->seq++, 0, 0, 0);
    s->opts |= SEG_OPT_MSS;
    s->mss = 1460;
    s->ecn = ecn;
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).tos, 0);
    r->ack = OUT(r, 0).seq + 1;
    return r;
}

static struct raw *opened_ecn(uint64_t source)
{
    struct raw *r = opened_with(SEG_ECE | SEG_CWR, 0, source);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK | SEG_ECE);
    raw_send(r, SEG_ACK, 0, 0);
    return r;
}

static void ecn_is_agreed_only_with_a_peer_that_asks_rightly(void **state)
{
    static const struct {
        uint8_t mode, flags, ecn;
        bool agreed;
    } rows[] = {
        {TCP_ECN_ACCEPT, SEG_ECE | SEG_CWR, 0, true},
        {TCP_ECN_ON, SEG_ECE | SEG_CWR, 0, true},
        {TCP_ECN_OFF, SEG_ECE | SEG_CWR, 0, false},
        {TCP_ECN_ON, SEG_ECE, 0, false},
        {TCP_ECN_ON, SEG_CWR, 0, false},
        {TCP_ECN_ON, 0, 0, false},
        {TCP_ECN_ON, SEG_ECE | SEG_CWR, 2, false},
        {TCP_ECN_ON, SEG_ECE | SEG_CWR, 3, false},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = raw_new(NULL);
        r->e.tcp.cfg.ecn = rows[i].mode;
        r->e.role.source = 100;
        struct seg_in *s = raw_seg(r, SEG_SYN | rows[i].flags, r->seq++, 0, 0, 0);
        s->ecn = rows[i].ecn;
        raw_turn(r, 1);
        assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK | (rows[i].agreed ? SEG_ECE : 0));
        r->ack = OUT(r, 0).seq + 1;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(OUT(r, 0).data_len[0], 100);
        assert_int_equal(OUT(r, 0).tos, rows[i].agreed ? 2 : 0);
        assert_int_equal(OUT(r, 0).flags & (SEG_ECE | SEG_CWR), 0);
        reset_and_free(r);
    }
}

// RFC 3168 6.1.4 to 6.1.6: ECT on new data and on nothing else.
static void only_new_data_is_ect(void **state)
{
    struct raw *r = opened_ecn(4 * 1460);
    assert_int_equal(r->e.tcp.n_out, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(OUT(r, i).tos, 2);
    raw_send(r, SEG_ACK, 0, 10);
    assert_true(raw_wait(r, 100) != UINT32_MAX);  // the delayed ACK
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    assert_int_equal(OUT(r, 0).tos, 0);
    assert_true(raw_wait(r, 3000) != UINT32_MAX);  // again, after the timeout
    assert_true(OUT(r, 0).data_len[0] != 0);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 0).tos, 0);
    assert_int_equal(OUT(r, 0).flags & SEG_CWR, 0);
    tcp_abort(&r->e.tcp, (uint32_t)(raw_block(r) - r->e.tcp.blocks));
    assert_true(OUT(r, 1).flags & SEG_RST);
    assert_int_equal(OUT(r, 1).tos, 0);
    raw_free(r, false);
}

// One segment of `len` new bytes, marked `ecn`, and what it is answered by at once.
static uint8_t answer_to(struct raw *r, uint8_t flags, uint8_t ecn, uint16_t len)
{
    raw_seg(r, SEG_ACK | flags, r->seq, r->ack, 0, len)->ecn = ecn;
    r->seq += len;
    raw_turn(r, 1);
    return r->e.tcp.n_out != 0 ? OUT(r, 0).flags : 0;
}

static void ce_is_echoed_at_once_and_until_cwr(void **state)
{
    struct raw *r = opened_ecn(0);
    assert_int_equal(answer_to(r, 0, 2, 10), 0);
    assert_int_equal(answer_to(r, 0, 3, 10), SEG_ACK | SEG_ECE);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(answer_to(r, 0, 2, 10), 0);
        assert_int_equal(answer_to(r, 0, 2, 10), SEG_ACK | SEG_ECE);
    }
    // What is out of order, and the answer to a duplicate, carries it too.
    raw_seg(r, SEG_ACK, r->seq + 10, r->ack, 0, 10)->ecn = 2;
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK | SEG_ECE);
    raw_send(r, SEG_ACK, 0, 10);
    r->seq += 10;
    assert_int_equal(answer_to(r, SEG_CWR, 3, 10), SEG_ACK | SEG_ECE);  // a new one at once
    assert_int_equal(answer_to(r, SEG_CWR, 2, 10), SEG_ACK);
    answer_to(r, 0, 2, 10);
    assert_int_equal(answer_to(r, 0, 2, 10), SEG_ACK);
    assert_int_equal(r->e.stats.c.ecn_ce_received, 2);
    assert_true(r->e.stats.c.ecn_echoed >= 7);
    reset_and_free(r);
}

// RFC 3168 6.1.5: CE counts in data that is accepted, and in nothing else.
static void ce_in_what_is_not_accepted_is_not_echoed(void **state)
{
    struct raw *r = opened_ecn(0);
    raw_send(r, SEG_ACK, 0, 100);
    raw_seg(r, SEG_ACK, r->seq - 100, r->ack, 0, 100)->ecn = 3;  // had that
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    raw_seg(r, SEG_ACK, r->seq + 1000000, r->ack, 0, 100)->ecn = 3;  // out of the window
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0)->ecn = 3;  // no data
    raw_turn(r, 1);
    raw_send(r, SEG_ACK, 0, 100);
    raw_send(r, SEG_ACK, 0, 100);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    assert_int_equal(r->e.stats.c.ecn_echoed, 0);
    reset_and_free(r);
}

// RFC 3168 6.1.2: however many acknowledgments say it, once a window of data.
static void ece_halves_the_window_once_a_window_of_data(void **state)
{
    struct raw *r = opened_ecn(1 << 20);
    struct block *b = raw_block(r);
    assert_int_equal(r->e.tcp.n_out, 10);
    assert_int_equal(b->cwnd, 14600);
    const uint32_t first = r->ack, end = b->snd_max;
    unsigned cwr = 0;
    for (int i = 0; i < 10; i++) {
        r->ack += 1460;
        raw_send(r, SEG_ACK | SEG_ECE, 0, 0);
        for (uint32_t k = 0; k < r->e.tcp.n_out; k++) {
            assert_int_equal(OUT(r, k).tos, 2);
            cwr += (OUT(r, k).flags & SEG_CWR) != 0;
        }
        assert_int_equal(b->cwnd, 7300);
        assert_int_equal(b->ssthresh, 7300);
    }
    assert_int_equal(r->ack, end);
    assert_int_equal(cwr, 1);
    assert_int_equal(r->e.stats.c.ecn_echo_received, 1);
    r->ack += 1460;  // data that left after the reduction
    raw_send(r, SEG_ACK | SEG_ECE, 0, 0);
    assert_int_equal(r->e.stats.c.ecn_echo_received, 2);
    assert_int_equal(b->ssthresh, 3650);
    assert_true(r->ack - first > 10 * 1460);
    r->ack = b->snd_max;
    raw_send(r, SEG_ACK, 0, 0);
    assert_true(OUT(r, 0).flags & SEG_CWR);
    reset_and_free(r);
}

static void a_loss_in_a_window_that_ece_halved_is_repaired_and_halves_no_more(void **state)
{
    struct raw *r = opened_ecn(1 << 20);
    struct block *b = raw_block(r);
    r->ack += 1460;
    raw_send(r, SEG_ACK | SEG_ECE, 0, 0);
    assert_int_equal(b->ssthresh, 7300);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK | SEG_ECE, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 0).tos, 0);
    assert_int_equal(b->ssthresh, 7300);
    assert_int_equal(r->e.stats.c.ecn_echo_received, 1);
    reset_and_free(r);
}

static void a_loss_is_told_to_the_peer_by_cwr(void **state)
{
    struct raw *r = opened_ecn(1 << 20);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    r->ack = raw_block(r)->snd_max;
    raw_send(r, SEG_ACK, 0, 0);
    assert_true(OUT(r, 0).flags & SEG_CWR);
    reset_and_free(r);
}

static void without_agreement_ecn_changes_nothing(void **state)
{
    struct raw *r = opened_with(0, 0, 1 << 20);
    raw_send(r, SEG_ACK, 0, 0);
    struct block *b = raw_block(r);
    r->ack += 1460;
    raw_send(r, SEG_ACK | SEG_ECE, 0, 0);
    assert_int_equal(b->cwnd, 10 * 1460 + 1460);
    assert_int_equal(OUT(r, 0).flags & (SEG_ECE | SEG_CWR), 0);
    assert_int_equal(OUT(r, 0).tos, 0);
    answer_to(r, 0, 3, 10);
    assert_int_equal(answer_to(r, 0, 3, 10) & SEG_ECE, 0);
    assert_int_equal(r->e.stats.c.ecn_echoed, 0);
    reset_and_free(r);
}

// An active open's SYN, answered by `flags`; returns whether there is ECN then.
static bool asks(uint8_t flags, uint8_t mode, bool lost)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.ecn = mode;
    r->e.role.source = 100;
    end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, mode == TCP_ECN_ON ? SEG_SYN | SEG_ECE | SEG_CWR : SEG_SYN);
    assert_int_equal(OUT(r, 0).tos, 0);
    if (lost) {
        assert_true(raw_wait(r, 3000) != UINT32_MAX);
        assert_int_equal(OUT(r, 0).flags, SEG_SYN);  // RFC 3168 6.1.1.1
    }
    const struct flow_key key = OUT(r, 0).key;
    raw_seg(r, SEG_SYN | SEG_ACK | flags, r->seq, OUT(r, 0).seq + 1, 0, 0)->key = key;
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).data_len[0], 100);
    const bool agreed = OUT(r, 0).tos == 2;
    reset_and_free(r);
    return agreed;
}

static void an_active_open_asks_once_and_takes_the_right_answer_only(void **state)
{
    assert_true(asks(SEG_ECE, TCP_ECN_ON, false));
    assert_false(asks(0, TCP_ECN_ON, false));
    assert_false(asks(SEG_ECE | SEG_CWR, TCP_ECN_ON, false));  // an echo of our flags
    assert_false(asks(SEG_CWR, TCP_ECN_ON, false));
    assert_false(asks(SEG_ECE, TCP_ECN_ON, true));
    assert_false(asks(SEG_ECE, TCP_ECN_ACCEPT, false));
    assert_false(asks(SEG_ECE, TCP_ECN_OFF, false));
}

// Two of our stacks over a link that marks and does not lose, in segments of either kind.
static void streams_between_ends_with_ecn_are_slowed_without_loss(void **state)
{
    for (int large = 0; large < 2; large++) {
        struct pair *p = pair_new(7 + (unsigned)large);
        p->mark_pm = 30;
        for (int i = 0; i < 2; i++) {
            p->e[i].tcp.cfg.ecn = TCP_ECN_ON;
            p->e[i].tcp.cfg.large = large != 0;
            p->e[i].role = (struct role){.source = 2000000, .shut = true};
        }
        end_connect(&p->e[0], p->e[1].v4, PAIR_PORT);
        pair_run(p, 600000);
        for (int i = 0; i < 2; i++) {
            const struct core_counters *c = &p->e[i].stats.c;
            assert_int_equal(p->e[i].role.received, 2000000);
            assert_false(p->e[i].role.wrong);
            assert_int_equal(c->tx_retransmits_segs, 0);
            assert_true(c->ecn_ce_received > 10);
            assert_true(c->ecn_echo_received > 5);
            assert_true(c->ecn_echo_received <= p->e[!i].stats.c.ecn_ce_received);
        }
        pair_free(p, true);
    }
}

static void a_simultaneous_open_has_ecn_if_both_ask(void **state)
{
    for (int both = 0; both < 2; both++) {
        struct pair *p = pair_new(11);
        p->e[0].tcp.cfg.ecn = TCP_ECN_ON;
        p->e[1].tcp.cfg.ecn = both ? TCP_ECN_ON : TCP_ECN_ACCEPT;
        end_connect_from(&p->e[0], 32773, p->e[1].v4, 32773);
        end_connect_from(&p->e[1], 32773, p->e[0].v4, 32773);
        pair_run_for(p, 50);
        for (int i = 0; i < 2; i++) {
            const struct block *b = &p->e[i].tcp.blocks[0];
            for (; b->state == TCP_FREE; b++)
                ;
            assert_int_equal(b->state, TCP_ESTABLISHED);
            assert_int_equal((b->agreed & BA_ECN) != 0, both);
        }
        pair_free(p, false);
    }
}

// Tells how many segments answer `flags` and `len` bytes, `n` times, at seq.
static unsigned answers(struct raw *r, uint8_t flags, uint32_t seq, uint16_t len, unsigned n)
{
    unsigned answered = 0;
    for (unsigned i = 0; i < n; i++) {
        raw_seg(r, flags, seq, r->ack, 0, len);
        raw_turn(r, 1);
        answered += r->e.tcp.n_out;
    }
    return answered;
}

static void silence(struct raw *r, uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++)
        raw_turn(r, 1);
}

static void empty_segments_outside_the_window_are_answered_once_in_half_a_second(void **state)
{
    struct raw *r = opened_with(0, 0, 0);
    raw_send(r, SEG_ACK, 0, 100);
    silence(r, 100);
    assert_int_equal(answers(r, SEG_ACK, r->seq + 1000000, 0, 100), 1);
    assert_int_equal(r->e.stats.c.ack_skipped, 99);
    assert_int_equal(answers(r, SEG_ACK, r->seq - 50, 0, 100), 0);
    silence(r, 350);
    assert_int_equal(answers(r, SEG_ACK, r->seq - 50, 0, 10), 1);
    // A SYN, a RST and an acknowledgment that are challenged share the limit.
    const uint64_t before = r->e.stats.c.challenge_acks;
    assert_int_equal(answers(r, SEG_SYN, r->seq + 1000000, 0, 10), 0);
    assert_int_equal(answers(r, SEG_RST, r->seq + 10, 0, 10), 0);
    silence(r, 500);
    assert_int_equal(answers(r, SEG_SYN, r->seq + 1000000, 0, 10), 1);
    assert_int_equal(answers(r, SEG_RST, r->seq + 10, 0, 10), 0);
    assert_int_equal(r->e.stats.c.challenge_acks - before, 1);
    assert_int_equal(r->e.stats.c.ack_skipped_challenge, 39);
    reset_and_free(r);
}

// The acknowledgment of data may have been lost, and its sender waits for it.
static void data_and_fin_outside_the_window_are_each_answered(void **state)
{
    struct raw *r = opened_with(0, 0, 0);
    raw_send(r, SEG_ACK, 0, 100);
    silence(r, 100);
    assert_int_equal(answers(r, SEG_ACK, r->seq - 100, 100, 20), 20);
    assert_int_equal(answers(r, SEG_ACK, r->seq + 1000000, 1, 20), 20);
    assert_int_equal(answers(r, SEG_ACK | SEG_FIN, r->seq + 1000000, 0, 20), 20);
    assert_int_equal(r->e.stats.c.ack_skipped, 0);
    reset_and_free(r);
}

static void empty_segments_with_an_old_timestamp_are_answered_once_in_half_a_second(void **state)
{
    struct raw *r = raw_new(NULL);
    r->ts = true;
    r->ts_val = 100000;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 100);
    silence(r, 100);
    r->ts_val -= 1000;
    assert_int_equal(answers(r, SEG_ACK, r->seq, 0, 100), 1);
    assert_int_equal(answers(r, SEG_ACK, r->seq, 10, 20), 20);
    assert_int_equal(r->e.stats.c.ack_skipped_paws, 99);
    assert_int_equal(r->e.role.received, 100);
    r->ts_val += 1000;
    reset_and_free(r);
}

static void a_limit_of_0_answers_everything(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.invalid_ack_ms = 0;
    raw_open(r);
    assert_int_equal(answers(r, SEG_ACK, r->seq + 1000000, 0, 100), 100);
    reset_and_free(r);
}

// Also the first one of a connection that is opened whenever the clock's low bits are few.
static void the_first_answer_is_never_skipped(void **state)
{
    for (uint64_t ms = 1048000; ms < 1049600; ms += 100) {
        struct raw *r = raw_new(NULL);
        r->now_us = ms * 1000;
        wheel_expire(r->e.tcp.wheel, (uint32_t)ms, &(uint32_t){0}, 1);
        raw_open(r);
        assert_int_equal(answers(r, SEG_ACK, r->seq + 1000000, 0, 2), 1);
        reset_and_free(r);
    }
}

// Each end finds the other's numbers outside of its window and says so.
static void an_ack_storm_between_two_ends_ends(void **state)
{
    struct pair *p = pair_new(5);
    end_connect(&p->e[0], p->e[1].v4, PAIR_PORT);
    pair_run_for(p, 100);
    for (int i = 0; i < 2; i++) {
        struct block *b = &p->e[i].tcp.blocks[0];
        for (; b->state == TCP_FREE; b++)
            ;
        b->snd_una = b->snd_nxt = b->snd_max = b->snd_end = b->snd_una + (1 << 24);
        if (i == 0)
            b->flags |= BF_ACK_NOW;
        tcp_dirty(&p->e[i].tcp, (uint32_t)(b - p->e[i].tcp.blocks));
    }
    const uint64_t before = p->e[0].stats.c.acks_sent + p->e[1].stats.c.acks_sent;
    pair_run_for(p, 60000);
    const uint64_t acks = p->e[0].stats.c.acks_sent + p->e[1].stats.c.acks_sent - before;
    assert_in_range(acks, 3, 4);
    assert_true(p->e[0].stats.c.ack_skipped + p->e[1].stats.c.ack_skipped >= 1);
    pair_free(p, false);
}

// One connection whose peer takes segments of at most `most` bytes and never says so; returns how
// many bytes it takes.
static uint64_t through_a_black_hole(struct raw *r, uint32_t most, uint32_t source)
{
    r->e.role.source = source;
    raw_open(r);
    const uint32_t first = r->ack;
    for (uint32_t ms = 0; ms < 60000 && r->ack - first < source; ms++) {
        for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
            const struct seg_out *o = &OUT(r, i);
            const uint32_t len = (uint32_t)o->data_len[0] + o->data_len[1];
            if (o->seq == r->ack && len <= most)
                r->ack += len;
        }
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_turn(r, 1);
    }
    return r->ack - first;
}

// RFC 2923 2.1, as Linux's tcp_mtu_probing = 1.
static void a_path_that_swallows_large_segments_gets_smaller_ones(void **state)
{
    static const struct {
        uint32_t most, mss;
    } rows[] = {{1400, 1024}, {1024, 1024}, {1023, 512}, {512, 512}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = raw_new(NULL);
        assert_int_equal(through_a_black_hole(r, rows[i].most, 20000), 20000);
        assert_int_equal(raw_block(r)->mss, rows[i].mss);
        assert_int_equal(r->e.stats.c.mtu_probe_failed, rows[i].mss == 1024 ? 1 : 2);
        assert_int_equal(r->e.stats.c.paths_suspected, 1);
        reset_and_free(r);
    }
}

static void small_segments_do_not_look_like_a_black_hole(void **state)
{
    struct raw *r = raw_new(NULL);
    assert_int_equal(through_a_black_hole(r, 0, 1024), 0);
    assert_int_equal(r->e.stats.c.paths_suspected, 1);
    assert_int_equal(r->e.stats.c.mtu_probe_failed, 0);
    assert_int_equal(raw_block(r)->mss, 1460);
    reset_and_free(r);
}

static void black_hole_detection_can_be_off(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.black_hole_detection = false;
    assert_int_equal(through_a_black_hole(r, 1400, 20000), 0);
    assert_int_equal(raw_block(r)->mss, 1460);
    reset_and_free(r);
}

// RFC 6093: urgent data is data like other data, whatever its pointer says; none is ever sent.
static void urgent_data_is_delivered_in_line(void **state)
{
    static const uint16_t pointers[] = {0, 1, 49, 50, 51, 1000, 65535};
    struct raw *r = raw_new(NULL);
    r->e.role.echo = true;
    raw_open(r);
    for (unsigned i = 0; i < ARRAY_LEN(pointers); i++) {
        struct seg_in *s = raw_seg(r, SEG_ACK | SEG_URG, r->seq, r->ack, i * 50, 50);
        s->urg = pointers[i];
        r->seq += 50;
        raw_turn(r, 1);
        assert_int_equal(OUT(r, 0).data_len[0], 50);
        assert_false(OUT(r, 0).flags & SEG_URG);
        r->ack += 50;
        // Empty, and out of the window.
        raw_seg(r, SEG_ACK | SEG_URG, r->seq, r->ack, 0, 0)->urg = pointers[i];
        raw_seg(r, SEG_ACK | SEG_URG, r->seq + 1000000, r->ack, 0, 10)->urg = pointers[i];
        raw_turn(r, 1);
    }
    assert_int_equal(r->e.role.received, 50 * ARRAY_LEN(pointers));
    assert_false(r->e.role.wrong);
    assert_int_equal(raw_block(r)->state, TCP_ESTABLISHED);
    reset_and_free(r);
}

// Opens with an MSS and a window; the end sends `source` bytes.
static struct raw *opened_window(uint16_t mss, uint16_t wnd, uint64_t source)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = source;
    r->wnd = wnd;
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    s->opts |= SEG_OPT_MSS;
    s->mss = mss;
    raw_turn(r, 1);
    r->ack = OUT(r, 0).seq + 1;
    raw_send(r, SEG_ACK, 0, 0);
    return r;
}

// Bytes of data that left in this turn.
static uint32_t sent_bytes(const struct raw *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++)
        n += (uint32_t)OUT(r, i).data_len[0] + OUT(r, i).data_len[1];
    return n;
}

// RFC 9293 3.8.6.2.1 (3): who never has room for a whole segment is sent to at once all the same.
static void a_peer_whose_window_is_always_below_its_mss_never_waits(void **state)
{
    for (uint16_t wnd = 1; wnd <= 66; wnd++) {
        struct raw *r = opened_window(64, wnd, 1000);
        uint32_t left = 1000;
        while (left != 0) {
            assert_true(r->e.tcp.n_out != 0);
            const uint32_t got = sent_bytes(r);
            assert_in_range(got, 1, wnd);
            left -= got;
            r->ack += got;
            raw_send(r, SEG_ACK, 0, 0);
        }
        assert_int_equal(r->e.stats.c.rto_fired, 0);
        reset_and_free(r);
    }
}

// The silly window syndrome: a crumb of a window that was large is left alone until the override
// timeout, and taken at once when it has grown.
static void a_crumb_of_a_large_window_waits_for_the_override_timeout(void **state)
{
    struct raw *r = opened_window(1460, 20000, 100000);
    r->ack = raw_block(r)->snd_max;
    r->wnd = 100;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    for (int i = 0; i < 15; i++) {  // a peer that talks does not put it off
        raw_send(r, SEG_ACK, 0, 1);
        assert_int_equal(sent_bytes(r), 0);
        silence(r, 10);
    }
    for (uint32_t ms = 0; ms < 100 && sent_bytes(r) == 0; ms++)
        raw_turn(r, 1);
    assert_int_equal(sent_bytes(r), 100);
    assert_int_equal(r->e.stats.c.window_probes, 0);
    r->ack += 100;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    r->wnd = 1460;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(sent_bytes(r), 1460);
    reset_and_free(r);
}

// RFC 9293 3.8.6: a window that the peer takes back: nothing new leaves, what is in flight is kept,
// and goes again as far as the window lets it.
static void a_window_taken_back_keeps_what_is_in_flight(void **state)
{
    struct raw *r = opened_window(1460, 20000, 14600);
    assert_int_equal(r->e.tcp.n_out, 10);
    r->ack += 1460;
    r->wnd = 2000;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_in_range(raw_wait(r, 3000), 190, 1100);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(sent_bytes(r), 1460);
    r->wnd = 0;
    raw_send(r, SEG_ACK | SEG_PSH, 0, 1);
    for (int i = 0; i < 20; i++) {  // probed as any closed window, forever
        assert_true(raw_wait(r, 130000) != UINT32_MAX);
        assert_int_equal(sent_bytes(r), 0);
        raw_send(r, SEG_ACK, 0, 0);
    }
    r->wnd = 20000;
    const uint32_t end = raw_block(r)->snd_end;
    for (int i = 0; i < 20 && r->ack != end; i++) {
        raw_send(r, SEG_ACK, 0, 0);
        for (uint32_t k = 0; k < r->e.tcp.n_out; k++)
            if (OUT(r, k).seq == r->ack)
                r->ack += OUT(r, k).data_len[0] + OUT(r, k).data_len[1];
    }
    assert_int_equal(r->ack, end);
    assert_int_equal(r->e.role.closed, 0);
    reset_and_free(r);
}

// RFC 8200 5: each link carries 1,280 bytes.
static void over_ipv6_a_black_hole_is_no_deeper_than_1280_bytes(void **state)
{
    struct raw *r = raw_new(NULL);
    struct block b = {.mss = 1440, .snd_wnd = 65535, .snd_max = 1440};
    b.key.remote.b[0] = 0x20;
    tcp_black_hole(&r->e.tcp, &b);
    assert_int_equal(b.mss, 1220);
    tcp_black_hole(&r->e.tcp, &b);
    assert_int_equal(b.mss, 1220);
    b = (struct block){.flags = BF_TS, .mss = 1428, .snd_wnd = 65535, .snd_max = 1440};
    b.key.remote.b[0] = 0x20;
    tcp_black_hole(&r->e.tcp, &b);
    assert_int_equal(b.mss, 1208);
    assert_int_equal(r->e.stats.c.mtu_probe_failed, 2);
    raw_free(r, true);
}

// RFC 7323 5.5: to the millisecond, and also where the block was swept in between.
static void a_timestamp_is_old_for_just_so_long(void **state)
{
    for (unsigned more = 0; more < 2; more++)
        for (unsigned swept = 0; swept < 2; swept++) {
            struct raw *r = raw_new(NULL);
            r->ts = true;
            r->ts_val = 1000;
            raw_open(r);
            struct block *b = raw_block(r);
            b->ts_recent_ms = r->e.tcp.now.ms + 1 - TCP_PAWS_MS - more;
            r->ts_val = 999;
            raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
            if (swept) {  // as if it had come by already
                r->e.tcp.now = clock_at_us(r->now_us + 1000);
                r->e.tcp.sweep_ms = r->e.tcp.now.ms - 10 * TCP_SWEEP_MS;
                r->e.tcp.sweep_ix = 0;
                tcp_sweep(&r->e.tcp);
            }
            raw_turn(r, 1);
            assert_int_equal(r->e.role.received, more ? 100 : 0);
            assert_int_equal(r->e.stats.drops[DROP_tcp_old_timestamp], !more);
            r->ts_val = 5000;
            reset_and_free(r);
        }
}

// RFC 7323 4.1: an echo measures if it is of something in flight, and of the last two minutes.
static void an_echo_measures_what_can_have_been_in_flight(void **state)
{
    static const struct {
        uint32_t ms, age_ms;
        bool measures;
    } rows[] = {{7, 7, true},
                {8, 7, false},
                {0, 0, true},
                {TCP_ECHO_MAX_MS - 1, TCP_ECHO_MAX_MS + 5, true},
                {TCP_ECHO_MAX_MS, TCP_ECHO_MAX_MS + 5, false}};
    struct raw *r = raw_new(NULL);
    raw_open(r);
    const struct tcp *t = &r->e.tcp;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct block b = *raw_block(r);
        b.srtt_us = 0;
        b.echo_from_ms = t->now.ms - rows[i].age_ms;
        const uint32_t ecr = tcp_ts_now(t, &b.key) - rows[i].ms;
        const uint32_t us = tcp_acked_sample(t, &b, b.snd_max, true, ecr);
        assert_int_equal(us, rows[i].measures ? MAX(rows[i].ms * 1000, 1) : 0);
        assert_int_equal(b.srtt_us != 0, rows[i].measures);
        assert_int_equal(b.echo_from_ms,
                         t->now.ms - (rows[i].measures ? rows[i].ms : rows[i].age_ms));
    }
    reset_and_free(r);
}

// Without one, the segment that is timed, when all of it is acknowledged (RFC 6298 3).
static void a_timed_segment_measures_when_it_is_acknowledged(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    const struct tcp *t = &r->e.tcp;
    for (int timed = 0; timed < 2; timed++)
        for (int past = -1; past < 2; past++) {
            struct block b = *raw_block(r);
            b.srtt_us = 0;
            b.flags = (uint16_t)(timed ? b.flags | BF_TIMED : b.flags & ~BF_TIMED);
            b.rtt_us = (uint32_t)t->now.us - 3000;
            b.rtt_seq = b.snd_una + 100;
            const bool measures = timed && past >= 0;
            const uint32_t us = tcp_acked_sample(t, &b, b.rtt_seq + (uint32_t)past, false, 0);
            assert_int_equal(us, measures ? 3000 : 0);
            assert_int_equal((b.flags & BF_TIMED) != 0, timed && !measures);
        }
    reset_and_free(r);
}

// A third of the window, or less, in a round trip is no reason for a larger one; nor is there room
// for one while half of it is unread, or half of all buffers are taken.
static void the_window_grows_with_what_comes_in_a_round_trip(void **state)
{
    enum { RTT_MS = 100, FIRST = 60000 };
    static const struct {
        uint32_t came, round_ms, unread, taken;
        unsigned grown;
    } rows[] = {{20000, RTT_MS, 0, 0, 0},         {20001, RTT_MS, 0, 0, 1},
                {40001, RTT_MS, 0, 0, 2},         {40001, RTT_MS - 1, 0, 0, 0},
                {20001, RTT_MS, FIRST / 2, 0, 1}, {20001, RTT_MS, FIRST / 2 + 1, 0, 0},
                {20001, RTT_MS, 0, 1, 1},         {20001, RTT_MS, 0, 2, 0},
                {40002, 2 * RTT_MS, 0, 0, 1}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct raw *r = raw_new(NULL);
        struct tcp *t = &r->e.tcp;
        t->services[0].rcv_initial = FIRST;
        t->services[0].rcv_limit = 1 << 20;
        raw_open(r);
        struct block b = *raw_block(r);
        const uint32_t n_free = t->bufs.n_free_data;
        b.srtt_us = 8 * RTT_MS * 1000;
        b.last_rx_ms = t->now.ms - rows[i].round_ms;
        b.last_progress = tcp_progress(&b) - rows[i].came;
        b.rcvq_bytes = rows[i].unread;
        t->bufs.n_free_data =
            rows[i].taken == 0 ? n_free : t->bufs.data_count / 2 + 1 - rows[i].taken;
        tcp_tune_receive(t, &b);
        t->bufs.n_free_data = n_free;
        assert_int_equal(b.rcv_grown, rows[i].grown);
        const bool judged = rows[i].round_ms >= RTT_MS;
        assert_int_equal(b.last_rx_ms, judged ? t->now.ms : t->now.ms - rows[i].round_ms);
        reset_and_free(r);
    }
}

static void what_may_be_queued_grows_with_the_congestion_window(void **state)
{
    enum { FIRST = 20000, MOST = 60000 };
    static const uint32_t rows[][2] = {
        {FIRST / 2, FIRST}, {FIRST / 2 + 1, FIRST + 2}, {MOST / 2, MOST}, {MOST, MOST}};
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    raw_open(r);
    struct block b = *raw_block(r);
    t->services[0].snd_initial = FIRST;
    t->services[0].snd_limit = MOST;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        b.cwnd = rows[i][0];
        assert_int_equal(tcp_snd_tuned(t, &b), rows[i][1]);
    }
    const uint32_t n_free = t->bufs.n_free_data;
    t->bufs.n_free_data = t->bufs.data_count / 2 - 1;
    assert_int_equal(tcp_snd_tuned(t, &b), FIRST);
    t->bufs.n_free_data = n_free;
    t->services[0].snd_initial = 0;
    b.cwnd = FIRST;
    assert_int_equal(tcp_snd_tuned(t, &b), MOST);
    reset_and_free(r);
}

// Whose acknowledgment was lost sends again what we have: the answer echoes that copy. What lies
// further behind than any window, or acknowledges what no one can, is none (RFC 7323 5.3, RFC 5961
// 5.2), nor is what carries nothing.
static void a_copy_of_what_was_received_is_echoed(void **state)
{
    enum { RECEIVED = 70000, RECENT = 1000 };
    static const struct {
        uint32_t behind, len;
        int32_t ack;
        bool echoed;
    } rows[] = {
        {1, 1, 0, true},       {UINT16_MAX, 1, 0, true},    {UINT16_MAX + 1, 1, 0, false},
        {1460, 1460, 0, true}, {100, 1, -UINT16_MAX, true}, {100, 1, -UINT16_MAX - 1, false},
        {100, 1, 1, false},    {100, 0, 0, false}};
    struct raw *r = raw_new(NULL);
    r->ts = true;
    r->ts_val = RECENT;
    raw_open(r);
    for (uint32_t at = 0; at < RECEIVED; at += 1000)
        raw_send(r, SEG_ACK, at, 1000);
    raw_turn(r, 50);
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        raw_turn(r, 1000);
        raw_seg(r, SEG_ACK, r->seq - rows[i].behind, r->ack + (uint32_t)rows[i].ack,
                RECEIVED - rows[i].behind, (uint16_t)rows[i].len)
            ->ts_val = RECENT + 1 + i;
        raw_turn(r, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).flags, SEG_ACK);
        assert_int_equal(OUT(r, 0).ts_ecr, rows[i].echoed ? RECENT + 1 + i : RECENT);
        assert_int_equal(raw_block(r)->ts_recent, RECENT);
    }
    raw_turn(r, 1000);
    r->ts_val = RECENT + 50;
    raw_seg(r, SEG_PSH, r->seq - 100, r->ack, RECEIVED - 100, 100);  // acknowledges nothing
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).ts_ecr, RECENT);
    reset_and_free(r);
}

// What is told rounds up, and the edge with it, up to the limit; beyond, it rounds down.
static void a_window_that_is_full_to_the_byte_is_told_rounded_up(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct block b = *raw_block(r);
    const uint32_t limit = tcp_rcv_limit(&r->e.tcp, &b);
    b.rcv_wscale = 7;
    for (int over = -1; over < 2; over++) {
        b.rcvq_bytes = limit + (uint32_t)over;
        b.rcv_adv = b.rcv_nxt + 1000;
        assert_int_equal(tcp_announce_window(&r->e.tcp, &b), over > 0 ? 7 : 8);
        assert_int_equal(b.rcv_adv - b.rcv_nxt, over > 0 ? 1000 : 1024);
    }
    reset_and_free(r);
}

// With a log, with a scoreboard alone, and without SACK; in a recovery and before it.
static void no_segment_is_begun_for_which_the_turn_has_no_room(void **state)
{
    for (unsigned how = 0; how < 3; how++) {
        struct raw *r = raw_new(&(struct pair_sizes){.no_flights = how != 0});
        r->sack = how < 2;
        r->e.role.source = 60000;
        r->e.out_room = 3;
        raw_open(r);
        for (unsigned i = 0; i < 10; i++) {
            assert_in_range(r->e.tcp.n_out, 0, 3);
            raw_turn(r, 0);
        }
        assert_int_equal(raw_block(r)->snd_nxt - r->ack, 14600);
        for (unsigned i = 0; i < 6; i++) {
            raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
            if (r->sack)
                raw_sack(r, r->ack + 1460, r->ack + (2 + i) * 1460);
            raw_turn(r, 1);
            assert_in_range(r->e.tcp.n_out, 0, 3);
        }
        assert_true(tcp_recovering(&r->e.tcp, raw_block(r)));
        assert_int_equal(r->e.stats.drops[DROP_reply_room], 0);
        r->e.out_room = TCP_OUT_MAX;
        reset_and_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_answer_data_is_tried_for_at_least_100_seconds),
        cmocka_unit_test(the_user_timeout_ends_what_is_not_acknowledged_in_time),
        cmocka_unit_test(a_window_that_opens_behind_an_undone_timeout_leaves_a_timer_running),
        cmocka_unit_test(the_user_timeout_counts_from_the_last_progress),
        cmocka_unit_test(the_user_timeout_ends_a_closed_window_though_it_is_answered),
        cmocka_unit_test(an_open_without_an_answer_ends_by_the_user_timeout),
        cmocka_unit_test(the_user_timeout_ends_a_silent_peer_after_any_number_of_probes),
        cmocka_unit_test(what_is_sent_to_a_silent_peer_has_its_whole_user_timeout),
        cmocka_unit_test(keepalive_beside_a_retransmission_does_not_put_the_user_timeout_off),
        cmocka_unit_test(keepalive_is_not_held_back_by_a_persist_timer_that_is_over),
        cmocka_unit_test(keepalive_has_its_own_interval_and_number_of_probes),
        cmocka_unit_test(an_answered_probe_begins_the_idle_time_anew),
        cmocka_unit_test(the_user_timeout_takes_the_place_of_the_number_of_probes),
        cmocka_unit_test(a_peer_that_acknowledges_is_not_probed),
        cmocka_unit_test(ecn_is_agreed_only_with_a_peer_that_asks_rightly),
        cmocka_unit_test(only_new_data_is_ect),
        cmocka_unit_test(ce_is_echoed_at_once_and_until_cwr),
        cmocka_unit_test(ce_in_what_is_not_accepted_is_not_echoed),
        cmocka_unit_test(ece_halves_the_window_once_a_window_of_data),
        cmocka_unit_test(a_loss_in_a_window_that_ece_halved_is_repaired_and_halves_no_more),
        cmocka_unit_test(a_loss_is_told_to_the_peer_by_cwr),
        cmocka_unit_test(without_agreement_ecn_changes_nothing),
        cmocka_unit_test(an_active_open_asks_once_and_takes_the_right_answer_only),
        cmocka_unit_test(streams_between_ends_with_ecn_are_slowed_without_loss),
        cmocka_unit_test(a_simultaneous_open_has_ecn_if_both_ask),
        cmocka_unit_test(empty_segments_outside_the_window_are_answered_once_in_half_a_second),
        cmocka_unit_test(data_and_fin_outside_the_window_are_each_answered),
        cmocka_unit_test(empty_segments_with_an_old_timestamp_are_answered_once_in_half_a_second),
        cmocka_unit_test(a_limit_of_0_answers_everything),
        cmocka_unit_test(the_first_answer_is_never_skipped),
        cmocka_unit_test(an_ack_storm_between_two_ends_ends),
        cmocka_unit_test(a_path_that_swallows_large_segments_gets_smaller_ones),
        cmocka_unit_test(small_segments_do_not_look_like_a_black_hole),
        cmocka_unit_test(black_hole_detection_can_be_off),
        cmocka_unit_test(urgent_data_is_delivered_in_line),
        cmocka_unit_test(a_peer_whose_window_is_always_below_its_mss_never_waits),
        cmocka_unit_test(a_crumb_of_a_large_window_waits_for_the_override_timeout),
        cmocka_unit_test(a_window_taken_back_keeps_what_is_in_flight),
        cmocka_unit_test(over_ipv6_a_black_hole_is_no_deeper_than_1280_bytes),
        cmocka_unit_test(a_window_that_is_full_to_the_byte_is_told_rounded_up),
        cmocka_unit_test(no_segment_is_begun_for_which_the_turn_has_no_room),
        cmocka_unit_test(a_copy_of_what_was_received_is_echoed),
        cmocka_unit_test(a_timestamp_is_old_for_just_so_long),
        cmocka_unit_test(the_window_grows_with_what_comes_in_a_round_trip),
        cmocka_unit_test(what_may_be_queued_grows_with_the_congestion_window),
        cmocka_unit_test(an_echo_measures_what_can_have_been_in_flight),
        cmocka_unit_test(a_timed_segment_measures_when_it_is_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
