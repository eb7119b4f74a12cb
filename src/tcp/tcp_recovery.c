// SPDX-License-Identifier: BSD-3-Clause
// Loss recovery with the flight log: begin and end, transmission, timers.
#include "tcp/tcp_cc.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_sack.h"

// deadline_us: the deadline `us` microseconds from now, rounded up to milliseconds.
static uint32_t deadline_us(const struct tcp *t, uint32_t us)
{
    return deadline(t->now.ms, (uint32_t)((t->now.us % 1000 + us + 999) / 1000));
}

// probe_us: RFC 8985 7.2, TLP_calc_PTO(): two round trips after the last segment was sent, or,
// after an acknowledgment, at least a quarter of a round trip from now. The RFC has two round
// trips after each acknowledgment, so a receiver that delays its last acknowledgment would delay
// the probe too. If only one segment is in flight, the time of a delayed acknowledgment is added.
static uint32_t probe_us(const struct tcp *t, const struct block *b, const struct flight *f)
{
    const uint32_t srtt_us = b->srtt_us / 8, least_us = FLIGHT_PROBE_MIN_MS * 1000u;
    const uint32_t since_us = (uint32_t)t->now.us - f->run[f->first + f->n - 1].sent_us;
    if (srtt_us == 0)
        return 1000 * 1000;
    uint32_t us = MAX(2 * srtt_us, least_us);
    if (b->snd_max - b->snd_una <= b->mss)
        us = MAX(us, srtt_us + t->cfg.delayed_ack_ms * 1000 + least_us);
    return MAX(us > since_us ? us - since_us : 1, srtt_us / 4);
}

// may_probe: RFC 8985 7.2: nothing is SACKed, and there is neither a recovery nor another probe.
// Also, the peer must not have shrunk its window below the data that a probe would resend.
static bool may_probe(const struct block *b, const struct flight *f)
{
    return f->state == FLIGHT_OPEN && (f->sacked | f->lost) == 0 && !f->probe_out &&
           !f->probe_due && b->snd_max - b->snd_una <= b->snd_wnd && b->backoff == 0;
}

void tcp_flight_rearm(struct tcp *t, struct block *b, bool anew)
{
    struct flight *f = flight_of(t, b);
    if (anew || f->rto_at_ms == 0)
        f->rto_at_ms = tcp_rto_at(t, b);
    uint32_t at = f->rto_at_ms;
    f->timer = FLIGHT_RTO;
    if (f->reorder_us != 0) {
        const uint32_t reorder_at = deadline_us(t, f->reorder_us);
        if (time_before(reorder_at, at)) {
            f->timer = FLIGHT_REORDER;
            at = reorder_at;
        }
    } else if (may_probe(b, f)) {  // the probe timer replaces the retransmission timer
        const uint32_t probe_at = deadline_us(t, probe_us(t, b, f));
        f->timer = FLIGHT_PROBE;
        if (time_before(probe_at, at))
            at = probe_at;
    }
    b->rto_at_ms = at;
    arm_xmit(t, b, (uint32_t)(b - t->blocks), at);
}

void tcp_flight_log(struct tcp *t, struct block *b, uint32_t from)
{
    const uint32_t now_us = (uint32_t)t->now.us;
    if (!b->has_flight) {
        // A recovery without a log that is in progress continues. Data being resent gets no log.
        if (b->snd_nxt != b->snd_max || b->dupacks != 0 || tcp_sack_governs(t, b))
            return;
        uint32_t sent_us = now_us;
        if (b->flags & BF_TIMED)
            sent_us = b->rtt_us;
        else if (b->rto_at_ms != 0)
            sent_us = now_us - (t->now.ms - (b->rto_at_ms - tcp_rto_ms(t, b))) * 1000;
        const uint32_t max = b->snd_max;
        b->snd_max = from;
        struct flight *f = flight_open(t, b, time_before(now_us, sent_us) ? now_us : sent_us);
        b->snd_max = max;
        if (f == NULL)
            return;
    }
    b->rtt_us = now_us;
    struct flight *f = flight_room(t, b);
    if (seq_lt(flight_run_start(f, f->n), b->snd_nxt))  // otherwise tcp_flight_output() logged it
        flight_append(f, b->snd_nxt, now_us);
    f->burst = 0;
    tcp_flight_rearm(t, b, false);
}

