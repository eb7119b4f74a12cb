// SPDX-License-Identifier: BSD-3-Clause
#include "server/replug.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "server/server.h"

enum { NS_A_MS = 1000000 };

static struct port *innermost(struct port *p)
{
    while (p->ops->view != NULL && p->ops->view->inner != NULL)
        p = p->ops->view->inner(p);
    return p;
}

// The port inside another one is opened with the name, queues and pools of that.
void replug_init(struct replug *r, const struct server *s, unsigned i)
{
    const struct server_port_params *p = &server_params_of(s)->ports[i];
    *r = (struct replug){.port = innermost(server_port(s, i)), .params = *server_inner_port(p)};
    r->params.name = p->port.name;
    r->params.queues = p->port.queues;
    memcpy(r->params.pools, p->port.pools, sizeof(r->params.pools));
}

static bool is_gone(const struct port_link *l)
{
    return !l->up && (l->reason == PORT_LINK_GONE || l->reason == PORT_LINK_REPLACED);
}

bool replug_is_forever(const struct replug *r, const struct port_link *link)
{
    return is_gone(link) && r->port->ops->replug == NULL;
}

// say: each reason once, as long as it stays.
static void say(struct replug *r, const char *why)
{
    if (strcmp(r->said, why) == 0)
        return;
    snprintf(r->said, sizeof(r->said), "%s", why);
    log_say(LOG_port, LOG_WARN, "%s; it is tried again", why);
}

static void begin(struct replug *r, uint64_t now_ns)
{
    r->away = true;
    r->closed = false;
    r->wait_ms = REPLUG_WAIT_MS;
    r->gone_ns = r->next_ns = now_ns;
    r->said[0] = '\0';
}

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// put_off: in whole milliseconds, so that a short attempt does not miss a look.
static void put_off(struct replug *r, uint64_t now_ns, uint64_t took_ms)
{
    r->next_ns = now_ns + (took_ms + MAX((uint64_t)r->wait_ms, REPLUG_REST * took_ms)) * NS_A_MS;
    r->wait_ms = MIN(2 * r->wait_ms, (uint32_t)REPLUG_WAIT_MAX_MS);
}

static bool try(struct replug *r, uint64_t now_ns)
{
    struct err err = {.text = ""};
    r->closed = r->closed || r->port->ops->replug->detach(r->port);
    if (!r->closed || now_ns < r->next_ns)
        return false;
    const uint64_t began_ns = clock_ns();
    if (r->port->ops->replug->attach(r->port, &r->params, &err) != 0) {
        say(r, err.text);
        put_off(r, now_ns, (clock_ns() - began_ns) / NS_A_MS);
        return false;
    }
    const uint64_t ms = (now_ns - r->gone_ns) / NS_A_MS;
    r->away = false;
    r->reopened++;
    log_say(LOG_port, LOG_INFO, "port %s: the device is open again, after %llu.%03u s",
            r->params.name, (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
    return true;
}

void replug_see(struct replug *r, const struct port_link *link, uint64_t now_ns)
{
    if (!r->away && r->port->ops->replug != NULL && is_gone(link))
        begin(r, now_ns);
}

bool replug_look(struct replug *r, const struct port_link *link, uint64_t now_ns)
{
    replug_see(r, link, now_ns);
    return r->away && try(r, now_ns);
}
