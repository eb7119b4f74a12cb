// SPDX-License-Identifier: BSD-3-Clause
// The flight log: runs of data in flight.
#include "tcp/tcp_flight.h"

#include <string.h>

static uint32_t length(const struct flight *f, unsigned i)
{
    return flight_run_start(f, i + 1) - flight_run_start(f, i);
}

static uint32_t later(uint32_t a_us, uint32_t b_us)
{
    return time_before(a_us, b_us) ? b_us : a_us;
}

struct flight *flight_open(struct tcp *t, struct block *b, uint32_t sent_us)
{
    const uint32_t ix = index_pool_get(t->flights.small_free);
    if (ix == INDEX_NONE) {
        t->stats->c.flight_logs_missed++;
        return NULL;
    }
    struct flight *f = flight_at(&t->flights, ix);
    *f = (struct flight){.cap = (FLIGHT_BYTES - sizeof(*f)) / sizeof(f->run[0])};
    f->una = f->fack = b->snd_una;
    f->reo_mult = 1;
    f->since_us = sent_us;
    f->rto_at_ms = b->rto_at_ms;
    f->echo_from_16ms = (uint16_t)(b->echo_from_ms / 16);  // unused without timestamps
    if (b->snd_max != b->snd_una) {
        f->run[0] = (struct flight_run){b->snd_max, sent_us, FLIGHT_GUESS};
        f->n = 1;
    }
    b->flight = ix;
    b->has_flight = 1;
    b->flags &= (uint16_t)~BF_TIMED;
    t->stats->c.flight_logs_now++;
    return f;
}

static void give_back(struct tcp *t, uint32_t ix)
{
    if (ix & FLIGHT_LARGE) {
        index_pool_put(t->flights.large_free, ix & ~FLIGHT_LARGE);
        t->stats->c.flight_logs_large_now--;
    } else {
        index_pool_put(t->flights.small_free, ix);
        t->stats->c.flight_logs_now--;
    }
}

void tcp_flight_close(struct tcp *t, struct block *b)
{
    if (!b->has_flight)
        return;
    const uint32_t age_ms = tcp_flight_echo_age_ms(t, b);
    give_back(t, b->flight);
    b->has_flight = 0;
    b->echo_from_ms = t->now.ms - age_ms;
}

// tcp_flight_echo_age_ms: in units of 16 ms, which wrap after 17 minutes. The result is wrong for
// data that is in flight for longer.
uint32_t tcp_flight_echo_age_ms(const struct tcp *t, const struct block *b)
{
    const uint16_t ago = (uint16_t)(t->now.ms / 16 - flight_of(t, b)->echo_from_16ms);
    return ago * 16u + t->now.ms % 16;
}

void tcp_flight_echo_taken(const struct tcp *t, const struct block *b, uint32_t ms)
{
    flight_of(t, b)->echo_from_16ms = (uint16_t)((t->now.ms - ms) / 16);
}

// grow: moves the log to a large record. Returns NULL if none is free or if the log is in one.
static struct flight *grow(struct tcp *t, struct block *b)
{
    if (b->flight & FLIGHT_LARGE)
        return NULL;
    const uint32_t ix = index_pool_get(t->flights.large_free);
    if (ix == INDEX_NONE) {
        t->stats->c.flight_logs_large_missed++;
        return NULL;
    }
    const struct flight *from = flight_of(t, b);
    struct flight *f = flight_at(&t->flights, ix | FLIGHT_LARGE);
    memcpy(f, from, FLIGHT_BYTES);
    f->cap = (FLIGHT_LARGE_BYTES - sizeof(*f)) / sizeof(f->run[0]);
    give_back(t, b->flight);
    b->flight = ix | FLIGHT_LARGE;
    t->stats->c.flight_logs_large_now++;
    return f;
}

// erase: removes `count` runs from run i on. The run after them then covers their sequence numbers.
static void erase(struct flight *f, unsigned i, unsigned count)
{
    struct flight_run *r = &f->run[f->first];
    memmove(&r[i], &r[i + count], (f->n - i - count) * sizeof(*r));
    f->n = (uint16_t)(f->n - count);
}

