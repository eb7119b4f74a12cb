// SPDX-License-Identifier: BSD-3-Clause
// Claims about server/connections.h: the tables as a reader of the tree gets them, of a server
// whose workers stand still.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/connections.h"
#include "server/server_internal.h"
#include "tcp_pair.h"
#include "unit/check.h"

enum { WORKERS = 2, MANY = 3000, CHUNK_BYTES = 64 * 1024, ALL_BYTES = 4 * 1024 * 1024 };

static struct server server;
static struct end ends[WORKERS];
static struct text all;  // what was read
static unsigned calls, calls_without_line;

static const struct ip_addr v6_local = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
static const struct ip_addr v6_peer = {{0x20, 0x01, 0x0d, 0xb8, [15] = 9}};

static void start(uint32_t blocks)
{
    const struct pair_sizes sizes = {.blocks = blocks};
    struct server_params *p = &server.params;
    memset(&server, 0, sizeof(server));
    server_params_default(p);
    p->n_workers = WORKERS;
    p->n_ports = 2;
    p->ports[0].net.n_locals = 1;
    p->ports[0].net.locals[0].addr = ip_from_v4(0x0a000001);
    p->ports[1].net.n_locals = 2;
    p->ports[1].net.locals[0].addr = ip_from_v4(0x0a000002);
    p->ports[1].net.locals[1].addr = v6_local;
    for (unsigned i = 0; i < WORKERS; i++) {
        end_init(&ends[i], i, &sizes);
        server.workers[i] = aligned_alloc(CACHE_LINE, sizeof(struct worker));
        memset(server.workers[i], 0, sizeof(struct worker));
        assert_non_null(server.workers[i]);
        server.workers[i]->tcp = ends[i].tcp;
    }
    text_init(&all, ALL_BYTES);
}

static void stop(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        ends[i].tcp = server.workers[i]->tcp;
        free(server.workers[i]);
        end_fini(&ends[i], false);
    }
    text_free(&all);
}

static struct tcp *tcp_of(unsigned worker)
{
    return &server.workers[worker]->tcp;
}

static uint32_t add_block(unsigned worker, struct ip_addr remote, uint16_t port, uint16_t local_ix)
{
    const struct flow_key key = {remote, local_ix, 0, port, 80};
    struct tcp *t = tcp_of(worker);
    const uint32_t ix = tcp_block_new(t, &key, 0, FLOW_NONE);
    assert_int_not_equal(ix, BLOCK_NONE);
    t->blocks[ix].mss = 1448;
    t->blocks[ix].cwnd = 14480;
    tcp_set_state(&t->blocks[ix], STEP_PASSIVE_DONE);
    return ix;
}

static void add_syn(unsigned worker, uint32_t remote, uint16_t port)
{
    const struct seg_in s = {.key = {ip_from_v4(remote), 1, 0, port, PAIR_PORT}, .flags = SEG_SYN};
    struct tcp_verdict v;
    tcp_of(worker)->out_room = TCP_OUT_MAX;
    tcp_input(tcp_of(worker), &s, NULL, FLOW_NONE, &v);
    assert_int_equal(v.drop, DROP_NONE);
}

static void add_time_wait(unsigned worker, uint32_t remote, uint16_t port)
{
    struct tcp *t = tcp_of(worker);
    const uint32_t ix = add_block(worker, ip_from_v4(remote), port, 0);
    tcp_set_state(&t->blocks[ix], STEP_CLOSE);
    tcp_set_state(&t->blocks[ix], STEP_ACK_OF_FIN);
    tcp_set_state(&t->blocks[ix], STEP_PEER_FIN);
    tcp_free(t, ix);
    index_pool_turn_end(t->block_pool);
}

// read_all: as a reader that asks again and again, in pieces of at most `piece` bytes.
static const char *read_all(enum conns_table table, size_t piece)
{
    struct conns_cursor at = {0};
    text_free(&all);
    calls = calls_without_line = 0;
    for (bool more = true; more;) {
        struct text t;
        text_init(&t, piece);
        more = conns_next(&server, table, &at, &t);
        assert_int_equal(t.error, 0);
        calls++;
        calls_without_line += t.len == 0;
        text_put(&all, text_str(&t), t.len);
        text_free(&t);
    }
    return text_str(&all);
}

