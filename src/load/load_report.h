// SPDX-License-Identifier: BSD-3-Clause
// load_report.h: the report of `c10m load`, as a table and as a JSON object.
#pragma once
#include "base/text.h"
#include "drivers/fault.h"
#include "load/load.h"
#include "load/load_options.h"
#include "stat/counters.h"

// load_result: the input of the report.
struct load_result {
    const struct load_options *options;
    const struct load *load;
    bool here;  // the server ran in this process: the fields of the server are valid
    bool ok;
    bool interrupted;  // not complete; requests that were not sent count as lost
    double open_s, ask_s, close_s;
    double tsc_hz;
    // counters of the server at the start and end of the request phase
    struct core_stats asked_from, asked_to;
    struct load_counters counted_from, counted_to;  // counters of the client, at the same times
    // At the last request: seconds since the first one, and the counters of the client.
    double stop_s;
    struct load_counters counted_stop;
    // stream up: bytes and errors that the server's service counted
    uint64_t sink_bytes, sink_wrong;
    uint64_t server_retransmitted;  // segments, since the start
    struct fault_counts to_server, to_client;
    uint64_t falsified;
    unsigned workers;
    struct core_stats end[LOAD_WORKERS_MAX];  // counters of each worker, since the start
    const char *arenas;  // lines `name value`: memory of the server in this process
};

// load_report_json: appends one JSON object in one line.
void load_report_json(const struct load_result *r, struct text *out);

// load_report_table: appends the same as a table.
void load_report_table(const struct load_result *r, struct text *out);

// load_report_progress: appends one line of progress up to this second. Rates are computed from
// *before, which is then set to the present counters.
void load_report_progress(const struct load *l, struct load_counters *before, uint64_t second,
                          struct text *out);
