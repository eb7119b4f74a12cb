// SPDX-License-Identifier: BSD-3-Clause
#include "server/linux_tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "drivers/tap_mark.h"

// request: a message to rtnetlink, with room for the attributes of an address or a route.
struct request {
    struct nlmsghdr head;
    union {
        struct ifaddrmsg address;
        struct rtmsg route;
    };
    uint8_t attrs[128];
};

static struct request begin(uint16_t type, uint32_t body_bytes)
{
    return (struct request){.head = {.nlmsg_len = NLMSG_LENGTH(body_bytes),
                                     .nlmsg_type = type,
                                     .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE,
                                     .nlmsg_seq = 1}};
}

static void add(struct request *r, uint16_t type, const void *data, uint16_t bytes)
{
    struct rtattr *a = (struct rtattr *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));
    *a = (struct rtattr){(unsigned short)RTA_LENGTH(bytes), type};
    memcpy(RTA_DATA(a), data, bytes);
    r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static void add_ip(struct request *r, uint16_t type, const struct ip_addr *a)
{
    const bool v4 = ip_is_v4(a);
    add(r, type, a->b + (v4 ? IP_V4_AT : 0), v4 ? 4 : 16);
}

// ask: sends the request and receives the answer. 0, or -errno.
static int ask(const struct request *r)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        uint8_t rest[256];
    } said = {.error.error = -EIO};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -errno;
    const bool done =
        send(fd, r, r->head.nlmsg_len, 0) >= 0 && recv(fd, &said, sizeof(said), 0) >= 0;
    const int rc = done ? said.error.error : -errno;
    close(fd);
    return rc;
}

int linux_tap_address(int ifindex, const struct ip_addr *a, uint8_t bits)
{
    struct request r = begin(RTM_NEWADDR, sizeof(r.address));
    r.address = (struct ifaddrmsg){.ifa_family = ip_is_v4(a) ? AF_INET : AF_INET6,
                                   .ifa_prefixlen = bits,
                                   .ifa_flags = ip_is_v4(a) ? 0 : IFA_F_NODAD,
                                   .ifa_index = (uint32_t)ifindex};
    add_ip(&r, IFA_LOCAL, a);
    add_ip(&r, IFA_ADDRESS, a);
    return ask(&r);
}

int linux_tap_route(int ifindex, const struct ip_addr *to, uint8_t bits, const struct ip_addr *via)
{
    const uint32_t metric = LINUX_TAP_METRIC;
    struct request r = begin(RTM_NEWROUTE, sizeof(r.route));
    r.route = (struct rtmsg){.rtm_family = ip_is_v4(via) ? AF_INET : AF_INET6,
                             .rtm_dst_len = bits,
                             .rtm_table = RT_TABLE_MAIN,
                             .rtm_protocol = RTPROT_STATIC,
                             .rtm_scope = RT_SCOPE_UNIVERSE,
                             .rtm_type = RTN_UNICAST,
                             .rtm_flags = RTNH_F_ONLINK};
    if (bits != 0)
        add_ip(&r, RTA_DST, to);
    add_ip(&r, RTA_GATEWAY, via);
    add(&r, RTA_OIF, &ifindex, sizeof(ifindex));
    add(&r, RTA_PRIORITY, &metric, sizeof(metric));
    return ask(&r);
}

static int refuse_existing(const char *name, const char *port, struct err *err)
{
    char mark[TAP_MARK_BYTES];
    switch (tap_mark_owner(name, mark)) {
    case TAP_ORPHAN:
        return err_set(err,
                       "port %s: interface %s exists already, left by a server that has ended "
                       "(%s): ip link del %s",
                       port, name, mark, name);
    case TAP_USED:
        return err_set(err,
                       "port %s: interface %s exists already, a running server has it (%s): "
                       "choose another name for linux",
                       port, name, mark);
    default:
        return err_set(err,
                       "port %s: interface %s exists already, and c10m did not make it: "
                       "choose another name for linux",
                       port, name);
    }
}

int linux_tap_check(const char *name, const char *port, struct err *err)
{
    if (if_nametoindex(name) != 0) {
        refuse_existing(name, port, err);
        return err_key(err, "port.%s.linux", port);
    }
    const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        err_set(err, "port %s: /dev/net/tun: %s (modprobe tun; root is needed)", port,
                strerror(errno));
        return err_key(err, "port.%s.linux", port);
    }
    close(fd);
    return 0;
}

