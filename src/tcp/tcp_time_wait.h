// SPDX-License-Identifier: BSD-3-Clause
// tcp_time_wait.h: TIME-WAIT records.
#pragma once
#include "tcp/tcp_shared.h"

// time_wait_at: place ix of the ring.
static inline struct time_wait *time_wait_at(const struct time_wait_ring *g, uint32_t ix)
{
    return (struct time_wait *)(void *)(g->records + (size_t)ix * g->record_bytes);
}

// tcp_time_wait_yields: may a connection that is opened have the place of what `handle` names? Of a
// TIME-WAIT record whose connection had timestamps: old segments are known by them (RFC 6191 2, as
// the opener); *isn is beyond its numbers then. tcp_time_wait_yield: the record that gave it ends.
bool tcp_time_wait_yields(struct tcp *t, uint32_t handle, uint32_t *isn);
void tcp_time_wait_yield(struct tcp *t, uint32_t handle);

// tcp_time_wait_flush: ends the oldest records of each family, whatever their time, at most max in
// all; how many there were.
unsigned tcp_time_wait_flush(struct tcp *t, unsigned max);

// tcp_time_wait_enter: makes the record that replaces block b, known as `handle`, in the table;
// none if there is no place for records of its family.
void tcp_time_wait_enter(struct tcp *t, const struct flow_key *key, struct block *b,
                         uint32_t handle);
