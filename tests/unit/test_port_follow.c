// SPDX-License-Identifier: BSD-3-Clause
// What a port takes over of a Linux interface: places of addresses; and, in a network namespace of
// this process, what netlink says of a TAP interface.
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "server/link_state.h"
#include "server/port_places.h"

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    assert_true(ip_parse(text, &a));
    return a;
}

static struct port_places places;
static struct port_wanted want;
static struct port_plan plan;

static void begin(const char *configured)
{
    struct net_config c;
    net_config_default(&c);
    c.n_locals = 1;
    c.locals[0] = (struct net_local){ip(configured), 24};
    port_places_fill(&c);
    assert_int_equal(c.n_locals, NET_LOCALS_MAX);
    port_places_init(&places, &c);
    memset(&want, 0, sizeof(want));
    want.up = true;
    want.mtu = 1500;
}

static void want_only(unsigned n, const char *const addresses[])
{
    want.n_addresses = n;
    for (unsigned i = 0; i < n; i++)
        want.addresses[i] = (struct net_local){ip(addresses[i]), 24};
    port_places_plan(&places, &want, &plan);
}

static int place_of(const char *address)
{
    const struct ip_addr a = ip(address);
    for (unsigned k = 0; k < NET_LOCALS_MAX; k++)
        if (ip_equal(&plan.settings.locals[k].addr, &a))
            return (int)k;
    return -1;
}

static void an_address_that_comes_back_has_its_place(void **state)
{
    begin("10.0.0.1");
    want_only(2, (const char *[]){"10.0.0.1", "10.0.0.7"});
    const int was = place_of("10.0.0.7");
    assert_int_equal(place_of("10.0.0.1"), 0);
    assert_true(was > 0);
    want_only(1, (const char *[]){"10.0.0.9"});
    assert_int_equal(place_of("10.0.0.7"), -1);
    assert_true(place_of("10.0.0.9") > was);
    want_only(2, (const char *[]){"10.0.0.9", "10.0.0.7"});
    assert_int_equal(place_of("10.0.0.7"), was);
    assert_int_equal(plan.n_ended, 0);
}

static void without_a_free_place_the_one_gone_for_longest_is_reused(void **state)
{
    char text[PORT_PLACES_V4 + 2][16];
    begin("10.0.0.1");
    for (unsigned i = 2; i < PORT_PLACES_V4 + 2u; i++) {
        snprintf(text[i], sizeof(text[i]), "10.0.0.%u", i);
        want_only(1, (const char *[]){text[i]});
    }
    // 10.0.0.1 is configured: its place is never another's. 10.0.0.2 left first.
    assert_int_equal(plan.n_ended, 1);
    const struct ip_addr first = ip("10.0.0.2");
    assert_true(ip_equal(&plan.ended[0], &first));
    want_only(1, (const char *[]){"10.0.0.1"});
    assert_int_equal(place_of("10.0.0.1"), 0);
}

static void what_has_no_place_is_counted(void **state)
{
    static char text[PORT_WANTED_MAX][16];
    const char *all[PORT_WANTED_MAX];
    begin("10.0.0.1");
    for (unsigned i = 0; i < PORT_WANTED_MAX; i++) {
        snprintf(text[i], sizeof(text[i]), "10.0.1.%u", i + 1);
        all[i] = text[i];
        want.routes[i] = (struct net_route){ip(text[i]), 32, ip("10.0.0.1")};
    }
    want.n_routes = PORT_WANTED_MAX;
    want_only(PORT_WANTED_MAX, all);
    assert_int_equal(plan.addresses_over, PORT_WANTED_MAX - (PORT_PLACES_V4 - 1));
    assert_int_equal(plan.routes_over, PORT_WANTED_MAX - NET_SETTINGS_ROUTES_MAX);
    assert_int_equal(plan.settings.n_routes, NET_SETTINGS_ROUTES_MAX);
}

static void both_families_have_places(void **state)
{
    begin("fd00::1");
    want_only(2, (const char *[]){"10.0.0.1", "fd00::2"});
    assert_int_equal(plan.addresses_over, 0);
    assert_true(place_of("10.0.0.1") < place_of("fd00::2"));
}

