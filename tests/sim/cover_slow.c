// tcp_slow.c as it is, with the kind of every segment counted that leaves the straight path.
#define tcp_slow stack_slow
#include "tcp/tcp_slow.c"
#undef tcp_slow
#include "cover.h"

void tcp_slow(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
              struct tcp_verdict *v);
void tcp_slow(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
              struct tcp_verdict *v)
{
    const struct block *b = &t->blocks[ix];
    const struct cover_view view = {b->rcv_nxt, b->rcv_adv, b->snd_una, b->snd_max};
    sim_cover.kind[b->state][cover_kind(&view, s)]++;
    stack_slow(t, ix, s, data, v);
}