// split: divides run i at sequence number `at`. The log must have room for one more run.
static void split(struct flight *f, unsigned i, uint32_t at)
{
    struct flight_run *r = &f->run[f->first];
    DCHECK(f->first + f->n < f->cap);
    memmove(&r[i + 1], &r[i], (f->n - i) * sizeof(*r));
    r[i].end = at;
    f->n++;
}

// alike: whether the adjacent runs a and c have the same state.
static bool alike(const struct flight_run *a, const struct flight_run *c)
{
    const uint32_t inexact = FLIGHT_GUESS | FLIGHT_COARSE;
    return ((a->flags ^ c->flags) & ~inexact) == 0;
}

// are_one: whether two runs can be merged without loss of information. The time of transmission is
// not needed for delivered or lost data.
static bool are_one(const struct flight_run *a, const struct flight_run *c)
{
    return alike(a, c) && ((a->flags & (FLIGHT_SACKED | FLIGHT_LOST)) || a->sent_us == c->sent_us);
}

// absorb: merges run c into run a, which precedes it.
static void absorb(struct flight_run *a, const struct flight_run *c)
{
    a->flags |= c->flags | (a->sent_us != c->sent_us ? FLIGHT_COARSE : 0);
    a->end = c->end;
    a->sent_us = later(a->sent_us, c->sent_us);
}

// join: merges the runs [from, to] where no information is lost.
static void join(struct flight *f, unsigned from, unsigned to)
{
    struct flight_run *r = &f->run[f->first];
    unsigned at = from;
    for (unsigned i = from + 1; i <= to && i < f->n; i++) {
        if (are_one(&r[at], &r[i]))
            absorb(&r[at], &r[i]);
        else
            r[++at] = r[i];
    }
    const unsigned last = MIN(to, f->n - 1u);
    if (at < last)
        erase(f, at + 1, last - at);
}

// merge: merges run i + 1 into run i even if information is lost. The result is SACKed only if both
// are, lost if one is, and has the later time.
static void merge(struct flight *f, unsigned i)
{
    struct flight_run *a = flight_run(f, i), *c = flight_run(f, i + 1);
    const uint32_t flags =
        ((a->flags | c->flags) & ~(uint32_t)FLIGHT_SACKED) | (a->flags & c->flags & FLIGHT_SACKED);
    for (unsigned k = i; k < i + 2; k++) {
        const uint32_t had = flight_run(f, k)->flags;
        if ((had & FLIGHT_SACKED) && !(flags & FLIGHT_SACKED)) {
            f->sacked -= length(f, k);
            f->forgotten += length(f, k);
        }
        if (!(had & FLIGHT_LOST) && (flags & FLIGHT_LOST))
            f->lost += length(f, k);
    }
    *a = (struct flight_run){c->end, later(a->sent_us, c->sent_us), flags | FLIGHT_COARSE};
    erase(f, i + 1, 1);
}

// age: the time from the first run to the last.
static uint32_t age(const struct flight *f)
{
    const struct flight_run *r = &f->run[f->first];
    uint32_t least = r[0].sent_us, most = r[0].sent_us;
    for (unsigned i = 1; i < f->n; i++) {
        least = time_before(r[i].sent_us, least) ? r[i].sent_us : least;
        most = later(most, r[i].sent_us);
    }
    return most - least;
}

// coarsen: merges adjacent runs that differ only in time, as long as a merged run covers at most
// the fraction 4 / cap of the log's time. Two adjacent remaining runs together cover more than
// that, so half of the places become free, unless lost or SACKed runs prevent merging.
static void coarsen(struct flight *f)
{
    struct flight_run *r = &f->run[f->first];
    const uint32_t most_us = (uint32_t)((uint64_t)age(f) * 4 / f->cap);
    unsigned at = 0;
    uint32_t since_us = f->since_us;  // when the first data of run `at` was sent
    for (unsigned i = 1; i < f->n; i++) {
        if (alike(&r[at], &r[i]) && r[i].sent_us - since_us <= most_us) {
            absorb(&r[at], &r[i]);
            continue;
        }
        since_us = alike(&r[at], &r[i]) ? r[at].sent_us : r[i].sent_us;
        r[++at] = r[i];
    }
    f->n = (uint16_t)(at + 1);
}

