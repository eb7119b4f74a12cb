#include "ctl/ctl_tree.h"

#include <stdio.h>

#include "ctl/ctl_tree_priv.h"
#include "worker/server_log.h"

static int version_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "c10m %s\n", ((const struct ctl_shown *)data)->version);
}

static int uptime_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double up =
        (double)(now.tv_sec - s->started.tv_sec) + (double)(now.tv_nsec - s->started.tv_nsec) / 1e9;
    return tree_printf(out, "%.2f\n", up);
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

static int service_log_read(struct tree_out *out, void *data)
{
    const struct service_of *of = data;
    uint64_t handed, lost;
    server_log_counts(of->server, of->ix, &handed, &lost);
    return tree_printf(out, "records_written %llu\nrecords_lost %llu\n",
                       (unsigned long long)(handed - lost), (unsigned long long)lost);
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
        if (server_service(s, i)->app->log == NULL)
            continue;
        snprintf(path, sizeof(path), "apps/%s/log", server_service(s, i)->name);
        rc |= ctl_tree_add(shown, path, service_log_read, &of[i]);
    }
    return rc;
}

int ctl_tree_fill(const struct ctl_shown *s, struct err *err)
{
    const int rc = ctl_tree_add(s, "version", version_read, s) |
                   ctl_tree_add(s, "uptime", uptime_read, s) |
                   ctl_tree_add(s, "config", config_read, s) | ctl_tree_cores(s) |
                   ctl_tree_ports(s) | ctl_tree_net(s) | ctl_tree_mem(s) | fill_services(s);
    return rc == 0 ? 0 : err_set(err, "control tree: %s", tree_error(tree_root(s->tree)));
}
