// SPDX-License-Identifier: BSD-3-Clause
// A port whose interface is deleted and made again while its workers run. In a network namespace of
// its own; skipped without root.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "base/shared.h"
#include "unit/pkt_env.h"
#include "unit/xdp_leaks.h"

enum { POOL = 8192, QUEUES = 2, TYPE = 0x88b5, SKIPPED = 77, WAIT_MS = 10000, TIMES = 10 };

#define MAKE_VETH "ip link add ra type veth peer name rb && ip link set rb up && ip link set ra up"

// What is said of each driver: how its interface is made, where the other end of it is, and how
// many queues the port has.
static const struct way {
    const char *driver, *device, *peer, *make;
    uint16_t queues;
} af_packet = {"af_packet", "ra", "rb", MAKE_VETH, QUEUES},
  af_xdp = {"af_xdp", "ra", "rb", MAKE_VETH, 1}, tap = {"tap", "rt", "rt", "true", QUEUES};

// A worker: its thread alone uses its pool, except in a pause.
static struct worker {
    pthread_t thread;
    struct port *port;
    uint16_t queue;
    struct pkt_pool *pool;
    struct shared_bool stop, hold, held;  // hold: a turn that does not end
    struct shared_u32 to_send, sent, received;
} workers[QUEUES];

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void turn(struct worker *w)
{
    struct pkt *in[BURST_MAX], *out;
    const uint16_t n = w->port->ops->rx_burst(w->port, w->queue, in, BURST_MAX);
    for (uint16_t i = 0; i < n; i++)
        if (load_be16(pkt_data(in[i]) + 12) == TYPE)
            shared_u32_store(&w->received, shared_u32_load(&w->received) + 1);
    pkt_free_bulk(in, n);
    if (shared_u32_load(&w->sent) == shared_u32_load(&w->to_send))
        return;
    out = pkt_of(w->pool, 0xff, 60);
    store_be16(pkt_data(out) + 12, TYPE);
    if (w->port->ops->tx_burst(w->port, w->queue, &out, 1) == 1)
        shared_u32_store_release(&w->sent, shared_u32_load(&w->sent) + 1);
    else
        pkt_free(out);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    while (!shared_bool_load(&w->stop)) {
        turn(w);
        shared_bool_store(&w->held, shared_bool_load(&w->hold));
        while (shared_bool_load(&w->hold))
            sched_yield();
        sched_yield();
    }
    return NULL;
}

static struct port_params params_of(const struct way *w)
{
    return (struct port_params){.name = "p0",
                                .driver = w->driver,
                                .device = w->device,
                                .queues = w->queues,
                                .rx_ring = 256,
                                .tx_ring = 256,
                                .node = -1,
                                .pools = {workers[0].pool, workers[1].pool}};
}

static void run(const char *command)
{
    assert_int_equal(system(command), 0);
}

static struct port *begin(const struct way *way)
{
    struct err e = {.text = ""};
    const struct port_params p = params_of(way);
    run(way->make);
    struct port *port = port_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    assert_int_equal(port->queues, way->queues);
    for (uint16_t q = 0; q < port->queues; q++) {
        struct pkt_pool *pool = workers[q].pool;
        workers[q] = (struct worker){.port = port, .queue = q, .pool = pool};
        assert_int_equal(pthread_create(&workers[q].thread, NULL, work, &workers[q]), 0);
    }
    return port;
}

static void end(struct port *port)
{
    for (unsigned q = 0; q < port->queues; q++) {
        shared_bool_store(&workers[q].stop, true);
        pthread_join(workers[q].thread, NULL);
    }
    port_close(port);
    for (unsigned q = 0; q < QUEUES; q++)
        assert_int_equal(pkt_pool_free_count(workers[q].pool), POOL);
    assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static struct port_stats stats_of(struct port *p)
{
    struct port_stats s;
    p->ops->stats(p, &s);
    return s;
}

static void send_one(unsigned q)
{
    struct worker *w = &workers[q];
    const uint32_t n = shared_u32_load(&w->to_send) + 1;
    shared_u32_store(&w->to_send, n);
    for (uint64_t limit = now_ms() + WAIT_MS; shared_u32_load_acquire(&w->sent) != n;) {
        assert_true(now_ms() < limit);
        usleep(100);
    }
}

static uint32_t received(void)
{
    return shared_u32_load(&workers[0].received) + shared_u32_load(&workers[1].received);
}

static int peer_open(const struct way *way)
{
    const struct sockaddr_ll at = {.sll_family = AF_PACKET,
                                   .sll_protocol = htons(TYPE),
                                   .sll_ifindex = (int)if_nametoindex(way->peer)};
    const struct timeval wait = {WAIT_MS / 1000, 0};
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(TYPE));
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    return fd;
}

