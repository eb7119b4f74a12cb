// SPDX-License-Identifier: BSD-3-Clause
// history.h: the last hour of what a page plots, kept by the server itself: each second of the last
// five minutes, and means of five seconds for an hour; and the changes of the verdict. All memory
// is allocated at start: HISTORY_CORE_BYTES a worker, and HISTORY_CHANGES lines. Control thread.
//
//     counters, latencies of each worker --history_take, every second--> fine ring, coarse ring
//     verdict.changed                    --history_change------------->  ring of changes
#pragma once
#include "base/text.h"
#include "server/server.h"
#include "server/verdict.h"

enum {
    HISTORY_FINE_POINTS = 300,    // one a second
    HISTORY_COARSE_POINTS = 720,  // one each HISTORY_COARSE_LOOKS: an hour
    HISTORY_COARSE_LOOKS = 5,
    HISTORY_CHANGES = 512,  // a line that appears and ends each 14 s, for an hour
    HISTORY_SHARED_MS = 2000,
};

// X(name, help): of one worker, over the time of the point. NAN: nothing to tell.
#define HISTORY_FIGURE_TABLE(X)                                                                    \
    X(rx_pps, "packets received a second")                                                         \
    X(tx_pps, "packets sent a second")                                                             \
    X(rx_bps, "bits received a second")                                                            \
    X(tx_bps, "bits sent a second")                                                                \
    X(connections, "connections open at its end")                                                  \
    X(opened_ps, "connections opened a second")                                                    \
    X(stack_cycles, "cycles of the stack a packet")                                                \
    X(app_cycles, "cycles of the application a packet")                                            \
    X(busy_percent, "share of cycles in turns with work")                                          \
    X(drops_ps, "packets dropped a second")                                                        \
    X(p50_s, "half of the packets, rx to tx, in seconds")                                          \
    X(p99_9_s, "999 of 1000 packets, rx to tx, in seconds")

enum history_figure {
#define HISTORY_ENUM(name, help) HISTORY_##name,
    HISTORY_FIGURE_TABLE(HISTORY_ENUM)
#undef HISTORY_ENUM
        HISTORY_FIGURES
};

enum {
    HISTORY_CORE_BYTES =
        (HISTORY_FINE_POINTS + HISTORY_COARSE_POINTS) * HISTORY_FIGURES * (int)sizeof(float),
};

// The longest texts: a figure is at most 9 characters ("1.234e+38"), a count 20, and a separator
// follows. Of a change all characters of subject and sentence may have to be escaped, and 200 are
// for the names of its fields, kind and severity.
enum {
    HISTORY_POINTS = HISTORY_FINE_POINTS + HISTORY_COARSE_POINTS,
    HISTORY_NAME_BYTES = 24,  // of a core
    HISTORY_FIGURE_CHARS = 9 + 1,
    HISTORY_COUNT_CHARS = 20 + 1,
    HISTORY_POINT_CHARS = HISTORY_FIGURES * HISTORY_FIGURE_CHARS + 2,
    HISTORY_CHANGE_CHARS =
        200 + 2 * (HISTORY_COUNT_CHARS + VERDICT_SUBJECT_BYTES + VERDICT_SENTENCE_BYTES),
    HISTORY_JSON_BYTES_MAX =
        1024 + SERVER_WORKERS_MAX * (2 * HISTORY_NAME_BYTES + 8) +
        HISTORY_POINTS * (HISTORY_COUNT_CHARS + SERVER_WORKERS_MAX * HISTORY_POINT_CHARS) +
        HISTORY_CHANGES * HISTORY_CHANGE_CHARS,
    HISTORY_LINE_CHARS = HISTORY_COUNT_CHARS + HISTORY_NAME_BYTES + HISTORY_POINT_CHARS,
    HISTORY_LINES_BYTES_MAX = 1024 + SERVER_WORKERS_MAX * HISTORY_POINTS * HISTORY_LINE_CHARS,
};

struct history;

// history_new: for n_cores workers. NULL: no memory. history_free: NULL does nothing.
struct history *history_new(unsigned n_cores);
void history_free(struct history *h);

// history_core: what is counted of one worker, as totals. history_look: fills it.
struct history_core {
    uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes, opened, dropped, connections;
    uint64_t cycles, idle_cycles, app_cycles, tsc_hz;
    struct latency latency;
};
void history_look(const struct server *s, unsigned worker, struct history_core *out);

// history_take: the next second, at now_ns of a clock that goes on: cores[n_cores].
void history_take(struct history *h, uint64_t now_ns, const struct history_core *cores);

// history_change: an item of the verdict has begun or ended. unix_s: the time of day.
void history_change(struct history *h, const struct verdict_item *item, uint64_t now_ns,
                    uint64_t unix_s);

// history_points: points of the fine or coarse ring; history_at: figure f of core c at point i,
// 0 the oldest; *age_ms: how long ago its time ended.
unsigned history_points(const struct history *h, bool coarse);
double history_at(const struct history *h, bool coarse, unsigned i, unsigned core,
                  enum history_figure f);
uint64_t history_age_ms(const struct history *h, bool coarse, unsigned i, uint64_t now_ns);

// history_json: {"figures": [names], "cores": [names], "fine" and "coarse": {"age_ms": [one a
// point], "cores": [[figures of a point, or null] ...] ...]}, "verdicts": [{"age_ms", "unix_s",
// "on", "kind", "subject", "severity", "sentence"}]}, oldest first. Kind and subject of a change
// that begins and of the one that ends it are the same; the words of the sentence may differ.
void history_json(const struct history *h, const char (*names)[HISTORY_NAME_BYTES], uint64_t now_ns,
                  struct text *out);

// history_shared: a rendering that all readers get who ask within HISTORY_SHARED_MS: of 64 workers
// it takes a part of a second, and many readers must not take the control thread from the others.
// It holds its text until history_shared_free(). Zeroed but for render and limit_bytes: nothing was
// rendered yet.
struct history_shared {
    void (*render)(const struct history *h, const char (*names)[HISTORY_NAME_BYTES],
                   uint64_t now_ns, struct text *out);
    size_t limit_bytes;
    struct text text;
    uint64_t at_ns;  // 0: there is none
};

// history_shared_put: appends the text to out. 0, or its error, or out->error.
int history_shared_put(struct history_shared *r, const struct history *h,
                       const char (*names)[HISTORY_NAME_BYTES], uint64_t now_ns, struct text *out);
void history_shared_free(struct history_shared *r);

// history_figures_render: a head line, then a line a point and core: age_s core FIGURES, oldest
// first, coarse ones as far as there are no fine ones; "-": nothing to tell.
// history_changes_render: a line a change: time of day (UTC), severity, begins or ended, sentence.
void history_figures_render(const struct history *h, const char (*names)[HISTORY_NAME_BYTES],
                            uint64_t now_ns, struct text *out);
void history_changes_render(const struct history *h, struct text *out);
