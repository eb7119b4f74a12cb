// SPDX-License-Identifier: BSD-3-Clause
// Two ports of one worker, one of which takes nothing, or little: what the other one's connections
// notice of it, through real turns of workers.
#include <string.h>

#include "app/apps.h"
#include "c10m/socket.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/orders.h"
#include "tcp/tcp_lane.h"

enum { SERVER, PEER, GOOD = 0, BAD = 1, FLOODS = HOSTS_PORT, ECHOES = HOSTS_PORT + 1, ASK = 64 };

static struct {
    uint64_t bytes[2];    // that the peer received, by wire
    uint64_t answers[2];  // of the echo
    unsigned opened, closed;
} seen;

static struct hosts *h;

// ---- the server's: as much as is taken

static void flood(struct c10m_conn *c)
{
    static const uint8_t bytes[4096];
    while (c10m_send(c, bytes, sizeof(bytes)) == sizeof(bytes))
        ;
}

static size_t take_all(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    return len;
}

static const struct c10m_app floods = {
    .name = "floods", .open = flood, .writable = flood, .data = take_all};

// ---- the peer's: asks the echo again at each answer, takes what the other one sends

static unsigned wire_of(const struct c10m_conn *c)
{
    struct c10m_name at;
    c10m_local(c, &at);
    return at.addr[14];
}

static bool asks(const struct c10m_conn *c)
{
    uint8_t addr[16];
    uint16_t port;
    c10m_peer(c, addr, &port);
    return port == ECHOES;
}

static void ask(struct c10m_conn *c)
{
    static const uint8_t bytes[ASK];
    assert_int_equal(c10m_send(c, bytes, ASK), ASK);
}

static void on_open(struct c10m_conn *c)
{
    seen.opened++;
    if (asks(c))
        ask(c);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)data;
    seen.bytes[wire_of(c)] += len;
    if (asks(c)) {
        seen.answers[wire_of(c)]++;
        ask(c);
    }
    return len;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    (void)why;
    seen.closed++;
}

static const struct c10m_app client = {
    .name = "client", .open = on_open, .data = on_data, .close = on_close};

static void two_wires(struct server_params *p, unsigned end)
{
    (void)end;
    p->n_ports = 2;
    p->ports[1].port.name = "wire2";
    p->buffers = 4096;
    p->services[0].tcp.snd_limit = 16384;
}

static void begin(void)
{
    static const struct c10m_app *const run[2][3] = {{&floods, &app_echo}, {&client}};
    memset(&seen, 0, sizeof(seen));
    h = hosts_new(run, two_wires);
}

static const struct core_stats *stats(void)
{
    return h->e[SERVER].w->stats;
}

static const struct tcp_lanes *lanes(void)
{
    return &h->e[SERVER].w->tcp.lanes;
}

static void finish(void)
{
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(stat_balance(h->e[i].w->stats), 0);
    hosts_free(h);
}

static void open_some(unsigned n, unsigned wire, uint16_t port)
{
    const unsigned before = seen.opened;
    for (unsigned i = 0; i < n; i++)
        hosts_connect_by(h, PEER, wire, port);
    hosts_run(h, 20);
    assert_int_equal(seen.opened, before + n);
}

// 100 floods by the bad wire, of which the server's end then takes so many packets a burst.
static void fill_bad_wire(uint16_t takes)
{
    open_some(100, BAD, FLOODS);
    h->e[SERVER].wires[BAD].takes = takes;
    hosts_run(h, 50);
    assert_true(h->e[SERVER].w->ports[BAD].tx.n > WORKER_TX_MAX / 2);
}

// What the good wire carries in 100 ms, in answers of 64 connections and bytes of 4 floods.
static void measure(uint64_t *answers, uint64_t *bytes)
{
    open_some(64, GOOD, ECHOES);
    open_some(4, GOOD, FLOODS);
    const uint64_t a = seen.answers[GOOD], b = seen.bytes[GOOD];
    hosts_run(h, 100);
    *answers = seen.answers[GOOD] - a;
    *bytes = seen.bytes[GOOD] - b;
}

static void beside_a_port_that_takes(uint16_t takes)
{
    uint64_t alone[2], beside[2];
    begin();
    measure(&alone[0], &alone[1]);
    finish();
    begin();
    fill_bad_wire(takes);
    measure(&beside[0], &beside[1]);
    printf("answers %lu beside %lu, bytes %lu beside %lu\n", beside[0], alone[0], beside[1],
           alone[1]);
    assert_true(alone[0] > 1000 && alone[1] > 1000000);
    assert_true(beside[0] * 100 >= alone[0] * 99);
    assert_true(beside[1] * 100 >= alone[1] * 99);
    assert_true(stats()->c.tx_waits != 0);
}

static void beside_a_dead_port_another_goes_on_at_its_full_rate(void **state)
{
    (void)state;
    beside_a_port_that_takes(0);
    finish();
}

static void beside_a_slow_port_another_goes_on_at_its_full_rate(void **state)
{
    (void)state;
    beside_a_port_that_takes(1);
    finish();
}

