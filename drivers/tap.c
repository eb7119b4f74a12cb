// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/siphash.h"
#include "drivers/ethdev.h"
#include "drivers/ethdev_replug.h"
#include "drivers/ethdev_view.h"
#include "drivers/tap_attached.h"
#include "drivers/tap_mark.h"
#include "drivers/tap_poll.h"
#include "drivers/vdev.h"

// net_tap sends two descriptors of each queue, one to read and one to write, to secondary processes
// in one DPDK message. With more queues it writes beyond the end of that message.
enum { QUEUES_MAX = RTE_MP_MAX_FD_NUM / 2 };

// Frames that the kernel queues for each queue; further ones are lost. A thousand connections that
// send at once, each a segment and an acknowledgment, need 2,000.
enum { QUEUE_FRAMES = 8192 };

static void tap_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGIO);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        sigaddset(set, s);
}

// change_all: changes the disposition of all signals that net_tap may use from `from` to `to`.
static void change_all(void (*from)(int), void (*to)(int))
{
    sigset_t mine;
    tap_signals(&mine);
    for (int s = 1; s <= SIGRTMAX; s++) {
        struct sigaction before;
        if (sigismember(&mine, s) == 1 && sigaction(s, NULL, &before) == 0 &&
            before.sa_handler == from)
            signal(s, to);
    }
}

// signals_offer: net_tap takes signals with the default disposition, which would end the process.
// They have it only while a port is created, and are blocked during that time. Afterwards the
// signals that net_tap has taken are turned off (tap_poll.h). When a port is created again, while
// workers run, net_tap keeps the signal that it has.
static void signals_offer(void)
{
    sigset_t mine;
    if (tap_poll_has_signal())
        return;
    tap_signals(&mine);
    pthread_sigmask(SIG_BLOCK, &mine, NULL);
    change_all(SIG_IGN, SIG_DFL);
}

static void signals_take_back(void)
{
    if (tap_poll_has_signal())
        return;
    change_all(SIG_DFL, SIG_IGN);
}

// default_mac: a locally administered address that depends only on the interface name, so that the
// host has no stale ARP entry after a restart. The kernel's own address differs in one bit.
static struct mac_addr default_mac(const char *device)
{
    static const struct siphash_key key = {0xc10a, 0x7a9};
    uint64_t h = siphash_bytes(&key, device, strlen(device));
    return (struct mac_addr){
        {0x02, 0xc1, 0x0a, (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)(h & 0xfe)}};
}

static struct mac_addr kernel_mac(struct mac_addr ours)
{
    ours.b[0] = (uint8_t)((ours.b[0] | 2) & ~1);
    ours.b[5] ^= 1;
    return ours;
}

static int set_address(int fd, struct ifreq *req, unsigned long what, uint32_t v4)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&req->ifr_addr;
    memset(in, 0, sizeof(*in));
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(v4);
    return ioctl(fd, what, req);
}

// set_length: sets the length of the kernel's queues for this port. EPERM: the root of a user
// namespace may not, although it may create the interface; the queues are shorter then.
static int set_length(int fd, struct ifreq *req, const struct port_params *p)
{
    req->ifr_qlen = (int)(p->rx_ring != 0 ? p->rx_ring : QUEUE_FRAMES);
    return ioctl(fd, SIOCSIFTXQLEN, req);
}

static int set_up(int fd, struct ifreq *req)
{
    if (ioctl(fd, SIOCGIFFLAGS, req) != 0)
        return -1;
    req->ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, req);
}

// set_address6: adds an address that is usable at once (IFA_F_NODAD): no other host is on this
// link, so duplicate address detection is not needed. There is no ioctl for this flag.
static int set_address6(const char *device, const struct ip_addr *addr, uint8_t bits)
{
    struct {
        struct nlmsghdr head;
        struct ifaddrmsg body;
        struct rtattr attr;
        uint8_t addr[16];
    } ask = {
        .head = {sizeof(ask), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0},
        .body = {AF_INET6, bits, IFA_F_NODAD, RT_SCOPE_UNIVERSE, if_nametoindex(device)},
        .attr = {RTA_LENGTH(sizeof(ask.addr)), IFA_LOCAL},
    };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        uint8_t rest[256];
    } said = {.error.error = -EIO};
    memcpy(ask.addr, addr->b, sizeof(ask.addr));
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int rc = -errno;
    if (fd < 0)
        return rc;
    if (send(fd, &ask, sizeof(ask), 0) < 0 || recv(fd, &said, sizeof(said), 0) < 0)
        rc = -errno;
    else
        rc = said.error.error;
    close(fd);
    return rc;
}

