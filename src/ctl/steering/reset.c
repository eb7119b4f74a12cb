// SPDX-License-Identifier: BSD-3-Clause
// ctl/reset: resets counters to zero for readers of the tree.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "ctl/steering/steering_internal.h"

static void reset_cores(struct ctl_steering *st)
{
    for (unsigned w = 0; w < server_workers(st->p.server); w++)
        ctl_baseline_reset_core(st->baseline, w);
}

static void reset_latency(struct ctl_steering *st)
{
    for (unsigned w = 0; w < server_workers(st->p.server); w++)
        ctl_baseline_reset_latency(st->baseline, w);
}

static void reset_ports(struct ctl_steering *st)
{
    for (unsigned p = 0; p < server_params_of(st->p.server)->n_ports; p++)
        if (server_port(st->p.server, p) != NULL)
            ctl_baseline_reset_port(st->baseline, p);
}

static void reset_stalls(struct ctl_steering *st)
{
    if (st->p.shown != NULL && st->p.shown->stalls != NULL)
        stalls_reset(st->p.shown->stalls);
}

static void reset_all(struct ctl_steering *st)
{
    reset_cores(st);
    reset_latency(st);
    reset_ports(st);
    reset_stalls(st);
}

static int reset_core(struct ctl_steering *st, const char *name)
{
    char core[CORE_NAME_BYTES];
    for (unsigned w = 0; w < server_workers(st->p.server); w++) {
        server_core_name(st->p.server, w, core);
        if (strcmp(core, name) != 0)
            continue;
        ctl_baseline_reset_core(st->baseline, w);
        ctl_baseline_reset_latency(st->baseline, w);
        return 0;
    }
    return -EINVAL;
}

static int reset_port(struct ctl_steering *st, const char *name)
{
    const struct server_params *p = server_params_of(st->p.server);
    for (unsigned i = 0; i < p->n_ports; i++) {
        if (strcmp(p->ports[i].port.name, name) != 0 || server_port(st->p.server, i) == NULL)
            continue;
        ctl_baseline_reset_port(st->baseline, i);
        return 0;
    }
    return -EINVAL;
}

static int reset_by_name(struct ctl_steering *st, const char *name)
{
    static const struct {
        const char *name;
        void (*reset)(struct ctl_steering *st);
    } whole[] = {{"all", reset_all},
                 {"cores", reset_cores},
                 {"latency", reset_latency},
                 {"ports", reset_ports},
                 {"stalls", reset_stalls}};
    for (unsigned i = 0; i < ARRAY_LEN(whole); i++)
        if (strcmp(whole[i].name, name) == 0) {
            whole[i].reset(st);
            return 0;
        }
    if (strncmp(name, "cores/", 6) == 0)
        return reset_core(st, name + 6);
    return strncmp(name, "ports/", 6) == 0 ? reset_port(st, name + 6) : -EINVAL;
}

static int reset_write(struct ctl_steering_entry *e, char *line)
{
    const int rc = reset_by_name(e->st, line);
    if (rc == 0)
        snprintf(e->last, sizeof(e->last), "reset: %.100s", line);
    return rc;
}

static const struct ctl_steering_file reset_file = {
    .help =
        "# Resets the counters to zero as these files show them:\n"
        "#   cores            cores/*/counters, drops, cycles\n"
        "#   latency          cores/*/latency\n"
        "#   cores/N          all of these of one core\n"
        "#   ports, ports/NAME   ports/*/counters\n"
        "#   stalls           cores/*/stalls, stall_causes\n"
        "#   all\n"
        "# Other counters continue: net/, apps/, xstats, /metrics and StatsD. Names that end in\n"
        "# _now are current values and are not reset.\n",
    .write = reset_write,
};

int ctl_steering_reset_fill(struct ctl_steering *st, struct tree_node *root)
{
    return ctl_steering_add(st, root, "ctl/reset", &reset_file, 0);
}
