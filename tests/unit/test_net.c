// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/rng.h"
#include "frames.h"
#include "net_env.h"
#include "pkt_env.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    A = 0x0a000001,        // ours: 10.0.0.1/24
    A2 = 0xac100001,       // ours too: 172.16.0.1/16
    B = 0x0a000002,        // a neighbor
    GATEWAY = 0x0a0000fe,  // 10.0.0.254
    FAR = 0xc0000209,      // 192.0.2.9, behind the gateway
    LOCAL_IX = 100,
};

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}},
                             mac_c = {{2, 0, 0, 0, 0, 3}}, mac_zero,
                             mac_all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static struct net_config config(void)
{
    struct net_config c;
    net_config_default(&c);
    c.mac = mac_a;
    c.local_ix_first = LOCAL_IX;
    c.n_locals = 2;
    c.locals[0] = (struct net_local){ip_from_v4(A), 24};
    c.locals[1] = (struct net_local){ip_from_v4(A2), 16};
    c.gateway = GATEWAY;
    c.keys = keys_from((struct siphash_key){1, 2});
    return c;
}

static int setup(void **state)
{
    struct net_config c = config();
    start(&c);
    return 0;
}

// give: net_input() of one frame. Returns the packet if it stays the caller's, who has it freed at
// the next give(); NULL if it was taken.
static void set_ip_sum(uint8_t *f)
{
    store_be16(f + 24, 0);
    store_raw16(f + 24, (uint16_t)~cksum_fold(cksum_add(0, f + 14, (f[14] & 15) * 4u)));
}

static struct seg_out segment_to(uint32_t v4)
{
    struct seg_out s = {.seq = 1, .ack = 2, .flags = SEG_ACK};
    s.key = (struct flow_key){
        .remote = ip_from_v4(v4), .remote_port = 40000, .local_port = 80, .local_ix = LOCAL_IX};
    return s;
}

static uint32_t send_to(uint32_t v4)
{
    struct seg_out s = segment_to(v4);
    return net_output(net, now, &s, 1, &tx);
}

static void give_arp(uint16_t op, const struct mac_addr *mac, uint32_t sender, uint32_t target)
{
    uint8_t f[ARP_FRAME_BYTES];
    const struct mac_addr *to = op == ARP_OP_REQUEST ? &mac_all : &mac_a;
    wire_build_arp(f, op, to, mac, raw32(sender), op == ARP_OP_REQUEST ? &mac_zero : &mac_a,
                   raw32(target));
    give_frame(f, sizeof(f), 0);
}

// know: the neighbor asks for us and is learned by it; its reply leaves.
static void know(uint32_t v4, const struct mac_addr *mac)
{
    give_arp(ARP_OP_REQUEST, mac, v4, A);
    tx_clear();
}

// expect_request: tx's packet i asks for v4, at MAC `to`.
static void expect_request(uint32_t i, uint32_t v4, uint32_t own, const struct mac_addr *to)
{
    assert_true(i < tx.n);
    uint8_t want[ARP_FRAME_BYTES];
    wire_build_arp(want, ARP_OP_REQUEST, to, &mac_a, raw32(own), &mac_zero, raw32(v4));
    assert_int_equal(pkt_len(tx.pkts[i]), ARP_FRAME_BYTES);
    assert_memory_equal(pkt_data(tx.pkts[i]), want, ARP_FRAME_BYTES);
}

static void expect_to_mac(uint32_t i, const struct mac_addr *mac)
{
    assert_true(i < tx.n);
    assert_memory_equal(pkt_data(tx.pkts[i]), mac->b, 6);
    assert_int_equal(load_be16(pkt_data(tx.pkts[i]) + 12), ETH_TYPE_IP4);
}

static bool neighbor(uint32_t v4, struct net_neighbor *out)
{
    for (uint32_t i = 0; i < net_arp_slots(net); i++)
        if (net_arp_read(net, i, out) && out->v4 == v4)
            return true;
    return false;
}

// ---- input

static void tcp_segments_are_delivered_and_stay_the_callers(void **state)
{
    const char *frames[] = {FRAME_GET, FRAME_SYN, FRAME_ACK, FRAME_SACK, FRAME_IP_OPTIONS};
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        assert_non_null(give(frames[i]));
        assert_int_equal(rx.n_segs, 1);
        assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX);
        assert_int_equal(rx.segs[0].key.local_port, 80);
        assert_int_equal(rx.segs[0].pkt_ix, 0);
    }
    assert_int_equal(drops_sum(), 0);
    assert_int_equal(stats.c.rx_tcp, ARRAY_LEN(frames));
}

static void segments_of_a_burst_name_their_packets(void **state)
{
    const char *order[] = {FRAME_UDP, FRAME_GET,         FRAME_PING,
                           FRAME_SYN, FRAME_ARP_REQUEST, FRAME_ACK};
    struct pkt *p[6];
    for (unsigned i = 0; i < 6; i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(order[i], &len);
        p[i] = pkt_of(pool, 0, len);
        memcpy(pkt_data(p[i]), f, len);
        free(f);
    }
    struct pkt *ping = p[2], *arp = p[4];
    net_input(net, now, p, 6, &rx, &tx);
    assert_int_equal(rx.n_segs, 3);
    assert_int_equal(rx.segs[0].pkt_ix, 1);
    assert_int_equal(rx.segs[0].data_len, 19);
    assert_int_equal(rx.segs[1].pkt_ix, 3);
    assert_int_equal(rx.segs[1].flags, SEG_SYN);
    assert_int_equal(rx.segs[2].pkt_ix, 5);
    assert_int_equal(tx.n, 3);  // the first is the ICMP error about FRAME_UDP
    assert_ptr_equal(tx.pkts[1], ping);
    assert_ptr_equal(tx.pkts[2], arp);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(p[i] == NULL, i == 2 || i == 4);
        if (p[i] != NULL)
            pkt_free(p[i]);
    }
    expect_drops(DROP_udp_no_port, 1);
}

static void second_local_address_has_its_own_index(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    store_be32(f + 30, A2);
    give_frame(f, len, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    assert_int_equal(rx.n_segs, 1);
    assert_int_equal(rx.segs[0].key.local_ix, LOCAL_IX + 1);
    free(f);
}

static void checksums_are_verified_unless_the_port_did(void **state)
{
    const char *frames[] = {FRAME_GET, FRAME_SYN};  // fast and slow
    const uint64_t ip_good = RTE_MBUF_F_RX_IP_CKSUM_GOOD, ip_bad = RTE_MBUF_F_RX_IP_CKSUM_BAD,
                   l4_good = RTE_MBUF_F_RX_L4_CKSUM_GOOD, l4_bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[i], &len);
        give_frame(f, len, ip_good | l4_bad);
        expect_drops(DROP_tcp_checksum, 1);
        give_frame(f, len, ip_bad | l4_good);
        expect_drops(DROP_ip_checksum, 1);
        f[len - 1] ^= 1;
        give_frame(f, len, 0);
        expect_drops(DROP_tcp_checksum, 1);
        give_frame(f, len, l4_good);
        assert_int_equal(rx.n_segs, 1);
        f[19] ^= 1;  // IP identification
        give_frame(f, len, l4_good);
        expect_drops(DROP_ip_checksum, 1);
        give_frame(f, len, ip_good | l4_good);
        assert_int_equal(rx.n_segs, 1);
        assert_int_equal(drops_sum(), 0);
        free(f);
    }
}

// An ordinary struct over memory of exactly the frame's size: a sanitizer sees any read behind it.
static struct pkt fake_pkt(uint8_t *frame, uint32_t len)
{
    struct pkt p;
    memset(&p, 0, sizeof(p));
    p.m.buf_addr = frame;
    p.m.nb_segs = 1;
    p.m.refcnt = 1;
    pkt_set_len(&p, len);
    return p;
}

static const char *const all_frames[] = {
    FRAME_SYN,         FRAME_GET,         FRAME_ACK,       FRAME_SACK, FRAME_IP_OPTIONS, FRAME_PING,
    FRAME_FRAG_NEEDED, FRAME_ARP_REQUEST, FRAME_ARP_REPLY, FRAME_UDP,  FRAME_FRAGMENT};

// ends: net_input() of one frame; checks that it ended in exactly one way. An ICMP error about it
// is a packet more, and so is an announcement that answers a claim of our address.
static uint64_t ends(uint8_t *frame, uint32_t len, uint64_t rx_flags)
{
    struct pkt p = fake_pkt(frame, len), *one = &p;
    p.m.ol_flags = rx_flags;
    const struct core_counters *c = &stats.c;
    uint64_t taken = c->delivered, dropped = drops_sum(), errors = c->tx_icmp_unreachable;
    const uint64_t conflicts = c->arp_conflicts;
    tx.n = 0;
    net_input(net, now, &one, 1, &rx, &tx);
    dropped = drops_sum() - dropped;
    if (c->tx_icmp_unreachable != errors || (c->arp_conflicts != conflicts && tx.n != 0)) {
        assert_int_equal(tx.n, 1);
        assert_int_equal(dropped, 1);
        tx_clear();
    }
    assert_int_equal(rx.n_segs + rx.n_icmp + rx.n_udp + tx.n + c->delivered - taken + dropped, 1);
    assert_int_equal(one == NULL, tx.n == 1);
    if (rx.n_segs == 1)
        assert_true((uint32_t)rx.segs[0].data_off + rx.segs[0].data_len <= len);
    tx.n = 0;
    return dropped;
}

static void frame_cut_at_any_byte_is_dropped_once(void **state)
{
    for (unsigned i = 0; i < ARRAY_LEN(all_frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(all_frames[i], &len);
        for (uint32_t n = 0; n < len; n++) {
            uint8_t *cut = frame_copy(f, n);
            assert_int_equal(ends(cut, n, 0), 1);
            free(cut);
        }
        free(f);
    }
}

static void any_byte_changed_ends_in_exactly_one_way(void **state)
{
    const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    for (unsigned i = 0; i < ARRAY_LEN(all_frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(all_frames[i], &len);
        for (uint32_t at = 0; at < len; at++) {
            for (unsigned v = 0; v < 256; v++) {
                uint8_t *g = frame_copy(f, len);
                g[at] = (uint8_t)v;
                now.us += 1000;
                ends(g, len, v % 2 ? good : 0);
                free(g);
            }
        }
        free(f);
    }
}

static void chain_is_delivered_only_if_all_is_in_its_first_buffer(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    for (uint32_t first = 0; first <= len; first++) {
        struct pkt *head = pkt_of(pool, 0, first), *tail = pkt_of(pool, 0, len - first + 4);
        memcpy(pkt_data(head), f, first);
        memcpy(pkt_data(tail), f + first, len - first);
        assert_int_equal(rte_pktmbuf_chain(&head->m, &tail->m), 0);
        struct pkt *p = head;
        net_input(net, now, &p, 1, &rx, &tx);
        assert_ptr_equal(p, head);
        pkt_free(p);
        assert_int_equal(rx.n_segs, first == len);
        if (first < len)
            expect_drops(DROP_pkt_chain, 1);
    }
    free(f);
}

// Only a length can fail because the packet goes on in another buffer.
static void a_chain_that_fails_for_another_reason_says_that_one(void **state)
{
    static const struct {
        uint32_t at;  // the byte that is changed
        enum drop_reason reason;
    } rows[] = {{5, DROP_eth_not_for_us}, {13, DROP_eth_type_unknown}, {24, DROP_ip_checksum}};
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct pkt *head = pkt_of(pool, 0, len), *tail = pkt_of(pool, 0, 4);
        memcpy(pkt_data(head), f, len);
        pkt_data(head)[rows[i].at] ^= 0x40;
        assert_int_equal(rte_pktmbuf_chain(&head->m, &tail->m), 0);
        struct pkt *p = head;
        net_input(net, now, &p, 1, &rx, &tx);
        pkt_free(p);
        expect_drops(rows[i].reason, 1);
    }
    free(f);
}

static void frames_not_for_us_are_dropped_with_their_reason(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    f[5] = 9;
    give_frame(f, len, good);
    expect_drops(DROP_eth_not_for_us, 1);
    memset(f, 0xff, 6);
    give_frame(f, len, good);
    expect_drops(DROP_ip_link_broadcast, 1);
    memcpy(f, "\x01\x00\x5e\x00\x00\x01", 6);
    give_frame(f, len, good);
    expect_drops(DROP_ip_link_broadcast, 1);
    memcpy(f, mac_a.b, 6);
    const uint32_t others[] = {A + 1, 0x0a0000ff, 0xffffffff, 0xe0000001, 0x7f000001, 0, A2 + 1};
    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        store_be32(f + 30, others[i]);
        give_frame(f, len, good);
        expect_drops(DROP_ip_not_for_us, 1);
    }
    f[12] = 0x86;
    f[13] = 0xdd;
    give_frame(f, len, good);
    expect_drops(DROP_eth_type_unknown, 1);
    free(f);
}

// tagged: the frame with n tags, each TPID << 16 | TCI. The caller frees it.
static uint8_t *tagged(const char *hex, const uint32_t *tags, unsigned n, uint32_t *len)
{
    uint8_t *f = frame_bytes(hex, len), *t = malloc(*len + n * PKT_TAG_BYTES);
    memcpy(t, f, PKT_TAG_TYPE_AT);
    for (unsigned i = 0; i < n; i++)
        store_be32(t + PKT_TAG_TYPE_AT + i * PKT_TAG_BYTES, tags[i]);
    memcpy(t + PKT_TAG_TYPE_AT + n * PKT_TAG_BYTES, f + PKT_TAG_TYPE_AT, *len - PKT_TAG_TYPE_AT);
    *len += n * PKT_TAG_BYTES;
    free(f);
    return t;
}

