// SPDX-License-Identifier: BSD-3-Clause
// Fragments at the border: two hosts on a wire, one of which cuts what the other puts together, and
// parts cut by the test itself.
#include <errno.h>

#include "net/net.h"
#include "pkt_env.h"
#include "unit/seed.h"
#include "wire/build6.h"
#include "wire/parse6.h"

enum { POOL_PKTS = 4095, TX_ROOM = 1024, FRAME_MAX = 70000, ASK = 5000, SERVED = 7 };

struct host {
    struct net *net;
    struct net_tx tx;
    struct pkt *tx_pkts[TX_ROOM];
    void *reasm;
    struct udp_table *open;
    struct core_stats stats;
};

static const struct mac_addr macs[2] = {{{2, 0, 0, 0, 0, 1}}, {{2, 0, 0, 0, 0, 2}}};
static struct host hosts[2];
static struct pkt_pool *pool;
static unsigned pool_free;
static struct net_rx rx;
static struct clock_now now;
static uint8_t data[REASM_IP_MAX];

static struct ip_addr ip(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a))
        fail_msg("%s is no address", text);
    return a;
}

static struct ip_addr address(unsigned host, bool v6)
{
    return v6 ? ip(host == 0 ? "2001:db8::1" : "2001:db8::2") : ip_from_v4(0x0a000001 + host);
}

static void start(unsigned i)
{
    struct host *h = &hosts[i];
    struct net_config c;
    struct err e = {.text = ""};
    net_config_default(&c);
    c.mac = macs[i];
    c.n_locals = 2;
    c.locals[0] = (struct net_local){address(i, false), 24};
    c.locals[1] = (struct net_local){address(i, true), 64};
    c.n_statics = 2;
    c.statics[0] = (struct net_static){address(!i, false), macs[!i]};
    c.statics[1] = (struct net_static){address(!i, true), macs[!i]};
    c.n_udp = 1;
    c.udp[0] = (struct net_udp_port){SERVED, UINT16_MAX, 0};
    h->reasm = aligned_alloc(CACHE_LINE, reasm_footprint(64));
    h->open = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*h->open), CACHE_LINE));
    udp_table_init(h->open, (struct siphash_key){3, 4});
    const struct udp_open ask = {.at = ip("::"), .port = ASK};
    assert_int_equal(udp_table_open(h->open, &ask), 0);
    c.open = h->open;
    memset(&h->stats, 0, sizeof(h->stats));
    c.reasm = reasm_init(h->reasm, 64, (struct siphash_key){5, 6}, &h->stats.c);
    h->net = net_init(aligned_alloc(CACHE_LINE, net_footprint(&c)), &c, pool, &h->stats, &e);
    if (h->net == NULL)
        fail_msg("%s", e.text);
    h->tx = (struct net_tx){h->tx_pkts, 0, TX_ROOM};
}

static int setup(void **state)
{
    now = clock_at_us(1000000);
    start(0);
    start(1);
    return 0;
}

static void tx_clear(struct host *h)
{
    pkt_free_bulk(h->tx_pkts, h->tx.n);
    h->tx.n = 0;
}

// teardown: every packet has come back to the pool.
static int teardown(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        tx_clear(&hosts[i]);
        net_drain(hosts[i].net);
        free(hosts[i].net);
        free(hosts[i].reasm);
        free(hosts[i].open);
    }
    assert_int_equal(pkt_pool_free_count(pool), pool_free);
    return 0;
}

static void expect_no_drops(const struct host *h)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        if (h->stats.drops[i] != 0)
            fail_msg("drop reason %u: %lu", i, h->stats.drops[i]);
}

// take: one packet that h received, looked at as its worker would; what is left of it, for what the
// answer needs, is the caller's.
static struct pkt *take(struct host *h, struct pkt *p)
{
    net_input(h->net, now, &p, 1, &rx, &h->tx);
    if (rx.n_whole != 0)
        net_input_whole(h->net, now, &p, 0, &rx, &h->tx);
    return p;
}

static struct pkt *give_frame(struct host *h, const uint8_t *frame, uint32_t len)
{
    struct pkt *p = pkt_of(pool, 0, len);
    memcpy(pkt_data(p), frame, len);
    p->m.ol_flags = 0;
    return take(h, p);
}

// answer: h's answer to the datagram in p that rx tells of: its own bytes.
static void answer(struct host *h, struct pkt *p)
{
    const struct udp_in *u = &rx.udp[0];
    uint32_t room;
    struct pkt *a = net_udp_begin(h->net, u, &h->tx, &room);
    assert_non_null(a);
    assert_true(room >= u->data_len);
    memcpy(net_udp_payload(u, a), pkt_data(p) + u->data_off, u->data_len);
    assert_true(net_udp_send(h->net, now, u, p, a, u->data_len, &h->tx));
}

