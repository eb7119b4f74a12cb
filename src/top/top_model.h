// SPDX-License-Identifier: BSD-3-Clause
// top_model.h: samples of the tree, and the figures computed from two of them. Uses the source, not
// the terminal.
//
//     top_source --top_sample_take--> sample (now) --+
//                                     sample (before)+--top_compute--> figures --top_sort--> rows
//
// Rates use the server's clock (`uptime`), so that a slow reader does not change them. If the
// uptime has decreased, the server was restarted, and the figures are since its start. If counters
// of a core have decreased, they were reset, and the figures are since the reset.
#pragma once
#include "stat/counters.h"
#include "top/top_list.h"
#include "top/top_source.h"

enum {
    TOP_CORES_MAX = 1024,
    TOP_CORE_BYTES = 24,  // name of a core
    TOP_STALLED_BYTES = 128,
    TOP_STATE_BYTES = 16,   // a word
    TOP_ITEMS_MAX = 64,     // services, ports
    TOP_VERDICTS_MAX = 32,  // sentences stored; others are only counted
    TOP_VERDICT_BYTES = 176,
    TOP_REASONS_MAX = 512,  // drop reasons with help
    TOP_HELP_BYTES = 120,
    TOP_FILE_BYTES_MAX = 4 << 20,  // one file
};

// X(name, key, group, head, width, rank, kind, help): the columns from left to right. If the screen
// is too narrow, columns with the highest `rank` are removed first; 0 is never removed. The key
// `key` sorts by the column.
#define TOP_COLUMN_TABLE(X)                                                                        \
    X(core, 'n', "", "core", 5, 0, TEXT, "core: its CPU; .1, .2: more workers")                    \
    X(state, 't', "", "state", 8, 9, TEXT, "what the worker does")                                 \
    X(rx_pps, 'i', "packets/s", "in", 6, 0, COUNT, "packets received per second")                  \
    X(tx_pps, 'o', "packets/s", "out", 6, 1, COUNT, "packets sent per second")                     \
    X(rx_bps, 'I', "bits/s", "in", 6, 6, COUNT, "bits received per second")                        \
    X(tx_bps, 'O', "bits/s", "out", 6, 7, COUNT, "bits sent per second")                           \
    X(conns, 'c', "connections", "open", 6, 2, COUNT, "open connections")                          \
    X(cps, 'a', "connections", "new/s", 6, 4, COUNT, "connections opened per second")              \
    X(cpp, 'y', "cyc/p", "stack", 6, 5, COUNT, "stack cycles per packet")                          \
    X(app, 'u', "cyc/p", "app", 6, 10, COUNT, "application cycles per packet")                     \
    X(busy, 'b', "busy", "%", 5, 0, SHARE, "share of cycles in turns with work")                   \
    X(drops, 'd', "drops", "/s", 6, 3, COUNT, "packets dropped per second")                        \
    X(p50, 'l', "latency", "p50", 6, 8, TIME, "median time from rx to tx")                         \
    X(p99_9, 'L', "latency", "p99.9", 6, 4, TIME, "99.9th percentile, rx to tx")                   \
    X(retrans, 'x', "resent", "/s", 7, 11, COUNT, "TCP segments resent per second")                \
    X(syns, 'e', "half-", "open", 6, 12, COUNT, "half-open connections")                           \
    X(waits, 'w', "time-", "wait", 6, 13, COUNT, "TIME-WAIT records")

enum top_kind { TOP_TEXT, TOP_COUNT, TOP_SHARE, TOP_TIME };

enum top_column {
#define TOP_COLUMN_ENUM(name, ...) TOP_##name,
    TOP_COLUMN_TABLE(TOP_COLUMN_ENUM)
#undef TOP_COLUMN_ENUM
        TOP_COLUMNS
};

struct top_column_info {
    const char *name;
    char key;
    const char *group, *head;
    unsigned width, rank;
    enum top_kind kind;
    const char *help;
};
extern const struct top_column_info top_columns[TOP_COLUMNS];

// top_core: the files of one core. Files that the server does not have are not `present`.
struct top_core {
    char name[TOP_CORE_BYTES], state[TOP_STATE_BYTES];  // state "-": unknown
    char stalled[TOP_STALLED_BYTES];  // "stalled for N ms in stage S of application A", or ""
    struct top_list status, counters, drops, cycles, latency, queues, pools;
};

