// SPDX-License-Identifier: BSD-3-Clause
// tcp_send.h: segments of the send queue, for the files that send.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_retransmit_head: the oldest unacknowledged segment again, first in this turn's tcp_output():
// until then an acknowledgement or a reset of the same burst may give the data's buffers to
// somebody else, and a segment in t->out would carry his bytes. For recoveries: from TCP_DUPACKS
// on.
void tcp_retransmit_head(struct tcp *t, uint32_t ix);

// tcp_resend: one segment again, from seq on and not beyond `end`, both within what was sent.
// Returns how many numbers it has (a FIN counts), 0: there was no room.
uint32_t tcp_resend(struct tcp *t, struct block *b, uint32_t seq, uint32_t end);

// tcp_last_part: of what was sent from `from` to `end`, a segment's worth at most, where that
// begins which leaves in the last segment: records and more than two ranges make several of it.
uint32_t tcp_last_part(const struct tcp *t, const struct block *b, uint32_t from, uint32_t end);

// tcp_send_next: the segment at snd_nxt, as far as the windows and Nagle let it; cwnd counts as
// `extra` larger: what is believed to have left the network. False: nothing to send.
bool tcp_send_next(struct tcp *t, struct block *b, uint32_t extra);

// tcp_announce_window: the window field for the next segment; moves rcv_adv. Never shrinks it.
uint16_t tcp_announce_window(const struct tcp *t, struct block *b);

// tcp_sockopt_ip: what the segment o of block b, which has an extension record, has of its own in
// the IP header.
void tcp_sockopt_ip(const struct tcp *t, const struct block *b, struct seg_out *o);

// tcp_is_corked: what does not fill a segment waits for more.
static inline bool tcp_is_corked(const struct tcp *t, const struct block *b)
{
    return unlikely(b->flags & BF_EXT) &&
           (t->exts[b->ext].sockopts.set & (1u << SOCKOPT_CORK | 1u << SOCKOPT_MORE)) != 0;
}
