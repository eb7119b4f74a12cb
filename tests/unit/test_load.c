// SPDX-License-Identifier: BSD-3-Clause
// The load generator's client: what is held open, asked and closed.
#include "tests/unit/load_env.h"

// ask_once: a client with one connection, open; its only request.
static struct sent ask_once(void)
{
    const struct load_params p = params(1);
    return open_and_ask(&p);
}

// ask_and_close: the same, answered; the client's FIN has left, and is not looked at yet.
static struct sent ask_and_close(void)
{
    struct load_params p = params(1);
    p.close = true;
    const struct sent request = open_and_ask(&p);
    answer(&request);
    turn();
    return request;
}

// say_first_half, say_second_half: of the answer to a request.
static void say_first_half(const struct sent *request)
{
    say(0, SEG_ACK, ISN + 1, request->seg.seq + PAYLOAD, request->data, PAYLOAD / 2);
}

static void say_second_half(const struct sent *request)
{
    say(0, SEG_ACK, ISN + 1 + PAYLOAD / 2, request->seg.seq + PAYLOAD, request->data + PAYLOAD / 2,
        PAYLOAD / 2);
}

// deliver_changed, deliver_cut: the answer to a request with some bits of one byte turned over, or
// only so many bytes of its frame.
static struct pkt *answer_frame(const struct sent *request)
{
    return frame_of(0, SEG_ACK, ISN + 1, request->seg.seq + PAYLOAD, request->data, PAYLOAD);
}

static void deliver_changed(const struct sent *request, uint32_t at, uint8_t bits)
{
    struct pkt *f = answer_frame(request);
    pkt_data(f)[at] ^= bits;
    deliver(f);
    turn();
}

static void deliver_cut(const struct sent *request, uint32_t len)
{
    struct pkt *f = answer_frame(request);
    pkt_set_len(f, len);
    deliver(f);
    turn();
}

// run_right: a whole run through a wire that loses and doubles so many percent of the frames, in
// which every answer comes and is right. The counters are there until the next run.
static const struct load_counters *run_right(const struct load_params *p, struct rng *rng,
                                             uint32_t loss, uint32_t doubled)
{
    load_free(load);  // of the run before
    run_all(p, rng, loss, doubled);
    assert_true(load_all_right(load));
    return load_counters(load);
}

static void a_connection_opens_asks_and_closes_as_a_tcp_does(void **state)
{
    (void)state;
    struct load_params p = params(1);
    p.close = true;
    begin(&p);
    assert_int_equal(turn(), LOAD_OPEN);
    assert_int_equal(end.sent[0].seg.opts, SEG_OPT_MSS | SEG_OPT_WSCALE | SEG_OPT_TS);
    assert_int_equal(end.sent[0].seg.mss, 1460);
    shake_hands(0);
    turn();
    const struct sent request = *next_sent();
    assert_int_equal(request.seg.ack, ISN + 1);
    answer(&request);
    const struct sent *ack = next_sent();
    assert_int_equal(ack->seg.flags, SEG_ACK);
    assert_int_equal(ack->seg.data_len, 0);
    assert_int_equal(ack->seg.ack, ISN + 1 + PAYLOAD);
    turn();
    const struct sent fin = *next_sent();
    assert_int_equal(fin.seg.flags, SEG_ACK | SEG_FIN);
    assert_int_equal(fin.seg.seq, request.seg.seq + PAYLOAD);
    say(0, SEG_ACK | SEG_FIN, fin.seg.ack, fin.seg.seq + 1, NULL, 0);
    const struct sent *last = next_sent();
    assert_int_equal(last->seg.seq, fin.seg.seq + 1);
    assert_int_equal(last->seg.ack, fin.seg.ack + 1);
    assert_nothing_sent();
    assert_int_equal(turn(), LOAD_END);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->opened, 1);
    assert_int_equal(c->answered, 1);
    assert_int_equal(c->closed, 1);
    assert_int_equal(c->retransmitted, 0);
    assert_true(load_all_right(load));
}

static void a_syn_ack_of_something_else_is_wrong_and_opens_nothing(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    say(0, SEG_SYN | SEG_ACK, ISN, syn.seg.seq, NULL, 0);
    say(0, SEG_SYN | SEG_ACK, ISN, syn.seg.seq + 2, NULL, 0);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->opened, 0);
    assert_int_equal(load_counters(load)->wrong, 2);
}

// It has the numbers of this run, since connection i begins at the same number in each.
static void a_connection_of_an_earlier_run_that_has_sent_nothing_is_reset_too(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    say(0, SEG_ACK, ISN, syn.seg.seq + 1, NULL, 0);
    const struct sent *rst = next_sent();
    assert_true(rst->seg.flags & SEG_RST);
    assert_int_equal(rst->seg.seq, syn.seg.seq + 1);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->opened, 0);
    assert_int_equal(load_counters(load)->duplicates, 1);
    pass_ms(LOAD_RTO_INITIAL_MS + 1);
    assert_int_equal(next_sent()->seg.seq, syn.seg.seq);
}

static void a_syn_ack_again_is_acknowledged_again(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say(0, SEG_SYN | SEG_ACK, ISN, request.seg.seq, NULL, 0);
    const struct sent *ack = next_sent();
    assert_int_equal(ack->seg.ack, ISN + 1);
    assert_int_equal(ack->seg.seq, request.seg.seq);
    assert_int_equal(load_counters(load)->opened, 1);
    answer(&request);
    turn();
    assert_true(load_all_right(load));
}

