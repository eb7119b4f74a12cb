// SPDX-License-Identifier: BSD-3-Clause
// Claims about options of one connection (c10m_set_option, c10m_get_option, c10m_get_info).
#include "puller.h"

static struct c10m_conn conn_of(struct raw *r)
{
    struct block *b = raw_block(r);
    return (struct c10m_conn){&r->e.sock, b, (uint32_t)(b - r->e.tcp.blocks), 0};
}

static int set(struct raw *r, enum c10m_option option, uint32_t value)
{
    struct c10m_conn c = conn_of(r);
    return c10m_set_option(&c, option, value);
}

static uint32_t get(struct raw *r, enum c10m_option option)
{
    struct c10m_conn c = conn_of(r);
    return c10m_get_option(&c, option);
}

static uint32_t records(const struct raw *r)
{
    return (uint32_t)COUNTED(r, ext_records_now);
}

static void send_n(struct raw *r, uint32_t n)
{
    static const uint8_t bytes[65536];
    struct c10m_conn c = conn_of(r);
    assert_int_equal(c10m_send(&c, bytes, n), n);
}

static uint32_t out_bytes(const struct raw *r, uint32_t i)
{
    return (uint32_t)r->e.out[i].data_len[0] + r->e.out[i].data_len[1];
}

// ---- the record

static const struct {
    enum c10m_option option;
    uint32_t ours, other, wrong;  // wrong 0: every value will do
} kept[] = {
    {C10M_OPT_KEEPALIVE_INTERVAL_MS, 75000, 1000, UINT32_MAX},
    {C10M_OPT_KEEPALIVE_PROBES, 9, 3, 128},
    {C10M_OPT_USER_TIMEOUT_MS, 0, 5000, UINT32_MAX},
    {C10M_OPT_RCV_LIMIT, 65536, 4096, 0},
    {C10M_OPT_SND_LIMIT, 65536, 4096, 0},
    {C10M_OPT_WINDOW_CLAMP, TCP_WINDOW_MAX, 4096, 0},
    {C10M_OPT_SYN_RETRIES, 6, 2, 128},
    {C10M_OPT_LINGER2_MS, 60000, 1000, UINT32_MAX - 1},
    {C10M_OPT_TTL, 64, 7, 256},
    {C10M_OPT_TOS, 0, 0x10, 256},
    {C10M_OPT_DF, 1, 0, 3},
    {C10M_OPT_CORK, 0, 1, 2},
    {C10M_OPT_MORE, 0, 1, 2},
};

