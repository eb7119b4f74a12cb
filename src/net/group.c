// SPDX-License-Identifier: BSD-3-Clause
// Multicast groups that applications have joined. IPv6 groups are reported by MLDv2 (RFC 3810).
#include <errno.h>

#include "net/priv6.h"

static bool is_multicast(const struct ip_addr *a)
{
    return ip_is_v4(a) ? ip_to_v4(a) >> 28 == 0xe : ip6_is_multicast(a);
}

static struct groups *groups_of(struct net *net, const struct ip_addr *group)
{
    return ip_is_v4(group) ? &net->groups4 : &net->groups6;
}

static uint32_t find(const struct groups *g, const struct ip_addr *group)
{
    uint32_t i = 0;
    while (i < g->n && !ip_equal(&g->addr[i], group))
        i++;
    return i;
}

bool group_is_joined(const struct groups *g, const struct ip_addr *group)
{
    return find(g, group) < g->n;
}

int net_group_join(struct net *net, struct clock_now now, const struct ip_addr *group,
                   struct net_tx *tx)
{
    struct groups *g = groups_of(net, group);
    const uint32_t i = find(g, group);
    if (!is_multicast(group))
        return -EINVAL;
    if (ip_is_v4(group) ? net->n_locals == 0 : net->v6 == NULL)
        return -ENODEV;
    if (i == NET_GROUPS_MAX)
        return -ENOBUFS;
    if (i < g->n) {
        g->users[i]++;
        return 0;
    }
    g->addr[i] = *group;
    g->users[i] = 1;
    g->n++;
    if (!ip_is_v4(group))
        mld_changed(net, now, group, MLD_TO_EXCLUDE, tx);
    return 0;
}

int net_group_leave(struct net *net, struct clock_now now, const struct ip_addr *group,
                    struct net_tx *tx)
{
    struct groups *g = groups_of(net, group);
    const uint32_t i = find(g, group);
    if (i == g->n)
        return -EADDRNOTAVAIL;
    if (--g->users[i] != 0)
        return 0;
    g->n--;
    g->addr[i] = g->addr[g->n];
    g->users[i] = g->users[g->n];
    if (!ip_is_v4(group))
        mld_changed(net, now, group, MLD_TO_INCLUDE, tx);
    return 0;
}
