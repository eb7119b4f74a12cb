// SPDX-License-Identifier: BSD-3-Clause
// Quick acknowledgements: a lone segment is acknowledged at once while its sender may be in slow
// start, which every acknowledgement opens: at the begin of a connection, and after an idle time.
// The choices are Linux's (tcp_enter_quickack_mode, tcp_event_data_recv). Asked only when an
// acknowledgement would be delayed, that is, when nothing was sent to carry it.
#include "tcp/tcp_internal.h"

enum {
    QUICK_MAX = 16,
    QUICK_MIN = 2,
    QUICK_LATE = 128,  // the last delayed acknowledgement found nothing to ride on
};

// Half of the window's worth of segments, for after it each second one is acknowledged.
uint8_t tcp_quick_ack_credit(const struct tcp *t, const struct block *b)
{
    if (!t->cfg.quick_ack)
        return 0;
    const uint32_t wnd = b->rcv_adv - b->rcv_nxt;
    if (likely(wnd >= QUICK_MAX * 2u * b->mss))
        return QUICK_MAX;
    return (uint8_t)MAX(wnd / (2u * b->mss), (uint32_t)QUICK_MIN);
}

void tcp_quick_ack_now(struct tcp *t, uint32_t ix, bool quick)
{
    struct block *b = &t->blocks[ix];
    b->quick = quick ? QUICK_LATE | QUICK_MAX : 0;  // also of one that answers with data
    if (!quick)
        return;
    if (b->flags & BF_ACK_DELAYED) {
        b->flags |= BF_ACK_NOW;
        tcp_dirty(t, ix);
    }
    b->flags &= (uint16_t)~BF_DELACK_ARMED;
    b->delack_at_ms = deadline(t->now.ms, 0);
}

void tcp_quick_ack_late(struct block *b)
{
    b->quick |= QUICK_LATE;
}

// recover is our initial number until the first loss.
static bool has_sent_data(const struct block *b)
{
    return b->snd_max - b->recover != 1;
}

bool tcp_quick_ack(const struct tcp *t, struct block *b)
{
    const bool late = (b->quick & QUICK_LATE) != 0;
    // Who answers with data carries acknowledgements there (Linux: pingpong mode), unless the last
    // answer came too late for that.
    if (late && t->now.ms - b->delack_at_ms > tcp_rto_ms(t, b))
        b->quick = QUICK_LATE | tcp_quick_ack_credit(t, b);
    else if (!late && has_sent_data(b))
        b->quick = 0;
    if ((b->quick & ~QUICK_LATE) == 0) {
        b->quick = 0;
        return false;
    }
    b->quick--;
    b->delack_at_ms = deadline(t->now.ms, 0);
    return true;
}
