// SPDX-License-Identifier: BSD-3-Clause
// Routes: a few prefixes, searched linearly, the longest prefix first. Without configured routes,
// the next hop is the destination itself on a local prefix, else the gateway.
#include <string.h>

#include "net/priv6.h"

uint32_t route_find(const struct net *net, uint32_t dst_raw)
{
    for (uint32_t i = 0; i < net->n_routes; i++) {
        const struct route *r = &net->routes[i];
        if ((dst_raw & r->mask) == r->subnet)
            return r->via_raw != 0 ? r->via_raw : dst_raw;
    }
    return 0;
}

int route_way(const struct net *net, uint32_t dst_raw, uint32_t *hop_raw)
{
    for (uint32_t i = 0; i < net->n_routes; i++) {
        const struct route *r = &net->routes[i];
        if ((dst_raw & r->mask) == r->subnet) {
            *hop_raw = r->via_raw != 0 ? r->via_raw : dst_raw;
            return __builtin_popcount(r->mask);
        }
    }
    return -1;
}

bool route_is_via(const struct net *net, uint32_t v4_raw)
{
    for (uint32_t i = 0; i < net->n_routes; i++)
        if (net->routes[i].via_raw == v4_raw && v4_raw != 0)
            return true;
    return false;
}

// insert: routes are sorted by descending prefix length. Of equal prefixes the first one is used.
static void insert(struct net *net, uint32_t v4, uint8_t prefix_bits, uint32_t via)
{
    const uint32_t mask = mask_of(prefix_bits);
    uint32_t at = net->n_routes++;
    while (at > 0 && raw32(net->routes[at - 1].mask) < mask) {
        net->routes[at] = net->routes[at - 1];
        at--;
    }
    net->routes[at] = (struct route){raw32(mask), raw32(v4 & mask), raw32(via)};
}

// has_route_inside: whether a route covers a part of the local prefix, so that this part is not
// on-link.
static bool has_route_inside(const struct net_config *c, const struct net_local *l)
{
    for (uint32_t i = 0; i < c->n_routes; i++)
        if (c->routes[i].prefix_bits > l->prefix_bits &&
            ip_in_prefix(&c->routes[i].prefix, &l->addr, l->prefix_bits))
            return true;
    return false;
}

void routes_init(struct net *net, const struct net_config *c)
{
    bool routed = false;
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (!local_is_gone(net, k))
            insert(net, ip_to_v4(&c->locals[k].addr), c->locals[k].prefix_bits, 0);
    for (uint32_t i = 0; i < c->n_routes; i++) {
        const struct net_route *r = &c->routes[i];
        if (!ip_is_v4(&r->prefix))
            continue;
        insert(net, ip_to_v4(&r->prefix), r->prefix_bits, ip_to_v4(&r->via));
        routed = true;
    }
    if (c->gateway != 0)
        insert(net, 0, 0, c->gateway);
    net->off_link_hop_raw = routed ? NET_ROUTED : raw32(c->gateway);
    for (uint32_t k = 0; k < net->n_locals; k++) {
        const bool on_link = !local_is_gone(net, k) && !has_route_inside(c, &c->locals[k]);
        net->on_link_mask[k] = on_link ? net->mask[k] : 0;
        net->on_link_subnet[k] = on_link ? net->subnet[k] : 1;  // matches no address
    }
}

// off_link: the next hop of what no on-link prefix has: of the default route, if that is the only
// route with a next hop.
static uint32_t off_link(const struct net *net)
{
    uint32_t vias = 0;
    for (uint32_t i = 0; i < net->n_routes; i++)
        vias += net->routes[i].via_raw != 0;
    const struct route *last = net->n_routes != 0 ? &net->routes[net->n_routes - 1] : NULL;
    if (vias == 1 && last->mask == 0 && last->via_raw != 0)
        return last->via_raw;
    return vias != 0 ? NET_ROUTED : 0;
}

