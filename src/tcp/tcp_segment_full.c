// SPDX-License-Identifier: BSD-3-Clause
// The full version for a segment of a block: RFC 9293 3.10.7.3 (SYN-SENT) and 3.10.7.4 (the other
// states). Each step of the RFC has a function, in the RFC's order and with the RFC's number. The
// function returns false if processing ends there. The checks of RFC 7323 and RFC 5961 are in the
// steps that those documents name.
#include <errno.h>

#include "tcp/tcp_ack.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sack.h"

static uint32_t seg_length(const struct seg_in *s)
{
    return s->data_len + ((s->flags & SEG_SYN) != 0) + ((s->flags & SEG_FIN) != 0);
}

// is_data: whether the segment, which is not a SYN, occupies sequence numbers. Its sender then
// retransmits it until it is acknowledged.
static bool is_data(const struct seg_in *s)
{
    return (s->data_len != 0 || (s->flags & SEG_FIN)) && !(s->flags & SEG_SYN);
}

static void reset_received(struct tcp *t, struct block *b, struct tcp_verdict *v)
{
    t->stats->c.conns_reset_received++;
    // A block in SYN-RECEIVED comes from an active open (RFC 9293 3.10.7.4, second) or from Fast
    // Open. With Fast Open the application knows the connection already.
    const bool pending = tcp_is_pending(b);
    const bool opening = b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
    const int error = b->state == TCP_SYN_SENT     ? ECONNREFUSED  // Linux's tcp_reset()
                      : b->state == TCP_CLOSE_WAIT ? EPIPE
                                                   : ECONNRESET;
    tcp_end_error(t, b, opening && !pending ? TCP_CLOSE_REFUSED : TCP_CLOSE_RESET, error);
    v->events |= TCP_EV_CLOSED;
}

// start_keepalive: an active open is established.
static void start_keepalive(struct tcp *t, struct block *b, uint32_t ix)
{
    b->last_rx_ms = t->now.ms;
    b->last_progress = tcp_progress(b);
    if (b->keepalive_ms != 0)
        tcp_arm_slow(t, ix);
}

// ---- RFC 9293 3.10.7.3: SYN-SENT

// Second: the RST bit. It is valid if the segment acknowledges our SYN.
static void syn_sent_2_rst(struct tcp *t, struct block *b, bool ack_ok, struct tcp_verdict *v)
{
    if (ack_ok)
        reset_received(t, b, v);
    else
        v->drop = DROP_tcp_reset_invalid;
}

// negotiate_options: processes the options of the peer's SYN.
static void negotiate_options(struct tcp *t, struct block *b, const struct seg_in *s)
{
    if (t->cfg.sack && (s->opts & SEG_OPT_SACK_PERM))
        b->agreed |= BA_SACK;
    b->flags &= (uint16_t)~BF_TS;
    if (t->cfg.timestamps && (s->opts & SEG_OPT_TS)) {
        b->flags |= BF_TS;
        b->ts_recent = s->ts_val;
        b->ts_recent_ms = t->now.ms;
        b->flags &=
            (uint16_t)~BF_TIMED;  // from now on, echoes of the last SYN or later are measured
        b->echo_from_ms = t->now.ms - ((uint32_t)t->now.us - b->rtt_us + 999) / 1000;
    }
    if (s->opts & SEG_OPT_WSCALE)
        b->agreed |= BA_WSCALE;
    b->snd_wscale = s->opts & SEG_OPT_WSCALE ? s->wscale : 0;
    b->rcv_wscale = s->opts & SEG_OPT_WSCALE ? t->cfg.window_scale : 0;
}

