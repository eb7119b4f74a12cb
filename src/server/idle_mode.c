// SPDX-License-Identifier: BSD-3-Clause
#include "server/idle_mode.h"

#include <errno.h>
#include <rte_cpuflags.h>
#include <rte_power_intrinsics.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "server/server_internal.h"

const char *idle_mode_name(enum idle_mode mode)
{
    static const char *const names[] = {[IDLE_POLL] = "poll",
                                        [IDLE_PAUSE] = "pause",
                                        [IDLE_MONITOR] = "monitor",
                                        [IDLE_INTERRUPT] = "interrupt"};
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

static struct rte_cpu_intrinsics cpu(void)
{
    struct rte_cpu_intrinsics i;
    rte_cpu_get_intrinsics_support(&i);
    return i;
}

static int no_sleep(const struct server_params *p, struct err *err)
{
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct port_params *device = never_wakes(&p->ports[i]);
        if (device != NULL)
            return err_set(err,
                           "idle is as pause with port %s: a worker can only poll ports of driver "
                           "%s, not sleep until they have packets",
                           p->ports[i].port.name, device->driver);
    }
    return 0;
}

static int no_monitor(const struct server_params *p, struct err *err)
{
    if (!cpu().power_monitor)
        return err_set(err, "idle is as pause: this CPU has no UMWAIT (waitpkg)");
    if (p->n_ports > 1)
        return err_set(err, "idle is as pause: a worker can watch one port, not %u", p->n_ports);
    const char *driver = p->n_ports == 0 ? "" : server_inner_port(&p->ports[0])->driver;
    if (strcmp(driver, "pci") != 0)
        return err_set(err,
                       "idle is as pause with port %s: a worker can watch NICs (driver pci), not "
                       "driver %s",
                       p->ports[0].port.name, driver);
    return 0;
}

bool idle_mode_doubt(const struct server_params *p, struct err *err)
{
    const bool doubt = (p->idle == IDLE_INTERRUPT && no_sleep(p, err) != 0) ||
                       (p->idle == IDLE_MONITOR && no_monitor(p, err) != 0);
    if (doubt)
        err_key(err, "cpu.idle");
    return doubt;
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

// polled: whether port p of w cannot do after all what its driver should.
static bool polled(const struct worker *w, unsigned p, enum idle_mode mode)
{
    int fds[IDLE_FDS_MAX];
    struct rte_power_monitor_cond line;
    const struct worker_port *wp = &w->ports[p];
    if (mode == IDLE_MONITOR)  // workers without a queue pause
        return w->id == 0 && !port_wait_line(wp->port, wp->queue, &line);
    return mode == IDLE_INTERRUPT && port_wait_fds(wp->port, wp->queue, fds, ARRAY_LEN(fds)) < 0;
}

static enum idle_mode mode_of_ports(const struct server *s)
{
    const enum idle_mode mode = idle_mode_of(&s->params);
    for (unsigned i = 0; i < s->params.n_workers; i++)
        for (unsigned p = 0; p < s->params.n_ports; p++)
            if (polled(s->workers[i], p, mode)) {
                log_say(LOG_port, LOG_WARN,
                        "idle is as pause with port %s: its driver gives nothing that tells worker "
                        "%u of packets",
                        s->workers[i]->ports[p].port->name, i);
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
        w->idle_wait.has_tpause = cpu().power_pause;
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
