// SPDX-License-Identifier: BSD-3-Clause
// The sender's side of SACK (RFC 2018 5, RFC 2883 5), and loss recovery with SACK (RFC 6675)
// without a flight log.
#include "tcp/tcp_sack.h"

#include "tcp/tcp_cc.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_flight.h"

// sack_is_dsack: the first block is a DSACK (RFC 2883 4.1, 4.2) if it is below the acknowledgment
// or within the second block.
bool sack_is_dsack(struct tcp *t, const struct seg_in *s, const struct seq_range *r)
{
    const uint32_t len = r[0].end - r[0].start, below = s->ack - r[0].start;
    if (len == 0)
        return false;
    if (len <= below && below <= TCP_WINDOW_MAX) {
        t->stats->c.dsack_received++;
        return true;
    }
    if (s->sack_count < 2 || !seq_lt(r[0].start, r[0].end) || seq_lt(r[0].start, r[1].start) ||
        seq_lt(r[1].end, r[0].end) || !seq_lt(s->ack, r[1].start))
        return false;
    t->stats->c.dsack_received_ooo++;
    return true;
}

// sack_is_valid: whether the block covers data that was sent and is not acknowledged. A block that
// starts at snd_una is not valid, because a peer with that data would acknowledge it.
bool sack_is_valid(const struct block *b, struct seq_range r)
{
    const uint32_t from = r.start - b->snd_una, to = r.end - b->snd_una;
    return from != 0 && from < to && to <= b->snd_max - b->snd_una;
}

// is_reordered: data that arrives below SACKed data, and was never resent, was reordered, not lost.
static bool is_reordered(const struct block *b, const struct ext *e, struct seq_range r)
{
    if (e->n_sacked == 0 || b->snd_nxt != b->snd_max)
        return false;
    return seq_leq(r.end, e->sacked[e->n_sacked - 1].start) &&
           (e->recovery == RECOVERY_NONE || seq_leq(e->high_rxt, r.start));
}

// process_sack_blocks: adds the segment's blocks to the scoreboard. Returns how many bytes were not
// SACKed before.
static uint32_t process_sack_blocks(struct tcp *t, struct block *b, const struct seg_in *s)
{
    struct core_counters *c = &t->stats->c;
    const struct seq_range *r = t->sacks_in[s->pkt_ix];
    uint32_t fresh = 0;
    bool reordered = false;
    for (unsigned i = sack_is_dsack(t, s, r); i < s->sack_count; i++) {
        if (!sack_is_valid(b, r[i])) {
            c->sack_discarded++;
            continue;
        }
        struct ext *e = tcp_ext_get(t, b);
        if (e == NULL)
            return 1;
        bool forgot;
        const bool late = is_reordered(b, e, r[i]);
        const uint32_t added = sack_add(e, r[i], &forgot);
        fresh += added;
        reordered |= late && added != 0;
        c->sack_forgotten += forgot;
    }
    c->sack_reorders += reordered;
    return fresh;
}

static void clear_scoreboard(struct tcp *t, struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    e->recovery = RECOVERY_NONE;
    e->n_sacked = 0;
    tcp_ext_release(t, b);
}

void tcp_recovery_timeout(struct tcp *t, struct block *b)
{
    if (!(b->flags & BF_EXT))
        return;
    const enum recovery was = t->exts[b->ext].recovery;
    t->stats->c.recovery_failures += was != RECOVERY_NONE;
    t->stats->c.sack_recovery_failures += was == RECOVERY_SACK;
    clear_scoreboard(t, b);
}

// reneged: the peer discarded SACKed data. As after a timeout, all data is resent from a window of
// one segment. Otherwise a peer could forge reports to make us send it many times.
static void reneged(struct tcp *t, struct block *b)
{
    t->stats->c.sack_reneges++;
    tcp_cc_timeout(t, b, t->exts[b->ext].recovery == RECOVERY_NONE);
    b->recover = b->snd_max;
    b->snd_nxt = b->snd_una;
    b->snd_cur = b->snd_head;
    b->dupacks = 0;
    b->flags &= (uint16_t)~BF_TIMED;
    clear_scoreboard(t, b);
}

