// SPDX-License-Identifier: BSD-3-Clause
// The load generator's client: connections that come and go, closed by either side, at their rate,
// beside held ones and beside a flood.
#include "tests/unit/load_env.h"

enum { TIME_WAIT_MS = 5000 };

static struct load_params full(uint32_t tuples, enum load_closer closer)
{
    struct load_params p = params(tuples);
    p.tuples = tuples;
    p.window = MIN(tuples, 64u);
    p.rounds = 0;
    p.closer = closer;
    p.time_wait_ms = TIME_WAIT_MS;
    return p;
}

// The SYN of connection conn and its ISS, answered; the ACK and the request that follow are taken
// off the wire. Returns the request.
static struct sent open_full(uint32_t conn)
{
    shake_hands(conn);
    const struct sent request = *next_sent();
    assert_int_equal(request.conn, conn);
    assert_int_equal(request.seg.flags, SEG_ACK | SEG_PSH);
    assert_int_equal(request.seg.data_len, PAYLOAD);
    assert_int_equal(request.seg.ack, ISN + 1);
    assert_nothing_sent();
    return request;
}

static struct sent begin_full(const struct load_params *p)
{
    begin(p);
    turn();
    assert_int_equal(turn(), LOAD_FULL);
    return open_full(0);
}

// One connection, answered; the client's FIN.
static struct sent until_fin(const struct load_params *p)
{
    const struct sent request = begin_full(p);
    answer(&request);
    const struct sent fin = *next_sent();
    assert_int_equal(fin.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(fin.seg.seq, request.seg.seq + PAYLOAD);
    assert_int_equal(fin.seg.ack, ISN + 1 + PAYLOAD);
    assert_nothing_sent();
    return fin;
}

static void say_fin(const struct sent *fin, uint32_t ack)
{
    say(fin->conn, SEG_ACK | SEG_FIN, fin->seg.ack, ack, NULL, 0);
}

static void assert_ack(uint32_t seq, uint32_t ack)
{
    const struct sent *s = next_sent();
    assert_int_equal(s->seg.flags, SEG_ACK);
    assert_int_equal(s->seg.data_len, 0);
    assert_int_equal(s->seg.seq, seq);
    assert_int_equal(s->seg.ack, ack);
}

// The tuple is free again at the end of `ms` from now on and not before.
static void assert_free_after_ms(uint32_t ms)
{
    pass_ms(ms - 5);
    assert_nothing_sent();
    pass_ms(10);
    assert_int_equal(next_sent()->seg.flags, SEG_SYN);
}

static void the_client_closes_first_and_keeps_time_wait(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    const uint32_t isn = end.sent[0].seg.seq, ts = end.sent[0].seg.ts_val;
    say_fin(&fin, fin.seg.seq + 1);
    assert_ack(fin.seg.seq + 1, fin.seg.ack + 1);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->full_done, 1);
    assert_int_equal(c->full_begun, 1);
    assert_int_equal(load_full_time(load)->n, 1);
    assert_int_equal(c->client_no_tuple, 1);  // in the same turn
    assert_free_after_ms(TIME_WAIT_MS);
    const struct sent *syn = &end.sent[end.seen - 1];
    assert_true(time_before(fin.seg.seq + 65536, syn->seg.seq));  // far above the old numbers
    assert_true(time_before(isn, syn->seg.seq));
    assert_true(syn->seg.ts_val >= ts + TIME_WAIT_MS);
    assert_int_equal(syn->seg.ts_ecr, 0);
    assert_int_equal(c->failed, 0);
}