static void a_reset_of_the_syn_fails_the_connection_if_it_acknowledges_it(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    say(0, SEG_RST, 0, 0, NULL, 0);
    say(0, SEG_RST | SEG_ACK, 0, syn.seg.seq, NULL, 0);
    assert_int_equal(load_counters(load)->failed, 0);
    say(0, SEG_RST | SEG_ACK, 0, syn.seg.seq + 1, NULL, 0);
    assert_int_equal(load_counters(load)->failed, 1);
    pass_ms(3000);
    assert_nothing_sent();
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(load_lost(load), 1);
    assert_false(load_all_right(load));
}

// Resets connection 0, which expects `expected` next, three ways; only the exact one counts.
static void reset_three_ways(uint32_t expected)
{
    const uint64_t failed = load_counters(load)->failed;
    say(0, SEG_RST, expected - 1, 0, NULL, 0);
    assert_nothing_sent();
    say(0, SEG_RST, expected + 1, 0, NULL, 0);
    assert_int_equal(next_sent()->seg.flags, SEG_ACK);  // RFC 5961 3.2: a challenge
    assert_int_equal(load_counters(load)->failed, failed);
    say(0, SEG_RST, expected, 0, NULL, 0);
    assert_int_equal(load_counters(load)->failed, failed + 1);
    say(0, SEG_RST, expected, 0, NULL, 0);
    assert_int_equal(load_counters(load)->failed, failed + 1);
    assert_nothing_sent();
}

static void a_reset_fails_an_idle_connection(void **state)
{
    (void)state;
    struct load_params p = params(2);
    p.window = 1;
    begin(&p);
    turn();
    shake_hands(0);
    assert_int_equal(next_sent()->conn, 1);  // its SYN, unanswered: nobody is asked yet
    reset_three_ways(ISN + 1);
    assert_int_equal(load_lost(load), 2);
}

static void a_reset_fails_a_connection_that_was_asked(void **state)
{
    (void)state;
    ask_once();
    reset_three_ways(ISN + 1);
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(load_counters(load)->asked, 1);
    assert_int_equal(load_lost(load), 1);
    assert_false(load_all_right(load));
}

static void a_reset_fails_a_connection_that_closes(void **state)
{
    (void)state;
    ask_and_close();
    end.seen = end.n_sent;
    reset_three_ways(ISN + 1 + PAYLOAD);
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(load_lost(load), 0);
    assert_false(load_all_right(load));
}

static void a_reset_before_and_after_a_connection_is_nothing(void **state)
{
    (void)state;
    struct load_params p = params(2);
    p.window = 1;
    p.close = true;
    begin(&p);
    turn();
    say(1, SEG_RST | SEG_ACK, 0, 0, NULL, 0);  // not begun yet
    assert_int_equal(load_counters(load)->failed, 0);
    load_free(load);
    const struct sent request = ask_and_close();
    say(0, SEG_ACK | SEG_FIN, ISN + 1 + PAYLOAD, request.seg.seq + PAYLOAD + 1, NULL, 0);
    say(0, SEG_RST, ISN + 2 + PAYLOAD, 0, NULL, 0);
    assert_int_equal(load_counters(load)->failed, 0);
    assert_true(load_all_right(load));
}

