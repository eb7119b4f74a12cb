// SPDX-License-Identifier: BSD-3-Clause
// Bulk of the load generator's client against a scripted server, in virtual time.
#include "load/load_internal.h"
#include "load/load_pattern.h"
#include "tests/unit/pkt_env.h"
#include "tests/unit/seed.h"

enum {
    POOL = 4095,
    JUMBO_POOL = 1024,
    QUEUE = 1024,
    SERVER_V4 = 0x0a000001,
    CLIENT_V4 = 0x0a400000,
    SERVER_PORT = 19,
    ISN = 0xfffff000,  // the server's: its numbers wrap soon
    MSS = 1460,
    WINDOW = 64 << 10,
};

static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}}, server_mac = {{2, 0, 0, 0, 0, 1}};
static uint8_t pattern[LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE];
static struct pkt_pool *pool, *jumbo;

// What the client sent.
struct sent {
    struct seg_in seg;
    struct seq_range sack[SEG_SACK_MAX];
    bool right;  // its data are those of their place in the pattern
};

static struct {
    struct port port;
    struct pkt *in[QUEUE];  // for the client
    uint32_t in_head, in_tail;
    struct sent sent[QUEUE];
    uint32_t n_sent, seen;
    uint64_t now_us;
    uint32_t first;  // of the client's data
    bool timestamps;
} end;
static struct load *load;

static struct pkt_pool *packets(void)
{
    return end.port.mtu > PORT_MTU_SMALL ? jumbo : pool;
}

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    uint16_t got = 0;
    while (got < n && end.in_head != end.in_tail)
        pkts[got++] = end.in[end.in_head++ % QUEUE];
    return got;
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    for (uint16_t i = 0; i < n; i++) {
        struct sent *s = &end.sent[end.n_sent++ % QUEUE];
        const uint8_t *frame = pkt_data(pkts[i]);
        struct wire_ip4 ip;
        assert_int_equal(wire_parse_ip4(frame, pkt_len(pkts[i]), true, &ip), DROP_NONE);
        assert_int_equal(wire_parse_tcp(frame, &ip, true, &s->seg), DROP_NONE);
        if (s->seg.opts & SEG_OPT_SACK)
            wire_read_sack(frame, &s->seg, s->sack);
        if (s->seg.flags & SEG_SYN)
            end.first = s->seg.seq + 1;
        const uint32_t at = (s->seg.seq - end.first) % LOAD_PATTERN_BYTES;
        s->right = memcmp(frame + s->seg.data_off, pattern + at, s->seg.data_len) == 0;
    }
    pkt_free_bulk(pkts, n);
    return n;
}

static const struct port_ops ops = {.driver = "test", .rx_burst = rx_burst, .tx_burst = tx_burst};

static void turn(void)
{
    end.now_us += 100;
    load_turn(load, end.now_us * 1000);
}

static void pass_ms(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        end.now_us += 900;
        turn();
    }
}

static const struct sent *next_sent(void)
{
    assert_int_not_equal(end.seen, end.n_sent);
    return &end.sent[end.seen++ % QUEUE];
}

static void assert_nothing_sent(void)
{
    assert_int_equal(end.seen, end.n_sent);
}

static void deliver(uint8_t flags, uint32_t seq, uint32_t ack, uint16_t wnd, const uint8_t *data,
                    uint32_t len)
{
    struct wire_from from;
    const bool syn = flags & SEG_SYN;
    const struct seg_out s = {
        .key = {ip_from_v4(CLIENT_V4), 0, 0, load_port(0), SERVER_PORT},
        .seq = seq,
        .ack = ack,
        .data = {data},
        .data_len = {(uint16_t)len},
        .wnd = wnd,
        .mss = (uint16_t)(end.port.mtu - 40),
        .wscale = 2,
        .flags = flags,
        .opts = syn ? SEG_OPT_MSS | SEG_OPT_WSCALE | SEG_OPT_SACK_PERM : 0,
    };
    struct pkt *p;
    assert_true(pkt_alloc_bulk(packets(), &p, 1));
    wire_from_init(&from, &server_mac, SERVER_V4);
    pkt_set_len(p, wire_build_tcp4(pkt_data(p), &from, wire_mac_word(&client_mac), &s,
                                   wire_tcp_head_bytes(&s), wire_options_of(&s), false));
    end.in[end.in_tail++ % QUEUE] = p;
}

