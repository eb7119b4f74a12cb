// SPDX-License-Identifier: BSD-3-Clause
// baseline.h: what the counters of the tree showed when they were reset (ctl/reset). The
// workers count on, for each counter has one writer: readers of cores/N/, ports/NAME/counters see
// what was added since. What is a total for machines (/metrics, StatsD, net/) is never reset.
#pragma once
#include "pkt/port.h"
#include "server/server.h"
#include "stat/latency.h"

struct ctl_baseline;

// ctl_baseline_new: of s, which outlives it: nothing was reset yet. NULL: no memory.
struct ctl_baseline *ctl_baseline_new(const struct server *s);
void ctl_baseline_free(struct ctl_baseline *b);

// ctl_baseline_core, _latency, _port: what was added to *now, a snapshot, since the reset. Names in
// _now are present values and stay. b NULL: nothing was reset.
void ctl_baseline_core(const struct ctl_baseline *b, unsigned worker, struct core_stats *now);
void ctl_baseline_latency(const struct ctl_baseline *b, unsigned worker, bool idle,
                          struct latency *now);
void ctl_baseline_port(const struct ctl_baseline *b, unsigned port, struct port_stats *now);

// ctl_baseline_reset_core, _latency, _port: from now on.
void ctl_baseline_reset_core(struct ctl_baseline *b, unsigned worker);
void ctl_baseline_reset_latency(struct ctl_baseline *b, unsigned worker);
void ctl_baseline_reset_port(struct ctl_baseline *b, unsigned port);
