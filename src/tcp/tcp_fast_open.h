// SPDX-License-Identifier: BSD-3-Clause
// tcp_fast_open.h: TCP Fast Open (RFC 7413), server side. A client that shows a cookie from an
// earlier handshake, and so owns its address, may send data in the SYN.
//
//   SYN, option 34 --> tcp_fast_open_judge(): NONE   ordinary handshake
//                                             OFFER  the same, its SYN-ACK has a cookie
//                                             ACCEPT a block in SYN-RECEIVED, its data delivered
//
// Such a block is the only one in SYN-RECEIVED that has received data. A SYN that the network
// duplicates after the end of the connection opens it again and delivers its data twice (RFC 7413
// 2.1). Fast Open is therefore off unless the service enables it, and listeners opened at run time
// do not have it.
#pragma once
#include "tcp/tcp_internal.h"

enum fast_open { FAST_OPEN_NONE, FAST_OPEN_OFFER, FAST_OPEN_ACCEPT };

// tcp_fast_open_judge: decides about the SYN s with SEG_OPT_FAST_OPEN; counted.
enum fast_open tcp_fast_open_judge(struct tcp *t, int listener, const struct seg_in *s);

// tcp_fast_open_offer: adds the peer's cookie to the SYN-ACK o.
void tcp_fast_open_offer(const struct tcp *t, struct seg_out *o);

// tcp_fast_open_cookie: the current cookie of an address: 8 bytes as two numbers.
struct seq_range tcp_fast_open_cookie(const struct tcp *t, const struct ip_addr *remote);

// tcp_fast_open_begun: counts b as pending. tcp_fast_open_ended: b is no longer pending. reset: by
// the owner of the address, who may not have sent the SYN (RFC 7413 5.1); it stays counted for a
// while.
void tcp_fast_open_begun(struct tcp *t, const struct block *b);
void tcp_fast_open_ended(struct tcp *t, const struct block *b, bool reset);

// tcp_is_pending: whether b is in SYN-RECEIVED by Fast Open.
static inline bool tcp_is_pending(const struct block *b)
{
    return b->state == TCP_SYN_RECEIVED && b->rcv_nxt - b->snd_wl1 != 1;
}