// Fourth: the SYN bit. ack_ok: the segment acknowledges our SYN; else it is a simultaneous open.
static void syn_sent_4_syn(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                           bool ack_ok, struct tcp_verdict *v)
{
    b->rcv_nxt = s->seq + 1;
    // The window that our SYN announced. If we send a SYN-ACK, it announces the window again.
    const uint32_t told = MIN(tcp_rcv_limit(t, b), UINT16_MAX);
    b->rcv_adv = b->rcv_nxt + (ack_ok ? told : 0);
    b->snd_wl1 = s->seq;
    b->snd_wnd = s->wnd;  // never scaled in a SYN (RFC 7323 2.2)
    tcp_note_window(b);
    negotiate_options(t, b, s);
    tcp_ecn_answered(t, b, s, ack_ok);
    tcp_set_mss(t, b, s->opts & SEG_OPT_MSS ? s->mss : 0);
    // RFC 5681 3.1: one segment if our SYN was lost.
    b->cwnd = (b->retries == 0 ? t->cfg.initial_window : 1) * b->mss;
    if (ack_ok) {
        tcp_acked(t, b, s->ack, (b->flags & BF_TS) != 0, s->ts_ecr);
        if (b->srtt_us == 0)
            tcp_rtt_unknown(b);
        tcp_establish(t, b, STEP_SYN_ACK);
        start_keepalive(t, b, ix);
        b->flags |= BF_ACK_NOW;
        v->events |= TCP_EV_OPEN;
    } else {  // simultaneous open: a SYN-ACK is sent in place of the SYN
        tcp_set_state(b, STEP_SYN);
        b->snd_nxt = b->snd_una;
        b->rto_at_ms = 0;
    }
    tcp_dirty(t, ix);
}

static void syn_sent(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                     struct tcp_verdict *v)
{
    // SND.UNA < SEG.ACK =< SND.NXT: only a SYN that was sent can be acknowledged.
    const bool ack_ok = (s->flags & SEG_ACK) && b->snd_max != b->snd_una && s->ack == b->snd_max;
    if ((s->flags & SEG_ACK) && !ack_ok) {  // first: the ACK bit
        if ((s->flags & SEG_RST) || !tcp_reply_reset(t, s))
            v->drop = DROP_tcp_unacceptable;
    } else if (s->flags & SEG_RST) {
        syn_sent_2_rst(t, b, ack_ok, v);
    } else if (s->flags & SEG_SYN) {  // third: there is no security compartment
        syn_sent_4_syn(t, b, ix, s, ack_ok, v);
    } else {  // fifth: neither SYN nor RST
        v->drop = DROP_tcp_bad_flags;
    }
}

// ---- RFC 9293 3.10.7.4, first: the sequence number

// is_known_ack: whether SEG.ACK acknowledges sent data and is not older than RFC 5961 5.2 permits.
// Instead of MAX.SND.WND, the largest window that the peer could announce is used.
static bool is_known_ack(const struct block *b, uint32_t ack)
{
    const uint32_t oldest = (uint32_t)UINT16_MAX << b->snd_wscale;
    return ack - b->snd_una + oldest <= b->snd_max - b->snd_una + oldest;
}

// timestamp_is_old: ts_recent is not valid after 24 days (RFC 7323 5.5).
static bool timestamp_is_old(const struct tcp *t, const struct block *b, const struct seg_in *s)
{
    return time_before(s->ts_val, b->ts_recent) && t->now.ms - b->ts_recent_ms <= TCP_PAWS_MS;
}

// reply_unacceptable: RFC 9293 3.10.7.4, first. With SACK the reply reports duplicate data (RFC
// 2883 4).
static void reply_unacceptable(struct tcp *t, struct block *b, const struct seg_in *s)
{
    const uint32_t end = s->seq + seg_length(s);
    if (!(b->agreed & BA_SACK) || seg_length(s) == 0 || !seq_lt(s->seq, b->rcv_nxt)) {
        tcp_reply_ack(t, b);
        return;
    }
    t->stats->c.dsack_sent_old++;
    tcp_reply_dsack(t, b, (struct seq_range){s->seq, seq_lt(end, b->rcv_nxt) ? end : b->rcv_nxt});
}

// fails_paws: RFC 7323 5.3 R1 and 3.2: the negotiated timestamp is missing, or older than the last
// one.
static bool fails_paws(const struct tcp *t, const struct block *b, const struct seg_in *s)
{
    if (!(b->flags & BF_TS) || (s->flags & SEG_RST))
        return false;
    return !(s->opts & SEG_OPT_TS) || timestamp_is_old(t, b, s);
}

// refuse_paws: an old timestamp is answered like an old sequence number (RFC 7323 5.3 R1). A
// segment without the timestamp is not answered (3.2).
static void refuse_paws(struct tcp *t, struct block *b, const struct seg_in *s,
                        struct tcp_verdict *v)
{
    v->drop = DROP_tcp_old_timestamp;
    if (!(s->opts & SEG_OPT_TS))
        return;
    if (is_data(s) || tcp_claim_answer(t, b))
        reply_unacceptable(t, b, s);
    else
        t->stats->c.ack_skipped_paws++;
}