static void a_connection_with_a_life_stays_for_it_and_is_closed_then(void **state)
{
    (void)state;
    struct load_params p = full(1, LOAD_BY_CLIENT);
    p.life_ms = 3000;
    const struct sent request = begin_full(&p);
    answer(&request);
    const struct load_counters *c = load_counters(load);
    assert_ack(request.seg.seq + PAYLOAD, ISN + 1 + PAYLOAD);
    assert_nothing_sent();
    assert_int_equal(c->lives_most, 1);
    load_stop_asking(load);
    pass_ms(2990);
    assert_nothing_sent();
    assert_int_equal(turn(), LOAD_FULL);  // it is not over before the last life is
    pass_ms(20);
    const struct sent fin = *next_sent();
    assert_int_equal(fin.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(fin.seg.seq, request.seg.seq + PAYLOAD);
    say_fin(&fin, fin.seg.seq + 1);
    assert_ack(fin.seg.seq + 1, fin.seg.ack + 1);
    assert_int_equal(c->full_done, 1);
    assert_int_equal(c->failed, 0);
    assert_int_equal(turn(), LOAD_END);
}

static void the_end_of_a_life_finds_a_connection_that_failed_gone(void **state)
{
    (void)state;
    struct load_params p = full(1, LOAD_BY_CLIENT);
    p.life_ms = 3000;
    const struct sent request = begin_full(&p);
    answer(&request);
    load_stop_asking(load);
    assert_ack(request.seg.seq + PAYLOAD, ISN + 1 + PAYLOAD);
    say(0, SEG_RST, ISN + 1 + PAYLOAD, 0, NULL, 0);
    turn();
    assert_int_equal(load_counters(load)->failed, 1);
    pass_ms(3010);
    assert_nothing_sent();
    assert_int_equal(turn(), LOAD_END);
}

static void an_acknowledgment_alone_leaves_the_client_waiting_for_the_fin(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    say(0, SEG_ACK, fin.seg.ack, fin.seg.seq + 1, NULL, 0);
    pass_ms(2500);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->full_done, 0);
    assert_int_equal(load_counters(load)->retransmitted, 0);
    say_fin(&fin, fin.seg.seq + 1);
    assert_ack(fin.seg.seq + 1, fin.seg.ack + 1);
    assert_int_equal(load_counters(load)->full_done, 1);
}

