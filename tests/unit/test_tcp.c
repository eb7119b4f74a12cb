// SPDX-License-Identifier: BSD-3-Clause
// TCP and its socket layer, alone in virtual time: a peer played by hand, segment by segment.
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

static struct raw *opened(void)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut_on_end = true;
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

static void end_is_told_after_all_data_of_the_burst(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 1000);
    raw_seg(r, SEG_ACK, r->seq + 1000, r->ack, 1000, 1000);
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq + 2000, r->ack, 2000, 1000);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.ended, 1);
    assert_int_equal(r->e.role.received_at_end, 3000);
    assert_int_equal(r->e.role.received, 3000);
    reset_and_free(r);
}

static void data_before_the_last_fin_is_delivered_before_the_close(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 1000);
    raw_seg(r, SEG_ACK, r->seq + 1000, r->ack, 1000, 1000);
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq + 2000, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.received, 2000);
    assert_int_equal(r->e.role.closed, 1);
    assert_int_equal(r->e.role.why, C10M_CLOSED);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    reset_and_free(r);
}

static void fin_wait_2_is_silent(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    assert_int_equal(raw_wait(r, 59000), UINT32_MAX);
    assert_true(raw_wait(r, 2000) != UINT32_MAX);  // FIN-WAIT-2 ends with a reset
    assert_true(OUT(r, 0).flags & SEG_RST);
    reset_and_free(r);
}

static void an_idle_peer_that_answers_probes_lives(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 1000;
    r->e.tcp.services[0].keepalive_interval_ms = 2000;
    raw_open(r);
    for (int i = 0; i < 40; i++) {
        assert_true(raw_wait(r, 6000) != UINT32_MAX);
        assert_int_equal(OUT(r, 0).seq, r->ack - 1);
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(r->e.role.closed, 0);
    for (int i = 0; i < 40 && r->e.role.closed == 0; i++)
        raw_wait(r, 6000);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    reset_and_free(r);
}

static void active_opens_keep_alive_too(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 1000;
    end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN);
    const struct flow_key key = OUT(r, 0).key;
    raw_seg(r, SEG_SYN | SEG_ACK, r->seq, OUT(r, 0).seq + 1, 0, 0)->key = key;
    raw_turn(r, 1);
    assert_int_equal(r->e.role.opened, 1);
    assert_true(raw_wait(r, 6000) != UINT32_MAX);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0)->key = key;
    raw_turn(r, 1);
    assert_int_equal(r->e.role.why, C10M_RESET);
    raw_free(r, true);
}

static void a_syn_that_has_not_left_is_not_acknowledged_by_a_guess(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.out_room = 0;
    end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    const struct block *b = raw_block(r);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_SYN | SEG_ACK, r->seq, b->snd_una + 1, 0, 0)->key = b->key;
    raw_turn(r, 1);
    assert_int_equal(b->state, TCP_SYN_SENT);
    r->e.out_room = TCP_OUT_MAX;
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN);
    raw_seg(r, SEG_SYN | SEG_ACK, r->seq, b->snd_una + 1, 0, 0)->key = b->key;
    raw_turn(r, 1);
    assert_int_equal(b->state, TCP_ESTABLISHED);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0)->key = b->key;
    raw_turn(r, 1);
    raw_free(r, true);
}

static void an_abort_ends_a_connection_with_unread_data_in_closed(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.pause_open = true, .timer_ms = 500, .abort_on_timer = true};
    raw_open(r);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 100);
    tcp_close(&r->e.tcp, (uint32_t)(raw_block(r) - r->e.tcp.blocks));
    raw_turn(r, 1);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    assert_int_equal(r->e.role.closed, 0);
    for (int i = 0; i < 1000; i++)
        raw_turn(r, 1);
    assert_int_equal(r->e.role.closed, 1);
    assert_int_equal(r->e.role.why, C10M_ABORTED);
    reset_and_free(r);
}

static void unread_data_after_the_close_wakes_nobody(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.services[0].keepalive_ms = 1000;
    r->e.role = (struct role){
        .pause_open = true, .shut = true, .timer_ms = 100000, .resume_on_timer = true};
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);  // FIN-WAIT-2
    raw_send(r, SEG_ACK | SEG_FIN, 0, 100);
    assert_int_equal(raw_block(r)->state, TCP_TIME_WAIT);
    const uint64_t before = r->e.stats.c.timers_fired;
    for (int i = 0; i < 90000; i++)
        raw_turn(r, 1);
    assert_true(r->e.stats.c.timers_fired - before < 50);
    for (int i = 0; i < 20000; i++)
        raw_turn(r, 1);
    assert_int_equal(r->e.role.received, 100);
    assert_int_equal(r->e.role.closed, 1);
    reset_and_free(r);
}

// After a timeout took snd_nxt back, our acknowledgments must still be acceptable to the peer.
static void acknowledgments_carry_the_highest_sequence_number_after_a_timeout(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 8000;
    raw_open(r);
    const uint32_t top = raw_block(r)->snd_max;
    assert_true(raw_wait(r, 3000) != UINT32_MAX);
    assert_int_equal(r->e.stats.c.rto_fired, 1);
    assert_true(raw_block(r)->snd_nxt != top);
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 0, 100);  // out of order: answered at once
    raw_turn(r, 0);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    assert_int_equal(OUT(r, 0).seq, top);
    reset_and_free(r);
}

static void a_lone_fin_beyond_a_gap_is_answered_at_once_and_kept(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq + 500, r->ack, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).ack, r->seq);
    assert_int_equal(r->e.stats.c.kept, 1);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 500);
    raw_turn(r, 0);
    assert_int_equal(r->e.role.ended, 1);
    assert_int_equal(r->e.role.received_at_end, 500);
    reset_and_free(r);
}

