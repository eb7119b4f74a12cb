// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_log.h"

#include <stdlib.h>
#include <string.h>

enum { ROUND_RECORDS = TRACE_CHUNK_RECORDS / 4 };

struct trace_log *trace_log_new(const struct trace_about *about, struct trace_ring *const *rings,
                                enum trace_full full, uint64_t bytes_max)
{
    struct trace_log *l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    CHECK(about->n_cores <= TRACE_CORES_MAX);
    l->about = *about;
    l->full = full;
    l->bytes_max = bytes_max;
    for (unsigned i = 0; i < about->n_cores; i++) {
        l->cores[i].ring = rings[i];
        l->cores[i].last_tsc = about->start_tsc;
        if (rings[i] == NULL)
            continue;
        l->cores[i].taken = shared_u64_load(&rings[i]->n);
        trace_ask_levels(rings[i]);
        trace_ask(rings[i]);
    }
    return l;
}

static void keep_levels(struct trace_log_core *c, const struct trace_chunk *gone)
{
    for (unsigned i = 0; i < gone->n; i++)
        if (gone->at[i].kind == TRACE_pool && gone->at[i].small < TRACE_POOLS)
            c->levels[gone->at[i].small] = gone->at[i];
}

// time_of: the first time in the chunk; it has one, since a turn without a time is bounded.
static uint64_t time_of(const struct trace_chunk *chunk)
{
    for (unsigned i = 0; i < chunk->n; i++)
        if (trace_is_timed(&chunk->at[i]))
            return chunk->at[i].when;
    return 0;
}

// throw_oldest: frees the oldest of the cores' first chunks; false: no core has two.
static bool throw_oldest(struct trace_log *l)
{
    struct trace_log_core *oldest = NULL;
    for (unsigned i = 0; i < l->about.n_cores; i++) {
        struct trace_log_core *c = &l->cores[i];
        if (c->first != c->last && (oldest == NULL || time_of(c->first) < time_of(oldest->first)))
            oldest = c;
    }
    if (oldest == NULL)
        return false;
    struct trace_chunk *gone = oldest->first;
    oldest->first = gone->next;
    oldest->thrown += gone->n;
    keep_levels(oldest, gone);
    free(gone);
    l->bytes -= sizeof(*gone);
    return true;
}

// room: the chunk of c with room for a record; NULL: there is no memory.
static struct trace_chunk *room(struct trace_log *l, struct trace_log_core *c)
{
    if (c->last != NULL && c->last->n < TRACE_CHUNK_RECORDS)
        return c->last;
    const bool fits = l->bytes + sizeof(struct trace_chunk) <= l->bytes_max;
    if (!fits && (l->full == TRACE_KEEP_FIRST || !throw_oldest(l)))
        return NULL;
    struct trace_chunk *new = malloc(sizeof(*new));
    if (new == NULL)
        return NULL;
    new->next = NULL;
    new->n = 0;
    if (c->last == NULL)
        c->first = new;
    else
        c->last->next = new;
    c->last = new;
    l->bytes += sizeof(*new);
    return new;
}

// lose: so many of c's next records are not in the log.
static void lose(struct trace_log_core *c, uint64_t n)
{
    c->lost += n;
    c->gap += n;
}

// mark_gap: if to's last `got` records follow a gap, a record without a kind says so.
static void mark_gap(struct trace_log_core *c, struct trace_chunk *to, unsigned got)
{
    if (c->gap == 0)
        return;
    struct trace_record *first = &to->at[to->n - got];
    memmove(first + 1, first, got * sizeof(*first));
    *first = (struct trace_record){.kind = TRACE_KINDS,
                                   .id = (uint32_t)MIN(c->gap, (uint64_t)UINT32_MAX)};
    to->n++;
    c->gap = 0;
}

// skip: there is no room for what the ring has.
static void skip(struct trace_log_core *c)
{
    const uint64_t n = shared_u64_load_acquire(&c->ring->n);
    lose(c, n - c->taken);
    c->taken = n;
}