// assert_frames_pass: from the other end to a worker, and from each worker to the other end.
static void assert_frames_pass(const struct way *way, const struct port *p)
{
    uint8_t frame[60] = {0}, got[128];
    const int fd = peer_open(way);
    const uint32_t before = received();
    memcpy(frame, p->mac.b, 6);
    store_be16(frame + 12, TYPE);
    for (uint64_t limit = now_ms() + WAIT_MS; received() == before;) {
        assert_true(now_ms() < limit);
        (void)!send(fd, frame, sizeof(frame), 0);
        usleep(1000);
    }
    for (unsigned q = 0; q < p->queues; q++)
        send_one(q);
    for (unsigned n = 0; n < p->queues;) {
        struct sockaddr_ll from;
        socklen_t bytes = sizeof(from);
        assert_true(recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)&from, &bytes) >= 60);
        n += from.sll_pkttype != PACKET_OUTGOING;
    }
    close(fd);
}

static void detach(struct port *p)
{
    for (uint64_t limit = now_ms() + WAIT_MS; !p->ops->replug->detach(p);)
        assert_true(now_ms() < limit);
}

static void attach(struct port *p, const struct way *way)
{
    struct err e = {.text = ""};
    const struct port_params params = params_of(way);
    for (uint64_t limit = now_ms() + WAIT_MS; p->ops->replug->attach(p, &params, &e) != 0;)
        if (now_ms() >= limit)
            fail_msg("%s", e.text);
}

static void assert_link(struct port *p, enum port_link_reason reason)
{
    struct port_link l;
    p->ops->view->link(p, &l);
    assert_false(l.up);
    assert_int_equal(l.reason, reason);
}

static void unmake(const struct way *way)
{
    char command[64];
    snprintf(command, sizeof(command), "ip link del %s", way->device);
    run(command);
}

static void assert_none_fell(const struct port_stats *was, const struct port_stats *is)
{
    for (unsigned i = 0; i < sizeof(*was) / sizeof(uint64_t); i++)
        assert_true(((const uint64_t *)is)[i] >= ((const uint64_t *)was)[i]);
}

