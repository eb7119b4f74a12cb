// SPDX-License-Identifier: BSD-3-Clause
// The SACK blocks that we report: runs of out-of-order data, and duplicates (DSACK).
#include <string.h>

#include "tcp/tcp_sack.h"
#include "wire/proto.h"

void tcp_sack_held(struct ext *e, struct seq_range run)
{
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

void tcp_sack_dropped(struct ext *e, struct seq_range r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_held; i++)
        if (seq_lt(e->held[i].start, r.start) || !seq_lt(e->held[i].start, r.end))
            e->held[n++] = e->held[i];
    e->n_held = (uint8_t)n;
}

void tcp_sack_put(const struct tcp *t, const struct block *b, struct seg_out *o,
                  struct seq_range dup, uint32_t room)
{
    const struct ext *e = b->flags & BF_EXT ? &t->exts[b->ext] : NULL;
    const unsigned used = o->opts & SEG_OPT_TS ? 4 + TCP_TS_BYTES : 4;
    const unsigned most = (MIN(room, (uint32_t)TCP_OPTIONS_MAX) - MIN(room, 4u)) / 8;
    const unsigned max = MIN(most, (TCP_OPTIONS_MAX - used) / 8);
    struct seq_range *to = t->sacks_out[o - t->out];
    unsigned n = 0;
    if (!(b->agreed & BA_SACK))
        return;
    if (dup.start != dup.end)  // only in an acknowledgment without data, which has room
        to[n++] = dup;
    for (unsigned i = 0; e != NULL && i < e->n_held && n < max; i++) {
        to[n] = e->held[i];
        to[n++].end += e->has_fin && e->held[i].end == e->fin_seq;  // the FIN has a number as well
    }
    if (n == 0)
        return;
    o->opts |= SEG_OPT_SACK;
    o->n_sack = (uint8_t)n;
    o->sack = to;
}