// cross: what h sent arrives at the other, in an order by chance; the datagram that comes of it, if
// one does, has these bytes and gets its answer.
static bool cross(unsigned h, struct rng *rng, uint32_t len, bool answered)
{
    struct host *to = &hosts[!h];
    struct pkt *pkts[TX_ROOM];
    const uint32_t n = hosts[h].tx.n;
    bool came = false;
    memcpy(pkts, hosts[h].tx_pkts, n * sizeof(pkts[0]));
    hosts[h].tx.n = 0;
    for (uint32_t i = n; i-- > 1;) {
        const uint32_t k = rng_below(rng, i + 1);
        struct pkt *p = pkts[i];
        pkts[i] = pkts[k];
        pkts[k] = p;
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_true(pkt_len(pkts[i]) <= 1514);
        pkts[i]->m.ol_flags = 0;
        struct pkt *p = take(to, pkts[i]);
        if (rx.n_udp != 0) {
            assert_false(came);
            came = true;
            assert_int_equal(rx.udp[0].data_len, len);
            assert_memory_equal(pkt_data(p) + rx.udp[0].data_off, data, len);
            if (answered)
                answer(to, p);
        }
        if (p != NULL)
            pkt_free(p);
    }
    return came;
}

static void datagrams_of_any_length_go_and_come_back_in_any_order(void **state)
{
    struct rng rng = test_rng(__func__);
    uint64_t cut = 0;
    for (unsigned i = 0; i < 400; i++) {
        const bool v6 = i % 2 != 0;
        const uint32_t most = v6 ? 65527 : 65507;
        const uint32_t len = i < 2 ? most : rng_below(&rng, i % 8 < 6 ? 9000 : most + 1);
        const struct net_datagram d = {.from = address(0, v6),
                                       .to = address(1, v6),
                                       .from_port = ASK,
                                       .to_port = SERVED,
                                       .data = data,
                                       .len = len};
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), 0);
        cut += hosts[0].tx.n > 1;
        assert_true(cross(0, &rng, len, true));
        assert_true(cross(1, &rng, len, false));
    }
    for (unsigned h = 0; h < 2; h++) {
        const struct core_counters *c = &hosts[h].stats.c;
        expect_no_drops(&hosts[h]);
        assert_int_equal(c->tx_fragmented, cut);
        assert_int_equal(c->reassembled, cut);
        assert_int_equal(c->reassembly_now, 0);
    }
}

// ask: a question of len bytes gets its answer, which comes back whole. Returns in how many parts
// it left, each an IP packet of at most ip_max bytes; quoted has the begin of the first.
static uint32_t ask(struct rng *rng, bool v6, uint32_t len, uint32_t ip_max, uint8_t quoted[100])
{
    const struct net_datagram d = {.from = address(0, v6),
                                   .to = address(1, v6),
                                   .from_port = ASK,
                                   .to_port = SERVED,
                                   .data = data,
                                   .len = len};
    assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), 0);
    assert_true(cross(0, rng, len, true));
    const uint32_t n = hosts[1].tx.n;
    for (uint32_t i = 0; i < n; i++)
        assert_true(pkt_len(hosts[1].tx_pkts[i]) <= ip_max + ETH_BYTES);
    memcpy(quoted, pkt_data(hosts[1].tx_pkts[0]), 100);
    assert_true(cross(1, rng, len, false));
    return n;
}

// too_big: a router tells host 1 that its packet is longer than `mtu`. Returns what host 1 drops.
static uint64_t too_big(bool v6, const uint8_t quoted[100], uint32_t mtu)
{
    uint8_t f[200];
    const uint64_t to = wire_mac_word(&macs[1]);
    const struct ip_addr us = address(1, v6), router = address(0, v6);
    const uint64_t before = hosts[1].stats.drops[DROP_icmp_no_owner];
    uint32_t len;
    if (v6) {
        struct wire_from6 from;
        wire_from6_init(&from, &macs[0], &router);
        len = wire_build_error6(f, &from, to, &us, ICMP6_TOO_BIG, 0, mtu, quoted + ETH_BYTES,
                                100 - ETH_BYTES);
    } else {
        struct wire_from from;
        wire_from_init(&from, &macs[0], ip_to_v4(&router));
        len = wire_build_unreachable(f, &from, to, load_raw32(us.b + IP_V4_AT),
                                     ICMP_CODE_FRAG_NEEDED, quoted + ETH_BYTES, 100 - ETH_BYTES);
        store_be32(f + TCP4_OFF + 4, mtu);
        store_be16(f + TCP4_OFF + 2, 0);
        store_raw16(f + TCP4_OFF + 2,
                    (uint16_t)~cksum_fold(cksum_add(0, f + TCP4_OFF, len - TCP4_OFF)));
    }
    const uint64_t delivered = hosts[1].stats.c.delivered;
    struct pkt *p = give_frame(&hosts[1], f, len);
    assert_int_equal(rx.n_udp, 0);
    pkt_free(p);
    const uint64_t dropped = hosts[1].stats.drops[DROP_icmp_no_owner] - before;
    assert_int_equal(hosts[1].stats.c.delivered - delivered, dropped == 0);
    return dropped;
}

