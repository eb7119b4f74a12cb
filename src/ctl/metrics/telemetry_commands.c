// SPDX-License-Identifier: BSD-3-Clause
// Everything here runs on threads of DPDK's but start and stop: see server/telemetry.h.
#include "ctl/metrics/telemetry_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ctl/files/tree_files_internal.h"
#include "pkt/port.h"
#include "server/telemetry.h"
#include "stat/counters.h"
#include "worker/worker.h"

static int cores(struct telemetry_out *out, const char *params, const void *arg)
{
    const struct ctl_shown *s = arg;
    char name[CORE_NAME_BYTES];
    for (unsigned i = 0; i < server_workers(s->server); i++) {
        server_core_name(s->server, i, name);
        telemetry_item(out, name);
    }
    return 0;
}

// core_of: the worker whose core's name the parameters are; NULL: none.
static const struct worker *core_of(const struct ctl_shown *s, const char *params)
{
    char name[CORE_NAME_BYTES];
    for (unsigned i = 0; params != NULL && i < server_workers(s->server); i++) {
        server_core_name(s->server, i, name);
        if (strcmp(name, params) == 0)
            return server_worker(s->server, i);
    }
    return NULL;
}

static_assert(CORE_COUNTER_COUNT + 2 <= TELEMETRY_ENTRIES_MAX, "an answer holds them all");
static_assert((int)DROP_COUNT <= (int)TELEMETRY_ENTRIES_MAX, "an answer holds them all");

static int core(struct telemetry_out *out, const char *params, const void *arg)
{
    struct core_stats copy;
    const struct worker *w = core_of(arg, params);
    if (w == NULL)
        return -1;
    stat_snapshot(&copy, w->stats);
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        telemetry_u64(out, stat_counter_names[i].name, ((const uint64_t *)&copy.c)[i]);
    telemetry_u64(out, "dropped", stat_dropped_rx(&copy));
    telemetry_u64(out, "dropped_tx", stat_dropped_tx(&copy));
    return 0;
}

static int drops(struct telemetry_out *out, const char *params, const void *arg)
{
    struct core_stats copy;
    const struct worker *w = core_of(arg, params);
    if (w == NULL)
        return -1;
    stat_snapshot(&copy, w->stats);
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        telemetry_u64(out, stat_drop_names[i].name, copy.drops[i]);
    return 0;
}

static uint64_t total_cycles(const struct core_stats *s)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        sum += s->cycles[i];
    return sum;
}

static int cycles(struct telemetry_out *out, const char *params, const void *arg)
{
    struct core_stats copy;
    const struct worker *w = core_of(arg, params);
    if (w == NULL)
        return -1;
    stat_snapshot(&copy, w->stats);
    for (unsigned i = 0; i < STAGE_COUNT; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s_cycles", stat_stage_names[i].name);
        telemetry_u64(out, name, copy.cycles[i]);
    }
    telemetry_u64(out, "total_cycles", total_cycles(&copy));
    telemetry_u64(out, "busy_cycles", total_cycles(&copy) - copy.cycles[STAGE_idle]);
    return 0;
}

static int ports(struct telemetry_out *out, const char *params, const void *arg)
{
    const struct ctl_shown *s = arg;
    for (unsigned i = 0; i < server_params_of(s->server)->n_ports; i++)
        telemetry_item(out, server_port(s->server, i)->name);
    return 0;
}

static int port(struct telemetry_out *out, const char *params, const void *arg)
{
    const struct ctl_shown *shown = arg;
    const unsigned n = server_params_of(shown->server)->n_ports;
    struct port_stats s;
    unsigned i = 0;
    while (params != NULL && i < n && strcmp(server_port(shown->server, i)->name, params) != 0)
        i++;
    if (params == NULL || i == n)
        return -1;
    ctl_tree_port_stats(shown, i, &s);
    const struct port *p = server_port(shown->server, i);
    telemetry_text(out, "driver", p->ops->driver);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"rx_packets", s.rx_packets},     {"rx_bytes", s.rx_bytes},
                {"tx_packets", s.tx_packets},     {"tx_bytes", s.tx_bytes},
                {"rx_missed", s.rx_missed},       {"rx_nombuf", s.rx_nombuf},
                {"rx_errors", s.rx_errors},       {"tx_errors", s.tx_errors},
                {"tx_no_device", s.tx_no_device}, {"rx_taken_away", s.rx_taken_away},
                {"rx_added", s.rx_added},         {"tx_taken_away", s.tx_taken_away},
                {"tx_added", s.tx_added},         {"rx_lost", port_rx_lost(&s)},
                {"tx_lost", port_tx_lost(&s)}};
    for (unsigned k = 0; k < ARRAY_LEN(rows); k++)
        telemetry_u64(out, rows[k].name, rows[k].value);
    return 0;
}

// The whole numbers of mem/arenas.
static int mem(struct telemetry_out *out, const char *params, const void *arg)
{
    struct text t;
    char *save = NULL;
    text_init(&t, 1 << 16);
    server_arenas(((const struct ctl_shown *)arg)->server, &t);
    char *line = t.len == 0 ? NULL : strtok_r(t.data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, ' ');
        if (value == NULL || strchr(value, '.') != NULL)
            continue;
        *value++ = '\0';
        telemetry_u64(out, line, strtoull(value, NULL, 10));
    }
    text_free(&t);
    return 0;
}

// What DPDK's exporter (24.03 and later) asks for the use of the CPU; DPDK answers it itself only
// for its own lcores, of which workers are none.
static int lcores(struct telemetry_out *out, const char *params, const void *arg)
{
    return cores(out, params, arg);
}

static int lcore(struct telemetry_out *out, const char *params, const void *arg)
{
    struct core_stats copy;
    const struct worker *w = core_of(arg, params);
    if (w == NULL)
        return -1;
    stat_snapshot(&copy, w->stats);
    telemetry_u64(out, "lcore_id", w->cpu);
    telemetry_u64(out, "socket", (uint64_t)MAX(w->node, 0));
    telemetry_text(out, "role", "RTE");
    telemetry_u64(out, "total_cycles", total_cycles(&copy));
    telemetry_u64(out, "busy_cycles", total_cycles(&copy) - copy.cycles[STAGE_idle]);
    return 0;
}

void ctl_telemetry_start(const struct ctl_shown *s)
{
    static const struct {
        const char *cmd;
        telemetry_read *read;
        const char *help;
    } commands[] = {
        {"/c10m/cores", cores, "Names of cores with a worker. No parameters"},
        {"/c10m/core", core, "Counters of a core's worker. Parameters: core"},
        {"/c10m/drops", drops, "Packets that a core dropped, by reason. Parameters: core"},
        {"/c10m/cycles", cycles, "Cycles of a core, by stage of the loop. Parameters: core"},
        {"/c10m/ports", ports, "Names of ports. No parameters"},
        {"/c10m/port", port, "Counters of a port. Parameters: name"},
        {"/c10m/mem", mem, "Bytes reserved, by what they are for. No parameters"},
        {"/eal/lcore/list", lcores, "Cores with a worker. No parameters"},
        {"/eal/lcore/info", lcore, "Busy and total cycles of a core. Parameters: core"},
    };
    if (!server_params_of(s->server)->telemetry)
        return;
    for (unsigned i = 0; i < ARRAY_LEN(commands); i++)
        if (telemetry_add(commands[i].cmd, commands[i].read, s, commands[i].help) != 0)
            log_line(LOG_DEBUG, "telemetry: %s is not ours", commands[i].cmd);
}

void ctl_telemetry_stop(void)
{
    telemetry_close();
}
