// SPDX-License-Identifier: BSD-3-Clause
// What a running net can be given: addresses at fixed places, routes, permanent neighbors, MTU.
#include <errno.h>
#include <string.h>

#include "net/priv6.h"

struct net_local net_local_none(bool v6)
{
    const struct ip_addr any6 = {{0}}, any = v6 ? any6 : ip_from_v4(0);
    return (struct net_local){any, (uint8_t)ip_bits(&any)};
}

bool net_local_is_none(const struct net_local *l)
{
    return ip_is_any(&l->addr);
}

void local_place(struct net *net, uint32_t k, const struct net_local *l)
{
    const uint32_t v4 = ip_to_v4(&l->addr), mask = mask_of(l->prefix_bits);
    const bool has_broadcast = l->prefix_bits <= 30;  // RFC 3021
    net->local[k] = raw32(v4);
    net->mask[k] = raw32(mask);
    net->subnet[k] = raw32(v4 & mask);
    net->bcast[k] = has_broadcast ? raw32(v4 | ~mask) : UINT32_MAX;
    if (net_local_is_none(l)) {
        net->gone |= UINT32_C(1) << k;
        return;
    }
    net->gone &= ~(UINT32_C(1) << k);
    wire_common_init(&net->common[k], &net->mac, &net->local[k]);
    wire_from_init(&net->from[k], &net->mac, v4);
}

void locals_tables(struct net *net)
{
    const uint32_t first = local_first(net);
    memset(net->source_low, !locals_all_gone(net), sizeof(net->source_low));
    for (uint32_t top = 0; top < 256 && net->n_locals != 0; top++)
        net->source_top[top] = net_source_top_ok(top);
    for (uint32_t k = 0; k < net->n_locals; k++)
        net->source_low[net->local[k] >> 24] = net->source_low[net->bcast[k] >> 24] = false;
    if (net->n_locals == 0)
        return;
    net->fast_local_ix = (uint16_t)(net->local_ix_first + first);
    wire_common_init(&net->common[0], &net->mac, &net->local[first]);
}

// change_locals: each new address is marked in *fresh.
static void change_locals(struct net *net, const struct net_settings *to, uint32_t *fresh)
{
    for (uint32_t k = 0; k < net->n_locals; k++) {
        const uint32_t before = net->local[k];
        local_place(net, k, &to->locals[k]);
        if (net->local[k] == before)
            continue;
        net->defend_at_us[k] = 0;
        *fresh |= local_is_gone(net, k) ? 0 : UINT32_C(1) << k;
    }
    locals_tables(net);
}

static void change_locals6(struct net *net, const struct net_settings *to, uint32_t *fresh,
                           struct net_tx *tx)
{
    struct net6 *v6 = net->v6;
    struct ip_addr before[NET6_OWN_MAX];
    memcpy(before, v6->local, sizeof(before));
    for (uint32_t k = 0; k < v6->n; k++)
        if (!ip_equal(&to->locals[net->n_locals + k].addr, &v6->local[k]))
            local6_place(net, k, &to->locals[net->n_locals + k].addr);
    locals6_tables(net);
    for (uint32_t k = 0; k < v6->n_own; k++) {
        if (ip_equal(&before[k], &v6->local[k]))
            continue;
        v6->defend_at_us[k] = 0;
        *fresh |= ip_is_zero(&v6->local[k]) ? 0 : UINT32_C(1) << k;
        if (!ip_is_zero(&before[k]))
            nd_leave_local(net, &before[k], tx);
    }
}

static bool is_in(const struct net_static *s, const struct net_static *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ip_equal(&s->addr, &list[i].addr) && memcmp(&s->mac, &list[i].mac, 6) == 0)
            return true;
    return false;
}

// change_pinned: returns the number of neighbors that had no room. Those of the configuration stay
// as they are (-EPERM).
static unsigned change_pinned(struct net *net, struct clock_now now, const struct net_settings *to,
                              struct net_tx *tx)
{
    struct net_static before[NET_STATICS_MAX];
    const uint32_t n_before = net->n_pinned;
    unsigned lost = 0;
    memcpy(before, net->pinned, sizeof(before));
    net->n_pinned = 0;
    for (uint32_t i = 0; i < n_before; i++)
        if (!is_in(&before[i], to->statics, to->n_statics))
            net_neighbor_del(net, &before[i].addr);
    for (uint32_t i = 0; i < to->n_statics; i++) {
        const struct net_static *s = &to->statics[i];
        const int rc = is_in(s, before, n_before)
                           ? 0
                           : net_neighbor_add(net, now, &s->addr, &s->mac, true, tx);
        lost += rc != 0 && rc != -EPERM;
        if (rc == 0)
            net->pinned[net->n_pinned++] = *s;
    }
    return lost;
}

static void ask_hops(struct net *net, struct clock_now now, const struct net_settings *to,
                     struct net_tx *tx)
{
    for (uint32_t i = 0; i < to->n_routes; i++) {
        const struct ip_addr *via = &to->routes[i].via;
        if (ip_is_zero(via))
            continue;
        if (ip_is_v4(via))
            neighbor_ask(&net->arp, now, neighbor_key4(load_raw32(via->b + IP_V4_AT)), tx);
        else
            neighbor_ask(&net->v6->nd, now, neighbor_key6(via), tx);
    }
}

bool net_may_change(const struct net *net)
{
    return net->changes && net->v6 != NULL;
}

unsigned net_change(struct net *net, struct clock_now now, const struct net_settings *to,
                    struct net_tx *tx)
{
    uint32_t fresh = 0, fresh6 = 0;
    const uint16_t mtu = MIN(to->mtu, net->ip_bytes_most);
    CHECK(net_may_change(net) && to->n_routes <= NET_SETTINGS_ROUTES_MAX);
    change_locals(net, to, &fresh);
    change_locals6(net, to, &fresh6, tx);
    bool routed = routes_change(net, to);
    routed |= routes6_change(net, to);
    if (net->open != NULL && (routed || mtu != net->ip_bytes_max))
        udp_paths_forget(net->open);
    net->ip_bytes_max = mtu;
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (fresh >> k & 1)
            arp_announce_local(net, k, tx);
    for (uint32_t k = 0; k < net->v6->n_own; k++)
        if (fresh6 >> k & 1)
            nd_announce_local(net, k, tx);
    const unsigned lost = change_pinned(net, now, to, tx);
    if (routed || (fresh | fresh6) != 0)
        ask_hops(net, now, to, tx);
    return lost;
}
