// SPDX-License-Identifier: BSD-3-Clause
// Each capability of a port once with and once without, and what a packet says of itself at each
// border that it crosses.
#include <rte_ethdev.h>

#include "base/rng.h"
#include "drivers/ethdev.h"
#include "drivers/fault.h"
#include "drivers/ring.h"
#include "net/net.h"
#include "unit/pkt_env.h"
#include "wire/build.h"
#include "wire/parse.h"

enum { POOL = 4095 };

static struct pkt_pool *pool, *far_pool;

static const uint64_t verdicts = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

static struct port *opened(const struct port_params *p)
{
    struct err e = {.text = ""};
    struct port *port = port_open(p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

static int all_packets_are_back(void **state)
{
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    assert_int_equal(pkt_pool_free_count(far_pool), POOL);
    return 0;
}

// ---- borders

// net_ring hands the sender's own packet to the receiver, with all that is written in it.
static struct port *net_ring(void)
{
    const struct port_params p = {.name = "n",
                                  .driver = "pci",
                                  .device = "net_ring0",
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool}};
    return opened(&p);
}

static void what_the_sender_wrote_in_a_packet_is_gone_when_a_device_hands_it_on(void **state)
{
    struct port *port = net_ring();
    assert_int_equal(port->caps & (PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM), 0);
    struct pkt *sent = pkt_of(pool, 7, 60), *got;
    sent->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_TX_IPV4 |
                       RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG;
    assert_int_equal(port->ops->tx_burst(port, 0, &sent, 1), 1);
    assert_int_equal(port->ops->rx_burst(port, 0, &got, 1), 1);
    assert_ptr_equal(got, sent);  // else this shows nothing
    assert_true(got->m.ol_flags == 0);
    pkt_free(got);
    port_close(port);
}

// Of the three verdicts of a device, what the stack sees: unknown, good or bad.
static void expect_l4(struct port *port, uint64_t said, enum pkt_cksum seen)
{
    struct pkt *sent = pkt_of(pool, 7, 60), *got;
    sent->m.ol_flags = said | RTE_MBUF_F_RX_RSS_HASH;
    assert_int_equal(port->ops->tx_burst(port, 0, &sent, 1), 1);
    assert_int_equal(port->ops->rx_burst(port, 0, &got, 1), 1);
    assert_ptr_equal(got, sent);
    assert_int_equal(pkt_rx_l4_cksum(got), seen);
    assert_int_equal(got->m.ol_flags & ~RTE_MBUF_F_RX_L4_CKSUM_MASK, 0);
    pkt_free(got);
}

static void a_checksum_that_was_left_to_us_is_good_where_the_port_means_that(void **state)
{
    static const uint32_t all_checks = PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM;
    struct port *port = net_ring();
    struct ethdev *e = port->priv;
    static const struct {
        uint32_t caps;
        enum pkt_cksum left;
    } rows[] = {{0, PKT_CKSUM_UNKNOWN},
                {PORT_RX_L4_CKSUM, PKT_CKSUM_UNKNOWN},
                {PORT_RX_L4_CKSUM | PORT_RX_L4_LEFT, PKT_CKSUM_GOOD},
                {all_checks | PORT_RX_L4_LEFT, PKT_CKSUM_GOOD}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        const bool checks = (rows[i].caps & PORT_RX_L4_CKSUM) != 0;
        port->caps = rows[i].caps;
        ethdev_verdicts(e);
        expect_l4(port, RTE_MBUF_F_RX_L4_CKSUM_NONE, rows[i].left);
        expect_l4(port, RTE_MBUF_F_RX_L4_CKSUM_GOOD, checks ? PKT_CKSUM_GOOD : PKT_CKSUM_UNKNOWN);
        expect_l4(port, RTE_MBUF_F_RX_L4_CKSUM_BAD, checks ? PKT_CKSUM_BAD : PKT_CKSUM_UNKNOWN);
        expect_l4(port, 0, PKT_CKSUM_UNKNOWN);
    }
    port_close(port);
}

// RTE_ETH_*_OFFLOAD_*: as net_virtio and net_vmxnet3 of DPDK 22.11 have them: no IPv4 checksum.
static const uint64_t guest_rx = RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
static const uint64_t guest_tx = RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                 RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;

static void a_guest_s_device_cuts_without_the_ip_checksum_offload(void **state)
{
    const uint32_t both = PORT_RX_L4_CKSUM | PORT_TX_L4_CKSUM | PORT_MULTI_SEG | PORT_TSO;
    assert_int_equal(ethdev_caps("net_virtio", guest_rx, guest_tx), both | PORT_RX_L4_LEFT);
    assert_int_equal(ethdev_caps("net_virtio_user", guest_rx, guest_tx), both | PORT_RX_L4_LEFT);
    assert_int_equal(ethdev_caps("net_vmxnet3", guest_rx, guest_tx), both);
    assert_int_equal(ethdev_caps("net_tap", guest_rx, guest_tx), both);
    // Without the offload the host is not asked to leave checksums; without sums nothing is cut.
    assert_int_equal(ethdev_caps("net_virtio", 0, RTE_ETH_TX_OFFLOAD_TCP_TSO), 0);
    assert_int_equal(
        ethdev_caps("net_virtio", 0, guest_tx & ~(uint64_t)RTE_ETH_TX_OFFLOAD_MULTI_SEGS),
        PORT_TX_L4_CKSUM);
}

static void a_chain_is_as_long_as_the_device_says_and_its_host_takes(void **state)
{
    assert_int_equal(ethdev_chain_max("net_virtio", 0), PKT_CHAIN_MAX);
    assert_int_equal(ethdev_chain_max("net_ixgbe", 40), PKT_CHAIN_MAX);
    assert_int_equal(ethdev_chain_max("net_ixgbe", 8), 8);
    assert_int_equal(ethdev_chain_max("net_vmxnet3", 255), 24);
}

// What a driver does that wants large segments its own way: it writes into them, and refuses some.
static unsigned n_prepared;

static uint16_t prepare(void *queue, struct rte_mbuf **m, uint16_t n)
{
    uint16_t i = 0;
    for (; i < n && m[i]->tso_segsz != 666; i++, n_prepared++)
        *rte_pktmbuf_mtod(m[i], uint8_t *) = 0xee;
    return i;
}

static void a_driver_prepares_large_segments_and_what_it_refuses_is_counted(void **state)
{
    enum { N = 6 };
    static const uint16_t mss[N] = {0, 1460, 666, 0, 666, 0};  // 0: a plain packet
    static const int arrives[] = {0, 1, 3, 5};
    struct port *port = net_ring();
    struct pkt *sent[N], *got[N];
    struct port_stats stats;
    rte_eth_fp_ops[((struct ethdev *)port->priv)->id].tx_pkt_prepare = prepare;
    for (unsigned cuts = 0; cuts < 2; cuts++) {
        port->caps = cuts ? port->caps | PORT_TSO : port->caps;
        n_prepared = 0;
        for (unsigned i = 0; i < N; i++) {
            sent[i] = pkt_of(pool, 7, 60);
            if (cuts && mss[i] != 0)
                pkt_tx_tso(sent[i], true, ETH_BYTES, IP4_BYTES, TCP_BYTES, mss[i]);
        }
        assert_int_equal(port->ops->tx_burst(port, 0, sent, N), N);
        assert_int_equal(n_prepared, cuts);
        const unsigned n = port->ops->rx_burst(port, 0, got, N);
        assert_int_equal(n, cuts ? ARRAY_LEN(arrives) : N);
        for (unsigned i = 0; i < n; i++) {
            assert_ptr_equal(got[i], sent[cuts ? arrives[i] : (int)i]);
            assert_int_equal(*pkt_data(got[i]) == 0xee, cuts && arrives[i] == 1);
        }
        pkt_free_bulk(got, n);
        port->ops->stats(port, &stats);
        assert_int_equal(stats.tx_errors, 2 * cuts);
    }
    port_close(port);
}

struct ends {
    struct port *near, *far;
};

static struct ends open_ring(const struct port_params *p)
{
    struct err e = {.text = ""};
    const struct port_params far = {
        .name = "far", .driver = "ring", .queues = 1, .node = -1, .pools = {far_pool}};
    struct ends r = {opened(p), NULL};
    struct port *inner = fault_inner(r.near);
    r.far = ring_open_far(inner != NULL ? inner : r.near, &far, &e);
    assert_non_null(r.far);
    struct pkt *none;
    r.near->ops->rx_burst(r.near, 0, &none, 1);  // both post their packets
    r.far->ops->rx_burst(r.far, 0, &none, 1);
    return r;
}

static void close_ring(struct ends r)
{
    port_close(r.far);
    port_close(r.near);
}

static struct port_params ring_params(void)
{
    return (struct port_params){
        .name = "near", .driver = "ring", .queues = 1, .node = -1, .pools = {pool}};
}

// A packet that was received with verdicts and goes out again; what arrives at the far end.
static struct pkt *forward(struct ends r)
{
    struct pkt *p = pkt_of(pool, 7, 60), *got;
    p->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH;
    assert_int_equal(r.near->ops->tx_burst(r.near, 0, &p, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &got, 1), 1);
    return got;
}

static void what_was_said_of_a_packet_does_not_cross_a_ring(void **state)
{
    const struct port_params p = ring_params();
    const struct ends r = open_ring(&p);
    struct pkt *got = forward(r);
    assert_true(got->m.ol_flags == 0);
    pkt_free(got);
    close_ring(r);
}

static void what_was_said_of_a_packet_does_not_cross_a_fault_port(void **state)
{
    const struct port_params inner = ring_params();
    const struct port_params p = {.name = "fault",
                                  .driver = "fault",
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool},
                                  .wraps = &inner,
                                  .duplicate_ppm = FAULT_PPM,
                                  .seed = 1};
    const struct ends r = open_ring(&p);
    struct pkt *twin, *got = forward(r);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &twin, 1), 1);
    assert_true(got->m.ol_flags == 0 && twin->m.ol_flags == 0);
    pkt_free(got);
    pkt_free(twin);
    close_ring(r);
}

