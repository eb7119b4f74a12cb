// SPDX-License-Identifier: BSD-3-Clause
// tcp_time_wait.c as it is, with the kinds of segments counted for its records.
#define tcp_time_wait_input stack_time_wait_input
#include "tcp/tcp_time_wait.c"
#undef tcp_time_wait_input
#include "cover.h"

void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v);
void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v)
{
    const struct time_wait *w = time_wait_at(ring_of(t, handle), flow_index_ix(handle));
    const struct cover_view view = {w->rcv_nxt, w->rcv_nxt + w->wnd, w->snd_nxt, w->snd_nxt};
    sim_cover.kind[COVER_TW_RECORD][cover_kind(&view, s)]++;
    stack_time_wait_input(t, handle, s, v);
}