// The first and the last value of each, and the one beyond; is: what it comes to.
static void an_option_takes_the_values_of_its_range_and_no_other(void **state)
{
    enum { LEAST = 2048 };  // of a queue: Linux's SOCK_MIN_RCVBUF
    static const struct {
        enum sockopt option;
        uint32_t value;
        int rc;
        uint32_t is;
    } rows[] = {
        {SOCKOPT_RCV_LIMIT, 1, 0, LEAST},
        {SOCKOPT_RCV_LIMIT, TCP_WINDOW_MAX + 1u, 0, TCP_WINDOW_MAX},
        {SOCKOPT_SND_LIMIT, LEAST, 0, LEAST},
        {SOCKOPT_USER_TIMEOUT, 1u << 30, 0, 1u << 30},
        {SOCKOPT_USER_TIMEOUT, (1u << 30) + 1, -EINVAL, 0},
        {SOCKOPT_KEEPALIVE_INTERVAL, 1u << 30, 0, 1u << 30},
        {SOCKOPT_KEEPALIVE_INTERVAL, (1u << 30) + 1, -EINVAL, 0},
        {SOCKOPT_LINGER2, 1u << 30, 0, 1u << 30},
        {SOCKOPT_LINGER2, (1u << 30) + 1, -EINVAL, 0},
        {SOCKOPT_LINGER2, UINT32_MAX - 1, -EINVAL, 0},
        {SOCKOPT_LINGER2, UINT32_MAX, 0, UINT32_MAX},
        {SOCKOPT_MSS, TCP_MSS_MIN - 1, -EINVAL, 0},
        {SOCKOPT_MSS, TCP_MSS_MIN, 0, TCP_MSS_MIN},
        {SOCKOPT_MSS, UINT16_MAX, 0, UINT16_MAX},
        {SOCKOPT_MSS, UINT16_MAX + 1, -EINVAL, 0},
        {SOCKOPT_KEEPALIVE_PROBES, 127, 0, 127},
        {SOCKOPT_KEEPALIVE_PROBES, 128, -EINVAL, 0},
        {SOCKOPT_SYN_RETRIES, 127, 0, 127},
        {SOCKOPT_SYN_RETRIES, 128, -EINVAL, 0},
        {SOCKOPT_TTL, 255, 0, 255},
        {SOCKOPT_TTL, 256, -EINVAL, 0},
        {SOCKOPT_TOS, 255, 0, 0xfc},
        {SOCKOPT_TOS, 256, -EINVAL, 0},
        {SOCKOPT_TOS, 0, 0, 0},
        {SOCKOPT_DF, SOCKOPT_DF_PROBE, 0, SOCKOPT_DF_PROBE},
        {SOCKOPT_DF, SOCKOPT_DF_PROBE + 1, -EINVAL, 0},
        {SOCKOPT_DF, 0, 0, 0},
        {SOCKOPT_CORK, 1, 0, 1},
        {SOCKOPT_CORK, 2, -EINVAL, 0},
        {SOCKOPT_CORK, 0, 0, 0},
        {SOCKOPT_MORE, 1, 0, 1},
        {SOCKOPT_MORE, 2, -EINVAL, 0},
        {SOCKOPT_MORE, 0, 0, 0},
        {SOCKOPT_DEAF, 1, 0, 1},
        {SOCKOPT_DEAF, 2, -EINVAL, 0},
        {SOCKOPT_CONGESTION, TCP_NEWRENO, 0, TCP_NEWRENO},
        {SOCKOPT_CONGESTION, TCP_NEWRENO + 1, -EINVAL, 0},
        {SOCKOPT_COUNT, 1, -EINVAL, 0},
    };
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct tcp *t = &r->e.tcp;
    const uint32_t ix = (uint32_t)(raw_block(r) - t->blocks);
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(tcp_sockopt_set(t, ix, rows[i].option, rows[i].value), rows[i].rc);
        if (rows[i].rc == 0)
            assert_int_equal(tcp_sockopt_value(t, raw_block(r), rows[i].option), rows[i].is);
        for (enum sockopt o = 0; o < SOCKOPT_COUNT; o++)
            tcp_sockopt_unset(t, ix, o);
        assert_int_equal(records(r), 0);
    }
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_free(r, false);
}

static void every_option_is_read_as_it_was_set_and_its_record_goes_with_it(void **state)
{
    struct raw *r = pulling();
    for (unsigned i = 0; i < ARRAY_LEN(kept); i++) {
        assert_int_equal(get(r, kept[i].option), kept[i].ours);
        assert_int_equal(records(r), 0);
        assert_int_equal(set(r, kept[i].option, kept[i].other), 0);
        assert_int_equal(get(r, kept[i].option), kept[i].other);
        assert_int_equal(records(r), 1);
        if (kept[i].wrong != 0)
            assert_int_equal(set(r, kept[i].option, kept[i].wrong), -EINVAL);
        assert_int_equal(get(r, kept[i].option), kept[i].other);
        assert_int_equal(set(r, kept[i].option, kept[i].ours), 0);
        assert_int_equal(get(r, kept[i].option), kept[i].ours);
        assert_int_equal(records(r), 0);
    }
    reset_and_free(r);
}

// The largest value of each is taken; every_option_... refuses the next.
static void the_largest_value_of_each_option_is_taken(void **state)
{
    static const struct {
        enum c10m_option option;
        uint32_t most;
    } ends[] = {
        {C10M_OPT_KEEPALIVE_INTERVAL_MS, 1u << 30},
        {C10M_OPT_KEEPALIVE_PROBES, 127},
        {C10M_OPT_USER_TIMEOUT_MS, 1u << 30},
        {C10M_OPT_SYN_RETRIES, 127},
        {C10M_OPT_LINGER2_MS, 1u << 30},
        {C10M_OPT_LINGER2_MS, UINT32_MAX},
        {C10M_OPT_TTL, 255},
        {C10M_OPT_TOS, 0xfc},
    };
    struct raw *r = pulling();
    for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
        assert_int_equal(set(r, ends[i].option, ends[i].most), 0);
        assert_int_equal(get(r, ends[i].option), ends[i].most);
        if (ends[i].most == 1u << 30)
            assert_int_equal(set(r, ends[i].option, (1u << 30) + 1), -EINVAL);
    }
    reset_and_free(r);
}