static void no_packet_is_built_without_room_and_replies_that_find_none_are_counted(void **state)
{
    (void)state;
    begin();
    open_some(8, BAD, ECHOES);
    fill_bad_wire(0);
    const struct net_tx *tx = &h->e[SERVER].w->ports[BAD].tx;
    const uint64_t segs = stats()->c.tx_tcp;
    for (unsigned i = 0; i < 500; i++) {  // the peer sends again what nobody answers
        hosts_run(h, 2);
        assert_true(tx->n <= WORKER_TX_MAX - BURST_MAX);
    }
    assert_int_equal(stats()->c.tx_tcp, segs);
    for (unsigned i = 0; i < 8; i++)  // to a port where nobody listens
        hosts_connect_by(h, PEER, BAD, 9999);
    hosts_run(h, 20);
    assert_int_equal(stats()->drops[DROP_tcp_no_owner], 8);
    assert_int_equal(stats()->c.tx_tcp, segs);
    for (unsigned i = 0; i < 8; i++)  // SYN-ACKs
        hosts_connect_by(h, PEER, BAD, FLOODS);
    hosts_run(h, 20);
    assert_true(stats()->drops[DROP_reply_room] >= 8);
    assert_int_equal(stats()->c.tx_tcp, segs);
    finish();
}

static void what_waited_leaves_when_the_port_takes_again(void **state)
{
    (void)state;
    begin();
    fill_bad_wire(0);
    const uint64_t before = seen.bytes[BAD];
    hosts_run(h, 100);
    assert_int_equal(seen.bytes[BAD], before);
    assert_true(lanes()->waiting != 0);
    assert_true(lanes()->separate);
    h->e[SERVER].wires[BAD].takes = UINT16_MAX;
    hosts_run(h, 100);
    assert_true(seen.bytes[BAD] > before + 1000000);
    assert_int_equal(lanes()->waiting, 0);
    assert_int_equal(lanes()->held, 0);
    assert_false(lanes()->separate);
    assert_int_equal(seen.closed, 0);
    finish();
}

// ---- a packet that is refused for ever

static unsigned refusals;

// A frame whose payload begins with this word.
static bool is_refused(const struct pkt *p)
{
    static const uint8_t mark[] = "REFUSED";
    const bool it = pkt_len(p) >= 200 && memcmp(pkt_data(p) + 66, mark, sizeof(mark)) == 0;
    refusals += it;
    return it;
}

static bool refuses_all(const struct pkt *p)
{
    (void)p;
    return true;
}

// mark: of the packets that wait for the bad wire, the one at `at` is refused.
static void mark(unsigned at)
{
    const struct net_tx *tx = &h->e[SERVER].w->ports[BAD].tx;
    assert_true(at < tx->n);
    assert_true(pkt_len(tx->pkts[at]) >= 200);
    memcpy(pkt_data(tx->pkts[at]) + 66, "REFUSED", 8);
}

static void behind_refused_packets_all_others_leave(const unsigned *at, unsigned n)
{
    begin();
    fill_bad_wire(0);
    for (unsigned i = 0; i < n; i++)
        mark(at[i]);
    const uint64_t before = seen.bytes[BAD];
    h->e[SERVER].wires[BAD].takes = UINT16_MAX;
    h->e[SERVER].wires[BAD].refuses = is_refused;
    refusals = 0;
    hosts_run(h, 500);
    assert_int_equal(stats()->drops[DROP_tx_full], n);
    assert_int_equal(h->e[SERVER].w->ports[BAD].refused, n);
    assert_true(refusals >= n * REFUSAL_LOOKS);
    assert_true(seen.bytes[BAD] > before + 1000000);
    assert_int_equal(lanes()->waiting, 0);
    assert_false(worker_port_is_dead(h->e[SERVER].w, BAD));
    assert_int_equal(seen.closed, 0);
    finish();
}

static void a_packet_that_is_refused_for_ever_is_dropped_and_the_others_leave(void **state)
{
    (void)state;
    const unsigned first[] = {0}, later[] = {100};
    behind_refused_packets_all_others_leave(first, 1);
    behind_refused_packets_all_others_leave(later, 1);
}

static void so_are_many_in_a_row(void **state)
{
    (void)state;
    unsigned at[3 * REFUSAL_OFFERS];
    for (unsigned i = 0; i < ARRAY_LEN(at); i++)
        at[i] = i;
    behind_refused_packets_all_others_leave(at, ARRAY_LEN(at));
}

// A port that takes nothing of anything: full, or its interface is down.
static void where_all_are_refused_none_is_dropped_and_all_leave_later(void **state)
{
    (void)state;
    begin();
    fill_bad_wire(0);
    const uint32_t waiting = h->e[SERVER].w->ports[BAD].tx.n;
    h->e[SERVER].wires[BAD].takes = UINT16_MAX;
    h->e[SERVER].wires[BAD].refuses = refuses_all;
    hosts_run(h, 2 * WORKER_DEAD_MS);
    assert_true(h->e[SERVER].w->ports[BAD].tx.n >= waiting);
    assert_true(worker_port_is_dead(h->e[SERVER].w, BAD));
    h->e[SERVER].wires[BAD].refuses = NULL;
    hosts_run(h, 100);
    assert_int_equal(lanes()->waiting, 0);
    assert_int_equal(stats()->drops[DROP_tx_full], 0);
    finish();
}

