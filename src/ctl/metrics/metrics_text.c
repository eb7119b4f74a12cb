// SPDX-License-Identifier: BSD-3-Clause
// metrics_text.c: Prometheus' text format 0.0.4.
#include <inttypes.h>
#include <string.h>

#include "ctl/metrics/metrics.h"

// escaped: `what` with \ before each of \, " (in values) and newline.
static void escaped(struct text *out, const char *what, bool value)
{
    for (; *what != '\0'; what++) {
        if (*what == '\n')
            text_put(out, "\\n", 2);
        else {
            if (*what == '\\' || (value && *what == '"'))
                text_put(out, "\\", 1);
            text_put(out, what, 1);
        }
    }
}

static void family(struct metric_sink *to, const struct metric *m)
{
    static const char *const types[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_PASSING] = "gauge",
                                        [METRIC_HISTOGRAM] = "histogram"};
    struct text *out = ((struct metrics_text_sink *)to)->out;
    text_printf(out, "# HELP %s ", m->name);
    escaped(out, m->help, false);
    text_printf(out, "\n# TYPE %s %s\n", m->name, types[m->type]);
}

static void sample(struct metric_sink *to, const struct metric_sample *s)
{
    struct text *out = ((struct metrics_text_sink *)to)->out;
    text_printf(out, "%s%s", s->metric->name, s->suffix);
    for (unsigned i = 0; i < s->n_labels; i++) {
        text_printf(out, "%s%s=\"", i == 0 ? "{" : ",", s->labels[i].name);
        escaped(out, s->labels[i].value, true);
        text_put(out, "\"", 1);
    }
    text_printf(out, "%s ", s->n_labels > 0 ? "}" : "");
    if (s->value.is_real)
        text_printf(out, "%.9g\n", s->value.real);
    else
        text_printf(out, "%" PRIu64 "\n", s->value.n);
}

struct metrics_text_sink metrics_text_sink(struct text *out)
{
    return (struct metrics_text_sink){{family, sample}, out};
}

int metrics_text(const struct ctl_shown *s, struct text *out)
{
    static struct text last;
    static const struct ctl_shown *of;
    static uint64_t at_ns;
    const uint64_t now_ns = liveness_clock_ns();
    if (of != s || last.error != 0 || now_ns - at_ns > METRICS_SHARED_MS * UINT64_C(1000000)) {
        text_free(&last);
        text_init(&last, out->limit_bytes);
        struct metrics_text_sink to = metrics_text_sink(&last);
        metrics_visit(s, &to.sink);
        of = s;
        at_ns = now_ns;
    }
    if (last.error == 0)
        text_put(out, last.data, last.len);
    return last.error != 0 ? last.error : out->error;
}
