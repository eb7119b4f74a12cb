// SPDX-License-Identifier: BSD-3-Clause
// tcp_fast_open.h: TCP Fast Open (RFC 7413), the server's side: who has shown with a cookie, which
// the last handshake brought, that its address is its own, may send data in the SYN.
//
//   SYN, option 34 --> tcp_fast_open_judge(): NONE   ordinary handshake
//                                             OFFER  the same, its SYN-ACK brings a cookie
//                                             ACCEPT a block in SYN-RECEIVED, the data delivered
//
// The block is known by its numbers: nothing else has received data in SYN-RECEIVED. A SYN that the
// network repeats after the connection has ended is a connection again, and its data arrives twice
// (RFC 7413 2.1): therefore it is off unless the service asks for it, and listeners that come and
// go while the worker runs do not have it.
#pragma once
#include "tcp/tcp_internal.h"

enum fast_open { FAST_OPEN_NONE, FAST_OPEN_OFFER, FAST_OPEN_ACCEPT };

// tcp_fast_open_judge: what becomes of the SYN s with SEG_OPT_FAST_OPEN; counted.
enum fast_open tcp_fast_open_judge(struct tcp *t, int door, const struct seg_in *s);

// tcp_fast_open_offer: adds the cookie of its peer to the SYN-ACK o of this turn.
void tcp_fast_open_offer(const struct tcp *t, struct seg_out *o);

// tcp_fast_open_cookie: of that address, now: its 8 bytes as two numbers.
struct seq_range tcp_fast_open_cookie(const struct tcp *t, const struct ip_addr *remote);

// tcp_fast_open_begun: one more is pending. tcp_fast_open_ended: the pending b is so no more;
// `reset` by who has its address, who may not have asked for it (RFC 7413 5.1): it counts on for a
// while.
void tcp_fast_open_begun(struct tcp *t, const struct block *b);
void tcp_fast_open_ended(struct tcp *t, const struct block *b, bool reset);

// tcp_is_pending: in SYN-RECEIVED by Fast Open.
static inline bool tcp_is_pending(const struct block *b)
{
    return b->state == TCP_SYN_RECEIVED && b->rcv_nxt - b->snd_wl1 != 1;
}