// The service's value may become another one while it grows: then the present one is a choice.
static void a_send_limit_that_still_grows_can_be_chosen_as_it_is(void **state)
{
    struct raw *r = pulling();
    const uint32_t limit = get(r, C10M_OPT_SND_LIMIT);
    r->e.tcp.services[0].snd_initial = limit;
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, limit), 0);
    assert_int_equal(records(r), 0);
    r->e.tcp.services[0].snd_limit = limit * 2;
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, get(r, C10M_OPT_SND_LIMIT)), 0);
    assert_int_equal(records(r), 1);
    reset_and_free(r);
}

static void all_of_them_fit_into_one_record_and_none_disturbs_another(void **state)
{
    struct raw *r = pulling();
    for (unsigned i = 0; i < ARRAY_LEN(kept); i++)
        assert_int_equal(set(r, kept[i].option, kept[i].other), 0);
    assert_int_equal(set(r, C10M_OPT_CONGESTION, C10M_NEWRENO), 0);
    for (unsigned i = 0; i < ARRAY_LEN(kept); i++)
        assert_int_equal(get(r, kept[i].option), kept[i].other);
    assert_int_equal(get(r, C10M_OPT_CONGESTION), C10M_NEWRENO);
    assert_int_equal(records(r), 1);
    reset_and_free(r);
}

static void what_is_no_option_is_refused(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, (enum c10m_option)1000, 1), -EINVAL);
    assert_int_equal(get(r, (enum c10m_option)1000), 0);
    assert_int_equal(set(r, C10M_OPT_CONGESTION, C10M_NEWRENO + 1), -EINVAL);
    assert_int_equal(set(r, C10M_OPT_KEEPALIVE_MS, UINT32_MAX), -EINVAL);
    reset_and_free(r);
}

static void without_a_record_an_option_is_refused_and_the_others_go_on(void **state)
{
    struct raw *r = pulling();
    uint32_t held[16], n = 0;
    while (r->e.tcp.ext_pool->n_free > r->e.tcp.ext_pool->count / 8)
        held[n++] = index_pool_get(r->e.tcp.ext_pool);
    assert_int_equal(set(r, C10M_OPT_TTL, 9), -ENOBUFS);
    assert_int_equal(get(r, C10M_OPT_TTL), 64);
    assert_int_equal(set(r, C10M_OPT_TTL, 64), 0);  // needs none
    assert_int_equal(set(r, C10M_OPT_NODELAY, 1), 0);
    while (n != 0)
        index_pool_put(r->e.tcp.ext_pool, held[--n]);
    reset_and_free(r);
}

static void a_record_of_options_outlives_a_gap(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_TTL, 9), 0);
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 100);
    raw_turn(r, 0);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
    r->seq += 200;
    raw_turn(r, 0);
    assert_int_equal(get(r, C10M_OPT_TTL), 9);
    assert_int_equal(records(r), 1);
    assert_int_equal(app.unread, 200);
    reset_and_free(r);
}

static void a_connection_with_options_delays_acknowledgments_like_any_other(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_USER_TIMEOUT_MS, 9000), 0);
    raw_send(r, SEG_ACK, 0, 100);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(raw_wait(r, 100), r->e.tcp.cfg.delayed_ack_ms);
    reset_and_free(r);
}

static void a_connection_with_options_measures_its_round_trips(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_USER_TIMEOUT_MS, 9000), 0);
    raw_block(r)->srtt_us = 0;
    send_n(r, 10);
    raw_turn(r, 0);
    r->ack += 10;
    r->now_us += 30000;
    raw_send(r, SEG_ACK, 0, 0);
    assert_in_range(raw_block(r)->srtt_us / 8, 29000, 31000);
    reset_and_free(r);
}

// ---- queues

static void the_send_limit_holds(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, 3000), 0);
    struct c10m_conn c = conn_of(r);
    static const uint8_t bytes[8192];
    assert_int_equal(c10m_send_room(&c), 3000);
    assert_int_equal(c10m_send(&c, bytes, sizeof(bytes)), 3000);
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, 0), 0);
    assert_int_equal(c10m_send_room(&c), 65536 - 3000);
    reset_and_free(r);
}