// The application of a service hears of no ICMP error; its answers have to fit in the path.
static void answers_of_a_service_fit_in_the_path_that_a_router_reports(void **state)
{
    struct rng rng = test_rng(__func__);
    uint8_t quoted[100];
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const uint32_t mtu = v6 ? 1300 : 1000, port_at = v6 ? 54 : 34;
        assert_int_equal(ask(&rng, v6, 1400, 1500, quoted), 1);
        quoted[port_at + 1]++;  // from a port that has no service
        assert_int_equal(too_big(v6, quoted, mtu), 1);
        quoted[port_at + 1]--;
        assert_int_equal(ask(&rng, v6, 1400, 1500, quoted), 1);
        assert_int_equal(too_big(v6, quoted, mtu), 0);
        const uint32_t most = mtu - (v6 ? 48 : 28);
        assert_int_equal(ask(&rng, v6, 1400, mtu, quoted), 2);
        assert_int_equal(ask(&rng, v6, most, mtu, quoted), 1);
        assert_int_equal(ask(&rng, v6, most + 1, mtu, quoted), 2);
        assert_int_equal(ask(&rng, v6, 3000, mtu, quoted), v6 ? 3 : 4);
        assert_int_equal(too_big(v6, quoted, 1450), 0);  // only time raises it
        assert_int_equal(ask(&rng, v6, most + 1, mtu, quoted), 2);
        assert_int_equal(too_big(v6, quoted, 1500), 1);  // as long as the link allows
        now = clock_at_us(now.us + UDP_PATH_MS * UINT64_C(1000));
        assert_int_equal(ask(&rng, v6, 1400, 1500, quoted), 1);
    }
}

// Over IPv6 a router refuses fragments, too, and quotes them.
static void a_report_about_the_first_fragment_is_believed(void **state)
{
    struct rng rng = test_rng(__func__);
    uint8_t quoted[100];
    assert_int_equal(ask(&rng, true, 3000, 1500, quoted), 3);
    assert_int_equal(too_big(true, quoted, 1300), 0);
    assert_int_equal(ask(&rng, true, 1400, 1300, quoted), 2);
}

// The answer is begun in room for one as long as the question, which is nothing to send from.
static void a_short_answer_to_a_long_question_is_a_packet_of_the_pool(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const struct net_datagram d = {.from = address(0, v6),
                                       .to = address(1, v6),
                                       .from_port = ASK,
                                       .to_port = SERVED,
                                       .data = data,
                                       .len = 5000};
        struct host *to = &hosts[1];
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), 0);
        for (uint32_t i = 0; i < hosts[0].tx.n; i++) {
            hosts[0].tx_pkts[i]->m.ol_flags = 0;
            struct pkt *p = take(to, hosts[0].tx_pkts[i]);
            uint32_t room;
            if (rx.n_udp != 0) {
                struct pkt *a = net_udp_begin(to->net, &rx.udp[0], &to->tx, &room);
                assert_non_null(a);
                assert_true(room >= 5000);
                memset(net_udp_payload(&rx.udp[0], a), 'a', 100);
                assert_true(net_udp_send(to->net, now, &rx.udp[0], p, a, 100, &to->tx));
            }
            pkt_free(p);
        }
        hosts[0].tx.n = 0;
        assert_int_equal(to->tx.n, 1);
        assert_false(pkt_is_attached(to->tx_pkts[0]));
        const uint8_t *text = pkt_data(to->tx_pkts[0]) + pkt_len(to->tx_pkts[0]) - 100;
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(text[i], 'a');
        tx_clear(to);
    }
}

static void a_datagram_that_must_not_be_cut_or_is_too_long_is_refused(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        struct net_datagram d = {.from = address(0, v6),
                                 .to = address(1, v6),
                                 .from_port = ASK,
                                 .to_port = SERVED,
                                 .whole = true,
                                 .data = data,
                                 .len = 1473};
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), -EMSGSIZE);
        d.whole = false;
        d.len = v6 ? 65528 : 65508;
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), -EMSGSIZE);
        assert_int_equal(hosts[0].tx.n, 0);
    }
}

