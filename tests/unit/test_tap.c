// SPDX-License-Identifier: BSD-3-Clause
// The port on a kernel TAP interface. Runs in a network namespace of its own; skipped without root.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/bytes.h"
#include "drivers/ethdev.h"
#include "drivers/tap.h"
#include "unit/pkt_env.h"

enum {
    POOL = 8192,
    HOST = 0x0a630001,  // 10.99.0.1, the kernel's side
    OURS = 0x0a630002,
    SKIPPED = 77,
    WAIT_MS = 3000,
};

static struct pkt_pool *pool;
static const char device[] = "c10mtest0";

static struct port_params params(void)
{
    return (struct port_params){.name = "tap",
                                .driver = "tap",
                                .device = device,
                                .queues = 1,
                                .rx_ring = 256,
                                .tx_ring = 256,
                                .node = -1,
                                .pools = {pool},
                                .has_host = true,
                                .host_v4 = HOST,
                                .host_prefix = 24};
}

static struct port *open_tap_with(bool has_offloads, uint32_t offloads)
{
    struct err e = {.text = ""};
    struct port_params p = params();
    p.has_offloads = has_offloads;
    p.offloads = offloads;
    struct port *tap = port_open(&p, &e);
    if (tap == NULL)
        fail_msg("%s", e.text);
    return tap;
}

static struct port *open_tap(void)
{
    return open_tap_with(false, 0);
}

static void close_tap(struct port *tap)
{
    port_close(tap);
    assert_int_equal(if_nametoindex(device), 0);
    assert_int_equal(pkt_pool_free_count(pool), POOL);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint16_t sum16(const uint8_t *p, uint32_t n, uint32_t sum)
{
    for (uint32_t i = 0; i + 1 < n; i += 2)
        sum += load_be16(p + i);
    if (n & 1)
        sum += (uint32_t)p[n - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static uint32_t pseudo(const uint8_t *ip, uint32_t l4_len)
{
    return sum16(ip + 12, 8, ip[9] + l4_len);
}

static void send_frame(struct port *tap, const uint8_t *bytes, uint32_t len)
{
    struct pkt *p = pkt_of(pool, 0, len);
    memcpy(pkt_data(p), bytes, len);
    assert_int_equal(tap->ops->tx_burst(tap, 0, &p, 1), 1);
}

// Answers an ARP request for OURS, as the stack would.
static void answer_arp(struct port *tap, const uint8_t *f)
{
    if (load_be16(f + 20) != 1 || load_be32(f + 38) != OURS)
        return;
    uint8_t r[60] = {0};
    memcpy(r, f + 6, 6);
    memcpy(r + 6, tap->mac.b, 6);
    memcpy(r + 12, f + 12, 8);
    store_be16(r + 20, 2);
    memcpy(r + 22, tap->mac.b, 6);
    store_be32(r + 28, OURS);
    memcpy(r + 32, f + 22, 10);
    send_frame(tap, r, sizeof(r));
}

// The next IPv4 frame of that protocol to OURS; ARP is answered on the way. NULL after WAIT_MS.
static struct pkt *next_ip(struct port *tap, uint8_t protocol)
{
    for (uint64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
        struct pkt *p;
        if (tap->ops->rx_burst(tap, 0, &p, 1) == 0) {
            usleep(100);
            continue;
        }
        const uint8_t *f = pkt_data(p);
        if (load_be16(f + 12) == 0x0800 && f[23] == protocol && load_be32(f + 30) == OURS)
            return p;
        if (load_be16(f + 12) == 0x0806)
            answer_arp(tap, f);
        pkt_free(p);
    }
    return NULL;
}

// Both checksums right, addressed to our MAC address, within the MTU.
static void assert_sound(struct port *tap, const struct pkt *p)
{
    const uint8_t *f = pkt_data(p), *ip = f + 14;
    uint32_t l4 = load_be16(ip + 2) - 20u;
    assert_false(pkt_is_chain(p));
    assert_true(pkt_len(p) <= tap->mtu + 14u);
    assert_true(load_be16(ip + 2) + 14u <= pkt_len(p));
    assert_memory_equal(f, tap->mac.b, 6);
    assert_int_equal(sum16(ip, 20, 0), 0xffff);
    assert_int_equal(sum16(ip + 20, l4, pseudo(ip, l4)), 0xffff);
}

static struct sockaddr_in address(uint32_t v4, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(v4)};
}

static int udp_socket(void)
{
    struct sockaddr_in us = address(OURS, 9);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&us, sizeof(us)), 0);
    return fd;
}