// A packet's memory serves one port after the other: what the last user left in it is not sent.
static void a_packet_taken_from_the_pool_says_nothing_of_its_last_use(void **state)
{
    struct pkt *p = pkt_of(pool, 0, 60), *again;
    p->m.ol_flags = verdicts;
    pkt_tx_offload(p, 14, 20, 32);
    pkt_free_bulk(&p, 1);
    assert_true(pkt_alloc_bulk(pool, &again, 1));
    assert_ptr_equal(p, again);  // else this shows nothing
    assert_true(again->m.ol_flags == 0);
    pkt_free(again);
}

static void a_received_packet_that_is_turned_round_is_sent_without_its_verdicts(void **state)
{
    struct pkt *p = pkt_of(pool, 0, 60);
    p->m.ol_flags = verdicts | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN;
    pkt_turn_round(p);
    assert_true(p->m.ol_flags == 0);
    pkt_free(p);
}

// ---- chains

static void a_ring_has_chains_unless_it_is_told_not_to(void **state)
{
    struct port_params p = ring_params();
    struct port *port = opened(&p);
    assert_int_equal(port->caps, PORT_MULTI_SEG | PORT_NO_SYSCALL);
    port_close(port);
    p.has_offloads = true;
    port = opened(&p);
    assert_int_equal(port->caps, PORT_NO_SYSCALL);
    port_close(port);
}

