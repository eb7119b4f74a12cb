// SPDX-License-Identifier: BSD-3-Clause
// Packets between workers: whose they are, their order, what a full ring does, and that every
// packet goes back to the pool that it came from. One thread plays all workers, as the rings allow.
#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/rng.h"
#include "server/server_internal.h"
#include "unit/frames6.h"
#include "unit/pkt_env.h"
#include "worker/handoff.h"

enum { WORKERS = 4, POOL = 4096, SLOTS = 64, FRAME = 60, QUEUE_MAX = 4096 };

// A device: frames to be received lie in lists; it takes at most `takes` to send.
struct device {
    struct port port;
    struct pkt *in[WORKERS][QUEUE_MAX];
    unsigned n_in[WORKERS], at[WORKERS];
    struct pkt *out[WORKERS][QUEUE_MAX];
    unsigned n_out[WORKERS];
    unsigned takes;
    uint32_t refuses;  // the number of a packet that it never takes
};

static struct device dev;
static struct pkt_pool *pools[WORKERS];
static struct core_stats stats[WORKERS];
static struct toeplitz hash;
static struct handoff *handoff;
static void *parts[WORKERS];
static unsigned workers;

static uint32_t number_of(const struct pkt *p)
{
    uint32_t v;
    memcpy(&v, pkt_data(p) + 38, 4);
    return ntohl(v);
}

static uint16_t dev_rx(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    uint16_t got = 0;
    while (got < n && dev.at[q] < dev.n_in[q])
        pkts[got++] = dev.in[q][dev.at[q]++];
    return got;
}

static uint16_t dev_tx(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    uint16_t took = 0;
    for (; took < n && dev.takes != 0 && dev.n_out[q] < QUEUE_MAX; took++, dev.takes--) {
        if (dev.refuses != 0 && number_of(pkts[took]) == dev.refuses)
            break;
        assert_ptr_equal(pkts[took]->m.pool, &pools[q]->mp);
        dev.out[q][dev.n_out[q]++] = pkts[took];
    }
    return took;
}

static void dev_stats(struct port *p, struct port_stats *out)
{
    memset(out, 0, sizeof(*out));
}

static const struct port_ops dev_ops = {
    .driver = "device", .rx_burst = dev_rx, .tx_burst = dev_tx, .stats = dev_stats};

static uint32_t slots, out_max;

// open_sized: rings as a server has that gives each worker so many packets; 0: those of SLOTS.
static void open_sized(unsigned n, unsigned queues, uint32_t caps, uint32_t packets)
{
    out_max = packets != 0 ? handoff_out_max(packets, 1) : 1u << 20;
    slots = packets != 0 ? handoff_slots(out_max) : SLOTS;
    memset(&dev, 0, sizeof(dev));
    memset(stats, 0, sizeof(stats));
    dev.port = (struct port){.ops = &dev_ops,
                             .queues = (uint16_t)queues,
                             .caps = caps,
                             .rss_entries = 128,
                             .rss_kinds = (1 << PORT_RSS_KINDS) - 1,
                             .mtu = 1500};
    dev.takes = UINT_MAX;
    workers = n;
    handoff = handoff_open(&dev.port, slots, out_max, n, toeplitz_key);
    assert_non_null(handoff);
    for (unsigned w = 0; w < n; w++) {
        parts[w] = aligned_alloc(CACHE_LINE, handoff_footprint(slots, n));
        assert_non_null(parts[w]);
        handoff_join(handoff, w, parts[w], pools[w], &stats[w]);
    }
}

static void open_with(unsigned n, unsigned queues, uint32_t caps)
{
    open_sized(n, queues, caps, 0);
}

// What each worker counted of the port adds up to what all of them count.
static void counts_add_up(void)
{
    uint64_t sent = 0, ended = 0;
    for (unsigned w = 0; w < workers; w++) {
        const struct core_stats *st = &stats[w];
        struct handoff_counts c;
        handoff_read(handoff, w, &c);
        sent += c.wrong_core + c.copies;
        ended += c.taken_over + c.lost + c.waiting;
        assert_int_equal(c.taken_over, st->c.handed_in);
        assert_int_equal(c.tx_handed, st->c.tx_handed);
        assert_int_equal(c.copies, st->c.handed_copies);
        assert_int_equal(c.lost, st->drops[DROP_handoff_full]);
        assert_in_range(c.wrong_core, st->c.handed_out, st->c.handed_out + c.lost);
    }
    assert_int_equal(sent, ended);
}

static void end(void)
{
    counts_add_up();
    for (unsigned q = 0; q < WORKERS; q++) {
        for (unsigned i = dev.at[q]; i < dev.n_in[q]; i++)
            pkt_free(dev.in[q][i]);
        for (unsigned i = 0; i < dev.n_out[q]; i++)
            pkt_free(dev.out[q][i]);
    }
    handoff_close(handoff);
    for (unsigned w = 0; w < workers; w++)
        free(parts[w]);
    for (unsigned w = 0; w < WORKERS; w++)
        assert_int_equal(pkt_pool_free_count(pools[w]), POOL);
}

struct tuple {
    uint32_t src, dst;
    uint16_t src_port, dst_port;
};

static struct tuple flow(unsigned i)
{
    return (struct tuple){0x0a400000 + i / 100, 0x0a000001, (uint16_t)(1024 + i % 100), 80};
}

static unsigned home(struct tuple t)
{
    return toeplitz_home(
        toeplitz_v4(&hash, htonl(t.src), htonl(t.dst), htons(t.src_port), htons(t.dst_port)), 128,
        workers);
}

static uint8_t *put32(uint8_t *to, uint32_t v)
{
    v = htonl(v);
    memcpy(to, &v, 4);
    return to + 4;
}