static void a_datagram_leaves_whole_or_not_at_all(void **state)
{
    struct net_datagram d = {.from = address(0, false),
                             .to = address(1, false),
                             .from_port = ASK,
                             .to_port = SERVED,
                             .data = data,
                             .len = 20000};
    hosts[0].tx.room = 20;  // of which half is for parts
    assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), -ENOBUFS);
    assert_int_equal(hosts[0].tx.n, 0);
    assert_int_equal(hosts[0].stats.c.tx_fragment_fails, 1);
    hosts[0].tx.room = TX_ROOM;
}

static void parts_wait_for_their_neighbor_together(void **state)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const struct net_datagram d = {.from = address(0, v6),
                                       .to = v6 ? ip("2001:db8::3") : ip_from_v4(0x0a000003),
                                       .from_port = ASK,
                                       .to_port = SERVED,
                                       .data = data,
                                       .len = 65507};
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), 0);
        assert_int_equal(hosts[0].tx.n, 1);  // the question
        tx_clear(&hosts[0]);
        struct mac_addr mac = {{2, 0, 0, 0, 0, 3}};
        assert_int_equal(net_neighbor_add(hosts[0].net, now, &d.to, &mac, false, &hosts[0].tx), 0);
        assert_true(hosts[0].tx.n >= 45);
        tx_clear(&hosts[0]);
    }
    expect_no_drops(&hosts[0]);
}

// ---- parts that the test cuts

static uint32_t ip_head(const uint8_t *f)
{
    return f[14] >> 4 == 6 ? IP6_BYTES : IP4_BYTES;
}

// cut: part [at, at + n) of the frame's IP packet, as another implementation would make it.
static uint32_t cut(const uint8_t *f, uint32_t len, uint32_t at, uint32_t n, uint32_t id,
                    uint8_t *to)
{
    const uint32_t head = ip_head(f);
    const bool more = at + n != len - ETH_BYTES - head;
    memcpy(to, f, ETH_BYTES + head);
    uint8_t *p = to + ETH_BYTES, *body = p + head;
    if (head == IP4_BYTES) {
        store_be16(p + 2, (uint16_t)(head + n));
        store_be16(p + 4, (uint16_t)id);
        store_be16(p + 6, (uint16_t)(at / 8 | (more ? 0x2000 : 0)));
        store_be16(p + 10, 0);
        store_raw16(p + 10, (uint16_t)~cksum_fold(cksum_add(0, p, head)));
    } else {
        body[0] = p[6];
        body[1] = 0;
        store_be16(body + 2, (uint16_t)(at | more));
        store_be32(body + 4, id);
        p[6] = 44;
        store_be16(p + 4, (uint16_t)(8 + n));
        body += 8;
    }
    memcpy(body, f + ETH_BYTES + head + at, n);
    return (uint32_t)(body - to) + n;
}

// give_cut: the whole frame to host 1 in parts of `step` bytes, the last one first; what the last
// part given became, which is the caller's.
static struct pkt *give_cut(const uint8_t *f, uint32_t len, uint32_t step, uint32_t id)
{
    static uint8_t part[FRAME_MAX];
    const uint32_t all = len - ETH_BYTES - ip_head(f);
    for (uint32_t at = (all - 1) / step * step;; at -= step) {
        const uint32_t bytes = cut(f, len, at, MIN(step, all - at), id, part);
        struct pkt *p = give_frame(&hosts[1], part, bytes);
        if (at == 0)
            return p;
        assert_int_equal(rx.n_segs + rx.n_udp + rx.n_icmp, 0);
        assert_non_null(p);
        pkt_free(p);
    }
}