static void a_tag_of_a_vlan_that_no_port_has_is_counted(void **state)
{
    static const uint32_t outer = 0x88a80064;
    static const struct {
        uint32_t tags[2];
        unsigned n;
        enum drop_reason reason;
    } rows[] = {{{0x81000064}, 1, DROP_vlan_unknown},
                {{0x81000fff}, 1, DROP_vlan_unknown},
                {{0x8100f001}, 1, DROP_vlan_unknown},
                {{0x81000064, 0x81000064}, 2, DROP_vlan_stacked},
                {{0x81000000, 0x81000064}, 2, DROP_vlan_stacked},
                {{0x81000000, outer}, 2, DROP_vlan_stacked},
                {{outer}, 1, DROP_vlan_stacked},
                {{outer, 0x81000064}, 2, DROP_vlan_stacked}};
    static const char *const frames[] = {FRAME_GET, FRAME_PING, FRAME_ARP_REQUEST};
    for (unsigned i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(frames); i++) {
        uint32_t len;
        const unsigned row = i / ARRAY_LEN(frames);
        uint8_t *f = tagged(frames[i % ARRAY_LEN(frames)], rows[row].tags, rows[row].n, &len);
        give_frame(f, len, 0);
        assert_int_equal(rx.n_segs + tx.n, 0);
        expect_drops(rows[row].reason, 1);
        free(f);
    }
}

static void a_frame_that_ends_inside_its_tag_is_short(void **state)
{
    static const uint32_t tag = 0x81000000;
    uint32_t len;
    uint8_t *f = tagged(FRAME_GET, &tag, 1, &len);
    for (uint32_t n = ETH_BYTES; n < PKT_TAG_FRAME_BYTES; n++) {
        give_frame(f, n, 0);
        expect_drops(DROP_eth_short, 1);
    }
    free(f);
}

// IEEE 802.1Q 6.9: the VLAN identifier 0 says that the tag has a priority only.
static void a_frame_with_a_priority_tag_is_taken_as_one_without(void **state)
{
    static const uint32_t tag = 0x8100e000;
    struct seg_in plain, *s = &rx.segs[0];
    uint32_t len;
    uint8_t *f = tagged(FRAME_GET, &tag, 0, &len);
    give_frame(f, len, 0);
    plain = *s;
    free(f);
    f = tagged(FRAME_GET, &tag, 1, &len);
    give_frame(f, len, 0);
    assert_int_equal(rx.n_segs, 1);
    assert_memory_equal(s, &plain, sizeof(plain));
    free(f);
    f = tagged(FRAME_PING, &tag, 1, &len);
    give_frame(f, len, 0);
    assert_int_equal(tx.n, 1);
    uint8_t *pong = frame_bytes(FRAME_PONG, &len);
    assert_int_equal(pkt_len(tx.pkts[0]), len);
    assert_memory_equal(pkt_data(tx.pkts[0]), pong, ETH_BYTES);
    free(pong);
    free(f);
}

// The parent of VLANs need not have an address.
static void a_net_without_addresses_takes_and_answers_nothing(void **state)
{
    static const char *const frames[] = {FRAME_GET,         FRAME_SYN, FRAME_PING,
                                         FRAME_ARP_REQUEST, FRAME_UDP, FRAME_FRAG_NEEDED};
    struct net_config c = config();
    c.n_locals = c.n_statics = c.n_routes = 0;
    c.gateway = 0;
    restart(&c);
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(frames[i], &len);
        give_frame(f, len, 0);
        assert_int_equal(rx.n_segs + rx.n_icmp + rx.n_udp + tx.n, 0);
        free(f);
    }
    net_announce(net, now, &tx);
    net_tick(net, now, &tx);
    assert_int_equal(tx.n, 0);
    struct ip_addr from, to = ip_from_v4(B);
    assert_int_equal(net_egress(net, &to, &from), -1);
}

// RFC 1122 3.2.1.7: a host takes what has reached it, however few hops are left. 3.2.1.8: options
// that it does not know are passed over.
static void any_ttl_is_taken_and_ours_is_64(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    for (unsigned ttl = 0; ttl < 256; ttl++) {
        f[22] = (uint8_t)ttl;
        set_ip_sum(f);
        give_frame(f, len, 0);
        assert_int_equal(rx.n_segs, 1);
    }
    free(f);
    know(B, &mac_b);
    send_to(B);
    assert_int_equal(pkt_data(tx.pkts[0])[22], 64);
    assert_int_equal(drops_sum(), 0);
}

static void any_ip_options_are_passed_over(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len), with[400];
    const uint32_t l4 = len - 34;
    struct rng rng = {7};
    assert_true(len + 40 <= sizeof(with));
    for (uint32_t words = 1; words <= 10; words++)
        for (unsigned round = 0; round < 100; round++) {
            memcpy(with, f, 34);
            for (uint32_t i = 0; i < 4 * words; i++)
                with[34 + i] = (uint8_t)rng_u64(&rng);
            memcpy(with + 34 + 4 * words, f + 34, l4);
            with[14] = (uint8_t)(0x45 + words);
            store_be16(with + 16, (uint16_t)(20 + 4 * words + l4));
            store_be16(with + 24, 0);
            store_raw16(with + 24, (uint16_t)~cksum_fold(cksum_add(0, with + 14, 20 + 4 * words)));
            give_frame(with, len + 4 * words, 0);
            assert_int_equal(rx.n_segs, 1);
            assert_int_equal(rx.segs[0].data_off + rx.segs[0].data_len, len + 4 * words);
        }
    assert_int_equal(drops_sum(), 0);
    free(f);
}

// SYNs, which would be answered: none is, whatever of the frame or the packet is broadcast or
// multicast (RFC 1122 4.2.3.10).
static void no_segment_to_or_from_broadcast_or_multicast_is_handed_to_tcp(void **state)
{
    static const uint8_t macs[][6] = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                      {1, 0, 0x5e, 0, 0, 1},
                                      {0x33, 0x33, 0, 0, 0, 1},
                                      {2, 0, 0, 0, 0, 1}};
    static const uint32_t addresses[] = {0xffffffff, 0x0a0000ff, 0xac10ffff, 0xe0000001,
                                         0xefffffff};
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_SYN, &len);
    unsigned given = 0;
    const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    for (unsigned m = 0; m < ARRAY_LEN(macs); m++)
        for (unsigned i = 0; i <= ARRAY_LEN(addresses); i++)
            for (unsigned k = 0; k <= ARRAY_LEN(addresses); k++) {
                if (m == 3 && i == ARRAY_LEN(addresses) && k == ARRAY_LEN(addresses))
                    continue;  // to us from a host: the good one
                memcpy(f, macs[m], 6);
                store_be32(f + 30, i < ARRAY_LEN(addresses) ? addresses[i] : A);
                store_be32(f + 26, k < ARRAY_LEN(addresses) ? addresses[k] : B);
                give_frame(f, len, good);
                given++;
                assert_int_equal(rx.n_segs, 0);
            }
    assert_int_equal(tx.n, 0);
    assert_int_equal(
        drops[DROP_ip_not_for_us] + drops[DROP_ip_source] + drops[DROP_ip_link_broadcast], given);
    store_be32(f + 30, A);
    store_be32(f + 26, B);
    give_frame(f, len, good);
    assert_int_equal(rx.n_segs, 1);
    free(f);
}

static void sources_that_cannot_be_are_dropped(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_GET, &len);
    const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    const uint32_t bad[] = {0,          1,          0x00ffffff, 0x7f000001, 0x7fffffff, 0xe0000000,
                            0xefffffff, 0xffffffff, 0x0a0000ff, 0xac10ffff, A,          A2};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        store_be32(f + 26, bad[i]);
        give_frame(f, len, good);
        expect_drops(DROP_ip_source, 1);
    }
    const uint32_t fine[] = {0x01000000, 0x7effffff,  0x80000000,  0xdfffffff, 0xf0000001,
                             0x0a0000fe, A ^ 1 << 16, A2 ^ 1 << 8, 0x0b0000ff};
    for (unsigned i = 0; i < ARRAY_LEN(fine); i++) {
        store_be32(f + 26, fine[i]);
        give_frame(f, len, good);
        assert_int_equal(rx.n_segs, 1);
    }
    assert_int_equal(drops_sum(), 0);
    free(f);
}

// ---- ICMP

static void ping_is_answered_in_the_same_packet(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_PING, &len), *want = frame_bytes(FRAME_PONG, &len);
    assert_null(give_frame(f, len, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_RSS_HASH));
    free(f);
    assert_int_equal(tx.n, 1);
    assert_ptr_equal(tx.pkts[0], last);
    assert_int_equal(pkt_len(last), len);
    assert_memory_equal(pkt_data(last), want, len);
    assert_int_equal(last->m.ol_flags, 0);
    assert_int_equal(stats.c.rx_icmp, 1);
    assert_int_equal(stats.c.rx_icmp_echo, 1);
    free(want);
}

static void padding_behind_a_ping_is_not_sent_back(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_PING, &len), padded[2000] = {0};
    memcpy(padded, f, len);
    give_frame(padded, len + 18, 0);
    assert_int_equal(tx.n, 1);
    assert_int_equal(pkt_len(tx.pkts[0]), len);
    free(f);
}

static void ping_above_the_rate_is_dropped_and_the_rate_recovers(void **state)
{
    struct net_config c = config();
    c.icmp_rate_per_s = 160;  // of which one source has 40, and 10 at once
    restart(&c);
    for (unsigned i = 0; i < 30; i++)
        give(FRAME_PING);
    assert_int_equal(tx.n, 10);
    expect_drops(DROP_icmp_rate, 20);
    after_ms(50);
    for (unsigned i = 0; i < 5; i++)
        give(FRAME_PING);
    assert_int_equal(tx.n, 12);
    expect_drops(DROP_icmp_rate, 3);
    c.icmp_rate_per_s = 0;
    restart(&c);
    give(FRAME_PING);
    expect_drops(DROP_icmp_rate, 1);
}

static void ping_without_room_for_its_reply_is_dropped(void **state)
{
    tx.room = 0;
    assert_non_null(give(FRAME_PING));
    expect_drops(DROP_answer_room, 1);
    assert_non_null(give(FRAME_ARP_REQUEST));
    expect_drops(DROP_answer_room, 1);
}

static void icmp_error_about_our_segment_becomes_an_event(void **state)
{
    assert_non_null(give(FRAME_FRAG_NEEDED));
    assert_int_equal(rx.n_icmp, 1);
    const struct icmp_event *e = &rx.icmp[0];
    assert_int_equal(e->kind, ICMP_TOO_BIG);
    assert_int_equal(e->mtu, 1400);
    assert_int_equal(e->seq, 0xdeadbeef);
    struct flow_key want = {
        .remote = ip_from_v4(FAR), .remote_port = 40001, .local_port = 80, .local_ix = LOCAL_IX};
    assert_true(flow_key_equal(&e->key, &want));
    assert_int_equal(drops_sum(), 0);
}

// Linux's icmp_err_convert, and tcp_v4_err().
static void icmp_about_a_segment_brings_linuxs_errno(void **state)
{
    static const struct {
        uint8_t type, code;
        int error;
    } all[] = {{3, 0, ENETUNREACH},   {3, 1, EHOSTUNREACH},
               {3, 2, ENOPROTOOPT},   {3, 3, ECONNREFUSED},
               {3, 4, EMSGSIZE},      {3, 5, EOPNOTSUPP},
               {3, 6, ENETUNREACH},   {3, 7, EHOSTDOWN},
               {3, 8, ENONET},        {3, 9, ENETUNREACH},
               {3, 10, EHOSTUNREACH}, {3, 11, ENETUNREACH},
               {3, 12, EHOSTUNREACH}, {3, 13, EHOSTUNREACH},
               {3, 15, EHOSTUNREACH}, {3, 16, 0},
               {11, 0, EHOSTUNREACH}, {11, 1, 0},
               {12, 0, EPROTO}};
    for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
        uint32_t len;
        uint8_t *f = frame_bytes(FRAME_FRAG_NEEDED, &len);
        f[34] = all[i].type;
        f[35] = all[i].code;
        store_be16(f + 36, 0);
        store_raw16(f + 36, (uint16_t)~cksum_fold(cksum_add(0, f + 34, len - 34)));
        give_frame(f, len, 0);
        free(f);
        assert_int_equal(rx.n_icmp, all[i].error != 0);  // what means nothing is none
        if (all[i].error != 0)
            assert_int_equal(rx.icmp[0].error, all[i].error);
        else
            expect_drops(DROP_icmp_type, 1);
    }
}

static void icmp_that_nobody_handles_is_dropped(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_FRAG_NEEDED, &len);
    store_be32(f + 54, B);  // quoted packet that is not ours; the sum follows
    store_be16(f + 36, 0);
    store_raw16(f + 36, (uint16_t)~cksum_fold(cksum_add(0, f + 34, len - 34)));
    give_frame(f, len, 0);
    expect_drops(DROP_icmp_type, 1);
    free(f);
    static const uint8_t others[] = {4, 5};  // source quench, redirect
    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        f = frame_bytes(FRAME_FRAG_NEEDED, &len);
        f[34] = others[i];
        store_be16(f + 36, 0);
        store_raw16(f + 36, (uint16_t)~cksum_fold(cksum_add(0, f + 34, len - 34)));
        give_frame(f, len, 0);
        expect_drops(DROP_icmp_type, 1);
        assert_int_equal(rx.n_icmp, 0);
        free(f);
    }
    f = frame_bytes(FRAME_PING, &len);
    f[34] = 13;  // timestamp request
    store_raw16(f + 36, cksum_update(load_raw16(f + 36), 0x0008, 0x000d));
    give_frame(f, len, 0);
    expect_drops(DROP_icmp_type, 1);
    f[34] = 8;
    give_frame(f, len, 0);
    expect_drops(DROP_icmp_checksum, 1);
    free(f);
}

