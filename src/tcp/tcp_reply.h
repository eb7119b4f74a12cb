// SPDX-License-Identifier: BSD-3-Clause
// tcp_reply.h: immediate replies and their limits.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_out_slot: the next free segment of this turn for local_ix; NULL: none (counted as
// reply_room).
struct seg_out *tcp_out_slot(struct tcp *t, uint16_t local_ix);

// tcp_reply_ack: sends an acknowledgment at once: the reply to a duplicate, out-of-order or
// unacceptable segment. Its sequence number is snd_max, not snd_nxt, which a timeout moves back: a
// peer that has received more would not accept an old number. tcp_ack_at: the same with sequence
// number seq.
void tcp_reply_ack(struct tcp *t, struct block *b);
void tcp_ack_at(struct tcp *t, struct block *b, uint32_t seq);

// tcp_claim_answer: whether block b may answer a segment of which it accepts nothing, once in
// cfg.invalid_ack_ms. Otherwise two ends with inconsistent numbers would answer each other forever
// (Linux's tcp_invalid_ratelimit). An answer to data or FIN needs no claim: its acknowledgment may
// have been lost.
bool tcp_claim_answer(const struct tcp *t, struct block *b);

// tcp_challenge_ack: sends a challenge ACK within the limit of the connection (RFC 5961 7). There
// is no limit shared by connections: an attacker could use it to check guesses about other
// connections (Linux has none since 6.0).
void tcp_challenge_ack(struct tcp *t, struct block *b);

// tcp_claim_reset: takes a token for a RST from the limit of the source and from the common limit.
// False: one of them is exhausted; no RST may be sent.
//
// tcp_stranger: connection or record ignored s, which is hardly from its peer. If s would have been
// answered with a RST without that connection, a token is taken as well, unless one was taken since
// resets_asked was `asked`. The remaining tokens thus do not reveal whether there is a connection.
bool tcp_claim_reset(struct tcp *t, const struct flow_key *key);
void tcp_stranger(struct tcp *t, const struct seg_in *s, uint64_t asked);

// tcp_reply_dsack: sends an acknowledgment at once that reports the duplicate data `dup` by SACK
// (RFC 2883 4).
void tcp_reply_dsack(struct tcp *t, struct block *b, struct seq_range dup);

// tcp_reply_reset: answers a segment without a connection by RST (RFC 9293 3.10.7.1), within the
// limit. Returns whether it was sent.
bool tcp_reply_reset(struct tcp *t, const struct seg_in *s);

// tcp_send_reset: sends RST for a connection that ends here (RFC 9293 3.10.5).
void tcp_send_reset(struct tcp *t, struct block *b);