static void a_bare_fin_passes_a_closed_window(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.pause_open = true;
    r->e.tcp.services[0].rcv_limit = 2000;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1000);
    raw_send(r, SEG_ACK, 1000, 1000);
    assert_int_equal(raw_block(r)->rcv_adv, raw_block(r)->rcv_nxt);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSE_WAIT);
    reset_and_free(r);
}

static void our_fin_is_acknowledged_by_a_probe_of_our_closed_window(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.pause_open = true, .timer_ms = 100, .source = 1, .shut = false};
    r->e.tcp.services[0].rcv_limit = 2000;
    r->e.role.shut = true;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1000);
    raw_send(r, SEG_ACK, 1000, 1000);
    assert_int_equal(raw_block(r)->rcv_adv, raw_block(r)->rcv_nxt);
    raw_seg(r, SEG_ACK, r->seq, r->ack + 2, 0, 1);
    raw_turn(r, 1);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    reset_and_free(r);
}

static void challenge_acks_are_limited(void **state)
{
    struct raw *r = opened();
    for (int turn = 0; turn < 90; turn++) {
        for (int i = 0; i < BURST_MAX; i++)
            raw_seg(r, SEG_RST, r->seq + 5, 0, 0, 0);
        raw_turn(r, 1);
    }
    assert_true(r->e.stats.c.challenge_acks >= 1);
    assert_true(r->e.stats.c.challenge_acks <= 300);
    assert_int_equal(r->e.role.closed, 0);
    reset_and_free(r);
}

static void a_paused_application_is_told_of_each_page_that_waits(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.pause_open = true, .timer_ms = 500, .resume_on_timer = true};
    raw_open(r);
    for (unsigned i = 0; i < 2 * C10M_UNREAD_BYTES - 1; i++)
        raw_send(r, SEG_ACK, 0, 1);
    assert_int_equal(r->e.role.unread, 1);
    raw_send(r, SEG_ACK, 0, 1);
    assert_int_equal(r->e.role.unread, 2);
    raw_seg(r, SEG_ACK, r->seq + 10, r->ack, 10, 1000);
    raw_seg(r, SEG_ACK, r->seq + 1010, r->ack, 1010, 1400);
    raw_send(r, SEG_ACK, 0, 10);  // what waited out of order comes with it
    assert_int_equal(r->e.role.unread, 3);
    assert_int_equal(r->e.role.received, 0);
    for (unsigned i = 0; i < 20; i++)
        raw_turn(r, 100);
    assert_int_equal(r->e.role.received, 2 * C10M_UNREAD_BYTES + 10 + 2400);
    r->seq += 2400;
    raw_send(r, SEG_ACK, 0, 1000);  // it is not paused any more
    raw_send(r, SEG_ACK, 0, 1400);
    assert_int_equal(r->e.role.unread, 3);
    reset_and_free(r);
}

static void single_bytes_do_not_creep_past_the_receive_limit(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.pause_open = true;
    r->e.tcp.services[0].rcv_limit = 2000;
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    s->opts = SEG_OPT_MSS | SEG_OPT_WSCALE;
    s->mss = 1460;
    raw_turn(r, 1);
    r->ack = OUT(r, 0).seq + 1;
    raw_send(r, SEG_ACK, 0, 0);
    for (int i = 0; i < 10000; i++)
        raw_send(r, SEG_ACK, 0, 1);
    assert_true(raw_block(r)->rcvq_bytes <= 2 * 2000 + 128);
    reset_and_free(r);
}

static void bytes_out_of_order_do_not_pin_a_buffer_each(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.pause_open = true;
    raw_open(r);
    for (uint32_t at = 0; at < 2000; at += 2) {
        raw_seg(r, SEG_ACK, r->seq + at + 1, r->ack, at + 1, 1);
        raw_seg(r, SEG_ACK, r->seq + at, r->ack, at, 1);
        raw_turn(r, 1);
    }
    assert_int_equal(raw_block(r)->rcvq_bytes, 2000);
    assert_true(r->e.tcp.bufs.data_count - r->e.tcp.bufs.n_free_data <= 3);
    reset_and_free(r);
}

static void resets_follow_rfc_5961(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_RST, r->seq - 1, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_RST, r->seq + 70000, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);  // challenge
    assert_int_equal(r->e.role.closed, 0);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.role.why, C10M_RESET);
    raw_free(r, true);
}

static void a_syn_in_the_window_is_challenged(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_SYN, r->seq + 3, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_ACK);
    assert_int_equal(OUT(r, 0).ack, r->seq);
    assert_int_equal(r->e.role.closed, 0);
    reset_and_free(r);
}

static void data_with_an_ack_of_unsent_data_is_not_delivered(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_ACK, r->seq, r->ack + 1, 0, 100);
    raw_turn(r, 0);
    assert_int_equal(r->e.role.received, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    raw_seg(r, SEG_ACK, r->seq, r->ack - (1u << 30), 0, 100);  // blind
    raw_turn(r, 0);
    assert_int_equal(r->e.role.received, 0);
    reset_and_free(r);
}

static void old_timestamps_are_dropped_and_expire_after_24_days(void **state)
{
    struct raw *r = raw_new(NULL);
    r->ts = true;
    r->ts_val = 100000;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 10);
    r->ts_val = 99999;
    raw_send(r, SEG_ACK, 10, 10);
    r->seq -= 10;
    assert_int_equal(r->e.role.received, 10);
    assert_int_equal(r->e.stats.drops[DROP_tcp_old_timestamp], 1);
    r->now_us += 25ULL * 24 * 3600 * 1000000;
    raw_send(r, SEG_ACK, 10, 10);
    assert_int_equal(r->e.role.received, 20);
    assert_int_equal(raw_block(r)->ts_recent, 99999);
    reset_and_free(r);
}