// note_time: the last `got` records of `in` are new.
static void note_time(struct trace_log_core *c, const struct trace_chunk *in, unsigned got)
{
    for (unsigned i = 0; i < got; i++) {
        const struct trace_record *r = &in->at[in->n - 1 - i];
        if (trace_is_timed(r)) {
            c->last_tsc = r->when;
            return;
        }
    }
}

// collect_some: false: there is no room.
static bool collect_some(struct trace_log *l, struct trace_log_core *c, uint64_t max)
{
    uint64_t lost = 0;
    struct trace_chunk *to = room(l, c);
    if (to == NULL)
        return false;
    const unsigned fits = (unsigned)MIN(max, (uint64_t)(TRACE_CHUNK_RECORDS - to->n));
    const unsigned got = trace_take(c->ring, &c->taken, &to->at[to->n], fits, &lost);
    to->n += got;
    lose(c, lost);
    note_time(c, to, got);
    mark_gap(c, to, got);
    return true;
}

static void release(struct trace_log *l)
{
    for (unsigned i = 0; i < l->about.n_cores; i++) {
        if (l->cores[i].ring != NULL)
            trace_release(l->cores[i].ring);
        l->cores[i].ring = NULL;
    }
}

// end: the cores of which the log lacks records that were written before to[] have all until the
// last one that is in it; the others have more.
static void end(struct trace_log *l, const uint64_t *to)
{
    l->ended = true;
    l->end_tsc = UINT64_MAX;
    for (unsigned i = 0; i < l->about.n_cores; i++)
        if (l->cores[i].ring != NULL && l->cores[i].taken < to[i])
            l->end_tsc = MIN(l->end_tsc, l->cores[i].last_tsc);
    release(l);
}

// collect_round: some records of each core, up to number to[]. False: there are no more.
static bool collect_round(struct trace_log *l, const uint64_t *to)
{
    bool more = false;
    for (unsigned i = 0; i < l->about.n_cores; i++) {
        struct trace_log_core *c = &l->cores[i];
        if (c->ring == NULL || c->taken >= to[i])
            continue;
        if (!collect_some(l, c, MIN(to[i] - c->taken, (uint64_t)ROUND_RECORDS))) {
            if (l->full == TRACE_KEEP_FIRST) {
                end(l, to);
                return false;
            }
            skip(c);
        }
        more |= c->taken < to[i];
    }
    return more;
}

// collect: what the rings have now, but of each not more than max.
static void collect(struct trace_log *l, uint64_t max)
{
    uint64_t to[TRACE_CORES_MAX];
    for (unsigned i = 0; i < l->about.n_cores; i++) {
        const struct trace_log_core *c = &l->cores[i];
        const uint64_t n = c->ring == NULL ? 0 : shared_u64_load_acquire(&c->ring->n);
        to[i] = n - c->taken > max ? c->taken + max : n;
    }
    while (collect_round(l, to))
        ;
}

void trace_log_collect(struct trace_log *l)
{
    if (!l->ended)
        collect(l, TRACE_COLLECT_RECORDS);
}

void trace_log_stop(struct trace_log *l)
{
    if (!l->ended)
        collect(l, UINT64_MAX);
    release(l);
}

void trace_log_free(struct trace_log *l)
{
    if (l == NULL)
        return;
    trace_log_stop(l);
    for (unsigned i = 0; i < l->about.n_cores; i++) {
        while (l->cores[i].first != NULL) {
            struct trace_chunk *next = l->cores[i].first->next;
            free(l->cores[i].first);
            l->cores[i].first = next;
        }
    }
    free(l);
}

uint64_t trace_log_lost(const struct trace_log *l)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->about.n_cores; i++)
        sum += l->cores[i].lost;
    return sum;
}

bool trace_log_put(struct trace_log *l, unsigned core, const struct trace_record *r)
{
    struct trace_chunk *to = room(l, &l->cores[core]);
    if (to == NULL) {
        lose(&l->cores[core], 1);
        return false;
    }
    to->at[to->n++] = *r;
    mark_gap(&l->cores[core], to, 1);
    return true;
}