// The wire has room for one packet now and then, so that the first often finds it full.
static void a_slow_port_loses_nothing(void **state)
{
    (void)state;
    begin();
    fill_bad_wire(0);
    for (unsigned i = 0; i < 3000; i++) {
        h->e[SERVER].wires[BAD].takes = i % 7 == 0;
        hosts_turn(h, SERVER);
        hosts_run(h, i % 3);
        h->e[SERVER].wires[BAD].takes = 0;
    }
    assert_int_equal(stats()->drops[DROP_tx_full], 0);
    finish();
}

static void a_port_that_takes_nothing_for_a_turn_is_not_dead(void **state)
{
    (void)state;
    begin();
    open_some(4, BAD, FLOODS);
    struct worker *w = h->e[SERVER].w;
    h->e[SERVER].wires[BAD].takes = 0;
    for (unsigned i = 0; i < 100 && w->ports[BAD].waits_ms == 0; i++)
        hosts_turn(h, SERVER), hosts_turn(h, PEER);
    assert_true(w->ports[BAD].waits_ms != 0);
    for (unsigned i = 0; i < 20; i++) {
        w->ports[BAD].waits_ms = (w->tcp.now.ms + i % 2) | 1;
        assert_false(worker_port_is_dead(w, BAD));
    }
    finish();
}

// ---- those that end while they wait

static void on_done(void *arg, const struct order_answer *a)
{
    *(struct order_answer *)arg = *a;
}

static struct order_answer kill_all(void)
{
    struct orders *o = orders_new(&h->e[SERVER].server);
    struct order_answer answer = {.error = 1};
    const struct order kill = {.kind = ORDER_KILL};
    assert_int_equal(orders_post(o, &kill, on_done, &answer), 0);
    for (int i = 0; i < 10000 && orders_poll(o, h->now_us / 1000); i++)
        hosts_run(h, 1);
    orders_free(o);
    return answer;
}

static void who_ends_while_it_waits_is_reused_only_after_its_wait(void **state)
{
    (void)state;
    begin();
    fill_bad_wire(0);
    hosts_run(h, WORKER_DEAD_MS);
    assert_true(worker_port_is_dead(h->e[SERVER].w, BAD));
    assert_false(worker_port_is_dead(h->e[SERVER].w, GOOD));
    const struct order_answer a = kill_all();
    assert_int_equal(a.error, 0);
    assert_int_equal(a.count, 100);
    hosts_run(h, 100);
    assert_int_equal(lanes()->waiting, 0);
    assert_int_equal(lanes()->held, 0);
    const struct index_pool *blocks = h->e[SERVER].w->tcp.block_pool;
    assert_int_equal(index_pool_in_use(blocks), 0);
    for (unsigned i = 0; i < 8; i++)  // all blocks that there are, at the wire that goes on
        open_some(25, GOOD, ECHOES);
    const uint64_t before = seen.answers[GOOD];
    hosts_run(h, 20);
    assert_true(seen.answers[GOOD] >= before + 200);
    finish();
}

static void datagrams_to_a_full_port_take_no_place_of_another(void **state)
{
    (void)state;
    begin();
    fill_bad_wire(0);
    struct tcp *t = &h->e[SERVER].w->tcp;
    assert_int_equal(tcp_lane_left(t, BAD), 0);
    const uint32_t room = tcp_lane_left(t, GOOD);
    assert_true(room > BURST_MAX);
    tcp_lane_take(t, BAD);
    assert_int_equal(tcp_lane_left(t, GOOD), room);
    tcp_lane_take(t, GOOD);
    assert_true(tcp_lane_room(t, GOOD) >= room - 1);
    finish();
}

int main(void)
{
    pkt_env_start(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_a_dead_port_another_goes_on_at_its_full_rate),
        cmocka_unit_test(beside_a_slow_port_another_goes_on_at_its_full_rate),
        cmocka_unit_test(no_packet_is_built_without_room_and_replies_that_find_none_are_counted),
        cmocka_unit_test(what_waited_leaves_when_the_port_takes_again),
        cmocka_unit_test(a_packet_that_is_refused_for_ever_is_dropped_and_the_others_leave),
        cmocka_unit_test(so_are_many_in_a_row),
        cmocka_unit_test(where_all_are_refused_none_is_dropped_and_all_leave_later),
        cmocka_unit_test(a_slow_port_loses_nothing),
        cmocka_unit_test(a_port_that_takes_nothing_for_a_turn_is_not_dead),
        cmocka_unit_test(who_ends_while_it_waits_is_reused_only_after_its_wait),
        cmocka_unit_test(datagrams_to_a_full_port_take_no_place_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
