// SPDX-License-Identifier: BSD-3-Clause
// Orphans: connections that their application has closed. TCP still sends the queued data and
// completes the close without the application. The behavior is Linux's: tcp_close(),
// tcp_rcv_state_process(), tcp_orphan_retries().
#include "tcp/tcp_internal.h"

bool tcp_enter_fin_wait_2(struct tcp *t, struct block *b, uint32_t ix)
{
    const uint32_t ms = tcp_sockopt_value(t, b, SOCKOPT_LINGER2);
    // RFC 1122 4.2.2.13: after closing one direction only, an application may read forever.
    if (t->services[b->service].pulls && !is_orphan(b))
        return false;
    if (ms == UINT32_MAX) {
        t->stats->c.fin_wait2_timeouts++;
        tcp_send_reset(t, b);
        tcp_end(t, b, TCP_CLOSE_ABORTED);
        return true;
    }
    b->linger_at_ms = deadline(t->now.ms, ms);
    tcp_arm_slow(t, ix);
    return false;
}

void tcp_orphan(struct tcp *t, uint32_t ix, bool unread)
{
    struct block *b = &t->blocks[ix];
    const bool over = b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT;
    b->flags &= (uint16_t) ~(BF_IN_APP | BF_WANT_WRITE);
    b->flags |= BF_PAUSED;
    b->app_timer_at_ms = 0;
    if (unread && !over && !(b->flags & BF_ABORT)) {
        t->stats->c.aborts_on_close++;
        b->flags |= BF_ABORT;
    }
    if (!over && !(b->flags & BF_ABORT))
        tcp_close(t, ix);
    if (is_orphan(b))
        t->stats->c.orphans_now++;
    if (b->state == TCP_FIN_WAIT_2)
        tcp_enter_fin_wait_2(t, b, ix);
    else
        tcp_arm_slow(t, ix);
}

// answer_reset: answers a segment after the close by a RST with the sequence number that RFC 9293
// 3.10.7.1 gives for a segment without a connection.
static void answer_reset(struct tcp *t, struct block *b, const struct seg_in *s)
{
    struct seg_out *o = tcp_out_slot(t, b->key.local_ix);
    t->stats->c.conns_reset_sent++;
    if (o == NULL)
        return;
    *o = (struct seg_out){.key = b->key, .seq = s->ack, .flags = SEG_RST};
    if (b->flags & BF_EXT)
        tcp_sockopt_ip(t, b, o);
    t->stats->c.rst_sent++;
}

bool tcp_unread_input(struct tcp *t, struct block *b, const struct seg_in *s)
{
    const bool open = b->state == TCP_FIN_WAIT_1 || b->state == TCP_FIN_WAIT_2;
    if (!open || s->data_len == 0 || !seq_lt(b->rcv_nxt, s->seq + s->data_len))
        return false;
    t->stats->c.aborts_by_app++;
    answer_reset(t, b, s);
    // If the application still has the connection, it gets ECONNRESET as on Linux.
    tcp_end(t, b, is_orphan(b) ? TCP_CLOSE_ABORTED : TCP_CLOSE_RESET);
    return true;
}

bool tcp_orphan_given_up(const struct tcp *t, const struct block *b)
{
    if (b->retries >= TCP_ORPHAN_RETRIES)
        return true;
    return (b->flags & BF_PROBE) && b->backoff >= TCP_ORPHAN_RETRIES &&
           tcp_rto_ms(t, b) >= t->cfg.rto_max_ms;
}