static void the_kernel_has_the_host_address_and_another_mac(void **state)
{
    struct port *tap = open_tap();
    struct ifreq req = {0};
    strcpy(req.ifr_name, device);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCGIFADDR, &req), 0);
    assert_int_equal(((struct sockaddr_in *)&req.ifr_addr)->sin_addr.s_addr, htonl(HOST));
    assert_int_equal(ioctl(fd, SIOCGIFNETMASK, &req), 0);
    assert_int_equal(((struct sockaddr_in *)&req.ifr_addr)->sin_addr.s_addr, htonl(0xffffff00));
    assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &req), 0);
    assert_true(req.ifr_flags & IFF_UP);
    assert_int_equal(ioctl(fd, SIOCGIFMTU, &req), 0);
    assert_int_equal(req.ifr_mtu, 1500);
    assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &req), 0);
    assert_memory_not_equal(req.ifr_hwaddr.sa_data, tap->mac.b, 6);
    assert_int_equal(tap->mac.b[0] & 3, 2);  // locally administered, unicast
    close(fd);
    close_tap(tap);
}

static void datagrams_of_the_kernel_arrive_with_whole_checksums(void **state)
{
    struct port *tap = open_tap();
    int fd = udp_socket();
    for (uint32_t len = 0; len <= 1472; len += 64) {
        uint8_t data[1472];
        memset(data, (int)len, sizeof(data));
        assert_int_equal(send(fd, data, len, 0), len);
        struct pkt *p = next_ip(tap, IPPROTO_UDP);
        assert_non_null(p);
        assert_sound(tap, p);
        assert_int_equal(pkt_rx_l4_cksum(p), PKT_CKSUM_UNKNOWN);
        assert_memory_equal(pkt_data(p) + 42, data, len);
        pkt_free(p);
    }
    close(fd);
    close_tap(tap);
}

static void a_verdict_is_given_where_it_was_asked_for_and_nowhere_else(void **state)
{
    static const uint32_t sets[] = {0, PORT_RX_IP_CKSUM, PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        struct port *tap = open_tap_with(true, sets[i]);
        assert_int_equal(tap->caps, sets[i]);
        int fd = udp_socket();
        assert_int_equal(send(fd, "x", 1, 0), 1);
        struct pkt *p = next_ip(tap, IPPROTO_UDP);
        assert_non_null(p);
        assert_int_equal(pkt_rx_ip_cksum(p),
                         sets[i] & PORT_RX_IP_CKSUM ? PKT_CKSUM_GOOD : PKT_CKSUM_UNKNOWN);
        assert_int_equal(pkt_rx_l4_cksum(p),
                         sets[i] & PORT_RX_L4_CKSUM ? PKT_CKSUM_GOOD : PKT_CKSUM_UNKNOWN);
        pkt_free(p);
        close(fd);
        close_tap(tap);
    }
}

