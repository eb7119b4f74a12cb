// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_adopt_judge.h"

#include "tcp/tcp_flight.h"
#include "tcp/tcp_ooo.h"

enum {
    LIVE_STATES = 1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT | 1 << TCP_SYN_RECEIVED |
                  1 << TCP_FIN_WAIT_1 | 1 << TCP_FIN_WAIT_2 | 1 << TCP_TIME_WAIT | 1 << TCP_CLOSED |
                  1 << TCP_CLOSE_WAIT | 1 << TCP_LAST_ACK | 1 << TCP_CLOSING,
    WSCALE_MAX = 14,  // RFC 7323 2.3
    TIMER_SLACK_MS = 60 * 1000,
};

// ---- claims

static size_t words(uint32_t n)
{
    return ((size_t)n + 63) / 64;
}

size_t tcp_judge_footprint(const struct tcp *t)
{
    return (words(t->bufs.count) + words(t->ext_pool->count) + words(t->flights.small_free->count) +
            words(t->flights.large_free->count)) *
           sizeof(uint64_t);
}

void tcp_judge_init(struct tcp_judge *j, struct tcp *t, const struct tcp_adopt_params *p, void *mem)
{
    *j = (struct tcp_judge){.t = t, .p = p, .bufs = mem};
    j->exts = j->bufs + words(t->bufs.count);
    j->small = j->exts + words(t->ext_pool->count);
    j->large = j->small + words(t->flights.small_free->count);
}

// claim: false: ix is not below n, or it is held already.
static bool claim(uint64_t *bits, uint32_t ix, uint32_t n)
{
    if (ix >= n || (bits[ix / 64] >> ix % 64 & 1) != 0)
        return false;
    bits[ix / 64] |= 1ULL << ix % 64;
    return true;
}

static void release(uint64_t *bits, uint32_t ix)
{
    bits[ix / 64] &= ~(1ULL << ix % 64);
}

// claims: what one block has claimed so far.
struct claims {
    struct tcp_judge *j;
    uint32_t head[3], n[3];  // chains: to send, received, out of order
    unsigned chains;
    uint32_t table, ext, flight;  // UINT32_MAX: none
};

static struct claims no_claims(struct tcp_judge *j)
{
    return (struct claims){.j = j, .table = UINT32_MAX, .ext = UINT32_MAX, .flight = UINT32_MAX};
}

static uint64_t *logs_of(const struct tcp_judge *j, uint32_t flight)
{
    return flight & FLIGHT_LARGE ? j->large : j->small;
}

static void give_back(const struct claims *c)
{
    const struct tcp_judge *j = c->j;
    for (unsigned i = 0; i < c->chains; i++) {
        uint32_t ix = c->head[i];
        for (uint32_t k = 0; k < c->n[i]; k++, ix = j->t->bufs.bufs[ix].next)
            release(j->bufs, ix);
    }
    if (c->table != UINT32_MAX)
        release(j->bufs, c->table);
    if (c->ext != UINT32_MAX)
        release(j->exts, c->ext);
    if (c->flight != UINT32_MAX)
        release(logs_of(j, c->flight), c->flight & ~FLIGHT_LARGE);
}

// ---- buffers

// is_page: out-of-order data is written into the room of its buffers.
static bool is_page(const struct tcp_judge *j, uint32_t ix)
{
    return !buf_is_ref(&j->t->bufs, ix);
}

// is_room: whether the valid bytes of a buffer lie where its index says: in its room, or in an
// image.
static bool is_room(const struct tcp_judge *j, uint32_t ix)
{
    const struct buf_pool *p = &j->t->bufs;
    const struct buf *b = &p->bufs[ix];
    if (buf_is_ref(p, ix))
        return j->p->is_image != NULL && j->p->is_image(j->p->arg, j->service, b->at, b->len);
    const uintptr_t room = (uintptr_t)buf_room(p, ix), at = (uintptr_t)b->at;
    return at >= room && at <= room + BUF_BYTES && b->len <= room + BUF_BYTES - at;
}

