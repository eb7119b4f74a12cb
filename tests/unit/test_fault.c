// SPDX-License-Identifier: BSD-3-Clause
// The port that makes trouble, around one end of a wire.
#include "base/bytes.h"
#include "base/rng.h"
#include "drivers/fault.h"
#include "drivers/ring.h"
#include "unit/pkt_env.h"

enum { POOL = 8192, SLOTS = 256, FRAME = 100, FRAMES = 20000 };

static struct pkt_pool *pool_a, *pool_b;
static uint64_t clock_us;

struct rig {
    struct port *fault, *far;
};

static struct port_params base(void)
{
    static struct port_params inside;
    inside = (struct port_params){
        .name = "w", .driver = "ring", .queues = 1, .rx_ring = SLOTS, .tx_ring = SLOTS, .node = -1};
    return (struct port_params){.name = "w",
                                .driver = "fault",
                                .queues = 1,
                                .node = -1,
                                .pools = {pool_a},
                                .wraps = &inside,
                                .seed = 1,
                                .now_us = &clock_us};
}

static struct rig open_rig(const struct port_params *p)
{
    struct err e = {.text = ""};
    struct rig r;
    clock_us = 1000000;
    r.fault = port_open(p, &e);
    if (r.fault == NULL)
        fail_msg("%s", e.text);
    struct port_params far = {.name = "far", .driver = "ring", .queues = 1, .pools = {pool_b}};
    r.far = ring_open_far(fault_inner(r.fault), &far, &e);
    assert_non_null(r.far);
    struct pkt *none;
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &none, 1), 0);
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &none, 1), 0);
    return r;
}

// No packet is ever lost or freed twice, whatever the trouble.
static void close_rig(struct rig *r)
{
    port_close(r->fault);
    port_close(r->far);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL);
    assert_int_equal(pkt_pool_free_count(pool_b), POOL);
}

static uint16_t sum16(const uint8_t *p, uint32_t n)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i += 2)
        sum += load_be16(p + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

// An IPv4 frame whose packet sums to 0xffff: one flipped bit shows. The number is at its end.
static struct pkt *frame(struct pkt_pool *pool, uint32_t number)
{
    struct pkt *p = pkt_of(pool, 0, FRAME);
    assert_non_null(p);
    uint8_t *d = pkt_data(p);
    store_be16(d + 12, 0x0800);
    store_be16(d + 16, FRAME - 14);
    store_be32(d + FRAME - 4, number);
    store_be16(d + 24, (uint16_t)~sum16(d + 14, FRAME - 14));
    return p;
}

static bool whole(const struct pkt *p)
{
    return pkt_len(p) == FRAME && sum16(pkt_data(p) + 14, FRAME - 14) == 0xffff &&
           load_be16(pkt_data(p) + 12) == 0x0800;
}

static uint32_t number_of(const struct pkt *p)
{
    return load_be32(pkt_data(p) + FRAME - 4);
}

// What came out of FRAMES frames.
struct outcome {
    uint32_t got, broken, twice, missing, late;  // late: behind a higher number
    uint64_t trace;                              // of the order, to compare two runs
    struct fault_counts rx, tx;
};

static void take(struct port *to, struct outcome *o, uint8_t *seen, uint32_t *highest)
{
    struct pkt *in[BURST_MAX];
    for (uint16_t n; (n = to->ops->rx_burst(to, 0, in, BURST_MAX)) != 0; pkt_free_bulk(in, n))
        for (uint16_t i = 0; i < n; i++, o->got++) {
            o->trace = o->trace * 31 + number_of(in[i]);
            if (!whole(in[i])) {
                o->broken++;
                continue;
            }
            uint32_t number = number_of(in[i]);
            assert_true(number < FRAMES);
            o->twice += seen[number]++ != 0;
            o->late += number < *highest;
            *highest = MAX(*highest, number);
        }
}

static struct outcome run(const struct port_params *p, bool toward_fault)
{
    struct rig r = open_rig(p);
    struct port *from = toward_fault ? r.far : r.fault, *to = toward_fault ? r.fault : r.far;
    struct outcome o = {0};
    static uint8_t seen[FRAMES];
    memset(seen, 0, sizeof(seen));
    uint32_t highest = 0;
    for (uint32_t sent = 0; sent < FRAMES;) {
        struct pkt *out[32];
        uint32_t n = MIN(32u, FRAMES - sent);
        for (uint32_t i = 0; i < n; i++)
            out[i] = frame(toward_fault ? pool_b : pool_a, sent + i);
        uint16_t took = from->ops->tx_burst(from, 0, out, (uint16_t)n);
        pkt_free_bulk(out + took, n - took);
        sent += took;
        clock_us += 10;
        take(to, &o, seen, &highest);
    }
    // Time passes: whatever is held comes out, with nothing new sent.
    for (unsigned i = 0; i < 2 * FRAMES / BURST_MAX; i++) {
        struct pkt *none[BURST_MAX];
        clock_us += p->delay_ms * 1000 + FAULT_REORDER_WAIT_US;
        if (!toward_fault)
            assert_int_equal(from->ops->rx_burst(from, 0, none, BURST_MAX), 0);
        take(to, &o, seen, &highest);
    }
    for (uint32_t i = 0; i < FRAMES; i++)
        o.missing += seen[i] == 0;
    fault_read(r.fault, &o.rx, &o.tx);
    assert_int_equal(o.rx.held + o.tx.held, 0);
    close_rig(&r);
    return o;
}

static const struct fault_counts *dir(const struct outcome *o, bool toward_fault)
{
    return toward_fault ? &o->rx : &o->tx;
}

static void without_trouble_every_frame_passes_in_order(void **state)
{
    struct port_params p = base();
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        assert_int_equal(o.got, FRAMES);
        assert_int_equal(o.missing + o.twice + o.broken + o.late, 0);
    }
}

