// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_ooo.h"

enum { PACE_LATE_MS = 5000 };  // so much the wheel may be behind after a stall

static bool wrong(char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(what, TCP_CHECK_BYTES, format, args);
    va_end(args);
    return false;
}

#define HOLDS(cond, ...)                                                                           \
    do {                                                                                           \
        if (unlikely(!(cond)))                                                                     \
            return wrong(what, __VA_ARGS__);                                                       \
    } while (0)

// Numbers of one life of a block never go back.
static bool check_shadow(const struct block *b, uint32_t ix, struct tcp_check_shadow *s, char *what)
{
    const bool same = s->live && s->generation == b->generation && b->state != TCP_FREE;
    if (same) {
        HOLDS(!seq_lt(b->snd_una, s->snd_una), "block %u: snd_una went back", ix);
        HOLDS(!seq_lt(b->snd_max, s->snd_max), "block %u: snd_max went back", ix);
        HOLDS(!seq_lt(b->rcv_nxt, s->rcv_nxt), "block %u: rcv_nxt went back", ix);
        HOLDS(!seq_lt(b->rcv_adv, s->rcv_adv), "block %u %s: the window's edge went back by %u", ix,
              tcp_state_name(b->state), s->rcv_adv - b->rcv_adv);
    }
    *s = (struct tcp_check_shadow){b->generation, b->state != TCP_SYN_SENT && b->state != TCP_FREE,
                                   b->snd_una,    b->snd_max,
                                   b->rcv_nxt,    b->rcv_adv};
    return true;
}

static bool check_numbers(const struct block *b, uint32_t ix, char *what)
{
    const char *state = tcp_state_name(b->state);
    HOLDS(seq_leq(b->snd_una, b->snd_nxt) && seq_leq(b->snd_nxt, b->snd_max) &&
              seq_leq(b->snd_max, b->snd_end + 1),
          "block %u %s: una %u nxt %u max %u end %u", ix, state, b->snd_una, b->snd_nxt, b->snd_max,
          b->snd_end);
    HOLDS((b->flags & BF_FIN_QUEUED) || seq_leq(b->snd_max, b->snd_end),
          "block %u %s: more was sent than is there", ix, state);
    HOLDS(((b->flags & BF_EXT) != 0) == (b->ext != EXT_NONE), "block %u: trouble, and no record",
          ix);
    return true;
}

static bool check_window(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const struct ext_sockopts *own = tcp_sockopts(t, b);
    if (own != NULL && (own->set & (1u << SOCKOPT_RCV_LIMIT | 1u << SOCKOPT_WINDOW_CLAMP)) != 0)
        return true;  // which may have been another one when the window was told
    const uint32_t limit = t->services[b->service].rcv_limit;
    // Rounded up by the scale; the first one is given whole.
    const uint32_t most = MAX(limit + (1u << b->rcv_wscale), 65535u);
    HOLDS(b->rcv_adv - b->rcv_nxt <= most, "block %u %s: a window of %u bytes, at most %u", ix,
          tcp_state_name(b->state), b->rcv_adv - b->rcv_nxt, most);
    return true;
}

// The scoreboard: in order, between what is acknowledged and what was sent.
static bool check_sacked(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    if (b->ext == EXT_NONE)
        return true;
    const struct ext *e = &t->exts[b->ext];
    uint32_t at = b->snd_una;
    for (unsigned i = 0; i < e->n_sacked; i++) {
        const struct seq_range r = e->sacked[i];
        HOLDS(seq_lt(at, r.start) && seq_lt(r.start, r.end) && seq_leq(r.end, b->snd_max),
              "block %u: scoreboard %u: %u to %u; una %u, max %u", ix, i, r.start, r.end,
              b->snd_una, b->snd_max);
        at = r.end;
    }
    return true;
}

