// SPDX-License-Identifier: BSD-3-Clause
// The out-of-order queue of one connection (runs and pages), and the allocation of extension
// records.
#include "tcp/tcp_ooo.h"

#include <string.h>

#include "tcp/tcp_sack.h"

bool tcp_ext_plenty(const struct tcp *t)
{
    return t->ext_pool->n_free > t->ext_pool->count / TCP_EXT_PLENTY_SHARE;
}

// get_ext: allocates a record if more than `spared` are free. share: one source gets at most its
// share of the records.
static struct ext *get_ext(struct tcp *t, struct block *b, uint32_t spared, bool share,
                           uint64_t *missed)
{
    if (b->flags & BF_EXT)
        return &t->exts[b->ext];
    struct index_pool *p = t->ext_pool;
    const uint16_t source = tcp_source_place(t, &b->key.remote);
    struct ooo_holders *of = &t->ooo_of[source];
    const bool over =
        share && !tcp_ext_plenty(t) && of->exts >= MAX(p->count / TCP_EXT_SOURCE_SHARE, 1u);
    if (p->n_free <= spared || over) {
        ++*missed;
        return NULL;
    }
    const uint32_t ix = index_pool_get(p);
    t->stats->c.ext_records_now++;
    of->exts++;
    t->exts[ix] = (struct ext){.ooo_head = BUF_NONE, .hold.source = source};
    b->ext = ix;
    b->flags |= BF_EXT;
    return &t->exts[ix];
}

struct ext *tcp_ext_get(struct tcp *t, struct block *b)
{
    return get_ext(t, b, 0, true, &t->stats->c.ext_records_missed);
}

struct ext *tcp_ext_get_spared(struct tcp *t, struct block *b, uint64_t *missed)
{
    return get_ext(t, b, t->ext_pool->count / TCP_EXT_SPARED_SHARE, true, missed);
}

struct ext *tcp_ext_get_own(struct tcp *t, struct block *b)
{
    return get_ext(t, b, t->ext_pool->count / TCP_EXT_SPARED_SHARE, false,
                   &t->stats->c.ext_records_missed);
}

void tcp_ext_release(struct tcp *t, struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    if (e->recovery != RECOVERY_NONE || e->n_sacked != 0 || e->has_fin || e->ooo_head != BUF_NONE ||
        (e->cc.flags & CC_LIVE) || (e->sockopts.set | e->sockopts.soft_error) != 0)
        return;
    index_pool_put(t->ext_pool, b->ext);
    t->ooo_of[e->hold.source].exts--;
    t->stats->c.ext_records_now--;
    b->ext = EXT_NONE;
    b->flags &= (uint16_t)~BF_EXT;
}

// where: the position of a segment among the runs: it touches or overlaps runs[lo] to runs[hi - 1].
struct where {
    const struct ooo_run *runs;
    unsigned n, lo, hi;
    uint32_t seq, end;
};