// 4 standard deviations at 5 % of 20,000 are 123.
static void assert_about(uint64_t count, uint32_t ppm)
{
    double expected = FRAMES * (ppm / 1e6);
    assert_true((double)count > expected * 0.85 - 5 && (double)count < expected * 1.15 + 5);
}

static void loss_takes_its_share_and_is_counted(void **state)
{
    struct port_params p = base();
    p.loss_ppm = 50000;
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        assert_about(o.missing, 50000);
        assert_int_equal(dir(&o, rx)->lost, o.missing);
        assert_int_equal(dir(&o, rx)->seen, FRAMES);
        assert_int_equal(dir(&o, !rx)->seen, 0);
        assert_int_equal(o.got, FRAMES - o.missing);
    }
}

static void a_loss_of_100_percent_lets_nothing_through(void **state)
{
    struct port_params p = base();
    p.loss_ppm = FAULT_PPM;
    assert_int_equal(run(&p, true).got, 0);
    assert_int_equal(run(&p, false).got, 0);
}

static void a_loss_of_one_in_ten_thousand_is_possible(void **state)
{
    struct port_params p = base();
    p.loss_ppm = 100;  // 0.01 percent
    struct outcome o = run(&p, true);
    assert_true(o.missing < 20);
    assert_int_equal(o.rx.lost, o.missing);
}

static void duplicates_come_twice_and_whole(void **state)
{
    struct port_params p = base();
    p.duplicate_ppm = 50000;
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        assert_about(o.twice, 50000);
        assert_int_equal(dir(&o, rx)->duplicated, o.twice);
        assert_int_equal(o.missing + o.broken, 0);
    }
}

static void each_corrupted_frame_fails_its_checksum(void **state)
{
    struct port_params p = base();
    p.corrupt_ppm = 50000;
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        assert_about(o.broken, 50000);
        assert_int_equal(dir(&o, rx)->corrupted, o.broken);
        assert_int_equal(o.got, FRAMES);
    }
}

static void reordered_frames_come_late_but_all_come(void **state)
{
    struct port_params p = base();
    p.reorder_ppm = 50000;
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        assert_about(dir(&o, rx)->reordered, 50000);
        assert_true(o.late >= dir(&o, rx)->reordered * 9 / 10);
        assert_int_equal(o.missing + o.twice + o.broken, 0);
    }
}

