// What the receiver reports: runs of out-of-order data, and duplicates.
#include <string.h>

#include "tcp/tcp_sack.h"
#include "wire/proto.h"

// run_at: the run of queued data that seq lies in; empty: none.
static struct seq_range run_at(const struct tcp *t, const struct ext *e, uint32_t seq)
{
    const struct buf *bufs = t->bufs.bufs;
    struct seq_range run = {seq, seq};
    for (uint32_t ix = e->ooo_head; ix != BUF_NONE; ix = bufs[ix].next) {
        const struct buf *f = &bufs[ix];
        if (ix == e->ooo_head || f->seq != run.end) {
            if (seq_lt(seq, f->seq))
                break;
            run.start = f->seq;
        }
        run.end = f->seq + f->len;
    }
    return seq_lt(seq, run.end) ? run : (struct seq_range){seq, seq};
}

void tcp_sack_held(const struct tcp *t, struct ext *e, uint32_t seq)
{
    const struct seq_range run = run_at(t, e, seq);
    struct seq_range list[EXT_HELD_MAX] = {run};
    unsigned n = 1;
    if (run.start == run.end)
        return;
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
