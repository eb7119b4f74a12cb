// SPDX-License-Identifier: BSD-3-Clause
// Orders of the control thread, through real turns of workers.
#include <errno.h>
#include <string.h>

#include "app/apps.h"
#include "c10m/reload.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/conn_filter.h"
#include "server/orders.h"
#include "server/port_places.h"
#include "tcp/tcp_view.h"
#include "worker/egress.h"

enum { SERVER, PEER };

static struct {
    unsigned opened, closed, drained, shown;
    enum c10m_close why;
} seen;

static void note_open(struct c10m_conn *c)
{
    (void)c;
    seen.opened++;
}

static size_t note_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)c;
    (void)data;
    return len;
}

static void note_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    seen.closed++;
    seen.why = why;
}

static void note_drain(struct c10m_conn *c)
{
    assert_true(c10m_draining(c));
    seen.drained++;
    c10m_shutdown(c);
}

// Every third connection is reset.
static void note_shown(struct c10m_conn *c)
{
    if (seen.shown++ % 3 == 0)
        c10m_abort(c);
}

static const struct c10m_reload noted_reload = {.shown = note_shown};
static const struct c10m_app noted = {.name = "noted",
                                      .open = note_open,
                                      .data = note_data,
                                      .close = note_close,
                                      .drain = note_drain,
                                      .reload = &noted_reload};
static const struct c10m_app *const pair[2][3] = {{&noted, &app_echo}, {&app_echo}};

static struct {
    unsigned n;
    struct order_answer last;
} told;

static void on_done(void *arg, const struct order_answer *a)
{
    assert_ptr_equal(arg, &told);
    told.n++;
    told.last = *a;
}

static struct orders *orders;

static struct hosts *begin_with(void (*set)(struct server_params *p, unsigned end))
{
    memset(&seen, 0, sizeof(seen));
    memset(&told, 0, sizeof(told));
    struct hosts *h = hosts_new(pair, set);
    orders = orders_new(&h->e[SERVER].server);
    assert_non_null(orders);
    return h;
}

static struct hosts *begin(void)
{
    return begin_with(NULL);
}

static void finish(struct hosts *h)
{
    orders_free(orders);
    hosts_free(h);
}

// Turns and polls until nothing is under way.
static void settle(struct hosts *h)
{
    for (int i = 0; i < 10000 && orders_poll(orders, h->now_us / 1000); i++)
        hosts_run(h, 1);
}

static void post(const struct order *o)
{
    assert_int_equal(orders_post(orders, o, on_done, &told), 0);
}

static unsigned kill_by(struct hosts *h, const struct kill_filter *f)
{
    const struct order o = {.kind = ORDER_KILL, .kill = *f};
    const unsigned before = told.n;
    post(&o);
    settle(h);
    assert_int_equal(told.n, before + 1);
    assert_int_equal(told.last.error, 0);
    return (unsigned)told.last.count;
}

static void open_some(struct hosts *h, unsigned n, uint16_t port)
{
    for (unsigned i = 0; i < n; i++)
        hosts_connect(h, PEER, port);
    hosts_run(h, 50);
}

static const struct core_counters *count(const struct hosts *h)
{
    return &h->e[SERVER].w->stats->c;
}

static void kill_resets_every_connection_once_and_tells_both_ends(void **state)
{
    struct hosts *h = begin();
    open_some(h, 300, HOSTS_PORT);
    assert_int_equal(seen.opened, 300);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 300);
    hosts_run(h, 50);
    assert_int_equal(seen.closed, 300);
    assert_int_equal(seen.why, C10M_ABORTED);
    assert_int_equal(count(h)->conns_killed, 300);
    assert_int_equal(h->e[PEER].w->stats->c.conns_reset_received, 300);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 0);
    finish(h);
}

static void a_walk_takes_no_more_than_its_slice_of_a_turn(void **state)
{
    struct hosts *h = begin();
    open_some(h, 300, HOSTS_PORT);
    post(&(struct order){.kind = ORDER_KILL});
    orders_poll(orders, 0);
    uint64_t most = 0;
    for (int i = 0; i < 200; i++) {
        const uint64_t before = count(h)->conns_killed;
        hosts_turn(h, SERVER);
        most = MAX(most, count(h)->conns_killed - before);
    }
    assert_int_equal(count(h)->conns_killed, 300);
    assert_int_equal(most, ORDER_RESETS_TURN);
    finish(h);
}