static void an_answer_twice_is_one_answer_and_acknowledged_twice(void **state)
{
    (void)state;
    struct load_params p = params(1);
    p.rounds = 2;
    const struct sent request = open_and_ask(&p);
    deliver(frame_of(0, SEG_ACK, ISN + 1, request.seg.seq + PAYLOAD, request.data, PAYLOAD));
    answer(&request);
    assert_int_equal(load_counters(load)->answered, 1);
    assert_int_equal(load_counters(load)->duplicates, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(next_sent()->seg.ack, ISN + 1 + PAYLOAD);
    turn();
    const struct sent second = *next_sent();
    assert_memory_not_equal(second.data, request.data, PAYLOAD);
    say(0, SEG_ACK, ISN + 1, request.seg.seq + PAYLOAD, request.data, PAYLOAD);  // asked again
    assert_int_equal(load_counters(load)->answered, 1);
    answer(&second);
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(load_counters(load)->answered, 2);
    assert_true(load_all_right(load));
}

static void halves_of_an_answer_in_the_wrong_order_wait_for_the_first(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say_second_half(&request);
    assert_int_equal(next_sent()->seg.ack, ISN + 1);  // a duplicate ACK
    say_first_half(&request);
    assert_int_equal(load_counters(load)->answered, 0);
    say_second_half(&request);
    assert_int_equal(load_counters(load)->answered, 1);
    assert_true(load_all_right(load));
}

// The server may have cut its segments after losses (RFC 8899) and wait with one at a time.
static void a_half_of_an_answer_is_acknowledged_behind_the_request(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    const uint32_t ack = request.seg.seq + PAYLOAD;
    say_first_half(&request);
    struct sent half = *next_sent();
    assert_int_equal(half.seg.seq, ack);
    assert_int_equal(half.seg.ack, ISN + 1 + 32);
    assert_int_equal(half.seg.data_len, 0);
    say(0, SEG_ACK, ISN + 1, ack, request.data, 16);  // the acknowledgment was lost
    half = *next_sent();
    assert_int_equal(half.seg.seq, ack);
    assert_int_equal(half.seg.ack, ISN + 1 + 32);
    say_second_half(&request);
    assert_true(load_all_right(load));
}

static void an_answer_sent_again_whole_after_its_half_counts_once(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say_first_half(&request);
    assert_int_equal(next_sent()->seg.ack, ISN + 1 + 32);
    answer(&request);
    assert_int_equal(load_counters(load)->answered, 1);
    assert_int_equal(next_sent()->seg.ack, ISN + 1 + PAYLOAD);
    assert_true(load_all_right(load));
}

static void a_request_sent_again_keeps_the_half_that_came(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say_first_half(&request);
    next_sent();
    pass_ms(250);
    const struct sent *again = next_sent();
    assert_int_equal(again->seg.seq, request.seg.seq);
    assert_int_equal(again->seg.ack, ISN + 1 + 32);
    assert_memory_equal(again->data, request.data, PAYLOAD);
    say_second_half(&request);
    assert_true(load_all_right(load));
    assert_int_equal(load_counters(load)->retransmitted, 1);
}

static void one_wrong_bit_anywhere_is_a_wrong_answer(void **state)
{
    (void)state;
    for (uint32_t bit = 0; bit < PAYLOAD * 8; bit += 73) {
        struct sent request = ask_once();
        request.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        answer(&request);
        assert_int_equal(turn(), LOAD_END);
        assert_int_equal(load_counters(load)->wrong, 1);
        assert_int_equal(load_counters(load)->answered, 1);
        assert_int_equal(load_lost(load), 0);
        assert_false(load_all_right(load));
        load_free(load);
        load = NULL;
    }
}

static void an_answer_wrong_in_both_halves_is_one_wrong_answer(void **state)
{
    (void)state;
    struct sent request = ask_once();
    request.data[0] ^= 1;
    request.data[40] ^= 1;
    say_first_half(&request);
    say_second_half(&request);
    assert_int_equal(load_counters(load)->wrong, 1);
}

static void an_answer_that_acknowledges_something_else_is_wrong(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say(0, SEG_ACK, ISN + 1, request.seg.seq + PAYLOAD - 1, request.data, PAYLOAD);
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_false(load_all_right(load));
}

static void a_longer_answer_is_wrong_and_ends_the_connection(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    uint8_t longer[PAYLOAD + 1] = {0};
    memcpy(longer, request.data, PAYLOAD);
    say(0, SEG_ACK, ISN + 1, request.seg.seq + PAYLOAD, longer, sizeof(longer));
    const struct sent *rst = next_sent();
    assert_int_equal(rst->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(rst->seg.seq, request.seg.seq + PAYLOAD);  // where the server expects it
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(load_lost(load), 1);
}

static void data_before_the_question_ends_the_connection(void **state)
{
    (void)state;
    struct load_params p = params(2);
    p.window = 1;
    begin(&p);
    turn();
    shake_hands(0);
    next_sent();
    const uint32_t seq = end.sent[0].seg.seq + 1;
    say(0, SEG_ACK, ISN + 1, seq, (const uint8_t *)"early", 5);
    assert_int_equal(next_sent()->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
    say(0, SEG_ACK, ISN + 1, seq, (const uint8_t *)"early", 5);  // the RST was lost
    assert_int_equal(next_sent()->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(load_counters(load)->failed, 1);
}

static void a_server_that_closes_first_loses_the_answer(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    say(0, SEG_ACK | SEG_FIN, ISN + 2, request.seg.seq, NULL, 0);  // not in order: not yet
    assert_int_equal(load_counters(load)->failed, 0);
    say(0, SEG_ACK | SEG_FIN, ISN + 1, request.seg.seq, NULL, 0);
    assert_int_equal(next_sent()->seg.flags, SEG_RST | SEG_ACK);
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(load_lost(load), 1);
}

static void a_fin_that_does_not_acknowledge_ours_is_not_the_end(void **state)
{
    (void)state;
    const struct sent request = ask_and_close();
    const uint32_t fin = request.seg.seq + PAYLOAD;
    say(0, SEG_ACK | SEG_FIN, ISN + 1 + PAYLOAD, fin, NULL, 0);
    assert_int_equal(load_counters(load)->closed, 0);
    say(0, SEG_ACK | SEG_FIN, ISN + 1 + PAYLOAD, fin + 1, NULL, 0);
    assert_int_equal(load_counters(load)->closed, 1);
    end.seen = end.n_sent;
    say(0, SEG_ACK | SEG_FIN, ISN + 1 + PAYLOAD, fin + 1, NULL, 0);  // our ACK was lost
    assert_int_equal(next_sent()->seg.ack, ISN + 2 + PAYLOAD);
    assert_true(load_all_right(load));
}

static void a_request_without_answer_is_sent_twelve_times_ever_more_slowly_then_lost(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    uint64_t last_us = request.at_us;
    for (unsigned n = 1; n < LOAD_TRIES_MAX; n++) {
        const uint32_t want_ms = MIN((uint32_t)LOAD_RTO_MIN_MS << MIN(n - 1, 4u), 4000u);
        pass_ms(want_ms + 3);
        const struct sent *again = next_sent();
        assert_memory_equal(again->data, request.data, PAYLOAD);
        assert_in_range(again->at_us - last_us, (want_ms - 1) * 1000, (want_ms + 2) * 1000);
        last_us = again->at_us;
    }
    pass_ms(4000);
    assert_nothing_sent();
    assert_int_equal(turn(), LOAD_END);
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->retransmitted, LOAD_TRIES_MAX - 1);
    assert_int_equal(c->failed, 1);
    assert_int_equal(c->asked, 1);
    assert_int_equal(load_lost(load), 1);
    assert_false(load_all_right(load));
}

static void a_syn_without_answer_is_sent_again_after_a_second(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    pass_ms(995);
    assert_nothing_sent();
    pass_ms(10);
    const struct sent again = *next_sent();
    assert_int_equal(again.seg.seq, syn.seg.seq);
    assert_int_equal(again.seg.flags, SEG_SYN);
    say(0, SEG_SYN | SEG_ACK, ISN, syn.seg.seq + 1, NULL, 0);
    next_sent();
    turn();
    next_sent();  // the request; Karn: that answer measured nothing, the timeout is still a second
    pass_ms(995);
    assert_nothing_sent();
    pass_ms(10);
    next_sent();
}

static void a_slow_server_stretches_the_timeout(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    pass_ms(300);
    say(0, SEG_SYN | SEG_ACK, ISN, syn.seg.seq + 1, NULL, 0);
    next_sent();
    turn();
    next_sent();
    pass_ms(880);  // RFC 6298 2.2: R + 4 * R / 2 = 900 ms
    assert_nothing_sent();
    pass_ms(40);
    next_sent();
}

static void a_client_that_stood_still_sends_nothing_again(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    end.now_us += 10 * 1000 * 1000;
    turn();
    turn();
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->client_stalls, 1);
    assert_in_range(load_counters(load)->client_stalled_us, 10000000, 10001000);
    answer(&request);
    assert_true(load_all_right(load));
    assert_true(load_histogram_ns(load_latency(load), 1) < 1000000);
}

static void what_the_wire_does_not_take_waits_and_goes_first(void **state)
{
    (void)state;
    struct load_params p = params(1000);
    p.window = 1000;
    begin(&p);
    end.full = true;
    pass_ms(100);
    assert_nothing_sent();
    assert_true(load_counters(load)->client_tx_full > 0);
    end.full = false;
    pass_ms(50);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(next_sent()->conn, i);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->client_tx_lost, 0);
    assert_int_equal(load_counters(load)->retransmitted, 0);
}

static void a_wire_that_is_full_for_long_loses_segments_counted(void **state)
{
    (void)state;
    struct load_params p = params(1000);
    p.window = 1000;
    begin(&p);
    end.full = true;
    pass_ms(3500);  // the SYNs twice again, of which the first 256 fit
    const uint64_t lost = load_counters(load)->client_tx_lost;
    assert_true(lost > 0);
    assert_int_equal(load_counters(load)->retransmitted, lost);
    teardown(state);  // what waits goes back to the pool
}

static void a_segment_that_has_no_packet_is_sent_later(void **state)
{
    (void)state;
    static struct pkt *all[POOL];
    const struct load_params p = params(1);
    begin(&p);
    assert_true(pkt_alloc_bulk(pool, all, POOL));
    turn();
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->client_pool_empty, 1);
    pkt_free_bulk(all, POOL);
    pass_ms(1010);
    shake_hands(0);
    turn();
    const struct sent request = *next_sent();
    answer(&request);
    assert_true(load_all_right(load));
}