// ---- ICMP errors sent

// expect_unreachable: tx's one packet is ICMP unreachable of `code` to B, quoting q bytes of frame.
static void expect_unreachable(uint8_t code, const uint8_t *frame, uint32_t q)
{
    assert_int_equal(tx.n, 1);
    const uint8_t *f = pkt_data(tx.pkts[0]);
    assert_int_equal(pkt_len(tx.pkts[0]), 14 + 20 + 8 + q);
    assert_memory_equal(f, mac_b.b, 6);
    assert_memory_equal(f + 6, mac_a.b, 6);
    assert_true(wire_ip4_verify(f + 14));
    assert_int_equal(f[15], 0xc0);
    assert_int_equal(load_be16(f + 16), 20 + 8 + q);
    assert_int_equal(f[23], IP_PROTO_ICMP);
    assert_int_equal(load_be32(f + 26), A);
    assert_int_equal(load_be32(f + 30), B);
    assert_int_equal(f[34], ICMP_UNREACHABLE);
    assert_int_equal(f[35], code);
    assert_int_equal(load_be32(f + 38), 0);
    assert_int_equal(cksum_fold(cksum_add(0, f + 34, 8 + q)), 0xffff);
    assert_memory_equal(f + 42, frame + 14, q);
    tx_clear();
}

// b_to_a: a frame from B to A of `proto` with n bytes behind its IPv4 header, all zero.
static uint8_t *b_to_a(uint8_t proto, uint16_t n)
{
    uint8_t *f = calloc(1, TCP4_OFF + (size_t)n);
    memcpy(f, mac_a.b, 6);
    memcpy(f + 6, mac_b.b, 6);
    store_be16(f + 12, ETH_TYPE_IP4);
    wire_put_ip4(f + 14, raw32(B), raw32(A), proto, 0, (uint16_t)(IP4_BYTES + n));
    return f;
}

static void udp_without_a_service_is_answered_by_port_unreachable(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_UDP, &len);
    assert_non_null(give(FRAME_UDP));
    expect_unreachable(ICMP_CODE_PORT, f, 29);
    expect_drops(DROP_udp_no_port, 1);
    assert_int_equal(stats.c.tx_icmp_unreachable, 1);
    free(f);
}

static void every_other_protocol_is_answered_by_protocol_unreachable(void **state)
{
    for (unsigned proto = 0; proto < 256; proto++) {
        if (proto == IP_PROTO_TCP || proto == IP_PROTO_UDP || proto == IP_PROTO_ICMP)
            continue;
        after_ms(4);
        uint8_t *f = b_to_a((uint8_t)proto, 8);
        give_frame(f, TCP4_OFF + 8, 0);
        expect_unreachable(ICMP_CODE_PROTOCOL, f, 28);
        expect_drops(DROP_ip_protocol, 1);
        free(f);
    }
}

static void an_error_quotes_at_most_what_makes_576_bytes(void **state)
{
    static const uint16_t sizes[] = {0, 1, 527, 528, 529, 1480};
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        after_ms(1);
        uint8_t *f = b_to_a(132, sizes[i]);
        give_frame(f, TCP4_OFF + sizes[i], 0);
        expect_unreachable(ICMP_CODE_PROTOCOL, f, MIN(20u + sizes[i], 548u));
        free(f);
    }
    memset(drops, 0, sizeof(stats.drops));
}

// RFC 1122 3.2.2: nothing is told about ICMP, fragments, broadcast, multicast, or to nobody.
static void no_error_is_sent_about_what_may_have_none(void **state)
{
    uint8_t *f = b_to_a(IP_PROTO_UDP, 16);  // its UDP length, 0, is put right here
    store_be16(f + 38, 16);
    const struct {
        unsigned at;
        uint32_t bytes;
        unsigned n;
        enum drop_reason reason;
    } cases[] = {
        {20, 0x2000, 2, DROP_ip_fragment},           // the first fragment
        {20, 0x0001, 2, DROP_ip_fragment},           // a later one
        {30, 0x0a0000ff, 4, DROP_ip_not_for_us},     // the net's broadcast
        {30, 0xffffffff, 4, DROP_ip_not_for_us},     // broadcast
        {30, 0xe0000001, 4, DROP_ip_not_for_us},     // multicast
        {26, 0x00000000, 4, DROP_ip_source},         // from nobody
        {26, 0x0a0000ff, 4, DROP_ip_source},         // from a broadcast address
        {26, 0xe0000001, 4, DROP_ip_source},         // from a group
        {26, 0x7f000001, 4, DROP_ip_source},         // from the loopback address
        {26, A, 4, DROP_ip_source},                  // from ourselves
        {0, 0xffffffff, 4, DROP_ip_link_broadcast},  // in a broadcast frame
        {0, 0x01005e00, 4, DROP_ip_link_broadcast},  // in a multicast frame
    };
    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t *g = frame_copy(f, TCP4_OFF + 16);
        if (cases[i].n == 2)
            store_be16(g + cases[i].at, (uint16_t)cases[i].bytes);
        else
            store_be32(g + cases[i].at, cases[i].bytes);
        set_ip_sum(g);
        give_frame(g, TCP4_OFF + 16, 0);
        expect_drops(cases[i].reason, 1);
        assert_int_equal(tx.n, 0);
        free(g);
    }
    for (unsigned type = 0; type < 256; type++) {  // any ICMP but an echo request
        uint8_t *g = b_to_a(IP_PROTO_ICMP, 36);
        g[34] = (uint8_t)type;
        store_raw16(g + 36, (uint16_t)~cksum_fold(cksum_add(0, g + 34, 36)));
        if (type != ICMP_ECHO)
            give_frame(g, TCP4_OFF + 36, 0);
        assert_int_equal(tx.n, 0);
        free(g);
    }
    memset(drops, 0, sizeof(stats.drops));
    f[14 + 20 + 6] = 1;  // a wrong UDP checksum
    give_frame(f, TCP4_OFF + 16, 0);
    expect_drops(DROP_udp_checksum, 1);
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.tx_icmp_unreachable, 0);
    free(f);
}

static void errors_sent_keep_to_their_rate_and_are_counted_beyond(void **state)
{
    uint64_t sent = 0;
    for (unsigned i = 0; i < 5000; i++) {
        give(FRAME_UDP);
        sent += tx.n;
        tx_clear();
    }
    assert_int_equal(sent, 62);  // of one source: a fourth of a second of a fourth of the rate
    expect_drops(DROP_udp_no_port, 5000);
    assert_int_equal(stats.c.tx_icmp_unreachable, 62);
    assert_int_equal(stats.c.icmp_errors_limited, 4938);
    give(FRAME_PING);  // other answers go on
    assert_int_equal(tx.n, 1);
    tx_clear();
    after_ms(40);
    for (unsigned i = 0; i < 50; i++)
        give(FRAME_UDP);
    assert_int_equal(tx.n, 10);
    memset(drops, 0, sizeof(stats.drops));
    tx_clear();
    struct net_config c = config();
    c.icmp_errors_per_s = 0;
    restart(&c);
    give(FRAME_UDP);
    assert_int_equal(tx.n, 0);
    expect_drops(DROP_udp_no_port, 1);
}

static void an_error_without_room_or_packet_is_not_sent(void **state)
{
    tx.room = 0;
    give(FRAME_UDP);
    assert_int_equal(stats.c.icmp_errors_limited, 1);
    tx.room = TX_ROOM;
    static struct pkt *all[POOL_PKTS + 1];
    uint32_t n = 0, len;
    uint8_t *f = frame_bytes(FRAME_UDP, &len);
    struct pkt mine = fake_pkt(f, len), *one = &mine;
    while (n < ARRAY_LEN(all) && pkt_alloc_bulk(pool, &all[n], 1))
        n++;
    net_input(net, now, &one, 1, &rx, &tx);
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.icmp_errors_limited, 2);
    expect_drops(DROP_udp_no_port, 2);
    pkt_free_bulk(all, n);
    free(f);
}

// ---- UDP

static struct net_config with_udp(void)
{
    struct net_config c = config();
    c.n_udp = 2;
    c.udp[0] = (struct net_udp_port){7, UINT16_MAX, 4};
    c.udp[1] = (struct net_udp_port){9, LOCAL_IX + 1, 5};
    return c;
}

// datagram: a UDP frame from B's port `src` to `to`'s port `dst`, with n bytes 0, 1, 2...
static uint8_t *datagram(uint32_t to, uint16_t src, uint16_t dst, uint16_t n)
{
    uint8_t *f = b_to_a(IP_PROTO_UDP, (uint16_t)(8 + n));
    struct wire_from from;
    wire_from_init(&from, &mac_b, B);
    for (uint16_t i = 0; i < n; i++)
        f[UDP4_DATA_OFF + i] = (uint8_t)i;
    wire_build_udp4(f, &from, wire_mac_word(&mac_a), raw32(to), src, dst, n);
    return f;
}

static void a_datagram_for_a_service_is_handed_up_and_its_answer_turns_round(void **state)
{
    struct net_config c = with_udp();
    restart(&c);
    static const uint32_t asked[] = {A, A2};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *f = datagram(asked[i], 5000, 7, 11);
        struct pkt *p = pkt_of(pool, 0, UDP4_DATA_OFF + 11), *in = p;
        memcpy(pkt_data(p), f, UDP4_DATA_OFF + 11);
        net_input(net, now, &in, 1, &rx, &tx);
        assert_int_equal(rx.n_udp, 1);
        assert_ptr_equal(in, p);
        const struct udp_in *u = &rx.udp[0];
        assert_int_equal(u->service, 4);
        assert_int_equal(u->data_off, UDP4_DATA_OFF);
        assert_int_equal(u->data_len, 11);
        assert_int_equal(u->local, i);
        uint32_t room;
        struct pkt *answer = net_udp_begin(net, u, &tx, &room);
        assert_non_null(answer);
        assert_int_equal(room, 1472);
        memcpy(net_udp_payload(u, answer), "hello", 5);
        net_udp_send(net, now, u, p, answer, 5, &tx);
        assert_int_equal(tx.n, 1);
        const uint8_t *r = pkt_data(tx.pkts[0]);
        struct wire_ip4 ip;
        struct wire_udp m;
        assert_int_equal(wire_parse_ip4(r, pkt_len(tx.pkts[0]), true, &ip), DROP_NONE);
        assert_int_equal(raw32(ip.src_raw), asked[i]);  // from the address that was asked
        assert_int_equal(raw32(ip.dst_raw), B);
        assert_int_not_equal(load_raw16(r + 40), 0);
        assert_int_equal(wire_parse_udp(r, &ip, true, &m), DROP_NONE);
        assert_int_equal(m.src_port, 7);
        assert_int_equal(m.dst_port, 5000);
        assert_int_equal(m.data_len, 5);
        assert_memory_equal(r, mac_b.b, 6);
        assert_memory_equal(r + m.data_off, "hello", 5);
        tx_clear();
        pkt_free(p);
        free(f);
    }
    assert_int_equal(stats.c.rx_udp, 2);
    assert_int_equal(drops_sum(), 0);
}

static void a_service_of_one_address_is_none_on_the_other(void **state)
{
    struct net_config c = with_udp();
    restart(&c);
    uint8_t *f = datagram(A2, 5000, 9, 1), *g = datagram(A, 5000, 9, 1);
    give_frame(f, UDP4_DATA_OFF + 1, 0);
    assert_int_equal(rx.n_udp, 1);
    assert_int_equal(rx.udp[0].service, 5);
    give_frame(g, UDP4_DATA_OFF + 1, 0);
    assert_int_equal(rx.n_udp, 0);
    expect_unreachable(ICMP_CODE_PORT, g, 29);
    expect_drops(DROP_udp_no_port, 1);
    free(f);
    free(g);
}

static void a_udp_checksum_may_be_missing_and_not_be_wrong(void **state)
{
    struct net_config c = with_udp();
    restart(&c);
    for (uint16_t n = 0; n < 70; n++) {
        uint8_t *f = datagram(A, 5000, 7, n);
        const uint32_t len = UDP4_DATA_OFF + n;
        give_frame(f, len, 0);
        assert_int_equal(rx.n_udp, 1);
        assert_int_equal(rx.udp[0].data_len, n);
        const uint16_t right = load_raw16(f + 40);
        for (unsigned bit = 0; bit < 8; bit++) {
            f[len - 1] ^= (uint8_t)(1u << bit);  // of an empty one the checksum itself
            give_frame(f, len, RTE_MBUF_F_RX_IP_CKSUM_GOOD);
            assert_int_equal(rx.n_udp, 0);
            expect_drops(DROP_udp_checksum, 1);
            f[len - 1] ^= (uint8_t)(1u << bit);
        }
        store_raw16(f + 40, 0);
        give_frame(f, len, 0);
        assert_int_equal(rx.n_udp, 1);
        give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_BAD);  // a port that does not know of 0
        assert_int_equal(rx.n_udp, 1);
        store_raw16(f + 40, (uint16_t)(right ^ 0x5a5a));
        give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_BAD);
        expect_drops(DROP_udp_checksum, 1);
        give_frame(f, len, RTE_MBUF_F_RX_L4_CKSUM_GOOD);  // the port has looked
        assert_int_equal(rx.n_udp, 1);
        free(f);
    }
    assert_int_equal(tx.n, 0);
}