static void kill_takes_what_all_of_its_filter_matches(void **state)
{
    struct hosts *h = begin();
    open_some(h, 5, HOSTS_PORT);
    open_some(h, 3, HOSTS_PORT + 1);
    struct kill_filter f = {.by = KILL_LOCAL_PORT, .local_port = HOSTS_PORT + 2};
    assert_int_equal(kill_by(h, &f), 0);
    f = (struct kill_filter){
        .by = KILL_REMOTE, .remote = hosts_addr(SERVER, false), .remote_bits = 32};
    assert_int_equal(kill_by(h, &f), 0);
    f = (struct kill_filter){.by = KILL_LOCAL, .local = hosts_addr(PEER, false)};
    assert_int_equal(kill_by(h, &f), 0);
    f = (struct kill_filter){.by = KILL_STATE, .state = TCP_CLOSE_WAIT};
    assert_int_equal(kill_by(h, &f), 0);
    f = (struct kill_filter){.by = KILL_SERVICE | KILL_REMOTE | KILL_LOCAL | KILL_STATE,
                             .service = 1,
                             .state = TCP_ESTABLISHED,
                             .local = hosts_addr(SERVER, false),
                             .remote = hosts_addr(PEER, false),
                             .remote_bits = 24};
    assert_int_equal(kill_by(h, &f), 3);
    uint16_t port = 0;
    struct block b;
    for (uint32_t i = 0; i < 8; i++)
        if (tcp_view_block(&h->e[SERVER].w->tcp, i, &b))
            port = b.key.remote_port;
    f = (struct kill_filter){.by = KILL_REMOTE_PORT, .remote_port = port};
    assert_int_equal(kill_by(h, &f), 1);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 4);
    finish(h);
}

static void who_spoke_lately_is_not_idle(void **state)
{
    struct hosts *h = begin();
    const uint32_t ix = hosts_connect(h, PEER, HOSTS_PORT);
    open_some(h, 2, HOSTS_PORT);
    hosts_run(h, 3000);
    struct c10m_conn c = {&h->e[PEER].w->sock, &h->e[PEER].w->tcp.blocks[ix], ix, 0};
    assert_int_equal(c10m_send(&c, "x", 1), 1);
    hosts_run(h, 1000);
    struct kill_filter f = {.by = KILL_IDLE, .idle_ms = 5000};
    assert_int_equal(kill_by(h, &f), 0);
    f.idle_ms = 2500;
    assert_int_equal(kill_by(h, &f), 2);
    f.idle_ms = 500;
    assert_int_equal(kill_by(h, &f), 1);
    finish(h);
}

static void set_keepalive(struct server_params *p, unsigned end)
{
    p->services[0].tcp.keepalive_ms = 1000;
    p->services[0].tcp.keepalive_interval_ms = 500;
    p->tcp.timestamps = false;
    (void)end;
}

// Its probes make no noise that counts.
static void a_dead_peer_that_is_probed_is_idle(void **state)
{
    struct hosts *h = begin_with(set_keepalive);
    open_some(h, 1, HOSTS_PORT);
    h->e[PEER].deaf = true;
    hosts_run(h, 3300);
    assert_true(count(h)->keepalive_probes >= 3);
    struct kill_filter f = {.by = KILL_IDLE, .idle_ms = 4000};
    assert_int_equal(kill_by(h, &f), 0);
    f.idle_ms = 3000;
    assert_int_equal(kill_by(h, &f), 1);
    finish(h);
}

static void what_is_over_is_not_killed_again(void **state)
{
    struct hosts *h = begin();
    const uint32_t ix = hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 50);
    tcp_close(&h->e[PEER].w->tcp, ix);
    hosts_run(h, 50);
    open_some(h, 1, HOSTS_PORT);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 1);
    finish(h);
}

