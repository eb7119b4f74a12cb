#include <stdio.h>

#include "net/priv6.h"

enum {
    READ_TRIES = 16,  // as in arp_read.c
    LINE_BYTES = 160,
};

uint32_t net_nd_slots(const struct net *net)
{
    return net->v6 != NULL ? net->v6->slots : 0;
}

bool net_nd_read(const struct net *net, uint32_t slot, struct net_neighbor6 *out)
{
    const struct nd_entry *e = &net->v6->nd[slot];
    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t addr[2];
        const uint32_t seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);  // with entry_set()
        addr[0] = __atomic_load_n(&e->addr[0], __ATOMIC_RELAXED);
        addr[1] = __atomic_load_n(&e->addr[1], __ATOMIC_RELAXED);
        const uint64_t word = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((seq & 1) != 0 || seq != __atomic_load_n(&e->seq, __ATOMIC_RELAXED))
            continue;
        memcpy(out->addr.b, addr, sizeof(out->addr.b));
        out->mac = wire_mac_from_word(word);
        out->state = (uint8_t)(word >> 48);
        return out->state != NET_ARP_FREE;
    }
    return false;
}

static size_t render_line(const struct net_neighbor6 *n, const char *device, char *line)
{
    static const char *const names[] = {"NONE", "INCOMPLETE", "REACHABLE", "PROBE", "PERMANENT"};
    char text[IP_TEXT_BYTES];
    const uint8_t *m = n->mac.b;
    ip_text(&n->addr, text);
    if (n->state == NET_ARP_PENDING)
        return (size_t)snprintf(line, LINE_BYTES, "%s dev %.32s INCOMPLETE\n", text, device);
    return (size_t)snprintf(line, LINE_BYTES,
                            "%s dev %.32s lladdr %02x:%02x:%02x:%02x:%02x:%02x %s\n", text, device,
                            m[0], m[1], m[2], m[3], m[4], m[5], names[n->state]);
}

size_t net_nd_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                     size_t size)
{
    size_t at = 0;
    for (; *slot < net_nd_slots(net); (*slot)++) {
        struct net_neighbor6 n;
        char line[LINE_BYTES];
        if (!net_nd_read(net, *slot, &n))
            continue;
        const size_t len = render_line(&n, device, line);
        if (at + len > size)
            break;
        memcpy(buf + at, line, len);
        at += len;
    }
    return at;
}
