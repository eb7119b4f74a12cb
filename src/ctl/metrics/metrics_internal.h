// SPDX-License-Identifier: BSD-3-Clause
// metrics_internal.h: what the files that put samples share. A function of the table puts all
// samples of its family, now->m.
#pragma once
#include "ctl/files/tree_files_internal.h"
#include "ctl/metrics/metrics.h"
#include "pkt/port.h"
#include "stat/counters.h"
#include "worker/worker.h"

// now: one reading of all that many families show.
struct metrics_now {
    const struct ctl_shown *shown;
    struct metric_sink *to;
    const struct metric *m;
    unsigned n_cores;
    char core_names[SERVER_WORKERS_MAX][CORE_NAME_BYTES];
    struct core_stats cores[SERVER_WORKERS_MAX];
    unsigned n_ports;
    struct port_stats ports[WORKER_PORTS_MAX];
    struct link_now links[WORKER_PORTS_MAX];
};

#define LABEL(name, value)                                                                         \
    (struct metric_label)                                                                          \
    {                                                                                              \
        name, value                                                                                \
    }

// metrics_put: one sample. metrics_whole, metrics_real: a value.
void metrics_put(const struct metrics_now *now, const char *suffix, struct metric_value v,
                 unsigned n, const struct metric_label *labels);
struct metric_value metrics_whole(uint64_t n);
struct metric_value metrics_real(double x);

#define PUT0(now, v) metrics_put(now, "", v, 0, NULL)
#define PUT(now, v, ...)                                                                           \
    metrics_put(now, "", v, ARRAY_LEN(((struct metric_label[]){__VA_ARGS__})),                     \
                (struct metric_label[]){__VA_ARGS__})

// Families of connections that outlived another process.
void metrics_adopted(const struct metrics_now *now);
void metrics_not_adopted(const struct metrics_now *now);
void metrics_image_spans(const struct metrics_now *now);
void metrics_adoption_silence(const struct metrics_now *now);

// Families of cores.
void metrics_clock(const struct metrics_now *now);
void metrics_useful(const struct metrics_now *now);
void metrics_stalled(const struct metrics_now *now);
void metrics_hangs(const struct metrics_now *now);
void metrics_drops(const struct metrics_now *now);
void metrics_stage_cycles(const struct metrics_now *now);
void metrics_latency(const struct metrics_now *now);
void metrics_idle_turns(const struct metrics_now *now);
void metrics_stalls(const struct metrics_now *now);
void metrics_stall_seconds(const struct metrics_now *now);
void metrics_switches(const struct metrics_now *now);
void metrics_page_faults(const struct metrics_now *now);
void metrics_interrupts(const struct metrics_now *now);
void metrics_wait_seconds(const struct metrics_now *now);
void metrics_steal_seconds(const struct metrics_now *now);
void metrics_pool_size(const struct metrics_now *now);
void metrics_pool_used(const struct metrics_now *now);
void metrics_pool_used_max(const struct metrics_now *now);