static void a_segment_that_comes_again_makes_its_timestamp_the_one_to_echo(void **state)
{
    (void)state;
    struct load_params p = params(1);
    p.rounds = 2;
    const struct sent request = open_and_ask(&p);
    answer(&request);
    next_sent();
    turn();
    next_sent();
    pass_ms(50);
    answer(&request);  // the ACK was lost, RFC 7323 4.3
    assert_in_range(next_sent()->seg.ts_ecr, end.now_us / 1000 - 1, end.now_us / 1000);
    const uint32_t echoed = end.sent[end.seen - 1].seg.ts_ecr;
    pass_ms(50);
    say(0, SEG_ACK, ISN + 5 + PAYLOAD, 0, (const uint8_t *)"future", 6);
    assert_int_equal(next_sent()->seg.ts_ecr, echoed);  // not of what is not acknowledged
}

static void damaged_frames_and_those_of_others_are_counted_apart(void **state)
{
    (void)state;
    const struct sent request = ask_once();
    const uint32_t ack = request.seg.seq + PAYLOAD;
    uint32_t bad = 0;
    for (uint32_t bit = 14 * 8; bit < (66 + PAYLOAD) * 8; bit++, bad++)  // all of the IP packet
        deliver_changed(&request, bit / 8, (uint8_t)(1u << bit % 8));
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->damaged, bad);
    assert_int_equal(c->strangers + c->answered + c->wrong + c->duplicates, 0);
    say(1, SEG_ACK, ISN + 1, ack, request.data, PAYLOAD);           // one too many
    say(LOAD_PORTS, SEG_ACK, ISN + 1, ack, request.data, PAYLOAD);  // another address
    assert_int_equal(c->strangers, 2);
    deliver_changed(&request, 13, 0x06);  // the type is ARP's
    assert_int_equal(c->strangers, 2);
    assert_int_equal(c->damaged, bad + 1);
    deliver_cut(&request, 10);
    assert_int_equal(c->strangers, 3);
    answer(&request);
    assert_int_equal(c->answered, 1);
    assert_false(load_all_right(load));
}