static void everything_together_adds_up(void **state)
{
    struct port_params p = base();
    p.loss_ppm = 50000;
    p.reorder_ppm = 50000;
    p.duplicate_ppm = 20000;
    p.corrupt_ppm = 10000;
    p.delay_ms = 3;
    for (int rx = 0; rx < 2; rx++) {
        struct outcome o = run(&p, rx);
        const struct fault_counts *c = dir(&o, rx);
        assert_int_equal(o.got, FRAMES - c->lost + c->duplicated);
    }
}

static void a_seed_repeats_itself_and_another_does_not(void **state)
{
    struct port_params p = base();
    p.loss_ppm = 50000;
    p.reorder_ppm = 50000;
    p.corrupt_ppm = 10000;
    struct outcome a = run(&p, true), b = run(&p, true);
    assert_true(a.trace == b.trace);
    p.seed = 2;
    assert_true(run(&p, true).trace != a.trace);
}

static void a_delay_holds_a_frame_for_exactly_that_long(void **state)
{
    struct port_params p = base();
    p.delay_ms = 20;
    struct rig r = open_rig(&p);
    struct pkt *out = frame(pool_b, 1), *in;
    assert_int_equal(r.far->ops->tx_burst(r.far, 0, &out, 1), 1);
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 0);
    clock_us += 19999;
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 0);
    clock_us += 1;
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 1);
    pkt_free(in);

    out = frame(pool_a, 1);
    assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &out, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &in, 1), 0);
    clock_us += 20000;
    struct pkt *none;
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &none, 1), 0);  // the idle turn sends it
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &in, 1), 1);
    pkt_free(in);
    close_rig(&r);
}

static int seven(struct port *p, uint16_t q, int *out, unsigned max)
{
    out[0] = 7;
    return 1;
}

static void a_worker_may_not_sleep_over_a_frame_that_is_held(void **state)
{
    static const struct port_wait wait = {.fds = seven};
    struct port_params p = base();
    p.delay_ms = 20;
    struct rig r = open_rig(&p);
    struct port *inner = fault_inner(r.fault);
    const struct port_ops *had = inner->ops;
    struct port_ops ops = *had;
    ops.wait = &wait;
    inner->ops = &ops;
    struct pkt *out = frame(pool_a, 1), *in;
    int fd = 0;
    assert_int_equal(port_wait_fds(r.fault, 0, &fd, 1), 1);
    assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &out, 1), 1);
    assert_int_equal(port_wait_fds(r.fault, 0, &fd, 1), PORT_WAIT_NOT);
    clock_us += 20000;
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 0);
    assert_int_equal(port_wait_fds(r.fault, 0, &fd, 1), 1);
    out = frame(pool_b, 1);
    assert_int_equal(r.far->ops->tx_burst(r.far, 0, &out, 1), 1);
    assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 0);
    assert_int_equal(port_wait_fds(r.fault, 0, &fd, 1), PORT_WAIT_NOT);
    inner->ops = had;
    close_rig(&r);
}

static void what_is_held_is_bounded_and_the_sender_keeps_the_rest(void **state)
{
    struct port_params p = base();
    p.delay_ms = 1000;
    struct rig r = open_rig(&p);
    uint32_t taken = 0;
    for (;;) {
        struct pkt *out = frame(pool_a, taken);
        if (r.fault->ops->tx_burst(r.fault, 0, &out, 1) == 0) {
            pkt_free(out);
            break;
        }
        taken++;
        assert_true(taken <= FAULT_HOLD);
    }
    assert_int_equal(taken, FAULT_HOLD - 1);  // a twin must always fit
    struct fault_counts rx, tx;
    fault_read(r.fault, &rx, &tx);
    assert_int_equal(tx.held, taken);
    close_rig(&r);  // with all of them held
}

static void a_frame_that_the_stack_keeps_is_corrupted_in_a_copy(void **state)
{
    struct port_params p = base();
    p.corrupt_ppm = FAULT_PPM;
    struct rig r = open_rig(&p);
    struct pkt *kept = frame(pool_a, 7), *out = kept, *in;
    rte_mbuf_refcnt_update(&kept->m, 1);
    assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &out, 1), 1);
    assert_true(whole(kept));
    assert_int_equal(rte_mbuf_refcnt_read(&kept->m), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, &in, 1), 1);
    assert_false(whole(in));
    pkt_free(in);
    pkt_free(kept);
    close_rig(&r);
}