// drop_highest_sacked: clears the mark of the highest SACKed run. Recovery needs it last, and the
// peer reports it again as it grows.
static void drop_highest_sacked(struct tcp *t, struct flight *f)
{
    for (unsigned i = f->n - 1; i > 0; i--)
        if (flight_run(f, i)->flags & FLIGHT_SACKED) {
            t->stats->c.sack_forgotten++;
            merge(f, i - 1);
            return;
        }
    merge(f, f->n - 2u);
}

// make_room: NOINLINE, because it is called only if the log is full.
static NOINLINE struct flight *make_room(struct tcp *t, struct block *b, struct flight *f)
{
    memmove(&f->run[0], &f->run[f->first], f->n * sizeof(f->run[0]));
    f->first = 0;
    if (f->n > 1)
        join(f, 0, f->n - 1u);
    if (f->n + f->n / 4 + 2u <= f->cap)
        return f;
    // Without holes, take a large log only while more than half of them are free.
    const struct index_pool *p = t->flights.large_free;
    const bool grows = (f->sacked | f->lost) != 0 || p->n_free > p->count / 2;
    struct flight *larger = grows ? grow(t, b) : NULL;
    if (larger != NULL)
        return larger;
    if (f->n + 2u > f->cap)
        coarsen(f);
    while (f->n + 2u > f->cap)
        drop_highest_sacked(t, f);
    return f;
}

struct flight *flight_room(struct tcp *t, struct block *b)
{
    struct flight *f = flight_of(t, b);
    if (likely(f->first + f->n + 2u <= f->cap))
        return f;
    return make_room(t, b, f);
}