uint32_t tcp_flight_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr)
{
    struct flight *f = flight_of(t, b);
    rack_echo(t, b, f, has_ts, ts_ecr);
    f->rtt_us = 0;
    f->delivered += flight_pop(t, b, f, b->snd_una);
    f->advanced = 1;
    if (f->rtt_us != 0) {
        tcp_rtt_sample(b, f->rtt_us);
        tcp_flight_echo_taken(t, b, f->rtt_us / 1000 + 1);
    }
    return f->rtt_us;
}

// ---- proportional rate reduction

// prr_begin: RFC 9937 6.2, at the begin of a recovery. All acknowledgments of this burst count as
// one. Otherwise recovery would begin with the segment of the last acknowledgment only, although
// each of the earlier ones would have allowed a new segment to be sent (RFC 3042).
static void prr_begin(const struct block *b, struct flight *f)
{
    f->prr_delivered = f->burst - f->delivered;
    f->prr_out = 0;
    f->recover_fs = MAX(b->snd_max - b->snd_una - f->sacked + f->burst, 1u);
}

// prr_acked: RFC 9937 6.2, at each acknowledgment during recovery.
static void prr_acked(struct block *b, struct flight *f)
{
    const uint32_t pipe = flight_pipe(b, f), ssthresh = b->ssthresh;
    int64_t count;
    f->prr_delivered += f->delivered;
    if (pipe > ssthresh) {
        count =
            (int64_t)(((uint64_t)f->prr_delivered * ssthresh + f->recover_fs - 1) / f->recover_fs) -
            f->prr_out;
    } else {
        count = MAX((int64_t)f->prr_delivered - f->prr_out, (int64_t)f->burst);
        if (f->advanced && !f->newly_lost)  // good progress: PRR-SSRB
            count += b->mss;
        count = MIN((int64_t)(ssthresh - pipe), count);
    }
    if (f->prr_out == 0)  // the first retransmission is always sent
        count = MAX(count, (int64_t)b->mss);
    b->cwnd = pipe + (uint32_t)MAX(count, 0);
}

// ---- begin and end

static void begin_recovery(struct tcp *t, struct block *b, struct flight *f)
{
    undo_begin(b, f);
    // RFC 5681 3.2, step 2: without the segments that limited transmit sent beyond the window. The
    // data that this burst of acknowledgments delivered is included, because no new segment could
    // be sent for it yet.
    const uint32_t flight = b->snd_max - b->snd_una;
    tcp_cc_ssthresh(t, b, MIN(MAX(flight, flight - f->sacked + f->burst), b->cwnd));
    b->recover = b->snd_max;
    f->state = FLIGHT_RECOVERY;
    f->probe_out = f->probe_due = 0;
    prr_begin(b, f);
    t->stats->c.fast_retransmits++;
    t->stats->c.sack_recoveries++;
}

static void end_recovery(struct block *b, struct flight *f)
{
    if (f->state == FLIGHT_RECOVERY)
        b->cwnd = b->ssthresh;
    f->state = FLIGHT_OPEN;
    f->frto = FRTO_OFF;
    f->undo_end = b->snd_max;
    rack_calm(f);
}

// probe_judge: RFC 8985 7.4.2, TLP_process_ack(). A loss that the probe repaired counts as a loss.
// The timestamp, or the time, tells at once whether it did, so no state waits for a duplicate
// report (DSACK).
static void probe_judge(struct tcp *t, struct block *b, struct flight *f)
{
    if (!f->probe_out || seq_lt(b->snd_una, f->probe_end))
        return;
    f->probe_out = 0;
    if (!f->probe_again || f->dsack)
        return;
    const bool early = f->has_echo ? time_before(f->echo_ms, f->probe_ms)
                                   : (t->now.ms - f->probe_ms) * 1000 < f->min_rtt_us;
    if (early)
        return;
    t->stats->c.loss_probe_recoveries++;
    b->cwnd = tcp_cc_ssthresh(t, b, MIN(b->snd_max - b->snd_una + f->delivered, b->cwnd));
    b->recover = b->snd_max;
}

