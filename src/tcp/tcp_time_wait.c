// SPDX-License-Identifier: BSD-3-Clause
// TIME-WAIT records (RFC 9293 3.6). There is one record size and one ring for each family. A ring
// is ordered by the time at which the records expire.
#include <string.h>

#include "tcp/tcp_internal.h"

enum { ANSWER_EVERY_MS = 500 };  // Linux: tcp_invalid_ratelimit

void tcp_time_wait_init(struct tcp *t, void *mem4, uint32_t n4, void *mem6, uint32_t n6)
{
    t->tw4 = (struct time_wait_ring){mem4, sizeof(struct time_wait), n4, 0, 0};
    t->tw6 = (struct time_wait_ring){mem6, sizeof(struct time_wait6), n6, 0, 0};
}

static struct time_wait_ring *ring_of(struct tcp *t, uint32_t handle)
{
    return flow_index_kind(handle) == FLOW_TIME_WAIT ? &t->tw4 : &t->tw6;
}

static uint32_t handle_of(const struct time_wait *w, uint32_t ix)
{
    return flow_index(w->is_v6 ? FLOW_TIME_WAIT6 : FLOW_TIME_WAIT, ix);
}

static void end_record(struct tcp *t, struct time_wait *w)
{
    record_live(&w->live, false);
    t->stats->c.time_wait_now--;
}

// pop: removes the oldest place of the ring, whether its record is live or not.
static void pop(struct tcp *t, struct time_wait_ring *g)
{
    struct time_wait *w = time_wait_at(g, g->head);
    if (w->live) {
        const struct flow_key key = time_wait_key(w);
        CHECK(flow_remove(t->table, flow_hash(t->table, &key), handle_of(w, g->head)));
        end_record(t, w);
    }
    g->head = g->head + 1 == g->capacity ? 0 : g->head + 1;
    g->used--;
}

// push: returns a new place at the end. If the ring is full, drops the oldest record and counts it.
static uint32_t push(struct tcp *t, struct time_wait_ring *g)
{
    if (g->used == g->capacity) {
        t->stats->c.time_wait_evicted += time_wait_at(g, g->head)->live;
        pop(t, g);
    }
    const uint64_t at = (uint64_t)g->head + g->used++;
    t->stats->c.time_wait_now++;
    return (uint32_t)(at >= g->capacity ? at - g->capacity : at);
}

void tcp_time_wait_enter(struct tcp *t, const struct flow_key *key, struct block *b,
                         uint32_t handle)
{
    const bool v6 = !ip_is_v4(&key->remote);
    struct time_wait_ring *g = v6 ? &t->tw6 : &t->tw4;
    if (g->capacity == 0) {
        t->stats->c.time_wait_evicted++;
        CHECK(flow_remove(t->table, flow_hash(t->table, key), handle));
        return;
    }
    const uint32_t ix = push(t, g);
    struct time_wait *w = time_wait_at(g, ix);
    *w = (struct time_wait){
        .remote_v4 = v6 ? 0 : ip_to_v4(&key->remote),
        .remote_port = key->remote_port,
        .local_port = key->local_port,
        .local_ix = key->local_ix,
        .snd_nxt = b->snd_nxt,
        .rcv_nxt = b->rcv_nxt,
        .ts_recent = b->ts_recent,
        .has_ts = (b->flags & BF_TS) != 0,
        .is_v6 = v6,
        .wnd = tcp_announce_window(t, b),
        .expires_ms = deadline(t->now.ms, t->cfg.time_wait_ms),
        .answered_ms = (uint16_t)(t->now.ms - ANSWER_EVERY_MS),
    };
    if (v6)
        ((struct time_wait6 *)w)->remote = key->remote;
    record_live(&w->live, true);
    CHECK(flow_replace(t->table, flow_hash(t->table, key), handle, handle_of(w, ix)));
}

// restart: restarts the 2 MSL (RFC 9293 3.10.7.4, eighth) without another record, so that a peer
// that repeats its FIN uses only one.
static void restart(const struct tcp *t, struct time_wait *w)
{
    w->expires_ms = deadline(t->now.ms, t->cfg.time_wait_ms);
    w->again = 1;
}

void tcp_time_wait_move(const struct time_wait_ring *g, uint32_t from, uint32_t to)
{
    struct time_wait6 copy;
    struct time_wait *old = time_wait_at(g, from), *young = time_wait_at(g, to);
    memcpy(&copy, old, g->record_bytes);
    copy.w.live = 0;
    memcpy(young, &copy, g->record_bytes);
    record_live(&young->live, true);
    record_live(&old->live, false);
}

