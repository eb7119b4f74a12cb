// SPDX-License-Identifier: BSD-3-Clause
// The IPv6 half of the border: what arrives, what leaves, neighbors in virtual time.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "frames.h"
#include "frames6.h"
#include "net_env.h"
#include "pkt_env.h"
#include "wire/build6.h"
#include "wire/parse6.h"

enum {
    LOCAL_IX = 100,  // of the IPv4 address; IPv6's follow
};

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}},
                             mac_c = {{2, 0, 0, 0, 0, 3}};
static struct ip_addr A, A2, B, LINK, GATEWAY, FAR;

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a))
        fail_msg("%s is no address", text);
    return a;
}

static struct net_config config(void)
{
    struct net_config c;
    net_config_default(&c);
    c.mac = mac_a;
    c.local_ix_first = LOCAL_IX;
    c.n_locals = 3;
    c.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    c.locals[1] = (struct net_local){A, 64};
    c.locals[2] = (struct net_local){A2, 48};
    c.gateway6 = GATEWAY;
    c.keys = keys_from((struct siphash_key){1, 2});
    c.n_udp = 1;
    c.udp[0] = (struct net_udp_port){7, UINT16_MAX, 4};
    return c;
}

static int setup(void **state)
{
    A = ip("2001:db8::1");
    A2 = ip("2001:db8:5::1");
    B = ip("2001:db8::2");
    LINK = ip("fe80::ff:fe00:1");
    GATEWAY = ip("2001:db8::fe");
    FAR = ip("2001:db8:9::9");
    const struct net_config c = config();
    start(&c);
    return 0;
}

// balance: every packet given ended in one way. Drops of the tx side are none here.
static void expect_balance(void)
{
    uint64_t ended = frames_handed_up + stats.c.delivered + stats.c.answered;
#define RX_rx(name) ended += drops[DROP_##name];
#define RX_tx(name)
#define RX(name, side, cause, help) RX_##side(name)
    DROP_TABLE(RX)
#undef RX
    assert_int_equal(ended, frames_given);
}

static void forget_drops(void)
{
    frames_given = 0;
    memset(drops, 0, sizeof(stats.drops));
}

static void put_sum(uint8_t *f, uint32_t off, uint32_t n, uint8_t proto, uint32_t at)
{
    struct ip_addr src, dst;
    memcpy(src.b, f + 22, 16);
    memcpy(dst.b, f + 38, 16);
    store_be16(f + off + at, 0);
    store_raw16(f + off + at, (uint16_t)~cksum_fold(cksum_add(
                                  cksum_pseudo6(&src, &dst, proto, (uint16_t)n), f + off, n)));
}

// give_changed: the frame with bytes at `at` set, its ICMPv6, TCP or UDP checksum right again.
static struct pkt *give_changed(const char *hex, uint32_t at, const void *bytes, uint32_t n)
{
    uint32_t len;
    uint8_t *f = frame_bytes(hex, &len);
    memcpy(f + at, bytes, n);
    if (f[20] == IP_PROTO_ICMP6)
        put_sum(f, 54, len - 54, IP_PROTO_ICMP6, 2);
    else if (f[20] == IP_PROTO_TCP)
        put_sum(f, 54, len - 54, IP_PROTO_TCP, 16);
    else if (f[20] == IP_PROTO_UDP)
        put_sum(f, 54, len - 54, IP_PROTO_UDP, 6);
    struct pkt *p = give_frame(f, len, 0);
    free(f);
    return p;
}

// expect_frame: tx's packet i is, byte for byte, that frame.
static void expect_frame(uint32_t i, const char *hex)
{
    uint32_t len;
    assert_true(i < tx.n);
    uint8_t *want = frame_bytes(hex, &len);
    assert_int_equal(pkt_len(tx.pkts[i]), len);
    assert_memory_equal(pkt_data(tx.pkts[i]), want, len);
    assert_int_equal(tx.pkts[i]->m.ol_flags, 0);
    free(want);
}

static struct seg_out segment_to(const struct ip_addr *a)
{
    struct seg_out s = {.seq = 1, .ack = 2, .flags = SEG_ACK};
    s.key = (struct flow_key){*a, LOCAL_IX + 1, 0, 40000, 80};
    return s;
}

static uint32_t send_to(const struct ip_addr *a)
{
    const struct seg_out s = segment_to(a);
    return net_output(net, now, &s, 1, &tx);
}

static void give_advert(const struct ip_addr *target, const struct mac_addr *mac, uint8_t flags)
{
    uint8_t f[ND_FRAME_BYTES];
    struct wire_from6 from;
    wire_from6_init(&from, mac, target);
    wire_build_advert(f, &from, mac, &LINK, &mac_a, flags);
    give_frame(f, sizeof(f), 0);
}

// solicit: the neighbor asks for A.
static void give_solicit(const struct ip_addr *src, const struct mac_addr *mac)
{
    uint8_t f[ND_FRAME_BYTES];
    struct wire_from6 from;
    wire_from6_init(&from, mac, src);
    give_frame(f, wire_build_solicit(f, &from, mac, &A, NULL, false), 0);
}

// know: the neighbor is asked for and answers.
static void know(const struct ip_addr *a, const struct mac_addr *mac)
{
    send_to(a);
    give_advert(a, mac, ND_SOLICITED | ND_OVERRIDE);
    tx_clear();
}

// expect_ask: tx's packet i asks for `target`, at MAC `to` (NULL: its group).
static void expect_ask(uint32_t i, const struct ip_addr *target, const struct mac_addr *to)
{
    uint8_t want[ND_FRAME_BYTES];
    struct wire_from6 from;
    assert_true(i < tx.n);
    wire_from6_init(&from, &mac_a, &LINK);
    const uint32_t len = wire_build_solicit(want, &from, &mac_a, target, to, false);
    assert_int_equal(pkt_len(tx.pkts[i]), len);
    assert_memory_equal(pkt_data(tx.pkts[i]), want, len);
}

static void expect_to_mac(uint32_t i, const struct mac_addr *mac)
{
    assert_true(i < tx.n);
    assert_memory_equal(pkt_data(tx.pkts[i]), mac->b, 6);
    assert_int_equal(load_be16(pkt_data(tx.pkts[i]) + 12), ETH_TYPE_IP6);
}

static bool neighbor(const struct ip_addr *a, struct net_neighbor6 *out)
{
    for (uint32_t i = 0; i < net_nd_slots(net); i++)
        if (net_nd_read(net, i, out) && ip_equal(&out->addr, a))
            return true;
    return false;
}

// ---- input

static void segments_of_both_families_in_one_burst_keep_their_order(void **state)
{
    static const char *const frames[] = {FRAME6_GET,    FRAME_GET,   FRAME6_ACK, FRAME6_ACK,
                                         FRAME6_SYN,    FRAME6_SACK, FRAME6_EXT, FRAME_ACK,
                                         FRAME6_ATOMIC, FRAME6_GET};
    struct pkt *pkts[ARRAY_LEN(frames)];
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[i], &len);
        pkts[i] = pkt_of(pool, 0, len);
        memcpy(pkt_data(pkts[i]), f, len);
        free(f);
    }
    input(pkts, ARRAY_LEN(frames));
    assert_int_equal(rx.n_segs, ARRAY_LEN(frames));
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        const struct flow_key *k = &rx.segs[i].key;
        const bool v4 = i == 1 || i == 7;
        const struct ip_addr b4 = ip_from_v4(0x0a000002);
        assert_int_equal(rx.segs[i].pkt_ix, i);
        assert_int_equal(k->local_ix, v4 ? LOCAL_IX : LOCAL_IX + 1);
        assert_true(ip_equal(&k->remote, v4 ? &b4 : &B));
        assert_int_equal(k->remote_port, 40000);
        assert_int_equal(k->local_port, 80);
        pkt_free(pkts[i]);
    }
    assert_int_equal(stats.c.rx_tcp, 10);
    assert_int_equal(stats.c.rx_tcp6, 8);
    assert_int_equal(stats.c.rx_ip6, 8);
}

static void each_address_has_its_index(void **state)
{
    give_changed(FRAME6_GET, 38, A2.b, 16);
    assert_int_equal(rx.n_segs, 1);
    assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX + 2);
    give_changed(FRAME6_SYN, 38, A2.b, 16);
    assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX + 2);
    give_changed(FRAME6_GET, 38, LINK.b, 16);  // of the port's own making: no index
    expect_drops(DROP_ip6_link_local, 1);
    give_changed(FRAME6_GET, 38, FAR.b, 16);
    expect_drops(DROP_ip6_not_for_us, 1);
}

static void a_port_verdict_stands_for_the_checksum(void **state)
{
    uint32_t len;
    static const char *const frames[] = {FRAME6_GET, FRAME6_SYN};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *f = frame_bytes(frames[i], &len);
        give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_BAD);
        expect_drops(DROP_tcp_checksum, 1);
        f[58] ^= 1;
        give_frame(f, len, 0);
        expect_drops(DROP_tcp_checksum, 1);
        give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
        assert_int_equal(rx.n_segs, 1);
        free(f);
    }
}

static void a_source_that_no_peer_has_is_refused(void **state)
{
    static const char *const bad[] = {"ff02::1",
                                      "::1",
                                      "::",
                                      "::ffff:10.0.0.2",
                                      "::10.0.0.2",
                                      "2001:db8::1",
                                      "2001:db8:5::1",
                                      "fe80::ff:fe00:1"};
    static const char *const frames[] = {FRAME6_GET, FRAME6_SYN, FRAME6_PING, FRAME6_UDP,
                                         FRAME6_TOO_BIG};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
            const struct ip_addr a = ip(bad[i]);
            give_changed(frames[k], 22, a.b, 16);
            expect_drops(DROP_ip6_source, 1);
            assert_int_equal(rx.n_segs + rx.n_udp + rx.n_icmp + tx.n, 0);
        }
    // Discovery may have no source yet, and one of ours is a conflict.
    static const char *const discovery[] = {FRAME6_SOLICIT, FRAME6_SOLICIT_BARE, FRAME6_TOLD};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned k = 0; k < ARRAY_LEN(discovery); k++) {
            const struct ip_addr a = ip(bad[i]);
            give_changed(discovery[k], 22, a.b, 16);
            expect_drops(i == 2 && k < 2 ? DROP_nd_malformed : DROP_ip6_source, 1);
            assert_int_equal(tx.n, 0);
        }
}

