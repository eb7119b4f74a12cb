// SPDX-License-Identifier: BSD-3-Clause
// Claims about applications that read by themselves and close without waiting (c10m/socket.h): a
// peer played by hand.
#include "puller.h"
#include "tcp/tcp_cc.h"

// ---- reading

static void bytes_wait_until_they_are_read_and_readable_comes_once_a_turn(void **state)
{
    struct raw *r = pulling();
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 1000);
    raw_seg(r, SEG_ACK, r->seq + 1000, r->ack, 1000, 1000);
    raw_seg(r, SEG_ACK, r->seq + 2000, r->ack, 2000, 7);
    r->seq += 2007;
    raw_turn(r, 0);
    assert_int_equal(app.readables, 1);
    assert_int_equal(app.unread, 2007);
    act(r, read_100);
    check_bytes(0, 100);
    assert_int_equal(app.readables, 1);  // nothing new came
    act(r, read_all);
    check_bytes(100, 1907);
    act(r, read_all);
    check_bytes(0, 0);
    reset_and_free(r);
}

static void peek_some(struct c10m_conn *c)
{
    memset(taken, 0, sizeof(taken));
    assert_int_equal(c10m_peek(c, 0, taken, 10), 10);
    assert_int_equal(taken[9], role_byte(9));
    assert_int_equal(c10m_peek(c, 2995, taken, 100), 5);  // across buffers, to the end
    assert_int_equal(taken[4], role_byte(2999));
    assert_int_equal(c10m_peek(c, 1990, taken, 1000), 1000);
    assert_int_equal(taken[0], role_byte(1990));
    assert_int_equal(taken[999], role_byte(2989));
    assert_int_equal(c10m_peek(c, 3000, taken, 1), 0);
    assert_int_equal(c10m_peek(c, SIZE_MAX, taken, SIZE_MAX), 0);
    assert_int_equal(c10m_peek(c, 0, taken, 0), 0);
    assert_int_equal(c10m_peek(c, 1990, NULL, SIZE_MAX), 1010);  // counted only
    assert_int_equal(c10m_receive_queued(c), 3000);
}

static void peeking_leaves_the_bytes_where_they_are(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 1400);
    raw_send(r, SEG_ACK, 1400, 1600);
    act(r, peek_some);
    act(r, read_all);
    check_bytes(0, 3000);
    reset_and_free(r);
}

static void discard_50(struct c10m_conn *c)
{
    n_taken = c10m_read(c, NULL, 50);
}

static void reading_into_nothing_discards(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 120);
    act(r, discard_50);
    assert_int_equal(n_taken, 50);
    act(r, read_all);
    check_bytes(50, 70);
    act(r, discard_50);
    assert_int_equal(n_taken, 0);
    reset_and_free(r);
}

static void the_window_closes_with_what_is_unread_and_opens_when_it_is_read(void **state)
{
    struct raw *r = pulling();
    r->e.tcp.services[0].rcv_limit = 65536;
    uint64_t sent = 0;
    while (sent + 1000 <= 65000) {
        raw_send(r, SEG_ACK, sent, 1000);
        sent += 1000;
    }
    raw_wait(r, 100);
    assert_int_equal(raw_block(r)->rcv_adv - raw_block(r)->rcv_nxt, 65535 - sent);
    raw_send(r, SEG_ACK, sent, (uint16_t)(65535 - sent));
    raw_wait(r, 100);
    assert_int_equal(raw_block(r)->rcv_adv, raw_block(r)->rcv_nxt);
    assert_int_equal(OUT(r, 0).wnd, 0);
    act(r, read_all);
    check_bytes(0, 65535);
    assert_int_equal(r->e.tcp.n_out, 1);  // the window update, unasked
    assert_int_equal(OUT(r, 0).wnd, 65535);
    reset_and_free(r);
}

static void read_1(struct c10m_conn *c)
{
    n_taken = c10m_read(c, taken, 1);
}