// first_run: the index of the first run that ends at or after seq.
static unsigned first_run(const struct ooo_run *runs, unsigned n, uint32_t seq)
{
    unsigned lo = 0;
    while (n != 0) {
        const unsigned half = n / 2;
        if (seq_lt(runs[lo + half].end, seq)) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

static struct where find(const struct tcp *t, const struct ext *e, uint32_t seq, uint32_t end)
{
    struct where w = {.seq = seq, .end = end};
    if (e->ooo_head == BUF_NONE)
        return w;
    w.runs = ooo_runs(&t->bufs, e);
    w.n = e->ooo_runs;
    w.lo = w.hi = first_run(w.runs, w.n, seq);
    while (w.hi < w.n && seq_leq(w.runs[w.hi].start, end))
        w.hi++;
    return w;
}

// first_held: the first range of the segment that is stored already.
static struct seq_range first_held(const struct where *w)
{
    for (unsigned i = w->lo; i < w->hi; i++) {
        const struct ooo_run *r = &w->runs[i];
        const uint32_t from = seq_lt(r->start, w->seq) ? w->seq : r->start;
        const uint32_t to = seq_lt(w->end, r->end) ? w->end : r->end;
        if (seq_lt(from, to))
            return (struct seq_range){from, to};
    }
    return (struct seq_range){w->seq, w->seq};
}

// gaps: iterates over the ranges of a segment that are missing. i: the first run above the current
// gap. before: the last page below it.
struct gaps {
    const struct where *w;
    unsigned i;
    uint32_t at, before;
};

static struct gaps gaps_of(const struct where *w)
{
    return (struct gaps){w, w->lo, w->seq, w->lo != 0 ? w->runs[w->lo - 1].last : BUF_NONE};
}

static bool next_gap(struct gaps *g, struct seq_range *gap)
{
    const struct where *w = g->w;
    while (seq_lt(g->at, w->end)) {
        const struct ooo_run *r = g->i < w->hi ? &w->runs[g->i] : NULL;
        const uint32_t to = r != NULL && seq_lt(r->start, w->end) ? r->start : w->end;
        if (seq_lt(g->at, to)) {
            *gap = (struct seq_range){g->at, to};
            g->at = to;
            return true;
        }
        g->at = r->end;
        g->before = r->last;
        g->i++;
    }
    return false;
}

// missing_pages: how many pages the gaps of the segment need.
static uint32_t missing_pages(const struct buf *bufs, const struct where *w)
{
    struct gaps g = gaps_of(w);
    struct seq_range gap;
    uint32_t need = 0;
    while (next_gap(&g, &gap)) {
        const uint32_t from = ooo_page(gap.start), to = ooo_page(gap.end - 1);
        const bool first_is = g.before != BUF_NONE && bufs[g.before].seq == from;
        const bool last_is = g.i < w->n && ooo_page(w->runs[g.i].start) == to;
        const uint32_t pages = (to - from) / BUF_BYTES + 1;
        need += pages - MIN(pages, (uint32_t)first_is + last_is);
    }
    return need;
}

// page_at: the page that begins at sequence number `page`. It is allocated, after page `before`, if
// it does not exist. before BUF_NONE: it is the first page.
static uint32_t page_at(struct tcp *t, struct ext *e, uint32_t before, uint32_t page)
{
    struct buf *bufs = t->bufs.bufs;
    if (before != BUF_NONE && bufs[before].seq == page)
        return before;
    const uint32_t next = before == BUF_NONE ? e->ooo_head : bufs[before].next;
    if (next != BUF_NONE && bufs[next].seq == page)
        return next;
    const uint32_t ix = buf_get(&t->bufs);
    CHECK(ix != BUF_NONE);  // ooo_room() has made sure that a buffer is free
    bufs[ix].seq = page;
    bufs[ix].next = next;
    if (before == BUF_NONE)
        e->ooo_head = ix;
    else
        bufs[before].next = ix;
    ooo_charge(t, e, 1);
    return ix;
}

// write_gap: writes one gap. Returns the last page that it wrote to.
static uint32_t write_gap(struct tcp *t, struct ext *e, uint32_t before, struct seq_range gap,
                          const uint8_t *data)
{
    while (gap.start != gap.end) {
        const uint32_t off = gap.start % BUF_BYTES;
        const uint32_t n = MIN(gap.end - gap.start, BUF_BYTES - off);
        before = page_at(t, e, before, gap.start - off);
        memcpy(buf_room(&t->bufs, before) + off, data, n);
        gap.start += n;
        data += n;
    }
    return before;
}

// join: merges the segment and the runs that it touches into one run.
static struct seq_range join(struct ext *e, struct ooo_run *runs, const struct where *w,
                             uint32_t last)
{
    struct ooo_run r = {w->seq, w->end, last};
    if (w->lo != w->hi) {
        const struct ooo_run *first = &runs[w->lo], *end = &runs[w->hi - 1];
        r.start = seq_lt(first->start, w->seq) ? first->start : w->seq;
        if (seq_leq(w->end, end->end)) {
            r.end = end->end;
            r.last = end->last;
        }
    }
    if (w->hi != w->lo + 1)
        memmove(&runs[w->lo + 1], &runs[w->hi], (w->n - w->hi) * sizeof(*runs));
    runs[w->lo] = r;
    e->ooo_runs = (uint16_t)(w->n + 1 - (w->hi - w->lo));
    return (struct seq_range){r.start, r.end};
}

// keep: writes the segment's gaps. Returns the run that then contains the segment.
static struct seq_range keep(struct tcp *t, struct ext *e, const struct where *w,
                             const uint8_t *data)
{
    struct gaps g = gaps_of(w);
    struct seq_range gap;
    uint32_t last = BUF_NONE;
    while (next_gap(&g, &gap))
        last = write_gap(t, e, g.before, gap, data + (gap.start - w->seq));
    return join(e, ooo_runs(&t->bufs, e), w, last);
}

bool tcp_ooo_insert(struct tcp *t, struct block *b, uint32_t seq, const uint8_t *data, uint32_t len,
                    enum drop_reason *drop, struct seq_range *dup)
{
    struct ext *e = tcp_ext_get(t, b);
    *dup = (struct seq_range){seq, seq};
    *drop = DROP_ext_pool_empty;
    if (e == NULL)
        return false;
    const struct where w = find(t, e, seq, seq + len);
    *dup = first_held(&w);
    if (dup->start == seq && dup->end == seq + len) {
        const struct ooo_run *r = &w.runs[dup->start == w.runs[w.lo].end ? w.lo + 1 : w.lo];
        *drop = DROP_tcp_duplicate;
        tcp_sack_held(e, (struct seq_range){r->start, r->end});
        return false;
    }
    *drop = DROP_tcp_ooo_runs;
    if (w.lo == w.hi && w.n == OOO_RUNS_MAX)
        return false;
    *drop = DROP_tcp_ooo_limit;
    if (!ooo_room(t, b, e, missing_pages(t->bufs.bufs, &w) + (w.n == 0))) {
        tcp_ext_release(t, b);
        return false;
    }
    if (w.n == 0)
        ooo_begin(t, b, e);
    const struct seq_range run = keep(t, e, &w, data);
    t->stats->c.out_of_order_queued++;
    t->stats->c.ooo_merged += dup->start != dup->end;
    tcp_sack_held(e, run);
    return true;
}

struct seq_range tcp_ooo_again(const struct tcp *t, const struct block *b, uint32_t end)
{
    const struct ext *e = &t->exts[b->ext];
    if (e->ooo_head == BUF_NONE)
        return (struct seq_range){end, end};
    const struct ooo_run *first = ooo_runs(&t->bufs, e);
    if (!seq_lt(first->start, end))
        return (struct seq_range){end, end};
    return (struct seq_range){first->start, seq_lt(end, first->end) ? end : first->end};
}

// part: run n begins in the page in which run n - 1 ends, and that page will be delivered. Run n
// gets a copy of the page, or the part of the run in that page is dropped if no buffer is free. The
// reserve of buffers for in-order data is not used. Returns the first run that stays.
static unsigned part(struct tcp *t, struct ext *e, struct ooo_run *runs, unsigned n)
{
    struct buf_pool *p = &t->bufs;
    const uint32_t shared = runs[n - 1].last;
    const uint32_t page = p->bufs[shared].seq;
    unsigned stays = n;
    if (ooo_page(runs[n].start) != page)
        return n;
    if (p->n_free_data > TCP_BUFS_RESERVE) {
        const uint32_t ix = buf_get(p), off = runs[n].start % BUF_BYTES;
        memcpy(buf_room(p, ix) + off, buf_room(p, shared) + off, BUF_BYTES - off);
        p->bufs[ix].seq = page;
        p->bufs[ix].next = p->bufs[shared].next;
        p->bufs[shared].next = ix;
        for (; stays < e->ooo_runs && runs[stays].last == shared; stays++)
            runs[stays].last = ix;
        ooo_charge(t, e, 1);
        return n;
    }
    while (stays < e->ooo_runs && ooo_page(runs[stays].start) == page)
        stays++;
    const bool any = stays < e->ooo_runs;
    tcp_sack_dropped(e, (struct seq_range){runs[n].start, runs[stays - 1].end});
    t->stats->c.ooo_pruned += stays - n;
    p->bufs[shared].next =
        ooo_free_pages(t, e, p->bufs[shared].next, any, any ? ooo_page(runs[stays].start) : 0);
    return stays;
}

// deliver: delivers the pages from `ix` to `last`, which are in order up to `end`. Advances
// rcv_nxt.
static uint32_t deliver(struct tcp *t, struct block *b, struct ext *e, uint32_t ix, uint32_t last,
                        uint32_t end)
{
    struct buf *bufs = t->bufs.bufs;
    const uint32_t head = ix;
    for (int32_t n = 1;; n++, ix = bufs[ix].next) {
        struct buf *f = &bufs[ix];
        const uint32_t off = b->rcv_nxt - f->seq;
        f->at = buf_room(&t->bufs, ix) + off;
        f->len = MIN(end - f->seq, (uint32_t)BUF_BYTES) - off;
        b->rcv_nxt += f->len;
        if (ix == last) {
            f->next = BUF_NONE;
            ooo_charge(t, e, -n);
            return head;
        }
    }
}

uint32_t tcp_ooo_merge(struct tcp *t, struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    struct buf *bufs = t->bufs.bufs;
    const uint32_t held = e->ooo_head != BUF_NONE ? e->ooo_bufs : 0;
    uint32_t chain = BUF_NONE;
    struct ooo_run *runs = e->ooo_head != BUF_NONE ? ooo_runs(&t->bufs, e) : NULL;
    unsigned n = 0;
    while (runs != NULL && n < e->ooo_runs && !seq_lt(b->rcv_nxt, runs[n].start))
        n++;
    if (n != 0) {
        const struct ooo_run in_order = runs[n - 1];
        const bool some = seq_lt(b->rcv_nxt, in_order.end);
        const unsigned stays = n == e->ooo_runs ? n : some ? part(t, e, runs, n) : n;
        const unsigned left = e->ooo_runs - stays;
        e->ooo_head = ooo_free_pages(t, e, e->ooo_head, some || left != 0,
                                     some        ? ooo_page(b->rcv_nxt)
                                     : left != 0 ? ooo_page(runs[stays].start)
                                                 : 0);
        if (some) {
            const uint32_t rest = bufs[in_order.last].next;
            chain = deliver(t, b, e, e->ooo_head, in_order.last, in_order.end);
            e->ooo_head = rest;
        }
        memmove(runs, &runs[stays], left * sizeof(*runs));
        e->ooo_runs = (uint16_t)left;
        tcp_sack_merged(e, b->rcv_nxt);
        if (left == 0)
            ooo_end(t, e);
        else if (e->ooo_bufs < held)  // delivered pages are progress, single bytes are not
            ooo_refresh(t, e);
    }
    tcp_ext_release(t, b);
    return chain;
}

void tcp_ooo_drop(struct tcp *t, struct ext *e)
{
    if (e->ooo_head == BUF_NONE)
        return;
    e->ooo_head = ooo_free_pages(t, e, e->ooo_head, false, 0);
    e->n_held = 0;
    ooo_end(t, e);
}