static uint8_t *put16(uint8_t *to, uint16_t v)
{
    v = htons(v);
    memcpy(to, &v, 2);
    return to + 2;
}

// An IPv4 header at `to`, options of 4 * words bytes behind it.
static uint8_t *put_ip(uint8_t *to, struct tuple t, uint8_t proto, unsigned words)
{
    memset(to, 0, 20 + 4 * words);
    to[0] = (uint8_t)(0x45 + words);
    to[9] = proto;
    put32(put32(to + 12, t.src), t.dst);
    return to + 20 + 4 * words;
}

// A TCP segment of flow t with a number behind its ports, for queue q.
static struct pkt *arrive(unsigned q, struct tuple t, uint32_t number)
{
    struct pkt *p = pkt_of(pools[q], 0, FRAME);
    assert_non_null(p);
    uint8_t *f = pkt_data(p);
    put16(f + 12, 0x0800);
    put32(put16(put16(put_ip(f + 14, t, 6, 0), t.src_port), t.dst_port), number);
    p->m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    dev.in[q][dev.n_in[q]++] = p;
    return p;
}

static struct tuple tuple_of(const struct pkt *p)
{
    struct tuple t;
    const uint8_t *f = pkt_data(p);
    memcpy(&t.src, f + 26, 4);
    memcpy(&t.dst, f + 30, 4);
    memcpy(&t.src_port, f + 34, 2);
    memcpy(&t.dst_port, f + 36, 2);
    return (struct tuple){ntohl(t.src), ntohl(t.dst), ntohs(t.src_port), ntohs(t.dst_port)};
}

static uint32_t receive(unsigned w, struct pkt **pkts)
{
    struct port *p = handoff_port(handoff);
    const uint32_t n = p->ops->rx_burst(p, (uint16_t)w, pkts, BURST_MAX);
    stats[w].c.rx_packets += n;
    for (uint32_t i = 0; i < n; i++)
        assert_ptr_equal(pkts[i]->m.pool, &pools[w]->mp);
    return n;
}

// Flows over the queues by `queue`, each with a rising number; every worker sees each of its flows
// in order, and nothing else.
static void flows_arrive_in_order(unsigned n, unsigned queues, uint32_t caps, bool lies)
{
    enum { FLOWS = 200, ROUNDS = 20 };
    static uint32_t next[FLOWS];
    unsigned taken = 0;
    struct rng rng = {7};
    open_with(n, queues, caps);
    memset(next, 0, sizeof(next));
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < FLOWS / 2; i++) {
            // A flow stays on one queue, right or wrong; twice in a row now and then.
            const unsigned f = i * 2 + (round & 1);
            const unsigned q = lies ? f % queues : home(flow(f)) % queues;
            for (unsigned k = 0; k <= rng_below(&rng, 2); k++)
                arrive(q, flow(f), next[f]++ << 8 | f);
        }
        for (unsigned turn = 0; turn < 12; turn++)
            for (unsigned w = 0; w < n; w++) {
                struct pkt *pkts[BURST_MAX];
                const uint32_t got = receive(w, pkts);
                for (uint32_t i = 0; i < got; i++) {
                    static uint32_t seen[FLOWS];
                    const uint32_t f = number_of(pkts[i]) & 0xff, at = number_of(pkts[i]) >> 8;
                    if (at == 0)
                        seen[f] = 0;
                    assert_int_equal(home(tuple_of(pkts[i])), w);
                    assert_int_equal(at, seen[f]++);
                    assert_true(pkt_rx_cksum_all_good(pkts[i]));
                    taken++;
                }
                pkt_free_bulk(pkts, got);
            }
    }
    uint64_t out = 0, in = 0, wrong = 0, sum = 0;
    for (unsigned w = 0; w < n; w++) {
        assert_int_equal(stats[w].drops[DROP_handoff_full], 0);
        out += stats[w].c.handed_out;
        in += stats[w].c.handed_in;
        wrong += stats[w].c.rss_wrong;
    }
    for (unsigned f = 0; f < FLOWS; f++)
        sum += next[f];
    assert_int_equal(taken, sum);
    assert_int_equal(out, in);
    assert_int_equal(wrong, (caps & PORT_RSS) && queues == n ? out : 0);
    assert_true(lies || queues < n ? out > sum / 4 : out == 0);
    end();
}

static void one_queue_serves_two_workers(void **state)
{
    flows_arrive_in_order(2, 1, 0, false);
}

static void one_queue_serves_four_workers(void **state)
{
    flows_arrive_in_order(4, 1, 0, false);
}

static void two_queues_serve_three_workers(void **state)
{
    flows_arrive_in_order(3, 2, 0, false);
}

static void a_port_that_spreads_rightly_hands_nothing_over(void **state)
{
    flows_arrive_in_order(4, 4, PORT_RSS, false);
}

static void a_port_that_lies_is_counted_and_put_right_in_order(void **state)
{
    flows_arrive_in_order(4, 4, PORT_RSS, true);
}

static void a_port_that_spreads_by_itself_is_put_right(void **state)
{
    flows_arrive_in_order(2, 2, 0, true);
}

static struct tuple flow_of(unsigned w)
{
    unsigned i = 0;
    while (home(flow(i)) != w)
        i++;
    return flow(i);
}