// What the service has now it may not have later: its limits grow with what the path takes.
static void a_limit_that_is_the_tuned_one_stays(void **state)
{
    struct raw *r = pulling();
    struct tcp *t = &r->e.tcp;
    struct tcp_service *sv = &t->services[raw_block(r)->service];
    sv->rcv_initial = sv->rcv_limit / 2;
    sv->snd_initial = sv->snd_limit / 2;
    tcp_set_limits(t);
    const uint32_t rcv = get(r, C10M_OPT_RCV_LIMIT), snd = get(r, C10M_OPT_SND_LIMIT);
    assert_true(rcv == sv->rcv_initial && snd == sv->snd_initial);
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, rcv), 0);
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, snd), 0);
    raw_block(r)->rcv_grown = 1;
    raw_block(r)->cwnd = sv->snd_limit;
    assert_int_equal(get(r, C10M_OPT_RCV_LIMIT), rcv);
    assert_int_equal(get(r, C10M_OPT_SND_LIMIT), snd);
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 0), 0);
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, 0), 0);
    assert_int_equal(get(r, C10M_OPT_RCV_LIMIT), 2 * rcv);
    assert_int_equal(records(r), 0);
    reset_and_free(r);
}

static void a_limit_below_the_least_is_the_least(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 1), 0);
    assert_int_equal(get(r, C10M_OPT_RCV_LIMIT), 2048);
    assert_int_equal(set(r, C10M_OPT_SND_LIMIT, UINT32_MAX), 0);
    assert_int_equal(get(r, C10M_OPT_SND_LIMIT), TCP_WINDOW_MAX);
    reset_and_free(r);
}

static void
a_larger_receive_limit_opens_the_window_and_a_smaller_one_takes_nothing_back(void **state)
{
    struct raw *r = pulling();
    const uint32_t adv = raw_block(r)->rcv_adv;
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 4096), 0);
    raw_send(r, SEG_ACK, 0, 1000);
    raw_wait(r, 100);
    assert_int_equal(raw_block(r)->rcv_adv, adv);
    assert_int_equal(OUT(r, 0).wnd, 65535 - 1000);
    for (uint32_t at = 1000; at < 65000; at += 1000)
        raw_send(r, SEG_ACK, at, 1000);
    raw_send(r, SEG_ACK, 65000, 535);
    raw_wait(r, 100);
    act(r, read_all);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).wnd, 4096);  // from now on
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 30000), 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).wnd, 30000);
    assert_int_equal(set(r, C10M_OPT_WINDOW_CLAMP, 31000), 0);
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 60000), 0);
    raw_turn(r, 0);
    raw_send(r, SEG_ACK, 65535, 2000);
    raw_wait(r, 100);
    assert_true(OUT(r, 0).wnd <= 31000);
    reset_and_free(r);
}

// ---- when it leaves

static void corked_bytes_wait_for_a_full_segment_or_the_end_of_the_cork(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_CORK, 1), 0);
    send_n(r, 100);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    send_n(r, 1460);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(out_bytes(r, 0), 1460);
    r->ack += 1460;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(set(r, C10M_OPT_CORK, 0), 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(out_bytes(r, 0), 100);
    reset_and_free(r);
}

// Linux's TCP_NAGLE_PUSH: TCP_NODELAY, set again or not, pushes what is there once.
static void nodelay_lets_leave_what_a_cork_holds_and_the_cork_stays(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_CORK, 1), 0);
    send_n(r, 100);
    raw_turn(r, 10);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(set(r, C10M_OPT_NODELAY, 1), 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(out_bytes(r, 0), 100);
    r->ack += 100;
    raw_send(r, SEG_ACK, 0, 0);
    send_n(r, 100);
    raw_turn(r, 10);
    assert_int_equal(r->e.tcp.n_out, 0);
    reset_and_free(r);
}

static void a_cork_does_not_hold_for_longer_than_a_timeout(void **state)
{
    struct raw *r = pulling();
    r->ack += 0;
    assert_int_equal(set(r, C10M_OPT_MORE, 1), 0);
    send_n(r, 100);
    raw_turn(r, 0);
    const uint32_t ms = raw_wait(r, 5000);
    assert_in_range(ms, r->e.tcp.cfg.rto_min_ms, r->e.tcp.cfg.rto_initial_ms * 3);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(out_bytes(r, 0), 100);
    r->ack += 100;
    raw_send(r, SEG_ACK, 0, 0);
    send_n(r, 7);  // and again
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_not_equal(raw_wait(r, 5000), UINT32_MAX);
    assert_int_equal(out_bytes(r, 0), 7);
    reset_and_free(r);
}

