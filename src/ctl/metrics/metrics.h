// SPDX-License-Identifier: BSD-3-Clause
// metrics.h: the figures of a running server, for those who collect them: one table makes name,
// type and help of each; who sends them out is a sink.
//
//     metrics_visit --> sink.family(m), sink.sample(m, labels, value) ... --> metrics_text
//     (/metrics)
//                                                                         --> statsd.h
//
// Counters of cores come from the table of stat/counters.h, drop reasons, stages and causes of
// stalls from theirs: a new line there is a new metric here. Control thread.
#pragma once
#include "base/text.h"
#include "ctl/files/tree_files.h"

// METRIC_PASSING: a gauge whose samples come and go; one that is not there is zero.
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_PASSING, METRIC_HISTOGRAM };

enum {
    METRIC_NAME_BYTES = 64,
    METRIC_LABELS_MAX = 3,
    METRIC_BOUNDS = 16,  // of a histogram's buckets
};

// metric: a family of samples. Values are in base units (seconds, bytes), which the name says last.
struct metric {
    char name[METRIC_NAME_BYTES];
    enum metric_type type;
    const char *help;
};

struct metric_label {
    const char *name, *value;
};

// metric_value: a whole number, or, of a histogram or where `real`, a fraction.
struct metric_value {
    bool is_real;
    uint64_t n;
    double real;
};

// metric_sample: suffix is "" or, of a histogram, _bucket (the last label is le), _sum, _count.
struct metric_sample {
    const struct metric *metric;
    const char *suffix;
    unsigned n_labels;
    struct metric_label labels[METRIC_LABELS_MAX];
    struct metric_value value;
};

struct metric_sink {
    void (*family)(struct metric_sink *to, const struct metric *m);  // before its samples; NULL
    void (*sample)(struct metric_sink *to, const struct metric_sample *s);
};

// metrics_visit: every family, with all its samples as of one reading. The order never changes
// while the server runs.
void metrics_visit(const struct ctl_shown *s, struct metric_sink *to);

// metrics_family: the i-th family, NULL behind the last one. Needs no server.
const struct metric *metrics_family(unsigned i);

// metrics_own: how many families come first that are no counters of a core: those follow, in the
// order of their table, as c10m_core_NAME_total, and a NAME_now as c10m_core_NAME.
extern const unsigned metrics_own;

// metrics_bounds: upper ends of the buckets, seconds.
extern const double metrics_bounds[METRIC_BOUNDS];

// metrics_text: all as Prometheus reads it (text format 0.0.4). 0, or out->error. Asked again
// within METRICS_SHARED_MS it gives the same text once more: rendering takes a millisecond a core
// or so, and a flood of requests must not take the control thread from the others.
enum { METRICS_SHARED_MS = 100 };
int metrics_text(const struct ctl_shown *s, struct text *out);

// metrics_text_sink: the sink behind it, for samples of other origin.
struct metrics_text_sink {
    struct metric_sink sink;
    struct text *out;
};
struct metrics_text_sink metrics_text_sink(struct text *out);
