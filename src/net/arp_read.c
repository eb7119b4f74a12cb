#include <stdio.h>

#include "net/priv.h"

enum {
    READ_TRIES = 16,  // of one entry; the worker writes it a few times a second at most
    LINE_BYTES = 160,
    ATF_COM = 2,  // flags of Linux's /proc/net/arp (<net/if_arp.h>)
    ATF_PERM = 4,
};

uint32_t net_arp_slots(const struct net *net)
{
    return net->arp_slots;
}

bool net_arp_read(const struct net *net, uint32_t slot, struct net_neighbor *out)
{
    const struct arp_entry *e = &net->arp[slot];
    for (int i = 0; i < READ_TRIES; i++) {
        uint32_t seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);  // pairs with entry_set()
        uint32_t v4_raw = __atomic_load_n(&e->v4_raw, __ATOMIC_RELAXED);
        uint64_t word = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((seq & 1) != 0 || seq != __atomic_load_n(&e->seq, __ATOMIC_RELAXED))
            continue;
        out->v4 = raw32(v4_raw);
        out->mac = wire_mac_from_word(word);
        out->state = (uint8_t)(word >> 48);
        return out->state != NET_ARP_FREE;
    }
    return false;
}

static size_t render_line(const struct net_neighbor *n, const char *device, char *line)
{
    char address[16];
    uint32_t a = n->v4;
    unsigned flags = n->state == NET_ARP_STATIC    ? ATF_COM | ATF_PERM
                     : n->state == NET_ARP_PENDING ? 0
                                                   : ATF_COM;
    const uint8_t *m = n->mac.b;
    snprintf(address, sizeof(address), "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255,
             a & 255);
    int len = snprintf(line, LINE_BYTES,
                       "%-16s 0x%-10x0x%-10x%02x:%02x:%02x:%02x:%02x:%02x     *        %.32s\n",
                       address, 1u, flags, m[0], m[1], m[2], m[3], m[4], m[5], device);
    return (size_t)len;
}

size_t net_arp_render(const struct net *net, const char *device, uint32_t *slot, char *buf,
                      size_t size)
{
    size_t at = 0;
    for (; *slot < net->arp_slots; (*slot)++) {
        struct net_neighbor n;
        char line[LINE_BYTES];
        if (!net_arp_read(net, *slot, &n))
            continue;
        size_t len = render_line(&n, device, line);
        if (at + len > size)
            break;
        memcpy(buf + at, line, len);
        at += len;
    }
    return at;
}
