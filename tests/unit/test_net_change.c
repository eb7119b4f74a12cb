// SPDX-License-Identifier: BSD-3-Clause
// net_change(): addresses, routes, permanent neighbors and MTU that change while packets flow.
#include <errno.h>

#include "net_env.h"
#include "wire/build6.h"
#include "wire/parse6.h"

enum {
    A = 0x0a000001,   // 10.0.0.1/24
    A2 = 0x0a010001,  // 10.1.0.1/24
    B = 0x0a000002,   // a neighbor
    GATEWAY = 0x0a0000fe,
    GATEWAY2 = 0x0a0000fd,
    FAR = 0xc0000209,
    LOCAL_IX = 100,
    V4_PLACES = 4,
    PLACES = 8,
};

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}}, mac_zero,
                             mac_all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
static struct net_settings is;

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a))
        fail_msg("%s is no address", text);
    return a;
}

static void route(const char *prefix, unsigned bits, const char *via)
{
    is.routes[is.n_routes++] = (struct net_route){.prefix = ip(prefix),
                                                  .prefix_bits = (uint8_t)bits,
                                                  .via = via != NULL ? ip(via) : ip("::")};
}

static void change(void)
{
    assert_int_equal(net_change(net, now, &is, &tx), 0);
}

static int setup(void **state)
{
    struct net_config c;
    net_config_default(&c);
    c.mac = mac_a;
    c.changes = true;
    c.local_ix_first = LOCAL_IX;
    c.n_locals = PLACES;
    for (unsigned k = 0; k < PLACES; k++)
        c.locals[k] = net_local_none(k >= V4_PLACES);
    c.locals[0] = (struct net_local){ip_from_v4(A), 24};
    c.keys = keys_from((struct siphash_key){1, 2});
    start(&c);
    memset(&is, 0, sizeof(is));
    memcpy(is.locals, c.locals, sizeof(is.locals));
    is.mtu = 1500;
    route("10.0.0.0", 24, NULL);
    return 0;
}

static void give_arp(uint32_t sender, uint32_t target)
{
    uint8_t f[ARP_FRAME_BYTES];
    wire_build_arp(f, ARP_OP_REQUEST, &mac_all, &mac_b, raw32(sender), &mac_zero, raw32(target));
    give_frame(f, sizeof(f), 0);
}

static void answer_arp(uint32_t of)
{
    uint8_t f[ARP_FRAME_BYTES];
    wire_build_arp(f, ARP_OP_REPLY, &mac_a, &mac_b, raw32(of), &mac_a, raw32(A));
    give_frame(f, sizeof(f), 0);
}

static struct seg_out segment(unsigned place, const char *remote)
{
    struct seg_out s = {.seq = 1, .ack = 2, .flags = SEG_ACK};
    s.key = (struct flow_key){.remote = ip(remote),
                              .remote_port = 40000,
                              .local_port = 80,
                              .local_ix = (uint16_t)(LOCAL_IX + place)};
    return s;
}

static uint32_t send_from(unsigned place, const char *remote)
{
    const struct seg_out s = segment(place, remote);
    tx_clear();
    return net_output(net, now, &s, 1, &tx);
}

// give_syn: a TCP segment from B to `to`. Returns whether it came as one of place `place`.
static bool give_segment(uint32_t to, unsigned place)
{
    uint8_t f[128];
    struct wire_from from;
    struct seg_out s = {.seq = 1, .flags = SEG_SYN};
    s.key = (struct flow_key){.remote = ip_from_v4(to), .remote_port = 80, .local_port = 40000};
    wire_from_init(&from, &mac_b, B);
    const uint32_t len = wire_build_tcp4(f, &from, wire_mac_word(&mac_a), &s,
                                         wire_tcp_head_bytes(&s), wire_options_of(&s), false);
    give_frame(f, len, 0);
    return rx.n_segs == 1 && rx.segs[0].key.local_ix == LOCAL_IX + place;
}

static bool give_segment6(const char *to, unsigned place)
{
    uint8_t f[128];
    struct wire_from6 from;
    const struct ip_addr b = ip("2001:db8::b");
    struct seg_out s = {.seq = 1, .flags = SEG_SYN};
    s.key = (struct flow_key){.remote = ip(to), .remote_port = 80, .local_port = 40000};
    wire_from6_init(&from, &mac_b, &b);
    const uint32_t head = wire_tcp_head_bytes(&s);
    const uint32_t len =
        wire_build_tcp6(f, &from, wire_mac_word(&mac_a), &s, head, wire_options_of(&s), false);
    give_frame(f, len, 0);
    return rx.n_segs == 1 && rx.segs[0].key.local_ix == LOCAL_IX + place;
}

// is_arp_claim: whether tx's packet i claims an address to all.
static bool is_arp_claim(uint32_t i, uint32_t v4)
{
    struct wire_arp a;
    return i < tx.n && wire_parse_arp(pkt_data(tx.pkts[i]), pkt_len(tx.pkts[i]), &a) == DROP_NONE &&
           a.sender_raw == raw32(v4) && a.target_raw == raw32(v4);
}