static void an_interface_that_is_down_has_no_addresses_and_no_routes(void **state)
{
    begin("10.0.0.1");
    want.routes[0] = (struct net_route){ip("0.0.0.0"), 0, ip("10.0.0.2")};
    want.n_routes = 1;
    want.up = false;
    want_only(1, (const char *[]){"10.0.0.1"});
    assert_int_equal(place_of("10.0.0.1"), -1);
    assert_int_equal(plan.settings.n_routes, 0);
    want.up = true;
    want_only(1, (const char *[]){"10.0.0.1"});
    assert_int_equal(place_of("10.0.0.1"), 0);
}

// ---- netlink

static struct link_state *link_of;
static bool netless;

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s failed", command);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// until: polls until `good` of what there is; 20 s is what nobody would wait for.
static void until(bool (*good)(const struct port_wanted *w))
{
    const uint64_t end = now_ms() + 20000;
    while (!good(link_state_now(link_of))) {
        if (now_ms() > end)
            fail_msg("not within 20 s");
        link_state_poll(link_of, now_ms());
        usleep(2000);
    }
}

static int begin_link(void **state)
{
    struct err err = {.text = ""};
    if (netless)
        return 0;
    run("ip tuntap add dev f0 mode tap");
    link_of = link_state_new("f0", &err);
    if (link_of == NULL)
        fail_msg("%s", err.text);
    return 0;
}

static int end_link(void **state)
{
    if (netless)
        return 0;
    link_state_free(link_of);
    return system("ip link del f0 2>/dev/null") < 0;
}

static bool has_address(const struct port_wanted *w, const char *text)
{
    const struct ip_addr a = ip(text);
    for (unsigned i = 0; w != NULL && i < w->n_addresses; i++)
        if (ip_equal(&w->addresses[i].addr, &a))
            return true;
    return false;
}

static bool has_route(const struct port_wanted *w, const char *to, unsigned bits, const char *via)
{
    const struct ip_addr prefix = ip(to), hop = ip(via);
    for (unsigned i = 0; w != NULL && i < w->n_routes; i++)
        if (w->routes[i].prefix_bits == bits && ip_equal(&w->routes[i].prefix, &prefix) &&
            ip_equal(&w->routes[i].via, &hop))
            return true;
    return false;
}

static bool is_down(const struct port_wanted *w)
{
    return w != NULL && !w->up;
}

static bool is_up(const struct port_wanted *w)
{
    return w != NULL && w->up && w->mtu == 1400;
}

static bool both_addresses(const struct port_wanted *w)
{
    return has_address(w, "10.7.0.2") && has_address(w, "fd07::2");
}

static bool no_v4(const struct port_wanted *w)
{
    return w != NULL && !has_address(w, "10.7.0.2") && has_address(w, "fd07::2");
}

static bool is_gone(const struct port_wanted *w)
{
    return w == NULL;
}

#define NEEDS_NET()                                                                                \
    do {                                                                                           \
        if (netless)                                                                               \
            skip();                                                                                \
    } while (0)

static void addresses_state_and_mtu_are_followed(void **state)
{
    NEEDS_NET();
    until(is_down);
    run("ip link set f0 up mtu 1400");
    until(is_up);
    run("ip addr add 10.7.0.2/24 dev f0; ip addr add fd07::2/64 dev f0 nodad");
    until(both_addresses);
    run("ip addr del 10.7.0.2/24 dev f0");
    until(no_v4);
    run("ip link del f0");
    until(is_gone);
}

static bool by_metric(const struct port_wanted *w)
{
    return has_route(w, "10.8.0.0", 16, "10.7.0.4") && !has_route(w, "10.8.0.0", 16, "10.7.0.3") &&
           has_route(w, "0.0.0.0", 0, "10.7.0.1") && has_route(w, "10.7.0.0", 24, "::") &&
           has_route(w, "fd08::", 32, "fd07::1");
}

static bool refused_are_counted(const struct port_wanted *w)
{
    const struct link_refused *r = link_state_refused(link_of);
    return r->multipath == 1 && r->tables == 1 && !has_route(w, "10.9.0.0", 16, "10.7.0.1") &&
           !has_route(w, "10.10.0.0", 16, "10.7.0.1");
}