static void a_group_gets_no_tcp_udp_or_echo(void **state)
{
    const struct ip_addr all = ip("ff02::1"), own = ip("ff02::1:ff00:1"),
                         other = ip("ff02::1:ff00:77"), service = ip("ff02::2");
    static const char *const frames[] = {FRAME6_GET, FRAME6_SYN, FRAME6_PING, FRAME6_UDP,
                                         FRAME6_TOO_BIG};
    const struct ip_addr *groups[] = {&all, &own, &other, &service};
    for (unsigned i = 0; i < ARRAY_LEN(groups); i++)
        for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
            give_changed(frames[k], 38, groups[i]->b, 16);
            expect_drops(DROP_ip6_group, 1);
            assert_int_equal(tx.n, 0);
        }
    give_changed(FRAME6_SOLICIT, 38, other.b, 16);
    expect_drops(DROP_ip6_group, 1);
}

static void an_address_of_ours_in_a_multicast_frame_is_refused(void **state)
{
    static const char *const frames[] = {FRAME6_GET, FRAME6_SYN,  FRAME6_PING,
                                         FRAME6_UDP, FRAME6_SCTP, FRAME6_SOLICIT_BARE};
    const struct mac_addr group = {{0x33, 0x33, 0xff, 0, 0, 1}};
    for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
        give_changed(frames[k], 0, group.b, 6);
        expect_drops(k == 4 ? DROP_ip6_next_header : DROP_ip6_link_multicast, 1);
        assert_int_equal(tx.n, 0);
    }
}

static void a_port_without_an_ipv6_address_knows_none(void **state)
{
    struct net_config c = config();
    c.n_locals = 1;
    c.gateway6 = (struct ip_addr){{0}};
    restart(&c);
    static const char *const frames[] = {FRAME6_GET, FRAME6_PING, FRAME6_SOLICIT};
    for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
        give(frames[k]);
        expect_drops(DROP_eth_type_unknown, 1);
    }
    assert_int_equal(net_nd_slots(net), 0);
    assert_int_equal(send_to(&B), 0);
    expect_drops(DROP_ip_no_route, 1);
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 1);
    give(FRAME_GET);
    assert_int_equal(rx.n_segs, 1);
}

static void a_port_without_an_ipv4_address_knows_none(void **state)
{
    struct net_config c = config();
    c.n_locals = 2;
    c.locals[0] = c.locals[1];
    c.locals[1] = c.locals[2];
    restart(&c);
    give(FRAME6_GET);
    assert_int_equal(rx.n_segs, 1);
    assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX);
    static const char *const frames[] = {FRAME_GET, FRAME_SYN, FRAME_PING, FRAME_UDP};
    for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
        give(frames[k]);
        expect_drops(DROP_ip_source, 1);
    }
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    memset(f + 30, 0, 4);  // to 0.0.0.0, which an empty list must not hold
    give_frame(f, len, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    free(f);
    expect_drops(DROP_ip_source, 1);
    give(FRAME_ARP_REQUEST);
    expect_drops(DROP_arp_not_for_us, 1);
    struct seg_out s = segment_to(&B);
    s.key.remote = ip_from_v4(0x0a000002);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    s.key.local_ix = LOCAL_IX;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    expect_drops(DROP_ip_no_route, 2);
}

static void a_segment_with_a_hop_limit_of_its_own_has_it_and_those_beside_it_not(void **state)
{
    know(&B, &mac_b);
    struct seg_out segs[3] = {segment_to(&B), segment_to(&B), segment_to(&B)};
    segs[1].opts = SEG_OPT_IP;
    segs[1].ttl = 7;
    segs[1].tos = 0xb8;
    segs[1].may_split = true;  // means nothing here
    assert_int_equal(net_output(net, now, segs, 3, &tx), 3);
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *ip = pkt_data(tx.pkts[i]) + ETH_BYTES;
        assert_int_equal(ip[7], i == 1 ? 7 : 64);
        assert_int_equal(load_be16(ip) >> 4 & 255, i == 1 ? 0xb8 : 0);
    }
}

static void cut_frames_are_dropped_at_every_length(void **state)
{
    static const char *const frames[] = {FRAME6_GET, FRAME6_EXT, FRAME6_PING, FRAME6_SOLICIT};
    for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[k], &len);
        for (uint32_t n = 0; n < len; n++) {
            give_frame(f, n, 0);
            expect_drops(n < 14   ? DROP_eth_short
                         : n < 54 ? DROP_ip6_short
                                  : DROP_ip6_payload_length,
                         1);
        }
        free(f);
    }
}

static void padding_behind_the_packet_is_no_payload(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_ACK, &len), padded[100] = {0};
    memcpy(padded, f, len);
    memset(padded + len, 0xaa, sizeof(padded) - len);
    give_frame(padded, sizeof(padded), 0);
    assert_int_equal(rx.n_segs, 1);
    assert_int_equal(rx.segs[0].data_len, 0);
    free(f);
}

// ---- ICMPv6

static void ping_is_answered_in_place(void **state)
{
    assert_null(give(FRAME6_PING));
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_PONG);
    assert_int_equal(stats.c.tx_icmp6_echo_reply, 1);
    assert_int_equal(stats.c.rx_icmp6_echo, 1);
    expect_balance();
}

static void ping_to_the_link_local_address_is_answered_from_it(void **state)
{
    give_changed(FRAME6_PING, 38, LINK.b, 16);
    assert_int_equal(tx.n, 1);
    assert_memory_equal(pkt_data(tx.pkts[0]) + 22, LINK.b, 16);
}

static void pings_over_the_rate_are_dropped_and_without_room_too(void **state)
{
    struct net_config c = config();
    c.icmp_rate_per_s = 160;  // of which one source has ten at once
    restart(&c);
    for (unsigned i = 0; i < 15; i++)
        give(FRAME6_PING);
    assert_int_equal(tx.n, 10);
    expect_drops(DROP_icmp_rate, 5);
    tx.room = tx.n;
    give(FRAME6_PING);
    give(FRAME6_SOLICIT);
    expect_drops(DROP_answer_room, 2);
}

static void errors_about_our_segments_become_events(void **state)
{
    static const struct {
        const char *hex;
        enum icmp_kind kind;
        uint16_t mtu;
    } rows[] = {{FRAME6_TOO_BIG, ICMP_TOO_BIG, 1400},
                {FRAME6_UNREACHABLE, ICMP_HARD, 0},
                {FRAME6_TIME, ICMP_SOFT, 0},
                {FRAME6_PARAMETER, ICMP_HARD, 0}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        give(rows[i].hex);
        assert_int_equal(rx.n_icmp, 1);
        const struct icmp_event *e = &rx.icmp[0];
        const struct flow_key want = {FAR, LOCAL_IX + 1, 0, 40001, 80};
        assert_true(flow_key_equal(&e->key, &want));
        assert_int_equal(e->seq, 0xdeadbeef);
        assert_int_equal(e->kind, rows[i].kind);
        assert_int_equal(e->mtu, rows[i].mtu);
        assert_int_not_equal(e->error, 0);
    }
    assert_int_equal(stats.c.rx_icmp6_too_big, 1);
    assert_int_equal(stats.c.rx_icmp6_unreachable, 1);
    assert_int_equal(stats.c.rx_icmp6_time_exceeded, 1);
    assert_int_equal(stats.c.rx_icmp6_parameter, 1);
    expect_balance();
}

static void an_mtu_is_believed_from_1280_on(void **state)
{
    static const struct {
        uint32_t said;
        uint16_t heard;  // 0: dropped
    } rows[] = {{0, 0},       {68, 0},        {1279, 0},      {1280, 1280},
                {1499, 1499}, {65535, 65535}, {65536, 65535}, {UINT32_MAX, 65535}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t mtu[4];
        store_be32(mtu, rows[i].said);
        give_changed(FRAME6_TOO_BIG, 58, mtu, 4);
        assert_int_equal(rx.n_icmp, rows[i].heard != 0);
        if (rows[i].heard != 0)
            assert_int_equal(rx.icmp[0].mtu, rows[i].heard);
        expect_drops(DROP_icmp6_mtu, rows[i].heard == 0);
    }
}

static void errors_about_other_packets_and_other_messages_are_dropped(void **state)
{
    give_changed(FRAME6_TIME, 70, FAR.b, 16);  // quotes a packet that is not ours
    expect_drops(DROP_icmp6_type, 1);
    give_changed(FRAME6_TIME, 70, LINK.b, 16);  // from an address without an index
    expect_drops(DROP_icmp6_type, 1);
    give_changed(FRAME6_TIME, 68, "\x11", 1);  // UDP
    expect_drops(DROP_icmp6_type, 1);
    static const uint8_t others[] = {0, 5, 100, 127, 129, 131, 132, 138, 143, 160, 255};
    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        give_changed(FRAME6_TIME, 54, &others[i], 1);
        expect_drops(DROP_icmp6_type, 1);
        assert_int_equal(rx.n_icmp + tx.n, 0);
    }
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_PING, &len);
    f[60] ^= 1;
    give_frame(f, len, 0);
    expect_drops(DROP_icmp6_checksum, 1);
    free(f);
}

static void a_datagram_for_nobody_is_answered_by_port_unreachable(void **state)
{
    struct net_config c = config();
    c.n_udp = 0;
    restart(&c);
    give(FRAME6_UDP);
    expect_drops(DROP_udp_no_port, 1);
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_UDP_NO_PORT);
    assert_int_equal(stats.c.tx_icmp6_unreachable, 1);
}

static void an_unknown_protocol_is_answered_by_parameter_problem(void **state)
{
    give(FRAME6_SCTP);
    expect_drops(DROP_ip6_next_header, 1);
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_SCTP_ANSWER);
    tx_clear();
    give(FRAME6_RH0);  // code 0, at the type of the routing header
    expect_drops(DROP_ip6_routing, 1);
    assert_int_equal(tx.n, 1);
    const uint8_t *m = pkt_data(tx.pkts[0]) + 54;
    assert_int_equal(m[0], 4);
    assert_int_equal(m[1], 0);
    assert_int_equal(load_be32(m + 4), 42);
    assert_int_equal(stats.c.tx_icmp6_parameter, 2);
}

static void no_error_about_what_is_not_ours_or_of_no_peer(void **state)
{
    const struct ip_addr all = ip("ff02::1"), none = ip("::");
    static const char *const frames[] = {FRAME6_SCTP, FRAME6_RH0};
    for (unsigned k = 0; k < 2; k++) {
        give_changed(frames[k], 38, FAR.b, 16);
        give_changed(frames[k], 38, all.b, 16);
        give_changed(frames[k], 22, none.b, 16);
        give_changed(frames[k], 22, all.b, 16);
        assert_int_equal(tx.n, 0);
    }
    frames_given = 8;
    expect_balance();
}

