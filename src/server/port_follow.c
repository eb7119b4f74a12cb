// SPDX-License-Identifier: BSD-3-Clause
#include "server/port_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/link_state.h"
#include "server/orders.h"
#include "server/server.h"

// follow_said: what was logged already, once each.
struct follow_said {
    bool absent, addresses_over, routes_over, neighbors_over, no_room, mtu, multipath, tables,
        kinds;
};

struct port_follow {
    struct server *server;
    struct orders *orders;
    unsigned port;
    const char *name, *interface;
    struct link_state *link;
    struct port_places places;
    struct port_plan plan;  // that the workers have, or are to get
    bool given;             // the workers have it
    bool waits;             // the order is under way
    uint64_t now_ms, again_ms;
    uint64_t changes, failures;
    uint64_t no_room;  // permanent neighbors for which a worker had no room
    struct follow_said said;
};

struct port_follow *port_follow_new(struct server *s, struct orders *orders, unsigned port,
                                    struct err *err)
{
    const struct server_port_params *pp = &server_params_of(s)->ports[port];
    struct port_follow *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        err_set(err, "no memory");
        return NULL;
    }
    *f = (struct port_follow){.server = s,
                              .orders = orders,
                              .port = port,
                              .name = pp->port.name,
                              .interface = pp->follow,
                              .link = link_state_new(pp->follow, err)};
    port_places_init(&f->places, &pp->net);
    if (f->link != NULL)
        return f;
    free(f);
    return NULL;
}

void port_follow_free(struct port_follow *f)
{
    if (f == NULL)
        return;
    link_state_free(f->link);
    free(f);
}

// say_once: logs a line the first time that `is` holds, and again after it did not.
static void say_once(const struct port_follow *f, bool *said, bool is, const char *what, unsigned n)
{
    if (is && !*said)
        log_say(LOG_port, LOG_WARN, "port %s follows %s: %u %s", f->name, f->interface, n, what);
    *said = is;
}

static void say_refused(struct port_follow *f, const struct port_plan *p)
{
    const struct link_refused *r = link_state_refused(f->link);
    struct follow_said *said = &f->said;
    say_once(f, &said->addresses_over, p->addresses_over != 0,
             "addresses have no place: expected at most 16, in common with those that left",
             p->addresses_over);
    say_once(f, &said->routes_over, p->routes_over + r->over != 0,
             "routes are left out: expected at most 32", p->routes_over + r->over);
    say_once(f, &said->neighbors_over, p->neighbors_over != 0,
             "permanent neighbors are left out: expected at most 16", p->neighbors_over);
    say_once(
        f, &said->no_room, f->no_room != 0,
        "permanent neighbors have no room in a cache: expected [port] arp_entries to hold them",
        (unsigned)f->no_room);
    say_once(f, &said->multipath, r->multipath != 0,
             "routes with several next hops are left out: expected one next hop", r->multipath);
    say_once(f, &said->tables, r->tables != 0,
             "routes of policy routing are left out: expected table main and no TOS", r->tables);
    say_once(f, &said->kinds, r->kinds != 0,
             "routes are left out: expected a next hop of their own family, no encapsulation",
             r->kinds);
}

static bool has(const struct port_plan *p, const struct net_local *l)
{
    for (unsigned k = 0; k < NET_LOCALS_MAX; k++)
        if (ip_equal(&p->settings.locals[k].addr, &l->addr))
            return true;
    return false;
}

// say_addresses: logs the addresses that one plan has and the other has not.
static void say_addresses(const struct port_follow *f, const struct port_plan *one,
                          const struct port_plan *other, const char *what)
{
    char text[IP_TEXT_BYTES];
    for (unsigned k = 0; k < NET_LOCALS_MAX; k++) {
        const struct net_local *l = &one->settings.locals[k];
        if (!ip_is_any(&l->addr) && l->prefix_bits != 0 && !has(other, l))
            log_say(LOG_port, LOG_INFO, "port %s follows %s: %s %s/%u", f->name, f->interface, what,
                    ip_text(&l->addr, text), l->prefix_bits);
    }
}

static void limit_mtu(struct port_follow *f, struct net_settings *s)
{
    const uint16_t most = server_port(f->server, f->port)->mtu, asked = s->mtu;
    s->mtu = (uint16_t)MIN(MAX(asked, (unsigned)FOLLOW_MTU_MIN), most);
    say_once(f, &f->said.mtu, s->mtu != asked,
             "bytes of MTU are not used: expected 576 to [port] mtu", asked);
}

// undo: places that were to get another address keep the old one, to which something is bound.
static void undo(struct port_follow *f)
{
    for (unsigned i = 0; i < f->plan.n_ended; i++)
        for (unsigned k = 0; k < f->places.n; k++) {
            struct port_place *at = &f->places.at[k];
            const struct ip_addr shown =
                server_shown_local(f->server, server_port_local(f->server, f->port) + k);
            if (!ip_equal(&shown, &f->plan.ended[i]) || ip_equal(&at->addr, &shown))
                continue;
            *at = (struct port_place){.addr = shown, .bound = true, .left = f->places.changes};
        }
}

