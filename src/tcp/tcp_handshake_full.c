// SPDX-License-Identifier: BSD-3-Clause
// Half-open connections: those with a record (struct syn_record), and those by SYN cookie, for
// which nothing is stored until the handshake is complete.
#include <string.h>

#include "tcp/tcp_ack.h"
#include "tcp/tcp_ecn.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_new_flows.h"
#include "tcp/tcp_share.h"
#include "tcp/tcp_trace.h"

enum { SYN_ACK_EVERY_US = 1000 * 1000 };

// listening_of_syn: listening_of() with its common case, a configured port, inline.
static inline struct listening *listening_of_syn(const struct tcp *t, const struct syn_record *r)
{
    return likely(r->listen == TCP_LISTEN_NONE) ? NULL : listening_of(t, r);
}

// rcv_limit_of: the receive limit of the record's listener if it has one, else of its service.
static inline uint32_t rcv_limit_of(const struct tcp *t, const struct syn_record *r)
{
    const struct listening *g = listening_of_syn(t, r);
    const uint32_t own = g != NULL ? g->rcv_limit : 0;
    return own != 0 ? own : t->rcv_limits[r->service];
}

static void put_own(const struct listening *g, struct seg_out *o)
{
    if (g->mss_max != 0)
        o->mss = MIN(o->mss, g->mss_max);
    if ((g->ttl | g->tos) == 0)
        return;
    o->opts |= SEG_OPT_IP;
    o->ttl = g->ttl;
    o->may_split = false;
    o->tos |= g->tos & (uint8_t)~3u;  // the two low bits are the ECN field
}

static void inherit(struct tcp *t, const struct listening *g, uint32_t ix)
{
    const struct {
        enum sockopt option;
        uint32_t value;
    } own[] = {{SOCKOPT_RCV_LIMIT, g->rcv_limit},
               {SOCKOPT_MSS, g->mss_max},
               {SOCKOPT_TTL, g->ttl},
               {SOCKOPT_TOS, g->tos}};
    for (unsigned i = 0; i < ARRAY_LEN(own); i++)
        if (own[i].value != 0)
            tcp_sockopt_set(t, ix, own[i].option, own[i].value);
}

// put_syn_ack: sends the SYN-ACK of a record, stored or not, with our timestamp ts. Returns false,
// and counts it, if there is no room.
static bool put_syn_ack(struct tcp *t, const struct syn_record *r, uint32_t ts)
{
    struct seg_out *o = tcp_out_slot(t, r->key.local_ix);
    if (o == NULL)
        return false;
    *o = (struct seg_out){.key = r->key, .seq = r->iss, .ack = r->irs + 1};
    o->flags = r->ecn ? SEG_SYN | SEG_ACK | SEG_ECE : SEG_SYN | SEG_ACK;
    o->opts =
        (uint8_t)(SEG_OPT_MSS | (r->opts & (SEG_OPT_WSCALE | SEG_OPT_TS | SEG_OPT_SACK_PERM)));
    o->mss = tcp_local_mss(t, &r->key);
    o->wscale = t->cfg.window_scale;
    o->wnd = (uint16_t)MIN(rcv_limit_of(t, r), UINT16_MAX);
    if (unlikely(r->listen != TCP_LISTEN_NONE))
        put_own(&t->listens->at[r->listen - 1], o);
    if (r->opts & SEG_OPT_TS) {
        o->ts_val = ts;
        o->ts_ecr = r->ts_recent;
    }
    t->stats->c.synack_sent++;
    return true;
}

// send_syn_ack: without room, the retry timer sends it later.
static void send_syn_ack(struct tcp *t, struct syn_record *r)
{
    if (!put_syn_ack(t, r, tcp_ts_now(t, &r->key)))
        return;
    if (r->sends != 0) {
        t->stats->c.synack_retransmits++;
        t->stats->c.tx_retransmits_segs++;
        point_retransmit(t->trace,
                         (struct trace_conn){(uint32_t)(r - t->syns), 0, TRACE_NO_SERVICE});
    }
    r->sent_us = (uint32_t)t->now.us;
    r->sends = (uint8_t)MIN(r->sends + 1, 2);
}

// resend_syn_ack: sends the SYN-ACK again in answer to a segment of the peer: once, then at most
// every SYN_ACK_EVERY_US, so that a flood of segments does not cause a flood of SYN-ACKs.
static bool resend_syn_ack(struct tcp *t, struct syn_record *r)
{
    if (r->sends > 1 && (uint32_t)t->now.us - r->sent_us < SYN_ACK_EVERY_US) {
        t->stats->c.ack_skipped_syn_received++;
        return false;
    }
    send_syn_ack(t, r);
    return true;
}

