// What must hold after every turn, and what must be left at the end: nothing.
#include "sim.h"
#include "tcp/tcp_internal.h"

enum { ALL_TURNS = 256 };

// Numbers of one life of a block never go back.
static void check_shadow(struct sim_host *h, uint32_t ix, const struct block *b)
{
    struct sim_shadow *s = &h->shadows[ix];
    s->seen = h->turns;
    const bool same = s->live && s->generation == b->generation && b->state != TCP_FREE;
    const bool synced = b->state != TCP_SYN_SENT && b->state != TCP_FREE;
    if (same) {
        SIM_CHECK(!seq_lt(b->snd_una, s->snd_una), "host %u block %u: snd_una went back", h->id,
                  ix);
        SIM_CHECK(!seq_lt(b->snd_max, s->snd_max), "host %u block %u: snd_max went back", h->id,
                  ix);
        SIM_CHECK(!seq_lt(b->rcv_nxt, s->rcv_nxt), "host %u block %u: rcv_nxt went back", h->id,
                  ix);
        SIM_CHECK(!seq_lt(b->rcv_adv, s->rcv_adv),
                  "host %u block %u %s: the window's edge went back by %u", h->id, ix,
                  tcp_state_name(b->state), s->rcv_adv - b->rcv_adv);
    }
    *s = (struct sim_shadow){b->generation, synced,     b->snd_una, b->snd_max,
                             b->rcv_nxt,    b->rcv_adv, h->turns};
}

// Does p hold the bytes from start to end, in order or not?
static bool has_range(const struct tcp *t, const struct block *p, struct seq_range r)
{
    uint32_t at = seq_lt(r.start, p->rcv_nxt) ? p->rcv_nxt : r.start;
    if (p->ext != EXT_NONE)
        for (uint32_t i = t->exts[p->ext].ooo_head; i != BUF_NONE; i = t->bufs.bufs[i].next) {
            const struct buf *f = &t->bufs.bufs[i];
            if (seq_leq(f->seq, at) && seq_lt(at, f->seq + f->len))
                at = f->seq + f->len;
        }
    // A FIN beyond a gap counts as one.
    const bool fin = p->ext != EXT_NONE && t->exts[p->ext].has_fin && at == t->exts[p->ext].fin_seq;
    return !seq_lt(at + fin, r.end);
}

// The scoreboard: in order, between what is acknowledged and what was sent, and true.
static void check_sacked(const struct sim_host *h, uint32_t ix, const struct block *b,
                         const struct block *p)
{
    if (b->ext == EXT_NONE)
        return;
    const struct ext *e = &h->w->tcp.exts[b->ext];
    const struct sim_side *peer = sim_peer_side(h, b);
    uint32_t at = b->snd_una;
    for (unsigned i = 0; i < e->n_sacked; i++) {
        const struct seq_range r = e->sacked[i];
        SIM_CHECK(seq_lt(at, r.start) && seq_lt(r.start, r.end) && seq_leq(r.end, b->snd_max),
                  "host %u block %u: scoreboard %u: %u to %u; una %u, max %u", h->id, ix, i,
                  r.start, r.end, b->snd_una, b->snd_max);
        at = r.end;
        if (p != NULL && !h->world->plan->forged)
            SIM_CHECK(has_range(&h->world->hosts[peer->host]->w->tcp, p, r),
                      "host %u block %u: SACK of %u bytes that the peer does not have", h->id, ix,
                      r.end - r.start);
    }
}

// Both ends, as nobody but us sees them: nothing is received that was not sent, nothing
// acknowledged that was not received, nothing sent for which there was no window.
static void check_pair(const struct sim_host *h, uint32_t ix, const struct block *b)
{
    const struct block *p = sim_peer_block(h, b);
    check_sacked(h, ix, b, p);
    if (p == NULL || p->state == TCP_FREE || p->state == TCP_CLOSED || p->state == TCP_SYN_SENT)
        return;
    SIM_CHECK(seq_leq(b->rcv_nxt, p->snd_max), "host %u block %u: received what was not sent",
              h->id, ix);
    if (h->world->plan->forged)  // who sees the connection may tell either end anything
        return;
    SIM_CHECK(seq_leq(b->snd_una, p->rcv_nxt), "host %u block %u: acknowledged, but not received",
              h->id, ix);
    SIM_CHECK(seq_leq(b->snd_max, p->rcv_adv + ((b->flags & BF_FIN_QUEUED) != 0)),
              "host %u block %u %s: %u bytes sent beyond the window; the peer is in %s", h->id, ix,
              tcp_state_name(b->state), b->snd_max - p->rcv_adv, tcp_state_name(p->state));
}