// begin_recovery: RFC 6675 5 (4.1) to (4.3). follows: the current acknowledgment has ended another
// recovery. If that recovery has retransmitted the first segment, it is not retransmitted again.
static void begin_recovery(struct tcp *t, struct block *b, struct ext *e, bool follows)
{
    const bool again = follows && seq_lt(b->snd_una, e->high_rxt);
    e->recovery = RECOVERY_SACK;
    e->resend_head = !again;
    e->guessed = 0;
    if (!again)
        e->high_rxt = b->snd_una;
    e->rescue_rxt = b->snd_una + MIN(e->sacked[0].start - b->snd_una, (uint32_t)b->mss);
    // RFC 5681 3.2, step 2: without the segments that limited transmit sent beyond the window.
    b->cwnd = tcp_cc_ssthresh(t, b, MIN(b->snd_max - b->snd_una, b->cwnd));
    b->recover = b->snd_max;
    if (!again)
        tcp_undo_begin(t, b, false);
    t->stats->c.fast_retransmits++;
    t->stats->c.sack_recoveries++;
}

// before_recover: whether data is unacknowledged that was in flight when the last loss was
// detected. No new recovery begins before it is acknowledged (RFC 6675 5.1). It differs from
// tcp_before_recover() in one sequence number, because duplicates of resent data bring no new SACK
// blocks.
static bool before_recover(const struct block *b)
{
    return b->recover - b->snd_una - 1 < b->snd_max - b->snd_una && !(b->agreed & BA_REDUCED);
}

// is_time: RFC 6675 5, (1) and (2). Data that is resent after a timeout, or waits for a window, is
// below `recover`.
static bool is_time(const struct block *b, const struct ext *e)
{
    struct seq_range gap;
    bool lost;
    if (e->n_sacked == 0 || before_recover(b))
        return false;
    return b->dupacks >= TCP_DUPACKS ||
           (sack_gap(e, b->snd_una, b->snd_una, b->mss, &gap, &lost) && lost);
}

// ends_at_gap: whether the current acknowledgment, which ends at data that was not resent, shows
// that this data was lost, as in RFC 6582 3.2, step 3. In a window of a few segments there may be
// no data above it that could be SACKed. Without SACK blocks this is assumed only once in a
// recovery, and only near its end: if the data was merely late, each segment of the window causes
// another acknowledgment.
static bool ends_at_gap(const struct block *b, struct ext *e)
{
    if (e->n_sacked != 0 || b->recover - b->snd_una <= TCP_DUPACKS * (uint32_t)b->mss)
        return true;
    const bool first = !e->guessed;
    e->guessed = 1;
    return first;
}

// go_on: handles an acknowledgment during recovery.
static void go_on(struct block *b, struct ext *e, bool acked)
{
    if (!seq_lt(b->snd_una, b->recover)) {
        e->recovery = RECOVERY_NONE;
        return;
    }
    if (!acked || seq_lt(b->snd_una, e->high_rxt) || !ends_at_gap(b, e))
        return;
    e->high_rxt = b->snd_una;
    e->resend_head = 1;
}

void tcp_sack_ack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s, bool acked)
{
    if (b->has_flight) {
        tcp_flight_sack(t, b, ix, s);
        return;
    }
    if ((b->flags & BF_EXT) && sack_pop(&t->exts[b->ext], b->snd_una)) {
        reneged(t, b);
        tcp_dirty(t, ix);
    }
    const uint32_t fresh = s->opts & SEG_OPT_SACK ? process_sack_blocks(t, b, s) : 0;
    if (!(b->flags & BF_EXT)) {
        if (fresh != 0)
            tcp_duplicate_ack(t, b, ix);  // no free record for a scoreboard
        return;
    }
    struct ext *e = &t->exts[b->ext];
    const bool recovering = e->recovery == RECOVERY_SACK;
    if (recovering)
        go_on(b, e, acked);
    if (e->recovery == RECOVERY_NONE) {
        if (fresh != 0 && b->dupacks < DUPACKS_MAX)
            b->dupacks++;  // RFC 6675 2: an ACK with new SACK information is a duplicate ACK
        if (is_time(b, e))
            begin_recovery(t, b, e, recovering);
    }
    if (e->recovery != RECOVERY_NONE || fresh != 0)
        tcp_dirty(t, ix);
    tcp_ext_release(t, b);
}

// resend: retransmits one segment from the front of r, within the peer's window. Returns the length
// in sequence numbers, 0 if nothing is left.
static uint32_t resend(struct tcp *t, struct block *b, struct seq_range r)
{
    const uint32_t edge = b->snd_una + b->snd_wnd;
    if (seq_lt(edge, r.end))  // the peer has shrunk the window
        r.end = edge;
    return seq_lt(r.start, r.end) ? tcp_resend(t, b, r.start, r.end) : 0;
}