// send_cookie: answers with a SYN cookie (RFC 4987 3.6).
static enum drop_reason send_cookie(struct tcp *t, struct syn_record *r)
{
    tcp_cookie_make(t, r);
    if (!put_syn_ack(t, r, tcp_cookie_ts(r, tcp_ts_now(t, &r->key))))
        return DROP_syn_table_full;
    t->stats->c.syncookies_sent++;
    return DROP_NONE;
}

bool tcp_syn_arm(struct tcp *t, uint32_t ix)
{
    struct syn_record *r = &t->syns[ix];
    if (r->wheel_ms != 0)
        return true;
    const uint32_t first_ms = deadline(t->now.ms, t->cfg.rto_initial_ms);
    const uint32_t at_ms = time_before(first_ms, r->retry_at_ms) ? first_ms : r->retry_at_ms;
    r->wheel_ms = wheel_add(t->wheel, at_ms, flow_index(FLOW_SYN, ix));
    return r->wheel_ms != 0;
}

static void syn_record_free(struct tcp *t, uint32_t ix, uint32_t child)
{
    struct listening *g = listening_of_syn(t, &t->syns[ix]);
    if (unlikely(g != NULL))
        g->half_open--;
    tcp_syn_became(t, ix, child);
}

static void syn_record_remove(struct tcp *t, uint32_t ix)
{
    const struct flow_key *key = &t->syns[ix].key;
    CHECK(flow_remove(t->table, flow_hash(t->table, key), flow_index(FLOW_SYN, ix)));
    syn_record_free(t, ix, BLOCK_NONE);
}

bool tcp_syn_end_if_gone(struct tcp *t, uint32_t syn_ix)
{
    const struct syn_record *r = &t->syns[syn_ix];
    const bool closed = t->services[r->service].state == TCP_SERVICE_CLOSED;
    if (likely(!closed && !listening_gone(t, r)))
        return false;
    syn_record_remove(t, syn_ix);
    return true;
}

void tcp_syn_drop(struct tcp *t, uint32_t syn_ix)
{
    if (t->syns[syn_ix].live)
        syn_record_remove(t, syn_ix);
}

static inline struct listening *listening_at(const struct tcp *t, int listener)
{
    return listener_place(listener) == TCP_LISTEN_NONE
               ? NULL
               : &t->listens->at[listener_place(listener) - 1];
}

// refused: why no connection may be opened from `from` now, or DROP_NONE. It is checked for the
// SYN, and again at the end of the handshake. Half-open connections do not count, because anybody
// can create them with a spoofed address.
static inline enum drop_reason refused(const struct tcp *t, int listener,
                                       const struct flow_key *from)
{
    const uint8_t service = listener_service(listener);
    const struct tcp_service *sv = &t->services[service];
    if (listening_full(listening_at(t, listener)))
        return DROP_listen_overflow;
    if (sv->connections >= sv->connections_max)
        return DROP_service_connections;
    if (sv->source_max != 0 &&
        sources_count(t->sources, source_of(&from->remote), service) >= sv->source_max)
        return DROP_source_connections;
    return unlikely(tcp_is_pressed(t)) ? tcp_share_drop(t, service, &from->remote) : DROP_NONE;
}

// is_sources: whether a connection was refused because its source has too many. A source above its
// limit keeps no half-open record either.
static bool is_sources(enum drop_reason why)
{
    return why == DROP_source_connections || why == DROP_prefix_share;
}

// record_of: negotiates the options of a SYN. iss: our initial sequence number.
static ALWAYS_INLINE struct syn_record record_of(const struct tcp *t, int listener,
                                                 const struct seg_in *s, uint32_t iss)
{
    const struct listening *g = listening_at(t, listener);
    const uint8_t known = SEG_OPT_WSCALE | (t->cfg.timestamps ? SEG_OPT_TS : 0) |
                          (t->cfg.sack ? SEG_OPT_SACK_PERM : 0);
    return (struct syn_record){.key = s->key,
                               .iss = iss,
                               .irs = s->seq,
                               .ts_recent = s->ts_val,
                               .mss = s->opts & SEG_OPT_MSS ? s->mss : 0,
                               .wnd = s->wnd,
                               .wscale = s->opts & SEG_OPT_WSCALE ? s->wscale : 0,
                               .opts = s->opts & known,
                               .service = listener_service(listener),
                               .ecn = tcp_ecn_asked(t, s),
                               .listen = listener_place(listener),
                               .listen_life = g != NULL ? g->life : 0};
}

