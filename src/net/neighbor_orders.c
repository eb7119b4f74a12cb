// SPDX-License-Identifier: BSD-3-Clause
// Orders of the control thread that change neighbors of either family.
#include <errno.h>

#include "net/priv6.h"

// cache_of: the cache for a's family, or NULL if this port has no address of that family.
static struct neighbor_cache *cache_of(struct net *net, const struct ip_addr *a)
{
    if (ip_is_v4(a))
        return net->n_locals != 0 ? &net->arp : NULL;
    return net->v6 != NULL ? &net->v6->nd : NULL;
}

static struct neighbor_key key_of(const struct ip_addr *a)
{
    return ip_is_v4(a) ? neighbor_key4(load_raw32(a->b + IP_V4_AT)) : neighbor_key6(a);
}

int net_neighbor_add(struct net *net, struct clock_now now, const struct ip_addr *a,
                     const struct mac_addr *mac, bool permanent, struct net_tx *tx)
{
    struct neighbor_cache *n = cache_of(net, a);
    return n != NULL ? neighbor_add(n, now, key_of(a), mac, permanent, tx) : -EAFNOSUPPORT;
}

int net_neighbor_del(struct net *net, const struct ip_addr *a)
{
    struct neighbor_cache *n = cache_of(net, a);
    return n != NULL ? neighbor_del(n, key_of(a)) : -EAFNOSUPPORT;
}

unsigned net_neighbors_flush(struct net *net)
{
    return neighbor_flush(&net->arp) + (net->v6 != NULL ? neighbor_flush(&net->v6->nd) : 0);
}