enum { LINK_V4 = 0x0a000009, HOP_V4 = 0x0a0000fe };

static void arp(uint16_t op, const struct mac_addr *from, uint32_t from_v4, uint32_t to_v4)
{
    struct pkt *p;
    assert_true(pkt_alloc_bulk(pool, &p, 1));
    wire_build_arp(pkt_data(p), op, &client_mac, from, raw32(from_v4), &client_mac, raw32(to_v4));
    pkt_set_len(p, ARP_FRAME_BYTES);
    deliver(p);
    turn();
}

static void nothing_is_opened_before_the_next_hop_has_answered(void **state)
{
    (void)state;
    static const struct mac_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    struct load_params p = params(1);
    p.hop_mac = (struct mac_addr){{0}};
    p.hop = ip_from_v4(HOP_V4);
    p.link = ip_from_v4(LINK_V4);
    begin(&p);
    turn();
    assert_false(load_ready(load));
    assert_int_equal(end.n_arp, 1);
    assert_memory_equal(&end.arp_to[0], &all, sizeof(all));
    assert_int_equal(end.arp[0].op, ARP_OP_REQUEST);
    assert_int_equal(end.arp[0].sender_raw, raw32(LINK_V4));
    assert_int_equal(end.arp[0].target_raw, raw32(HOP_V4));
    pass_ms(LOAD_HOP_US / 1000 + 1);  // asked once more
    assert_int_equal(end.n_arp, 2);
    arp(ARP_OP_REPLY, &client_mac, HOP_V4 + 1, LINK_V4);  // somebody else
    assert_false(load_ready(load));
    assert_nothing_sent();
    arp(ARP_OP_REPLY, &server_mac, HOP_V4, LINK_V4);
    assert_true(load_ready(load));
    shake_hands(0);  // to its MAC: keep() looks
    pass_ms(2 * LOAD_HOP_US / 1000);
    assert_int_equal(end.n_arp, 2);
}

static void a_known_next_hop_is_neither_asked_for_nor_replaced(void **state)
{
    (void)state;
    struct load_params p = params(1);
    static const struct mac_addr other = {{2, 0, 0, 0, 0, 0x66}};
    p.hop = ip_from_v4(HOP_V4);
    begin(&p);
    arp(ARP_OP_REPLY, &other, HOP_V4, LINK_V4);
    assert_int_equal(end.n_arp, 0);
    shake_hands(0);
}

static void arp_is_answered_for_each_address_of_the_clients_and_for_no_other(void **state)
{
    (void)state;
    struct load_params p = params(2 * LOAD_PORTS + 1);  // three addresses
    p.link = ip_from_v4(LINK_V4);
    p.window = 1;
    begin(&p);
    static const uint32_t ours[] = {LINK_V4, CLIENT_V4, CLIENT_V4 + 1, CLIENT_V4 + 2};
    for (uint32_t i = 0; i < ARRAY_LEN(ours); i++) {
        arp(ARP_OP_REQUEST, &server_mac, SERVER_V4, ours[i]);
        assert_int_equal(end.n_arp, i + 1);
        assert_int_equal(end.arp[i].op, ARP_OP_REPLY);
        assert_int_equal(end.arp[i].sender_raw, raw32(ours[i]));
        assert_memory_equal(&end.arp[i].sender_mac, &client_mac, sizeof(client_mac));
        assert_memory_equal(&end.arp_to[i], &server_mac, sizeof(server_mac));
    }
    static const uint32_t others[] = {CLIENT_V4 - 1, CLIENT_V4 + 3, SERVER_V4, LINK_V4 + 1, 0};
    for (uint32_t i = 0; i < ARRAY_LEN(others); i++)
        arp(ARP_OP_REQUEST, &server_mac, SERVER_V4, others[i]);
    arp(ARP_OP_REPLY, &server_mac, SERVER_V4, CLIENT_V4);
    assert_int_equal(end.n_arp, ARRAY_LEN(ours));
    assert_int_equal(load_counters(load)->strangers, 0);
}

static const struct ip_addr link_v6 = {{0xfd, 0x99, [15] = 9}},
                            hop_v6 = {{0xfe, 0x80, [15] = 0xfe}};

static void solicit(const struct ip_addr *from_addr, const struct ip_addr *target, bool probe)
{
    struct wire_from6 from;
    struct pkt *p;
    assert_true(pkt_alloc_bulk(pool, &p, 1));
    wire_from6_init(&from, &server_mac, from_addr);
    pkt_set_len(p, wire_build_solicit(pkt_data(p), &from, &server_mac, target, NULL, probe));
    deliver(p);
    turn();
}

static void advertise(const struct ip_addr *addr, const struct mac_addr *mac, uint32_t flip)
{
    struct wire_from6 from;
    struct pkt *p;
    assert_true(pkt_alloc_bulk(pool, &p, 1));
    wire_from6_init(&from, mac, addr);
    wire_build_advert(pkt_data(p), &from, mac, &link_v6, &client_mac, ND_SOLICITED);
    pkt_data(p)[TCP6_OFF + 5] ^= (uint8_t)flip;
    pkt_set_len(p, ND_FRAME_BYTES);
    deliver(p);
    turn();
}