// By the route of all others as well, and from no address of the link alone.
static void a_datagram_leaves_by_the_gateway_and_from_an_address_of_ours(void **state)
{
    struct net_datagram d = {
        .from = A, .to = FAR, .from_port = 7, .to_port = 9, .data = (const uint8_t *)"x", .len = 1};
    know(&GATEWAY, &mac_c);
    assert_int_equal(net_send(net, now, &d, &tx), 0);
    assert_int_equal(tx.n, 1);
    assert_memory_equal(pkt_data(tx.pkts[0]), mac_c.b, 6);
    d.from = LINK;
    assert_int_equal(net_send(net, now, &d, &tx), -EADDRNOTAVAIL);
    d.from = B;
    assert_int_equal(net_send(net, now, &d, &tx), -EADDRNOTAVAIL);
    d.from = A;
    d.to = A2;  // ours: nothing comes back from a port
    assert_int_equal(net_send(net, now, &d, &tx), -ENETUNREACH);
    assert_int_equal(tx.n, 1);
}

static void sack_blocks_are_read(void **state)
{
    assert_non_null(give(FRAME6_SACK));
    assert_int_equal(rx.n_segs, 1);
    assert_int_equal(rx.segs[0].sack_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(rx.sacks[0][i].start, 2 * i + 1);
        assert_int_equal(rx.sacks[0][i].end, 2 * i + 2);
    }
}

static void a_configured_neighbor_is_never_asked_nor_forgotten(void **state)
{
    struct net_config c = config();
    c.n_statics = 1;
    c.statics[0] = (struct net_static){B, mac_b};
    restart(&c);
    for (unsigned i = 0; i < 5; i++) {
        after_ms(2 * NET_NEIGHBOR_REACHABLE_MS);
        tick_all();
        assert_int_equal(tx.n, 0);
        assert_int_equal(stats.c.nd_expired, 0);
        assert_int_equal(send_to(&B), 1);
        assert_memory_equal(pkt_data(tx.pkts[0]), mac_b.b, 6);
        tx_clear();
    }
}

// RFC 4443 2.2 (a).
static void an_error_comes_from_the_address_that_was_asked(void **state)
{
    const struct ip_addr *const ours[] = {&A, &A2, &LINK};
    for (unsigned i = 0; i < ARRAY_LEN(ours); i++) {
        give_changed(FRAME6_SCTP, 38, ours[i]->b, 16);
        assert_int_equal(tx.n, 1);
        assert_memory_equal(pkt_data(tx.pkts[0]) + 22, ours[i]->b, 16);
        tx_clear();
    }
}

// RFC 4443 2.4 (e.3), (e.4): to many on the link, though the packet names one of us.
static void no_error_about_what_was_sent_to_many(void **state)
{
    const struct mac_addr group = {{0x33, 0x33, 0, 0, 0, 1}};
    struct net_config c = config();
    c.n_udp = 0;
    restart(&c);
    static const char *const frames[] = {FRAME6_SCTP, FRAME6_RH0, FRAME6_UDP};
    for (unsigned k = 0; k < ARRAY_LEN(frames); k++) {
        give_changed(frames[k], 0, group.b, sizeof(group.b));
        assert_int_equal(tx.n, 0);
        give(frames[k]);
        assert_int_equal(tx.n, 1);
        tx_clear();
    }
}

// Whose sum the port has verified is not looked at again; the others' are.
static void udp_sums_are_verified_unless_the_port_did(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_UDP, &len);
    f[len - 1] ^= 1;
    give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    assert_int_equal(rx.n_udp, 1);
    give_frame(f, len, 0);
    assert_int_equal(rx.n_udp, 0);
    expect_drops(DROP_udp_checksum, 1);
    free(f);
}

static void an_error_without_room_or_packet_is_counted_as_limited(void **state)
{
    tx.room = 0;
    give(FRAME6_SCTP);
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.icmp_errors_limited, 1);
    tx.room = TX_ROOM;
    give(FRAME6_SCTP);
    assert_int_equal(tx.n, 1);
    assert_int_equal(stats.c.icmp_errors_limited, 1);
}

static void errors_keep_to_their_rate_and_size(void **state)
{
    struct net_config c = config();
    c.icmp_errors_per_s = 80;  // of which one source has five at once
    c.n_udp = 0;
    restart(&c);
    static uint8_t f[1514];
    struct wire_from6 from;
    wire_from6_init(&from, &mac_b, &B);
    const uint32_t len = wire_build_udp6(f, &from, wire_mac_word(&mac_a), &A, 5000, 7, 1452);
    for (unsigned i = 0; i < 8; i++)
        give_frame(f, len, 0);
    assert_int_equal(tx.n, 5);
    assert_int_equal(pkt_len(tx.pkts[0]), 14 + 1280);
    assert_memory_equal(pkt_data(tx.pkts[0]) + 62, f + 14, 1232);
    struct wire_ip6 parsed;
    struct wire_icmp6 m;
    assert_int_equal(wire_parse_ip6(pkt_data(tx.pkts[0]), 14 + 1280, &parsed), DROP_NONE);
    assert_int_equal(wire_parse_icmp6(pkt_data(tx.pkts[0]), &parsed, &m), DROP_NONE);
    assert_int_equal(stats.c.icmp_errors_limited, 3);
    expect_drops(DROP_udp_no_port, 8);
}

// ---- UDP

static void a_datagram_for_a_service_is_handed_up_and_its_answer_turns_round(void **state)
{
    uint32_t len, room;
    uint8_t *f = frame_bytes(FRAME6_UDP, &len);
    struct pkt *p = pkt_of(pool, 0, len), *in = p;
    memcpy(pkt_data(p), f, len);
    input(&in, 1);
    assert_int_equal(rx.n_udp, 1);
    const struct udp_in *u = &rx.udp[0];
    assert_true(ip_equal(&u->src, &B));
    assert_int_equal(u->src_port, 5000);
    assert_int_equal(u->service, 4);
    assert_int_equal(u->local, 1);
    assert_int_equal(u->data_len, 5);
    assert_memory_equal(pkt_data(p) + u->data_off, "hello", 5);
    struct pkt *answer = net_udp_begin(net, u, &tx, &room);
    assert_int_equal(room, 1452);
    memcpy(net_udp_payload(u, answer), "world!", 6);
    net_udp_send(net, now, u, p, answer, 6, &tx);
    expect_frame(0, FRAME6_UDP_ANSWER);
    pkt_free(p);
    free(f);
    assert_int_equal(stats.c.rx_udp6, 1);
    expect_balance();
}

static void a_service_of_one_address_is_none_on_the_other(void **state)
{
    struct net_config c = config();
    c.udp[0].local_ix = LOCAL_IX + 2;
    restart(&c);
    give(FRAME6_UDP);
    expect_drops(DROP_udp_no_port, 1);
    give_changed(FRAME6_UDP, 38, A2.b, 16);
    assert_int_equal(rx.n_udp, 1);
    assert_int_equal(rx.udp[0].local, 2);
    give_changed(FRAME6_UDP, 38, LINK.b, 16);
    expect_drops(DROP_ip6_link_local, 1);
}

// ---- neighbor discovery: who asks for us

static void a_solicitation_is_answered_and_the_asker_learned(void **state)
{
    struct net_neighbor6 n;
    assert_null(give(FRAME6_SOLICIT));
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_ADVERT);
    assert_true(neighbor(&B, &n));
    assert_memory_equal(n.mac.b, mac_b.b, 6);
    send_to(&B);  // used as it is, while it is asked
    expect_to_mac(1, &mac_b);
    tx_clear();
    tick_all();
    expect_ask(0, &B, &mac_b);
    give(FRAME6_TOLD);
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    expect_balance();
}

static void a_unicast_solicitation_without_an_address_is_answered_too(void **state)
{
    struct net_neighbor6 n;
    assert_null(give(FRAME6_SOLICIT_BARE));
    expect_frame(0, FRAME6_ADVERT);
    assert_false(neighbor(&B, &n));
}

static void a_probe_for_our_address_is_answered_to_all_nodes(void **state)
{
    assert_null(give(FRAME6_PROBE));
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_PROBE_ANSWER);
    expect_balance();
}

static void an_answer_that_does_not_fit_in_its_packet_is_none(void **state)
{
    static const char *const frames[] = {FRAME6_PROBE, FRAME6_SOLICIT_BARE};
    for (unsigned i = 0; i < 2; i++)
        for (uint32_t room = 0; room <= ND_LLA_BYTES; room++) {
            uint32_t len;
            uint8_t *f = frame_bytes(frames[i], &len);
            struct pkt *p = pkt_of(pool, 0, len), *in = p;
            const uint16_t whole = p->m.buf_len;
            memcpy(pkt_data(p), f, len);
            p->m.buf_len = (uint16_t)(p->m.data_off + len + room);
            input(&in, 1);
            p->m.buf_len = whole;
            assert_int_equal(tx.n, room == ND_LLA_BYTES);
            expect_drops(DROP_answer_room, room != ND_LLA_BYTES);
            tx_clear();
            if (in != NULL)
                pkt_free(in);
            free(f);
        }
}

static void the_link_local_address_is_answered_for(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME6_SOLICIT, &len);
    memcpy(f + 62, LINK.b, 16);  // its group is the same
    put_sum(f, 54, len - 54, IP_PROTO_ICMP6, 2);
    assert_null(give_frame(f, len, 0));
    assert_memory_equal(pkt_data(tx.pkts[0]) + 62, LINK.b, 16);
    assert_memory_equal(pkt_data(tx.pkts[0]) + 22, LINK.b, 16);
    memcpy(f + 62, ip("2001:db8:77::1").b, 16);  // and so is that of one that is not ours
    put_sum(f, 54, len - 54, IP_PROTO_ICMP6, 2);
    give_frame(f, len, 0);
    expect_drops(DROP_nd_not_for_us, 1);
    free(f);
}

static void a_configured_link_local_address_stands_for_the_ports_own(void **state)
{
    struct net_config c = config();
    const struct ip_addr mine = ip("fe80::77");
    c.n_locals = 5;
    c.locals[3] = (struct net_local){mine, 64};
    c.locals[4] = (struct net_local){ip("fe80::78"), 64};  // the first one counts
    restart(&c);
    send_to(&B);
    assert_memory_equal(pkt_data(tx.pkts[0]) + 22, mine.b, 16);
    give_changed(FRAME6_GET, 38, mine.b, 16);
    assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX + 3);
    give_changed(FRAME6_PING, 38, LINK.b, 16);
    expect_drops(DROP_ip6_not_for_us, 1);
}

