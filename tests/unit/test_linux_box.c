// SPDX-License-Identifier: BSD-3-Clause
// The worker's end of a port that it shares with Linux: the rings, the rates, the connections of
// Linux.
#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "pkt_env.h"
#include "wire/proto.h"
#include "worker/linux_box.h"

enum { POOL_PKTS = 2047, UNITS = 256, RATE = 8000 };

static struct pkt_pool *pool;
static struct worker *w;
static struct linux_flows *flows;
static void *box_mem;
static struct pkt *tx_pkts[256];
static struct port port = {.mtu = 1500};
static const struct mac_addr mac = {{2, 0, 0, 0, 0, 1}};

static void *zeroed(size_t bytes)
{
    void *mem = aligned_alloc(CACHE_LINE, ALIGN_UP(bytes, CACHE_LINE));
    assert_non_null(mem);
    memset(mem, 0, bytes);
    return mem;
}

static int setup(void **state)
{
    w = zeroed(sizeof(*w));
    w->stats = zeroed(sizeof(*w->stats));
    flows = zeroed(sizeof(*flows));
    flows->key = (struct siphash_key){1, 2};
    box_mem = zeroed(linux_box_footprint());
    w->linux_boxes[0] = linux_box_init(box_mem, RATE, &mac, (struct siphash_key){3, 4}, flows);
    w->linux_pool = pool;
    w->n_ports = 1;
    w->ports[0].port = &port;
    w->ports[0].tx = (struct net_tx){tx_pkts, 0, 256};
    w->tcp.now = clock_at_us(1000000);
    return 0;
}

static int teardown(void **state)
{
    for (uint32_t i = 0; i < w->ports[0].tx.n; i++)
        pkt_free(tx_pkts[i]);
    free(box_mem);
    free(flows);
    free(w->stats);
    free(w);
    return 0;
}

static struct linux_box *box(void)
{
    return w->linux_boxes[0];
}

