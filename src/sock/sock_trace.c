// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/trace.h.
#include <stdio.h>

#include "c10m/trace.h"
#include "sock/sock_internal.h"
#include "tcp/tcp_trace.h"

static uint32_t block_of(const struct tcp *t, const struct block *b)
{
    return (uint32_t)(b - t->blocks);
}

static NOINLINE void begin(const struct tcp *t, const struct block *b)
{
    if (trace_is_full(t->trace, block_of(t, b)))
        t->trace->unfollowed++;
    else
        point_request(t->trace, tcp_traced(t, b));
}

static NOINLINE void end(const struct tcp *t, const struct block *b)
{
    if (trace_may_be_open(t->trace, block_of(t, b)))
        point_answer(t->trace, tcp_traced(t, b));
}

void c10m_request_begin(struct c10m_conn *c)
{
    const struct tcp *t = c->k->tcp;
    const struct block *b = c->b;
    const uint8_t service = b->service;
    DTRACE_PROBE3(c10m, request, block_of(t, b), b->generation, service);
    if (unlikely(t->trace != NULL))
        begin(t, b);
}

void c10m_request_end(struct c10m_conn *c)
{
    const struct tcp *t = c->k->tcp;
    const struct block *b = c->b;
    const uint8_t service = b->service;
    DTRACE_PROBE3(c10m, answer, block_of(t, b), b->generation, service);
    if (unlikely(t->trace != NULL))
        end(t, b);
}

int c10m_trace_event(struct c10m_service *s, const char *name)
{
    if (s->n_trace_events == C10M_TRACE_EVENTS_MAX)
        return -1;
    snprintf(s->trace_events[s->n_trace_events], C10M_TRACE_NAME_BYTES, "%s", name);
    return s->n_trace_events++;
}

void c10m_trace(struct c10m_conn *c, int event, uint32_t value)
{
    struct trace_ring *ring = c->k->tcp->trace;
    if (event >= 0 && event < c->k->services[c->b->service].n_trace_events)
        point_user(ring, c->b->service, (uint16_t)event, value, ring == NULL ? 0 : tsc_read());
}
