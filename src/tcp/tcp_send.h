// SPDX-License-Identifier: BSD-3-Clause
// tcp_send.h: sending from the send queue.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_retransmit_head: retransmits the oldest segment as the first of this turn's tcp_output(). It
// is not put into t->out before: an acknowledgment or reset in the same burst may free its
// buffers, which another connection may then fill.
void tcp_retransmit_head(struct tcp *t, uint32_t ix);

// tcp_resend: retransmits one segment from seq on, not beyond `end`. Returns its sequence numbers
// (a FIN counts one); 0: no room.
uint32_t tcp_resend(struct tcp *t, struct block *b, uint32_t seq, uint32_t end);

// tcp_last_part: the begin of the last segment of what was sent between `from` and `end`, at most
// one segment's worth: record ends and buffers may divide it into several segments.
uint32_t tcp_last_part(const struct tcp *t, const struct block *b, uint32_t from, uint32_t end);

// tcp_send_next: sends the segment at snd_nxt if the windows and Nagle permit. cwnd counts as
// `extra` bytes larger, for data that is believed to have left the network. False: nothing to send.
bool tcp_send_next(struct tcp *t, struct block *b, uint32_t extra);

// tcp_announce_window: the window field of the next segment; advances rcv_adv and never shrinks the
// window.
uint16_t tcp_announce_window(const struct tcp *t, struct block *b);

// tcp_sockopt_ip: sets the IP header options of segment o of block b, which has an extension
// record.
void tcp_sockopt_ip(const struct tcp *t, const struct block *b, struct seg_out *o);

// tcp_is_corked: whether a partial segment waits for more data (cork).
static inline bool tcp_is_corked(const struct tcp *t, const struct block *b)
{
    return unlikely(b->flags & BF_EXT) &&
           (t->exts[b->ext].sockopts.set & (1u << SOCKOPT_CORK | 1u << SOCKOPT_MORE)) != 0;
}
