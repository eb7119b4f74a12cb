// SPDX-License-Identifier: BSD-3-Clause
// A server whose port follows a TAP interface in a network namespace of this process: from ip(8) to
// connections of another server.
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "app/apps.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/orders.h"
#include "server/port_follow.h"
#include "server/port_places.h"

enum { SERVER, PEER };

static const struct c10m_app *const pair[2][3] = {{&app_echo}, {&app_echo}};
static bool netless;
static struct hosts *h;
static struct orders *orders;
static struct port_follow *follow;

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s failed", command);
}

static void set(struct server_params *p, unsigned end)
{
    if (end != SERVER)
        return;
    p->ports[0].follow = "f1";
    p->ports[0].port.name = "p0";
    p->ports[0].net.changes = true;
    port_places_fill(&p->ports[0].net);
}

static int begin(void **state)
{
    struct err err = {.text = ""};
    if (netless)
        return 0;
    run("ip tuntap add dev f1 mode tap; ip link set f1 up; ip addr add 10.0.0.1/24 dev f1");
    h = hosts_new(pair, set);
    orders = orders_new(&h->e[SERVER].server);
    follow = port_follow_new(&h->e[SERVER].server, orders, 0, &err);
    if (follow == NULL)
        fail_msg("%s", err.text);
    return 0;
}

static int finish(void **state)
{
    if (netless)
        return 0;
    port_follow_free(follow);
    orders_free(orders);
    hosts_free(h);
    return system("ip link del f1") != 0;
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static const char *shown(void)
{
    static struct text t;
    text_free(&t);
    text_init(&t, 1 << 16);
    port_follow_show(follow, &t);
    return text_str(&t);
}

// until_shown: turns, until the file has the line. 20 s is what nobody would wait for.
static void until_shown(const char *line, bool is)
{
    const uint64_t end = clock_ms() + 20000;
    for (bool busy = true; busy || (strstr(shown(), line) != NULL) != is;) {
        busy = port_follow_poll(follow, clock_ms());
        busy |= orders_poll(orders, clock_ms());
        hosts_run(h, 1);
        if (clock_ms() > end)
            fail_msg("\"%s\" is %s within 20 s:\n%s", line, is ? "not there" : "still there",
                     shown());
    }
}

// connects: whether a connection of the peer to the server's first address is established.
static bool connects(void)
{
    const struct core_counters *c = &h->e[SERVER].w->stats->c;
    const uint64_t before = c->conns_opened_passive;
    hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 50);
    return c->conns_opened_passive == before + 1;
}

#define NEEDS_NET()                                                                                \
    do {                                                                                           \
        if (netless)                                                                               \
            skip();                                                                                \
    } while (0)

static void addresses_are_served_as_long_as_the_interface_has_them(void **state)
{
    NEEDS_NET();
    until_shown("address 10.0.0.1/24", true);
    assert_true(connects());
    run("ip addr del 10.0.0.1/24 dev f1");
    until_shown("address_gone 10.0.0.1", true);
    assert_false(connects());
    run("ip addr add 10.0.0.1/24 dev f1");
    until_shown("address_gone 10.0.0.1", false);
    assert_true(connects());
    run("ip link set f1 down");
    until_shown("state down", true);
    assert_false(connects());
    run("ip link set f1 up");
    until_shown("address 10.0.0.1/24", true);
    assert_true(connects());
}

static void routes_neighbors_and_mtu_arrive(void **state)
{
    NEEDS_NET();
    run("ip route add default via 10.0.0.9 dev f1; ip link set f1 mtu 1400");
    run("ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 nud permanent dev f1");
    until_shown("route 0.0.0.0/0 10.0.0.9", true);
    until_shown("route 10.0.0.0/24 link", true);
    until_shown("neighbor 10.0.0.9 02:00:00:00:00:09", true);
    until_shown("mtu_bytes 1400", true);
    assert_int_equal(h->e[SERVER].w->tcp.cfg.mss, 1360);
    run("ip link set f1 mtu 9000");
    until_shown("mtu_bytes 1500", true);
    assert_int_equal(h->e[SERVER].w->tcp.cfg.mss, 1460);
}

// A service keeps the place of its address; so the tenth address of the family has none.
static void more_addresses_than_places_are_counted_and_the_others_served(void **state)
{
    NEEDS_NET();
    run("for i in 3 4 5 6 7 8 9 10 11; do ip addr add 10.0.0.$i/24 dev f1; done");
    until_shown("addresses_left_out 2", true);
    assert_true(connects());
    run("for i in 3 4 5 6 7; do ip addr del 10.0.0.$i/24 dev f1; done");
    until_shown("addresses_left_out 0", true);
    until_shown("address 10.0.0.11/24", true);
    assert_true(connects());
    assert_non_null(strstr(shown(), "changes_failed 0"));
}

// A listener on an address that left keeps its place: the new address gets another one.
static void a_listener_keeps_the_place_of_its_address(void **state)
{
    NEEDS_NET();
    until_shown("address 10.0.0.1/24", true);
    run("for i in 3 4 5 6 7 8 9; do ip addr add 10.0.0.$i/24 dev f1; done");
    until_shown("address 10.0.0.9/24", true);
    const struct ip_addr third = ip_from_v4(0x0a000003);
    const int place = sock_local(&h->e[SERVER].w->sock, third.b);
    assert_true(place >= 0);
    h->e[SERVER].w->tcp.services[0].local_ix = (uint16_t)place;
    run("ip addr del 10.0.0.3/24 dev f1; ip addr del 10.0.0.4/24 dev f1");
    until_shown("address_gone 10.0.0.4", true);
    run("ip addr add 10.0.0.44/24 dev f1");
    until_shown("address 10.0.0.44/24", true);
    assert_int_equal(sock_local(&h->e[SERVER].w->sock, third.b), -1);
    run("ip addr add 10.0.0.3/24 dev f1");
    until_shown("address 10.0.0.3/24", true);
    assert_int_equal(sock_local(&h->e[SERVER].w->sock, third.b), place);
}

#define FOLLOW_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    pkt_env_start(1);
    netless = unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0;
    if (netless)
        print_message("no network namespace or no TAP here: all is skipped\n");
    const struct CMUnitTest tests[] = {
        FOLLOW_TEST(addresses_are_served_as_long_as_the_interface_has_them),
        FOLLOW_TEST(routes_neighbors_and_mtu_arrive),
        FOLLOW_TEST(more_addresses_than_places_are_counted_and_the_others_served),
        FOLLOW_TEST(a_listener_keeps_the_place_of_its_address),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