static void set_state(unsigned service, enum tcp_service_state state)
{
    orders_settings(orders)->services[service].state = (uint8_t)state;
    orders_set(orders);
}

static void a_closed_service_refuses_and_the_open_one_beside_it_does_not(void **state)
{
    struct hosts *h = begin();
    open_some(h, 1, HOSTS_PORT);
    set_state(0, TCP_SERVICE_CLOSED);
    assert_int_equal(orders_lagging(orders), 0);
    settle(h);
    assert_int_equal(orders_lagging(orders), -1);
    open_some(h, 2, HOSTS_PORT);
    open_some(h, 1, HOSTS_PORT + 1);
    assert_int_equal(count(h)->service_refused, 2);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 1);
    assert_int_equal(h->e[SERVER].w->tcp.services[1].connections, 1);
    set_state(0, TCP_SERVICE_OPEN);
    settle(h);
    open_some(h, 1, HOSTS_PORT);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 2);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 3);
    finish(h);
}

static void to_drain_tells_each_connection_of_the_service(void **state)
{
    struct hosts *h = begin();
    open_some(h, 3, HOSTS_PORT);
    open_some(h, 2, HOSTS_PORT + 1);
    set_state(0, TCP_SERVICE_DRAINING);
    post(&(struct order){.kind = ORDER_DRAIN, .services = 1});
    settle(h);
    hosts_run(h, 50);
    assert_int_equal(told.last.count, 3);
    assert_int_equal(seen.drained, 3);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 0);
    assert_int_equal(h->e[SERVER].w->tcp.services[1].connections, 2);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 2);
    finish(h);
}

static void each_connection_of_a_service_is_told_of_a_reload_once(void **state)
{
    struct hosts *h = begin();
    open_some(h, 9, HOSTS_PORT);
    open_some(h, 2, HOSTS_PORT + 1);
    post(&(struct order){.kind = ORDER_SHOWN, .services = 1});
    settle(h);
    hosts_run(h, 50);
    assert_int_equal(told.last.error, 0);
    assert_int_equal(seen.shown, 9);
    assert_int_equal(seen.closed, 3);
    assert_int_equal(seen.why, C10M_ABORTED);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 6);
    // An application without reload is passed over.
    post(&(struct order){.kind = ORDER_SHOWN, .services = 2});
    settle(h);
    assert_int_equal(told.last.error, 0);
    assert_int_equal(h->e[SERVER].w->tcp.services[1].connections, 2);
    kill_by(h, &(struct kill_filter){0});
    finish(h);
}

// The turn in which the order is seen may have built segments before.
static void a_turn_is_over_when_the_next_one_ends_the_order(void **state)
{
    struct hosts *h = begin();
    const struct order_box *box = &h->e[SERVER].w->box;
    post(&(struct order){.kind = ORDER_TURN});
    orders_poll(orders, 0);
    unsigned turns = 0;
    while (shared_u32_load(&box->looked) == 0) {
        assert_true(turns++ < 100);
        hosts_turn(h, SERVER);
        assert_int_not_equal(shared_u32_load(&box->done), shared_u32_load(&box->asked));
    }
    hosts_turn(h, SERVER);
    assert_int_equal(shared_u32_load(&box->done), shared_u32_load(&box->asked));
    settle(h);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.last.error, 0);
    finish(h);
}

static void settings_keep_what_belongs_to_the_ports(void **state)
{
    struct hosts *h = begin();
    const uint16_t mss = h->e[SERVER].w->tcp.cfg.mss;
    orders_settings(orders)->cfg.time_wait_ms = 1234;
    orders_settings(orders)->cfg.mss = 7;
    orders_settings(orders)->services[0].connections_max = 1;
    orders_set(orders);
    settle(h);
    assert_int_equal(h->e[SERVER].w->tcp.cfg.time_wait_ms, 1234);
    assert_int_equal(h->e[SERVER].w->tcp.cfg.mss, mss);
    open_some(h, 2, HOSTS_PORT);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 1);
    kill_by(h, &(struct kill_filter){0});
    hosts_run(h, 20000);
    finish(h);
}

