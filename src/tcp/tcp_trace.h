// SPDX-License-Identifier: BSD-3-Clause
// tcp_trace.h: the points of TCP that can be watched, and how their records name a connection.
#pragma once
#include "stat/trace_points.h"
#include "tcp/tcp_worker.h"

static inline struct trace_conn tcp_traced(const struct tcp *t, const struct block *b)
{
    return (struct trace_conn){(uint32_t)(b - t->blocks), b->generation, b->service};
}