// A sum that comes out as 0 is sent as ffff: 0 would mean that there is none.
static void a_udp_checksum_of_0_is_sent_as_ffff(void **state)
{
    struct wire_from from;
    uint8_t f[UDP4_DATA_OFF + 2] = {0};
    wire_from_init(&from, &mac_a, A);
    wire_build_udp4(f, &from, 0, raw32(B), 7, 5000, 2);
    memcpy(f + UDP4_DATA_OFF, f + 40, 2);  // the complement of all the rest
    wire_build_udp4(f, &from, 0, raw32(B), 7, 5000, 2);
    assert_int_equal(load_raw16(f + 40), 0xffff);
}

static void udp_lengths_that_lie_are_refused_and_padding_is_no_payload(void **state)
{
    struct net_config c = with_udp();
    restart(&c);
    uint8_t *f = datagram(A, 5000, 7, 20);
    store_raw16(f + 40, 0);
    for (uint32_t said = 0; said <= UINT16_MAX; said++) {
        store_be16(f + 38, (uint16_t)said);
        give_frame(f, UDP4_DATA_OFF + 20, 0);
        const bool right = said >= 8 && said <= 28;
        assert_int_equal(rx.n_udp, right);
        if (right)
            assert_int_equal(rx.udp[0].data_len, said - 8);
        else
            expect_drops(DROP_udp_length, 1);
    }
    free(f);
    for (uint16_t n = 0; n < 8; n++) {
        f = b_to_a(IP_PROTO_UDP, n);
        give_frame(f, TCP4_OFF + n, 0);
        expect_drops(DROP_udp_length, 1);
        free(f);
    }
    assert_int_equal(tx.n, 0);
}

static void two_services_do_not_answer_each_other(void **state)
{
    struct net_config c = with_udp();
    restart(&c);
    uint8_t *f = datagram(A, 7, 7, 3);
    give_frame(f, UDP4_DATA_OFF + 3, 0);
    expect_drops(DROP_udp_loop, 1);
    assert_int_equal(rx.n_udp + tx.n, 0);
    free(f);
}

static void small_services_elsewhere_are_not_answered(void **state)
{
    static const uint16_t ports[] = {7, 11, 13, 15, 17, 18, 19, 37};
    struct net_config c = with_udp();
    restart(&c);
    for (unsigned i = 0; i < ARRAY_LEN(ports); i++) {
        uint8_t *f = datagram(A, ports[i], 7, 11);
        give_frame(f, UDP4_DATA_OFF + 11, 0);
        assert_int_equal(rx.n_udp, 0);
        expect_drops(DROP_udp_loop, 1);
        free(f);
    }
    uint8_t *f = datagram(A, 53, 7, 11);
    give_frame(f, UDP4_DATA_OFF + 11, 0);
    assert_int_equal(rx.n_udp, 1);
    free(f);
}

static void an_answer_without_room_or_packet_is_none(void **state)
{
    uint32_t room, n = 0;
    tx.room = 0;
    assert_null(net_udp_begin(net, &rx.udp[0], &tx, &room));
    tx.room = TX_ROOM;
    static struct pkt *all[POOL_PKTS + 1];
    while (n < ARRAY_LEN(all) && pkt_alloc_bulk(pool, &all[n], 1))
        n++;
    assert_null(net_udp_begin(net, &rx.udp[0], &tx, &room));
    pkt_free_bulk(all, n);
}

// ---- ARP

static void arp_request_is_answered_and_the_asker_learned(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_ARP_REQUEST, &len), *want = frame_bytes(FRAME_ARP_REPLY, &len);
    assert_null(give_frame(f, len, RTE_MBUF_F_RX_RSS_HASH));
    free(f);
    assert_int_equal(tx.n, 1);
    assert_int_equal(last->m.ol_flags, 0);
    assert_int_equal(pkt_len(tx.pkts[0]), len);
    assert_memory_equal(pkt_data(tx.pkts[0]), want, len);
    free(want);
    assert_int_equal(send_to(B), 1);
    expect_to_mac(1, &mac_b);
    assert_int_equal(stats.c.tx_arp, 1);  // the reply: nobody was asked
}

static void probe_is_answered_and_not_learned(void **state)
{
    struct net_neighbor n;
    give_arp(ARP_OP_REQUEST, &mac_b, 0, A);
    assert_int_equal(tx.n, 1);
    for (uint32_t i = 0; i < net_arp_slots(net); i++)
        assert_false(net_arp_read(net, i, &n));
}

static void asker_from_another_network_is_answered_and_not_learned(void **state)
{
    struct net_neighbor n;
    give_arp(ARP_OP_REQUEST, &mac_b, FAR, A);
    assert_int_equal(tx.n, 1);
    assert_false(neighbor(FAR, &n));
}

static void false_senders_are_refused(void **state)
{
    static const struct mac_addr group = {{1, 0, 0, 0, 0, 9}};
    give_arp(ARP_OP_REQUEST, &mac_b, A, A);  // claims our address
    give_arp(ARP_OP_REPLY, &mac_b, A2, A);
    assert_int_equal(stats.c.arp_conflicts, 2);
    tx_clear();  // each was answered: see the next test
    give_arp(ARP_OP_REQUEST, &group, B, A);
    give_arp(ARP_OP_REQUEST, &mac_zero, B, A);
    give_arp(ARP_OP_REQUEST, &mac_a, B, A);
    give_arp(ARP_OP_REQUEST, &mac_b, 0x7f000001, A);
    give_arp(ARP_OP_REQUEST, &mac_b, 0x0a0000ff, A);
    give_arp(ARP_OP_REQUEST, &mac_b, 0xe0000001, A);
    give_arp(ARP_OP_REQUEST, &mac_b, B, A + 7);  // for another
    assert_int_equal(tx.n, 0);
    expect_drops(DROP_arp_not_for_us, 9);
}

static void a_conflict_is_answered_by_one_announcement_in_ten_seconds_for_each_address(void **state)
{
    struct net_neighbor n;
    for (unsigned i = 0; i < 100; i++)
        give_arp(i % 2 ? ARP_OP_REPLY : ARP_OP_REQUEST, &mac_b, A, i % 3 ? A : B);
    assert_int_equal(tx.n, 1);
    expect_request(0, A, A, &mac_all);
    give_arp(ARP_OP_REQUEST, &mac_b, A2, A2);
    assert_int_equal(tx.n, 2);
    expect_request(1, A2, A2, &mac_all);
    after_ms(NET_DEFEND_MS - 1);
    give_arp(ARP_OP_REQUEST, &mac_b, A, A);
    assert_int_equal(tx.n, 2);
    after_ms(1);
    tx.room = tx.n;  // what finds no room is made up for
    give_arp(ARP_OP_REQUEST, &mac_b, A, A);
    tx.room = TX_ROOM;
    assert_int_equal(tx.n, 2);
    give_arp(ARP_OP_REQUEST, &mac_b, A, A);
    assert_int_equal(tx.n, 3);
    expect_request(2, A, A, &mac_all);
    assert_int_equal(stats.c.arp_conflicts, 104);
    expect_drops(DROP_arp_not_for_us, 104);
    assert_false(neighbor(A, &n));
}

// One of several workers' nets speaks for all; these are the others.
static void a_quiet_net_learns_and_answers_nobody(void **state)
{
    struct net_neighbor n;
    struct net_config c = config();
    c.quiet = true;
    restart(&c);
    give_arp(ARP_OP_REQUEST, &mac_b, B, A);
    assert_int_equal(tx.n, 0);
    assert_true(neighbor(B, &n) && memcmp(&n.mac, &mac_b, sizeof(mac_b)) == 0);
    assert_int_equal(stats.c.delivered, 1);
    assert_int_equal(send_to(B), 1);  // without asking
    expect_to_mac(0, &mac_b);
    tx_clear();
    give_arp(ARP_OP_REQUEST, &mac_b, A, A);  // claims our address
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.arp_conflicts, 1);
    expect_drops(DROP_arp_not_for_us, 1);
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 1);  // it asks for its gateway, and announces nothing
    expect_request(0, GATEWAY, A, &mac_all);
}

static void segment_waits_for_its_neighbor_and_leaves_with_the_reply(void **state)
{
    assert_int_equal(send_to(B), 1);  // the request
    expect_request(0, B, A, &mac_all);
    tx_clear();
    give_arp(ARP_OP_REPLY, &mac_b, B, A);
    assert_int_equal(tx.n, 1);
    expect_to_mac(0, &mac_b);
    assert_int_equal(send_to(B), 1);
    expect_to_mac(1, &mac_b);
    assert_int_equal(stats.c.delivered, 1);
    assert_int_equal(drops_sum(), 0);
}

static void asker_that_was_asked_for_releases_the_waiting_segment(void **state)
{
    send_to(B);
    tx_clear();
    give_arp(ARP_OP_REQUEST, &mac_b, B, A);
    assert_int_equal(tx.n, 2);
    expect_to_mac(1, &mac_b);
}

static void segments_wait_in_their_order_and_of_too_many_the_oldest_end(void **state)
{
    struct seg_out s = segment_to(B);
    for (s.seq = 1; s.seq <= NET_WAIT_MAX + 2; s.seq++)
        net_output(net, now, &s, 1, &tx);
    assert_int_equal(tx.n, 1);  // one request for all
    expect_drops(DROP_arp_wait_replaced, 2);
    tx_clear();
    give_arp(ARP_OP_REPLY, &mac_b, B, A);
    assert_int_equal(tx.n, NET_WAIT_MAX);
    for (uint32_t i = 0; i < NET_WAIT_MAX; i++) {
        assert_int_equal(load_be32(pkt_data(tx.pkts[i]) + 38), i + 3);
        expect_to_mac(i, &mac_b);
        assert_null(tx.pkts[i]->m.next);
    }
}

static void what_waits_finds_room_or_ends(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        send_to(B);
    tx_clear();
    tx.room = 2;
    give_arp(ARP_OP_REPLY, &mac_b, B, A);
    tx.room = TX_ROOM;
    assert_int_equal(tx.n, 2);
    expect_drops(DROP_reply_room, 1);
}

static void all_neighbors_together_have_so_many_packets_waiting(void **state)
{
    enum { EACH = 6, NEIGHBORS = NET_WAIT_MORE_MAX / (EACH - 1) };
    struct net_config c = config();
    c.arp_rate_per_s = 0;
    restart(&c);
    for (uint32_t i = 0; i < NEIGHBORS; i++)
        for (unsigned k = 0; k < EACH; k++)
            send_to(A2 + 1 + i);
    assert_int_equal(drops_sum(), 0);
    for (unsigned k = 0; k < EACH; k++)
        send_to(A2 + 1 + NEIGHBORS);  // one may wait behind another still, if any
    expect_drops(DROP_arp_wait_replaced, EACH - 1 - NET_WAIT_MORE_MAX % (EACH - 1));
    assert_int_equal(pkt_pool_free_count(pool),
                     pool_free - EACH * NEIGHBORS - 1 - NET_WAIT_MORE_MAX % (EACH - 1));
    for (unsigned k = 0; k < 3; k++)
        send_to(A2 + 2 + NEIGHBORS);  // the newest of it alone
    expect_drops(DROP_arp_wait_replaced, 2);
}

static void reply_that_nobody_asked_for_teaches_nothing(void **state)
{
    struct net_neighbor n;
    give_arp(ARP_OP_REPLY, &mac_b, B, A);
    expect_drops(DROP_arp_reply_unasked, 1);
    assert_false(neighbor(B, &n));
    know(B, &mac_b);
    give_arp(ARP_OP_REPLY, &mac_c, B, A);
    expect_drops(DROP_arp_reply_unasked, 1);
    assert_true(neighbor(B, &n));
    assert_memory_equal(n.mac.b, mac_b.b, 6);
}

static void neighbor_that_never_answers_is_asked_three_times(void **state)
{
    struct net_neighbor n;
    send_to(B);
    for (unsigned i = 1; i < NET_NEIGHBOR_TRIES; i++) {
        after_ms(NET_NEIGHBOR_RETRY_MS - 100);
        tick_all();
        assert_int_equal(tx.n, i);  // not before a second has gone
        after_ms(100);
        tick_all();
        assert_int_equal(tx.n, i + 1);
        expect_request(i, B, A, &mac_all);
    }
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_PENDING);
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    assert_int_equal(tx.n, NET_NEIGHBOR_TRIES);
    expect_drops(DROP_arp_wait_expired, 1);
    assert_false(neighbor(B, &n));
    struct icmp_event lost[NET_LOST_MAX];
    assert_int_equal(net_lost(net, lost), 1);
    const struct ip_addr b = ip_from_v4(B);
    assert_memory_equal(&lost[0].key.remote, &b, sizeof(b));
    assert_int_equal(lost[0].key.local_ix, LOCAL_IX);
    assert_int_equal(lost[0].kind, ICMP_SOFT);
    assert_int_equal(lost[0].error, EHOSTUNREACH);
    assert_int_equal(net_lost(net, lost), 0);
}

static void used_neighbor_is_asked_again_and_used_meanwhile(void **state)
{
    struct net_neighbor n;
    know(B, &mac_b);
    after_ms(NET_NEIGHBOR_REACHABLE_MS - 1000);
    send_to(B);
    after_ms(1000);
    tick_all();
    assert_int_equal(tx.n, 2);
    expect_request(1, B, A, &mac_b);  // by unicast
    assert_int_equal(send_to(B), 1);
    expect_to_mac(2, &mac_b);
    give_arp(ARP_OP_REPLY, &mac_c, B, A);  // and it has moved
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    send_to(B);
    expect_to_mac(3, &mac_c);
}

static void neighbor_that_fell_silent_is_asked_by_broadcast_at_last_and_forgotten(void **state)
{
    struct net_neighbor n;
    know(B, &mac_b);
    after_ms(NET_NEIGHBOR_REACHABLE_MS - 1000);
    send_to(B);
    tx_clear();
    after_ms(1000);
    tick_all();
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    assert_int_equal(tx.n, 3);
    expect_request(1, B, A, &mac_b);
    expect_request(2, B, A, &mac_all);
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    assert_int_equal(tx.n, 3);
    assert_false(neighbor(B, &n));
    assert_int_equal(drops_sum(), 0);
}

