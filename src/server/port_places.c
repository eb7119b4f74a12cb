// SPDX-License-Identifier: BSD-3-Clause
#include "server/port_places.h"

#include <string.h>

void port_places_fill(struct net_config *c)
{
    struct net_local v4[NET_LOCALS_MAX], v6[NET_LOCALS_MAX];
    unsigned n4 = 0, n6 = 0;
    for (unsigned k = 0; k < c->n_locals; k++)
        if (ip_is_v4(&c->locals[k].addr))
            v4[n4++] = c->locals[k];
        else
            v6[n6++] = c->locals[k];
    // Each family has a place at least: both may come.
    const unsigned most4 = NET_LOCALS_MAX - MAX(n6, 1u),
                   end4 = MIN(MAX(n4, (unsigned)PORT_PLACES_V4), most4);
    for (unsigned k = 0; k < NET_LOCALS_MAX; k++)
        if (k < end4)
            c->locals[k] = k < n4 ? v4[k] : net_local_none(false);
        else
            c->locals[k] = k - end4 < n6 ? v6[k - end4] : net_local_none(true);
    c->n_locals = NET_LOCALS_MAX;
}

void port_places_init(struct port_places *p, const struct net_config *c)
{
    *p = (struct port_places){.n = c->n_locals};
    for (unsigned k = 0; k < p->n; k++) {
        const bool is = !net_local_is_none(&c->locals[k]);
        p->at[k] = (struct port_place){.addr = c->locals[k].addr,
                                       .prefix_bits = c->locals[k].prefix_bits,
                                       .live = is,
                                       .bound = is};
    }
}

static bool is_wanted(const struct port_wanted *w, const struct ip_addr *a)
{
    for (unsigned i = 0; w->up && i < w->n_addresses; i++)
        if (ip_equal(&w->addresses[i].addr, a))
            return true;
    return false;
}

// lose: addresses that are not wanted any more are gone.
static void lose(struct port_places *p, const struct port_wanted *w)
{
    for (unsigned k = 0; k < p->n; k++) {
        struct port_place *at = &p->at[k];
        if (!at->live || is_wanted(w, &at->addr))
            continue;
        at->live = false;
        at->left = p->changes;
    }
}

static struct port_place *place_of(struct port_places *p, const struct ip_addr *a)
{
    for (unsigned k = 0; k < p->n; k++)
        if (ip_equal(&p->at[k].addr, a))
            return &p->at[k];
    return NULL;
}

// place_for: a free place of a's family, or the one whose address is gone for longest. NULL: none.
static struct port_place *place_for(struct port_places *p, const struct ip_addr *a)
{
    struct port_place *best = NULL;
    for (unsigned k = 0; k < p->n; k++) {
        struct port_place *at = &p->at[k];
        if (ip_is_v4(&at->addr) != ip_is_v4(a))
            continue;
        if (ip_is_any(&at->addr))
            return at;
        if (!at->live && !at->bound && (best == NULL || at->left < best->left))
            best = at;
    }
    return best;
}

static void give(struct port_places *p, const struct net_local *l, struct port_plan *out)
{
    struct port_place *at = place_of(p, &l->addr);
    if (at == NULL) {
        at = place_for(p, &l->addr);
        if (at == NULL) {
            out->addresses_over++;
            return;
        }
        if (!ip_is_any(&at->addr))
            out->ended[out->n_ended++] = at->addr;
        at->bound = false;
    }
    at->addr = l->addr;
    at->prefix_bits = l->prefix_bits;
    at->live = true;
}

static void put_routes(const struct port_wanted *w, struct port_plan *out)
{
    struct net_settings *s = &out->settings;
    for (unsigned i = 0; w->up && i < w->n_routes; i++)
        if (s->n_routes == NET_SETTINGS_ROUTES_MAX)
            out->routes_over++;
        else
            s->routes[s->n_routes++] = w->routes[i];
    for (unsigned i = 0; i < w->n_neighbors; i++)
        if (s->n_statics == NET_STATICS_MAX)
            out->neighbors_over++;
        else
            s->statics[s->n_statics++] = w->neighbors[i];
}

void port_places_plan(struct port_places *p, const struct port_wanted *w, struct port_plan *out)
{
    memset(out, 0, sizeof(*out));
    p->changes++;
    lose(p, w);
    for (unsigned i = 0; w->up && i < w->n_addresses; i++)
        give(p, &w->addresses[i], out);
    for (unsigned k = 0; k < p->n; k++) {
        const struct port_place *at = &p->at[k];
        out->settings.locals[k] = at->live ? (struct net_local){at->addr, at->prefix_bits}
                                           : net_local_none(!ip_is_v4(&at->addr));
    }
    out->settings.mtu = w->mtu;
    put_routes(w, out);
}
