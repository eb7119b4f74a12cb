// SPDX-License-Identifier: BSD-3-Clause
// tcp_pace.h: pacing: a window does not leave in one burst, but over the round trip, so that queues
// on the path stay short and a restart after idle time needs no slow start. The wheel's tick is a
// millisecond: each tick lets one millisecond's worth of the rate leave, two segments at least. The
// rate is that of cwnd a round trip, twice it in slow start, 1.2 times after (Linux's factors).
//
// Only connections with a record of congestion control are paced, and only where the round trip is
// cfg.pacing_rtt_ms or more: on shorter ones a tick is a good part of the round trip. What leaves
// again is recovery's, and is not paced.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_is_paced: whether the block's bursts are.
static inline bool tcp_is_paced(const struct tcp *t, const struct block *b)
{
    return unlikely(b->flags & BF_EXT) && (t->exts[b->ext].cc.flags & CC_LIVE) &&
           t->cfg.pacing_rtt_ms != 0 && b->srtt_us >> 3 >= t->cfg.pacing_rtt_ms * 1000;
}

// tcp_pace_room: how many segments of the paced block may leave now.
uint32_t tcp_pace_room(const struct tcp *t, const struct block *b);

// tcp_paced: n segments of it left, or none could; more: and others wait for the next tick.
void tcp_paced(struct tcp *t, struct block *b, uint32_t n, bool more);

// tcp_pace_timer: the wheel woke the block, whatever for. True: what pacing held back may leave, or
// asks for its tick anew: acknowledgements may have let segments leave since it did.
bool tcp_pace_timer(const struct tcp *t, struct ext_cc *c);
