// SPDX-License-Identifier: BSD-3-Clause
// The worker's side of orders.
#include "worker/order.h"

#include <errno.h>

#include "tcp/tcp_view.h"
#include "worker/port_change.h"
#include "worker/worker.h"

static int settings(struct worker *w, const struct order_settings *s)
{
    struct tcp *t = &w->tcp;
    const struct tcp_config ports = t->cfg;
    t->cfg = s->cfg;
    t->cfg.mss = ports.mss;
    t->cfg.mss6 = ports.mss6;
    t->cfg.large = ports.large;
    for (uint32_t i = 0; i < t->n_services; i++) {
        struct tcp_service *sv = &t->services[i];
        sv->state = s->services[i].state;
        sv->connections_max = s->services[i].connections_max;
        sv->source_max = t->sources != NULL ? s->services[i].source_max : 0;
        sv->keepalive_ms = s->services[i].keepalive_ms;
        sv->keepalive_interval_ms = s->services[i].keepalive_interval_ms;
        sv->keepalive_probes = s->services[i].keepalive_probes;
        sv->user_timeout_ms = s->services[i].user_timeout_ms;
    }
    return 0;
}

static bool has_ends(const struct kill_filter *f, const struct ip_addr *locals,
                     const struct block *b)
{
    const struct flow_key *k = &b->key;
    if ((f->by & KILL_LOCAL_PORT) && k->local_port != f->local_port)
        return false;
    if ((f->by & KILL_REMOTE_PORT) && k->remote_port != f->remote_port)
        return false;
    if ((f->by & KILL_LOCAL) && !ip_equal(&locals[k->local_ix], &f->local))
        return false;
    return !(f->by & KILL_REMOTE) || ip_in_prefix(&k->remote, &f->remote, f->remote_bits);
}

bool kill_filter_matches(const struct kill_filter *f, const struct tcp *t,
                         const struct ip_addr *locals, struct block *b)
{
    if (b->state == TCP_FREE || b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT)
        return false;
    if ((f->by & KILL_STATE) && b->state != f->state)
        return false;
    if ((f->by & KILL_SERVICE) && b->service != f->service)
        return false;
    return has_ends(f, locals, b) && (!(f->by & KILL_IDLE) || tcp_idle_time_ms(t, b) >= f->idle_ms);
}

static bool is_told(const struct block *b, uint32_t services)
{
    const bool over = b->state == TCP_FREE || b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT;
    return !over && (services >> b->service & 1) != 0;
}

// may_reset_now: whether the RST of b can be sent now. The reset may end another connection as
// well, whose RST also needs room. A dead port always has room, because its packets are dropped.
static bool may_reset_now(struct worker *w, const struct block *b)
{
    return tcp_room(&w->tcp, b->key.local_ix) >= 2 ||
           worker_port_is_dead(w, w->port_of_local[b->key.local_ix]);
}

// walk: executes one slice of a walk over all blocks that were ever used. Returns whether it was
// the last slice.
static bool walk(struct worker *w, const struct order *o)
{
    struct tcp *t = &w->tcp;
    struct order_box *box = &w->box;
    const uint32_t used = tcp_view_used(t->block_pool);
    uint32_t most = ORDER_RESETS_TURN, at = shared_u32_load(&box->looked);
    const uint32_t end = MIN(used, at + ORDER_LOOKS_TURN);
    for (; at < end && most != 0; at++) {
        struct block *b = &t->blocks[at];
        if (at + ORDER_FETCH_AHEAD < used)
            tcp_view_fetch(t, at + ORDER_FETCH_AHEAD);
        if (o->kind == ORDER_KILL ? !kill_filter_matches(&o->kill, t, w->sock.shown, b)
                                  : !is_told(b, o->services))
            continue;
        if (!may_reset_now(w, b))
            break;
        most--;
        box->count++;
        if (o->kind == ORDER_DRAIN) {
            sock_drain(&w->sock, at);
            continue;
        }
        if (o->kind == ORDER_SHOWN) {
            sock_shown(&w->sock, at);
            continue;
        }
        sock_reset(&w->sock, at);
        t->stats->c.conns_killed++;
    }
    shared_u32_store(&box->looked, at);
    return at >= used;
}

// pass_turn: the order is seen in the middle of a turn, whose segments may still be built.
static bool pass_turn(struct worker *w)
{
    const uint32_t turns = shared_u32_load(&w->box.looked);
    shared_u32_store(&w->box.looked, turns + 1);
    return turns != 0;
}

static struct net *net_of(const struct worker *w, unsigned port)
{
    return port < w->n_ports ? w->ports[port].net : NULL;
}

static int flush(struct worker *w, unsigned port)
{
    unsigned n = 0;
    for (unsigned p = 0; p < w->n_ports; p++)
        if (p == port || port == WORKER_PORTS_MAX)
            n += net_neighbors_flush(w->ports[p].net);
    w->box.count = n;
    return 0;
}

static int neighbor(struct worker *w, const struct order_neighbor *n)
{
    if (n->act == NEIGHBOR_FLUSH)
        return flush(w, n->port);
    struct net *net = net_of(w, n->port);
    if (net == NULL)
        return -ENODEV;
    const int rc = n->act == NEIGHBOR_DEL
                       ? net_neighbor_del(net, &n->addr)
                       : net_neighbor_add(net, w->tcp.now, &n->addr, &n->mac,
                                          n->act == NEIGHBOR_PERMANENT, &w->ports[n->port].tx);
    w->box.count = rc == 0;
    return rc;
}

void worker_order(struct worker *w)
{
    struct order_box *box = &w->box;
    const struct order *o = &box->order;
    bool over = true;
    if (shared_u32_load_acquire(&box->asked) == shared_u32_load(&box->done)) {
        w->ordered = 0;  // one turn after the order, whose turns must not count as idle
        return;
    }
    switch (o->kind) {
    case ORDER_SETTINGS:
        box->error = settings(w, &o->settings);
        break;
    case ORDER_NEIGHBOR:
        box->error = neighbor(w, &o->neighbor);
        break;
    case ORDER_PORT:
        box->error = worker_port_change(w, &o->port);
        break;
    case ORDER_KILL:
    case ORDER_DRAIN:
    case ORDER_SHOWN:
        over = walk(w, o);
        break;
    case ORDER_TURN:
        over = pass_turn(w);
        break;
    }
    if (!over)
        return;
    // Release: pairs with the acquire load in orders.c before the answer is read.
    shared_u32_store_release(&box->done, shared_u32_load(&box->asked));
}
