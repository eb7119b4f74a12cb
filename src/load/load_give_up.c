// SPDX-License-Identifier: BSD-3-Clause
// Clients without patience: what is not answered within give_up_ms after it was due is given up. A
// server under overload is judged by what it does in time, and must not work for those who left.
#include <stdlib.h>

#include "load/load_internal.h"

static uint64_t patience_ns(const struct load *l)
{
    return UINT64_C(1000000) * l->p.give_up_ms;
}

// Connections are due at distinct times 1 / rate apart, and none begins when it is late already, so
// that this many at most are younger than give_up_ms.
int load_give_up_init(struct load *l)
{
    struct load_full *f = &l->full;
    if (l->p.give_up_ms == 0 || l->p.tuples == 0)
        return 0;
    f->begun_slots = (uint32_t)((uint64_t)l->p.rate * l->p.give_up_ms / 1000) + 2;
    f->begun = calloc(f->begun_slots, sizeof(f->begun[0]));
    return f->begun == NULL ? -1 : 0;
}

bool load_give_up_room(const struct load *l)
{
    return l->full.begun == NULL || l->full.begun_n < l->full.begun_slots;
}

void load_give_up_note(struct load *l, uint32_t i, uint64_t since_ns)
{
    struct load_full *f = &l->full;
    if (f->begun == NULL)
        return;
    const uint64_t at = ((uint64_t)f->begun_first + f->begun_n++) % f->begun_slots;
    f->begun[at] = (struct load_begun){since_ns, i};
}

void load_give_up_late(struct load *l)
{
    struct load_full *f = &l->full;
    while (f->begun_n != 0) {
        const struct load_begun *b = &f->begun[f->begun_first];
        const struct load_conn *c = &l->conns[b->conn];
        if (l->now_ns - b->since_ns < patience_ns(l))
            break;
        const bool mine = c->sent_ns == (b->since_ns & LOAD_NS_MASK);
        if (mine && (c->state == LOAD_OPENING || c->state == LOAD_ASKED)) {
            if (l->n_out == LOAD_OUT_MAX)
                break;  // its RST would be lost
            load_abandon(l, b->conn);
        }
        f->begun_first = f->begun_first + 1 == f->begun_slots ? 0 : f->begun_first + 1;
        f->begun_n--;
    }
}

void load_give_up_rest(struct load *l)
{
    if (l->p.give_up_ms == 0 || l->now_ns - l->stopped_ns <= patience_ns(l))
        return;
    for (uint32_t i = 0; i < l->held && l->n_out < LOAD_OUT_MAX; i++)
        if (l->conns[i].state == LOAD_ASKED)
            load_abandon(l, i);
}

void load_in_time(struct load *l, uint64_t since_ns)
{
    const uint64_t ns = (l->now_ns - since_ns) & LOAD_NS_MASK;
    l->c.in_time += l->p.give_up_ms != 0 && ns <= patience_ns(l);
}