// frame_to: Ethernet and IP headers from host 0 to host 1 in front of n bytes of proto.
static uint32_t frame_to(uint8_t *f, bool v6, uint8_t proto, uint32_t n)
{
    const struct ip_addr from = address(0, v6), to = address(1, v6);
    uint8_t *p = f + ETH_BYTES;
    memset(f, 0, ETH_BYTES + IP6_BYTES);
    memcpy(f, macs[1].b, 6);
    memcpy(f + 6, macs[0].b, 6);
    store_be16(f + 12, v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
    if (v6) {
        p[0] = 0x60;
        store_be16(p + 4, (uint16_t)n);
        p[6] = proto;
        p[7] = 64;
        memcpy(p + 8, from.b, 16);
        memcpy(p + 24, to.b, 16);
        return ETH_BYTES + IP6_BYTES + n;
    }
    p[0] = 0x45;
    store_be16(p + 2, (uint16_t)(IP4_BYTES + n));
    p[8] = 64;
    p[9] = proto;
    memcpy(p + 12, from.b + 12, 4);
    memcpy(p + 16, to.b + 12, 4);
    store_raw16(p + 10, (uint16_t)~cksum_fold(cksum_add(0, p, IP4_BYTES)));
    return ETH_BYTES + IP4_BYTES + n;
}

static uint64_t pseudo(bool v6, uint8_t proto, uint32_t n)
{
    const struct ip_addr from = address(0, v6), to = address(1, v6);
    if (v6)
        return cksum_pseudo6(&from, &to, proto, (uint16_t)n);
    return cksum_pseudo4(load_raw32(from.b + 12), load_raw32(to.b + 12), proto, (uint16_t)n);
}

static uint32_t ping(uint8_t *f, bool v6, uint32_t n)
{
    const uint8_t proto = v6 ? IP_PROTO_ICMP6 : IP_PROTO_ICMP;
    const uint32_t len = frame_to(f, v6, proto, 8 + n);
    uint8_t *m = f + len - n - 8;
    memset(m, 0, 8);
    m[0] = v6 ? ICMP6_ECHO : ICMP_ECHO;
    memcpy(m + 8, data, n);
    store_raw16(m + 2,
                (uint16_t)~cksum_fold(cksum_add(v6 ? pseudo(v6, proto, 8 + n) : 0, m, 8 + n)));
    return len;
}

// join: what the packets that host 1 sent are as one, by a naive look at their offsets.
static uint32_t join(uint8_t *to)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < hosts[1].tx.n; i++) {
        const uint8_t *f = pkt_data(hosts[1].tx_pkts[i]), *p = f + ETH_BYTES;
        const bool v6 = p[0] >> 4 == 6;
        const uint32_t at = v6 ? load_be16(p + 42) & 0xfff8 : (load_be16(p + 6) & 0x1fff) * 8u;
        const uint32_t head = v6 ? 48 : 20,
                       n = (v6 ? 40u + load_be16(p + 4) : load_be16(p + 2)) - head;
        assert_true(ETH_BYTES + head + n == pkt_len(hosts[1].tx_pkts[i]));
        memcpy(to + at, p + head, n);
        all += n;
    }
    return all;
}

static void a_large_ping_is_answered_in_parts(void **state)
{
    static uint8_t f[FRAME_MAX], got[FRAME_MAX];
    static const uint32_t sizes[] = {1473, 2000, 8000, 40000, 65507};
    for (unsigned i = 0; i < 2 * ARRAY_LEN(sizes); i++) {
        const bool v6 = i % 2 != 0;
        const uint32_t n = sizes[i / 2], len = ping(f, v6, n);
        struct pkt *p = give_cut(f, len, 1400, i);
        if (p != NULL)
            pkt_free(p);
        assert_true(hosts[1].tx.n >= 2);
        assert_int_equal(join(got), 8 + n);
        assert_int_equal(got[0], v6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY);
        assert_memory_equal(got + 8, data, n);
        tx_clear(&hosts[1]);
    }
    assert_int_equal(hosts[1].stats.c.tx_icmp_echo_reply, ARRAY_LEN(sizes));
    assert_int_equal(hosts[1].stats.c.tx_icmp6_echo_reply, ARRAY_LEN(sizes));
    expect_no_drops(&hosts[1]);
}

static void a_segment_in_parts_is_one_segment(void **state)
{
    static uint8_t f[FRAME_MAX];
    for (unsigned i = 0; i < 40; i++) {
        const bool v6 = i % 2 != 0;
        const uint32_t n = 1 + i * 500, len = frame_to(f, v6, IP_PROTO_TCP, TCP_BYTES + n);
        uint8_t *t = f + len - n - TCP_BYTES;
        memset(t, 0, TCP_BYTES);
        store_be16(t, 40000);
        store_be16(t + 2, 80);
        store_be32(t + 4, 77);
        t[12] = 0x50;
        t[13] = SEG_ACK;
        memcpy(t + TCP_BYTES, data, n);
        store_raw16(t + 16, (uint16_t)~cksum_fold(cksum_add(pseudo(v6, IP_PROTO_TCP, TCP_BYTES + n),
                                                            t, TCP_BYTES + n)));
        // Over IPv4 the first part may hold 8 bytes of the header; over IPv6 it has to hold all.
        struct pkt *p = give_cut(f, len, v6 ? 24 + i * 16 : 8 + i * 16, i);
        assert_int_equal(rx.n_segs, 1);
        assert_int_equal(rx.segs[0].seq, 77);
        assert_int_equal(rx.segs[0].data_len, n);
        assert_memory_equal(pkt_data(p) + rx.segs[0].data_off, data, n);
        pkt_free(p);
        t[TCP_BYTES] ^= 1;  // the sum is of all
        p = give_cut(f, len, 600, 1000 + i);
        assert_int_equal(rx.n_segs, n + TCP_BYTES <= 600 ? rx.n_segs : 0);
        pkt_free(p);
    }
    assert_int_equal(hosts[1].stats.c.rx_tcp, 40);
}

