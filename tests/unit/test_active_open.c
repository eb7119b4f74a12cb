// SPDX-License-Identifier: BSD-3-Clause
// Active opens from messages, and the end of many: through real turns of workers.
#include <errno.h>
#include <string.h>

#include "app/apps.h"
#include "c10m/socket.h"
#include "hosts.h"
#include "pkt_env.h"

enum { SERVER, PEER };

static struct {
    unsigned opened, closed, bytes, others_closed;
    enum c10m_close why;
    int rc;
    struct c10m_opening o;
    struct c10m_name local;
    uint64_t handle, mark;
    bool done;
    struct c10m_service *of;
    void (*run)(struct c10m_core *w, struct c10m_service *s);
} t;

static void on_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    (void)msg;
    t.run(w, s);
}

static void on_open(struct c10m_conn *c)
{
    t.opened++;
    t.handle = c10m_handle(c);
    memcpy(&t.mark, c10m_state(c), sizeof(t.mark));
    assert_int_equal(c10m_listener(c), -1);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    t.bytes += (unsigned)len;
    return len;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    t.closed++;
    t.why = why;
}

static void on_close_other(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    (void)why;
    t.others_closed++;
}

static void no_thread(struct c10m_service *s)
{
    (void)s;
}

static const struct c10m_app opener = {.name = "opener",
                                       .open = on_open,
                                       .data = on_data,
                                       .close = on_close,
                                       .thread = no_thread,
                                       .message = on_message};
static const struct c10m_app other = {.name = "other", .data = on_data, .close = on_close_other};

static const struct c10m_app *const both[2][3] = {{&opener, &other}, {&app_echo, &app_echo}};

static struct hosts *begin(void)
{
    memset(&t, 0, sizeof(t));
    return hosts_new(both, NULL);
}

static struct c10m_name name(const struct ip_addr *a, uint16_t port)
{
    struct c10m_name n = {.port = port};
    if (a != NULL)
        memcpy(n.addr, a->b, sizeof(n.addr));
    return n;
}

static struct c10m_name peer(bool v6, uint16_t port)
{
    const struct ip_addr a = hosts_addr(PEER, v6);
    return name(&a, port);
}

static void run(struct hosts *h, void (*what)(struct c10m_core *w, struct c10m_service *s))
{
    t.run = what;
    assert_true(c10m_post(&h->e[SERVER].server.services[0], 0, (void *)1));
    hosts_turn(h, SERVER);
}

static void open_it(struct c10m_core *w, struct c10m_service *s)
{
    struct c10m_conn *c = NULL;
    const uint64_t mark = 77;
    t.rc = c10m_open(w, s, &t.o, &c);
    if (t.rc != 0)
        return;
    memcpy(c10m_state(c), &mark, sizeof(mark));
    c10m_local(c, &t.local);
    assert_int_equal(c10m_send(c, "hello", 5), 5);
    assert_ptr_equal(c10m_at(w, c10m_handle(c)), c);
}

static int opening(struct hosts *h, struct c10m_name from, struct c10m_name to)
{
    t.o = (struct c10m_opening){.from = from, .to = to};
    run(h, open_it);
    return t.rc;
}

static void it_opens_from_where_the_route_says_and_finds_its_state_and_bytes(void **state)
{
    for (int v6 = 0; v6 < 2; v6++) {
        struct hosts *h = begin();
        const struct ip_addr ours = hosts_addr(SERVER, v6);
        assert_int_equal(opening(h, name(NULL, 0), peer(v6, HOSTS_PORT)), 0);
        assert_memory_equal(t.local.addr, ours.b, 16);
        assert_true(t.local.port >= 32768);
        hosts_run(h, 5);
        assert_int_equal(t.opened, 1);
        assert_int_equal(t.mark, 77);
        assert_int_equal(t.bytes, 5);  // echoed
        hosts_free(h);
    }
}

static void it_opens_from_the_address_and_port_that_is_asked_for(void **state)
{
    struct hosts *h = begin();
    const struct ip_addr ours = hosts_addr(SERVER, false), v4 = ip_from_v4(0);
    assert_int_equal(opening(h, name(&ours, 5555), peer(false, HOSTS_PORT)), 0);
    assert_int_equal(t.local.port, 5555);
    assert_int_equal(opening(h, name(&v4, 5555), peer(false, HOSTS_PORT + 1)), 0);
    assert_memory_equal(t.local.addr, ours.b, 16);
    hosts_run(h, 5);
    assert_int_equal(t.opened, 2);
    assert_int_equal(t.bytes, 10);
    hosts_free(h);
}

static void shut(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    c10m_shutdown(c10m_at(w, t.handle));
}

