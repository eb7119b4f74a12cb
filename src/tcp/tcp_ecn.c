// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_ecn.h"

#include "tcp/tcp_cc.h"

void tcp_ecn_answered(const struct tcp *t, struct block *b, const struct seg_in *s, bool answer)
{
    const uint8_t flags = s->flags & (SEG_ECE | SEG_CWR);
    if (answer ? flags != SEG_ECE : !tcp_ecn_asked(t, s))
        b->agreed &= (uint8_t)~BA_ECN;
}

uint8_t tcp_ecn_syn(const struct tcp *t, struct block *b)
{
    if (b->state == TCP_SYN_RECEIVED)
        return b->agreed & BA_ECN ? SEG_ECE : 0;
    if (t->cfg.ecn != TCP_ECN_ON || b->snd_max != b->snd_una) {
        b->agreed &= (uint8_t)~BA_ECN;
        return 0;
    }
    b->agreed |= BA_ECN;
    return SEG_ECE | SEG_CWR;
}

void tcp_ecn_received(struct tcp *t, struct block *b, const struct seg_in *s)
{
    t->stats->c.ecn_ect0_received += s->ecn == ECN_ECT0;
    t->stats->c.ecn_ect1_received += s->ecn == ECN_ECT1;
    t->stats->c.ecn_ce_received += s->ecn == ECN_CE;
    if (!(b->agreed & BA_ECN))
        return;
    if (s->flags & SEG_CWR) {
        b->agreed &= (uint8_t)~BA_ECE;
        b->flags |= BF_ACK_NOW;  // as Linux: the peer's window may be one segment now
    }
    if (s->ecn == ECN_CE) {
        if (!(b->agreed & BA_ECE))
            b->flags |= BF_ACK_NOW;
        b->agreed |= BA_ECE;
    }
}

void tcp_ecn_echoed(struct tcp *t, struct block *b, uint32_t ack, uint32_t cwnd_before)
{
    if (!(b->agreed & BA_ECN))
        return;
    if (!tcp_recovering(t, b))
        b->cwnd = MIN(b->cwnd, cwnd_before);
    if (b->recover - ack <= b->snd_max - ack)
        return;  // cwnd was already reduced for this flight, by ECN or by a loss
    tcp_cc_ecn(t, b);
    b->recover = b->snd_max;
    b->agreed |= BA_CWR | BA_REDUCED;
    t->stats->c.ecn_echo_received++;
}