// keep: stores the record and arms its retry timer. Its flow table entry replaces that of `old`, or
// is new if old is FLOW_NONE. Returns NULL if there is no room.
static ALWAYS_INLINE struct syn_record *keep(struct tcp *t, const struct syn_record *from,
                                             uint64_t hash, uint32_t old)
{
    const uint32_t ix = index_pool_get(t->syn_pool);
    if (ix == INDEX_NONE)
        return NULL;
    const uint32_t handle = flow_index(FLOW_SYN, ix);
    struct syn_record *r = &t->syns[ix];
    const uint32_t wheel_ms = r->wheel_ms;
    *r = *from;
    r->wheel_ms = wheel_ms;
    r->retry_at_ms = deadline(t->now.ms, t->cfg.rto_initial_ms);
    if (!tcp_syn_arm(t, ix) || (old == FLOW_NONE && !flow_insert(t->table, hash, handle))) {
        r->child = BLOCK_NONE;
        index_pool_put(t->syn_pool, ix);
        return NULL;
    }
    if (old == FLOW_NONE)
        new_flows_add(t, hash);
    else
        CHECK(flow_replace(t->table, hash, old, handle));
    record_live(&r->live, true);
    t->stats->c.syn_records_now++;
    struct listening *g = listening_of_syn(t, r);
    if (unlikely(g != NULL))
        g->half_open++;
    return r;
}

// reserve_rest: whether the remaining records are reserved. The last records of a large table are:
// a random number of up to an eighth of the table, which changes every second. Reason: an attacker
// may fill the table with spoofed addresses, and then send a SYN of its own. Without the random
// number, the answer would tell which of the spoofed SYNs took no record because a connection
// existed.
static bool reserve_rest(struct tcp *t)
{
    enum { TABLE_MIN = 1024, SHARE = 8, EVERY_US = 1000 * 1000 };
    const uint32_t count = t->syn_pool->count, most = count / SHARE;
    if (likely(t->syn_pool->n_free > most) || count < TABLE_MIN)
        return false;
    if (t->now.us >= t->syn_reserve_us) {
        t->syn_reserve_us = t->now.us + EVERY_US;
        t->syn_reserve = limit_draw(&t->resets, most);
    }
    return t->syn_pool->n_free <= t->syn_reserve;
}

// refuse_record: whether a SYN gets no record: because cookies are configured, because the listener
// has more records than its backlog (Linux's inet_csk_reqsk_queue_is_full()), or because the
// remaining records are reserved.
static bool refuse_record(struct tcp *t, int listener)
{
    const struct listening *g = listening_at(t, listener);
    return t->cfg.syn_cookies == TCP_COOKIES_ALWAYS || (g != NULL && g->half_open > g->backlog) ||
           reserve_rest(t);
}

// block_of: makes a block of the record, sets its options, and counts it. The caller sets sequence
// numbers and state. old: the record's flow table entry, or FLOW_NONE if it was not stored.
static uint32_t block_of(struct tcp *t, const struct syn_record *r, uint32_t old)
{
    const uint32_t ix = tcp_block_new(t, &r->key, r->service, old);
    if (ix == BLOCK_NONE)
        return ix;
    struct block *b = &t->blocks[ix];
    b->recover = r->iss;
    if (r->opts & SEG_OPT_TS) {
        b->flags |= BF_TS;
        b->ts_recent = r->ts_recent;
        b->ts_recent_ms = t->now.ms;
    }
    if (r->opts & SEG_OPT_SACK_PERM)
        b->agreed |= BA_SACK;
    if (r->opts & SEG_OPT_WSCALE) {
        b->snd_wscale = r->wscale;
        b->rcv_wscale = t->cfg.window_scale;
        b->agreed |= BA_WSCALE;
    }
    if (r->ecn)
        b->agreed |= BA_ECN;
    t->stats->c.conns_opened_passive++;
    if (t->services[b->service].source_max != 0) {
        b->source = sources_enter(t->sources, source_of(&b->key.remote), b->service);
        t->stats->c.sources_now = sources_now(t->sources);
    }
    tcp_share_enter(t, b);
    return ix;
}