// The log: runs without gaps from what is acknowledged to what was sent; its sums; the first one is
// never SACKed, for who has it acknowledges it.
static bool check_flight(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    if (!b->has_flight)
        return true;
    const struct flight *f = flight_at(&t->flights, b->flight);
    uint32_t at = b->snd_una, sacked = 0, lost = 0;
    HOLDS(b->snd_nxt == b->snd_max && b->snd_una != b->snd_max && (b->agreed & BA_SACK),
          "block %u: a log of %u bytes, %u of them to be sent again", ix, b->snd_max - b->snd_una,
          b->snd_max - b->snd_nxt);
    HOLDS(f->una == b->snd_una && f->n != 0 && f->first + f->n <= f->cap,
          "block %u: the log begins at %u, una is %u; %u runs", ix, f->una, b->snd_una, f->n);
    HOLDS(!(b->flags & BF_TIMED), "block %u: timed, and has a log", ix);
    for (unsigned i = 0; i < f->n; i++) {
        const struct flight_run *r = &f->run[f->first + i];
        HOLDS(seq_lt(at, r->end), "block %u: run %u is empty", ix, i);
        HOLDS((r->flags & (FLIGHT_SACKED | FLIGHT_LOST)) != (FLIGHT_SACKED | FLIGHT_LOST),
              "block %u: run %u is SACKed and lost", ix, i);
        HOLDS(!time_before((uint32_t)t->now.us, r->sent_us), "block %u: run %u is of the future",
              ix, i);
        sacked += r->flags & FLIGHT_SACKED ? r->end - at : 0;
        lost += r->flags & FLIGHT_LOST ? r->end - at : 0;
        at = r->end;
    }
    HOLDS(at == b->snd_max, "block %u: the log ends at %u, not at %u", ix, at, b->snd_max);
    HOLDS(sacked == f->sacked && lost == f->lost, "block %u: %u SACKed and %u lost, counted %u, %u",
          ix, sacked, lost, f->sacked, f->lost);
    HOLDS(!(f->run[f->first].flags & FLIGHT_SACKED), "block %u: the first run is SACKed", ix);
    return true;
}

// wakes: whether the wheel wakes the block for its xmit deadlines at due_ms or before.
static bool wakes(const struct tcp *t, const struct block *b, uint32_t due_ms)
{
    const uint32_t xmit = b->wheel_xmit_ms, movable = b->wheel_movable;
    if (xmit != 0 && !time_before(due_ms, xmit) && wheel_may_hold(t->wheel, xmit))
        return true;
    return movable != 0 && !time_before(due_ms, wheel_place_ms(t->wheel, movable - 1));
}

static bool check_timers(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const char *state = tcp_state_name(b->state);
    if (b->state == TCP_TIME_WAIT || (b->flags & BF_DIRTY))
        return true;
    HOLDS(b->snd_una == b->snd_max || b->rto_at_ms != 0,
          "block %u %s: bytes in flight and no timer", ix, state);
    HOLDS(!(b->flags & BF_PROBE) || b->snd_nxt == b->snd_una,
          "block %u %s: bytes in flight, and the timer is the window's", ix, state);
    // One that is overdue, for what it was due for found no room, comes out at the next tick.
    const uint32_t next_ms = t->now.ms + 1;
    const uint32_t due_ms = time_before(b->rto_at_ms, next_ms) ? next_ms : b->rto_at_ms;
    HOLDS(b->rto_at_ms == 0 || (tcp_xmit_runs(t, ix) && wakes(t, b, due_ms)),
          "block %u %s: a timer that the wheel does not know: %d ms away, %s, the wheel wakes in "
          "%d ms",
          ix, state, (int)(b->rto_at_ms - t->now.ms),
          tcp_xmit_runs(t, ix) ? "running" : "not running", (int)(b->wheel_xmit_ms - t->now.ms));
    HOLDS(b->snd_una != b->snd_nxt || !seq_lt(b->snd_nxt, b->snd_end) || b->rto_at_ms != 0 ||
              (b->ext != EXT_NONE && (t->exts[b->ext].cc.flags & CC_PACED)),
          "block %u %s: bytes to send, nothing in flight and no timer", ix, state);
    const struct ext_cc *c = b->ext != EXT_NONE ? &t->exts[b->ext].cc : NULL;
    HOLDS(c == NULL || !(c->flags & CC_PACED) ||
              (int16_t)(c->pace_at_ms - (uint16_t)t->now.ms) > -PACE_LATE_MS,
          "block %u %s: paced, and not woken", ix, state);
    return true;
}

