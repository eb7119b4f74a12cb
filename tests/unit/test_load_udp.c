// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of the load generator against a scripted echo, in virtual time.
#include "load/load_internal.h"
#include "load/load_udp.h"
#include "tests/unit/pkt_env.h"
#include "wire/datagram.h"

enum {
    POOL = 4095,
    QUEUE = 4096,
    SERVER_V4 = 0x0a000001,
    CLIENT_V4 = 0x0a400000,
    SERVER_PORT = 7,
    PAYLOAD = 18,
};

static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}}, server_mac = {{2, 0, 0, 0, 0, 1}};
static const struct ip_addr server_v6 = {{0xfd, 0x99, [15] = 1}};
static const struct ip_addr client_v6 = {{0xfd, 0x99, [7] = 1, [15] = 0x10}};
static struct pkt_pool *pool;
static bool v6;

// What the client sent.
struct sent {
    uint32_t host, len;
    uint16_t port;
    uint8_t data[LOAD_PAYLOAD_MAX];
};

static struct {
    struct port port;
    struct pkt *in[QUEUE];
    uint32_t in_head, in_tail;
    struct sent sent[QUEUE];
    uint32_t n_sent, seen;
    uint64_t now_us;
} end;
static struct load *load;

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    uint16_t got = 0;
    while (got < n && end.in_head != end.in_tail)
        pkts[got++] = end.in[end.in_head++ % QUEUE];
    return got;
}

static void keep(const struct pkt *p)
{
    struct sent *s = &end.sent[end.n_sent++ % QUEUE];
    const uint8_t *frame = pkt_data(p);
    struct wire_ip4 ip4;
    struct wire_ip6 ip6;
    struct wire_udp u;
    if (v6) {
        assert_int_equal(wire_parse_ip6(frame, pkt_len(p), &ip6), DROP_NONE);
        assert_int_equal(wire_parse_udp6(frame, &ip6, true, &u), DROP_NONE);
        assert_true(ip_equal(&ip6.dst, &server_v6));
        s->host = ip_to_v4(&ip6.src) - ip_to_v4(&client_v6);
    } else {
        assert_int_equal(wire_parse_ip4(frame, pkt_len(p), true, &ip4), DROP_NONE);
        assert_int_equal(wire_parse_udp(frame, &ip4, true, &u), DROP_NONE);
        assert_int_equal(ip4.dst_raw, raw32(SERVER_V4));
        s->host = raw32(ip4.src_raw) - CLIENT_V4;
    }
    assert_int_equal(u.dst_port, SERVER_PORT);
    s->port = u.src_port;
    s->len = u.data_len;
    memcpy(s->data, frame + u.data_off, u.data_len);
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    for (uint16_t i = 0; i < n; i++)
        keep(pkts[i]);
    pkt_free_bulk(pkts, n);
    return n;
}

static const struct port_ops ops = {.driver = "test", .rx_burst = rx_burst, .tx_burst = tx_burst};

static struct load_params params(uint32_t connections)
{
    return (struct load_params){.port = &end.port,
                                .pool = pool,
                                .hop_mac = server_mac,
                                .server = v6 ? server_v6 : ip_from_v4(SERVER_V4),
                                .first = v6 ? client_v6 : ip_from_v4(CLIENT_V4),
                                .server_port = SERVER_PORT,
                                .connections = connections,
                                .window = 4,
                                .payload = PAYLOAD,
                                .udp = true};
}

static enum load_phase turn(void)
{
    end.now_us += 100;
    return load_turn(load, end.now_us * 1000);
}

static void pass_ms(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        end.now_us += 900;
        turn();
    }
}

// The first window has left.
static void begin(const struct load_params *p)
{
    struct err err = {.text = ""};
    memset(&end, 0, sizeof(end));
    end.port = (struct port){.ops = &ops, .name = "test", .mac = client_mac, .mtu = 1500};
    load = load_new(p, &err);
    assert_non_null(load);
    assert_int_equal(turn(), LOAD_ASK);
    turn();
}