// n bytes of the server's pattern from `at` on.
static void send_down(uint32_t at, uint32_t n)
{
    deliver(SEG_ACK, ISN + 1 + at, end.first, 65535, pattern + at % LOAD_PATTERN_BYTES, n);
}

// The client's data up to `at` are there; `wnd` in units of four bytes.
static void ack_up(uint32_t at, uint16_t wnd)
{
    deliver(SEG_ACK, ISN + 1, end.first + at, wnd, NULL, 0);
}

// One connection, open, over a port of this MTU.
static void begin_with(enum load_direction way, uint16_t mtu)
{
    struct err err = {.text = ""};
    memset(&end, 0, sizeof(end));
    end.port.mtu = mtu;
    const struct load_params p = {
        .port = &end.port,
        .pool = packets(),
        .hop_mac = server_mac,
        .server = ip_from_v4(SERVER_V4),
        .first = ip_from_v4(CLIENT_V4),
        .server_port = SERVER_PORT,
        .connections = 1,
        .window = 16,
        .payload = 64,
        .stream = way,
        .stream_window = WINDOW,
        .close = true,
    };
    end.port = (struct port){.ops = &ops, .name = "test", .mac = client_mac, .mtu = mtu};
    load = load_new(&p, &err);
    assert_non_null(load);
    turn();
    const struct sent *syn = next_sent();
    assert_int_equal(syn->seg.flags, SEG_SYN);
    assert_int_equal(syn->seg.opts, SEG_OPT_MSS | SEG_OPT_WSCALE | SEG_OPT_SACK_PERM);
    assert_int_equal(syn->seg.wscale, LOAD_WSCALE);
    assert_int_equal(syn->seg.mss, mtu - 40);
    deliver(SEG_SYN | SEG_ACK, ISN, end.first, 65535, NULL, 0);
    turn();
    const struct sent *ack = next_sent();
    assert_int_equal(ack->seg.flags, SEG_ACK);
    assert_int_equal(ack->seg.wnd, WINDOW >> LOAD_WSCALE);
    assert_int_equal(load_counters(load)->opened, 1);
}

static void begin(enum load_direction way)
{
    begin_with(way, 1500);
}

static int teardown(void **state)
{
    (void)state;
    while (end.in_head != end.in_tail)
        pkt_free(end.in[end.in_head++ % QUEUE]);
    load_free(load);
    load = NULL;
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    assert_int_equal(pkt_pool_free_count(jumbo), JUMBO_POOL);
    return 0;
}

static void assert_ack(uint32_t at)
{
    const struct sent *s = next_sent();
    assert_int_equal(s->seg.flags, SEG_ACK);
    assert_int_equal(s->seg.data_len, 0);
    assert_int_equal(s->seg.ack, ISN + 1 + at);
}

static void the_pattern_is_that_of_rfc_864(void **state)
{
    (void)state;
    assert_memory_equal(pattern,
                        " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_"
                        "`abcdefg\r\n!\"#",
                        77);
    assert_memory_equal(pattern, pattern + LOAD_PATTERN_BYTES, LOAD_PATTERN_MORE);
    assert_int_equal(load_pattern_step(LOAD_PATTERN_BYTES - 1, 1), 0);
    assert_int_equal(load_pattern_step(5, 1000 * LOAD_PATTERN_BYTES + 7), 12);
}

static void what_comes_in_a_turn_is_acknowledged_once(void **state)
{
    (void)state;
    begin(LOAD_DOWN);
    for (uint32_t k = 0; k < 5; k++)
        send_down(k * MSS, MSS);
    turn();
    assert_ack(5 * MSS);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->stream_bytes, 5 * MSS);
    assert_int_equal(load_counters(load)->stream_segs, 5);
    assert_int_equal(load_counters(load)->wrong, 0);
}