static void closing_pulls_the_cork(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_CORK, 1), 0);
    send_n(r, 100);
    raw_turn(r, 0);
    act(r, c10m_shutdown);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(out_bytes(r, 0), 100);
    assert_true(OUT(r, 0).flags & SEG_FIN);
    reset_and_free(r);
}

static void quick_acknowledgments_can_be_asked_for(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 100);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(set(r, C10M_OPT_QUICKACK, 1), 0);
    assert_int_equal(get(r, C10M_OPT_QUICKACK), 1);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);  // the one that was delayed
    raw_send(r, SEG_ACK, 100, 100);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(set(r, C10M_OPT_QUICKACK, 0), 0);
    raw_send(r, SEG_ACK, 200, 100);
    assert_int_equal(r->e.tcp.n_out, 0);
    reset_and_free(r);
}

// ---- timers

static uint32_t until_closed(struct raw *r, uint32_t most_ms)
{
    uint32_t ms = 0;
    for (; ms < most_ms && raw_block(r) != NULL; ms += 10)
        raw_turn(r, 10);
    return ms;
}

static void keepalive_is_the_connections_own(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_KEEPALIVE_MS, 2000), 0);
    assert_int_equal(set(r, C10M_OPT_KEEPALIVE_INTERVAL_MS, 500), 0);
    assert_int_equal(set(r, C10M_OPT_KEEPALIVE_PROBES, 3), 0);
    assert_in_range(until_closed(r, 60000), 3450, 3550);
    assert_int_equal(COUNTED(r, keepalive_probes), 3);
    assert_int_equal(app.error, ETIMEDOUT);
    gone(r);
}

static void the_user_timeout_is_the_connections_own(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_USER_TIMEOUT_MS, 3000), 0);
    send_n(r, 10);
    assert_in_range(until_closed(r, 60000), 2950, 3100);
    assert_int_equal(app.error, ETIMEDOUT);
    gone(r);
}

static void fin_wait_2_lasts_as_long_as_the_connection_says(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_LINGER2_MS, 1500), 0);
    act(r, c10m_close);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_in_range(until_closed(r, 60000), 1490, 1520);
    gone(r);
}

static void fin_wait_2_of_no_time_is_a_reset_at_once(void **state)
{
    for (unsigned late = 0; late < 2; late++) {
        struct raw *r = pulling();
        assert_int_equal(set(r, C10M_OPT_LINGER2_MS, UINT32_MAX), 0);
        act(r, late ? c10m_shutdown : c10m_close);
        r->ack++;
        raw_send(r, SEG_ACK, 0, 0);
        if (late) {
            assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
            act(r, c10m_close);
        }
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_true(OUT(r, 0).flags & SEG_RST);
        gone(r);
    }
}

// ---- the packets

static void ttl_and_tos_are_on_data_acknowledgments_and_resets(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_TTL, 3), 0);
    assert_int_equal(set(r, C10M_OPT_TOS, 0xb9), 0);
    assert_int_equal(get(r, C10M_OPT_TOS), 0xb8);  // without ECN's bits
    send_n(r, 10);
    raw_turn(r, 0);
    raw_send(r, SEG_ACK, 0, 10);
    raw_wait(r, 100);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).tos, 0xb8);
        assert_true(OUT(r, 0).opts & SEG_OPT_IP);
        assert_int_equal(OUT(r, 0).ttl, 3);
        assert_false(OUT(r, 0).may_split);
        if (i == 0) {
            r->ack += 10;
            raw_send(r, SEG_ACK, 10, 0);
            raw_seg(r, SEG_ACK, r->seq - 5, r->ack, 0, 5);  // old
            raw_turn(r, 1000);
        } else if (i == 1) {
            act(r, c10m_abort);
            assert_true(OUT(r, 0).flags & SEG_RST);
        }
    }
    gone(r);
}

static void a_connection_without_them_has_nothing_of_it(void **state)
{
    struct raw *r = pulling();
    assert_int_equal(set(r, C10M_OPT_USER_TIMEOUT_MS, 9000), 0);
    send_n(r, 10);
    raw_turn(r, 0);
    assert_int_equal(OUT(r, 0).opts & SEG_OPT_IP, 0);
    assert_int_equal(OUT(r, 0).tos, 0);
    reset_and_free(r);
}