static void a_full_ring_drops_and_counts_and_recovers(void **state)
{
    struct pkt *pkts[BURST_MAX];
    open_with(2, 1, 0);
    for (unsigned i = 0; i < 200; i++)
        arrive(0, flow_of(1), i);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(stats[0].c.handed_out, SLOTS - 1);
    assert_int_equal(stats[0].drops[DROP_handoff_full], 200 - (SLOTS - 1));
    assert_int_equal(stats[0].c.rx_packets, 200 - (SLOTS - 1));
    uint32_t got = 0, n;
    while ((n = receive(1, pkts)) != 0) {
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(number_of(pkts[i]), got++);
        pkt_free_bulk(pkts, n);
    }
    assert_int_equal(got, SLOTS - 1);
    arrive(0, flow_of(1), 77);
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(receive(1, pkts), 1);
    assert_int_equal(number_of(pkts[0]), 77);
    pkt_free_bulk(pkts, 1);
    assert_int_equal(stats[1].c.rx_packets, stats[1].c.handed_in);
    end();
}

// A device with one queue, whose ring was full when the worker came back to it.
static void a_burst_of_a_receive_ring_for_one_worker_is_not_lost(void **state)
{
    enum { RX_RING = 1024 };
    struct pkt *pkts[BURST_MAX];
    open_sized(4, 1, 0, POOL);
    for (unsigned i = 0; i < RX_RING; i++)
        arrive(0, flow_of(1), i);
    for (unsigned i = 0; i < RX_RING; i++)
        assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(stats[0].drops[DROP_handoff_full], 0);
    uint32_t got = 0, n;
    while ((n = receive(1, pkts)) != 0) {
        got += n;
        pkt_free_bulk(pkts, n);
    }
    assert_int_equal(got, RX_RING);
    end();
}

static void a_stalled_worker_leaves_room_for_the_others_and_half_of_the_packets(void **state)
{
    struct pkt *pkts[BURST_MAX];
    struct handoff_counts c;
    open_sized(4, 1, 0, POOL);
    for (unsigned to = 1; to < 4; to++) {
        for (unsigned i = 0; i < 3000 / to; i++) {
            dev.at[0] = dev.n_in[0] = 0;  // the one before was received
            arrive(0, flow_of(to), i);
            assert_int_equal(receive(0, pkts), 0);
        }
        handoff_read(handoff, to, &c);
        assert_in_range(c.waiting, to == 1 ? 1500 : to == 2 ? 300 : 60, POOL / 2);
    }
    assert_in_range(stats[0].c.handed_out, 1, POOL / 2);
    end();
}

static void without_a_packet_to_copy_into_it_waits(void **state)
{
    static struct pkt *all[POOL];
    struct pkt *pkts[BURST_MAX];
    unsigned n = 0;
    open_with(2, 1, 0);
    while (n < POOL && pkt_alloc_bulk(pools[1], &all[n], 1))
        n++;
    arrive(0, flow_of(1), 5);
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(receive(1, pkts), 0);
    for (unsigned i = 0; i < n; i++)
        pkt_free(all[i]);
    assert_int_equal(receive(1, pkts), 1);
    assert_int_equal(number_of(pkts[0]), 5);
    pkt_free_bulk(pkts, 1);
    end();
}

static void arp_reaches_every_worker(void **state)
{
    struct pkt *pkts[BURST_MAX];
    open_with(4, 1, 0);
    struct pkt *p = pkt_of(pools[0], 7, FRAME);
    put16(pkt_data(p) + 12, 0x0806);
    dev.in[0][dev.n_in[0]++] = p;
    for (unsigned w = 0; w < 4; w++) {
        assert_int_equal(receive(w, pkts), 1);
        assert_int_equal(pkt_len(pkts[0]), FRAME);
        assert_int_equal(pkt_data(pkts[0])[40], 7);
        pkt_free_bulk(pkts, 1);
    }
    assert_int_equal(stats[0].c.handed_copies, 3);
    assert_int_equal(stats[0].c.handed_out, 0);
    end();
}

static void a_flood_of_arp_leaves_room_for_segments(void **state)
{
    struct pkt *pkts[BURST_MAX];
    open_with(2, 1, 0);
    for (unsigned i = 0; i < 100; i++) {
        struct pkt *p = pkt_of(pools[0], 7, FRAME);
        put16(pkt_data(p) + 12, 0x0806);
        dev.in[0][dev.n_in[0]++] = p;
    }
    arrive(0, flow_of(1), 9);
    for (uint32_t n; (n = receive(0, pkts)) != 0;)
        pkt_free_bulk(pkts, n);
    assert_int_equal(stats[0].c.handed_out, 1);
    assert_int_equal(stats[0].drops[DROP_handoff_full], 100 - (SLOTS - 1) / 2);
    end();
}

// Software finds the worker behind a tag that has a priority alone; other tags are dropped.
static void a_priority_tag_does_not_hide_the_worker(void **state)
{
    open_with(4, 1, 0);
    for (unsigned i = 0; i < 100; i++) {
        const struct tuple t = flow(i);
        uint8_t f[128] = {0};
        put16(put16(f + 12, 0x8100), 0xa000);
        put16(f + 16, 0x0800);
        uint8_t *end_of = put16(put16(put_ip(f + 18, t, 6, i % 3), t.src_port), t.dst_port);
        const uint32_t len = (uint32_t)(end_of - f);
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), home(t));
        assert_int_equal(handoff_home(&hash, 128, 4, f, len - 1), HANDOFF_HERE);
        put16(f + 14, 100);
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
        put16(put16(f + 14, 0), 0x8100);
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
    }
    end();
}