// run_at: the index of the run that contains seq, or n if seq is after all runs. A binary search,
// because the peer chooses the sequence numbers of each acknowledgment.
static unsigned run_at(const struct flight *f, uint32_t seq)
{
    const struct flight_run *run = &f->run[f->first];
    unsigned i = 0, n = f->n;
    while (n != 0) {
        const unsigned half = n / 2;
        if (seq_leq(run[i + half].end, seq)) {
            i += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return i;
}

// begins_run: whether the SACKed range r, which is within the data in flight, is adjacent to no
// range that the peer has SACKed before.
static bool begins_run(const struct flight *f, struct seq_range r)
{
    const struct flight_run *run = &f->run[f->first];
    const unsigned i = run_at(f, r.start);
    const bool before = i > 0 && run[i - 1].end == r.start && (run[i - 1].flags & FLIGHT_SACKED);
    const bool behind =
        i + 1u < f->n && seq_leq(run[i].end, r.end) && (run[i + 1].flags & FLIGHT_SACKED);
    return !before && !behind && !(run[i].flags & FLIGHT_SACKED);
}

struct flight *flight_room_for(struct tcp *t, struct block *b, struct seq_range r)
{
    struct flight *f = flight_room(t, b);
    if (likely(f->n <= f->cap - f->cap / FLIGHT_SPARED_SHARE) || !begins_run(f, r))
        return f;
    struct flight *larger = f->full ? NULL : grow(t, b);
    if (larger != NULL)
        return larger;
    if (!f->full)  // only once, because a peer could SACK single bytes and cause this each time
        coarsen(f);
    if (f->n <= f->cap - f->cap / FLIGHT_SPARED_SHARE)
        return f;
    f->full = 1;
    t->stats->c.sack_forgotten++;
    return NULL;
}

void flight_append(struct flight *f, uint32_t end, uint32_t now_us)
{
    if (f->n != 0) {
        struct flight_run *last = flight_run(f, f->n - 1u);
        if (last->flags == 0 && last->sent_us == now_us) {
            last->end = end;
            return;
        }
    }
    if (f->n == 0)
        f->since_us = now_us;
    *flight_run(f, f->n++) = (struct flight_run){end, now_us, 0};
}

void flight_again(struct flight *f, unsigned i, uint32_t n, uint32_t now_us)
{
    if (length(f, i) != n)
        split(f, i, flight_run_start(f, i) + n);
    struct flight_run *r = flight_run(f, i);
    r->flags = FLIGHT_AGAIN;
    r->sent_us = now_us;
    f->lost -= n;
    if (i > 0)
        join(f, i - 1, i);
}

void flight_last_again(struct flight *f, uint32_t from, uint32_t now_us)
{
    unsigned i = f->n - 1u;
    if (flight_run_start(f, i) != from)
        split(f, i++, from);
    *flight_run(f, i) = (struct flight_run){flight_run(f, i)->end, now_us, FLIGHT_AGAIN};
}

void flight_lose(struct flight *f, unsigned i, uint32_t most)
{
    if (length(f, i) > most)
        split(f, i, flight_run_start(f, i) + most);
    flight_run(f, i)->flags |= FLIGHT_LOST;
    f->lost += length(f, i);
}

unsigned flight_find_lost(const struct flight *f, unsigned i)
{
    while (i < f->n && !(f->run[f->first + i].flags & FLIGHT_LOST))
        i++;
    return i;
}

// leave: `bytes` of run r were delivered. Returns how many of them had not been reported as
// delivered before. A peer reports data again whose SACK mark was dropped. Without this check, PRR
// would send as much again, beyond any window.
static uint32_t leave(struct flight *f, const struct flight_run *r, uint32_t bytes)
{
    if (r->flags & FLIGHT_LOST)
        f->lost -= bytes;
    if (r->flags & FLIGHT_SACKED)
        f->sacked -= bytes;
    if (r->flags & FLIGHT_SACKED)
        return 0;
    const uint32_t before = MIN(bytes, f->forgotten);
    f->forgotten -= before;
    return bytes - before;
}

uint32_t flight_pop(struct tcp *t, struct block *b, struct flight *f, uint32_t una)
{
    uint32_t fresh = 0;
    bool again = false;
    f->full = 0;
    while (f->n != 0 && seq_lt(f->una, una)) {
        const struct flight_run r = *flight_run(f, 0);
        const uint32_t end = seq_lt(una, r.end) ? una : r.end, bytes = end - f->una;
        if (!(r.flags & FLIGHT_SACKED))
            rack_delivered(t, b, f, &r, end, end == r.end);
        fresh += leave(f, &r, bytes);
        again |= (r.flags & (FLIGHT_AGAIN | FLIGHT_SACKED)) == FLIGHT_AGAIN;
        f->una = end;
        if (end != r.end)
            break;
        f->since_us = r.sent_us;
        f->first++;
        f->n--;
    }
    if (f->n == 0)
        f->first = 0;
    if (again)  // Karn's rule, RFC 6298 3
        f->rtt_us = 0;
    return fresh;
}

uint32_t flight_sack(struct tcp *t, struct block *b, struct flight *f, struct seq_range r)
{
    uint32_t fresh = 0;
    bool changed = false;
    unsigned i = run_at(f, r.start);
    const unsigned from = i;
    for (; i < f->n && seq_lt(flight_run_start(f, i), r.end); i++) {
        if (flight_run(f, i)->flags & FLIGHT_SACKED)
            continue;
        if (seq_lt(flight_run_start(f, i), r.start))
            split(f, i++, r.start);
        const bool whole = !seq_lt(r.end, flight_run(f, i)->end);
        if (!whole)
            split(f, i, r.end);
        struct flight_run *is = flight_run(f, i);
        const uint32_t bytes = length(f, i);
        rack_delivered(t, b, f, is, is->end, whole);
        fresh += leave(f, is, bytes);
        f->sacked += bytes;
        is->flags = FLIGHT_SACKED;
        changed = true;
    }
    if (changed)
        join(f, from == 0 ? 0 : from - 1, i);
    return fresh;
}

void flight_forgive(struct flight *f)
{
    for (unsigned i = 0; i < f->n; i++)
        flight_run(f, i)->flags &= ~(uint32_t)FLIGHT_LOST;
    f->lost = 0;
}

void flight_renege(struct flight *f)
{
    for (unsigned i = 0; i < f->n; i++)
        flight_run(f, i)->flags = (flight_run(f, i)->flags & FLIGHT_AGAIN) | FLIGHT_LOST;
    f->sacked = 0;
    f->lost = flight_run_start(f, f->n) - f->una;
    if (f->n > 1)
        join(f, 0, f->n - 1u);
}