// to_young_end: moves the oldest record, whose time was restarted, to the end of the ring. The
// other records there expire within 2 MSL, so this one expires at most that much late.
static void to_young_end(struct tcp *t, struct time_wait_ring *g)
{
    const uint32_t from = g->head;
    g->head = g->head + 1 == g->capacity ? 0 : g->head + 1;
    const uint64_t at = (uint64_t)g->head + g->used - 1;
    const uint32_t to = (uint32_t)(at >= g->capacity ? at - g->capacity : at);
    struct time_wait *young = time_wait_at(g, to);
    if (to != from)  // else the ring is full
        tcp_time_wait_move(g, from, to);
    young->again = 0;
    if (to == from)
        return;
    const struct flow_key key = time_wait_key(young);
    CHECK(flow_replace(t->table, flow_hash(t->table, &key), handle_of(young, from),
                       handle_of(young, to)));
}

static bool send_ack(struct tcp *t, const struct time_wait *w)
{
    struct seg_out *o = tcp_out_slot(t, w->local_ix);
    if (o == NULL)
        return false;
    *o = (struct seg_out){.key = time_wait_key(w), .seq = w->snd_nxt, .ack = w->rcv_nxt};
    o->wnd = w->wnd;
    o->flags = SEG_ACK;
    if (w->has_ts) {
        o->opts = SEG_OPT_TS;
        o->ts_val = tcp_ts_now(t, &o->key);
        o->ts_ecr = w->ts_recent;
    }
    t->stats->c.acks_sent++;
    return true;
}

// is_younger: RFC 9293 3.6.1 and RFC 6191 2: whether the SYN is certainly newer, so that it opens a
// new connection. The timestamp decides, or else the sequence number. A SYN with a timestamp is
// newer than a connection without timestamps, because old segments of that connection cannot be
// taken for new ones, which have timestamps.
static bool is_younger(const struct tcp *t, const struct time_wait *w, const struct seg_in *s)
{
    const bool has_ts = t->cfg.timestamps && (s->opts & SEG_OPT_TS);
    if (w->has_ts && (s->opts & SEG_OPT_TS) && s->ts_val != w->ts_recent)
        return time_before(w->ts_recent, s->ts_val);
    return (!w->has_ts && has_ts) || seq_lt(w->rcv_nxt, s->seq);
}

// is_the_fin: an exact repetition of the peer's FIN: our acknowledgment was lost. No other segment
// restarts the 2 MSL. Otherwise an attacker who guesses could prolong it forever.
static bool is_the_fin(const struct time_wait *w, const struct seg_in *s)
{
    if (!(s->flags & SEG_FIN) || s->seq + s->data_len + 1 != w->rcv_nxt || s->ack != w->snd_nxt)
        return false;
    return !w->has_ts || ((s->opts & SEG_OPT_TS) && !time_before(s->ts_val, w->ts_recent));
}

// limit_answer: whether the segment gets no answer now, which is counted. A segment with data or a
// FIN always gets one. Other segments get one in ANSWER_EVERY_MS, because two ends in TIME-WAIT
// would answer each other forever (RFC 5961 7, RFC 9293 3.10.7.4; Linux's tcp_oow_rate_limited()).
// If it returns false, it has stored the time of the answer.
static bool limit_answer(struct tcp *t, struct time_wait *w, const struct seg_in *s)
{
    if (!(s->flags & SEG_SYN) && (s->data_len != 0 || (s->flags & SEG_FIN)))
        return false;
    if ((uint16_t)(t->now.ms - w->answered_ms) < ANSWER_EVERY_MS) {
        t->stats->c.ack_skipped_time_wait++;
        return true;
    }
    w->answered_ms = (uint16_t)t->now.ms;
    return false;
}

// is_ended_by: as Linux's tcp_timewait_state_process(): a RST is valid only at the expected
// sequence number, and not with an older timestamp.
static bool is_ended_by(const struct tcp *t, const struct time_wait *w, const struct seg_in *s)
{
    if (t->cfg.rfc1337 || s->seq != w->rcv_nxt)
        return false;
    return !w->has_ts || !(s->opts & SEG_OPT_TS) || !time_before(s->ts_val, w->ts_recent);
}

static void reset_received(struct tcp *t, uint32_t handle, struct time_wait *w)
{
    const struct flow_key key = time_wait_key(w);
    CHECK(flow_remove(t->table, flow_hash(t->table, &key), handle));
    end_record(t, w);
    t->stats->c.time_wait_reset++;
}