// top_verdict: a line of `verdict`: its severity (alarm, warning or note) and its sentence.
struct top_verdict {
    char severity[TOP_STATE_BYTES];
    char sentence[TOP_VERDICT_BYTES];
};

// top_verdicts: told: the server has the file `verdict`. n 0: the file has only `word` (ok).
struct top_verdicts {
    bool told;
    unsigned n, more;
    char word[TOP_STATE_BYTES];
    struct top_verdict at[TOP_VERDICTS_MAX];
};

// top_reason: a line of net/drop_reasons.
struct top_reason {
    char name[TOP_NAME_BYTES], help[TOP_HELP_BYTES];
};

// top_item: a service or a port. word: state of the service or driver of the port. link: link state
// of the port. counters: of the application or the device. status: the lines of apps/NAME/state.
struct top_item {
    char name[TOP_NAME_BYTES], word[TOP_STATE_BYTES], link[TOP_STATE_BYTES];
    struct top_list status, counters;
};

// top_items: all zero: empty.
struct top_items {
    unsigned n;
    struct top_item *at;  // [TOP_ITEMS_MAX]; NULL: unknown
};

// top_sample: one reading of the tree. All zero: empty.
struct top_sample {
    char version[64];
    double uptime_s;
    struct top_verdicts verdicts;
    unsigned n_reasons;
    struct top_reason *reasons;  // [TOP_REASONS_MAX]; NULL: unknown
    unsigned n_cores, room;      // `room` entries have memory that the next reading reuses
    struct top_core *cores;
    struct top_list arenas, pools;
    struct top_items services, ports;
};

// top_sample_take: reads a sample from s. Returns 0, or -errno with *sample invalid: an error of
// the source (no server), -EPROTO (not a c10m server), -ENOMEM.
int top_sample_take(struct top_sample *sample, struct top_source *s);

// top_help: the help text of a drop reason; "": the server has none.
const char *top_help(const struct top_sample *sample, const char *reason);
void top_sample_free(struct top_sample *sample);

// top_row: the figures of a core; NAN: unknown.
struct top_row {
    const struct top_core *now, *before;  // before NULL: figures since the start or the reset
    double fig[TOP_COLUMNS];
};

// top_figures: the figures of the time between two samples. It points into both. Rows are in the
// server's order.
struct top_figures {
    const struct top_sample *now, *before;  // before NULL: no earlier sample
    double seconds;
    bool since_start;  // there is no earlier sample of this server
    unsigned n_rows;
    struct top_row *rows;  // [TOP_CORES_MAX]
    struct top_row total;
    double reserved_bytes, connections_max;  // NAN: unknown
};

// top_compute: fills *f with the figures of the time between `before` (NULL: no earlier sample) and
// `now`. Allocates the rows at the first call. Returns 0 or -ENOMEM.
int top_compute(struct top_figures *f, const struct top_sample *now,
                const struct top_sample *before);
void top_figures_free(struct top_figures *f);

// top_sort: sorts the rows by a column: figures in descending, names and states in ascending order;
// `reverse` inverts this. Unknown figures are last. Equal rows keep the server's order.
void top_sort(struct top_figures *f, enum top_column by, bool reverse);

// top_latency_ns: the quantile of the latency of packets between two readings of cores/N/latency,
// in ns; NAN if there were no packets. before[i] may be NULL.
double top_latency_ns(const struct top_list *const *now, const struct top_list *const *before,
                      unsigned n, double quantile);

// top_fullest: selects from mem/pools or cores/N/pools up to `max` pools with the highest share, in
// descending order. figure: of what: "_used_now" or "_used_high". Returns how many.
struct top_pool {
    char name[TOP_NAME_BYTES];
    double share;
};
unsigned top_fullest(const struct top_list *pools, const char *figure, struct top_pool *fullest,
                     unsigned max);

// top_stages: the cycles of each stage of the loop (stat_stage_names) in the time of a row. Returns
// their sum.
uint64_t top_stages(const struct top_row *row, uint64_t cycles[STAGE_COUNT]);
