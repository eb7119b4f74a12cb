// SPDX-License-Identifier: BSD-3-Clause
// tcp_cc.h: congestion control: the size of cwnd. Recovery detects losses and retransmits; it calls
// this code for the effect of a loss on the window.
//
//   new acknowledgment, window in use, no recovery  -> tcp_cc_acked()         cwnd grows
//   loss found by acknowledgments, or reneging      -> tcp_cc_ssthresh()      recovery sets cwnd
//   ECE                                              -> tcp_cc_ecn()           cwnd = ssthresh
//   retransmission timeout                           -> tcp_cc_timeout()       cwnd = one segment
//   a false loss detection                           -> tcp_cc_undo()          restores the window
//   a burst after an idle time                       -> tcp_cc_restart()
//
// cwnd and ssthresh are in the block. A connection that uses its window has more state in its
// extension record (struct ext_cc): from TCP_CC_SMALL segments in flight or the first congestion
// event on, until it has not used its window for an RTO. CUBIC then loses its epoch, which a
// restart would have ended anyway; ssthresh keeps the estimate of the path. If no record is free,
// it is NewReno with cwnd and ssthresh only, and counted (cc_records_missed).
#pragma once
#include "tcp/tcp_internal.h"

enum {
    TCP_CC_SMALL = 16,  // segments: slow start below it uses no record and no HyStart
};

// tcp_cc_acked: `acked` new bytes were acknowledged outside recovery while cwnd limited sending
// (RFC 7661 4.3). rtt_us: the RTT of the last byte acknowledged; 0: unknown.
void tcp_cc_acked(struct tcp *t, struct block *b, uint32_t acked, uint32_t rtt_us);

// tcp_cc_ssthresh: a loss was detected with `flight` bytes in flight. Lowers ssthresh (RFC 9438
// 4.6; RFC 5681 3.1, equation 4), unless an ECE has done so in this window of data; with ECN also
// requests CWR (RFC 3168 6.1.2). Returns the new ssthresh; the caller sets cwnd. The old values are
// stored for tcp_cc_undo(). Call it before `recover` is set.
uint32_t tcp_cc_ssthresh(struct tcp *t, struct block *b, uint32_t flight);

// tcp_cc_ecn: the first ECE of a window of data: lowers ssthresh, and cwnd to it.
void tcp_cc_ecn(struct tcp *t, struct block *b);

// tcp_cc_timeout: a retransmission timeout, or the peer discarded SACKed data: cwnd becomes one
// segment (RFC 5681 3.1). fresh: it is a new congestion event: not the timeout of a retransmission,
// and not during a recovery.
void tcp_cc_timeout(struct tcp *t, struct block *b, bool fresh);

// tcp_cc_undo: the last congestion event was false: restores ssthresh and raises cwnd to at least
// its old value. False: the old values are no longer known.
bool tcp_cc_undo(struct tcp *t, struct block *b);

// tcp_cc_restart: call it before a burst is sent while nothing is in flight.
void tcp_cc_restart(struct tcp *t, struct block *b);

// tcp_cc_timer: a wheel entry of block b, which has an extension record, has expired; handles
// pacing and idle time if they are due.
void tcp_cc_timer(struct tcp *t, struct block *b, uint32_t ix);