static int host_side(const struct port_params *p, struct err *err)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, "port %s: socket: %s", p->name, strerror(errno));
    struct ifreq req = {0};
    strcpy(req.ifr_name, p->device);
    uint32_t mask = p->host_prefix == 0 ? 0 : ~(uint32_t)0 << (32 - p->host_prefix);
    int rc = 0;
    if (p->has_host && (set_address(fd, &req, SIOCSIFADDR, p->host_v4) != 0 ||
                        set_address(fd, &req, SIOCSIFNETMASK, mask) != 0))
        rc = err_set(err, "port %s: address of interface %s: %s", p->name, p->device,
                     strerror(errno));
    else if (set_length(fd, &req, p) != 0 && errno != EPERM)
        rc = err_set(err, "port %s: queue length of interface %s: %s", p->name, p->device,
                     strerror(errno));
    else if (set_up(fd, &req) != 0)
        rc = err_set(err, "port %s: interface %s up: %s", p->name, p->device, strerror(errno));
    close(fd);
    int why = 0;
    if (rc == 0 && p->host6_prefix != 0)
        why = set_address6(p->device, &p->host6, p->host6_prefix);
    if (why == -EACCES)
        return err_set(err,
                       "port %s: interface %s has no IPv6: sysctl net.ipv6.conf.default."
                       "disable_ipv6=0, or take the prefix of IPv6 out of host_address",
                       p->name, p->device);
    return why == 0 ? rc
                    : err_set(err, "port %s: IPv6 address of interface %s: %s", p->name, p->device,
                              strerror(-why));
}

// refuse_existing: proposes to delete only an interface that c10m created.
static int refuse_existing(const struct port_params *p, struct err *err)
{
    char mark[TAP_MARK_BYTES];
    switch (tap_mark_owner(p->device, mark)) {
    case TAP_ORPHAN:
        return err_set(
            err,
            "port %s: interface %s exists already, left by a server that has ended (%s): "
            "ip link del %s",
            p->name, p->device, mark, p->device);
    case TAP_USED:
        return err_set(err,
                       "port %s: interface %s exists already, a running server has it (%s): choose "
                       "another one",
                       p->name, p->device, mark);
    default:
        return err_set(err,
                       "port %s: interface %s exists already, and c10m did not make it: choose "
                       "another one, or attach = on",
                       p->name, p->device);
    }
}

// no_ip6: whether a new interface of this network namespace would have no IPv6.
static bool no_ip6(void)
{
    uint64_t disabled;
    return !io_read_number("/proc/sys/net/ipv6/conf/default/disable_ipv6", &disabled) ||
           disabled != 0;
}

static int check_tun(const struct port_params *p, struct err *err)
{
    const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, "port %s: /dev/net/tun: %s (modprobe tun; root is needed)", p->name,
                       strerror(errno));
    close(fd);
    return 0;
}

static int check_params(const struct port_params *p, struct err *err)
{
    if (p->device == NULL || p->device[0] == '\0' || strlen(p->device) >= IFNAMSIZ ||
        strpbrk(p->device, "/, ") != NULL)
        return err_set(err,
                       "port %s: device = %s: an interface name of 1 to %d characters was expected",
                       p->name, p->device ? p->device : "", IFNAMSIZ - 1);
    if (p->has_mac && (p->mac.b[0] & 1))
        return err_set(err, "port %s: mac: not a multicast address", p->name);
    if (p->attach)
        return tap_attached_check(p, err) != 0 ? -1 : check_tun(p, err);
    if (if_nametoindex(p->device) != 0)
        return refuse_existing(p, err);
    if (p->host6_prefix != 0 && no_ip6()) {
        err_set(err,
                "port %s: interface %s would have no IPv6: sysctl net.ipv6.conf.default."
                "disable_ipv6=0, or take the prefix of IPv6 out of host_address",
                p->name, p->device);
        return err_key(err, "port.%s.host_address", p->name);
    }
    return check_tun(p, err);
}

// device_name: "net_tap_INTERFACE": one DPDK device for each kernel interface.
static void device_name(const char *interface, char *out, size_t bytes)
{
    snprintf(out, bytes, "net_tap_%s", interface);
}

