#include "tcp/tcp_cc.h"

#include "tcp/tcp_ecn.h"

// RFC 5681 3.1: slow start and congestion avoidance, by bytes (RFC 3465, L = 2).
void tcp_cc_acked(struct tcp *t, struct block *b, uint32_t acked, uint32_t rtt_us)
{
    (void)t;
    (void)rtt_us;
    if (b->cwnd < b->ssthresh)
        b->cwnd += MIN(acked, 2u * b->mss);
    else
        b->cwnd += MAX((uint32_t)((uint64_t)b->mss * MIN(acked, (uint32_t)b->mss) / b->cwnd), 1u);
    b->cwnd = MIN(b->cwnd, (uint32_t)TCP_WINDOW_MAX);
}

// The connection's record, or one that it gets. NULL: what is left of them is for losses, which
// need one more.
static struct ext_cc *record(struct tcp *t, struct block *b)
{
    if (b->flags & BF_TROUBLE)
        return &t->exts[b->ext].cc;
    if (t->ext_pool->n_free <= t->ext_pool->count / TCP_CC_SPARED_SHARE) {
        t->stats->c.cc_records_missed++;
        return NULL;
    }
    return &tcp_ext_get(t, b)->cc;
}

// What was before a congestion event.
static void keep_prior(struct tcp *t, struct block *b)
{
    struct ext_cc *c = record(t, b);
    if (c == NULL)
        return;
    c->prior_cwnd = b->cwnd;
    c->prior_ssthresh = b->ssthresh;
}

uint32_t tcp_cc_ssthresh(struct tcp *t, struct block *b, uint32_t flight)
{
    const bool already = tcp_ecn_reduced_already(b);
    if (b->agreed & BA_ECN)
        b->agreed = (uint8_t)((b->agreed | BA_CWR) & ~BA_REDUCED);
    if (already)
        return b->ssthresh;
    keep_prior(t, b);
    b->ssthresh = MAX(flight / 2, 2u * b->mss);
    return b->ssthresh;
}

void tcp_cc_ecn(struct tcp *t, struct block *b)
{
    (void)t;
    b->ssthresh = MAX(b->cwnd / 2, 2u * b->mss);
    b->cwnd = MIN(b->cwnd, b->ssthresh);
}

void tcp_cc_timeout(struct tcp *t, struct block *b, bool fresh)
{
    if (fresh)
        tcp_cc_ssthresh(t, b, b->snd_max - b->snd_una);
    b->cwnd = b->mss;
}

bool tcp_cc_undo(struct tcp *t, struct block *b)
{
    struct ext_cc *c = b->flags & BF_TROUBLE ? &t->exts[b->ext].cc : NULL;
    if (c == NULL || c->prior_cwnd == 0)
        return false;
    b->cwnd = MAX(b->cwnd, c->prior_cwnd);
    b->ssthresh = MAX(b->ssthresh, c->prior_ssthresh);
    c->prior_cwnd = 0;
    return true;
}

// RFC 5681 4.1: who has sent nothing for an RTO begins anew with the initial window: no
// ACKs are on their way to pace more than that. The time is that of the segment timed last, or with
// timestamps, where none is timed, of the last burst: lone segments do not say that the path still
// takes bursts (RFC 7661 3). It counts 71 minutes round: one moment of them is taken for another.
void tcp_cc_restart(const struct tcp *t, struct block *b)
{
    const uint32_t initial = t->cfg.initial_window * b->mss;
    const uint32_t idle_us = (uint32_t)t->now.us - b->rtt_us;
    if (b->cwnd > initial && idle_us / 1000 > tcp_rto_ms(t, b))
        b->cwnd = initial;
}

void tcp_cc_rested(struct tcp *t, struct block *b)
{
    if (b->flags & BF_TROUBLE) {
        t->exts[b->ext].cc.prior_cwnd = 0;
        tcp_ext_release(t, b);
    }
}