static void both_close_at_once(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    say_fin(&fin, fin.seg.seq);  // it has not seen ours
    assert_ack(fin.seg.seq + 1, fin.seg.ack + 1);
    assert_int_equal(load_counters(load)->full_done, 0);
    pass_ms(250);
    const struct sent again = *next_sent();  // ours is lost
    assert_int_equal(again.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(again.seg.seq, fin.seg.seq);
    assert_int_equal(again.seg.ack, fin.seg.ack + 1);
    say(0, SEG_ACK, fin.seg.ack + 1, fin.seg.seq + 1, NULL, 0);
    assert_int_equal(load_counters(load)->full_done, 1);
    assert_free_after_ms(TIME_WAIT_MS);
}

static void the_server_closes_first_behind_its_answer(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent request = begin_full(&p);
    const uint32_t ack = request.seg.seq + PAYLOAD;
    say(0, SEG_ACK | SEG_PSH | SEG_FIN, ISN + 1, ack, request.data, PAYLOAD);
    const struct sent fin = *next_sent();  // acknowledges both
    assert_int_equal(fin.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(fin.seg.seq, ack);
    assert_int_equal(fin.seg.ack, ISN + 2 + PAYLOAD);
    assert_nothing_sent();
    say(0, SEG_ACK, ISN + 2 + PAYLOAD, ack + 1, NULL, 0);
    assert_int_equal(load_counters(load)->full_done, 1);
    const struct sent *syn = next_sent();  // TIME-WAIT is the server's: used again at once
    assert_int_equal(syn->seg.flags, SEG_SYN);
    assert_true(time_before(ack + 65536, syn->seg.seq));
    assert_true(time_before(request.seg.ts_val - 1, syn->seg.ts_val));
}

static void the_servers_fin_may_come_later_than_its_answer(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent request = begin_full(&p);
    const uint32_t ack = request.seg.seq + PAYLOAD;
    answer(&request);
    assert_ack(ack, ISN + 1 + PAYLOAD);
    pass_ms(1000);
    assert_nothing_sent();
    say(0, SEG_ACK | SEG_FIN, ISN + 1 + PAYLOAD, ack, NULL, 0);
    const struct sent fin = *next_sent();
    assert_int_equal(fin.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(fin.seg.ack, ISN + 2 + PAYLOAD);
    pass_ms(250);  // lost
    assert_int_equal(next_sent()->seg.seq, fin.seg.seq);
    assert_int_equal(load_counters(load)->full_done, 0);
    say(0, SEG_ACK, ISN + 2 + PAYLOAD, ack + 1, NULL, 0);
    assert_int_equal(load_counters(load)->full_done, 1);
    assert_int_equal(load_counters(load)->retransmitted, 1);
}

static void a_server_that_never_closes_fails_the_connection(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent request = begin_full(&p);
    answer(&request);
    next_sent();
    load_stop_asking(load);
    for (unsigned s = 0; s < 120 && load_counters(load)->failed == 0; s++)
        pass_ms(1000);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(load_counters(load)->retransmitted, 0);
    assert_int_equal(turn(), LOAD_END);
    assert_false(load_all_right(load));
}

static void a_reset_does_not_end_the_clients_time_wait(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    say_fin(&fin, fin.seg.seq + 1);
    next_sent();
    say(0, SEG_RST, fin.seg.ack + 1, 0, NULL, 0);  // RFC 1337
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->failed, 0);
    assert_free_after_ms(TIME_WAIT_MS);
}

static void a_reset_of_one_that_has_said_all_is_no_failure(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent request = begin_full(&p);
    const uint32_t ack = request.seg.seq + PAYLOAD;
    say(0, SEG_ACK | SEG_FIN, ISN + 1, ack, request.data, PAYLOAD);
    next_sent();
    say(0, SEG_RST, ISN + 2 + PAYLOAD, 0, NULL, 0);  // the server's TIME-WAIT was evicted
    assert_int_equal(load_counters(load)->failed, 0);
    assert_int_equal(load_counters(load)->full_done, 1);
}

static void a_reset_before_the_answer_fails_the_connection(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    begin_full(&p);
    say(0, SEG_RST, ISN + 1, 0, NULL, 0);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(next_sent()->seg.flags, SEG_SYN);  // the tuple is free
    assert_int_equal(load_counters(load)->full_done, 0);
}

static void a_lost_last_acknowledgment_is_sent_again_and_time_wait_begins_anew(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    say_fin(&fin, fin.seg.seq + 1);
    next_sent();
    pass_ms(3000);
    say_fin(&fin, fin.seg.seq + 1);
    assert_ack(fin.seg.seq + 1, fin.seg.ack + 1);
    assert_int_equal(load_counters(load)->full_done, 1);
    assert_free_after_ms(TIME_WAIT_MS);
}

static void a_lost_fin_is_sent_again(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_CLIENT);
    const struct sent fin = until_fin(&p);
    pass_ms(250);
    const struct sent again = *next_sent();
    assert_int_equal(again.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(again.seg.seq, fin.seg.seq);
    assert_int_equal(load_counters(load)->retransmitted, 1);
    say_fin(&fin, fin.seg.seq + 1);
    assert_int_equal(load_counters(load)->full_done, 1);
}

static void a_fin_before_the_answer_fails_the_connection(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent request = begin_full(&p);
    say(0, SEG_ACK | SEG_FIN, ISN + 1, request.seg.seq + PAYLOAD, NULL, 0);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(next_sent()->seg.flags, SEG_RST | SEG_ACK);
}

static void no_two_lives_of_a_tuple_ask_the_same(void **state)
{
    (void)state;
    const struct load_params p = full(1, LOAD_BY_SERVER);
    const struct sent first = begin_full(&p);
    const uint32_t ack = first.seg.seq + PAYLOAD;
    say(0, SEG_ACK | SEG_FIN, ISN + 1, ack, first.data, PAYLOAD);
    next_sent();
    say(0, SEG_ACK, ISN + 2 + PAYLOAD, ack + 1, NULL, 0);
    const struct sent second = open_full(0);
    assert_memory_not_equal(first.data, second.data, PAYLOAD);
    say(0, SEG_ACK | SEG_FIN, ISN + 1, second.seg.seq + PAYLOAD, first.data, PAYLOAD);
    assert_int_equal(load_counters(load)->wrong, 1);
}

// A server without memory, which closes behind its answer, through a wire that loses and doubles.
static void serve_and_close(struct rng *rng, uint32_t loss_percent)
{
    while (end.seen != end.n_sent) {
        const struct sent *s = next_sent();
        const struct seg_in *g = &s->seg;
        struct pkt *f;
        if (rng_below(rng, 100) < loss_percent)
            continue;
        if (g->flags & SEG_SYN)
            f = frame_of(s->conn, SEG_SYN | SEG_ACK, s->conn * 7919, g->seq + 1, NULL, 0);
        else if (g->flags & SEG_FIN)
            f = frame_of(s->conn, SEG_ACK, g->ack, g->seq + 1, NULL, 0);
        else if (g->data_len != 0)
            f = frame_of(s->conn, SEG_ACK | SEG_FIN, g->ack, g->seq + g->data_len, s->data,
                         g->data_len);
        else
            continue;
        if (rng_below(rng, 100) < loss_percent)
            pkt_free(f);
        else
            deliver(f);
    }
}

// For ms of the phase of full connections, then to the end.
static void run_full(const struct load_params *p, struct rng *rng, uint32_t loss, uint32_t ms)
{
    enum load_phase phase = LOAD_OPEN;
    begin(p);
    for (uint32_t n = 0; n < ms + 100000 && phase != LOAD_END; n += phase != LOAD_OPEN) {
        end.now_us += 900;
        phase = turn();
        if (p->closer == LOAD_BY_SERVER && phase != LOAD_CLOSE)
            serve_and_close(rng, loss);
        else
            serve(rng, loss, loss);
        if (n >= ms && phase == LOAD_FULL)
            load_stop_asking(load);
    }
    assert_int_equal(phase, LOAD_END);
}

static void every_connection_ends_through_a_wire_that_loses_whoever_closes(void **state)
{
    (void)state;
    struct rng rng = test_rng("load_full");
    for (int closer = LOAD_BY_CLIENT; closer <= LOAD_BY_SERVER; closer++)
        for (int family = 0; family <= 1; family++) {
            v6 = family;
            struct load_params p = full(300, (enum load_closer)closer);
            p.time_wait_ms = 100;
            run_full(&p, &rng, 8, 3000);
            const struct load_counters *c = load_counters(load);
            assert_true(c->full_done > 300);  // tuples were used again
            assert_true(c->retransmitted > 50);
            assert_int_equal(c->full_done, c->full_begun);
            assert_true(load_all_right(load));
            teardown(NULL);
        }
}

static void connections_begin_at_their_rate_whatever_the_server_does(void **state)
{
    (void)state;
    struct rng rng = {1};
    struct load_params p = full(3000, LOAD_BY_CLIENT);
    p.rate = 1000;
    run_full(&p, &rng, 0, 2000);
    const struct load_counters *c = load_counters(load);
    assert_in_range(c->full_begun, 1998, 2003);
    assert_int_equal(c->full_done, c->full_begun);
    assert_int_equal(c->client_late, 0);
    assert_true(load_all_right(load));
    // From when it was due: three turns of a millisecond, and up to one until it was begun.
    assert_in_range(load_histogram_ns(load_full_time(load), 1), 3000000, 4100000);
}

static void what_the_client_cannot_begin_in_time_is_said_and_no_failure(void **state)
{
    (void)state;
    struct load_params p = full(10, LOAD_BY_CLIENT);
    struct rng rng = {1};
    p.rate = 1000;
    p.time_wait_ms = 3600 * 1000;  // ten ports forever
    run_full(&p, &rng, 0, 3000);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->full_begun, 10);
    assert_int_equal(c->full_done, 10);
    assert_in_range(c->client_late, 2980, 3000);
    assert_true(c->client_no_tuple > 1000);
    assert_int_equal(c->failed, 0);
    assert_true(load_all_right(load));
}

static void held_connections_are_asked_meanwhile_and_all_in_the_end(void **state)
{
    (void)state;
    struct rng rng = test_rng("load_held");
    struct load_params p = full(200, LOAD_BY_CLIENT);
    p.connections = 500 + 200;
    p.time_wait_ms = 50;
    p.rate = 1000;
    p.asks = 400;
    p.close = true;
    run_full(&p, &rng, 0, 1000);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->opened, 500);
    assert_int_equal(c->closed, 500);
    assert_in_range(c->full_done, 998, 1002);
    assert_in_range(c->answered - c->full_done, 898, 902);  // 400 meanwhile, 500 in the end
    assert_int_equal(load_latency(load)->n, c->answered - c->full_done);
    assert_true(load_all_right(load));
}

