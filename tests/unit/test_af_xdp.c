// SPDX-License-Identifier: BSD-3-Clause
// An af_xdp port on a veth pair: with a pool in 4 KiB pages, and with a pool that has a gap in
// front of each page, as a pool in hugepages has. Runs in a network namespace of its own; skipped
// without root.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "unit/pkt_env.h"
#include "unit/xdp_leaks.h"

enum { POOL = 8192, TYPE = 0x88b5, FRAME_BYTES = 60, SKIPPED = 77, WAIT_MS = 10000 };

static struct pkt_pool *pool;
static struct port *port;
static struct pkt *held[POOL];
static bool seen[POOL];

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void run(const char *command)
{
    assert_int_equal(system(command), 0);
}

// begin: with an interface of its own. After a socket was closed it is a while until the kernel
// gives its queue free.
static struct port *begin(void *of)
{
    pool = of;
    struct err e = {.text = ""};
    const struct port_params p = {
        .name = "p0", .driver = "af_xdp", .device = "xa", .queues = 1, .node = -1, .pools = {pool}};
    run("ip link add xa type veth peer name xb && ip link set xb up && ip link set xa up");
    if ((port = port_open(&p, &e)) == NULL)
        fail_msg("%s", e.text);
    return port;
}

static int end(void **state)
{
    pool = *state;
    port_close(port);
    run("ip link del xa");
    return pkt_pool_free_count(pool) != POOL;
}

// peer_open: a socket on the other end, which receives what the port sends, and sends to it.
static int peer_open(void)
{
    const struct sockaddr_ll at = {.sll_family = AF_PACKET,
                                   .sll_protocol = htons(TYPE),
                                   .sll_ifindex = (int)if_nametoindex("xb")};
    const struct timeval wait = {WAIT_MS / 1000, 0};
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(TYPE));
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    return fd;
}

// frame_of: a frame of the test, with its number after the header.
static void frame_of(uint8_t *frame, uint32_t number)
{
    memset(frame, 0xff, FRAME_BYTES);
    store_be16(frame + 12, TYPE);
    store_be32(frame + 14, number);
}

static void saw(const uint8_t *frame, unsigned n)
{
    const uint32_t number = load_be32(frame + 14);
    assert_true(number < n);
    assert_false(seen[number]);
    seen[number] = true;
}

static void send_burst(struct port *p, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        pkt_set_len(held[i], FRAME_BYTES);
        frame_of(pkt_data(held[i]), i);
    }
    const uint64_t limit = now_ms() + WAIT_MS;
    for (unsigned sent = 0; sent < n;) {
        assert_true(now_ms() < limit);
        sent += p->ops->tx_burst(p, 0, held + first + sent, (uint16_t)(n - sent));
    }
}

static void peer_receives(int fd, unsigned n, unsigned numbers)
{
    uint8_t got[128];
    while (n != 0) {
        struct sockaddr_ll from;
        socklen_t bytes = sizeof(from);
        if (recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)&from, &bytes) < 0)
            fail_msg("the other end misses %u frames: %s", n, strerror(errno));
        if (from.sll_pkttype == PACKET_OUTGOING)
            continue;
        saw(got, numbers);
        n--;
    }
}

// assert_all_come_back: the driver takes back what the kernel has sent when it sends again.
static void assert_all_come_back(struct port *p, int fd, unsigned n)
{
    const uint64_t limit = now_ms() + WAIT_MS;
    while (pkt_pool_free_count(pool) != n) {
        if (now_ms() >= limit)
            fail_msg("%u of %u packets are back", pkt_pool_free_count(pool), n);
        if (!pkt_alloc_bulk(pool, held, 1))
            continue;
        memset(seen, 0, sizeof(seen));
        send_burst(p, 0, 1);
        peer_receives(fd, 1, 1);
    }
}

static void every_packet_of_the_pool_can_be_sent(void **state)
{
    struct port *p = begin(*state);
    const int fd = peer_open();
    const unsigned n = pkt_pool_free_count(pool);
    assert_true(n > POOL / 2);
    assert_true(pkt_alloc_bulk(pool, held, n));
    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < n; i += BURST_MAX) {
        const unsigned burst = MIN(n - i, (unsigned)BURST_MAX);
        send_burst(p, i, burst);
        peer_receives(fd, burst, n);
    }
    // The last one that was sent lies in the completion ring until another one is.
    assert_all_come_back(p, fd, n - 1);
    close(fd);
}