// resend_head: RFC 6675 5 (4.3): regardless of pipe.
static bool resend_head(struct tcp *t, struct block *b, struct ext *e)
{
    const struct seq_range all = {b->snd_una, e->n_sacked != 0 ? e->sacked[0].start : b->snd_max};
    const uint32_t n = resend(t, b, all);
    if (n == 0)
        return false;
    e->resend_head = 0;
    e->high_rxt = b->snd_una + n;
    b->rto_at_ms = tcp_rto_at(t, b);
    t->stats->c.fast_retransmit_segs++;
    return true;
}

static bool resend_gap(struct tcp *t, struct block *b, struct ext *e, struct seq_range gap)
{
    const uint32_t n = resend(t, b, gap);
    if (n == 0)
        return false;
    e->high_rxt = gap.start + n;
    t->stats->c.fast_retransmit_segs++;
    return true;
}

// rescue: NextSeg() (4): the end of the outstanding data, once in a recovery.
static bool rescue(struct tcp *t, struct block *b, struct ext *e)
{
    struct seq_range gap = sack_last_gap(e, b->snd_una, b->snd_max);
    // Not if it was just retransmitted.
    if (!seq_lt(e->rescue_rxt, b->snd_una) || seq_leq(gap.end, e->high_rxt))
        return false;
    if (gap.end - gap.start > b->mss)
        gap.start = gap.end - b->mss;
    if (resend(t, b, gap) == 0)
        return false;
    e->rescue_rxt = b->recover;
    t->stats->c.fast_retransmit_segs++;
    return true;
}

// recover_next: sends one segment by RFC 6675 5 (C) and NextSeg(). Returns false if none may be
// sent.
static bool recover_next(struct tcp *t, struct block *b, struct ext *e)
{
    if (e->resend_head)
        return resend_head(t, b, e);
    const uint32_t pipe = sack_pipe(e, b->snd_una, b->snd_max, b->mss);
    if (b->cwnd < pipe + b->mss)
        return false;
    struct seq_range gap;
    bool lost;
    const bool known = sack_gap(e, b->snd_una, e->high_rxt, b->mss, &gap, &lost);
    if (known && lost)
        return resend_gap(t, b, e, gap);  // (1)
    if (tcp_send_next(t, b, b->snd_nxt - b->snd_una - pipe))
        return true;  // (2)
    if (known)
        return resend_gap(t, b, e, gap);  // (3)
    return rescue(t, b, e);
}

// gap_from: the first gap at or after seq. The range above all SACKed ranges counts as a gap.
static struct seq_range gap_from(const struct ext *e, uint32_t seq, uint32_t max)
{
    struct seq_range gap = {seq, max};
    for (unsigned i = 0; i < e->n_sacked; i++) {
        if (seq_lt(gap.start, e->sacked[i].start)) {
            gap.end = e->sacked[i].start;
            break;
        }
        if (seq_lt(gap.start, e->sacked[i].end))
            gap.start = e->sacked[i].end;
    }
    return gap;
}

// again_next: everything is resent, after a timeout or because of a smaller MSS, except data that
// the peer has SACKed meanwhile.
static bool again_next(struct tcp *t, struct block *b, const struct ext *e)
{
    const struct seq_range gap = gap_from(e, b->snd_nxt, b->snd_max);
    b->snd_nxt = gap.start;
    if (gap.start == b->snd_max)
        return tcp_send_next(t, b, sack_below(e, gap.start));
    const uint32_t out = gap.start - b->snd_una - sack_below(e, gap.start);
    const uint32_t n = MIN(gap.end - gap.start, (uint32_t)b->mss);
    if (out != 0 && out + n > b->cwnd)
        return false;
    const uint32_t sent = resend(t, b, gap);
    b->snd_nxt += sent;
    return sent != 0;
}

unsigned tcp_sack_output(struct tcp *t, struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    for (unsigned n = 0; n < TCP_OUT_BLOCK_MAX; n++) {
        bool sent;
        if (tcp_room(t, b->key.local_ix) == 0)
            return n;
        if (b->snd_nxt != b->snd_max)
            sent = again_next(t, b, e);
        else if (e->recovery == RECOVERY_SACK)
            sent = recover_next(t, b, e);
        else  // limited transmit (RFC 3042) and new data: SACKed data is not in the network
            sent = tcp_send_next(t, b, sack_below(e, b->snd_nxt));
        if (!sent)
            return n;
    }
    return TCP_OUT_BLOCK_MAX;
}