static void too_big(struct raw *r, uint16_t mtu)
{
    const struct icmp_event e = {
        .key = raw_block(r)->key, .seq = raw_block(r)->snd_una, .mtu = mtu, .kind = ICMP_TOO_BIG};
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, &e, &v);
}

static void a_connection_that_discovers_no_mtu_lets_its_packets_be_split(void **state)
{
    for (uint32_t df = 0; df <= 2; df++) {
        struct raw *r = pulling();
        assert_int_equal(set(r, C10M_OPT_DF, df), 0);
        send_n(r, 1460);
        raw_turn(r, 0);
        assert_int_equal((OUT(r, 0).opts & SEG_OPT_IP) != 0, df != 1);
        if (df != 1)
            assert_int_equal(OUT(r, 0).may_split, df == 0);
        too_big(r, 1000);
        assert_int_equal(raw_block(r)->mss, df == 1 ? 960 : 1460);
        raw_turn(r, 0);
        reset_and_free(r);
    }
}

static struct raw *to_open(void)
{
    struct raw *r = not_pulling_yet();
    end_connect(&r->e, 0x0a000002, 80);
    return r;
}

static void the_syn_has_what_was_set_before_it_left(void **state)
{
    struct raw *r = to_open();
    assert_int_equal(set(r, C10M_OPT_MAXSEG, 700), 0);
    assert_int_equal(set(r, C10M_OPT_RCV_LIMIT, 5000), 0);
    assert_int_equal(set(r, C10M_OPT_TTL, 4), 0);
    assert_int_equal(set(r, C10M_OPT_TOS, 8), 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags & SEG_SYN, SEG_SYN);
    assert_int_equal(OUT(r, 0).mss, 700);
    assert_int_equal(OUT(r, 0).wnd, 5000);
    assert_int_equal(OUT(r, 0).ttl, 4);
    assert_int_equal(OUT(r, 0).tos, 8);
    assert_int_equal(OUT(r, 0).opts & SEG_OPT_MSS, SEG_OPT_MSS);
    r->ack = OUT(r, 0).seq + 1;
    struct seg_in *s = raw_seg(r, SEG_SYN | SEG_ACK, r->seq, r->ack, 0, 0);
    s->key = raw_block(r)->key;
    s->opts = SEG_OPT_MSS;
    s->mss = 1460;
    raw_turn(r, 1);
    assert_int_equal(raw_block(r)->mss, 700);
    assert_int_equal(get(r, C10M_OPT_MAXSEG), 700);
    s = raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    s->key = raw_block(r)->key;
    raw_turn(r, 1);
    gone(r);
}

static void an_open_gives_up_after_its_own_retries(void **state)
{
    struct raw *r = to_open();
    assert_int_equal(set(r, C10M_OPT_SYN_RETRIES, 2), 0);
    assert_in_range(until_closed(r, 600000), 6900, 7200);  // 1 + 2 + 4 s
    assert_int_equal(COUNTED(r, syn_retransmits), 2);
    assert_int_equal(app.error, ETIMEDOUT);
    gone(r);
}

// ---- what there is to know

static void the_info_agrees_with_what_happened(void **state)
{
    struct raw *r = pulling();
    struct c10m_info i;
    struct c10m_conn c = conn_of(r);
    assert_int_equal(set(r, C10M_OPT_KEEPALIVE_INTERVAL_MS, 1000), 0);
    raw_send(r, SEG_ACK, 0, 77);
    send_n(r, 3000);
    raw_turn(r, 0);
    send_n(r, 70);  // which Nagle holds
    raw_turn(r, 0);
    c10m_get_info(&c, &i);
    assert_int_equal(i.state, 1);
    assert_int_equal(i.ca_state, C10M_CA_OPEN);
    assert_int_equal(i.snd_mss, 1460);
    assert_int_equal(i.advmss, 1460);
    assert_int_equal(i.pmtu, 1500);
    assert_int_equal(i.snd_cwnd, 10);
    assert_int_equal(i.snd_ssthresh, UINT32_MAX);
    assert_int_equal(i.unacked_bytes, 3000);
    assert_int_equal(i.unacked, 3);
    assert_int_equal(i.notsent_bytes, 70);
    assert_int_equal(i.unread_bytes, 77);
    assert_int_equal(i.snd_wnd, 65535);
    assert_int_equal(i.rcv_space, 65536);
    assert_int_equal(i.total_retrans, 0);
    raw_wait(r, 5000);  // a timeout
    c10m_get_info(&c, &i);
    assert_int_equal(i.ca_state, C10M_CA_LOSS);
    assert_int_equal(i.retransmits, 1);
    assert_int_equal(i.backoff, 1);
    assert_int_equal(i.total_retrans, 1);
    assert_int_equal(i.snd_cwnd, 1);
    reset_and_free(r);
}

