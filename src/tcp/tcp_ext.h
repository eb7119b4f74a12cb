// SPDX-License-Identifier: BSD-3-Clause
// tcp_ext.h: the extension record, and the recovery that it may hold.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_ext_get: the block's extension record, NULL if none is left, or its source has its share
// (counted). tcp_ext_get_spared: for what can do without: the last eighth of the records is for
// losses (NULL; *missed counts). tcp_ext_get_own: the same for options of the application, which is
// no peer and has no share. tcp_ext_plenty: half of them are free.
// tcp_ext_release: gives it back once nothing needs it.
struct ext *tcp_ext_get(struct tcp *t, struct block *b);
struct ext *tcp_ext_get_spared(struct tcp *t, struct block *b, uint64_t *missed);
struct ext *tcp_ext_get_own(struct tcp *t, struct block *b);
bool tcp_ext_plenty(const struct tcp *t);
void tcp_ext_release(struct tcp *t, struct block *b);

// tcp_recovering: between a loss and the acknowledgement of all that was in flight then.
static inline bool tcp_recovering(const struct tcp *t, const struct block *b)
{
    if (unlikely(b->has_flight))
        return flight_at(&t->flights, b->flight)->state == FLIGHT_RECOVERY;
    return unlikely(b->flags & BF_EXT) && t->exts[b->ext].recovery != RECOVERY_NONE;
}

// tcp_before_recover: RFC 6582 3.2 step 2: what was in flight when loss was seen last is not all
// acknowledged, or just so. After a timeout all of it leaves again, and what the peer had already
// is answered by duplicates that are no sign of another loss. (A number that grew old, 2^31 bytes
// ago and more, comes by here with the chance that flight has in 2^32: then it is the timer's.)
static inline bool tcp_before_recover(const struct block *b)
{
    return b->recover - b->snd_una <= b->snd_max - b->snd_una && !(b->agreed & BA_REDUCED);
}

// tcp_duplicate_ack: fast retransmit and fast recovery without SACK, RFC 5681 3.2 and RFC 6582 3.2.
// tcp_newreno_ack: in RECOVERY_NEWRENO the peer acknowledged `acked` more bytes, up to `ack`
// (RFC 6582 3.2, step 3); b->snd_una is `ack` already.
void tcp_duplicate_ack(struct tcp *t, struct block *b, uint32_t ix);
void tcp_newreno_ack(struct tcp *t, struct block *b, uint32_t ix, uint32_t ack, uint32_t acked);

// tcp_undo_begin: the oldest segment leaves again, for a timeout or for duplicate acknowledgements,
// on a connection without a log of what is in flight, and cwnd was lowered for it. tcp_undo_acked:
// something new is acknowledged since, and wnd is offered; true: nothing had been lost, and all is
// as before. Without timestamps two acknowledgements after a timeout decide (RFC 5682 2.1):
// tcp_undo_duplicate: this one acknowledges nothing; true: it decided, and all leaves again.
void tcp_undo_begin(struct tcp *t, struct block *b, bool timeout);
bool tcp_undo_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr, uint32_t wnd);
bool tcp_undo_duplicate(struct tcp *t, struct block *b);