static void an_icmp_error_goes_to_the_connection_that_it_quotes(void **state)
{
    open_with(4, 1, 0);
    for (unsigned i = 0; i < 100; i++) {
        const struct tuple t = flow(i);
        const struct tuple quoted = {t.dst, t.src, t.dst_port, t.src_port};
        const struct tuple router = {0x0a0000fe, t.dst, 0, 0};
        uint8_t f[128] = {0};
        put16(f + 12, 0x0800);
        uint8_t *icmp = put_ip(f + 14, router, 1, i % 3);
        icmp[0] = i % 2 ? 3 : 11;
        uint8_t *end_of =
            put16(put16(put_ip(icmp + 8, quoted, 6, i % 4), quoted.src_port), quoted.dst_port);
        const uint32_t len = (uint32_t)(end_of - f);
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), home(t));
        assert_int_equal(handoff_home(&hash, 128, 4, f, len - 1), HANDOFF_HERE);
        icmp[8] ^= 0x20;  // of another version
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
        icmp[8] ^= 0x20;
        icmp[0] = 8;
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
    }
    end();
}

// A frame of frames6.h.
static uint32_t bytes_of(const char *hex, uint8_t *f)
{
    uint32_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
        f[n] = (uint8_t)byte;
    return n;
}

static void a_datagram_a_broadcast_and_an_error_about_one_go_home_by_their_ports(void **state)
{
    unsigned seen = 0;
    open_with(4, 1, 0);
    for (unsigned i = 0; i < 400; i++) {
        uint8_t f[128] = {0};
        struct tuple t = flow(i);
        if (i % 2)
            t.dst = 0xffffffff;
        put16(f + 12, 0x0800);
        put16(put16(put_ip(f + 14, t, 17, i % 3), t.src_port), t.dst_port);
        assert_int_equal(handoff_home(&hash, 128, 4, f, 14 + 20 + 4 * (i % 3) + 8), home(t));
        seen |= 1u << home(t);
        // We sent one from dst to src, and somebody says that it did not get there.
        const struct tuple router = {0x0a000099, 0x0a000001, 0, 0},
                           quoted = {t.dst, t.src, t.dst_port, t.src_port};
        memset(f, 0, sizeof(f));
        put16(f + 12, 0x0800);
        uint8_t *icmp = put_ip(f + 14, router, 1, 0);
        icmp[0] = i % 3 == 0 ? 3 : i % 3 == 1 ? 11 : 12;
        put16(put16(put_ip(icmp + 8, quoted, 17, 0), quoted.src_port), quoted.dst_port);
        assert_int_equal(handoff_home(&hash, 128, 4, f, 14 + 20 + 8 + 20 + 8), home(t));
    }
    assert_int_equal(seen, 15);
    end();
}

static int home6(const char *hex)
{
    uint8_t f[2048];
    const uint32_t len = bytes_of(hex, f);
    return handoff_home(&hash, 128, 4, f, len);
}

// Of 2001:db8::2 with `port` to 2001:db8::1 with `to`.
static int home_v6(uint16_t port, uint16_t to)
{
    static const uint8_t src[16] = {0x20, 1, 0x0d, 0xb8, [15] = 2},
                         dst[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
    return (int)toeplitz_home(toeplitz_v6(&hash, src, dst, htons(port), htons(to)), 128, 4);
}

static void segments_and_datagrams_of_ipv6_go_home_also_behind_extension_headers(void **state)
{
    open_with(4, 1, 0);
    static const char *const segments[] = {FRAME6_SYN,  FRAME6_GET, FRAME6_ACK,
                                           FRAME6_SACK, FRAME6_EXT, FRAME6_ATOMIC};
    for (unsigned i = 0; i < ARRAY_LEN(segments); i++)
        assert_int_equal(home6(segments[i]), home_v6(40000, 80));
    assert_int_equal(home6(FRAME6_UDP), home_v6(5000, 7));
    // All four are somebody's home, and only the ports tell.
    unsigned seen = 0;
    uint8_t f[256];
    const uint32_t len = bytes_of(FRAME6_ACK, f);
    for (uint16_t port = 1024; port < 1124; port++) {
        put16(f + 14 + 40, port);
        const int to = handoff_home(&hash, 128, 4, f, len);
        assert_int_equal(to, home_v6(port, 80));
        seen |= 1u << to;
    }
    assert_int_equal(seen, 15);
    end();
}

static void what_speaks_of_neighbors_and_groups_goes_to_all(void **state)
{
    static const char *const frames[] = {FRAME6_SOLICIT,      FRAME6_ADVERT,    FRAME6_PROBE,
                                         FRAME6_SOLICIT_BARE, FRAME6_MLD_QUERY, FRAME6_TOLD,
                                         FRAME6_ADVERT_ROUTER};
    open_with(4, 1, 0);
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++)
        assert_int_equal(home6(frames[i]), HANDOFF_ALL);
    end();
}

static void an_icmpv6_error_goes_to_the_connection_that_it_quotes(void **state)
{
    static const char *const frames[] = {FRAME6_TOO_BIG, FRAME6_UNREACHABLE, FRAME6_TIME,
                                         FRAME6_PARAMETER};
    open_with(4, 1, 0);
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++) {
        uint8_t f[2048];
        const uint32_t len = bytes_of(frames[i], f);
        const uint8_t *quoted = f + 14 + 40 + 8, *ports = quoted + 40;
        assert_true(len > 14 + 40 + 8 + 40 + 4);
        uint16_t from, to;
        memcpy(&from, ports, 2);
        memcpy(&to, ports + 2, 2);
        const int want =
            (int)toeplitz_home(toeplitz_v6(&hash, quoted + 24, quoted + 8, to, from), 128, 4);
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), want);
        f[14 + 40 + 8] ^= 0x20;  // of another version
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
    }
    end();
}

