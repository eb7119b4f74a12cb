// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_cc.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_pace.h"
#include "tcp/tcp_sack.h"
#include "tcp/tcp_trace.h"
#include "tcp/tcp_tune.h"
#include "wire/proto.h"

struct seg_out *tcp_out_slot(struct tcp *t, uint16_t local_ix)
{
    if (unlikely(tcp_room(t, local_ix) == 0)) {
        stat_drop(t->stats, DROP_reply_room, 1);
        return NULL;
    }
    return &t->out[t->n_out++];
}

// announce: tcp_announce_window() for a connection with the limit `limit` of unconsumed bytes.
static inline uint16_t announce(struct block *b, uint32_t limit)
{
    uint32_t wnd = b->rcv_adv - b->rcv_nxt;
    // The data exceeds the limit, because rounding up lets single bytes advance the edge. Do not
    // advance it, and round down. What was announced stays valid (RFC 7323 2.4).
    if (unlikely(b->rcvq_bytes > limit))
        return (uint16_t)MIN(wnd >> b->rcv_wscale, UINT16_MAX);
    // RFC 9293 3.8.6.2.2: advance the edge by at least a full segment or half of the buffer.
    const uint32_t room = limit - b->rcvq_bytes;
    const int32_t gain = (int32_t)(room - wnd);
    if (gain > 0 && (uint32_t)gain >= MIN(limit / 2, (uint32_t)b->mss))
        wnd = room;
    // Round up, so that scaling never moves the edge back.
    uint32_t field = (wnd + (1u << b->rcv_wscale) - 1) >> b->rcv_wscale;
    field = MIN(field, UINT16_MAX);
    b->rcv_adv = b->rcv_nxt + (field << b->rcv_wscale);
    return (uint16_t)field;
}

uint16_t tcp_announce_window(const struct tcp *t, struct block *b)
{
    return announce(b, tcp_rcv_limit(t, b));
}

uint32_t tcp_ts_now(const struct tcp *t, const struct flow_key *key)
{
    return t->now.ms + addr_hash(&t->ts_key, &key->remote);
}

// put: sets the fields that all segments of an established connection have in common. rcv_limit:
// the result of tcp_rcv_limit(). Returns the new flags of the block.
static inline uint16_t put(struct tcp *t, struct block *b, struct seg_out *o, uint32_t seq,
                           uint8_t flags, uint32_t rcv_limit)
{
    const uint16_t has = b->flags;
    o->key = b->key;
    o->seq = seq;
    o->ack = b->rcv_nxt;
    o->data_len[0] = o->data_len[1] = 0;
    o->wnd = announce(b, rcv_limit);
    o->flags = flags;
    o->head = 0;
    o->opts = 0;
    o->tos = 0;
    if (has & BF_TS) {
        o->opts = SEG_OPT_TS;
        o->ts_val = tcp_ts_now(t, &b->key);
        o->ts_ecr = b->ts_recent;
    }
    b->unacked_segs = 0;
    return has & (uint16_t) ~(BF_ACK_NOW | BF_ACK_DELAYED | BF_DELACK_ARMED);
}

static inline struct seg_out *fill(struct tcp *t, struct block *b, uint32_t seq, uint8_t flags)
{
    struct seg_out *o = tcp_out_slot(t, b->key.local_ix);
    if (unlikely(o == NULL))
        return NULL;
    b->flags = put(t, b, o, seq, flags, tcp_rcv_limit(t, b));
    if (unlikely(b->flags & BF_EXT))
        tcp_sockopt_ip(t, b, o);
    if (unlikely(b->agreed & BA_ECN))
        tcp_ecn_out(t, b, o);
    return o;
}

void tcp_ack_at(struct tcp *t, struct block *b, uint32_t seq)
{
    struct seg_out *o = fill(t, b, seq, SEG_ACK);
    if (o == NULL)
        return;
    t->stats->c.acks_sent++;
    if (unlikely(b->flags & BF_EXT))
        tcp_sack_put(t, b, o, (struct seq_range){0, 0}, TCP_OPTIONS_MAX);
}

void tcp_reply_dsack(struct tcp *t, struct block *b, struct seq_range dup)
{
    struct seg_out *o = fill(t, b, b->snd_max, SEG_ACK);
    if (o == NULL)
        return;
    t->stats->c.acks_sent++;
    tcp_sack_put(t, b, o, dup, TCP_OPTIONS_MAX);
}

