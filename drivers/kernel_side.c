// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/kernel_side.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 4096 };  // higher descriptors are ignored

struct dropped {
    uint64_t rx, tx;
};

struct kernel_side {
    char device[IFNAMSIZ];
    unsigned index;  // ifindex of the interface that was opened
    int ask_fd;      // socket for ioctl(), -1 if it could not be opened
    int family;
    bool ours_is_rx;
    bool before[FDS_MAX];  // sockets that existed before the port was opened
    unsigned n;
    int fds[PORT_QUEUES_MAX];
    uint64_t packet_drops;     // a total, because the kernel resets its counter when it is read
    struct dropped last, sum;  // of the interface: at the last reading; since the port was opened
};

// each_socket: calls found() for each descriptor that is a socket of the family.
static void each_socket(struct kernel_side *k, void (*found)(struct kernel_side *k, int fd))
{
    DIR *d = k->family != 0 ? opendir("/proc/self/fd") : NULL;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        const int fd = atoi(e->d_name);
        int family = 0;
        socklen_t bytes = sizeof(family);
        if (e->d_name[0] != '.' && fd < FDS_MAX &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 && family == k->family)
            found(k, fd);
    }
    if (d != NULL)
        closedir(d);
}

static void note_old(struct kernel_side *k, int fd)
{
    k->before[fd] = true;
}

static void note_new(struct kernel_side *k, int fd)
{
    if (!k->before[fd] && k->n < PORT_QUEUES_MAX)
        k->fds[k->n++] = fd;
}

// dropped_by: the drops of the interface in /proc/net/dev of this network namespace. After the name
// follow received bytes, packets, errors, drops and four more fields, then the same for sent ones.
static struct dropped dropped_by(const char *device)
{
    struct dropped d = {0, 0};
    char line[512];
    FILE *f = fopen("/proc/self/net/dev", "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        char *name = line + strspn(line, " "), *rest = strchr(name, ':');
        if (rest == NULL)
            continue;
        *rest++ = '\0';
        if (strcmp(name, device) == 0 &&
            sscanf(rest, "%*u %*u %*u %lu %*u %*u %*u %*u %*u %*u %*u %lu", &d.rx, &d.tx) == 2)
            break;
    }
    if (f != NULL)
        fclose(f);
    return d;
}

struct kernel_side *kernel_side_begin(const struct port_params *params, int sockets)
{
    struct kernel_side *k = calloc(1, sizeof(*k));
    CHECK(k != NULL);
    snprintf(k->device, sizeof(k->device), "%s", params->device);
    k->family = sockets;
    k->ask_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    each_socket(k, note_old);
    return k;
}

void kernel_side_opened(struct kernel_side *k, bool ours_is_rx)
{
    k->ours_is_rx = ours_is_rx;
    k->index = if_nametoindex(k->device);
    each_socket(k, note_new);
    k->last = dropped_by(k->device);
}

static void close_new(struct kernel_side *k, int fd)
{
    if (!k->before[fd])
        close(fd);
}

void kernel_side_abandon(struct kernel_side *k)
{
    each_socket(k, close_new);
    kernel_side_free(k);
}

int kernel_side_socket(const struct kernel_side *k)
{
    return k->n == 1 ? k->fds[0] : -1;
}

unsigned kernel_side_sockets(const struct kernel_side *k, int *out, unsigned max)
{
    memcpy(out, k->fds, MIN(k->n, max) * sizeof(out[0]));
    return k->n;
}

// lost_by_xdp: of all sockets: frames that found the ring full, and frames that the kernel refused
// to send.
static struct dropped lost_by_xdp(const struct kernel_side *k)
{
    struct dropped sum = {0, 0};
    for (unsigned i = 0; i < k->n; i++) {
        struct xdp_statistics s = {0};
        socklen_t bytes = sizeof(s);
        if (getsockopt(k->fds[i], SOL_XDP, XDP_STATISTICS, &s, &bytes) != 0)
            continue;
        sum.rx += s.rx_ring_full;
        sum.tx += s.tx_invalid_descs;
    }
    return sum;
}

static uint64_t packet_drops(struct kernel_side *k)
{
    for (unsigned i = 0; i < k->n; i++) {
        struct tpacket_stats s = {0};
        socklen_t bytes = sizeof(s);
        if (getsockopt(k->fds[i], SOL_PACKET, PACKET_STATISTICS, &s, &bytes) == 0)
            k->packet_drops += s.tp_drops;
    }
    return k->packet_drops;
}

// more: the increase of a counter; one that fell began at zero again.
static uint64_t more(uint64_t now, uint64_t last)
{
    return now >= last ? now - last : now;
}

// follow: the sum stays while the interface is gone. Another one of its name counts for itself.
static void follow(struct kernel_side *k)
{
    if (if_nametoindex(k->device) != k->index)
        return;
    const struct dropped now = dropped_by(k->device);
    k->sum.rx += more(now.rx, k->last.rx);
    k->sum.tx += more(now.tx, k->last.tx);
    k->last = now;
}

void kernel_side_add(struct kernel_side *k, struct port_stats *out)
{
    struct dropped by_sockets = {0, 0};
    follow(k);
    if (k->family == AF_XDP)
        by_sockets = lost_by_xdp(k);
    else if (!k->ours_is_rx)
        by_sockets.rx = packet_drops(k);
    out->rx_missed += k->ours_is_rx ? k->sum.tx : by_sockets.rx;
    out->tx_errors += (k->ours_is_rx ? k->sum.rx : k->sum.tx) + by_sockets.tx;
}

bool kernel_side_is_there(const struct kernel_side *k)
{
    struct ifreq req = {0};
    strcpy(req.ifr_name, k->device);
    return ioctl(k->ask_fd, SIOCGIFINDEX, &req) == 0;
}

// kernel_side_link: IFF_RUNNING means that the interface is up and has a carrier.
bool kernel_side_link(const struct kernel_side *k, struct port_link *out)
{
    struct ifreq req = {.ifr_ifindex = (int)k->index};
    if (k->ask_fd < 0)
        return false;
    out->up = false;
    if (ioctl(k->ask_fd, SIOCGIFNAME, &req) != 0 || ioctl(k->ask_fd, SIOCGIFFLAGS, &req) != 0)
        out->reason = kernel_side_is_there(k) ? PORT_LINK_REPLACED : PORT_LINK_GONE;
    else if ((req.ifr_flags & IFF_UP) == 0)
        out->reason = PORT_LINK_SET_DOWN;
    else if ((req.ifr_flags & IFF_RUNNING) == 0)
        out->reason = PORT_LINK_NO_CARRIER;
    else
        out->up = true;
    return true;
}

void kernel_side_free(struct kernel_side *k)
{
    if (k != NULL && k->ask_fd >= 0)
        close(k->ask_fd);
    free(k);
}