static void a_new_address_is_announced_and_served_at_its_place(void **state)
{
    give_arp(B, A2);
    expect_drops(DROP_arp_not_for_us, 1);
    is.locals[2] = (struct net_local){ip_from_v4(A2), 24};
    change();
    assert_int_equal(tx.n, 1);
    assert_true(is_arp_claim(0, A2));
    tx_clear();
    give_arp(B, A2);
    assert_int_equal(tx.n, 1);
    assert_true(give_segment(A2, 2));
    assert_true(give_segment(A, 0));
    expect_drops(DROP_NONE, 0);
}

static void the_same_settings_again_send_nothing(void **state)
{
    change();
    change();
    assert_int_equal(tx.n, 0);
}

static void an_address_that_is_gone_is_not_ours_until_it_comes_back(void **state)
{
    const struct net_local was = is.locals[0];
    give_arp(B, A);
    assert_int_equal(send_from(0, "10.0.0.2"), 1);
    is.locals[0] = net_local_none(false);
    is.locals[3] = (struct net_local){ip_from_v4(A2), 24};
    change();
    tx_clear();
    assert_false(give_segment(A, 0));
    expect_drops(DROP_ip_not_for_us, 1);
    give_arp(B, A);
    expect_drops(DROP_arp_not_for_us, 1);
    assert_int_equal(send_from(0, "10.0.0.2"), 0);
    expect_drops(DROP_ip_address_gone, 1);
    assert_true(give_segment(A2, 3));  // the first address is at another place now
    assert_int_equal(send_from(3, "10.0.0.2"), 1);
    is.locals[0] = was;
    change();
    assert_true(give_segment(A, 0));
    assert_int_equal(send_from(0, "10.0.0.2"), 1);
    expect_drops(DROP_NONE, 0);
}

static void free_places_are_no_address(void **state)
{
    assert_false(give_segment(0, 1));
    assert_int_equal(rx.n_segs, 0);
    give_arp(0, 0);
    assert_int_equal(tx.n, 0);
    memset(drops, 0, sizeof(stats.drops));
    for (unsigned k = 0; k < PLACES; k++)
        is.locals[k] = net_local_none(k >= V4_PLACES);
    change();
    assert_false(give_segment(A, 0));
    assert_int_equal(rx.n_segs, 0);
    assert_false(give_segment(0, 0));
    assert_int_equal(rx.n_segs, 0);
    expect_drops(DROP_ip_not_for_us, 2);
    assert_false(give_segment6("2001:db8::5", V4_PLACES));
    assert_int_equal(rx.n_segs, 0);
    assert_false(give_segment6("::", V4_PLACES));
    assert_int_equal(rx.n_segs, 0);
    expect_drops(DROP_ip6_not_for_us, 2);
    struct ip_addr from;
    const struct ip_addr to = ip_from_v4(B), to6 = ip("fe80::2");
    assert_int_equal(net_egress(net, &to, &from), -1);
    assert_int_equal(net_egress(net, &to6, &from), -1);
}

static void a_route_that_changes_changes_the_next_hop(void **state)
{
    give_arp(B, A);
    tx_clear();
    assert_int_equal(send_from(0, "192.0.2.9"), 0);
    expect_drops(DROP_ip_no_route, 1);
    route("0.0.0.0", 0, "10.0.0.2");
    change();
    assert_int_equal(send_from(0, "192.0.2.9"), 1);
    is.routes[1].via = ip_from_v4(GATEWAY2);
    change();
    assert_int_equal(tx.n, 2);  // the segment of before, and a question for the new next hop
    answer_arp(GATEWAY2);
    assert_int_equal(send_from(0, "192.0.2.9"), 1);
    is.n_routes = 1;
    change();
    assert_int_equal(send_from(0, "192.0.2.9"), 0);
    expect_drops(DROP_ip_no_route, 1);
}

static void a_longer_prefix_inside_the_link_goes_to_its_next_hop(void **state)
{
    give_arp(B, A);
    tx_clear();
    route("10.0.0.128", 25, "10.0.0.2");
    route("0.0.0.0", 0, "10.0.0.254");
    change();
    assert_int_equal(send_from(0, "10.0.0.130"), 1);  // to B, who is known
    assert_int_equal(send_from(0, "10.0.0.2"), 1);
    is.n_routes = 1;
    change();
    assert_int_equal(send_from(0, "10.0.0.130"), 1);  // a question, the segment waits
    assert_int_equal(load_be16(pkt_data(tx.pkts[0]) + ETH_TYPE_AT), ETH_TYPE_ARP);
}