// report_beside: adds SACK blocks to a segment with data if it has room for them (RFC 6691 2). A
// full segment has none. That is no loss, because out-of-order data was acknowledged at once by an
// acknowledgment without data.
static inline void report_beside(const struct tcp *t, const struct block *b, struct seg_out *o,
                                 uint32_t len)
{
    if (unlikely(b->flags & BF_EXT))
        tcp_sack_put(t, b, o, (struct seq_range){0, 0}, b->mss - len);
}

void tcp_reply_ack(struct tcp *t, struct block *b)
{
    tcp_ack_at(t, b, b->snd_max);
}

bool tcp_claim_answer(const struct tcp *t, struct block *b)
{
    // 16 bits in units of 16 ms wrap after 17 minutes: an answer may then be skipped once.
    const uint16_t now = (uint16_t)(t->now.ms / 16), rested = (uint16_t)(now - b->oow_16ms);
    if (rested * 16u < t->cfg.invalid_ack_ms)
        return false;
    b->oow_16ms = now;
    return true;
}

void tcp_challenge_ack(struct tcp *t, struct block *b)
{
    if (!tcp_claim_answer(t, b))
        t->stats->c.ack_skipped_challenge++;
    else {
        t->stats->c.challenge_acks++;
        tcp_reply_ack(t, b);
    }
}

void tcp_send_reset(struct tcp *t, struct block *b)
{
    t->stats->c.conns_reset_sent++;
    if (fill(t, b, b->snd_max, SEG_RST | SEG_ACK) != NULL)
        t->stats->c.rst_sent++;
}

bool tcp_claim_reset(struct tcp *t, const struct flow_key *key)
{
    t->resets_asked++;
    return limit_take(&t->resets, t->cfg.rst_per_s, source_of(&key->remote), t->now.us);
}

bool tcp_reply_reset(struct tcp *t, const struct seg_in *s)
{
    if (!tcp_claim_reset(t, &s->key) || tcp_room(t, s->key.local_ix) == 0)
        return false;
    struct seg_out *o = tcp_out_slot(t, s->key.local_ix);
    *o = (struct seg_out){.key = s->key};
    if (s->flags & SEG_ACK) {  // RFC 9293 3.5.2
        o->seq = s->ack;
        o->flags = SEG_RST;
    } else {
        o->ack = s->seq + s->data_len + ((s->flags & SEG_SYN) != 0) + ((s->flags & SEG_FIN) != 0);
        o->flags = SEG_RST | SEG_ACK;
    }
    t->stats->c.rst_sent++;
    return true;
}

// gather: points o->data to up to len bytes of the send queue from seq on, in at most two ranges
// and within one record. Sets PSH if a record ends there. Returns the number of bytes. *cur: a
// buffer at or before seq; gather() advances it.
static uint32_t gather(const struct tcp *t, struct seg_out *o, uint32_t *cur, uint32_t seq,
                       uint32_t len)
{
    const struct buf *bufs = t->bufs.bufs;
    uint32_t ix = *cur, got = 0;
    while (seq - bufs[ix].seq >= bufs[ix].len) {
        ix = bufs[ix].next;
        CHECK(ix != BUF_NONE);
    }
    *cur = ix;
    for (unsigned i = 0; i < 2 && ix != BUF_NONE; i++) {
        const struct buf *f = &bufs[ix];
        const uint32_t off = seq + got - f->seq;
        const uint32_t n = MIN(len - got, f->len - off);
        o->data[i] = f->at + off;
        o->data_len[i] = (uint16_t)n;
        got += n;
        ix = f->next;
        if (got == len)
            break;
        if (unlikely(f->ends_record)) {
            o->flags |= SEG_PSH;
            break;
        }
    }
    return got;
}