bool tcp_check_block(const struct tcp *t, uint32_t ix, struct tcp_check_shadow *shadow,
                     char what[TCP_CHECK_BYTES])
{
    const struct block *b = &t->blocks[ix];
    if (!check_shadow(b, ix, shadow, what))
        return false;
    if (b->state == TCP_FREE)
        return true;
    if (!check_numbers(b, ix, what))
        return false;
    if (b->state == TCP_SYN_SENT || b->state == TCP_CLOSED)
        return true;
    return check_window(t, b, ix, what) && check_sacked(t, b, ix, what) &&
           check_flight(t, b, ix, what) && check_timers(t, b, ix, what);
}

// held: buffers, references and bytes of a chain.
struct held {
    uint32_t bufs, refs;
    uint32_t holders, ooo;  // connections that hold data out of order, and the buffers of that
    uint32_t of_sources;    // such connections, as the lists of their sources say
    uint64_t bytes;
};

static bool count_chain(const struct tcp *t, uint32_t head, struct held *h, char *what)
{
    const struct buf_pool *p = &t->bufs;
    for (uint32_t ix = head; ix != BUF_NONE; ix = p->bufs[ix].next) {
        HOLDS(ix < p->count, "buffer %u does not exist", ix);
        h->bytes += p->bufs[ix].len;
        if (buf_is_ref(p, ix))
            h->refs++;
        else
            h->bufs++;
        HOLDS(h->bufs + h->refs <= p->count, "a chain of buffers without an end");
    }
    return true;
}

// Is r a whole run of what is held out of order: no more and no less?
static bool is_run(const struct ooo_run *runs, unsigned n, struct seq_range r)
{
    for (unsigned i = 0; i < n; i++)
        if (runs[i].start == r.start && runs[i].end == r.end)
            return true;
    return false;
}

// The pages of run i: from page `at`, or the one before if it is the first of the last run's.
// Returns its last, BUF_NONE: it is another.
static uint32_t check_run(const struct buf *bufs, const struct ooo_run *r, uint32_t at)
{
    for (uint32_t page = ooo_page(r->start);; page += BUF_BYTES, at = bufs[at].next) {
        if (at == BUF_NONE || bufs[at].seq != page)
            return BUF_NONE;
        if (page == ooo_page(r->end - 1))
            return at == r->last ? at : BUF_NONE;
    }
}

// What came out of order, and what is reported of it: each page holds something, each run lies in
// the window, the charge is what is there.
static bool check_ooo(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const struct ext *e = &t->exts[b->ext];
    const struct buf *bufs = t->bufs.bufs;
    HOLDS(e->ooo_head != BUF_NONE || e->n_held == 0, "block %u: nothing held, but reported", ix);
    if (e->ooo_head == BUF_NONE)
        return true;
    const struct ooo_run *runs = ooo_runs(&t->bufs, e);
    uint32_t at = b->rcv_nxt, page = BUF_NONE, next = e->ooo_head, pages = 0;
    HOLDS(e->ooo_runs >= 1 && e->ooo_runs <= OOO_RUNS_MAX, "block %u: %u runs", ix, e->ooo_runs);
    for (unsigned i = 0; i < e->ooo_runs; i++) {
        HOLDS(seq_lt(at, runs[i].start) && seq_lt(runs[i].start, runs[i].end),
              "block %u: out-of-order data out of order", ix);
        const bool shares = page != BUF_NONE && bufs[page].seq == ooo_page(runs[i].start);
        page = check_run(bufs, &runs[i], shares ? page : next);
        HOLDS(page != BUF_NONE, "block %u: run %u lies in other pages", ix, i);
        next = bufs[page].next;
        at = runs[i].end;
        HOLDS(seq_leq(at, b->rcv_adv), "block %u: data kept beyond the window", ix);
    }
    HOLDS(next == BUF_NONE, "block %u: a page holds nothing", ix);
    for (uint32_t i = e->ooo_head; i != BUF_NONE; i = bufs[i].next)
        pages++;
    HOLDS(e->ooo_bufs == pages + 1, "block %u: %u pages, %u charged", ix, pages, e->ooo_bufs);
    HOLDS(e->hold.block == ix, "block %u: its queue is said to be block %u's", ix, e->hold.block);
    for (unsigned k = 0; k < e->n_held; k++)
        HOLDS(is_run(runs, e->ooo_runs, e->held[k]), "block %u: a report that is no run", ix);
    return true;
}

