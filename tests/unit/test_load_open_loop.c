// SPDX-License-Identifier: BSD-3-Clause
// Requests of the load generator at a fixed rate, in virtual time. The server's end is
// load_env.h's.
#include "tests/unit/load_env.h"

enum { RATE = 10000 };  // one a turn of 100 us

static struct load_params at_a_rate(uint32_t connections)
{
    struct load_params p = params(connections);
    p.rounds = 0;
    p.rate = RATE;
    return p;
}

// All connections, open; the next turn asks.
static void open_all(const struct load_params *p)
{
    uint32_t seq[32];
    begin(p);
    for (uint32_t n = 0; n < p->connections;) {
        turn();
        const uint32_t first = n;
        while (end.seen != end.n_sent) {
            const struct sent *syn = next_sent();
            if (syn->seg.flags == SEG_SYN)
                seq[n++] = syn->seg.seq;
        }
        for (uint32_t i = first; i < n; i++)
            deliver(frame_of(i, SEG_SYN | SEG_ACK, ISN, seq[i] + 1, NULL, 0));
    }
    turn();
    end.seen = end.n_sent;
    assert_int_equal(load_counters(load)->opened, p->connections);
}

static void one_request_leaves_when_it_is_due_whether_others_are_answered_or_not(void **state)
{
    (void)state;
    const struct load_params p = at_a_rate(8);
    open_all(&p);
    for (uint32_t k = 0; k < 8; k++) {
        turn();
        assert_int_equal(next_sent()->conn, k);
        assert_nothing_sent();
    }
    turn();  // all are asked
    assert_nothing_sent();
    assert_int_equal(load_schedule_of(load)->due, 9);
    assert_int_equal(load_schedule_of(load)->started, 8);
}

static void what_waited_for_a_busy_connection_counts_from_its_due_time(void **state)
{
    (void)state;
    const struct load_params p = at_a_rate(1);
    open_all(&p);
    turn();
    struct sent request = *next_sent();
    for (int i = 0; i < 99; i++)
        turn();
    assert_nothing_sent();
    answer(&request);  // after 10 ms, in which a hundred more were due
    assert_int_equal(next_sent()->seg.data_len, 0);
    request = *next_sent();  // in the same turn
    assert_int_equal(load_histogram_ns(load_corrected(load), 1), 10000000);
    answer(&request);
    assert_int_equal(load_histogram_ns(load_corrected(load), 1),
                     10000000);  // 9.9 ms of waiting, 0.1
    assert_int_equal(load_latency(load)->n, 2);
    assert_int_equal(load_histogram_ns(load_latency(load), 0.5) / 1000, 100);
    assert_int_equal(load_schedule_of(load)->late, 0);
}

static void a_busy_connection_holds_nobody_else_up(void **state)
{
    (void)state;
    const struct load_params p = at_a_rate(4);
    open_all(&p);
    turn();
    next_sent();  // connection 0 is never answered
    for (uint32_t k = 1; k < 30; k++) {
        turn();
        const struct sent request = *next_sent();
        assert_int_equal(request.conn, 1 + (k - 1) % 3);
        end.now_us -= 100;  // the answer is there within the turn
        answer(&request);
        assert_int_equal(next_sent()->seg.data_len, 0);
        assert_nothing_sent();
    }
    assert_int_equal(load_schedule_of(load)->started, 30);
}

static void a_client_that_comes_late_charges_itself(void **state)
{
    (void)state;
    const struct load_params p = at_a_rate(20);
    open_all(&p);
    turn();
    struct sent request = *next_sent();
    end.now_us += 900;
    turn();  // ten are due
    for (uint32_t k = 0; k < 10; k++)
        request = *next_sent();
    assert_nothing_sent();
    assert_int_equal(load_schedule_of(load)->late, 9);
    assert_int_equal(load_schedule_of(load)->late_max_ns, 900000);
    answer(&request);
    assert_int_equal(load_histogram_ns(load_corrected(load), 1), 100000);
}

static void at_most_the_window_is_asked_and_the_rest_is_told(void **state)
{
    (void)state;
    struct load_params p = at_a_rate(20);
    p.window = 5;
    open_all(&p);
    for (uint32_t k = 0; k < 12; k++)
        turn();
    assert_int_equal(load_counters(load)->asked, 5);
    const struct load_schedule *d = load_schedule_of(load);
    assert_int_equal(d->due - d->started, d->due - 5);
    load_stop_asking(load);
    turn();
    assert_int_equal(load_counters(load)->asked, 5);
}

static void without_a_rate_there_is_nothing_to_correct(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    const struct sent request = open_and_ask(&p);
    answer(&request);
    assert_null(load_corrected(load));
}

static void what_waited_for_too_long_is_given_up_and_a_late_answer_is_not_in_time(void **state)
{
    (void)state;
    struct load_params p = at_a_rate(1);
    p.give_up_ms = 5;
    open_all(&p);
    turn();
    struct sent request = *next_sent();
    for (int i = 0; i < 99; i++)
        turn();
    answer(&request);  // after 10 ms
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->in_time, 0);
    assert_int_equal(c->answered, 1);
    assert_int_equal(next_sent()->seg.data_len, 0);
    request = *next_sent();  // of those due for less than 5 ms
    assert_int_equal(c->given_up, 49);
    end.now_us -= 100;
    answer(&request);
    assert_int_equal(c->in_time, 1);
    assert_true(load_histogram_ns(load_latency(load), 0.1) <= 1000000);
}

static void what_is_not_answered_in_time_after_the_last_request_is_given_up(void **state)
{
    (void)state;
    struct load_params p = at_a_rate(2);
    p.give_up_ms = 50;
    open_all(&p);
    turn();
    const struct sent first = *next_sent();
    turn();
    const struct sent request = *next_sent();
    load_stop_asking(load);
    answer(&first);
    next_sent();
    pass_ms(49);
    assert_nothing_sent();
    pass_ms(2);
    const struct sent *rst = next_sent();
    assert_int_equal(rst->conn, request.conn);
    assert_int_equal(rst->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(rst->seg.seq, request.seg.seq + PAYLOAD);
    assert_int_equal(load_counters(load)->given_up, 1);
    assert_int_equal(turn(), LOAD_END);
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        T(one_request_leaves_when_it_is_due_whether_others_are_answered_or_not),
        T(what_waited_for_a_busy_connection_counts_from_its_due_time),
        T(a_busy_connection_holds_nobody_else_up),
        T(a_client_that_comes_late_charges_itself),
        T(at_most_the_window_is_asked_and_the_rest_is_told),
        T(without_a_rate_there_is_nothing_to_correct),
        T(what_is_not_answered_in_time_after_the_last_request_is_given_up),
        T(what_waited_for_too_long_is_given_up_and_a_late_answer_is_not_in_time),
    };
#undef T
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
