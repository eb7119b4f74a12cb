// SPDX-License-Identifier: BSD-3-Clause
// top_model.h: readings of the tree and what two of them say about the time between. Pure but for
// the source that is asked; no terminal.
//
//     top_source --top_sample_take--> sample (now) --+
//                                     sample (before)+--top_compute--> figures --top_sort--> rows
//
// Rates are by the server's own clock (`uptime`), so that a slow reader does not change them. A
// server whose uptime fell is another one: its figures are since its start. A core whose counters
// fell was reset: its figures are since then.
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
    TOP_VERDICTS_MAX = 32,  // sentences kept; the rest is counted
    TOP_VERDICT_BYTES = 176,
    TOP_REASONS_MAX = 512,  // drop reasons with help
    TOP_HELP_BYTES = 120,
    TOP_FILE_BYTES_MAX = 4 << 20,  // one file
};

// X(name, key, group, head, width, rank, kind, help): the columns from left to right. `rank` says
// which go first where the screen is too narrow: the highest one; 0 stays. `key` sorts by it.
#define TOP_COLUMN_TABLE(X)                                                                        \
    X(core, 'n', "", "core", 5, 0, TEXT, "core: its CPU; .1, .2: more on it")                      \
    X(state, 't', "", "state", 8, 9, TEXT, "what the worker does")                                 \
    X(rx_pps, 'i', "packets/s", "in", 6, 0, COUNT, "packets received a second")                    \
    X(tx_pps, 'o', "packets/s", "out", 6, 1, COUNT, "packets sent a second")                       \
    X(rx_bps, 'I', "bits/s", "in", 6, 6, COUNT, "bits received a second")                          \
    X(tx_bps, 'O', "bits/s", "out", 6, 7, COUNT, "bits sent a second")                             \
    X(conns, 'c', "connections", "open", 6, 2, COUNT, "connections open")                          \
    X(cps, 'a', "connections", "new/s", 6, 4, COUNT, "connections opened a second")                \
    X(cpp, 'y', "cyc/p", "stack", 6, 5, COUNT, "cycles of the stack a packet")                     \
    X(app, 'u', "cyc/p", "app", 6, 10, COUNT, "cycles of the application a packet")                \
    X(busy, 'b', "busy", "%", 5, 0, SHARE, "share of cycles in turns with work")                   \
    X(drops, 'd', "drops", "/s", 6, 3, COUNT, "packets dropped a second")                          \
    X(p50, 'l', "latency", "p50", 6, 8, TIME, "half of the packets: rx to tx")                     \
    X(p99_9, 'L', "latency", "p99.9", 6, 4, TIME, "999 of 1000 packets: rx to tx")                 \
    X(retrans, 'x', "resent", "/s", 7, 11, COUNT, "TCP segments sent again a second")              \
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

// top_core: the files of one core. What a server does not have is not `present`.
struct top_core {
    char name[TOP_CORE_BYTES], state[TOP_STATE_BYTES];  // state "-": not told
    char stalled[TOP_STALLED_BYTES];  // "stalled for N ms in stage S of application A", or ""
    struct top_list status, counters, drops, cycles, latency, queues;
};

// top_verdict: a line of `verdict`: alarm, warning or note, and the sentence, with its time.
struct top_verdict {
    char severity[TOP_STATE_BYTES];
    char sentence[TOP_VERDICT_BYTES];
};

// top_verdicts: told: the server has such a file. n 0: what it says is `word` (ok).
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

// top_item: a service or a port. word: the service's state, or the port's driver; link: the port's.
// counters: what the application or the device counts; status: the lines of apps/NAME/state.
struct top_item {
    char name[TOP_NAME_BYTES], word[TOP_STATE_BYTES], link[TOP_STATE_BYTES];
    struct top_list status, counters;
};

// top_items: zeroed: none.
struct top_items {
    unsigned n;
    struct top_item *at;  // [TOP_ITEMS_MAX]; NULL: none were told
};

// top_sample: one reading. Zeroed: empty.
struct top_sample {
    char version[64];
    double uptime_s;
    struct top_verdicts verdicts;
    unsigned n_reasons;
    struct top_reason *reasons;  // [TOP_REASONS_MAX]; NULL: none were told
    unsigned n_cores, room;      // top_core[room] keep their memory for the next reading
    struct top_core *cores;
    struct top_list arenas, pools;
    struct top_items services, ports;
};

// top_sample_take: reads a sample through s. 0, or -errno with *sample of no use: no server there
// (of whatever is wrong with the source), -EPROTO (what answers is no server of ours), -ENOMEM.
int top_sample_take(struct top_sample *sample, struct top_source *s);

// top_help: what a drop reason means; "": the server does not tell.
const char *top_help(const struct top_sample *sample, const char *reason);
void top_sample_free(struct top_sample *sample);

// top_row: the figures of a core, NAN where there is nothing to tell.
struct top_row {
    const struct top_core *now, *before;  // before NULL: figures since the start, or the reset
    double fig[TOP_COLUMNS];
};

// top_figures: of the time between two samples, which it points into. Rows in the server's order.
struct top_figures {
    const struct top_sample *now, *before;  // before NULL: nothing known
    double seconds;
    bool since_start;  // of the server: there is no sample before
    unsigned n_rows;
    struct top_row *rows;  // [TOP_CORES_MAX]
    struct top_row total;
    double reserved_bytes, connections_max;  // NAN: not told
};

// top_compute: *f = what happened between `before` (NULL: nothing known) and `now`; allocates rows
// once. 0 or -ENOMEM.
int top_compute(struct top_figures *f, const struct top_sample *now,
                const struct top_sample *before);
void top_figures_free(struct top_figures *f);

// top_sort: rows by column, figures from the highest down, names and states upwards; `reverse`
// turns that. Unknown figures are last. Rows that are equal keep the server's order.
void top_sort(struct top_figures *f, enum top_column by, bool reverse);

// top_latency_ns: the time that the share `quantile` of the packets between two readings of
// cores/N/latency did not exceed; NAN of none. before[i] may be NULL.
double top_latency_ns(const struct top_list *const *now, const struct top_list *const *before,
                      unsigned n, double quantile);

// top_fullest: the `max` pools of which the largest share is in use, the fullest first, out of
// mem/pools; returns how many.
struct top_pool {
    char name[TOP_NAME_BYTES];
    double share;
};
unsigned top_fullest(const struct top_list *pools, struct top_pool *fullest, unsigned max);

// top_stages: the cycles of each stage of the loop (stat_stage_names) in the time of a row; returns
// their sum.
uint64_t top_stages(const struct top_row *row, uint64_t cycles[STAGE_COUNT]);