static void jumbo_frames_are_filled_both_ways(void **state)
{
    enum { JUMBO_MSS = 8960 };
    (void)state;
    begin_with(LOAD_DOWN, 9000);
    for (uint32_t k = 0; k < 5; k++)
        send_down(k * JUMBO_MSS, JUMBO_MSS);
    turn();
    assert_ack(5 * JUMBO_MSS);
    assert_int_equal(load_counters(load)->stream_bytes, 5 * JUMBO_MSS);
    assert_int_equal(load_counters(load)->wrong, 0);
    teardown(state);
    begin_with(LOAD_UP, 9000);
    turn();
    const struct sent *s = next_sent();
    assert_int_equal(s->seg.data_len, JUMBO_MSS);
    assert_true(s->right);
}

static void a_port_with_a_small_mtu_has_small_segments(void **state)
{
    (void)state;
    begin_with(LOAD_UP, 1000);
    turn();
    assert_int_equal(next_sent()->seg.data_len, 960);
}

static void a_single_segment_is_acknowledged_when_nothing_follows(void **state)
{
    (void)state;
    begin(LOAD_DOWN);
    send_down(0, MSS);
    turn();
    assert_nothing_sent();
    turn();
    assert_ack(MSS);
    send_down(MSS, MSS);
    turn();
    send_down(2 * MSS, MSS);
    turn();
    assert_ack(3 * MSS);
    assert_nothing_sent();
}

static void a_byte_that_is_wrong_anywhere_is_noticed(void **state)
{
    (void)state;
    static const uint32_t places[] = {0, 1, MSS / 2, MSS - 1};
    begin(LOAD_DOWN);
    for (uint32_t k = 0; k < ARRAY_LEN(places); k++) {
        uint8_t data[MSS];
        memcpy(data, pattern + k * MSS, MSS);
        data[places[k]] ^= 1;
        deliver(SEG_ACK, ISN + 1 + k * MSS, end.first, 65535, data, MSS);
        turn();
        assert_int_equal(load_counters(load)->wrong, k + 1);
    }
    assert_false(load_all_right(load));
}

static void pieces_behind_a_hole_are_held_reported_and_joined(void **state)
{
    (void)state;
    begin(LOAD_DOWN);
    send_down(2 * MSS, MSS);
    send_down(4 * MSS, MSS);
    turn();
    assert_ack(0);
    const struct sent *s = next_sent();
    assert_int_equal(s->seg.sack_count, 2);
    assert_int_equal(s->sack[0].start, ISN + 1 + 4 * MSS);  // the newest first
    assert_int_equal(s->sack[0].end, ISN + 1 + 5 * MSS);
    assert_int_equal(s->sack[1].start, ISN + 1 + 2 * MSS);
    send_down(3 * MSS, MSS);  // the two become one
    turn();
    s = next_sent();
    assert_int_equal(s->seg.sack_count, 1);
    assert_int_equal(s->sack[0].start, ISN + 1 + 2 * MSS);
    assert_int_equal(s->sack[0].end, ISN + 1 + 5 * MSS);
    send_down(0, MSS);
    turn();
    assert_ack(MSS);
    send_down(MSS, MSS - 600);
    turn();
    assert_ack(2 * MSS - 600);
    send_down(2 * MSS - 700, 800);  // older, missing and held bytes at once
    turn();
    assert_ack(5 * MSS);
    assert_int_equal(load_counters(load)->stream_bytes, 5 * MSS);
    assert_int_equal(load_counters(load)->stream_early, 3);
    assert_int_equal(load_counters(load)->wrong, 0);
}

static void an_early_piece_is_compared_too(void **state)
{
    (void)state;
    uint8_t data[MSS];
    begin(LOAD_DOWN);
    memcpy(data, pattern + 2 * MSS, MSS);
    data[700] ^= 4;
    deliver(SEG_ACK, ISN + 1 + 2 * MSS, end.first, 65535, data, MSS);
    turn();
    assert_int_equal(load_counters(load)->wrong, 1);
}