static void an_asker_off_the_link_is_answered_and_not_learned(void **state)
{
    struct net_neighbor6 n;
    give_solicit(&FAR, &mac_b);
    assert_int_equal(tx.n, 1);
    assert_false(neighbor(&FAR, &n));
    const struct ip_addr there = ip("fe80::9");
    give_solicit(&there, &mac_b);
    assert_true(neighbor(&there, &n));
}

static void a_quiet_net_learns_and_says_nothing(void **state)
{
    struct net_config c = config();
    struct net_neighbor6 n;
    c.quiet = true;
    restart(&c);
    assert_non_null(give(FRAME6_SOLICIT));
    give(FRAME6_MLD_QUERY);
    give(FRAME6_PROBE_ANSWER);
    assert_int_equal(tx.n, 0);
    assert_true(neighbor(&B, &n));
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 1);  // who the gateway is, it asks for itself
    expect_ask(0, &GATEWAY, NULL);
    forget_drops();
}

static void a_solicitation_with_a_false_sender_is_dropped(void **state)
{
    struct net_neighbor6 n;
    const struct mac_addr group = {{3, 0, 0, 0, 0, 2}}, zero = {{0}};
    const struct mac_addr *macs[] = {&group, &zero, &mac_a};
    for (unsigned i = 0; i < 3; i++) {
        give_changed(FRAME6_SOLICIT, 80, macs[i]->b, 6);
        expect_drops(DROP_nd_not_for_us, 1);
        give_changed(FRAME6_SOLICIT, 6, macs[i]->b, 6);
        expect_drops(DROP_nd_not_for_us, 1);
    }
    assert_false(neighbor(&B, &n));
    assert_int_equal(tx.n, 0);
    give_changed(FRAME6_SOLICIT, 21, "\xfe", 1);  // has crossed a router
    expect_drops(DROP_nd_hops, 1);
}

static void routers_are_not_listened_to(void **state)
{
    give(FRAME6_ADVERT_ROUTER);
    expect_drops(DROP_nd_router, 1);
    static const uint8_t types[] = {133, 134, 137};
    for (unsigned i = 0; i < 3; i++) {
        give_changed(FRAME6_SOLICIT_BARE, 54, &types[i], 1);
        expect_drops(DROP_nd_router, 1);
    }
    assert_int_equal(tx.n, 0);
}

static void a_claim_of_our_address_is_counted_and_defended_once_in_ten_seconds(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        give_advert(&A, &mac_b, ND_OVERRIDE);
        expect_drops(DROP_nd_not_for_us, 1);
    }
    give_solicit(&A, &mac_b);  // asks out of our address
    expect_drops(DROP_nd_not_for_us, 1);
    assert_int_equal(stats.c.nd_conflicts, 4);
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_PROBE_ANSWER);
    after_ms(NET_DEFEND_MS);
    give_advert(&A, &mac_b, ND_OVERRIDE);
    assert_int_equal(tx.n, 2);
}

static void neighbors_of_an_ended_process_are_known_to_the_next_one(void **state)
{
    struct net_config next = config();
    next.keys = keys_from((struct siphash_key){3, 4});
    know(&B, &mac_b);
    know(&GATEWAY, &mac_c);
    const struct ip_addr silent = ip("2001:db8::77");
    send_to(&silent);  // nobody answers
    assert_int_equal(succeed(&next, image_of(&next)), 2);
    struct net_neighbor6 n;
    assert_false(neighbor(&silent, &n));
    assert_int_equal(send_to(&B) + send_to(&GATEWAY), 2);
    expect_to_mac(0, &mac_b);
    expect_to_mac(1, &mac_c);
}

// ---- neighbor discovery: whom we ask for

static void a_segment_to_an_unknown_neighbor_waits_and_the_answer_releases_it(void **state)
{
    struct net_neighbor6 n;
    assert_int_equal(send_to(&B), 1);
    assert_int_equal(tx.n, 1);
    expect_frame(0, FRAME6_ASK);
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_PENDING);
    give(FRAME6_TOLD);
    assert_int_equal(tx.n, 2);
    expect_to_mac(1, &mac_b);
    assert_memory_equal(pkt_data(tx.pkts[1]) + 38, B.b, 16);
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    assert_int_equal(stats.c.tx_tcp6, 1);
    expect_balance();
}

static void packets_wait_for_a_neighbor_that_is_asked_for_once_a_second(void **state)
{
    for (unsigned i = 0; i < 10; i++) {
        send_to(&B);
        tick_all();
    }
    assert_int_equal(tx.n, 1);
    for (unsigned i = 0; i < NET_WAIT_MAX; i++)
        send_to(&B);
    expect_drops(DROP_nd_wait_replaced, 10);
    after_ms(1000);
    tick_all();
    after_ms(1000);
    tick_all();
    assert_int_equal(tx.n, 3);
    expect_ask(1, &B, NULL);
    expect_ask(2, &B, NULL);
    after_ms(1000);
    tick_all();
    struct net_neighbor6 n;
    assert_int_equal(tx.n, 3);
    assert_false(neighbor(&B, &n));
    expect_drops(DROP_nd_wait_expired, NET_WAIT_MAX);
    assert_int_equal(stats.c.nd_expired, 1);
    struct icmp_event lost[NET_LOST_MAX];
    assert_int_equal(net_lost(net, lost), MIN(NET_LOST_MAX, NET_WAIT_MAX));
    assert_memory_equal(&lost[0].key.remote, &B, sizeof(B));
    assert_int_equal(lost[0].error, EHOSTUNREACH);
}

static void an_advertisement_that_nobody_asked_for_is_dropped(void **state)
{
    struct net_neighbor6 n;
    give(FRAME6_TOLD);
    expect_drops(DROP_nd_unasked, 1);
    assert_false(neighbor(&B, &n));
    send_to(&B);
    give_changed(FRAME6_TOLD, 78, "\x0e", 1);  // the answer does not say where
    expect_drops(DROP_nd_unasked, 1);
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_PENDING);
}

// RFC 4861 7.2.5 and its appendix C: state, flags of the advertisement, whether it brings another
// MAC; what the MAC and state are then.
static void flags_of_an_advertisement_do_what_rfc_4861_says(void **state)
{
    static const struct {
        uint8_t flags;
        bool other;
        bool takes;  // the other MAC
        enum net_neighbor_state then;
    } rows[] = {
        {0, false, false, NET_NEIGHBOR_REACHABLE},
        {ND_OVERRIDE, false, false, NET_NEIGHBOR_REACHABLE},
        {ND_SOLICITED, false, false, NET_NEIGHBOR_REACHABLE},
        {0, true, false, NET_NEIGHBOR_PROBE},
        {ND_SOLICITED, true, false, NET_NEIGHBOR_PROBE},
        {ND_OVERRIDE, true, true, NET_NEIGHBOR_PROBE},
        {ND_SOLICITED | ND_OVERRIDE, true, true, NET_NEIGHBOR_REACHABLE},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct net_neighbor6 n;
        const struct net_config c = config();
        restart(&c);
        know(&B, &mac_b);
        give_advert(&B, rows[i].other ? &mac_c : &mac_b, rows[i].flags);
        assert_true(neighbor(&B, &n));
        assert_memory_equal(n.mac.b, (rows[i].takes ? &mac_c : &mac_b)->b, 6);
        assert_int_equal(n.state, rows[i].then);
    }
    const struct net_config c = config();
    restart(&c);
    for (unsigned flags = 0; flags < 4; flags++) {  // not known yet: taken with any
        struct net_neighbor6 n;
        const struct ip_addr a = ip("2001:db8::30");
        struct ip_addr at = a;
        at.b[14] = (uint8_t)flags;
        send_to(&at);
        give_advert(&at, &mac_c, (uint8_t)(flags << 5));
        assert_true(neighbor(&at, &n));
        assert_int_equal(n.state, flags & 2 ? NET_NEIGHBOR_REACHABLE : NET_NEIGHBOR_PROBE);
    }
}

static void a_neighbor_that_is_used_is_asked_again_by_itself_then_by_its_group(void **state)
{
    know(&B, &mac_b);
    after_ms(NET_NEIGHBOR_REACHABLE_MS - 100);
    send_to(&B);
    expect_to_mac(0, &mac_b);
    tx_clear();
    after_ms(200);
    tick_all();
    expect_ask(0, &B, &mac_b);
    send_to(&B);  // meanwhile it is used
    expect_to_mac(1, &mac_b);
    after_ms(1000);
    tick_all();
    after_ms(1000);
    tick_all();
    assert_int_equal(tx.n, 4);
    expect_ask(2, &B, &mac_b);
    expect_ask(3, &B, NULL);
    after_ms(1000);
    tick_all();
    struct net_neighbor6 n;
    assert_false(neighbor(&B, &n));
    assert_int_equal(tx.n, 4);
}

// To the millisecond: whichever part of the cache is looked at when it has been unused so long.
static void neighbor_unused_for_just_so_long_is_not_asked_again(void **state)
{
    enum { ROUND = 1024 / NET_TICK_SLOTS };
    for (unsigned first = 0; first < ROUND; first++) {
        const struct net_config c = config();
        restart(&c);
        for (unsigned i = 0; i < first; i++) {
            after_ms(1);
            net_tick(net, now, &tx);
        }
        know(&B, &mac_b);
        tx_clear();
        after_ms(NET_NEIGHBOR_REACHABLE_MS);
        net_tick(net, now, &tx);
        tick_all();
        assert_int_equal(tx.n, 0);
        assert_int_equal(stats.c.nd_expired, 1);
    }
}

static void a_neighbor_that_nobody_uses_is_forgotten(void **state)
{
    know(&B, &mac_b);
    struct net_neighbor6 n;
    after_ms(NET_NEIGHBOR_REACHABLE_MS + 1000);
    tick_all();
    assert_int_equal(tx.n, 0);
    assert_false(neighbor(&B, &n));
}

static void announcing_asks_the_group_of_each_known_neighbor(void **state)
{
    struct net_neighbor6 n;
    know(&B, &mac_b);
    net_announce(net, now, &tx);
    tx_clear();
    tick_all();
    assert_int_equal(tx.n, 1);
    expect_ask(0, &B, NULL);
    give_advert(&B, &mac_c, ND_SOLICITED | ND_OVERRIDE);
    assert_true(neighbor(&B, &n));
    assert_memory_equal(n.mac.b, mac_c.b, 6);
}

