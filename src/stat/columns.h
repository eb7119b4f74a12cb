// SPDX-License-Identifier: BSD-3-Clause
// columns.h: functions that the renderers of Linux's formats share.
#pragma once
#include "stat/render.h"

// column: one name and value of a pair of lines in /proc/net/snmp or /proc/net/netstat.
struct column {
    const char *name;
    int64_t value;
};

// columns_render: the pair of lines `PROTO: names` and `PROTO: values`.
void columns_render(struct text *out, const char *proto, const struct column *cols, size_t n);

// drops_sum: the packets dropped for these n reasons. DROPS: the same for a list.
int64_t drops_sum(const struct core_stats *s, const enum drop_reason *reasons, size_t n);

#define DROPS(s, ...)                                                                              \
    drops_sum(s, (const enum drop_reason[]){__VA_ARGS__},                                          \
              sizeof((const enum drop_reason[]){__VA_ARGS__}) / sizeof(enum drop_reason))

// less: a - b of two counters that were read at different times, at least 0.
static inline int64_t less(uint64_t a, uint64_t b)
{
    return a > b ? (int64_t)(a - b) : 0;
}