static void what_came_before_or_is_beyond_the_window_is_acknowledged_at_once(void **state)
{
    (void)state;
    begin(LOAD_DOWN);
    send_down(0, MSS);
    send_down(0, MSS);
    turn();
    assert_ack(MSS);
    send_down(MSS + WINDOW + 1, MSS);
    turn();
    assert_ack(MSS);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->duplicates, 2);
    assert_int_equal(load_counters(load)->stream_bytes, MSS);
}

// n segments of data from byte `at` on.
static void assert_data(uint32_t at, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const struct sent *s = next_sent();
        assert_int_equal(s->seg.seq, end.first + at + k * MSS);
        assert_int_equal(s->seg.data_len, MSS);
        assert_true(s->right);
    }
}

static void up_starts_with_ten_segments_and_each_ack_lets_out_more(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    turn();
    assert_nothing_sent();
    ack_up(2 * MSS, 65535);
    turn();
    assert_data(10 * MSS, 4);  // slow start: two left, two more
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->stream_bytes, 2 * MSS);
}

static void up_never_exceeds_the_window_of_the_peer(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    ack_up(10 * MSS, 3 * MSS / 4);
    turn();
    assert_data(10 * MSS, 3);
    turn();
    assert_nothing_sent();
}

static void a_closed_window_is_probed_and_its_opening_seen(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    ack_up(10 * MSS, 0);
    turn();
    assert_nothing_sent();
    for (int i = 0; i < 20; i++) {  // for as long as it is answered
        for (uint32_t ms = 0; end.seen == end.n_sent; ms++) {
            assert_true(ms < 4100);
            pass_ms(1);
        }
        assert_data(10 * MSS, 1);
        ack_up(10 * MSS, 0);
        turn();
    }
    assert_int_equal(load_counters(load)->failed, 0);
    ack_up(10 * MSS, 65535);
    turn();
    assert_data(10 * MSS, 1);
}

static void three_duplicates_send_the_first_hole_and_partial_acks_the_next(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    ack_up(0, 65535);  // a window update: no duplicate
    turn();
    for (int i = 0; i < 2; i++) {
        ack_up(0, 65535);
        turn();
    }
    assert_int_equal(load_counters(load)->retransmitted, 0);
    end.seen = end.n_sent;
    ack_up(0, 65535);
    turn();
    assert_data(0, 1);
    end.seen = end.n_sent;
    ack_up(4 * MSS, 65535);
    turn();
    assert_data(4 * MSS, 1);
    end.seen = end.n_sent;
    assert_int_equal(load_counters(load)->retransmitted, 2);
}

static void a_timeout_goes_back_to_the_first_hole_ever_more_slowly_then_fails(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    for (uint32_t n = 0; n < LOAD_TRIES_MAX; n++) {
        for (uint32_t ms = 0; end.seen == end.n_sent; ms++) {
            assert_true(ms < 4100);
            pass_ms(1);
        }
        assert_data(0, 1);
        assert_nothing_sent();
    }
    pass_ms(4100);
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->failed, 1);
    assert_false(load_all_right(load));
}

static void after_a_timeout_all_that_is_missing_goes_again(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    pass_ms(300);
    assert_data(0, 1);
    ack_up(MSS, 65535);
    turn();
    assert_data(MSS, 2);
    ack_up(10 * MSS, 65535);  // it had the others
    turn();
    assert_int_equal(next_sent()->seg.seq, end.first + 10 * MSS);
}

static void data_to_an_up_stream_fail_it(void **state)
{
    (void)state;
    begin(LOAD_UP);
    send_down(0, 10);
    turn();
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
}

// The server's answer to a stream `both`: n bytes of the pattern from byte `at` on, and an ACK.
static void send_back(uint32_t at, uint32_t n, uint32_t acked)
{
    deliver(SEG_ACK, ISN + 1 + at, end.first + acked, 65535, pattern + at % LOAD_PATTERN_BYTES, n);
}