// chain: a queue of buffers.
struct chain {
    uint32_t n, last;
    uint64_t bytes;
    bool in_order;  // each begins with the number after the one before
};

// claim_chain: claims all buffers from `head` on. False: the chain is broken, or a part of it is
// held; those before are in c.
static bool claim_chain(struct claims *c, uint32_t head,
                        bool (*holds)(const struct tcp_judge *, uint32_t), struct chain *out)
{
    const struct buf_pool *p = &c->j->t->bufs;
    const unsigned at = c->chains++;
    *out = (struct chain){.last = BUF_NONE, .in_order = true};
    c->head[at] = head;
    c->n[at] = 0;
    for (uint32_t ix = head; ix != BUF_NONE; ix = p->bufs[ix].next) {
        if (!claim(c->j->bufs, ix, p->count))
            return false;
        out->n = ++c->n[at];
        if (!holds(c->j, ix))
            return false;
        const struct buf *before = out->last != BUF_NONE ? &p->bufs[out->last] : NULL;
        out->in_order &= before == NULL || before->seq + before->len == p->bufs[ix].seq;
        out->bytes += p->bufs[ix].len;
        out->last = ix;
    }
    return true;
}

// ---- parts of a block; each claims what it holds

static bool has_state(const struct tcp_judge *j, const struct block *b)
{
    return b->state < TCP_STATE_COUNT && (LIVE_STATES >> b->state & 1) != 0 &&
           b->service < j->t->n_services;
}

// is_told: whether the application knows of the connection, or has closed it. One that was opened
// in the last burst, by either side, may not have been reported yet.
static bool is_told(const struct block *b)
{
    return (b->state != TCP_ESTABLISHED && b->state != TCP_SYN_SENT) ||
           (b->flags & (BF_IN_APP | BF_FIN_QUEUED | BF_ABORT)) != 0;
}

// has_key: only of a connection that is over others may have the addresses and ports.
static bool has_key(const struct tcp_judge *j, const struct block *b)
{
    return b->key.local_ix < j->p->n_locals &&
           (b->key.zero == 0 || (b->key.zero == BLOCK_HAS_NO_ENTRY && b->state == TCP_CLOSED));
}

// has_fin: whether our FIN is queued, and acknowledged, where the state says so. Else the next
// segment would ask for a step that the state does not have (tcp/tcp_state.c).
static bool has_fin(const struct block *b)
{
    enum {
        EITHER = 1 << TCP_SYN_RECEIVED | 1 << TCP_CLOSED,
        QUEUED = 1 << TCP_FIN_WAIT_1 | 1 << TCP_CLOSING | 1 << TCP_LAST_ACK,
        ACKED = 1 << TCP_FIN_WAIT_2 | 1 << TCP_TIME_WAIT
    };
    const uint32_t is = 1u << b->state;
    const bool fin = (b->flags & BF_FIN_QUEUED) != 0, acked = b->snd_una == b->snd_end + 1;
    if (is & EITHER)
        return true;
    return fin == ((is & (QUEUED | ACKED)) != 0) && (fin && acked) == ((is & ACKED) != 0);
}

// has_sent: what is acknowledged, sent again, sent and queued, in this order, within half of the
// numbers.
static bool has_sent(const struct block *b)
{
    const uint32_t una = b->snd_una, nxt = b->snd_nxt - una, max = b->snd_max - una,
                   end = b->snd_end + ((b->flags & BF_FIN_QUEUED) != 0) - una;
    return nxt <= max && max <= end && end <= INT32_MAX && (!(b->flags & BF_PROBE) || nxt == 0);
}

static bool has_numbers(const struct tcp *t, const struct block *b)
{
    return has_sent(b) && has_fin(b) && b->snd_wscale <= WSCALE_MAX &&
           b->rcv_wscale <= WSCALE_MAX && b->mss != 0 && b->mss <= tcp_local_mss(t, &b->key) &&
           (b->state == TCP_SYN_SENT || b->rcv_adv - b->rcv_nxt <= TCP_WINDOW_MAX) &&
           ((b->flags & BF_EXT) != 0) == (b->ext != EXT_NONE);
}