static int failed(const struct linux_tap *t, const char *what, int why, struct err *err)
{
    err_set(err, "port %s: %s of interface %s: %s", t->port, what, t->name, strerror(why));
    return err_key(err, "port.%s.linux", t->port);
}

static int set_mac(int fd, const struct linux_tap *t, struct err *err)
{
    struct ifreq req = {.ifr_hwaddr.sa_family = ARPHRD_ETHER};
    memcpy(req.ifr_hwaddr.sa_data, t->mac.b, sizeof(t->mac.b));
    return ioctl(fd, SIOCSIFHWADDR, &req) == 0 ? 0 : failed(t, "MAC address", errno, err);
}

// set_link: MTU, and up.
static int set_link(const struct linux_tap *t, struct err *err)
{
    struct ifreq req = {.ifr_mtu = t->mtu};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", t->name);
    int rc = fd < 0 || ioctl(fd, SIOCSIFMTU, &req) != 0 ? failed(t, "MTU", errno, err) : 0;
    if (rc == 0 && ioctl(fd, SIOCGIFFLAGS, &req) == 0) {
        req.ifr_flags |= IFF_UP;
        rc = ioctl(fd, SIOCSIFFLAGS, &req) == 0 ? 0 : failed(t, "up", errno, err);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

// allow_ip6: new interfaces may have no IPv6 by sysctl; this one is the server's own.
static void allow_ip6(const struct linux_tap *t)
{
    char path[80];
    snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", t->name);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    io_write_all(fd, "0", 1);  // if it fails, the address is refused
    close(fd);
}

static int set_addresses(const struct linux_tap *t, int ifindex, struct err *err)
{
    for (unsigned i = 0; i < t->net->n_locals; i++) {
        const struct net_local *l = &t->net->locals[i];
        if (net_local_is_none(l))  // a place for an address that comes later (port_places.h)
            continue;
        if (!ip_is_v4(&l->addr))
            allow_ip6(t);
        const int rc = linux_tap_address(ifindex, &l->addr, l->prefix_bits);
        if (rc != 0 && rc != -EEXIST)
            return failed(t, ip_is_v4(&l->addr) ? "address" : "IPv6 address", -rc, err);
    }
    return 0;
}

static int set_routes(const struct linux_tap *t, int ifindex, struct err *err)
{
    const struct net_config *n = t->net;
    const struct ip_addr gateway = ip_from_v4(n->gateway);
    int rc = 0;
    if (n->gateway != 0)
        rc = linux_tap_route(ifindex, NULL, 0, &gateway);
    if (rc == 0 && !ip_is_zero(&n->gateway6))
        rc = linux_tap_route(ifindex, NULL, 0, &n->gateway6);
    for (unsigned i = 0; i < n->n_routes && rc == 0; i++)
        rc = linux_tap_route(ifindex, &n->routes[i].prefix, n->routes[i].prefix_bits,
                             &n->routes[i].via);
    return rc == 0 ? 0 : failed(t, "route", -rc, err);
}

int linux_tap_carrier(int fd, bool on)
{
    const int flag = on;
    return ioctl(fd, TUNSETCARRIER, &flag) == 0 ? 0 : -errno;
}

static int set_up(int fd, const struct linux_tap *t, int *ifindex, struct err *err)
{
    struct ifreq req = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL};
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", t->name);
    if (ioctl(fd, TUNSETIFF, &req) != 0)
        return failed(t, "creation", errno, err);
    *ifindex = (int)if_nametoindex(t->name);
    if (tap_mark_set(t->name, t->port, err) != 0 || set_mac(fd, t, err) != 0 ||
        set_addresses(t, *ifindex, err) != 0 || set_link(t, err) != 0 ||
        set_routes(t, *ifindex, err) != 0)
        return -1;
    linux_tap_carrier(fd, false);  // until the port's link is known; a kernel before 5.0 cannot
    return 0;
}

int linux_tap_open(const struct linux_tap *t, int *ifindex, struct err *err)
{
    if (linux_tap_check(t->name, t->port, err) != 0)
        return -1;
    const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return failed(t, "/dev/net/tun", errno, err);
    if (set_up(fd, t, ifindex, err) == 0)
        return fd;
    close(fd);
    return -1;
}