static void a_chain_is_corrupted_and_duplicated_whole(void **state)
{
    struct port_params p = base();
    p.corrupt_ppm = FAULT_PPM;
    p.duplicate_ppm = FAULT_PPM;
    struct rig r = open_rig(&p);
    struct pkt *head = frame(pool_a, 7), *tail = pkt_of(pool_a, 5, 300), *in[3];
    store_be16(pkt_data(head) + 16, FRAME - 14 + 300);
    assert_int_equal(rte_pktmbuf_chain(&head->m, &tail->m), 0);
    assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &head, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, in, 3), 2);
    assert_int_equal(pkt_len(in[0]), FRAME + 300);
    assert_int_equal(pkt_len(in[1]), FRAME + 300);
    assert_memory_equal(pkt_data(in[0]), pkt_data(in[1]), FRAME + 300);
    pkt_free_bulk(in, 2);
    close_rig(&r);
}

static void an_arp_frame_is_never_corrupted(void **state)
{
    struct port_params p = base();
    p.corrupt_ppm = FAULT_PPM;
    struct rig r = open_rig(&p);
    for (unsigned i = 0; i < 200; i++) {
        struct pkt *out = pkt_of(pool_b, 0x5a, 60), *in;
        store_be16(pkt_data(out) + 12, 0x0806);
        assert_int_equal(r.far->ops->tx_burst(r.far, 0, &out, 1), 1);
        assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 1);
        for (unsigned k = 14; k < 60; k++)
            assert_int_equal(pkt_data(in)[k], 0x5a);
        pkt_free(in);
        struct pkt *none;
        r.far->ops->rx_burst(r.far, 0, &none, 1);
    }
    close_rig(&r);
}

// Not in the first eight bytes of the header, nor in the padding: there nothing would notice it.
static void one_bit_of_an_ipv6_packet_is_flipped_where_a_checksum_sees_it(void **state)
{
    enum { BYTES = 100, PAYLOAD = 30, FIRST = 14 + 8, END = 14 + 40 + PAYLOAD };
    struct port_params p = base();
    p.corrupt_ppm = FAULT_PPM;
    struct rig r = open_rig(&p);
    unsigned in_addresses = 0, in_payload = 0;
    for (unsigned i = 0; i < 500; i++) {
        struct pkt *out = pkt_of(pool_b, 0, BYTES), *in, *none;
        memset(pkt_data(out), 0x5a, BYTES);
        store_be16(pkt_data(out) + 12, 0x86dd);
        store_be16(pkt_data(out) + 18, PAYLOAD);
        assert_int_equal(r.far->ops->tx_burst(r.far, 0, &out, 1), 1);
        assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &in, 1), 1);
        unsigned bits = 0;
        for (unsigned k = 20; k < BYTES; k++) {
            const unsigned flipped = (unsigned)__builtin_popcount(pkt_data(in)[k] ^ 0x5a);
            assert_true(flipped == 0 || (k >= FIRST && k < END));
            bits += flipped;
            in_addresses += flipped != 0 && k < 54;
            in_payload += flipped != 0 && k >= 54;
        }
        assert_int_equal(bits, 1);
        pkt_free(in);
        r.far->ops->rx_burst(r.far, 0, &none, 1);
    }
    assert_true(in_addresses > 150 && in_payload > 150);
    close_rig(&r);
}

static void frames_of_any_length_and_lying_ip_lengths_do_no_harm(void **state)
{
    struct port_params p = base();
    p.corrupt_ppm = FAULT_PPM;
    p.duplicate_ppm = FAULT_PPM / 2;
    struct rig r = open_rig(&p);
    struct rng rng = {3};
    for (unsigned i = 0; i < 5000; i++) {
        struct pkt *out = pkt_of(pool_a, (uint8_t)rng_u64(&rng), rng_below(&rng, PKT_ROOM + 1));
        store_be16(pkt_data(out) + 12, i % 2 == 0 ? 0x0800 : 0x86dd);
        store_be16(pkt_data(out) + (i % 2 == 0 ? 16 : 18), (uint16_t)rng_u64(&rng));
        uint32_t len = pkt_len(out);
        assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &out, 1), 1);
        struct pkt *in[4];
        uint16_t n = r.far->ops->rx_burst(r.far, 0, in, 4);
        assert_true(n == 1 || n == 2);
        assert_int_equal(pkt_len(in[0]), len);
        pkt_free_bulk(in, n);
        assert_int_equal(r.far->ops->rx_burst(r.far, 0, in, 4), 0);
    }
    close_rig(&r);
}