// The number that the connection from port 5555 sends next.
static uint32_t snd_nxt(struct hosts *h)
{
    const struct worker *w = h->e[SERVER].w;
    for (uint32_t i = 0; i < w->block_count; i++)
        if (w->tcp.blocks[i].state != TCP_CLOSED && w->tcp.blocks[i].key.local_port == 5555)
            return w->tcp.blocks[i].snd_nxt;
    return 0;
}

// Linux. By timestamps old segments are known.
static void
the_very_connection_is_refused_while_it_lives_and_in_time_wait_without_timestamps(void **state)
{
    struct hosts *h = begin();
    const struct c10m_name from = name(NULL, 5555), to = peer(false, HOSTS_PORT);
    assert_int_equal(opening(h, from, to), 0);
    assert_int_equal(opening(h, from, to), -EADDRNOTAVAIL);
    hosts_run(h, 5);
    const uint32_t first = snd_nxt(h);
    run(h, shut);
    hosts_run(h, 5);
    assert_int_equal(t.closed, 1);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.time_wait_now, 1);
    struct tcp *tcp = &h->e[SERVER].w->tcp;
    tcp->cfg.timestamps = false;
    assert_int_equal(opening(h, from, to), -EADDRNOTAVAIL);
    tcp->cfg.timestamps = true;
    assert_int_equal(opening(h, from, to), 0);
    assert_int_equal(tcp->stats->c.time_wait_now, 0);
    assert_int_equal(tcp->stats->c.time_wait_recycled, 1);
    hosts_run(h, 5);
    assert_int_equal(t.opened, 2);
    assert_true(snd_nxt(h) - first > UINT16_MAX && snd_nxt(h) - first < INT32_MAX);
    hosts_free(h);
}

static void what_cannot_be_opened_is_refused_by_an_error(void **state)
{
    struct hosts *h = begin();
    const struct ip_addr ours = hosts_addr(SERVER, false), ours6 = hosts_addr(SERVER, true);
    const struct ip_addr stranger = ip_from_v4(0x0a000007), far = ip_from_v4(0xc0000201);
    const struct ip_addr cast = ip_from_v4(0x0a0000ff), all = ip_from_v4(UINT32_MAX);
    const struct ip_addr group = ip_from_v4(0xe0000001), group6 = {{0xff, 2, [15] = 1}};
    const struct ip_addr far6 = {{0x20, 1, [15] = 1}};
    const struct c10m_name any = name(NULL, 0);
    assert_int_equal(opening(h, any, peer(false, 0)), -EINVAL);
    assert_int_equal(opening(h, name(&stranger, 0), peer(false, 80)), -EADDRNOTAVAIL);
    assert_int_equal(opening(h, name(&ours, 0), peer(true, 80)), -ENETUNREACH);
    assert_int_equal(opening(h, name(&ours6, 0), peer(false, 80)), -ENETUNREACH);
    const struct ip_addr *const nowhere[] = {&far, &far6, &cast, &all, &group, &group6};
    for (unsigned i = 0; i < ARRAY_LEN(nowhere); i++) {
        assert_int_equal(opening(h, any, name(nowhere[i], 80)), -ENETUNREACH);
        const struct c10m_name from = name(ip_is_v4(nowhere[i]) ? &ours : &ours6, 0);
        assert_int_equal(opening(h, from, name(nowhere[i], 80)), -ENETUNREACH);
    }
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.connections_now, 0);
    hosts_free(h);
}

static void a_peer_that_refuses_is_told(void **state)
{
    struct hosts *h = begin();
    assert_int_equal(opening(h, name(NULL, 0), peer(true, 9)), 0);
    hosts_run(h, 5);
    assert_int_equal(t.opened, 0);
    assert_int_equal(t.closed, 1);
    assert_int_equal(t.why, C10M_REFUSED);
    hosts_free(h);
}

static void open_too_many(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_opening o = {.to = peer(false, HOSTS_PORT)};
    struct c10m_conn *c;
    for (unsigned i = 0; i < C10M_OTHERS_MAX; i++)
        assert_int_equal(c10m_open(w, s, &o, &c), 0);
    assert_int_equal(c10m_open(w, s, &o, &c), -ENOBUFS);
    assert_int_equal(c10m_open(w, s, &o, NULL), 0);
}

static void a_message_opens_so_many_that_it_is_given(void **state)
{
    struct hosts *h = begin();
    run(h, open_too_many);
    hosts_run(h, 5);
    assert_int_equal(t.opened, C10M_OTHERS_MAX + 1);
    hosts_free(h);
}

static void open_until_full(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_opening o = {.to = peer(false, HOSTS_PORT)};
    while ((t.rc = c10m_open(w, s, &o, NULL)) == 0)
        t.opened++;
}