static void a_retransmission_of_what_we_have_is_echoed_with_its_own_time(void **state)
{
    struct raw *r = raw_new(NULL);
    r->ts = true;
    r->ts_val = 1000;
    raw_open(r);
    const uint32_t first = r->seq;
    raw_send(r, SEG_ACK, 0, 100);
    r->ts_val = 21000;  // its acknowledgment was lost, twenty seconds ago
    raw_seg(r, SEG_ACK, first, r->ack, 0, 50);
    raw_turn(r, 20000);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).ack, r->seq);
    assert_int_equal(OUT(r, 0).ts_ecr, 21000);
    assert_int_equal(raw_block(r)->ts_recent, 1000);  // RFC 7323 5.3: R2 comes before R3
    r->ts_val = 999;                                  // a copy that the network held back
    raw_seg(r, SEG_ACK, first, r->ack, 0, 50);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).ts_ecr, 1000);
    r->ts_val = 21001;
    reset_and_free(r);
}

static void every_second_segment_is_acknowledged_without_ack_merge(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.ack_merge = false;
    raw_open(r);
    for (uint32_t i = 0; i < 6; i++)
        raw_seg(r, SEG_ACK, r->seq + i * 100, r->ack, i * 100, 100);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 3);
    assert_int_equal(OUT(r, 0).ack, r->seq + 200);
    assert_int_equal(OUT(r, 2).ack, r->seq + 600);
    reset_and_free(r);
}

static void acks_of_a_burst_merge_and_a_single_one_waits(void **state)
{
    struct raw *r = opened();
    for (uint32_t i = 0; i < 6; i++)
        raw_seg(r, SEG_ACK, r->seq + i * 100, r->ack, i * 100, 100);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).ack, r->seq + 600);
    r->seq += 600;
    raw_send(r, SEG_ACK, 600, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    const uint32_t ms = raw_wait(r, 1000);
    assert_in_range(ms, 39, 42);
    reset_and_free(r);
}

static void out_of_order_and_duplicate_are_each_answered_at_once(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 100);
    raw_seg(r, SEG_ACK, r->seq + 300, r->ack, 300, 100);
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 100);
    raw_turn(r, 0);
    assert_int_equal(r->e.tcp.n_out, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(OUT(r, i).ack, r->seq);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
    raw_turn(r, 0);
    assert_int_equal(OUT(r, 0).ack, r->seq + 200);
    assert_int_equal(r->e.role.received, 200);
    reset_and_free(r);
}

// What came first stays (the in-order segment before what was kept), whatever overlaps it, and what
// is new on either side of it is kept.
static void overlaps_with_other_content_never_mix_up_the_length(void **state)
{
    struct raw *r = opened();
    raw_seg(r, SEG_ACK, r->seq + 50, r->ack, 900, 100);
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 100);
    raw_seg(r, SEG_ACK, r->seq + 20, r->ack, 20, 300);
    raw_seg(r, SEG_ACK, r->seq + 0, r->ack, 0, 60);
    raw_turn(r, 0);
    assert_int_equal(r->e.role.received, 320);
    assert_int_equal(raw_block(r)->rcv_nxt, r->seq + 320);
    reset_and_free(r);
}

static void an_mss_of_0_or_1_is_taken_as_a_sane_one(void **state)
{
    for (uint16_t mss = 0; mss < 2; mss++) {
        struct raw *r = raw_new(NULL);
        r->e.role.source = 500;
        struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
        s->opts = SEG_OPT_MSS;
        s->mss = mss;
        raw_turn(r, 1);
        r->ack = OUT(r, 0).seq + 1;
        raw_send(r, SEG_ACK, 0, 0);
        assert_in_range(OUT(r, 0).data_len[0], 52, 536);
        reset_and_free(r);
    }
}

static void three_duplicate_acks_retransmit_and_partial_acks_go_on(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 14600;
    raw_open(r);
    assert_int_equal(r->e.tcp.n_out, 10);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 0).data_len[0] + OUT(r, 0).data_len[1], 1460);
    r->ack += 4 * 1460;  // partial: the next hole at once
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    r->ack += 6 * 1460;
    raw_send(r, SEG_ACK, 0, 0);
    raw_wait(r, 1000);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    reset_and_free(r);
}

// The buffers are somebody else's by the time that packets are built: a segment that was put out
// when the duplicates came would carry his bytes.
static void nothing_is_retransmitted_of_what_a_reset_of_the_same_burst_freed(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 14600;
    raw_open(r);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.closed, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_free(r, true);
}

static void what_was_acknowledged_in_the_same_burst_is_not_retransmitted(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 14600;
    raw_open(r);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    r->ack += 14600;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_wait(r, 1000);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    reset_and_free(r);
}

// Simultaneous open with a scale of 0: without the option in its SYN-ACK the peer, which got no
// SYN, would not scale, and we would take its windows for larger ones than they are.
static void a_syn_ack_of_an_active_open_answers_a_scale_with_a_scale_of_0(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.window_scale = 0;
    const uint32_t ix = end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    s->key = r->e.tcp.blocks[ix].key;
    s->opts = SEG_OPT_WSCALE;
    s->wscale = 4;
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
    assert_true(OUT(r, 0).opts & SEG_OPT_WSCALE);
    assert_int_equal(OUT(r, 0).wscale, 0);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0)->key = r->e.tcp.blocks[ix].key;
    raw_turn(r, 1);
    raw_free(r, true);
}

// ---- large segments

enum { IMAGE = 200000 };

// An open connection to a peer with this MSS, large segments on, that has IMAGE bytes to send.
static struct raw *with_an_image(uint16_t mss, uint32_t cwnd_segs, uint32_t out_room)
{
    static uint8_t bytes[IMAGE];
    static const struct c10m_image image = {.bytes = bytes, .len = IMAGE};
    for (uint32_t i = 0; i < IMAGE; i++)
        bytes[i] = role_byte(i);
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.large = true;
    r->e.tcp.cfg.mss = r->e.tcp.cfg.mss6 = mss;
    raw_open(r);
    struct block *b = raw_block(r);
    struct c10m_conn c = {&r->e.sock, b, (uint32_t)(b - r->e.tcp.blocks), false};
    assert_int_equal(b->mss, mss);
    b->cwnd = cwnd_segs * mss;
    r->e.tcp.services[0].snd_limit = IMAGE;
    r->e.out_room = out_room;
    assert_true(c10m_send_ref(&c, &image, 0, IMAGE));
    raw_turn(r, 1);
    return r;
}

