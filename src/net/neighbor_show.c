// SPDX-License-Identifier: BSD-3-Clause
// Copies of the neighbor caches for other threads, and their text in Linux's formats.
#include <stdio.h>

#include "net/priv6.h"

enum {
    LINE_BYTES = 160,
    ATF_COM = 2,  // flags of Linux's /proc/net/arp (<net/if_arp.h>)
    ATF_PERM = 4,
};

uint32_t net_arp_slots(const struct net *net)
{
    return net->arp.slots;
}

uint32_t net_nd_slots(const struct net *net)
{
    return net->v6 != NULL ? net->v6->nd.slots : 0;
}

bool net_arp_read(const struct net *net, uint32_t slot, struct net_neighbor *out)
{
    struct neighbor_seen n;
    if (!neighbor_read(&net->arp, slot, &n))
        return false;
    *out = (struct net_neighbor){raw32(neighbor_v4_raw(n.key)), n.mac, n.state};
    return true;
}

bool net_nd_read(const struct net *net, uint32_t slot, struct net_neighbor6 *out)
{
    struct neighbor_seen n;
    if (!neighbor_read(&net->v6->nd, slot, &n))
        return false;
    *out = (struct net_neighbor6){neighbor_addr6(n.key), n.mac, n.state};
    return true;
}

static size_t arp_line(const struct neighbor_seen *n, const char *device, char *line)
{
    char address[16];
    const uint32_t a = raw32(neighbor_v4_raw(n->key));
    const unsigned flags = n->state == NET_NEIGHBOR_STATIC    ? ATF_COM | ATF_PERM
                           : n->state == NET_NEIGHBOR_PENDING ? 0
                                                              : ATF_COM;
    const uint8_t *m = n->mac.b;
    snprintf(address, sizeof(address), "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255,
             a & 255);
    return (size_t)snprintf(
        line, LINE_BYTES, "%-16s 0x%-10x0x%-10x%02x:%02x:%02x:%02x:%02x:%02x     *        %.32s\n",
        address, 1u, flags, m[0], m[1], m[2], m[3], m[4], m[5], device);
}

static size_t nd_line(const struct neighbor_seen *n, const char *device, char *line)
{
    static const char *const names[] = {"NONE", "INCOMPLETE", "REACHABLE", "PROBE", "PERMANENT"};
    char text[IP_TEXT_BYTES];
    const struct ip_addr addr = neighbor_addr6(n->key);
    const uint8_t *m = n->mac.b;
    ip_text(&addr, text);
    if (n->state == NET_NEIGHBOR_PENDING)
        return (size_t)snprintf(line, LINE_BYTES, "%s dev %.32s INCOMPLETE\n", text, device);
    return (size_t)snprintf(line, LINE_BYTES,
                            "%s dev %.32s lladdr %02x:%02x:%02x:%02x:%02x:%02x %s\n", text, device,
                            m[0], m[1], m[2], m[3], m[4], m[5], names[n->state]);
}

static size_t render(const struct neighbor_cache *c, const char *device, uint32_t *slot, char *buf,
                     size_t size)
{
    size_t at = 0;
    for (; *slot < c->slots; (*slot)++) {
        struct neighbor_seen n;
        char line[LINE_BYTES];
        if (!neighbor_read(c, *slot, &n))
            continue;
        const size_t len = (c->is_v6 ? nd_line : arp_line)(&n, device, line);
        if (at + len > size)
            break;
        memcpy(buf + at, line, len);
        at += len;
    }
    return at;
}

size_t net_arp_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                      size_t size)
{
    return render(&net->arp, device, slot, buf, size);
}

size_t net_nd_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                     size_t size)
{
    return net->v6 != NULL ? render(&net->v6->nd, device, slot, buf, size) : 0;
}
