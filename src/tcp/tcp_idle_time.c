// SPDX-License-Identifier: BSD-3-Clause
// How long a connection has been silent. The time is computed from fields that the block has for
// other purposes, because a time stamp for each segment would be another store on the fast path.
//
//   timestamps           ts_recent_ms: when the last in-order segment arrived
//   keepalive            last_rx_ms, last_progress: if last_progress is the current progress,
//                        nothing new has arrived since last_rx_ms
//   unanswered probes    stuck_at_ms: since when the peer has been silent
//
// Each gives a lower bound of the silence. The longest one is used.
#include "tcp/tcp_internal.h"

// noted_ms: the time since the last activity that the keepalive timer stored.
static uint32_t noted_ms(const struct tcp *t, const struct block *b)
{
    return t->now.ms - (b->probes != 0 ? b->stuck_at_ms : b->last_rx_ms);
}

uint32_t tcp_idle_time_ms(const struct tcp *t, struct block *b)
{
    const uint32_t progress = tcp_progress(b);
    uint32_t idle = 0;
    if (progress == b->last_progress) {
        idle = noted_ms(t, b);
    } else if (!(b->flags & BF_TS) && b->probes == 0) {
        b->last_progress = progress;  // as the keepalive timer does
        b->last_rx_ms = t->now.ms;
    }
    return b->flags & BF_TS ? MAX(idle, t->now.ms - b->ts_recent_ms) : idle;
}
