// SPDX-License-Identifier: BSD-3-Clause
// Effects of a new acknowledgment: the send queue, the RTT, the congestion window, the timer.
#include "tcp/tcp_ack.h"

#include "tcp/tcp_cc.h"
#include "tcp/tcp_flight.h"

static void pop_acked(struct tcp *t, struct block *b, uint32_t ack)
{
    struct buf_pool *p = &t->bufs;
    while (b->snd_head != BUF_NONE) {
        struct buf *f = &p->bufs[b->snd_head];
        const uint32_t past = ack - f->seq;
        if ((int32_t)past <= 0)
            return;
        if (past < f->len) {
            f->at += past;
            f->seq += past;
            f->len -= past;
            return;
        }
        const uint32_t next = f->next;
        if (next != BUF_NONE) {  // move snd_cur on if it is the freed buffer or not set yet
            if (b->snd_cur == b->snd_head || b->snd_cur == BUF_NONE)
                b->snd_cur = next;
        } else {
            b->snd_tail = BUF_NONE;
        }
        buf_put(p, b->snd_head);
        b->snd_head = next;
    }
}

// was_limited: whether cwnd limited sending (RFC 7661 4.3; Linux's tcp_is_cwnd_limited()). It did
// if the data in flight fills it. It also did if that data and the unsent data together exceed it:
// earlier acknowledgments of the same burst have already made room. If the peer's window is the
// smaller one, unsent data does not count.
static bool was_limited(const struct block *b, uint32_t flight)
{
    if (seq_lt(b->snd_max, b->snd_end) && b->cwnd < b->snd_wnd)
        flight += b->snd_end - b->snd_max;
    return unlikely(flight + b->mss > b->cwnd);
}

void tcp_acked_full(struct tcp *t, struct block *b, uint32_t ack, bool has_ts, uint32_t ts_ecr)
{
    const uint32_t acked = ack - b->snd_una, flight = b->snd_max - b->snd_una;
    b->snd_una = ack;
    if (seq_lt(b->snd_nxt, ack)) {  // it acknowledges data sent before a timeout reset snd_nxt
        b->snd_nxt = ack;
        b->snd_cur = BUF_NONE;
    }
    pop_acked(t, b, ack);
    if (b->snd_head != b->snd_tail && b->snd_cur == BUF_NONE)
        b->snd_cur = b->snd_head;
    uint32_t rtt_us = unlikely(b->has_flight) ? tcp_flight_acked(t, b, has_ts, ts_ecr) : 0;
    if (rtt_us == 0)
        rtt_us = tcp_acked_sample(t, b, ack, has_ts, ts_ecr);
    if (unlikely(b->backoff != 0)) {
        if (rtt_us != 0)  // Karn: without a sample, keep the backoff (RFC 6298 5.7)
            b->backoff = 0;
        b->retries = 0;
        b->stuck_at_ms = 0;
    }
    b->dupacks = 0;
    if (was_limited(b, flight) && !tcp_recovering(t, b))
        tcp_cc_acked(t, b, acked, rtt_us);
    // RFC 6298 5.2, 5.3. The entry in the wheel stays and is checked when it expires. An entry that
    // was made for a longer timeout, before a backoff ended or the first RTT was known, would
    // expire too late, so an earlier entry is added.
    if (ack != b->snd_max) {
        if (b->has_flight)
            return;  // tcp_flight_judge() restarts the timer
        b->rto_at_ms = tcp_rto_at(t, b);
        if (unlikely(time_before(b->rto_at_ms, b->wheel_xmit_ms)))
            arm_xmit(t, b, (uint32_t)(b - t->blocks), b->rto_at_ms);
        return;
    }
    b->rto_at_ms = 0;
    if (!(b->flags & BF_DELACK_ARMED))
        xmit_clear(t, (uint32_t)(b - t->blocks));
}