// Nobody's address is asked for.
static void a_datagram_to_all_leaves_in_parts_at_once(void **state)
{
    const struct ip_addr to[] = {ip("ff02::1"), ip_from_v4(0x0a0000ff), ip_from_v4(0xe0000001)};
    for (unsigned i = 0; i < ARRAY_LEN(to); i++) {
        const struct net_datagram d = {.from = address(0, i == 0),
                                       .to = to[i],
                                       .from_port = ASK,
                                       .to_port = SERVED,
                                       .data = data,
                                       .len = 5000};
        assert_int_equal(net_send(hosts[0].net, now, &d, &hosts[0].tx), 0);
        assert_int_equal(hosts[0].tx.n, 4);
        for (uint32_t k = 0; k < 4; k++)
            assert_true(pkt_data(hosts[0].tx_pkts[k])[0] & 1);
        tx_clear(&hosts[0]);
    }
}

// What just fits a packet goes back in the one it came in.
static void a_ping_of_a_full_packet_is_answered_by_one(void **state)
{
    static uint8_t f[FRAME_MAX];
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const uint32_t len = ping(f, v6, v6 ? 1452 : 1472);
        assert_int_equal(len, 1514);
        assert_null(give_frame(&hosts[1], f, len));
        assert_int_equal(hosts[1].tx.n, 1);
        assert_int_equal(pkt_len(hosts[1].tx_pkts[0]), 1514);
        tx_clear(&hosts[1]);
    }
    assert_int_equal(hosts[1].stats.c.tx_fragmented, 0);
    expect_no_drops(&hosts[1]);
}

static void nothing_but_udp_is_for_a_group(void **state)
{
    static uint8_t f[FRAME_MAX];
    static const uint8_t group[] = {0xff, 2, [15] = 1};
    const uint32_t len = frame_to(f, true, IP_PROTO_TCP, TCP_BYTES);
    memset(f + len - TCP_BYTES, 0, TCP_BYTES);
    memcpy(f + ETH_BYTES + 24, group, 16);
    pkt_free(give_frame(&hosts[1], f, len));
    assert_int_equal(hosts[1].stats.drops[DROP_ip6_group], 1);
}

// datagram_to: of n bytes from `src` to v4, for the open port; without a checksum (RFC 768).
static uint32_t datagram_to(uint8_t *f, uint32_t src, uint32_t v4, uint32_t n)
{
    const uint32_t len = frame_to(f, false, IP_PROTO_UDP, UDP_BYTES + n);
    uint8_t *u = f + len - n - UDP_BYTES;
    store_be32(f + ETH_BYTES + 12, src);
    store_be32(f + ETH_BYTES + 16, v4);
    store_be16(u, SERVED);
    store_be16(u + 2, ASK);
    store_be16(u + 4, (uint16_t)(UDP_BYTES + n));
    store_be16(u + 6, 0);
    memcpy(u + UDP_BYTES, data, n);
    return len;
}

// A datagram to all comes to who asked for its port, in parts as well; nothing else does, nor from
// a source that cannot be (RFC 1122 3.2.1.3).
static void a_datagram_in_parts_to_all_is_one_for_an_open_port(void **state)
{
    static const struct {
        uint32_t src, dst;
        enum drop_reason parts;
    } rows[] = {
        {0x0a000001, 0x0a000002, DROP_NONE},          {0x0a000001, 0x0a0000ff, DROP_NONE},
        {0x0a000001, 0xffffffff, DROP_NONE},          {0x0a000001, 0xe0000001, DROP_NONE},
        {0x0a000001, 0x0a000077, DROP_ip_not_for_us}, {0x0a000001, 0xe0000002, DROP_ip_not_for_us},
        {0xe0000001, 0x0a0000ff, DROP_ip_source},     {0x7f000001, 0xe0000001, DROP_ip_source},
    };
    static uint8_t f[FRAME_MAX];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const uint32_t len = datagram_to(f, rows[i].src, rows[i].dst, 3000);
        struct pkt *p = give_cut(f, len, 1000, 1 + i);
        assert_int_equal(rx.n_udp, rows[i].parts == DROP_NONE);
        if (rows[i].parts == DROP_NONE)
            assert_memory_equal(pkt_data(p) + rx.udp[0].data_off, data, 3000);
        else
            assert_int_equal(hosts[1].stats.drops[rows[i].parts], 4);
        hosts[1].stats.drops[rows[i].parts] = 0;
        pkt_free(p);
    }
    const uint32_t len = datagram_to(f, 0x0a000001, 0x0a0000ff, 3000);
    f[ETH_BYTES + 9] = IP_PROTO_TCP;
    pkt_free(give_cut(f, len, 1000, 99));
    assert_int_equal(hosts[1].stats.drops[DROP_ip_not_for_us], 4);
    assert_int_equal(hosts[1].stats.c.reassembly_now, 0);
}

