// SPDX-License-Identifier: BSD-3-Clause
#include "server/link_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "server/linux_port.h"
#include "server/member_watch.h"
#include "server/replug.h"
#include "server/server.h"
#include "worker/handoff.h"

enum { NS_A_MS = 1000000, WHEN_BYTES = 32 };

struct watched {
    struct port *port;
    struct port_link link;
    uint64_t since_ns, changes;
    uint32_t announces;  // that are still due
    uint64_t announce_ns;
    struct replug replug;
    struct member_watch *members;  // NULL: the port is not over several ports
    bool said_refused;
};

struct link_watch {
    const struct server *server;
    uint64_t next_ns;
    unsigned n;
    struct watched ports[];
};

static const char *const reasons[][2] = {
    [PORT_LINK_NO_CARRIER] = {"no_carrier", "down (no carrier)"},
    [PORT_LINK_SET_DOWN] = {"set_down", "down (set down by the administrator)"},
    [PORT_LINK_GONE] = {"gone", "down (the device is gone)"},
    [PORT_LINK_REPLACED] = {"replaced", "down (the device was replaced)"},
    [PORT_LINK_UNKNOWN] = {"unknown", "unknown"},
    [PORT_LINK_NO_PARTNER] = {"no_partner", "down (no LACP partner)"},
};

const char *link_reason_name(const struct port_link *l)
{
    return l->up ? "none" : reasons[l->reason][0];
}

const char *link_words(const struct port_link *l)
{
    return l->up ? "up" : reasons[l->reason][1];
}

static bool tells(const struct port *p)
{
    return p->ops->view != NULL && p->ops->view->link != NULL;
}

// The time of day in UTC: lines of the log carry none themselves.
static void when(char out[WHEN_BYTES])
{
    struct timespec t;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &utc);
    const size_t n = strftime(out, WHEN_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + n, WHEN_BYTES - n, ".%03ldZ", t.tv_nsec / NS_A_MS);
}

static void say(const struct watched *at, const struct port_link *now, uint64_t now_ns)
{
    char time[WHEN_BYTES], speed[32] = "";
    const uint64_t ms = (now_ns - at->since_ns) / NS_A_MS;
    when(time);
    if (now->up && now->speed_mbps != 0)
        snprintf(speed, sizeof(speed), " at %u Mbit/s", now->speed_mbps);
    log_say(LOG_port, now->up ? LOG_INFO : LOG_WARN,
            "%s port %s: link %s%s; before: %s, for %llu.%03u s%s", time, at->port->name,
            link_words(now), speed, link_words(&at->link), (unsigned long long)(ms / 1000),
            (unsigned)(ms % 1000),
            replug_is_forever(&at->replug, now) ? "; a new one needs a restart" : "");
}

// order_announce: a worker that does not turn does it when it turns again.
static void order_announce(const struct server *s, unsigned port)
{
    for (unsigned i = 0; i < server_workers(s); i++) {
        struct shared_u32 *asked = &server_worker(s, i)->announce_asked[port];
        shared_u32_store(asked, shared_u32_load(asked) + 1);
    }
}

static void announce_if_due(struct link_watch *l, unsigned i, uint64_t now_ns)
{
    struct watched *at = &l->ports[i];
    if (at->announces == 0 || !at->link.up || now_ns < at->announce_ns)
        return;
    at->announces--;
    at->announce_ns = now_ns + (uint64_t)LINK_ANNOUNCE_GAP_MS * NS_A_MS;
    order_announce(l->server, i);
}

// A port that does not tell counts as up.
static void look(struct link_watch *l, unsigned i, uint64_t now_ns)
{
    struct watched *at = &l->ports[i];
    struct port_link now = {0};
    if (!tells(at->port)) {
        linux_port_link(l->server, i, true);
        return;
    }
    at->port->ops->view->link(at->port, &now);
    if (now.up != at->link.up || (!now.up && now.reason != at->link.reason)) {
        say(at, &now, now_ns);
        at->since_ns = now_ns;
        at->changes++;
        at->announces = now.up ? LINK_ANNOUNCES : 0;
        at->announce_ns = now_ns;
    } else if (now.moves != at->link.moves) {
        at->announces = LINK_ANNOUNCES;
        at->announce_ns = now_ns;
    }
    at->link = now;
    linux_port_link(l->server, i, now.up || now.reason == PORT_LINK_UNKNOWN);
    announce_if_due(l, i, now_ns);
}

