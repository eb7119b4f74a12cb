// SPDX-License-Identifier: BSD-3-Clause
// The neighbors that a process knew when it ended, read from its memory for the next one.
#include "net/priv6.h"

// entries_of: where the entries of one family lie in the memory of a net of c; NULL: it has none.
static const void *entries_of(const void *before, const struct net_config *c, bool is_v6)
{
    const size_t v6_bytes = ALIGN_UP(net6_footprint(c), CACHE_LINE);
    const uint8_t *at = before;
    if (!is_v6)
        return at + offsetof(struct net, arp) + offsetof(struct neighbor_cache, memory);
    return v6_bytes == 0 ? NULL
                         : at + net_footprint(c) - v6_bytes + offsetof(struct net6, nd) +
                               offsetof(struct neighbor_cache, memory);
}

static const struct neighbor *entry_at(const void *entries, uint32_t slot, bool is_v6)
{
    return is_v6 ? &((const struct neighbor6 *)entries)[slot].n
                 : &((const struct neighbor *)entries)[slot];
}

static struct ip_addr addr_of(struct neighbor_key key, bool is_v6)
{
    return is_v6 ? neighbor_addr6(key) : ip_from_v4(raw32(neighbor_v4_raw(key)));
}

static bool is_host(const struct ip_addr *a, bool is_v6)
{
    return is_v6 ? !ip_is_v4(a) && !ip6_is_multicast(a) && !ip_is_zero(a)
                 : net_source_top_ok(raw32(ip_to_v4(a)));
}

// believe: the neighbor in `e`, if its MAC is known. False: it is not, or the entry is torn or
// damaged.
static bool believe(const struct neighbor *e, bool is_v6, struct net_neighbor_left *out)
{
    struct neighbor_seen seen;
    if (!neighbor_read_entry(e, is_v6, &seen) || seen.state < NET_NEIGHBOR_REACHABLE ||
        seen.state > NET_NEIGHBOR_STATIC)
        return false;
    *out = (struct net_neighbor_left){.addr = addr_of(seen.key, is_v6),
                                      .mac = seen.mac,
                                      .permanent = seen.state == NET_NEIGHBOR_STATIC,
                                      .due_ms = e->due_ms,
                                      .used_ms = e->used_ms};
    return is_host(&out->addr, is_v6) && net_is_unicast_mac(&out->mac);
}

static uint32_t family_left(const void *entries, uint32_t slots, bool is_v6,
                            struct net_neighbor_left *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; entries != NULL && i < slots; i++)
        n += believe(entry_at(entries, i, is_v6), is_v6, &out[n]);
    return n;
}

// is_followed: whether the net took the permanent neighbor from Linux (net_change()), which the
// next one asks again.
static bool is_followed(const struct net *before, const struct ip_addr *a)
{
    for (uint32_t i = 0; i < MIN(before->n_pinned, (uint32_t)NET_STATICS_MAX); i++)
        if (ip_equal(&before->pinned[i].addr, a))
            return true;
    return false;
}

uint32_t net_neighbors_left_max(const struct net_config *c)
{
    return 2 * c->arp_entries;
}

uint32_t net_neighbors_left(const void *before, const struct net_config *c,
                            struct net_neighbor_left *out)
{
    uint32_t n = family_left(entries_of(before, c, false), c->arp_entries, false, out);
    n += family_left(entries_of(before, c, true), c->arp_entries, true, out + n);
    for (uint32_t i = 0; i < n; i++)
        out[i].permanent &= !is_followed(before, &out[i].addr);
    return n;
}

void net_neighbors_take(struct net *net, struct clock_now now, const struct net_neighbor_left *left,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ip_addr *a = &left[i].addr;
        if (ip_is_v4(a) && net->n_locals != 0)
            neighbor_take(&net->arp, now, neighbor_key4(raw32(ip_to_v4(a))), &left[i]);
        else if (!ip_is_v4(a) && net->v6 != NULL)
            neighbor_take(&net->v6->nd, now, neighbor_key6(a), &left[i]);
    }
}