// The holders of one source, from the oldest on. Returns how many, or UINT32_MAX: it is broken.
static uint32_t check_source(const struct tcp *t, uint32_t source, uint32_t holders)
{
    const struct ooo_holders *s = &t->ooo_of[source];
    uint32_t n = 0, last = 0, bufs = 0;
    for (uint32_t i = s->oldest; i != 0; last = i, i = t->exts[i - 1].hold.younger) {
        if (++n > holders || t->exts[i - 1].hold.older != last ||
            t->exts[i - 1].hold.source != source)
            return UINT32_MAX;
        bufs += t->exts[i - 1].ooo_bufs;
    }
    return last == s->youngest && bufs == s->bufs ? n : UINT32_MAX;
}

// The oldest holder of a source: all of them, in order, as many buffers as the sum says, and no
// more than those of the source that holds most.
static bool check_oldest(const struct tcp *t, const struct ext_hold *h, struct held *all,
                         char *what)
{
    if (h->older != 0)
        return true;
    const uint32_t n = check_source(t, h->source, t->ext_pool->count);
    HOLDS(n != UINT32_MAX, "source %u: its list is broken, or its sum", h->source);
    HOLDS(t->ooo_of[h->source].bufs <= t->ooo_of[ooo_heaviest(t)].bufs,
          "source %u holds more than the one that holds most", h->source);
    all->of_sources += n;
    return true;
}

// The lists of holders: each of them once, as many buffers as the sum says.
static bool check_holders(const struct tcp *t, const struct held *all, char *what)
{
    HOLDS(all->of_sources == all->holders, "%u holders, %u of sources", all->holders,
          all->of_sources);
    HOLDS(t->ooo_bufs == all->ooo && t->stats->c.ooo_buffers_now == all->ooo,
          "%u buffers held out of order, %u counted", all->ooo, t->ooo_bufs);
    return true;
}

// The buffers of a block are in order, and hold what its numbers say.
static bool check_queues(const struct tcp *t, uint32_t ix, struct held *all, char *what)
{
    const struct block *b = &t->blocks[ix];
    const struct buf *bufs = t->bufs.bufs;
    struct held sent = {0}, queued = {0};
    if (!count_chain(t, b->snd_head, &sent, what) || !count_chain(t, b->rcvq_head, &queued, what))
        return false;
    HOLDS(queued.bytes == b->rcvq_bytes, "block %u: %llu bytes queued, %u counted", ix,
          (unsigned long long)queued.bytes, b->rcvq_bytes);
    if (b->state != TCP_SYN_SENT && b->state != TCP_SYN_RECEIVED && b->snd_head != BUF_NONE)
        HOLDS(bufs[b->snd_head].seq + (uint32_t)sent.bytes == b->snd_end,
              "block %u: the send queue ends at %u, not at %u", ix,
              bufs[b->snd_head].seq + (uint32_t)sent.bytes, b->snd_end);
    if (b->ext != EXT_NONE) {
        if (!check_ooo(t, b, ix, what))
            return false;
        const struct ext *e = &t->exts[b->ext];
        if (e->ooo_head != BUF_NONE) {
            all->holders++;
            all->ooo += e->ooo_bufs;
            if (!check_oldest(t, &e->hold, all, what))
                return false;
        }
    }
    all->bufs += sent.bufs + queued.bufs;
    all->refs += sent.refs;
    return true;
}