// What was sent in this turn follows on `from` bytes, is right, and makes `segments` of mss bytes.
static void assert_sent(struct raw *r, uint32_t from, uint32_t mss, uint32_t segments)
{
    uint32_t at = from;
    for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
        const struct seg_out *o = &OUT(r, i);
        const uint32_t len = (uint32_t)o->data_len[0] + o->data_len[1];
        assert_int_equal(o->seq, r->ack - from + at);
        assert_true(len == mss || (len > SEG_WHOLE_MAX && o->mss == mss && len % mss == 0));
        assert_int_equal(o->data_len[1], 0);
        assert_int_equal(o->flags, at + len == IMAGE ? SEG_ACK | SEG_PSH : SEG_ACK);
        for (uint32_t k = 0; k < len; k++)
            assert_int_equal(o->data[0][k], role_byte(at + k));
        at += len;
    }
    assert_int_equal(at - from, segments * mss);
}

static void full_segments_leave_as_large_ones_as_the_window_lets(void **state)
{
    struct raw *r = with_an_image(1460, 10, TCP_OUT_MAX);
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_sent(r, 0, 1460, 10);
    assert_int_equal(r->e.stats.c.tx_large, 1);
    assert_int_equal(r->e.stats.c.tx_tcp, 8);  // the loop counts the two
    r->ack += 14600;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_sent(r, 14600, 1460, 12);  // slow start
    reset_and_free(r);
}

static void a_segment_is_delivered_that_is_neither_dropped_nor_kept_nor_a_strangers(void **state)
{
    for (unsigned i = 0; i < 8; i++) {
        const struct tcp_verdict v = {.block = i & 1 ? 3 : BLOCK_NONE,
                                      .events = i & 2 ? TCP_EV_DATA : TCP_EV_KEPT,
                                      .drop = i & 4 ? DROP_NONE : DROP_tcp_window};
        assert_int_equal(tcp_delivered(&v), i == 7);
    }
}

static void a_large_segment_has_the_ip_header_that_the_application_wants(void **state)
{
    for (unsigned own = 0; own < 2; own++) {
        struct raw *r = with_an_image(1460, 10, TCP_OUT_MAX);
        struct block *b = raw_block(r);
        if (own)
            assert_int_equal(
                tcp_sockopt_set(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks), SOCKOPT_TTL, 7), 0);
        r->ack += 14600;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(r->e.stats.c.tx_large, 2);
        for (uint32_t i = 0; i < r->e.tcp.n_out; i++) {
            assert_int_equal(OUT(r, i).opts & SEG_OPT_IP, own ? SEG_OPT_IP : 0);
            assert_int_equal(own ? OUT(r, i).ttl : 7, 7);
        }
        reset_and_free(r);
    }
}

static void a_large_segment_counts_as_many_in_a_turn_as_it_is_cut_into(void **state)
{
    struct raw *r = with_an_image(1460, 40, 5);
    assert_sent(r, 0, 1460, 5);
    raw_turn(r, 0);
    r->ack += 5 * 1460;  // as assert_sent() counts
    assert_sent(r, 5 * 1460, 1460, 5);
    r->ack -= 5 * 1460;
    reset_and_free(r);
    r = with_an_image(1460, 40, TCP_OUT_MAX);
    assert_sent(r, 0, 1460, TCP_OUT_BLOCK_MAX);
    reset_and_free(r);
}

static void a_peer_with_a_small_mss_gets_large_segments_of_its_size(void **state)
{
    struct raw *r = with_an_image(536, 10, TCP_OUT_MAX);
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_sent(r, 0, 536, 10);
    reset_and_free(r);
    r = with_an_image(536, 4, TCP_OUT_MAX);  // what one packet might hold is not put together
    assert_int_equal(r->e.tcp.n_out, 4);
    assert_sent(r, 0, 536, 4);
    reset_and_free(r);
}

static void what_was_lost_is_not_sent_again_as_a_large_segment(void **state)
{
    struct raw *r = with_an_image(1460, 10, TCP_OUT_MAX);
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 0).data_len[0], 1460);
    assert_true(raw_wait(r, 2000) != UINT32_MAX);  // the timeout: all leaves again, one by one
    for (int i = 0; i < 20; i++) {
        for (uint32_t k = 0; k < r->e.tcp.n_out; k++)
            assert_true(OUT(r, k).data_len[0] <= 1460 ||
                        seq_leq(raw_block(r)->recover, OUT(r, k).seq));
        r->ack += 1460;
        raw_send(r, SEG_ACK, 0, 0);
    }
    reset_and_free(r);
}

static void dup_acks(struct raw *r, int n)
{
    for (int i = 0; i < n; i++)
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_turn(r, 0);
}

// RFC 6582 3.2: all that was in flight leaves again, and what the peer had is answered twice.
static void duplicates_after_a_timeout_are_no_sign_of_loss_up_to_recover(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 60000;
    raw_open(r);
    const struct block *b = raw_block(r);
    const uint32_t recover = b->snd_max;
    raw_wait(r, 10000);
    assert_int_equal(r->e.stats.c.rto_fired, 1);
    const uint32_t ssthresh = b->ssthresh;
    r->ack += 1460;  // the rest is sent again
    raw_send(r, SEG_ACK, 0, 0);
    dup_acks(r, 5);
    r->ack += 4 * 1460;
    raw_send(r, SEG_ACK, 0, 0);
    dup_acks(r, 5);
    r->ack = recover;  // exactly what was sent before the timeout, and new data follows
    raw_send(r, SEG_ACK, 0, 0);
    dup_acks(r, 5);
    assert_true(b->snd_max != recover);
    assert_int_equal(b->snd_una, recover);
    assert_int_equal(r->e.stats.c.fast_retransmits, 0);
    assert_int_equal(b->ssthresh, ssthresh);
    r->ack += 1460;  // beyond it duplicates count again
    raw_send(r, SEG_ACK, 0, 0);
    dup_acks(r, 3);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    reset_and_free(r);
}