void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v)
{
    struct time_wait *w = time_wait_at(ring_of(t, handle), flow_index_ix(handle));
    v->drop = DROP_time_wait;
    if (s->flags & SEG_RST) {
        if (is_ended_by(t, w, s)) {
            reset_received(t, handle, w);
            v->drop = DROP_NONE;
        }
        return;
    }
    if ((s->flags & (SEG_SYN | SEG_FIN | SEG_ACK)) == SEG_SYN) {
        const int listener = tcp_listener(t, &s->key);
        if (listener >= 0 && is_younger(t, w, s)) {
            if (tcp_listen_again(t, listener, s, w->snd_nxt, handle, v)) {
                end_record(t, w);
                t->stats->c.time_wait_recycled++;
            }
            return;
        }
    }
    // In order, and without data, SYN or FIN: no answer.
    if (s->data_len == 0 && !(s->flags & (SEG_FIN | SEG_SYN)) && s->seq == w->rcv_nxt)
        return;
    if (limit_answer(t, w, s))
        return;
    const bool again = is_the_fin(w, s);
    if (again)
        w->ts_recent = s->ts_val;
    if (send_ack(t, w))
        v->drop = DROP_NONE;
    if (again)
        restart(t, w);
}

bool tcp_time_wait_yields(struct tcp *t, uint32_t handle, uint32_t *isn)
{
    const uint32_t kind = flow_index_kind(handle);
    if (kind != FLOW_TIME_WAIT && kind != FLOW_TIME_WAIT6)
        return false;
    const struct time_wait *w = time_wait_at(ring_of(t, handle), flow_index_ix(handle));
    const uint32_t above = w->snd_nxt + UINT16_MAX + 2;
    *isn = seq_lt(*isn, above) ? above : *isn;
    return w->has_ts && t->cfg.timestamps;
}

void tcp_time_wait_yield(struct tcp *t, uint32_t handle)
{
    end_record(t, time_wait_at(ring_of(t, handle), flow_index_ix(handle)));
    t->stats->c.time_wait_recycled++;
}

// is_done: whether w, the oldest record, can be removed from its place.
static bool is_done(const struct tcp *t, const struct time_wait *w)
{
    return !w->live || w->again || deadline_reached(w->expires_ms, t->now.ms);
}

// fetch_expired: prefetches the flow table buckets of the oldest records that are done, at most
// max. Returns how many. The entries were made 2 MSL ago, so they are in no cache.
static unsigned fetch_expired(const struct tcp *t, const struct time_wait_ring *g, unsigned max)
{
    unsigned n = 0;
    uint32_t at = g->head;
    for (; n < max && n < g->used; n++) {
        const struct time_wait *w = time_wait_at(g, at);
        if (!is_done(t, w))
            break;
        const struct flow_key key = time_wait_key(w);
        flow_prefetch(t->table, flow_hash(t->table, &key));
        at = at + 1 == g->capacity ? 0 : at + 1;
    }
    return n;
}

static unsigned expire(struct tcp *t, struct time_wait_ring *g, unsigned max)
{
    const unsigned n = fetch_expired(t, g, max);
    for (unsigned i = 0; i < n; i++) {
        const struct time_wait *w = time_wait_at(g, g->head);
        if (w->live && w->again && !deadline_reached(w->expires_ms, t->now.ms)) {
            to_young_end(t, g);
            continue;
        }
        t->stats->c.time_wait_expired += w->live;
        pop(t, g);
    }
    return n;
}

unsigned tcp_time_wait_expire(struct tcp *t, unsigned max)
{
    return expire(t, &t->tw4, max) + expire(t, &t->tw6, max);
}

unsigned tcp_time_wait_flush(struct tcp *t, unsigned max)
{
    unsigned n = 0;
    for (; n < max && t->tw4.used != 0; n++)
        pop(t, &t->tw4);
    for (; n < max && t->tw6.used != 0; n++)
        pop(t, &t->tw6);
    return n;
}

static uint32_t next_of(const struct tcp *t, const struct time_wait_ring *g)
{
    if (g->used == 0)
        return 0;
    const struct time_wait *w = time_wait_at(g, g->head);
    return is_done(t, w) ? deadline(t->now.ms, 0) : w->expires_ms;
}

uint32_t tcp_time_wait_next_ms(const struct tcp *t)
{
    const uint32_t a = next_of(t, &t->tw4), b = next_of(t, &t->tw6);
    return a == 0 || (b != 0 && time_before(b, a)) ? b : a;
}
