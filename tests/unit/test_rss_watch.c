// SPDX-License-Identifier: BSD-3-Clause
// A port that brings packets to the wrong workers: what is counted, when its key and table are
// looked at, and when it is given up. One thread plays all workers.
#include <arpa/inet.h>

#include "server/rss_watch.h"
#include "unit/frames6.h"
#include "unit/pkt_env.h"

enum { WORKERS = 2, POOL = 2048, SLOTS = 64, FRAME = 60, ENTRIES = 128 };

static const uint64_t tick_ns = (uint64_t)RSS_LOOK_MS * 1000000;

// A device: packets to be received, and whether its table is another one.
static struct {
    struct port port;
    struct pkt *in[WORKERS][BURST_MAX];
    unsigned n_in[WORKERS];
    uint64_t rx_packets;
    bool table_wrong;   // packets go to the other worker
    bool lies;          // the same, whatever the table
    bool cannot_write;  // the table
    bool fragments;     // packets have the flag for more of them
    unsigned checked;
} dev;

static struct pkt_pool *pools[WORKERS];
static struct core_stats stats[WORKERS];
static struct toeplitz hash;
static struct handoff *handoff;
static void *parts[WORKERS];
static struct rss_watch watch;
static uint64_t now_ns;

static uint16_t dev_rx(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const uint16_t got = (uint16_t)MIN(dev.n_in[q], (unsigned)n);
    memcpy(pkts, dev.in[q], got * sizeof(pkts[0]));
    memmove(dev.in[q], dev.in[q] + got, (dev.n_in[q] - got) * sizeof(pkts[0]));
    dev.n_in[q] -= got;
    return got;
}

static uint16_t dev_tx(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    return 0;
}

static void dev_stats(struct port *p, struct port_stats *out)
{
    *out = (struct port_stats){.rx_packets = dev.rx_packets};
}

static void dev_check(struct port *p, struct port_rss_check *out)
{
    dev.checked++;
    *out = (struct port_rss_check){.readable = true,
                                   .entries_wrong = dev.table_wrong ? ENTRIES : 0,
                                   .mended = dev.table_wrong && !dev.cannot_write};
    if (out->mended)
        dev.table_wrong = false;
}

static const struct port_view dev_view = {.rss_check = dev_check};
static const struct port_ops dev_ops = {.driver = "device",
                                        .rx_burst = dev_rx,
                                        .tx_burst = dev_tx,
                                        .stats = dev_stats,
                                        .view = &dev_view};

static int begin(void **state)
{
    memset(&dev, 0, sizeof(dev));
    memset(stats, 0, sizeof(stats));
    dev.port = (struct port){.ops = &dev_ops,
                             .name = "p0",
                             .queues = WORKERS,
                             .caps = PORT_RSS,
                             .rss_entries = ENTRIES,
                             .rss_kinds = 1 << PORT_RSS_IP4_TCP,
                             .mtu = 1500};
    handoff = handoff_open(&dev.port, SLOTS, SLOTS, WORKERS, toeplitz_key);
    assert_non_null(handoff);
    for (unsigned w = 0; w < WORKERS; w++) {
        parts[w] = aligned_alloc(CACHE_LINE, handoff_footprint(SLOTS, WORKERS));
        handoff_join(handoff, w, parts[w], pools[w], &stats[w]);
    }
    rss_watch_init(&watch, handoff, WORKERS, &dev.port);
    now_ns = tick_ns;
    return 0;
}

static int end(void **state)
{
    handoff_close(handoff);
    for (unsigned w = 0; w < WORKERS; w++) {
        free(parts[w]);
        assert_int_equal(pkt_pool_free_count(pools[w]), POOL);
    }
    return 0;
}

// A TCP or UDP packet of flow i.
static uint32_t put_frame(uint8_t *f, unsigned i, uint8_t proto)
{
    const uint32_t src = htonl(0x0a400000 + i), dst = htonl(0x0a000001);
    const uint16_t from = htons((uint16_t)(1024 + i)), to = htons(80);
    memset(f, 0, FRAME);
    f[12] = 8;
    f[14] = 0x45;
    f[20] = dev.fragments ? 0x20 : 0;
    f[23] = proto;
    memcpy(f + 26, &src, 4);
    memcpy(f + 30, &dst, 4);
    memcpy(f + 34, &from, 2);
    memcpy(f + 36, &to, 2);
    return toeplitz_v4(&hash, src, dst, from, to);
}