static void a_first_part_of_ip6_without_all_headers_or_of_discovery_is_refused(void **state)
{
    static uint8_t f[FRAME_MAX], part[FRAME_MAX];
    const uint32_t len = frame_to(f, true, IP_PROTO_TCP, 100);
    memset(f + len - 100, 0, 100);
    pkt_free(give_frame(&hosts[1], part, cut(f, len, 0, 16, 1, part)));
    assert_int_equal(hosts[1].stats.drops[DROP_fragment_header], 1);
    f[ETH_BYTES + 6] = IP_PROTO_OPTIONS;  // and its option header goes on behind the part
    f[ETH_BYTES + IP6_BYTES + 1] = 4;
    pkt_free(give_frame(&hosts[1], part, cut(f, len, 0, 16, 2, part)));
    assert_int_equal(hosts[1].stats.drops[DROP_fragment_header], 2);
    f[ETH_BYTES + 6] = IP_PROTO_ICMP6;
    for (uint8_t type = ND_ROUTER_SOLICIT; type <= ND_REDIRECT; type++) {
        f[ETH_BYTES + IP6_BYTES] = type;
        pkt_free(give_frame(&hosts[1], part, cut(f, len, 0, 16, 3, part)));
    }
    assert_int_equal(hosts[1].stats.drops[DROP_fragment_header], 7);
    f[ETH_BYTES + 6] = IP_PROTO_FRAGMENT;  // what is put together would be a part again
    f[ETH_BYTES + IP6_BYTES] = IP_PROTO_UDP;
    store_be16(f + ETH_BYTES + IP6_BYTES + 2, 16);
    pkt_free(give_frame(&hosts[1], part, cut(f, len, 0, 16, 4, part)));
    assert_int_equal(hosts[1].stats.drops[DROP_fragment_header], 8);
    assert_int_equal(hosts[1].stats.c.reassembly_now, 0);
    assert_int_equal(hosts[1].tx.n, 0);
}

// RFC 8200 4.5: what a part must not be is told to who sent it.
static void a_part_of_ip6_with_a_bad_length_is_told_of(void **state)
{
    static uint8_t f[FRAME_MAX], part[FRAME_MAX];
    const uint32_t len = frame_to(f, true, IP_PROTO_UDP, 3000);
    pkt_free(give_frame(&hosts[1], part, cut(f, len, 0, 1001, 1, part)));
    assert_int_equal(hosts[1].tx.n, 1);
    const uint8_t *m = pkt_data(hosts[1].tx_pkts[0]) + TCP6_OFF;
    assert_int_equal(m[0], ICMP6_PARAMETER);
    assert_int_equal(m[1], ICMP6_CODE_FIELD);
    assert_int_equal(load_be32(m + 4), 4);  // the payload length
    tx_clear(&hosts[1]);
    uint32_t n = cut(f, len, 8, 1000, 1, part);
    store_be16(part + ETH_BYTES + IP6_BYTES + 2, 65528 | 1);
    pkt_free(give_frame(&hosts[1], part, n));
    assert_int_equal(hosts[1].tx.n, 1);
    assert_int_equal(load_be32(pkt_data(hosts[1].tx_pkts[0]) + TCP6_OFF + 4), IP6_BYTES + 2);
    assert_int_equal(hosts[1].stats.drops[DROP_fragment_length], 2);
}