static void what_comes_back_is_compared_and_acknowledged_with_the_next_data(void **state)
{
    (void)state;
    begin(LOAD_BOTH);
    turn();
    assert_data(0, 10);
    send_back(0, MSS, 2 * MSS);
    send_back(MSS, MSS, 2 * MSS);
    turn();
    assert_ack(2 * MSS);
    assert_int_equal(end.sent[end.seen - 1].seg.seq, end.first + 10 * MSS);  // SND.NXT
    assert_data(10 * MSS, 4);
    assert_int_equal(end.sent[end.seen - 1].seg.ack, ISN + 1 + 2 * MSS);
    assert_int_equal(load_counters(load)->stream_bytes, 2 * MSS);
    assert_int_equal(load_counters(load)->wrong, 0);
    uint8_t data[MSS];
    memcpy(data, pattern + 2 * MSS, MSS);
    data[MSS - 1] ^= 1;
    deliver(SEG_ACK, ISN + 1 + 2 * MSS, end.first + 2 * MSS, 65535, data, MSS);
    turn();
    assert_int_equal(load_counters(load)->wrong, 1);
}

static void more_than_was_sent_does_not_come_back(void **state)
{
    (void)state;
    begin(LOAD_BOTH);
    turn();
    assert_data(0, 10);
    for (uint32_t k = 0; k < 10; k++)
        send_back(k * MSS, MSS, 0);
    turn();
    assert_int_equal(load_counters(load)->wrong, 0);
    send_back(10 * MSS, 1, 0);
    turn();
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
}

static void a_stream_of_both_ends_when_all_has_come_back(void **state)
{
    (void)state;
    begin(LOAD_BOTH);
    turn();
    assert_data(0, 10);
    load_stop_asking(load);
    send_back(0, MSS, 10 * MSS);
    turn();
    turn();
    assert_ack(MSS);
    assert_nothing_sent();
    for (uint32_t k = 1; k < 10; k++)
        send_back(k * MSS, MSS, 10 * MSS);
    turn();
    assert_ack(10 * MSS);
    turn();
    const struct sent *fin = next_sent();
    assert_true(fin->seg.flags & SEG_FIN);
    assert_int_equal(fin->seg.seq, end.first + 10 * MSS);
    assert_int_equal(load_counters(load)->failed, 0);
}

static void a_stream_that_does_not_come_back_fails(void **state)
{
    (void)state;
    begin(LOAD_BOTH);
    turn();
    assert_data(0, 10);
    load_stop_asking(load);
    ack_up(10 * MSS, 65535);
    for (uint32_t s = 0; s < 120 && load_counters(load)->failed == 0; s++)
        pass_ms(1000);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_nothing_sent();
}

static void a_stream_that_is_reset_opens_again_and_begins_anew(void **state)
{
    (void)state;
    begin(LOAD_BOTH);
    load->p.reopen = true;
    turn();
    assert_data(0, 10);
    send_back(0, MSS, 2 * MSS);
    send_back(2 * MSS, MSS, 2 * MSS);  // behind a hole
    turn();
    end.seen = end.n_sent;
    const uint32_t before = end.first;
    deliver(SEG_RST, ISN + 1 + MSS, 0, 0, NULL, 0);
    turn();
    const struct sent *syn = next_sent();
    assert_int_equal(syn->seg.flags, SEG_SYN);
    assert_true(time_before(before + 14 * MSS, syn->seg.seq));
    deliver(SEG_SYN | SEG_ACK, ISN, end.first, 65535, NULL, 0);
    turn();
    assert_int_equal(next_sent()->seg.data_len, 0);
    turn();
    assert_data(0, 10);
    send_back(0, MSS, MSS);
    turn();
    assert_int_equal(load_counters(load)->failed, 1);
    assert_int_equal(load_counters(load)->opened, 2);
    assert_int_equal(load_counters(load)->wrong, 0);
    assert_int_equal(load_counters(load)->stream_bytes, 2 * MSS);
    load_stop_asking(load);
    end.seen = end.n_sent;
    deliver(SEG_RST, ISN + 1 + MSS, 0, 0, NULL, 0);
    turn();
    assert_nothing_sent();
    assert_int_equal(load_counters(load)->failed, 2);
}

