// SPDX-License-Identifier: BSD-3-Clause
// tcp_ack.h: effects of a new acknowledgment on the send queue, the RTT, the congestion window and
// the timer.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_acked_full: processes a new acknowledgment of everything below `ack`, in any case.
void tcp_acked_full(struct tcp *t, struct block *b, uint32_t ack, bool has_ts, uint32_t ts_ecr);

// tcp_echo_age_ms: the greatest plausible age of the timestamp that the current acknowledgment
// echoes: RTTM measures a segment that it acknowledges (RFC 7323 4.1). An older echo was never
// sent, or was acknowledged before. If it were accepted, a peer could raise the retransmission
// timeout to its maximum.
//
// tcp_echo_taken: the echo is ms old and was used; what stays in flight is not older.
static inline uint32_t tcp_echo_age_ms(const struct tcp *t, const struct block *b)
{
    if (unlikely(b->has_flight))
        return tcp_flight_echo_age_ms(t, b);
    return t->now.ms - b->echo_from_ms;
}

static inline void tcp_echo_taken(const struct tcp *t, struct block *b, uint32_t ms)
{
    if (unlikely(b->has_flight))
        tcp_flight_echo_taken(t, b, ms);
    else
        b->echo_from_ms = t->now.ms - ms;
}

// tcp_acked_sample: takes the RTT measurement of the acknowledgment. Returns microseconds; 0:
// none.
static inline uint32_t tcp_acked_sample(const struct tcp *t, struct block *b, uint32_t ack,
                                        bool has_ts, uint32_t ts_ecr)
{
    if (has_ts && ts_ecr != 0) {
        const uint32_t ms = tcp_ts_now(t, &b->key) - ts_ecr;
        if (likely(ms < TCP_ECHO_MAX_MS && ms <= tcp_echo_age_ms(t, b))) {
            tcp_echo_taken(t, b, ms);
            tcp_rtt_sample(b, ms * 1000);
            return MAX(ms * 1000, 1u);
        }
    } else if ((b->flags & BF_TIMED) && !seq_lt(ack, b->rtt_seq)) {
        const uint32_t us = (uint32_t)t->now.us - b->rtt_us;
        tcp_rtt_sample(b, us);
        b->flags &= (uint16_t)~BF_TIMED;
        return MAX(us, 1u);
    }
    return 0;
}

// tcp_acked_fast: processes the common acknowledgment: of all data sent and queued, which is in
// one buffer, without loss, while cwnd did not limit sending. Does exactly what tcp_acked_full()
// would. b is block ix. False: it is not the common case, and nothing was changed.
static inline bool tcp_acked_fast(struct tcp *t, struct block *b, uint32_t ix, uint32_t ack,
                                  bool has_ts, uint32_t ts_ecr)
{
    const uint32_t reasons = (ack ^ b->snd_max) |           // something stays in flight
                             (ack ^ b->snd_end) |           // something is left to send; our FIN
                             (ack ^ b->snd_nxt) |           // a timeout took snd_nxt back
                             (b->snd_head ^ b->snd_tail) |  // more than one buffer is queued
                             b->backoff |                   // there was a timeout
                             b->dupacks_flight |            // duplicates, or a log of the flight
                             (b->flags & BF_DELACK_ARMED);  // the xmit deadline goes on running
    if (unlikely(reasons != 0))
        return false;
    if (unlikely(b->snd_head == BUF_NONE))  // no buffer to give back
        return false;
    if (unlikely(ack - b->snd_una + b->mss > b->cwnd))  // cwnd was in the way, and grows
        return false;
    buf_put(&t->bufs, b->snd_head);
    b->snd_head = b->snd_tail = BUF_NONE;
    b->snd_una = ack;
    tcp_acked_sample(t, b, ack, has_ts, ts_ecr);
    b->rto_at_ms = 0;
    xmit_clear(t, ix);
    return true;
}

// tcp_acked: tcp_acked_fast(), or tcp_acked_full() if that does not apply.
static inline void tcp_acked(struct tcp *t, struct block *b, uint32_t ack, bool has_ts,
                             uint32_t ts_ecr)
{
    if ((b->flags & BF_EXT) ||
        !tcp_acked_fast(t, b, (uint32_t)(b - t->blocks), ack, has_ts, ts_ecr))
        tcp_acked_full(t, b, ack, has_ts, ts_ecr);
}