static int create(const struct port_params *p, struct mac_addr mac, uint16_t *id, struct err *err)
{
    char name[RTE_DEV_NAME_MAX_LEN], args[128];
    const uint8_t *m = mac.b;
    device_name(p->device, name, sizeof(name));
    snprintf(args, sizeof(args), "iface=%s,mac=%02x:%02x:%02x:%02x:%02x:%02x", p->device, m[0],
             m[1], m[2], m[3], m[4], m[5]);
    // net_tap logs an error on kernels without the multiq qdisc, which only rte_flow needs.
    rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
    int rc = rte_eal_hotplug_add("vdev", name, args);
    if (rc != 0)
        return err_set(err,
                       "port %s: interface %s could not be created: %s (root is needed, and DPDK's "
                       "net_tap plugin)",
                       p->name, p->device, rte_strerror(-rc));
    if (rte_eth_dev_get_port_by_name(name, id) == 0)
        return 0;
    rte_eal_hotplug_remove("vdev", name);
    return err_set(err, "port %s: DPDK made no port for interface %s", p->name, p->device);
}

static void tap_close(struct port *p)
{
    char name[RTE_ETH_NAME_MAX_LEN];
    int rc = rte_eth_dev_get_name_by_port(((struct ethdev *)p->priv)->id, name);
    ethdev_close(p);
    if (rc == 0)
        rte_eal_hotplug_remove("vdev", name);
}

static uint16_t tap_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    tap_poll_look();
    return ethdev_rx_burst(p, q, pkts, n);
}

// tap_fds: with `waits`, DPDK knows the queue's descriptor as that of an interrupt.
static int tap_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(((struct ethdev *)p->priv)->id, q);
    if (fd < 0 || max == 0)
        return PORT_WAIT_NOT;
    out[0] = fd;
    return 1;
}

static const struct port_wait tap_wait = {.fds = tap_fds};

// Other offloads are requested only if they are named: net_tap does in software, without counters,
// what the stack does.
static const struct port_ops tap_ops = {
    .driver = "tap",
    .rx_burst = tap_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = tap_close,
    .view = &ethdev_view,
    .replug = &ethdev_replug,
    .wait = &tap_wait,
};

static const struct ethdev_profile tap_profile = {
    .ops = &tap_ops,
    .rx_interrupts = true,
    .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
    .rx_by_name =
        RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
    .tx_by_name = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
                  RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO,
};

// open_device: when net_tap cuts large segments, it counts the Ethernet header and the tag of a
// VLAN into the MTU. It refuses a segment that is then too long, and never accepts it: no packet
// behind it would leave. So the MTU of the port is reduced.
static struct port *open_device(uint16_t id, const struct port_params *params, struct err *err)
{
    struct port_params few = *params;
    few.queues = MIN(params->queues, (uint16_t)QUEUES_MAX);
    struct port *p = ethdev_open(id, &few, &tap_profile, err);
    if (p != NULL && (p->caps & PORT_TSO) != 0)
        p->mtu = (uint16_t)(p->mtu - sizeof(struct rte_ether_hdr) - RTE_VLAN_HLEN);
    return p;
}

// DPDK 22.11's net_tap says that it takes no frame above 1,522 bytes, and sends none above its MTU.
int tap_check(const struct port_params *params, struct err *err)
{
    if (params->mtu > PORT_MTU_DEFAULT && !params->attach) {
        err_set(err, "port %s: mtu = %u: at most %d was expected with driver tap", params->name,
                params->mtu, PORT_MTU_DEFAULT);
        return err_key(err, "port.%s.mtu", params->name);
    }
    if (check_params(params, err) != 0)
        return -1;
    return params->attach ? 0 : vdev_plugin_check(params, "tap", err);
}

struct port *tap_open(const struct port_params *params, struct err *err)
{
    if (tap_check(params, err) != 0)
        return NULL;
    if (params->attach)
        return tap_attached_open(params, err);
    struct mac_addr ours = params->has_mac ? params->mac : default_mac(params->device);
    uint16_t id;
    signals_offer();
    const int made = create(params, kernel_mac(ours), &id, err);
    signals_take_back();
    if (made != 0)
        return NULL;
    char name[RTE_DEV_NAME_MAX_LEN];
    device_name(params->device, name, sizeof(name));
    struct port *p = open_device(id, params, err);
    if (p == NULL) {
        rte_eal_hotplug_remove("vdev", name);
        return NULL;
    }
    if (tap_mark_set(params->device, params->name, err) != 0 || host_side(params, err) != 0 ||
        tap_poll_start(params->device, err) != 0) {
        tap_close(p);
        return NULL;
    }
    struct kernel_side *k = kernel_side_begin(params, 0);
    kernel_side_opened(k, true);
    ((struct ethdev *)p->priv)->kernel = k;
    p->mac = ours;
    return p;
}