// packets: n of one kind arrive, and are received by all workers.
static void packets(unsigned n, uint8_t proto)
{
    static unsigned flow;
    struct port *p = handoff_port(handoff);
    for (unsigned i = 0; i < n; i++) {
        const bool wrong = dev.table_wrong || dev.lies;
        uint8_t frame[FRAME];
        const unsigned home =
            toeplitz_home(put_frame(frame, flow++ % 50000, proto), ENTRIES, WORKERS);
        const unsigned q = wrong ? 1 - home : home;
        struct pkt *one = pkt_of(pools[q], 0, FRAME), *got[BURST_MAX];
        assert_non_null(one);
        memcpy(pkt_data(one), frame, FRAME);
        dev.in[q][dev.n_in[q]++] = one;
        dev.rx_packets++;
        uint32_t seen = 0;
        for (unsigned turn = 0; turn < 3; turn++)
            for (unsigned w = 0; w < WORKERS; w++) {
                const uint32_t k = p->ops->rx_burst(p, (uint16_t)w, got, BURST_MAX);
                assert_true(k == 0 || w == home);  // no connection is lost
                pkt_free_bulk(got, k);
                seen += k;
            }
        assert_int_equal(seen, 1);
    }
}

static void look(void)
{
    now_ns += tick_ns;
    rss_watch_look(&watch, now_ns);
}

static void a_port_that_is_right_is_left_alone(void **state)
{
    for (unsigned i = 0; i < 10; i++) {
        packets(500, 6);
        look();
    }
    assert_int_equal(watch.state, RSS_RIGHT);
    assert_int_equal(dev.checked, 0);
    assert_int_equal(stats[0].c.rss_wrong + stats[1].c.rss_wrong, 0);
}

static void a_changed_table_is_written_again(void **state)
{
    dev.table_wrong = true;
    packets(RSS_EVIDENCE - 1, 6);
    look();
    assert_int_equal(dev.checked, 0);
    packets(1, 6);
    look();
    assert_int_equal(watch.state, RSS_SUSPECT);
    assert_int_equal(watch.wrong[PORT_RSS_IP4_TCP], RSS_EVIDENCE);
    assert_int_equal(watch.repairs, 1);
    assert_false(dev.table_wrong);
    look();
    packets(RSS_CALM, 6);
    look();
    assert_int_equal(watch.state, RSS_RIGHT);
    assert_true(handoff_trusted(handoff));
    assert_int_equal(dev.checked, 1);
    // Once more, and it is mended once more.
    dev.table_wrong = true;
    packets(RSS_EVIDENCE, 6);
    look();
    assert_int_equal(watch.repairs, 2);
}

static void packets_that_waited_while_it_was_mended_are_no_evidence(void **state)
{
    dev.table_wrong = true;
    packets(RSS_EVIDENCE, 6);
    look();
    dev.lies = true;
    packets(RSS_GIVE_UP, 6);
    dev.lies = false;
    look();
    packets(RSS_CALM, 6);
    look();
    assert_int_equal(watch.state, RSS_RIGHT);
}

static void a_port_that_lies_is_given_up_and_believed_again(void **state)
{
    dev.lies = true;
    packets(RSS_EVIDENCE, 6);
    look();
    assert_int_equal(watch.state, RSS_SUSPECT);
    look();
    packets(RSS_GIVE_UP, 6);
    look();
    assert_int_equal(watch.state, RSS_SOFTWARE);
    assert_false(handoff_trusted(handoff));
    assert_int_equal(watch.repairs, 0);
    const uint64_t before = stats[0].c.rss_wrong + stats[1].c.rss_wrong;
    packets(100, 6);  // software hands them over, and this is no fault of the port now
    look();
    assert_int_equal(stats[0].c.rss_wrong + stats[1].c.rss_wrong, before);
    assert_int_equal(watch.wrong[PORT_RSS_IP4_TCP], RSS_EVIDENCE + RSS_GIVE_UP + 100);
    dev.lies = false;
    for (unsigned i = 0; i < 3; i++) {
        packets(RSS_CALM, 6);
        look();
    }
    assert_int_equal(watch.state, RSS_RIGHT);
    assert_true(handoff_trusted(handoff));
}

static void a_table_that_can_be_written_later_is(void **state)
{
    dev.table_wrong = dev.cannot_write = true;
    packets(RSS_EVIDENCE, 6);
    look();
    look();
    packets(RSS_GIVE_UP, 6);
    look();
    assert_int_equal(watch.state, RSS_SOFTWARE);
    dev.cannot_write = false;
    packets(100, 6);
    look();
    assert_int_equal(dev.checked, 1);  // it is not asked all the time
    now_ns += (uint64_t)RSS_RETRY_MS * 1000000;
    packets(100, 6);
    look();
    assert_int_equal(dev.checked, 2);
    assert_int_equal(watch.repairs, 1);
    assert_int_equal(watch.state, RSS_SUSPECT);
    assert_true(handoff_trusted(handoff));
}