static void an_empty_pool_means_no_copies_but_no_loss(void **state)
{
    struct port_params p = base();
    p.duplicate_ppm = FAULT_PPM;
    struct rig r = open_rig(&p);
    static struct pkt *all[POOL];
    struct pkt *out = frame(pool_a, 1), *in[2];
    unsigned n = pkt_pool_free_count(pool_a);
    assert_true(pkt_alloc_bulk(pool_a, all, n));
    assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &out, 1), 1);
    assert_int_equal(r.far->ops->rx_burst(r.far, 0, in, 2), 1);
    struct fault_counts rx, tx;
    fault_read(r.fault, &rx, &tx);
    assert_int_equal(tx.no_packet, 1);
    assert_int_equal(tx.duplicated, 0);
    pkt_free(in[0]);
    pkt_free_bulk(all, n);
    close_rig(&r);
}

static void stats_tell_what_was_taken_and_added_on_purpose(void **state)
{
    struct port_params p = base();
    p.loss_ppm = 300000;
    p.duplicate_ppm = 300000;
    struct rig r = open_rig(&p);
    uint64_t got = 0, none_left = 0;
    for (unsigned i = 0; i < 1000; i++) {
        struct pkt *out = frame(pool_b, i), *in[4];
        assert_int_equal(r.far->ops->tx_burst(r.far, 0, &out, 1), 1);
        uint16_t n = r.fault->ops->rx_burst(r.fault, 0, in, 4);
        pkt_free_bulk(in, n);
        got += n;
        none_left += r.fault->ops->rx_burst(r.fault, 0, in, 4);
    }
    struct port_stats s;
    r.fault->ops->stats(r.fault, &s);
    assert_int_equal(none_left, 0);
    assert_int_equal(s.rx_packets, 1000);
    assert_true(s.rx_taken_away > 200 && s.rx_added > 100);
    assert_int_equal(got, s.rx_packets - s.rx_taken_away + s.rx_added);
    close_rig(&r);
}

static void transmit_checksum_offload_is_not_passed_on(void **state)
{
    struct port_params p = base();
    struct rig r = open_rig(&p);
    assert_int_equal(r.fault->caps & (PORT_TX_IP_CKSUM | PORT_TX_L4_CKSUM | PORT_TSO), 0);
    assert_true(r.fault->caps & PORT_MULTI_SEG);
    assert_true(r.fault->caps & PORT_NO_SYSCALL);
    assert_memory_equal(&r.fault->mac, &fault_inner(r.fault)->mac, 6);
    assert_null(fault_inner(r.far));
    close_rig(&r);
}

