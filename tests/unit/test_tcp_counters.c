// SPDX-License-Identifier: BSD-3-Clause
// Claims about what TCP counts: each of Linux's counters is counted where it happens, once. A peer
// played by hand; netstat and snmp are rendered from the same counters (test_stat.c).
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

#define OUT(r, i)        ((r)->e.out[i])
#define COUNTED(r, name) ((r)->e.stats.c.name)

static void end_and_free(struct raw *r)
{
    r->n = 0;
    raw_turn(r, 1);
    struct block *b = raw_block(r);
    if (b != NULL) {
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0)->key = b->key;
        raw_turn(r, 0);
    }
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    assert_int_equal(COUNTED(r, established_now), 0);
    raw_free(r, true);
}

static void established_are_those_in_established_and_close_wait(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.timer_ms = 500};
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, established_now), 0);  // half open
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    raw_open(r);
    assert_int_equal(COUNTED(r, established_now), 1);
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_CLOSE_WAIT);
    assert_int_equal(COUNTED(r, established_now), 1);
    tcp_close(&r->e.tcp, 0);
    raw_turn(r, 1);
    assert_int_equal(raw_block(r)->state, TCP_LAST_ACK);
    assert_int_equal(COUNTED(r, established_now), 0);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_null(raw_block(r));
    assert_int_equal(COUNTED(r, established_now), 0);
    assert_int_equal(COUNTED(r, established_resets), 0);
    end_and_free(r);
}

static void a_reset_by_either_side_is_an_established_reset(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, established_resets), 1);
    r->port++;
    r->e.role = (struct role){.abort_on_timer = true, .timer_ms = 100};
    raw_open(r);
    raw_turn(r, 200);
    assert_int_equal(COUNTED(r, established_resets), 2);
    assert_int_equal(COUNTED(r, aborts_by_app), 1);
    assert_int_equal(COUNTED(r, conns_failed), 0);
    end_and_free(r);
}

static void a_reset_after_our_close_is_none(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_1);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, conns_reset_received), 1);
    assert_int_equal(COUNTED(r, established_resets), 0);
    end_and_free(r);
}

static void half_open_ends_are_failed_attempts(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.synack_retries = 2;
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, syn_records_reset), 1);
    assert_int_equal(COUNTED(r, conns_failed), 1);
    assert_int_equal(COUNTED(r, synack_retransmits), 0);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_turn(r, 1);
    for (int i = 0; i < 20; i++)
        raw_turn(r, 1000);
    assert_int_equal(COUNTED(r, synack_retransmits), 2);
    assert_int_equal(COUNTED(r, tx_retransmits_segs), 2);
    assert_int_equal(COUNTED(r, synack_sent), 4);
    assert_int_equal(COUNTED(r, syn_records_timed_out), 1);
    assert_int_equal(COUNTED(r, conns_timed_out), 1);
    assert_int_equal(COUNTED(r, conns_failed), 2);
    end_and_free(r);
}

static void a_syn_ack_asked_for_again_is_a_retransmission(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, synack_sent), 2);
    assert_int_equal(COUNTED(r, synack_retransmits), 1);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    end_and_free(r);
}

static void an_open_that_nobody_answers_is_a_failed_attempt(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.tcp.cfg.syn_retries = 3;
    end_connect(&r->e, 0x0a000002, 80);
    for (int i = 0; i < 100; i++)
        raw_turn(r, 500);
    assert_int_equal(COUNTED(r, conns_opened_active), 1);
    assert_int_equal(COUNTED(r, syn_retransmits), 3);
    assert_int_equal(COUNTED(r, tx_retransmits_segs), 3);
    assert_int_equal(COUNTED(r, conns_failed), 1);
    assert_int_equal(COUNTED(r, conns_timed_out), 1);
    assert_int_equal(COUNTED(r, established_resets), 0);
    end_and_free(r);
}

static void the_delayed_ack_timer_counts_only_when_it_fires(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    raw_block(r)->quickack_left = 0;
    raw_send(r, SEG_ACK, 0, 10);
    raw_send(r, SEG_ACK, 10, 10);  // the second segment is acknowledged at once
    raw_turn(r, 100);
    assert_int_equal(COUNTED(r, delayed_acks), 0);
    raw_send(r, SEG_ACK, 20, 10);
    raw_turn(r, 100);
    assert_int_equal(COUNTED(r, delayed_acks), 1);
    end_and_free(r);
}

