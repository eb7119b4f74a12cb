// SPDX-License-Identifier: BSD-3-Clause
#include "prof/cpu_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/core_name.h"

static_assert(SERVER_WORKERS_MAX + 1 + TCP_SERVICES_MAX <= (int)SAMPLER_THREADS_MAX,
              "workers, control thread, threads of applications");

static struct {
    const struct server *server;
    struct sampler *sampler;  // NULL: nobody takes a profile
    struct cpu_user *users;
    unsigned n;  // threads
    struct cpu_role roles[SAMPLER_THREADS_MAX];
    struct sampler_thread threads[SAMPLER_THREADS_MAX];
} all;

static struct cpu_role *add_thread(struct own_thread *thread, const char *kind, const char *name)
{
    struct cpu_role *r = &all.roles[all.n];
    all.threads[all.n++] = (struct sampler_thread){.thread = thread};
    *r = (struct cpu_role){.w = NULL};
    snprintf(r->thread, sizeof(r->thread), "%s%s", kind, name);
    return r;
}

static void add_worker(const struct server *s, unsigned i)
{
    char name[CORE_NAME_BYTES];
    struct worker *w = server_worker(s, i);
    struct cpu_role *r = add_thread(&w->thread, "worker", "");
    server_core_name(s, i, name);
    all.threads[all.n - 1].word = &w->at;
    all.threads[all.n - 1].byte = &w->sock.serving;
    r->w = w;
    snprintf(r->core, sizeof(r->core), "c%s", name);
}

static void add_app_thread(const struct server *server, unsigned i)
{
    const struct c10m_service *s = server_service(server, i);
    if (s->app->thread != NULL)
        add_thread(server_app_thread(server, i), "app ", s->name)->service = s;
}

static void add_threads(const struct server *s)
{
    all.n = 0;
    for (unsigned i = 0; i < server_workers(s); i++)
        add_worker(s, i);
    add_thread(server_control_thread(s), "control", "");
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++)
        add_app_thread(s, i);
}

static int start(const struct server *s, struct err *err)
{
    add_threads(s);
    const struct sampler_params params = {.threads = all.threads,
                                          .n = all.n,
                                          .hz = SAMPLER_HZ,
                                          .trigger = TRIGGER_PERF,
                                          .counters = &sample_pmu};
    all.server = s;
    return sampler_start(&params, &all.sampler, err);
}

int cpu_samples_join(const struct server *s, struct cpu_user *u, struct err *err)
{
    if (all.sampler != NULL && all.server != s) {
        err_set(err, "another server of this process is being profiled");
        return -EBUSY;
    }
    const int rc = all.sampler == NULL ? start(s, err) : 0;
    if (rc != 0)
        return rc;
    cpu_samples_drain();  // what was before belongs to the others
    u->lost_before = sampler_lost(all.sampler);
    u->next = all.users;
    all.users = u;
    return 0;
}

uint64_t cpu_samples_leave(struct cpu_user *u)
{
    struct cpu_user **at = &all.users;
    if (u->next == NULL && all.users == u)
        sampler_stop(all.sampler);
    cpu_samples_drain();
    const uint64_t lost = sampler_lost(all.sampler) - u->lost_before;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    if (all.users == NULL) {
        sampler_free(all.sampler);
        all.sampler = NULL;
    }
    return lost;
}

void cpu_samples_drain(void)
{
    sampler_arm(all.sampler);
    for (const struct sample *s; (s = sampler_next(all.sampler)) != NULL;)
        for (struct cpu_user *u = all.users; u != NULL; u = u->next)
            u->take(u, &all.roles[s->thread], s);
}

void cpu_samples_about(struct cpu_about *out)
{
    *out = (struct cpu_about){sampler_trigger(all.sampler), sampler_counts(all.sampler), all.n,
                              sampler_missed(all.sampler)};
}