// refused: how many packets of port i its device refused for good.
static uint64_t refused(const struct server *s, unsigned i)
{
    const struct handoff *h = server_handoff(s, i);
    uint64_t sum = 0;
    for (unsigned w = 0; w < server_workers(s); w++) {
        struct handoff_counts c = {0};
        if (h != NULL)
            handoff_read(h, w, &c);
        sum += stat_load(&server_worker(s, w)->ports[i].refused) + c.tx_refused;
    }
    return sum;
}

static void say_refused(struct link_watch *l, unsigned i)
{
    struct watched *at = &l->ports[i];
    if (at->said_refused || refused(l->server, i) == 0)
        return;
    at->said_refused = true;
    log_say(LOG_port, LOG_WARN,
            "port %s: the driver refused a packet again and again while it took others; such "
            "packets are dropped (tx_full in cores/N/drops)",
            at->port->name);
}

static void begin(struct watched *at, const struct server *s, unsigned i, uint64_t now_ns)
{
    struct port *p = server_port(s, i);
    char time[WHEN_BYTES];
    at->port = p;
    at->since_ns = now_ns;
    replug_init(&at->replug, s, i);
    if (!tells(p))
        return;
    p->ops->view->link(p, &at->link);
    when(time);
    if (!at->link.up)
        log_say(LOG_port, LOG_WARN, "%s port %s: link %s", time, p->name, link_words(&at->link));
}

// begin_members: false: no memory.
static bool begin_members(struct watched *at, const struct server *s, unsigned i)
{
    if (at->port->ops->group == NULL)
        return true;
    at->members = member_watch_new(s, i);
    return at->members != NULL;
}

struct link_watch *link_watch_new(const struct server *s, uint64_t now_ns)
{
    const unsigned n = server_params_of(s)->n_ports;
    struct link_watch *l = calloc(1, sizeof(*l) + n * sizeof(l->ports[0]));
    if (l == NULL)
        return NULL;
    l->server = s;
    l->n = n;
    bool good = true;
    for (unsigned i = 0; i < n; i++) {
        begin(&l->ports[i], s, i, now_ns);
        good = begin_members(&l->ports[i], s, i) && good;
    }
    if (good)
        return l;
    link_watch_free(l);
    return NULL;
}

void link_watch_free(struct link_watch *l)
{
    for (unsigned i = 0; l != NULL && i < l->n; i++)
        member_watch_free(l->ports[i].members);
    free(l);
}

static void look_at_members(struct watched *at, uint64_t now_ns)
{
    char time[WHEN_BYTES];
    if (at->members == NULL)
        return;
    when(time);
    member_watch_look(at->members, now_ns, time);
}

void link_watch_poll(struct link_watch *l, uint64_t now_ns)
{
    if (now_ns < l->next_ns)
        return;
    l->next_ns = now_ns + (uint64_t)LINK_LOOK_MS * NS_A_MS;
    for (unsigned i = 0; i < l->n; i++) {
        look_at_members(&l->ports[i], now_ns);
        look(l, i, now_ns);
        if (replug_look(&l->ports[i].replug, &l->ports[i].link, now_ns))
            look(l, i, now_ns);
        say_refused(l, i);
    }
}

void link_watch_look(struct link_watch *l, unsigned i, uint64_t now_ns, struct link_now *out)
{
    struct watched *at = &l->ports[i];
    look(l, i, now_ns);
    replug_see(&at->replug, &at->link, now_ns);
    *out = (struct link_now){.known = tells(at->port),
                             .link = at->link,
                             .changes = at->changes,
                             .reopened = at->members != NULL ? member_watch_reopened(at->members)
                                                             : at->replug.reopened,
                             .for_ms = (now_ns - at->since_ns) / NS_A_MS};
}
