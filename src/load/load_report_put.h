// SPDX-License-Identifier: BSD-3-Clause
// load_report_put.h: parts of a report that several loads share.
#pragma once
#include "load/load_report.h"

// load_per: value / by; 0 if by is not above 0.
static inline double load_per(double value, double by)
{
    return by > 0 ? value / by : 0;
}

// load_put, load_put_real: append a member to the JSON object: a comma, name and value. places:
// decimal places.
void load_put(struct text *out, const char *name, uint64_t value);
void load_put_real(struct text *out, const char *name, double value, int places);

// load_put_stages, load_table_stages: append the server's cycles in the request phase, by stage,
// divided by n. Nothing if the server is elsewhere.
void load_put_stages(struct text *out, const struct load_result *r, const char *name, double n);
void load_table_stages(struct text *out, const struct load_result *r, const char *things, double n);

// load_busy_cycles: the server's cycles in the request phase, in all stages except idle.
double load_busy_cycles(const struct load_result *r);

// load_put_latency: appends percentiles in microseconds; `before` is the prefix of their names.
// load_table_latency: appends them as one line of the table.
void load_put_latency(struct text *out, const char *before, const struct load_histogram *h);
void load_table_latency(struct text *out, const char *name, const struct load_histogram *h);

// load_schedule_json, load_schedule_table: the part about an open loop. load_udp_json,
// load_udp_table: the part of `udp`.
void load_schedule_json(const struct load_result *r, struct text *out);
void load_schedule_table(const struct load_result *r, struct text *out);
void load_udp_json(const struct load_result *r, struct text *out);
void load_udp_table(const struct load_result *r, struct text *out);

// load_full_json, load_full_table: the part of `rate` and `syn`.
void load_full_json(const struct load_result *r, struct text *out);
void load_full_table(const struct load_result *r, struct text *out);

// load_give_up_json, load_give_up_table: the part about clients without patience.
void load_give_up_json(const struct load_result *r, struct text *out);
void load_give_up_table(const struct load_result *r, struct text *out);

// load_stream_json, load_stream_table: the part of `stream`.
void load_stream_json(const struct load_result *r, struct text *out);
void load_stream_table(const struct load_result *r, struct text *out);