// fast_open_again: a repeated SYN of a connection in Fast Open. The SYN-ACK is sent again, within
// the rate limit of answers.
static void fast_open_again(struct tcp *t, struct block *b, uint32_t ix, struct tcp_verdict *v)
{
    v->drop = DROP_tcp_duplicate;
    if (!tcp_claim_answer(t, b)) {
        t->stats->c.ack_skipped_syn_received++;
        return;
    }
    b->flags &= (uint16_t)~BF_TIMED;  // Karn's rule, RFC 6298 3
    b->snd_nxt = b->snd_una;
    tcp_dirty(t, ix);
}

enum { SYN_ACK_RST = SEG_SYN | SEG_ACK | SEG_RST };

// is_fast_open_syn: RFC 7413: a repetition of the SYN that opened the connection, before the
// handshake completes.
static bool is_fast_open_syn(const struct block *b, const struct seg_in *s)
{
    return unlikely(b->state == TCP_SYN_RECEIVED) && tcp_is_pending(b) &&
           (s->flags & SYN_ACK_RST) == SEG_SYN && s->seq == b->snd_wl1;
}

// is_crossing_syn_ack: the SYN-ACK of a simultaneous open (RFC 9293 3.5, figure 8). It repeats the
// sequence number of the peer's SYN, which is below the window. SYN-RECEIVED waits for it.
static bool is_crossing_syn_ack(const struct block *b, const struct seg_in *s)
{
    return b->state == TCP_SYN_RECEIVED && !tcp_is_pending(b) && s->seq == b->rcv_nxt - 1 &&
           (s->flags & SYN_ACK_RST) == (SEG_SYN | SEG_ACK);
}

// The acceptability table of RFC 9293 3.10.7.4, first.
static bool acceptable(const struct block *b, const struct seg_in *s)
{
    const uint32_t wnd = b->rcv_adv - b->rcv_nxt, len = seg_length(s);
    const uint32_t from = s->seq - b->rcv_nxt;
    if (len == 0)
        return wnd == 0 ? from == 0 : from < wnd;
    if (wnd == 0)  // like Linux, accept a FIN without data, which takes no buffer
        return from == 0 && s->data_len == 0 && !(s->flags & SEG_SYN);
    return from < wnd || s->seq + len - 1 - b->rcv_nxt < wnd;
}

// is_copy: whether it repeats data that we have, with a later timestamp. Our acknowledgment was
// lost then.
static bool is_copy(const struct block *b, const struct seg_in *s)
{
    const uint32_t behind = b->rcv_nxt - s->seq;
    return (b->flags & BF_TS) && is_data(s) && (s->flags & SEG_ACK) && is_known_ack(b, s->ack) &&
           behind - 1 < (uint32_t)UINT16_MAX << b->rcv_wscale;
}

// reply_copy: acknowledges a copy and echoes the copy's timestamp. Otherwise the peer would measure
// the whole wait as its RTT, and its timeout would grow. The block does not store that timestamp. A
// segment outside the window does not change TS.Recent (RFC 7323 5.3: R2 comes before R3), because
// anybody can send one, and a timestamp in the future would make all later segments of the peer
// look old.
static void reply_copy(struct tcp *t, struct block *b, const struct seg_in *s)
{
    const uint32_t n_out = t->n_out;
    reply_unacceptable(t, b, s);
    if (t->n_out != n_out)
        t->out[n_out].ts_ecr = s->ts_val;  // fails_paws() made sure that it is not older
}

// count_unacceptable: Linux's counters for these segments: data that was acknowledged before
// (DelayedACKLost), and data that a zero window refuses (TCPZeroWindowDrop).
static void count_unacceptable(struct tcp *t, const struct block *b, const struct seg_in *s)
{
    if (seg_length(s) != 0 && seq_lt(s->seq, b->rcv_nxt))
        t->stats->c.delayed_acks_lost++;
    else if (s->data_len != 0 && b->rcv_adv == b->rcv_nxt)
        t->stats->c.window_zero_drops++;
}

// answer_unacceptable: a segment outside the window is answered with an acknowledgment. For a SYN
// that is a challenge ACK (RFC 5961 4.2).
static void answer_unacceptable(struct tcp *t, struct block *b, const struct seg_in *s)
{
    count_unacceptable(t, b, s);
    if (s->flags & SEG_SYN)
        tcp_challenge_ack(t, b);
    else if (is_copy(b, s))
        reply_copy(t, b, s);
    else if (is_data(s) || tcp_claim_answer(t, b))
        reply_unacceptable(t, b, s);
    else
        t->stats->c.ack_skipped++;
}

