// SPDX-License-Identifier: BSD-3-Clause
#include "server/idle_mode.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "server/server_internal.h"

const char *idle_mode_name(enum idle_mode mode)
{
    static const char *const names[] = {
        [IDLE_POLL] = "poll", [IDLE_PAUSE] = "pause", [IDLE_INTERRUPT] = "interrupt"};
    return names[mode];
}

// never_wakes: the device of port i without a descriptor that tells of packets; NULL: there is
// none. A VLAN has that of its parent.
static const struct port_params *never_wakes(const struct server_port_params *pp)
{
    const struct port_params *device;
    if (pp->net.loops || driver_has_parent(pp->port.driver))
        return NULL;
    for (unsigned k = 0; (device = server_device(pp, k)) != NULL; k++)
        if (driver_device(device->driver) != DEVICE_INTERFACE)
            return device;
    return NULL;
}

bool idle_mode_doubt(const struct server_params *p, struct err *err)
{
    for (unsigned i = 0; i < p->n_ports && p->idle == IDLE_INTERRUPT; i++) {
        const struct port_params *device = never_wakes(&p->ports[i]);
        if (device == NULL)
            continue;
        err_set(err,
                "idle is as pause with port %s: a worker can only poll ports of driver %s, not "
                "sleep until they have packets",
                p->ports[i].port.name, device->driver);
        err_key(err, "cpu.idle");
        return true;
    }
    return false;
}

enum idle_mode idle_mode_of(const struct server_params *p)
{
    struct err err;
    return idle_mode_doubt(p, &err) ? IDLE_PAUSE : (enum idle_mode)p->idle;
}

void idle_mode_render(const struct server_params *p, struct text *out)
{
    struct err err;
    text_printf(out, "workers without work %s", idle_mode_name(idle_mode_of(p)));
    if (p->idle != IDLE_POLL)
        text_printf(out, " after %u us", p->idle_after_us);
    text_printf(out, "\n");
    if (idle_mode_doubt(p, &err))
        text_printf(out, "note: %s\n", err.text);
}

// polled_port: a port of w that has no descriptors after all. NULL: all have.
static const struct port *polled_port(const struct worker *w)
{
    int fds[IDLE_FDS_MAX];
    for (unsigned p = 0; p < w->n_ports; p++)
        if (port_wait_fds(w->ports[p].port, w->ports[p].queue, fds, ARRAY_LEN(fds)) < 0)
            return w->ports[p].port;
    return NULL;
}

static enum idle_mode mode_of_ports(const struct server *s)
{
    const enum idle_mode mode = idle_mode_of(&s->params);
    for (unsigned i = 0; i < s->params.n_workers && mode == IDLE_INTERRUPT; i++) {
        const struct port *p = polled_port(s->workers[i]);
        if (p == NULL)
            continue;
        log_say(LOG_port, LOG_WARN,
                "idle is as pause with port %s: its driver gives no descriptor that tells worker "
                "%u of packets",
                p->name, i);
        return IDLE_PAUSE;
    }
    return mode;
}

static int give_wake(struct server *s, struct worker *w, struct err *err)
{
    w->idle_wait.wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->idle_wait.wake.fd < 0)
        return err_set(err, "worker %u: no descriptor to wake it: %s", w->id, strerror(errno));
    for (unsigned i = 0; i < s->params.n_ports && s->handoffs[i] != NULL; i++)
        handoff_wake(s->handoffs[i], w->id, &w->idle_wait.wake);
    return 0;
}

int idle_mode_start(struct server *s, struct err *err)
{
    const enum idle_mode mode = mode_of_ports(s);
    for (unsigned i = 0; i < s->params.n_workers; i++) {
        struct worker *w = s->workers[i];
        w->idle_wait.mode = mode;
        w->idle_wait.after_us = s->params.idle_after_us;
        if (mode == IDLE_INTERRUPT && give_wake(s, w, err) != 0)
            return -1;
    }
    return 0;
}

void idle_mode_stop(struct server *s)
{
    for (unsigned i = 0; i < s->params.n_workers && s->workers[i] != NULL; i++) {
        struct wake *wake = &s->workers[i]->idle_wait.wake;
        if (wake->fd >= 0)
            close(wake->fd);
        wake->fd = -1;
    }
}
