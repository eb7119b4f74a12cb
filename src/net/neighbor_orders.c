// Neighbours by order, of either family.
#include <errno.h>

#include "net/priv6.h"

static uint32_t raw_of(const struct ip_addr *a)
{
    return load_raw32(a->b + 12);
}

static bool has_family(const struct net *net, const struct ip_addr *a)
{
    return ip_is_v4(a) ? net->n_locals != 0 : net->v6 != NULL;
}

int net_neighbor_add(struct net *net, struct clock_now now, const struct ip_addr *a,
                     const struct mac_addr *mac, bool permanent, struct net_tx *tx)
{
    if (!has_family(net, a))
        return -EAFNOSUPPORT;
    return ip_is_v4(a) ? arp_add(net, now, raw_of(a), mac, permanent, tx)
                       : nd_add(net, now, a, mac, permanent, tx);
}

int net_neighbor_del(struct net *net, const struct ip_addr *a)
{
    if (!has_family(net, a))
        return -EAFNOSUPPORT;
    return ip_is_v4(a) ? arp_del(net, raw_of(a)) : nd_del(net, a);
}

unsigned net_neighbors_flush(struct net *net)
{
    return arp_flush(net) + (net->v6 != NULL ? nd_flush(net) : 0);
}