bool tcp_check_pools(const struct tcp *t, uint32_t count, char what[TCP_CHECK_BYTES])
{
    const struct core_counters *c = &t->stats->c;
    struct held all = {0};
    uint32_t exts = 0, orphans = 0, small = 0, large = 0, live = 0, hidden = 0, established = 0,
             v6 = 0, of[TCP_SERVICES_MAX] = {0}, pending[TCP_SERVICES_MAX] = {0};
    for (uint32_t ix = 0; ix < count; ix++) {
        const struct block *b = &t->blocks[ix];
        if (b->state == TCP_FREE)
            continue;
        live++;
        hidden += b->key.zero == BLOCK_HAS_NO_ENTRY;
        established += b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT;
        v6 += !ip_is_v4(&b->key.remote);
        of[b->service]++;
        pending[b->service] += tcp_is_pending(b);
        exts += b->ext != EXT_NONE;
        orphans += is_orphan(b);
        small += b->has_flight && !(b->flight & FLIGHT_LARGE);
        large += b->has_flight && (b->flight & FLIGHT_LARGE);
        if (!check_queues(t, ix, &all, what))
            return false;
    }
    if (!check_holders(t, &all, what))
        return false;
    all.bufs += all.ooo;
    HOLDS(all.bufs == t->bufs.data_count - t->bufs.n_free_data, "%u buffers, %u in use", all.bufs,
          t->bufs.data_count - t->bufs.n_free_data);
    HOLDS(all.refs == t->bufs.count - t->bufs.data_count - t->bufs.n_free_refs,
          "%u references, %u in use", all.refs,
          t->bufs.count - t->bufs.data_count - t->bufs.n_free_refs);
    HOLDS(exts == index_pool_in_use(t->ext_pool) && exts == c->ext_records_now,
          "%u records, %u in use, %llu counted", exts, index_pool_in_use(t->ext_pool),
          (unsigned long long)c->ext_records_now);
    HOLDS(small == index_pool_in_use(t->flights.small_free) && small == c->flight_logs_now &&
              large == index_pool_in_use(t->flights.large_free) &&
              large == c->flight_logs_large_now,
          "%u logs, %u large, %u and %u in use", small, large,
          index_pool_in_use(t->flights.small_free), index_pool_in_use(t->flights.large_free));
    HOLDS(live == index_pool_in_use(t->block_pool) && live == c->connections_now,
          "%u blocks, %u in use, %llu counted", live, index_pool_in_use(t->block_pool),
          (unsigned long long)c->connections_now);
    HOLDS(established == c->established_now && v6 == c->connections6_now,
          "%u established, %u over IPv6, %llu and %llu counted", established, v6,
          (unsigned long long)c->established_now, (unsigned long long)c->connections6_now);
    for (uint32_t i = 0; i < t->n_services; i++) {
        HOLDS(pending[i] == t->services[i].fast_open_now && pending[i] <= t->services[i].fast_open,
              "service %u has %u pending, %u counted, at most %u", i, pending[i],
              t->services[i].fast_open_now, t->services[i].fast_open);
        HOLDS(of[i] == t->services[i].connections, "service %u has %u, not %u", i, of[i],
              t->services[i].connections);
    }
    HOLDS(orphans == c->orphans_now, "%u orphans, %llu counted", orphans,
          (unsigned long long)c->orphans_now);
    const uint64_t syns = index_pool_in_use(t->syn_pool), tws = c->time_wait_now;
    HOLDS(syns == c->syn_records_now, "half-open records");
    HOLDS(t->table->count == live - hidden + syns + tws,
          "%llu in the table: %u blocks (%u without an entry), %llu half open, %llu in TIME-WAIT",
          (unsigned long long)t->table->count, live, hidden, (unsigned long long)syns,
          (unsigned long long)tws);
    return true;
}

// owned: a bit for each kind of entry that was seen of a block or record, by its index.
struct owned {
    uint8_t *kinds;
    uint32_t blocks, syns;
    uint64_t entries;
};

static bool check_handle(const struct tcp *t, struct owned *o, uint32_t place, uint32_t handle,
                         char *what)
{
    const enum tcp_wake kind = (enum tcp_wake)flow_index_kind(handle);
    const uint32_t ix = flow_index_ix(handle);
    HOLDS(ix < (kind == WAKE_SYN ? o->syns : o->blocks), "the wheel wakes %u, kind %u", ix, kind);
    HOLDS(!(o->kinds[ix] >> kind & 1), "block or record %u: two entries of kind %u", ix, kind);
    o->kinds[ix] |= (uint8_t)(1u << kind);
    const struct block *b = &t->blocks[ix];
    HOLDS(kind != WAKE_MOVABLE || b->wheel_movable == place + 1,
          "block %u: an entry at %u, looked for at %u", ix, place, b->wheel_movable - 1);
    HOLDS(kind != WAKE_SLOW || b->wheel_slow_ms != 0, "block %u: a slow entry forgotten", ix);
    HOLDS(kind != WAKE_XMIT || b->wheel_xmit_ms != 0, "block %u: an xmit entry forgotten", ix);
    HOLDS(kind != WAKE_SYN || t->syns[ix].wheel_ms != 0, "record %u: an entry forgotten", ix);
    return true;
}

