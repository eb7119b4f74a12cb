// SPDX-License-Identifier: BSD-3-Clause
// The hash by which packets find their worker: the specification's vectors, DPDK's own function,
// and what a device is told.
#include <arpa/inet.h>
#include <rte_ethdev.h>
#include <rte_thash.h>

#include "base/addr.h"
#include "base/rng.h"
#include "base/toeplitz.h"
#include "drivers/ethdev.h"
#include "unit/pkt_env.h"
#include "unit/seed.h"

#define V4(a, b, c, d) htonl((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static struct toeplitz hash;

// Microsoft, "Verifying the RSS Hash Calculation", IPv4 with TCP.
static void the_vectors_of_the_specification_come_out(void **state)
{
    static const struct {
        uint8_t dst[4], src[4];
        uint16_t dst_port, src_port;
        uint32_t hash;
    } v[] = {
        {{161, 142, 100, 80}, {66, 9, 149, 187}, 1766, 2794, 0x51ccc178},
        {{65, 69, 140, 83}, {199, 92, 111, 2}, 4739, 14230, 0xc626b0ea},
        {{12, 22, 207, 184}, {24, 19, 198, 95}, 38024, 12898, 0x5c2b394a},
        {{209, 142, 163, 6}, {38, 27, 205, 30}, 2217, 48228, 0xafc7327f},
        {{202, 188, 127, 2}, {153, 39, 163, 191}, 1303, 44251, 0x10e828a2},
    };
    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        uint32_t src, dst;
        memcpy(&src, v[i].src, 4);
        memcpy(&dst, v[i].dst, 4);
        assert_int_equal(toeplitz_v4(&hash, src, dst, htons(v[i].src_port), htons(v[i].dst_port)),
                         v[i].hash);
    }
}

static void the_vectors_of_the_specification_come_out_over_ip6(void **state)
{
    static const struct {
        const char *dst, *src;
        uint16_t dst_port, src_port;
        uint32_t hash;
    } v[] = {
        {"3ffe:2501:200:3::1", "3ffe:2501:200:1fff::7", 1766, 2794, 0x40207d3d},
        {"ff02::1", "3ffe:501:8::260:97ff:fe40:efab", 4739, 14230, 0xdde51bbf},
        {"fe80::200:f8ff:fe21:67cf", "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 38024, 44251,
         0x02d1feef},
    };
    for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
        struct ip_addr src, dst;
        assert_true(ip_parse(v[i].src, &src) && ip_parse(v[i].dst, &dst));
        assert_int_equal(
            toeplitz_v6(&hash, src.b, dst.b, htons(v[i].src_port), htons(v[i].dst_port)),
            v[i].hash);
    }
}

static void dpdk_finds_the_same_with_any_key(void **state)
{
    struct rng rng = {1};
    for (unsigned k = 0; k < 50; k++) {
        uint8_t key[TOEPLITZ_KEY_BYTES];
        struct toeplitz t;
        for (unsigned i = 0; i < sizeof(key); i++)
            key[i] = (uint8_t)rng_u64(&rng);
        toeplitz_init(&t, key);
        for (unsigned i = 0; i < 200; i++) {
            const uint64_t a = rng_u64(&rng);
            const uint32_t p = (uint32_t)rng_u64(&rng);
            uint32_t tuple[3] = {(uint32_t)(a >> 32), (uint32_t)a, p};
            const uint32_t got = toeplitz_v4(&t, htonl(tuple[0]), htonl(tuple[1]),
                                             htons((uint16_t)(p >> 16)), htons((uint16_t)p));
            assert_int_equal(got, rte_softrss(tuple, 3, key));
            uint32_t wide[9], raw[8];
            for (unsigned w = 0; w < 8; w++) {
                wide[w] = (uint32_t)rng_u64(&rng);
                raw[w] = htonl(wide[w]);
            }
            wide[8] = p;
            assert_int_equal(toeplitz_v6(&t, (const uint8_t *)raw, (const uint8_t *)&raw[4],
                                         htons((uint16_t)(p >> 16)), htons((uint16_t)p)),
                             rte_softrss(wide, 9, key));
        }
    }
}