static int neighbor(struct hosts *h, enum neighbor_act act, uint32_t v4, uint8_t last)
{
    struct order o = {
        .kind = ORDER_NEIGHBOR,
        .neighbor = {.act = act, .addr = ip_from_v4(v4), .mac = {{2, 0, 0, 0, 9, last}}}};
    if (act == NEIGHBOR_FLUSH)
        o.neighbor.port = WORKER_PORTS_MAX;
    post(&o);
    settle(h);
    return told.last.error;
}

static bool knows(const struct hosts *h, uint32_t v4, struct net_neighbor *n)
{
    const struct net *net = h->e[SERVER].w->ports[0].net;
    for (uint32_t i = 0; i < net_arp_slots(net); i++)
        if (net_arp_read(net, i, n) && n->v4 == v4)
            return true;
    return false;
}

static void neighbors_come_and_go_by_order(void **state)
{
    struct hosts *h = begin();
    struct net_neighbor n;
    assert_int_equal(neighbor(h, NEIGHBOR_ADD, 0x0a000063, 1), 0);
    assert_true(knows(h, 0x0a000063, &n) && n.state == NET_NEIGHBOR_REACHABLE && n.mac.b[5] == 1);
    assert_int_equal(neighbor(h, NEIGHBOR_PERMANENT, 0x0a000064, 2), 0);
    assert_true(knows(h, 0x0a000064, &n) && n.state == NET_NEIGHBOR_STATIC);
    hosts_run(h, 70000);
    assert_true(knows(h, 0x0a000064, &n));
    assert_int_equal(neighbor(h, NEIGHBOR_ADD, 0x0a000063, 3), 0);
    assert_int_equal(neighbor(h, NEIGHBOR_FLUSH, 0, 0), 0);
    assert_int_equal(told.last.count, 1);
    assert_false(knows(h, 0x0a000063, &n));
    assert_true(knows(h, 0x0a000064, &n));
    assert_int_equal(neighbor(h, NEIGHBOR_DEL, 0x0a000064, 0), 0);
    assert_int_equal(neighbor(h, NEIGHBOR_DEL, 0x0a000064, 0), -ENOENT);
    assert_int_equal(neighbor(h, NEIGHBOR_DEL, 0x0a000002, 0), -EPERM);
    finish(h);
}

// 64 entries are 8 sets of 8: 6 of each may be permanent.
static void permanent_neighbors_never_fill_a_set(void **state)
{
    struct hosts *h = begin();
    unsigned taken = 0, refused = 0;
    for (uint32_t i = 0; i < 200; i++) {
        const int rc = neighbor(h, NEIGHBOR_PERMANENT, 0x0a000010 + i, 1);
        assert_true(rc == 0 || rc == -ENOSPC);
        taken += rc == 0;
        refused += rc != 0;
    }
    assert_int_equal(taken, 48);
    assert_int_equal(refused, 152);
    struct net_neighbor n;
    for (uint32_t i = 0; i < 64; i++) {  // each address has a place for a while
        assert_int_equal(neighbor(h, NEIGHBOR_ADD, 0x0a000110 + i, 1), 0);
        assert_true(knows(h, 0x0a000110 + i, &n));
    }
    finish(h);
}

static void ipv6_neighbors_too(void **state)
{
    struct hosts *h = begin();
    struct order o = {.kind = ORDER_NEIGHBOR,
                      .neighbor = {.act = NEIGHBOR_PERMANENT,
                                   .addr = {{0xfd, [15] = 0x77}},
                                   .mac = {{2, 0, 0, 0, 9, 1}}}};
    post(&o);
    settle(h);
    assert_int_equal(told.last.error, 0);
    const struct net *net = h->e[SERVER].w->ports[0].net;
    struct net_neighbor6 n;
    bool found = false;
    for (uint32_t i = 0; i < net_nd_slots(net); i++)
        found |= net_nd_read(net, i, &n) && ip_equal(&n.addr, &o.neighbor.addr) &&
                 n.state == NET_NEIGHBOR_STATIC;
    assert_true(found);
    o.neighbor.act = NEIGHBOR_DEL;
    post(&o);
    settle(h);
    assert_int_equal(told.last.error, 0);
    finish(h);
}