// frame: an IPv4 frame of len bytes from address `src`, port 22 of ours.
static void frame(uint8_t *f, uint32_t len, uint32_t src)
{
    memset(f, 0xab, len);
    memcpy(f, mac.b, 6);
    memcpy(f + ETH_SRC_AT, (uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
    store_be16(f + ETH_TYPE_AT, ETH_TYPE_IP4);
    uint8_t *ip = f + ETH_BYTES;
    memset(ip, 0, IP4_BYTES + TCP_BYTES);
    ip[0] = 0x45;
    store_be16(ip + IP4_TOTAL_AT, (uint16_t)(len - ETH_BYTES));
    ip[IP4_PROTO_AT] = IP_PROTO_TCP;
    store_be32(ip + IP4_SRC_AT, src);
    store_be32(ip + IP4_DST_AT, 0x0a000001);
    store_be16(ip + IP4_BYTES, 40000);
    store_be16(ip + IP4_BYTES + 2, 22);
    ip[IP4_BYTES + 12] = 5 << 4;
    ip[IP4_BYTES + 13] = 0x10;
}

static void give(uint32_t len, uint32_t src, uint8_t cls)
{
    struct pkt *p = pkt_of(pool, 0, len);
    frame(pkt_data(p), len, src);
    linux_box_give(w, 0, p, cls);
    pkt_free(p);
}

static uint64_t drops(enum drop_reason reason)
{
    return w->stats->drops[reason];
}

static void drain(void)
{
    while (frame_ring_next(box()->to) != 0)
        frame_ring_take(box()->to, NULL);
}

// Through a small ring, so that frames lie across its end.
static void frames_come_out_of_a_ring_as_they_went_in(void **state)
{
    static uint8_t in[FRAME_BYTES_MAX], out[FRAME_BYTES_MAX];
    void *mem = zeroed(frame_ring_footprint(UNITS));
    struct rte_ring *r = frame_ring_init(mem, UNITS);
    struct rng rng = {7};
    for (unsigned round = 0; round < 20000; round++) {
        const uint32_t len = 1 + rng_below(&rng, 3000);
        for (uint32_t i = 0; i < len; i++)
            in[i] = (uint8_t)(round + i);
        assert_true(frame_ring_put(r, in, len));
        assert_int_equal(frame_ring_next(r), len);
        frame_ring_take(r, out);
        assert_memory_equal(in, out, len);
        assert_int_equal(frame_ring_next(r), 0);
    }
    free(mem);
}

static void a_ring_takes_what_fits_and_refuses_the_rest(void **state)
{
    static uint8_t f[FRAME_BYTES_MAX + 1];
    void *mem = zeroed(frame_ring_footprint(LINUX_TO_UNITS));
    struct rte_ring *r = frame_ring_init(mem, LINUX_TO_UNITS);
    assert_false(frame_ring_put(r, f, 0));
    assert_false(frame_ring_put(r, f, FRAME_BYTES_MAX + 1));
    unsigned n = 0;
    while (frame_ring_put(r, f, FRAME_BYTES_MAX))
        n++;
    assert_int_equal(n, (LINUX_TO_UNITS - 1) / frame_ring_units(FRAME_BYTES_MAX));
    while (frame_ring_next(r) != 0)
        frame_ring_take(r, f);
    assert_true(frame_ring_put(r, f, FRAME_BYTES_MAX));
    free(mem);
}

static void a_packet_in_pieces_is_one_frame(void **state)
{
    uint8_t out[3000];
    struct pkt *parts[3] = {pkt_of(pool, 1, 1000), pkt_of(pool, 2, 900), pkt_of(pool, 3, 100)};
    pkt_chain(parts, 3);
    assert_true(frame_ring_put_pkt(box()->to, parts[0]));
    assert_int_equal(frame_ring_next(box()->to), 2000);
    frame_ring_take(box()->to, out);
    assert_int_equal(out[999], 1);
    assert_int_equal(out[1000], 2);
    assert_int_equal(out[1899], 2);
    assert_int_equal(out[1999], 3);
    pkt_free(parts[0]);
}

static void *put_all(void *ring)
{
    uint8_t f[1500];
    for (unsigned i = 1; i <= 100000; i++) {
        const uint32_t len = 4 + i % 1400;
        memset(f, (int)(i & 0xff), len);
        memcpy(f, &i, sizeof(i));
        while (!frame_ring_put(ring, f, len))
            sched_yield();
    }
    return NULL;
}

static void two_threads_pass_every_frame_in_order(void **state)
{
    void *mem = zeroed(frame_ring_footprint(UNITS));
    struct rte_ring *r = frame_ring_init(mem, UNITS);
    pthread_t thread;
    uint8_t f[1500];
    assert_int_equal(pthread_create(&thread, NULL, put_all, r), 0);
    for (unsigned i = 1; i <= 100000; i++) {
        uint32_t len;
        while ((len = frame_ring_next(r)) == 0)
            sched_yield();
        frame_ring_take(r, f);
        assert_int_equal(len, 4 + i % 1400);
        assert_memory_equal(f, &i, sizeof(i));
        assert_int_equal(f[len - 1], len > 4 ? i & 0xff : f[len - 1]);
    }
    pthread_join(thread, NULL);
    free(mem);
}

static void each_packet_is_delivered_or_dropped_and_counted(void **state)
{
    for (unsigned i = 0; i < 100000; i++)
        give(100, i, NET_LINUX_REST);
    assert_int_equal(w->stats->c.to_linux, w->stats->c.delivered);
    assert_int_equal(w->stats->c.to_linux, box()->counts.given[NET_LINUX_REST]);
    assert_int_equal(drops(DROP_linux_rate), box()->counts.rate[NET_LINUX_REST]);
    assert_int_equal(drops(DROP_linux_full), box()->counts.full);
    assert_int_equal(w->stats->c.to_linux + drops(DROP_linux_rate) + drops(DROP_linux_full),
                     100000);
    assert_true(w->stats->c.to_linux > 0 && drops(DROP_linux_rate) > 0);
}

// In one second, of forged sources: an eighth of the rate on average, 1.5 times that at most in one
// period, and periods of half a second at least.
static void a_flood_of_a_class_keeps_to_its_rate_and_leaves_the_others_theirs(void **state)
{
    unsigned others = 0;
    for (unsigned ms = 0; ms < 10000; ms++) {
        w->tcp.now = clock_at_us(1000000 + ms * 1000);
        for (unsigned i = 0; i < 50; i++)
            give(100, ms * 50 + i, NET_LINUX_REST);
        drain();
        if (ms % 10 == 0) {  // 100 a second each
            give(100, 0x01010101, NET_LINUX_FLOW);
            give(100, 0x01010102, NET_LINUX_TCP);
            give(100, 0x01010103, NET_LINUX_LINK);
            others += 3;
        }
    }
    const uint64_t *given = box()->counts.given, *over = box()->counts.rate;
    const uint64_t each = RATE / LINUX_OTHER_SHARE;
    assert_in_range(given[NET_LINUX_REST], 10 * each / 2, 30 * each);
    assert_int_equal(given[NET_LINUX_FLOW] + given[NET_LINUX_TCP] + given[NET_LINUX_LINK], others);
    assert_int_equal(over[NET_LINUX_FLOW] + over[NET_LINUX_TCP] + over[NET_LINUX_LINK], 0);
    assert_int_equal(drops(DROP_linux_full), 0);
}

static void one_source_leaves_its_class_to_others(void **state)
{
    unsigned asked = 0;
    for (unsigned ms = 0; ms < 10000; ms++) {
        w->tcp.now = clock_at_us(1000000 + ms * 1000);
        for (unsigned i = 0; i < 50; i++)
            give(100, 0x05050505, NET_LINUX_TCP);
        if (ms % 100 == 0) {
            const uint64_t before = box()->counts.given[NET_LINUX_TCP];
            give(100, 0x01010101, NET_LINUX_TCP);
            asked++;
            assert_int_equal(box()->counts.given[NET_LINUX_TCP], before + 1);
        }
        drain();
    }
    const uint64_t most = 10 * RATE / LINUX_OTHER_SHARE / LIMIT_SHARE;
    assert_in_range(box()->counts.given[NET_LINUX_TCP], most / 2, most + most / 4 + asked);
}

static void half_of_the_ring_is_kept_for_connections_and_the_link(void **state)
{
    box()->rate = UINT32_MAX;
    for (unsigned i = 0; i < LINUX_TO_UNITS; i++)
        give(100, i, NET_LINUX_REST);
    assert_true(box()->counts.full > 0);
    assert_true(frame_ring_room(box()->to) >= LINUX_TO_UNITS / 2);
    const uint64_t full = box()->counts.full;
    for (unsigned i = 0; i < LINUX_TO_UNITS / 4; i++)
        give(40, 0x01010100 + i, i % 2 == 0 ? NET_LINUX_FLOW : NET_LINUX_LINK);
    assert_int_equal(box()->counts.full, full);
}

// What a claim takes is what giving takes: nobody can tell a port that is open here from one of
// Linux's by the tokens that are left.
static void a_claim_takes_the_token_that_giving_takes(void **state)
{
    uint64_t left[2];
    for (unsigned claims = 0; claims < 2; claims++) {
        teardown(NULL);
        setup(NULL);
        for (unsigned i = 0; i < 300; i++) {
            struct pkt *p = pkt_of(pool, 0, 100);
            frame(pkt_data(p), 100, i);
            (claims ? linux_box_claim : linux_box_give)(w, 0, p, NET_LINUX_TCP);
            pkt_free(p);
        }
        drain();
        const uint64_t before = box()->counts.given[NET_LINUX_TCP];
        for (unsigned i = 0; i < 10000; i++) {
            give(60, 0x01000000 + i, NET_LINUX_TCP);
            drain();
        }
        left[claims] = box()->counts.given[NET_LINUX_TCP] - before;
    }
    assert_int_equal(left[0], left[1]);
}

// sent: notes a segment of Linux of the connection from `peer`, with or without data.
static void sent(uint32_t peer, uint8_t tcp_flags, bool data, uint32_t now_s)
{
    uint8_t f[200];
    frame(f, data ? 200 : ETH_BYTES + IP4_BYTES + TCP_BYTES, 0);
    uint8_t *ip = f + ETH_BYTES;
    store_be32(ip + IP4_SRC_AT, 0x0a000001);
    store_be32(ip + IP4_DST_AT, peer);
    store_be16(ip + IP4_BYTES, 22);
    store_be16(ip + IP4_BYTES + 2, 40000);
    ip[IP4_BYTES + 13] = tcp_flags;
    const struct linux_flow flow = linux_flow_of(flows, f, sizeof(f), true);
    linux_flow_sent(flows, &flow, now_s);
}

static uint64_t given_as_flow(uint32_t peer)
{
    const uint64_t before = box()->counts.given[NET_LINUX_FLOW];
    struct pkt *p = pkt_of(pool, 0, 100);
    frame(pkt_data(p), 100, peer);
    linux_box_segment(w, p);
    pkt_free(p);
    drain();
    return box()->counts.given[NET_LINUX_FLOW] - before;
}

static void a_connection_is_linuxs_when_linux_has_sent_data_in_it(void **state)
{
    enum { PEER = 0x0a000002, FORGED = 0x0a000003, OTHER = 0x0a000004 };
    sent(FORGED, 0x12, false, 1);  // SYN-ACK
    sent(FORGED, 0x10, false, 1);  // a challenge ACK
    sent(FORGED, 0x04, false, 1);  // RST
    assert_int_equal(given_as_flow(FORGED), 0);
    sent(PEER, 0x18, true, 1);
    assert_int_equal(given_as_flow(PEER), 1);
    assert_int_equal(given_as_flow(OTHER), 0);
}

static void a_connection_in_use_outlives_more_connections_than_there_are_places(void **state)
{
    enum { PEER = 0x0a000002 };
    sent(PEER, 0x18, true, 1);
    for (uint32_t i = 0; i < 4 * LINUX_FLOW_SETS * LINUX_FLOW_WAYS; i++) {
        const uint32_t now_s = 2 + i / 64;
        sent(0x20000000 + i, 0x18, true, now_s);
        if (i % 64 == 0)
            sent(PEER, 0x10, false, now_s);  // an acknowledgment
    }
    assert_int_equal(given_as_flow(PEER), 1);
    assert_int_equal(given_as_flow(0x20000000), 0);
}

static void what_linux_sends_leaves_by_the_port(void **state)
{
    uint8_t f[1514];
    frame(f, sizeof(f), 0x0a000002);
    memcpy(f + ETH_SRC_AT, mac.b, 6);
    assert_true(frame_ring_put(box()->from, f, sizeof(f)));
    linux_box_send(w);
    assert_int_equal(w->ports[0].tx.n, 1);
    assert_int_equal(pkt_total_len(tx_pkts[0]), sizeof(f));
    assert_memory_equal(pkt_data(tx_pkts[0]), f, sizeof(f));
    assert_int_equal(w->stats->c.from_linux, 1);
}

static void a_frame_of_another_mac_or_too_long_does_not_leave(void **state)
{
    uint8_t f[2000];
    frame(f, sizeof(f), 0x0a000002);  // from the peer's MAC
    frame_ring_put(box()->from, f, 100);
    memcpy(f + ETH_SRC_AT, mac.b, 6);
    frame_ring_put(box()->from, f, 1519);
    frame_ring_put(box()->from, f, 13);
    linux_box_send(w);
    assert_int_equal(w->ports[0].tx.n, 0);
    assert_int_equal(drops(DROP_linux_source), 1);
    assert_int_equal(drops(DROP_linux_length), 2);
    assert_int_equal(frame_ring_next(box()->from), 0);
}

static void above_its_rate_what_linux_sends_waits(void **state)
{
    uint8_t f[60];
    uint64_t put = 0, waits;
    frame(f, sizeof(f), 0x0a000002);
    memcpy(f + ETH_SRC_AT, mac.b, 6);
    for (unsigned ms = 0; ms < 1000; ms++) {
        w->tcp.now = clock_at_us(1000000 + ms * 1000);
        while (frame_ring_put(box()->from, f, sizeof(f)))
            put++;
        linux_box_send(w);
        for (; w->ports[0].tx.n != 0; w->ports[0].tx.n--)
            pkt_free(tx_pkts[w->ports[0].tx.n - 1]);
    }
    waits = box()->counts.waits;
    assert_in_range(w->stats->c.from_linux, RATE, RATE + LINUX_FROM_BURST + RATE / 1000);
    assert_true(waits > 0);
    uint64_t left = 0;
    for (; frame_ring_next(box()->from) != 0; left++)
        frame_ring_take(box()->from, NULL);
    assert_int_equal(left + w->stats->c.from_linux, put);
}

int main(void)
{
    pkt_env_start(0);
    pool = pkt_pool_create("box", POOL_PKTS, -1);
    if (pool == NULL)
        return 1;
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(frames_come_out_of_a_ring_as_they_went_in),
        T(a_ring_takes_what_fits_and_refuses_the_rest),
        T(a_packet_in_pieces_is_one_frame),
        T(two_threads_pass_every_frame_in_order),
        T(each_packet_is_delivered_or_dropped_and_counted),
        T(a_flood_of_a_class_keeps_to_its_rate_and_leaves_the_others_theirs),
        T(one_source_leaves_its_class_to_others),
        T(half_of_the_ring_is_kept_for_connections_and_the_link),
        T(a_claim_takes_the_token_that_giving_takes),
        T(a_connection_is_linuxs_when_linux_has_sent_data_in_it),
        T(a_connection_in_use_outlives_more_connections_than_there_are_places),
        T(what_linux_sends_leaves_by_the_port),
        T(a_frame_of_another_mac_or_too_long_does_not_leave),
        T(above_its_rate_what_linux_sends_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