static void check_block(struct sim_host *h, uint32_t ix)
{
    const struct tcp *t = &h->w->tcp;
    const struct block *b = &t->blocks[ix];
    check_shadow(h, ix, b);
    if (b->state == TCP_FREE)
        return;
    const char *state = tcp_state_name(b->state);
    SIM_CHECK(seq_leq(b->snd_una, b->snd_nxt) && seq_leq(b->snd_nxt, b->snd_max) &&
                  seq_leq(b->snd_max, b->snd_end + 1),
              "host %u block %u %s: una %u nxt %u max %u end %u", h->id, ix, state, b->snd_una,
              b->snd_nxt, b->snd_max, b->snd_end);
    SIM_CHECK((b->flags & BF_FIN_QUEUED) || seq_leq(b->snd_max, b->snd_end),
              "host %u block %u %s: more was sent than is there", h->id, ix, state);
    SIM_CHECK(((b->flags & BF_TROUBLE) != 0) == (b->ext != EXT_NONE),
              "host %u block %u: trouble, and no record", h->id, ix);
    if (b->state == TCP_SYN_SENT || b->state == TCP_CLOSED)
        return;
    const uint32_t limit = t->services[b->service].rcv_limit;
    // Rounded up by the scale; the first one is given whole.
    const uint32_t most = MAX(limit + (1u << b->rcv_wscale), 65535u);
    SIM_CHECK(b->rcv_adv - b->rcv_nxt <= most,
              "host %u block %u %s: a window of %u bytes, at most %u", h->id, ix, state,
              b->rcv_adv - b->rcv_nxt, most);
    check_pair(h, ix, b);
    if (b->state == TCP_TIME_WAIT || (b->flags & BF_DIRTY))
        return;
    SIM_CHECK(b->snd_una == b->snd_max || b->rto_at_ms != 0,
              "host %u block %u %s: bytes in flight and no timer", h->id, ix, state);
    SIM_CHECK(b->rto_at_ms == 0 || (tcp_near_runs(t, ix) && b->wheel_near_ms != 0 &&
                                    !time_before(b->rto_at_ms, b->wheel_near_ms)),
              "host %u block %u %s: a timer that the wheel does not know: %d ms away, %s, the "
              "wheel wakes "
              "in %d ms",
              h->id, ix, state, (int)(b->rto_at_ms - t->now.ms),
              tcp_near_runs(t, ix) ? "running" : "not running",
              (int)(b->wheel_near_ms - t->now.ms));
    SIM_CHECK(b->snd_una != b->snd_nxt || !seq_lt(b->snd_nxt, b->snd_end) || b->rto_at_ms != 0,
              "host %u block %u %s: bytes to send, nothing in flight and no timer", h->id, ix,
              state);
}

static uint32_t chain_bufs(const struct sim_host *h, uint32_t head, uint32_t *refs, uint64_t *bytes)
{
    const struct buf_pool *p = &h->w->tcp.bufs;
    uint32_t n = 0;
    for (uint32_t ix = head; ix != BUF_NONE; ix = p->bufs[ix].next) {
        SIM_CHECK(ix < p->count, "host %u: buffer %u does not exist", h->id, ix);
        *bytes += p->bufs[ix].len;
        if (buf_is_ref(p, ix))
            ++*refs;
        else
            n++;
        SIM_CHECK(n + *refs <= p->count, "host %u: a chain of buffers without an end", h->id);
    }
    return n;
}

// The buffers of a block are in order, and hold what its numbers say.
static uint32_t block_bufs(const struct sim_host *h, uint32_t ix, uint32_t *refs)
{
    const struct tcp *t = &h->w->tcp;
    const struct block *b = &t->blocks[ix];
    uint64_t sent = 0, queued = 0, ooo = 0;
    uint32_t n = chain_bufs(h, b->snd_head, refs, &sent);
    uint32_t none = 0;
    n += chain_bufs(h, b->rcvq_head, &none, &queued);
    SIM_CHECK(queued == b->rcvq_bytes, "host %u block %u: %llu bytes queued, %u counted", h->id, ix,
              (unsigned long long)queued, b->rcvq_bytes);
    if (b->state != TCP_SYN_SENT && b->state != TCP_SYN_RECEIVED && b->snd_head != BUF_NONE)
        SIM_CHECK(t->bufs.bufs[b->snd_head].seq + (uint32_t)sent == b->snd_end,
                  "host %u block %u: the send queue ends at %u, not at %u", h->id, ix,
                  t->bufs.bufs[b->snd_head].seq + (uint32_t)sent, b->snd_end);
    if (b->ext == EXT_NONE)
        return n;
    const struct ext *e = &t->exts[b->ext];
    uint32_t at = b->rcv_nxt;
    for (uint32_t i = e->ooo_head; i != BUF_NONE; i = t->bufs.bufs[i].next) {
        const struct buf *f = &t->bufs.bufs[i];
        SIM_CHECK(seq_leq(at, f->seq) && f->len != 0,
                  "host %u block %u: out-of-order data out of order", h->id, ix);
        at = f->seq + f->len;
        SIM_CHECK(seq_leq(at, b->rcv_adv), "host %u block %u: data kept beyond the window", h->id,
                  ix);
    }
    return n + chain_bufs(h, e->ooo_head, &none, &ooo);
}