// One time: gone, without a device, back.
static void replug(struct port *p, const struct way *way)
{
    const struct port_stats before = stats_of(p);
    const struct mac_addr mac = p->mac;
    unmake(way);
    assert_link(p, PORT_LINK_GONE);
    const struct port_stats gone = stats_of(p);
    assert_none_fell(&before, &gone);
    detach(p);
    assert_link(p, PORT_LINK_GONE);
    assert_int_equal(rte_eth_dev_count_avail(), 0);
    assert_string_equal(p->ops->driver, way->driver);
    const struct port_stats closed = stats_of(p);
    assert_none_fell(&gone, &closed);
    for (unsigned q = 0; q < p->queues; q++)
        send_one(q);
    assert_int_equal(stats_of(p).tx_no_device, before.tx_no_device + p->queues);
    assert_int_equal(stats_of(p).tx_errors, closed.tx_errors + p->queues);
    run(way->make);
    attach(p, way);
    assert_memory_equal(&p->mac, &mac, sizeof(mac));
    assert_frames_pass(way, p);
    const struct port_stats after = stats_of(p);
    assert_none_fell(&closed, &after);
    assert_true(after.rx_packets > closed.rx_packets);
    assert_int_equal(after.tx_packets, closed.tx_packets + p->queues);
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static void replug_often(const struct way *way)
{
    struct port *p = begin(way);
    assert_frames_pass(way, p);
    const unsigned before = descriptors();
    for (unsigned i = 0; i < TIMES; i++)
        replug(p, way);
    assert_int_equal(descriptors(), before);
    end(p);
}

static void an_af_packet_port_goes_on_with_a_new_interface(void **state)
{
    replug_often(&af_packet);
    unmake(&af_packet);
}

static void an_af_xdp_port_goes_on_and_its_rings_packets_come_back(void **state)
{
    replug_often(&af_xdp);
    unmake(&af_xdp);
}

static void an_af_xdp_port_without_its_device_closes(void **state)
{
    struct port *p = begin(&af_xdp);
    unmake(&af_xdp);
    detach(p);
    end(p);
}

// Another port has the queue: the driver fails after it has taken packets.
static void what_a_failed_opening_took_comes_back(void **state)
{
    struct err e = {.text = ""};
    const struct port_params params = params_of(&af_xdp);
    struct port_params taker = params;
    struct port *p = begin(&af_xdp);
    unmake(&af_xdp);
    detach(p);
    run(af_xdp.make);
    taker.name = "taker";
    taker.pools[0] = workers[1].pool;
    struct port *other = port_open(&taker, &e);
    assert_non_null(other);
    for (unsigned i = 0; i < TIMES; i++) {
        assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
        assert_int_equal(pkt_pool_free_count(workers[0].pool), POOL);
    }
    port_close(other);
    attach(p, &af_xdp);
    assert_frames_pass(&af_xdp, p);
    end(p);
    unmake(&af_xdp);
}

static void a_tap_port_makes_its_interface_again(void **state)
{
    replug_often(&tap);
}

static void a_port_without_its_device_closes(void **state)
{
    struct port *p = begin(&af_packet);
    unmake(&af_packet);
    detach(p);
    end(p);
}

static void until_it_is_closed_the_device_stays_and_bursts_do_not_use_it(void **state)
{
    struct port *p = begin(&af_packet);
    shared_bool_store(&workers[1].hold, true);
    while (!shared_bool_load(&workers[1].held))
        usleep(100);
    assert_false(p->ops->replug->detach(p));
    assert_int_equal(rte_eth_dev_count_avail(), 1);
    const struct port_stats s = stats_of(p);
    send_one(0);
    assert_int_equal(stats_of(p).tx_no_device, s.tx_no_device + 1);
    assert_int_equal(stats_of(p).tx_packets, s.tx_packets);
    assert_false(p->ops->replug->detach(p));
    shared_bool_store(&workers[1].hold, false);
    detach(p);
    assert_int_equal(rte_eth_dev_count_avail(), 0);
    attach(p, &af_packet);
    assert_frames_pass(&af_packet, p);
    end(p);
    unmake(&af_packet);
}

static void what_is_not_as_before_is_refused(void **state)
{
    struct err e = {.text = ""};
    struct port_params params = params_of(&af_packet);
    struct port *p = begin(&af_packet);
    unmake(&af_packet);
    detach(p);
    assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
    assert_non_null(strstr(e.text, "there is no interface ra"));
    run(af_packet.make);
    run("ip link set ra down");
    assert_link(p, PORT_LINK_REPLACED);
    assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
    assert_non_null(strstr(e.text, "interface ra is down"));
    run("ip link set ra up");
    params.queues = 1;
    assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
    assert_non_null(strstr(e.text, "1 queues now, 2 before"));
    params.queues = QUEUES;
    params.mtu = 1400;
    assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
    assert_non_null(strstr(e.text, "MTU"));
    send_one(0);
    attach(p, &af_packet);
    assert_frames_pass(&af_packet, p);
    end(p);
    unmake(&af_packet);
}

static void somebody_elses_interface_is_not_taken_for_a_tap(void **state)
{
    struct err e = {.text = ""};
    const struct port_params params = params_of(&tap);
    struct port *p = begin(&tap);
    unmake(&tap);
    detach(p);
    run("ip tuntap add rt mode tap");
    assert_link(p, PORT_LINK_REPLACED);
    assert_int_equal(p->ops->replug->attach(p, &params, &e), -1);
    assert_non_null(strstr(e.text, "c10m did not make it"));
    run("ip link del rt");
    attach(p, &tap);
    assert_frames_pass(&tap, p);
    end(p);
}

int main(void)
{
    if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0)
        return SKIPPED;
    pkt_env_start(0);
    for (unsigned q = 0; q < QUEUES; q++)
        if ((workers[q].pool = pkt_pool_create(q == 0 ? "one" : "two", POOL, -1)) == NULL)
            return fprintf(stderr, "no pool\n"), 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_af_packet_port_goes_on_with_a_new_interface),
        cmocka_unit_test(an_af_xdp_port_goes_on_and_its_rings_packets_come_back),
        cmocka_unit_test(an_af_xdp_port_without_its_device_closes),
        cmocka_unit_test(what_a_failed_opening_took_comes_back),
        cmocka_unit_test(a_tap_port_makes_its_interface_again),
        cmocka_unit_test(a_port_without_its_device_closes),
        cmocka_unit_test(until_it_is_closed_the_device_stays_and_bursts_do_not_use_it),
        cmocka_unit_test(what_is_not_as_before_is_refused),
        cmocka_unit_test(somebody_elses_interface_is_not_taken_for_a_tap),
    };
    const int failed = cmocka_run_group_tests_name("replug", tests, NULL, NULL);
    eal_stop();
    return failed;
}