static void what_of_ipv6_has_no_ports_stays(void **state)
{
    static const char *const frames[] = {FRAME6_RH0, FRAME6_SCTP, FRAME6_PING, FRAME6_PONG};
    open_with(4, 1, 0);
    assert_int_equal(home6(FRAME6_FRAGMENT), home_v6(0, 0));  // by its addresses
    for (unsigned i = 0; i < ARRAY_LEN(frames); i++)
        assert_int_equal(home6(frames[i]), HANDOFF_HERE);
    // Cut anywhere: nothing is read behind the end (each in a buffer of its own, for a sanitizer).
    static const char *const whole[] = {FRAME6_EXT, FRAME6_UDP, FRAME6_TOO_BIG, FRAME6_SOLICIT};
    for (unsigned i = 0; i < ARRAY_LEN(whole); i++) {
        uint8_t f[2048];
        const uint32_t all = bytes_of(whole[i], f);
        for (uint32_t len = 0; len < all; len++) {
            uint8_t *cut = malloc(len + 1);
            memcpy(cut, f, len);
            assert_int_equal(handoff_home(&hash, 128, 4, cut, len), HANDOFF_HERE);
            free(cut);
        }
    }
    end();
}

static void
what_came_in_fragments_goes_on_to_the_worker_of_its_ports_whole_or_not_at_all(void **state)
{
    enum { PARTS = 8 };
    struct pkt *cut[PARTS], *pkts[BURST_MAX];
    uint8_t f[64] = {0};
    open_with(4, 1, 0);
    struct port *p = handoff_port(handoff);
    for (unsigned w = 0; w < 4; w++) {
        const struct tuple t = flow_of(w);
        put16(f + 12, 0x0800);
        put16(put16(put_ip(f + 14, t, 17, 0), t.src_port), t.dst_port);
        for (unsigned at = 0; at < 4; at++)
            assert_int_equal(handoff_whole(p, at, f, 60), at == w ? HANDOFF_HERE : (int)w);
        assert_int_equal(handoff_whole(&dev.port, 0, f, 60), HANDOFF_HERE);  // one worker alone
    }
    // From one without a queue to another: until the ring is full, then nothing of the rest.
    unsigned given = 0;
    for (unsigned i = 0; i < 2 * SLOTS / PARTS; i++) {
        for (unsigned k = 0; k < PARTS; k++)
            cut[k] = pkt_of(pools[3], (uint8_t)(i * PARTS + k), 60);
        handoff_hand(p, 3, 2, cut, PARTS);
        given += (i + 1) * PARTS <= SLOTS - 1 ? PARTS : 0;
    }
    assert_int_equal(stats[3].drops[DROP_handoff_full], 2 * SLOTS - given);
    for (unsigned came = 0, n; came < given; came += n) {
        n = receive(2, pkts);
        assert_int_not_equal(n, 0);
        for (unsigned k = 0; k < n; k++)
            assert_int_equal(pkt_data(pkts[k])[0], (uint8_t)(came + k));
        pkt_free_bulk(pkts, n);
    }
    receive(3, pkts);  // its own come home
    end();
}

static void what_has_no_ports_stays(void **state)
{
    uint8_t f[64] = {0};
    open_with(4, 1, 0);
    const struct tuple t = flow_of(3);
    put16(f + 12, 0x0800);
    put16(put16(put_ip(f + 14, t, 17, 1), t.src_port), t.dst_port);
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), 3);
    assert_int_equal(handoff_home(&hash, 128, 4, f, 14 + 24 + 4), 3);
    for (uint32_t len = 0; len < 14 + 24 + 4; len++)
        assert_int_equal(handoff_home(&hash, 128, 4, f, len), HANDOFF_HERE);
    const struct tuple addresses = {t.src, t.dst, 0, 0};
    f[20] = 0x20;  // more fragments: by its addresses
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), home(addresses));
    f[20] = 0x40;  // do not fragment
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), 3);
    f[21] = 1;  // a later fragment
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), home(addresses));
    for (uint32_t n = 34; n < 60; n++)  // of one byte, or of none
        assert_int_equal(handoff_home(&hash, 128, 4, f, n), home(addresses));
    f[20] = f[21] = 0;
    f[14] = 0x44;  // header too short
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), HANDOFF_HERE);
    f[14] = 0x66;  // another version
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), HANDOFF_HERE);
    f[14] = 0x46;
    f[23] = 47;
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), HANDOFF_HERE);
    put16(f + 12, 0x86dd);
    assert_int_equal(handoff_home(&hash, 128, 4, f, 60), HANDOFF_HERE);
    end();
}

static unsigned transmit(unsigned w, uint32_t first, unsigned n)
{
    struct port *p = handoff_port(handoff);
    struct pkt *pkts[BURST_MAX];
    for (unsigned i = 0; i < n; i++) {
        pkts[i] = pkt_of(pools[w], (uint8_t)w, FRAME);
        put32(pkt_data(pkts[i]) + 38, first + i);
    }
    const unsigned took = p->ops->tx_burst(p, (uint16_t)w, pkts, (uint16_t)n);
    pkt_free_bulk(pkts + took, n - took);
    return took;
}

static void those_without_a_queue_send_through_another_in_order(void **state)
{
    struct pkt *pkts[BURST_MAX];
    uint32_t next[WORKERS] = {0}, seen[WORKERS] = {0}, sum = 0;
    struct rng rng = {3};
    open_with(4, 2, 0);
    for (unsigned round = 0; round < 100; round++) {
        dev.takes = rng_below(&rng, 100);
        for (unsigned w = 0; w < 4; w++)
            next[w] += transmit(w, next[w], 1 + rng_below(&rng, 40));
        for (unsigned w = 0; w < 4; w++)
            assert_int_equal(receive(w, pkts), 0);
    }
    dev.takes = UINT_MAX;
    handoff_flush(handoff);
    for (unsigned q = 0; q < 2; q++)
        for (unsigned i = 0; i < dev.n_out[q]; i++) {
            const unsigned w = pkt_data(dev.out[q][i])[0];
            assert_int_equal(w % 2, q);
            assert_int_equal(number_of(dev.out[q][i]), seen[w]++);
        }
    for (unsigned w = 0; w < 4; w++) {
        assert_int_equal(seen[w], next[w]);
        sum += next[w];
        assert_int_equal(stats[w].c.tx_handed, w < 2 ? 0 : next[w]);
    }
    assert_true(sum > 1000);
    end();
}

