// SPDX-License-Identifier: BSD-3-Clause
// tcp_deadline.h: deadlines in milliseconds, the entries of the wheel, and the retransmission
// timeout.
#pragma once
#include "tcp/tcp_shared.h"

// deadline: now plus ms as a deadline; 0 means none, so it is never 0.
static inline uint32_t deadline(uint32_t now_ms, uint32_t ms)
{
    uint32_t at = now_ms + ms;
    return at != 0 ? at : 1;
}

static inline bool deadline_reached(uint32_t at_ms, uint32_t now_ms)
{
    return at_ms != 0 && !time_before(now_ms, at_ms);
}

// tcp_earlier: of two deadlines, 0: none.
static inline uint32_t tcp_earlier(uint32_t a_ms, uint32_t b_ms)
{
    if (a_ms == 0 || b_ms == 0)
        return a_ms | b_ms;
    return time_before(a_ms, b_ms) ? a_ms : b_ms;
}

static inline void xmit_set(struct tcp *t, uint32_t ix)
{
    t->xmit_runs[ix / 64] |= 1ULL << ix % 64;
}

static inline void xmit_clear(struct tcp *t, uint32_t ix)
{
    t->xmit_runs[ix / 64] &= ~(1ULL << ix % 64);
}

// Wheel entries of a block. A block has at most one entry of each kind, whatever its peer and its
// application do. server_timers() therefore reserves enough entries.
//
//   xmit     Wakes for the xmit deadlines: retransmission, persist, delayed ACK. It is added at
//            the current deadline if the block has no xmit entry, and is not moved afterwards: a
//            deadline that is postponed or canceled leaves the entry in place. When the entry
//            expires and no xmit deadline runs, the worker discards it without reading the block.
//            The block then learns from wheel_xmit_ms and the time that its entry is gone.
//   slow     The same for the slow deadlines: keepalive, FIN-WAIT-2, the application's timer. Its
//            expiry always reads the block.
//   movable  For a deadline that is earlier than the other two entries, and for congestion control.
//            The block knows the entry's place in the wheel, so that it can move the entry to an
//            earlier time.
//
// arm_movable: makes the wheel wake the block at at_ms or earlier. False: the wheel has no free
// chunk, which the wheel counts. The reserve excludes that; the block is marked dirty nevertheless
// and tries again in the next turn.
bool arm_movable(struct tcp *t, struct block *b, uint32_t ix, uint32_t at_ms);

// arm_xmit: the xmit deadline at_ms runs. A wheel entry that wakes the block earlier will do: it is
// checked and set again when it fires.
static inline void arm_xmit(struct tcp *t, struct block *b, uint32_t ix, uint32_t at_ms)
{
    const uint32_t wakes_ms = b->wheel_xmit_ms;
    xmit_set(t, ix);
    if (wakes_ms != 0 && !time_before(at_ms, wakes_ms) && time_before(t->now.ms, wakes_ms))
        return;
    if (unlikely(wakes_ms != 0 && wheel_may_hold(t->wheel, wakes_ms))) {
        arm_movable(t, b, ix, at_ms);
        return;
    }
    b->wheel_xmit_ms = wheel_add(t->wheel, at_ms, flow_index((enum flow_kind)WAKE_XMIT, ix));
    if (unlikely(b->wheel_xmit_ms == 0))
        tcp_dirty(t, ix);
}

// tcp_rto_ms: present retransmission timeout with its backoff (RFC 6298 2, 5.5).
static inline uint32_t tcp_rto_ms(const struct tcp *t, const struct block *b)
{
    uint32_t ms = MAX(t->cfg.rto_initial_ms, b->rttvar_us / 1000);
    if (likely(b->srtt_us != 0))
        ms = ((b->srtt_us >> 3) + MAX(b->rttvar_us, (uint32_t)TCP_RTO_SLACK_US)) / 1000;
    ms = MAX(ms, t->cfg.rto_min_ms);
    if (likely(b->backoff == 0))
        return MIN(ms, t->cfg.rto_max_ms);
    const uint64_t backed = (uint64_t)ms << MIN(b->backoff, 20);
    return (uint32_t)MIN(backed, t->cfg.rto_max_ms);
}

// tcp_rto_at: when the timer that is started now runs out: not after the user timeout, if the RTO
// is backed off.
uint32_t tcp_rto_at_backed(const struct tcp *t, const struct block *b);
static inline uint32_t tcp_rto_at(const struct tcp *t, const struct block *b)
{
    if (likely(b->backoff == 0))
        return deadline(t->now.ms, tcp_rto_ms(t, b));
    return tcp_rto_at_backed(t, b);
}