static void over_ipv6_nothing_is_opened_before_the_next_hop_has_advertised_itself(void **state)
{
    (void)state;
    v6 = true;
    struct load_params p = params(1);
    p.hop_mac = (struct mac_addr){{0}};
    p.hop = hop_v6;
    p.link = link_v6;
    begin(&p);
    turn();
    assert_false(load_ready(load));
    const struct ip_addr group = ip6_solicited_node(&hop_v6);
    const struct mac_addr group_mac = ip6_group_mac(&group);
    assert_int_equal(end.n_nd, 1);
    assert_int_equal(end.nd[0].type, ND_SOLICIT);
    assert_true(ip_equal(&end.nd[0].target, &hop_v6));
    assert_true(ip_equal(&end.nd_ip[0].src, &link_v6));
    assert_true(ip_equal(&end.nd_ip[0].dst, &group));
    assert_memory_equal(&end.nd_to[0], &group_mac, 6);
    assert_memory_equal(&end.nd[0].lla, &client_mac, 6);
    pass_ms(LOAD_HOP_US / 1000 + 1);
    assert_int_equal(end.n_nd, 2);
    advertise(&server_v6, &client_mac, 0);  // somebody else
    assert_false(load_ready(load));
    advertise(&hop_v6, &server_mac, 1);  // damaged
    assert_false(load_ready(load));
    assert_int_equal(load_counters(load)->damaged, 1);
    advertise(&hop_v6, &server_mac, 0);
    assert_true(load_ready(load));
    shake_hands(0);
    pass_ms(2 * LOAD_HOP_US / 1000);
    assert_int_equal(end.n_nd, 2);
}

static void
solicitations_are_answered_for_each_address_of_the_clients_and_for_no_other(void **state)
{
    (void)state;
    v6 = true;
    struct load_params p = params(2 * LOAD_PORTS + 1);  // three addresses
    p.link = link_v6;
    p.window = 1;
    begin(&p);
    const struct ip_addr ours[] = {link_v6, client_addr(0), client_addr(1), client_addr(2)};
    for (uint32_t i = 0; i < ARRAY_LEN(ours); i++) {
        solicit(&server_v6, &ours[i], false);
        assert_int_equal(end.n_nd, i + 1);
        assert_int_equal(end.nd[i].type, ND_ADVERT);
        assert_int_equal(end.nd[i].flags, ND_SOLICITED | ND_OVERRIDE);
        assert_true(ip_equal(&end.nd[i].target, &ours[i]));
        assert_true(ip_equal(&end.nd_ip[i].dst, &server_v6));
        assert_memory_equal(&end.nd[i].lla, &client_mac, 6);
        assert_memory_equal(&end.nd_to[i], &server_mac, 6);
    }
    struct ip_addr near = client_addr(1);
    near.b[11] ^= 1;
    const struct ip_addr others[] = {client_addr(3), client_addr(UINT32_MAX), server_v6, near};
    for (uint32_t i = 0; i < ARRAY_LEN(others); i++)
        solicit(&server_v6, &others[i], false);
    assert_int_equal(end.n_nd, ARRAY_LEN(ours));
    solicit(&server_v6, &ours[1], true);  // of one who has no address yet: to all
    const struct ip_addr all = ip6_all_nodes();
    assert_int_equal(end.n_nd, ARRAY_LEN(ours) + 1);
    assert_true(ip_equal(&end.nd_ip[ARRAY_LEN(ours)].dst, &all));
    assert_int_equal(end.nd[ARRAY_LEN(ours)].flags, ND_OVERRIDE);
    assert_int_equal(load_counters(load)->strangers, 0);
}

static void over_ipv6_damaged_frames_and_those_of_others_are_counted_apart(void **state)
{
    (void)state;
    v6 = true;
    const struct sent request = ask_once();
    const struct load_counters *c = load_counters(load);
    const uint32_t ack = request.seg.seq + PAYLOAD;
    for (uint32_t bit = TCP6_OFF * 8; bit < (86 + PAYLOAD) * 8; bit++)
        deliver_changed(&request, bit / 8, (uint8_t)(1u << bit % 8));
    assert_int_equal(c->damaged, (32 + PAYLOAD) * 8);
    assert_int_equal(c->strangers + c->answered + c->wrong + c->duplicates, 0);
    say(LOAD_PORTS, SEG_ACK, ISN + 1, ack, request.data, PAYLOAD);  // another address
    assert_int_equal(c->strangers, 1);
    deliver_changed(&request, 13, 0xdd);  // the low byte of the type is IPv4's
    assert_int_equal(c->strangers, 2);
    deliver_cut(&request, TCP6_OFF + 10);
    assert_int_equal(c->damaged, (32 + PAYLOAD) * 8 + 1);
    answer(&request);
    assert_int_equal(c->answered, 1);
}

