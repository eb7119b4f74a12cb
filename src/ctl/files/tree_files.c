// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/files/tree_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/files/tree_files_internal.h"
#include "server/server_log.h"
#include "sock/sock.h"
#include "tcp/tcp.h"

static int version_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "c10m %s\n", ((const struct ctl_shown *)data)->version);
}

// As Linux's /proc/uptime: seconds since the start, and the sum of the idle seconds of all cores.
static int uptime_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    struct timespec now;
    double idle = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (unsigned i = 0; i < server_workers(s->server); i++) {
        const struct worker *w = server_worker(s->server, i);
        idle += (double)stat_load(&w->stats->cycles[STAGE_idle]) / (double)worker_tsc_hz(w);
    }
    const double up =
        (double)(now.tv_sec - s->started.tv_sec) + (double)(now.tv_nsec - s->started.tv_nsec) / 1e9;
    return tree_printf(out, "%.2f %.2f\n", up, idle);
}

static int config_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    return conf_print(s->conf, tree_text(out));
}

struct service_of {
    const struct server *server;
    unsigned ix;
};

static int service_counters_read(struct tree_out *out, void *data)
{
    const struct service_of *of = data;
    const struct c10m_service *sv = server_service(of->server, of->ix);
    for (int i = 0; i < sv->n_counters; i++) {
        uint64_t sum = 0;
        for (unsigned w = 0; w < server_workers(of->server); w++)
            sum += stat_load(&server_worker(of->server, w)->sock.counters[of->ix][i]);
        tree_printf(out, "%s %llu\n", sv->counters[i].name, (unsigned long long)sum);
    }
    return 0;
}

// all_of: the sum of a limit over all workers, each of which has a part of it.
static uint64_t all_of(const struct service_of *of, size_t at)
{
    uint64_t sum = 0;
    for (unsigned w = 0; w < server_workers(of->server); w++) {
        const struct tcp_service *sv = &server_worker(of->server, w)->tcp.services[of->ix];
        sum += peek_u32((const uint32_t *)((const char *)sv + at));
    }
    return sum;
}

// The state of the first worker. All workers get the same state, with a short delay.
static int service_state_read(struct tree_out *out, void *data)
{
    static const char *const names[] = {[TCP_SERVICE_OPEN] = "open",
                                        [TCP_SERVICE_DRAINING] = "draining",
                                        [TCP_SERVICE_CLOSED] = "closed"};
    const struct service_of *of = data;
    const struct c10m_service *sv = server_service(of->server, of->ix);
    const struct tcp_service *tcp = &server_worker(of->server, 0)->tcp.services[of->ix];
    const uint8_t state = peek_u8(&tcp->state);
    tree_printf(out, "application %s\nstate %s\nports", sv->app->name, names[state]);
    for (unsigned i = 0; i < tcp->n_ports; i++)
        tree_printf(out, " %u", tcp->ports[i]);
    tree_printf(out, "%s\nconnections_now %" PRIu64 "\nconnections_max %" PRIu64 "\n",
                tcp->n_ports == 0 ? " -" : "",
                all_of(of, offsetof(struct tcp_service, connections)),
                all_of(of, offsetof(struct tcp_service, connections_max)));
    return tree_printf(out,
                       "source_connections_max %" PRIu64 "\nreceive_bytes_max %u\nsend_bytes_max "
                       "%u\nimage_bytes %" PRIu64 "\nimage_private_bytes %" PRIu64 "\n",
                       all_of(of, offsetof(struct tcp_service, source_max)), tcp->rcv_limit,
                       tcp->snd_limit, shared_u64_load(&sv->image_bytes),
                       shared_u64_load(&sv->image_private_bytes));
}

static int service_log_read(struct tree_out *out, void *data)
{
    const struct service_of *of = data;
    uint64_t handed, lost;
    server_log_counts(of->server, of->ix, &handed, &lost);
    return tree_printf(out, "records_written %llu\nrecords_lost %llu\n",
                       (unsigned long long)(handed - lost), (unsigned long long)lost);
}

// Calls `tree` of the application, which owns the entries that it creates.
static int fill_app(const struct ctl_shown *shown, const struct c10m_service *sv)
{
    struct tree_node *dir = tree_lookup(tree_lookup(tree_root(shown->tree), "apps"), sv->name);
    struct tree_owner *owner = tree_owner_new(dir, sv->name);
    if (owner == NULL || tree_own(dir, owner) != 0)
        return -1;
    return sv->app->tree(sv, dir);
}