// ---- large segments: cut by the port, cut here

enum {
    A = 0x0a000001,
    B = 0x0a000002,
    STRANGER = 0x0a000003,  // on the link, not known
    TX_ROOM = 64,
    LARGE_MAX = 32,  // segments
};

// What a guest has: the host makes the IPv4 headers of the parts out of a whole one.
#define GUEST_CAPS (PORT_TX_L4_CKSUM | PORT_MULTI_SEG | PORT_TSO)
#define TSO_CAPS   (PORT_TX_IP_CKSUM | PORT_TX_L4_CKSUM | PORT_MULTI_SEG | PORT_TSO)

static struct core_stats stats;
static uint64_t *const drops = stats.drops;
static struct pkt *tx_pkts[TX_ROOM];
static struct net_tx tx;
static uint8_t data[1 << 16];

static uint16_t chain_max;

static const struct ip_addr own6 = {{0xfd, [15] = 1}}, peer6 = {{0xfd, [15] = 2}};

static struct net *net_with(uint32_t caps)
{
    struct net_config c;
    struct err e = {.text = ""};
    net_config_default(&c);
    c.mac = (struct mac_addr){{2, 0, 0, 0, 0, 1}};
    c.caps = caps;
    c.chain_max = chain_max;
    c.n_locals = 1;
    c.locals[0] = (struct net_local){ip_from_v4(A), 24};
    c.locals[c.n_locals++] = (struct net_local){own6, 64};
    c.n_statics = 2;
    c.statics[0] = (struct net_static){ip_from_v4(B), {{2, 0, 0, 0, 0, 2}}};
    c.statics[1] = (struct net_static){peer6, {{2, 0, 0, 0, 0, 2}}};
    struct net *net = net_init(aligned_alloc(CACHE_LINE, net_footprint(&c)), &c, pool, &stats, &e);
    if (net == NULL)
        fail_msg("%s", e.text);
    memset(&stats, 0, sizeof(stats));
    tx = (struct net_tx){tx_pkts, 0, TX_ROOM};
    return net;
}

