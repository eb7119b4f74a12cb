// SPDX-License-Identifier: BSD-3-Clause
// tcp_segment_fast.h: the fast version for segments of an established connection: header prediction
// (Jacobson 1990), for in-order data and new acknowledgments. tcp_segment_full() is the full
// version; test_fast_paths checks that both do the same. Included by tcp_input.c only.
#pragma once
#include "tcp/tcp_ack.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_flight.h"

// The ACK policy of RFC 9293 3.8.6.3: for every second segment, or after the delay. With ack_merge
// a burst gets one ACK at its end; without it every second segment gets one.
static inline void ack_policy(struct tcp *t, struct block *b)
{
    b->unacked_segs++;
    if (b->unacked_segs < 2) {
        b->flags |= BF_ACK_DELAYED;
        return;
    }
    if (t->cfg.ack_merge)
        b->flags |= BF_ACK_NOW;
    else
        tcp_reply_ack(t, b);
}

// One mask finds the timestamp missing or not agreed on, SACK blocks, and an extension record.
static_assert((int)SEG_OPT_TS == (int)BF_TS, "a segment has it if the connection has");
static_assert((int)SEG_OPT_SACK == (int)BF_FIN_QUEUED, "which is never set in ESTABLISHED");

// tcp_segment_fast: first the reasons to leave, then the in-order segment of an established
// connection. False: there is a reason, and nothing was changed. True: *v is set. ext: BF_EXT; 0:
// an extension record is not a reason.
static ALWAYS_INLINE bool tcp_segment_fast(struct tcp *t, struct block *b, uint32_t ix,
                                           const struct seg_in *s, struct tcp_verdict *v,
                                           uint16_t ext)
{
    const uint32_t acked = s->ack - b->snd_una;
    const uint32_t reasons =
        (b->state ^ TCP_ESTABLISHED) |                // the connection opens or closes
        (s->seq ^ b->rcv_nxt) |                       // out of order, or received before
        ((s->flags & (uint8_t)~SEG_PSH) ^ SEG_ACK) |  // SYN, RST, FIN, URG, ECE or CWR; or no ACK
        ((b->flags ^ s->opts) & (ext |                // an extension record is in use
                                 BF_PROBE |  // the peer's window is probed: this may be the answer
                                 SEG_OPT_SACK |  // it reports SACK blocks
                                 SEG_OPT_TS));   // its timestamp is missing, or was not agreed on
    if (reasons != 0)
        return false;
    if (s->data_len > b->rcv_adv - b->rcv_nxt)  // data beyond the window
        return false;
    if (acked > b->snd_max - b->snd_una)  // an old acknowledgment, or of what was never sent
        return false;
    if (s->data_len == 0 && acked == 0)  // duplicate, window update, keepalive probe
        return false;
    if (s->data_len != 0 && t->bufs.n_free_data < TCP_BUFS_RESERVE)  // buffers are scarce
        return false;
    if (b->flags & BF_TS) {
        if (time_before(s->ts_val, b->ts_recent))  // PAWS, RFC 7323 5.3 R1
            return false;
        if (b->unacked_segs == 0) {  // RFC 7323 4.3: the segment at Last.ACK.sent
            b->ts_recent = s->ts_val;
            b->ts_recent_ms = t->now.ms;
        }
    }

    uint16_t events = 0;
    if (acked != 0) {
        const bool has_ts = (b->flags & BF_TS) != 0;
        if (unlikely(b->flags & BF_WANT_WRITE))
            events = TCP_EV_SENT;
        if (unlikely(!tcp_acked_fast(t, b, ix, s->ack, has_ts, s->ts_ecr))) {
            tcp_acked_full(t, b, s->ack, has_ts, s->ts_ecr);
            if (b->has_flight)
                tcp_flight_judge(t, b, ix);
            if (b->snd_nxt != b->snd_end)
                tcp_dirty_block(t, b, ix);
        }
    }
    b->snd_wnd = (uint32_t)s->wnd << b->snd_wscale;
    b->snd_wl1 = s->seq;
    if (s->data_len != 0) {
        b->rcv_nxt += s->data_len;
        v->data_off = s->data_off;
        v->data_len = s->data_len;
        events |= TCP_EV_DATA;
        if (unlikely(s->ecn != 0))
            tcp_ecn_received(t, b, s);
        ack_policy(t, b);
        tcp_dirty_block(t, b, ix);
    }
    v->block = ix;
    v->events = events;
    v->drop = DROP_NONE;
    return true;
}

// is_idle_ext: whether the extension record holds only options, or congestion control of a
// connection that sends much, so that it does not concern in-order segments.
static inline bool is_idle_ext(const struct ext *e)
{
    return e->recovery == RECOVERY_NONE && e->n_sacked == 0 && e->ooo_head == BUF_NONE &&
           !e->has_fin && e->sockopts.soft_error == 0 && e->undo.step == UNDO_NONE;
}

// tcp_segment_fast_ext: the same if the block has an idle extension record, or if another segment
// of the connection came before in the burst. Not inlined: it is rarely needed.
static NOINLINE bool tcp_segment_fast_ext(struct tcp *t, uint32_t ix, const struct seg_in *s,
                                          struct tcp_verdict *v)
{
    struct block *b = &t->blocks[ix];
    const bool busy = (b->flags & BF_EXT) && !is_idle_ext(&t->exts[b->ext]);
    return !busy && tcp_segment_fast(t, b, ix, s, v, 0);
}
