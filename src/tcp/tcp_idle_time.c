// SPDX-License-Identifier: BSD-3-Clause
// How long a connection has been silent, from what its block tells anyway: a stamp at each segment
// would be a store in the common path.
//
//   timestamps           ts_recent_ms: when the last segment in order came
//   keepalive's notes    last_rx_ms, last_progress: nothing new since then if that is the progress
//   probes in vain       stuck_at_ms: since when there was no sign of life
//
// Each is a time that the silence has lasted at least; the longest counts.
#include "tcp/tcp_internal.h"

// By the keepalive timer's notes.
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
