// SPDX-License-Identifier: BSD-3-Clause
// tcp_sack.h: selective acknowledgements (RFC 2018, 2883, 6675): what we report, what the peer
// reports, and what follows.
//
//   received out of order -> tcp_sack_held() -> ext.held   -> tcp_sack_put(): blocks of an ACK
//   blocks of an ACK      -> tcp_sack_ack()  -> ext.sacked -> tcp_sack_output(): what leaves again
//
// Both sides work without an extension record: then nothing is reported, and the peer's blocks
// count as duplicate acknowledgements only.
#pragma once
#include "tcp/tcp_internal.h"

// ---- the receiver

// tcp_sack_held: data came, or came again, that lies in `run` of what is held: it is the first to
// be reported (RFC 2018 4).
void tcp_sack_held(struct ext *e, struct seq_range run);

// tcp_sack_merged: what lies before rcv_nxt needs no report. tcp_sack_dropped: what lies in r is no
// longer held.
void tcp_sack_merged(struct ext *e, uint32_t rcv_nxt);
void tcp_sack_dropped(struct ext *e, struct seq_range r);

// tcp_sack_put: as many blocks as `room` bytes of options hold, into the segment o of this turn's
// out: `dup` first unless it is empty (RFC 2883 4), then the runs that are held.
void tcp_sack_put(const struct tcp *t, const struct block *b, struct seg_out *o,
                  struct seq_range dup, uint32_t room);

// ---- the scoreboard: of e, for numbers from una on. Ranges wrap as sequence numbers do.

// sack_add: enters r, una < r.start < r.end. Returns how many numbers are new. More ranges than
// there is room for: the highest is forgotten (*forgot), since it is repaired last, and reported
// again as it grows.
uint32_t sack_add(struct ext *e, struct seq_range r, bool *forgot);

// sack_pop: forgets what lies below una, which the peer has acknowledged. True: the peer
// acknowledges less than it had SACKed: it has thrown away data (RFC 2018 8); nothing is forgotten.
bool sack_pop(struct ext *e, uint32_t una);

// sack_below: numbers below seq that the peer has.
uint32_t sack_below(const struct ext *e, uint32_t seq);

// sack_gap: the first gap at or after seq that the peer reports data beyond; *lost: RFC 6675 4,
// IsLost(). False: none.
bool sack_gap(const struct ext *e, uint32_t una, uint32_t seq, uint32_t mss, struct seq_range *gap,
              bool *lost);

// sack_pipe: RFC 6675 4, SetPipe(): numbers of [una, max) that are believed to be in the network.
uint32_t sack_pipe(const struct ext *e, uint32_t una, uint32_t max, uint32_t mss);

// sack_last_gap: the highest gap below max; empty: there is none.
struct seq_range sack_last_gap(const struct ext *e, uint32_t una, uint32_t max);

// ---- the sender

// sack_is_dsack: r, the first block of s, says what came twice (RFC 2883 4.1, 4.2); counted.
// sack_is_valid: a block of what was sent and is not acknowledged.
bool sack_is_dsack(struct tcp *t, const struct seg_in *s, const struct seq_range *r);
bool sack_is_valid(const struct block *b, struct seq_range r);

// tcp_sack_ack: an acceptable acknowledgement on a connection with SACK, after snd_una has moved
// (acked) or not: takes its blocks in, begins and ends recovery.
void tcp_sack_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s, bool acked);

// tcp_sack_governs: the scoreboard decides what the block sends.
static inline bool tcp_sack_governs(const struct tcp *t, const struct block *b)
{
    if (likely(!(b->flags & BF_EXT)))
        return false;
    const struct ext *e = &t->exts[b->ext];
    return e->n_sacked != 0 || e->recovery == RECOVERY_SACK;
}

// tcp_sack_output: then: up to TCP_OUT_BLOCK_MAX segments, lost ones and new ones (RFC 6675 5, C).
// Returns how many.
unsigned tcp_sack_output(struct tcp *t, struct block *b);

// tcp_recovery_timeout: a retransmission timeout ends every recovery, and what the peer SACKed is
// no longer believed (RFC 2018 8).
void tcp_recovery_timeout(struct tcp *t, struct block *b);