// gather_more: continues a gather() of `got` bytes from seq on, which began in buffer `ix` and
// found no more room in two ranges: puts what follows the first range into `pieces`. Returns the
// number of bytes in all ranges; at most len.
static NOINLINE uint32_t gather_more(const struct tcp *t, struct seg_out *o, uint32_t ix,
                                     uint32_t got, uint32_t len, struct seg_piece *pieces)
{
    const struct buf *bufs = t->bufs.bufs;
    unsigned n = 1;
    pieces[0] = (struct seg_piece){o->data[1], o->data_len[1]};
    ix = bufs[bufs[ix].next].next;
    while (ix != BUF_NONE && got != len && n < SEG_PIECES_MAX) {
        const struct buf *f = &bufs[ix];
        pieces[n++] = (struct seg_piece){f->at, MIN(len - got, f->len)};
        got += pieces[n - 1].len;
        if (got != len && f->ends_record) {
            o->flags |= SEG_PSH;
            break;
        }
        ix = f->next;
    }
    if (n < SEG_PIECES_MAX)
        pieces[n].len = 0;
    o->data[1] = (const uint8_t *)pieces;
    o->data_len[1] = (uint16_t)(got - o->data_len[0]);
    o->opts |= SEG_OPT_PIECES;
    return got;
}

// ends_short: whether gather() of len bytes ended, after `got`, for want of ranges, and the segment
// is longer than any that two buffers need.
static inline bool ends_short(const struct tcp *t, const struct seg_out *o, uint32_t got,
                              uint32_t len)
{
    return unlikely(len > SEG_WHOLE_MAX) && got != len && !(o->flags & SEG_PSH) &&
           t->pieces_out != NULL;
}

// gather_segment: gather() for the segment o of t->out, with as many ranges as a jumbo frame needs.
static inline uint32_t gather_segment(const struct tcp *t, struct seg_out *o, uint32_t *cur,
                                      uint32_t seq, uint32_t len)
{
    const uint32_t got = gather(t, o, cur, seq, len);
    if (unlikely(len > SEG_WHOLE_MAX))
        o->mss = 0;  // it is no large one
    return ends_short(t, o, got, len) ? gather_more(t, o, *cur, got, len, t->pieces_out[o - t->out])
                                      : got;
}

static inline bool has_room(struct tcp *t, const struct block *b)
{
    return tcp_room(t, b->key.local_ix) != 0;
}

static void sent_again(struct tcp *t, const struct block *b)
{
    t->stats->c.tx_retransmits_segs++;
    point_retransmit(t->trace, tcp_traced(t, b));
    if (b->flags & BF_EXT)
        t->exts[b->ext].sockopts.total_retrans++;
}

static void send_syn(struct tcp *t, struct block *b)
{
    struct seg_out *o = tcp_out_slot(t, b->key.local_ix);
    if (o == NULL)
        return;
    const bool answer = b->state == TCP_SYN_RECEIVED;
    *o = (struct seg_out){.key = b->key, .seq = b->snd_una};
    o->mss = tcp_block_mss(t, b);
    o->flags = answer ? SEG_SYN | SEG_ACK : SEG_SYN;
    o->flags |= tcp_ecn_syn(t, b);
    o->opts |= SEG_OPT_MSS;
    const uint32_t limit = tcp_rcv_limit(t, b);
    o->wnd = (uint16_t)MIN(limit - MIN(b->rcvq_bytes, limit), UINT16_MAX);
    if (b->flags & BF_EXT)
        tcp_sockopt_ip(t, b, o);
    if (answer) {
        o->ack = b->rcv_nxt;
        b->flags &= (uint16_t)~BF_ACK_NOW;
    }
    if (!answer || (b->agreed & BA_WSCALE))
        o->opts |= SEG_OPT_WSCALE;
    if (answer ? (b->agreed & BA_SACK) != 0 : t->cfg.sack)
        o->opts |= SEG_OPT_SACK_PERM;
    o->wscale = t->cfg.window_scale;
    if (answer ? (b->flags & BF_TS) != 0 : t->cfg.timestamps) {
        o->opts |= SEG_OPT_TS;
        o->ts_val = tcp_ts_now(t, &b->key);
        o->ts_ecr = answer ? b->ts_recent : 0;
    }
    // Do not measure an echo of an earlier SYN: it includes the time in which answers were lost.
    if (b->flags & BF_TS)
        b->echo_from_ms = t->now.ms;
    if (b->snd_max == b->snd_una && !(b->flags & BF_TS)) {
        b->flags |= BF_TIMED;
        b->rtt_seq = b->snd_una + 1;
        b->rtt_us = (uint32_t)t->now.us;
    } else if (!(b->flags & BF_TIMED)) {
        b->rtt_us = (uint32_t)t->now.us;
    }
    const bool pending = tcp_is_pending(b);
    t->stats->c.synack_sent += pending;
    if (b->retries != 0 || (pending && b->snd_max != b->snd_una)) {
        t->stats->c.synack_retransmits += pending;
        t->stats->c.syn_retransmits += !pending;
        sent_again(t, b);
    }
    b->snd_nxt = b->snd_una + 1;
    if (seq_lt(b->snd_max, b->snd_nxt))
        b->snd_max = b->snd_nxt;
    // Simultaneous open: a repeated SYN-ACK must not reduce what an acknowledgment announced.
    if (b->state == TCP_SYN_SENT || seq_lt(b->rcv_adv, b->rcv_nxt + o->wnd))
        b->rcv_adv = b->rcv_nxt + o->wnd;
    b->rto_at_ms = tcp_rto_at(t, b);
}

