// SPDX-License-Identifier: BSD-3-Clause
// statsd.h: the metrics pushed to a StatsD server over UDP, every interval:
//
//     PREFIX.core_rx_packets.2:1520|c        counters: what came since the last time; nothing new,
//     PREFIX.core_connections.2:10000|g      nothing sent. gauges: always; those that come and go
//                                            (METRIC_PASSING) as zero when they have gone
//
// A name is the family's without c10m_ and _total, then the values of its labels, of which anything
// but letters, digits, - and _ becomes _. Histograms are left out. Control thread; a datagram that
// the kernel does not take at once is counted, and its counters go with the next ones.
#pragma once
#include "base/err.h"
#include "conf/conf.h"
#include "ctl/event_loop.h"
#include "ctl/metrics/metrics.h"

enum {
    STATSD_DATAGRAM_BYTES = 1432,  // 1500 less headers of IPv4 or IPv6, UDP and a little more
    STATSD_NAME_BYTES = 256,       // of a line's name
    STATSD_LINES_MAX = STATSD_DATAGRAM_BYTES / 4,  // in a datagram: "a:1|" each at least
};

struct statsd_params {
    struct conf_endpoint to;
    const char *prefix;
    uint32_t interval_ms;
    uint32_t rate_ppm;  // of counters, each time: sent with |@RATE, which the server multiplies by
    uint64_t seed;
    void (*visit)(const struct ctl_shown *s, struct metric_sink *to);  // metrics_visit
    const struct ctl_shown *shown;
};

struct statsd_counts {
    uint64_t datagrams, failed, lines, too_long;
};

struct statsd;

// statsd_start: pushes from loop every interval_ms. What p points to outlives it. NULL with *e.
struct statsd *statsd_start(struct ctl_loop *loop, const struct statsd_params *p, struct err *e);
void statsd_stop(struct statsd *s);  // NULL: nothing

// statsd_change: from now on so often, and so many of the counters. -1 with *e: as before. NULL:
// nothing.
int statsd_change(struct statsd *s, uint32_t interval_ms, uint32_t rate_ppm, struct err *e);

// statsd_push: at once. statsd_counts: so far.
void statsd_push(struct statsd *s);
struct statsd_counts statsd_counts(const struct statsd *s);

// statsd_render: what control/statsd shows.
int statsd_render(const struct statsd *s, struct text *out);