static void a_gateway_is_kept_and_asked_for_at_start(void **state)
{
    net_announce(net, now, &tx);
    expect_ask(tx.n - 1, &GATEWAY, NULL);
    give_advert(&GATEWAY, &mac_c, ND_SOLICITED | ND_OVERRIDE);
    for (unsigned i = 0; i < 5; i++) {
        tx_clear();
        after_ms(NET_NEIGHBOR_REACHABLE_MS);
        tick_all();
        assert_int_equal(tx.n, 1);  // probed, although nothing was sent
        give_advert(&GATEWAY, &mac_c, ND_SOLICITED);
    }
    struct net_neighbor6 n;
    assert_true(neighbor(&GATEWAY, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
}

static void what_is_announced_is_probe_advertisement_and_report(void **state)
{
    struct net_config c = config();
    c.n_locals = 2;
    c.gateway6 = (struct ip_addr){{0}};
    c.arp_rate_per_s = 1;  // which is of what others cause
    restart(&c);
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 1 + 1 + 2 * 2);  // ARP; MLD; A and the link-local address
    const uint8_t *f = pkt_data(tx.pkts[1]);
    assert_int_equal(f[62], MLD_REPORT);
    assert_int_equal(load_be32(f + 66), 1);  // both have the same group
    expect_frame(2, FRAME6_OWN_PROBE);
    expect_frame(3, FRAME6_PROBE_ANSWER);
    assert_memory_equal(pkt_data(tx.pkts[4]) + 62, LINK.b, 16);
    assert_memory_equal(pkt_data(tx.pkts[5]) + 62, LINK.b, 16);
    assert_int_equal(stats.c.tx_nd_solicit, 2);
    assert_int_equal(stats.c.tx_nd_advert, 2);
    assert_int_equal(stats.c.tx_mld_report, 1);
    tx_clear();
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 1 + 1 + 2 * 2);
}

static void an_announcement_fits_in_the_room_that_the_header_names(void **state)
{
    struct net_config c = config();
    c.n_locals = NET_LOCALS_MAX;
    for (unsigned i = 1; i < NET_LOCALS_MAX; i++) {
        c.locals[i] = (struct net_local){A, 64};
        c.locals[i].addr.b[15] = (uint8_t)i;
    }
    c.n_routes = NET_ROUTES_MAX;
    for (unsigned i = 0; i < NET_ROUTES_MAX; i++) {
        c.routes[i] = (struct net_route){ip("2001:db8:100::"), 48, B};
        c.routes[i].prefix.b[5] = (uint8_t)i;
        c.routes[i].via.b[14] = (uint8_t)(i + 1);
    }
    restart(&c);
    tx.room = 2 * c.n_locals + c.n_routes + 5;
    net_announce(net, now, &tx);
    assert_int_equal(stats.c.nd_limited, 0);
    assert_int_equal(drops[DROP_pkt_pool_empty], 0);
}

static void a_query_of_the_switch_is_answered_by_a_report(void **state)
{
    assert_non_null(give(FRAME6_MLD_QUERY));
    assert_int_equal(tx.n, 1);
    const uint8_t *f = pkt_data(tx.pkts[0]);
    assert_int_equal(f[62], MLD_REPORT);
    assert_int_equal(f[70], MLD_IS_EXCLUDE);
    assert_int_equal(stats.c.rx_mld_query, 1);
    expect_balance();
    give_changed(FRAME6_MLD_QUERY, 21, "\x02", 1);
    expect_drops(DROP_icmp6_type, 1);
}

// expect_report: the packet to send says so many groups, the last one `group`, by that kind.
static void expect_report(uint32_t at, uint8_t kind, uint16_t groups, const struct ip_addr *group)
{
    const uint8_t *f = pkt_data(tx.pkts[at]);
    assert_true(at < tx.n);
    assert_int_equal(f[62], MLD_REPORT);
    assert_int_equal(load_be16(f + 68), groups);
    assert_int_equal(f[70 + (groups - 1) * MLD_RECORD_BYTES], kind);
    assert_memory_equal(f + 74 + (groups - 1) * MLD_RECORD_BYTES, group->b, 16);
}

static void a_group_that_is_joined_is_reported_until_it_is_left(void **state)
{
    const struct ip_addr group = ip("ff15::1234");
    assert_int_equal(net_group_join(net, now, &group, &tx), 0);
    assert_int_equal(net_group_join(net, now, &group, &tx), 0);
    assert_int_equal(tx.n, 1);
    expect_report(0, MLD_TO_EXCLUDE, 1, &group);
    tx_clear();
    give(FRAME6_MLD_QUERY);
    assert_int_equal(tx.n, 1);
    expect_report(0, MLD_IS_EXCLUDE, load_be16((uint8_t *)pkt_data(tx.pkts[0]) + 68), &group);
    tx_clear();
    assert_int_equal(net_group_leave(net, now, &group, &tx), 0);
    assert_int_equal(tx.n, 0);
    assert_int_equal(net_group_leave(net, now, &group, &tx), 0);
    expect_report(0, MLD_TO_INCLUDE, 1, &group);
    assert_int_equal(net_group_leave(net, now, &group, &tx), -EADDRNOTAVAIL);
    assert_int_equal(net_group_join(net, now, &A, &tx), -EINVAL);
}

static void groups_are_bounded_and_all_of_them_reported(void **state)
{
    struct ip_addr group = ip("ff15::1:0"), four = ip_from_v4(0xef010203);
    struct net_tx nowhere = {.room = 0};
    for (unsigned i = 0; i < NET_GROUPS_MAX; i++) {
        group.b[15] = (uint8_t)i;
        assert_int_equal(net_group_join(net, now, &group, &nowhere), 0);
    }
    group.b[14] = 9;
    assert_int_equal(net_group_join(net, now, &group, &nowhere), -ENOBUFS);
    assert_int_equal(net_group_join(net, now, &group, &nowhere), -ENOBUFS);
    assert_int_equal(net_group_join(net, now, &four, &nowhere), 0);  // IPv4's are apart
    give(FRAME6_MLD_QUERY);
    assert_int_equal(tx.n, 2);
    unsigned n = 0;
    for (unsigned i = 0; i < tx.n; i++) {
        assert_true(pkt_len(tx.pkts[i]) <= ETH_BYTES + IP6_MTU_MIN);
        n += load_be16((uint8_t *)pkt_data(tx.pkts[i]) + 68);
    }
    assert_true(n > NET_GROUPS_MAX);
}

static void solicitations_keep_to_their_rate(void **state)
{
    struct net_config c = config();
    c.arp_rate_per_s = 100;  // a burst of ten
    restart(&c);
    for (unsigned i = 0; i < 50; i++) {
        struct ip_addr a = B;
        a.b[13] = (uint8_t)i;
        send_to(&a);
    }
    assert_int_equal(tx.n, 10);
    assert_int_equal(stats.c.nd_limited, 40);
}

static void a_scan_fills_half_the_cache_at_most_and_evicts_no_known_neighbor(void **state)
{
    struct net_config c = config();
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    restart(&c);
    know(&GATEWAY, &mac_c);
    know(&B, &mac_b);
    for (uint32_t i = 0; i < 20000; i++) {
        struct ip_addr a = ip("2001:db8::1:0:0:0");
        store_be32(a.b + 12, i + 1);
        send_to(&a);
        tx_clear();
        if (i % 100 == 0)
            after_ms(1);
    }
    struct net_neighbor6 n;
    unsigned pending = 0;
    for (uint32_t i = 0; i < net_nd_slots(net); i++)
        pending += net_nd_read(net, i, &n) && n.state == NET_NEIGHBOR_PENDING;
    assert_in_range(pending, 16, NET_NEIGHBOR_ENTRIES_MIN / 2);
    assert_true(neighbor(&GATEWAY, &n) && n.state == NET_NEIGHBOR_REACHABLE);
    assert_true(neighbor(&B, &n) && n.state == NET_NEIGHBOR_REACHABLE);
    assert_int_equal(drops[DROP_nd_cache_full] + pending, 20000);
}

static void askers_from_everywhere_do_not_replace_a_gateway(void **state)
{
    struct net_config c = config();
    struct net_neighbor6 n;
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    restart(&c);
    know(&GATEWAY, &mac_c);
    for (uint32_t i = 0; i < 3000; i++) {
        struct ip_addr a = ip("2001:db8::2:0:0:0");
        store_be32(a.b + 12, i);
        after_ms(1);
        give_solicit(&a, &mac_b);
        assert_true(neighbor(&a, &n));
        tx_clear();
    }
    assert_true(neighbor(&GATEWAY, &n));
    assert_memory_equal(n.mac.b, mac_c.b, 6);
    assert_in_range(stats.c.nd_evicted, 2900, 3000);
}

static void a_cache_full_of_known_neighbors_still_asks_for_a_new_one(void **state)
{
    struct net_config c = config();
    struct net_neighbor6 n;
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    restart(&c);
    know(&GATEWAY, &mac_c);
    for (uint32_t i = 0; i < 3000; i++) {
        struct ip_addr a = ip("2001:db8::2:0:0:0");
        store_be32(a.b + 12, i);
        after_ms(1);
        give_solicit(&a, &mac_b);
        tx_clear();
    }
    unsigned known = 0;
    for (uint32_t i = 0; i < net_nd_slots(net); i++)
        known += net_nd_read(net, i, &n) && n.state != NET_NEIGHBOR_PENDING;
    assert_int_equal(known, NET_NEIGHBOR_ENTRIES_MIN);
    const uint64_t asked = stats.c.tx_nd_solicit;
    send_to(&B);
    assert_int_equal(stats.c.tx_nd_solicit, asked + 1);
    tx_clear();
    give_advert(&B, &mac_b, ND_SOLICITED | ND_OVERRIDE);
    assert_int_equal(tx.n, 1);  // the packet that waited
    expect_to_mac(0, &mac_b);
    assert_true(neighbor(&GATEWAY, &n));
    assert_int_equal(drops[DROP_nd_cache_full], 0);
}

static bool asked_for(const struct ip_addr *a)
{
    bool asked = false;
    for (uint32_t i = 0; i < tx.n; i++) {
        const uint8_t *f = pkt_data(tx.pkts[i]);
        asked |= f[54] == ND_SOLICIT && memcmp(f + 62, a->b, sizeof(a->b)) == 0;
    }
    return asked;
}