// RFC 9293 3.8.6.2.2, of the edge that the peer sees: the field may say less than there is room
// for.
static void an_update_is_sent_when_the_edge_that_the_peer_sees_moves_enough(void **state)
{
    static const struct {
        uint32_t limit;
        uint8_t scale;
    } of[] = {{4000, 0},   {65536, 0},  {70000, 0},  {200000, 0},
              {200000, 1}, {200000, 7}, {1 << 24, 7}};
    for (unsigned k = 0; k < ARRAY_LEN(of); k++) {
        struct raw *r = pulling();
        struct block *b = raw_block(r);
        r->e.tcp.services[0].rcv_limit = of[k].limit;
        b->rcv_wscale = of[k].scale;
        const uint64_t most = MIN((uint64_t)of[k].limit, (uint64_t)UINT16_MAX << of[k].scale);
        const uint32_t step = (uint32_t)MIN(most / 2, 2u * b->mss);
        for (uint64_t i = 0; i < 4; i++)
            raw_send(r, SEG_ACK, i * 1000, 1000);
        raw_wait(r, 100);
        uint32_t edge = b->rcv_adv, updates = 0;
        for (unsigned i = 0; i < 4000; i++) {
            act(r, read_1);
            if (r->e.tcp.n_out == 0)
                continue;
            updates++;
            const uint32_t now = OUT(r, 0).ack + ((uint32_t)OUT(r, 0).wnd << of[k].scale);
            assert_in_range(now - edge, step, most + (1u << of[k].scale));
            edge = now;
        }
        assert_true(updates <= 4000 / step + 1);
        assert_true((uint32_t)(b->rcv_nxt + most - edge) < step + (1u << of[k].scale) ||
                    seq_lt(b->rcv_nxt + (uint32_t)most, edge));
        reset_and_free(r);
    }
}

static void out_of_order_bytes_are_read_in_order(void **state)
{
    struct raw *r = pulling();
    raw_seg(r, SEG_ACK, r->seq + 500, r->ack, 500, 500);
    raw_turn(r, 0);
    assert_int_equal(app.readables, 0);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 500);
    r->seq += 1000;
    raw_turn(r, 0);
    assert_int_equal(app.readables, 1);
    assert_int_equal(app.unread, 1000);
    act(r, read_all);
    check_bytes(0, 1000);
    reset_and_free(r);
}

static void the_fin_makes_readable_and_closes_nothing(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 10);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(app.readables, 2);
    assert_true(app.peer_closed);
    assert_int_equal(app.unread, 10);
    assert_int_equal(app.ends, 0);  // a byte is unread
    act(r, read_all);
    assert_int_equal(app.ends, 1);
    assert_int_equal(raw_block(r)->state, TCP_CLOSE_WAIT);
    act(r, c10m_close);
    assert_int_equal(raw_block(r)->state, TCP_LAST_ACK);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(app.closes, 0);
    gone(r);
}

static void resuming_what_pulls_does_nothing(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 10);
    act(r, c10m_resume);
    raw_send(r, SEG_ACK, 10, 10);
    act(r, c10m_pause);
    raw_send(r, SEG_ACK, 20, 10);
    assert_int_equal(app.readables, 3);
    act(r, read_all);
    check_bytes(0, 30);
    reset_and_free(r);
}

static void both_ends_closed_with_bytes_unread_wait_for_the_reader(void **state)
{
    struct raw *r = pulling();
    act(r, c10m_shutdown);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(app.drained, 1);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 33);
    assert_int_equal(raw_block(r)->state, TCP_TIME_WAIT);
    assert_int_equal(app.closes, 0);
    act(r, read_all);
    check_bytes(0, 33);
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.why, C10M_CLOSED);
    assert_int_equal(app.error, 0);
    gone(r);
}

// ---- half-closed

static void a_half_closed_connection_of_a_reader_lasts(void **state)
{
    struct raw *r = pulling();
    act(r, c10m_shutdown);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    r->now_us += 100ull * 60000 * 1000;
    raw_turn(r, 1);
    raw_send(r, SEG_ACK, 0, 5);
    assert_int_equal(app.unread, 5);
    reset_and_free(r);
}