// claim_sent: the queue ends at snd_end, and its first buffer holds snd_una. During the handshake
// one number is the SYN's.
static bool claim_sent(struct claims *c, const struct block *b)
{
    struct chain q;
    if (!claim_chain(c, b->snd_head, is_room, &q) || q.last != b->snd_tail)
        return false;
    const bool syn = b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
    if (q.n == 0)
        return (int32_t)(b->snd_end - b->snd_una) <= syn;
    const struct buf *first = &c->j->t->bufs.bufs[b->snd_head];
    const uint32_t from = b->snd_una + syn;
    return q.in_order && first->seq + (uint32_t)q.bytes == b->snd_end &&
           seq_leq(first->seq, from) && seq_lt(from, first->seq + first->len);
}

static bool claim_received(struct claims *c, const struct block *b)
{
    struct chain q;
    return claim_chain(c, b->rcvq_head, is_room, &q) && q.last == b->rcvq_tail &&
           q.bytes == b->rcvq_bytes;
}

// has_scoreboard: in order, between what is acknowledged and what was sent.
static bool has_scoreboard(const struct block *b, const struct ext *e)
{
    uint32_t at = b->snd_una;
    if (e->n_sacked > EXT_SACKED_MAX || e->n_held > EXT_HELD_MAX || e->recovery > RECOVERY_SACK ||
        e->sockopts.set >> SOCKOPT_COUNT != 0 || e->sockopts.df > SOCKOPT_DF_PROBE ||
        e->sockopts.congestion > TCP_NEWRENO)
        return false;
    for (unsigned i = 0; i < e->n_sacked; i++) {
        const struct seq_range r = e->sacked[i];
        if (!seq_lt(at, r.start) || !seq_lt(r.start, r.end) || !seq_leq(r.end, b->snd_max))
            return false;
        at = r.end;
    }
    return true;
}

static bool claim_ext(struct claims *c, const struct block *b)
{
    const struct tcp *t = c->j->t;
    if (!(b->flags & BF_EXT))
        return true;
    if (!claim(c->j->exts, b->ext, t->ext_pool->count))
        return false;
    c->ext = b->ext;
    return has_scoreboard(b, &t->exts[b->ext]);
}

// ends_at: the last page of run r, whose first page is `at`; BUF_NONE: it has others.
static uint32_t ends_at(const struct buf *bufs, const struct ooo_run *r, uint32_t at)
{
    for (uint32_t page = ooo_page(r->start);; page += BUF_BYTES, at = bufs[at].next) {
        if (at == BUF_NONE || bufs[at].seq != page)
            return BUF_NONE;
        if (page == ooo_page(r->end - 1))
            return at == r->last ? at : BUF_NONE;
    }
}

static bool is_reported(const struct ooo_run *runs, unsigned n, struct seq_range r)
{
    for (unsigned i = 0; i < n; i++)
        if (runs[i].start == r.start && runs[i].end == r.end)
            return true;
    return false;
}

// has_runs: the runs are in order, within the window and in the pages of the chain, and there is no
// further page.
static bool has_runs(const struct tcp *t, const struct block *b, const struct ext *e)
{
    const struct buf *bufs = t->bufs.bufs;
    const struct ooo_run *runs = ooo_runs(&t->bufs, e);
    uint32_t at = b->rcv_nxt, page = BUF_NONE, next = e->ooo_head;
    if (e->ooo_runs < 1 || e->ooo_runs > OOO_RUNS_MAX)
        return false;
    for (unsigned i = 0; i < e->ooo_runs; i++) {
        if (!seq_lt(at, runs[i].start) || !seq_lt(runs[i].start, runs[i].end) ||
            !seq_leq(runs[i].end, b->rcv_adv))
            return false;
        const bool shares = page != BUF_NONE && bufs[page].seq == ooo_page(runs[i].start);
        page = ends_at(bufs, &runs[i], shares ? page : next);
        if (page == BUF_NONE)
            return false;
        next = bufs[page].next;
        at = runs[i].end;
    }
    for (unsigned k = 0; k < e->n_held; k++)
        if (!is_reported(runs, e->ooo_runs, e->held[k]))
            return false;
    return next == BUF_NONE;
}