static int teardown(void **state)
{
    (void)state;
    while (end.in_head != end.in_tail)
        pkt_free(end.in[end.in_head++ % QUEUE]);
    load_free(load);
    load = NULL;
    v6 = false;
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    return 0;
}

static struct sent next_sent(void)
{
    assert_int_not_equal(end.seen, end.n_sent);
    return end.sent[end.seen++ % QUEUE];
}

// s back to whom it came from, from the server's port `port`.
static void send_back_from(const struct sent *s, uint16_t port)
{
    struct pkt *p;
    const struct wire_datagram d = {.src_port = port,
                                    .dst_port = s->port,
                                    .ttl = 64,
                                    .df = true,
                                    .data = s->data,
                                    .len = s->len};
    assert_true(pkt_alloc_bulk(pool, &p, 1));
    if (v6) {
        struct wire_from6 from;
        struct ip_addr to = client_v6;
        to.b[15] = (uint8_t)(to.b[15] + s->host);
        wire_from6_init(&from, &server_mac, &server_v6);
        pkt_set_len(p, wire_build_datagram6(pkt_data(p), &from, wire_mac_word(&client_mac), &to, &d,
                                            false));
    } else {
        struct wire_from from;
        wire_from_init(&from, &server_mac, SERVER_V4);
        pkt_set_len(p, wire_build_datagram4(pkt_data(p), &from, wire_mac_word(&client_mac),
                                            raw32(CLIENT_V4 + s->host), &d, false));
    }
    end.in[end.in_tail++ % QUEUE] = p;
}

static void send_back(const struct sent *s)
{
    send_back_from(s, SERVER_PORT);
}

static void a_window_of_datagrams_waits_and_each_answer_lets_out_one(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        v6 = family;
        const struct load_params p = params(3);
        begin(&p);
        assert_int_equal(end.n_sent, 4);
        for (uint32_t k = 0; k < 4; k++) {
            assert_int_equal(end.sent[k].len, PAYLOAD);
            assert_int_equal(end.sent[k].port, load_port(k % 3));
        }
        turn();
        assert_int_equal(end.n_sent, 4);
        assert_memory_not_equal(end.sent[0].data, end.sent[3].data, PAYLOAD);
        const struct sent first = next_sent();
        send_back(&first);
        turn();
        assert_int_equal(end.n_sent, 5);
        const struct load_counters *c = load_counters(load);
        assert_int_equal(c->answered, 1);
        assert_int_equal(c->wrong + c->duplicates + c->damaged + c->strangers, 0);
        assert_int_equal(load_histogram_ns(load_latency(load), 1), 200000);
        teardown(NULL);
    }
}

static void any_changed_bit_is_a_wrong_answer(void **state)
{
    (void)state;
    for (uint32_t bit = 0; bit < PAYLOAD * 8; bit += 5) {
        const struct load_params p = params(8);
        begin(&p);
        struct sent s = next_sent();
        s.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        send_back(&s);
        turn();
        assert_int_equal(load_counters(load)->wrong, 1);
        teardown(NULL);
    }
}

static void a_shorter_one_and_one_for_another_port_are_wrong(void **state)
{
    (void)state;
    const struct load_params p = params(8);
    begin(&p);
    struct sent s = next_sent();
    s.len--;
    send_back(&s);
    s = next_sent();
    s.port++;  // of the next connection
    send_back(&s);
    s = next_sent();
    s.len = 7;  // without its number
    send_back(&s);
    turn();
    assert_int_equal(load_counters(load)->wrong, 3);
    assert_false(load_all_right(load));
}

static void an_answer_twice_is_a_duplicate(void **state)
{
    (void)state;
    const struct load_params p = params(8);
    begin(&p);
    const struct sent s = next_sent();
    send_back(&s);
    send_back(&s);
    turn();
    assert_int_equal(load_counters(load)->answered, 1);
    assert_int_equal(load_counters(load)->duplicates, 1);
}

