// SPDX-License-Identifier: BSD-3-Clause
// Loss recovery without SACK: fast retransmit (RFC 5681 3.2) and NewReno (RFC 6582).
#include "tcp/tcp_cc.h"
#include "tcp/tcp_internal.h"

// begin_recovery: RFC 5681 3.2, step 2. Without an extension record the oldest segment is
// retransmitted, and the retransmission timer repairs further losses. With SACK no record is taken
// here, because that recovery needs a scoreboard.
static void begin_recovery(struct tcp *t, struct block *b, uint32_t ix)
{
    struct ext *e = b->agreed & BA_SACK ? NULL : tcp_ext_get(t, b);
    // RFC 5681 3.2, step 2: without the segments that limited transmit sent beyond the window.
    b->cwnd = tcp_cc_ssthresh(t, b, MIN(b->snd_max - b->snd_una, b->cwnd));
    b->recover = b->snd_max;
    if (e != NULL) {
        e->recovery = RECOVERY_NEWRENO;
        b->cwnd += TCP_DUPACKS * b->mss;
    }
    tcp_undo_begin(t, b, false);
    t->stats->c.fast_retransmits++;
    tcp_retransmit_head(t, ix);
}

void tcp_duplicate_ack(struct tcp *t, struct block *b, uint32_t ix)
{
    if (tcp_undo_duplicate(t, b)) {
        tcp_dirty(t, ix);
        return;
    }
    if (b->dupacks < DUPACKS_MAX)
        b->dupacks++;
    const struct ext *e = b->flags & BF_EXT ? &t->exts[b->ext] : NULL;
    if (e != NULL && e->recovery == RECOVERY_NEWRENO) {
        // Bound the inflation: no more than the data in flight can have left the network.
        b->cwnd = MIN(b->cwnd + b->mss, b->ssthresh + (b->recover - b->snd_una));
    } else if (b->dupacks == TCP_DUPACKS && !tcp_before_recover(b)) {
        begin_recovery(t, b, ix);
    }
    tcp_dirty(t, ix);
}

void tcp_newreno_ack(struct tcp *t, struct block *b, uint32_t ix, uint32_t ack, uint32_t acked)
{
    struct ext *e = &t->exts[b->ext];
    if (!seq_lt(ack, b->recover)) {
        b->cwnd = MIN(b->ssthresh, MAX(tcp_flight(b), (uint32_t)b->mss) + b->mss);
        e->recovery = RECOVERY_NONE;
        tcp_ext_release(t, b);
        return;
    }
    b->cwnd = (b->cwnd > acked ? b->cwnd - acked : 0) + b->mss;
    tcp_retransmit_head(t, ix);
}
