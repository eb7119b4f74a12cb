// SPDX-License-Identifier: BSD-3-Clause
// How long a connection has been silent, from fields of its block that exist anyway: a time stamp
// for each segment would be another store on the fast path.
//
//   timestamps           ts_recent_ms: when the last in-order segment came
//   keepalive's notes    last_rx_ms, last_progress: nothing new since then if that is the progress
//   unanswered probes    stuck_at_ms: since when the peer is silent
//
// Each gives a lower bound of the silence; the longest is used.
#include "tcp/tcp_internal.h"

// From the notes of the keepalive timer.
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
        b->last_progress = progress;  // as the keepalive timer would
        b->last_rx_ms = t->now.ms;
    }
    return b->flags & BF_TS ? MAX(idle, t->now.ms - b->ts_recent_ms) : idle;
}