// judge_loss: `bytes` were just marked as lost. During recovery, delivered data decides how much
// may be sent (RFC 9937 5). Detected losses must not change it, so they reduce cwnd as much as
// pipe.
static void judge_loss(struct tcp *t, struct block *b, struct flight *f, uint32_t bytes)
{
    if (f->state == FLIGHT_OPEN && f->lost != 0) {
        begin_recovery(t, b, f);
        b->cwnd = flight_pipe(b, f) + b->mss;  // the first retransmission
    } else if (f->state == FLIGHT_RECOVERY) {
        b->cwnd -= MIN(b->cwnd, bytes);
    }
    if (f->state == FLIGHT_RECOVERY && f->delivered != 0)
        prr_acked(b, f);
    // With nothing in flight, no acknowledgment will open cwnd.
    if (f->state == FLIGHT_RECOVERY && flight_pipe(b, f) == 0)
        b->cwnd = MAX(b->cwnd, (uint32_t)b->mss);
}

// frto_judge: RFC 5682 3.1. After a timeout, the first acknowledgment permits new data. The second
// one shows whether data that was in flight at the timeout has arrived.
static void frto_judge(struct block *b, struct flight *f)
{
    if (f->frto == FRTO_FIRST && f->advanced) {
        f->frto = FRTO_NEW;
        b->cwnd = flight_pipe(b, f) + 2 * (uint32_t)b->mss;
    } else if (f->frto == FRTO_WAIT) {
        f->frto = FRTO_OFF;
        b->cwnd = MIN(b->cwnd, flight_pipe(b, f) + 3 * (uint32_t)b->mss);
    }
}

// reneged: the peer discarded SACKed data (RFC 2018 8). As after a timeout, all data is resent from
// a window of one segment. Otherwise a peer could forge reports to make us send it many times.
static void reneged(struct tcp *t, struct block *b, struct flight *f)
{
    t->stats->c.sack_reneges++;
    tcp_cc_timeout(t, b, f->state == FLIGHT_OPEN);
    flight_renege(f);
    f->state = FLIGHT_LOSS;
    f->frto = FRTO_OFF;
    f->can_undo = f->probe_out = f->probe_due = 0;
    b->recover = b->snd_max;
}

void tcp_flight_judge(struct tcp *t, struct block *b, uint32_t ix)
{
    struct flight *f = flight_of(t, b);
    if (likely((f->sacked | f->lost | f->state | f->probe_out | f->dsack | f->can_undo |
                f->reorder_us) == 0)) {
        f->burst += f->delivered;
        f->delivered = 0;
        f->advanced = f->orig_acked = 0;
        if (b->snd_una == b->snd_max)
            tcp_flight_close(t, b);
        else
            tcp_flight_rearm(t, b, true);
        return;
    }
    const bool advanced = f->advanced;
    f->burst += f->delivered;
    if (f->n != 0 && (flight_run(f, 0)->flags & FLIGHT_SACKED))
        reneged(t, b, f);
    rack_dsack(b, f, f->dsack);
    probe_judge(t, b, f);
    if (!undo_judge(t, b, f))
        frto_judge(b, f);
    if (f->state != FLIGHT_OPEN && !seq_lt(b->snd_una, b->recover))
        end_recovery(b, f);
    if (f->state == FLIGHT_OPEN && f->can_undo && !seq_lt(b->snd_una, f->undo_end))
        f->can_undo = 0;
    const uint32_t bytes = rack_detect(t, b);
    f->newly_lost = bytes != 0;
    judge_loss(t, b, f, bytes);
    f->delivered = 0;
    f->advanced = f->orig_acked = f->newly_lost = f->dsack = 0;
    if (b->snd_una == b->snd_max) {
        tcp_flight_close(t, b);
        return;
    }
    tcp_flight_rearm(t, b, advanced);
    tcp_dirty(t, ix);
}

// ---- timers

bool tcp_flight_timer(struct tcp *t, struct block *b, uint32_t ix)
{
    struct flight *f = flight_of(t, b);
    if (f->timer == FLIGHT_RTO)
        return false;
    b->rto_at_ms = 0;
    if (f->timer == FLIGHT_PROBE) {
        f->timer = FLIGHT_RTO;
        f->probe_due = 1;
    } else {
        t->stats->c.rack_timeouts++;
        judge_loss(t, b, f, rack_detect(t, b));
        tcp_flight_rearm(t, b, false);
    }
    tcp_dirty(t, ix);
    return true;
}