static bool check_list(const struct tcp *t, struct owned *o, uint32_t head, char *what)
{
    const struct wheel *w = t->wheel;
    for (uint32_t at = head; at != WHEEL_EMPTY; at = w->chunks[at].next) {
        const struct wheel_chunk *c = &w->chunks[at];
        HOLDS(c->count != 0 && (at == head || c->count == WHEEL_CHUNK_HANDLES),
              "chunk %u of the wheel holds %u", at, c->count);
        for (uint32_t i = 0; i < c->count; i++)
            if (!check_handle(t, o, at, c->handle[i], what))
                return false;
        o->entries += c->count;
    }
    return true;
}

enum { ROW = 16 };  // slots; so many are looked at together

// is_empty_row: most rows are.
static bool is_empty_row(const uint32_t *slot)
{
    uint32_t all = WHEEL_EMPTY;
    for (unsigned i = 0; i < ROW; i++)
        all &= slot[i];
    return all == WHEEL_EMPTY;
}

static bool check_row(const struct tcp *t, struct owned *o, const uint32_t *slot, char *what)
{
    for (unsigned i = 0; i < ROW; i++)
        if (!check_list(t, o, slot[i], what))
            return false;
    return true;
}

static_assert(WHEEL_SLOTS % ROW == 0, "whole rows");

bool tcp_check_wheel(const struct tcp *t, uint32_t count, char what[TCP_CHECK_BYTES])
{
    const struct wheel *w = t->wheel;
    struct owned o = {calloc(MAX(count, t->syn_pool->count), 1), count, t->syn_pool->count, 0};
    bool good = o.kinds != NULL;
    for (unsigned i = 0; i < WHEEL_SLOTS && good; i += ROW)
        good = is_empty_row(&w->slot[i]) || check_row(t, &o, &w->slot[i], what);
    for (unsigned i = 0; i < WHEEL_LEVELS && good; i++)
        good = check_list(t, &o, w->draining[i], what);
    for (uint32_t ix = 0; ix < count && good; ix++)
        if (t->blocks[ix].wheel_movable != 0 && !(o.kinds[ix] >> WAKE_MOVABLE & 1))
            good = wrong(what, "block %u: the entry at %u is not there", ix,
                         t->blocks[ix].wheel_movable - 1);
    free(o.kinds);
    HOLDS(!good || o.entries == w->entries, "%llu entries in the wheel, %u counted",
          (unsigned long long)o.entries, w->entries);
    return good;
}

const char *tcp_check_leaks(const struct tcp *t)
{
    if (index_pool_in_use(t->block_pool) != 0)
        return "blocks";
    if (index_pool_in_use(t->syn_pool) != 0)
        return "half-open records";
    if (index_pool_in_use(t->ext_pool) != 0)
        return "extension records";
    if (index_pool_in_use(t->flights.small_free) + index_pool_in_use(t->flights.large_free) != 0)
        return "logs of what is in flight";
    if (t->bufs.n_free_data != t->bufs.data_count)
        return "data buffers";
    if (t->bufs.n_free_refs != t->bufs.count - t->bufs.data_count)
        return "references";
    if (t->stats->c.time_wait_now != 0)
        return "TIME-WAIT records";
    if (t->table->count != 0)
        return "entries of the flow table";
    for (unsigned i = 0; i < TCP_OOO_SOURCES; i++)
        if (t->ooo_of[i].bufs != 0 || t->ooo_of[i].oldest != 0 || t->ooo_of[i].exts != 0)
            return "sources of data out of order";
    return NULL;
}

const char *tcp_check_prefixes(const struct tcp *t)
{
    for (unsigned i = 0; t->prefixes != NULL && i < 2 * PREFIX_CELLS; i++)
        if (t->prefixes->cell[i / PREFIX_CELLS][i % PREFIX_CELLS] != 0)
            return "connections counted with their prefix";
    return NULL;
}