static void kinds_that_the_device_does_not_hash_are_no_evidence(void **state)
{
    dev.lies = true;
    for (unsigned i = 0; i < 5; i++) {
        packets(500, 17);
        look();
    }
    assert_int_equal(watch.state, RSS_RIGHT);
    assert_int_equal(dev.checked, 0);
    assert_int_equal(watch.wrong[PORT_RSS_IP4_UDP], 2500);
    assert_int_equal(stats[0].c.rss_wrong + stats[1].c.rss_wrong, 0);
}

// Fragments have no ports, which devices see differently: they are counted by their kind only.
static void fragments_are_no_fault_of_the_port(void **state)
{
    struct port *p = handoff_port(handoff);
    struct handoff_counts a;
    dev.fragments = true;
    for (unsigned i = 0; i < 100; i++) {
        struct pkt *one = pkt_of(pools[0], 0, FRAME), *got[BURST_MAX];
        put_frame(pkt_data(one), 1 + i, 17);
        dev.in[0][dev.n_in[0]++] = one;
        for (unsigned w = 0; w < WORKERS; w++)
            pkt_free_bulk(got, p->ops->rx_burst(p, (uint16_t)w, got, BURST_MAX));
    }
    for (unsigned w = 0; w < WORKERS; w++) {
        struct pkt *got[BURST_MAX];
        assert_int_equal(p->ops->rx_burst(p, (uint16_t)w, got, BURST_MAX), 0);
    }
    handoff_read(handoff, 0, &a);
    assert_true(a.rss_wrong[PORT_RSS_FRAGMENT] > 20);
    assert_int_equal(a.rss_wrong[PORT_RSS_FRAGMENT], a.wrong_core);
    assert_int_equal(stats[0].c.rss_wrong + stats[1].c.rss_wrong, 0);
}

static void a_single_worker_has_nothing_to_watch(void **state)
{
    rss_watch_init(&watch, NULL, 1, &dev.port);
    look();
    assert_int_equal(watch.state, RSS_NONE);
}

static enum port_rss_kind kind6(const char *text)
{
    uint8_t frame[256];
    uint32_t len = 0;
    for (unsigned byte; sscanf(text + 2 * len, "%2x", &byte) == 1; len++)
        frame[len] = (uint8_t)byte;
    return handoff_kind(frame, len);
}

static void a_sender_cannot_make_evidence_of_unusual_packets(void **state)
{
    uint8_t f[FRAME];
    put_frame(f, 1, 6);
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_IP4_TCP);
    f[14] = 0x46;  // an option
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_OTHER);
    put_frame(f, 1, 6);
    assert_int_equal(handoff_kind(f, 14 + 20 + 19), PORT_RSS_OTHER);  // not all of its header
    f[20] = 0x20;                                                     // more fragments
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_FRAGMENT);
    put_frame(f, 1, 17);
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_IP4_UDP);
    f[36] = 4789 >> 8;  // VXLAN
    f[37] = 4789 & 255;
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_OTHER);
    put_frame(f, 1, 47);  // GRE
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_OTHER);
    f[12] = 0x81;  // VLAN
    assert_int_equal(handoff_kind(f, FRAME), PORT_RSS_OTHER);
    assert_int_equal(handoff_kind(f, 14), PORT_RSS_OTHER);
    assert_int_equal(kind6(FRAME6_ACK), PORT_RSS_IP6_TCP);
    assert_int_equal(kind6(FRAME6_EXT), PORT_RSS_OTHER);
    assert_int_equal(kind6(FRAME6_FRAGMENT), PORT_RSS_FRAGMENT);
}

int main(void)
{
    pkt_env_start(0);
    toeplitz_init(&hash, toeplitz_key);
    for (unsigned w = 0; w < WORKERS; w++)
        pools[w] = pkt_pool_create(w == 0 ? "a" : "b", POOL, -1);
#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH(a_port_that_is_right_is_left_alone),
        WITH(a_changed_table_is_written_again),
        WITH(packets_that_waited_while_it_was_mended_are_no_evidence),
        WITH(a_port_that_lies_is_given_up_and_believed_again),
        WITH(a_table_that_can_be_written_later_is),
        WITH(kinds_that_the_device_does_not_hash_are_no_evidence),
        WITH(fragments_are_no_fault_of_the_port),
        WITH(a_single_worker_has_nothing_to_watch),
        cmocka_unit_test(a_sender_cannot_make_evidence_of_unusual_packets),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