// Frames of the kernel through a fault port around a TAP that gives verdicts.
static void assert_verdicts(uint32_t corrupt_ppm, enum pkt_cksum expected)
{
    struct err e = {.text = ""};
    struct port_params inner = params();
    inner.has_offloads = true;
    inner.offloads = PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM;
    const struct port_params p = {.name = "fault",
                                  .driver = "fault",
                                  .queues = 1,
                                  .node = -1,
                                  .pools = {pool},
                                  .wraps = &inner,
                                  .seed = 1,
                                  .corrupt_ppm = corrupt_ppm};
    struct port *port = port_open(&p, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    const int fd = udp_socket();
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(send(fd, "x", 1, 0), 1);
    unsigned seen = 0;
    for (uint64_t end = now_ms() + WAIT_MS; seen < 10 && now_ms() < end;) {
        struct pkt *in;
        if (port->ops->rx_burst(port, 0, &in, 1) == 0)
            continue;
        if (load_be16(pkt_data(in) + 12) == 0x0806)
            answer_arp(port, pkt_data(in));
        if (load_be16(pkt_data(in) + 12) == 0x0800) {
            assert_int_equal(pkt_rx_ip_cksum(in), expected);
            assert_int_equal(pkt_rx_l4_cksum(in), expected);
            seen++;
        }
        pkt_free(in);
    }
    assert_true(seen >= 3);  // those that waited for ARP: as many as the kernel keeps
    close(fd);
    close_tap(port);
}

static void a_frame_that_is_corrupted_on_the_way_loses_its_verdict(void **state)
{
    assert_verdicts(0, PKT_CKSUM_GOOD);
    assert_verdicts(1000000, PKT_CKSUM_UNKNOWN);
}

// Turns a received TCP frame into ours back, with these flags and numbers.
static void tcp_reply(struct port *tap, const uint8_t *f, uint8_t flags, uint32_t seq, uint32_t ack)
{
    uint8_t r[54] = {0}, *ip = r + 14, *tcp = r + 34;
    memcpy(r, f + 6, 6);
    memcpy(r + 6, tap->mac.b, 6);
    store_be16(r + 12, 0x0800);
    ip[0] = 0x45;
    store_be16(ip + 2, 40);
    ip[8] = 64;
    ip[9] = IPPROTO_TCP;
    store_be32(ip + 12, OURS);
    store_be32(ip + 16, HOST);
    store_be16(ip + 10, (uint16_t)~sum16(ip, 20, 0));
    memcpy(tcp, f + 36, 2);
    memcpy(tcp + 2, f + 34, 2);
    store_be32(tcp + 4, seq);
    store_be32(tcp + 8, ack);
    tcp[12] = 0x50;
    tcp[13] = flags;
    store_be16(tcp + 14, 65535);
    store_be16(tcp + 16, (uint16_t)~sum16(tcp, 20, pseudo(ip, 20)));
    send_frame(tap, r, sizeof(r));
}

static void a_stream_of_the_kernel_comes_in_segments_that_fit_the_mtu(void **state)
{
    struct port *tap = open_tap();
    struct sockaddr_in us = address(OURS, 80);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&us, sizeof(us)), -1);
    struct pkt *p = next_ip(tap, IPPROTO_TCP);
    assert_non_null(p);
    assert_sound(tap, p);
    assert_int_equal(pkt_data(p)[47], 0x02);
    uint32_t next = load_be32(pkt_data(p) + 38) + 1;
    tcp_reply(tap, pkt_data(p), 0x12, 1000, next);
    pkt_free(p);
    assert_non_null(p = next_ip(tap, IPPROTO_TCP));
    assert_sound(tap, p);
    pkt_free(p);
    static uint8_t data[60000];
    assert_true(send(fd, data, sizeof(data), 0) > 30000);
    uint32_t got = 0;
    while (got < 30000) {
        assert_non_null(p = next_ip(tap, IPPROTO_TCP));
        assert_sound(tap, p);
        uint32_t bytes = load_be16(pkt_data(p) + 16) - 40u;
        assert_int_equal(load_be32(pkt_data(p) + 38), next);
        next += bytes;
        got += bytes;
        tcp_reply(tap, pkt_data(p), 0x10, 1001, next);
        pkt_free(p);
    }
    close(fd);
    close_tap(tap);
}

