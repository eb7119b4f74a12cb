// SPDX-License-Identifier: BSD-3-Clause
// The scoreboard of RFC 6675. It stores ranges, not single octets.
#include <string.h>

#include "tcp/tcp_sack.h"

static uint32_t length(struct seq_range r)
{
    return r.end - r.start;
}

// total: the sum of all ranges.
static uint32_t total(const struct ext *e)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < e->n_sacked; i++)
        n += length(e->sacked[i]);
    return n;
}

uint32_t sack_add(struct ext *e, struct seq_range r, bool *forgot)
{
    unsigned from = 0;
    while (from < e->n_sacked && seq_lt(e->sacked[from].end, r.start))
        from++;
    unsigned to = from;  // [from, to): the ranges that r touches
    uint32_t known = 0;
    for (; to < e->n_sacked && seq_leq(e->sacked[to].start, r.end); to++) {
        known += length(e->sacked[to]);
        if (seq_lt(e->sacked[to].start, r.start))
            r.start = e->sacked[to].start;
        if (seq_lt(r.end, e->sacked[to].end))
            r.end = e->sacked[to].end;
    }
    const uint32_t fresh = length(r) - known;
    *forgot = from == to && e->n_sacked == EXT_SACKED_MAX;
    if (*forgot) {
        if (from == EXT_SACKED_MAX)
            return fresh;
        e->n_sacked--;
    }
    memmove(&e->sacked[from + 1], &e->sacked[to],
            (e->n_sacked - MIN(to, (unsigned)e->n_sacked)) * sizeof(r));
    e->sacked[from] = r;
    e->n_sacked = (uint8_t)(e->n_sacked + 1 - (to - from));
    return fresh;
}

bool sack_pop(struct ext *e, uint32_t una)
{
    unsigned n = 0;
    while (n < e->n_sacked && seq_leq(e->sacked[n].end, una))
        n++;
    if (n < e->n_sacked && seq_leq(e->sacked[n].start, una))
        return true;
    e->n_sacked = (uint8_t)(e->n_sacked - n);
    memmove(&e->sacked[0], &e->sacked[n], e->n_sacked * sizeof(e->sacked[0]));
    return false;
}

uint32_t sack_below(const struct ext *e, uint32_t seq)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < e->n_sacked && seq_lt(e->sacked[i].start, seq); i++)
        n += length(e->sacked[i]) - (seq_lt(seq, e->sacked[i].end) ? e->sacked[i].end - seq : 0);
    return n;
}

// is_lost: RFC 6675 4, for the gap below range i. above: how many bytes above the gap are SACKed.
static bool is_lost(const struct ext *e, unsigned i, uint32_t above, uint32_t mss)
{
    return e->n_sacked - i >= TCP_DUPACKS || above > (TCP_DUPACKS - 1) * mss;
}

bool sack_gap(const struct ext *e, uint32_t una, uint32_t seq, uint32_t mss, struct seq_range *gap,
              bool *lost)
{
    uint32_t above = total(e), from = una;
    for (unsigned i = 0; i < e->n_sacked; i++) {
        if (seq_lt(seq, e->sacked[i].start)) {
            *gap = (struct seq_range){seq_lt(from, seq) ? seq : from, e->sacked[i].start};
            *lost = is_lost(e, i, above, mss);
            return true;
        }
        above -= length(e->sacked[i]);
        from = e->sacked[i].end;
    }
    return false;
}

uint32_t sack_pipe(const struct ext *e, uint32_t una, uint32_t max, uint32_t mss)
{
    uint32_t pipe = 0, above = total(e), from = una;
    for (unsigned i = 0; i <= e->n_sacked; i++) {
        const bool last = i == e->n_sacked;
        const struct seq_range gap = {from, last ? max : e->sacked[i].start};
        if (last || !is_lost(e, i, above, mss))
            pipe += length(gap);
        if (seq_lt(gap.start, e->high_rxt))
            pipe += MIN(length(gap), e->high_rxt - gap.start);
        if (last)
            break;
        above -= length(e->sacked[i]);
        from = e->sacked[i].end;
    }
    return pipe;
}

struct seq_range sack_last_gap(const struct ext *e, uint32_t una, uint32_t max)
{
    struct seq_range gap = {una, max};
    for (unsigned i = e->n_sacked; i-- > 0;) {
        gap.start = e->sacked[i].end;
        if (gap.start != gap.end)
            return gap;
        gap = (struct seq_range){una, e->sacked[i].start};
    }
    return gap;
}
