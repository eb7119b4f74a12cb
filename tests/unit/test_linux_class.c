// SPDX-License-Identifier: BSD-3-Clause
// Which packets Linux gets on a port that it shares (net/linux_class.c), and of which class they
// are.
#include <string.h>

#include "frames.h"
#include "frames6.h"
#include "net_env.h"
#include "pkt_env.h"
#include "wire/proto.h"

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}};

static struct net_config config(void)
{
    struct net_config c;
    struct ip_addr a;
    net_config_default(&c);
    assert_true(ip_parse("2001:db8::1", &a));
    c.mac = mac_a;
    c.n_locals = 2;
    c.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    c.locals[1] = (struct net_local){a, 64};
    c.keys = keys_from((struct siphash_key){1, 2});
    c.n_udp = 1;
    c.udp[0] = (struct net_udp_port){7, UINT16_MAX, 4};
    c.to_linux = true;
    return c;
}

static int setup(void **state)
{
    const struct net_config c = config();
    start(&c);
    tick_all();  // some time after the start
    return 0;
}

// wants: the only packet of the last burst is Linux's, of that class, and nothing answered or
// dropped it.
static void wants(enum net_linux_class cls, enum net_linux_how how)
{
    assert_int_equal(rx.n_linux, 1);
    assert_int_equal(rx.linux_pkts[0].cls, cls);
    assert_int_equal(rx.linux_pkts[0].how, how);
    assert_int_equal(rx.linux_pkts[0].pkt_ix, 0);
    assert_int_equal(drops_sum(), 0);
    assert_int_equal(tx.n, 0);
}

static void wants_not(void)
{
    assert_int_equal(rx.n_linux, 0);
}