static void on_done(void *arg, const struct order_answer *a)
{
    struct port_follow *f = arg;
    f->waits = false;
    f->given = a->error == 0;
    f->no_room = a->count;
    if (f->given)
        return;
    f->failures++;
    log_say(LOG_port, LOG_WARN, "port %s follows %s: a worker has not changed: %s", f->name,
            f->interface, strerror(-a->error));
    if (a->error == -EBUSY)
        undo(f);
    f->again_ms = f->now_ms + FOLLOW_FAILED_GAP_MS;
}

static bool post_ends(struct port_follow *f, const struct port_plan *p)
{
    struct order o = {.kind = ORDER_KILL};
    for (unsigned i = 0; i < p->n_ended; i++) {
        o.kill = (struct kill_filter){.by = KILL_LOCAL, .local = p->ended[i]};
        if (orders_post(f->orders, &o, NULL, NULL) != 0)
            return false;
    }
    return true;
}

static void apply(struct port_follow *f, const struct port_places *places,
                  const struct port_plan *p)
{
    struct order o = {.kind = ORDER_PORT, .port = {.port = f->port, .settings = p->settings}};
    if (!post_ends(f, p) || orders_post(f->orders, &o, on_done, f) != 0) {
        f->again_ms = f->now_ms + FOLLOW_FAILED_GAP_MS;  // too many orders are under way
        return;
    }
    if (f->changes++ != 0) {
        say_addresses(f, p, &f->plan, "has");
        say_addresses(f, &f->plan, p, "lost");
    }
    server_port_set(f->server, f->port, &p->settings);
    f->places = *places;
    f->plan = *p;
    f->waits = true;
    f->given = false;
}

static void look(struct port_follow *f)
{
    const struct port_wanted *is = link_state_now(f->link);
    struct port_places places = f->places;
    struct port_plan p;
    if (is == NULL && !f->said.absent)
        log_say(LOG_port, LOG_WARN,
                "port %s follows %s, which is not there: it keeps its addresses and routes",
                f->name, f->interface);
    f->said.absent = is == NULL;
    if (is == NULL)
        return;
    port_places_plan(&places, is, &p);
    limit_mtu(f, &p.settings);
    say_refused(f, &p);
    const bool same = memcmp(&p.settings, &f->plan.settings, sizeof(p.settings)) == 0;
    if (!same || !f->given)
        apply(f, &places, &p);
}

bool port_follow_poll(struct port_follow *f, uint64_t now_ms)
{
    f->now_ms = now_ms;
    if (f->again_ms != 0 && now_ms >= f->again_ms) {
        f->again_ms = 0;
        link_state_again(f->link);
    }
    if (f->waits)
        return true;
    if (link_state_poll(f->link, now_ms))
        look(f);
    return f->waits;
}

static void show_counts(const struct port_follow *f, struct text *out)
{
    const struct link_counts *c = link_state_counts(f->link);
    const struct link_refused *r = link_state_refused(f->link);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"changes", f->changes},
                {"changes_failed", f->failures},
                {"notified", c->notified},
                {"notifications_lost", c->lost},
                {"reads", c->dumps},
                {"reads_torn", c->torn},
                {"reads_late", c->late},
                {"netlink_errors", c->errors},
                {"addresses_not_ready", r->addresses},
                {"addresses_left_out", f->plan.addresses_over},
                {"routes_left_out", f->plan.routes_over + r->over},
                {"routes_multipath", r->multipath},
                {"routes_of_tables", r->tables},
                {"routes_of_kinds", r->kinds},
                {"neighbors_left_out", f->plan.neighbors_over + f->no_room}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        text_printf(out, "%s %llu\n", rows[i].name, (unsigned long long)rows[i].value);
}

static void show_addresses(const struct port_follow *f, struct text *out)
{
    char text[IP_TEXT_BYTES];
    for (unsigned k = 0; k < f->places.n; k++) {
        const struct port_place *at = &f->places.at[k];
        if (at->live)
            text_printf(out, "address %s/%u\n", ip_text(&at->addr, text), at->prefix_bits);
        else if (!ip_is_any(&at->addr))
            text_printf(out, "address_gone %s\n", ip_text(&at->addr, text));
    }
}

static void show_settings(const struct net_settings *s, struct text *out)
{
    char to[IP_TEXT_BYTES], via[IP_TEXT_BYTES];
    for (unsigned i = 0; i < s->n_routes; i++) {
        const struct net_route *r = &s->routes[i];
        text_printf(out, "route %s/%u %s\n", ip_text(&r->prefix, to), r->prefix_bits,
                    ip_is_zero(&r->via) ? "link" : ip_text(&r->via, via));
    }
    for (unsigned i = 0; i < s->n_statics; i++) {
        const uint8_t *b = s->statics[i].mac.b;
        text_printf(out, "neighbor %s %02x:%02x:%02x:%02x:%02x:%02x\n",
                    ip_text(&s->statics[i].addr, to), b[0], b[1], b[2], b[3], b[4], b[5]);
    }
}

void port_follow_show(const struct port_follow *f, struct text *out)
{
    const struct port_wanted *is = link_state_now(f->link);
    text_printf(out, "interface %s\nstate %s\n", f->interface,
                is == NULL ? "absent"
                : !is->up  ? "down"
                           : "up");
    if (f->plan.settings.mtu != 0)
        text_printf(out, "mtu_bytes %u\n", f->plan.settings.mtu);
    show_addresses(f, out);
    show_settings(&f->plan.settings, out);
    show_counts(f, out);
}