static void a_service_that_takes_its_bytes_does_not_wait_forever(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    raw_turn(r, r->e.tcp.cfg.fin_wait2_ms + 1);
    assert_null(raw_block(r));
    raw_free(r, true);
}

// ---- close

static void closing_with_bytes_unread_resets(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 1);
    act(r, c10m_close);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_RST | SEG_ACK);
    assert_int_equal(COUNTED(r, aborts_on_close), 1);
    assert_int_equal(app.closes, 0);
    gone(r);
}

static void send_9(struct c10m_conn *c)
{
    assert_int_equal(c10m_send(c, "123456789", 9), 9);
    c10m_close(c);
    c10m_close(c);  // and again
    assert_int_equal(c10m_send(c, "x", 1), 0);
}

static void an_orphan_sends_what_is_queued_and_ends_without_a_word(void **state)
{
    struct raw *r = pulling();
    act(r, send_9);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).data_len[0], 9);
    assert_true(OUT(r, 0).flags & SEG_FIN);
    assert_int_equal(COUNTED(r, orphans_now), 1);
    r->ack += 10;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    assert_int_equal(COUNTED(r, orphans_now), 1);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(app.closes + app.readables + app.drained + app.ends, 0);
    gone(r);
}

static void data_for_an_orphan_is_answered_by_a_reset(void **state)
{
    for (unsigned acked = 0; acked < 2; acked++) {
        struct raw *r = pulling();
        act(r, c10m_close);
        r->ack += acked;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(raw_block(r)->state, acked ? TCP_FIN_WAIT_2 : TCP_FIN_WAIT_1);
        const uint32_t numbered = r->ack;
        raw_send(r, SEG_ACK, 0, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).flags, SEG_RST);
        assert_int_equal(OUT(r, 0).seq, numbered);
        assert_int_equal(app.closes + app.readables, 0);
        gone(r);
    }
}

static void old_data_for_an_orphan_is_acknowledged_as_ever(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 100);
    act(r, read_all);
    act(r, c10m_close);
    raw_seg(r, SEG_ACK, r->seq - 100, r->ack, 0, 100);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags & (SEG_RST | SEG_ACK), SEG_ACK);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_1);
    reset_and_free(r);
}

static void close_first(struct c10m_conn *c)
{
    c10m_read(c, NULL, 100);
    c10m_close(c);
}

static void data_of_the_burst_in_which_the_application_closes_resets(void **state)
{
    struct raw *r = pulling();
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
    r->e.calls = in_turn;  // after the burst, before `readable`
    r->e.calls_arg = r;
    app.timer = c10m_close;
    raw_turn(r, 0);
    assert_int_equal(app.readables, 0);
    assert_int_equal(OUT(r, 0).flags, SEG_RST | SEG_ACK);
    gone(r);
}

static void send_20000(struct c10m_conn *c)
{
    assert_int_equal(c10m_send(c, taken, 20000), 20000);
}

static void what_is_over_and_not_read_yet_keeps_no_log_of_what_was_in_flight(void **state)
{
    struct raw *r = not_pulling_yet();
    r->sack = true;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 100);
    act(r, send_20000);
    assert_int_equal(COUNTED(r, flight_logs_now), 1);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    assert_int_equal(COUNTED(r, flight_logs_now), 0);
    act(r, read_all);
    check_bytes(0, 100);
    if (raw_block(r) != NULL)
        act(r, c10m_close);
    gone(r);
}

static void what_is_over_and_not_read_yet_keeps_nothing_that_came_out_of_order(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 10);
    const uint32_t free = r->e.tcp.bufs.n_free_data;
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 1000);
    raw_turn(r, 0);
    assert_int_equal(COUNTED(r, ext_records_now), 1);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    assert_int_equal(raw_block(r)->rcvq_bytes, 10);
    assert_int_equal(COUNTED(r, ext_records_now), 0);
    assert_int_equal(r->e.tcp.bufs.n_free_data, free);
    act(r, read_all);
    gone(r);
}

