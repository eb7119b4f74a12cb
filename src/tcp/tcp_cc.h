// SPDX-License-Identifier: BSD-3-Clause
// tcp_cc.h: congestion control: how large cwnd is. When there was loss, and what leaves then, is
// recovery's business; it asks here what a loss does to the window.
//
//   new acknowledgement, window in use, no recovery  -> tcp_cc_acked()         cwnd grows
//   loss found by acknowledgements, or reneging      -> tcp_cc_ssthresh()      recovery sets cwnd
//   ECE                                              -> tcp_cc_ecn()           cwnd = ssthresh
//   retransmission timeout                           -> tcp_cc_timeout()       cwnd = one segment
//   that was no loss after all                       -> tcp_cc_undo()          as it was before
//   a burst after an idle time                       -> tcp_cc_restart()
//
// cwnd and ssthresh lie in the block; what more there is to know of a connection whose window is in
// use lies in its extension record (struct ext_cc): it gets one with TCP_CC_SMALL segments in
// flight or with the first congestion, and keeps it until it has not used its window for an RTO.
// Then CUBIC forgets its epoch, which a restart would have ended; what the path takes, ssthresh
// tells. Without a record left it is NewReno by cwnd and ssthresh alone, counted
// (cc_records_missed).
#pragma once
#include "tcp/tcp_internal.h"

enum {
    TCP_CC_SMALL = 16,  // segments: slow start below needs no record, and no HyStart
};

// tcp_cc_acked: `acked` new bytes were acknowledged outside of recovery, while cwnd held something
// back (RFC 7661 4.3). rtt_us: the round trip of what was acknowledged last; 0: not known.
void tcp_cc_acked(struct tcp *t, struct block *b, uint32_t acked, uint32_t rtt_us);

// tcp_cc_ssthresh: a loss was found with so many bytes in flight: ssthresh is lowered (RFC 9438
// 4.6; RFC 5681 3.1, equation 4), unless an ECE has done so in this window of data; with ECN the
// peer is told (CWR, RFC 3168 6.1.2). Returns the new ssthresh; cwnd is the caller's. What was
// before is kept for tcp_cc_undo(). To be called before `recover` is set.
uint32_t tcp_cc_ssthresh(struct tcp *t, struct block *b, uint32_t flight);

// tcp_cc_ecn: the first ECE of a window of data: ssthresh is lowered, and cwnd to it.
void tcp_cc_ecn(struct tcp *t, struct block *b);

// tcp_cc_timeout: a retransmission timeout, or the peer threw away what it had SACKed: cwnd is one
// segment (RFC 5681 3.1). fresh: it is a congestion event, not the timeout of what was sent again
// already, nor in a recovery that was one.
void tcp_cc_timeout(struct tcp *t, struct block *b, bool fresh);

// tcp_cc_undo: the last congestion event was none: ssthresh is what it was before, cwnd not less
// than it was. False: what it was is not known any more.
bool tcp_cc_undo(struct tcp *t, struct block *b);

// tcp_cc_restart: nothing is in flight, and a burst is about to leave.
void tcp_cc_restart(struct tcp *t, struct block *b);

// tcp_cc_timer: a wheel entry of block b, which has an extension record, may have come for it.
void tcp_cc_timer(struct tcp *t, struct block *b, uint32_t ix);