// is_overdue: whether the override timeout has just expired.
static inline bool is_overdue(const struct block *b)
{
    return (b->flags & BF_PROBE) && b->rto_at_ms == 0;
}

// may_cut: whether to send `len` bytes although more data is queued. Nothing is in flight, and the
// peer's window has room for only `len` bytes. They are sent at once if they are at least a
// fraction of the largest window seen (RFC 9293 3.8.6.2.1 (3); here between a quarter and a half),
// because a small host may never offer more. Otherwise they are sent after the override timeout,
// for which the persist timer is used (3.8.6.2.1 (4); Linux waits equally long).
static inline bool may_cut(const struct block *b, uint32_t len)
{
    return len >= 1u << b->wnd_max_log >> 1 || is_overdue(b);
}

// nagle_holds: whether a partial segment must wait for the acknowledgment of another partial
// segment (Minshall's variant of RFC 9293 3.7.4, as in Linux). It does not wait for full segments.
// The end of a large write is therefore sent at once, and is not delayed by the peer's delayed
// acknowledgment of an odd segment. A partial segment is in flight if the data in flight is not a
// multiple of the MSS. The SYN of RFC 7413 does not count.
static inline bool nagle_holds(const struct block *b, uint32_t flight)
{
    if (flight == 0 || (b->flags & BF_NODELAY) || b->snd_nxt != b->snd_max)
        return false;
    return (flight - tcp_is_pending(b)) % b->mss != 0;
}

// record_ends: whether a record ends within the next len bytes and other records follow it. The
// last segment of a record is never filled up, so it does not wait (as with Linux's MSG_EOR).
static NOINLINE bool record_ends(const struct tcp *t, const struct block *b, uint32_t len)
{
    const struct buf *bufs = t->bufs.bufs;
    if (b->snd_head == b->snd_tail)
        return false;
    for (uint32_t ix = b->snd_cur; ix != b->snd_tail; ix = bufs[ix].next) {
        const uint32_t end = bufs[ix].seq + bufs[ix].len;
        if (seq_lt(b->snd_nxt + len, end))
            return false;
        if (bufs[ix].ends_record && seq_lt(b->snd_nxt, end))
            return true;
    }
    return false;
}

// next_length: how many bytes may be sent now; 0: none. *fin: whether the FIN is sent, with the
// bytes or alone. RFC 9293 3.8.6.2.1 (sender's silly window avoidance), 3.7.4 (Nagle).
static inline uint32_t next_length(const struct tcp *t, const struct block *b, uint32_t unsent,
                                   uint32_t extra, bool fin_queued, bool *fin)
{
    const uint32_t flight = b->snd_nxt - b->snd_una;
    const uint32_t window = MIN(b->cwnd + extra, b->snd_wnd);
    const uint32_t usable = window > flight ? window - flight : 0;
    const uint32_t len = MIN(MIN(unsent, usable), (uint32_t)b->mss);
    *fin = fin_queued && len == unsent;
    if (len == b->mss || len == 0 || *fin)
        return len;
    bool may = !nagle_holds(b, flight);
    if (len < unsent)  // the window cuts the segment
        may = flight == 0 && may_cut(b, len);
    else if (unlikely(tcp_is_corked(t, b)))  // at most until a timeout with nothing in flight
        may = flight == 0 && is_overdue(b);
    return may || record_ends(t, b, len) ? len : 0;
}