// These parts of the fifth step also apply to a segment that arrives while the window is zero.
static bool process_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                        struct tcp_verdict *v);
static bool process_ack_of_fin(struct tcp *t, struct block *b, uint32_t ix);

// is_zero_window_ack: a zero window refuses only the data. The acknowledgment of the segment is
// processed (RFC 9293 3.10.7.4, first, SHOULD).
static bool is_zero_window_ack(const struct block *b, const struct seg_in *s)
{
    return b->rcv_adv == b->rcv_nxt && s->seq == b->rcv_nxt && (s->flags & SYN_ACK_RST) == SEG_ACK;
}

static void refuse_sequence(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                            struct tcp_verdict *v)
{
    const bool window = seq_lt(b->rcv_nxt, s->seq + seg_length(s));
    v->drop = window ? DROP_tcp_window : DROP_tcp_duplicate;
    if (s->flags & SEG_RST)
        v->drop = DROP_tcp_reset_invalid;
    else
        answer_unacceptable(t, b, s);
    if (is_zero_window_ack(b, s) && process_ack(t, b, ix, s, v) && process_ack_of_fin(t, b, ix))
        v->events |= TCP_EV_CLOSED;
}

// step_1_sequence: RFC 7323 5.3 puts PAWS (R1) before the check of the sequence number.
static bool step_1_sequence(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                            struct tcp_verdict *v)
{
    if (fails_paws(t, b, s)) {
        refuse_paws(t, b, s, v);
        return false;
    }
    if (is_fast_open_syn(b, s)) {
        fast_open_again(t, b, ix, v);
        return false;
    }
    if (is_crossing_syn_ack(b, s) || acceptable(b, s))
        return true;
    refuse_sequence(t, b, ix, s, v);
    return false;
}

// ---- second: the RST bit

// time_wait_reset: in TIME-WAIT with unread data. The data is kept, and later segments find no
// connection. With rfc1337 the RST is ignored (RFC 1337 3, fix F1), as in tcp_time_wait.c.
static void time_wait_reset(struct tcp *t, struct block *b, const struct seg_in *s,
                            struct tcp_verdict *v)
{
    if (t->cfg.rfc1337 || s->seq != b->rcv_nxt) {
        v->drop = DROP_time_wait;
        return;
    }
    tcp_end(t, b, TCP_CLOSE_CLOSED);
    t->stats->c.time_wait_reset++;
}

// step_2_rst: RFC 5961 3.2: a RST at exactly RCV.NXT is valid. Elsewhere in the window it causes a
// challenge ACK.
static bool step_2_rst(struct tcp *t, struct block *b, const struct seg_in *s,
                       struct tcp_verdict *v)
{
    if (!(s->flags & SEG_RST))
        return true;
    if (b->state == TCP_TIME_WAIT) {
        time_wait_reset(t, b, s, v);
    } else if (s->seq == b->rcv_nxt) {
        reset_received(t, b, v);
    } else {
        tcp_challenge_ack(t, b);
        v->drop = DROP_tcp_reset_invalid;
    }
    return false;
}

// ---- third: security and compartment. c10m has none, so nothing is compared.

// ---- fourth: the SYN bit

// step_4_syn: RFC 5961 4.2: a challenge ACK, whatever the sequence number. For the SYN-ACK of a
// simultaneous open, processing continues with the ACK field.
static bool step_4_syn(struct tcp *t, struct block *b, const struct seg_in *s,
                       struct tcp_verdict *v)
{
    if (!(s->flags & SEG_SYN) || is_crossing_syn_ack(b, s))
        return true;
    t->stats->c.syn_challenges++;
    tcp_challenge_ack(t, b);
    v->drop = DROP_tcp_bad_flags;
    return false;
}

// ---- fifth: the ACK field

// fast_open_done: completes the handshake of a Fast Open connection, which the application knows
// already.
static void fast_open_done(struct tcp *t, struct block *b)
{
    tcp_fast_open_ended(t, b, false);
    if (b->retries == 0)
        return;
    b->cwnd = b->mss;  // RFC 5681 3.1: the SYN-ACK was lost
    b->retries = 0;
    b->stuck_at_ms = 0;
    tcp_rtt_unknown(b);
}

