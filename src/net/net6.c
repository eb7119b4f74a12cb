// SPDX-License-Identifier: BSD-3-Clause
// The IPv6 part of struct net: initialization and routes.
#include <string.h>

#include "net/priv6.h"

static const struct ip_addr link_prefix = {{0xfe, 0x80}};
enum { LINK_PREFIX_BITS = 64 };  // RFC 4291 2.5.6

static uint32_t first_v6(const struct net_config *c)
{
    uint32_t k = 0;
    while (k < MIN(c->n_locals, (uint32_t)NET_LOCALS_MAX) && ip_is_v4(&c->locals[k].addr))
        k++;
    return k;
}

size_t net6_footprint(const struct net_config *c)
{
    if (first_v6(c) == MIN(c->n_locals, (uint32_t)NET_LOCALS_MAX))
        return 0;
    return sizeof(struct net6) + neighbor_cache_footprint(c, true);
}

// route6_to: the route to dst and its next hop, or NULL. The same search as in route.c.
static const struct route6 *route6_to(const struct net6 *v6, const struct ip_addr *dst,
                                      struct ip_addr *hop)
{
    const wire_v16 v = v16_of(dst);
    for (uint32_t i = 0; i < v6->n_routes; i++) {
        const struct route6 *r = &v6->routes[i];
        if (wire_is_zero((v & r->mask) ^ r->prefix)) {
            *hop = ip_is_zero(&r->via) ? *dst : r->via;
            return r;
        }
    }
    return NULL;
}

bool route6_find(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop)
{
    return route6_to(v6, dst, hop) != NULL;
}

bool route6_is_via(const struct net6 *v6, const struct ip_addr *a)
{
    for (uint32_t i = 0; i < v6->n_routes; i++)
        if (ip6_same(&v6->routes[i].via, a))
            return !ip_is_zero(a);
    return false;
}

static wire_v16 mask6(unsigned bits)
{
    struct ip_addr all;
    memset(all.b, 0xff, sizeof(all.b));
    all = ip_first(&all, bits);
    return v16_of(&all);
}

static unsigned bits_of(const struct route6 *r)
{
    const uint64_t *half = (const uint64_t *)&r->mask;
    return (unsigned)(__builtin_popcountll(half[0]) + __builtin_popcountll(half[1]));
}

int route6_way(const struct net6 *v6, const struct ip_addr *dst, struct ip_addr *hop)
{
    const struct route6 *r = route6_to(v6, dst, hop);
    return r != NULL ? (int)bits_of(r) : -1;
}

// insert: routes are sorted by descending prefix length. Of equal prefixes the first one is used.
static void insert(struct net6 *v6, const struct ip_addr *addr, unsigned bits,
                   const struct ip_addr *via)
{
    const wire_v16 mask = mask6(bits);
    uint32_t at = v6->n_routes++;
    while (at > 0 && bits_of(&v6->routes[at - 1]) < bits) {
        v6->routes[at] = v6->routes[at - 1];
        at--;
    }
    v6->routes[at] = (struct route6){mask, v16_of(addr) & mask, *via};
}

// has_route_inside: whether a route covers a part of the local prefix, so that this part is not
// on-link.
static bool has_route_inside(const struct net_config *c, const struct ip_addr *addr, unsigned bits)
{
    for (uint32_t i = 0; i < c->n_routes; i++)
        if (!ip_is_v4(&c->routes[i].prefix) && c->routes[i].prefix_bits > bits &&
            ip_in_prefix(&c->routes[i].prefix, addr, bits))
            return true;
    return false;
}

static void add_prefix(struct net6 *v6, const struct net_config *c, const struct ip_addr *addr,
                       unsigned bits)
{
    static const struct ip_addr on_link;
    insert(v6, addr, bits, &on_link);
    if (has_route_inside(c, addr, bits))
        return;
    v6->on_link_mask[v6->n_on_link] = mask6(bits);
    v6->on_link_prefix[v6->n_on_link++] = v16_of(addr) & mask6(bits);
}

void routes6_init(struct net6 *v6, const struct net_config *c)
{
    static const struct ip_addr all;
    for (uint32_t k = first_v6(c); k < c->n_locals; k++)
        if (!net_local_is_none(&c->locals[k]))
            add_prefix(v6, c, &c->locals[k].addr, c->locals[k].prefix_bits);
    add_prefix(v6, c, &link_prefix, LINK_PREFIX_BITS);
    for (uint32_t i = 0; i < c->n_routes; i++) {
        const struct net_route *r = &c->routes[i];
        if (ip_is_v4(&r->prefix))
            continue;
        insert(v6, &r->prefix, r->prefix_bits, &r->via);
        v6->off_link = OFF_LINK_ROUTED;
    }
    if (ip_is_zero(&c->gateway6))
        return;
    insert(v6, &all, 0, &c->gateway6);
    if (v6->off_link == OFF_LINK_ROUTED)
        return;
    v6->off_link = OFF_LINK_GATEWAY;
    v6->off_link_hop = c->gateway6;
}

// link_local_of: the link-local address of a port with this MAC (RFC 4291 2.5.6 and appendix A).
static struct ip_addr link_local_of(const struct mac_addr *mac)
{
    const uint8_t *m = mac->b;
    return (struct ip_addr){{0xfe, 0x80, 0, 0, 0, 0, 0, 0, (uint8_t)(m[0] ^ 2), m[1], m[2], 0xff,
                             0xfe, m[3], m[4], m[5]}};
}

