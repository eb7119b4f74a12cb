// SPDX-License-Identifier: BSD-3-Clause
// net_env.h: one struct net of a test in virtual time: it starts it, gives it frames, takes what it
// sends, and counts drops. A test file includes it after its own includes, and calls start() with a
// configuration before each test and teardown() after it.
#pragma once
#include "frames.h"
#include "net/net.h"
#include "unit/pkt_env.h"

enum { POOL_PKTS = 2047, TX_ROOM = 256 };

static struct pkt_pool *pool;
static unsigned pool_free;  // packets of `pool` that are free before a test
static struct core_stats stats;
static uint64_t *const drops = stats.drops;
static uint64_t frames_given,
    frames_handed_up;  // packets frames_given to net; segments, datagrams and errors from it
static struct net *net;
static struct pkt *tx_pkts[TX_ROOM];
static struct net_tx tx;
static struct net_rx rx;
static struct clock_now now;
static struct pkt *last;  // the packet of the last give_frame()

static void start(const struct net_config *c)
{
    struct err e = {.text = ""};
    void *mem = aligned_alloc(CACHE_LINE, net_footprint(c));
    memset(&stats, 0, sizeof(stats));
    frames_given = frames_handed_up = 0;
    memset(mem, 0xee, net_footprint(c));  // init must not rely on zeroed memory
    net = net_init(mem, c, pool, &stats, &e);
    if (net == NULL)
        fail_msg("%s", e.text);
    tx = (struct net_tx){tx_pkts, 0, TX_ROOM};
    now = clock_at_us(1000000);
}

static void tx_clear(void)
{
    for (uint32_t i = 0; i < tx.n; i++)
        pkt_free(tx.pkts[i]);
    tx.n = 0;
}

// teardown: every packet has come back to the pool.
static int teardown(void **state)
{
    tx_clear();
    net_drain(net);
    free(net);
    assert_int_equal(pkt_pool_free_count(pool), pool_free);
    return 0;
}

static void restart(const struct net_config *c)
{
    teardown(NULL);
    start(c);
}

static uint64_t drops_sum(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        sum += drops[i];
    return sum;
}

// expect_drops: `count` packets ended for `reason`, none for another since the last call.
static void expect_drops(enum drop_reason reason, uint64_t count)
{
    if (drops[reason] != count || drops_sum() != count) {
        for (unsigned i = 0; i < DROP_COUNT; i++)
            if (drops[i] != 0)
                print_message("drop reason %u: %lu\n", i, drops[i]);
        fail_msg("expected reason %d, %lu times", reason, count);
    }
    memset(drops, 0, sizeof(stats.drops));
}

static void after_ms(uint64_t ms)
{
    now = clock_at_us(now.us + ms * 1000);
}

// tick_all: the whole cache is looked at, at one time each millisecond from now on.
static void tick_all(void)
{
    for (unsigned i = 0; i < 1024 / NET_TICK_SLOTS; i++) {
        after_ms(1);
        net_tick(net, now, &tx);
    }
}

// input: net_input() of n packets.
static void input(struct pkt **pkts, uint32_t n)
{
    frames_given += n;
    net_input(net, now, pkts, n, &rx, &tx);
    frames_handed_up += rx.n_segs + rx.n_icmp + rx.n_udp;
}

static struct pkt *give_frame(const uint8_t *frame, uint32_t len, uint64_t rx_flags)
{
    struct pkt *p = pkt_of(pool, 0xcc, 2000);
    pkt_set_len(p, len);
    memcpy(pkt_data(p), frame, len);
    p->m.ol_flags = rx_flags;
    last = p;
    input(&p, 1);
    struct pkt *left = p;
    if (p != NULL)
        pkt_free(p);
    return left;
}

static struct pkt *give(const char *hex)
{
    uint32_t len;
    uint8_t *f = frame_bytes(hex, &len);
    struct pkt *p = give_frame(f, len, 0);
    free(f);
    return p;
}

// image_of: a copy of the memory of `net`, as a process leaves it that ends. To be freed.
static inline uint8_t *image_of(const struct net_config *c)
{
    uint8_t *image = aligned_alloc(CACHE_LINE, net_footprint(c));
    memcpy(image, net, net_footprint(c));
    return image;
}

// succeed: the next process begins: a net of c knows the neighbors in `image`. Time goes on.
// Returns their number. Frees the image.
static inline uint32_t succeed(const struct net_config *c, uint8_t *image)
{
    struct net_neighbor_left *left = calloc(net_neighbors_left_max(c), sizeof(*left));
    const struct clock_now before = now;
    const uint32_t n = net_neighbors_left(image, c, left);
    restart(c);
    now = before;
    net_neighbors_take(net, now, left, n);
    free(left);
    free(image);
    return n;
}