static int fill_services(const struct ctl_shown *shown)
{
    static struct service_of of[TCP_SERVICES_MAX];
    const struct server *s = shown->server;
    int rc = 0;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        char path[96];
        of[i] = (struct service_of){s, i};
        snprintf(path, sizeof(path), "apps/%s/counters", server_service(s, i)->name);
        rc |= ctl_tree_add(shown, path, service_counters_read, &of[i]);
        snprintf(path, sizeof(path), "apps/%s/state", server_service(s, i)->name);
        rc |= ctl_tree_add(shown, path, service_state_read, &of[i]);
        if (server_service(s, i)->app->log != NULL) {
            snprintf(path, sizeof(path), "apps/%s/log", server_service(s, i)->name);
            rc |= ctl_tree_add(shown, path, service_log_read, &of[i]);
        }
        if (rc == 0 && server_service(s, i)->app->tree != NULL)
            rc = fill_app(shown, server_service(s, i));
    }
    return rc;
}

// Linux counts since boot: the counts at the start of the server are subtracted later.
static int open_counts(struct ctl_shown *s)
{
    const unsigned n = server_workers(s->server);
    s->interrupts_before = calloc(n, sizeof(*s->interrupts_before));
    s->softirqs_before = calloc(n, sizeof(*s->softirqs_before));
    if (s->interrupts_before == NULL || s->softirqs_before == NULL)
        return -1;
    for (unsigned w = 0; w < n; w++) {
        linux_counts_read(&s->interrupts_before[w], "/proc", 0, server_worker(s->server, w)->cpu);
        linux_counts_softirqs(&s->softirqs_before[w], "/proc", server_worker(s->server, w)->cpu);
    }
    return 0;
}

int ctl_tree_open(struct ctl_shown *s, struct err *err)
{
    clock_gettime(CLOCK_MONOTONIC, &s->started);
    s->stalls = stalls_new(s->server);
    s->stages = stage_watch_new(s->server);
    s->liveness = liveness_new(s->server, liveness_clock_ns());
    s->hangs = s->liveness == NULL ? NULL : hang_watch_new(s->server, s->liveness);
    s->fill = fill_new(s->server);
    s->links = link_watch_new(s->server, liveness_clock_ns());
    s->rss = rss_watch_new(s->server);
    if (s->stalls == NULL || s->stages == NULL || s->hangs == NULL || s->fill == NULL ||
        s->links == NULL || s->rss == NULL || open_counts(s) != 0 || ctl_ports_open(s) != 0 ||
        ctl_verdict_open(s) != 0 || ctl_history_open(s) != 0)
        return err_set(err, "no memory for the tree");
    const int rc = ctl_tree_add(s, "version", version_read, s) |
                   ctl_tree_add(s, "uptime", uptime_read, s) |
                   ctl_tree_add(s, "config", config_read, s) | ctl_tree_verdict(s) |
                   ctl_tree_history(s) | ctl_tree_cores(s) | ctl_tree_ports(s) | ctl_tree_net(s) |
                   ctl_tree_mem(s) | ctl_tree_adoption(s) | fill_services(s);
    return rc == 0 ? 0 : err_set(err, "control tree: %s", tree_error(tree_root(s->tree)));
}

void ctl_tree_close(struct ctl_shown *s)
{
    stalls_free(s->stalls);
    stage_watch_free(s->stages);
    hang_watch_free(s->hangs);
    liveness_free(s->liveness);
    fill_free(s->fill);
    link_watch_free(s->links);
    free(s->rss);
    free(s->interrupts_before);
    free(s->softirqs_before);
    ctl_verdict_close(s);
    ctl_history_close(s);
    ctl_ports_close(s);
}

static_assert((int)CTL_LOOK_MS == (int)STAGE_WATCH_MS, "each call is a look at the stages");

// look_at_hangs: by the keys as they are now (ctl/set). The verdict has the hang at once, too.
static void look_at_hangs(struct ctl_shown *s)
{
    struct hang_rule rules[CONF_SERVICES_MAX];
    const struct conf *c = s->conf;
    for (unsigned i = 0; i < c->n_services; i++)
        rules[i] = (struct hang_rule){c->services[i].watchdog_ms,
                                      c->services[i].watchdog == CONF_WATCHDOG_ABORT};
    if (hang_watch_poll(s->hangs, rules, c->n_services))
        ctl_verdict_hurry(s);
}

void ctl_tree_look(struct ctl_shown *s, uint64_t periods)
{
    stalls_poll(s->stalls);
    stage_watch_poll(s->stages, periods);
    liveness_poll(s->liveness, liveness_clock_ns());
    look_at_hangs(s);
    fill_poll(s->fill);
    link_watch_poll(s->links, liveness_clock_ns());
    for (unsigned i = 0; i < server_params_of(s->server)->n_ports; i++)
        rss_watch_look(&s->rss[i], liveness_clock_ns());
    ctl_ports_look(s);
    ctl_verdict_look(s);
    ctl_history_look(s);
}