static void bad_parameters_are_refused_with_the_reason(void **state)
{
    struct port_params nothing_inside = base(), twice = base(), much = base(), slow = base(),
                       bad_inside = base(), inside = {.driver = "fault"}, odd = {.driver = "odd"};
    nothing_inside.wraps = NULL;
    twice.wraps = &inside;
    much.loss_ppm = FAULT_PPM + 1;
    slow.delay_ms = FAULT_DELAY_MS_MAX + 1;
    bad_inside.wraps = &odd;
    const struct {
        const struct port_params *p;
        const char *word;
    } bad[] = {{&nothing_inside, "wraps"},
               {&twice, "not another fault port"},
               {&much, "loss: at most 100 percent"},
               {&slow, "delay_ms = 10001"},
               {&bad_inside, "driver = odd: one of ring, tap, af_packet"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = {.text = ""};
        assert_null(port_open(bad[i].p, &e));
        if (strstr(e.text, bad[i].word) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", e.text, bad[i].word);
    }
}

// ---- an inner port that refuses frames

static const struct port_ops *inner_ops;
static bool refuses_all;

static uint16_t refuse_some(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    uint16_t k = 0;
    while (k < n && !refuses_all && number_of(pkts[k]) % 1000 != 999)
        k++;
    return k == 0 ? 0 : inner_ops->tx_burst(p, q, pkts, k);
}

static void a_frame_that_the_inner_port_never_takes_is_dropped_and_the_others_pass(void **state)
{
    enum { N = 3100 };
    const struct port_params p = base();
    struct rig r = open_rig(&p);
    struct port *inner = fault_inner(r.fault);
    struct pkt *none;
    struct port_stats s;
    struct fault_counts rx, tx;
    uint32_t got = 0;
    inner_ops = inner->ops;
    struct port_ops refusing = *inner->ops;
    refusing.tx_burst = refuse_some;
    inner->ops = &refusing;
    refuses_all = true;
    for (uint32_t i = 0; i < N; i++) {
        struct pkt *f = frame(pool_a, i);
        assert_int_equal(r.fault->ops->tx_burst(r.fault, 0, &f, 1), 1);
    }
    for (unsigned i = 0; i < 100; i++, clock_us += FAULT_REFUSED_US)
        r.fault->ops->rx_burst(r.fault, 0, &none, 1);
    fault_read(r.fault, &rx, &tx);
    assert_int_equal(tx.refused, 0);
    assert_int_equal(tx.held, N);
    refuses_all = false;
    for (unsigned i = 0; i < 2 * N; i++, clock_us += FAULT_REFUSED_US) {
        struct pkt *in[BURST_MAX];
        assert_int_equal(r.fault->ops->rx_burst(r.fault, 0, &none, 1), 0);
        const uint16_t n = r.far->ops->rx_burst(r.far, 0, in, BURST_MAX);
        got += n;
        pkt_free_bulk(in, n);
    }
    fault_read(r.fault, &rx, &tx);
    assert_int_equal(tx.held, 0);
    assert_int_equal(tx.refused, N / 1000);
    assert_int_equal(got, N - N / 1000);
    r.fault->ops->stats(r.fault, &s);
    assert_int_equal(s.tx_errors, N / 1000);
    inner->ops = inner_ops;
    close_rig(&r);
}

int main(void)
{
    pkt_env_start(0);
    pool_a = pkt_pool_create("fault_a", POOL, -1);
    pool_b = pkt_pool_create("fault_b", POOL, -1);
    if (pool_a == NULL || pool_b == NULL)
        return fprintf(stderr, "no pools\n"), 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_trouble_every_frame_passes_in_order),
        cmocka_unit_test(loss_takes_its_share_and_is_counted),
        cmocka_unit_test(a_loss_of_100_percent_lets_nothing_through),
        cmocka_unit_test(a_loss_of_one_in_ten_thousand_is_possible),
        cmocka_unit_test(duplicates_come_twice_and_whole),
        cmocka_unit_test(each_corrupted_frame_fails_its_checksum),
        cmocka_unit_test(reordered_frames_come_late_but_all_come),
        cmocka_unit_test(everything_together_adds_up),
        cmocka_unit_test(a_seed_repeats_itself_and_another_does_not),
        cmocka_unit_test(a_delay_holds_a_frame_for_exactly_that_long),
        cmocka_unit_test(a_worker_may_not_sleep_over_a_frame_that_is_held),
        cmocka_unit_test(what_is_held_is_bounded_and_the_sender_keeps_the_rest),
        cmocka_unit_test(a_frame_that_the_stack_keeps_is_corrupted_in_a_copy),
        cmocka_unit_test(a_chain_is_corrupted_and_duplicated_whole),
        cmocka_unit_test(an_arp_frame_is_never_corrupted),
        cmocka_unit_test(one_bit_of_an_ipv6_packet_is_flipped_where_a_checksum_sees_it),
        cmocka_unit_test(frames_of_any_length_and_lying_ip_lengths_do_no_harm),
        cmocka_unit_test(an_empty_pool_means_no_copies_but_no_loss),
        cmocka_unit_test(stats_tell_what_was_taken_and_added_on_purpose),
        cmocka_unit_test(transmit_checksum_offload_is_not_passed_on),
        cmocka_unit_test(a_frame_that_the_inner_port_never_takes_is_dropped_and_the_others_pass),
        cmocka_unit_test(bad_parameters_are_refused_with_the_reason),
    };
    int failed = cmocka_run_group_tests_name("fault", tests, NULL, NULL);
    eal_stop();
    return failed;
}
