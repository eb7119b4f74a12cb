// SPDX-License-Identifier: BSD-3-Clause
// The file verdict: the problems of the server. This file collects the input once a second;
// server/verdict.h makes the judgment.
#include <stdlib.h>
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "server/linux_port.h"
#include "server/server_log.h"
#include "sock/sock.h"
#include "tcp/tcp.h"
#include "worker/handoff.h"

struct ctl_verdict {
    struct verdict verdict;
    struct verdict_look look;
    uint64_t next_ns;
};

static uint64_t time_of_day_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void look_at_members(struct port *p, struct verdict_port *out)
{
    struct port_member is;
    for (; p->ops->group != NULL && p->ops->group->member(p, out->members, &is); out->members++)
        out->members_usable += is.usable;
}

static void look_at_port(const struct ctl_shown *s, unsigned i, struct verdict_port *out)
{
    struct port *p = server_port(s->server, i);
    const struct handoff *steer = server_handoff(s->server, i);
    struct port_stats counted;
    struct link_now link;
    ctl_tree_port_stats(s, i, &counted);
    *out = (struct verdict_port){.name = p->name,
                                 .rx_missed = counted.rx_missed,
                                 .rx_nombuf = counted.rx_nombuf,
                                 .rx_errors = counted.rx_errors,
                                 .tx_errors = counted.tx_errors,
                                 .linux_gone = linux_port_gone(s->server, i),
                                 .rss = s->rss[i].state};
    look_at_members(p, out);
    link_watch_look(s->links, i, liveness_clock_ns(), &link);
    out->link_known = link.known && (link.link.up || link.link.reason != PORT_LINK_UNKNOWN);
    out->link_up = link.link.up;
    out->link_reason = out->link_known && !out->link_up ? link_reason_name(&link.link) : NULL;
    for (unsigned w = 0; steer != NULL && w < server_workers(s->server); w++) {
        struct handoff_counts c = {0};
        handoff_read(steer, w, &c);
        out->handoff_lost += c.lost;
    }
}

static void look_at_liveness(const struct ctl_shown *s, unsigned w, struct verdict_core *out)
{
    struct liveness_now now;
    liveness_look(s->liveness, w, liveness_clock_ns(), &now);
    if (now.state != LIVENESS_STALLED)
        return;
    out->stalled_ms = now.for_ms;
    out->stage = stat_stage_names[now.stage].name;
    out->app = now.service == NULL ? NULL : now.service->app->name;
    out->service = now.service == NULL ? NULL : now.service->name;
    out->function = hang_watch_look(s->hangs, w)->names.function;
}

static void look_at_core(const struct ctl_shown *s, unsigned w, struct verdict_core *out)
{
    const struct core_stats *stats = server_worker(s->server, w)->stats;
    const struct linux_counts *host = stalls_host(s->stalls, w);
    *out = (struct verdict_core){.host_ns = stalls_host_ns(s->stalls, w),
                                 .wait_ns = host->wait_ns,
                                 .steal_ns = host->steal_ticks * LINUX_TICK_NS};
    server_core_name(s->server, w, out->name);
    for (unsigned i = 0; i < host->n_interrupts; i++)
        if (strcmp(host->interrupts[i].name, "LOC") != 0)
            out->interrupts += host->interrupts[i].count;
    for (unsigned i = 0; i < STAGE_COUNT; i++) {
        const uint64_t cycles = stat_load(&stats->cycles[i]);
        out->cycles += cycles;
        out->busy_cycles += i == STAGE_idle ? 0 : cycles;
    }
    out->n_pools = fill_pools(s->fill, w, out->pools);
    look_at_liveness(s, w, out);
}

static void look_at_service(const struct ctl_shown *s, unsigned i, struct verdict_service *out)
{
    uint64_t handed;
    const unsigned n = server_workers(s->server);
    *out = (struct verdict_service){
        .name = server_service(s->server, i)->name,
        .state = peek_u8(&server_worker(s->server, 0)->tcp.services[i].state),
        .shares = n};
    for (unsigned w = 0; w < n; w++) {
        const struct tcp_service *t = &server_worker(s->server, w)->tcp.services[i];
        const uint32_t now = peek_u32(&t->connections), max = peek_u32(&t->connections_max);
        out->connections += now;
        out->connections_max += max;
        out->shares_full += max != 0 && now >= max;
    }
    // A limit of the service that is not below that of the server is ignored: connections_full
    // reports it.
    if (out->connections_max >= server_params_of(s->server)->connections)
        out->shares_full = 0;
    server_log_counts(s->server, i, &handed, &out->log_lost);
}

static void look_at_totals(const struct ctl_shown *s, struct verdict_look *out)
{
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        const struct core_stats *stats = server_worker(s->server, w)->stats;
        for (unsigned d = DROP_NONE + 1; d < DROP_COUNT; d++)
            out->drops[d] += stat_load(&stats->drops[d]);
        out->conns_shed += stat_load(&stats->c.conns_shed);
        out->time_wait_evicted += stat_load(&stats->c.time_wait_evicted);
    }
}

static void look(const struct ctl_shown *s, uint64_t now_ns, struct verdict_look *out)
{
    const struct server_params *p = server_params_of(s->server);
    *out = (struct verdict_look){
        .now_ns = now_ns,
        .clock_offset_us = (int64_t)(time_of_day_us() - now_ns / 1000),
        .cores_shared = p->cpus_shared,
        .n_ports = p->n_ports,
        .n_cores = server_workers(s->server),
        .n_services = p->n_services,
    };
    for (unsigned i = 0; i < out->n_ports; i++)
        look_at_port(s, i, &out->ports[i]);
    for (unsigned i = 0; i < out->n_cores; i++)
        look_at_core(s, i, &out->cores[i]);
    for (unsigned i = 0; i < out->n_services; i++)
        look_at_service(s, i, &out->services[i]);
    look_at_totals(s, out);
}

int ctl_verdict_open(struct ctl_shown *s)
{
    s->verdict = calloc(1, sizeof(*s->verdict));
    if (s->verdict == NULL)
        return -1;
    s->verdict->verdict.changed = ctl_history_change;
    s->verdict->verdict.arg = s;
    return 0;
}

void ctl_verdict_close(struct ctl_shown *s)
{
    free(s->verdict);
    s->verdict = NULL;
}

// Starts after the first turn of a worker; before, there is nothing to judge.
void ctl_verdict_look(const struct ctl_shown *s)
{
    struct ctl_verdict *v = s->verdict;
    const uint64_t now_ns = liveness_clock_ns();
    if (now_ns < v->next_ns || stat_load(&server_worker(s->server, 0)->stats->c.turns) == 0)
        return;
    v->next_ns = now_ns + VERDICT_LOOK_MS * UINT64_C(1000000);
    look(s, now_ns, &v->look);
    verdict_judge(&v->verdict, &v->look);
}

void ctl_verdict_hurry(const struct ctl_shown *s)
{
    s->verdict->next_ns = 0;
}

const struct verdict *ctl_verdict(const struct ctl_shown *s)
{
    return &s->verdict->verdict;
}

static int verdict_read(struct tree_out *out, void *data)
{
    verdict_render(ctl_verdict(data), liveness_clock_ns(), time_of_day_us(), tree_text(out));
    return 0;
}

int ctl_tree_verdict(const struct ctl_shown *s)
{
    return ctl_tree_add(s, "verdict", verdict_read, s);
}
