// SPDX-License-Identifier: BSD-3-Clause
// Jumbo frames: chains become one packet, wherever they are cut; TCP fills frames of 9,014 bytes on
// a port that has them and only there; lost ones are sent again whole.
#include <string.h>

#include "c10m/app.h"
#include "check.h"
#include "drivers/ring.h"
#include "hosts.h"
#include "pkt_env.h"
#include "wire/proto.h"

enum { FRAME = 9014, MTU = 9000, POOL = 1024, US = 0, PEER = 1, SENT_MAX = 400000 };

static struct pkt_pool *small, *jumbo;

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + (i >> 8) + (i >> 16));
}

// ---- chains

// chain_of: a chain with `len` bytes: `first` in the first buffer, at most `each` in each other.
static struct pkt *chain_of(uint32_t len, uint32_t first, uint32_t each)
{
    struct pkt *pkts[PKT_CHAIN_MAX];
    unsigned n = 0;
    for (uint32_t at = 0, part = first; at < len; at += part, part = MIN(each, len - at)) {
        assert_true(n < PKT_CHAIN_MAX && pkt_alloc_bulk(small, &pkts[n], 1));
        for (uint32_t i = 0; i < part; i++)
            pkt_data(pkts[n])[i] = byte_at(at + i);
        pkt_set_len(pkts[n++], part);
    }
    pkt_chain(pkts, n);
    return pkts[0];
}

static void expect_whole(struct pkt *p, uint32_t len)
{
    assert_false(pkt_is_chain(p));
    assert_int_equal(pkt_total_len(p), len);
    for (uint32_t i = 0; i < len; i++)
        if (pkt_data(p)[i] != byte_at(i))
            fail_msg("byte %u", i);
}

static void expect_all_free(void)
{
    assert_int_equal(pkt_pool_free_count(small), POOL);
    assert_int_equal(pkt_pool_free_count(jumbo), POOL);
}

static void a_chain_cut_anywhere_becomes_one_packet(void **state)
{
    for (uint32_t first = 1; first <= PKT_ROOM; first++) {
        struct pkt *p = chain_of(FRAME, first, PKT_ROOM);
        p->m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
        p = pkt_gather(jumbo, p);
        expect_whole(p, FRAME);
        assert_int_equal(pkt_rx_ip_cksum(p), PKT_CKSUM_GOOD);
        assert_int_equal(pkt_rx_l4_cksum(p), PKT_CKSUM_BAD);
        pkt_free(p);
    }
    expect_all_free();
}

static void headers_in_buffers_of_a_byte_become_whole(void **state)
{
    for (uint32_t len = 2; len <= PKT_CHAIN_MAX; len++) {
        struct pkt *p = pkt_gather(jumbo, chain_of(len, 1, 1));
        expect_whole(p, len);
        pkt_free(p);
    }
    expect_all_free();
}

static void a_chain_without_a_packet_for_it_stays_one(void **state)
{
    static struct pkt *all[POOL];
    struct pkt *longer = chain_of(PKT_JUMBO_ROOM + 1, PKT_ROOM, PKT_ROOM),
               *one = chain_of(60, 60, 60), *p = chain_of(FRAME, 100, PKT_ROOM);
    assert_ptr_equal(pkt_gather(jumbo, longer), longer);
    assert_ptr_equal(pkt_gather(jumbo, one), one);
    unsigned n = 0;
    while (n < POOL && pkt_alloc_bulk(jumbo, &all[n], 1))
        n++;
    assert_ptr_equal(pkt_gather(jumbo, p), p);
    assert_true(pkt_is_chain(p));
    pkt_free_bulk(all, n);
    pkt_free(longer);
    pkt_free(one);
    pkt_free(p);
    expect_all_free();
}

