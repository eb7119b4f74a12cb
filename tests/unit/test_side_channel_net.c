// SPDX-License-Identifier: BSD-3-Clause
// test_side_channel_net.c: limits of ICMP errors tell nobody which ports are open (base/limit.h).
#include "frames.h"
#include "net/net.h"
#include "pkt_env.h"
#include "seed.h"
#include "side_channel.h"
#include "wire/build.h"
#include "wire/build6.h"

enum {
    POOL_PKTS = 2047,
    TX_ROOM = 256,
    OPEN_PORT = 41234,      // chosen by chance; its neighbor is closed
    RESOLVER = 0xc0000235,  // 192.0.2.53, in whose name he asks; and others from here on
    MINE = 0xc6336401,      // 198.51.100.1, his own
    OURS = 0x0a000001,
};

static const struct mac_addr mac_a = {{2, 0, 0, 0, 0, 1}}, mac_b = {{2, 0, 0, 0, 0, 2}};

struct game {
    struct pkt_pool *pool;
    struct net *net;
    struct udp_table *open;
    struct core_stats stats;
    struct clock_now now;
    struct net_rx rx;
    struct pkt *tx_pkts[TX_ROOM];
    bool v6;
    unsigned fill, own;
    bool of_many;  // each of the fill in another's name
};

static struct ip_addr address(const struct game *g, uint32_t v4)
{
    if (!g->v6)
        return ip_from_v4(v4);
    struct ip_addr a = {{0x20, 0x01, 0x0d, 0xb8}};  // each in a /64 of its own
    for (unsigned i = 0; i < 4; i++)
        a.b[4 + i] = (uint8_t)(v4 >> (24 - 8 * i));
    a.b[15] = 1;
    return a;
}

// One datagram to our port; returns how many errors leave for its source.
static unsigned give(struct game *g, uint32_t from, uint16_t port)
{
    const struct ip_addr to = address(g, OURS), source = address(g, from);
    struct net_tx tx = {g->tx_pkts, 0, TX_ROOM};
    struct pkt *p = pkt_of(g->pool, 0, 256);
    if (g->v6) {
        struct wire_from6 w;
        wire_from6_init(&w, &mac_b, &source);
        pkt_set_len(p, wire_build_udp6(pkt_data(p), &w, wire_mac_word(&mac_a), &to, 53, port, 9));
    } else {
        struct wire_from w;
        wire_from_init(&w, &mac_b, from);
        pkt_set_len(
            p, wire_build_udp4(pkt_data(p), &w, wire_mac_word(&mac_a), raw32(OURS), 53, port, 9));
    }
    net_input(g->net, g->now, &p, 1, &g->rx, &tx);
    assert_int_equal(g->rx.n_udp, port == OPEN_PORT);
    for (uint32_t i = 0; i < tx.n; i++)
        pkt_free(tx.pkts[i]);
    pkt_free(p);
    return tx.n;
}

// He fills the limit, guesses the port in the resolver's name, and asks for errors himself. The
// bit: the port that he guesses is open.
static unsigned attempt(void *arg, struct rng *rng, bool bit)
{
    struct game *g = arg;
    unsigned answers = 0;
    g->now = clock_at_us(g->now.us + 2000000 + rng_below(rng, 1000000));
    for (unsigned i = 0; i < g->fill; i++)
        give(g, RESOLVER + (g->of_many ? i : 0), (uint16_t)(20000 + i));
    give(g, RESOLVER, bit ? OPEN_PORT : OPEN_PORT + 1);
    for (unsigned i = 0; i < g->own; i++)
        answers += give(g, MINE + i, 4444);
    return answers;
}

static struct pkt_pool *pool;

static void game_start(struct game *g, bool v6)
{
    struct net_config c;
    struct err e = {.text = ""};
    memset(g, 0, sizeof(*g));
    g->pool = pool;
    g->v6 = v6;
    g->now = clock_at_us(1000000);
    g->open = calloc(1, sizeof(*g->open));
    udp_table_init(g->open, (struct siphash_key){3, 4});
    net_config_default(&c);
    c.mac = mac_a;
    c.n_locals = 1;
    c.locals[0] = (struct net_local){address(g, OURS), v6 ? 64 : 24};
    c.keys = keys_from((struct siphash_key){1, 2});
    c.open = g->open;
    g->net = net_init(aligned_alloc(CACHE_LINE, net_footprint(&c)), &c, pool, &g->stats, &e);
    assert_non_null(g->net);
    const struct udp_open o = {.at = c.locals[0].addr, .port = OPEN_PORT};
    assert_true(udp_table_open(g->open, &o) >= 0);
}

static void errors_tell_nothing(bool v6)
{
    static const unsigned fills[] = {0, 61, 98, 99, 499, 999};
    static struct game g;
    struct rng rng = test_rng(v6 ? "side channel, errors, IPv6" : "side channel, errors, IPv4");
    game_start(&g, v6);
    for (unsigned i = 0; i < 2 * ARRAY_LEN(fills); i++) {
        g.fill = fills[i / 2];
        g.of_many = i % 2 != 0;
        g.own = i % 4 < 2 ? 1 : 1 + rng_below(&rng, 32);
        const struct side_channel o = {
            .name = "errors", .repeats = 3, .attempt = attempt, .arg = &g};
        side_channel_fails(&o, &rng);
    }
    net_drain(g.net);
    free(g.net);
    free(g.open);
}

static void errors_tell_nobody_which_port_is_open_over_ipv4(void **state)
{
    errors_tell_nothing(false);
}

static void errors_tell_nobody_which_port_is_open_over_ipv6(void **state)
{
    errors_tell_nothing(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_tell_nobody_which_port_is_open_over_ipv4),
        cmocka_unit_test(errors_tell_nobody_which_port_is_open_over_ipv6),
    };
    pkt_env_start(0);
    pool = pkt_pool_create("side_channel", POOL_PKTS, -1);
    if (pool == NULL)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pkt_pool_destroy(pool);
    eal_stop();
    return failed;
}
