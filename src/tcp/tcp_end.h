// SPDX-License-Identifier: BSD-3-Clause
// tcp_end.h: functions from ESTABLISHED to the end of a connection, and orphans.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_establish: takes the step to ESTABLISHED, and counts it.
static inline void tcp_establish(struct tcp *t, struct block *b, enum tcp_step step)
{
    tcp_set_state(b, step);
    t->stats->c.established_now++;
    b->quickack_left = tcp_quick_ack_credit(t, b);
}

// tcp_begin_close: a FIN was queued: changes the state of the established connection.
void tcp_begin_close(struct tcp *t, struct block *b, uint32_t ix);

// tcp_end: ends the connection for `why`; the caller reports TCP_EV_CLOSED. tcp_end_error: the same
// with the errno that the application gets.
void tcp_end(struct tcp *t, struct block *b, uint8_t why);
void tcp_end_error(struct tcp *t, struct block *b, uint8_t why, int error);

// tcp_timeout_error: the errno of a timeout: ETIMEDOUT, or that of an ICMP error that reported the
// peer unreachable (Linux's tcp_write_err()).
int tcp_timeout_error(const struct tcp *t, const struct block *b);

// tcp_enter_fin_wait_2: starts the timer for the peer's FIN. True: the connection does not wait and
// is over.
bool tcp_enter_fin_wait_2(struct tcp *t, struct block *b, uint32_t ix);

// tcp_nobody_reads: whether received data will never be read: an orphan, or a connection whose
// application has shut down both directions.
static inline bool tcp_nobody_reads(const struct tcp *t, const struct block *b)
{
    if (is_orphan(b))
        return true;
    return unlikely(b->flags & BF_EXT) && (b->flags & BF_FIN_QUEUED) &&
           (t->exts[b->ext].sockopts.set >> SOCKOPT_DEAF & 1) != 0;
}

// tcp_unread_input: s came to a connection that nobody reads, from a peer that has not closed.
// True: it has new data, a RST was sent, and the connection is over.
bool tcp_unread_input(struct tcp *t, struct block *b, const struct seg_in *s);

// tcp_orphan_given_up: at a timeout of an orphan: whether to stop waiting for its peer. A peer that
// reports a closed window is kept until the timeout has reached its maximum.
bool tcp_orphan_given_up(const struct tcp *t, const struct block *b);