static void what_does_not_come_back_in_half_a_second_is_lost_and_not_sent_again(void **state)
{
    (void)state;
    const struct load_params p = params(8);
    begin(&p);
    const struct sent s = next_sent();
    pass_ms(LOAD_UDP_LOST_MS - 2);
    assert_int_equal(load_lost(load), 4);  // none yet, but still under way
    assert_int_equal(end.n_sent, 4);
    pass_ms(4);
    assert_int_equal(load_counters(load)->datagrams_lost, 4);
    assert_int_equal(end.n_sent, 8);  // others
    assert_memory_not_equal(end.sent[4].data, s.data, 8);
    send_back(&s);
    turn();
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->late_answers, 1);
    assert_int_equal(c->datagrams_lost, 4);
    assert_int_equal(c->answered, 0);
    assert_false(load_all_right(load));
}

static void those_of_others_and_damaged_ones_are_counted_apart(void **state)
{
    (void)state;
    const struct load_params p = params(8);
    begin(&p);
    struct sent s = next_sent();
    send_back_from(&s, SERVER_PORT + 1);
    s.host = 3;
    send_back(&s);
    s.host = 0;
    send_back(&s);
    pkt_data(end.in[(end.in_tail - 1) % QUEUE])[UDP4_DATA_OFF] ^= 1;
    turn();
    assert_int_equal(load_counters(load)->strangers, 2);
    assert_int_equal(load_counters(load)->damaged, 1);
    assert_int_equal(load_counters(load)->answered, 0);
}

static void at_a_rate_they_leave_on_time_answered_or_not(void **state)
{
    (void)state;
    struct load_params p = params(8);
    p.rate = 20000;
    begin(&p);
    assert_int_equal(end.n_sent, 1);
    for (uint32_t k = 1; k <= 50; k++) {
        turn();
        assert_int_equal(end.n_sent, 1 + 2 * k);
    }
    const struct sent s = next_sent();
    send_back(&s);
    turn();
    assert_int_equal(load_histogram_ns(load_corrected(load), 1), 51 * 100000);
}

static void it_ends_when_all_under_way_is_answered(void **state)
{
    (void)state;
    const struct load_params p = params(8);
    begin(&p);
    load_stop_asking(load);
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(turn(), LOAD_ASK);
        const struct sent s = next_sent();
        send_back(&s);
    }
    assert_int_equal(turn(), LOAD_END);
    assert_int_equal(end.n_sent, 4);
    assert_int_equal(load_lost(load), 0);
    assert_true(load_all_right(load));
}

static void more_than_the_slots_are_never_under_way(void **state)
{
    (void)state;
    struct load_params p = params(8);
    p.rate = 10000000;
    begin(&p);
    for (uint32_t k = 0; k < 2000 && end.n_sent < LOAD_UDP_SLOTS; k++)
        turn();
    assert_int_equal(end.n_sent, LOAD_UDP_SLOTS);
    turn();
    assert_int_equal(end.n_sent, LOAD_UDP_SLOTS);
    const struct load_schedule *d = load_schedule_of(load);
    assert_true(d->due > d->started);
}

static int group_setup(void **state)
{
    (void)state;
    pkt_env_start(0);
    pool = pkt_pool_create("load_udp", POOL, -1);
    return pool == NULL;
}

static int group_teardown(void **state)
{
    (void)state;
    pkt_pool_destroy(pool);
    eal_stop();
    return 0;
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        T(a_window_of_datagrams_waits_and_each_answer_lets_out_one),
        T(any_changed_bit_is_a_wrong_answer),
        T(a_shorter_one_and_one_for_another_port_are_wrong),
        T(an_answer_twice_is_a_duplicate),
        T(what_does_not_come_back_in_half_a_second_is_lost_and_not_sent_again),
        T(those_of_others_and_damaged_ones_are_counted_apart),
        T(at_a_rate_they_leave_on_time_answered_or_not),
        T(it_ends_when_all_under_way_is_answered),
        T(more_than_the_slots_are_never_under_way),
    };
#undef T
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