// A worker sends a burst through another and then only receives: its packets come back to it.
static void what_was_sent_through_another_comes_home_without_more_being_sent(void **state)
{
    struct pkt *pkts[BURST_MAX];
    open_with(2, 1, 0);
    assert_int_equal(transmit(1, 0, 32), 32);
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(dev.n_out[0], 32);
    assert_int_equal(receive(1, pkts), 0);
    assert_int_equal(pkt_pool_free_count(pools[1]), POOL);
    end();
}

static void a_port_that_takes_nothing_holds_the_sender_back(void **state)
{
    struct pkt *pkts[BURST_MAX];
    unsigned took = 0;
    open_with(2, 1, 0);
    dev.takes = 0;
    for (unsigned i = 0; i < 50; i++) {
        took += transmit(1, took, 32);
        receive(0, pkts);
    }
    // The ring, and what the transmitter holds.
    assert_in_range(took, SLOTS - 1, SLOTS - 1 + HANDOFF_COPY_MAX);
    end();
}

// Of three that send through the first, one sends a packet that the device never takes, and at
// first nobody sends anything after it.
static void a_packet_that_is_refused_for_ever_does_not_hold_back_the_others(void **state)
{
    struct pkt *pkts[BURST_MAX];
    unsigned took = 0;
    open_with(4, 1, 0);
    dev.refuses = 1000;
    assert_int_equal(transmit(1, 1000, 1), 1);
    for (unsigned i = 0; i < 10000; i++)
        receive(0, pkts);
    assert_int_equal(stats[0].drops[DROP_tx_full], 0);
    for (unsigned i = 0; i < 10000; i++) {
        took += transmit(2 + i % 2, 1, 1);
        receive(0, pkts);
        receive(2 + i % 2, pkts);
    }
    struct handoff_counts c;
    handoff_read(handoff, 0, &c);
    assert_int_equal(c.tx_refused, 1);
    assert_int_equal(stats[0].drops[DROP_tx_full], 1);
    assert_true(took > 1000);
    handoff_flush(handoff);
    assert_int_equal(dev.n_out[0], MIN(took, (unsigned)QUEUE_MAX));
    end();
}

static void a_tx_offload_crosses(void **state)
{
    struct pkt *pkts[BURST_MAX], *p = pkt_of(pools[1], 1, FRAME);
    open_with(2, 1, 0);
    pkt_tx_offload(p, 14, 20, 32);
    assert_int_equal(handoff_port(handoff)->ops->tx_burst(handoff_port(handoff), 1, &p, 1), 1);
    receive(0, pkts);
    assert_int_equal(dev.n_out[0], 1);
    assert_true(dev.out[0][0]->m.ol_flags & RTE_MBUF_F_TX_TCP_CKSUM);
    assert_int_equal(dev.out[0][0]->m.l2_len, 14);
    assert_int_equal(dev.out[0][0]->m.l4_len, 32);
    end();
}

static void large_segments_are_cut_by_the_device_only_where_each_worker_has_a_queue(void **state)
{
    open_with(2, 1, PORT_TSO | PORT_MULTI_SEG);
    assert_int_equal(handoff_port(handoff)->caps, PORT_MULTI_SEG);
    end();
    open_with(2, 2, PORT_TSO | PORT_MULTI_SEG);
    assert_int_equal(handoff_port(handoff)->caps, PORT_TSO | PORT_MULTI_SEG);
    end();
}

static void a_verdict_crosses_and_no_flag_that_speaks_of_what_is_not_copied(void **state)
{
    const uint64_t verdict = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
    struct pkt *pkts[BURST_MAX];
    unsigned seen = 0;
    open_with(2, 1, 0);
    for (unsigned i = 0; i < 40; i++)
        arrive(0, flow(i), i)->m.ol_flags = verdict | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN;
    pkt_free_bulk(pkts, receive(0, pkts));
    for (uint32_t n; (n = receive(1, pkts)) != 0; seen += n) {
        for (uint32_t i = 0; i < n; i++)
            assert_true(pkts[i]->m.ol_flags == verdict);
        pkt_free_bulk(pkts, n);
    }
    assert_true(seen > 5);
    end();
}

// Three that have no queue send more than the one that has takes.
static void each_that_sends_through_another_has_its_turn(void **state)
{
    enum { TURNS = 90, TAKES = 32 };
    struct pkt *pkts[BURST_MAX];
    unsigned sent[WORKERS] = {0};
    open_with(4, 1, 0);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned w = 1; w < 4; w++)
            transmit(w, 0, TAKES);
        dev.takes = TAKES;
        assert_int_equal(receive(0, pkts), 0);
    }
    for (unsigned i = 0; i < dev.n_out[0]; i++)
        sent[pkt_data(dev.out[0][i])[0]]++;
    assert_int_equal(dev.n_out[0], TURNS * TAKES);
    for (unsigned w = 1; w < 4; w++)
        assert_in_range(sent[w], TURNS * TAKES / 3 - TAKES, TURNS * TAKES / 3 + TAKES);
    end();
}

