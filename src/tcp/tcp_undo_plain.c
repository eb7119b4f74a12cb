// SPDX-License-Identifier: BSD-3-Clause
// Undo without a flight log: the connection does not use SACK, or no log was free. Timestamps
// decide (RFC 3522, RFC 4015). Without them, after a timeout, the data that arrives decides (RFC
// 5682 2).
#include "tcp/tcp_cc.h"

static struct ext_undo *undo_of(const struct tcp *t, const struct block *b)
{
    if (!(b->flags & BF_EXT) || b->has_flight)
        return NULL;
    struct ext_undo *u = &t->exts[b->ext].undo;
    return u->step != UNDO_NONE ? u : NULL;
}

void tcp_undo_begin(struct tcp *t, struct block *b, bool timeout)
{
    if (!(b->flags & BF_EXT) || b->has_flight)
        return;
    // With SACK, RFC 5682 2.1 does not apply: the second acknowledgment may carry SACK blocks,
    // which that algorithm does not read.
    const bool tells = (b->flags & BF_TS) || (timeout && !(b->agreed & BA_SACK));
    t->exts[b->ext].undo = (struct ext_undo){
        .again_ms = t->now.ms, .step = tells ? (timeout ? UNDO_FIRST : UNDO_FAST) : UNDO_NONE};
}

// from: makes seq the next sequence number to send. Data before it then counts as in flight.
static void from(struct block *b, uint32_t seq)
{
    b->snd_nxt = seq;
    b->snd_cur = b->snd_head;
}

static bool undo(struct tcp *t, struct block *b, struct ext_undo *u)
{
    struct ext *e = &t->exts[b->ext];
    const bool timeout = u->step != UNDO_FAST;
    u->step = UNDO_NONE;
    if (!tcp_cc_undo(t, b))
        return false;
    if (timeout) {
        t->stats->c.loss_undos++;
        t->stats->c.spurious_rtos++;
    } else if (seq_lt(b->snd_una, b->recover)) {
        t->stats->c.partial_undos++;
    } else {
        t->stats->c.full_undos++;
    }
    e->recovery = RECOVERY_NONE;
    b->recover = b->snd_una - 1;  // no loss was detected, so duplicates may report one again
    from(b, b->snd_max);
    b->dupacks = 0;
    b->backoff = 0;
    b->retries = 0;
    return true;
}

// has_news: RFC 5682 2.1, step 2b: whether there is new data, the window has room for it, and it
// need not wait for the data in flight. wnd: the window of this acknowledgment; the block still
// has the previous one.
static bool has_news(const struct tcp *t, const struct block *b, uint32_t wnd)
{
    const bool waits = !(b->flags & (BF_NODELAY | BF_FIN_QUEUED)) || tcp_is_corked(t, b);
    if (waits && b->snd_end - b->snd_max < b->mss)
        return false;
    return seq_lt(b->snd_una, b->recover) && seq_lt(b->snd_max, b->snd_end) &&
           wnd >= b->snd_max - b->snd_una + b->mss;
}

bool tcp_undo_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr, uint32_t wnd)
{
    struct ext_undo *u = undo_of(t, b);
    if (u == NULL)
        return false;
    if (has_ts && ts_ecr != 0) {  // RFC 3522 3.2, step 5
        const uint32_t echo_ms = t->now.ms - (tcp_ts_now(t, &b->key) - ts_ecr);
        if (time_before(echo_ms, u->again_ms))
            return undo(t, b, u);
        u->step = UNDO_NONE;
        return false;
    }
    if (u->step == UNDO_NEW)
        return undo(t, b, u);
    if (u->step == UNDO_FIRST && has_news(t, b, wnd)) {
        u->step = UNDO_NEW;
        from(b, b->snd_max);
        b->cwnd = tcp_flight(b) + 2 * (uint32_t)b->mss;
    } else {
        u->step = UNDO_NONE;
    }
    return false;
}

bool tcp_undo_duplicate(struct tcp *t, struct block *b)
{
    struct ext_undo *u = undo_of(t, b);
    if (u == NULL || u->step != UNDO_NEW)
        return false;
    u->step = UNDO_NONE;
    from(b, b->snd_una);
    b->cwnd = MIN(b->cwnd, 3 * (uint32_t)b->mss);  // step 3a
    return true;
}