// one_segment: builds the next segment of b, with cwnd increased by `extra`. Returns false if there
// is nothing to send.
static inline bool one_segment(struct tcp *t, struct block *b, uint32_t extra)
{
    const bool fin_sent = (b->flags & BF_FIN_QUEUED) && b->snd_nxt == b->snd_end + 1;
    const uint32_t unsent = fin_sent ? 0 : b->snd_end - b->snd_nxt;
    bool fin;
    uint32_t len = next_length(t, b, unsent, extra, (b->flags & BF_FIN_QUEUED) && !fin_sent, &fin);
    if (len == 0 && !fin)
        return false;
    struct seg_out *o = fill(t, b, b->snd_nxt, SEG_ACK);
    if (unlikely(o == NULL))
        return false;
    if (len != 0) {
        uint32_t cur = b->snd_head;
        const bool many = b->snd_head != b->snd_tail;
        if (many)
            cur = b->snd_cur;
        const uint32_t got = gather_segment(t, o, &cur, b->snd_nxt, len);
        if (many)
            b->snd_cur = cur;
        fin = fin && got == len;
        len = got;
        if (len == unsent)
            o->flags |= SEG_PSH;
        if (unlikely(b->agreed & BA_ECN) && b->snd_nxt == b->snd_max)
            tcp_ecn_fresh(b, o);
    }
    if (fin)
        o->flags |= SEG_FIN;
    report_beside(t, b, o, len);
    if ((b->flags & BF_TS) && b->snd_max == b->snd_una)
        b->echo_from_ms = t->now.ms;
    // No sample after a loss: it would include the time of the recovery.
    if (!(b->flags & (BF_TS | BF_TIMED)) && !b->has_flight && b->snd_nxt == b->snd_max &&
        !tcp_sack_governs(t, b) && !tcp_recovering(t, b)) {
        b->flags |= BF_TIMED;
        b->rtt_seq = b->snd_nxt + len + fin;
        b->rtt_us = (uint32_t)t->now.us;
    }
    if (unlikely(seq_lt(b->snd_nxt, b->snd_max)))
        sent_again(t, b);
    b->snd_nxt += len + fin;
    if (seq_lt(b->snd_max, b->snd_nxt))
        b->snd_max = b->snd_nxt;
    t->stats->c.bytes_sent += len;
    return true;
}

bool tcp_send_next(struct tcp *t, struct block *b, uint32_t extra)
{
    return one_segment(t, b, extra);
}

// large_segment: joins at most `most` full segments of new data into a large one. Returns their
// number, which counts against the room of the turn, or 0 if there are too few.
static NOINLINE unsigned large_segment(struct tcp *t, struct block *b, unsigned most)
{
    const uint32_t flight = b->snd_nxt - b->snd_una, window = MIN(b->cwnd, b->snd_wnd);
    if (b->snd_nxt != b->snd_max || b->dupacks != 0 || window <= flight ||
        !seq_lt(b->snd_nxt, b->snd_end) || (b->agreed & BA_CWR))  // CWR is sent on one segment only
        return 0;
    const bool many = b->snd_head != b->snd_tail;
    const uint32_t may = MIN(b->snd_end - b->snd_nxt, window - flight);
    uint32_t n = MIN(may, (uint32_t)SEG_LARGE_MAX) / b->mss;
    uint32_t cur = many ? b->snd_cur : b->snd_head;
    struct seg_out found = {.data_len = {0, 0}};
    n = MIN(MIN(n, most), tcp_room(t, b->key.local_ix));
    n = gather(t, &found, &cur, b->snd_nxt, n * b->mss) / b->mss;
    const uint32_t len = n * b->mss;
    if (len <= SEG_WHOLE_MAX || n < 2)
        return 0;
    const bool last = b->snd_nxt + len == b->snd_end;
    struct seg_out *o = &t->out[t->n_out++];
    b->flags = put(t, b, o, b->snd_nxt, last ? SEG_ACK | SEG_PSH : SEG_ACK, tcp_rcv_limit(t, b));
    if (unlikely(b->flags & BF_EXT))
        tcp_sockopt_ip(t, b, o);
    o->mss = b->mss;
    o->data[0] = found.data[0];
    o->data[1] = found.data[1];
    o->data_len[0] = (uint16_t)MIN(len, (uint32_t)found.data_len[0]);
    o->data_len[1] = (uint16_t)(len - o->data_len[0]);
    if (b->agreed & BA_ECN) {
        tcp_ecn_out(t, b, o);
        tcp_ecn_fresh(b, o);
    }
    if (many)
        b->snd_cur = cur;
    b->snd_nxt = b->snd_max = b->snd_nxt + len;
    t->out_room -= n - 1;
    t->stats->c.tx_tcp += n - 1;
    t->stats->c.tx_large++;
    t->stats->c.bytes_sent += len;
    return n;
}