// packet: an IPv4 packet of `proto` from 10.0.0.2 with a correct header checksum and 8 bytes: two
// ports, length 8, no checksum.
static void packet(uint8_t proto, uint32_t src, uint32_t dst, uint16_t to_port, bool group)
{
    uint8_t f[ETH_BYTES + IP4_BYTES + UDP_BYTES] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
    uint8_t *ip = f + ETH_BYTES, *l4 = ip + IP4_BYTES;
    if (group)
        memset(f, 0xff, 6);
    ip[0] = 0x45;
    ip[3] = IP4_BYTES + UDP_BYTES;
    ip[IP4_TTL_AT] = 64;
    ip[IP4_PROTO_AT] = proto;
    for (unsigned i = 0; i < 4; i++) {
        ip[IP4_SRC_AT + i] = (uint8_t)(src >> (24 - 8 * i));
        ip[IP4_DST_AT + i] = (uint8_t)(dst >> (24 - 8 * i));
    }
    uint32_t sum = 0;
    for (unsigned i = 0; i < IP4_BYTES; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    sum = ~((sum & 0xffff) + (sum >> 16));
    ip[IP4_CKSUM_AT] = (uint8_t)(sum >> 8);
    ip[IP4_CKSUM_AT + 1] = (uint8_t)sum;
    l4[0] = 0x20;
    l4[2] = (uint8_t)(to_port >> 8);
    l4[3] = (uint8_t)to_port;
    l4[5] = UDP_BYTES;
    give_frame(f, sizeof(f), 0);
}

enum { US = 0x0a000001, PEER = 0x0a000002, ALL = 0xffffffff, OSPF = 89, ESP = 50 };

static void other_ip_protocols_are_linuxs_and_get_no_icmp_error(void **state)
{
    packet(ESP, PEER, US, 0, false);
    wants(NET_LINUX_PROTO, NET_LINUX_GIVE);
    packet(OSPF, PEER, 0xe0000005, 0, true);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    give(FRAME6_SCTP);
    wants(NET_LINUX_PROTO, NET_LINUX_GIVE);
}

static void datagrams_without_a_service_are_linuxs_and_get_no_icmp_error(void **state)
{
    packet(IP_PROTO_UDP, PEER, US, 9999, false);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
    struct net_config c = config();
    c.n_udp = 0;
    restart(&c);
    give(FRAME6_UDP);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
    assert_int_equal(stats.c.rx_udp6_no_port, 0);
}

static void a_datagram_of_a_service_is_not_linuxs(void **state)
{
    packet(IP_PROTO_UDP, PEER, US, 7, false);
    wants_not();
    assert_int_equal(rx.n_udp, 1);
}

static void dhcp_is_linuxs_by_broadcast_and_unicast_and_from_no_address(void **state)
{
    packet(IP_PROTO_UDP, PEER, ALL, 68, true);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    packet(IP_PROTO_UDP, PEER, US, 68, false);
    wants(NET_LINUX_PROTO, NET_LINUX_GIVE);
    packet(IP_PROTO_UDP, PEER, 0x0a000077, 68, false);  // an offer to the address that it offers
    wants(NET_LINUX_PROTO, NET_LINUX_GIVE);
    packet(IP_PROTO_UDP, 0, ALL, 67, true);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
}

static void a_port_without_an_ipv4_address_leaves_all_of_ipv4_to_linux(void **state)
{
    struct net_config c = config();
    c.locals[0] = c.locals[1];
    c.n_locals = 1;
    restart(&c);
    packet(IP_PROTO_UDP, PEER, US, 9999, false);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
    packet(IP_PROTO_TCP, PEER, US, 22, false);
    wants(NET_LINUX_TCP, NET_LINUX_GIVE);
}

static void a_port_without_an_ipv6_address_leaves_all_of_ipv6_to_linux(void **state)
{
    struct net_config c = config();
    c.n_locals = 1;
    restart(&c);
    give(FRAME6_PING);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
}

static void false_and_malformed_packets_are_not_linuxs(void **state)
{
    packet(IP_PROTO_UDP, US, US, 9999, false);  // from us
    wants_not();
    expect_drops(DROP_ip_source, 1);
    packet(IP_PROTO_UDP, 0, US, 9999, false);
    wants_not();
    expect_drops(DROP_ip_source, 1);
    uint8_t other[60] = {2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 2, 8, 0};
    give_frame(other, sizeof(other), 0);
    wants_not();
    expect_drops(DROP_eth_not_for_us, 1);
    uint8_t bad[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45};
    give_frame(bad, sizeof(bad), 0);
    wants_not();
    assert_int_equal(drops_sum(), 1);
}

static void other_ethertypes_are_linuxs_also_in_short_frames(void **state)
{
    uint8_t f[60] = {1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 2, 0x88, 0xcc};
    give_frame(f, sizeof(f), 0);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    give_frame(f, ETH_BYTES, 0);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
}

static void ping_is_answered_here_unless_linux_is_to(void **state)
{
    give(FRAME6_PING);
    wants_not();
    assert_int_equal(tx.n, 1);
    tx_clear();
    struct net_config c = config();
    c.to_linux_echo = true;
    restart(&c);
    give(FRAME6_PING);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
    packet(IP_PROTO_ICMP, PEER, 0x0a000077, 0, false);
    wants(NET_LINUX_REST, NET_LINUX_GIVE);
}

static void arp(uint16_t op, uint32_t sender, uint32_t target)
{
    uint8_t f[ARP_FRAME_BYTES] = {0xff, 0xff,        0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0,
                                  0,    2,           8,    6,    0,    1,    8, 0, 6, 4,
                                  0,    (uint8_t)op, 2,    0,    0,    0,    0, 2};
    for (unsigned i = 0; i < 4; i++) {
        f[ETH_BYTES + ARP_SENDER_IP_AT + i] = (uint8_t)(sender >> (24 - 8 * i));
        f[ETH_BYTES + ARP_TARGET_IP_AT + i] = (uint8_t)(target >> (24 - 8 * i));
    }
    give_frame(f, sizeof(f), 0);
}

static void requests_for_our_addresses_are_answered_here_alone_replies_go_to_both(void **state)
{
    arp(ARP_OP_REQUEST, PEER, US);
    wants_not();
    assert_int_equal(tx.n, 1);
    tx_clear();
    arp(ARP_OP_REPLY, PEER, US);  // not asked by us: by Linux
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    arp(ARP_OP_REQUEST, PEER, 0x0a000077);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    arp(ARP_OP_REPLY, PEER, PEER);  // an announcement of a neighbor that we know
    wants(NET_LINUX_LINK, NET_LINUX_COPY);
    give(FRAME6_TOLD);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    give(FRAME6_ADVERT_ROUTER);
    wants(NET_LINUX_LINK, NET_LINUX_GIVE);
    give(FRAME6_SOLICIT);
    wants_not();
    tx_clear();
    give(FRAME6_MLD_QUERY);  // each side reports its groups
    assert_int_equal(tx.n, 1);
    tx_clear();
    wants(NET_LINUX_LINK, NET_LINUX_COPY);
}

// Every worker of a port gets these frames: Linux gets them once.
static void of_several_workers_one_hands_arp_and_discovery_to_linux(void **state)
{
    struct net_config c = config();
    c.quiet = true;
    restart(&c);
    arp(ARP_OP_REPLY, PEER, US);
    wants_not();
    expect_drops(DROP_arp_reply_unasked, 1);
    give(FRAME6_TOLD);
    wants_not();
    expect_drops(DROP_nd_unasked, 1);
    packet(ESP, PEER, US, 0, false);
    wants(NET_LINUX_PROTO, NET_LINUX_GIVE);
}

static void without_linux_everything_is_as_before(void **state)
{
    struct net_config c = config();
    c.to_linux = false;
    restart(&c);
    packet(ESP, PEER, US, 0, false);
    wants_not();
    expect_drops(DROP_ip_protocol, 1);
    assert_int_equal(tx.n, 1);
    tx_clear();
    packet(IP_PROTO_UDP, PEER, US, 9999, false);
    wants_not();
    expect_drops(DROP_udp_no_port, 1);
    assert_int_equal(tx.n, 1);
}

// Whatever follows the EtherType: no read beyond the frame (the sanitizers look), one class.
static void frames_cut_anywhere_have_a_class(void **state)
{
    static const char *const whole[] = {FRAME_SYN,  FRAME_PING,  FRAME_UDP,  FRAME_ARP_REQUEST,
                                        FRAME6_SYN, FRAME6_PING, FRAME6_UDP, FRAME6_MLD_QUERY};
    for (unsigned i = 0; i < ARRAY_LEN(whole); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(whole[i], &len);
        for (uint32_t n = ETH_BYTES; n <= len; n++) {
            uint8_t *cut = frame_copy(f, n);
            assert_true(net_linux_class_of(cut, n) < NET_LINUX_CLASSES);
            free(cut);
        }
        free(f);
    }
}

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("test", POOL_PKTS, -1);
    assert_non_null(pool);
    pool_free = pkt_pool_free_count(pool);
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(other_ip_protocols_are_linuxs_and_get_no_icmp_error),
        T(datagrams_without_a_service_are_linuxs_and_get_no_icmp_error),
        T(a_datagram_of_a_service_is_not_linuxs),
        T(dhcp_is_linuxs_by_broadcast_and_unicast_and_from_no_address),
        T(a_port_without_an_ipv4_address_leaves_all_of_ipv4_to_linux),
        T(a_port_without_an_ipv6_address_leaves_all_of_ipv6_to_linux),
        T(false_and_malformed_packets_are_not_linuxs),
        T(other_ethertypes_are_linuxs_also_in_short_frames),
        T(ping_is_answered_here_unless_linux_is_to),
        T(requests_for_our_addresses_are_answered_here_alone_replies_go_to_both),
        T(of_several_workers_one_hands_arp_and_discovery_to_linux),
        T(without_linux_everything_is_as_before),
        T(frames_cut_anywhere_have_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
