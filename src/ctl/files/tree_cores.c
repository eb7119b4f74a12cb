// SPDX-License-Identifier: BSD-3-Clause
// cores/N/: one directory for each worker.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "stat/render.h"

// core_of: the data of a file.
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
    const struct hang_now *hang = hang_watch_look(of->shown->hangs, of->worker);
    liveness_render(of->shown->liveness, of->worker, liveness_clock_ns(), tree_text(out));
    return tree_printf(out, "function %s\nhangs %" PRIu64 "\n", hang->names.function, hang->hangs);
}

static void snapshot(struct core_stats *copy, const void *data)
{
    const struct core_of *of = data;
    stat_snapshot(copy, worker_of(data)->stats);
    ctl_baseline_core(of->shown->baseline, of->worker, copy);
}

// The callbacks render a copy, so that the lines of one reading are consistent.
static int counters_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    snapshot(&copy, data);
    counters_render(tree_text(out), &copy);
    return 0;
}

static int drops_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    snapshot(&copy, data);
    drops_render(tree_text(out), &copy);
    return 0;
}

static int cycles_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    const struct core_of *of = data;
    snapshot(&copy, data);
    cycles_render(tree_text(out), &copy);
    struct liveness_now now;
    liveness_look(of->shown->liveness, of->worker, liveness_clock_ns(), &now);
    return tree_printf(out,
                       "useful_percent %.2f\npackets_per_s %.0f\nheadroom_packets %.0f\n"
                       "tsc_hz %" PRIu64 "\n",
                       100 * now.recent.useful, now.recent.packets_per_s, now.recent.headroom_pps,
                       worker_tsc_hz(worker_of(data)));
}

// The time of packets from rx to tx, then the duration of turns without work.
static int latency_read(struct tree_out *out, void *data)
{
    static struct latency copy;
    const struct core_of *of = data;
    const struct worker *w = worker_of(data);
    const uint64_t hz = worker_tsc_hz(w);
    latency_snapshot(&copy, &w->busy);
    ctl_baseline_latency(of->shown->baseline, of->worker, false, &copy);
    latency_render(tree_text(out), &copy, "", "packets", hz);
    latency_snapshot(&copy, &w->idle);
    ctl_baseline_latency(of->shown->baseline, of->worker, true, &copy);
    latency_render(tree_text(out), &copy, "idle_", "turns", hz);
    return 0;
}

static int pools_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    fill_worker_render(of->shown->fill, of->worker, tree_text(out));
    return 0;
}

static int queues_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    fill_queues_render(of->shown->server, of->worker, tree_text(out));
    return 0;
}

// Returns the sum of the lines with the name of line `from`, and sets the later ones to 0 (a device
// may have several lines). Replaces characters that the tree does not allow in the name.
static uint64_t sum_lines(struct linux_counts *c, unsigned from)
{
    struct linux_interrupt *it = &c->interrupts[from];
    uint64_t sum = 0;
    for (unsigned i = c->n_interrupts; i-- > from;)
        if (strcmp(c->interrupts[i].name, it->name) == 0) {
            sum += c->interrupts[i].count;
            c->interrupts[i].name[0] = i == from ? it->name[0] : '\0';
        }
    for (char *at = it->name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("-_.", *at) == NULL)
            *at = '_';
    return sum;
}

// The interrupts of the CPU since the start of the server: a line for each name, then their sum.
static void interrupt_lines(struct tree_out *out, const char *prefix, struct linux_counts *now,
                            const struct linux_counts *before)
{
    uint64_t all = 0;
    linux_counts_since(now, before);
    for (unsigned i = 0; i < now->n_interrupts; i++) {
        if (now->interrupts[i].name[0] == '\0')
            continue;
        const uint64_t sum = sum_lines(now, i);
        all += sum;
        tree_printf(out, "%s_%s %" PRIu64 "\n", prefix, now->interrupts[i].name, sum);
    }
    tree_printf(out, "%s_total %" PRIu64 "\n", prefix, all);
}

static int interrupts_read(struct tree_out *out, void *data)
{
    static struct linux_counts now;
    const struct core_of *of = data;
    const unsigned cpu = worker_of(data)->cpu;
    linux_counts_read(&now, "/proc", 0, cpu);
    interrupt_lines(out, "irq", &now, &of->shown->interrupts_before[of->worker]);
    linux_counts_softirqs(&now, "/proc", cpu);
    interrupt_lines(out, "softirq", &now, &of->shown->softirqs_before[of->worker]);
    return 0;
}

// Counters of the thread since its start.
static int sched_read(struct tree_out *out, void *data)
{
    static struct linux_counts now;
    const struct core_of *of = data;
    const struct worker *w = worker_of(data);
    linux_counts_read(&now, "/proc", (int)shared_u32_load(&w->tid), w->cpu);
    return tree_printf(out,
                       "involuntary_switches %" PRIu64 "\nvoluntary_switches %" PRIu64
                       "\nminor_faults %" PRIu64 "\nmajor_faults %" PRIu64 "\nwait_ns %" PRIu64
                       "\nsteal_ticks %" PRIu64 "\n",
                       now.forced, now.slept, now.faults_minor, now.faults_major, now.wait_ns,
                       now.steal_ticks - of->shown->interrupts_before[of->worker].steal_ticks);
}

static int stalls_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    stalls_render(of->shown->stalls, of->worker, tree_text(out));
    return 0;
}

static int stages_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    stage_watch_render(of->shown->stages, of->worker, tree_text(out));
    return 0;
}

static int stall_causes_read(struct tree_out *out, void *data)
{
    const struct core_of *of = data;
    stalls_causes_render(of->shown->stalls, of->worker, tree_text(out));
    return 0;
}

int ctl_tree_cores(const struct ctl_shown *s)
{
    static const struct {
        const char *name;
        int (*read)(struct tree_out *, void *);
    } files[] = {
        {"state", state_read},   {"counters", counters_read},         {"drops", drops_read},
        {"cycles", cycles_read}, {"latency", latency_read},           {"queues", queues_read},
        {"pools", pools_read},   {"interrupts", interrupts_read},     {"sched", sched_read},
        {"stalls", stalls_read}, {"stall_causes", stall_causes_read}, {"stages", stages_read}};
    static struct core_of of[SERVER_WORKERS_MAX];
    int rc = 0;
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        char core[CORE_NAME_BYTES];
        of[w] = (struct core_of){s, w};
        server_core_name(s->server, w, core);
        for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
            char path[64];
            snprintf(path, sizeof(path), "cores/%s/%s", core, files[i].name);
            rc |= ctl_tree_add(s, path, files[i].read, &of[w]);
        }
    }
    return rc;
}