// The peer opens another one from the same port: `read_late`, before its handshake is done or after
// the first one was read to the end.
static void opened_again(bool read_late)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 10);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    raw_seg(r, SEG_SYN, r->seq + 100000, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
    const uint32_t seq = r->seq + 100001, ack = OUT(r, 0).seq + 1;
    if (!read_late) {
        act(r, read_all);
        check_bytes(0, 10);
        assert_null(raw_block(r));
    }
    raw_seg(r, SEG_ACK, seq, ack, 0, 0);
    raw_turn(r, 0);
    end_check_pools(&r->e);
    assert_int_equal(COUNTED(r, established_now), 1);
    assert_int_equal(COUNTED(r, connections_now), 1 + read_late);
    raw_seg(r, SEG_RST, seq, 0, 0, 0);
    raw_turn(r, 0);
    if (read_late) {
        act(r, read_all);
        check_bytes(0, 10);
    }
    gone(r);
}

static void a_port_whose_connection_is_over_and_not_read_yet_opens_another_one(void **state)
{
    opened_again(false);
    opened_again(true);
}

static void what_is_over_and_not_read_yet_gives_the_record_of_its_window_back(void **state)
{
    struct raw *r = pulling();
    tcp_cc_ssthresh(&r->e.tcp, raw_block(r), 20000);
    assert_int_equal(COUNTED(r, ext_records_now), 1);
    act(r, c10m_shutdown);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 33);
    assert_int_equal(raw_block(r)->state, TCP_TIME_WAIT);
    for (int i = 0; i < 100; i++)
        raw_turn(r, 50);
    assert_int_equal(COUNTED(r, ext_records_now), 0);
    act(r, read_all);
    check_bytes(0, 33);
    gone(r);
}

static void an_orphan_in_fin_wait_2_ends_silently(void **state)
{
    struct raw *r = pulling();
    app.readable = close_first;
    raw_send(r, SEG_ACK, 0, 100);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    raw_turn(r, r->e.tcp.cfg.fin_wait2_ms - 1);
    assert_non_null(raw_block(r));
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(COUNTED(r, fin_wait2_timeouts), 1);
    gone(r);
}

static void closing_after_the_shutdown_starts_the_wait_for_the_peer(void **state)
{
    struct raw *r = pulling();
    act(r, c10m_shutdown);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    raw_turn(r, 10 * 60000);
    act(r, c10m_close);
    assert_int_equal(COUNTED(r, orphans_now), 1);
    raw_turn(r, r->e.tcp.cfg.fin_wait2_ms - 1);
    assert_non_null(raw_block(r));
    raw_turn(r, 1);
    gone(r);
}

static void an_orphan_is_given_up_after_eight_retransmissions(void **state)
{
    struct raw *r = pulling();
    unsigned again = 0;
    act(r, send_9);
    for (int i = 0; i < 3000 && raw_block(r) != NULL; i++) {
        raw_turn(r, 50);
        again += r->e.tcp.n_out != 0 && !(OUT(r, 0).flags & SEG_RST);
    }
    assert_int_equal(again, 8);
    gone(r);
}

static void an_orphan_whose_peer_takes_nothing_is_given_up_at_the_longest_timeout(void **state)
{
    struct raw *r = pulling();
    r->wnd = 0;
    raw_send(r, SEG_ACK, 0, 0);
    act(r, send_9);
    uint32_t s = 0;
    for (; s < 2000 && raw_block(r) != NULL; s++) {
        raw_turn(r, 1000);
        if (r->e.tcp.n_out != 0 && !(OUT(r, 0).flags & SEG_RST))
            raw_send(r, SEG_ACK, 0, 0);
    }
    assert_in_range(s, 60, 600);
    gone(r);
}

static void in_half_a_minute(struct c10m_conn *c)
{
    c10m_set_timer(c, 30000);
}