// lose_old: RFC 8985 6.3: at a timeout, the first segment is marked as lost, and so is all data
// that was sent more than a round trip ago.
static void lose_old(struct tcp *t, struct block *b)
{
    struct flight *f = flight_room(t, b);
    const uint32_t now_us = (uint32_t)t->now.us;
    const uint32_t late_us = f->has_rack ? f->rack_rtt_us + rack_window(b, f) : 0;
    for (unsigned i = 0; i < f->n; i++) {
        const struct flight_run *r = flight_run(f, i);
        if (r->flags & (FLIGHT_SACKED | FLIGHT_LOST))
            continue;
        if (time_before(r->sent_us + late_us, now_us) || r->sent_us + late_us == now_us)
            rack_lose(t, b, f, i, UINT32_MAX);
        else if (i == 0)
            rack_lose(t, b, f, i, b->mss);
    }
}

bool tcp_flight_timeout(struct tcp *t, struct block *b, bool fresh)
{
    struct flight *f = b->has_flight ? flight_of(t, b) : NULL;
    if (f == NULL && b->snd_nxt == b->snd_max)
        f = flight_open(t, b, (uint32_t)t->now.us - tcp_rto_ms(t, b) * 1000);
    if (f == NULL)
        return false;
    if (b->snd_wnd == 0) {  // the peer closed the window: window probes cover the data in flight
        tcp_flight_close(t, b);
        return false;
    }
    tcp_recovery_timeout(t, b);
    t->stats->c.recovery_failures += f->state == FLIGHT_RECOVERY;
    t->stats->c.sack_recovery_failures += f->state == FLIGHT_RECOVERY;
    lose_old(t, b);
    f = flight_of(t, b);
    f->frto = fresh ? FRTO_FIRST : FRTO_OFF;
    f->state = FLIGHT_LOSS;
    f->probe_out = f->probe_due = 0;
    f->reorder_us = f->rto_at_ms = 0;
    if (fresh)
        undo_begin(b, f);
    b->recover = b->snd_max;
    b->cwnd = flight_pipe(b, f) + b->mss;
    return true;
}

void tcp_flight_resize(struct tcp *t, struct block *b)
{
    struct flight *f = flight_of(t, b);
    for (unsigned i = 0; i < f->n; i++)
        if (!(flight_run(f, i)->flags & (FLIGHT_SACKED | FLIGHT_LOST)))
            flight_lose(f, i, UINT32_MAX);
    f->state = FLIGHT_LOSS;
    f->frto = FRTO_OFF;
    f->can_undo = f->probe_out = f->probe_due = 0;
    f->reorder_us = f->rto_at_ms = 0;
    b->recover = b->snd_max;
}

// ---- output

static void sent(struct flight *f, uint32_t bytes)
{
    if (f->state == FLIGHT_RECOVERY)
        f->prr_out += bytes;
}

// send_new: sends a segment of new data. beyond: by how many bytes it may exceed cwnd.
static bool send_new(struct tcp *t, struct block *b, uint32_t beyond)
{
    struct flight *f = flight_room(t, b);
    const uint32_t from = b->snd_nxt;
    if (!tcp_send_next(t, b, f->sacked + f->lost + beyond))
        return false;
    flight_append(f, b->snd_nxt, (uint32_t)t->now.us);
    b->rtt_us = (uint32_t)t->now.us;
    sent(f, b->snd_nxt - from);
    return true;
}

// resend: retransmits the first segment of run i, within the peer's window. Returns false if there
// is none.
static bool resend(struct tcp *t, struct block *b, unsigned i)
{
    struct flight *f = flight_of(t, b);
    const uint32_t from = flight_run_start(f, i), edge = b->snd_una + b->snd_wnd;
    uint32_t end = flight_run(f, i)->end;
    if (seq_lt(edge, end))  // the peer has shrunk the window
        end = edge;
    const uint32_t n = seq_lt(from, end) ? tcp_resend(t, b, from, end) : 0;
    if (n == 0)
        return false;
    if (i == 0)
        f->rto_at_ms = 0;  // RFC 6298 5.1: resending the oldest segment restarts the timer
    flight_again(f, i, n, (uint32_t)t->now.us);
    undo_resent(t, f, n);
    sent(f, n);
    t->stats->c.fast_retransmit_segs += f->state == FLIGHT_RECOVERY;
    return true;
}