static void old_data_and_data_into_a_closed_window_are_told_apart(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.pause_open = true, .timer_ms = 5000, .resume_on_timer = true};
    r->e.tcp.services[0].rcv_limit = 2000;
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1000);
    assert_int_equal(COUNTED(r, window_closed), 0);
    raw_send(r, SEG_ACK, 1000, 1000);
    assert_int_equal(COUNTED(r, window_closed), 1);
    raw_turn(r, 100);
    raw_seg(r, SEG_ACK, r->seq - 1000, r->ack, 1000, 1000);  // again
    raw_turn(r, 1000);
    assert_int_equal(COUNTED(r, delayed_acks_lost), 1);
    assert_int_equal(COUNTED(r, window_zero_drops), 0);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 2000, 1);  // a probe
    raw_turn(r, 1000);
    assert_int_equal(COUNTED(r, delayed_acks_lost), 1);
    assert_int_equal(COUNTED(r, window_zero_drops), 1);
    assert_int_equal(COUNTED(r, window_opened), 0);
    raw_turn(r, 5000);
    raw_turn(r, 1);
    assert_int_equal(r->e.role.received, 2000);
    assert_int_equal(COUNTED(r, window_opened), 1);
    assert_int_equal(COUNTED(r, window_closed), 1);
    assert_int_equal(raw_block(r)->rcv_adv - raw_block(r)->rcv_nxt, 2000);
    end_and_free(r);
}

static void a_window_that_was_not_shut_is_not_opened(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role = (struct role){.pause_open = true, .timer_ms = 500, .resume_on_timer = true};
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1400);
    raw_turn(r, 600);
    assert_int_equal(r->e.role.received, 1400);
    assert_int_equal(COUNTED(r, window_closed), 0);
    assert_int_equal(COUNTED(r, window_opened), 0);
    end_and_free(r);
}

static void a_time_wait_ends_by_time_or_by_a_syn(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    assert_int_equal(COUNTED(r, time_wait_now), 1);
    raw_turn(r, 61000);
    assert_int_equal(COUNTED(r, time_wait_expired), 1);
    r->port++;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK | SEG_FIN, 0, 0);
    r->seq += 5000;
    raw_seg(r, SEG_SYN, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, time_wait_recycled), 1);
    assert_int_equal(COUNTED(r, time_wait_expired), 1);
    raw_seg(r, SEG_RST, r->seq + 1, 0, 0, 0);
    raw_turn(r, 1);
    end_and_free(r);
}

static void who_never_closes_his_side_is_ended_and_counted(void **state)
{
    struct raw *r = raw_new(NULL);
    r->e.role.shut = true;
    raw_open(r);
    r->ack++;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(raw_block(r)->state, TCP_FIN_WAIT_2);
    assert_true(raw_wait(r, 61000) != UINT32_MAX);
    assert_int_equal(COUNTED(r, fin_wait2_timeouts), 1);
    assert_int_equal(COUNTED(r, established_resets), 0);
    end_and_free(r);
}

static void challenges_count_the_syns_and_what_was_over_the_rate(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    raw_seg(r, SEG_SYN, r->seq + 10, 0, 0, 0);
    raw_turn(r, 1);
    assert_int_equal(COUNTED(r, syn_challenges), 1);
    assert_int_equal(COUNTED(r, challenge_acks), 1);
    assert_int_equal(COUNTED(r, ack_skipped_challenge), 0);
    raw_seg(r, SEG_RST, r->seq + 10, 0, 0, 0);
    raw_turn(r, 0);
    assert_int_equal(COUNTED(r, ack_skipped_challenge), 1);
    assert_int_equal(COUNTED(r, challenge_acks), 1);
    assert_int_equal(COUNTED(r, syn_challenges), 1);
    end_and_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(established_are_those_in_established_and_close_wait),
        cmocka_unit_test(a_reset_by_either_side_is_an_established_reset),
        cmocka_unit_test(a_reset_after_our_close_is_none),
        cmocka_unit_test(half_open_ends_are_failed_attempts),
        cmocka_unit_test(a_syn_ack_asked_for_again_is_a_retransmission),
        cmocka_unit_test(an_open_that_nobody_answers_is_a_failed_attempt),
        cmocka_unit_test(the_delayed_ack_timer_counts_only_when_it_fires),
        cmocka_unit_test(old_data_and_data_into_a_closed_window_are_told_apart),
        cmocka_unit_test(a_window_that_was_not_shut_is_not_opened),
        cmocka_unit_test(a_time_wait_ends_by_time_or_by_a_syn),
        cmocka_unit_test(who_never_closes_his_side_is_ended_and_counted),
        cmocka_unit_test(challenges_count_the_syns_and_what_was_over_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