static void a_flood_does_not_make_known_neighbors_and_gateways_expire(void **state)
{
    struct net_config c = config();
    restart(&c);
    know(&GATEWAY, &mac_c);
    know(&B, &mac_b);
    struct ip_addr next = ip("2001:db8::3:0:0:0");
    for (uint32_t ms = 0, k = 0; ms < 200000; ms++) {
        after_ms(1);
        for (unsigned i = 0; i < 5; i++) {
            store_be32(next.b + 12, k++);
            send_to(&next);
        }
        tx_clear();
        net_tick(net, now, &tx);
        const bool gateway = asked_for(&GATEWAY), b = asked_for(&B);
        tx_clear();
        if (gateway)
            give_advert(&GATEWAY, &mac_c, ND_SOLICITED | ND_OVERRIDE);
        if (b)
            give_advert(&B, &mac_b, ND_SOLICITED | ND_OVERRIDE);
        tx_clear();
        if (ms % 100 != 0)
            continue;
        assert_int_equal(send_to(&FAR) + send_to(&B), 2);
        expect_to_mac(0, &mac_c);
        expect_to_mac(1, &mac_b);
        tx_clear();
    }
    assert_true(stats.c.nd_limited > 500000);
}

static void static_neighbors_are_never_asked_nor_changed(void **state)
{
    struct net_config c = config();
    c.n_statics = 2;
    c.statics[0] = (struct net_static){ip_from_v4(0x0a000009), mac_c};
    c.statics[1] = (struct net_static){B, mac_b};
    restart(&c);
    send_to(&B);
    assert_int_equal(tx.n, 1);
    expect_to_mac(0, &mac_b);
    give_advert(&B, &mac_c, ND_SOLICITED | ND_OVERRIDE);
    expect_drops(DROP_nd_unasked, 1);
    give_solicit(&B, &mac_c);
    tx_clear();
    after_ms(10 * NET_NEIGHBOR_REACHABLE_MS);
    tick_all();
    assert_int_equal(tx.n, 0);
    send_to(&B);
    expect_to_mac(0, &mac_b);
    char text[400];
    uint32_t slot = 0;
    text[net_nd_render(net, "wan", &slot, text, sizeof(text))] = '\0';
    assert_string_equal(text, "2001:db8::2 dev wan lladdr 02:00:00:00:00:02 PERMANENT\n");
}

static void the_cache_is_rendered_as_linux_prints_neighbors(void **state)
{
    char text[400], whole[400] = "";
    know(&B, &mac_b);
    send_to(&GATEWAY);
    uint32_t slot = 0;
    unsigned lines = 0;
    while (slot < net_nd_slots(net)) {  // one line at a time
        const size_t n = net_nd_render(net, "wan", &slot, text, 60);
        text[n] = '\0';
        lines += n != 0;
        strcat(whole, text);
    }
    assert_int_equal(lines, 2);
    assert_non_null(strstr(whole, "2001:db8::2 dev wan lladdr 02:00:00:00:00:02 REACHABLE\n"));
    assert_non_null(strstr(whole, "2001:db8::fe dev wan INCOMPLETE\n"));
}

static _Atomic bool reader_stop;
static _Atomic uint64_t reader_saw, reader_torn;

static void *reader(void *arg)
{
    while (!reader_stop)
        for (uint32_t i = 0; i < net_nd_slots(net); i++) {
            struct net_neighbor6 n;
            if (!net_nd_read(net, i, &n) || n.state == NET_NEIGHBOR_PENDING)
                continue;
            reader_saw++;
            if (memcmp(n.mac.b + 2, n.addr.b + 12, 4) != 0 ||
                memcmp(n.mac.b + 2, n.addr.b + 4, 4) != 0)
                reader_torn++;
        }
    return NULL;
}

static void reader_on_another_thread_never_sees_half_an_entry(void **state)
{
    struct net_config c = config();
    pthread_t t;
    c.locals[1].prefix_bits = 32;
    c.locals[2].addr.b[2] = 0x77;
    c.gateway6 = (struct ip_addr){{0}};
    c.arp_entries = 64;
    restart(&c);
    reader_stop = false;
    pthread_create(&t, NULL, reader, NULL);
    for (uint32_t i = 0; i < 150000; i++) {
        struct ip_addr a = ip("2001:db8::");
        struct mac_addr mac = {{2, 0}};
        store_be32(a.b + 4, i + 5);
        store_be32(a.b + 12, i + 5);
        store_be32(mac.b + 2, i + 5);
        give_solicit(&a, &mac);
        tx_clear();
    }
    for (unsigned i = 0; reader_saw < 1000 && i < 10000; i++)
        usleep(100);
    reader_stop = true;
    pthread_join(t, NULL);
    assert_true(reader_saw >= 1000);
    assert_int_equal(reader_torn, 0);
}

// ---- routes and output

static void the_longest_prefix_says_where_a_packet_goes(void **state)
{
    struct net_config c = config();
    const struct ip_addr hops[] = {ip("2001:db8::11"), ip("2001:db8::12"), ip("fe80::13"), GATEWAY};
    c.n_routes = 3;
    c.routes[0] = (struct net_route){ip("2001:db8:100::"), 40, hops[0]};
    c.routes[1] = (struct net_route){ip("2001:db8:101::"), 48, hops[1]};
    c.routes[2] = (struct net_route){ip("2001:db8:0:0:8000::"), 65, hops[2]};  // inside A's prefix
    for (unsigned turned = 0; turned < 2; turned++) {
        restart(&c);
        for (unsigned i = 0; i < 4; i++) {
            const struct mac_addr mac = {{2, 0, 0, 0, 1, (uint8_t)i}};
            net_announce(net, now, &tx);
            give_advert(&hops[i], &mac, ND_SOLICITED | ND_OVERRIDE);
        }
        tx_clear();
        static const struct {
            const char *to;
            uint8_t hop;
        } rows[] = {{"2001:db8:100::1", 0},
                    {"2001:db8:1ff::1", 0},
                    {"2001:db8:101::1", 1},
                    {"2001:db8:101:ffff::1", 1},
                    {"2001:db8::8000:0:0:1", 2},
                    {"2001:db8:200::1", 3},
                    {"fd00::1", 3}};
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
            const struct ip_addr to = ip(rows[i].to);
            send_to(&to);
            expect_to_mac(i, &(struct mac_addr){{2, 0, 0, 0, 1, rows[i].hop}});
        }
        tx_clear();
        know(&B, &mac_b);
        send_to(&B);
        expect_to_mac(0, &mac_b);
        const struct net_route r = c.routes[0];  // the order in which they are given is nothing
        c.routes[0] = c.routes[2];
        c.routes[2] = r;
    }
}

static void without_a_route_nothing_leaves(void **state)
{
    struct net_config c = config();
    c.gateway6 = (struct ip_addr){{0}};
    restart(&c);
    assert_int_equal(send_to(&FAR), 0);
    static const char *const nowhere[] = {"::", "::1", "ff02::1", "::ffff:10.0.0.2"};
    for (unsigned i = 0; i < ARRAY_LEN(nowhere); i++) {
        const struct ip_addr a = ip(nowhere[i]);
        assert_int_equal(send_to(&a), 0);
    }
    struct seg_out s = segment_to(&B);
    s.key.local_ix = LOCAL_IX + 3;  // past the addresses: the link-local one has no index
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    s.key.local_ix = LOCAL_IX;  // IPv4's
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    expect_drops(DROP_ip_no_route, 7);
}

// RFC 6724 5: the scope first, then the longest prefix in common; itself before all.
static void a_datagrams_way_and_source_follow_its_destination(void **state)
{
    struct net_config c = config();
    const struct ip_addr mine = ip("fe80::77");
    c.n_locals = 4;
    c.locals[3] = (struct net_local){mine, 64};
    restart(&c);
    const struct {
        const char *to;
        const struct ip_addr *from;
        int bits;
    } ways[] = {
        {"2001:db8::2", &A, 64}, {"2001:db8:5::2", &A2, 48}, {"2001:db8:4::2", &A2, 0},
        {"fe80::9", &mine, 64},  {"ff02::1", &mine, 0},      {"ff0e::1", &A, 0},
        {"2001:db8::1", &A, -1}, {"::1", &A2, -1},
    };
    for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
        const struct ip_addr to = ip(ways[i].to);
        struct ip_addr from;
        const int bits = net_egress(net, &to, &from);
        char text[IP_TEXT_BYTES];
        if (bits != ways[i].bits || (bits >= 0 && !ip_equal(&from, ways[i].from)))
            fail_msg("%s: %d bits from %s", ways[i].to, bits, ip_text(&from, text));
    }
}

// A gateway is known, and yet takes no packet to what is no host's address.
static void what_is_no_hosts_address_does_not_go_to_the_gateway(void **state)
{
    static const char *const nobody[] = {"ff0e::1", "ff02::1", "::1", "::"};
    know(&GATEWAY, &mac_c);
    assert_int_equal(send_to(&FAR), 1);
    tx_clear();
    for (unsigned i = 0; i < ARRAY_LEN(nobody); i++) {
        const struct ip_addr a = ip(nobody[i]);
        assert_int_equal(send_to(&a), 0);
    }
    assert_int_equal(tx.n, 0);
    expect_drops(DROP_ip_no_route, ARRAY_LEN(nobody));
}

