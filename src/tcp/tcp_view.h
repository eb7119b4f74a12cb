// SPDX-License-Identifier: BSD-3-Clause
// tcp_view.h: looks at another thread's connections, without a word to it. The control thread reads
// blocks and records where they lie, while their worker goes on; the worker pays with the cache
// lines that it has to fetch back, and with nothing else: its writes are the plain ones they are.
//
//   block         generation, state --> copy three lines --> state, generation
//   half-open,    live --> copy --> live --> copy again --> live: equal copies
//   TIME-WAIT
//
// A copy is of one connection, never of two. For a block: between two lives its state is FREE,
// every store of a new life comes after that one, and before its first state other than FREE lies
// all of its identity and its generation (tcp_set_state() orders the three; on x86 that costs
// nothing, for stores are seen in order, and the compiler is told). So if the state is not FREE
// before and after, and the generation is the same, no store of another life was seen. The
// generation has 16 bits: a copy that took as long as 65,536 lives could take is made again. For a
// record: it is not live while it is written, so what differs between two lives cannot be mixed
// alike in both copies.
//
// What may be inconsistent: the numbers of one connection among each other, which the worker moves
// during the copy (snd_una of now, snd_nxt of 50 ns ago), and the list: a connection that opens,
// closes, or becomes a TIME-WAIT record during the walk may be missing, or be there twice.
#pragma once
#include "tcp/tcp.h"

enum { TCP_VIEW_TRIES = 4 };  // copies of one place; who changes hands so fast is not shown

// tcp_view_begin: *view = a copy of t's own words up to ooo_of, behind which is nothing that the
// calls below look at; for them in place of t. The worker
// writes to some of those lines at every packet: reading them for each connection anew doubled its
// cycles a packet at a million connections; with one copy for a piece of a table they grow by 2 to
// 4 of a hundred while somebody reads without a pause (c10m bench reader).
void tcp_view_begin(struct tcp *view, const struct tcp *t);

// tcp_view_block: *copy = the first three lines of block ix; false: it is free, or changes hands.
// tcp_view_syn, tcp_view_time_wait: half-open connection ix, place ix of a TIME-WAIT ring of t, of
// which *copy is all of one over IPv6, else w. Any thread, while the memory of t stands.
bool tcp_view_block(const struct tcp *t, uint32_t ix, struct block *copy);
bool tcp_view_syn(const struct tcp *t, uint32_t ix, struct syn_record *copy);
bool tcp_view_time_wait(const struct time_wait_ring *g, uint32_t ix, struct time_wait6 *copy);

// tcp_view_listening: the same of place ix of the listeners that were opened while running.
bool tcp_view_listening(const struct listen_table *l, uint32_t ix, struct listening *copy);

// tcp_view_fetch: block ix is looked at soon. tcp_view_fetch_rest: rather soon; its other lines,
// unless it is free.
static inline void tcp_view_fetch(const struct tcp *t, uint32_t ix)
{
    prefetch0(&t->blocks[ix]);
}

static inline void tcp_view_fetch_rest(const struct tcp *t, uint32_t ix)
{
    if (__atomic_load_n(&t->blocks[ix].state, __ATOMIC_RELAXED) == TCP_FREE)
        return;
    prefetch0(&t->blocks[ix].snd_end);
    prefetch0(&t->blocks[ix].ssthresh);
}

// tcp_view_used: no place of the pool from this one on was ever used: indices are given out from
// the lowest, and the pool knows the fewest that were free.
static inline uint32_t tcp_view_used(const struct index_pool *p)
{
    return p->count - __atomic_load_n(&p->low_water, __ATOMIC_RELAXED);
}

// tcp_view_tw_next: the first place of the TIME-WAIT ring from `place` on that may hold a record;
// its capacity: none.
uint32_t tcp_view_tw_next(const struct time_wait_ring *g, uint32_t place);