// An echo request of ours with len bytes behind the IPv4 header.
static void ping_kernel(struct port *tap, uint32_t len)
{
    static uint8_t f[1514];
    memset(f, 0, sizeof(f));
    struct ifreq req = {0};
    strcpy(req.ifr_name, device);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &req), 0);
    close(fd);
    memcpy(f, req.ifr_hwaddr.sa_data, 6);
    memcpy(f + 6, tap->mac.b, 6);
    store_be16(f + 12, 0x0800);
    f[14] = 0x45;
    store_be16(f + 16, (uint16_t)(20 + len));
    f[22] = 64;
    f[23] = IPPROTO_ICMP;
    store_be32(f + 26, OURS);
    store_be32(f + 30, HOST);
    store_be16(f + 24, (uint16_t)~sum16(f + 14, 20, 0));
    f[34] = 8;
    store_be16(f + 38, 0x1234);
    store_be16(f + 36, (uint16_t)~sum16(f + 34, len, 0));
    send_frame(tap, f, 34 + len);
}

static void the_kernel_answers_what_we_send(void **state)
{
    struct port *tap = open_tap();
    static const uint32_t lens[] = {8, 9, 64, 1480};
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        ping_kernel(tap, lens[i]);
        struct pkt *p = next_ip(tap, IPPROTO_ICMP);
        assert_non_null(p);
        assert_int_equal(pkt_data(p)[34], 0);
        assert_int_equal(load_be16(pkt_data(p) + 16), 20 + lens[i]);
        assert_int_equal(sum16(pkt_data(p) + 34, lens[i], 0), 0xffff);
        pkt_free(p);
    }
    struct port_stats s;
    tap->ops->stats(tap, &s);
    assert_true(s.tx_packets >= ARRAY_LEN(lens));
    assert_true(s.rx_packets >= ARRAY_LEN(lens));
    assert_int_equal(s.tx_errors + s.rx_errors + s.rx_nombuf, 0);
    close_tap(tap);
}

