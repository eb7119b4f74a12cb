// SPDX-License-Identifier: BSD-3-Clause
// The wire between two ends in one process.
#include <sched.h>

#include "base/rng.h"
#include "drivers/ring.h"
#include "unit/pkt_env.h"

enum { POOL = 4096, SLOTS = 64 };

static struct pkt_pool *pool_a, *pool_b;

static struct port_params params(const char *name, struct pkt_pool *pool)
{
    return (struct port_params){.name = name,
                                .driver = "ring",
                                .queues = 2,
                                .rx_ring = SLOTS,
                                .tx_ring = SLOTS,
                                .node = -1,
                                .pools = {pool, pool}};
}

struct pair {
    struct port *a, *b;
};

static int setup(void **state)
{
    static struct pair pair;
    struct err e = {.text = ""};
    struct port_params pa = params("a", pool_a), pb = params("b", pool_b);
    pair.a = port_open(&pa, &e);
    assert_non_null(pair.a);
    pair.b = ring_open_far(pair.a, &pb, &e);
    assert_non_null(pair.b);
    *state = &pair;
    return 0;
}

// Every test leaves all packets in their pools: none lost, none freed twice.
static int teardown(void **state)
{
    struct pair *pair = *state;
    port_close(pair->a);
    port_close(pair->b);
    assert_int_equal(pkt_pool_free_count(pool_a), POOL);
    assert_int_equal(pkt_pool_free_count(pool_b), POOL);
    return 0;
}

static void post(struct port *p, uint16_t q)
{
    struct pkt *none;
    assert_int_equal(p->ops->rx_burst(p, q, &none, 1), 0);
}

static void a_frame_of_every_length_arrives_byte_for_byte(void **state)
{
    struct pair *pair = *state;
    struct rng rng = {1};
    for (uint32_t len = 0; len <= PKT_ROOM; len++) {
        post(pair->b, 0);
        struct pkt *p = pkt_of(pool_a, 0, len), *got;
        uint8_t sent[PKT_ROOM];
        for (uint32_t i = 0; i < len; i++)
            sent[i] = pkt_data(p)[i] = (uint8_t)rng_u64(&rng);
        assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
        assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
        assert_int_equal(pkt_len(got), len);
        assert_int_equal(pkt_total_len(got), len);
        assert_memory_equal(pkt_data(got), sent, len);
        pkt_free(got);
    }
}

static void the_byte_behind_a_frame_is_not_touched(void **state)
{
    struct pair *pair = *state;
    static struct pkt *all[POOL];
    assert_true(pkt_alloc_bulk(pool_b, all, POOL));
    for (unsigned i = 0; i < POOL; i++)
        memset(pkt_data(all[i]), 0xee, PKT_ROOM);
    pkt_free_bulk(all, POOL);
    for (uint32_t len = 1; len < 400; len++) {
        post(pair->b, 1);
        struct pkt *p = pkt_of(pool_a, 0x11, PKT_ROOM), *got;
        pkt_set_len(p, len);
        assert_int_equal(pair->a->ops->tx_burst(pair->a, 1, &p, 1), 1);
        assert_int_equal(pair->b->ops->rx_burst(pair->b, 1, &got, 1), 1);
        assert_int_equal(pkt_data(got)[len - 1], 0x11);
        assert_int_equal(pkt_data(got)[len], 0xee);
        pkt_free(got);
    }
}

static void the_far_end_gets_its_own_packet_without_flags(void **state)
{
    struct pair *pair = *state;
    post(pair->b, 0);
    struct pkt *p = pkt_of(pool_a, 7, 100), *got;
    p->m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
    assert_ptr_equal(got->m.pool, pool_b);
    assert_int_equal(got->m.ol_flags, 0);
    assert_int_equal(pkt_rx_ip_cksum(got), PKT_CKSUM_UNKNOWN);
    assert_int_equal(pkt_rx_l4_cksum(got), PKT_CKSUM_UNKNOWN);
    assert_int_equal(rte_mbuf_refcnt_read(&got->m), 1);
    pkt_free(got);
}

