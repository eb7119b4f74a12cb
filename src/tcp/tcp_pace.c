// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_pace.h"

enum {
    TICK_US = 1000,  // the tick of the wheel
    LEAST = 2,       // segments
    // Unused time is credited, up to the time of this many segments or one tick. Bursts of this
    // size are harmless, and without the credit a late tick would reduce the rate.
    CREDIT = 4,
};

// cost_us: the time that n bytes take at the pacing rate of the block.
static uint32_t cost_us(const struct block *b, uint32_t n)
{
    const uint64_t rtt_us = b->srtt_us >> 3, cwnd = MAX(b->cwnd, (uint32_t)b->mss);
    return (uint32_t)(b->cwnd < b->ssthresh ? rtt_us * n / (2 * cwnd)
                                            : rtt_us * n * 5 / (6 * cwnd));
}

// worth: how many bytes the pacing rate permits in `us` microseconds.
static uint64_t worth(const struct block *b, uint32_t us)
{
    const uint64_t rtt_us = b->srtt_us >> 3;
    return b->cwnd < b->ssthresh ? 2ull * b->cwnd * us / rtt_us
                                 : 6ull * b->cwnd * us / (5 * rtt_us);
}

// credit_us: how far pace_us may lie in the past. If the worker was late, the delay of the tick is
// added, up to a quarter of the round trip.
static int32_t credit_us(const struct block *b, const struct ext_cc *c)
{
    const uint32_t late_us = c->flags & CC_PACED ? 0 : c->pace_at_ms * 1000u;
    return (int32_t)(MAX(cost_us(b, (uint32_t)CREDIT * b->mss), (uint32_t)TICK_US) +
                     MIN(late_us, b->srtt_us >> 5));
}

// ahead_us: how far pace_us lies in the future. The 32-bit clock wraps after 71 minutes, and
// pace_us does not change while the round trip is too short for pacing. No segment waits for longer
// than a round trip, so a larger distance means that pace_us is outdated.
static int32_t ahead_us(const struct tcp *t, const struct block *b, const struct ext_cc *c)
{
    const int32_t us = (int32_t)(c->pace_us - (uint32_t)t->now.us);
    return likely(us <= (int32_t)(b->srtt_us >> 3) + 2 * TICK_US) ? us : 0;
}

uint32_t tcp_pace_room(const struct tcp *t, const struct block *b)
{
    const struct ext_cc *c = &t->exts[b->ext].cc;
    const int32_t ahead = ahead_us(t, b, c);
    if (ahead >= TICK_US)
        return 0;
    const uint64_t bytes = worth(b, (uint32_t)(TICK_US - MAX(ahead, -credit_us(b, c))));
    return (uint32_t)MIN(MAX(bytes / b->mss, (uint64_t)LEAST), (uint64_t)TCP_OUT_BLOCK_MAX);
}

static void await_tick(struct tcp *t, struct block *b, struct ext_cc *c)
{
    if (c->flags & CC_PACED)
        return;
    const uint32_t ix = (uint32_t)(b - t->blocks);
    const uint32_t wait_us = (uint32_t)MAX(ahead_us(t, b, c), (int32_t)TICK_US) - TICK_US + 1;
    const uint32_t into_us = (uint32_t)(t->now.us % TICK_US);
    const uint32_t at_ms = t->now.ms + (into_us + wait_us + TICK_US - 1) / TICK_US;
    if (!arm_movable(t, b, ix, at_ms))
        return;
    c->flags |= CC_PACED;
    c->pace_at_ms = (uint16_t)at_ms;
}

bool tcp_pace_timer(const struct tcp *t, struct ext_cc *c)
{
    if (!(c->flags & CC_PACED) || (int16_t)((uint16_t)t->now.ms - c->pace_at_ms) < 0)
        return false;
    c->flags &= (uint16_t)~CC_PACED;
    c->pace_at_ms = (uint16_t)(t->now.ms - c->pace_at_ms);
    return true;
}

void tcp_paced(struct tcp *t, struct block *b, uint32_t n, bool more)
{
    struct ext_cc *c = &t->exts[b->ext].cc;
    if (n != 0) {
        const int32_t from_us = MAX(ahead_us(t, b, c), -credit_us(b, c));
        c->pace_us = (uint32_t)t->now.us + (uint32_t)from_us + cost_us(b, n * b->mss);
        if (!(c->flags & CC_PACED))
            c->pace_at_ms = 0;
    }
    if (more)
        await_tick(t, b, c);
}