// process_ack_of_syn: in SYN-RECEIVED, the acknowledgment of our SYN establishes the connection.
static bool process_ack_of_syn(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                               struct tcp_verdict *v)
{
    const uint32_t acked = s->ack - b->snd_una;
    if (acked == 0 || acked > b->snd_max - b->snd_una) {
        tcp_reply_reset(t, s);
        v->drop = DROP_tcp_unacceptable;
        return false;
    }
    if (s->flags & SEG_SYN)  // simultaneous open: see is_crossing_syn_ack()
        tcp_ecn_answered(t, b, s, true);
    if (tcp_is_pending(b))
        fast_open_done(t, b);
    else
        v->events |= TCP_EV_OPEN;
    tcp_establish(t, b, STEP_ACK_OF_SYN);
    if (b->flags & BF_FIN_QUEUED)
        tcp_begin_close(t, b, ix);
    start_keepalive(t, b, ix);
    return true;
}

// note_life: the peer is alive: restarts keepalive and clears the soft error.
static void note_life(struct tcp *t, struct block *b, uint32_t ix)
{
    if (unlikely(b->probes != 0)) {
        tcp_probes_over(b);
        b->last_rx_ms = t->now.ms;
        tcp_arm_slow(t, ix);
    }
    if (unlikely(tcp_soft_error(t, b) != 0))
        tcp_clear_soft_error(t, b);
}

// process_new_ack: SND.UNA < SEG.ACK: a new acknowledgment.
static void process_new_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                            uint32_t wnd, struct tcp_verdict *v)
{
    const uint32_t acked = s->ack - b->snd_una;
    const bool recovering = (b->flags & BF_EXT) && t->exts[b->ext].recovery == RECOVERY_NEWRENO;
    const bool has_ts = (b->flags & BF_TS) != 0;
    tcp_acked(t, b, s->ack, has_ts, s->ts_ecr);
    v->events |= TCP_EV_SENT;
    if (tcp_undo_acked(t, b, has_ts, s->ts_ecr, wnd))
        tcp_ext_release(t, b);
    else if (recovering)
        tcp_newreno_ack(t, b, ix, s->ack, acked);
    tcp_dirty(t, ix);
}

// is_duplicate_ack: the definition of RFC 5681 2. With SACK, the SACK blocks decide instead.
static bool is_duplicate_ack(const struct block *b, const struct seg_in *s, uint32_t wnd)
{
    return s->ack == b->snd_una && s->data_len == 0 && b->snd_max != b->snd_una &&
           wnd == b->snd_wnd && !(s->flags & (SEG_SYN | SEG_FIN)) && !(b->flags & BF_PROBE) &&
           !(b->agreed & BA_SACK);
}

// update_send_window: updates the send window by SND.WL1 and SND.WL2. Two segments with the same
// numbers may have been reordered: the larger window is used, or a zero window (Linux's
// tcp_may_update_window()).
static void update_send_window(struct block *b, const struct seg_in *s, uint32_t acked,
                               uint32_t wnd)
{
    if (acked == 0 && !seq_lt(b->snd_wl1, s->seq) &&
        (b->snd_wl1 != s->seq || (wnd <= b->snd_wnd && wnd != 0)))
        return;
    b->snd_wnd = wnd;
    tcp_note_window(b);
    b->snd_wl1 = s->seq;
}

// process_probe_answer: the answer to a window probe. was_zero: the window was zero before.
static void process_probe_answer(struct tcp *t, struct block *b, uint32_t ix, bool was_zero)
{
    b->retries = 0;  // the peer is alive; its window may stay closed forever (RFC 9293 3.8.6.1)
    // Data can be in flight although the window is probed: a timeout was undone after which the
    // window had closed or shrunk.
    const bool flies = b->snd_nxt != b->snd_una;
    if (!flies && (b->snd_wnd == 0 || !was_zero))
        return;  // the override timeout continues
    b->flags &= (uint16_t)~BF_PROBE;
    b->backoff = 0;
    b->stuck_at_ms = 0;
    b->rto_at_ms = flies ? tcp_rto_at(t, b) : 0;
    tcp_arm(t, ix);
}