static void send_a_chain(struct port *tap)
{
    assert_false(tap->caps & PORT_NO_SYSCALL);
    ping_kernel(tap, 8);  // makes the kernel learn our address
    pkt_free(next_ip(tap, IPPROTO_ICMP));
    int fd = udp_socket();
    struct sockaddr_in any = {0};
    socklen_t size = sizeof(any);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    uint8_t h[42] = {0};
    assert_int_equal(send(fd, "x", 1, 0), 1);
    struct pkt *p = next_ip(tap, IPPROTO_UDP), *tail = pkt_of(pool, 'b', 500);
    memcpy(h, pkt_data(p) + 6, 6);
    pkt_free(p);
    memcpy(h + 6, tap->mac.b, 6);
    store_be16(h + 12, 0x0800);
    h[14] = 0x45;
    store_be16(h + 16, 528);
    h[22] = 64;
    h[23] = IPPROTO_UDP;
    store_be32(h + 26, OURS);
    store_be32(h + 30, HOST);
    store_be16(h + 24, (uint16_t)~sum16(h + 14, 20, 0));
    store_be16(h + 34, 9);
    memcpy(h + 36, &any.sin_port, 2);
    store_be16(h + 38, 508);
    p = pkt_of(pool, 0, sizeof(h));
    memcpy(pkt_data(p), h, sizeof(h));
    assert_int_equal(rte_pktmbuf_chain(&p->m, &tail->m), 0);
    assert_int_equal(tap->ops->tx_burst(tap, 0, &p, 1), 1);
    uint8_t got[600];
    struct timeval wait = {3, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    assert_int_equal(recv(fd, got, sizeof(got), 0), 500);
    assert_int_equal(got[499], 'b');
    close(fd);
    close_tap(tap);
}

static void a_chain_leaves_as_one_frame(void **state)
{
    struct port *tap = open_tap();
    assert_true(tap->caps & PORT_MULTI_SEG);
    send_a_chain(tap);
}

static void a_chain_leaves_as_one_frame_from_a_port_that_sends_none(void **state)
{
    struct port *tap = open_tap_with(true, 0);
    assert_false(tap->caps & PORT_MULTI_SEG);
    send_a_chain(tap);
}

static void with_two_queues_each_frame_arrives_on_one_of_them(void **state)
{
    struct err e = {.text = ""};
    struct port_params p = params();
    p.queues = 2;
    p.pools[1] = pool;
    struct port *tap = port_open(&p, &e);
    if (tap == NULL)
        fail_msg("%s", e.text);
    for (unsigned i = 0; i < 32; i++)
        ping_kernel(tap, 64);
    unsigned answers = 0;
    for (uint64_t end = now_ms() + WAIT_MS; answers < 32 && now_ms() < end;) {
        for (uint16_t q = 0; q < 2; q++) {
            struct pkt *in;
            if (tap->ops->rx_burst(tap, q, &in, 1) == 0)
                continue;
            const uint8_t *f = pkt_data(in);
            if (load_be16(f + 12) == 0x0806)
                answer_arp(tap, f);
            answers += load_be16(f + 12) == 0x0800 && f[23] == IPPROTO_ICMP;
            pkt_free(in);
        }
    }
    assert_int_equal(answers, 32);
    close_tap(tap);
}

static void it_opens_again_after_it_was_closed(void **state)
{
    for (unsigned i = 0; i < 5; i++) {
        struct port *tap = open_tap();
        ping_kernel(tap, 64);
        struct pkt *p = next_ip(tap, IPPROTO_ICMP);
        assert_non_null(p);
        pkt_free(p);
        close_tap(tap);
    }
}

static void frames_arrive_while_the_opener_has_every_signal_blocked(void **state)
{
    struct port *tap = open_tap();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < 20; i++) {
        ping_kernel(tap, 64);
        struct pkt *p = next_ip(tap, IPPROTO_ICMP);
        assert_non_null(p);
        pkt_free(p);
        usleep(1000);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close_tap(tap);
}

// What net_tap says of checksums when it is asked, through the common part of all devices.
static void verdicts_that_were_asked_for_are_granted_and_right(void **state)
{
    static const struct port_ops ops = {.driver = "test", .rx_burst = ethdev_rx_burst};
    const struct ethdev_profile profile = {
        .ops = &ops,
        .rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |
                       RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
    };
    struct err e = {.text = ""};
    struct port_params p = params();
    uint16_t id;
    assert_int_equal(rte_eal_hotplug_add("vdev", "net_tap_verdict", "iface=c10mtest1"), 0);
    assert_int_equal(rte_eth_dev_get_port_by_name("net_tap_verdict", &id), 0);
    struct port *port = ethdev_open(id, &p, &profile, &e);
    if (port == NULL)
        fail_msg("%s", e.text);
    assert_int_equal(port->caps, PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM);
    ethdev_close(port);
    assert_int_equal(rte_eal_hotplug_remove("vdev", "net_tap_verdict"), 0);
}

static void bad_parameters_are_refused_and_leave_nothing_behind(void **state)
{
    struct err e = {.text = ""};
    struct port_params p = params();
    p.queues = 1;
    p.device = "lo";
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "interface lo exists already"));
    p.device = "a-name-of-16-chr";
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "interface name of 1 to 15"));
    p.device = NULL;
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "interface name of 1 to 15"));
    p.device = "a,b";
    assert_null(port_open(&p, &e));
    p.device = device;
    p.has_mac = true;
    p.mac = (struct mac_addr){{1, 0, 0, 0, 0, 0}};
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "multicast"));
    p.has_mac = false;
    p.pools[0] = NULL;
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, "no packet pool"));
    assert_int_equal(if_nametoindex(device), 0);
    assert_int_equal(pkt_pool_free_count(pool), POOL);
}

static void refused_with(const char *text, bool proposes_to_delete)
{
    struct err e = {.text = ""};
    const struct port_params p = params();
    assert_int_equal(port_check(&p, &e), -1);
    if (strstr(e.text, text) == NULL ||
        (strstr(e.text, "ip link del") != NULL) != proposes_to_delete)
        fail_msg("%s", e.text);
    assert_string_equal(e.key, "port.tap.device");
    assert_null(port_open(&p, &e));
    assert_non_null(strstr(e.text, text));
}

