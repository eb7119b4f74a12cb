// SPDX-License-Identifier: BSD-3-Clause
// tcp_reply.h: answers that leave at once, and their limits.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_out_slot: the next free segment of this turn for one from local_ix, or NULL (counted as
// reply_room).
struct seg_out *tcp_out_slot(struct tcp *t, uint16_t local_ix);

// tcp_reply_ack: acknowledgement of what was received, at once: the answer to each duplicate,
// out-of-order or unacceptable segment. Its number is snd_max, not snd_nxt, which a timeout takes
// back: an old number is not acceptable to a peer that has received more, nor is what comes with
// it. tcp_ack_at: the same with the number seq.
void tcp_reply_ack(struct tcp *t, struct block *b);
void tcp_ack_at(struct tcp *t, struct block *b, uint32_t seq);

// tcp_claim_answer: claims the right of block b to answer a segment that it accepts nothing of; it
// is given once in cfg.invalid_ack_ms. False: not yet. Without this limit two ends that have lost
// track of each other's numbers would answer each other's answers for ever (Linux's
// tcp_invalid_ratelimit). An answer to data or to a FIN needs no claim: the sender waits for the
// acknowledgement, which may have been lost.
bool tcp_claim_answer(const struct tcp *t, struct block *b);

// tcp_challenge_ack: an acknowledgement in answer to what looks forged, within the limit of the
// connection (RFC 5961 7). There is none that connections share: one would tell who opens some of
// his own which guesses about others' were right (Linux has none since 6.0).
void tcp_challenge_ack(struct tcp *t, struct block *b);

// tcp_claim_reset: takes one RST to this stranger from the limit of its source and from the common
// one. False: a limit is exhausted, and none may leave. tcp_stranger: s came to a connection, or
// what is left of one, that takes nothing from it and whose peer it can hardly be from. If a RST
// would have answered it without that connection, one is taken from the limits as well, unless one
// was since resets_asked was `asked`: by what is left nobody can tell whether there is a
// connection.
bool tcp_claim_reset(struct tcp *t, const struct flow_key *key);
void tcp_stranger(struct tcp *t, const struct seg_in *s, uint64_t asked);

// tcp_reply_dsack: the acknowledgement at once that reports `dup`, which came twice, with SACK
// (RFC 2883 4).
void tcp_reply_dsack(struct tcp *t, struct block *b, struct seq_range dup);

// tcp_reply_reset: RST in answer to a segment without owner (RFC 9293 3.10.7.1), within the rate.
// Returns whether it was sent.
bool tcp_reply_reset(struct tcp *t, const struct seg_in *s);

// tcp_send_reset: RST of a connection that ends here (RFC 9293 3.10.5).
void tcp_send_reset(struct tcp *t, struct block *b);