// Keepalive's entry of the wheel was the timer's as well.
static void a_timer_comes_though_keepalive_ended_the_connection_with_bytes_unread(void **state)
{
    struct raw *r = not_pulling_yet();
    r->e.tcp.services[0].keepalive_ms = 5000;
    r->e.tcp.services[0].keepalive_interval_ms = 1000;
    r->e.tcp.services[0].keepalive_probes = 3;
    raw_open(r);
    act(r, in_half_a_minute);
    app.timer = read_all;
    raw_send(r, SEG_ACK, 0, 100);
    for (int i = 0; i < 250; i++)
        raw_turn(r, 100);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    assert_int_equal(raw_block(r)->rcvq_bytes, 100);
    for (int i = 0; i < 100; i++)
        raw_turn(r, 100);
    gone(r);
}

static void both_ends_closed_and_unread_closing_leaves_time_wait(void **state)
{
    struct raw *r = pulling();
    act(r, c10m_shutdown);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 33);
    assert_int_equal(raw_block(r)->state, TCP_TIME_WAIT);
    act(r, c10m_close);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_null(raw_block(r));
    assert_int_equal(COUNTED(r, time_wait_now), 1);
    gone(r);
}

static void shut_both(struct c10m_conn *c)
{
    assert_int_equal(c10m_shut_read(c), 0);
    c10m_shutdown(c);
}

static void data_after_both_directions_were_shut_down_resets_and_is_told(void **state)
{
    for (unsigned acked = 0; acked < 2; acked++) {
        struct raw *r = pulling();
        act(r, shut_both);
        r->ack += acked;
        raw_send(r, SEG_ACK, 0, 0);
        raw_send(r, SEG_ACK, 0, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).flags, SEG_RST);
        assert_int_equal(app.readables, 0);
        assert_int_equal(app.closes, 1);
        assert_int_equal(app.why, C10M_RESET);
        assert_int_equal(app.error, ECONNRESET);
        gone(r);
    }
}

static void shut_read(struct c10m_conn *c)
{
    assert_int_equal(c10m_shut_read(c), 0);
}

static void data_after_reading_alone_was_shut_down_stays_queued(void **state)
{
    struct raw *r = pulling();
    act(r, shut_read);
    raw_send(r, SEG_ACK, 0, 10);
    assert_int_equal(app.unread, 10);
    act(r, c10m_shutdown);
    act(r, read_all);
    check_bytes(0, 10);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);  // a FIN is no data
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.why, C10M_CLOSED);
    gone(r);
}

static void set_timer_and_close(struct c10m_conn *c)
{
    c10m_set_timer(c, 10);
    c10m_close(c);
}

static void no_timer_comes_after_the_close(void **state)
{
    struct raw *r = pulling();
    act(r, set_timer_and_close);
    const unsigned before = app.timers;
    for (int i = 0; i < 100; i++)
        raw_turn(r, 1);
    assert_int_equal(app.timers, before);
    reset_and_free(r);
}

static size_t push_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)data;
    app.pushed++;
    c10m_close(c);
    return len;
}

static void an_application_that_is_pushed_may_close_like_that_too(void **state)
{
    static const struct c10m_app pusher = {
        .name = "pusher", .data = push_data, .end = on_end, .close = on_close};
    memset(&app, 0, sizeof(app));
    struct raw *r = raw_new(NULL);
    r->e.services[0].app = &pusher;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 10);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_1);
    raw_send(r, SEG_ACK, 10, 10);
    assert_int_equal(OUT(r, 0).flags, SEG_RST);
    assert_int_equal(app.closes + app.ends, 0);
    gone(r);
    r = raw_new(NULL);  // and nothing of the same burst is pushed after it
    r->e.services[0].app = &pusher;
    raw_open(r);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 10);
    raw_seg(r, SEG_ACK, r->seq + 10, r->ack, 10, 10);
    const unsigned pushed = app.pushed;
    raw_turn(r, 0);
    assert_int_equal(app.pushed - pushed, 1);
    gone(r);
}

// ---- active opens

static uint32_t opening(struct raw *r)
{
    const uint32_t ix = end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags & SEG_SYN, SEG_SYN);
    r->ack = OUT(r, 0).seq + 1;
    return ix;
}