// RFC 9293 3.10.7.3, RFC 5961 4: the server challenges a SYN on what it takes for a connection.
static void a_connection_of_an_earlier_run_is_reset_and_opened_anew(void **state)
{
    (void)state;
    const struct load_params p = params(1);
    begin(&p);
    turn();
    const struct sent syn = *next_sent();
    say(0, SEG_ACK, 5000, 7000, NULL, 0);
    const struct sent *rst = next_sent();
    assert_true(rst->seg.flags & SEG_RST);
    assert_int_equal(rst->seg.seq, 7000);
    assert_nothing_sent();
    pass_ms(LOAD_RTO_INITIAL_MS + 1);
    const struct sent again = *next_sent();
    assert_int_equal(again.seg.flags, SEG_SYN);
    assert_int_equal(again.seg.seq, syn.seg.seq);
    say(0, SEG_SYN | SEG_ACK, ISN, syn.seg.seq + 1, NULL, 0);
    assert_int_equal(load_counters(load)->opened, 1);
    next_sent();
    turn();
    const struct sent request = *next_sent();
    answer(&request);
    assert_true(load_all_right(load));
}

static void strangers_are_no_fault_on_a_shared_link(void **state)
{
    (void)state;
    struct load_params p = params(1);
    for (int shared = 0; shared < 2; shared++) {
        p.shared = shared;
        const struct sent request = open_and_ask(&p);
        answer(&request);
        assert_true(load_all_right(load));
        say(1, SEG_ACK, ISN, 0, NULL, 0);
        assert_int_equal(load_counters(load)->strangers, 1);
        assert_int_equal(load_all_right(load), shared);
        if (!shared)
            teardown(NULL);
    }
}

static void every_answer_comes_through_a_wire_that_loses_and_doubles(void **state)
{
    (void)state;
    struct rng rng = test_rng("load");
    for (int order = LOAD_RANDOM; order <= LOAD_IN_TURN; order++) {
        struct load_params p = params(700);
        p.rounds = 4;
        p.order = (enum load_order)order;
        p.close = true;
        const struct load_counters *c = run_right(&p, &rng, 10, 10);
        assert_int_equal(c->answered, 2800);
        assert_int_equal(c->closed, 700);
        assert_true(c->retransmitted > 500);
        assert_true(c->duplicates > 100);
    }
}

static void a_clean_wire_needs_no_retransmission(void **state)
{
    (void)state;
    struct rng rng = {1};
    struct load_params p = params(LOAD_PORTS + 10);  // two addresses
    p.rounds = 2;
    p.window = 1000;
    p.timestamps = false;
    const struct load_counters *c = run_right(&p, &rng, 0, 0);
    assert_int_equal(c->retransmitted, 0);
    assert_int_equal(c->duplicates, 0);
    assert_int_equal(c->answered, 2 * (LOAD_PORTS + 10));
}

static void over_ipv6_every_answer_comes_as_well(void **state)
{
    (void)state;
    struct rng rng = test_rng("load6");
    v6 = true;
    struct load_params p = params(3 * LOAD_PORTS + 10);  // four addresses, past a carry of bytes
    p.window = 1000;
    p.close = true;
    const struct load_counters *c = run_right(&p, &rng, 0, 0);
    assert_int_equal(c->retransmitted, 0);
    assert_int_equal(c->closed, 3 * LOAD_PORTS + 10);
    p = params(500);
    p.close = true;
    c = run_right(&p, &rng, 10, 10);
    assert_true(c->retransmitted > 50);
}

static void at_most_the_window_waits_at_a_time(void **state)
{
    (void)state;
    struct load_params p = params(100);
    p.window = 3;
    begin(&p);
    for (int i = 0; i < 5; i++)
        turn();
    assert_int_equal(end.n_sent, 3);
}

static void requests_of_the_smallest_and_the_largest_size_are_answered(void **state)
{
    (void)state;
    const uint32_t sizes[] = {LOAD_PAYLOAD_MIN, 13, LOAD_PAYLOAD_MAX};
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        struct load_params p = params(3);
        struct rng rng = {1};
        p.payload = sizes[i];
        run_right(&p, &rng, 0, 0);
    }
}

static void asking_until_told_to_stop_waits_for_what_is_under_way(void **state)
{
    (void)state;
    struct load_params p = params(1);
    p.rounds = 0;
    struct sent request = open_and_ask(&p);
    for (int i = 0; i < 10; i++) {
        answer(&request);
        next_sent();
        turn();
        request = *next_sent();
    }
    load_stop_asking(load);
    assert_int_equal(turn(), LOAD_ASK);
    answer(&request);
    assert_int_equal(turn(), LOAD_END);
    next_sent();
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->asked, 11);
    assert_int_equal(load_lost(load), 0);
    assert_true(load_all_right(load));
}

static void impossible_parameters_are_refused_with_their_range(void **state)
{
    (void)state;
    struct err err;
    struct load_params p = params(0);
    assert_null(load_new(&p, &err));
    assert_string_equal(err.text, "connections 0: expected 1 to 200000000");
    p = params(1);
    p.window = LOAD_WINDOW_MAX + 1;
    assert_null(load_new(&p, &err));
    assert_string_equal(err.text, "window 262145: expected 1 to 262144");
    p = params(1);
    p.payload = 7;
    assert_null(load_new(&p, &err));
    assert_string_equal(err.text, "payload 7: expected 8 to 1400");
    p.payload = LOAD_PAYLOAD_MAX + 1;
    assert_null(load_new(&p, &err));
}

static void each_of_fifty_million_has_an_address_and_port_of_its_own(void **state)
{
    (void)state;
    const uint32_t n = 50000000;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < n; i++)  // what has an inverse is told apart
        bad += load_index(load_host(i), load_port(i), n) != i || load_port(i) < LOAD_PORT_FIRST;
    assert_int_equal(bad, 0);
    assert_int_equal(load_host(n - 1), 833);
}