// arm_persist: there is data, but none could be sent, and nothing in flight will cause an
// acknowledgment: the window is closed (RFC 9293 3.8.6.1).
static void arm_persist(struct tcp *t, struct block *b)
{
    b->flags |= BF_PROBE;
    b->rto_at_ms = tcp_rto_at(t, b);
}

enum { FIN_LEAVES_IN = 1 << TCP_FIN_WAIT_1 | 1 << TCP_LAST_ACK };

// output_fast: the common case: all queued data is in one buffer, fits in one segment and in the
// windows, and nothing was lost. Or our FIN is sent, with such data or alone. The result is that of
// output_full(). Returns false in all other cases, without any change.
static inline bool output_fast(struct tcp *t, struct block *b, uint32_t ix)
{
    const uint32_t len = b->snd_end - b->snd_nxt, flight = b->snd_nxt - b->snd_una;
    const uint32_t fin = (b->flags & BF_FIN_QUEUED) != 0;
    const uint32_t states = fin ? FIN_LEAVES_IN : 1 << TCP_ESTABLISHED;
    const uint32_t reasons =
        ((states >> b->state & 1) ^ 1) |  // a state in which neither data nor a FIN is sent
        (b->snd_nxt ^ b->snd_max) |       // a timeout reset snd_nxt
        (b->snd_head ^ b->snd_tail) |     // more than one buffer is queued
        b->dupacks_flight |               // duplicate ACKs, or a flight log
        (b->flags & (BF_PROBE |           // the peer's window is being probed
                     BF_WANT_WRITE |      // a send was refused, and needs a wakeup
                     BF_EXT));            // an extension record is in use
    if (unlikely(reasons != 0))
        return false;
    if (unlikely(len + fin - 1 >= b->mss))  // nothing to send, or more than one segment
        return false;
    if (unlikely(len > MIN(b->cwnd, b->snd_wnd)))  // a window is too small for all of it
        return false;
    if (flight != 0)  // a second segment in flight must be logged (tcp_flight.h)
        return false;
    struct seg_out *o = &t->out[t->n_out++];
    uint16_t flags =
        put(t, b, o, b->snd_nxt, fin ? SEG_ACK | SEG_FIN : SEG_ACK, t->rcv_limits[b->window_class]);
    if (likely(len != 0)) {
        const struct buf *f = &t->bufs.bufs[b->snd_head];
        o->data[0] = f->at + (b->snd_nxt - f->seq);
        o->data_len[0] = (uint16_t)len;
        if (unlikely(len > SEG_WHOLE_MAX))
            o->mss = 0;  // it is no large one
        o->flags |= SEG_PSH;
    }
    if (unlikely(b->agreed & BA_ECN)) {
        tcp_ecn_out(t, b, o);
        if (len != 0)
            tcp_ecn_fresh(b, o);
    }
    b->snd_nxt = b->snd_max = b->snd_end + fin;
    t->stats->c.bytes_sent += len;
    if (likely(flags & BF_TS)) {
        b->echo_from_ms = t->now.ms;
    } else if (!(flags & BF_TIMED)) {
        flags |= BF_TIMED;
        b->rtt_seq = b->snd_max;
        b->rtt_us = (uint32_t)t->now.us;
    }
    b->flags = flags & (uint16_t)~BF_DIRTY;
    if (b->rto_at_ms == 0)
        b->rto_at_ms = deadline(t->now.ms, tcp_rto_ms(t, b));
    arm_xmit(t, b, ix, b->rto_at_ms);
    if (unlikely(t->wheel->refused != 0))
        tcp_arm_slow(t, ix);
    return true;
}