// on_link: notes the prefixes of `to` that are on the link without a part elsewhere, for
// next_hop(). False: there are more than that looks at.
static bool on_link(struct net *net, const struct net_settings *to)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < net->n_locals; k++) {
        net->on_link_mask[k] = 0;
        net->on_link_subnet[k] = 1;  // matches no address
    }
    for (uint32_t i = 0; i < to->n_routes; i++) {
        const struct net_route *r = &to->routes[i];
        bool whole = ip_is_v4(&r->prefix) && ip_is_zero(&r->via);
        for (uint32_t j = 0; whole && j < to->n_routes; j++)
            whole = !net_route_divides(&to->routes[j], r);
        if (!whole)
            continue;
        if (n == net->n_locals)
            return false;
        net->on_link_mask[n] = raw32(mask_of(r->prefix_bits));
        net->on_link_subnet[n++] = raw32(ip_to_v4(&r->prefix) & mask_of(r->prefix_bits));
    }
    return true;
}

bool routes_change(struct net *net, const struct net_settings *to)
{
    struct route before[ROUTES_ALL];
    const uint32_t n_before = net->n_routes;
    memcpy(before, net->routes, sizeof(before));
    net->n_routes = 0;
    for (uint32_t i = 0; i < to->n_routes; i++) {
        const struct net_route *r = &to->routes[i];
        if (ip_is_v4(&r->prefix))
            insert(net, ip_to_v4(&r->prefix), r->prefix_bits,
                   ip_is_zero(&r->via) ? 0 : ip_to_v4(&r->via));
    }
    net->off_link_hop_raw = on_link(net, to) ? off_link(net) : NET_ROUTED;
    return net->n_routes != n_before ||
           memcmp(before, net->routes, n_before * sizeof(before[0])) != 0;
}

static int check_hop(const struct net_config *c, const struct ip_addr *via, struct err *e)
{
    char text[IP_TEXT_BYTES];
    for (uint32_t k = 0; k < c->n_locals; k++)
        if (ip_in_prefix(via, &c->locals[k].addr, c->locals[k].prefix_bits))
            return 0;
    for (uint32_t k = 0; k < c->n_statics; k++)
        if (ip_equal(&c->statics[k].addr, via))
            return 0;
    if (ip6_is_link_local(via))  // every link has the link-local prefix
        return 0;
    return err_set(e, "gateway %s: on no local prefix and no static neighbor", ip_text(via, text));
}

static int check_route(const struct net_config *c, uint32_t at, struct err *e)
{
    const struct net_route *r = &c->routes[at];
    const unsigned most = ip_bits(&r->prefix);
    const struct ip_addr first = ip_first(&r->prefix, MIN(r->prefix_bits, most));
    char text[IP_TEXT_BYTES];
    ip_text(&r->prefix, text);
    if (ip_is_v4(&r->via) != ip_is_v4(&r->prefix))
        return err_set(e, "route %s/%u: not of one family with its gateway", text, r->prefix_bits);
    if (r->prefix_bits < 1 || r->prefix_bits > most || !ip_equal(&first, &r->prefix))
        return err_set(e, "route %s/%u: not a prefix of 1 to %u bits", text, r->prefix_bits, most);
    for (uint32_t i = 0; i < at; i++)
        if (ip_equal(&c->routes[i].prefix, &r->prefix) &&
            c->routes[i].prefix_bits == r->prefix_bits)
            return err_set(e, "route %s/%u: given twice", text, r->prefix_bits);
    return check_hop(c, &r->via, e);
}

int routes_check(const struct net_config *c, struct err *e)
{
    if (c->n_routes > NET_ROUTES_MAX)
        return err_set(e, "%u routes: at most %d", c->n_routes, NET_ROUTES_MAX);
    for (uint32_t i = 0; i < c->n_routes; i++)
        if (check_route(c, i, e) != 0)
            return -1;
    const struct ip_addr gateway = ip_from_v4(c->gateway);
    if (c->gateway != 0 && check_hop(c, &gateway, e) != 0)
        return -1;
    return ip_is_zero(&c->gateway6) ? 0 : check_hop(c, &c->gateway6, e);
}
