// SPDX-License-Identifier: BSD-3-Clause
#include "server/connections.h"

#include <stdio.h>
#include <string.h>

#include "tcp/tcp_show.h"
#include "tcp/tcp_view.h"

enum { STEP_HEAD, STEP_LISTENERS, STEP_OPENED, STEP_WORKERS, STEPS };

static const struct ip_addr any6;  // ::

// walk: the state of one call of conns_next().
struct walk {
    const struct server *s;
    enum conns_table table;
    struct conns_cursor *at;
    struct text *out;
    struct ip_addr locals[TCP_LOCALS_MAX];
    bool has_v6;
};

static void locals_fill(struct walk *w)
{
    const struct server_params *p = server_params_of(w->s);
    unsigned ix = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned l = 0; l < p->ports[i].net.n_locals && ix < TCP_LOCALS_MAX; l++, ix++) {
            const struct ip_addr *a = &p->ports[i].net.locals[l].addr;
            w->has_v6 |= !ip_is_v4(a) && !ip_is_zero(a);
            // An address that the port has no more may still have connections.
            w->locals[ix] = ip_is_any(a) ? server_shown_local(w->s, ix) : *a;
        }
}

static bool has_room(const struct walk *w)
{
    return w->out->error == 0 && w->out->limit_bytes - w->out->len >= TCP_SHOW_BYTES_MAX;
}

// put: appends the line of the entry, if it belongs to this table.
static void put(struct walk *w, const struct tcp_shown *shown)
{
    char line[TCP_SHOW_BYTES_MAX];
    const bool v4 = ip_is_v4(&shown->local);
    size_t n = 0;
    if (w->table == CONNS_INFO)
        n = tcp_show_info(line, shown);
    else if (w->table == CONNS_TCP4 && v4)
        n = tcp_show_line4(line, shown, w->at->line++);
    else if (w->table == CONNS_TCP6 && !v4)
        n = tcp_show_line6(line, shown, w->at->line++);
    text_put(w->out, line, n);
}

static void put_head(struct walk *w)
{
    static const char *const heads[] = {[CONNS_TCP4] = tcp_show_head4,
                                        [CONNS_TCP6] = tcp_show_head6,
                                        [CONNS_INFO] = tcp_show_info_head};
    text_printf(w->out, "%s", heads[w->table]);
}

static void put_listener(struct walk *w, const struct ip_addr *local, uint16_t port,
                         uint32_t waiting)
{
    const struct tcp_config *cfg = &server_params_of(w->s)->tcp;
    const struct tcp_shown shown = {
        .local = *local,
        .remote = ip_is_v4(local) ? ip_from_v4(0) : any6,
        .local_port = port,
        .state = TCP_LISTENS,
        .rcvq = waiting,
        .rto_ms = cfg->rto_initial_ms,
        .mss = 1,
        .cwnd = cfg->initial_window,
    };
    put(w, &shown);
}

// Place n is port n % TCP_LISTENS_MAX of service n / TCP_LISTENS_MAX.
static bool listeners(struct walk *w)
{
    const struct server_params *p = server_params_of(w->s);
    const uint32_t end = w->table == CONNS_INFO ? 0 : p->n_services * TCP_LISTENS_MAX;
    for (; w->at->place < end; w->at->place++) {
        const struct tcp_service *sv = &p->services[w->at->place / TCP_LISTENS_MAX].tcp;
        const unsigned k = w->at->place % TCP_LISTENS_MAX;
        if (!has_room(w))
            return false;
        if (k >= sv->n_ports)
            continue;
        const struct ip_addr any4 = ip_from_v4(0);
        if (sv->local_ix < TCP_LOCALS_MAX) {
            put_listener(w, &w->locals[sv->local_ix], sv->ports[k], 0);
            continue;
        }
        put_listener(w, &any4, sv->ports[k], 0);
        if (w->has_v6)
            put_listener(w, &any6, sv->ports[k], 0);
    }
    return true;
}

// Listeners opened at run time: those of the first worker, because every worker has them.
static bool opened_listeners(struct walk *w)
{
    const struct listen_table *l = server_worker(w->s, 0)->tcp.listens;
    const uint32_t end = l == NULL || w->table == CONNS_INFO ? 0 : TCP_LISTENINGS_MAX;
    for (; w->at->place < end; w->at->place++) {
        struct listening g;
        if (!has_room(w))
            return false;
        if (!tcp_view_listening(l, w->at->place, &g))
            continue;
        const struct ip_addr any4 = ip_from_v4(0);
        const uint16_t scope = tcp_listen_plain(g.scope);
        const struct ip_addr *local = scope == TCP_LISTEN_V4   ? &any4
                                      : scope < TCP_LOCALS_MAX ? &w->locals[scope]
                                                               : &any6;
        put_listener(w, local, g.port, g.waiting);
    }
    return true;
}

