// SPDX-License-Identifier: BSD-3-Clause
// tcp_view.h: reads the connections of another thread. The control thread copies blocks and records
// in place while their worker runs. The cost for the worker is that it has to fetch cache lines
// back; its writes are plain.
//
//   block         generation, state --> copy three lines --> state, generation
//   half-open,    live --> copy --> live --> copy again --> live: equal copies
//   TIME-WAIT
//
// A copy is of one connection, never of two. Block: between two lives its state is FREE. Every
// store of a new life comes after that store, and its identity and generation come before its first
// state other than FREE (tcp_set_state() orders the three; x86 keeps stores in order, so only the
// compiler has to be told). If the state is not FREE before and after the copy, and the generation
// is the same, the copy has no store of another life. A new life is written over a block of zeros,
// so that 0 is no generation: between two lives it would be that of both. The generation has 16
// bits: a copy that took long enough for 65,536 lives is repeated. Record: it is not live while it
// is written, so that two equal copies cannot mix two lives.
//
// Not guaranteed: that the numbers of one connection are of the same moment (snd_una of now,
// snd_nxt of 50 ns ago), and that a walk is complete: a connection that opens, closes or becomes a
// TIME-WAIT record during the walk may be missing or appear twice.
#pragma once
#include "tcp/tcp.h"

enum { TCP_VIEW_TRIES = 4 };  // tries for one place, if it changes its connection meanwhile

// tcp_view_begin: copies the fields of t before ooo_of to *view; the functions below take the copy
// in place of t. The worker writes some of these lines for every packet. Reading them anew for each
// connection doubled its cycles per packet with a million connections; one copy for each piece of a
// table adds 2 to 4 percent while a reader runs without a pause (c10m bench reader).
void tcp_view_begin(struct tcp *view, const struct tcp *t);

// tcp_view_block: copies the first three lines of block ix. False: it is free, or its connection
// changed. tcp_view_syn: the same for half-open record ix. tcp_view_time_wait: for place ix of a
// TIME-WAIT ring; *copy is complete for IPv6, else only w is. Any thread, while the memory of t
// exists.
bool tcp_view_block(const struct tcp *t, uint32_t ix, struct block *copy);
bool tcp_view_syn(const struct tcp *t, uint32_t ix, struct syn_record *copy);
bool tcp_view_time_wait(const struct time_wait_ring *g, uint32_t ix, struct time_wait6 *copy);

// tcp_view_listening: the same for place ix of the listeners opened at run time.
bool tcp_view_listening(const struct listen_table *l, uint32_t ix, struct listening *copy);

// tcp_view_fetch: prefetches the first line of block ix. tcp_view_fetch_rest: later, prefetches its
// other lines, unless it is free.
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

// tcp_view_used: one more than the highest index of the pool ever used: indices are given out from
// the lowest, and the pool stores the fewest that were free.
static inline uint32_t tcp_view_used(const struct index_pool *p)
{
    return p->count - __atomic_load_n(&p->low_water, __ATOMIC_RELAXED);
}

// tcp_view_tw_next: the first place of the TIME-WAIT ring from `place` on that may hold a record;
// its capacity: none.
uint32_t tcp_view_tw_next(const struct time_wait_ring *g, uint32_t place);