static void a_flood_comes_from_addresses_of_nobody_and_its_answers_are_no_strangers(void **state)
{
    (void)state;
    struct load_params p = full(2, LOAD_BY_CLIENT);
    p.window = 1;
    p.flood = 10000;
    begin(&p);
    for (int i = 0; i < 12; i++) {
        end.now_us += 900;
        turn();
    }
    uint32_t floods = 0, same = 0;
    struct flow_key last = {.remote_port = 0};
    while (end.seen != end.n_sent) {
        const struct sent *s = next_sent();
        if (s->conn == 0)
            continue;
        assert_int_equal(s->seg.flags, SEG_SYN);
        assert_in_range(ip_to_v4(&s->seg.key.remote) - CLIENT_V4, 1, LOAD_FLOOD_HOSTS);
        same += flow_key_equal(&s->seg.key, &last);
        last = s->seg.key;
        floods++;
    }
    assert_in_range(floods, 90, 110);
    assert_int_equal(same, 0);
    assert_int_equal(load_counters(load)->flood_syns, floods);
    say(LOAD_PORTS, SEG_SYN | SEG_ACK, ISN, 1, NULL, 0);
    assert_int_equal(load_counters(load)->flood_answers, 1);
    assert_int_equal(load_counters(load)->strangers, 0);
    say(LOAD_PORTS * (LOAD_FLOOD_HOSTS + 1u), SEG_SYN | SEG_ACK, ISN, 1, NULL, 0);
    assert_int_equal(load_counters(load)->strangers, 1);
}

