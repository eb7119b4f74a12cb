// SPDX-License-Identifier: BSD-3-Clause
#include "server/member_watch.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/link_watch.h"
#include "server/server.h"

struct seen {
    struct port_member is;  // as it was last
    struct replug replug;
};

struct member_watch {
    struct port *port;
    unsigned n;
    struct seen members[PORT_MEMBERS_MAX];
};

// reason_of: why a member is not usable.
static const char *reason_of(const struct port_member *is)
{
    return is->up ? is->why : link_words(&is->link);
}

static unsigned usable_of(const struct port_member *now, unsigned n)
{
    unsigned usable = 0;
    for (unsigned m = 0; m < n; m++)
        usable += now[m].usable;
    return usable;
}

static void say_usable(const struct member_watch *w, const struct port_member *now, unsigned m,
                       const char *time)
{
    const struct port_member *is = &now[m];
    const unsigned usable = usable_of(now, w->n);
    if (is->usable)
        log_say(LOG_port, LOG_INFO, "%s port %s: member %s joined; %u of %u members usable", time,
                w->port->name, is->port->name, usable, w->n);
    else
        log_say(LOG_port, LOG_WARN, "%s port %s: member %s left: %s; %u of %u members usable", time,
                w->port->name, is->port->name, reason_of(is), usable, w->n);
}

// say_moved: traffic went on to member `to`. What was active before, and is not usable any more, is
// the reason.
static void say_moved(const struct member_watch *w, const struct port_member *now, unsigned to,
                      const char *time)
{
    for (unsigned m = 0; m < w->n; m++)
        if (w->members[m].is.active && !now[m].active) {
            log_say(LOG_port, LOG_INFO, "%s port %s: active member %s (%s: %s)", time,
                    w->port->name, now[to].port->name, now[m].port->name,
                    now[m].usable ? "usable, not preferred" : reason_of(&now[m]));
            return;
        }
}

static bool any_stays(const struct member_watch *w, const struct port_member *now)
{
    for (unsigned m = 0; m < w->n; m++)
        if (w->members[m].is.active && now[m].active)
            return true;
    return false;
}

static void say_changes(const struct member_watch *w, const struct port_member *now,
                        const char *time)
{
    for (unsigned m = 0; m < w->n; m++)
        if (now[m].usable != w->members[m].is.usable)
            say_usable(w, now, m, time);
    for (unsigned m = 0; m < w->n && !any_stays(w, now); m++)
        if (now[m].active) {
            say_moved(w, now, m, time);
            return;
        }
}

static void read_members(const struct member_watch *w, struct port_member *now)
{
    for (unsigned m = 0; m < w->n; m++)
        w->port->ops->group->member(w->port, m, &now[m]);
}

// begin_replug: a member is opened again with the MAC address of the whole.
static void begin_replug(struct replug *r, const struct port_params *params,
                         const struct port_member *is, const struct port *whole)
{
    *r = (struct replug){.port = is->port, .params = *params};
    r->params.has_mac = true;
    r->params.mac = whole->mac;
}

struct member_watch *member_watch_new(const struct server *s, unsigned i)
{
    struct member_watch *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return NULL;
    const struct server_port_params *pp = &server_params_of(s)->ports[i];
    w->port = server_port(s, i);
    for (struct port_member is; w->port->ops->group->member(w->port, w->n, &is); w->n++) {
        w->members[w->n].is = is;
        begin_replug(&w->members[w->n].replug, server_device(pp, w->n), &is, w->port);
        if (!is.up)
            log_say(LOG_port, LOG_WARN, "port %s: member %s: link %s", w->port->name, is.port->name,
                    link_words(&is.link));
    }
    return w;
}

void member_watch_free(struct member_watch *w)
{
    free(w);
}

void member_watch_look(struct member_watch *w, uint64_t now_ns, const char *time)
{
    struct port_member now[PORT_MEMBERS_MAX];
    w->port->ops->group->look(w->port, now_ns);
    read_members(w, now);
    say_changes(w, now, time);
    for (unsigned m = 0; m < w->n; m++) {
        w->members[m].is = now[m];
        replug_look(&w->members[m].replug, &now[m].link, now_ns);
    }
}

uint64_t member_watch_reopened(const struct member_watch *w)
{
    uint64_t sum = 0;
    for (unsigned m = 0; m < w->n; m++)
        sum += w->members[m].replug.reopened;
    return sum;
}
