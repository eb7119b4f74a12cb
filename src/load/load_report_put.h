// SPDX-License-Identifier: BSD-3-Clause
// load_report_put.h: the pieces of a report that several loads share.
#pragma once
#include "load/load_report.h"

// load_per: value / by; 0 if by is not above 0.
static inline double load_per(double value, double by)
{
    return by > 0 ? value / by : 0;
}

// load_put, load_put_real: one figure of the JSON object behind others: a comma, name and value.
void load_put(struct text *out, const char *name, uint64_t value);
void load_put_real(struct text *out, const char *name, double value, int places);

// load_put_stages, load_table_stages: the server's cycles while asked, by stage, for each of n
// things; nothing of a server elsewhere.
void load_put_stages(struct text *out, const struct load_result *r, const char *name, double n);
void load_table_stages(struct text *out, const struct load_result *r, const char *things, double n);

// load_busy_cycles: of the server while asked, all stages but idle.
double load_busy_cycles(const struct load_result *r);

// load_put_latency: percentiles in microseconds, their names behind `before`. load_table_latency:
// the same as one line.
void load_put_latency(struct text *out, const char *before, const struct load_histogram *h);
void load_table_latency(struct text *out, const char *name, const struct load_histogram *h);

// load_schedule_json, load_schedule_table: of an open loop of requests or datagrams. load_udp_json,
// load_udp_table: what is only of `udp`.
void load_schedule_json(const struct load_result *r, struct text *out);
void load_schedule_table(const struct load_result *r, struct text *out);
void load_udp_json(const struct load_result *r, struct text *out);
void load_udp_table(const struct load_result *r, struct text *out);

// load_full_json, load_full_table: what is only of `rate` and `syn`.
void load_full_json(const struct load_result *r, struct text *out);
void load_full_table(const struct load_result *r, struct text *out);

// load_stream_json, load_stream_table: what is only of `stream`.
void load_stream_json(const struct load_result *r, struct text *out);
void load_stream_table(const struct load_result *r, struct text *out);
