// SPDX-License-Identifier: BSD-3-Clause
// render.h: counters as text: `name value` a line, or Linux's format where Linux has one. Pure
// functions; failures stick in the text (base/text.h). Control thread.
#pragma once
#include "base/text.h"
#include "stat/counters.h"

// counters_render: every counter of s, then dropped, dropped_tx and balance.
void counters_render(struct text *out, const struct core_stats *s);

// drops_render: every drop reason of s, zeros included, in the order of the table.
void drops_render(struct text *out, const struct core_stats *s);

// drop_reasons_render: `name side cause help` of every drop reason, in the order of the table.
void drop_reasons_render(struct text *out);

// cycles_render: for each stage STAGE_cycles, STAGE_share_percent (of all cycles) and
// STAGE_cycles_per_packet; then total_cycles, busy_share_percent (without idle) and
// handling_cycles_per_packet (without app and idle). Packets are those received; without packets
// the value is 0.
void cycles_render(struct text *out, const struct core_stats *s);

// stat_help_render: `name help text` of every counter, drop reason and stage.
void stat_help_render(struct text *out);

// snmp_constants: the values of /proc/net/snmp that are not counters.
struct snmp_constants {
    uint32_t ttl;                     // Ip DefaultTTL
    uint32_t rto_ms_min, rto_ms_max;  // Tcp RtoMin, RtoMax
    int64_t conns_max;                // Tcp MaxConn, -1: no fixed number
};

// snmp_render: the Ip, Icmp, Tcp and Udp line pairs of Linux's /proc/net/snmp (Linux 6.18's
// columns, net/ipv4/proc.c; RFC 4293, 4022, 4113), summed over cores[0..n). What c10m does not
// count or do is 0 there.
void snmp_render(struct text *out, const struct core_stats *const *cores, unsigned n,
                 const struct snmp_constants *constants);

// snmp6_render: the lines of Linux's /proc/net/snmp6, in the same way: a name and a value each.
void snmp6_render(struct text *out, const struct core_stats *const *cores, unsigned n);

// netstat_render: the TcpExt and IpExt line pairs of Linux's /proc/net/netstat, in the same way. A
// name has its meaning on Linux (net/ipv4/proc.c, snmp_counter.rst of its documentation).
void netstat_render(struct text *out, const struct core_stats *const *cores, unsigned n);

// sockstat_render, sockstat6_render: Linux's /proc/net/sockstat and sockstat6, summed over
// cores[0..n). As on Linux, `inuse` counts connections of that family, `alloc` of both. Listeners
// are not counted. `orphan` is 0, because an application keeps its connection to the end. `mem` is
// in pages of 4 KiB: buffers_now times buffer_bytes.
void sockstat_render(struct text *out, const struct core_stats *const *cores, unsigned n,
                     uint32_t buffer_bytes);
void sockstat6_render(struct text *out, const struct core_stats *const *cores, unsigned n);