// RFC 5681 3.2: no more than was outstanding can have left the network.
static void forged_duplicate_acks_inflate_cwnd_by_what_was_outstanding(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 60000;
    raw_open(r);
    const uint32_t outstanding = tcp_flight(raw_block(r));
    for (int i = 0; i < 300; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        if (r->n == 30)
            raw_turn(r, 0);
    }
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_true(raw_block(r)->cwnd <= raw_block(r)->ssthresh + outstanding);
    reset_and_free(r);
}

static void retransmissions_back_off_and_give_up(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.retries = 4;
    r->e.role.source = 100;
    raw_open(r);
    uint32_t last = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t ms = raw_wait(r, 100000);
        assert_int_equal(OUT(r, 0).seq, r->ack);
        if (i > 0)
            assert_in_range(ms, 2 * last - 2, 2 * last + 2);
        last = ms;
    }
    assert_true(raw_wait(r, 100000) != UINT32_MAX);
    assert_true(OUT(r, 0).flags & SEG_RST);
    assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
    reset_and_free(r);
}

static void a_closed_window_is_probed_forever_and_opens(void **state)
{
    struct raw *r = raw_new(NULL);
    r->wnd = 0;
    r->e.role.source = 1000;
    r->e.tcp.cfg.rto_max_ms = 2000;
    raw_open(r);
    for (int i = 0; i < 40; i++) {
        assert_true(raw_wait(r, 5000) != UINT32_MAX);
        assert_int_equal(OUT(r, 0).data_len[0], 0);
        raw_send(r, SEG_ACK, 0, 0);
    }
    r->wnd = 5000;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(OUT(r, 0).data_len[0], 1000);
    reset_and_free(r);
}

static void half_open_connections_retry_and_end(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.synack_retries = 2;
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_in_range(raw_wait(r, 5000), 999, 1001);
    assert_in_range(raw_wait(r, 5000), 1999, 2001);
    assert_int_equal(raw_wait(r, 10000), UINT32_MAX);
    assert_int_equal(r->e.role.opened, 0);
    raw_free(r, true);
}

static void a_full_half_open_pool_drops_and_counts(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.syns = 2});
    r->e.tcp.cfg.syn_cookies = TCP_COOKIES_OFF;
    for (uint16_t i = 0; i < 4; i++) {
        r->port = (uint16_t)(5000 + i);
        raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    }
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(r->e.stats.drops[DROP_syn_table_full], 2);
    for (int i = 0; i < 200000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 1);
    raw_free(r, true);
}

static void an_empty_block_pool_keeps_the_handshake_waiting(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = 1});
    r->e.tcp.services[0].connections_max = 5;
    raw_open(r);
    const uint32_t seq = r->seq;
    r->port++;
    raw_seg(r, SEG_SYN, 77, 0, 0, 0);
    raw_turn(r, 1);
    const uint32_t iss = OUT(r, 0).seq;
    raw_seg(r, SEG_ACK, 78, iss + 1, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.drops[DROP_block_pool_empty], 1);
    // Freed in this turn, given out from the next one on.
    r->port--;
    raw_seg(r, SEG_RST, seq, 0, 0, 0);
    r->port++;
    raw_seg(r, SEG_ACK, 78, iss + 1, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.drops[DROP_block_pool_empty], 2);
    raw_seg(r, SEG_ACK, 78, iss + 1, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.opened, 2);
    reset_and_free(r);
}

static void without_extension_records_out_of_order_data_is_dropped_only(void **state)
{
    struct raw *r = opened();
    while (index_pool_get(r->e.tcp.ext_pool) != INDEX_NONE)
        ;
    raw_seg(r, SEG_ACK, r->seq + 10, r->ack, 10, 10);
    raw_turn(r, 0);
    assert_int_equal(r->e.stats.drops[DROP_ext_pool_empty], 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    for (uint32_t i = 0; i < r->e.sizes.exts; i++)
        index_pool_put(r->e.tcp.ext_pool, i);
    reset_and_free(r);
}

static void without_buffers_in_order_data_is_never_acknowledged(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 400});
    r->e.role.pause_open = true;
    r->e.tcp.services[0].rcv_limit = 1 << 20;
    raw_open(r);
    uint32_t sent = 0;
    for (int t = 0; t < 20; t++) {
        const uint32_t nxt = raw_block(r)->rcv_nxt;
        for (uint32_t i = 0; i < BURST_MAX; i++)
            raw_seg(r, SEG_ACK, nxt + i * 1000, r->ack, nxt - r->seq + i * 1000, 1000);
        raw_turn(r, 1);
        sent = raw_block(r)->rcv_nxt - r->seq;
        assert_int_equal(raw_block(r)->rcvq_bytes, sent);
    }
    assert_true(r->e.stats.drops[DROP_tcp_buffer] != 0 || sent >= 65535);
    reset_and_free(r);
}

static void a_starved_sender_wakes_by_itself(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 400});
    r->e.role.source = 1000;
    uint32_t held[400], n = 0;
    while (r->e.tcp.bufs.n_free_data > 320)
        held[n++] = buf_get(&r->e.tcp.bufs);
    raw_open(r);
    assert_int_equal(r->e.role.sent, 0);
    for (int i = 0; i < 50; i++)
        raw_turn(r, 1);
    while (n != 0)
        buf_put(&r->e.tcp.bufs, held[--n]);
    assert_in_range(raw_wait(r, 1000), 1, TCP_STARVED_MS + 1);
    assert_int_equal(r->e.role.sent, 1000);
    reset_and_free(r);
}

