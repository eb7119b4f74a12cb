// SPDX-License-Identifier: BSD-3-Clause
// tcp_timers.h: what the wheel wakes, and what ends by time.
#pragma once
#include "tcp/tcp_worker.h"

// What a handle of the wheel means: a block for one of its xmit deadlines (retransmission, delayed
// ACK), a half-open connection, a block for one of its far deadlines (keepalive, lingering,
// application), a block for any of these that its entry of that kind comes too late for, or for its
// congestion control (pacing, idle time). The wheel has one entry of each kind and block, or
// record, at most.
enum tcp_wake { WAKE_XMIT, WAKE_SYN, WAKE_FAR, WAKE_SOON };

// tcp_timer: the wheel woke block ix by its entry `wake`: handles each deadline that has come, the
// far ones unless that was the xmit one, and arms the next. Returns event bits; with TCP_EV_CLOSED
// the caller tells and frees.
uint16_t tcp_timer(struct tcp *t, uint32_t ix, enum tcp_wake wake);

// tcp_xmit_runs: whether block ix has an xmit deadline: if not, an xmit wheel entry of it is void.
static inline bool tcp_xmit_runs(const struct tcp *t, uint32_t ix)
{
    return t->xmit_runs[ix / 64] >> ix % 64 & 1;
}

// tcp_arm: makes sure that the wheel wakes block ix at its earliest xmit deadline.
void tcp_arm(struct tcp *t, uint32_t ix);

// tcp_set_far: the same for the slow deadlines of the block, which have changed.
void tcp_set_far(struct tcp *t, uint32_t ix);

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
