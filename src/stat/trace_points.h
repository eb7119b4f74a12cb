// SPDX-License-Identifier: BSD-3-Clause
// trace_points.h: the points of the stack that can be watched: each is a USDT probe of the provider
// c10m (a no-op in the code; docs/profiling.md) and, while the worker is traced, a record of its
// ring. ring NULL: it is not traced. Worker. None of them lies on the way of a common packet.
#pragma once
#include <sys/sdt.h>

#include "stat/trace_ring.h"

// stat_drop: counts n packets dropped for this reason. The record is made of the counter
// (worker/turn_trace.h).
static inline void stat_drop(struct core_stats *s, enum drop_reason reason, uint64_t n)
{
    DTRACE_PROBE2(c10m, drop, reason, n);
    s->drops[reason] += n;
}

static inline void point_open(struct trace_ring *ring, struct trace_conn c)
{
    DTRACE_PROBE3(c10m, open, c.block, c.generation, c.service);
    if (unlikely(ring != NULL))
        trace_put_conn(ring, TRACE_open, c);
}

// trace_end_closed: the connection has ended, and its request, if it has one, without an answer.
static inline void trace_end_closed(struct trace_ring *ring, struct trace_conn c)
{
    c.service |= TRACE_CLOSED;
    trace_end(ring, c);
}

// why: enum c10m_close.
static inline void point_close(struct trace_ring *ring, struct trace_conn c, uint8_t why)
{
    DTRACE_PROBE4(c10m, close, c.block, c.generation, c.service, why);
    if (likely(ring == NULL))
        return;
    trace_end_closed(ring, c);
    c.service |= (uint8_t)(why << TRACE_WHY_SHIFT);
    trace_put_conn(ring, TRACE_close, c);
}

static inline void point_retransmit(struct trace_ring *ring, struct trace_conn c)
{
    DTRACE_PROBE3(c10m, retransmit, c.block, c.generation, c.service);
    if (unlikely(ring != NULL))
        trace_put_conn(ring, TRACE_retransmit, c);
}

// wake: enum tcp_wake.
static inline void point_timer(struct trace_ring *ring, struct trace_conn c, uint8_t wake)
{
    DTRACE_PROBE3(c10m, timer, c.block, c.generation, wake);
    c.service = wake;
    if (unlikely(ring != NULL))
        trace_put_conn(ring, TRACE_timer, c);
}

// point_request, point_answer: an application says that a request was received, and that its answer
// is queued completely. ring is not NULL. Their probes are in sock/sock_trace.c: these come with
// each request, and the generation of a connection lies in a line of its block that no common
// packet touches, so that nobody reads it who needs it not.
static inline void point_request(struct trace_ring *ring, struct trace_conn c)
{
    struct trace_open *o = trace_begin(ring, c);
    if (o != NULL)
        o->marked = true;
}

static inline void point_answer(struct trace_ring *ring, struct trace_conn c)
{
    trace_end(ring, c);
}

// point_user: event number `event` of an application, at TSC value `tsc` if it is traced.
static inline void point_user(struct trace_ring *ring, uint8_t service, uint16_t event,
                              uint32_t value, uint64_t tsc)
{
    DTRACE_PROBE3(c10m, user, service, event, value);
    if (unlikely(ring != NULL))
        trace_put(ring, &(struct trace_record){tsc, TRACE_user, service, event, value});
}

// point_stall: a turn of `us` microseconds ended at TSC value `end`.
static inline void point_stall(struct trace_ring *ring, uint64_t end, uint8_t stage, uint32_t us)
{
    DTRACE_PROBE2(c10m, stall, us, stage);
    if (unlikely(ring != NULL))
        trace_write(ring, &(struct trace_record){end, TRACE_stall, stage, 0, us});
}
