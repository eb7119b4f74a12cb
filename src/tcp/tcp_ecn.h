// SPDX-License-Identifier: BSD-3-Clause
// tcp_ecn.h: explicit congestion notification for hosts (RFC 3168).
//
//     we                                          the peer
//     SYN, ECE CWR  ------------------------->    asked with ecn = on, once: a SYN that is sent
//           <-------------------------  SYN-ACK, ECE        again goes without (6.1.1.1)
//     new data, ECT(0)  -----CE in a router----->  BA_ECE: all that it sends carries ECE
//           <------------------------------  ECE
//     half the window, once a window of data;
//     new data, CWR  ------------------------>    BA_ECE is over
//
// What is sent again, acknowledgments, probes, SYN and RST are never ECT (6.1.4 to 6.1.6).
#pragma once
#include "tcp/tcp_internal.h"

enum { ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };  // the two bits of the IP header

// tcp_ecn_asked: whether the SYN s requests ECN and gets it. A SYN that carries an ECN codepoint
// itself does not: a device on the path changes the field.
static inline bool tcp_ecn_asked(const struct tcp *t, const struct seg_in *s)
{
    return t->cfg.ecn != TCP_ECN_OFF && (s->flags & (SEG_ECE | SEG_CWR)) == (SEG_ECE | SEG_CWR) &&
           s->ecn == 0;
}

// tcp_ecn_answered: s is the first SYN (answer: SYN-ACK) that an active open receives. The
// connection uses ECN if all our SYNs requested it and s agrees.
void tcp_ecn_answered(const struct tcp *t, struct block *b, const struct seg_in *s, bool answer);

// tcp_ecn_syn: the ECN flags of the SYN or SYN-ACK that block b sends.
uint8_t tcp_ecn_syn(const struct tcp *t, struct block *b);

// tcp_ecn_received: s has new data and ECT, CE or CWR.
void tcp_ecn_received(struct tcp *t, struct block *b, const struct seg_in *s);

// tcp_ecn_echoed: s, which acknowledges up to ack, has ECE (6.1.2). cwnd_before: the window before
// that acknowledgment made it grow.
void tcp_ecn_echoed(struct tcp *t, struct block *b, uint32_t ack, uint32_t cwnd_before);

// tcp_ecn_out: sets ECE in o, a segment of a connection with ECN. tcp_ecn_fresh: also for new data:
// sets ECT(0) and CWR.
static inline void tcp_ecn_out(struct tcp *t, const struct block *b, struct seg_out *o)
{
    if ((b->agreed & BA_ECE) && !(o->flags & SEG_RST)) {
        o->flags |= SEG_ECE;
        t->stats->c.ecn_echoed++;
    }
}

static inline void tcp_ecn_fresh(struct block *b, struct seg_out *o)
{
    o->tos |= ECN_ECT0;
    if (b->agreed & BA_CWR) {
        o->flags |= SEG_CWR;
        b->agreed &= (uint8_t)~BA_CWR;
    }
}

// tcp_ecn_reduced_already: whether the window was reduced by an ECE and the data in flight at that
// time is not all acknowledged. `recover` then belongs to that reduction, not to a loss.
static inline bool tcp_ecn_reduced_already(const struct block *b)
{
    return (b->agreed & BA_REDUCED) && b->recover - b->snd_una <= b->snd_max - b->snd_una;
}