// The entry of the SYN among the tries is still there if it is behind one that waits longer.
static void the_timeout_of_the_syn_sends_no_request_into_a_stream(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    struct load_level *v = &load->levels[0];
    v->tries[v->tail++ % v->slots] = (struct load_try){0, load->conns[0].sent_ms};
    for (uint32_t ms = 0; ms < 1100; ms++) {
        pass_ms(1);
        while (end.seen != end.n_sent) {
            const struct sent *s = next_sent();
            assert_int_equal(s->seg.data_len, MSS);
            assert_true(s->right);
        }
    }
}

static void an_up_stream_ends_when_all_is_acknowledged_with_a_fin(void **state)
{
    (void)state;
    begin(LOAD_UP);
    turn();
    assert_data(0, 10);
    load_stop_asking(load);
    ack_up(4 * MSS, 65535);
    turn();
    assert_nothing_sent();  // no new data
    ack_up(10 * MSS, 65535);
    turn();
    turn();
    const struct sent *fin = next_sent();
    assert_int_equal(fin->seg.flags, SEG_FIN | SEG_ACK);
    assert_int_equal(fin->seg.seq, end.first + 10 * MSS);
    deliver(SEG_FIN | SEG_ACK, ISN + 1, fin->seg.seq + 1, 65535, NULL, 0);
    turn();
    assert_int_equal(load_turn(load, end.now_us * 1000), LOAD_END);
    assert_true(load_all_right(load));
}

static void a_down_stream_takes_what_comes_until_the_servers_fin(void **state)
{
    (void)state;
    begin(LOAD_DOWN);
    send_down(0, MSS);
    turn();
    load_stop_asking(load);
    turn();
    turn();
    assert_ack(MSS);
    const struct sent *fin = next_sent();
    assert_int_equal(fin->seg.flags, SEG_FIN | SEG_ACK);
    send_down(MSS, MSS);
    send_down(2 * MSS, MSS);
    turn();
    assert_int_equal(next_sent()->seg.seq, fin->seg.seq + 1);  // behind our FIN
    deliver(SEG_FIN | SEG_ACK, ISN + 1 + 3 * MSS, fin->seg.seq + 1, 65535, NULL, 0);
    turn();
    assert_int_equal(load_turn(load, end.now_us * 1000), LOAD_END);
    assert_int_equal(load_counters(load)->stream_bytes, 3 * MSS);
    assert_true(load_all_right(load));
}

// A receiver that keeps nothing behind a hole, over a wire that loses.
static void everything_goes_up_through_a_wire_that_loses(void **state)
{
    (void)state;
    struct rng rng = test_rng("load_stream");
    uint32_t got = 0;
    begin(LOAD_UP);
    for (uint32_t n = 0; n < 400000 && got < 300 * MSS; n++) {
        turn();
        while (end.seen != end.n_sent) {
            const struct sent *s = next_sent();
            assert_true(s->right);
            if (rng_below(&rng, 100) < 5)
                continue;
            if (s->seg.seq == end.first + got)
                got += s->seg.data_len;
            if (rng_below(&rng, 100) >= 5)
                ack_up(got, 65535);
        }
    }
    assert_true(got >= 300 * MSS);
    assert_in_range(load_counters(load)->stream_bytes, got - 64 * MSS, got);
    assert_true(load_counters(load)->retransmitted > 10);
}

