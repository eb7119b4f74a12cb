// SPDX-License-Identifier: BSD-3-Clause
// tcp_pace.h: pacing: a window is spread over the round trip instead of leaving in one burst, so
// that queues on the path stay short and a restart after idle time needs no slow start. The wheel's
// tick is a millisecond. Each tick sends one millisecond's worth of the rate, at least two
// segments. The rate is cwnd per RTT, times 2 in slow start, else times 1.2 (Linux's factors).
//
// Only connections with a record of congestion control are paced, and only if the RTT is at least
// cfg.pacing_rtt_ms: on shorter ones a tick is a large part of the RTT. Retransmissions are not
// paced.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_is_paced: whether the block is paced.
static inline bool tcp_is_paced(const struct tcp *t, const struct block *b)
{
    return unlikely(b->flags & BF_EXT) && (t->exts[b->ext].cc.flags & CC_LIVE) &&
           t->cfg.pacing_rtt_ms != 0 && b->srtt_us >> 3 >= t->cfg.pacing_rtt_ms * 1000;
}

// tcp_pace_room: how many segments of a paced block may be sent now.
uint32_t tcp_pace_room(const struct tcp *t, const struct block *b);

// tcp_paced: n segments of the block were sent, n may be 0. more: others wait for the next tick.
void tcp_paced(struct tcp *t, struct block *b, uint32_t n, bool more);

// tcp_pace_timer: the wheel woke the block, for any reason. True: paced segments may be sent, or
// the next tick must be requested again, since acknowledgments may have let segments leave
// meanwhile.
bool tcp_pace_timer(const struct tcp *t, struct ext_cc *c);