static void a_send_after_the_shutdown_wakes_nobody(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 100000;
    raw_open(r);
    const struct block *b = raw_block(r);
    tcp_close(&r->e.tcp, (uint32_t)(b - r->e.tcp.blocks));
    while (b->snd_una != b->snd_end) {  // all but the FIN
        r->ack = seq_lt(b->snd_end, b->snd_max) ? b->snd_end : b->snd_max;
        raw_send(r, SEG_ACK, 0, 0);
    }
    const unsigned before = r->e.role.writable;
    for (int i = 0; i < 150; i++)
        raw_turn(r, 1);
    assert_int_equal(r->e.role.writable, before);
    reset_and_free(r);
}

static void without_wheel_chunks_nothing_is_lost(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 100;
    raw_open(r);
    struct wheel *w = r->e.tcp.wheel;
    const uint32_t keep = w->free;
    w->free = WHEEL_EMPTY;
    r->ack += 100;
    raw_send(r, SEG_ACK, 0, 10);
    for (int i = 0; i < 10; i++)
        raw_turn(r, 1);
    w->free = keep;
    assert_true(raw_wait(r, 100) != UINT32_MAX);  // the delayed acknowledgment comes
    reset_and_free(r);
}

static void no_reply_room_delays_and_loses_nothing(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 2920;
    raw_open(r);
    r->ack += 2920;
    raw_send(r, SEG_ACK, 0, 0);
    r->e.out_room = 0;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 100);
    raw_seg(r, SEG_ACK, r->seq + 100, r->ack, 100, 100);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    r->e.out_room = TCP_OUT_MAX;
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    reset_and_free(r);
}

static void into_time_wait(struct raw *r)
{
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
}

// into_time_wait_number: the same, beside others: then there are n.
static void into_time_wait_number(struct raw *r, unsigned n)
{
    r->e.role.shut = true;
    r->seq = 1000;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(r->e.stats.c.time_wait_now, n);
}

// time_wait_ack: what acknowledges all that the connection of that port, now in TIME-WAIT, was
// sent.
static uint32_t time_wait_ack(const struct raw *r, uint16_t port)
{
    const struct time_wait *w = raw_time_wait(r);
    while (w->remote_port != port)
        w = raw_ip6 ? (const void *)((const struct time_wait6 *)(const void *)w + 1) : w + 1;
    return w->snd_nxt;
}

static void time_wait_answers_a_fin_again_and_expires(void **state)
{
    struct raw *r = raw_new(NULL);
    into_time_wait(r);
    raw_turn(r, 30000);
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq - 1, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    raw_turn(r, 59000);  // began again
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);  // not the number that is awaited
    raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    raw_turn(r, 1100);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    raw_free(r, true);
}

// Into TIME-WAIT with 100 bytes that the application has yet to read.
static void into_time_wait_unread(struct raw *r)
{
    r->e.role =
        (struct role){.pause_open = true, .shut = true, .timer_ms = 500, .resume_on_timer = true};
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 100);
    assert_int_equal(raw_block(r)->state, TCP_TIME_WAIT);
}

// The peer has forgotten the connection and answers an acknowledgment of ours that came late.
static void a_reset_in_time_wait_takes_no_unread_data(void **state)
{
    struct raw *r = raw_new(NULL);
    into_time_wait_unread(r);
    raw_seg(r, SEG_RST, raw_block(r)->rcv_nxt, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.closed, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSED);
    raw_turn(r, 600);
    assert_int_equal(r->e.role.received, 100);
    assert_int_equal(r->e.role.why, C10M_CLOSED);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    reset_and_free(r);
}

// What is behind the record in the ring ends in its time all the same.
static void a_reset_ends_one_time_wait_and_leaves_the_others(void **state)
{
    struct raw *r = raw_new(NULL);
    for (int i = 0; i < 3; i++) {
        r->port++;
        r->e.role.shut = true;
        raw_open(r);
        r->ack++;
        raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
        if (i == 1) {
            raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
            raw_turn(r, 1000);
        }
    }
    assert_int_equal(r->e.stats.c.time_wait_reset, 1);
    assert_int_equal(r->e.stats.c.time_wait_now, 2);
    raw_turn(r, 60000);
    assert_int_equal(r->e.stats.c.time_wait_expired, 2);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    raw_free(r, true);
}

// Two ends that both wait with unread data would answer each other forever.
static void a_bare_ack_in_time_wait_is_not_answered(void **state)
{
    struct raw *r = raw_new(NULL);
    into_time_wait_unread(r);
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq - 1, r->ack, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    raw_turn(r, 600);
    assert_int_equal(r->e.role.why, C10M_CLOSED);
    reset_and_free(r);
}

static void a_full_time_wait_loses_its_oldest(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.tw = 2});
    for (uint64_t i = 0; i < 4; i++) {
        r->port++;
        r->e.role.shut = true;
        raw_open(r);
        r->ack++;
        raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
        assert_int_equal(r->e.stats.c.time_wait_evicted, i < 2 ? 0 : i - 1);
    }
    assert_int_equal(r->e.stats.c.time_wait_now, 2);
    reset_and_free(r);
}

