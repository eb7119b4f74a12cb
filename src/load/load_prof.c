// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_prof.h"

#include <string.h>

#include "prof/prof_kinds.h"

int load_prof_open(struct load_run *r, struct err *err)
{
    memcpy(r->profiles.paths, r->o.profiles, sizeof(r->o.profiles));
    return prof_files_open(&r->profiles, err);
}

int load_prof_begin(struct load_run *r, struct err *err)
{
    const struct prof_params p = {.shown = {.server = r->server, .version = "load"},
                                  .kinds = prof_kinds,
                                  .n_kinds = prof_n_kinds};
    if (!prof_files_any(&r->profiles))
        return 0;
    r->prof = prof_new(&p, err);
    return r->prof == NULL ? -1 : prof_files_begin(&r->profiles, r->prof, err);
}

void load_prof_turn(struct load_run *r, double now_s)
{
    if (likely(r->prof == NULL) || now_s < r->prof_due_s)
        return;
    prof_turn(r->prof, prof_clock_ms());
    r->prof_due_s = now_s + PROF_TICK_MS / 1e3;
}

int load_prof_memory(struct load_run *r, struct err *err)
{
    return prof_files_memory(&r->profiles, err);
}

int load_prof_end(struct load_run *r, struct err *err)
{
    const int rc = prof_files_end(&r->profiles, err);
    prof_free(r->prof);
    r->prof = NULL;
    return rc;
}