// process_ack: returns false if processing of the segment ends here.
static bool process_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                        struct tcp_verdict *v)
{
    const uint32_t acked = s->ack - b->snd_una;
    if (b->state == TCP_SYN_RECEIVED && !process_ack_of_syn(t, b, ix, s, v))
        return false;
    if (!is_known_ack(b, s->ack)) {  // RFC 5961 5.2
        tcp_challenge_ack(t, b);
        v->drop = DROP_tcp_unacceptable;
        return false;
    }
    note_life(t, b, ix);
    // The window of a SYN is never scaled (RFC 7323 2.2).
    const uint32_t wnd = (uint32_t)s->wnd << (s->flags & SEG_SYN ? 0 : b->snd_wscale);
    const uint32_t cwnd = b->cwnd;
    const bool was_zero = b->snd_wnd == 0, is_old = (int32_t)acked < 0;
    if ((int32_t)acked > 0)
        process_new_ack(t, b, ix, s, wnd, v);
    else if (is_duplicate_ack(b, s, wnd))
        tcp_duplicate_ack(t, b, ix);
    if (unlikely((s->flags & (SEG_ECE | SEG_SYN)) == SEG_ECE) && !is_old)  // RFC 3168 6.1.2
        tcp_ecn_echoed(t, b, s->ack, cwnd);
    if (!is_old)
        update_send_window(b, s, acked, wnd);
    if (!is_old && (b->agreed & BA_SACK))  // RFC 2018, RFC 6675
        tcp_sack_ack(t, b, ix, s, acked != 0);
    if (b->flags & BF_PROBE)
        process_probe_answer(t, b, ix, was_zero);
    if (b->snd_nxt != b->snd_end)
        tcp_dirty(t, ix);
    return true;
}

// process_ack_of_fin: handles the acknowledgment of our FIN. Returns whether the connection is
// over.
static bool process_ack_of_fin(struct tcp *t, struct block *b, uint32_t ix)
{
    if (!(b->flags & BF_FIN_QUEUED) || b->snd_una != b->snd_end + 1)
        return false;
    switch (b->state) {
    case TCP_FIN_WAIT_1:
        tcp_set_state(b, STEP_ACK_OF_FIN);
        return tcp_enter_fin_wait_2(t, b, ix);
    case TCP_CLOSING:
    case TCP_LAST_ACK:
        tcp_set_state(b, STEP_ACK_OF_FIN);
        b->close_why = TCP_CLOSE_CLOSED;
        return true;
    default:
        return false;
    }
}

// note_timestamp: RFC 7323 5.3 R3 and 4.3, for a segment with a valid acknowledgment (as in
// Linux). fails_paws() made sure that the segment has a timestamp and that it is not older.
static void note_timestamp(const struct tcp *t, struct block *b, const struct seg_in *s)
{
    if (!(b->flags & BF_TS) || !seq_leq(s->seq, b->rcv_nxt - (b->unacked_segs != 0)))
        return;
    b->ts_recent = s->ts_val;
    b->ts_recent_ms = t->now.ms;
}

static bool step_5_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                       struct tcp_verdict *v)
{
    if (!(s->flags & SEG_ACK)) {
        v->drop = DROP_tcp_bad_flags;
        return false;
    }
    if (!process_ack(t, b, ix, s, v))
        return false;
    note_timestamp(t, b, s);
    if (process_ack_of_fin(t, b, ix)) {
        v->events |= TCP_EV_CLOSED;
        return false;
    }
    if (b->state != TCP_TIME_WAIT)
        return true;
    if (seg_length(s) != 0)  // two ends in TIME-WAIT would otherwise answer each other forever
        tcp_reply_ack(t, b);
    else
        v->drop = DROP_time_wait;
    return false;
}

// ---- sixth: the URG bit. Urgent data is treated as ordinary data, and the pointer is ignored (RFC
// 6093 6).

// ---- seventh: the segment text

// keep_out_of_order: data beyond a gap is acknowledged at once (RFC 5681 4.2).
static void keep_out_of_order(struct tcp *t, struct block *b, uint32_t seq, const uint8_t *data,
                              uint32_t len, struct tcp_verdict *v)
{
    enum drop_reason drop;
    struct seq_range dup;
    if (tcp_ooo_insert(t, b, seq, data, len, &drop, &dup))
        v->events |= TCP_EV_KEPT;
    else
        v->drop = (uint16_t)drop;
    if (dup.start == dup.end || !(b->agreed & BA_SACK)) {
        tcp_reply_ack(t, b);
        return;
    }
    t->stats->c.dsack_sent_ooo++;
    tcp_reply_dsack(t, b, dup);
}

// has_gap: while data beyond a gap is stored, data that fills the gap is acknowledged at once (RFC
// 5681 4.2).
static bool has_gap(const struct tcp *t, const struct block *b)
{
    if (!(b->flags & BF_EXT))
        return false;
    const struct ext *e = &t->exts[b->ext];
    return e->ooo_head != BUF_NONE || e->has_fin;
}

