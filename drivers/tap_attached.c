// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tap_attached.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/shared.h"
#include "base/siphash.h"
#include "drivers/kernel_side.h"

// The worker of the queue writes all fields; the control thread reads the counters.
struct queue {
    int fd;
    struct pkt_pool *pool;
    struct pkt *spare;  // the next frame is read into it; NULL: none was free
    uint64_t rx_packets, rx_bytes, rx_errors, rx_nombuf;
    uint64_t tx_packets, tx_bytes, tx_errors;
} CACHE_ALIGNED;

struct attached {
    struct port port;  // first
    struct kernel_side *kernel;
    char device[IFNAMSIZ];
    struct queue queues[PORT_QUEUES_MAX];
};

static struct attached *of(const struct port *p)
{
    return p->priv;
}

// ---- worker

// read_frame: one frame into the spare packet. NULL: none waits, it was too long, or no packet is
// free; *more: another frame may wait.
static struct pkt *read_frame(struct queue *q, bool *more)
{
    *more = q->spare != NULL || pkt_alloc_bulk(q->pool, &q->spare, 1);
    if (!*more) {
        q->spare = NULL;
        q->rx_nombuf++;
        return NULL;
    }
    struct pkt *p = q->spare;
    uint8_t beyond;  // the kernel cuts a frame without a word: a byte more than fits tells it
    const struct iovec to[] = {{pkt_data(p), pkt_room(p)}, {&beyond, 1}};
    const ssize_t n = readv(q->fd, to, ARRAY_LEN(to));
    *more = n > 0;
    if (n <= 0)
        return NULL;
    if ((size_t)n > to[0].iov_len) {
        q->rx_errors++;
        return NULL;
    }
    pkt_set_len(p, (uint32_t)n);
    q->spare = NULL;
    q->rx_packets++;
    q->rx_bytes += (uint64_t)n;
    return p;
}

static uint16_t rx_burst(struct port *port, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct queue *from = &of(port)->queues[q];
    uint16_t got = 0;
    bool more = true;
    for (uint16_t i = 0; i < n && more; i++) {
        pkts[got] = read_frame(from, &more);
        got = (uint16_t)(got + (pkts[got] != NULL));
    }
    return got;
}