static void an_address_or_port_of_nobody_has_no_index(void **state)
{
    (void)state;
    const uint32_t n = LOAD_CONNECTIONS_MAX;
    assert_int_equal(load_index(load_host(n - 1), load_port(n - 1), n), n - 1);
    assert_int_equal(load_index(load_host(n - 1), load_port(n - 1), n - 1), UINT32_MAX);
    for (uint32_t port = 0; port < LOAD_PORT_FIRST; port++)
        assert_int_equal(load_index(0, (uint16_t)port, n), UINT32_MAX);
    for (uint32_t port = LOAD_PORT_FIRST + LOAD_PORTS; port < 65536; port++)
        assert_int_equal(load_index(0, (uint16_t)port, n), UINT32_MAX);
    const uint32_t hosts[] = {3334, 71582, 71583, 1u << 31, UINT32_MAX};  // 60000 * 71583 > 2^32
    for (unsigned i = 0; i < ARRAY_LEN(hosts); i++)
        assert_int_equal(load_index(hosts[i], LOAD_PORT_FIRST, n), UINT32_MAX);
}

static void a_connection_is_thirty_two_bytes(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct load_conn), 32);
}

static void a_permutation_gives_each_number_once(void **state)
{
    (void)state;
    static uint8_t seen[70000];
    const uint32_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 1000, 65536, 65537};
    for (unsigned k = 0; k < ARRAY_LEN(sizes); k++) {
        memset(seen, 0, sizeof(seen));
        for (uint32_t i = 0; i < sizes[k]; i++) {
            const uint32_t at = load_permute(i, sizes[k], 12345 + k);
            assert_true(at < sizes[k]);
            assert_int_equal(seen[at]++, 0);
        }
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        T(a_connection_opens_asks_and_closes_as_a_tcp_does),
        T(a_syn_ack_of_something_else_is_wrong_and_opens_nothing),
        T(a_connection_of_an_earlier_run_that_has_sent_nothing_is_reset_too),
        T(a_syn_ack_again_is_acknowledged_again),
        T(a_reset_of_the_syn_fails_the_connection_if_it_acknowledges_it),
        T(a_reset_fails_an_idle_connection),
        T(a_reset_fails_a_connection_that_was_asked),
        T(a_reset_fails_a_connection_that_closes),
        T(a_reset_before_and_after_a_connection_is_nothing),
        T(an_answer_twice_is_one_answer_and_acknowledged_twice),
        T(halves_of_an_answer_in_the_wrong_order_wait_for_the_first),
        T(a_half_of_an_answer_is_acknowledged_behind_the_request),
        T(an_answer_sent_again_whole_after_its_half_counts_once),
        T(a_request_sent_again_keeps_the_half_that_came),
        T(one_wrong_bit_anywhere_is_a_wrong_answer),
        T(an_answer_wrong_in_both_halves_is_one_wrong_answer),
        T(an_answer_that_acknowledges_something_else_is_wrong),
        T(a_longer_answer_is_wrong_and_ends_the_connection),
        T(data_before_the_question_ends_the_connection),
        T(a_server_that_closes_first_loses_the_answer),
        T(a_fin_that_does_not_acknowledge_ours_is_not_the_end),
        T(a_request_without_answer_is_sent_twelve_times_ever_more_slowly_then_lost),
        T(a_syn_without_answer_is_sent_again_after_a_second),
        T(a_slow_server_stretches_the_timeout),
        T(a_client_that_stood_still_sends_nothing_again),
        T(what_the_wire_does_not_take_waits_and_goes_first),
        T(a_wire_that_is_full_for_long_loses_segments_counted),
        T(a_segment_that_has_no_packet_is_sent_later),
        T(a_segment_that_comes_again_makes_its_timestamp_the_one_to_echo),
        T(damaged_frames_and_those_of_others_are_counted_apart),
        T(nothing_is_opened_before_the_next_hop_has_answered),
        T(a_known_next_hop_is_neither_asked_for_nor_replaced),
        T(arp_is_answered_for_each_address_of_the_clients_and_for_no_other),
        T(over_ipv6_nothing_is_opened_before_the_next_hop_has_advertised_itself),
        T(solicitations_are_answered_for_each_address_of_the_clients_and_for_no_other),
        T(over_ipv6_damaged_frames_and_those_of_others_are_counted_apart),
        T(a_connection_of_an_earlier_run_is_reset_and_opened_anew),
        T(strangers_are_no_fault_on_a_shared_link),
        T(every_answer_comes_through_a_wire_that_loses_and_doubles),
        T(a_clean_wire_needs_no_retransmission),
        T(over_ipv6_every_answer_comes_as_well),
        T(at_most_the_window_waits_at_a_time),
        T(requests_of_the_smallest_and_the_largest_size_are_answered),
        T(asking_until_told_to_stop_waits_for_what_is_under_way),
        T(impossible_parameters_are_refused_with_their_range),
        T(each_of_fifty_million_has_an_address_and_port_of_its_own),
        T(an_address_or_port_of_nobody_has_no_index),
        T(a_connection_is_thirty_two_bytes),
        T(a_permutation_gives_each_number_once),
    };
#undef T
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
