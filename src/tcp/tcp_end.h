// SPDX-License-Identifier: BSD-3-Clause
// tcp_end.h: from ESTABLISHED to the end of a connection, and orphans.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_establish: takes the step that leads to ESTABLISHED; counted.
static inline void tcp_establish(struct tcp *t, struct block *b, enum tcp_step step)
{
    tcp_set_state(b, step);
    t->stats->c.established_now++;
    b->quick = tcp_quick_ack_credit(t, b);
}

// tcp_begin_close: the FIN that is queued takes the established connection a step on.
void tcp_begin_close(struct tcp *t, struct block *b, uint32_t ix);

// tcp_end: the connection is over for `why`; the event TCP_EV_CLOSED follows. tcp_end_error: and
// the application is told that errno.
void tcp_end(struct tcp *t, struct block *b, uint8_t why);
void tcp_end_error(struct tcp *t, struct block *b, uint8_t why, int error);

// tcp_timeout_error: with what errno a timeout ends the block: ETIMEDOUT, or why the network said
// that nobody could be reached (Linux's tcp_write_err()).
int tcp_timeout_error(const struct tcp *t, const struct block *b);

// tcp_enter_fin_wait_2: decides for how long the connection waits for the peer's FIN, and starts
// that timer. True: not at all, and the connection is over.
bool tcp_enter_fin_wait_2(struct tcp *t, struct block *b, uint32_t ix);

// tcp_nobody_reads: what comes now will never be read: of an orphan, or where the application has
// shut down both directions.
static inline bool tcp_nobody_reads(const struct tcp *t, const struct block *b)
{
    if (is_orphan(b))
        return true;
    return unlikely(b->flags & BF_EXT) && (b->flags & BF_FIN_QUEUED) &&
           (t->exts[b->ext].sockopts.set >> SOCKOPT_DEAF & 1) != 0;
}

// tcp_unread_input: s came where nobody reads, from a peer that has not closed: whether it brought
// new bytes. Then it has been answered by RST, and the connection is over.
bool tcp_unread_input(struct tcp *t, struct block *b, const struct seg_in *s);

// tcp_orphan_given_up: a timeout of an orphan: whether its peer is waited for no longer. One whose
// window is closed, and which says so, is, until the timeout has grown to its most.
bool tcp_orphan_given_up(const struct tcp *t, const struct block *b);
