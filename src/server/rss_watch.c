// SPDX-License-Identifier: BSD-3-Clause
#include "server/rss_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "server/server_internal.h"

static const struct {
    const char *name, *text;
} kinds[PORT_RSS_ALL_KINDS] = {
    [PORT_RSS_IP4_TCP] = {"ip4_tcp", "IPv4 TCP"},    [PORT_RSS_IP4_UDP] = {"ip4_udp", "IPv4 UDP"},
    [PORT_RSS_IP6_TCP] = {"ip6_tcp", "IPv6 TCP"},    [PORT_RSS_IP6_UDP] = {"ip6_udp", "IPv6 UDP"},
    [PORT_RSS_FRAGMENT] = {"fragment", "fragments"}, [PORT_RSS_OTHER] = {"other", "others"},
};

const char *rss_kind_name(enum port_rss_kind k)
{
    return kinds[k].name;
}

const char *rss_kind_text(enum port_rss_kind k)
{
    return kinds[k].text;
}

const char *rss_state_name(enum rss_state s)
{
    static const char *const names[] = {"none", "right", "suspect", "software"};
    return names[s];
}

void rss_watch_init(struct rss_watch *w, struct handoff *handoff, unsigned workers,
                    struct port *port)
{
    *w = (struct rss_watch){.handoff = handoff, .port = port, .workers = workers};
    if (handoff != NULL && handoff_trusted(handoff))
        w->state = RSS_RIGHT;
}

static uint64_t received(struct port *p)
{
    struct port_stats s;
    p->ops->stats(p, &s);
    return s.rx_packets;
}

void rss_wrong_sum(const struct handoff *h, unsigned workers, uint64_t wrong[PORT_RSS_ALL_KINDS])
{
    memset(wrong, 0, PORT_RSS_ALL_KINDS * sizeof(*wrong));
    for (unsigned i = 0; i < workers; i++) {
        struct handoff_counts c;
        handoff_read(h, i, &c);
        for (unsigned k = 0; k < PORT_RSS_ALL_KINDS; k++)
            wrong[k] += c.rss_wrong[k];
    }
}

// count: reads what the workers have counted; returns how many more are evidence.
static uint64_t count(struct rss_watch *w)
{
    uint64_t now[PORT_RSS_ALL_KINDS], more = 0;
    rss_wrong_sum(w->handoff, w->workers, now);
    for (unsigned k = 0; k < PORT_RSS_KINDS; k++)
        if ((w->port->rss_kinds >> k & 1) != 0)
            more += now[k] - w->wrong[k];
    memcpy(w->wrong, now, sizeof(now));
    return more;
}

// may_say: at most one line of each kind in RSS_SAY_MS.
static bool may_say(struct rss_watch *w, enum rss_line line, uint64_t now_ns)
{
    const bool may =
        w->said_ns[line] == 0 || now_ns - w->said_ns[line] >= (uint64_t)RSS_SAY_MS * 1000000;
    if (may)
        w->said_ns[line] = now_ns;
    return may;
}

static void say_wrong(struct rss_watch *w, uint64_t now_ns)
{
    struct text t;
    if (!may_say(w, RSS_LINE_WRONG, now_ns))
        return;
    text_init(&t, 256);
    for (unsigned k = 0; k < PORT_RSS_KINDS; k++) {
        const uint64_t n = w->wrong[k] - w->said[k];
        if (n == 0 || (w->port->rss_kinds >> k & 1) == 0)
            continue;
        text_printf(&t, t.len == 0 ? "%" PRIu64 " packets of %s" : ", %" PRIu64 " of %s", n,
                    kinds[k].text);
        w->said[k] = w->wrong[k];
    }
    if (t.len != 0)
        log_say(LOG_port, LOG_WARN,
                "port %s: %s arrived at the wrong queue; handed over by software", w->port->name,
                t.data);
    text_free(&t);
}