static void a_keepalive_probe_is_answered(void **state)
{
    (void)state;
    struct load_params p = params(2);
    p.window = 1;
    begin(&p);
    turn();
    shake_hands(0);
    next_sent();
    const uint32_t snd_nxt = end.sent[0].seg.seq + 1;
    say(0, SEG_ACK, ISN, snd_nxt, NULL, 0);  // RFC 1122 4.2.3.6: SEG.SEQ = SND.NXT - 1
    assert_ack(snd_nxt, ISN + 1);
    assert_int_equal(load_counters(load)->probes, 1);
    say(0, SEG_ACK, ISN + 1, snd_nxt, NULL, 0);
    assert_nothing_sent();
}

static void more_tuples_than_connections_are_refused(void **state)
{
    (void)state;
    struct err err;
    struct load_params p = full(10, LOAD_BY_CLIENT);
    p.connections = 9;
    assert_null(load_new(&p, &err));
    assert_string_equal(err.text, "tuples 10, rate 0: expected at most 9 and 10000000");
}

enum { GIVE_UP_MS = 500, HUNDRED = 100 };

static struct load_params impatient(uint32_t tuples)
{
    struct load_params p = full(tuples, LOAD_BY_CLIENT);
    p.rate = HUNDRED;
    p.give_up_ms = GIVE_UP_MS;
    return p;
}