// resend_head: retransmits the oldest segment, unless it was acknowledged meanwhile or everything
// is being resent after a timeout. Returns false if this turn has no room.
static NOINLINE bool resend_head(struct tcp *t, struct block *b)
{
    if (b->dupacks >= TCP_DUPACKS && b->snd_una != b->snd_max) {
        if (tcp_resend(t, b, b->snd_una, b->snd_max) == 0)
            return false;
        b->rto_at_ms = tcp_rto_at(t, b);
        t->stats->c.fast_retransmit_segs++;
    }
    b->agreed &= (uint8_t)~BA_RESEND;
    return true;
}

// limited: by how many bytes limited transmit (RFC 3042) increases cwnd.
static inline uint32_t limited(const struct block *b)
{
    if (likely(b->dupacks == 0) || b->dupacks >= TCP_DUPACKS || b->snd_nxt != b->snd_max)
        return 0;
    return (uint32_t)b->dupacks * b->mss;
}

// segments: sends as many segments as permitted, at most `most`. Returns the number.
static inline unsigned segments(struct tcp *t, struct block *b, unsigned most)
{
    unsigned n = 0;
    while (n < most && has_room(t, b) && one_segment(t, b, limited(b))) {
        n++;
        if (likely(!seq_lt(b->snd_nxt, b->snd_end)) && !(b->flags & BF_FIN_QUEUED))
            break;  // everything was sent
        if (unlikely(t->cfg.large))
            n += large_segment(t, b, most - n);
    }
    return n;
}

// paced_segments: sends the segments that pacing permits. *wait: whether pacing delays further
// ones.
static NOINLINE unsigned paced_segments(struct tcp *t, struct block *b, bool *wait)
{
    const unsigned most = tcp_pace_room(t, b), n = segments(t, b, most);
    const bool fin = (b->flags & BF_FIN_QUEUED) != 0;
    *wait = n == most && most < TCP_OUT_BLOCK_MAX && seq_lt(b->snd_nxt, b->snd_end + fin);
    tcp_paced(t, b, n, *wait);
    return n;
}

// as_many: sends as many segments as permitted. Returns the number. *wait: whether pacing delays
// further ones.
static inline unsigned as_many(struct tcp *t, struct block *b, bool *wait)
{
    if (unlikely(tcp_flight_governs(t, b)))
        return tcp_flight_output(t, b);
    if (unlikely(tcp_sack_governs(t, b)))
        return tcp_sack_output(t, b);
    if (tcp_is_paced(t, b) && b->snd_nxt == b->snd_max)
        return paced_segments(t, b, wait);
    return segments(t, b, TCP_OUT_BLOCK_MAX);
}

// send_early: RFC 7413 4.2.2: data may be sent before the handshake completes, subject to Nagle. No
// FIN is sent, and nothing while the SYN-ACK may be lost.
static NOINLINE void send_early(struct tcp *t, struct block *b)
{
    const uint16_t fin = b->flags & BF_FIN_QUEUED;
    if (b->retries != 0 || b->snd_nxt == b->snd_una)
        return;
    b->flags &= (uint16_t)~fin;
    b->snd_nxt = b->snd_max;  // a retransmission of the SYN-ACK may have reset it
    segments(t, b, TCP_OUT_BLOCK_MAX);
    b->flags |= fin;
}