static void after_its_time_the_sender_of_a_first_part_is_told(void **state)
{
    static uint8_t f[FRAME_MAX], part[FRAME_MAX];
    for (unsigned i = 0; i < 8; i++) {
        const bool v6 = i % 2 != 0, first = i / 2 % 2 == 0, error = i / 4 != 0;
        uint32_t len = frame_to(f, v6, IP_PROTO_UDP, 3000);
        if (error) {  // of an ICMP error nothing is told
            len = ping(f, v6, 3000);
            f[len - 3008] = v6 ? ICMP6_UNREACHABLE : ICMP_UNREACHABLE;
        }
        pkt_free(give_frame(&hosts[1], part, cut(f, len, first ? 0 : 800, 800, i, part)));
        assert_int_equal(hosts[1].tx.n, 0);
        now = clock_at_us(now.us + REASM_TIMEOUT_MS * UINT64_C(1000) - 1000);
        net_tick(hosts[1].net, now, &hosts[1].tx);
        assert_int_equal(hosts[1].tx.n, 0);
        now = clock_at_us(now.us + 1000);
        net_tick(hosts[1].net, now, &hosts[1].tx);
        assert_int_equal(hosts[1].tx.n, first && !error);
        if (hosts[1].tx.n == 0)
            continue;
        const uint8_t *m = pkt_data(hosts[1].tx_pkts[0]) + (v6 ? TCP6_OFF : TCP4_OFF);
        assert_int_equal(m[0], v6 ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED);
        assert_int_equal(m[1], 1);
        assert_memory_equal(m + 8, part + ETH_BYTES, 500);  // the part as it came
        tx_clear(&hosts[1]);
    }
    const struct core_counters *c = &hosts[1].stats.c;
    assert_int_equal(c->reassembly_timeouts, 8);
    assert_int_equal(c->tx_icmp_time_exceeded, 1);
    assert_int_equal(c->tx_icmp6_time_exceeded, 1);
}

// Of what is to go to another worker parts are made that it puts together to the same.
static void what_is_handed_over_in_parts_becomes_the_same_again(void **state)
{
    static uint8_t f[FRAME_MAX];
    for (unsigned i = 0; i < 20; i++) {
        const bool v6 = i % 2 != 0;
        const uint32_t n = 3000 * (1 + i), len = ping(f, v6, n);
        f[len - n - 8] = v6 ? ICMP6_ECHO_REPLY : ICMP_ECHO_REPLY;
        const uint32_t all = len - ETH_BYTES - ip_head(f);
        static uint8_t part[FRAME_MAX];
        struct pkt *whole = NULL, *parts[64];
        for (uint32_t at = 0; at < all; at += 1400) {
            struct pkt *p = pkt_of(pool, 0, 2000);
            const uint32_t bytes = cut(f, len, at, MIN(1400u, all - at), i, part);
            memcpy(pkt_data(p), part, bytes);
            pkt_set_len(p, bytes);
            net_input(hosts[1].net, now, &p, 1, &rx, &hosts[1].tx);
            if (rx.n_whole != 0)
                whole = p;
            else
                pkt_free(p);
        }
        assert_non_null(whole);
        const uint32_t made = net_hand_over(hosts[1].net, whole, parts, 64);
        assert_true(made >= 2);
        struct pkt *again = NULL;
        for (uint32_t k = 0; k < made; k++) {
            struct pkt *p = parts[k];
            assert_true(pkt_len(p) <= PKT_ROOM);
            net_input(hosts[1].net, now, &p, 1, &rx, &hosts[1].tx);
            if (rx.n_whole != 0)
                again = p;
            else
                pkt_free(p);
        }
        assert_non_null(again);
        assert_int_equal(pkt_whole_len(again), pkt_whole_len(whole));
        assert_memory_equal(pkt_data(again) + ETH_BYTES + ip_head(f), f + ETH_BYTES + ip_head(f),
                            all);
        pkt_free(again);
        pkt_free(whole);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("fragments", POOL_PKTS, -1);
    pool_free = pkt_pool_free_count(pool);
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 131 + (i >> 8) * 7);
    const struct CMUnitTest tests[] = {
        T(datagrams_of_any_length_go_and_come_back_in_any_order),
        T(a_short_answer_to_a_long_question_is_a_packet_of_the_pool),
        T(answers_of_a_service_fit_in_the_path_that_a_router_reports),
        T(a_report_about_the_first_fragment_is_believed),
        T(a_datagram_that_must_not_be_cut_or_is_too_long_is_refused),
        T(a_datagram_leaves_whole_or_not_at_all),
        T(parts_wait_for_their_neighbor_together),
        T(a_large_ping_is_answered_in_parts),
        T(a_datagram_to_all_leaves_in_parts_at_once),
        T(a_ping_of_a_full_packet_is_answered_by_one),
        T(nothing_but_udp_is_for_a_group),
        T(a_segment_in_parts_is_one_segment),
        T(a_datagram_in_parts_to_all_is_one_for_an_open_port),
        T(a_first_part_of_ip6_without_all_headers_or_of_discovery_is_refused),
        T(a_part_of_ip6_with_a_bad_length_is_told_of),
        T(after_its_time_the_sender_of_a_first_part_is_told),
        T(what_is_handed_over_in_parts_becomes_the_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
