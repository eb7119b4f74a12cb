// SPDX-License-Identifier: BSD-3-Clause
// Quick ACKs: a single segment is acknowledged at once while its sender may be in slow start, which
// each acknowledgment advances. That is at the start of a connection and after idle time. The
// rules are Linux's (tcp_enter_quickack_mode, tcp_event_data_recv). These functions are called only
// if an acknowledgment would be delayed because no data carries it.
#include "tcp/tcp_internal.h"

enum {
    QUICKACK_MAX = 16,
    QUICKACK_MIN = 2,
    QUICKACK_LATE = 128,  // no data was sent while the last acknowledgment was delayed
};

// tcp_quick_ack_credit: enough ACKs for half of the window. From then on every second segment is
// acknowledged anyway.
uint8_t tcp_quick_ack_credit(const struct tcp *t, const struct block *b)
{
    if (!t->cfg.quick_ack)
        return 0;
    const uint32_t wnd = b->rcv_adv - b->rcv_nxt;
    if (likely(wnd >= QUICKACK_MAX * 2u * b->mss))
        return QUICKACK_MAX;
    return (uint8_t)MAX(wnd / (2u * b->mss), (uint32_t)QUICKACK_MIN);
}

void tcp_quick_ack_now(struct tcp *t, uint32_t ix, bool quick)
{
    struct block *b = &t->blocks[ix];
    b->quickack_left =
        quick ? QUICKACK_LATE | QUICKACK_MAX : 0;  // LATE: even if the application sends data
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
    b->quickack_left |= QUICKACK_LATE;
}

// has_sent_data: until the first loss, b->recover is our initial sequence number.
static bool has_sent_data(const struct block *b)
{
    return b->snd_max - b->recover != 1;
}

bool tcp_quick_ack(const struct tcp *t, struct block *b)
{
    const bool late = (b->quickack_left & QUICKACK_LATE) != 0;
    // An application that answers with data sends acknowledgments in that data (pingpong mode in
    // Linux), unless its last answer came too late for that.
    if (late && t->now.ms - b->delack_at_ms > tcp_rto_ms(t, b))
        b->quickack_left = QUICKACK_LATE | tcp_quick_ack_credit(t, b);
    else if (!late && has_sent_data(b))
        b->quickack_left = 0;
    if ((b->quickack_left & ~QUICKACK_LATE) == 0) {
        b->quickack_left = 0;
        return false;
    }
    b->quickack_left--;
    b->delack_at_ms = deadline(t->now.ms, 0);
    return true;
}