static void a_datagram_leaves_by_the_gateway(void **state)
{
    const struct net_datagram d = {.from = ip_from_v4(A),
                                   .to = ip_from_v4(FAR),
                                   .from_port = 7,
                                   .to_port = 9,
                                   .data = (const uint8_t *)"x",
                                   .len = 1};
    know(GATEWAY, &mac_c);
    assert_int_equal(net_send(net, now, &d, &tx), 0);
    expect_to_mac(0, &mac_c);
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
        know(B, &mac_b);
        tx_clear();
        after_ms(NET_NEIGHBOR_REACHABLE_MS);
        net_tick(net, now, &tx);
        tick_all();
        assert_int_equal(tx.n, 0);
        assert_int_equal(stats.c.arp_expired, 1);
    }
}

static void unused_neighbor_is_forgotten_without_a_word(void **state)
{
    struct net_neighbor n;
    know(B, &mac_b);
    after_ms(NET_NEIGHBOR_REACHABLE_MS + 1000);
    tick_all();
    assert_int_equal(tx.n, 0);
    assert_false(neighbor(B, &n));
}

static void neighbor_known_once_and_asked_again_is_waited_for(void **state)
{
    know(B, &mac_b);
    send_to(B);
    after_ms(2 * NET_NEIGHBOR_REACHABLE_MS);
    tick_all();
    tx_clear();
    send_to(B);  // makes the entry anew
    send_to(B);
    assert_int_equal(tx.n, 1);
    expect_request(0, B, A, &mac_all);
    assert_int_equal(drops_sum(), 0);
}

static void gateway_is_kept_known_without_use(void **state)
{
    struct net_neighbor n;
    know(GATEWAY, &mac_c);
    after_ms(NET_NEIGHBOR_REACHABLE_MS + 1000);
    tick_all();
    expect_request(0, GATEWAY, A, &mac_c);
    assert_true(neighbor(GATEWAY, &n));
}

static void announcement_updates_a_known_neighbor_and_makes_none(void **state)
{
    struct net_neighbor n;
    give_arp(ARP_OP_REQUEST, &mac_b, B, B);
    expect_drops(DROP_arp_not_for_us, 1);
    assert_false(neighbor(B, &n));
    know(B, &mac_b);
    give_arp(ARP_OP_REQUEST, &mac_c, B, B);
    assert_true(neighbor(B, &n));
    assert_memory_equal(n.mac.b, mac_c.b, 6);
    give_arp(ARP_OP_REPLY, &mac_b, B, B);
    assert_true(neighbor(B, &n));
    assert_memory_equal(n.mac.b, mac_b.b, 6);
    give_arp(ARP_OP_REPLY, &mac_b, B, B);
    assert_int_equal(stats.c.arp_learned, 3);  // what is known is not learned
    assert_int_equal(drops_sum(), 0);
}

static void static_neighbors_are_never_asked_aged_or_changed(void **state)
{
    struct net_config c = config();
    c.n_statics = NET_STATICS_MAX;
    for (unsigned i = 0; i < NET_STATICS_MAX; i++)
        c.statics[i] = (struct net_static){ip_from_v4(B + i), {{2, 0, 0, 0, 9, (uint8_t)i}}};
    restart(&c);
    struct net_neighbor n;
    for (unsigned i = 0; i < NET_STATICS_MAX; i++) {
        give_arp(ARP_OP_REQUEST, &mac_c, B + i, A);
        give_arp(ARP_OP_REQUEST, &mac_c, B + i, B + i);
        give_arp(ARP_OP_REPLY, &mac_c, B + i, A);
        tx_clear();
        assert_int_equal(send_to(B + i), 1);
        expect_to_mac(0, &c.statics[i].mac);
        tx_clear();
    }
    after_ms(10 * NET_NEIGHBOR_REACHABLE_MS);
    tick_all();
    assert_int_equal(tx.n, 0);
    assert_true(neighbor(B + 15, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_STATIC);
}

static void flood_of_65000_silent_neighbors_harms_nobody(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    restart(&c);
    know(GATEWAY, &mac_c);
    know(B, &mac_b);
    uint64_t requests = 0, began_us = now.us;
    for (uint32_t i = 0; i < 65000; i++) {
        send_to(0x0a010000 + i);
        now = clock_at_us(now.us + 10);
        if (i % 100 == 0) {
            tx.n == TX_ROOM ? tx_clear() : (void)0;
            net_tick(net, now, &tx);
        }
        tx_clear();
    }
    requests = stats.c.tx_arp - stats.c.answered;  // the others are replies
    assert_in_range(requests, 500, 100 + (now.us - began_us) / 1000 + 1);
    unsigned pending = 0;
    for (uint32_t i = 0; i < net_arp_slots(net); i++) {
        struct net_neighbor n;
        pending += net_arp_read(net, i, &n) && n.state == NET_NEIGHBOR_PENDING;
    }
    assert_in_range(pending, 300, 512);
    // Each of the 65,000 waits, was replaced, or expired.
    assert_int_equal(drops[DROP_arp_cache_full] + drops[DROP_arp_wait_expired] + pending, 65000);
    assert_true(pkt_pool_free_count(pool) >= pool_free - 512);
    send_to(B);
    expect_to_mac(0, &mac_b);
    send_to(FAR);
    expect_to_mac(1, &mac_c);
    tx_clear();
    know(0x0a020202, &mac_b);  // a newcomer finds a place at once
    send_to(0x0a020202);
    expect_to_mac(0, &mac_b);
    for (unsigned i = 0; i < 8; i++) {  // and all of it ends
        after_ms(NET_NEIGHBOR_RETRY_MS);
        tick_all();
        tx_clear();
    }
    assert_int_equal(drops[DROP_arp_cache_full] + drops[DROP_arp_wait_expired], 65000);
}

static void flood_of_askers_does_not_push_out_the_gateway_or_those_in_use(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    restart(&c);
    know(GATEWAY, &mac_c);
    know(B, &mac_b);
    for (uint32_t i = 0; i < 65000; i++) {
        know(0x0a010000 + i, &mac_c);
        if (i % 50 == 0) {
            after_ms(1);
            send_to(B);
            expect_to_mac(0, &mac_b);
            tx_clear();
        }
    }
    assert_int_equal(send_to(FAR), 1);
    expect_to_mac(0, &mac_c);
    assert_true(stats.c.arp_evicted > 60000);
    assert_int_equal(drops_sum(), 0);
}

// fill_cache: every set is full of neighbors that asked for us.
static void fill_cache(void)
{
    for (uint32_t i = 0; i < 20000; i++)
        know(0x0a010000 + i, &mac_c);
    after_ms(1);
}

static unsigned count_in_state(enum net_neighbor_state state)
{
    struct net_neighbor n;
    unsigned count = 0;
    for (uint32_t i = 0; i < net_arp_slots(net); i++)
        count += net_arp_read(net, i, &n) && n.state == state;
    return count;
}

static void a_cache_full_of_known_neighbors_still_asks_for_a_new_one(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    restart(&c);
    know(GATEWAY, &mac_c);
    fill_cache();
    const unsigned known = count_in_state(NET_NEIGHBOR_REACHABLE);
    assert_int_equal(known, c.arp_entries);
    assert_int_equal(send_to(0x0a020202), 1);
    expect_request(0, 0x0a020202, A, &mac_all);
    tx_clear();
    give_arp(ARP_OP_REPLY, &mac_b, 0x0a020202, A);
    assert_int_equal(tx.n, 1);  // the packet that waited
    expect_to_mac(0, &mac_b);
    assert_int_equal(drops_sum(), 0);
    assert_int_equal(count_in_state(NET_NEIGHBOR_REACHABLE), known);
}

static void a_scan_takes_one_known_neighbor_of_a_full_set_at_most(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    restart(&c);
    know(GATEWAY, &mac_c);
    fill_cache();
    for (uint32_t i = 0; i < 20000; i++) {
        send_to(0x0a020000 + i);
        tx_clear();
    }
    assert_int_equal(count_in_state(NET_NEIGHBOR_PENDING), c.arp_entries / NET_NEIGHBOR_WAYS);
    assert_int_equal(count_in_state(NET_NEIGHBOR_REACHABLE),
                     c.arp_entries - c.arp_entries / NET_NEIGHBOR_WAYS);
    send_to(FAR);
    expect_to_mac(0, &mac_c);
}

// answer_for: if one of tx's packets asks for v4, its owner answers. tx is empty then.
static void answer_for(uint32_t v4, const struct mac_addr *mac)
{
    bool asked = false;
    for (uint32_t i = 0; i < tx.n; i++) {
        const uint8_t *f = pkt_data(tx.pkts[i]);
        asked |= load_be16(f + 12) == ETH_TYPE_ARP && load_be32(f + 38) == v4;
    }
    if (asked)
        give_arp(ARP_OP_REPLY, mac, v4, A);
}

// 5,000 unknown neighbors a second ask for five times what may be asked. The requests that are due
// each minute for who is known come after theirs, in every millisecond.
static void a_flood_does_not_make_known_neighbors_and_gateways_expire(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    restart(&c);
    know(GATEWAY, &mac_c);
    know(B, &mac_b);
    for (uint32_t ms = 0, next = 0x0a010000; ms < 200000; ms++) {
        after_ms(1);
        for (unsigned i = 0; i < 5; i++)
            send_to(next++);
        tx_clear();
        net_tick(net, now, &tx);
        answer_for(GATEWAY, &mac_c);
        answer_for(B, &mac_b);
        tx_clear();
        if (ms % 100 != 0)
            continue;
        assert_int_equal(send_to(FAR) + send_to(B), 2);
        expect_to_mac(0, &mac_c);
        expect_to_mac(1, &mac_b);
        tx_clear();
    }
    assert_true(stats.c.arp_limited > 500000);
}

static void start_announces_each_address_and_asks_for_the_gateway(void **state)
{
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 3);
    expect_request(0, A, A, &mac_all);
    expect_request(1, A2, A2, &mac_all);
    expect_request(2, GATEWAY, A, &mac_all);
}

// The link was down: the neighbor has another NIC now, and its announcement was lost.
static void announcing_asks_all_for_each_known_neighbor_once(void **state)
{
    struct net_neighbor n;
    know(B, &mac_b);
    know(GATEWAY, &mac_b);
    net_announce(net, now, &tx);
    tx_clear();
    after_ms(4);  // half of 1,000 requests a second
    tick_all();
    assert_int_equal(tx.n, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(pkt_data(tx.pkts[i]), mac_all.b, 6);
    tx_clear();
    send_to(B);
    expect_to_mac(0, &mac_b);  // in use meanwhile
    give_arp(ARP_OP_REPLY, &mac_c, B, A);
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    assert_memory_equal(n.mac.b, mac_c.b, 6);
    tx_clear();
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    assert_false(neighbor(GATEWAY, &n));  // it did not answer
    assert_true(neighbor(B, &n));
    assert_int_equal(tx.n, 0);
}

static void arp_is_rendered_as_linux_does(void **state)
{
    struct net_config c = config();
    c.n_statics = 1;
    c.statics[0] = (struct net_static){ip_from_v4(0x0a0000c8), {{0x52, 0x54, 0, 0x12, 0x35, 0xab}}};
    restart(&c);
    char buf[400];
    uint32_t slot = 0;
    size_t n = net_arp_render(net, "eth0", &slot, buf, sizeof(buf));
    // A line of Linux 6.1's /proc/net/arp, address and MAC replaced.
    const char *want =
        "10.0.0.200       0x1         0x6         52:54:00:12:35:ab     *        eth0\n";
    assert_int_equal(n, strlen(want));
    assert_memory_equal(buf, want, n);
    assert_int_equal(slot, net_arp_slots(net));
    know(B, &mac_b);
    send_to(B + 1);
    unsigned lines = 0;
    char seen[400] = "";
    for (slot = 0; slot < net_arp_slots(net);) {
        n = net_arp_render(net, "eth0", &slot, buf, strlen(want));  // room for one line
        lines += n != 0;
        strncat(seen, buf, n);
    }
    assert_int_equal(lines, 3);
    assert_non_null(strstr(
        seen, "10.0.0.2         0x1         0x2         02:00:00:00:00:02     *        eth0\n"));
    assert_non_null(strstr(
        seen, "10.0.0.3         0x1         0x0         00:00:00:00:00:00     *        eth0\n"));
    slot = 0;
    assert_int_equal(net_arp_render(net, "eth0", &slot, buf, 10), 0);  // room for none: no loop
}

static atomic_bool reader_stop;
static atomic_uint reader_saw, reader_torn;

static void *reader(void *arg)
{
    while (!reader_stop) {
        for (uint32_t i = 0; i < net_arp_slots(net); i++) {
            struct net_neighbor n;
            if (!net_arp_read(net, i, &n))
                continue;
            reader_saw++;
            if (n.mac.b[4] != (n.v4 >> 8 & 255) || n.mac.b[5] != (n.v4 & 255))
                reader_torn++;
        }
    }
    return NULL;
}

static void reader_on_another_thread_never_sees_half_an_entry(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    c.gateway = 0;
    c.arp_entries = 64;
    restart(&c);
    pthread_t t;
    reader_stop = false;
    pthread_create(&t, NULL, reader, NULL);
    for (uint32_t i = 0; i < 300000; i++) {
        struct mac_addr mac = {{2, 0, 0, 7, (uint8_t)(i >> 8), (uint8_t)i}};
        know(0x0a010000 + (i & 0xffff), &mac);
    }
    for (unsigned i = 0; reader_saw < 1000 && i < 10000; i++)
        usleep(100);
    reader_stop = true;
    pthread_join(t, NULL);
    assert_true(reader_saw >= 1000);
    assert_int_equal(reader_torn, 0);
}

// ---- routes and output

static void route_is_the_local_prefix_else_the_gateway_else_none(void **state)
{
    know(B, &mac_b);
    know(GATEWAY, &mac_c);
    send_to(B);
    send_to(FAR);
    expect_to_mac(0, &mac_b);
    expect_to_mac(1, &mac_c);
    send_to(A2 + 5);  // on the second prefix: asked for with the address of that prefix
    expect_request(2, A2 + 5, A2, &mac_all);
    struct net_config c = config();
    c.gateway = 0;
    restart(&c);
    assert_int_equal(send_to(FAR), 0);
    expect_drops(DROP_ip_no_route, 1);
}

// routed: what config() has, and three routes, one of them inside the prefix of A.
static struct net_config routed(void)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 8;
    c.n_routes = 3;
    c.routes[0] = (struct net_route){ip_from_v4(0xc0000000), 16, ip_from_v4(B)};  // 192.0.0.0/16
    c.routes[1] =
        (struct net_route){ip_from_v4(0xc0000200), 24, ip_from_v4(B + 1)};  // 192.0.2.0/24
    c.routes[2] =
        (struct net_route){ip_from_v4(0x0a070000), 16, ip_from_v4(A2 + 9)};  // 10.7.0.0/16
    return c;
}

