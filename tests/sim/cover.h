// SPDX-License-Identifier: BSD-3-Clause
// cover.h: what kind of segment it is, seen from one state.
#pragma once
#include "sim.h"

struct cover_view {
    uint32_t rcv_nxt, rcv_adv, snd_una, snd_max;
};

static inline enum sim_kind cover_reset(const struct cover_view *c, const struct seg_in *s)
{
    if (s->seq == c->rcv_nxt)
        return KIND_RST_EXACT;
    return s->seq - c->rcv_nxt < c->rcv_adv - c->rcv_nxt ? KIND_RST_NEAR : KIND_RST_FAR;
}

static inline enum sim_kind cover_data(const struct cover_view *c, const struct seg_in *s)
{
    const uint32_t end = s->seq + s->data_len;
    if (s->seq == c->rcv_nxt)
        return KIND_DATA_NEXT;
    if (!seq_lt(s->seq, c->rcv_nxt))
        return seq_lt(s->seq, c->rcv_adv) ? KIND_DATA_AHEAD : KIND_DATA_BEYOND;
    return seq_lt(c->rcv_nxt, end) ? KIND_DATA_OVERLAP : KIND_DATA_OLD;
}

static inline enum sim_kind cover_ack(const struct cover_view *c, const struct seg_in *s)
{
    if (seq_lt(c->snd_max, s->ack))
        return KIND_ACK_UNSENT;
    if (s->ack == c->snd_una)
        return KIND_ACK_SAME;
    return seq_lt(s->ack, c->snd_una) ? KIND_ACK_OLD : KIND_ACK_NEW;
}

static inline enum sim_kind cover_kind(const struct cover_view *c, const struct seg_in *s)
{
    if (s->flags & SEG_RST)
        return cover_reset(c, s);
    if (s->flags & SEG_SYN)
        return s->flags & SEG_ACK ? KIND_SYN_ACK : KIND_SYN;
    if (!(s->flags & SEG_ACK))
        return KIND_NO_ACK;
    if (s->flags & SEG_FIN) {
        const uint32_t fin = s->seq + s->data_len;
        return fin == c->rcv_nxt         ? KIND_FIN_NEXT
               : seq_lt(fin, c->rcv_nxt) ? KIND_FIN_OLD
                                         : KIND_FIN_AHEAD;
    }
    return s->data_len != 0 ? cover_data(c, s) : cover_ack(c, s);
}