static void consecutive_ports_spread_over_the_workers(void **state)
{
    for (unsigned workers = 2; workers <= 64; workers *= 2) {
        unsigned n[64] = {0};
        for (uint32_t port = 1024; port < 61024; port++)
            n[toeplitz_home(toeplitz_v4(&hash, V4(10, 64, 0, 0), V4(10, 0, 0, 1),
                                        htons((uint16_t)port), htons(7)),
                            TOEPLITZ_ENTRIES, workers)]++;
        for (unsigned w = 0; w < workers; w++)
            assert_in_range(n[w], 54000 / workers, 66000 / workers);
    }
}

static void every_worker_is_home_to_something(void **state)
{
    for (unsigned workers = 1; workers <= 64; workers++) {
        uint64_t seen = 0;
        for (uint32_t h = 0; h < TOEPLITZ_ENTRIES; h++)
            seen |= UINT64_C(1) << toeplitz_home(h, TOEPLITZ_ENTRIES, workers);
        assert_true(seen == (workers == 64 ? UINT64_MAX : (UINT64_C(1) << workers) - 1));
    }
}

// How uneven a table makes workers: docs/nic.md shows what this prints.
static void entries_are_shared_as_evenly_as_they_can_be(void **state)
{
    static const unsigned tables[] = {64, 128, 512};
    printf("workers: most and fewest entries, and by how much the most exceed the mean\n");
    for (unsigned workers = 1; workers <= 16; workers++) {
        printf("%2u", workers);
        for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
            unsigned n[16] = {0}, most = 0, fewest = UINT_MAX;
            for (uint32_t h = 0; h < tables[t]; h++)
                n[toeplitz_home(h, tables[t], workers)]++;
            for (unsigned w = 0; w < workers; w++) {
                most = MAX(most, n[w]);
                fewest = MIN(fewest, n[w]);
            }
            assert_in_range(most - fewest, 0, 1);
            printf("  %3u: %3u %3u %4.1f %%", tables[t], most, fewest,
                   100.0 * most * workers / tables[t] - 100);
        }
        printf("\n");
    }
}

// any_key: one that a server may draw.
static void any_key(struct rng *rng, uint8_t key[TOEPLITZ_KEY_BYTES_MAX])
{
    do
        for (unsigned i = 0; i < TOEPLITZ_KEY_BYTES_MAX; i++)
            key[i] = (uint8_t)rng_u64(rng);
    while (!toeplitz_spreads(key));
}

// By the ports of one host alone, at either end, over either family.
static void a_key_that_spreads_reaches_each_entry_by_ports(void **state)
{
    struct rng rng = test_rng("rss keys");
    assert_true(toeplitz_spreads(toeplitz_key));
    for (unsigned k = 0; k < 40; k++) {
        uint8_t key[TOEPLITZ_KEY_BYTES_MAX];
        struct toeplitz t;
        const uint8_t a[16] = {0x20, 1}, b[16] = {0x20, 2};
        any_key(&rng, key);
        toeplitz_init(&t, key);
        for (unsigned way = 0; way < 4; way++) {
            bool seen[TOEPLITZ_ENTRIES] = {false};
            unsigned n = 0;
            for (uint32_t port = 32768; port < 61000; port++) {
                const uint16_t from = htons(way & 1 ? 80 : (uint16_t)port);
                const uint16_t to = htons(way & 1 ? (uint16_t)port : 80);
                const uint32_t h =
                    way & 2 ? toeplitz_v6(&t, a, b, from, to) : toeplitz_v4(&t, 1, 2, from, to);
                n += !seen[h % TOEPLITZ_ENTRIES];
                seen[h % TOEPLITZ_ENTRIES] = true;
            }
            assert_int_equal(n, TOEPLITZ_ENTRIES);
        }
    }
    uint8_t poor[TOEPLITZ_KEY_BYTES_MAX];
    memcpy(poor, toeplitz_key, sizeof(poor));
    memset(poor + 8, 0, 6);  // the ports of IPv4 say nothing
    assert_false(toeplitz_spreads(poor));
}