// DPDK's net_ring hands the sender's own buffers to the receiver, as a NIC does that scatters a
// frame over buffers shorter than the frame.
static struct port *scattering(uint16_t mtu)
{
    struct port_params p = {.name = "ring",
                            .driver = "pci",
                            .device = "net_ring0",
                            .queues = 1,
                            .mtu = mtu,
                            .node = -1,
                            .pools = {mtu > PORT_MTU_SMALL ? jumbo : small}};
    struct err e = {.text = ""};
    struct port *port = port_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

static void a_scattered_frame_arrives_as_one_packet_on_a_port_with_jumbo_frames(void **state)
{
    struct port *port = scattering(MTU);
    for (uint32_t first = 1; first <= PKT_ROOM; first += 97) {
        struct pkt *burst[3] = {chain_of(FRAME, first, PKT_ROOM), chain_of(60, 60, 60),
                                chain_of(80, 14, 20)};
        const uint32_t len[3] = {FRAME, 60, 80};
        assert_int_equal(port->ops->tx_burst(port, 0, burst, 3), 3);
        assert_int_equal(port->ops->rx_burst(port, 0, burst, 3), 3);
        for (unsigned i = 0; i < 3; i++)
            expect_whole(burst[i], len[i]);
        for (unsigned i = 0; i < 3; i++)
            pkt_free(burst[i]);
    }
    port_close(port);
    expect_all_free();
}

static void a_scattered_frame_stays_a_chain_on_another_port(void **state)
{
    struct port *port = scattering(1500);
    struct pkt *p = chain_of(FRAME, 100, PKT_ROOM);
    assert_int_equal(port->ops->tx_burst(port, 0, &p, 1), 1);
    assert_int_equal(port->ops->rx_burst(port, 0, &p, 1), 1);
    assert_true(pkt_is_chain(p));
    pkt_free(p);
    port_close(port);
    expect_all_free();
}

// Both ends of a cable in memory have packets of 9,216 bytes.
static void a_cable_carries_frames_of_every_length(void **state)
{
    struct port_params p = {.name = "a",
                            .driver = "ring",
                            .queues = 1,
                            .mtu = MTU,
                            .node = -1,
                            .rx_ring = 64,
                            .tx_ring = 64,
                            .pools = {jumbo}};
    struct err e = {.text = ""};
    struct port *a = port_open(&p, &e), *b = a == NULL ? NULL : ring_open_far(a, &p, &e);
    assert_non_null(b);
    struct pkt *none;
    assert_int_equal(b->ops->rx_burst(b, 0, &none, 1), 0);  // it posts
    for (uint32_t len = 2048; len <= FRAME; len += 257) {
        struct pkt *f = chain_of(len, 1000, PKT_ROOM);
        assert_int_equal(a->ops->tx_burst(a, 0, &f, 1), 1);
        assert_int_equal(b->ops->rx_burst(b, 0, &f, 1), 1);
        expect_whole(f, len);
        pkt_free(f);
    }
    port_close(b);
    port_close(a);
    expect_all_free();
}

// ---- TCP

static struct {
    size_t sent, got, want, piece;
    uint32_t ix;  // of our connection
    bool wrong, closed;
    uint32_t longest[HOSTS_WIRES], frames;  // on the wires
    uint32_t narrow, dropped;               // a router drops longer frames; 0: there is none
} t;

static void pump(struct c10m_conn *c)
{
    static uint8_t bytes[SENT_MAX];
    while (t.sent < t.want) {
        const size_t n = MIN(t.piece, t.want - t.sent);
        for (size_t i = 0; i < n; i++)
            bytes[i] = byte_at(t.sent + i);
        const size_t took = c10m_send(c, bytes, n);
        t.sent += took;
        if (took < n)
            return;
    }
    c10m_shutdown(c);
}

static void no_open(struct c10m_conn *c) {}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        t.wrong |= data[i] != byte_at(t.got + i);
    t.got += len;
    return len;
}

static void on_close(struct c10m_conn *c, enum c10m_close why)
{
    t.closed = true;
}

static const struct c10m_app sender = {
    .name = "sender", .open = pump, .data = on_data, .writable = pump, .close = on_close};
static const struct c10m_app sink = {
    .name = "sink", .open = no_open, .data = on_data, .close = on_close};

// route: the router behind the wire drops frames, and tells of the first one of a turn.
static void route(struct hosts *h)
{
    struct hosts_wire *w = &h->e[PEER].wires[0];
    struct tcp *tcp = &h->e[US].w->tcp;
    const uint32_t before = t.dropped;
    unsigned kept = 0;
    for (unsigned i = 0; i < w->n_queue; i++)
        if (pkt_total_len(w->queue[i]) <= t.narrow)
            w->queue[kept++] = w->queue[i];
        else {
            struct icmp_event e = {.key = tcp->blocks[t.ix].key,
                                   .seq = load_be32(pkt_data(w->queue[i]) + TCP4_OFF + 4),
                                   .mtu = (uint16_t)(t.narrow - ETH_BYTES),
                                   .kind = ICMP_TOO_BIG};
            struct tcp_verdict v;
            if (t.dropped++ == before)
                tcp_icmp(tcp, &e, &v);
            pkt_free(w->queue[i]);
        }
    w->n_queue = kept;
}

static void look(struct hosts *h)
{
    if (t.narrow != 0)
        route(h);
    for (unsigned k = 0; k < HOSTS_WIRES; k++) {
        const struct hosts_wire *w = &h->e[PEER].wires[k];
        t.frames += w->n_queue;
        for (unsigned i = 0; i < w->n_queue; i++) {
            assert_false(pkt_is_chain(w->queue[i]));
            t.longest[k] = MAX(t.longest[k], pkt_total_len(w->queue[i]));
        }
    }
}

// run: turns of both ends until all has arrived; with `every`, about one in so many turns loses
// what comes to the peer.
static void run(struct hosts *h, unsigned every)
{
    for (unsigned i = 1; i < 200000 && !(t.got == t.want && t.closed); i++) {
        h->e[PEER].deaf = every != 0 && (i * 2654435761u >> 16) % every == 0;
        hosts_turn(h, US);
        look(h);
        h->e[PEER].deaf = false;
        hosts_turn(h, PEER);
        h->now_us += 200;
    }
    assert_int_equal(t.got, t.want);
    assert_false(t.wrong);
}

