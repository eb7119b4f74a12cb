#include "tcp_check.h"

#include <stdarg.h>
#include <stdio.h>

#include "tcp/tcp_fast_open.h"

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
    HOLDS(((b->flags & BF_TROUBLE) != 0) == (b->ext != EXT_NONE),
          "block %u: trouble, and no record", ix);
    return true;
}

static bool check_window(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const struct ext_own *own = tcp_own(t, b);
    if (own != NULL && (own->set & (1u << OWN_RCV_LIMIT | 1u << OWN_WINDOW_CLAMP)) != 0)
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

static bool check_timers(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const char *state = tcp_state_name(b->state);
    if (b->state == TCP_TIME_WAIT || (b->flags & BF_DIRTY))
        return true;
    HOLDS(b->snd_una == b->snd_max || b->rto_at_ms != 0,
          "block %u %s: bytes in flight and no timer", ix, state);
    // One that is overdue, for what it was due for found no room, comes out at the next tick.
    const uint32_t next_ms = t->now.ms + 1;
    const uint32_t due_ms = time_before(b->rto_at_ms, next_ms) ? next_ms : b->rto_at_ms;
    HOLDS(b->rto_at_ms == 0 || (tcp_near_runs(t, ix) && b->wheel_near_ms != 0 &&
                                !time_before(due_ms, b->wheel_near_ms)),
          "block %u %s: a timer that the wheel does not know: %d ms away, %s, the wheel wakes in "
          "%d ms",
          ix, state, (int)(b->rto_at_ms - t->now.ms),
          tcp_near_runs(t, ix) ? "running" : "not running", (int)(b->wheel_near_ms - t->now.ms));
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

// Is r a whole run of the queue that begins at buffer ix: no more and no less?
static bool is_run(const struct buf *bufs, uint32_t ix, struct seq_range r)
{
    uint32_t end = bufs[ix].seq;
    if (end != r.start)
        return false;
    for (; ix != BUF_NONE && bufs[ix].seq == end; ix = bufs[ix].next)
        end = bufs[ix].seq + bufs[ix].len;
    return end == r.end;
}

// The out-of-order queue, and what is reported of it.
static bool check_ooo(const struct tcp *t, const struct block *b, uint32_t ix, char *what)
{
    const struct ext *e = &t->exts[b->ext];
    const struct buf *bufs = t->bufs.bufs;
    uint32_t at = b->rcv_nxt, last = BUF_NONE;
    unsigned runs = 0;
    for (uint32_t i = e->ooo_head; i != BUF_NONE; last = i, i = bufs[i].next) {
        HOLDS(seq_leq(at, bufs[i].seq) && bufs[i].len != 0,
              "block %u: out-of-order data out of order", ix);
        for (unsigned k = 0; k < e->n_held && (last == BUF_NONE || at != bufs[i].seq); k++)
            runs += is_run(bufs, i, e->held[k]);
        at = bufs[i].seq + bufs[i].len;
        HOLDS(seq_leq(at, b->rcv_adv), "block %u: data kept beyond the window", ix);
    }
    HOLDS(last == BUF_NONE || last == e->ooo_tail, "block %u: the queue's tail is another", ix);
    HOLDS(runs == e->n_held, "block %u: %u of %u reported runs are whole ones", ix, runs,
          e->n_held);
    return true;
}

// The buffers of a block are in order, and hold what its numbers say.
static bool check_queues(const struct tcp *t, uint32_t ix, struct held *all, char *what)
{
    const struct block *b = &t->blocks[ix];
    const struct buf *bufs = t->bufs.bufs;
    struct held sent = {0}, queued = {0}, ooo = {0};
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
        if (!count_chain(t, t->exts[b->ext].ooo_head, &ooo, what))
            return false;
    }
    all->bufs += sent.bufs + queued.bufs + ooo.bufs;
    all->refs += sent.refs;
    return true;
}

bool tcp_check_pools(const struct tcp *t, uint32_t count, char what[TCP_CHECK_BYTES])
{
    const struct core_counters *c = &t->stats->c;
    struct held all = {0};
    uint32_t exts = 0, orphans = 0, small = 0, large = 0, live = 0, established = 0, v6 = 0,
             of[TCP_SERVICES_MAX] = {0}, pending[TCP_SERVICES_MAX] = {0};
    for (uint32_t ix = 0; ix < count; ix++) {
        const struct block *b = &t->blocks[ix];
        if (b->state == TCP_FREE)
            continue;
        live++;
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
    HOLDS(t->table->count == live + syns + tws,
          "%llu in the table: %u blocks, %llu half open, %llu in TIME-WAIT",
          (unsigned long long)t->table->count, live, (unsigned long long)syns,
          (unsigned long long)tws);
    return true;
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
    return t->table->count != 0 ? "entries of the flow table" : NULL;
}