static void only_an_orphan_is_proposed_for_deletion(void **state)
{
    struct port *tap = open_tap();
    refused_with("a running server has it (c10m port tap, process ", false);
    close_tap(tap);
    assert_int_equal(system("ip tuntap add c10mtest0 mode tap"), 0);
    refused_with("c10m did not make it", false);
    assert_int_equal(system("ip link set c10mtest0 alias 'somebody, c10m port tap'"), 0);
    refused_with("c10m did not make it", false);
    assert_int_equal(system("ip link set c10mtest0 alias 'c10m port tap, process 12'"), 0);
    refused_with(
        "left by a server that has ended (c10m port tap, process 12): ip link del c10mtest0", true);
    assert_int_equal(system("ip link del c10mtest0"), 0);
}

// An interface that is there before the port, and after it.
static struct port *attach_to(uint16_t queues)
{
    struct err e = {.text = ""};
    struct port_params p = params();
    p.attach = true;
    p.has_host = false;
    p.queues = queues;
    p.pools[1] = p.pools[2] = pool;
    struct port *tap = port_open(&p, &e);
    if (tap == NULL)
        fail_msg("%s", e.text);
    return tap;
}

static void make_interface(const char *options)
{
    char command[160];
    snprintf(command, sizeof(command),
             "ip tuntap add c10mtest0 mode tap %s && ip addr add 10.99.0.1/24 dev c10mtest0 && "
             "ip link set c10mtest0 up",
             options);
    assert_int_equal(system(command), 0);
}

static void detach(struct port *tap)
{
    port_close(tap);
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    assert_int_equal(system("ip link del c10mtest0"), 0);  // it is still there
}

static void frames_pass_through_an_interface_that_exists(void **state)
{
    make_interface("multi_queue");
    struct port *tap = attach_to(1);
    struct port_stats s;
    int fd = udp_socket();
    assert_int_equal(send(fd, "hello", 5, 0), 5);
    struct pkt *p = next_ip(tap, IPPROTO_UDP);
    assert_non_null(p);
    assert_sound(tap, p);
    assert_memory_equal(pkt_data(p) + 42, "hello", 5);
    pkt_free(p);
    tap->ops->stats(tap, &s);
    assert_true(s.rx_packets >= 2 && s.tx_packets == 1);  // the question by ARP, and its answer
    // Not rx_missed: the kernel drops frames of its own, of IPv6, while the carrier comes.
    assert_int_equal(s.rx_errors + s.rx_nombuf + s.tx_errors, 0);
    close(fd);
    detach(tap);
}

static void it_has_as_many_queues_as_the_interface_permits(void **state)
{
    make_interface("multi_queue");
    struct port *tap = attach_to(3);
    assert_int_equal(tap->queues, 3);
    detach(tap);
    make_interface("");
    tap = attach_to(3);
    assert_int_equal(tap->queues, 1);
    detach(tap);
}

static void a_frame_to_an_interface_that_is_down_is_an_error_and_no_leak(void **state)
{
    make_interface("");
    struct port *tap = attach_to(1);
    struct port_stats s;
    struct port_link link;
    assert_int_equal(system("ip link set c10mtest0 down"), 0);
    send_frame(tap, (const uint8_t[60]){0}, 60);
    tap->ops->stats(tap, &s);
    assert_int_equal(s.tx_errors, 1);
    tap->ops->view->link(tap, &link);
    assert_false(link.up);
    assert_int_equal(link.reason, PORT_LINK_SET_DOWN);
    detach(tap);
}