// held_before: the first range of the in-order data, up to `end`, that was stored already.
static struct seq_range held_before(const struct tcp *t, const struct block *b, uint32_t end)
{
    return b->flags & BF_EXT ? tcp_ooo_again(t, b, end) : (struct seq_range){end, end};
}

// deliver_text: delivers data that is in order, up to seq + len. skip: how many bytes of the
// segment were received before. *dup: the first range that was stored already, for
// report_duplicate(); empty if there is none.
static void deliver_text(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                         uint32_t len, uint32_t skip, struct tcp_verdict *v)
{
    b->rcv_nxt += len;
    v->data_off = (uint16_t)(s->data_off + skip);
    v->data_len = (uint16_t)len;
    v->events |= TCP_EV_DATA;
    b->unacked_segs++;
    b->flags |= BF_ACK_DELAYED;
    if (b->unacked_segs >= 2 || has_gap(t, b) || skip != 0)
        b->flags |= BF_ACK_NOW;
    if (b->flags & BF_EXT) {
        v->chain = tcp_ooo_merge(t, b);
        if (v->chain != BUF_NONE)
            v->events |= TCP_EV_CHAIN;
    }
    if (b->linger_at_ms != 0) {
        b->linger_at_ms = deadline(t->now.ms, tcp_sockopt_value(t, b, SOCKOPT_LINGER2));
        tcp_arm_slow(t, ix);
    }
    tcp_dirty(t, ix);
}

// step_7_text: *dup: the first range of the in-order data that was stored already, for
// report_duplicate(); empty if there is none.
static bool step_7_text(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                        const uint8_t *data, struct tcp_verdict *v, struct seq_range *dup)
{
    uint32_t seq = s->seq, len = s->data_len, skip = 0;
    // Data after the close, which no application will read: RST (RFC 9293 3.6.1, SHLD-3).
    if (unlikely(tcp_nobody_reads(t, b)) && tcp_unread_input(t, b, s)) {
        v->drop = DROP_tcp_after_close;
        v->events |= TCP_EV_CLOSED;
        return false;
    }
    if (seq_lt(seq, b->rcv_nxt)) {  // the front was received before
        skip = MIN(b->rcv_nxt - seq - ((s->flags & SEG_SYN) != 0), len);
        len -= skip;
        seq = b->rcv_nxt;
        *dup = (struct seq_range){seq - skip, seq};
    }
    const uint32_t room = b->rcv_adv - seq;
    if (len > room)
        len = room;  // the peer will send the data beyond the window again
    if (len == 0)
        return true;
    if (b->state != TCP_ESTABLISHED && b->state != TCP_FIN_WAIT_1 && b->state != TCP_FIN_WAIT_2)
        return true;                                    // the peer has already sent its FIN
    if (unlikely(s->ecn != 0 || (s->flags & SEG_CWR)))  // RFC 3168 6.1.3
        tcp_ecn_received(t, b, s);
    if (seq != b->rcv_nxt) {
        keep_out_of_order(t, b, seq, data + skip, len, v);
        return true;
    }
    if (t->bufs.n_free_data < TCP_BUFS_RESERVE)
        tcp_ooo_relieve(t);
    if (t->bufs.n_free_data < TCP_BUFS_RESERVE) {
        v->drop = DROP_tcp_buffer;
        *dup = (struct seq_range){0, 0};
        return true;
    }
    if (skip == 0)
        *dup = held_before(t, b, seq + len);
    deliver_text(t, b, ix, s, len, skip, v);
    return true;
}

// ---- eighth: the FIN bit

// keep_fin: a FIN beyond a gap is stored with the out-of-order data.
static void keep_fin(struct tcp *t, struct block *b, const struct seg_in *s, uint32_t fin_seq,
                     struct tcp_verdict *v)
{
    struct ext *e = b->flags & BF_EXT ? &t->exts[b->ext] : NULL;
    if (s->data_len == 0)
        tcp_reply_ack(t, b);  // RFC 5681 4.2; a segment with data was acknowledged before
    // A stored FIN never times out. If the peer has sent no other data beyond the gap and records
    // are scarce, the FIN is not stored; the peer will send it again.
    if (e == NULL && tcp_ext_plenty(t))
        e = tcp_ext_get(t, b);
    if (e == NULL)
        return;
    e->has_fin = 1;
    e->fin_seq = fin_seq;
    if (s->data_len == 0)
        v->events |= TCP_EV_KEPT;
}