// put_seen: appends the line of an entry. False: there is no room for it.
static bool put_seen(void *arg, const struct conn_seen *seen)
{
    struct walk *w = arg;
    struct tcp_shown shown;
    const struct tcp *t = seen->view;
    if (!has_room(w))
        return false;
    if (seen->kind == CONN_SYN)
        tcp_show_syn(&shown, t, &seen->syn, seen->ix, t->now.ms);
    else if (seen->kind == CONN_BLOCK)
        tcp_show_block(&shown, t, &seen->block, seen->ix, t->now.ms);
    else
        tcp_show_time_wait(&shown, t, &seen->time_wait, seen->ix, t->now.ms);
    shown.worker = seen->worker;
    shown.local = w->locals[MIN(conn_local_ix(seen), TCP_LOCALS_MAX - 1)];
    put(w, &shown);
    return true;
}

// step: False: it stopped before the end.
static bool step(struct walk *w)
{
    unsigned looks = CONN_LOOKS_MAX;
    switch (w->at->step) {
    case STEP_HEAD:
        put_head(w);
        return true;
    case STEP_LISTENERS:
        return listeners(w);
    case STEP_OPENED:
        return opened_listeners(w);
    default:
        return !conn_walk(w->s, &w->at->conn, &looks, put_seen, w);
    }
}

bool conns_next(const struct server *s, enum conns_table table, struct conns_cursor *at,
                struct text *out)
{
    struct walk w = {.s = s, .table = table, .at = at, .out = out};
    locals_fill(&w);
    while (at->step < STEPS && step(&w)) {
        at->step++;
        at->place = 0;
    }
    return at->step < STEPS;
}

// udp_line: as net/ipv4/udp.c and net/ipv6/datagram.c of Linux 6.18 have it. State 07: it takes
// datagrams of anybody, 01: of its peer.
static void udp_line(struct text *out, const struct udp_open *o, unsigned sl)
{
    enum { LINE4_CHARS = 127, NUMBERS_BYTES = 160 };
    char rest[NUMBERS_BYTES];
    uint32_t at[4], peer[4];
    memcpy(at, o->at.b, sizeof(at));
    memcpy(peer, o->peer.b, sizeof(peer));
    snprintf(rest, sizeof(rest),
             ":%04X %s 00000000:00000000 00:00000000 00000000     0        0 0 1 %016x 0",
             o->peer_port, o->peer_port != 0 ? "01" : "07", sl + 1);
    if (ip_is_v4(&o->at))
        text_printf(out, "%5u: %08X:%04X %08X%-*s\n", sl, at[3], o->port, peer[3],
                    LINE4_CHARS - 7 - 13 - 1 - 8, rest);
    else
        text_printf(out, "%5u: %08X%08X%08X%08X:%04X %08X%08X%08X%08X%s\n", sl, at[0], at[1], at[2],
                    at[3], o->port, peer[0], peer[1], peer[2], peer[3], rest);
}

static void udp_port(const struct walk *w, const struct net_udp_port *u, bool v6, unsigned *sl)
{
    const struct ip_addr any = v6 ? any6 : ip_from_v4(0);
    const bool all = u->local_ix >= TCP_LOCALS_MAX;
    const struct ip_addr *local = all ? &any : &w->locals[u->local_ix];
    if (ip_is_v4(local) != v6 && (w->has_v6 || !v6))
        udp_line(w->out, &(struct udp_open){.at = *local, .port = u->port}, (*sl)++);
}

// is_first: whether no earlier port has the same entry. Entries for all addresses are in every
// port.
static bool is_first(const struct server_params *p, unsigned port, const struct net_udp_port *u)
{
    for (unsigned i = 0; i < port; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_udp; k++)
            if (p->ports[i].net.udp[k].port == u->port &&
                p->ports[i].net.udp[k].local_ix == u->local_ix)
                return false;
    return true;
}

// is_shown: whether an earlier worker has the same port open.
static bool is_shown(const struct server *s, unsigned worker, const struct udp_open *o)
{
    for (unsigned i = 0; i < worker; i++)
        if (udp_table_shows(server_worker(s, i)->udp, &o->at, o->port))
            return true;
    return false;
}

static void open_ports(const struct walk *w, bool v6, unsigned *sl)
{
    struct udp_open o;
    for (unsigned i = 0; i < server_workers(w->s); i++) {
        const struct udp_table *t = server_worker(w->s, i)->udp;
        for (uint16_t ix = 0; t != NULL && ix < UDP_PORTS_MAX; ix++)
            if (udp_table_view(t, ix, &o) && !o.icmp && ip_is_v4(&o.at) != v6 &&
                !is_shown(w->s, i, &o))
                udp_line(w->out, &o, (*sl)++);
    }
}

void udp_render(const struct server *s, bool v6, struct text *out)
{
    const struct server_params *p = server_params_of(s);
    struct walk w = {.s = s, .out = out};
    unsigned sl = 0;
    locals_fill(&w);
    text_printf(out, "%s",
                v6 ? "  sl  local_address                         remote_address                   "
                     "     st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref "
                     "pointer drops\n"
                   : "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt "
                     "  uid  timeout inode ref pointer drops            \n");
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_udp; k++)
            if (is_first(p, i, &p->ports[i].net.udp[k]))
                udp_port(&w, &p->ports[i].net.udp[k], v6, &sl);
    open_ports(&w, v6, &sl);
}