// receive_all: n frames, of which none is freed before all have arrived.
static void receive_all(struct port *p, int fd, unsigned n)
{
    uint8_t frame[FRAME_BYTES];
    memset(seen, 0, sizeof(seen));
    for (unsigned sent = 0, got = 0; got < n;) {
        const uint64_t limit = now_ms() + WAIT_MS;
        for (unsigned end = MIN(sent + BURST_MAX, n); sent < end; sent++) {
            frame_of(frame, sent);
            assert_int_equal(send(fd, frame, sizeof(frame), 0), sizeof(frame));
        }
        while (got < sent) {
            if (now_ms() >= limit)
                fail_msg("%u frames arrived of %u", got, sent);
            struct pkt *in[BURST_MAX];
            const unsigned burst = p->ops->rx_burst(p, 0, in, (uint16_t)(sent - got));
            for (unsigned i = 0; i < burst; i++) {
                if (load_be16(pkt_data(in[i]) + 12) != TYPE) {
                    pkt_free(in[i]);
                    continue;
                }
                saw(pkt_data(in[i]), n);
                held[got++] = in[i];
            }
        }
    }
    pkt_free_bulk(held, n);
}

static void every_packet_of_the_pool_can_receive(void **state)
{
    struct port *p = begin(*state);
    const int fd = peer_open();
    const unsigned n = pkt_pool_free_count(pool);
    assert_true(n > POOL / 2);
    // The first time the kernel gets each packet that was free, the second time it fills it.
    for (unsigned i = 0; i < 2; i++)
        receive_all(p, fd, n);
    assert_int_equal(pkt_pool_free_count(pool), n);
    close(fd);
}

// What was received and not taken, what was sent, and what waits to be filled.
static void what_lies_in_the_rings_comes_back_when_the_port_closes(void **state)
{
    uint8_t frame[FRAME_BYTES];
    struct port *p = begin(*state);
    const int fd = peer_open();
    for (unsigned i = 0; i < 100; i++) {
        frame_of(frame, i);
        assert_int_equal(send(fd, frame, sizeof(frame), 0), sizeof(frame));
    }
    assert_true(pkt_alloc_bulk(pool, held, BURST_MAX));
    send_burst(p, 0, BURST_MAX);
    close(fd);
    assert_true(pkt_pool_free_count(pool) < POOL);
}

int main(void)
{
    if (unshare(CLONE_NEWNET) != 0)
        return SKIPPED;
    pkt_env_start(0);
    struct pkt_pool *dense = pkt_pool_create("dense", POOL, -1);
    struct pkt_pool *gaps = (struct pkt_pool *)rte_pktmbuf_pool_create_by_ops(
        "gaps", POOL, 512, 0, PKT_HEADROOM + PKT_ROOM, SOCKET_ID_ANY, "ring_sp_sc");
    if (dense == NULL || gaps == NULL)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(every_packet_of_the_pool_can_be_sent, NULL, end,
                                                 dense),
        cmocka_unit_test_prestate_setup_teardown(every_packet_of_the_pool_can_receive, NULL, end,
                                                 dense),
        cmocka_unit_test_prestate_setup_teardown(every_packet_of_the_pool_can_be_sent, NULL, end,
                                                 gaps),
        cmocka_unit_test_prestate_setup_teardown(every_packet_of_the_pool_can_receive, NULL, end,
                                                 gaps),
        cmocka_unit_test_prestate_setup_teardown(
            what_lies_in_the_rings_comes_back_when_the_port_closes, NULL, end, dense),
        cmocka_unit_test_prestate_setup_teardown(
            what_lies_in_the_rings_comes_back_when_the_port_closes, NULL, end, gaps),
    };
    const int failed = cmocka_run_group_tests_name("af_xdp", tests, NULL, NULL);
    eal_stop();
    return failed;
}