// A sender that sends the window, at random, again and again.
static void everything_comes_down_in_any_order(void **state)
{
    (void)state;
    enum { PIECE = 100, PIECES = 400, ALL = PIECE * PIECES };
    struct rng rng = test_rng("load_stream");
    begin(LOAD_DOWN);
    for (uint32_t n = 0; n < 200000 && load_counters(load)->stream_bytes < ALL; n++) {
        const uint32_t base = (uint32_t)load_counters(load)->stream_bytes / PIECE;
        const uint32_t at = (base + rng_below(&rng, 40)) * PIECE;
        const uint32_t off = rng_below(&rng, PIECE);
        send_down(at + off, 1 + rng_below(&rng, 3 * PIECE));
        turn();
    }
    const struct load_counters *c = load_counters(load);
    assert_true(c->stream_bytes >= ALL);
    assert_int_equal(c->wrong, 0);
    while (end.seen != end.n_sent) {
        const struct sent *s = next_sent();
        for (unsigned k = 0; k < s->seg.sack_count && s->seg.opts & SEG_OPT_SACK; k++) {
            assert_true(time_before(s->sack[k].start, s->sack[k].end));
            assert_true(time_before(s->seg.ack, s->sack[k].start));
        }
    }
}

static int group_setup(void **state)
{
    (void)state;
    pkt_env_start(0);
    pool = pkt_pool_create("load_stream", POOL, -1);
    jumbo = pkt_pool_create_jumbo("load_jumbo", JUMBO_POOL, -1);
    assert_non_null(pool);
    assert_non_null(jumbo);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    pkt_pool_destroy(pool);
    pkt_pool_destroy(jumbo);
    eal_stop();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pattern_is_that_of_rfc_864),
        cmocka_unit_test_teardown(what_comes_in_a_turn_is_acknowledged_once, teardown),
        cmocka_unit_test_teardown(jumbo_frames_are_filled_both_ways, teardown),
        cmocka_unit_test_teardown(a_port_with_a_small_mtu_has_small_segments, teardown),
        cmocka_unit_test_teardown(a_single_segment_is_acknowledged_when_nothing_follows, teardown),
        cmocka_unit_test_teardown(a_byte_that_is_wrong_anywhere_is_noticed, teardown),
        cmocka_unit_test_teardown(pieces_behind_a_hole_are_held_reported_and_joined, teardown),
        cmocka_unit_test_teardown(an_early_piece_is_compared_too, teardown),
        cmocka_unit_test_teardown(what_came_before_or_is_beyond_the_window_is_acknowledged_at_once,
                                  teardown),
        cmocka_unit_test_teardown(up_starts_with_ten_segments_and_each_ack_lets_out_more, teardown),
        cmocka_unit_test_teardown(up_never_exceeds_the_window_of_the_peer, teardown),
        cmocka_unit_test_teardown(a_closed_window_is_probed_and_its_opening_seen, teardown),
        cmocka_unit_test_teardown(three_duplicates_send_the_first_hole_and_partial_acks_the_next,
                                  teardown),
        cmocka_unit_test_teardown(a_timeout_goes_back_to_the_first_hole_ever_more_slowly_then_fails,
                                  teardown),
        cmocka_unit_test_teardown(after_a_timeout_all_that_is_missing_goes_again, teardown),
        cmocka_unit_test_teardown(data_to_an_up_stream_fail_it, teardown),
        cmocka_unit_test_teardown(what_comes_back_is_compared_and_acknowledged_with_the_next_data,
                                  teardown),
        cmocka_unit_test_teardown(more_than_was_sent_does_not_come_back, teardown),
        cmocka_unit_test_teardown(a_stream_of_both_ends_when_all_has_come_back, teardown),
        cmocka_unit_test_teardown(a_stream_that_does_not_come_back_fails, teardown),
        cmocka_unit_test_teardown(a_stream_that_is_reset_opens_again_and_begins_anew, teardown),
        cmocka_unit_test_teardown(the_timeout_of_the_syn_sends_no_request_into_a_stream, teardown),
        cmocka_unit_test_teardown(an_up_stream_ends_when_all_is_acknowledged_with_a_fin, teardown),
        cmocka_unit_test_teardown(a_down_stream_takes_what_comes_until_the_servers_fin, teardown),
        cmocka_unit_test_teardown(everything_goes_up_through_a_wire_that_loses, teardown),
        cmocka_unit_test_teardown(everything_comes_down_in_any_order, teardown),
    };
    load_pattern_fill(pattern);
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