// open_fast: RFC 7413 4.2.2: delivers the data of the SYN. The SYN-ACK, which is sent at the end of
// the turn, acknowledges it. Returns false if no block is free.
static bool open_fast(struct tcp *t, const struct syn_record *r, const struct seg_in *s,
                      struct tcp_verdict *v)
{
    const uint32_t wnd = MIN(rcv_limit_of(t, r), UINT16_MAX), len = MIN(s->data_len, wnd);
    const uint32_t ix = block_of(t, r, FLOW_NONE);
    if (ix == BLOCK_NONE)
        return false;
    struct block *b = &t->blocks[ix];
    b->snd_una = b->snd_nxt = b->snd_max = r->iss;
    b->snd_end = r->iss + 1;
    b->snd_wl1 = r->irs;
    b->rcv_nxt = r->irs + 1 + len;
    b->rcv_adv = b->rcv_nxt + wnd - len;
    tcp_set_mss(t, b, r->mss);
    b->cwnd = t->cfg.initial_window * b->mss;
    b->snd_wnd = s->wnd;  // never scaled in a SYN (RFC 7323 2.2)
    tcp_note_window(b);
    tcp_set_state(b, STEP_FAST_OPEN);
    tcp_fast_open_begun(t, b);
    v->block = ix;
    v->data_off = s->data_off;
    v->data_len = (uint16_t)len;
    v->events |= TCP_EV_OPEN | TCP_EV_DATA;
    tcp_dirty(t, ix);
    return true;
}

// is_behind: whether the worker is so far behind that it accepts nobody new. A SYN is the cheapest
// packet to drop: its sender tries again in a second, and nothing was done for it yet. Without this
// the device drops packets of all connections alike, and most of the work already done is lost. A
// worker that only stood still is not behind: full_us.
static inline bool is_behind(const struct tcp *t)
{
    if (likely(t->behind_us == 0))
        return false;
    const uint32_t limit_us = t->cfg.accept_wait_us != 0 ? t->cfg.accept_wait_us
                              : t->queue_full            ? TCP_ACCEPT_WAIT_US
                                                         : UINT32_MAX;
    return t->behind_us > limit_us && t->full_us > limit_us;
}

// RFC 9293 3.10.7.2, second: the SYN.
void tcp_listen_input(struct tcp *t, int listener, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v)
{
    t->stats->c.syn_received++;
    v->drop = is_behind(t) ? DROP_accept_wait : refused(t, listener, &s->key);
    if (v->drop != DROP_NONE)
        return;
    struct syn_record asked = record_of(t, listener, s, tcp_isn(t, &s->key)), *r = NULL;
    enum fast_open fast = FAST_OPEN_NONE;
    if (unlikely(s->opts & SEG_OPT_FAST_OPEN))
        fast = tcp_fast_open_judge(t, listener, s);
    if (fast == FAST_OPEN_ACCEPT && open_fast(t, &asked, s, v))
        return;
    if (!refuse_record(t, listener))
        r = keep(t, &asked, hash, FLOW_NONE);
    const uint32_t n_out = t->n_out;
    if (r != NULL)
        send_syn_ack(t, r);
    if (unlikely(fast == FAST_OPEN_OFFER) && r != NULL && t->n_out != n_out)
        tcp_fast_open_offer(t, &t->out[n_out]);
    if (r == NULL)
        v->drop =
            t->cfg.syn_cookies != TCP_COOKIES_OFF ? send_cookie(t, &asked) : DROP_syn_table_full;
}

bool tcp_listen_again(struct tcp *t, int listener, const struct seg_in *s, uint32_t snd_nxt,
                      uint32_t old, struct tcp_verdict *v)
{
    // At least a window above the old sequence numbers (RFC 6191 2, RFC 1122 4.2.2.13). A cookie
    // does not guarantee that.
    const uint32_t isn = tcp_isn(t, &s->key), above = snd_nxt + UINT16_MAX + 2;
    t->stats->c.syn_received++;
    v->drop = is_behind(t) ? DROP_accept_wait : refused(t, listener, &s->key);
    if (v->drop != DROP_NONE)
        return false;
    const struct syn_record asked = record_of(t, listener, s, seq_lt(isn, above) ? above : isn);
    struct syn_record *r = keep(t, &asked, flow_hash(t->table, &asked.key), old);
    if (r == NULL) {
        v->drop = DROP_syn_table_full;
        return false;
    }
    send_syn_ack(t, r);
    return true;
}

