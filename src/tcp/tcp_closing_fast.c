// SPDX-License-Identifier: BSD-3-Clause
// The fast version of the steps that close a connection (RFC 9293 3.10.7.4). It handles in-order
// segments if nothing was lost, nothing is left to send, and the segment has neither data nor other
// flags.
//
//   ESTABLISHED         FIN, and acknowledges everything         CLOSE_WAIT
//   FIN_WAIT_1          acknowledges our FIN                     FIN_WAIT_2
//   FIN_WAIT_1          acknowledges our FIN, and FIN            TIME_WAIT
//   FIN_WAIT_2          FIN                                      TIME_WAIT
//   CLOSING, LAST_ACK   acknowledges our FIN                     TIME_WAIT, CLOSED
#include "tcp/tcp_closing_fast.h"

#include "tcp/tcp_ack.h"

enum {
    WITH_FIN = 1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT_1 | 1 << TCP_FIN_WAIT_2,
    WITHOUT_FIN = 1 << TCP_FIN_WAIT_1 | 1 << TCP_CLOSING | 1 << TCP_LAST_ACK,
};

static_assert((int)SEG_OPT_TS == (int)BF_TS, "is_plain() compares the two bits by XOR");

// is_plain: whether the fast version applies. The segment is in order, has no data, and has exactly
// the negotiated options. It acknowledges all queued data and our FIN, if there is one, and cwnd
// did not limit their sending. Nothing was lost, stored out of order or probed.
static inline bool is_plain(const struct tcp *t, const struct block *b, const struct seg_in *s)
{
    const bool fin = (s->flags & SEG_FIN) != 0;
    const uint32_t end = b->snd_end + ((b->flags & BF_FIN_QUEUED) != 0);
    const uint32_t reasons =
        (s->seq ^ b->rcv_nxt) |        // out of order, or received before
        (s->ack ^ end) |               // not everything is acknowledged
        (b->snd_nxt ^ end) |           // something is left to send
        (b->snd_max ^ end) |           // a timeout reset snd_nxt
        (b->snd_head ^ b->snd_tail) |  // more than one buffer is queued
        ((s->flags & (uint8_t) ~(SEG_PSH | SEG_FIN)) ^ SEG_ACK) |  // SYN, RST, URG, ECN; no ACK
        s->data_len |                                              // data
        b->backoff |                                               // there was a timeout
        b->dupacks_flight |               // duplicate ACKs, or a flight log
        b->probes |                       // keepalive probes are unanswered
        (b->flags & (BF_EXT |             // an extension record is in use
                     BF_PROBE)) |         // the peer's window is being probed
        ((b->flags ^ s->opts) & BF_TS) |  // timestamp missing, or not negotiated
        (s->opts & SEG_OPT_SACK);         // SACK blocks
    if (reasons != 0)
        return false;
    if (((fin ? WITH_FIN : WITHOUT_FIN) >> b->state & 1) == 0)  // not a row of the table above
        return false;
    if ((b->flags & BF_TS) && time_before(s->ts_val, b->ts_recent))  // PAWS, RFC 7323 5.3 R1
        return false;
    if (s->ack - b->snd_una + b->mss > b->cwnd)  // cwnd limited sending, and would grow
        return false;
    if (t->cfg.fin_wait2_ms == UINT32_MAX)  // FIN-WAIT-2 is skipped: a RST ends the connection
        return false;
    return true;
}

// process_ack: everything is acknowledged. tcp_acked_full() without the cases that is_plain() has
// excluded.
static inline void process_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s)
{
    if (b->snd_head != BUF_NONE) {
        buf_put(&t->bufs, b->snd_head);
        b->snd_head = b->snd_tail = BUF_NONE;
    }
    b->snd_una = s->ack;
    tcp_acked_sample(t, b, s->ack, (b->flags & BF_TS) != 0, s->ts_ecr);
    b->rto_at_ms = 0;
    if (!(b->flags & BF_DELACK_ARMED))
        xmit_clear(t, ix);
}

// process_fin: the eighth step. In FIN_WAIT_2 the connection enters TIME-WAIT.
static inline uint16_t process_fin(struct tcp *t, struct block *b, uint32_t ix)
{
    const bool over = b->state == TCP_FIN_WAIT_2;
    b->rcv_nxt++;
    if (seq_lt(b->rcv_adv, b->rcv_nxt))
        b->rcv_adv = b->rcv_nxt;
    tcp_set_state(b, STEP_PEER_FIN);
    b->flags |= BF_ACK_NOW;
    if (!over) {
        tcp_dirty_block(t, b, ix);
        return TCP_EV_PEER_FIN;
    }
    tcp_reply_ack(t, b);
    b->close_why = TCP_CLOSE_CLOSED;
    return TCP_EV_PEER_FIN | TCP_EV_CLOSED;
}

bool tcp_closing_fast(struct tcp *t, uint32_t ix, const struct seg_in *s, struct tcp_verdict *v)
{
    struct block *b = &t->blocks[ix];
    if (unlikely(!is_plain(t, b, s)))
        return false;
    t->stats->c.segs_closing++;
    v->block = ix;
    if (s->ack != b->snd_una) {
        process_ack(t, b, ix, s);
        v->events |= TCP_EV_SENT;
    }
    b->snd_wnd = (uint32_t)s->wnd << b->snd_wscale;
    b->snd_wl1 = s->seq;
    if ((b->flags & BF_TS) && b->unacked_segs == 0) {  // RFC 7323 4.3
        b->ts_recent = s->ts_val;
        b->ts_recent_ms = t->now.ms;
    }
    const bool fin = (s->flags & SEG_FIN) != 0;
    if (b->flags & BF_FIN_QUEUED && b->state != TCP_FIN_WAIT_2) {
        tcp_set_state(b, STEP_ACK_OF_FIN);
        if (b->state != TCP_FIN_WAIT_2) {
            b->close_why = TCP_CLOSE_CLOSED;
            v->events |= TCP_EV_CLOSED;
            return true;
        }
        if (!fin && tcp_enter_fin_wait_2(t, b, ix))
            v->events |= TCP_EV_CLOSED;
    }
    if (fin)
        v->events |= process_fin(t, b, ix);
    return true;
}
