// SPDX-License-Identifier: BSD-3-Clause
// baseline.h: the values of counters at their reset (ctl/reset). A reset does not change the
// counters, because the worker is their only writer: cores/N/ and ports/NAME/counters show the
// difference since the reset. /metrics, StatsD and net/ always show totals.
#pragma once
#include "pkt/port.h"
#include "server/server.h"
#include "stat/latency.h"

struct ctl_baseline;

// ctl_baseline_new: an empty baseline for s, which must outlive it. Returns NULL if there is no
// memory.
struct ctl_baseline *ctl_baseline_new(const struct server *s);
void ctl_baseline_free(struct ctl_baseline *b);

// ctl_baseline_core, _latency, _port: subtract the values at the reset from *now, a snapshot.
// Counters whose names end with _now are present values and are not changed. b NULL: nothing was
// reset.
void ctl_baseline_core(const struct ctl_baseline *b, unsigned worker, struct core_stats *now);
void ctl_baseline_latency(const struct ctl_baseline *b, unsigned worker, bool idle,
                          struct latency *now);
void ctl_baseline_port(const struct ctl_baseline *b, unsigned port, struct port_stats *now);

// ctl_baseline_reset_core, _latency, _port: store the present values as those at the reset.
void ctl_baseline_reset_core(struct ctl_baseline *b, unsigned worker);
void ctl_baseline_reset_latency(struct ctl_baseline *b, unsigned worker);
void ctl_baseline_reset_port(struct ctl_baseline *b, unsigned port);
