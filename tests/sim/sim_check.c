// SPDX-License-Identifier: BSD-3-Clause
// What must hold after every turn, and what must be left at the end: nothing.
#include "sim.h"
#include "tcp/tcp_ooo.h"

enum { ALL_TURNS = 256 };

// Does p hold the bytes from start to end, in order or not?
static bool has_range(const struct tcp *t, const struct block *p, struct seq_range r)
{
    uint32_t at = seq_lt(r.start, p->rcv_nxt) ? p->rcv_nxt : r.start;
    const struct ext *e = p->ext != EXT_NONE ? &t->exts[p->ext] : NULL;
    if (e != NULL && e->ooo_head != BUF_NONE)
        for (unsigned i = 0; i < e->ooo_runs; i++) {
            const struct ooo_run *run = &ooo_runs(&t->bufs, e)[i];
            if (seq_leq(run->start, at) && seq_lt(at, run->end))
                at = run->end;
        }
    // A FIN beyond a gap counts as one.
    const bool fin = p->ext != EXT_NONE && t->exts[p->ext].has_fin && at == t->exts[p->ext].fin_seq;
    return !seq_lt(at + fin, r.end);
}

// What the scoreboard says is true.
static void check_sacked(const struct sim_host *h, uint32_t ix, const struct block *b,
                         const struct block *p)
{
    if (b->ext == EXT_NONE || p == NULL || h->world->plan->forged)
        return;
    const struct ext *e = &h->w->tcp.exts[b->ext];
    const struct tcp *peer = &h->world->hosts[sim_peer_side(h, b)->host]->w->tcp;
    if (peer->stats->c.ooo_pruned != 0)  // RFC 2018 8: it may have given it up since
        return;
    for (unsigned i = 0; i < e->n_sacked; i++)
        SIM_CHECK(has_range(peer, p, e->sacked[i]),
                  "host %u block %u: SACK of %u bytes that the peer does not have", h->id, ix,
                  e->sacked[i].end - e->sacked[i].start);
}

// Both ends, as nobody but us sees them: nothing is received that was not sent, nothing
// acknowledged that was not received, nothing sent for which there was no window.
static void check_pair(const struct sim_host *h, uint32_t ix, const struct block *b)
{
    const struct block *p = sim_peer_block(h, b);
    check_sacked(h, ix, b, p);
    if (p == NULL || p->state == TCP_FREE || p->state == TCP_CLOSED || p->state == TCP_SYN_SENT)
        return;
    if (h->world->plan->forged)  // who sees the connection may tell either end anything, a SYN too
        return;
    SIM_CHECK(seq_leq(b->rcv_nxt, p->snd_max), "host %u block %u: received what was not sent",
              h->id, ix);
    SIM_CHECK(seq_leq(b->snd_una, p->rcv_nxt), "host %u block %u: acknowledged, but not received",
              h->id, ix);
    SIM_CHECK(seq_leq(b->snd_max, p->rcv_adv + ((b->flags & BF_FIN_QUEUED) != 0)),
              "host %u block %u %s: %u bytes sent beyond the window; the peer is in %s", h->id, ix,
              tcp_state_name(b->state), b->snd_max - p->rcv_adv, tcp_state_name(p->state));
}

static void check_block(struct sim_host *h, uint32_t ix)
{
    const struct block *b = &h->w->tcp.blocks[ix];
    char what[TCP_CHECK_BYTES];
    h->shadows[ix].seen = h->turns;
    SIM_CHECK(tcp_check_block(&h->w->tcp, ix, &h->shadows[ix].numbers, what), "host %u: %s", h->id,
              what);
    if (b->state != TCP_FREE && b->state != TCP_SYN_SENT && b->state != TCP_CLOSED)
        check_pair(h, ix, b);
}

void sim_check_all(struct sim_host *h)
{
    for (uint32_t ix = 0; ix < h->w->block_count; ix++)
        check_block(h, ix);
    char what[TCP_CHECK_BYTES];
    SIM_CHECK(tcp_check_pools(&h->w->tcp, h->w->block_count, what), "host %u: %s", h->id, what);
    SIM_CHECK(tcp_check_wheel(&h->w->tcp, h->w->block_count, what), "host %u: %s", h->id, what);
    SIM_CHECK(h->w->tcp.wheel->refused == 0, "host %u: the wheel is full", h->id);
}

void sim_check_turn(struct sim_host *h)
{
    const struct worker *w = h->w;
    SIM_CHECK(stat_balance(w->stats) == 0, "host %u: the balance is %lld", h->id,
              (long long)stat_balance(w->stats));
    for (uint32_t i = 0; i < w->rx.n_segs; i++) {
        const uint32_t ix = w->verdicts[i].block;
        if (ix != BLOCK_NONE && h->shadows[ix].seen != h->turns)
            check_block(h, ix);
    }
    if (h->turns % ALL_TURNS == 0)
        sim_check_all(h);
}

void sim_check_end(struct sim_host *h)
{
    sim_check_all(h);
    const char *leak = tcp_check_leaks(&h->w->tcp);
    if (leak == NULL)
        leak = tcp_check_prefixes(&h->w->tcp);
    SIM_CHECK(leak == NULL, "host %u: at the end there are %s", h->id, leak);
    for (uint32_t ix = 0; ix < h->w->block_count; ix++)
        SIM_CHECK(h->w->tcp.blocks[ix].rto_at_ms == 0 || h->w->tcp.blocks[ix].state == TCP_FREE,
                  "host %u block %u: a timer runs", h->id, ix);
}