static bool claim_out_of_order(struct claims *c, const struct block *b)
{
    const struct tcp *t = c->j->t;
    struct chain q;
    if (!(b->flags & BF_EXT))
        return true;
    const struct ext *e = &t->exts[b->ext];
    if (e->ooo_head == BUF_NONE)
        return e->n_held == 0;
    if (!claim(c->j->bufs, e->ooo_table, t->bufs.data_count))
        return false;
    c->table = e->ooo_table;
    return claim_chain(c, e->ooo_head, is_page, &q) && q.n + 1 == e->ooo_bufs && has_runs(t, b, e);
}

// has_log_head: the fields of the log itself.
static bool has_log_head(const struct flight *f, uint32_t cap)
{
    return f->cap == cap && f->n != 0 && (uint32_t)f->first + f->n <= cap &&
           f->state <= FLIGHT_LOSS && f->timer <= FLIGHT_PROBE && f->frto <= FRTO_WAIT;
}

// is_run: whether run r, which begins at `at`, is possible. The first one is never SACKed: who has
// it acknowledges it.
static bool is_run(const struct tcp *t, const struct flight_run *r, uint32_t at, bool first)
{
    const uint32_t marks = r->flags & (FLIGHT_SACKED | FLIGHT_LOST);
    return seq_lt(at, r->end) && marks != (FLIGHT_SACKED | FLIGHT_LOST) &&
           !time_before((uint32_t)t->now.us, r->sent_us) && !(first && marks == FLIGHT_SACKED);
}

// has_log: runs without gaps from snd_una to snd_max, and their sums.
static bool has_log(const struct tcp *t, const struct block *b, const struct flight *f,
                    uint32_t cap)
{
    uint32_t at = b->snd_una, sacked = 0, lost = 0;
    if (!has_log_head(f, cap) || f->una != at)
        return false;
    for (unsigned i = 0; i < f->n; i++) {
        const struct flight_run *r = &f->run[f->first + i];
        if (!is_run(t, r, at, i == 0))
            return false;
        sacked += r->flags & FLIGHT_SACKED ? r->end - at : 0;
        lost += r->flags & FLIGHT_LOST ? r->end - at : 0;
        at = r->end;
    }
    return at == b->snd_max && sacked == f->sacked && lost == f->lost;
}

static bool claim_flight(struct claims *c, const struct block *b)
{
    const struct flight_pool *p = &c->j->t->flights;
    if (!b->has_flight)
        return true;
    const bool large = (b->flight & FLIGHT_LARGE) != 0;
    const struct index_pool *pool = large ? p->large_free : p->small_free;
    if (!claim(logs_of(c->j, b->flight), b->flight & ~FLIGHT_LARGE, pool->count))
        return false;
    c->flight = b->flight;
    const size_t bytes = large ? FLIGHT_LARGE_BYTES : FLIGHT_BYTES;
    const uint32_t cap = (uint32_t)((bytes - sizeof(struct flight)) / sizeof(struct flight_run));
    return b->snd_nxt == b->snd_max && (b->agreed & BA_SACK) && !(b->flags & BF_TIMED) &&
           has_log(c->j->t, b, flight_at(p, b->flight), cap);
}

// is_near: whether a deadline is none, passed, or no further away than `most_ms`.
static bool is_near(const struct tcp *t, uint32_t at_ms, uint32_t most_ms)
{
    return at_ms == 0 || (int32_t)(at_ms - t->now.ms) <= (int32_t)(most_ms + TIMER_SLACK_MS);
}

