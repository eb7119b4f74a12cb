// SPDX-License-Identifier: BSD-3-Clause
// Jumbo frames over an interface of the kernel, in a network namespace of its own: frames of every
// length up to 9,014 bytes come and go whole over af_packet; the other drivers refuse.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "base/bytes.h"
#include "unit/pkt_env.h"

enum { POOL = 2048, TYPE = 0x88b5, FRAME = 9014, WAIT_S = 20, SKIP = 77 };

static struct pkt_pool *pool;

static void run(const char *command)
{
    assert_int_equal(system(command), 0);
}

static struct port *opened(const char *driver, const char *device)
{
    struct err e = {.text = ""};
    const struct port_params p = {.name = "p0",
                                  .driver = driver,
                                  .device = device,
                                  .mtu = 9000,
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool}};
    struct port *port = port_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    return port;
}

// peer_open: a socket on the interface at the other end of the port.
static int peer_open(const char *interface)
{
    const struct sockaddr_ll at = {.sll_family = AF_PACKET,
                                   .sll_protocol = htons(TYPE),
                                   .sll_ifindex = (int)if_nametoindex(interface)};
    const struct timeval wait = {WAIT_S, 0};
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(TYPE));
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)), 0);
    return fd;
}

static void fill(uint8_t *frame, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        frame[i] = (uint8_t)(i * 7 + (i >> 8) + len);
    memset(frame, 0xff, 6);
    memset(frame + 6, 2, 6);
    store_be16(frame + 12, TYPE);
}

// receive: the next frame of the test that comes to the port.
static struct pkt *receive(struct port *port)
{
    struct pkt *p;
    for (const time_t end = time(NULL) + WAIT_S; time(NULL) < end;) {
        if (port->ops->rx_burst(port, 0, &p, 1) == 0)
            continue;
        if (load_be16(pkt_data(p) + 12) == TYPE)
            return p;
        pkt_free(p);
    }
    fail_msg("no frame arrives");
    return NULL;
}

static void to_the_port(struct port *port, int fd, uint32_t len)
{
    uint8_t frame[FRAME];
    fill(frame, len);
    assert_int_equal(send(fd, frame, len, 0), len);
    struct pkt *p = receive(port);
    assert_false(pkt_is_chain(p));
    assert_int_equal(pkt_total_len(p), len);
    assert_memory_equal(pkt_data(p), frame, len);
    pkt_free(p);
}

static void from_the_port(struct port *port, int fd, uint32_t len)
{
    uint8_t frame[FRAME], got[FRAME + 100];
    struct sockaddr_ll from;
    socklen_t bytes = sizeof(from);
    struct pkt *p = pkt_of(pool, 0, len);
    fill(frame, len);
    memcpy(pkt_data(p), frame, len);
    assert_int_equal(port->ops->tx_burst(port, 0, &p, 1), 1);
    ssize_t n;
    do
        n = recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)&from, &bytes);
    while (n >= 0 && from.sll_pkttype == PACKET_OUTGOING);
    assert_int_equal(n, len);
    assert_memory_equal(got, frame, len);
}

static uint32_t mtu_of(const char *interface)
{
    struct ifreq req = {0};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    strcpy(req.ifr_name, interface);
    assert_int_equal(ioctl(fd, SIOCGIFMTU, &req), 0);
    close(fd);
    return (uint32_t)req.ifr_mtu;
}

static void both_ways(struct port *port, const char *ours, const char *theirs)
{
    struct port_stats s;
    const int fd = peer_open(theirs);
    assert_int_equal(port->mtu, 9000);
    assert_int_equal(mtu_of(ours), 9000);
    for (uint32_t len = 60; len <= FRAME; len += 199) {
        to_the_port(port, fd, len);
        from_the_port(port, fd, len);
    }
    to_the_port(port, fd, FRAME);
    from_the_port(port, fd, FRAME);
    port->ops->stats(port, &s);
    assert_int_equal(port_rx_lost(&s) + port_tx_lost(&s), 0);
    close(fd);
}

static void frames_cross_af_packet(void **state)
{
    run("ip link add ja type veth peer name jb mtu 9000 && ip link set jb up && ip link set ja up");
    struct port *port = opened("af_packet", "ja");
    both_ways(port, "ja", "jb");
    port_close(port);
    run("ip link del ja");
}

static void drivers_without_jumbo_frames_say_so_with_the_key(void **state)
{
    static const struct {
        const char *driver;
        uint16_t mtu;
        const char *words;
    } k[] = {{"af_xdp", 1901, "mtu = 1901: at most 1900"},
             {"tap", 1501, "mtu = 1501: at most 1500"}};
    for (unsigned i = 0; i < ARRAY_LEN(k); i++) {
        const struct port_params p = {.name = "p0",
                                      .driver = k[i].driver,
                                      .device = "ja",
                                      .mtu = k[i].mtu,
                                      .queues = 1,
                                      .node = -1};
        struct err e = {.text = ""};
        assert_int_equal(port_check(&p, &e), -1);
        assert_string_equal(e.key, "port.p0.mtu");
        assert_non_null(strstr(e.text, k[i].words));
        memset(&e, 0, sizeof(e));
        assert_null(port_open(&p, &e));
        assert_string_equal(e.key, "port.p0.mtu");
    }
}

int main(void)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) {
        fprintf(stderr, "skipped: a network namespace is needed: %s\n", strerror(errno));
        return SKIP;
    }
    pkt_env_start(0);
    pool = pkt_pool_create_jumbo("jumbo", POOL, -1);
    if (pool == NULL)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_cross_af_packet),
        cmocka_unit_test(drivers_without_jumbo_frames_say_so_with_the_key),
    };
    const int failed = cmocka_run_group_tests_name("jumbo_interface", tests, NULL, NULL);
    eal_stop();
    return failed;
}
