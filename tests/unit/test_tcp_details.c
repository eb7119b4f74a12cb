// The details of RFC 9293 and 1122 that connections seldom meet: one claim a test, in virtual time.
#include "check.h"
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

// Each acknowledgement of something new begins the user timeout anew.
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

// RFC 9293 3.8.4: a keepalive is sent only when no data is in flight, and only after an interval in
// which neither data nor acknowledgements came.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_answer_data_is_tried_for_at_least_100_seconds),
        cmocka_unit_test(the_user_timeout_ends_what_is_not_acknowledged_in_time),
        cmocka_unit_test(the_user_timeout_counts_from_the_last_progress),
        cmocka_unit_test(the_user_timeout_ends_a_closed_window_though_it_is_answered),
        cmocka_unit_test(an_open_without_an_answer_ends_by_the_user_timeout),
        cmocka_unit_test(keepalive_has_its_own_interval_and_number_of_probes),
        cmocka_unit_test(an_answered_probe_begins_the_idle_time_anew),
        cmocka_unit_test(the_user_timeout_takes_the_place_of_the_number_of_probes),
        cmocka_unit_test(a_peer_that_acknowledges_is_not_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