static void say_checked(struct rss_watch *w, const struct port_rss_check *c, uint64_t now_ns)
{
    const bool as_set = !c->key_wrong && c->entries_wrong == 0;
    if (!may_say(w, as_set ? RSS_LINE_AS_SET : RSS_LINE_NOT_AS_SET, now_ns))
        return;
    if (as_set)
        log_say(LOG_port, LOG_WARN, "port %s: the device's RSS key%s as they were set",
                w->port->name,
                c->readable ? " and table are" : " is, its table cannot be read, both");
    else
        log_say(LOG_port, LOG_WARN,
                "port %s: the device's RSS key is %s, %u of %u table entries are not as set: %s",
                w->port->name, c->key_wrong ? "not as set" : "right", c->entries_wrong,
                w->port->rss_entries, c->mended ? "written again" : "they cannot be written");
}

// check: true: something was wrong and is mended.
static bool check(struct rss_watch *w, uint64_t now_ns)
{
    struct port *p = w->port;
    while (p->ops->view != NULL && p->ops->view->rss_check == NULL && p->ops->view->inner != NULL)
        p = p->ops->view->inner(p);
    w->checked_ns = now_ns;
    w->checks++;
    if (p->ops->view == NULL || p->ops->view->rss_check == NULL)
        return false;
    struct port_rss_check c;
    p->ops->view->rss_check(p, &c);
    w->repairs += c.mended;
    say_checked(w, &c, now_ns);
    return c.mended;
}

static void enter(struct rss_watch *w, enum rss_state state)
{
    w->state = state;
    w->doubt = 0;
    w->received = received(w->port);
    w->in_flight = state == RSS_SUSPECT;
    handoff_trust(w->handoff, state != RSS_SOFTWARE);
}

// calm: whether, of enough packets, few were wrong. Looks at the next ones if many were.
static bool calm(struct rss_watch *w)
{
    const uint64_t now = received(w->port), n = now - w->received;
    if (n < RSS_CALM || n > UINT64_MAX / 2)  // a counter that was set back
        return false;
    const bool few = w->doubt < n / RSS_FEW;
    if (!few && w->state == RSS_SOFTWARE) {
        w->received = now;
        w->doubt = 0;
    }
    return few;
}

static void look_suspect(struct rss_watch *w, uint64_t now_ns)
{
    if (w->in_flight) {
        w->in_flight = false;
        w->doubt = 0;
        w->received = received(w->port);
        return;
    }
    if (w->doubt >= RSS_GIVE_UP) {
        say_wrong(w, now_ns);
        log_say(LOG_port, LOG_WARN,
                "port %s: it does not spread packets as it was set; software shares them out",
                w->port->name);
        enter(w, RSS_SOFTWARE);
    } else if (calm(w)) {
        enter(w, RSS_RIGHT);
    }
}

static void look_software(struct rss_watch *w, uint64_t now_ns)
{
    if (calm(w)) {
        if (may_say(w, RSS_LINE_STATE, now_ns))
            log_say(LOG_port, LOG_INFO, "port %s: packets arrive at their queues again",
                    w->port->name);
        enter(w, RSS_RIGHT);
    } else if (now_ns - w->checked_ns >= (uint64_t)RSS_RETRY_MS * 1000000 && w->doubt != 0 &&
               check(w, now_ns)) {
        enter(w, RSS_SUSPECT);
    }
}

void rss_watch_look(struct rss_watch *w, uint64_t now_ns)
{
    if (w->state == RSS_NONE || now_ns - w->looked_ns < (uint64_t)RSS_LOOK_MS * 1000000)
        return;
    w->looked_ns = now_ns;
    w->doubt += count(w);
    switch (w->state) {
    case RSS_RIGHT:
        if (w->doubt < RSS_EVIDENCE)
            return;
        say_wrong(w, now_ns);
        check(w, now_ns);
        enter(w, RSS_SUSPECT);
        return;
    case RSS_SUSPECT:
        look_suspect(w, now_ns);
        return;
    default:
        look_software(w, now_ns);
    }
}

struct rss_watch *rss_watch_new(const struct server *s)
{
    struct rss_watch *all = calloc(WORKER_PORTS_MAX, sizeof(*all));
    for (unsigned i = 0; all != NULL && i < s->params.n_ports; i++)
        rss_watch_init(&all[i], s->handoffs[i], s->params.n_workers, s->ports[i]);
    return all;
}
