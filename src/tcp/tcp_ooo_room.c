// SPDX-License-Identifier: BSD-3-Clause
// Which connections hold out-of-order data, how much, and which of them must give it up for others.
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sack.h"

static uint32_t name_of(const struct tcp *t, const struct ext *e)
{
    return (uint32_t)(e - t->exts) + 1;
}

static struct ooo_holders *source_holders(struct tcp *t, const struct ext *e)
{
    return &t->ooo_of[e->hold.source];
}

static_assert((TCP_OOO_SOURCES & (TCP_OOO_SOURCES - 1)) == 0 && TCP_OOO_SOURCES <= 1 << 16,
              "the sources are the leaves of a complete binary tree, with 16-bit numbers");

// contest: the number of buffers of `source` has changed: updates the nodes above it in the
// tournament tree, 12 for 4,096 sources.
static void contest(struct tcp *t, uint32_t source)
{
    uint16_t *most = t->ooo_most;
    for (uint32_t span = 2; span <= TCP_OOO_SOURCES; span *= 2) {
        const uint32_t node = (TCP_OOO_SOURCES + source) / span, below = source & ~(span - 1);
        const uint32_t a = span == 2 ? 0 : most[2 * node];
        const uint32_t b = span / 2 + (span == 2 ? 0 : most[2 * node + 1]);
        most[node] = (uint16_t)(t->ooo_of[below + a].bufs >= t->ooo_of[below + b].bufs ? a : b);
    }
}

void ooo_charge(struct tcp *t, struct ext *e, int32_t bufs)
{
    e->ooo_bufs += (uint32_t)bufs;
    source_holders(t, e)->bufs += (uint32_t)bufs;
    contest(t, e->hold.source);
    t->ooo_bufs += (uint32_t)bufs;
    t->stats->c.ooo_buffers_now = t->ooo_bufs;
}

// link_last: appends e to the list as the youngest.
static void link_last(struct tcp *t, struct ext *e)
{
    struct ooo_holders *s = source_holders(t, e);
    const uint32_t name = name_of(t, e);
    e->hold.older = s->youngest;
    e->hold.younger = 0;
    *(s->youngest != 0 ? &t->exts[s->youngest - 1].hold.younger : &s->oldest) = name;
    s->youngest = name;
}

static void unlink_holder(struct tcp *t, const struct ext *e)
{
    struct ooo_holders *s = source_holders(t, e);
    const struct ext_hold *h = &e->hold;
    *(h->older != 0 ? &t->exts[h->older - 1].hold.younger : &s->oldest) = h->younger;
    *(h->younger != 0 ? &t->exts[h->younger - 1].hold.older : &s->youngest) = h->older;
}

void ooo_refresh(struct tcp *t, struct ext *e)
{
    unlink_holder(t, e);
    link_last(t, e);
}

void ooo_begin(struct tcp *t, const struct block *b, struct ext *e)
{
    e->ooo_table = buf_get(&t->bufs);
    CHECK(e->ooo_table != BUF_NONE);  // ooo_room() has made sure that a buffer is free
    e->ooo_runs = 0;
    e->ooo_bufs = 0;
    e->hold.block = (uint32_t)(b - t->blocks);
    link_last(t, e);
    ooo_charge(t, e, 1);
}

void ooo_adopt(struct tcp *t, const struct block *b, struct ext *e)
{
    const uint32_t bufs = e->ooo_bufs;
    e->hold.block = (uint32_t)(b - t->blocks);
    link_last(t, e);
    e->ooo_bufs = 0;
    ooo_charge(t, e, (int32_t)bufs);
}

void ooo_end(struct tcp *t, struct ext *e)
{
    DCHECK(e->ooo_head == BUF_NONE && e->ooo_bufs == 1);
    ooo_charge(t, e, -1);
    buf_put(&t->bufs, e->ooo_table);
    unlink_holder(t, e);
    e->ooo_runs = 0;
}

uint32_t ooo_free_pages(struct tcp *t, struct ext *e, uint32_t ix, bool has_end, uint32_t seq)
{
    const struct buf *bufs = t->bufs.bufs;
    int32_t n = 0;
    while (ix != BUF_NONE && (!has_end || seq_lt(bufs[ix].seq, seq))) {
        const uint32_t next = bufs[ix].next;
        buf_put(&t->bufs, ix);
        ix = next;
        n++;
    }
    ooo_charge(t, e, -n);
    return ix;
}

// note_pruned: as tcp_touch().
static void note_pruned(struct tcp *t, uint32_t name)
{
    __asm__ volatile("movl %1, %0" : "=m"(t->pruned) : "ri"(name) : "memory");
}

// prune_pages: frees the last page of the holder, all runs that end in that page, and the other
// pages of those runs. It frees at least one page, because no remaining run ends in the last page.
static void prune_pages(struct tcp *t, struct ext *e)
{
    const struct ooo_run *runs = ooo_runs(&t->bufs, e);
    const unsigned had = e->ooo_runs;
    const uint32_t page = runs[had - 1].last;
    unsigned n = had;
    while (n != 0 && runs[n - 1].last == page)
        n--;
    t->stats->c.ooo_pruned += had - n;
    if (n == 0) {
        tcp_ooo_drop(t, e);
        tcp_ext_release(t, &t->blocks[e->hold.block]);
        return;
    }
    tcp_sack_dropped(e, (struct seq_range){runs[n].start, runs[had - 1].end});
    struct buf *last = &t->bufs.bufs[runs[n - 1].last];
    last->next = ooo_free_pages(t, e, last->next, false, 0);
    e->ooo_runs = (uint16_t)n;
}

// prune: of a connection that this turn may have nothing else to do with.
static void prune(struct tcp *t, uint32_t name)
{
    struct ext *e = &t->exts[name - 1];
    note_pruned(t, e->hold.block + 1);
    prune_pages(t, e);
    note_pruned(t, 0);
}

bool ooo_room(struct tcp *t, const struct block *b, struct ext *e, uint32_t need)
{
    const uint32_t count = t->bufs.data_count;
    const bool holds = e->ooo_head != BUF_NONE;
    if ((holds ? e->ooo_bufs : 0) + need > count / OOO_CONN_SHARE + OOO_CONN_MORE)
        return false;
    const struct ooo_holders *s = source_holders(t, e);
    for (unsigned i = 0; i < OOO_PRUNES_MAX; i++) {
        uint32_t oldest = 0;
        if (s->bufs + need > count / OOO_SOURCE_SHARE)
            oldest = s->oldest;
        else if (t->ooo_bufs + need > count / OOO_ALL_SHARE || tcp_bufs_scarce(t, need))
            oldest = t->ooo_of[ooo_heaviest(t)].oldest;
        else
            return true;
        if (oldest == 0 || oldest == name_of(t, e))
            return false;
        prune(t, oldest);
    }
    return false;
}

void tcp_ooo_relieve(struct tcp *t)
{
    for (unsigned i = 0; i < TCP_OOO_RELIEVE_MAX && t->ooo_bufs != 0 && tcp_bufs_scarce(t, 0); i++)
        prune(t, t->ooo_of[ooo_heaviest(t)].oldest);
}
