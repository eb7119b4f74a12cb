// SPDX-License-Identifier: BSD-3-Clause
// prof_state.h: all runs of one server and their counters, for the files that share them.
#pragma once
#include "prof/prof_run.h"
#include "prof/prof_starts.h"

// prof_counts: started = ready + failed + left + those that are running.
struct prof_counts {
    uint64_t started, ready, failed, left;
    uint64_t refused_full, refused_client, refused_often, refused_kind;
};

struct prof {
    struct prof_params params;
    struct prof_counts counts;
    struct prof_starts starts;
    struct text_budget results;  // of the runs' results
    struct prof_run runs[PROF_RUNS_MAX];
};
