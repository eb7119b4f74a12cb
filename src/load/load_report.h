// SPDX-License-Identifier: BSD-3-Clause
// load_report.h: what a run of `c10m load` found, as a table and as one JSON object.
#pragma once
#include "base/text.h"
#include "drivers/fault.h"
#include "load/load.h"
#include "load/load_options.h"
#include "stat/counters.h"

// load_result: all that the report is made of.
struct load_result {
    const struct load_options *options;
    const struct load *load;
    bool here;  // the server ran in this process: what is its own below is known
    bool ok;
    bool interrupted;  // not finished; what was not asked yet counts as lost
    double open_s, ask_s, close_s;
    double tsc_hz;
    struct core_stats asked_from, asked_to;  // the server's counters around the phase of asking
    struct load_counters counted_from, counted_to;  // the client's, at the same times
    // When no more was asked: the seconds from the first to then, and the client's counters.
    double stop_s;
    struct load_counters counted_stop;
    uint64_t sink_bytes, sink_wrong;  // of stream up: what the server's service took
    uint64_t server_retransmitted;    // segments, from the start on
    struct fault_counts to_server, to_client;
    uint64_t falsified;
    unsigned workers;
    struct core_stats end[LOAD_WORKERS_MAX];  // of each, from the start on
    const char *arenas;  // lines `name value`: what the server reserved; none of another process's
};

// load_report_json: one object in one line.
void load_report_json(const struct load_result *r, struct text *out);

// load_report_table: the same for people.
void load_report_table(const struct load_result *r, struct text *out);

// load_report_progress: one line of what was done up to this second; of bulk: in this second, since
// *before, which becomes the present state.
void load_report_progress(const struct load *l, struct load_counters *before, uint64_t second,
                          struct text *out);