static void add_own(struct net *net, struct net6 *v6, const struct ip_addr *addr)
{
    v6->local[v6->n_own] = *addr;
    wire_from6_init(&v6->from[v6->n_own++], &net->mac, addr);
}

void local6_place(struct net *net, uint32_t k, const struct ip_addr *addr)
{
    struct net6 *v6 = net->v6;
    const uint32_t bit = UINT32_C(1) << k;
    v6->local[k] = *addr;
    if (ip_is_zero(addr)) {
        v6->gone |= bit;
        return;
    }
    v6->gone &= ~bit;
    wire_common6_init(&v6->common[k], &net->mac, addr);
    wire_from6_init(&v6->from[k], &net->mac, addr);
}

// first6: the first place with an address; 0: none has one.
static uint32_t first6(const struct net6 *v6)
{
    const uint32_t live = ~v6->gone & ((UINT32_C(1) << v6->n) - 1);
    return live != 0 ? (uint32_t)__builtin_ctz(live) : 0;
}

void locals6_tables(struct net *net)
{
    static const struct ip_addr none;
    struct net6 *v6 = net->v6;
    const uint32_t first = first6(v6);
    const bool any = !local6_is_gone(v6, first);
    v6->fast_local_ix = (uint16_t)(v6->local_ix_first + first);
    wire_common6_init(&v6->common[0], &net->mac, &v6->local[first]);
    v6->link_local = v6->n;
    for (uint32_t k = v6->n; k-- > 0;)
        if (ip6_is_link_local(&v6->local[k]))
            v6->link_local = k;
    if (v6->n_own > v6->n)
        v6->local[v6->n] = any && v6->link_local == v6->n ? link_local_of(&net->mac) : none;
}

void net6_init(struct net *net, void *mem, const struct net_config *c)
{
    struct net6 *v6 = mem;
    const uint32_t first = first_v6(c);
    bool has_link_local = false;
    net->v6 = v6;
    v6->n = c->n_locals - first;
    v6->local_ix_first = (uint16_t)(c->local_ix_first + first);
    v6->loops = c->loops;
    for (uint32_t k = 0; k < v6->n; k++) {
        has_link_local |= ip6_is_link_local(&c->locals[first + k].addr);
        local6_place(net, k, &c->locals[first + k].addr);
    }
    v6->n_own = v6->n;
    if (!has_link_local || c->changes) {
        const struct ip_addr own = link_local_of(&c->mac);
        add_own(net, v6, &own);
    }
    locals6_tables(net);
    routes6_init(v6, c);
    nd_init(net, c);
}

// add_route: appends a route of net_change(); those are sorted by insert().
static void add_route(struct net6 *v6, const struct net_settings *to, const struct net_route *r)
{
    insert(v6, &r->prefix, r->prefix_bits, &r->via);
    if (!ip_is_zero(&r->via)) {
        v6->off_link = r->prefix_bits == 0 && v6->off_link == OFF_LINK_NONE ? OFF_LINK_GATEWAY
                                                                            : OFF_LINK_ROUTED;
        v6->off_link_hop = r->via;
        return;
    }
    for (uint32_t i = 0; i < to->n_routes; i++)
        if (net_route_divides(&to->routes[i], r))
            return;
    if (v6->n_on_link == NET6_OWN_MAX) {
        v6->off_link = OFF_LINK_ROUTED;
        return;
    }
    v6->on_link_mask[v6->n_on_link] = mask6(r->prefix_bits);
    v6->on_link_prefix[v6->n_on_link++] = v16_of(&r->prefix) & mask6(r->prefix_bits);
}

bool routes6_change(struct net *net, const struct net_settings *to)
{
    struct net6 *v6 = net->v6;
    struct route6 before[ROUTES6_ALL];
    const uint32_t n_before = v6->n_routes;
    memcpy(before, v6->routes, sizeof(before));
    v6->n_routes = v6->n_on_link = 0;
    v6->off_link = OFF_LINK_NONE;
    for (uint32_t i = 0; i < to->n_routes; i++)
        if (!ip_is_v4(&to->routes[i].prefix))
            add_route(v6, to, &to->routes[i]);
    add_route(v6, to, &(struct net_route){.prefix = link_prefix, .prefix_bits = LINK_PREFIX_BITS});
    return v6->n_routes != n_before ||
           memcmp(before, v6->routes, n_before * sizeof(before[0])) != 0;
}

int net6_check(const struct net_config *c, struct err *e)
{
    char text[IP_TEXT_BYTES];
    const uint32_t first = first_v6(c);
    for (uint32_t k = first; k < c->n_locals; k++) {
        if (ip_is_v4(&c->locals[k].addr))
            return err_set(e, "address %s: behind one of IPv6; those of IPv4 come first",
                           ip_text(&c->locals[k].addr, text));
        if (!ip_is_zero(&c->locals[k].addr) && c->mtu < IP6_MTU_MIN)
            return err_set(e, "MTU %u: below %d, which IPv6 needs (address %s)", c->mtu,
                           IP6_MTU_MIN, ip_text(&c->locals[k].addr, text));
    }
    if (ip_is_zero(&c->gateway6))
        return 0;
    if (ip_is_v4(&c->gateway6) || !ip6_is_global_form(&c->gateway6))
        return err_set(e, "gateway %s: not a unicast IPv6 address", ip_text(&c->gateway6, text));
    return 0;
}

uint16_t net_mss6(const struct net *net)
{
    return (uint16_t)(net->ip_bytes_max - IP6_BYTES - TCP_BYTES);
}