// The administrator may raise the MTU while the port runs.
static void a_frame_that_is_too_long_is_counted_and_the_next_one_arrives(void **state)
{
    uint8_t data[3000] = {0};
    make_interface("");
    struct port *tap = attach_to(1);
    struct port_stats s;
    int fd = udp_socket();
    assert_int_equal(send(fd, "a", 1, 0), 1);
    struct pkt *p = next_ip(tap, IPPROTO_UDP);  // its sender knows our MAC address now
    assert_non_null(p);
    pkt_free(p);
    assert_int_equal(system("ip link set c10mtest0 mtu 4000"), 0);
    assert_int_equal(send(fd, data, sizeof(data), 0), sizeof(data));
    assert_int_equal(send(fd, "b", 1, 0), 1);
    p = next_ip(tap, IPPROTO_UDP);
    assert_non_null(p);
    assert_memory_equal(pkt_data(p) + 42, "b", 1);
    pkt_free(p);
    tap->ops->stats(tap, &s);
    assert_int_equal(s.rx_errors, 1);
    close(fd);
    detach(tap);
}

static void attach_refused_with(const char *text)
{
    struct err e = {.text = ""};
    struct port_params p = params();
    p.attach = true;
    assert_null(port_open(&p, &e));
    if (strstr(e.text, text) == NULL)
        fail_msg("%s", e.text);
    assert_int_equal(pkt_pool_free_count(pool), POOL);
}

static void what_cannot_be_attached_is_refused(void **state)
{
    attach_refused_with("there is no interface c10mtest0: ip tuntap add dev c10mtest0");
    make_interface("");
    assert_int_equal(system("ip link set c10mtest0 mtu 1501"), 0);
    attach_refused_with("ip link set c10mtest0 mtu 1500");
    assert_int_equal(system("ip link set c10mtest0 mtu 1500"), 0);
    struct port *tap = attach_to(1);
    attach_refused_with("another process has it open");
    detach(tap);
    assert_int_equal(system("ip link add c10mtest0 type veth peer name c10mtest1"), 0);
    attach_refused_with("is no TAP interface");
    assert_int_equal(system("ip link del c10mtest0"), 0);
}

int main(void)
{
    if (unshare(CLONE_NEWNET) != 0 || access("/dev/net/tun", R_OK | W_OK) != 0)
        return SKIPPED;
    pkt_env_start(0);
    pool = pkt_pool_create("tap", POOL, -1);
    if (pool == NULL)
        return fprintf(stderr, "no pool\n"), 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_has_the_host_address_and_another_mac),
        cmocka_unit_test(datagrams_of_the_kernel_arrive_with_whole_checksums),
        cmocka_unit_test(a_stream_of_the_kernel_comes_in_segments_that_fit_the_mtu),
        cmocka_unit_test(the_kernel_answers_what_we_send),
        cmocka_unit_test(a_chain_leaves_as_one_frame),
        cmocka_unit_test(a_chain_leaves_as_one_frame_from_a_port_that_sends_none),
        cmocka_unit_test(a_frame_that_is_corrupted_on_the_way_loses_its_verdict),
        cmocka_unit_test(a_verdict_is_given_where_it_was_asked_for_and_nowhere_else),
        cmocka_unit_test(with_two_queues_each_frame_arrives_on_one_of_them),
        cmocka_unit_test(it_opens_again_after_it_was_closed),
        cmocka_unit_test(frames_arrive_while_the_opener_has_every_signal_blocked),
        cmocka_unit_test(verdicts_that_were_asked_for_are_granted_and_right),
        cmocka_unit_test(bad_parameters_are_refused_and_leave_nothing_behind),
        cmocka_unit_test(only_an_orphan_is_proposed_for_deletion),
        cmocka_unit_test(frames_pass_through_an_interface_that_exists),
        cmocka_unit_test(it_has_as_many_queues_as_the_interface_permits),
        cmocka_unit_test(a_frame_to_an_interface_that_is_down_is_an_error_and_no_leak),
        cmocka_unit_test(a_frame_that_is_too_long_is_counted_and_the_next_one_arrives),
        cmocka_unit_test(what_cannot_be_attached_is_refused),
    };
    int failed = cmocka_run_group_tests_name("tap", tests, NULL, NULL);
    eal_stop();
    return failed;
}