// output_full: sends segments as permitted, an acknowledgment, or nothing. See tcp_output().
static NOINLINE bool output_full(struct tcp *t, struct block *b, uint32_t ix)
{
    if (unlikely(b->state == TCP_FREE || b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT)) {
        if (b->state == TCP_FREE && (b->flags & BF_HELD))
            tcp_lanes_release(t, ix);
        return false;
    }
    if (unlikely(b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED)) {
        if (b->snd_nxt == b->snd_una)
            send_syn(t, b);
        if (tcp_is_pending(b))
            send_early(t, b);
        tcp_arm(t, ix);
        return b->snd_nxt == b->snd_una;
    }
    if (unlikely(b->agreed & BA_RESEND) && (!has_room(t, b) || !resend_head(t, b)))
        return true;
    if (b->snd_max == b->snd_una && b->snd_end - b->snd_nxt > b->mss)
        tcp_cc_restart(t, b);
    if (b->unacked_segs >= 2)
        tcp_tune_receive(t, b);
    const uint32_t from = b->snd_nxt;
    bool wait = false;
    const unsigned n = as_many(t, b, &wait);
    if (n > 1 && (b->flags & BF_TS))
        b->rtt_us = (uint32_t)t->now.us;
    if (n != 0 && (b->rto_at_ms == 0 || (b->flags & BF_PROBE))) {
        b->flags &= (uint16_t)~BF_PROBE;
        b->rto_at_ms = tcp_rto_at(t, b);
    }
    if (n != 0)
        tcp_flight_sent(t, b, from, n);
    if (b->flags & BF_ACK_NOW) {
        if (!has_room(t, b))
            return true;
        tcp_reply_ack(t, b);
    } else if ((b->flags & (BF_ACK_DELAYED | BF_DELACK_ARMED)) != BF_ACK_DELAYED) {
        // nothing to acknowledge, or the delay is running already
    } else if (has_room(t, b) && tcp_quick_ack(t, b)) {
        tcp_reply_ack(t, b);
    } else {
        b->flags |= BF_DELACK_ARMED;
        b->delack_at_ms = deadline(t->now.ms, t->cfg.delayed_ack_ms);
    }
    if (unlikely(b->snd_nxt == b->snd_una && seq_lt(b->snd_nxt, b->snd_end) && n == 0 &&
                 b->rto_at_ms == 0 && !wait))
        arm_persist(t, b);
    tcp_arm(t, ix);
    return n == TCP_OUT_BLOCK_MAX || !has_room(t, b);
}

bool tcp_output(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    if (likely(output_fast(t, b, ix)))
        return false;
    b->flags &= (uint16_t)~BF_DIRTY;
    return output_full(t, b, ix);
}

void tcp_output_dirty(struct tcp *t)
{
    const uint32_t last = t->dirty_tail;
    uint32_t left = TCP_VISITS_MAX;
    while (t->dirty_head != BLOCK_NONE && t->n_out < t->out_room) {
        const uint32_t ix = t->dirty_head;
        if (unlikely(left-- == 0)) {
            t->stats->c.turns_dirty_limited++;
            break;
        }
        t->dirty_head = t->blocks[ix].dirty_next;
        if (t->dirty_head == BLOCK_NONE)
            t->dirty_tail = BLOCK_NONE;
        t->n_dirty--;
        tcp_touch(t, ix);
        if (tcp_output(t, ix))
            tcp_dirty(t, ix);
        if (ix == last)
            break;
    }
    tcp_touch(t, BLOCK_NONE);
}

uint32_t tcp_resend(struct tcp *t, struct block *b, uint32_t seq, uint32_t end)
{
    struct seg_out *o = fill(t, b, seq, SEG_ACK);
    if (o == NULL)
        return 0;
    const bool fin = end == b->snd_end + 1;  // the FIN was sent, and may be sent again
    const uint32_t bytes = MIN(end - fin - seq, (uint32_t)b->mss);
    uint32_t got = 0;
    if (bytes != 0) {
        uint32_t cur = tcp_seek(t, b, seq);
        got = gather_segment(t, o, &cur, seq, bytes);
        if (seq + got == b->snd_end)
            o->flags |= SEG_PSH;
    }
    const bool with_fin = fin && seq + got == b->snd_end;
    if (with_fin)
        o->flags |= SEG_FIN;
    report_beside(t, b, o, got);
    b->flags &= (uint16_t)~BF_TIMED;  // Karn's rule, RFC 6298 3
    sent_again(t, b);
    return got + with_fin;
}

uint32_t tcp_last_part(const struct tcp *t, const struct block *b, uint32_t from, uint32_t end)
{
    struct seg_piece pieces[SEG_PIECES_MAX];
    struct seg_out part;
    if (from == end || seq_leq(t->bufs.bufs[b->snd_tail].seq, from))
        return from;
    uint32_t cur = tcp_seek(t, b, from);
    for (;;) {
        part.flags = 0;
        uint32_t got = gather(t, &part, &cur, from, end - from);
        if (ends_short(t, &part, got, end - from))
            got = gather_more(t, &part, cur, got, end - from, pieces);
        if (got == end - from)
            return from;
        from += got;
    }
}

void tcp_retransmit_head(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    b->agreed |= BA_RESEND;
    b->dupacks =
        MAX((uint8_t)b->dupacks, (uint8_t)TCP_DUPACKS) & DUPACKS_MAX;  // disables output_fast()
    tcp_dirty(t, ix);
}