static bool has_timers(const struct tcp *t, const struct block *b)
{
    return is_near(t, b->rto_at_ms, t->cfg.rto_max_ms) &&
           (!(b->flags & BF_DELACK_ARMED) || is_near(t, b->delack_at_ms, t->cfg.delayed_ack_ms));
}

// judge: the first refusal; claims what is whole on the way.
static enum tcp_refusal judge(struct claims *c, const struct block *b)
{
    const struct tcp_judge *j = c->j;
    if (!has_state(j, b))
        return TCP_REFUSED_STATE;
    if (!is_told(b))
        return TCP_REFUSED_IN_HAND;
    if ((j->p->services >> b->service & 1) == 0 && !block_is_refused(b))
        return TCP_REFUSED_SERVICE;
    if (!has_key(j, b))
        return TCP_REFUSED_KEY;
    if (!has_numbers(j->t, b))
        return TCP_REFUSED_NUMBERS;
    if (!claim_sent(c, b))
        return TCP_REFUSED_SEND_QUEUE;
    if (!claim_received(c, b))
        return TCP_REFUSED_RECEIVE_QUEUE;
    if (!claim_ext(c, b))
        return TCP_REFUSED_EXTENSION;
    if (!claim_out_of_order(c, b))
        return TCP_REFUSED_OUT_OF_ORDER;
    if (!claim_flight(c, b))
        return TCP_REFUSED_FLIGHT;
    return has_timers(j->t, b) ? TCP_ADOPTED : TCP_REFUSED_TIMER;
}

enum tcp_refusal tcp_judge_block(struct tcp_judge *j, uint32_t ix)
{
    const struct block *b = &j->t->blocks[ix];
    struct claims c = no_claims(j);
    j->service = b->service;
    const enum tcp_refusal why = judge(&c, b);
    if (why != TCP_ADOPTED)
        give_back(&c);
    return why;
}

static uint32_t chain_length(const struct buf_pool *p, uint32_t head)
{
    uint32_t n = 0;
    for (uint32_t ix = head; ix != BUF_NONE; ix = p->bufs[ix].next)
        n++;
    return n;
}

void tcp_judge_release(struct tcp_judge *j, uint32_t ix)
{
    const struct block *b = &j->t->blocks[ix];
    const struct buf_pool *p = &j->t->bufs;
    struct claims c = no_claims(j);
    const struct ext *e = b->flags & BF_EXT ? &j->t->exts[b->ext] : NULL;
    c.head[0] = b->snd_head;
    c.head[1] = b->rcvq_head;
    c.head[2] = e != NULL ? e->ooo_head : BUF_NONE;
    c.chains = ARRAY_LEN(c.head);
    for (unsigned i = 0; i < c.chains; i++)
        c.n[i] = chain_length(p, c.head[i]);
    if (e != NULL)
        c.ext = b->ext;
    if (e != NULL && e->ooo_head != BUF_NONE)
        c.table = e->ooo_table;
    if (b->has_flight)
        c.flight = b->flight;
    give_back(&c);
}

// has_listener: a configured port, or a listener opened at run time that is still there.
static bool has_listener(const struct tcp *t, const struct syn_record *r)
{
    if (r->listen == TCP_LISTEN_NONE)
        return true;
    return t->listens != NULL && r->listen <= TCP_LISTENINGS_MAX && !listening_gone(t, r);
}

bool tcp_judge_half_open(const struct tcp_judge *j, const struct syn_record *r)
{
    const struct tcp *t = j->t;
    return r->live == 1 && r->key.zero == 0 && r->key.local_ix < j->p->n_locals &&
           r->service < t->n_services && has_listener(t, r) &&
           is_near(t, r->retry_at_ms, t->cfg.rto_max_ms);
}

bool tcp_judge_time_wait(const struct tcp_judge *j, const struct time_wait *w, bool v6)
{
    return w->live == 1 && w->is_v6 == v6 && w->local_ix < j->p->n_locals &&
           is_near(j->t, w->expires_ms, j->t->cfg.time_wait_ms);
}
