// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_cc.h"

#include "tcp/tcp_cubic.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_hystart.h"
#include "tcp/tcp_pace.h"

static enum tcp_congestion kind_of(const struct tcp *t, const struct block *b)
{
    return (enum tcp_congestion)tcp_sockopt_value(t, b, SOCKOPT_CONGESTION);
}

// known: the congestion control state in the extension record, or NULL.
static struct ext_cc *known(const struct tcp *t, const struct block *b)
{
    if (!(b->flags & BF_EXT))
        return NULL;
    struct ext_cc *c = &t->exts[b->ext].cc;
    return c->flags & CC_LIVE ? c : NULL;
}

// ask_at: asks for a wakeup at at_ms. If the wheel is full, the next call tries again.
static void ask_at(struct tcp *t, struct block *b, struct ext_cc *c, uint32_t at_ms)
{
    c->idle_at_ms = arm_movable(t, b, (uint32_t)(b - t->blocks), at_ms) ? at_ms : 0;
}

static void await_idle(struct tcp *t, struct block *b, struct ext_cc *c)
{
    ask_at(t, b, c, deadline(c->used_ms, tcp_rto_ms(t, b)));
}

static void begin(struct tcp *t, struct block *b, struct ext_cc *c)
{
    *c = (struct ext_cc){.flags = CC_LIVE, .used_ms = t->now.ms, .pace_us = (uint32_t)t->now.us};
    if (b->ssthresh >= TCP_WINDOW_MAX) {
        c->flags |= CC_HYSTART;
        hystart_begin(&c->hystart, b->snd_nxt);
    }
    await_idle(t, b, c);
}

// record: the connection's record, allocated if needed. NULL if the free records are kept for
// connections with losses.
static struct ext_cc *record(struct tcp *t, struct block *b)
{
    struct ext *e = tcp_ext_get_spared(t, b, &t->stats->c.cc_records_missed);
    if (e == NULL)
        return NULL;
    if (!(e->cc.flags & CC_LIVE))
        begin(t, b, &e->cc);
    return &e->cc;
}

// leave_hystart: ends the first slow start. CUBIC begins.
static void leave_hystart(struct ext_cc *c)
{
    if (!(c->flags & CC_HYSTART))
        return;
    c->flags &= ~(uint32_t)(CC_HYSTART | CC_CSS);
    c->cubic = (struct cubic){.w_max = 0};
}

static void grow(struct block *b, uint32_t bytes)
{
    b->cwnd = (uint32_t)MIN((uint64_t)b->cwnd + bytes, (uint64_t)TCP_WINDOW_MAX);
}

// grow_slowly: slow start must end exactly at ssthresh. An acknowledgment that fills a gap also
// covers everything received after the gap, and could grow cwnd far beyond it.
static void grow_slowly(struct block *b, uint32_t bytes)
{
    grow(b, MIN(bytes, b->ssthresh - b->cwnd));
}

// grow_newreno: RFC 5681 3.1, counting bytes (RFC 3465). Increments below one byte accumulate: cwnd
// grows by one byte when snd_una passes a multiple of the bytes that are worth one byte. If each
// increment were rounded up, a peer that acknowledges single bytes could inflate the window ("ACK
// division", Savage et al., 1999).
static void grow_newreno(struct block *b, uint32_t acked)
{
    const uint32_t some = MIN(acked, (uint32_t)b->mss), per_byte = b->cwnd / b->mss;
    uint32_t bytes = (uint32_t)((uint64_t)b->mss * some / b->cwnd);
    if (bytes == 0)
        bytes = b->snd_una / per_byte != (b->snd_una - some) / per_byte;
    grow(b, bytes);
}

// counted: the acknowledged bytes that count for growth. RFC 3465 2.2, L = 2: an acknowledgment of
// many segments would otherwise release a large burst. Pacing prevents the burst, so all bytes
// count (RFC 9406 4.2). After a timeout L = 1 (RFC 3465 2.3), because the data may have arrived
// long before.
static uint32_t counted(const struct tcp *t, const struct block *b, uint32_t acked)
{
    if (tcp_before_recover(b))
        return MIN(acked, (uint32_t)b->mss);
    return tcp_is_paced(t, b) ? acked : MIN(acked, 2u * b->mss);
}

