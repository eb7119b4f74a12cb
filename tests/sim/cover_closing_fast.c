// SPDX-License-Identifier: BSD-3-Clause
// tcp_closing_fast.c as it is, with the kind of every segment counted that takes the fast path.
#define tcp_closing_fast stack_closing_fast
#include "tcp/tcp_closing_fast.c"
#undef tcp_closing_fast
#include "cover.h"

bool tcp_closing_fast(struct tcp *t, uint32_t ix, const struct seg_in *s, struct tcp_verdict *v);
bool tcp_closing_fast(struct tcp *t, uint32_t ix, const struct seg_in *s, struct tcp_verdict *v)
{
    const struct block *b = &t->blocks[ix];
    const struct cover_view view = {b->rcv_nxt, b->rcv_adv, b->snd_una, b->snd_max};
    const enum sim_kind kind = cover_kind(&view, s);
    const enum tcp_state state = b->state;
    if (!stack_closing_fast(t, ix, s, v))
        return false;
    sim_cover.kind[state][kind]++;
    SIM_CHECK(b->snd_una == s->ack, "a fast end left snd_una at %u", b->snd_una);
    SIM_CHECK(b->rcv_nxt - view.rcv_nxt == ((s->flags & SEG_FIN) != 0),
              "a fast end moved rcv_nxt by %u", b->rcv_nxt - view.rcv_nxt);
    return true;
}