static void an_unanswered_request_is_given_up_with_a_reset(void **state)
{
    (void)state;
    const struct load_params p = impatient(1);
    begin(&p);
    turn();
    pass_ms(10);
    const struct sent request = open_full(0);
    load_stop_asking(load);
    const struct load_counters *c = load_counters(load);
    while (c->given_up == 0)
        turn();
    const struct sent *rst = &end.sent[(end.n_sent - 1) % QUEUE];
    assert_int_equal(rst->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(rst->seg.seq, request.seg.seq + PAYLOAD);
    assert_true(rst->at_us >= 1000 * GIVE_UP_MS && rst->at_us < 1000 * GIVE_UP_MS + 30000);
    assert_int_equal(c->failed, 0);
    assert_int_equal(c->in_time, 0);
    end.seen = end.n_sent;
    say(0, SEG_ACK, ISN + 1, request.seg.seq, NULL, 0);  // a challenge: the request was lost
    assert_int_equal(next_sent()->seg.seq, request.seg.seq);
    assert_int_equal(end.sent[end.seen - 1].seg.flags, SEG_RST | SEG_ACK);
    assert_false(load_all_right(load));
}

static void an_unanswered_syn_is_given_up_in_silence(void **state)
{
    (void)state;
    const struct load_params p = impatient(1000);
    begin(&p);
    turn();
    pass_ms(10);
    load_stop_asking(load);
    const struct load_counters *c = load_counters(load);
    pass_ms(GIVE_UP_MS + 10);
    assert_int_equal(c->full_begun, c->given_up);
    assert_int_not_equal(c->given_up, 0);
    while (end.seen != end.n_sent)
        assert_int_equal(next_sent()->seg.flags, SEG_SYN);
    assert_int_equal(turn(), LOAD_END);
}

static void an_answer_in_time_is_counted_and_its_connection_not_given_up(void **state)
{
    (void)state;
    const struct load_params p = impatient(1);
    begin(&p);
    turn();
    pass_ms(10);
    const struct sent request = open_full(0);
    load_stop_asking(load);
    pass_ms(100);
    answer(&request);
    const struct sent fin = *next_sent();
    pass_ms(GIVE_UP_MS);
    end.seen = end.n_sent;
    say_fin(&fin, fin.seg.seq + 1);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->in_time, 1);
    assert_int_equal(c->given_up, 0);
    assert_int_equal(c->full_done, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        T(the_client_closes_first_and_keeps_time_wait),
        T(an_acknowledgment_alone_leaves_the_client_waiting_for_the_fin),
        T(a_connection_with_a_life_stays_for_it_and_is_closed_then),
        T(the_end_of_a_life_finds_a_connection_that_failed_gone),
        T(both_close_at_once),
        T(the_server_closes_first_behind_its_answer),
        T(the_servers_fin_may_come_later_than_its_answer),
        T(a_server_that_never_closes_fails_the_connection),
        T(a_reset_does_not_end_the_clients_time_wait),
        T(a_reset_of_one_that_has_said_all_is_no_failure),
        T(a_reset_before_the_answer_fails_the_connection),
        T(a_lost_last_acknowledgment_is_sent_again_and_time_wait_begins_anew),
        T(a_lost_fin_is_sent_again),
        T(a_fin_before_the_answer_fails_the_connection),
        T(no_two_lives_of_a_tuple_ask_the_same),
        T(every_connection_ends_through_a_wire_that_loses_whoever_closes),
        T(connections_begin_at_their_rate_whatever_the_server_does),
        T(what_the_client_cannot_begin_in_time_is_said_and_no_failure),
        T(held_connections_are_asked_meanwhile_and_all_in_the_end),
        T(a_flood_comes_from_addresses_of_nobody_and_its_answers_are_no_strangers),
        T(a_keepalive_probe_is_answered),
        T(more_tuples_than_connections_are_refused),
        T(an_unanswered_request_is_given_up_with_a_reset),
        T(an_unanswered_syn_is_given_up_in_silence),
        T(an_answer_in_time_is_counted_and_its_connection_not_given_up),
    };
#undef T
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