static void the_info_of_a_loss_counts_what_arrived_and_what_did_not(void **state)
{
    struct raw *r = not_pulling_yet();
    struct c10m_info i;
    r->sack = true;
    raw_open(r);
    struct c10m_conn c = conn_of(r);
    send_n(r, 6 * 1460);
    raw_turn(r, 0);
    r->now_us += 20000;
    for (uint32_t k = 3; k < 7; k++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_sack(r, r->ack + 2 * 1460, r->ack + MIN(k, 6u) * 1460);
    }
    raw_turn(r, 0);
    c10m_get_info(&c, &i);
    assert_int_equal(i.unacked, 6);
    assert_int_equal(i.sacked, 4);
    assert_int_equal(i.ca_state, C10M_CA_RECOVERY);
    assert_int_equal(i.lost + i.retrans, 2);
    assert_true(i.total_retrans >= 1);
    assert_in_range(i.min_rtt_us, 1, 25000);
    assert_int_equal(i.options, C10M_INFO_SACK);
    reset_and_free(r);
}

static void the_info_of_an_open_is_of_syn_sent(void **state)
{
    struct raw *r = to_open();
    struct c10m_info i;
    struct c10m_conn c = conn_of(r);
    c10m_get_info(&c, &i);
    assert_int_equal(i.state, 2);
    assert_int_equal(i.options, 0);
    act(r, c10m_close);
    gone(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_read_as_it_was_set_and_its_record_goes_with_it),
        cmocka_unit_test(the_largest_value_of_each_option_is_taken),
        cmocka_unit_test(a_send_limit_that_still_grows_can_be_chosen_as_it_is),
        cmocka_unit_test(all_of_them_fit_into_one_record_and_none_disturbs_another),
        cmocka_unit_test(what_is_no_option_is_refused),
        cmocka_unit_test(without_a_record_an_option_is_refused_and_the_others_go_on),
        cmocka_unit_test(a_record_of_options_outlives_a_gap),
        cmocka_unit_test(a_connection_with_options_delays_acknowledgments_like_any_other),
        cmocka_unit_test(a_connection_with_options_measures_its_round_trips),
        cmocka_unit_test(the_send_limit_holds),
        cmocka_unit_test(a_limit_that_is_the_tuned_one_stays),
        cmocka_unit_test(a_limit_below_the_least_is_the_least),
        cmocka_unit_test(
            a_larger_receive_limit_opens_the_window_and_a_smaller_one_takes_nothing_back),
        cmocka_unit_test(corked_bytes_wait_for_a_full_segment_or_the_end_of_the_cork),
        cmocka_unit_test(nodelay_lets_leave_what_a_cork_holds_and_the_cork_stays),
        cmocka_unit_test(a_cork_does_not_hold_for_longer_than_a_timeout),
        cmocka_unit_test(closing_pulls_the_cork),
        cmocka_unit_test(quick_acknowledgments_can_be_asked_for),
        cmocka_unit_test(keepalive_is_the_connections_own),
        cmocka_unit_test(the_user_timeout_is_the_connections_own),
        cmocka_unit_test(fin_wait_2_lasts_as_long_as_the_connection_says),
        cmocka_unit_test(fin_wait_2_of_no_time_is_a_reset_at_once),
        cmocka_unit_test(ttl_and_tos_are_on_data_acknowledgments_and_resets),
        cmocka_unit_test(a_connection_without_them_has_nothing_of_it),
        cmocka_unit_test(a_connection_that_discovers_no_mtu_lets_its_packets_be_split),
        cmocka_unit_test(the_syn_has_what_was_set_before_it_left),
        cmocka_unit_test(an_open_gives_up_after_its_own_retries),
        cmocka_unit_test(the_info_agrees_with_what_happened),
        cmocka_unit_test(the_info_of_a_loss_counts_what_arrived_and_what_did_not),
        cmocka_unit_test(the_info_of_an_open_is_of_syn_sent),
        cmocka_unit_test(an_option_takes_the_values_of_its_range_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