// Whatever the mixture, packets come out in the order of the segments and as they are one by one.
static void a_burst_of_unlike_segments_comes_out_in_order_and_right(void **state)
{
    struct net_config c = config();
    c.gateway = 0x0a000002;
    c.n_statics = 2;
    c.statics[0] = (struct net_static){ip_from_v4(0x0a000002), mac_c};
    c.statics[1] = (struct net_static){GATEWAY, mac_b};
    static const uint8_t data[1500] = {1, 2, 3};
    for (unsigned offload = 0; offload < 2; offload++) {
        c.caps = offload ? PORT_TX_L4_CKSUM : 0;
        restart(&c);
        know(&B, &mac_c);
        struct seg_out segs[60];
        uint32_t n = 0;
        for (unsigned i = 0; i < 60; i++) {
            const struct ip_addr v4 = ip_from_v4(0xc0000200 + i);
            segs[i] = segment_to(i % 5 == 0 ? &v4 : i % 7 == 0 ? &B : &FAR);
            segs[i].seq = i;
            if (i % 5 == 0)
                segs[i].key.local_ix = LOCAL_IX;
            else if (i % 3 == 0)
                segs[i].key.local_ix = LOCAL_IX + 2;
            segs[i].opts = i % 4 == 1 ? SEG_OPT_TS : 0;
            segs[i].flags = i % 11 == 0 ? SEG_SYN : SEG_ACK;
            segs[i].tos = i % 13 == 0 ? 2 : 0;
            segs[i].data[0] = data;
            segs[i].data_len[0] = i % 11 == 0 ? 0 : (uint16_t)(i * 20);
        }
        assert_int_equal(net_output(net, now, segs, 60, &tx), 60);
        for (unsigned i = 0; i < 60; i++) {
            uint8_t want[2048];
            struct pkt *p = tx.pkts[i];
            const struct seg_out *s = &segs[i];
            if (ip_is_v4(&s->key.remote)) {
                assert_int_equal(load_be16(pkt_data(p) + 12), ETH_TYPE_IP4);
                n++;
                continue;
            }
            struct wire_from6 from;
            wire_from6_init(&from, &mac_a, s->key.local_ix == LOCAL_IX + 2 ? &A2 : &A);
            const struct mac_addr *to = ip_equal(&s->key.remote, &B) ? &mac_c : &mac_b;
            const uint32_t len =
                wire_build_tcp6(want, &from, wire_mac_word(to), s, wire_tcp_head_bytes(s),
                                wire_options_of(s), offload);
            assert_int_equal(pkt_len(p), len);
            assert_memory_equal(pkt_data(p), want, len);
            assert_int_equal(p->m.ol_flags,
                             offload ? RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM : 0);
            if (offload) {
                assert_int_equal(p->m.l2_len, 14);
                assert_int_equal(p->m.l3_len, 40);
                assert_int_equal(p->m.l4_len, wire_tcp_head_bytes(s));
            }
        }
        assert_int_equal(n, 12);
        assert_int_equal(stats.c.tx_tcp6, 49);  // with the one of know()
    }
}

// expect_way: packet i is segment i's, and its next hop's MAC ends in `mac`.
static void expect_way(uint32_t i, const struct ip_addr *to, uint8_t mac)
{
    assert_true(i < tx.n);
    assert_memory_equal(pkt_data(tx.pkts[i]) + 38, to->b, 16);
    assert_int_equal(pkt_data(tx.pkts[i])[5], mac);
}

static void each_segment_of_a_burst_goes_its_own_way(void **state)
{
    static const struct {
        const char *to;
        uint8_t mac;  // 0: nowhere
    } rows[] = {{"2001:db8:9::9", 9},  {"2001:db8:9::a", 9},
                {"2001:db8::2", 2},    {"2001:db8::fe", 9},
                {"2001:db8:9::9", 9},  {"::ffff:192.0.2.1", 0},
                {"2001:db8:9::9", 9},  {"ff02::1", 0},
                {"2001:db8:9::9", 9},  {"::", 0},
                {"2001:db8::3", 3},    {"2001:db8::3", 3},
                {"2001:db8::2", 2},    {"fd00::1", 9},
                {"2001:db8:5::7", 7},  {"2001:db8:100::1", 3},
                {"2001:db8:9::9", 9},  {"2001:db8:100::1", 3},
                {"2001:db8:100::1", 3}};
    struct net_config c = config();
    c.n_statics = 4;
    c.statics[0] = (struct net_static){GATEWAY, {{2, 0, 0, 0, 0, 9}}};
    c.statics[1] = (struct net_static){B, {{2, 0, 0, 0, 0, 2}}};
    c.statics[2] = (struct net_static){ip("2001:db8::3"), {{2, 0, 0, 0, 0, 3}}};
    c.statics[3] = (struct net_static){ip("2001:db8:5::7"), {{2, 0, 0, 0, 0, 7}}};
    c.routes[0] = (struct net_route){ip("2001:db8:100::"), 48, c.statics[2].addr};
    for (unsigned routes = 0; routes < 2; routes++) {
        struct seg_out segs[ARRAY_LEN(rows)];
        const uint32_t n = ARRAY_LEN(rows) - (routes == 0 ? 4 : 0);
        uint32_t out = 0, nowhere = 0;
        c.n_routes = (uint8_t)routes;
        restart(&c);
        for (unsigned i = 0; i < n; i++) {
            const struct ip_addr to = ip(rows[i].to);
            segs[i] = segment_to(&to);
            net_output(net, now, &segs[i], rows[i].mac != 0, &tx);  // its neighbor is known now
        }
        tx_clear();
        net_output(net, now, segs, n, &tx);
        for (unsigned i = 0; i < n; i++) {
            if (rows[i].mac == 0)
                nowhere++;
            else
                expect_way(out++, &segs[i].key.remote, rows[i].mac);
        }
        assert_int_equal(tx.n, out);
        expect_drops(DROP_ip_no_route, nowhere);
    }
}

static void a_segment_fills_the_mtu_and_not_a_byte_more(void **state)
{
    static const uint8_t data[1500];
    know(&B, &mac_b);
    assert_int_equal(net_mss6(net), 1440);
    assert_int_equal(net_mss(net), 1460);
    struct seg_out s = segment_to(&B);
    s.data[0] = data;
    s.data_len[0] = 1440;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    assert_int_equal(pkt_len(tx.pkts[0]), 1514);
    s.data_len[0] = 1441;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    s.data_len[0] = 1440;
    s.opts = SEG_OPT_TS;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    expect_drops(DROP_ip_mtu, 2);
}

// large: a segment of n bytes, in two ranges, cut at 1440.
static struct seg_out large(const uint8_t *data, uint32_t n)
{
    struct seg_out s = segment_to(&B);
    s.flags = SEG_ACK | SEG_PSH | SEG_FIN;
    s.mss = 1440;
    s.data[0] = data;
    s.data_len[0] = (uint16_t)(n / 3);
    s.data[1] = data + n / 3;
    s.data_len[1] = (uint16_t)(n - n / 3);
    return s;
}

static void a_large_segment_is_cut_into_parts_that_make_it_up(void **state)
{
    static uint8_t data[20000];
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    know(&B, &mac_b);
    const struct seg_out s = large(data, 20000);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 14);
    uint32_t at = 0;
    for (unsigned i = 0; i < 14; i++) {
        struct wire_ip6 ip6;
        struct seg_in in;
        const uint8_t *f = pkt_data(tx.pkts[i]);
        assert_int_equal(wire_parse_ip6(f, pkt_len(tx.pkts[i]), &ip6), DROP_NONE);
        assert_int_equal(wire_parse_tcp6(f, &ip6, true, &in), DROP_NONE);
        assert_true(ip_equal(&ip6.src, &A));
        assert_int_equal(in.seq, 1 + at);
        assert_int_equal(in.data_len, MIN(1440, 20000 - at));
        assert_memory_equal(f + in.data_off, data + at, in.data_len);
        assert_int_equal(in.flags, i == 13 ? SEG_ACK | SEG_PSH | SEG_FIN : SEG_ACK);
        at += in.data_len;
    }
    assert_int_equal(at, 20000);
    assert_int_equal(stats.c.tx_tcp6, 15);
    tx_clear();
    tx.room = 5;  // the rest finds no place
    assert_int_equal(net_output(net, now, &s, 1, &tx), 5);
    expect_drops(DROP_reply_room, 9);
    tx_clear();
    tx.room = TX_ROOM;
    struct seg_out unknown = s;
    unknown.key.remote.b[15] = 0x55;
    net_output(net, now, &unknown, 1, &tx);
    assert_int_equal(tx.n, 1);  // the question; the parts wait
    assert_int_equal(drops[DROP_nd_wait_replaced], 0);
}

// IPv6 has no sum of its header that the port, or we, could fill.
static void expect_a_large_segment_whole(uint32_t caps)
{
    static uint8_t data[20000];
    struct net_config c = config();
    c.caps = caps;
    restart(&c);
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    know(&B, &mac_b);
    const struct seg_out s = large(data, 20000);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    struct pkt *p = tx.pkts[0];
    static uint8_t all[21000];
    uint32_t n = 0;
    for (struct rte_mbuf *m = &p->m; m != NULL; m = m->next) {
        memcpy(all + n, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
        n += m->data_len;
    }
    assert_int_equal(n, 74 + 20000);
    assert_int_equal(pkt_total_len(p), n);
    assert_memory_equal(all + 22, A.b, 16);
    assert_memory_equal(all + 74, data, 20000);
    assert_int_equal(load_be16(all + 18), 20020);
    assert_int_equal(p->m.ol_flags,
                     RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG);
    assert_int_equal(p->m.tso_segsz, 1440);
    assert_int_equal(p->m.l3_len, 40);
    assert_int_equal(stats.c.tx_tcp6, 15);
}

static void a_port_that_cuts_gets_a_large_segment_whole(void **state)
{
    const uint32_t caps = PORT_TX_L4_CKSUM | PORT_MULTI_SEG | PORT_TSO;
    expect_a_large_segment_whole(caps | PORT_TX_IP_CKSUM);
    expect_a_large_segment_whole(caps);
}

static void without_packets_nothing_leaves_and_everything_is_counted(void **state)
{
    static struct pkt *all[POOL_PKTS + 1];
    uint32_t n = 0;
    know(&B, &mac_b);
    while (n < ARRAY_LEN(all) && pkt_alloc_bulk(pool, &all[n], 1))
        n++;
    assert_int_equal(send_to(&B), 0);
    expect_drops(DROP_pkt_pool_empty, 1);
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.nd_limited, 1 + 2 * 3 + 1);
    pkt_free_bulk(all, n);
}

// ---- configuration

static void expect_refused(const struct net_config *c, const char *why)
{
    struct err e = {.text = ""};
    void *mem = aligned_alloc(CACHE_LINE, net_footprint(c));
    assert_null(net_init(mem, c, pool, &stats, &e));
    if (strstr(e.text, why) == NULL)
        fail_msg("'%s' does not say '%s'", e.text, why);
    free(mem);
}

// Behind the last of each kind stands what would be refused.
static void what_a_configuration_does_not_count_is_not_looked_at(void **state)
{
    struct net_config c = config();
    c.locals[c.n_locals] = (struct net_local){ip_from_v4(0xe0000001), 33};
    c.statics[c.n_statics] = (struct net_static){ip_from_v4(0xe0000001), {{1}}};
    c.routes[c.n_routes] = (struct net_route){ip_from_v4(0xe0000001), 33, ip_from_v4(1)};
    restart(&c);
}