static void slow_start(const struct tcp *t, struct block *b, struct ext_cc *c, uint32_t acked,
                       uint32_t rtt_us)
{
    bool css = (c->flags & CC_CSS) != 0;
    enum hystart_says says = HYSTART_GROW;
    if (c->flags & CC_HYSTART) {
        says = hystart_acked(&c->hystart, &css, b->snd_una, b->snd_nxt, rtt_us);
        c->flags = (c->flags & ~(uint32_t)CC_CSS) | (css ? CC_CSS : 0);
    }
    const uint32_t bytes = counted(t, b, acked);
    grow_slowly(b, says == HYSTART_GROW ? bytes : bytes / 4);
    if (says == HYSTART_LEAVE) {
        b->ssthresh = c->prior_cwnd = b->cwnd;
        leave_hystart(c);
    }
}

// note_use: the connection uses its window. If the last use was more than two round trips ago, the
// time between counts as idle, except for one round trip.
static void note_use(struct tcp *t, struct block *b, struct ext_cc *c)
{
    const uint32_t rest_ms = t->now.ms - c->used_ms, rtt_ms = (b->srtt_us >> 3) / 1000 + 1;
    c->used_ms = t->now.ms;
    if (rest_ms > 2 * rtt_ms && !(c->flags & CC_HYSTART))
        cubic_rest(&c->cubic, rest_ms - rtt_ms);
    if (unlikely(c->idle_at_ms == 0))
        await_idle(t, b, c);
}

// avoid_congestion: c is NULL if there is no record.
static void avoid_congestion(const struct tcp *t, struct block *b, struct ext_cc *c, uint32_t acked)
{
    if (c == NULL || kind_of(t, b) == TCP_NEWRENO) {
        grow_newreno(b, acked);
        return;
    }
    leave_hystart(c);
    b->cwnd = cubic_acked(&c->cubic, b->cwnd, b->mss, acked, t->now.ms, (b->srtt_us >> 3) / 1000,
                          c->prior_cwnd);
}

void tcp_cc_acked(struct tcp *t, struct block *b, uint32_t acked, uint32_t rtt_us)
{
    const bool slow = b->cwnd < b->ssthresh;
    struct ext_cc *c = known(t, b);
    if (c == NULL && !(slow && b->cwnd < (uint32_t)TCP_CC_SMALL * b->mss))
        c = record(t, b);
    if (c != NULL)
        note_use(t, b, c);
    if (slow && c != NULL)
        slow_start(t, b, c, acked, rtt_us);
    else if (slow)
        grow_slowly(b, counted(t, b, acked));
    else
        avoid_congestion(t, b, c, acked);
}

// note_event: a congestion event. Stores the old values for an undo, and returns whether CUBIC
// decides. *window: the value to reduce. It becomes cwnd instead of the data in flight if cwnd was
// in use within the last one or two round trips (RFC 9438 4.6), because a small or paced window is
// rarely full to the last byte.
static bool note_event(struct tcp *t, struct block *b, uint32_t *window)
{
    const bool known_before = known(t, b) != NULL;
    struct ext_cc *c = record(t, b);
    if (c == NULL)
        return false;
    if (known_before && t->now.ms - c->used_ms <= 2 * ((b->srtt_us >> 3) / 1000 + 1))
        *window = MAX(*window, b->cwnd);
    c->used_ms = t->now.ms;
    c->prior_cwnd = b->cwnd;
    c->prior_ssthresh = b->ssthresh;
    c->flags |= CC_UNDO;
    leave_hystart(c);
    cubic_event(&c->cubic, b->cwnd);
    return kind_of(t, b) == TCP_CUBIC;
}

uint32_t tcp_cc_ssthresh(struct tcp *t, struct block *b, uint32_t flight)
{
    const bool already = tcp_ecn_reduced_already(b);
    if (b->agreed & BA_ECN)
        b->agreed = (uint8_t)((b->agreed | BA_CWR) & ~BA_REDUCED);
    if (already)  // tcp_cc_ecn() has reduced it for this flight, and nothing can be undone
        return b->ssthresh;
    uint32_t window = flight;
    const uint32_t left = note_event(t, b, &window) ? cubic_beta(window) : flight / 2;
    b->ssthresh = MAX(left, 2u * b->mss);
    return b->ssthresh;
}

