// SPDX-License-Identifier: BSD-3-Clause
#include "worker/hand.h"

struct list {
    uint32_t blocks, n;
    uint32_t *out;
};

static void add(struct list *l, uint32_t ix)
{
    if (ix < l->blocks && l->n < HAND_MAX)
        l->out[l->n++] = ix;
}

static void add_burst(struct list *l, const struct worker *w)
{
    const uint32_t n = MIN(w->rx.n_segs, (uint32_t)BURST_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (flow_index_kind(w->found[i]) == FLOW_BLOCK)
            add(l, flow_index_ix(w->found[i]));
        if (w->verdicts[i].events != 0)
            add(l, w->verdicts[i].block);
    }
}

static void add_touched(struct list *l, const struct worker *w)
{
    add(l, w->tcp.touched);
    if (w->tcp.pruned != 0)
        add(l, w->tcp.pruned - 1);
    for (unsigned i = 0; i < MIN(w->sock.n_others, (unsigned)C10M_OTHERS_MAX); i++)
        add(l, w->sock.others[i].ix);
}

unsigned hand_list(const struct worker *w, uint32_t blocks, uint32_t out[HAND_MAX])
{
    struct list l = {.blocks = blocks, .out = out};
    const uint32_t at = shared_u32_load(&w->at);
    add_touched(&l, w);
    if (at == STAGE_tcp_input || at == STAGE_app)
        add_burst(&l, w);
    return l.n;
}