static void configurations_that_cannot_work_are_refused_with_the_reason(void **state)
{
    struct net_config c = config();
    c.mtu = 1279;
    expect_refused(&c, "MTU 1279: below 1280, which IPv6 needs (address 2001:db8::1)");
    c = config();
    c.locals[2] = (struct net_local){ip_from_v4(0x0a000101), 24};
    expect_refused(&c, "address 10.0.1.1: behind one of IPv6");
    c = config();
    c.locals[2].addr = A;
    expect_refused(&c, "address 2001:db8::1: given twice");
    c = config();
    c.locals[2].prefix_bits = 129;
    expect_refused(&c, "2001:db8:5::1/129: not a unicast address with a prefix of 0 to 128");
    static const char *const bad[] = {"ff02::1", "::1", "::"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        c = config();
        c.locals[2].addr = ip(bad[i]);
        expect_refused(&c, "not a unicast address");
    }
    c = config();
    c.gateway6 = FAR;
    expect_refused(&c, "gateway 2001:db8:9::9: on no local prefix");
    c.gateway6 = ip("ff02::1");
    expect_refused(&c, "gateway ff02::1: not a unicast IPv6 address");
    c.gateway6 = ip_from_v4(0x0a000002);
    expect_refused(&c, "gateway 10.0.0.2: not a unicast IPv6 address");
    c = config();
    c.n_routes = 1;
    c.routes[0] = (struct net_route){ip("2001:db8:100::"), 40, ip_from_v4(0x0a000002)};
    expect_refused(&c, "not of one family");
    c.routes[0] = (struct net_route){ip("2001:db8:100::1"), 40, B};
    expect_refused(&c, "not a prefix of 1 to 128 bits");
    c.routes[0] = (struct net_route){ip("2001:db8:100::"), 40, FAR};
    expect_refused(&c, "gateway 2001:db8:9::9");
}

static void an_operator_changes_every_neighbor_but_the_configured_ones(void **state)
{
    struct net_config c = config();
    struct net_neighbor6 n;
    const struct ip_addr other = ip("2001:db8::3"), fixed = ip("2001:db8::9");
    c.n_statics = 1;
    c.statics[0] = (struct net_static){fixed, mac_b};
    restart(&c);
    assert_int_equal(net_neighbor_add(net, now, &fixed, &mac_c, false, &tx), -EPERM);
    assert_int_equal(net_neighbor_del(net, &fixed), -EPERM);
    assert_int_equal(net_neighbor_del(net, &B), -ENOENT);
    assert_int_equal(net_neighbor_add(net, now, &B, &mac_b, false, &tx), 0);
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    assert_int_equal(net_neighbor_add(net, now, &B, &mac_c, true, &tx), 0);
    send_to(&B);
    expect_to_mac(0, &mac_c);
    assert_int_equal(net_neighbor_add(net, now, &other, &mac_b, false, &tx), 0);
    assert_int_equal(net_neighbors_flush(net), 1);
    assert_false(neighbor(&other, &n));
    assert_true(neighbor(&B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_STATIC);
    assert_int_equal(net_neighbor_del(net, &B), 0);
    assert_false(neighbor(&B, &n));
    send_to(&fixed);
    expect_to_mac(1, &mac_b);
}

// Of each set of places some stay for those that come by themselves.
static void permanent_neighbors_leave_places_to_others_and_can_change_when_full(void **state)
{
    struct net_config c = config();
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    restart(&c);
    unsigned taken = 0;
    bool is[250];
    struct ip_addr full = B, kept = B, a = B;
    for (unsigned i = 0; i < 250; i++) {
        a.b[15] = (uint8_t)(3 + i);
        const int rc = net_neighbor_add(net, now, &a, &mac_b, true, &tx);
        assert_true(rc == 0 || rc == -ENOSPC);
        taken += is[i] = rc == 0;
        if (rc == 0)
            kept = a;
        else
            full = a;
    }
    const unsigned sets = NET_NEIGHBOR_ENTRIES_MIN / NET_NEIGHBOR_WAYS;
    assert_int_equal(taken, sets * (NET_NEIGHBOR_WAYS - NET_NEIGHBOR_DYNAMIC_WAYS));
    for (unsigned i = 0; i < 250; i++) {  // others, later, come and go beside them
        after_ms(1);
        a.b[15] = (uint8_t)(3 + i);
        if (!is[i])
            assert_int_equal(net_neighbor_add(net, now, &a, &mac_b, false, &tx), 0);
    }
    unsigned still = 0;
    struct net_neighbor6 n;
    for (uint32_t i = 0; i < net_nd_slots(net); i++)
        still += net_nd_read(net, i, &n) && n.state == NET_NEIGHBOR_STATIC;
    assert_int_equal(still, taken);
    assert_int_equal(net_neighbor_add(net, now, &full, &mac_c, false, &tx), 0);
    assert_int_equal(net_neighbor_add(net, now, &full, &mac_c, true, &tx), -ENOSPC);
    assert_int_equal(net_neighbor_add(net, now, &kept, &mac_c, true, &tx), 0);
    send_to(&kept);
    expect_to_mac(0, &mac_c);
}

static void a_link_local_gateway_needs_no_prefix_of_its_own(void **state)
{
    struct net_config c = config();
    c.gateway6 = ip("fe80::fe");
    restart(&c);
    send_to(&FAR);
    expect_ask(0, &c.gateway6, NULL);
    give_advert(&c.gateway6, &mac_c, ND_SOLICITED | ND_OVERRIDE);
    expect_to_mac(1, &mac_c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("net6", POOL_PKTS, -1);
    if (pool == NULL)
        return 1;
    pool_free = pkt_pool_free_count(pool);
    const struct CMUnitTest tests[] = {
        T(segments_of_both_families_in_one_burst_keep_their_order),
        T(each_address_has_its_index),
        T(a_port_verdict_stands_for_the_checksum),
        T(a_source_that_no_peer_has_is_refused),
        T(a_group_gets_no_tcp_udp_or_echo),
        T(an_address_of_ours_in_a_multicast_frame_is_refused),
        T(a_port_without_an_ipv6_address_knows_none),
        T(a_port_without_an_ipv4_address_knows_none),
        T(a_segment_with_a_hop_limit_of_its_own_has_it_and_those_beside_it_not),
        T(cut_frames_are_dropped_at_every_length),
        T(padding_behind_the_packet_is_no_payload),
        T(ping_is_answered_in_place),
        T(ping_to_the_link_local_address_is_answered_from_it),
        T(pings_over_the_rate_are_dropped_and_without_room_too),
        T(errors_about_our_segments_become_events),
        T(an_mtu_is_believed_from_1280_on),
        T(errors_about_other_packets_and_other_messages_are_dropped),
        T(a_datagram_for_nobody_is_answered_by_port_unreachable),
        T(an_unknown_protocol_is_answered_by_parameter_problem),
        T(no_error_about_what_is_not_ours_or_of_no_peer),
        T(no_error_about_what_was_sent_to_many),
        T(sack_blocks_are_read),
        T(a_configured_neighbor_is_never_asked_nor_forgotten),
        T(a_datagram_leaves_by_the_gateway_and_from_an_address_of_ours),
        T(an_error_comes_from_the_address_that_was_asked),
        T(udp_sums_are_verified_unless_the_port_did),
        T(an_error_without_room_or_packet_is_counted_as_limited),
        T(errors_keep_to_their_rate_and_size),
        T(a_datagram_for_a_service_is_handed_up_and_its_answer_turns_round),
        T(a_service_of_one_address_is_none_on_the_other),
        T(a_solicitation_is_answered_and_the_asker_learned),
        T(a_unicast_solicitation_without_an_address_is_answered_too),
        T(a_probe_for_our_address_is_answered_to_all_nodes),
        T(an_answer_that_does_not_fit_in_its_packet_is_none),
        T(the_link_local_address_is_answered_for),
        T(a_configured_link_local_address_stands_for_the_ports_own),
        T(an_asker_off_the_link_is_answered_and_not_learned),
        T(a_quiet_net_learns_and_says_nothing),
        T(a_solicitation_with_a_false_sender_is_dropped),
        T(routers_are_not_listened_to),
        T(a_claim_of_our_address_is_counted_and_defended_once_in_ten_seconds),
        T(neighbors_of_an_ended_process_are_known_to_the_next_one),
        T(a_segment_to_an_unknown_neighbor_waits_and_the_answer_releases_it),
        T(packets_wait_for_a_neighbor_that_is_asked_for_once_a_second),
        T(an_advertisement_that_nobody_asked_for_is_dropped),
        T(flags_of_an_advertisement_do_what_rfc_4861_says),
        T(a_neighbor_that_is_used_is_asked_again_by_itself_then_by_its_group),
        T(a_neighbor_that_nobody_uses_is_forgotten),
        T(neighbor_unused_for_just_so_long_is_not_asked_again),
        T(announcing_asks_the_group_of_each_known_neighbor),
        T(a_gateway_is_kept_and_asked_for_at_start),
        T(what_is_announced_is_probe_advertisement_and_report),
        T(an_announcement_fits_in_the_room_that_the_header_names),
        T(a_query_of_the_switch_is_answered_by_a_report),
        T(a_group_that_is_joined_is_reported_until_it_is_left),
        T(groups_are_bounded_and_all_of_them_reported),
        T(solicitations_keep_to_their_rate),
        T(a_scan_fills_half_the_cache_at_most_and_evicts_no_known_neighbor),
        T(a_cache_full_of_known_neighbors_still_asks_for_a_new_one),
        T(a_flood_does_not_make_known_neighbors_and_gateways_expire),
        T(askers_from_everywhere_do_not_replace_a_gateway),
        T(static_neighbors_are_never_asked_nor_changed),
        T(the_cache_is_rendered_as_linux_prints_neighbors),
        T(reader_on_another_thread_never_sees_half_an_entry),
        T(the_longest_prefix_says_where_a_packet_goes),
        T(without_a_route_nothing_leaves),
        T(what_is_no_hosts_address_does_not_go_to_the_gateway),
        T(a_datagrams_way_and_source_follow_its_destination),
        T(a_burst_of_unlike_segments_comes_out_in_order_and_right),
        T(each_segment_of_a_burst_goes_its_own_way),
        T(a_segment_fills_the_mtu_and_not_a_byte_more),
        T(a_large_segment_is_cut_into_parts_that_make_it_up),
        T(a_port_that_cuts_gets_a_large_segment_whole),
        T(without_packets_nothing_leaves_and_everything_is_counted),
        T(what_a_configuration_does_not_count_is_not_looked_at),
        T(configurations_that_cannot_work_are_refused_with_the_reason),
        T(a_link_local_gateway_needs_no_prefix_of_its_own),
        T(an_operator_changes_every_neighbor_but_the_configured_ones),
        T(permanent_neighbors_leave_places_to_others_and_can_change_when_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