static void the_far_end_counts_what_waits(void **state)
{
    struct pair *pair = *state;
    uint32_t slots = 0;
    post(pair->b, 0);
    for (int n = 0; n < 3; n++) {
        struct pkt *p = pkt_of(pool_a, 7, 100);
        assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    }
    assert_int_equal(port_rx_waiting(pair->b, 0, &slots), 3);
    assert_true(slots >= BURST_MAX);
    for (int n = 2; n >= 0; n--) {
        struct pkt *got;
        assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
        assert_int_equal(port_rx_waiting(pair->b, 0, &slots), n);
        pkt_free(got);
    }
}

static void a_packet_with_two_references_is_copied_and_keeps_one(void **state)
{
    struct pair *pair = *state;
    post(pair->b, 0);
    struct pkt *p = pkt_of(pool_a, 7, 100), *kept = p, *got;
    rte_mbuf_refcnt_update(&p->m, 1);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    assert_int_equal(rte_mbuf_refcnt_read(&kept->m), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
    assert_int_equal(rte_mbuf_refcnt_read(&got->m), 1);
    memset(pkt_data(got), 9, 100);
    assert_int_equal(pkt_data(kept)[0], 7);
    pkt_free(got);
    pkt_free(kept);
}

static void a_chain_arrives_as_one_segment(void **state)
{
    struct pair *pair = *state;
    post(pair->b, 0);
    struct pkt *p = pkt_of(pool_a, 1, 54), *second = pkt_of(pool_a, 2, 1000), *got;
    assert_int_equal(rte_pktmbuf_chain(&p->m, &second->m), 0);
    assert_true(pair->a->caps & PORT_MULTI_SEG);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
    assert_false(pkt_is_chain(got));
    assert_int_equal(pkt_len(got), 1054);
    assert_int_equal(pkt_data(got)[53], 1);
    assert_int_equal(pkt_data(got)[54], 2);
    assert_int_equal(pkt_data(got)[1053], 2);
    pkt_free(got);
}

static void a_chain_too_long_for_one_packet_is_dropped_and_counted(void **state)
{
    struct pair *pair = *state;
    post(pair->b, 0);
    struct pkt *both[2] = {pkt_of(pool_a, 1, PKT_ROOM), pkt_of(pool_a, 3, 60)}, *got[2];
    struct pkt *tail = pkt_of(pool_a, 2, 1);
    assert_int_equal(rte_pktmbuf_chain(&both[0]->m, &tail->m), 0);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, both, 2), 2);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, got, 2), 1);
    assert_int_equal(pkt_data(got[0])[0], 3);
    struct port_stats s;
    pair->a->ops->stats(pair->a, &s);
    assert_int_equal(s.tx_errors, 1);
    assert_int_equal(s.tx_packets, 1);
    pkt_free(got[0]);
}

static void a_sender_without_posted_packets_keeps_its_own(void **state)
{
    struct pair *pair = *state;
    struct pkt *p[SLOTS + 5];
    for (unsigned i = 0; i < ARRAY_LEN(p); i++)
        p[i] = pkt_of(pool_a, (uint8_t)i, 64);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, p, 10), 0);
    post(pair->b, 0);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, p, ARRAY_LEN(p)), SLOTS);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, p + SLOTS, 5), 0);
    pkt_free_bulk(p + SLOTS, 5);
    struct pkt *got[SLOTS + 5];
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, got, ARRAY_LEN(got)), SLOTS);
    for (unsigned i = 0; i < SLOTS; i++)
        assert_int_equal(pkt_data(got[i])[63], i);
    pkt_free_bulk(got, SLOTS);
}

static void a_receiver_whose_pool_is_empty_goes_on_when_packets_return(void **state)
{
    struct pair *pair = *state;
    static struct pkt *all[POOL];
    assert_true(pkt_alloc_bulk(pool_b, all, POOL));
    post(pair->b, 0);
    struct pkt *p = pkt_of(pool_a, 1, 64), *got;
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 0);
    pkt_free_bulk(all, 3);  // fewer than the driver asks for at once
    post(pair->b, 0);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
    pkt_free(got);
    pkt_free_bulk(all + 3, POOL - 3);
}