static struct raw *not_open(void)
{
    struct raw *r = not_pulling_yet();
    opening(r);
    return r;
}

static void closing_in_syn_sent_leaves_nothing(void **state)
{
    struct raw *r = not_open();
    act(r, c10m_close);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(app.closes, 0);
    gone(r);
}

static void closing_in_syn_received_sends_fin_when_it_is_established(void **state)
{
    struct raw *r = not_open();
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    s->key = raw_block(r)->key;
    raw_turn(r, 1);
    assert_int_equal(raw_block(r)->state, TCP_SYN_RECEIVED);
    act(r, c10m_close);
    s = raw_seg(r, SEG_ACK, r->seq + 1, r->ack, 0, 0);
    s->key = raw_block(r)->key;
    raw_turn(r, 1);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_1);
    assert_true(OUT(r, 0).flags & SEG_FIN);
    s = raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    s->key = raw_block(r)->key;
    raw_turn(r, 1);
    assert_int_equal(app.closes, 0);
    gone(r);
}

static void a_refused_open_is_econnrefused(void **state)
{
    struct raw *r = not_open();
    struct seg_in *s = raw_seg(r, SEG_RST | SEG_ACK, 0, r->ack, 0, 0);
    s->key = raw_block(r)->key;
    raw_turn(r, 1);
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.error, ECONNREFUSED);
    gone(r);
}

static void an_open_without_an_answer_is_etimedout(void **state)
{
    struct raw *r = not_open();
    for (int i = 0; i < 3000 && raw_block(r) != NULL; i++)
        raw_turn(r, 100);
    assert_int_equal(app.error, ETIMEDOUT);
    gone(r);
}

// ---- errors

static void a_reset_is_econnreset_and_after_the_fin_epipe(void **state)
{
    for (unsigned fin = 0; fin < 2; fin++) {
        struct raw *r = pulling();
        if (fin)
            raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
        raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(app.closes, 1);
        assert_int_equal(app.why, C10M_RESET);
        assert_int_equal(app.error, fin ? EPIPE : ECONNRESET);
        gone(r);
    }
}

static void what_came_before_a_reset_can_be_read_and_then_the_end_is_told(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 77);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(app.readables, 2);
    assert_int_equal(app.error, ECONNRESET);
    assert_int_equal(app.closes, 0);
    raw_send(r, SEG_ACK, 77, 1);  // what follows finds nobody
    assert_int_equal(OUT(r, 0).flags, SEG_RST);
    act(r, read_all);
    check_bytes(0, 77);
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.why, C10M_RESET);
    assert_int_equal(app.error, ECONNRESET);
    gone(r);
}

static void what_came_before_a_reset_may_be_left(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 77);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    act(r, c10m_close);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(app.closes, 0);
    gone(r);
}

static void aborting_what_was_reset_with_bytes_unread_tells_the_reset(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 77);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    act(r, c10m_abort);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.why, C10M_RESET);
    gone(r);
}

static void send_1(struct c10m_conn *c)
{
    assert_int_equal(c10m_send(c, "1", 1), 1);
}

static void a_peer_that_is_gone_is_etimedout(void **state)
{
    struct raw *r = pulling();
    r->e.tcp.cfg.retries = 3;
    act(r, send_1);
    for (int i = 0; i < 3000 && raw_block(r) != NULL; i++)
        raw_turn(r, 50);
    assert_int_equal(app.why, C10M_TIMED_OUT);
    assert_int_equal(app.error, ETIMEDOUT);
    gone(r);
}

// ---- ICMP

static void hear(struct raw *r, enum icmp_kind kind, int error)
{
    const struct icmp_event e = {.key = raw_block(r)->key,
                                 .seq = raw_block(r)->snd_una,
                                 .kind = (uint8_t)kind,
                                 .error = (uint8_t)error};
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, &e, &v);
    if (v.events != 0)
        sock_event(&r->e.sock, &v, NULL);
}