void tcp_cc_ecn(struct tcp *t, struct block *b)
{
    uint32_t window = b->cwnd;
    const bool cubic = note_event(t, b, &window);
    struct ext_cc *c = known(t, b);
    if (c != NULL)
        c->flags &= ~(uint32_t)CC_UNDO;
    b->ssthresh = MAX(cubic ? cubic_beta_ecn(b->cwnd) : b->cwnd / 2, 2u * b->mss);
    b->cwnd = MIN(b->cwnd, b->ssthresh);
}

void tcp_cc_timeout(struct tcp *t, struct block *b, bool fresh)
{
    if (fresh)
        tcp_cc_ssthresh(t, b, b->snd_max - b->snd_una);
    struct ext_cc *c = known(t, b);
    if (c != NULL) {
        leave_hystart(c);
        cubic_timeout(&c->cubic);
    }
    b->cwnd = b->mss;
}

bool tcp_cc_undo(struct tcp *t, struct block *b)
{
    struct ext_cc *c = known(t, b);
    if (c == NULL || !(c->flags & CC_UNDO))
        return false;
    b->cwnd = MAX(b->cwnd, c->prior_cwnd);
    b->ssthresh = MAX(b->ssthresh, c->prior_ssthresh);
    c->flags &= ~(uint32_t)CC_UNDO;
    cubic_undo(&c->cubic);
    return true;
}

// RFC 2861 3.1, as in Linux: after each RTO without sending, the window is halved, but not below
// the initial window (RFC 5681 4.1). What is known about the path becomes outdated, and no
// acknowledgments clock new segments. ssthresh becomes three quarters of the old window. The
// remaining window is paced.
//
// The idle time counts from the segment that was timed last. With timestamps no segment is timed,
// and it counts from the last burst, because single segments do not show that the path carries
// bursts (RFC 7661 3). The 32-bit clock of microseconds wraps after 71 minutes, so a longer idle
// time may be taken for a shorter one.
void tcp_cc_restart(struct tcp *t, struct block *b)
{
    const uint32_t initial = t->cfg.initial_window * b->mss, rto_ms = tcp_rto_ms(t, b);
    const uint32_t idle_ms = ((uint32_t)t->now.us - b->rtt_us) / 1000;
    if (b->cwnd <= initial || idle_ms <= rto_ms)
        return;
    b->ssthresh = MAX(b->ssthresh, (uint32_t)((uint64_t)b->cwnd * 3 / 4));
    b->cwnd = MAX(b->cwnd >> MIN(idle_ms / rto_ms, 31u), initial);
    struct ext_cc *c = known(t, b);
    if (c != NULL && !(c->flags & CC_HYSTART))
        c->cubic.epoch_ms = 0;
    if (b->cwnd > initial)
        record(t, b);  // pacing needs the record
}

// is_wanted: whether the record may still be needed.
static bool is_wanted(const struct tcp *t, const struct block *b, const struct ext_cc *c)
{
    if (time_before(t->now.ms, deadline(c->used_ms, tcp_rto_ms(t, b))))
        return true;
    if (b->backoff != 0 && !(b->flags & BF_PROBE))  // a closed window alone may last forever
        return true;
    if (tcp_recovering(t, b) || (c->flags & CC_PACED))  // paced segments wait for its tick
        return true;
    return (c->flags & CC_UNDO) && b->snd_una != b->snd_max && seq_lt(b->snd_una, b->recover);
}

void tcp_cc_timer(struct tcp *t, struct block *b, uint32_t ix)
{
    struct ext_cc *c = known(t, b);
    if (c == NULL)
        return;
    if (tcp_pace_timer(t, c))
        tcp_dirty(t, ix);
    else if (c->flags & CC_PACED)
        arm_movable(t, b, ix, t->now.ms + (uint16_t)(c->pace_at_ms - (uint16_t)t->now.ms));
    if (c->idle_at_ms != 0 && time_before(t->now.ms, c->idle_at_ms)) {
        arm_movable(t, b, ix, c->idle_at_ms);
        return;
    }
    if (!is_wanted(t, b, c)) {
        c->flags = 0;
        tcp_ext_release(t, b);
    } else if (time_before(t->now.ms, deadline(c->used_ms, tcp_rto_ms(t, b)))) {
        await_idle(t, b, c);
    } else {
        ask_at(t, b, c, deadline(t->now.ms, tcp_rto_ms(t, b)));
    }
}