static void check_pools(const struct sim_host *h)
{
    const struct tcp *t = &h->w->tcp;
    const struct core_stats *st = h->w->stats;
    uint32_t bufs = 0, refs = 0, exts = 0, live = 0, of[TCP_SERVICES_MAX] = {0};
    uint32_t established = 0, v6 = 0;
    for (uint32_t ix = 0; ix < h->w->block_count; ix++) {
        const struct block *b = &t->blocks[ix];
        if (b->state == TCP_FREE)
            continue;
        live++;
        established += b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT;
        v6 += !ip_is_v4(&b->key.remote);
        of[b->service]++;
        exts += b->ext != EXT_NONE;
        bufs += block_bufs(h, ix, &refs);
    }
    SIM_CHECK(bufs == t->bufs.data_count - t->bufs.n_free_data, "host %u: %u buffers, %u in use",
              h->id, bufs, t->bufs.data_count - t->bufs.n_free_data);
    SIM_CHECK(refs == t->bufs.count - t->bufs.data_count - t->bufs.n_free_refs,
              "host %u: %u references, %u in use", h->id, refs,
              t->bufs.count - t->bufs.data_count - t->bufs.n_free_refs);
    SIM_CHECK(exts == index_pool_in_use(t->ext_pool) && exts == st->c.ext_records_now,
              "host %u: %u records, %u in use, %llu counted", h->id, exts,
              index_pool_in_use(t->ext_pool), (unsigned long long)st->c.ext_records_now);
    SIM_CHECK(live == index_pool_in_use(t->block_pool) && live == st->c.connections_now,
              "host %u: %u blocks, %u in use, %llu counted", h->id, live,
              index_pool_in_use(t->block_pool), (unsigned long long)st->c.connections_now);
    SIM_CHECK(established == st->c.established_now && v6 == st->c.connections6_now,
              "host %u: %u established, %u over IPv6, %llu and %llu counted", h->id, established,
              v6, (unsigned long long)st->c.established_now,
              (unsigned long long)st->c.connections6_now);
    for (uint32_t i = 0; i < t->n_services; i++)
        SIM_CHECK(of[i] == t->services[i].connections, "host %u: service %u has %u, not %u", h->id,
                  i, of[i], t->services[i].connections);
    const uint64_t syns = index_pool_in_use(t->syn_pool), tws = st->c.time_wait_now;
    SIM_CHECK(syns == st->c.syn_records_now, "host %u: half-open records", h->id);
    SIM_CHECK(t->table->count == live + syns + tws,
              "host %u: %llu in the table: %u blocks, %llu half open, %llu in TIME-WAIT", h->id,
              (unsigned long long)t->table->count, live, (unsigned long long)syns,
              (unsigned long long)tws);
}

void sim_check_all(struct sim_host *h)
{
    for (uint32_t ix = 0; ix < h->w->block_count; ix++)
        check_block(h, ix);
    check_pools(h);
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

const char *sim_check_leaks(const struct sim_host *h)
{
    const struct tcp *t = &h->w->tcp;
    if (index_pool_in_use(t->block_pool) != 0)
        return "blocks";
    if (index_pool_in_use(t->syn_pool) != 0)
        return "half-open records";
    if (index_pool_in_use(t->ext_pool) != 0)
        return "extension records";
    if (t->bufs.n_free_data != t->bufs.data_count)
        return "data buffers";
    if (t->bufs.n_free_refs != t->bufs.count - t->bufs.data_count)
        return "references";
    if (t->stats->c.time_wait_now != 0)
        return "TIME-WAIT records";
    if (t->table->count != 0)
        return "entries of the flow table";
    return NULL;
}

void sim_check_end(struct sim_host *h)
{
    sim_check_all(h);
    const char *leak = sim_check_leaks(h);
    SIM_CHECK(leak == NULL, "host %u: at the end there are %s", h->id, leak);
    for (uint32_t ix = 0; ix < h->w->block_count; ix++)
        SIM_CHECK(h->w->tcp.blocks[ix].rto_at_ms == 0 || h->w->tcp.blocks[ix].state == TCP_FREE,
                  "host %u block %u: a timer runs", h->id, ix);
}