static void a_worker_that_hangs_is_not_waited_for_and_catches_up_later(void **state)
{
    struct hosts *h = begin();
    open_some(h, 2, HOSTS_PORT);
    post(&(struct order){.kind = ORDER_KILL});
    post(&(struct order){.kind = ORDER_KILL});
    set_state(0, TCP_SERVICE_CLOSED);
    assert_true(orders_poll(orders, 1000));
    assert_true(orders_poll(orders, 1000 + ORDERS_TIMEOUT_MS - 1));
    assert_int_equal(told.n, 0);
    assert_true(orders_poll(orders, 1000 + ORDERS_TIMEOUT_MS));
    assert_int_equal(told.n, 2);
    assert_int_equal(told.last.error, -ETIMEDOUT);
    assert_int_equal(told.last.late, 0);
    assert_int_equal(orders_lagging(orders), 0);
    // It comes back: the settings are the last ones, a job of then is not done any more.
    settle(h);
    assert_int_equal(orders_lagging(orders), -1);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].state, TCP_SERVICE_CLOSED);
    assert_int_equal(h->e[SERVER].w->tcp.services[0].connections, 2);
    assert_int_equal(kill_by(h, &(struct kill_filter){0}), 2);
    finish(h);
}

static void more_jobs_than_there_are_places_are_refused(void **state)
{
    struct hosts *h = begin();
    const struct order o = {.kind = ORDER_KILL};
    for (int i = 0; i < ORDERS_MAX; i++)
        post(&o);
    assert_int_equal(orders_post(orders, &o, on_done, &told), -EBUSY);
    settle(h);
    assert_int_equal(told.n, ORDERS_MAX);
    finish(h);
}

static void turns_of_an_order_are_busy_ones(void **state)
{
    struct hosts *h = begin();
    post(&(struct order){.kind = ORDER_DRAIN, .services = UINT32_MAX});
    for (int i = 0; i < 100; i++)
        hosts_turn(h, SERVER);
    const uint64_t before = count(h)->turns_busy;
    orders_poll(orders, 0);
    for (int i = 0; i < 100; i++)
        hosts_turn(h, SERVER);
    assert_in_range(count(h)->turns_busy - before, 1, 3);
    finish(h);
}

static void changeable(struct server_params *p, unsigned end)
{
    p->ports[0].net.changes = end == SERVER;
    if (end == SERVER)
        port_places_fill(&p->ports[0].net);
}

// settings_now: what the server's port has, as an order would give it.
static struct net_settings settings_now(const struct hosts *h)
{
    const struct net_config *c = &h->e[SERVER].server.params.ports[0].net;
    struct net_settings s = {.mtu = 1500};
    memcpy(s.locals, c->locals, sizeof(s.locals));
    for (unsigned k = 0; k < c->n_locals; k++)
        if (!net_local_is_none(&c->locals[k]))
            s.routes[s.n_routes++] =
                (struct net_route){.prefix = ip_first(&c->locals[k].addr, c->locals[k].prefix_bits),
                                   .prefix_bits = c->locals[k].prefix_bits};
    return s;
}

static int change_by(struct hosts *h, const struct net_settings *s)
{
    const struct order o = {.kind = ORDER_PORT, .port = {.port = 0, .settings = *s}};
    post(&o);
    settle(h);
    return told.last.error;
}

static void a_port_that_follows_nothing_is_not_changed(void **state)
{
    struct hosts *h = begin();
    const struct net_settings s = settings_now(h);
    assert_int_equal(change_by(h, &s), -ENODEV);
    finish(h);
}

static void connections_outlive_an_address_that_comes_back(void **state)
{
    struct hosts *h = begin_with(changeable);
    struct net_settings s = settings_now(h);
    const struct net_local was = s.locals[0];
    open_some(h, 10, HOSTS_PORT);
    assert_int_equal(seen.opened, 10);
    s.locals[0] = net_local_none(false);
    assert_int_equal(change_by(h, &s), 0);
    open_some(h, 5, HOSTS_PORT);
    assert_int_equal(seen.opened, 10);
    hosts_run(h, 500);
    assert_int_equal(seen.closed, 0);
    s.locals[0] = was;
    assert_int_equal(change_by(h, &s), 0);
    hosts_run(h, 4000);  // the SYNs of before are sent again
    assert_int_equal(seen.opened, 15);
    assert_int_equal(kill_by(h, &(struct kill_filter){.by = KILL_LOCAL, .local = was.addr}), 15);
    finish(h);
}