static void an_open_ends_by_any_icmp_error_with_its_errno(void **state)
{
    static const struct {
        enum icmp_kind kind;
        int error;
    } all[] = {{ICMP_SOFT, EHOSTUNREACH},
               {ICMP_SOFT, ENETUNREACH},
               {ICMP_HARD, ECONNREFUSED},
               {ICMP_HARD, ENOPROTOOPT},
               {ICMP_SOFT, EPROTO}};
    for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
        struct raw *r = not_open();
        hear(r, ICMP_TOO_BIG, EMSGSIZE);
        assert_int_equal(app.closes, 0);
        hear(r, all[i].kind, all[i].error);
        assert_int_equal(app.closes, 1);
        assert_int_equal(app.why, C10M_UNREACHABLE);
        assert_int_equal(app.error, all[i].error);
        gone(r);
    }
}

static int soft_error_of(struct raw *r)
{
    struct c10m_conn c = {&r->e.sock, raw_block(r), (uint32_t)(raw_block(r) - r->e.tcp.blocks), 0};
    return c10m_soft_error(&c);
}

static void an_icmp_error_later_is_soft_until_something_is_acknowledged(void **state)
{
    struct raw *r = pulling();
    act(r, send_1);
    hear(r, ICMP_HARD, ECONNREFUSED);
    assert_int_equal(app.closes, 0);
    assert_int_equal(soft_error_of(r), ECONNREFUSED);
    hear(r, ICMP_SOFT, EHOSTUNREACH);
    assert_int_equal(soft_error_of(r), EHOSTUNREACH);
    assert_int_equal(COUNTED(r, ext_records_now), 1);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(soft_error_of(r), 0);
    assert_int_equal(COUNTED(r, ext_records_now), 0);
    reset_and_free(r);
}

static void a_soft_error_that_is_taken_is_forgotten(void **state)
{
    struct raw *r = pulling();
    act(r, send_1);
    hear(r, ICMP_SOFT, EHOSTUNREACH);
    struct c10m_conn c = {&r->e.sock, raw_block(r), (uint32_t)(raw_block(r) - r->e.tcp.blocks), 0};
    assert_int_equal(c10m_take_soft_error(&c), EHOSTUNREACH);
    assert_int_equal(c10m_take_soft_error(&c), 0);
    assert_int_equal(COUNTED(r, ext_records_now), 0);
    reset_and_free(r);
}

static void what_was_given_up_after_an_icmp_error_ends_with_its_errno(void **state)
{
    struct raw *r = pulling();
    r->e.tcp.cfg.retries = 3;
    act(r, send_1);
    hear(r, ICMP_SOFT, EHOSTUNREACH);
    for (int i = 0; i < 3000 && raw_block(r) != NULL; i++)
        raw_turn(r, 50);
    assert_int_equal(app.why, C10M_TIMED_OUT);
    assert_int_equal(app.error, EHOSTUNREACH);
    gone(r);
}

static void without_a_record_to_spare_an_icmp_error_is_forgotten(void **state)
{
    struct raw *r = pulling();
    uint32_t held[16], n = 0;
    while (r->e.tcp.ext_pool->n_free > r->e.tcp.ext_pool->count / 8)  // they are for losses
        held[n++] = index_pool_get(r->e.tcp.ext_pool);
    act(r, send_1);
    hear(r, ICMP_SOFT, EHOSTUNREACH);
    assert_int_equal(soft_error_of(r), 0);
    assert_int_equal(COUNTED(r, ext_records_missed), 1);
    while (n != 0)
        index_pool_put(r->e.tcp.ext_pool, held[--n]);
    reset_and_free(r);
}

