// SPDX-License-Identifier: BSD-3-Clause
// tcp_ext.h: extension records, and recovery without a flight log.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_ext_get: the extension record of the block, allocated if needed. NULL: none is free, or the
// source has its share (counted). tcp_ext_get_spared: for optional uses: leaves the last eighth of
// the records to losses; NULL is counted in *missed. tcp_ext_get_own: for options of the
// application, without a share. tcp_ext_plenty: whether half of the records are free.
// tcp_ext_release: frees the record if nothing uses it.
struct ext *tcp_ext_get(struct tcp *t, struct block *b);
struct ext *tcp_ext_get_spared(struct tcp *t, struct block *b, uint64_t *missed);
struct ext *tcp_ext_get_own(struct tcp *t, struct block *b);
bool tcp_ext_plenty(const struct tcp *t);
void tcp_ext_release(struct tcp *t, struct block *b);

// tcp_recovering: whether the connection is between a loss and the acknowledgment of all data that
// was in flight then.
static inline bool tcp_recovering(const struct tcp *t, const struct block *b)
{
    if (unlikely(b->has_flight))
        return flight_at(&t->flights, b->flight)->state == FLIGHT_RECOVERY;
    return unlikely(b->flags & BF_EXT) && t->exts[b->ext].recovery != RECOVERY_NONE;
}

// tcp_before_recover: whether the data in flight at the last loss is not all acknowledged, or
// exactly that (RFC 6582 3.2 step 2). After a timeout all of it is resent, and the duplicates that
// the peer sends for data it had are not a sign of another loss. (A value of `recover` 2^31 bytes
// old matches with probability flight / 2^32; the timer then repairs the loss.)
static inline bool tcp_before_recover(const struct block *b)
{
    return b->recover - b->snd_una <= b->snd_max - b->snd_una && !(b->agreed & BA_REDUCED);
}

// tcp_duplicate_ack: fast retransmit and fast recovery without SACK (RFC 5681 3.2, RFC 6582 3.2).
// tcp_newreno_ack: in RECOVERY_NEWRENO, the peer acknowledged `acked` more bytes, up to `ack` (RFC
// 6582 3.2, step 3); b->snd_una is `ack` already.
void tcp_duplicate_ack(struct tcp *t, struct block *b, uint32_t ix);
void tcp_newreno_ack(struct tcp *t, struct block *b, uint32_t ix, uint32_t ack, uint32_t acked);

// tcp_undo_begin: on a connection without a flight log the oldest segment is retransmitted, after a
// timeout or duplicate acknowledgments, and cwnd was lowered.
//
// tcp_undo_acked: new data was acknowledged since; wnd is the offered window. True: nothing was
// lost, and cwnd is restored. Without timestamps two acknowledgments after a timeout decide (RFC
// 5682 2.1). tcp_undo_duplicate: this one acknowledges nothing new. True: the loss was real, and
// everything is resent.
void tcp_undo_begin(struct tcp *t, struct block *b, bool timeout);
bool tcp_undo_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr, uint32_t wnd);
bool tcp_undo_duplicate(struct tcp *t, struct block *b);
