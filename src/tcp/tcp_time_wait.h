// SPDX-License-Identifier: BSD-3-Clause
// tcp_time_wait.h: TIME-WAIT records.
#pragma once
#include "tcp/tcp_shared.h"

// time_wait_at: place ix of the ring.
static inline struct time_wait *time_wait_at(const struct time_wait_ring *g, uint32_t ix)
{
    return (struct time_wait *)(void *)(g->records + (size_t)ix * g->record_bytes);
}

static inline struct flow_key time_wait_key(const struct time_wait *w)
{
    return (struct flow_key){time_wait_remote(w), w->local_ix, 0, w->remote_port, w->local_port};
}

// tcp_time_wait_yields: whether a new connection may replace the record `handle`: a TIME-WAIT
// record with timestamps, by which old segments are recognized (RFC 6191 2). *isn is then beyond
// its sequence numbers. tcp_time_wait_yield: ends that record.
bool tcp_time_wait_yields(struct tcp *t, uint32_t handle, uint32_t *isn);
void tcp_time_wait_yield(struct tcp *t, uint32_t handle);

// tcp_time_wait_flush: ends the oldest records of each family, at most max in all, whatever their
// time. Returns how many.
unsigned tcp_time_wait_flush(struct tcp *t, unsigned max);

// tcp_time_wait_enter: replaces block b, known as `handle` in the table, by a TIME-WAIT record.
// Without records of its family the entry is removed.
void tcp_time_wait_enter(struct tcp *t, const struct flow_key *key, struct block *b,
                         uint32_t handle);

// tcp_time_wait_move: the record at place `from` of the ring moves to the free place `to`. The copy
// is live before the original is dead: a process that is killed between the two leaves both, and
// tcp_adopt() takes one of them. A reader in another thread may see both.
void tcp_time_wait_move(const struct time_wait_ring *g, uint32_t from, uint32_t to);