static void the_longest_prefix_counts(void **state)
{
    static const struct {
        uint32_t to, hop, own;
    } rows[] = {{FAR, B + 1, A},
                {0xc00002ff, B + 1, A},
                {0xc0000100, B, A},
                {0xc000ffff, B, A},
                {0xc0010000, GATEWAY, A},
                {0x08080808, GATEWAY, A},
                {0x0a070001, A2 + 9, A2},
                {0x0a070000, A2 + 9, A2},
                {0x0a080000, 0x0a080000, A},
                {0x0a06ffff, 0x0a06ffff, A},
                {A2 + 7, A2 + 7, A2}};
    struct net_config c = routed();
    for (unsigned order = 0; order < 2; order++) {
        restart(&c);
        for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
            restart(&c);
            assert_int_equal(send_to(rows[i].to), 1);
            expect_request(0, rows[i].hop, rows[i].own, &mac_all);
            tx_clear();
            know(rows[i].hop, &mac_c);
            tx_clear();
            assert_int_equal(send_to(rows[i].to), 1);
            expect_to_mac(0, &mac_c);
        }
        const struct net_route r = c.routes[0];  // the order in which they are given is nothing
        c.routes[0] = c.routes[2];
        c.routes[2] = r;
    }
}

static void a_burst_over_several_routes_finds_each_segments_hop(void **state)
{
    static const uint32_t to[] = {FAR, FAR, 0xc0000100, FAR, 0x08080808, 0x08080809, 0x0a070001, B};
    static const uint32_t hop[] = {B + 1, B + 1, B, B + 1, GATEWAY, GATEWAY, A2 + 9, B};
    struct net_config c = routed();
    struct seg_out segs[ARRAY_LEN(to)];
    restart(&c);
    for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
        struct mac_addr mac = {{2, 0, 0, 9, (uint8_t)(hop[i] >> 16), (uint8_t)hop[i]}};
        know(hop[i], &mac);
        segs[i] = segment_to(to[i]);
    }
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(net_output(net, now, segs, ARRAY_LEN(to), &tx), ARRAY_LEN(to));
        for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
            struct mac_addr mac = {{2, 0, 0, 9, (uint8_t)(hop[i] >> 16), (uint8_t)hop[i]}};
            expect_to_mac(i, &mac);
        }
        tx_clear();
    }
}

// The IPv4 header of packet i is whole.
static const uint8_t *header_of(uint32_t i)
{
    const uint8_t *ip = pkt_data(tx.pkts[i]) + ETH_BYTES;
    assert_int_equal(cksum_fold(cksum_add(0, ip, IP4_BYTES)), 0xffff);
    return ip;
}

static void segments_with_an_ip_header_of_their_own_have_it_and_those_beside_them_not(void **state)
{
    static uint8_t data[9000];
    struct seg_out segs[6];
    know(B, &mac_b);
    for (unsigned i = 0; i < 6; i++)
        segs[i] = segment_to(B);
    segs[1].opts = segs[3].opts = segs[4].opts = segs[5].opts = SEG_OPT_IP;
    segs[1].ttl = 3;
    segs[3].may_split = segs[4].may_split = segs[5].may_split = true;
    segs[3].opts |= SEG_OPT_TS;
    segs[4].tos = 0xb8;
    segs[4].ttl = 255;
    segs[5].ttl = 9;  // a large one, cut here
    segs[5].mss = 1460;
    segs[5].data[0] = data;
    segs[5].data_len[0] = 2920;
    assert_int_equal(net_output(net, now, segs, 6, &tx), 7);
    const uint8_t ttls[] = {64, 3, 64, 64, 255, 9, 9};
    const uint8_t tos[] = {0, 0, 0, 0, 0xb8, 0, 0};
    const bool split[] = {false, false, false, true, true, true, true};
    uint16_t id = 0;
    for (unsigned i = 0; i < 7; i++) {
        struct wire_ip4 parsed;
        struct seg_in in;
        const uint8_t *ip = header_of(i);
        assert_int_equal(ip[8], ttls[i]);
        assert_int_equal(ip[1], tos[i]);
        assert_int_equal(load_be16(ip + 6), split[i] ? 0 : 0x4000);
        const uint16_t step = (uint16_t)(load_be16(ip + 4) - id);
        if (!split[i])
            assert_int_equal(load_be16(ip + 4), 0);
        else if (i > 3)
            assert_in_range(step, 1, 8);  // they follow each other, but for others that share
        id = load_be16(ip + 4);
        const uint8_t *f = pkt_data(tx.pkts[i]);
        assert_int_equal(wire_parse_ip4(f, pkt_len(tx.pkts[i]), false, &parsed), DROP_NONE);
        assert_int_equal(wire_parse_tcp(f, &parsed, true, &in), DROP_NONE);
    }
}

// The bits of the prefix that leads there, and the address of ours that it leaves from.
static void a_datagrams_way_and_source_follow_its_destination(void **state)
{
    static const struct {
        uint32_t to, from;
        int bits;
    } ways[] = {
        {B, A, 24},          {0xac100005, A2, 16}, {FAR, A, 0},
        {0x0a0000ff, A, 24}, {0xac10ffff, A2, 16}, {0xffffffff, A, 0},
        {0xe0000001, A, 0},  {A, A, -1},           {0x7f000001, A, -1},
    };
    for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
        const struct ip_addr to = ip_from_v4(ways[i].to);
        struct ip_addr from;
        assert_int_equal(net_egress(net, &to, &from), ways[i].bits);
        if (ways[i].bits >= 0)
            assert_int_equal(ip_to_v4(&from), ways[i].from);
    }
}

static void without_a_gateway_what_no_route_holds_has_none(void **state)
{
    struct net_config c = routed();
    c.gateway = 0;
    restart(&c);
    know(B + 1, &mac_b);
    send_to(FAR);
    expect_to_mac(0, &mac_b);
    assert_int_equal(send_to(0x08080808), 0);
    expect_drops(DROP_ip_no_route, 1);
}

static void every_routes_hop_is_asked_for_at_start_and_kept_known(void **state)
{
    struct net_config c = routed();
    restart(&c);
    net_announce(net, now, &tx);
    assert_int_equal(tx.n, 6);
    expect_request(2, B + 1, A, &mac_all);
    expect_request(3, B, A, &mac_all);
    expect_request(4, A2 + 9, A2, &mac_all);
    expect_request(5, GATEWAY, A, &mac_all);
    tx_clear();
    give_arp(ARP_OP_REPLY, &mac_b, A2 + 9, A2);
    after_ms(NET_NEIGHBOR_REACHABLE_MS);
    tick_all();
    struct net_neighbor n;
    assert_true(neighbor(A2 + 9, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_PROBE);
}

static void segment_of_no_address_of_ours_or_to_ipv6_has_no_route(void **state)
{
    struct seg_out s = segment_to(B);
    const uint16_t wrong[] = {LOCAL_IX + 2, LOCAL_IX - 1, 0, UINT16_MAX};
    for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
        s.key.local_ix = wrong[i];
        assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    }
    s = segment_to(B);
    s.key.remote.b[0] = 0x20;
    net_output(net, now, &s, 1, &tx);
    expect_drops(DROP_ip_no_route, 5);
}

static uint16_t id_to(uint32_t v4)
{
    struct seg_out s = segment_to(v4);
    s.opts = SEG_OPT_IP;
    s.may_split = true;
    tx_clear();
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    return load_be16(pkt_data(tx.pkts[0]) + 14 + 4);
}

// RFC 7739: who counts identifications at his own address does not count those of others.
static void identifications_to_one_address_tell_nothing_of_those_to_another(void **state)
{
    unsigned told = 0;
    for (unsigned i = 0; i < 200; i++) {
        const uint32_t mine = 0x0a000010 + i, other = 0x0a0000f0;
        know(mine, &mac_b);
        know(other, &mac_b);
        const uint16_t before = id_to(mine);
        for (unsigned k = 0; k < 50; k++)
            id_to(other);
        told += (uint16_t)(id_to(mine) - before) > 8;
    }
    assert_in_range(told, 0, 8);  // who shares a counter, one in 1,024
}

static void segment_above_the_mtu_is_refused(void **state)
{
    static uint8_t data[3000];
    know(B, &mac_b);
    struct seg_out s = segment_to(B);
    assert_int_equal(net_mss(net), 1460);
    s.data[0] = data;
    s.data_len[0] = 1460;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    assert_int_equal(pkt_len(tx.pkts[0]), 1514);
    s.data_len[0] = 1461;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    s.data_len[0] = UINT16_MAX;
    s.data_len[1] = UINT16_MAX;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 0);
    expect_drops(DROP_ip_mtu, 2);
    struct net_config c = config();
    c.mtu = 9000;  // the packets of this pool hold less
    restart(&c);
    assert_int_equal(net_mss(net), PKT_ROOM - 14 - 40);
}

// One behind the other in a burst, from one address of ours, and each to its own neighbor.
static void segments_to_two_neighbors_find_theirs(void **state)
{
    static const uint32_t to[] = {B, B + 1, B + 1, B, B + 1};
    struct seg_out s[ARRAY_LEN(to)];
    know(B, &mac_b);
    know(B + 1, &mac_c);
    for (unsigned i = 0; i < ARRAY_LEN(to); i++)
        s[i] = segment_to(to[i]);
    assert_int_equal(net_output(net, now, s, ARRAY_LEN(to), &tx), ARRAY_LEN(to));
    assert_int_equal(tx.n, ARRAY_LEN(to));
    for (unsigned i = 0; i < ARRAY_LEN(to); i++)
        expect_to_mac(i, to[i] == B ? &mac_b : &mac_c);
}

static void burst_to_many_neighbors_comes_out_in_order(void **state)
{
    struct seg_out segs[BURST_MAX];
    for (uint32_t i = 0; i < BURST_MAX; i++) {
        struct mac_addr mac = {{2, 0, 0, 0, 1, (uint8_t)i}};
        know(B + i, &mac);
        segs[i] = segment_to(B + i);
    }
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(net_output(net, now, segs, BURST_MAX, &tx), BURST_MAX);
        for (uint32_t i = 0; i < BURST_MAX; i++) {
            struct mac_addr mac = {{2, 0, 0, 0, 1, (uint8_t)i}};
            expect_to_mac(i, &mac);
            assert_int_equal(load_be32(pkt_data(tx.pkts[i]) + 30), B + i);
        }
        tx_clear();
    }
}

// Segments that have not all in common: what ends a run does not end the burst, and order stays.
static void a_burst_of_unlike_segments_comes_out_in_order_and_right(void **state)
{
    enum { KINDS = 6 };  // plain, timestamp, other address, SYN, too long, to IPv6
    static const uint8_t data[1461];
    struct seg_out segs[BURST_MAX];
    know(B, &mac_b);
    for (uint32_t i = 0; i < BURST_MAX; i++) {
        const uint32_t kind = i * 7 / 3 % KINDS;
        segs[i] = segment_to(B);
        segs[i].seq = i;
        segs[i].data[0] = data;
        segs[i].data_len[0] = (uint16_t)(kind == 4 ? 1461 : kind == 3 ? 0 : i);
        segs[i].opts = kind == 1 ? SEG_OPT_TS : kind == 3 ? SEG_OPT_MSS : 0;
        segs[i].mss = 1460;
        segs[i].flags = kind == 3 ? SEG_SYN : SEG_ACK;
        segs[i].key.local_ix += kind == 2;
        segs[i].key.remote.b[0] = kind == 5 ? 0x20 : 0;
    }
    net_output(net, now, segs, BURST_MAX, &tx);
    uint32_t out = 0, long_ones = 0, v6 = 0;
    for (uint32_t i = 0; i < BURST_MAX; i++) {
        const uint32_t kind = i * 7 / 3 % KINDS;
        long_ones += kind == 4;
        v6 += kind == 5;
        if (kind >= 4)
            continue;
        assert_true(out < tx.n);
        const uint8_t *f = pkt_data(tx.pkts[out]);
        const uint32_t len = 54 + segs[i].data_len[0] + (kind == 1 ? 12 : kind == 3 ? 4 : 0);
        expect_to_mac(out, &mac_b);
        assert_int_equal(pkt_len(tx.pkts[out]), len);
        assert_int_equal(load_be32(f + 38), i);
        assert_int_equal(load_be32(f + 26), kind == 2 ? A2 : A);
        assert_true(wire_ip4_verify(f + 14) && wire_tcp4_verify(f, len - 34));
        out++;
    }
    assert_int_equal(tx.n, out);
    assert_true(long_ones > 5 && v6 > 5 && out > 30);
    assert_int_equal(drops[DROP_ip_mtu], long_ones);
    drops[DROP_ip_mtu] = 0;
    expect_drops(DROP_ip_no_route, v6);
}