static void connections_of_an_address_that_is_gone_can_be_ended(void **state)
{
    struct hosts *h = begin_with(changeable);
    struct net_settings s = settings_now(h);
    const struct net_local was = s.locals[0];
    open_some(h, 10, HOSTS_PORT);
    s.locals[0] = net_local_none(false);
    assert_int_equal(change_by(h, &s), 0);
    assert_int_equal(kill_by(h, &(struct kill_filter){.by = KILL_LOCAL, .local = was.addr}), 10);
    assert_int_equal(seen.closed, 10);
    // Their place may now be another address's.
    s.locals[0] = (struct net_local){ip_from_v4(0x0a000063), 24};
    assert_int_equal(change_by(h, &s), 0);
    finish(h);
}

static void a_free_place_is_no_address(void **state)
{
    struct hosts *h = begin_with(changeable);
    const struct worker *w = h->e[SERVER].w;
    const struct server_params *p = &h->e[SERVER].server.params;
    const struct ip_addr any4 = ip_from_v4(0), any6 = {{0}};
    struct kill_filter f;
    char line[] = "0.0.0.0:80 10.0.0.2:999";
    assert_int_equal(worker_local(w, &any4), UINT16_MAX);
    assert_int_equal(worker_local(w, &any6), UINT16_MAX);
    assert_int_equal(conn_filter_parse(p, line, &f), -EINVAL);
    finish(h);
}

static void the_place_of_a_service_gets_no_other_address(void **state)
{
    struct hosts *h = begin_with(changeable);
    struct net_settings s = settings_now(h);
    h->e[SERVER].w->tcp.services[0].local_ix = 0;
    s.locals[0].addr = ip_from_v4(0x0a000063);
    assert_int_equal(change_by(h, &s), -EBUSY);
    open_some(h, 1, HOSTS_PORT);
    assert_int_equal(seen.opened, 1);  // nothing was changed
    finish(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_resets_every_connection_once_and_tells_both_ends),
        cmocka_unit_test(a_walk_takes_no_more_than_its_slice_of_a_turn),
        cmocka_unit_test(kill_takes_what_all_of_its_filter_matches),
        cmocka_unit_test(who_spoke_lately_is_not_idle),
        cmocka_unit_test(a_dead_peer_that_is_probed_is_idle),
        cmocka_unit_test(what_is_over_is_not_killed_again),
        cmocka_unit_test(a_closed_service_refuses_and_the_open_one_beside_it_does_not),
        cmocka_unit_test(to_drain_tells_each_connection_of_the_service),
        cmocka_unit_test(each_connection_of_a_service_is_told_of_a_reload_once),
        cmocka_unit_test(a_turn_is_over_when_the_next_one_ends_the_order),
        cmocka_unit_test(settings_keep_what_belongs_to_the_ports),
        cmocka_unit_test(neighbors_come_and_go_by_order),
        cmocka_unit_test(permanent_neighbors_never_fill_a_set),
        cmocka_unit_test(ipv6_neighbors_too),
        cmocka_unit_test(a_worker_that_hangs_is_not_waited_for_and_catches_up_later),
        cmocka_unit_test(more_jobs_than_there_are_places_are_refused),
        cmocka_unit_test(turns_of_an_order_are_busy_ones),
        cmocka_unit_test(a_port_that_follows_nothing_is_not_changed),
        cmocka_unit_test(connections_outlive_an_address_that_comes_back),
        cmocka_unit_test(a_free_place_is_no_address),
        cmocka_unit_test(connections_of_an_address_that_is_gone_can_be_ended),
        cmocka_unit_test(the_place_of_a_service_gets_no_other_address),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