static void queues_do_not_mix(void **state)
{
    struct pair *pair = *state;
    post(pair->b, 0);
    post(pair->b, 1);
    struct pkt *p = pkt_of(pool_a, 1, 64), *got;
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 1, &p, 1), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 0);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 1, &got, 1), 1);
    pkt_free(got);
}

static void both_ends_count_the_same_packets_and_bytes(void **state)
{
    struct pair *pair = *state;
    for (unsigned round = 0; round < 1000; round++) {
        post(pair->b, 0);
        struct pkt *p = pkt_of(pool_a, 1, 60 + round), *got;
        assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
        assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
        pkt_free(got);
    }
    struct port_stats a, b;
    pair->a->ops->stats(pair->a, &a);
    pair->b->ops->stats(pair->b, &b);
    assert_int_equal(a.tx_packets, 1000);
    assert_int_equal(b.rx_packets, 1000);
    assert_int_equal(a.tx_bytes, 1000 * 60 + 999 * 1000 / 2);
    assert_int_equal(b.rx_bytes, a.tx_bytes);
}

static void a_far_end_can_close_and_open_again(void **state)
{
    struct pair *pair = *state;
    struct err e = {.text = ""};
    struct port_params pb = params("b", pool_b);
    assert_null(ring_open_far(pair->a, &pb, &e));
    assert_non_null(strstr(e.text, "open already"));
    post(pair->b, 0);
    struct pkt *p = pkt_of(pool_a, 1, 64), *got;
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    port_close(pair->b);  // with a packet that nobody took
    p = pkt_of(pool_a, 2, 64);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 0);
    pair->b = ring_open_far(pair->a, &pb, &e);
    assert_non_null(pair->b);
    post(pair->b, 0);
    assert_int_equal(pair->a->ops->tx_burst(pair->a, 0, &p, 1), 1);
    assert_int_equal(pair->b->ops->rx_burst(pair->b, 0, &got, 1), 1);
    assert_int_equal(pkt_data(got)[0], 2);
    pkt_free(got);
}

enum { STREAM = 300000 };

// The sender of the two-thread test: frames carry their number at the front and at the end.
static int send_stream(void *arg)
{
    struct port *a = arg;
    struct rng rng = {2};
    for (uint32_t sent = 0; sent < STREAM;) {
        struct pkt *p[16];
        unsigned n = 1 + rng_below(&rng, 16);
        if (!pkt_alloc_bulk(pool_a, p, n))
            continue;
        for (unsigned i = 0; i < n; i++) {
            uint32_t number = sent + i, len = 64 + rng_below(&rng, 200);
            pkt_set_len(p[i], len);
            memcpy(pkt_data(p[i]), &number, 4);
            memcpy(pkt_data(p[i]) + len - 4, &number, 4);
        }
        uint16_t took = a->ops->tx_burst(a, 0, p, (uint16_t)MIN(n, STREAM - sent));
        pkt_free_bulk(p + took, n - took);
        sent += took;
        if (took == 0)
            sched_yield();
    }
    return 0;
}

static void two_threads_pass_a_stream_whole_and_in_order(void **state)
{
    struct pair *pair = *state;
    struct err e;
    assert_int_equal(eal_worker_launch(0, send_stream, pair->a, &e), 0);
    for (uint32_t next = 0; next < STREAM;) {
        struct pkt *got[32];
        uint16_t n = pair->b->ops->rx_burst(pair->b, 0, got, 32);
        for (unsigned i = 0; i < n; i++, next++) {
            uint32_t first, last;
            memcpy(&first, pkt_data(got[i]), 4);
            memcpy(&last, pkt_data(got[i]) + pkt_len(got[i]) - 4, 4);
            assert_int_equal(first, next);
            assert_int_equal(last, next);
        }
        pkt_free_bulk(got, n);
        if (n == 0)
            sched_yield();
    }
    assert_int_equal(eal_worker_join(0), 0);
}

