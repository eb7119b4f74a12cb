// SPDX-License-Identifier: BSD-3-Clause
// tcp_sack.h: selective acknowledgments (RFC 2018, 2883, 6675), as receiver and as sender.
//
//   received out of order -> tcp_sack_held() -> ext.held   -> tcp_sack_put(): blocks of an ACK
//   blocks of an ACK      -> tcp_sack_ack()  -> ext.sacked -> tcp_sack_output(): retransmissions
//
// Without an extension record nothing is reported, and the peer's blocks count only as duplicate
// acknowledgments.
#pragma once
#include "tcp/tcp_internal.h"

// ---- the receiver

// tcp_sack_held: data was received, perhaps again, in `run` of the queue: report that run first
// (RFC 2018 4).
void tcp_sack_held(struct ext *e, struct seq_range run);

// tcp_sack_merged: removes reports below rcv_nxt. tcp_sack_dropped: removes reports of the
// discarded range r.
void tcp_sack_merged(struct ext *e, uint32_t rcv_nxt);
void tcp_sack_dropped(struct ext *e, struct seq_range r);

// tcp_sack_put: adds as many SACK blocks as fit into `room` bytes to segment o of t->out: `dup`
// first unless it is empty (RFC 2883 4), then the held runs.
void tcp_sack_put(const struct tcp *t, const struct block *b, struct seg_out *o,
                  struct seq_range dup, uint32_t room);

// ---- the scoreboard: of e, for numbers from una on. Ranges wrap as sequence numbers do.

// sack_add: adds r, una < r.start < r.end. Returns how many numbers are new. If there is no room,
// the highest range is removed (*forgot): it would be repaired last, and is reported again as it
// grows.
uint32_t sack_add(struct ext *e, struct seq_range r, bool *forgot);

// sack_pop: removes what is below una, which the peer acknowledges. True: una is inside a SACKed
// range, so the peer has discarded data (RFC 2018 8); nothing was removed.
bool sack_pop(struct ext *e, uint32_t una);

// sack_below: how many SACKed numbers are below seq.
uint32_t sack_below(const struct ext *e, uint32_t seq);

// sack_gap: the first gap at or after seq with SACKed data above it; *lost: RFC 6675 4, IsLost().
// False: there is none.
bool sack_gap(const struct ext *e, uint32_t una, uint32_t seq, uint32_t mss, struct seq_range *gap,
              bool *lost);

// sack_pipe: the estimate of bytes of [una, max) in the network (RFC 6675 4, SetPipe()).
uint32_t sack_pipe(const struct ext *e, uint32_t una, uint32_t max, uint32_t mss);

// sack_last_gap: the highest gap below max; empty: none.
struct seq_range sack_last_gap(const struct ext *e, uint32_t una, uint32_t max);

// ---- the sender

// sack_is_dsack: whether r, the first block of s, is a DSACK (RFC 2883 4.1, 4.2); counted.
// sack_is_valid: whether r is within data sent and not acknowledged.
bool sack_is_dsack(struct tcp *t, const struct seg_in *s, const struct seq_range *r);
bool sack_is_valid(const struct block *b, struct seq_range r);

// tcp_sack_ack: processes the blocks of an acceptable acknowledgment on a connection with SACK;
// begins and ends recovery. acked: snd_una has moved.
void tcp_sack_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s, bool acked);

// tcp_sack_governs: whether the scoreboard decides what the block sends.
static inline bool tcp_sack_governs(const struct tcp *t, const struct block *b)
{
    if (likely(!(b->flags & BF_EXT)))
        return false;
    const struct ext *e = &t->exts[b->ext];
    return e->n_sacked != 0 || e->recovery == RECOVERY_SACK;
}

// tcp_sack_output: in that case sends up to TCP_OUT_BLOCK_MAX segments, lost ones and new ones (RFC
// 6675 5, C). Returns the number of segments.
unsigned tcp_sack_output(struct tcp *t, struct block *b);

// tcp_recovery_timeout: a retransmission timeout ends recovery and clears the scoreboard (RFC 2018
// 8).
void tcp_recovery_timeout(struct tcp *t, struct block *b);
