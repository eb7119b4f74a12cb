// SPDX-License-Identifier: BSD-3-Clause
// tcp_timers.h: what the wheel wakes, and what ends by time.
#pragma once
#include "tcp/tcp_worker.h"

// The kind of a wheel handle. The wheel has at most one entry of each kind for each block, and one
// for each half-open record.
//   WAKE_XMIT     a block: one of its xmit deadlines (retransmission, persist, delayed ACK)
//   WAKE_SYN      a half-open record
//   WAKE_SLOW     a block: one of its slow deadlines (keepalive, FIN-WAIT-2, application)
//   WAKE_MOVABLE  a block: a deadline that is earlier than the two entries above, or one of
//                 congestion control (pacing, idle time)
enum tcp_wake { WAKE_XMIT, WAKE_SYN, WAKE_SLOW, WAKE_MOVABLE };

// tcp_timer: handles the deadlines of block ix that have passed, after its wheel entry `wake` has
// expired, and arms the next deadline. An xmit entry does not check the slow deadlines. Returns
// event bits (TCP_EV_*). With TCP_EV_CLOSED the caller tells the application and frees the block.
uint16_t tcp_timer(struct tcp *t, uint32_t ix, enum tcp_wake wake);

// tcp_xmit_runs: whether block ix has an xmit deadline. If not, its expired xmit entry is
// discarded.
static inline bool tcp_xmit_runs(const struct tcp *t, uint32_t ix)
{
    return t->xmit_runs[ix / 64] >> ix % 64 & 1;
}

// tcp_arm: makes sure that the wheel wakes block ix at its earliest xmit deadline.
void tcp_arm(struct tcp *t, uint32_t ix);

// tcp_arm_slow: makes sure that the wheel wakes block ix at its earliest slow deadline. Call it
// after each change of a slow deadline.
void tcp_arm_slow(struct tcp *t, uint32_t ix);

// tcp_syn_timer: the same for a half-open connection: the SYN-ACK again, or the end.
void tcp_syn_timer(struct tcp *t, uint32_t syn_ix);

// tcp_time_wait_init: places for n4 records over IPv4 at mem4, a struct time_wait each, and for n6
// over IPv6 at mem6, a struct time_wait6 each; all zero.
void tcp_time_wait_init(struct tcp *t, void *mem4, uint32_t n4, void *mem6, uint32_t n6);

// tcp_time_wait_expire: ends TIME-WAIT records whose time has come, at most max of each family;
// returns how many.
unsigned tcp_time_wait_expire(struct tcp *t, unsigned max);

// tcp_time_wait_next_ms: when the next one ends; 0: there is none.
uint32_t tcp_time_wait_next_ms(const struct tcp *t);

// tcp_idle_time_ms: for how long at least the peer has neither sent nor acknowledged anything new,
// nor answered a keepalive probe. Of a connection without timestamps that moved since it was noted
// last it is not known: 0, and it is noted now.
uint32_t tcp_idle_time_ms(const struct tcp *t, struct block *b);

// tcp_sweep: forgets times of blocks before they are 2^31 ms old and look like times to come: an
// idle connection may live longer than the millisecond clock goes round. Call it at least once in
// some seconds; it does nothing more often than every TCP_SWEEP_MS. Returns how many it looked at.
unsigned tcp_sweep(struct tcp *t);