// Who repeats its FIN has its own time begin again, and takes nobody's place.
static void a_fin_again_and_again_takes_no_record_of_others(void **state)
{
    enum { RECORDS = 64, AGAIN = 1000 };
    struct raw *r = raw_new(&(struct pair_sizes){.tw = RECORDS});
    uint32_t seq = 0, ack = 0;
    for (unsigned i = 0; i < RECORDS; i++) {
        r->port++;
        into_time_wait_number(r, i + 1);
        seq = i == RECORDS / 2 ? r->seq - 1 : seq;
        ack = i == RECORDS / 2 ? r->ack : ack;
    }
    const uint16_t port = (uint16_t)(r->port - RECORDS + 1 + RECORDS / 2);
    for (unsigned i = 0; i < AGAIN; i++) {
        raw_seg(r, SEG_ACK | SEG_FIN, seq, ack, 0, 0)->key.remote_port = port;
        raw_turn(r, 40);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(r->e.stats.c.time_wait_now, RECORDS);
    }
    assert_int_equal(r->e.stats.c.time_wait_evicted, 0);
    raw_turn(r, 60000 - AGAIN * 40);
    raw_turn(r, 1000);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);  // its own, for 40 s more
    raw_turn(r, AGAIN * 40 - 2000);
    assert_int_equal(r->e.stats.c.time_wait_now, 1);
    raw_turn(r, 2000);
    assert_int_equal(r->e.stats.c.time_wait_now, 0);
    assert_int_equal(r->e.stats.c.time_wait_expired, RECORDS);
    raw_free(r, true);
}

// A full ring: the oldest of all had its time begin again, and becomes the youngest where it lies.
static void in_a_full_ring_the_time_that_began_again_is_kept(void **state)
{
    for (uint32_t records = 1; records < 4; records++) {
        struct raw *r = raw_new(&(struct pair_sizes){.tw = records});
        for (unsigned i = 0; i < records; i++) {
            r->port++;
            into_time_wait_number(r, i + 1);
        }
        const uint16_t oldest = (uint16_t)(r->port - records + 1);
        raw_turn(r, 30000);
        raw_seg(r, SEG_ACK | SEG_FIN, r->seq - 1, time_wait_ack(r, oldest), 0, 0)->key.remote_port =
            oldest;
        raw_turn(r, 1);
        raw_turn(r, 31000);
        assert_int_equal(r->e.stats.c.time_wait_now, 1);
        raw_turn(r, 30000);
        assert_int_equal(r->e.stats.c.time_wait_now, 0);
        raw_free(r, true);
    }
}

static void a_younger_syn_reopens_time_wait(void **state)
{
    for (int by = 0; by < 3; by++) {  // sequence number; timestamp; equal timestamp, sequence
        struct raw *r = raw_new(NULL);
        r->ts = by > 0;
        r->ts_val = 500;
        into_time_wait(r);
        if (by == 0) {
            raw_seg(r, SEG_SYN, r->seq - 100, 0, 0, 0);
            raw_turn(r, 1);
            assert_int_equal(OUT(r, 0).flags, SEG_ACK);
        }
        r->ts_val += by == 1;
        r->seq = by == 1 ? r->seq - 5000 : r->seq + 5000;
        raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
        assert_int_equal(r->e.stats.c.time_wait_now, 0);
        raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
        raw_turn(r, 1);
        reset_and_free(r);
    }
}

// RFC 6191 2, RFC 1122 4.2.2.13: a connection faster than the clock of the initial numbers.
static void a_reopened_connection_begins_above_the_old_numbers(void **state)
{
    struct raw *r = raw_new(NULL);
    into_time_wait(r);
    const uint32_t old = raw_time_wait(r)->snd_nxt += 1u << 28;
    r->seq += 5000;
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
    assert_true(seq_lt(old, OUT(r, 0).seq));
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    reset_and_free(r);
}

static void the_window_of_a_syn_is_never_scaled(void **state)
{
    struct raw *r = raw_new(NULL);
    end_connect(&r->e, 0x0a000002, 80);
    raw_turn(r, 1);
    const struct flow_key key = OUT(r, 0).key;
    const uint32_t iss = OUT(r, 0).seq;
    struct seg_in *s = raw_seg(r, SEG_SYN, 5000, 0, 0, 0);
    s->key = key;
    s->opts = SEG_OPT_WSCALE;
    s->wscale = 14;
    raw_turn(r, 1);
    assert_int_equal(OUT(r, 0).flags, SEG_SYN | SEG_ACK);
    s = raw_seg(r, SEG_SYN | SEG_ACK, 5000, iss + 1, 0, 0);
    s->key = key;
    raw_turn(r, 1);
    assert_int_equal(r->e.role.opened, 1);
    assert_int_equal(raw_block(r)->snd_wnd, 65535);
    raw_seg(r, SEG_RST, 5001, 0, 0, 0)->key = key;
    raw_turn(r, 1);
    raw_free(r, true);
}

static void sequence_numbers_wrap(void **state)
{
    struct raw *r = raw_new(NULL);
    r->seq = UINT32_MAX - 700;
    raw_open(r);
    raw_seg(r, SEG_ACK, r->seq + 1000, r->ack, 1000, 500);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 1000);
    raw_turn(r, 0);
    assert_int_equal(r->e.role.received, 1500);
    assert_false(r->e.role.wrong);
    r->seq += 1500;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(r->e.role.ended, 1);
    reset_and_free(r);
}

// RFC 3042: each of the first two duplicates lets one new segment out, the third retransmits.
static void limited_transmit_sends_new_data_for_the_first_two_duplicates(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 20 * 1460;
    raw_open(r);
    assert_int_equal(r->e.tcp.n_out, 10);
    for (uint32_t i = 0; i < 2; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).seq, r->ack + (10 + i) * 1460);
    }
    assert_int_equal(r->e.stats.c.fast_retransmits, 0);
    reset_and_free(r);
}

// Karn: without timestamps an acknowledgment of what was sent twice measures nothing.
static void a_retransmitted_segment_is_not_measured(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.source = 100;
    raw_open(r);
    const uint32_t srtt = raw_block(r)->srtt_us;
    assert_true(raw_wait(r, 5000) != UINT32_MAX);
    raw_turn(r, 5);
    r->ack += 100;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->snd_una, raw_block(r)->snd_max);
    assert_int_equal(raw_block(r)->srtt_us, srtt);
    reset_and_free(r);
}