static unsigned lines_with(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static void all_kinds_of_all_workers_are_there_once_and_are_numbered(void **state)
{
    start(16);
    server.params.n_services = 2;
    server.params.services[0].tcp =
        (struct tcp_service){.ports = {80, 8080}, .n_ports = 2, .local_ix = 1};
    server.params.services[1].tcp =
        (struct tcp_service){.ports = {7}, .n_ports = 1, .local_ix = UINT16_MAX};
    add_syn(0, 0x01010101, 1001);
    add_block(0, ip_from_v4(0x02020202), 1002, 0);
    add_time_wait(0, 0x03030303, 1003);
    add_syn(1, 0x04040404, 1004);
    add_block(1, ip_from_v4(0x05050505), 1005, 1);
    add_block(1, v6_peer, 1006, 2);
    const char *t = read_all(CONNS_TCP4, CHUNK_BYTES);
    static const char *const want[] = {
        "   0: 0200000A:0050 00000000:0000 0A ", "   1: 0200000A:1F90 00000000:0000 0A ",
        "   2: 00000000:0007 00000000:0000 0A ", "   3: 0200000A:0007 01010101:03E9 03 ",
        "   4: 0100000A:0050 02020202:03EA 01 ", "   5: 0100000A:0050 03030303:03EB 06 ",
        "   6: 0200000A:0007 04040404:03EC 03 ", "   7: 0200000A:0050 05050505:03ED 01 "};
    assert_memory_equal(t, "  sl  local_address", 19);
    for (unsigned i = 0; i < ARRAY_LEN(want); i++)
        assert_memory_equal(t + 150 * (i + 1), want[i], strlen(want[i]));
    assert_int_equal(all.len, 150 * (ARRAY_LEN(want) + 1));
    t = read_all(CONNS_TCP6, CHUNK_BYTES);
    assert_int_equal(lines_with(t, "\n"), 3);
    assert_int_equal(lines_with(t, "   0: 00000000000000000000000000000000:0007 "
                                   "00000000000000000000000000000000:0000 0A "),
                     1);
    assert_int_equal(lines_with(t, "   1: B80D0120000000000000000002000000:0050 "
                                   "B80D0120000000000000000009000000:03EE 01 "),
                     1);
    t = read_all(CONNS_INFO, CHUNK_BYTES);
    assert_int_equal(lines_with(t, "\n"), 7);
    assert_int_equal(lines_with(t, "1 0 ESTABLISHED [2001:db8::2]:80 [2001:db8::9]:1006 "), 1);
    assert_int_equal(lines_with(t, "0 0 TIME_WAIT 10.0.0.1:80 3.3.3.3:1003 "), 1);
    stop();
}

static void a_server_without_ipv6_addresses_listens_on_none(void **state)
{
    start(16);
    server.params.ports[1].net.n_locals = 1;
    server.params.n_services = 1;
    server.params.services[0].tcp =
        (struct tcp_service){.ports = {7}, .n_ports = 1, .local_ix = UINT16_MAX};
    assert_int_equal(lines_with(read_all(CONNS_TCP4, CHUNK_BYTES), "\n"), 2);
    assert_int_equal(lines_with(read_all(CONNS_TCP6, CHUNK_BYTES), "\n"), 1);
    stop();
}

static void many_lines_come_in_pieces_and_none_twice(void **state)
{
    start(MANY);
    for (uint32_t i = 0; i < MANY; i++)
        add_block(i % WORKERS, ip_from_v4(0x0b000000 + i), 1234, 0);
    for (size_t piece = CHUNK_BYTES; piece >= 1024; piece /= 8) {
        const char *t = read_all(CONNS_TCP4, piece);
        assert_int_equal(all.len, 150 * (MANY + 1));
        assert_in_range(calls, 150 * MANY / piece, 150 * MANY / (piece - 512) + 2);
        for (uint32_t i = 0; i < MANY; i++) {
            char remote[32];
            snprintf(remote, sizeof(remote), " %08X:04D2 ", __builtin_bswap32(0x0b000000 + i));
            const uint32_t worker = i % WORKERS, line = worker * (MANY / WORKERS) + i / WORKERS;
            assert_memory_equal(t + 150 * (line + 1) + 19, remote, strlen(remote));
        }
    }
    stop();
}

static void what_was_never_used_is_not_looked_at(void **state)
{
    start(1000000);
    add_block(1, ip_from_v4(0x0b000000), 1234, 0);
    assert_int_equal(lines_with(read_all(CONNS_TCP4, CHUNK_BYTES), "\n"), 2);
    assert_int_equal(calls, 1);
    stop();
}

static void a_table_that_is_free_again_is_passed_in_bounded_steps(void **state)
{
    enum { ONCE = 100000 };
    start(ONCE);
    struct tcp *t = tcp_of(0);
    for (uint32_t i = 0; i < ONCE; i++)
        add_block(0, ip_from_v4(0x0b000000 + i), 1234, 0);
    for (uint32_t ix = 0; ix < ONCE - 1; ix++) {
        tcp_set_state(&t->blocks[ix], STEP_END);
        tcp_free(t, ix);
    }
    assert_int_equal(lines_with(read_all(CONNS_TCP4, CHUNK_BYTES), "\n"), 2);
    assert_in_range(calls, ONCE / CONN_LOOKS_MAX, ONCE / CONN_LOOKS_MAX + 2);
    assert_in_range(calls_without_line, ONCE / CONN_LOOKS_MAX - 1, ONCE / CONN_LOOKS_MAX + 1);
    stop();
}

static void a_local_address_out_of_range_does_no_harm(void **state)
{
    start(16);
    add_block(0, ip_from_v4(0x0b000000), 1234, UINT16_MAX);
    read_all(CONNS_INFO, CHUNK_BYTES);
    stop();
}

static void served_udp_ports_are_listed_once(void **state)
{
    start(16);
    for (unsigned i = 0; i < 2; i++) {
        server.params.ports[i].net.n_udp = 2;
        server.params.ports[i].net.udp[0] = (struct net_udp_port){7, UINT16_MAX, 0};
        server.params.ports[i].net.udp[1] = (struct net_udp_port){53, 1, 0};
    }
    udp_render(&server, false, &all);
    static const char *const want[] = {
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
        "timeout inode ref pointer drops            \n",
        "    0: 00000000:0007 00000000:0000 07 00000000:00000000 00:00000000 00000000     0      "
        "  0 0 1 0000000000000001 0",
        "    1: 0200000A:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0      "
        "  0 0 1 0000000000000002 0"};
    for (unsigned i = 0; i < ARRAY_LEN(want); i++)
        assert_memory_equal(text_str(&all) + 128 * i, want[i], strlen(want[i]));
    assert_int_equal(all.len, 3 * 128);
    text_free(&all);
    udp_render(&server, true, &all);
    assert_int_equal(lines_with(text_str(&all), "\n"), 2);
    assert_int_equal(lines_with(text_str(&all), "    0: 00000000000000000000000000000000:0007 "
                                                "00000000000000000000000000000000:0000 07 "),
                     1);
    stop();
}

static void open_port(unsigned worker, struct ip_addr at, uint16_t port, bool v6only)
{
    const struct udp_open e = {.at = at, .port = port, .v6only = v6only};
    assert_true(udp_table_open(server.workers[worker]->udp, &e) >= 0);
}

static void udp_ports_that_several_workers_opened_are_listed_once(void **state)
{
    const struct ip_addr any4 = ip_from_v4(0), any = {{0}}, one = ip_from_v4(0x0a000001);
    struct udp_table *tables[WORKERS];
    start(16);
    for (unsigned w = 0; w < WORKERS; w++) {
        server.workers[w]->udp = tables[w] = malloc(sizeof(struct udp_table));
        assert_non_null(tables[w]);
        udp_table_init(tables[w], (struct siphash_key){1, 2});
        open_port(w, any4, 5000, false);
        open_port(w, one, 5000, false);
        open_port(w, any, 5000, w == 0);
    }
    open_port(1, one, 5001, false);  // on that one alone
    udp_table_close(tables[1], 0);   // and gone from it
    udp_table_filter(tables[1], 3, &one, 53);
    udp_render(&server, false, &all);
    assert_int_equal(lines_with(text_str(&all), "\n"), 4);
    assert_int_equal(lines_with(text_str(&all), ": 00000000:1388 "), 1);
    assert_int_equal(lines_with(text_str(&all), ": 0100000A:1388 "), 1);
    assert_int_equal(lines_with(text_str(&all), "    2: 0100000A:1389 0100000A:0035 01 "), 1);
    text_free(&all);
    udp_render(&server, true, &all);
    assert_int_equal(lines_with(text_str(&all), "\n"), 2);
    assert_int_equal(lines_with(text_str(&all), "    0: 00000000000000000000000000000000:1388 "),
                     1);
    for (unsigned w = 0; w < WORKERS; w++)
        free(tables[w]);
    stop();
}

static void listeners_of_now_are_shown_once_with_who_waits(void **state)
{
    static const uint16_t scopes[] = {TCP_LISTEN_ANY, TCP_LISTEN_V4, TCP_LISTEN_V6, 0, 2};
    int gone = 0;
    start(16);
    for (unsigned w = 0; w < WORKERS; w++) {
        tcp_of(w)->listens = calloc(1, sizeof(struct listen_table));
        for (uint16_t i = 0; i < ARRAY_LEN(scopes); i++) {
            const struct tcp_listen_ask ask = {.port = (uint16_t)(0x1000 + i), .scope = scopes[i]};
            assert_true(tcp_listen(tcp_of(w), &ask) >= 0);
        }
        gone = tcp_listen(tcp_of(w), &(struct tcp_listen_ask){.port = 0x2000, .scope = 1});
        tcp_unlisten(tcp_of(w), gone);
    }
    tcp_of(0)->listens->at[1].waiting = 3;
    const char *text = read_all(CONNS_TCP4, CHUNK_BYTES);
    assert_int_equal(lines_with(text, " 0A 00000000:"), 2);
    assert_int_equal(lines_with(text, "00000000:1001 00000000:0000 0A 00000000:00000003"), 1);
    assert_int_equal(lines_with(text, "0100000A:1003 00000000:0000 0A 00000000:00000000"), 1);
    text = read_all(CONNS_TCP6, CHUNK_BYTES);
    assert_int_equal(lines_with(text, " 0A 00000000:"), 3);
    assert_int_equal(lines_with(text, "00000000000000000000000000000000:1000 "), 1);
    assert_int_equal(lines_with(text, "00000000000000000000000000000000:1002 "), 1);
    assert_int_equal(lines_with(text, "B80D0120000000000000000002000000:1004 "), 1);
    assert_int_equal(lines_with(read_all(CONNS_INFO, CHUNK_BYTES), "\n"), 1);
    for (unsigned w = 0; w < WORKERS; w++)
        free(tcp_of(w)->listens);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_all_workers_are_there_once_and_are_numbered),
        cmocka_unit_test(a_server_without_ipv6_addresses_listens_on_none),
        cmocka_unit_test(listeners_of_now_are_shown_once_with_who_waits),
        cmocka_unit_test(many_lines_come_in_pieces_and_none_twice),
        cmocka_unit_test(what_was_never_used_is_not_looked_at),
        cmocka_unit_test(a_table_that_is_free_again_is_passed_in_bounded_steps),
        cmocka_unit_test(a_local_address_out_of_range_does_no_harm),
        cmocka_unit_test(served_udp_ports_are_listed_once),
        cmocka_unit_test(udp_ports_that_several_workers_opened_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