static void routes_of_the_lowest_metric_are_followed_others_counted(void **state)
{
    NEEDS_NET();
    run("ip link set f0 up; ip addr add 10.7.0.2/24 dev f0; ip addr add fd07::2/64 dev f0 nodad");
    run("ip route add default via 10.7.0.1 dev f0");
    run("ip route add 10.8.0.0/16 via 10.7.0.3 dev f0 metric 9");
    run("ip route add 10.8.0.0/16 via 10.7.0.4 dev f0 metric 3");
    run("ip -6 route add fd08::/32 via fd07::1 dev f0");
    until(by_metric);
    run("ip route add 10.9.0.0/16 nexthop via 10.7.0.1 dev f0 nexthop via 10.7.0.5 dev f0");
    run("ip route add 10.10.0.0/16 via 10.7.0.1 dev f0 table 77");
    until(refused_are_counted);
}

static bool one_neighbor(const struct port_wanted *w)
{
    return w != NULL && w->n_neighbors == 1 && w->neighbors[0].mac.b[5] == 7;
}

static bool no_neighbor(const struct port_wanted *w)
{
    return w != NULL && w->up && w->n_neighbors == 0;
}

static void permanent_neighbors_are_followed_others_not(void **state)
{
    NEEDS_NET();
    run("ip link set f0 up; ip addr add 10.7.0.2/24 dev f0");
    run("ip neigh replace 10.7.0.9 lladdr 02:00:00:00:00:09 nud reachable dev f0");
    run("ip neigh replace 10.7.0.7 lladdr 02:00:00:00:00:07 nud permanent dev f0");
    until(one_neighbor);
    run("ip neigh del 10.7.0.7 dev f0");
    until(no_neighbor);
}

static bool many(const struct port_wanted *w)
{
    return has_address(w, "10.7.3.232");
}

// More notifications than the socket holds are sent while nobody reads: the state is right anyway.
static void lost_notifications_leave_nothing_wrong(void **state)
{
    NEEDS_NET();
    run("ip link set f0 up");
    until(no_neighbor);
    run("for i in $(seq 1 8000); do echo addr add 10.7.9.9/32 dev f0; echo addr del 10.7.9.9/32 "
        "dev f0; done | ip -batch -; ip addr add 10.7.3.232/16 dev f0");
    until(many);
    assert_true(link_state_counts(link_of)->lost != 0);
    assert_false(has_address(link_state_now(link_of), "10.7.9.9"));
}

static void an_address_that_failed_detection_is_not_used(void **state)
{
    NEEDS_NET();
    run("ip link set f0 up; sysctl -qw net.ipv6.conf.f0.accept_dad=1");
    until(no_neighbor);
    // Nobody holds the other end, so that there is no carrier, and detection does not end.
    run("ip addr add fd07::66/64 dev f0; ip addr add fd07::67/64 dev f0 nodad");
    for (uint64_t end = now_ms() + 20000;
         !has_address(link_state_now(link_of), "fd07::67") && now_ms() < end; usleep(2000))
        link_state_poll(link_of, now_ms());
    assert_true(has_address(link_state_now(link_of), "fd07::67"));
    assert_false(has_address(link_state_now(link_of), "fd07::66"));
    assert_true(link_state_refused(link_of)->addresses != 0);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, begin_link, end_link)

int main(void)
{
    netless = unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0;
    if (netless)
        print_message("no network namespace or no TAP here: tests of netlink are skipped\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_comes_back_has_its_place),
        cmocka_unit_test(without_a_free_place_the_one_gone_for_longest_is_reused),
        cmocka_unit_test(what_has_no_place_is_counted),
        cmocka_unit_test(both_families_have_places),
        cmocka_unit_test(an_interface_that_is_down_has_no_addresses_and_no_routes),
        LINK_TEST(addresses_state_and_mtu_are_followed),
        LINK_TEST(routes_of_the_lowest_metric_are_followed_others_counted),
        LINK_TEST(permanent_neighbors_are_followed_others_not),
        LINK_TEST(lost_notifications_leave_nothing_wrong),
        LINK_TEST(an_address_that_failed_detection_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