static void aborting_with_bytes_unread_is_told_at_once(void **state)
{
    struct raw *r = pulling();
    raw_send(r, SEG_ACK, 0, 77);
    act(r, c10m_abort);
    assert_int_equal(app.closes, 1);
    assert_int_equal(app.why, C10M_ABORTED);
    assert_int_equal(app.error, 0);
    gone(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_wait_until_they_are_read_and_readable_comes_once_a_turn),
        cmocka_unit_test(peeking_leaves_the_bytes_where_they_are),
        cmocka_unit_test(reading_into_nothing_discards),
        cmocka_unit_test(the_window_closes_with_what_is_unread_and_opens_when_it_is_read),
        cmocka_unit_test(an_update_is_sent_when_the_edge_that_the_peer_sees_moves_enough),
        cmocka_unit_test(out_of_order_bytes_are_read_in_order),
        cmocka_unit_test(the_fin_makes_readable_and_closes_nothing),
        cmocka_unit_test(resuming_what_pulls_does_nothing),
        cmocka_unit_test(both_ends_closed_with_bytes_unread_wait_for_the_reader),
        cmocka_unit_test(a_half_closed_connection_of_a_reader_lasts),
        cmocka_unit_test(a_service_that_takes_its_bytes_does_not_wait_forever),
        cmocka_unit_test(closing_with_bytes_unread_resets),
        cmocka_unit_test(an_orphan_sends_what_is_queued_and_ends_without_a_word),
        cmocka_unit_test(data_for_an_orphan_is_answered_by_a_reset),
        cmocka_unit_test(old_data_for_an_orphan_is_acknowledged_as_ever),
        cmocka_unit_test(data_of_the_burst_in_which_the_application_closes_resets),
        cmocka_unit_test(what_is_over_and_not_read_yet_keeps_no_log_of_what_was_in_flight),
        cmocka_unit_test(what_is_over_and_not_read_yet_keeps_nothing_that_came_out_of_order),
        cmocka_unit_test(a_port_whose_connection_is_over_and_not_read_yet_opens_another_one),
        cmocka_unit_test(what_is_over_and_not_read_yet_gives_the_record_of_its_window_back),
        cmocka_unit_test(an_orphan_in_fin_wait_2_ends_silently),
        cmocka_unit_test(closing_after_the_shutdown_starts_the_wait_for_the_peer),
        cmocka_unit_test(an_orphan_is_given_up_after_eight_retransmissions),
        cmocka_unit_test(an_orphan_whose_peer_takes_nothing_is_given_up_at_the_longest_timeout),
        cmocka_unit_test(a_timer_comes_though_keepalive_ended_the_connection_with_bytes_unread),
        cmocka_unit_test(both_ends_closed_and_unread_closing_leaves_time_wait),
        cmocka_unit_test(data_after_both_directions_were_shut_down_resets_and_is_told),
        cmocka_unit_test(data_after_reading_alone_was_shut_down_stays_queued),
        cmocka_unit_test(no_timer_comes_after_the_close),
        cmocka_unit_test(an_application_that_is_pushed_may_close_like_that_too),
        cmocka_unit_test(closing_in_syn_sent_leaves_nothing),
        cmocka_unit_test(closing_in_syn_received_sends_fin_when_it_is_established),
        cmocka_unit_test(a_refused_open_is_econnrefused),
        cmocka_unit_test(an_open_without_an_answer_is_etimedout),
        cmocka_unit_test(a_reset_is_econnreset_and_after_the_fin_epipe),
        cmocka_unit_test(what_came_before_a_reset_can_be_read_and_then_the_end_is_told),
        cmocka_unit_test(what_came_before_a_reset_may_be_left),
        cmocka_unit_test(aborting_what_was_reset_with_bytes_unread_tells_the_reset),
        cmocka_unit_test(a_peer_that_is_gone_is_etimedout),
        cmocka_unit_test(an_open_ends_by_any_icmp_error_with_its_errno),
        cmocka_unit_test(an_icmp_error_later_is_soft_until_something_is_acknowledged),
        cmocka_unit_test(a_soft_error_that_is_taken_is_forgotten),
        cmocka_unit_test(what_was_given_up_after_an_icmp_error_ends_with_its_errno),
        cmocka_unit_test(without_a_record_to_spare_an_icmp_error_is_forgotten),
        cmocka_unit_test(aborting_with_bytes_unread_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