// join_listener: the connection waits to be accepted. Until the application's open callback, the
// state holds the listener's number.
static void join_listener(struct tcp *t, const struct syn_record *r, struct block *b)
{
    struct listening *g = listening_of(t, r);
    if (g == NULL)
        return;
    const uint32_t mark = (uint32_t)tcp_listen_id(t->listens, r->listen) + 1;
    g->waiting++;
    memcpy(b->app, &mark, sizeof(mark));
}

static uint32_t retry_wait_ms(const struct tcp *t, uint32_t retries)
{
    const uint64_t wait = (uint64_t)t->cfg.rto_initial_ms << MIN(retries, 20);
    return (uint32_t)MIN(wait, t->cfg.rto_max_ms);
}

// promote: the third segment of the handshake: the record becomes a block. old: the record's flow
// table entry, or FLOW_NONE if it was not stored.
static uint32_t promote(struct tcp *t, const struct syn_record *r, uint32_t old,
                        const struct seg_in *s)
{
    const uint32_t ix = block_of(t, r, old);
    if (ix == BLOCK_NONE)
        return ix;
    struct block *b = &t->blocks[ix];
    b->snd_una = b->snd_nxt = b->snd_max = b->snd_end = r->iss + 1;
    b->rcv_nxt = r->irs + 1;
    b->rcv_adv = b->rcv_nxt + MIN(rcv_limit_of(t, r), UINT16_MAX);
    b->last_progress = tcp_progress(b);
    b->snd_wl1 = s->seq - 1;
    if (unlikely(r->listen != TCP_LISTEN_NONE))
        inherit(t, &t->listens->at[r->listen - 1], ix);
    tcp_set_mss(t, b, r->mss);
    b->cwnd = t->cfg.initial_window * b->mss;
    b->snd_wnd = (uint32_t)s->wnd << b->snd_wscale;
    tcp_note_window(b);
    if (r->sends == 1) {
        tcp_rtt_sample(b, (uint32_t)t->now.us - r->sent_us);
    } else if (r->sends > 1) {
        b->cwnd = b->mss;  // RFC 5681 3.1: the SYN-ACK was lost
        // Do not measure an echo of an earlier SYN-ACK: it includes the time in which the peer's
        // ACKs were lost.
        b->echo_from_ms = t->now.ms - ((uint32_t)t->now.us - r->sent_us + 999) / 1000;
        if (!tcp_acked_sample(t, b, s->ack, (r->opts & s->opts & SEG_OPT_TS) != 0, s->ts_ecr))
            tcp_rtt_unknown(b);
    }
    tcp_establish(t, b, STEP_PASSIVE_DONE);
    if (b->keepalive_ms != 0)
        tcp_arm_slow(t, ix);
    if (unlikely(r->listen != TCP_LISTEN_NONE))
        join_listener(t, r, b);
    return ix;
}

bool tcp_listen_ack(struct tcp *t, int listener, const struct seg_in *s, const uint8_t *data,
                    struct tcp_verdict *v)
{
    struct syn_record r;
    if (!tcp_cookies_awaited(t))
        return false;
    if (!tcp_cookie_read(t, s, &r)) {
        t->stats->c.syncookies_failed++;
        return false;
    }
    const struct listening *g = listening_at(t, listener);
    r.service = listener_service(listener);
    r.listen = listener_place(listener);
    r.listen_life = g != NULL ? g->life : 0;
    v->drop = refused(t, listener, &s->key);
    if (is_sources(v->drop))
        tcp_reply_reset(t, s);
    if (v->drop != DROP_NONE)
        return true;
    const uint32_t ix = promote(t, &r, FLOW_NONE, s);
    if (ix == BLOCK_NONE) {
        v->drop = DROP_block_pool_empty;
        return true;
    }
    t->stats->c.syncookies_received++;
    v->block = ix;
    v->events |= TCP_EV_OPEN;
    tcp_segment_full(t, ix, s, data, v);
    return true;
}

static int listener_of(const struct syn_record *r)
{
    return r->service | (int)r->listen << 8;
}

// is_deferred: with TCP_DEFER_ACCEPT, an acknowledgment without data does not open the connection
// yet (Linux's tcp_check_req()).
static bool is_deferred(const struct tcp *t, const struct syn_record *r, const struct seg_in *s)
{
    const struct listening *g = listening_of(t, r);
    return g != NULL && r->retries < g->defer && s->data_len == 0 && !(s->flags & SEG_FIN);
}

