// SPDX-License-Identifier: BSD-3-Clause
#include "worker/port_change.h"

#include <errno.h>

#include "worker/worker.h"

// first_local: the local_ix of a port's first place; n_locals: none.
static unsigned first_local(const struct worker *w, unsigned port)
{
    unsigned ix = 0;
    while (ix < w->sock.n_locals && w->port_of_local[ix] != port)
        ix++;
    return ix;
}

static unsigned places(const struct worker *w, unsigned port, unsigned first)
{
    unsigned n = 0;
    while (first + n < w->sock.n_locals && w->port_of_local[first + n] == port)
        n++;
    return n;
}

static bool is_bound(const struct tcp *t, unsigned ix)
{
    const struct listen_table *l = t->listens;
    for (uint32_t i = 0; i < t->n_services; i++)
        if (t->services[i].local_ix == ix)
            return true;
    for (unsigned i = 0; l != NULL && l->used != 0 && i < l->unused; i++)
        if (l->at[i].live && tcp_listen_plain(l->at[i].scope) == ix)
            return true;
    return false;
}

// would_move: whether something is bound to a place that is to get another address.
static bool would_move(const struct worker *w, unsigned first, unsigned n,
                       const struct net_settings *to)
{
    for (unsigned k = 0; k < n; k++) {
        const struct ip_addr *was = &w->sock.shown[first + k], *next = &to->locals[k].addr;
        if (!ip_is_any(was) && !ip_is_any(next) && !ip_equal(was, next) &&
            is_bound(&w->tcp, first + k))
            return true;
    }
    return false;
}

static void set_locals(struct worker *w, unsigned first, unsigned n, const struct net_settings *to)
{
    for (unsigned k = 0; k < n; k++) {
        w->locals[first + k] = to->locals[k].addr;
        if (!net_local_is_none(&to->locals[k]))
            w->homes.local[first + k] = to->locals[k].addr;
    }
    for (uint16_t ix = 0; ix < w->sock.n_locals; ix++)
        for (w->same[ix] = 0; !ip_equal(&w->locals[w->same[ix]], &w->locals[ix]);)
            w->same[ix]++;
}

static void set_mss(struct worker *w)
{
    uint16_t mss[WORKER_PORTS_MAX], mss6[WORKER_PORTS_MAX];
    for (unsigned p = 0; p < w->n_ports; p++) {
        mss[p] = net_mss(w->ports[p].net);
        mss6[p] = net_mss6(w->ports[p].net);
    }
    tcp_lanes_mss(&w->tcp, mss, mss6);
}

int worker_port_change(struct worker *w, const struct order_port *o)
{
    if (o->port >= w->n_ports || !net_may_change(w->ports[o->port].net))
        return -ENODEV;
    const unsigned first = first_local(w, o->port), n = places(w, o->port, first);
    struct worker_port *wp = &w->ports[o->port];
    if (would_move(w, first, n, &o->settings))
        return -EBUSY;
    seq_count_begin(&w->locals_changes);
    set_locals(w, first, n, &o->settings);
    w->box.count = net_change(wp->net, w->tcp.now, &o->settings, &wp->tx);
    seq_count_end(&w->locals_changes);
    set_mss(w);
    return 0;
}