// write_frame: false: the kernel takes no more now.
static bool write_frame(struct queue *q, const struct pkt *p)
{
    struct iovec parts[PKT_CHAIN_MAX];
    int n = 0;
    for (const struct rte_mbuf *m = &p->m; m != NULL && n < PKT_CHAIN_MAX; m = m->next)
        parts[n++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
    if (writev(q->fd, parts, n) >= 0) {
        q->tx_packets++;
        q->tx_bytes += pkt_total_len(p);
    } else if (errno == EAGAIN) {
        return false;
    } else if (errno == EBADFD) {
        q->tx_errors++;  // the interface was deleted; what it drops itself it counts
                         // (kernel_side.h)
    }
    return true;
}

static uint16_t tx_burst(struct port *port, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct queue *to = &of(port)->queues[q];
    uint16_t sent = 0;
    while (sent < n && write_frame(to, pkts[sent]))
        sent++;
    pkt_free_bulk(pkts, sent);
    return sent;
}

static int wait_fds(struct port *port, uint16_t q, int *out, unsigned max)
{
    if (max == 0)
        return PORT_WAIT_NOT;
    out[0] = of(port)->queues[q].fd;
    return 1;
}

// ---- control thread

static void stats(struct port *port, struct port_stats *out)
{
    struct attached *a = of(port);
    *out = (struct port_stats){0};
    for (uint16_t i = 0; i < port->queues; i++) {
        const struct queue *q = &a->queues[i];
        out->rx_packets += peek_u64(&q->rx_packets);
        out->rx_bytes += peek_u64(&q->rx_bytes);
        out->rx_errors += peek_u64(&q->rx_errors);
        out->rx_nombuf += peek_u64(&q->rx_nombuf);
        out->tx_packets += peek_u64(&q->tx_packets);
        out->tx_bytes += peek_u64(&q->tx_bytes);
        out->tx_errors += peek_u64(&q->tx_errors);
    }
    kernel_side_add(a->kernel, out);
}

static void view_link(struct port *port, struct port_link *out)
{
    *out = (struct port_link){.full_duplex = true, .reason = PORT_LINK_UNKNOWN};
    kernel_side_link(of(port)->kernel, out);
}

static void view_describe(struct port *port, struct text *out)
{
    text_printf(out, "device %s\n", of(port)->device);
}

static void close_attached(struct port *port)
{
    struct attached *a = of(port);
    for (uint16_t i = 0; i < port->queues; i++) {
        close(a->queues[i].fd);
        if (a->queues[i].spare != NULL)
            pkt_free(a->queues[i].spare);
    }
    kernel_side_free(a->kernel);
    free(a);
}

static const struct port_view view = {.link = view_link, .describe = view_describe};

static const struct port_wait wait = {.fds = wait_fds};

static const struct port_ops ops = {
    .driver = "tap",
    .rx_burst = rx_burst,
    .tx_burst = tx_burst,
    .stats = stats,
    .close = close_attached,
    .view = &view,
    .wait = &wait,
};

static int refuse(const struct port_params *p, const char *what, int why, struct err *err)
{
    return err_set(err, "port %s: interface %s: %s: %s", p->name, p->device, what, strerror(why));
}

static uint16_t mtu_of(const struct port_params *p)
{
    return p->mtu != 0 ? p->mtu : PORT_MTU_DEFAULT;
}

// ask_interface: its MAC address, and its MTU. -1 with errno.
static int ask_interface(const char *device, struct mac_addr *mac, int *mtu)
{
    struct ifreq req = {0};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", device);
    int rc = fd < 0 || ioctl(fd, SIOCGIFHWADDR, &req) != 0 ? -1 : 0;
    if (rc == 0 && req.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        errno = EMEDIUMTYPE;
        rc = -1;
    }
    memcpy(mac->b, req.ifr_hwaddr.sa_data, sizeof(mac->b));
    if (rc == 0 && ioctl(fd, SIOCGIFMTU, &req) != 0)
        rc = -1;
    *mtu = req.ifr_mtu;
    const int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return rc;
}

static int check_mtu(const struct port_params *p, int mtu, struct err *err)
{
    if (mtu <= mtu_of(p))
        return 0;
    err_set(err,
            "port %s: mtu = %u, and interface %s sends packets of %d bytes: ip link set %s mtu %u",
            p->name, mtu_of(p), p->device, mtu, p->device, mtu_of(p));
    return err_key(err, "port.%s.mtu", p->name);
}

int tap_attached_check(const struct port_params *p, struct err *err)
{
    struct mac_addr theirs;
    int mtu;
    if (if_nametoindex(p->device) == 0)
        return err_set(err,
                       "port %s: attach: there is no interface %s: ip tuntap add dev %s mode tap "
                       "user USER multi_queue",
                       p->name, p->device, p->device);
    if (ask_interface(p->device, &theirs, &mtu) != 0)
        return refuse(p, "an Ethernet interface was expected", errno, err);
    if (p->has_mac && memcmp(theirs.b, p->mac.b, sizeof(theirs.b)) == 0) {
        err_set(err, "port %s: mac: the kernel's side of interface %s has this address", p->name,
                p->device);
        return err_key(err, "port.%s.mac", p->name);
    }
    return check_mtu(p, mtu, err);
}

// our_mac: that of the kernel's side with one bit inverted, so that it is another one, and the same
// after a restart. One host's, locally administered.
static struct mac_addr our_mac(struct mac_addr theirs)
{
    theirs.b[0] = (uint8_t)((theirs.b[0] | 2) & ~1);
    theirs.b[5] ^= 1;
    return theirs;
}

// open_queue: a descriptor of one more queue of the interface; -1 with errno. `flags` has
// IFF_MULTI_QUEUE, which is taken out if the interface was created without it.
static int open_queue(const char *device, short *flags)
{
    const unsigned none = 0;
    struct ifreq req = {.ifr_flags = *flags};
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", device);
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = ioctl(fd, TUNSETIFF, &req);
    if (rc != 0 && errno == EINVAL && (*flags & IFF_MULTI_QUEUE) != 0) {
        *flags = (short)(*flags & ~IFF_MULTI_QUEUE);
        req.ifr_flags = *flags;
        rc = ioctl(fd, TUNSETIFF, &req);
    }
    // Whoever had it before may have promised the kernel to fill checksums and to take large
    // frames.
    if (rc == 0 && ioctl(fd, TUNSETOFFLOAD, none) == 0)
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int open_failed(const struct port_params *p, int why, struct err *err)
{
    switch (why) {
    case EPERM:
        return err_set(err,
                       "port %s: interface %s belongs to another user: ip tuntap add dev %s mode "
                       "tap user USER multi_queue",
                       p->name, p->device, p->device);
    case EBUSY:
        return err_set(err, "port %s: interface %s: another process has it open", p->name,
                       p->device);
    case EINVAL:
        return err_set(err, "port %s: attach: interface %s is no TAP interface", p->name,
                       p->device);
    default:
        return refuse(p, "a queue of /dev/net/tun", why, err);
    }
}

static int open_queues(struct attached *a, const struct port_params *p, struct err *err)
{
    short flags = IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE;
    uint16_t most = p->queues;
    while (a->port.queues < most) {
        struct queue *q = &a->queues[a->port.queues];
        if (p->pools[a->port.queues] == NULL)
            return err_set(err, "port %s: no packet pool for queue %u", p->name, a->port.queues);
        q->fd = open_queue(p->device, &flags);
        if (q->fd < 0)
            return open_failed(p, errno, err);
        q->pool = p->pools[a->port.queues++];
        if ((flags & IFF_MULTI_QUEUE) == 0)
            most = 1;
    }
    return 0;
}

static struct attached *attached_new(const struct port_params *p, struct mac_addr theirs)
{
    struct attached *a = NULL;
    CHECK(posix_memalign((void **)&a, CACHE_LINE, sizeof(*a)) == 0);
    memset(a, 0, sizeof(*a));
    a->port = (struct port){
        .ops = &ops,
        .caps = p->has_offloads && (p->offloads & PORT_MULTI_SEG) == 0 ? 0 : PORT_MULTI_SEG,
        .mac = p->has_mac ? p->mac : our_mac(theirs),
        .mtu = mtu_of(p),
        .priv = a};
    snprintf(a->port.name, sizeof(a->port.name), "%s", p->name);
    snprintf(a->device, sizeof(a->device), "%s", p->device);
    a->kernel = kernel_side_begin(p, 0);
    return a;
}

struct port *tap_attached_open(const struct port_params *p, struct err *err)
{
    struct mac_addr theirs;
    int mtu;
    if (tap_attached_check(p, err) != 0)
        return NULL;
    if (ask_interface(p->device, &theirs, &mtu) != 0) {
        refuse(p, "it is gone", errno, err);
        return NULL;
    }
    struct attached *a = attached_new(p, theirs);
    if (open_queues(a, p, err) != 0) {
        close_attached(&a->port);
        return NULL;
    }
    kernel_side_opened(a->kernel, true);
    return &a->port;
}
