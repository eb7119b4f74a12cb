// What the receiver reports: runs of out-of-order data, and duplicates.
#include <string.h>

#include "tcp/tcp_sack.h"
#include "wire/proto.h"

// What is reported is whole runs: one that seq lies in or that ends there; NULL: none.
static const struct seq_range *reported(const struct ext *e, uint32_t seq)
{
    for (unsigned i = 0; i < e->n_held; i++)
        if (seq_leq(e->held[i].start, seq) && seq_leq(seq, e->held[i].end))
            return &e->held[i];
    return NULL;
}

// Where the run begins that buffer ix lies in: found from the head of the queue.
static uint32_t start_of(const struct buf *bufs, uint32_t head, uint32_t ix)
{
    uint32_t start = bufs[head].seq, end = start;
    for (uint32_t i = head;; i = bufs[i].next) {
        if (bufs[i].seq != end)
            start = bufs[i].seq;
        if (i == ix)
            return start;
        end = bufs[i].seq + bufs[i].len;
    }
}

// Where it ends.
static uint32_t end_of(const struct buf *bufs, const struct ext *e, uint32_t ix)
{
    uint32_t end = bufs[ix].seq + bufs[ix].len;
    for (uint32_t i = bufs[ix].next; i != BUF_NONE && bufs[i].seq == end; i = bufs[i].next) {
        for (unsigned k = 0; k < e->n_held; k++)
            if (e->held[k].start == end)
                return e->held[k].end;
        end = bufs[i].seq + bufs[i].len;
    }
    return end;
}

static struct seq_range run_of(const struct tcp *t, const struct ext *e, uint32_t ix, bool joins)
{
    const struct buf *bufs = t->bufs.bufs;
    const uint32_t seq = bufs[ix].seq;
    const struct seq_range *known = joins ? reported(e, seq) : NULL;
    if (known != NULL && seq_lt(seq, known->end))
        return *known;
    const uint32_t start = !joins          ? seq
                           : known != NULL ? known->start
                                           : start_of(bufs, e->ooo_head, ix);
    return (struct seq_range){start, end_of(bufs, e, ix)};
}

void tcp_sack_held(const struct tcp *t, struct ext *e, uint32_t ix, bool joins)
{
    const struct seq_range run = run_of(t, e, ix, joins);
    struct seq_range list[EXT_HELD_MAX] = {run};
    unsigned n = 1;
    for (unsigned i = 0; i < e->n_held && n < EXT_HELD_MAX; i++)
        if (seq_lt(e->held[i].start, run.start) || seq_lt(run.end, e->held[i].end))
            list[n++] = e->held[i];
    memcpy(e->held, list, sizeof(list));
    e->n_held = (uint8_t)n;
}

void tcp_sack_merged(struct ext *e, uint32_t rcv_nxt)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_held; i++)
        if (seq_lt(rcv_nxt, e->held[i].start))
            e->held[n++] = e->held[i];
    e->n_held = (uint8_t)n;
}

void tcp_sack_put(const struct tcp *t, const struct block *b, struct seg_out *o,
                  struct seq_range dup, uint32_t room)
{
    const struct ext *e = b->flags & BF_TROUBLE ? &t->exts[b->ext] : NULL;
    const unsigned used = o->opts & SEG_OPT_TS ? 4 + TCP_TS_BYTES : 4;
    const unsigned most = (MIN(room, (uint32_t)TCP_OPTIONS_MAX) - MIN(room, 4u)) / 8;
    const unsigned max = MIN(most, (TCP_OPTIONS_MAX - used) / 8);
    struct seq_range *to = t->sacks_out[o - t->out];
    unsigned n = 0;
    if (!(b->agreed & BA_SACK))
        return;
    if (dup.start != dup.end && n < max)
        to[n++] = dup;
    for (unsigned i = 0; e != NULL && i < e->n_held && n < max; i++) {
        to[n] = e->held[i];
        to[n++].end += e->has_fin && e->held[i].end == e->fin_seq;  // it takes a number as well
    }
    if (n == 0)
        return;
    o->opts |= SEG_OPT_SACK;
    o->n_sack = (uint8_t)n;
    o->sack = to;
}