// Three hand packets over to a fourth, which takes those of two in a turn.
static void each_that_hands_packets_over_has_its_turn(void **state)
{
    enum { TURNS = 60 };
    unsigned taken[WORKERS] = {0};
    open_with(4, 3, 0);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct pkt *pkts[BURST_MAX];
        for (unsigned q = 0; q < 3; q++) {
            for (unsigned i = 0; i < BURST_MAX / 2; i++)
                arrive(q, flow_of(3), q);
            pkt_free_bulk(pkts, receive(q, pkts));
        }
        const uint32_t n = receive(3, pkts);
        for (uint32_t i = 0; i < n; i++)
            taken[number_of(pkts[i])]++;
        pkt_free_bulk(pkts, n);
    }
    for (unsigned q = 0; q < 3; q++)
        assert_true(taken[q] > TURNS * BURST_MAX / 4);
    end();
}

static void a_chain_to_be_sent_crosses_whole_in_one_buffer(void **state)
{
    struct pkt *pkts[BURST_MAX], *head = pkt_of(pools[1], 0, FRAME);
    open_with(2, 1, 0);
    memset(pkt_data(head), 0x99, FRAME);
    for (unsigned k = 0; k < 2; k++) {
        struct pkt *more = pkt_of(pools[1], 0, 100 + k);
        memset(pkt_data(more), (int)(0xa0 + k), 100 + k);
        assert_int_equal(rte_pktmbuf_chain(&head->m, &more->m), 0);
    }
    struct port *p = handoff_port(handoff);
    assert_int_equal(p->ops->tx_burst(p, 1, &head, 1), 1);
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(dev.n_out[0], 1);
    const struct pkt *sent = dev.out[0][0];
    assert_false(pkt_is_chain(sent));
    assert_int_equal(pkt_len(sent), FRAME + 201);
    for (unsigned at = 0; at < FRAME + 201; at++)
        assert_int_equal(pkt_data(sent)[at], at < FRAME ? 0x99 : at < FRAME + 100 ? 0xa0 : 0xa1);
    end();
}

static void what_is_under_way_at_the_end_goes_home(void **state)
{
    struct pkt *pkts[BURST_MAX];
    open_with(4, 1, 0);
    for (unsigned i = 0; i < 60; i++)
        arrive(0, flow(i), i);
    pkt_free_bulk(pkts, receive(0, pkts));
    transmit(2, 0, 10);
    dev.takes = 0;
    pkt_free_bulk(pkts, receive(0, pkts));
    end();
}

static void others_hold_at_most_half_of_the_packets(void **state)
{
    assert_int_equal(handoff_out_max(16384, 1), 8192);
    assert_int_equal(handoff_out_max(16384, 4), 2048);
    assert_int_equal(handoff_out_max(64, 8), 64);
    assert_int_equal(handoff_slots(8192), 2048);
    assert_int_equal(handoff_slots(1500), 1024);
    assert_int_equal(handoff_slots(10), 64);
}

// Nobody can compute beforehand where a connection falls: each start has secrets of its own.
static void two_starts_have_other_secrets(void **state)
{
    static struct server a, b;
    server_draw(&a);
    server_draw(&b);
    assert_memory_not_equal(a.rss_key, b.rss_key, sizeof(a.rss_key));
    assert_memory_not_equal(a.rss_key, toeplitz_key, sizeof(a.rss_key));
    assert_true(toeplitz_spreads(a.rss_key) && toeplitz_spreads(b.rss_key));
    for (unsigned i = 0; i < SECRET_COUNT; i++)
        assert_memory_not_equal(&a.keys.of[i], &b.keys.of[i], sizeof(a.keys.of[i]));
    struct toeplitz of_a, of_b;
    toeplitz_init(&of_a, a.rss_key);
    toeplitz_init(&of_b, b.rss_key);
    unsigned same = 0;
    for (unsigned port = 0; port < 1000; port++)
        same += toeplitz_home(toeplitz_v4(&of_a, 1, 2, (uint16_t)port, 80), TOEPLITZ_ENTRIES, 4) ==
                toeplitz_home(toeplitz_v4(&of_b, 1, 2, (uint16_t)port, 80), TOEPLITZ_ENTRIES, 4);
    assert_true(same != 1000);
}

// ---- workers that sleep

static int device_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    out[0] = 100 + q;
    return 1;
}

// was_woken: whether the worker of this wake was told to wake since the last call.
static bool was_woken(const struct wake *w)
{
    uint64_t said;
    return read(w->fd, &said, sizeof(said)) == sizeof(said);
}

// open_sleepers: two workers, of which `asleep` sleeps; the device tells of packets.
static void open_sleepers(struct wake wakes[2], unsigned queues, unsigned asleep)
{
    static const struct port_wait wait = {.fds = device_fds};
    static struct port_ops ops;
    open_with(2, queues, 0);
    ops = dev_ops;
    ops.wait = &wait;
    dev.port.ops = &ops;
    for (unsigned i = 0; i < 2; i++) {
        wakes[i] = (struct wake){.asleep = {i == asleep}, .fd = eventfd(0, EFD_NONBLOCK)};
        handoff_wake(handoff, i, &wakes[i]);
    }
}

static void end_sleepers(const struct wake wakes[2])
{
    close(wakes[0].fd);
    close(wakes[1].fd);
    end();
}

static void what_is_handed_to_a_worker_that_sleeps_wakes_it(void **state)
{
    struct wake wakes[2];
    struct pkt *pkts[BURST_MAX];
    unsigned i = 0;
    int fd = 0;
    open_sleepers(wakes, 1, 1);
    while (home(flow(i)) != 1)
        i++;
    assert_int_equal(port_wait_fds(handoff_port(handoff), 0, &fd, 1), 1);
    assert_int_equal(fd, 100);
    assert_int_equal(port_wait_fds(handoff_port(handoff), 1, &fd, 1), 0);  // it has no queue
    arrive(0, flow(i), 1);
    assert_int_equal(receive(0, pkts), 0);
    assert_true(was_woken(&wakes[1]));
    assert_false(was_woken(&wakes[0]));
    assert_int_equal(port_wait_fds(handoff_port(handoff), 1, &fd, 1), PORT_WAIT_NOT);
    assert_int_equal(receive(1, pkts), 1);
    pkt_free(pkts[0]);
    assert_int_equal(port_wait_fds(handoff_port(handoff), 1, &fd, 1), 0);
    assert_int_equal(receive(0, pkts), 0);  // what comes home
    end_sleepers(wakes);
}