static void a_smaller_mtu_is_told_to_tcp(void **state)
{
    static uint8_t data[1460];
    struct icmp_event events[NET_LOST_MAX];
    struct seg_out s = segment(0, "10.0.0.2");
    s.data[0] = data;
    s.data_len[0] = sizeof(data);
    give_arp(B, A);
    tx_clear();
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    is.mtu = 1000;
    change();
    assert_int_equal(net_mss(net), 960);
    tx_clear();
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    expect_drops(DROP_ip_mtu, 1);
    assert_int_equal(net_lost(net, events), 1);
    assert_int_equal(events[0].kind, ICMP_TOO_BIG);
    assert_int_equal(events[0].mtu, 1000);
    assert_int_equal(events[0].seq, s.seq);
    assert_true(flow_key_equal(&events[0].key, &s.key));
    is.mtu = 9000;  // no larger than at the start
    change();
    assert_int_equal(net_mss(net), 1460);
}

static void permanent_neighbors_come_and_go(void **state)
{
    is.statics[0] = (struct net_static){ip_from_v4(B), {{2, 0, 0, 0, 0, 9}}};
    is.n_statics = 1;
    change();
    assert_int_equal(send_from(0, "10.0.0.2"), 1);
    assert_memory_equal(pkt_data(tx.pkts[0]), is.statics[0].mac.b, 6);
    is.statics[0].mac.b[5] = 8;
    change();
    assert_int_equal(send_from(0, "10.0.0.2"), 1);
    assert_memory_equal(pkt_data(tx.pkts[0]), is.statics[0].mac.b, 6);
    is.n_statics = 0;
    change();
    assert_int_equal(send_from(0, "10.0.0.2"), 1);  // a question
    assert_int_equal(load_be16(pkt_data(tx.pkts[0]) + ETH_TYPE_AT), ETH_TYPE_ARP);
}

static void solicit(const char *target)
{
    uint8_t f[128];
    struct wire_from6 from;
    const struct ip_addr b = ip("2001:db8::2"), to = ip(target);
    wire_from6_init(&from, &mac_b, &b);
    give_frame(f, wire_build_solicit(f, &from, &mac_b, &to, NULL, false), 0);
}

static void an_ipv6_address_is_announced_answered_and_left(void **state)
{
    solicit("2001:db8::1");
    expect_drops(DROP_ip6_group, 1);
    is.locals[V4_PLACES + 1] = (struct net_local){ip("2001:db8::1"), 64};
    route("2001:db8::", 64, NULL);
    change();
    // Of the address, and of the link-local one that the port makes.
    assert_int_equal(stats.c.tx_mld_report, 2);
    assert_int_equal(stats.c.tx_nd_advert, 2);
    tx_clear();
    solicit("2001:db8::1");
    assert_int_equal(stats.c.tx_nd_advert, 3);
    assert_int_equal(send_from(V4_PLACES + 1, "2001:db8::2"), 1);
    is.locals[V4_PLACES + 1] = net_local_none(true);
    change();
    tx_clear();
    solicit("2001:db8::1");
    expect_drops(DROP_ip6_group, 1);
    assert_int_equal(send_from(V4_PLACES + 1, "2001:db8::2"), 0);
    expect_drops(DROP_ip_address_gone, 1);
}

static void an_ipv6_address_that_leaves_is_reported_while_another_stays(void **state)
{
    is.locals[V4_PLACES] = (struct net_local){ip("2001:db8::aa"), 64};
    is.locals[V4_PLACES + 1] = (struct net_local){ip("2001:db8::5"), 64};
    change();
    tx_clear();
    const uint64_t reports = stats.c.tx_mld_report;
    is.locals[V4_PLACES] = net_local_none(true);
    change();
    assert_int_equal(stats.c.tx_mld_report, reports + 1);
    assert_int_equal(tx.n, 1);
    solicit("2001:db8::5");
    assert_int_equal(tx.n, 2);
}

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    pkt_env_start(0);
    (void)give, (void)tick_all, (void)restart;  // of net_env.h
    pool = pkt_pool_create("net", POOL_PKTS, -1);
    if (pool == NULL)
        return 1;
    pool_free = pkt_pool_free_count(pool);
    const struct CMUnitTest tests[] = {
        NET_TEST(a_new_address_is_announced_and_served_at_its_place),
        NET_TEST(the_same_settings_again_send_nothing),
        NET_TEST(an_address_that_is_gone_is_not_ours_until_it_comes_back),
        NET_TEST(free_places_are_no_address),
        NET_TEST(a_route_that_changes_changes_the_next_hop),
        NET_TEST(a_longer_prefix_inside_the_link_goes_to_its_next_hop),
        NET_TEST(a_smaller_mtu_is_told_to_tcp),
        NET_TEST(permanent_neighbors_come_and_go),
        NET_TEST(an_ipv6_address_is_announced_answered_and_left),
        NET_TEST(an_ipv6_address_that_leaves_is_reported_while_another_stays),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pkt_pool_destroy(pool);
    eal_stop();
    return failed;
}