static void bad_parameters_are_refused_with_the_reason(void **state)
{
    static const struct {
        struct port_params p;
        const char *word;
    } bad[] = {
        {{.name = "x", .driver = "ring", .queues = 1, .rx_ring = 100}, "rx_ring = 100"},
        {{.name = "x", .driver = "ring", .queues = 1, .tx_ring = 32768}, "tx_ring = 32768"},
        {{.name = "x", .driver = "ring", .queues = 1, .rx_ring = 32}, "from 64 to 16384"},
        {{.name = "x", .driver = "ring", .queues = 0}, "queues = 0"},
        {{.name = "x", .driver = "ring", .queues = 17}, "queues = 17"},
        {{.name = "x", .driver = "ring", .queues = 1}, "no packet pool"},
        {{.name = "x", .driver = "ring", .queues = 1, .mtu = 9001}, "mtu = 9001"},
        {{.name = "x", .driver = "ring", .queues = 1, .mtu = 67}, "mtu = 67"},
        {{.name = "x", .driver = "rings", .queues = 1}, "driver = rings: one of ring"},
        {{.name = "x", .queues = 1}, "driver = (none)"},
        {{.name = "", .driver = "ring", .queues = 1}, "a name of 1 to 31"},
        {{.driver = "ring", .queues = 1}, "a name of 1 to 31"},
        {{.name = "a name of thirty-two characters!", .driver = "ring"}, "a name of 1 to 31"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = {.text = ""};
        assert_null(port_open(&bad[i].p, &e));
        if (strstr(e.text, bad[i].word) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", e.text, bad[i].word);
    }
}

static void check_refuses_the_sizes_that_open_refuses(void **state)
{
    struct port_params p = {.name = "x", .driver = "ring", .queues = 1};
    struct err e = {.text = ""};
    assert_int_equal(port_check(&p, &e), 0);
    p.rx_ring = 32768;
    assert_int_equal(port_check(&p, &e), -1);
    assert_non_null(strstr(e.text, "rx_ring = 32768"));
    p.driver = "rings";
    assert_int_equal(port_check(&p, &e), -1);
    assert_non_null(strstr(e.text, "driver = rings: one of ring"));
}

static void pool_names_that_are_too_long_are_refused(void **state)
{
    assert_null(pkt_pool_create("a name of 21 letters!", 1024, -1));
    assert_null(pkt_pool_create("test_a", 1024, -1));  // exists
}

int main(void)
{
    pkt_env_start(1);
    pool_a = pkt_pool_create("test_a", POOL, -1);
    pool_b = pkt_pool_create("test_b", POOL, -1);
    if (pool_a == NULL || pool_b == NULL)
        return 1;
#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        PAIR_TEST(a_frame_of_every_length_arrives_byte_for_byte),
        PAIR_TEST(the_byte_behind_a_frame_is_not_touched),
        PAIR_TEST(the_far_end_gets_its_own_packet_without_flags),
        PAIR_TEST(the_far_end_counts_what_waits),
        PAIR_TEST(a_packet_with_two_references_is_copied_and_keeps_one),
        PAIR_TEST(a_chain_arrives_as_one_segment),
        PAIR_TEST(a_chain_too_long_for_one_packet_is_dropped_and_counted),
        PAIR_TEST(a_sender_without_posted_packets_keeps_its_own),
        PAIR_TEST(a_receiver_whose_pool_is_empty_goes_on_when_packets_return),
        PAIR_TEST(queues_do_not_mix),
        PAIR_TEST(both_ends_count_the_same_packets_and_bytes),
        PAIR_TEST(a_far_end_can_close_and_open_again),
        PAIR_TEST(two_threads_pass_a_stream_whole_and_in_order),
        cmocka_unit_test(bad_parameters_are_refused_with_the_reason),
        cmocka_unit_test(check_refuses_the_sizes_that_open_refuses),
        cmocka_unit_test(pool_names_that_are_too_long_are_refused),
    };
    int failed = cmocka_run_group_tests_name("ring", tests, NULL, NULL);
    eal_stop();
    return failed;
}