// next: sends one segment, lost or new. Returns false if none may be sent. *i: no run before run *i
// is lost.
static bool next(struct tcp *t, struct block *b, unsigned *i)
{
    const unsigned had = flight_of(t, b)->n;
    struct flight *f = flight_room(t, b);
    if (f->n != had)
        *i = 0;
    if (f->frto == FRTO_NEW || f->frto == FRTO_WAIT) {
        if (send_new(t, b, 0)) {
            f->frto = FRTO_WAIT;
            return true;
        }
        if (f->frto == FRTO_WAIT)
            return false;
        f->frto = FRTO_OFF;  // RFC 5682 3.1, step 2b: there is no new data, or no window for it
    }
    *i = flight_find_lost(f, *i);
    if (*i < f->n) {
        const uint32_t bytes = flight_run_start(f, *i + 1) - flight_run_start(f, *i);
        if (flight_pipe(b, f) + MIN(bytes, (uint32_t)b->mss) > b->cwnd)
            return false;
        if (resend(t, b, *i))
            return true;
    }
    return send_new(t, b, 0);
}

// resend_last: retransmits the last segment.
static void resend_last(struct tcp *t, struct block *b, struct flight *f)
{
    const bool fin = (b->flags & BF_FIN_QUEUED) && b->snd_max == b->snd_end + 1;
    const uint32_t start = flight_run_start(f, f->n - 1u), bytes = b->snd_max - start - fin;
    const uint32_t full = bytes == 0 ? 0 : (bytes - 1) / b->mss * b->mss;
    const uint32_t from = tcp_last_part(t, b, start + full, b->snd_max - fin);
    if (tcp_resend(t, b, from, b->snd_max) != 0)
        flight_last_again(f, from, (uint32_t)t->now.us);
}

// probe: RFC 8985 7.3, TLP_send_probe(): sends a new segment, regardless of cwnd and Nagle, or else
// retransmits the last one.
static void probe(struct tcp *t, struct block *b)
{
    const uint16_t nodelay = b->flags & BF_NODELAY;
    b->flags |= BF_NODELAY;
    const bool fresh = send_new(t, b, b->snd_max - b->snd_una + b->mss);
    b->flags = (uint16_t)((b->flags & ~BF_NODELAY) | nodelay);
    struct flight *f = flight_room(t, b);
    if (!fresh)
        resend_last(t, b, f);
    f->probe_out = 1;
    f->probe_again = !fresh;
    f->probe_end = b->snd_nxt;
    f->probe_ms = t->now.ms;
    f->rto_at_ms = 0;  // RFC 8985 7.3: restart the retransmission timer
    t->stats->c.loss_probes++;
}

unsigned tcp_flight_output(struct tcp *t, struct block *b)
{
    unsigned n = 0, i = 0;
    struct flight *f = flight_of(t, b);
    f->burst = 0;
    if (f->probe_due && tcp_room(t, b->key.local_ix) != 0) {
        f->probe_due = 0;
        n = may_probe(b, f);
        if (n != 0)
            probe(t, b);
    }
    while (n < TCP_OUT_BLOCK_MAX && tcp_room(t, b->key.local_ix) != 0 && next(t, b, &i))
        n++;
    tcp_flight_rearm(t, b, false);
    return n;
}

// ---- SACK blocks

// sort: sorts the blocks by sequence number. They arrive in the order of changes.
static void sort(struct seq_range *r, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && seq_lt(r[k].start, r[k - 1].start); k--) {
            const struct seq_range swap = r[k];
            r[k] = r[k - 1];
            r[k - 1] = swap;
        }
}

void tcp_flight_sack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s)
{
    struct flight *f = flight_of(t, b);
    rack_echo(t, b, f, (b->flags & BF_TS) != 0, s->ts_ecr);
    if (s->opts & SEG_OPT_SACK) {
        const struct seq_range *in = t->sacks_in[s->pkt_ix];
        struct seq_range r[SEG_SACK_MAX];
        unsigned n = 0, i = 0;
        if (sack_is_dsack(t, s, in)) {
            f->dsack = 1;
            undo_dsack(f, in[i++]);
        }
        for (; i < s->sack_count; i++) {
            if (sack_is_valid(b, in[i]))
                r[n++] = in[i];
            else
                t->stats->c.sack_discarded++;
        }
        sort(r, n);
        for (i = 0; i < n; i++) {
            f = flight_room_for(t, b, r[i]);
            if (f != NULL)
                f->delivered += flight_sack(t, b, f, r[i]);
        }
    }
    tcp_flight_judge(t, b, ix);
}
