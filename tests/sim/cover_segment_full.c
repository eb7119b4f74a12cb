// SPDX-License-Identifier: BSD-3-Clause
// tcp_segment_full.c, with a count of the kinds of segments that leave the fast path.
#define tcp_segment_full stack_segment_full
#include "tcp/tcp_segment_full.c"
#undef tcp_segment_full
#include "cover.h"

// What one segment may do, whatever else is true of the connection.
static void check_slow(const struct block *b, enum tcp_state was, enum sim_kind kind,
                       const struct cover_view *view, const struct seg_in *s)
{
    SIM_CHECK(b->snd_una == view->snd_una || (s->flags & SEG_RST) || b->snd_una == s->ack,
              "a segment that acknowledges %u took snd_una to %u", s->ack, b->snd_una);
    if (was == TCP_SYN_SENT)
        return;
    SIM_CHECK(!((s->flags & SEG_RST) && b->state == TCP_CLOSED) || kind == KIND_RST_EXACT,
              "a RST that is not at rcv_nxt ended a connection (RFC 5961 3.2)");
    const bool nobody_reads = is_orphan(b) && seq_lt(view->rcv_nxt, s->seq + s->data_len);
    SIM_CHECK((s->flags & SEG_RST) || b->state != TCP_CLOSED || b->close_why == C10M_CLOSED ||
                  nobody_reads,
              "a segment without RST ended a connection (RFC 5961 4.2)");
    SIM_CHECK(b->rcv_nxt == view->rcv_nxt ||
                  (seq_leq(s->seq, view->rcv_nxt) && !(s->flags & (SEG_RST | SEG_SYN))),
              "a segment that does not begin there moved rcv_nxt");
}

void tcp_segment_full(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                      struct tcp_verdict *v);
void tcp_segment_full(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                      struct tcp_verdict *v)
{
    const struct block *b = &t->blocks[ix];
    const struct cover_view view = {b->rcv_nxt, b->rcv_adv, b->snd_una, b->snd_max};
    const enum sim_kind kind = cover_kind(&view, s);
    const enum tcp_state state = b->state;
    sim_cover.kind[state][kind]++;
    stack_segment_full(t, ix, s, data, v);
    if (state != TCP_CLOSED)
        check_slow(b, state, kind, &view, s);
}