static void net_end(struct net *net)
{
    for (uint32_t i = 0; i < tx.n; i++)
        pkt_free(tx.pkts[i]);
    net_drain(net);
    free(net);
}

// A segment to B with len bytes, the first `first` of them in a range of their own.
static struct seg_out segment(uint32_t len, uint32_t first, uint16_t mss, uint8_t opts)
{
    return (struct seg_out){.key = {ip_from_v4(B), 0, 0, 40000, 80},
                            .seq = 0xfffff000,
                            .ack = 77,
                            .wnd = 512,
                            .flags = SEG_ACK | SEG_PSH,
                            .data = {data, data + first},
                            .data_len = {(uint16_t)first, (uint16_t)(len - first)},
                            .ts_val = 5,
                            .ts_ecr = 6,
                            .mss = mss,
                            .opts = opts};
}

struct frame {
    uint32_t len;
    uint8_t bytes[PKT_ROOM];
};

// The bytes of a packet, from all its segments.
static uint32_t flatten(const struct pkt *p, uint8_t *to)
{
    uint32_t n = 0;
    for (const struct rte_mbuf *m = &p->m; m != NULL; n += m->data_len, m = m->next)
        memcpy(to + n, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
    assert_int_equal(n, pkt_total_len(p));
    return n;
}

static void fill_checksums(struct frame *f)
{
    const uint32_t l4 = f->len - TCP4_OFF;
    store_raw16(f->bytes + 24, 0);
    store_raw16(f->bytes + 24, (uint16_t)~cksum_fold(cksum_add(0, f->bytes + 14, 20)));
    store_raw16(f->bytes + 50, 0);
    const uint64_t pseudo = cksum_pseudo4(load_raw32(f->bytes + 26), load_raw32(f->bytes + 30),
                                          IP_PROTO_TCP, (uint16_t)l4);
    store_raw16(f->bytes + 50, (uint16_t)~cksum_fold(cksum_add(pseudo, f->bytes + TCP4_OFF, l4)));
}

static bool port_sums_ip;

// What a device that cuts puts on the wire for the packet, after a look at what it is given (DPDK's
// programmer's guide, "TCP segmentation"). Returns the frames.
static unsigned device_cuts(const struct pkt *p, struct frame *out)
{
    static uint8_t whole[1 << 17];
    const struct rte_mbuf *m = &p->m;
    const uint32_t all = flatten(p, whole), head = m->l2_len + m->l3_len + m->l4_len;
    const bool sums_ip = (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0;
    assert_true((m->ol_flags | RTE_MBUF_F_TX_IP_CKSUM) ==
                (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM |
                 RTE_MBUF_F_TX_TCP_SEG));
    assert_int_equal(sums_ip, port_sums_ip);
    assert_true(m->tso_segsz >= 256);
    assert_int_equal(m->l2_len, 14);
    assert_int_equal(m->l3_len, 20);
    assert_int_equal(m->l4_len, (whole[46] >> 4) * 4);
    assert_true(m->data_len >= head);  // the headers lie together
    assert_int_equal(load_be16(whole + 16), all - 14);
    if (sums_ip)
        assert_int_equal(load_be16(whole + 24), 0);
    else
        assert_true(wire_ip4_verify(whole + 14));
    assert_int_equal(load_raw16(whole + 50),
                     cksum_fold(cksum_pseudo4(raw32(A), raw32(B), IP_PROTO_TCP, 0)));
    unsigned n = 0;
    for (uint32_t at = head, len; at < all; at += len, n++) {
        struct frame *f = &out[n];
        len = MIN((uint32_t)m->tso_segsz, all - at);
        f->len = head + len;
        memcpy(f->bytes, whole, head);
        memcpy(f->bytes + head, whole + at, len);
        store_be16(f->bytes + 16, (uint16_t)(f->len - 14));
        store_be32(f->bytes + 38, load_be32(whole + 38) + (at - head));
        if (at + len != all)
            f->bytes[47] &= (uint8_t) ~(SEG_PSH | SEG_FIN);
        fill_checksums(f);
    }
    return n;
}

// The frames that leave for segment s through a port with these capabilities.
static unsigned frames_of(uint32_t caps, const struct seg_out *s, struct frame *out)
{
    struct net *net = net_with(caps);
    unsigned n = 0;
    port_sums_ip = (caps & PORT_TX_IP_CKSUM) != 0;
    const uint32_t packets = net_output(net, clock_at_us(1), s, 1, &tx);
    assert_int_equal(packets, tx.n);
    if ((caps & PORT_TSO) != 0 && s->mss >= 256)  // i40e: less is malicious, the queue stops
        assert_int_equal(packets, 1);
    for (uint32_t i = 0; i < tx.n; i++) {
        if (tx.pkts[i]->m.ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
            n += device_cuts(tx.pkts[i], out + n);
            continue;
        }
        assert_false(pkt_is_chain(tx.pkts[i]));
        out[n].len = flatten(tx.pkts[i], out[n].bytes);
        if (tx.pkts[i]->m.ol_flags & RTE_MBUF_F_TX_TCP_CKSUM)
            fill_checksums(&out[n]);
        n++;
    }
    for (unsigned i = 0; i < DROP_COUNT; i++)
        assert_int_equal(drops[i], 0);
    net_end(net);
    return n;
}

static void large_segments_make_the_same_frames_whoever_cuts_and_sums(void **state)
{
    static const uint32_t caps[] = {0, PORT_TX_L4_CKSUM, PORT_TX_L4_CKSUM | PORT_MULTI_SEG,
                                    TSO_CAPS, GUEST_CAPS};
    static const uint16_t sizes[] = {88, 255, 256, 536, 1460, 1448};
    static struct frame plain[LARGE_MAX], other[LARGE_MAX];
    struct rng rng = {3};
    for (unsigned i = 0; i < 400; i++) {
        const uint16_t mss = sizes[i % ARRAY_LEN(sizes)];
        const uint8_t opts = mss == 1448 ? SEG_OPT_TS : 0;
        // Whole parts, and what an end of any length makes of them.
        const uint32_t least = SEG_WHOLE_MAX + 1, most = LARGE_MAX * mss;
        const uint32_t len =
            i / ARRAY_LEN(sizes) % 2 == 0 ? most : least + rng_below(&rng, most - least + 1);
        const uint32_t first = i % 3 == 0 ? len : rng_below(&rng, len + 1);
        const struct seg_out s = segment(len, first, mss, opts);
        const unsigned n = frames_of(0, &s, plain);
        assert_int_equal(n, (len + mss - 1) / mss);
        uint32_t at = 0;
        for (unsigned k = 0; k < n; k++) {
            const uint32_t head = TCP4_OFF + (opts ? 32 : 20);
            assert_true(wire_ip4_verify(plain[k].bytes + 14));
            assert_true(wire_tcp4_verify(plain[k].bytes, plain[k].len - TCP4_OFF));
            assert_memory_equal(plain[k].bytes + head, data + at, plain[k].len - head);
            assert_int_equal(load_be32(plain[k].bytes + 38), s.seq + at);
            assert_int_equal(plain[k].bytes[47], k + 1 == n ? SEG_ACK | SEG_PSH : SEG_ACK);
            at += plain[k].len - head;
        }
        assert_int_equal(at, len);
        for (unsigned c = 1; c < ARRAY_LEN(caps); c++) {
            assert_int_equal(frames_of(caps[c], &s, other), n);
            for (unsigned k = 0; k < n; k++) {
                assert_int_equal(other[k].len, plain[k].len);
                assert_memory_equal(other[k].bytes, plain[k].bytes, plain[k].len);
            }
        }
    }
}

static void a_large_segment_that_finds_no_room_leaves_those_behind_it_theirs(void **state)
{
    static const uint32_t caps[] = {0, TSO_CAPS};
    for (unsigned i = 0; i < 2; i++) {
        struct net *net = net_with(caps[i]);
        struct seg_out segs[4];
        for (unsigned k = 0; k < 4; k++)
            segs[k] = segment(100, 100, 1460, 0);
        segs[1] = segment(10 * 1460, 10 * 1460, 1460, 0);
        tx.room = 7;
        net_output(net, clock_at_us(1), segs, 4, &tx);
        // One in front, two behind, four of ten between them; whole it takes one place.
        assert_int_equal(tx.n, caps[i] == 0 ? 7 : 4);
        assert_int_equal(drops[DROP_reply_room], caps[i] == 0 ? 6 : 0);
        assert_int_equal(load_be32(pkt_data(tx.pkts[tx.n - 1]) + 38), segs[3].seq);
        assert_int_equal(pkt_total_len(tx.pkts[tx.n - 1]), 154);
        net_end(net);
    }
}

static void without_packets_parts_of_a_large_segment_are_dropped_and_counted(void **state)
{
    static struct pkt *held[POOL];
    static const uint32_t caps[] = {0, TSO_CAPS};
    for (unsigned i = 0; i < 2; i++) {
        struct net *net = net_with(caps[i]);
        const struct seg_out s = segment(10 * 1460, 10 * 1460, 1460, 0);
        unsigned n = 0;
        while (n < POOL - 6 && pkt_alloc_bulk(pool, &held[n], 1))
            n++;
        const uint32_t sent = net_output(net, clock_at_us(1), &s, 1, &tx);
        assert_in_range(sent, 1, 9);  // by software: a chain would take eight
        assert_int_equal(drops[DROP_pkt_pool_empty], 10 - sent);
        while (pkt_alloc_bulk(pool, &held[n], 1))
            n++;
        assert_int_equal(net_output(net, clock_at_us(1), &s, 1, &tx), 0);  // none at all
        assert_int_equal(drops[DROP_pkt_pool_empty], 20 - sent);
        tx.n = 0;
        for (uint32_t k = 0; k < sent; k++)
            pkt_free(tx_pkts[k]);
        pkt_free_bulk(held, n);
        net_end(net);
    }
}

static struct seg_out segment6(uint32_t len, uint32_t first)
{
    struct seg_out s = segment(len, first, 1440, 0);
    s.key.remote = peer6;
    s.key.local_ix = 1;
    return s;
}

// Whoever cuts a large segment, each of its parts that leaves counts as one segment and one packet,
// over IPv6 as well. tcp_output() counts tx_tcp; net counts tx_tcp6 and tx_ip6.
static void the_parts_of_a_large_ipv6_segment_that_leave_are_counted(void **state)
{
    static struct pkt *held[POOL];
    static const uint32_t caps[] = {0, TSO_CAPS};
    for (unsigned i = 0; i < ARRAY_LEN(caps); i++) {
        struct net *net = net_with(caps[i]);
        const struct seg_out s = segment6(10 * 1440, 10 * 1440);
        assert_int_equal(net_output(net, clock_at_us(1), &s, 1, &tx), caps[i] == 0 ? 10 : 1);
        assert_int_equal(stats.c.tx_tcp6, 10);
        assert_int_equal(stats.c.tx_ip6, 10);
        for (uint32_t k = 0; k < tx.n; k++)
            pkt_free(tx_pkts[k]);
        tx.n = 0;
        unsigned n = 0;
        while (n < POOL - 6 && pkt_alloc_bulk(pool, &held[n], 1))
            n++;
        const uint64_t before = stats.c.tx_tcp6;
        net_output(net, clock_at_us(1), &s, 1, &tx);
        const uint64_t sent = stats.c.tx_tcp6 - before;
        assert_in_range(sent, 1, 9);
        assert_int_equal(stats.c.tx_ip6, stats.c.tx_tcp6);
        assert_int_equal(drops[DROP_pkt_pool_empty], 10 - sent);
        pkt_free_bulk(held, n);
        net_end(net);
    }
}

static void each_part_of_a_large_segment_that_cannot_leave_counts(void **state)
{
    struct net *net = net_with(TSO_CAPS);
    struct seg_out segs[2] = {segment(10 * 1460, 0, 1460, 0), segment(100, 0, 1460, 0)};
    segs[0].key.remote = segs[1].key.remote = ip_from_v4(0x0b000001);
    assert_int_equal(net_output(net, clock_at_us(1), segs, 2, &tx), 0);
    assert_int_equal(drops[DROP_ip_no_route], 11);
    tx.room = 0;
    assert_int_equal(net_output(net, clock_at_us(1), segs, 2, &tx), 0);
    assert_int_equal(drops[DROP_reply_room], 11);
    net_end(net);
}

static void a_large_segment_waits_for_its_neighbor_in_its_packets(void **state)
{
    struct net *net = net_with(TSO_CAPS);
    struct seg_out s = segment(5 * 1460, 5 * 1460, 1460, 0);
    s.key.remote = ip_from_v4(STRANGER);
    const unsigned free_before = pkt_pool_free_count(pool);
    net_output(net, clock_at_us(1), &s, 1, &tx);
    assert_int_equal(free_before - pkt_pool_free_count(pool), 5 + 1);
    assert_int_equal(tx.n, 1);  // the question
    assert_int_equal(load_be16(pkt_data(tx.pkts[0]) + 12), ETH_TYPE_ARP);
    assert_int_equal(drops[DROP_arp_wait_replaced], 0);
    net_end(net);
}

static void a_chain_is_never_longer_than_the_port_takes(void **state)
{
    for (uint16_t most = 2; most <= PKT_CHAIN_MAX; most++) {
        chain_max = most;
        struct net *net = net_with(TSO_CAPS);
        const struct seg_out s = segment(20 * 1460, 100, 1460, 0);
        net_output(net, clock_at_us(1), &s, 1, &tx);
        const unsigned chain = (20 * 1460 + 54 + PKT_ROOM - 1) / PKT_ROOM;
        assert_int_equal(tx.n, chain <= most ? 1 : 20);
        for (uint32_t i = 0; i < tx.n; i++)
            assert_true(tx.pkts[i]->m.nb_segs <= most);
        net_end(net);
    }
    chain_max = 0;
}

static void a_large_segment_that_is_none_is_refused(void **state)
{
    struct net *net = net_with(TSO_CAPS);
    const struct seg_out bad[] = {
        segment(SEG_WHOLE_MAX, 100, 1460, 0),  // one packet, and too long
        segment(3000, 100, 0, 0),              // cut nowhere
        segment(3000, 100, 1461, 0),           // its parts are too long
        segment(3000, 100, 1460, SEG_OPT_TS),  // with their timestamp
        segment(65535 - 39, 100, 1460, 0),     // no IP packet
    };
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(net_output(net, clock_at_us(1), &bad[i], 1, &tx), 0);
        assert_int_equal(drops[DROP_ip_mtu], i + 1);
    }
    const struct seg_out longest = segment(65535 - 40, 100, 1460, 0);
    assert_int_equal(net_output(net, clock_at_us(1), &longest, 1, &tx), 1);
    assert_int_equal(pkt_total_len(tx.pkts[0]), 65535 + 14);
    assert_true(tx.pkts[0]->m.nb_segs <= PKT_CHAIN_MAX);
    net_end(net);
}

#define T(name) cmocka_unit_test_teardown(name, all_packets_are_back)

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("caps", POOL, -1);
    far_pool = pkt_pool_create("caps_far", POOL, -1);
    if (pool == NULL || far_pool == NULL)
        return fprintf(stderr, "no pool\n"), 1;
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 131 + (i >> 8) * 7);
    const struct CMUnitTest tests[] = {
        T(what_the_sender_wrote_in_a_packet_is_gone_when_a_device_hands_it_on),
        T(a_checksum_that_was_left_to_us_is_good_where_the_port_means_that),
        T(a_guest_s_device_cuts_without_the_ip_checksum_offload),
        T(a_chain_is_as_long_as_the_device_says_and_its_host_takes),
        T(a_driver_prepares_large_segments_and_what_it_refuses_is_counted),
        T(what_was_said_of_a_packet_does_not_cross_a_ring),
        T(what_was_said_of_a_packet_does_not_cross_a_fault_port),
        T(a_packet_taken_from_the_pool_says_nothing_of_its_last_use),
        T(a_received_packet_that_is_turned_round_is_sent_without_its_verdicts),
        T(a_ring_has_chains_unless_it_is_told_not_to),
        T(large_segments_make_the_same_frames_whoever_cuts_and_sums),
        T(a_large_segment_that_finds_no_room_leaves_those_behind_it_theirs),
        T(without_packets_parts_of_a_large_segment_are_dropped_and_counted),
        T(the_parts_of_a_large_ipv6_segment_that_leave_are_counted),
        T(a_chain_is_never_longer_than_the_port_takes),
        T(each_part_of_a_large_segment_that_cannot_leave_counts),
        T(a_large_segment_waits_for_its_neighbor_in_its_packets),
        T(a_large_segment_that_is_none_is_refused),
    };
    const int failed = cmocka_run_group_tests_name("caps", tests, NULL, NULL);
    eal_stop();
    return failed;
}
