// SPDX-License-Identifier: BSD-3-Clause
// stages: where the workers are, by looks at the stage that they publish.
#include "prof/prof_frames.h"
#include "prof/prof_kinds.h"
#include "prof/reading.h"
#include "server/stage_watch.h"

enum { LOOKS, NANOSECONDS, TYPES };

static void put(const struct reading *r, unsigned worker, unsigned stage, unsigned service,
                int64_t looks)
{
    const struct server *s = r->shown.server;
    const int64_t values[TYPES] = {looks, looks * STAGE_WATCH_MS * 1000000};
    struct frames f = {.n = 0};
    if (looks == 0)
        return;
    if (service < server_params_of(s)->n_services)
        frames_service(&f, s, service);
    frames_add(&f, "stage %s", stat_stage_names[stage].name);
    frames_add(&f, "core %s", frames_core(&f, s, worker));
    frames_label(&f, "stage", "%s", stat_stage_names[stage].name);
    frames_put(&f, r->profile, values);
}

static void read_looks(const struct reading *r, int64_t sign)
{
    for (unsigned w = 0; w < server_workers(r->shown.server); w++) {
        const struct stage_looks *l = stage_watch_looks(r->shown.stages, w);
        for (unsigned st = 0; st < STAGE_COUNT; st++)
            for (unsigned sv = 0; sv < STAGE_WATCH_SERVICES; sv++)
                put(r, w, st, sv, sign * (int64_t)l->n[st][sv]);
    }
    if (sign > 0)
        profile_comment(r->profile,
                        "one look each %d ms at the stage of each core; a late look counts for "
                        "those that were missed. No functions, and nothing of a core that the "
                        "control thread runs on",
                        STAGE_WATCH_MS);
}

static int check(const struct prof_shown *s, const struct prof_query *q, struct err *err)
{
    (void)q;
    return s->stages != NULL ? 0 : err_set(err, "nobody looks at the stages of this program");
}

static const struct reading_kind stages = {
    .title = "stages",
    .params = {.n_types = TYPES,
               .default_type = NANOSECONDS,
               .types = {{"looks", "count"}, {"time", "nanoseconds"}},
               .period_type = {"time", "nanoseconds"},
               .period = (int64_t)STAGE_WATCH_MS * 1000000},
    .brief = true,
    .read = read_looks,
    .check = check,
};

READING_KIND(
    stages,
    .help = "where each core is: its stage, and the application within it, by looks every 20 ms, "
            "always on. Since the start, or with seconds=N of N seconds.");