static void what_is_to_be_sent_wakes_the_worker_that_sends_it(void **state)
{
    struct wake wakes[2];
    struct pkt *pkts[BURST_MAX], *p;
    int fd = 0;
    open_sleepers(wakes, 1, 0);
    p = pkt_of(pools[1], 0, FRAME);
    struct port *port = handoff_port(handoff);
    assert_int_equal(port->ops->tx_burst(port, 1, &p, 1), 1);
    assert_true(was_woken(&wakes[0]));
    assert_int_equal(port_wait_fds(port, 0, &fd, 1), PORT_WAIT_NOT);
    dev.takes = 0;
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(port_wait_fds(port, 0, &fd, 1), PORT_WAIT_NOT);  // the device took none
    dev.takes = UINT_MAX;
    assert_int_equal(receive(0, pkts), 0);
    assert_int_equal(port_wait_fds(port, 0, &fd, 1), 1);
    assert_int_equal(receive(1, pkts), 0);  // what comes home
    end_sleepers(wakes);
}

static void a_worker_that_is_awake_is_not_woken(void **state)
{
    struct wake wakes[2];
    struct pkt *pkts[BURST_MAX];
    unsigned i = 0;
    open_sleepers(wakes, 1, 0);
    while (home(flow(i)) != 1)
        i++;
    arrive(0, flow(i), 1);
    assert_int_equal(receive(0, pkts), 0);
    assert_false(was_woken(&wakes[1]));
    assert_int_equal(receive(1, pkts), 1);
    pkt_free(pkts[0]);
    assert_int_equal(receive(0, pkts), 0);
    end_sleepers(wakes);
}

int main(void)
{
    pkt_env_start(0);
    toeplitz_init(&hash, toeplitz_key);
    for (unsigned w = 0; w < WORKERS; w++) {
        char name[16];
        snprintf(name, sizeof(name), "worker%u", w);
        pools[w] = pkt_pool_create(name, POOL, -1);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_starts_have_other_secrets),
        cmocka_unit_test(one_queue_serves_two_workers),
        cmocka_unit_test(one_queue_serves_four_workers),
        cmocka_unit_test(two_queues_serve_three_workers),
        cmocka_unit_test(a_port_that_spreads_rightly_hands_nothing_over),
        cmocka_unit_test(a_port_that_lies_is_counted_and_put_right_in_order),
        cmocka_unit_test(a_port_that_spreads_by_itself_is_put_right),
        cmocka_unit_test(a_full_ring_drops_and_counts_and_recovers),
        cmocka_unit_test(without_a_packet_to_copy_into_it_waits),
        cmocka_unit_test(arp_reaches_every_worker),
        cmocka_unit_test(a_flood_of_arp_leaves_room_for_segments),
        cmocka_unit_test(a_priority_tag_does_not_hide_the_worker),
        cmocka_unit_test(an_icmp_error_goes_to_the_connection_that_it_quotes),
        cmocka_unit_test(a_datagram_a_broadcast_and_an_error_about_one_go_home_by_their_ports),
        cmocka_unit_test(segments_and_datagrams_of_ipv6_go_home_also_behind_extension_headers),
        cmocka_unit_test(what_speaks_of_neighbors_and_groups_goes_to_all),
        cmocka_unit_test(an_icmpv6_error_goes_to_the_connection_that_it_quotes),
        cmocka_unit_test(what_of_ipv6_has_no_ports_stays),
        cmocka_unit_test(
            what_came_in_fragments_goes_on_to_the_worker_of_its_ports_whole_or_not_at_all),
        cmocka_unit_test(what_has_no_ports_stays),
        cmocka_unit_test(those_without_a_queue_send_through_another_in_order),
        cmocka_unit_test(what_was_sent_through_another_comes_home_without_more_being_sent),
        cmocka_unit_test(a_port_that_takes_nothing_holds_the_sender_back),
        cmocka_unit_test(a_packet_that_is_refused_for_ever_does_not_hold_back_the_others),
        cmocka_unit_test(a_tx_offload_crosses),
        cmocka_unit_test(large_segments_are_cut_by_the_device_only_where_each_worker_has_a_queue),
        cmocka_unit_test(a_verdict_crosses_and_no_flag_that_speaks_of_what_is_not_copied),
        cmocka_unit_test(each_that_sends_through_another_has_its_turn),
        cmocka_unit_test(each_that_hands_packets_over_has_its_turn),
        cmocka_unit_test(a_chain_to_be_sent_crosses_whole_in_one_buffer),
        cmocka_unit_test(what_is_under_way_at_the_end_goes_home),
        cmocka_unit_test(others_hold_at_most_half_of_the_packets),
        cmocka_unit_test(a_burst_of_a_receive_ring_for_one_worker_is_not_lost),
        cmocka_unit_test(a_stalled_worker_leaves_room_for_the_others_and_half_of_the_packets),
        cmocka_unit_test(what_is_handed_to_a_worker_that_sleeps_wakes_it),
        cmocka_unit_test(what_is_to_be_sent_wakes_the_worker_that_sends_it),
        cmocka_unit_test(a_worker_that_is_awake_is_not_woken),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