static void one_jumbo(struct server_params *p, unsigned end)
{
    p->ports[0].port.mtu = MTU;
    p->jumbo_packets = 1024;
    p->services[0].tcp.rcv_limit = p->services[0].tcp.snd_limit = 200000;
    p->services[0].tcp.rcv_initial = p->services[0].tcp.snd_initial = 200000;
}

static void two_ports(struct server_params *p, unsigned end)
{
    one_jumbo(p, end);
    p->n_ports = 2;
    p->ports[1].port.name = "wire2";
}

static struct hosts *begin(void (*set)(struct server_params *p, unsigned end), size_t piece)
{
    static const struct c10m_app *const apps[2][3] = {{&sender}, {&sink}};
    memset(&t, 0, sizeof(t));
    t.want = SENT_MAX;
    t.piece = piece;
    return hosts_new(apps, set);
}

static void data_in_small_buffers_fills_jumbo_frames(void **state)
{
    static const size_t pieces[] = {SENT_MAX, 2048, 2047, 1000, 9000};
    for (unsigned i = 0; i < ARRAY_LEN(pieces); i++) {
        struct hosts *h = begin(one_jumbo, pieces[i]);
        hosts_connect(h, US, HOSTS_PORT);
        run(h, 0);
        assert_int_equal(t.longest[0], FRAME);
        // Every segment but a few at the begin and at the end is full.
        assert_in_range(t.frames, SENT_MAX / 8960, SENT_MAX / 8960 * 2);
        hosts_free(h);
    }
}

static void it_does_over_ipv6(void **state)
{
    struct hosts *h = begin(one_jumbo, SENT_MAX);
    struct tcp *tcp = &h->e[US].w->tcp;
    const struct ip_addr to = hosts_addr(PEER, true);
    uint32_t ix;
    tcp->now = clock_at_us(h->now_us);
    assert_int_equal(tcp_connect(tcp, &to, HOSTS_PORT, 1, 0, &ix), 0);
    tcp->blocks[ix].flags |= BF_IN_APP;
    run(h, 0);
    assert_int_equal(t.longest[0], FRAME);
    hosts_free(h);
}

static void lost_jumbo_frames_are_sent_again(void **state)
{
    uint64_t dropped = 0;
    for (unsigned every = 3; every < 9; every++) {
        struct hosts *h = begin(one_jumbo, 3000);
        hosts_connect(h, US, HOSTS_PORT);
        run(h, every);
        dropped += h->e[PEER].dropped;
        assert_int_equal(t.longest[0], FRAME);
        hosts_free(h);
    }
    assert_true(dropped > 10);
}

static void each_port_has_the_mss_of_its_own_mtu(void **state)
{
    for (unsigned wire = 0; wire < HOSTS_WIRES; wire++) {
        struct hosts *h = begin(two_ports, SENT_MAX);
        assert_int_equal(h->e[US].server.jumbo_pools[0]->mp.size, 1024);
        hosts_connect_by(h, US, wire, HOSTS_PORT);
        run(h, 0);
        assert_int_equal(t.longest[wire], wire == 0 ? FRAME : 1514);
        hosts_free(h);
    }
}

static void a_path_with_a_smaller_mtu_shortens_the_segments(void **state)
{
    struct hosts *h = begin(one_jumbo, SENT_MAX);
    t.ix = hosts_connect(h, US, HOSTS_PORT);
    t.narrow = 1514;
    run(h, 0);
    assert_in_range(t.dropped, 1, 100);
    assert_in_range(t.longest[0], 1400, 1514);
    assert_in_range(h->e[US].w->tcp.blocks[t.ix].mss, 1400, 1460);
    hosts_free(h);
}

int main(void)
{
    pkt_env_start(0);
    small = pkt_pool_create("small", POOL, -1);
    jumbo = pkt_pool_create_jumbo("jumbo", POOL, -1);
    if (small == NULL || jumbo == NULL)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_cut_anywhere_becomes_one_packet),
        cmocka_unit_test(headers_in_buffers_of_a_byte_become_whole),
        cmocka_unit_test(a_chain_without_a_packet_for_it_stays_one),
        cmocka_unit_test(a_scattered_frame_arrives_as_one_packet_on_a_port_with_jumbo_frames),
        cmocka_unit_test(a_scattered_frame_stays_a_chain_on_another_port),
        cmocka_unit_test(a_cable_carries_frames_of_every_length),
        cmocka_unit_test(data_in_small_buffers_fills_jumbo_frames),
        cmocka_unit_test(it_does_over_ipv6),
        cmocka_unit_test(lost_jumbo_frames_are_sent_again),
        cmocka_unit_test(each_port_has_the_mss_of_its_own_mtu),
        cmocka_unit_test(a_path_with_a_smaller_mtu_shortens_the_segments),
    };
    const int failed = cmocka_run_group_tests_name("jumbo", tests, NULL, NULL);
    eal_stop();
    return failed;
}