static void more_than_a_burst_is_built_and_more_than_the_room_is_not(void **state)
{
    struct seg_out segs[200];
    know(B, &mac_b);
    for (unsigned i = 0; i < 200; i++)
        segs[i] = segment_to(B);
    assert_int_equal(net_output(net, now, segs, 200, &tx), 200);
    assert_int_equal(net_output(net, now, segs, 0, &tx), 0);
    assert_int_equal(drops_sum(), 0);
    assert_int_equal(net_output(net, now, segs, 200, &tx), TX_ROOM - 200);
    expect_drops(DROP_reply_room, 200 - (TX_ROOM - 200));
    send_to(B + 1);  // nor does a request push anything out
    assert_int_equal(tx.n, TX_ROOM);
}

static void empty_pool_drops_what_it_cannot_hold(void **state)
{
    struct pkt *held[POOL_PKTS];
    struct seg_out segs[8];
    know(B, &mac_b);
    for (unsigned i = 0; i < 8; i++)
        segs[i] = segment_to(B);
    unsigned n = 0;
    while (n + 3 < pool_free && pkt_alloc_bulk(pool, &held[n], 1))
        n++;
    uint32_t sent = net_output(net, now, segs, 8, &tx);
    assert_in_range(sent, 1, 3);
    expect_drops(DROP_pkt_pool_empty, 8 - sent);
    while (pkt_alloc_bulk(pool, &held[n], 1))
        n++;
    assert_int_equal(net_output(net, now, segs, 8, &tx), 0);
    expect_drops(DROP_pkt_pool_empty, 8);
    pkt_free_bulk(held, n);
}

// The last packet is the one that waits: nobody can be asked, and it waits all the same.
static void without_a_packet_for_the_question_a_segment_waits_until_there_is_one(void **state)
{
    static struct pkt *held[POOL_PKTS];
    unsigned n = 0;
    while (n + 1 < pool_free && pkt_alloc_bulk(pool, &held[n], 1))
        n++;
    send_to(B);
    while (pkt_alloc_bulk(pool, &held[n], 1))
        n++;
    assert_int_equal(tx.n, 0);
    assert_int_equal(stats.c.arp_limited, 1);
    pkt_free_bulk(held, n);
    after_ms(NET_NEIGHBOR_RETRY_MS);
    tick_all();
    expect_request(0, B, A, &mac_all);
    tx_clear();
    give_arp(ARP_OP_REPLY, &mac_b, B, A);
    expect_to_mac(0, &mac_b);
}

static void port_that_fills_checksums_is_told_where(void **state)
{
    struct net_config c = config();
    c.caps = PORT_TX_L4_CKSUM;
    restart(&c);
    know(B, &mac_b);
    struct seg_out s = segment_to(B);
    s.opts = SEG_OPT_TS;
    s.data[0] = (const uint8_t *)"data!";
    s.data_len[0] = 5;
    net_output(net, now, &s, 1, &tx);
    const struct rte_mbuf *m = &tx.pkts[0]->m;
    assert_true(m->ol_flags == (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM));
    assert_int_equal(m->l2_len, 14);
    assert_int_equal(m->l3_len, 20);
    assert_int_equal(m->l4_len, 32);
    assert_int_equal(m->tso_segsz, 0);
    uint8_t *f = pkt_data(tx.pkts[0]);
    uint16_t pseudo = cksum_fold(cksum_pseudo4(raw32(A), raw32(B), 6, 37));
    assert_int_equal(load_raw16(f + 50), pseudo);
    assert_true(wire_ip4_verify(f + 14));
}

static void a_port_that_cuts_is_told_where_and_how(void **state)
{
    static uint8_t data[20000];
    struct net_config c = config();
    c.caps = PORT_TX_L4_CKSUM | PORT_TX_IP_CKSUM | PORT_MULTI_SEG | PORT_TSO;
    restart(&c);
    know(B, &mac_b);
    struct seg_out s = segment_to(B);
    s.mss = 1460;
    s.data[0] = data;
    s.data_len[0] = sizeof(data);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    const struct rte_mbuf *m = &tx.pkts[0]->m;
    assert_int_equal(pkt_total_len(tx.pkts[0]), 54 + sizeof(data));
    assert_true((m->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)) == RTE_MBUF_F_TX_IPV4);
    assert_true(m->ol_flags & RTE_MBUF_F_TX_TCP_SEG);
    assert_int_equal(m->tso_segsz, 1460);
    assert_int_equal(m->l3_len, 20);
    c.caps =
        PORT_TX_L4_CKSUM | PORT_MULTI_SEG | PORT_TSO;  // cuts, but the first header has its sum
    restart(&c);
    know(B, &mac_b);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    assert_true(wire_ip4_verify(pkt_data(tx.pkts[0]) + 14));
    assert_int_equal(pkt_data(tx.pkts[0])[22], IP4_TTL);
    tx_clear();
    s.opts = SEG_OPT_IP;
    s.ttl = 7;
    assert_int_equal(net_output(net, now, &s, 1, &tx), 1);
    assert_true(wire_ip4_verify(pkt_data(tx.pkts[0]) + 14));
    assert_int_equal(pkt_data(tx.pkts[0])[22], 7);
    s.opts = 0;
    c.caps = PORT_TX_L4_CKSUM | PORT_TX_IP_CKSUM;  // sums, but does not cut
    restart(&c);
    know(B, &mac_b);
    assert_int_equal(net_output(net, now, &s, 1, &tx), 14);
    for (uint32_t i = 0; i < tx.n; i++) {
        m = &tx.pkts[i]->m;
        assert_true((m->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)) ==
                    RTE_MBUF_F_TX_IPV4);
        assert_int_equal(m->l3_len, 20);
    }
}

static void balance_is_zero_after_a_storm(void **state)
{
    struct rng r = {77};
    uint64_t given = 0, handed_up = 0;
    for (unsigned round = 0; round < 2000; round++) {
        struct pkt *p[BURST_MAX];
        uint32_t n = rng_below(&r, BURST_MAX) + 1;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t len;
            uint8_t *f = frame_bytes(all_frames[rng_below(&r, ARRAY_LEN(all_frames))], &len);
            p[i] = pkt_of(pool, 0, len);
            memcpy(pkt_data(p[i]), f, len);
            if (rng_below(&r, 3) == 0)
                pkt_data(p[i])[rng_below(&r, len)] ^= (uint8_t)(1u << rng_below(&r, 8));
            free(f);
        }
        tx.room = rng_below(&r, 4) == 0 ? 3 : TX_ROOM;
        net_input(net, now, p, n, &rx, &tx);
        given += n;
        handed_up += rx.n_segs + rx.n_icmp + rx.n_udp;
        for (uint32_t i = 0; i < n; i++)
            if (p[i] != NULL)
                pkt_free(p[i]);
        after_ms(rng_below(&r, 20));
        tx_clear();
    }
    assert_int_equal(handed_up + stats.c.delivered + stats.c.answered + drops_sum(), given);
    assert_true(stats.c.rx_arp + stats.c.rx_icmp > 0);
}

// ---- configuration

static void expect_refused(const struct net_config *c, const char *word)
{
    struct err e = {.text = ""};
    char mem[64];
    assert_null(net_init(mem, c, pool, &stats, &e));
    if (strstr(e.text, word) == NULL)
        fail_msg("'%s' does not say '%s'", e.text, word);
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
    c.arp_entries = 1000;
    assert_int_equal(net_footprint(&c), 0);
    expect_refused(&c, "ARP cache of 1000");
    c = config();
    c.mac = mac_all;
    expect_refused(&c, "MAC");
    c = config();
    c.mtu = 500;
    expect_refused(&c, "MTU 500");
    c = config();
    c.n_locals = NET_LOCALS_MAX + 1;
    expect_refused(&c, "17 addresses");
    c = config();
    c.locals[1].addr = ip_from_v4(A);
    expect_refused(&c, "10.0.0.1: given twice");
    c = config();
    c.locals[0].addr = ip_from_v4(0xe0000001);
    expect_refused(&c, "224.0.0.1/24");
    c = config();
    c.locals[0].prefix_bits = 33;
    expect_refused(&c, "/33");
    c = config();
    c.gateway = FAR;
    expect_refused(&c, "gateway 192.0.2.9");
    c.n_statics = 1;
    c.statics[0] = (struct net_static){ip_from_v4(FAR), mac_all};
    expect_refused(&c, "neighbor 192.0.2.9");
    c = config();
    c.n_routes = 1;
    c.routes[0] = (struct net_route){ip_from_v4(0xc0000200), 24, ip_from_v4(FAR)};
    expect_refused(&c, "gateway 192.0.2.9");
    c.routes[0] = (struct net_route){ip_from_v4(0xc0000201), 24, ip_from_v4(B)};
    expect_refused(&c, "route 192.0.2.1/24");
    c.routes[0] = (struct net_route){ip_from_v4(0), 0, ip_from_v4(B)};
    expect_refused(&c, "route 0.0.0.0/0");
    c.routes[0] = c.routes[1] = (struct net_route){ip_from_v4(0xc0000200), 24, ip_from_v4(B)};
    c.n_routes = 2;
    expect_refused(&c, "route 192.0.2.0/24: given twice");
    c.n_routes = NET_ROUTES_MAX + 1;
    expect_refused(&c, "17 routes");
    c = config();
    c.n_statics = NET_STATICS_MAX + 1;
    expect_refused(&c, "17 static");
}

// Each limit is met from inside, and not passed by one.
static void configurations_at_their_limits_are_taken_and_one_beyond_is_refused(void **state)
{
    static const uint32_t entries[] = {NET_NEIGHBOR_ENTRIES_MIN, NET_NEIGHBOR_ENTRIES_MAX};
    struct net_config c = config();
    for (unsigned i = 0; i < ARRAY_LEN(entries); i++) {
        c.arp_entries = entries[i];
        restart(&c);
    }
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN / 2;
    expect_refused(&c, "ARP cache of 32");
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MAX * 2;
    expect_refused(&c, "ARP cache of 65536");
    c = config();
    c.mac = mac_zero;
    expect_refused(&c, "MAC address is zero");
    c = config();
    c.n_udp = NET_UDP_PORTS_MAX;
    for (uint32_t i = 0; i < NET_UDP_PORTS_MAX; i++)
        c.udp[i].port = (uint16_t)(1000 + i);
    restart(&c);
    c.n_udp = NET_UDP_PORTS_MAX + 1;
    expect_refused(&c, "33 UDP ports");
    c = config();
    c.mtu = 576;
    restart(&c);
    c.mtu = 575;
    expect_refused(&c, "MTU 575");
}

// Two routes may begin at one address; of one, one bit and 32 are the ends.
static void routes_of_1_to_32_bits_are_taken_also_side_by_side(void **state)
{
    static const uint8_t bits[] = {1, 24, 25, 32};
    struct net_config c = config();
    c.n_routes = ARRAY_LEN(bits);
    for (unsigned i = 0; i < ARRAY_LEN(bits); i++)
        c.routes[i] = (struct net_route){ip_from_v4(0x80000000), bits[i], ip_from_v4(B + i)};
    restart(&c);
    know(B + 3, &mac_c);
    assert_int_equal(send_to(0x80000000), 1);
    expect_to_mac(0, &mac_c);
    c.routes[3].prefix_bits = 33;
    expect_refused(&c, "/33: not a prefix of 1 to 32 bits");
}

// RFC 3021: a prefix of 31 bits has no broadcast address, one of 30 has.
static void only_prefixes_up_to_30_bits_have_a_broadcast_address(void **state)
{
    uint32_t len;
    uint8_t *f = frame_bytes(FRAME_SYN, &len);
    for (unsigned bits = 30; bits <= 31; bits++) {
        struct net_config c = config();
        c.gateway = 0;
        c.locals[0] = (struct net_local){ip_from_v4(bits == 30 ? A : A + 1), (uint8_t)bits};
        restart(&c);
        store_be32(f + 30, ip_to_v4(&c.locals[0].addr));
        store_be32(f + 26, A + 2);  // 10.0.0.3
        give_frame(f, len, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
        assert_int_equal(rx.n_segs, bits - 30);
        memset(drops, 0, sizeof(stats.drops));
    }
    free(f);
}

static int add(uint32_t v4, const struct mac_addr *mac, bool permanent)
{
    const struct ip_addr a = ip_from_v4(v4);
    return net_neighbor_add(net, now, &a, mac, permanent, &tx);
}

static int del(uint32_t v4)
{
    const struct ip_addr a = ip_from_v4(v4);
    return net_neighbor_del(net, &a);
}

static void an_operator_changes_every_neighbor_but_the_configured_ones(void **state)
{
    struct net_config c = config();
    struct net_neighbor n;
    c.n_statics = 1;
    c.statics[0] = (struct net_static){ip_from_v4(B + 9), mac_b};
    restart(&c);
    assert_int_equal(add(B + 9, &mac_c, false), -EPERM);
    assert_int_equal(del(B + 9), -EPERM);
    assert_int_equal(del(B), -ENOENT);
    assert_int_equal(add(B, &mac_b, false), 0);
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
    assert_int_equal(add(B, &mac_c, true), 0);
    assert_int_equal(send_to(B), 1);
    expect_to_mac(0, &mac_c);
    assert_int_equal(add(B, &mac_b, true), 0);  // again: another MAC, no further place
    assert_int_equal(add(B + 1, &mac_b, false), 0);
    assert_int_equal(net_neighbors_flush(net), 1);
    assert_false(neighbor(B + 1, &n));
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_STATIC);
    assert_int_equal(del(B), 0);
    assert_false(neighbor(B, &n));
    assert_int_equal(send_to(B + 9), 1);
    expect_to_mac(1, &mac_b);
}

