// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>

#include "prof/prof_state.h"

static unsigned running(const struct prof *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++)
        n += p->runs[i].kind != NULL;
    return n;
}

void prof_render(const struct prof *p, struct text *out)
{
    const struct prof_counts *c = &p->counts;
    const struct {
        const char *name;
        uint64_t value;
    } lines[] = {
        {"runs_now", running(p)},
        {"runs_max", PROF_RUNS_MAX},
        {"runs_root", PROF_RUNS_ROOT},
        {"runs_client_max", PROF_RUNS_CLIENT_MAX},
        {"starts_burst", PROF_STARTS_BURST},
        {"starts_ms", PROF_STARTS_MS},
        {"result_bytes_max", PROF_RESULT_BYTES_MAX},
        {"results_bytes_max", PROF_RESULTS_BYTES_MAX},
        {"results_bytes_now", p->results.used_bytes},
        {"started", c->started},
        {"ready", c->ready},
        {"failed", c->failed},
        {"left", c->left},
        {"refused_full", c->refused_full},
        {"refused_client", c->refused_client},
        {"refused_often", c->refused_often},
        {"refused_kind", c->refused_kind},
    };
    for (unsigned i = 0; i < ARRAY_LEN(lines); i++)
        text_printf(out, "%s %" PRIu64 "\n", lines[i].name, lines[i].value);
}

static const char *phase_name(const struct prof_run *r)
{
    static const char *const names[] = {[PROF_TAKES] = "takes",
                                        [PROF_STOPS] = "stops",
                                        [PROF_WRITES] = "writes",
                                        [PROF_READY] = "ready",
                                        [PROF_FAILED] = "failed"};
    return r->left ? "left" : names[r->phase];
}

void prof_render_runs(const struct prof *p, uint64_t now_ms, struct text *out)
{
    text_printf(out, "profile client seconds phase age_ms\n");
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++) {
        const struct prof_run *r = &p->runs[i];
        if (r->kind != NULL)
            text_printf(out, "%s %s %u %s %" PRIu64 "\n", r->kind->name, r->client,
                        r->query.seconds, phase_name(r), now_ms - r->began_ms);
    }
}