static void the_state_table_has_the_steps_of_the_rfc_and_no_other(void **state)
{
    unsigned n = 0;
    for (unsigned s = 0; s < TCP_STATE_COUNT; s++)
        for (unsigned k = 0; k < STEP_COUNT; k++) {
            const int next = tcp_state_next((enum tcp_state)s, (enum tcp_step)k);
            n += next >= 0;
            const bool open = s != TCP_FREE && s != TCP_CLOSED && tcp_state_name(s)[0] != '?';
            if (k == STEP_END)
                assert_int_equal(next, open ? TCP_CLOSED : -1);
            if (k == STEP_RELEASE)
                assert_int_equal(next, s == TCP_TIME_WAIT || s == TCP_CLOSED ? TCP_FREE : -1);
        }
    for (unsigned s = TCP_STATE_COUNT; s < TCP_STATE_COUNT + 4; s++)
        assert_string_equal(tcp_state_name((enum tcp_state)s), "?");
    print_message("state table: %u of %u cells\n", n, TCP_STATE_COUNT * STEP_COUNT);
    assert_int_equal(n, 25);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(end_is_told_after_all_data_of_the_burst),
        T(data_before_the_last_fin_is_delivered_before_the_close),
        T(fin_wait_2_is_silent),
        T(an_idle_peer_that_answers_probes_lives),
        T(active_opens_keep_alive_too),
        T(a_syn_that_has_not_left_is_not_acknowledged_by_a_guess),
        T(an_abort_ends_a_connection_with_unread_data_in_closed),
        T(unread_data_after_the_close_wakes_nobody),
        T(acknowledgments_carry_the_highest_sequence_number_after_a_timeout),
        T(a_lone_fin_beyond_a_gap_is_answered_at_once_and_kept),
        T(a_bare_fin_passes_a_closed_window),
        T(our_fin_is_acknowledged_by_a_probe_of_our_closed_window),
        T(challenge_acks_are_limited),
        T(a_paused_application_is_told_of_each_page_that_waits),
        T(single_bytes_do_not_creep_past_the_receive_limit),
        T(bytes_out_of_order_do_not_pin_a_buffer_each),
        T(resets_follow_rfc_5961),
        T(a_syn_in_the_window_is_challenged),
        T(data_with_an_ack_of_unsent_data_is_not_delivered),
        T(old_timestamps_are_dropped_and_expire_after_24_days),
        T(a_retransmission_of_what_we_have_is_echoed_with_its_own_time),
        T(every_second_segment_is_acknowledged_without_ack_merge),
        T(acks_of_a_burst_merge_and_a_single_one_waits),
        T(out_of_order_and_duplicate_are_each_answered_at_once),
        T(overlaps_with_other_content_never_mix_up_the_length),
        T(an_mss_of_0_or_1_is_taken_as_a_sane_one),
        T(three_duplicate_acks_retransmit_and_partial_acks_go_on),
        T(nothing_is_retransmitted_of_what_a_reset_of_the_same_burst_freed),
        T(what_was_acknowledged_in_the_same_burst_is_not_retransmitted),
        T(a_syn_ack_of_an_active_open_answers_a_scale_with_a_scale_of_0),
        T(full_segments_leave_as_large_ones_as_the_window_lets),
        T(a_segment_is_delivered_that_is_neither_dropped_nor_kept_nor_a_strangers),
        T(a_large_segment_has_the_ip_header_that_the_application_wants),
        T(a_large_segment_counts_as_many_in_a_turn_as_it_is_cut_into),
        T(a_peer_with_a_small_mss_gets_large_segments_of_its_size),
        T(what_was_lost_is_not_sent_again_as_a_large_segment),
        T(duplicates_after_a_timeout_are_no_sign_of_loss_up_to_recover),
        T(forged_duplicate_acks_inflate_cwnd_by_what_was_outstanding),
        T(retransmissions_back_off_and_give_up),
        T(a_closed_window_is_probed_forever_and_opens),
        T(half_open_connections_retry_and_end),
        T(a_full_half_open_pool_drops_and_counts),
        T(an_empty_block_pool_keeps_the_handshake_waiting),
        T(without_extension_records_out_of_order_data_is_dropped_only),
        T(without_buffers_in_order_data_is_never_acknowledged),
        T(a_starved_sender_wakes_by_itself),
        T(a_send_after_the_shutdown_wakes_nobody),
        T(without_wheel_chunks_nothing_is_lost),
        T(no_reply_room_delays_and_loses_nothing),
        T(time_wait_answers_a_fin_again_and_expires),
        T(a_reset_in_time_wait_takes_no_unread_data),
        T(a_reset_ends_one_time_wait_and_leaves_the_others),
        T(a_bare_ack_in_time_wait_is_not_answered),
        T(a_full_time_wait_loses_its_oldest),
        T(a_fin_again_and_again_takes_no_record_of_others),
        T(in_a_full_ring_the_time_that_began_again_is_kept),
        T(a_younger_syn_reopens_time_wait),
        T(a_reopened_connection_begins_above_the_old_numbers),
        T(the_window_of_a_syn_is_never_scaled),
        T(sequence_numbers_wrap),
        T(limited_transmit_sends_new_data_for_the_first_two_duplicates),
        T(a_retransmitted_segment_is_not_measured),
        T(the_state_table_has_the_steps_of_the_rfc_and_no_other),
    };
    int failed = 0;
    raw_one_mss = true;
    for (int ip6 = 0; ip6 < 2; ip6++) {
        raw_ip6 = ip6 != 0;
        failed += cmocka_run_group_tests_name(ip6 ? "IPv6" : "IPv4", tests, NULL, NULL);
    }
    return failed;
}