static struct port *open_null_by(struct pkt_pool **pools, uint16_t queues, const uint8_t *rss_key)
{
    struct port_params p = {.name = "p",
                            .driver = "pci",
                            .device = "net_null0",
                            .queues = queues,
                            .node = -1,
                            .rss_key = rss_key};
    struct err e = {.text = ""};
    for (unsigned q = 0; q < queues; q++)
        p.pools[q] = pools[q % 2];
    struct port *port = port_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

static struct port *open_null(struct pkt_pool **pools, uint16_t queues)
{
    return open_null_by(pools, queues, NULL);
}

static void a_device_gets_the_key_that_was_drawn(void **state)
{
    struct rng rng = test_rng("rss key of a device");
    uint8_t drawn[TOEPLITZ_KEY_BYTES_MAX], key[TOEPLITZ_KEY_BYTES];
    any_key(&rng, drawn);
    struct port *p = open_null_by(*state, 2, drawn);
    struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = sizeof(key)};
    assert_true((p->caps & PORT_RSS) != 0);
    assert_int_equal(rte_eth_dev_rss_hash_conf_get(((struct ethdev *)p->priv)->id, &rss), 0);
    assert_memory_equal(key, drawn, sizeof(key));
    port_close(p);
}

static void a_device_gets_our_key_and_table(void **state)
{
    struct pkt_pool **pools = *state;
    struct port *p = open_null(pools, 3);
    const uint16_t id = ((struct ethdev *)p->priv)->id;
    uint8_t key[TOEPLITZ_KEY_BYTES];
    struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = sizeof(key)};
    struct rte_eth_rss_reta_entry64 reta[8];
    assert_int_equal(p->queues, 3);
    assert_true((p->caps & PORT_RSS) != 0);
    assert_int_equal(rte_eth_dev_rss_hash_conf_get(id, &rss), 0);
    assert_memory_equal(key, toeplitz_key, sizeof(key));
    memset(reta, 0, sizeof(reta));
    for (unsigned i = 0; i < p->rss_entries; i += 64)
        reta[i / 64].mask = UINT64_MAX;
    assert_in_range(p->rss_entries, 64, 512);
    assert_int_equal(rte_eth_dev_rss_reta_query(id, reta, p->rss_entries), 0);
    for (unsigned i = 0; i < p->rss_entries; i++)
        assert_int_equal(reta[i / 64].reta[i % 64], i % 3);
    port_close(p);
}

static void one_queue_is_not_spread(void **state)
{
    struct port *p = open_null(*state, 1);
    assert_int_equal(p->queues, 1);
    assert_true((p->caps & PORT_RSS) == 0);
    port_close(p);
}

int main(void)
{
    pkt_env_start(0);
    toeplitz_init(&hash, toeplitz_key);
    struct pkt_pool *pools[2] = {pkt_pool_create("a", 4096, -1), pkt_pool_create("b", 4096, -1)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_specification_come_out),
        cmocka_unit_test(the_vectors_of_the_specification_come_out_over_ip6),
        cmocka_unit_test(dpdk_finds_the_same_with_any_key),
        cmocka_unit_test(consecutive_ports_spread_over_the_workers),
        cmocka_unit_test(every_worker_is_home_to_something),
        cmocka_unit_test(entries_are_shared_as_evenly_as_they_can_be),
        cmocka_unit_test(a_key_that_spreads_reaches_each_entry_by_ports),
        cmocka_unit_test_prestate(a_device_gets_the_key_that_was_drawn, pools),
        cmocka_unit_test_prestate(a_device_gets_our_key_and_table, pools),
        cmocka_unit_test_prestate(one_queue_is_not_spread, pools),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