static void without_a_block_it_is_refused(void **state)
{
    struct hosts *h = begin();
    run(h, open_until_full);
    assert_int_equal(t.rc, -ENOBUFS);
    assert_int_equal(t.opened, 512);
    hosts_free(h);
}

static void an_address_is_ours_or_not(void **state)
{
    struct hosts *h = begin();
    const struct c10m_service *s = &h->e[SERVER].server.services[0];
    const struct ip_addr v4 = ip_from_v4(0), none = {{0}};
    for (int v6 = 0; v6 < 2; v6++) {
        assert_true(c10m_is_local(s, hosts_addr(SERVER, v6).b));
        assert_false(c10m_is_local(s, hosts_addr(PEER, v6).b));
    }
    assert_false(c10m_is_local(s, v4.b));
    assert_false(c10m_is_local(s, none.b));
    hosts_free(h);
}

static void a_port_of_another_worker_is_refused_and_home_says_whose_it_is(void **state)
{
    enum { WORKERS = 3, PORTS = 60 };
    struct hosts *h = begin();
    struct worker *w = h->e[SERVER].w;
    const struct c10m_service *s = &h->e[SERVER].server.services[0];
    const struct ip_addr v4 = hosts_addr(SERVER, false), v6 = hosts_addr(SERVER, true);
    unsigned opened = 0;
    assert_int_equal(c10m_home(s, &(struct c10m_name){.port = 1}, &(struct c10m_name){.port = 1}),
                     0);
    w->homes.workers = WORKERS;
    w->tcp.homes = &w->homes;
    for (unsigned i = 0; i < 2 * PORTS; i++) {
        const bool six = i % 2 != 0;
        const struct c10m_name from = name(six ? &v6 : &v4, (uint16_t)(4000 + i));
        const struct c10m_name to = peer(six, HOSTS_PORT);
        const unsigned home = c10m_home(s, &from, &to);
        assert_true(home < WORKERS);
        w->homes.self = (home + 1) % WORKERS;
        assert_int_equal(opening(h, from, to), -EADDRNOTAVAIL);
        w->homes.self = home;
        const struct c10m_name any = name(NULL, (uint16_t)(4000 + i));
        assert_int_equal(c10m_home(s, &any, &to), home);  // as the route says
        assert_int_equal(opening(h, from, to), 0);
        opened += home == 0;
    }
    assert_in_range(opened, 2 * PORTS / WORKERS / 2, 2 * PORTS / WORKERS * 2);
    w->homes.self = 2;
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(opening(h, name(NULL, 0), peer(i % 2 != 0, HOSTS_PORT)), 0);
        const struct c10m_name to = peer(i % 2 != 0, HOSTS_PORT);
        assert_int_equal(c10m_home(s, &t.local, &to), 2);
    }
    hosts_free(h);
}

// ---- the end of many

static void abort_all(struct c10m_core *w, struct c10m_service *s)
{
    const unsigned before = t.closed;
    t.done = c10m_abort_all(w, s);
    assert_int_equal(t.closed, before);  // never inside
}

static void all_of_a_service_are_reset_a_bounded_number_a_turn(void **state)
{
    enum { MANY = 200, FEW = 5 };
    struct hosts *h = begin();
    const struct core_counters *c = &h->e[SERVER].w->tcp.stats->c;
    run(h, abort_all);
    assert_true(t.done);
    for (unsigned i = 0; i < MANY; i++)
        hosts_connect(h, PEER, HOSTS_PORT);
    for (unsigned i = 0; i < FEW; i++)
        hosts_connect(h, PEER, HOSTS_PORT + 1);
    hosts_run(h, 10);
    assert_int_equal(c->connections_now, MANY + FEW);
    run(h, abort_all);
    assert_false(t.done);
    assert_int_equal(t.closed, SOCK_RESETS_TURN_MAX);
    assert_int_equal(h->e[PEER].wires[0].n_queue, SOCK_RESETS_TURN_MAX);
    hosts_run(h, 5);
    assert_int_equal(t.closed, MANY);
    assert_int_equal(t.why, C10M_ABORTED);
    assert_int_equal(c->connections_now, FEW);
    assert_int_equal(t.others_closed, 0);
    run(h, abort_all);
    assert_true(t.done);
    assert_int_equal(h->e[SERVER].w->sock.resets, 0);
    assert_int_equal(h->e[PEER].w->tcp.stats->c.connections_now, FEW);
    // And what is opened afterwards lives.
    hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 5);
    assert_int_equal(c->connections_now, FEW + 1);
    hosts_free(h);
}

static void close_it(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    c10m_close(c10m_at(w, t.handle));
}