static struct net_config next_config(void)
{
    struct net_config c = config();
    c.keys = keys_from((struct siphash_key){3, 4});  // which place an address has is drawn anew
    c.n_statics = 1;
    c.statics[0] = (struct net_static){ip_from_v4(B + 9), mac_b};
    return c;
}

static void neighbors_of_an_ended_process_are_known_to_the_next_one(void **state)
{
    struct net_neighbor n;
    const struct net_config next = next_config();
    struct net_config c = next;
    c.keys = keys_from((struct siphash_key){1, 2});
    restart(&c);
    know(B, &mac_b);
    know(GATEWAY, &mac_c);
    add(B + 1, &mac_c, true);
    after_ms(NET_NEIGHBOR_REACHABLE_MS - 2000);
    know(B + 2, &mac_c);
    send_to(B + 3);  // nobody answers
    assert_int_equal(succeed(&next, image_of(&next)), 4);
    assert_false(neighbor(B + 3, &n));
    assert_true(neighbor(B + 1, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_STATIC);
    assert_int_equal(send_to(B) + send_to(GATEWAY), 2);
    expect_to_mac(0, &mac_b);
    expect_to_mac(1, &mac_c);
    tx_clear();
    after_ms(2000);  // and are asked for again when they would have been
    tick_all();
    assert_int_equal(tx.n, 2);
    assert_true(neighbor(B, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_PROBE);
    assert_true(neighbor(B + 2, &n));
    assert_int_equal(n.state, NET_NEIGHBOR_REACHABLE);
}

static void a_neighbor_of_long_ago_is_asked_for_or_forgotten_at_once(void **state)
{
    struct net_neighbor n;
    const struct net_config next = next_config();
    for (unsigned bit = 20; bit < 32; bit++) {  // beyond half of the range of the times as well
        restart(&next);
        know(B, &mac_b);
        know(GATEWAY, &mac_c);
        uint8_t *image = image_of(&next);
        after_ms(1u << bit);
        assert_int_equal(succeed(&next, image), 2);
        after_ms(NET_NEIGHBOR_REACHABLE_MS);
        tick_all();
        assert_false(neighbor(B, &n));
        assert_true(neighbor(GATEWAY, &n));
        assert_int_equal(n.state, NET_NEIGHBOR_PROBE);
    }
}

static void a_neighbor_whose_entry_is_torn_or_damaged_is_not_known(void **state)
{
    const struct net_config next = next_config();
    restart(&next);
    know(B, &mac_b);
    uint8_t *image = image_of(&next), *entry = image;
    while (memcmp(entry + 4, &(uint32_t){raw32(B)}, 4) != 0 || memcmp(entry + 8, &mac_b, 6) != 0)
        entry += 8;
    entry[0] ^= 1;  // the sequence count: the store has begun
    assert_int_equal(succeed(&next, image), 0);
    struct rng r = {81};
    for (unsigned round = 0; round < 100; round++) {
        image = aligned_alloc(CACHE_LINE, net_footprint(&next));
        for (size_t i = 0; i < net_footprint(&next); i++)
            image[i] = (uint8_t)(rng_below(&r, 2) * rng_u64(&r));
        succeed(&next, image);
        for (unsigned i = 0; i < 8; i++)
            tick_all();
        struct net_neighbor n;
        for (uint32_t i = 0; i < net_arp_slots(net); i++)
            assert_true(!net_arp_read(net, i, &n) || (n.mac.b[0] & 1) == 0);
    }
}

// Of each set of places some stay for those that come by themselves.
static void permanent_neighbors_leave_places_to_others_and_can_change_when_full(void **state)
{
    struct net_config c = config();
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    restart(&c);
    unsigned taken = 0;
    bool is[250];
    uint32_t full = 0, kept = 0;
    for (uint32_t i = 0; i < 250; i++) {
        const int rc = add(B + i, &mac_b, true);
        assert_true(rc == 0 || rc == -ENOSPC);
        taken += is[i] = rc == 0;
        kept = rc == 0 ? B + i : kept;
        full = rc == 0 ? full : B + i;
    }
    const unsigned sets = NET_NEIGHBOR_ENTRIES_MIN / NET_NEIGHBOR_WAYS;
    assert_int_equal(taken, sets * (NET_NEIGHBOR_WAYS - NET_NEIGHBOR_DYNAMIC_WAYS));
    for (uint32_t i = 0; i < 250; i++) {  // others, later, come and go beside them
        after_ms(1);
        if (!is[i])
            assert_int_equal(add(B + i, &mac_b, false), 0);
    }
    unsigned still = 0;
    struct net_neighbor n;
    for (uint32_t i = 0; i < net_arp_slots(net); i++)
        still += net_arp_read(net, i, &n) && n.state == NET_NEIGHBOR_STATIC;
    assert_int_equal(still, taken);
    assert_int_equal(add(full, &mac_c, false), 0);
    assert_int_equal(add(full, &mac_c, true), -ENOSPC);
    assert_int_equal(add(kept, &mac_c, true), 0);
    assert_int_equal(send_to(kept), 1);
    expect_to_mac(0, &mac_c);
}

static void gateway_off_link_works_as_a_static_neighbor(void **state)
{
    struct net_config c = config();
    c.locals[0].prefix_bits = 32;
    c.gateway = FAR;
    c.n_statics = 1;
    c.statics[0] = (struct net_static){ip_from_v4(FAR), mac_c};
    restart(&c);
    send_to(0x08080808);
    expect_to_mac(0, &mac_c);
}

#define NET_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("net", POOL_PKTS, -1);
    if (pool == NULL)
        return 1;
    pool_free = pkt_pool_free_count(pool);
    const struct CMUnitTest tests[] = {
        NET_TEST(tcp_segments_are_delivered_and_stay_the_callers),
        NET_TEST(segments_of_a_burst_name_their_packets),
        NET_TEST(second_local_address_has_its_own_index),
        NET_TEST(checksums_are_verified_unless_the_port_did),
        NET_TEST(frame_cut_at_any_byte_is_dropped_once),
        NET_TEST(any_byte_changed_ends_in_exactly_one_way),
        NET_TEST(chain_is_delivered_only_if_all_is_in_its_first_buffer),
        NET_TEST(a_chain_that_fails_for_another_reason_says_that_one),
        NET_TEST(frames_not_for_us_are_dropped_with_their_reason),
        NET_TEST(a_net_without_addresses_takes_and_answers_nothing),
        NET_TEST(a_tag_of_a_vlan_that_no_port_has_is_counted),
        NET_TEST(a_frame_that_ends_inside_its_tag_is_short),
        NET_TEST(a_frame_with_a_priority_tag_is_taken_as_one_without),
        NET_TEST(any_ttl_is_taken_and_ours_is_64),
        NET_TEST(any_ip_options_are_passed_over),
        NET_TEST(no_segment_to_or_from_broadcast_or_multicast_is_handed_to_tcp),
        NET_TEST(sources_that_cannot_be_are_dropped),
        NET_TEST(ping_is_answered_in_the_same_packet),
        NET_TEST(padding_behind_a_ping_is_not_sent_back),
        NET_TEST(ping_above_the_rate_is_dropped_and_the_rate_recovers),
        NET_TEST(ping_without_room_for_its_reply_is_dropped),
        NET_TEST(icmp_error_about_our_segment_becomes_an_event),
        NET_TEST(icmp_about_a_segment_brings_linuxs_errno),
        NET_TEST(icmp_that_nobody_handles_is_dropped),
        NET_TEST(udp_without_a_service_is_answered_by_port_unreachable),
        NET_TEST(every_other_protocol_is_answered_by_protocol_unreachable),
        NET_TEST(an_error_quotes_at_most_what_makes_576_bytes),
        NET_TEST(no_error_is_sent_about_what_may_have_none),
        NET_TEST(errors_sent_keep_to_their_rate_and_are_counted_beyond),
        NET_TEST(an_error_without_room_or_packet_is_not_sent),
        NET_TEST(a_datagram_for_a_service_is_handed_up_and_its_answer_turns_round),
        NET_TEST(a_service_of_one_address_is_none_on_the_other),
        NET_TEST(a_udp_checksum_may_be_missing_and_not_be_wrong),
        NET_TEST(a_udp_checksum_of_0_is_sent_as_ffff),
        NET_TEST(udp_lengths_that_lie_are_refused_and_padding_is_no_payload),
        NET_TEST(two_services_do_not_answer_each_other),
        NET_TEST(small_services_elsewhere_are_not_answered),
        NET_TEST(an_answer_without_room_or_packet_is_none),
        NET_TEST(arp_request_is_answered_and_the_asker_learned),
        NET_TEST(probe_is_answered_and_not_learned),
        NET_TEST(asker_from_another_network_is_answered_and_not_learned),
        NET_TEST(false_senders_are_refused),
        NET_TEST(a_conflict_is_answered_by_one_announcement_in_ten_seconds_for_each_address),
        NET_TEST(a_quiet_net_learns_and_answers_nobody),
        NET_TEST(segment_waits_for_its_neighbor_and_leaves_with_the_reply),
        NET_TEST(asker_that_was_asked_for_releases_the_waiting_segment),
        NET_TEST(segments_wait_in_their_order_and_of_too_many_the_oldest_end),
        NET_TEST(what_waits_finds_room_or_ends),
        NET_TEST(all_neighbors_together_have_so_many_packets_waiting),
        NET_TEST(reply_that_nobody_asked_for_teaches_nothing),
        NET_TEST(neighbor_that_never_answers_is_asked_three_times),
        NET_TEST(used_neighbor_is_asked_again_and_used_meanwhile),
        NET_TEST(neighbor_that_fell_silent_is_asked_by_broadcast_at_last_and_forgotten),
        NET_TEST(unused_neighbor_is_forgotten_without_a_word),
        NET_TEST(neighbor_unused_for_just_so_long_is_not_asked_again),
        NET_TEST(a_datagram_leaves_by_the_gateway),
        NET_TEST(neighbor_known_once_and_asked_again_is_waited_for),
        NET_TEST(gateway_is_kept_known_without_use),
        NET_TEST(announcement_updates_a_known_neighbor_and_makes_none),
        NET_TEST(static_neighbors_are_never_asked_aged_or_changed),
        NET_TEST(flood_of_65000_silent_neighbors_harms_nobody),
        NET_TEST(flood_of_askers_does_not_push_out_the_gateway_or_those_in_use),
        NET_TEST(a_cache_full_of_known_neighbors_still_asks_for_a_new_one),
        NET_TEST(a_scan_takes_one_known_neighbor_of_a_full_set_at_most),
        NET_TEST(a_flood_does_not_make_known_neighbors_and_gateways_expire),
        NET_TEST(start_announces_each_address_and_asks_for_the_gateway),
        NET_TEST(announcing_asks_all_for_each_known_neighbor_once),
        NET_TEST(arp_is_rendered_as_linux_does),
        NET_TEST(reader_on_another_thread_never_sees_half_an_entry),
        NET_TEST(route_is_the_local_prefix_else_the_gateway_else_none),
        NET_TEST(the_longest_prefix_counts),
        NET_TEST(a_burst_over_several_routes_finds_each_segments_hop),
        NET_TEST(segments_with_an_ip_header_of_their_own_have_it_and_those_beside_them_not),
        NET_TEST(a_datagrams_way_and_source_follow_its_destination),
        NET_TEST(without_a_gateway_what_no_route_holds_has_none),
        NET_TEST(every_routes_hop_is_asked_for_at_start_and_kept_known),
        NET_TEST(segment_of_no_address_of_ours_or_to_ipv6_has_no_route),
        NET_TEST(identifications_to_one_address_tell_nothing_of_those_to_another),
        NET_TEST(segment_above_the_mtu_is_refused),
        NET_TEST(segments_to_two_neighbors_find_theirs),
        NET_TEST(burst_to_many_neighbors_comes_out_in_order),
        NET_TEST(a_burst_of_unlike_segments_comes_out_in_order_and_right),
        NET_TEST(more_than_a_burst_is_built_and_more_than_the_room_is_not),
        NET_TEST(empty_pool_drops_what_it_cannot_hold),
        NET_TEST(without_a_packet_for_the_question_a_segment_waits_until_there_is_one),
        NET_TEST(port_that_fills_checksums_is_told_where),
        NET_TEST(a_port_that_cuts_is_told_where_and_how),
        NET_TEST(balance_is_zero_after_a_storm),
        NET_TEST(what_a_configuration_does_not_count_is_not_looked_at),
        NET_TEST(configurations_that_cannot_work_are_refused_with_the_reason),
        NET_TEST(gateway_off_link_works_as_a_static_neighbor),
        NET_TEST(configurations_at_their_limits_are_taken_and_one_beyond_is_refused),
        NET_TEST(routes_of_1_to_32_bits_are_taken_also_side_by_side),
        NET_TEST(only_prefixes_up_to_30_bits_have_a_broadcast_address),
        NET_TEST(an_operator_changes_every_neighbor_but_the_configured_ones),
        NET_TEST(neighbors_of_an_ended_process_are_known_to_the_next_one),
        NET_TEST(a_neighbor_of_long_ago_is_asked_for_or_forgotten_at_once),
        NET_TEST(a_neighbor_whose_entry_is_torn_or_damaged_is_not_known),
        NET_TEST(permanent_neighbors_leave_places_to_others_and_can_change_when_full),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pkt_pool_destroy(pool);
    eal_stop();
    return failed;
}