// drop_kept_fin: the stored FIN is no longer valid: it is in order now, or data was received at its
// sequence number (as in Linux).
static void drop_kept_fin(struct tcp *t, struct block *b)
{
    t->exts[b->ext].has_fin = 0;
    tcp_ext_release(t, b);
}

// process_fin: the FIN is in order.
static void process_fin(struct tcp *t, struct block *b, uint32_t ix, struct tcp_verdict *v)
{
    b->rcv_nxt++;
    if (seq_lt(b->rcv_adv, b->rcv_nxt))
        b->rcv_adv = b->rcv_nxt;
    const bool was_fin_wait_2 = b->state == TCP_FIN_WAIT_2;
    tcp_set_state(b, STEP_PEER_FIN);
    b->flags |= BF_ACK_NOW;  // the event's handler sets BF_PEER_FIN, after the data before the FIN
    v->events |= TCP_EV_PEER_FIN;
    if (was_fin_wait_2) {
        tcp_reply_ack(t, b);
        b->close_why = TCP_CLOSE_CLOSED;
        v->events |= TCP_EV_CLOSED;
        return;
    }
    tcp_dirty(t, ix);
}

static void step_8_fin(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                       struct tcp_verdict *v)
{
    const bool has_fin = (s->flags & SEG_FIN) != 0;
    if (v->drop != DROP_NONE && !has_fin)
        return;  // the segment has moved RCV.NXT nowhere
    const struct ext *e = b->flags & BF_EXT ? &t->exts[b->ext] : NULL;
    const bool kept = e != NULL && e->has_fin;
    const uint32_t fin_seq = s->seq + s->data_len + ((s->flags & SEG_SYN) != 0);
    const bool now = has_fin && fin_seq == b->rcv_nxt;
    if (!now && has_fin && seq_lt(b->rcv_nxt, fin_seq) && !seq_lt(b->rcv_adv, fin_seq)) {
        keep_fin(t, b, s, fin_seq, v);
        return;
    }
    if (!now && !(kept && e->fin_seq == b->rcv_nxt)) {
        if (unlikely(kept && seq_lt(e->fin_seq, b->rcv_nxt)))
            drop_kept_fin(t, b);
        return;
    }
    if (b->state != TCP_ESTABLISHED && b->state != TCP_FIN_WAIT_1 && b->state != TCP_FIN_WAIT_2)
        return;  // the FIN was received before
    if (e != NULL)
        drop_kept_fin(t, b);
    process_fin(t, b, ix, v);
}

// report_duplicate: RFC 2883 4: reports duplicate data, or a FIN, below the acknowledgment.
static void report_duplicate(struct tcp *t, struct block *b, struct seq_range dup,
                             const struct tcp_verdict *v)
{
    if (dup.start == dup.end || !(b->agreed & BA_SACK) || (v->events & TCP_EV_CLOSED))
        return;
    t->stats->c.dsack_sent_old++;
    tcp_reply_dsack(t, b, dup);
}

// ---- RFC 9293 3.10.7.4: the other states

static void eight_steps(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s,
                        const uint8_t *data, struct tcp_verdict *v)
{
    struct seq_range dup = {0, 0};
    if (!step_1_sequence(t, b, ix, s, v))
        return;
    if (!step_2_rst(t, b, s, v))
        return;
    // step_3_security: not applicable
    if (!step_4_syn(t, b, s, v))
        return;
    if (!step_5_ack(t, b, ix, s, v))
        return;
    // step_6_urg: nothing to do (RFC 6093 6)
    if (!step_7_text(t, b, ix, s, data, v, &dup))
        return;
    step_8_fin(t, b, ix, s, v);
    report_duplicate(t, b, dup, v);
}

void tcp_segment_full(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                      struct tcp_verdict *v)
{
    struct block *b = &t->blocks[ix];
    if (b->state == TCP_CLOSED) {  // the block only waits for the application
        if ((s->flags & SEG_RST) || !t->services[b->service].pulls || !tcp_reply_reset(t, s))
            v->drop = DROP_tcp_after_close;
    } else if (b->state == TCP_SYN_SENT) {
        syn_sent(t, b, ix, s, v);
    } else {
        eight_steps(t, b, ix, s, data, v);
    }
}