static void those_that_were_let_go_are_reset_too_without_a_callback(void **state)
{
    struct hosts *h = begin();
    assert_int_equal(opening(h, name(NULL, 0), peer(false, HOSTS_PORT)), 0);
    hosts_run(h, 5);
    h->e[PEER].deaf = true;
    run(h, close_it);
    hosts_run(h, 5);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.connections_now, 1);
    run(h, abort_all);
    hosts_run(h, 1);
    run(h, abort_all);
    assert_true(t.done);
    assert_int_equal(t.closed, 0);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.connections_now, 0);
    hosts_free(h);
}

static void forget(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    t.done = c10m_forget(w);
}

static void open_and_close(struct c10m_core *w, struct c10m_service *s)
{
    const struct c10m_opening o = {.to = peer(false, HOSTS_PORT)};
    assert_int_equal(c10m_open(w, s, &o, NULL), 0);
}

static void half_open_and_time_wait_are_forgotten_and_connections_stay(void **state)
{
    struct hosts *h = begin();
    struct tcp *tcp = &h->e[SERVER].w->tcp;
    const struct core_counters *c = &tcp->stats->c;
    const struct c10m_name from = name(NULL, 5555), to = peer(false, HOSTS_PORT);
    assert_int_equal(opening(h, from, to), 0);
    hosts_run(h, 5);
    run(h, shut);
    hosts_run(h, 5);
    run(h, open_and_close);
    hosts_run(h, 5);
    assert_int_equal(c->time_wait_now, 1);
    h->e[PEER].deaf = true;  // whose SYN-ACKs are lost
    for (int i = 0; i < 20; i++)
        hosts_connect(h, PEER, HOSTS_PORT + i % 2);
    hosts_run(h, 5);
    assert_int_equal(c->syn_records_now, 20);
    tcp->cookies_until_us = UINT64_MAX;
    tcp->resets.left = 0;
    tcp->resets.period_us = UINT64_MAX;
    run(h, forget);
    assert_true(t.done);
    assert_int_equal(c->syn_records_now, 0);
    assert_int_equal(c->time_wait_now, 0);
    assert_int_equal(tcp->cookies_until_us, 0);
    assert_int_equal(tcp->resets.period_us, 0);
    assert_int_equal(c->connections_now, 1);
    assert_int_equal(c->conns_opened_active, 2);  // counters stay
    h->e[PEER].deaf = false;
    assert_int_equal(opening(h, from, to), 0);  // the same again
    hosts_run(h, 3000);
    // Those that were half-open come again with their next SYN: half of them to this service.
    assert_int_equal(t.opened, 3 + 10);
    assert_int_equal(c->connections_now, 2 + 20);
    hosts_free(h);
}

static void set_many(struct server_params *p, unsigned end)
{
    (void)end;
    p->connections = 3000;
    p->syn_received = 3000;
    p->packets = 2048;
}

static void much_is_forgotten_in_several_calls(void **state)
{
    memset(&t, 0, sizeof(t));
    struct hosts *h = hosts_new(both, set_many);
    const struct core_counters *c = &h->e[SERVER].w->tcp.stats->c;
    unsigned calls = 0;
    h->e[PEER].deaf = true;
    for (unsigned i = 0; i < 25; i++) {
        for (unsigned k = 0; k < 100; k++)
            hosts_connect(h, PEER, HOSTS_PORT);
        hosts_run(h, 1);
    }
    assert_int_equal(c->syn_records_now, 2500);
    for (; !t.done; calls++)
        run(h, forget);
    assert_int_equal(calls, 3);
    assert_int_equal(c->syn_records_now, 0);
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_from_where_the_route_says_and_finds_its_state_and_bytes),
        cmocka_unit_test(it_opens_from_the_address_and_port_that_is_asked_for),
        cmocka_unit_test(
            the_very_connection_is_refused_while_it_lives_and_in_time_wait_without_timestamps),
        cmocka_unit_test(what_cannot_be_opened_is_refused_by_an_error),
        cmocka_unit_test(a_peer_that_refuses_is_told),
        cmocka_unit_test(a_message_opens_so_many_that_it_is_given),
        cmocka_unit_test(without_a_block_it_is_refused),
        cmocka_unit_test(an_address_is_ours_or_not),
        cmocka_unit_test(a_port_of_another_worker_is_refused_and_home_says_whose_it_is),
        cmocka_unit_test(all_of_a_service_are_reset_a_bounded_number_a_turn),
        cmocka_unit_test(those_that_were_let_go_are_reset_too_without_a_callback),
        cmocka_unit_test(half_open_and_time_wait_are_forgotten_and_connections_stay),
        cmocka_unit_test(much_is_forgotten_in_several_calls),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