void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v)
{
    struct syn_record *r = &t->syns[syn_ix];
    const uint32_t wnd = MIN(rcv_limit_of(t, r), UINT16_MAX);
    if (s->flags & SEG_RST) {  // RFC 5961 3.2: the SYN-ACK acknowledges as a challenge ACK does
        if (s->seq == r->irs + 1) {
            t->stats->c.syn_records_reset++;
            t->stats->c.conns_failed++;
            syn_record_remove(t, syn_ix);
            return;
        }
        v->drop = DROP_tcp_reset_invalid;
        if (s->seq - (r->irs + 1) < wnd)
            t->stats->c.challenge_acks += resend_syn_ack(t, r);
        return;
    }
    if (s->flags & SEG_SYN) {  // a repeated SYN, or another one, which RFC 5961 4.2 treats alike
        if (!resend_syn_ack(t, r))
            v->drop = DROP_tcp_duplicate;
        return;
    }
    if (!(s->flags & SEG_ACK)) {
        v->drop = DROP_tcp_bad_flags;
        return;
    }
    if (s->ack != r->iss + 1) {
        struct syn_record cookie;
        // An earlier SYN was answered by a cookie, and this acknowledges the cookie.
        if (tcp_cookies_awaited(t) && tcp_cookie_read(t, s, &cookie)) {
            const int listener = listener_of(r);
            syn_record_remove(t, syn_ix);
            tcp_listen_ack(t, listener, s, data, v);
            return;
        }
        if (!tcp_reply_reset(t, s))
            v->drop = DROP_tcp_no_owner;
        return;
    }
    if (s->seq - (r->irs + 1) > wnd) {
        resend_syn_ack(t, r);
        v->drop = DROP_tcp_unacceptable;
        return;
    }
    if ((r->opts & s->opts & SEG_OPT_TS) && time_before(s->ts_val, r->ts_recent)) {
        v->drop = DROP_tcp_old_timestamp;
        return;
    }
    if (unlikely(is_deferred(t, r, s))) {
        r->acked = 1;
        v->drop = DROP_syn_deferred;
        return;
    }
    v->drop = refused(t, listener_of(r), &r->key);
    r->acked |= v->drop == DROP_listen_overflow;
    if (is_sources(v->drop)) {
        tcp_reply_reset(t, s);
        syn_record_remove(t, syn_ix);
        return;
    }
    if (v->drop != DROP_NONE)  // the service refuses: the record waits until it expires
        return;
    const uint32_t ix = promote(t, r, flow_index(FLOW_SYN, syn_ix), s);
    if (ix == BLOCK_NONE) {
        v->drop = DROP_block_pool_empty;
        return;
    }
    syn_record_free(t, syn_ix, ix);
    v->block = ix;
    v->events |= TCP_EV_OPEN;
    tcp_segment_full(t, ix, s, data, v);
}

// has_expired: as Linux's syn_ack_recalc(). With TCP_DEFER_ACCEPT, a peer that has acknowledged the
// SYN-ACK gets no further SYN-ACK, except the last one of the deferred time. Its acknowledgment
// opens the connection even without data.
static bool has_expired(const struct tcp *t, const struct syn_record *r)
{
    const struct listening *g = listening_of(t, r);
    const uint8_t defer = g != NULL ? g->defer : 0;
    return r->retries >= (g != NULL && g->retries != 0 ? g->retries : t->cfg.synack_retries) &&
           (!r->acked || r->retries >= defer);
}

static bool may_resend(const struct tcp *t, const struct syn_record *r)
{
    const struct listening *g = listening_of(t, r);
    return g == NULL || !r->acked || r->retries + 1 >= g->defer;
}

void tcp_syn_timer(struct tcp *t, uint32_t syn_ix)
{
    struct syn_record *r = &t->syns[syn_ix];
    t->stats->c.timers_fired++;
    r->wheel_ms = 0;  // its entry has expired
    if (!r->live || !deadline_reached(r->retry_at_ms, t->now.ms)) {
        t->stats->c.timers_stale++;
    } else if (tcp_syn_end_if_gone(t, syn_ix)) {
        return;
    } else if (has_expired(t, r)) {
        t->stats->c.conns_timed_out++;
        t->stats->c.syn_records_timed_out++;
        t->stats->c.conns_failed++;
        syn_record_remove(t, syn_ix);
        return;
    } else {
        if (may_resend(t, r))
            send_syn_ack(t, r);
        r->retries++;
        r->retry_at_ms = deadline(t->now.ms, retry_wait_ms(t, r->retries));
    }
    if (r->live && !tcp_syn_arm(t, syn_ix))
        syn_record_remove(t, syn_ix);  // without a timer it would never be removed
}
