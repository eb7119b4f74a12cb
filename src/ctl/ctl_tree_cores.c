// cores/N/: one worker each.
#include <stdio.h>

#include "ctl/ctl_tree_priv.h"
#include "stat/render.h"

// core_of: whom a file is about.
struct core_of {
    const struct ctl_shown *shown;
    unsigned worker;
};

static const struct worker *worker_of(const void *data)
{
    const struct core_of *of = data;
    return server_worker(of->shown->server, of->worker);
}

static int state_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    pulse_render(of->shown->pulse, of->worker, pulse_clock_ns(), tree_text(out));
    return 0;
}

// Each of these renders a copy, so that lines of one reading belong together.
static int counters_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, worker_of(data)->stats);
    counters_render(tree_text(out), &copy);
    return 0;
}

static int drops_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, worker_of(data)->stats);
    drops_render(tree_text(out), &copy);
    return 0;
}

static int cycles_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, worker_of(data)->stats);
    cycles_render(tree_text(out), &copy);
    return 0;
}

// What packets waited for their turn's end, then the turns without work.
static int latency_read(struct tree_out *out, void *data)
{
    static struct latency copy;
    const struct worker *w = worker_of(data);
    const uint64_t hz = worker_tsc_hz(w);
    latency_snapshot(&copy, &w->busy);
    latency_render(tree_text(out), &copy, "", "packets", hz);
    latency_snapshot(&copy, &w->idle);
    latency_render(tree_text(out), &copy, "idle_", "turns", hz);
    return 0;
}

static int stalls_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    stalls_render(of->shown->stalls, of->worker, tree_text(out));
    return 0;
}

static int stall_causes_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    stalls_causes_render(of->shown->stalls, of->worker, tree_text(out));
    return 0;
}

void ctl_tree_core_name(const struct server *s, unsigned w, char out[CORE_NAME_BYTES])
{
    unsigned before = 0;
    const unsigned cpu = server_worker(s, w)->cpu;
    for (unsigned i = 0; i < w; i++)
        before += server_worker(s, i)->cpu == cpu;
    if (before == 0)
        snprintf(out, CORE_NAME_BYTES, "%u", cpu);
    else
        snprintf(out, CORE_NAME_BYTES, "%u.%u", cpu, before);
}

int ctl_tree_cores(const struct ctl_shown *s)
{
    static const struct {
        const char *name;
        int (*read)(struct tree_out *, void *);
    } files[] = {{"state", state_read},
                 {"counters", counters_read},
                 {"drops", drops_read},
                 {"cycles", cycles_read},
                 {"latency", latency_read},
                 {"stalls", stalls_read},
                 {"stall_causes", stall_causes_read}};
    static struct core_of of[SERVER_WORKERS_MAX];
    int rc = 0;
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        char core[CORE_NAME_BYTES];
        of[w] = (struct core_of){s, w};
        ctl_tree_core_name(s->server, w, core);
        for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
            char path[64];
            snprintf(path, sizeof(path), "cores/%s/%s", core, files[i].name);
            rc |= ctl_tree_add(s, path, files[i].read, &of[w]);
        }
    }
    return rc;
}
