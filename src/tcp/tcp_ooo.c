// The out-of-order queue: buffers in order of sequence numbers that never overlap, hung on the
// extension record.
#include <string.h>

#include "tcp/tcp_sack.h"

struct ext *tcp_ext_get(struct tcp *t, struct block *b)
{
    if (b->flags & BF_TROUBLE)
        return &t->exts[b->ext];
    const uint32_t ix = index_pool_get(t->ext_pool);
    if (ix == INDEX_NONE) {
        t->stats->c.ext_records_missed++;
        return NULL;
    }
    t->stats->c.ext_records_now++;
    t->exts[ix] = (struct ext){.ooo_head = BUF_NONE};
    b->ext = ix;
    b->flags |= BF_TROUBLE;
    return &t->exts[ix];
}

struct ext *tcp_ext_get_spared(struct tcp *t, struct block *b, uint64_t *missed)
{
    const struct index_pool *p = t->ext_pool;
    if ((b->flags & BF_TROUBLE) || p->n_free > p->count / TCP_EXT_SPARED_SHARE)
        return tcp_ext_get(t, b);
    ++*missed;
    return NULL;
}

void tcp_ext_release(struct tcp *t, struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    if (e->recovery != RECOVERY_NONE || e->n_sacked != 0 || e->has_fin || e->ooo_head != BUF_NONE ||
        (e->cc.flags & CC_LIVE) || (e->own.set | e->own.soft_error) != 0)
        return;
    index_pool_put(t->ext_pool, b->ext);
    t->stats->c.ext_records_now--;
    b->ext = EXT_NONE;
    b->flags &= (uint16_t)~BF_TROUBLE;
}

// has_room: for `need` more buffers. The last eighth of them all is for others: what waits for a
// gap may wait for ever, and who opens many gaps would leave nobody a buffer to send from.
static bool has_room(const struct tcp *t, const struct block *b, const struct ext *e, uint32_t need)
{
    const struct buf_pool *p = &t->bufs;
    const uint32_t window = tcp_rcv_limit(t, b) / BUF_BYTES * TCP_OOO_WINDOWS;
    const uint32_t most = MIN(MAX(window, (uint32_t)TCP_OOO_BUFS_MIN), (uint32_t)UINT16_MAX);
    const uint32_t scarce = TCP_BUFS_RESERVE + p->data_count / TCP_SCARCE_SHARE;
    return e->ooo_count + need <= most && p->n_free_data >= scarce + need;
}

// The last buffer that does not begin behind seq; BUF_NONE: there is none. What is in order among
// itself, new data or what fills gaps, is found at once.
static uint32_t last_before(const struct buf *bufs, const struct ext *e, uint32_t seq)
{
    if (e->ooo_head == BUF_NONE || seq_lt(seq, bufs[e->ooo_head].seq))
        return BUF_NONE;
    if (!seq_lt(seq, bufs[e->ooo_tail].seq))
        return e->ooo_tail;
    const uint32_t last = e->ooo_last;
    uint32_t ix = last != BUF_NONE && !seq_lt(seq, bufs[last].seq) ? last : e->ooo_head;
    while (!seq_lt(seq, bufs[bufs[ix].next].seq))  // the tail is behind seq
        ix = bufs[ix].next;
    return ix;
}

// Puts buffer ix behind `before`, BUF_NONE: first.
static void link_behind(struct buf *bufs, struct ext *e, uint32_t before, uint32_t ix)
{
    bufs[ix].next = before == BUF_NONE ? e->ooo_head : bufs[before].next;
    if (bufs[ix].next == BUF_NONE)
        e->ooo_tail = ix;
    if (before == BUF_NONE)
        e->ooo_head = ix;
    else
        bufs[before].next = ix;
    e->ooo_last = ix;
    e->ooo_count++;
}

bool tcp_ooo_insert(struct tcp *t, struct block *b, uint32_t seq, const uint8_t *data, uint32_t len,
                    enum drop_reason *drop, struct seq_range *dup)
{
    struct buf_pool *p = &t->bufs;
    struct ext *e = tcp_ext_get(t, b);
    *dup = (struct seq_range){seq, seq};
    *drop = DROP_ext_pool_empty;
    if (e == NULL)
        return false;
    *drop = DROP_tcp_ooo_limit;
    uint32_t before = last_before(p->bufs, e, seq);
    const uint32_t after = before == BUF_NONE ? e->ooo_head : p->bufs[before].next;
    if (before != BUF_NONE) {  // the front is there already
        const uint32_t end = p->bufs[before].seq + p->bufs[before].len;
        const uint32_t skip = seq_lt(seq, end) ? MIN(end - seq, len) : 0;
        dup->end = seq + skip;
        seq += skip;
        data += skip;
        len -= skip;
    }
    if (after != BUF_NONE && seq_lt(p->bufs[after].seq, seq + len)) {
        // What begins in the next buffer is there, what lies behind it will come again.
        const struct buf *f = &p->bufs[after];
        if (dup->start == dup->end)
            *dup = (struct seq_range){f->seq, f->seq + MIN(seq + len - f->seq, f->len)};
        else if (f->seq == dup->end)
            dup->end += MIN(seq + len - f->seq, f->len);
        len = f->seq - seq;
    }
    if (len == 0) {
        *drop = DROP_tcp_duplicate;
        tcp_sack_held(t, e, before, true);
        return false;
    }
    const uint32_t need = (len + BUF_BYTES - 1) / BUF_BYTES;
    if (!has_room(t, b, e, need)) {
        tcp_ext_release(t, b);
        return false;
    }
    const bool joins = before != BUF_NONE && p->bufs[before].seq + p->bufs[before].len == seq;
    uint32_t first = BUF_NONE;
    while (len != 0) {
        const uint32_t ix = buf_get(p), n = MIN(len, (uint32_t)BUF_BYTES);
        memcpy(buf_room(p, ix), data, n);
        p->bufs[ix].seq = seq;
        p->bufs[ix].len = n;
        link_behind(p->bufs, e, before, ix);
        first = first == BUF_NONE ? ix : first;
        before = ix;
        seq += n;
        data += n;
        len -= n;
    }
    t->stats->c.out_of_order_queued++;
    t->stats->c.ooo_merged += dup->start != dup->end;
    tcp_sack_held(t, e, first, joins);
    return true;
}

uint32_t tcp_ooo_merge(struct tcp *t, struct block *b)
{
    struct buf_pool *p = &t->bufs;
    struct ext *e = &t->exts[b->ext];
    uint32_t head = BUF_NONE, tail = BUF_NONE;
    while (e->ooo_head != BUF_NONE && !seq_lt(b->rcv_nxt, p->bufs[e->ooo_head].seq)) {
        const uint32_t ix = e->ooo_head;
        struct buf *f = &p->bufs[ix];
        const uint32_t old = b->rcv_nxt - f->seq;
        e->ooo_head = f->next;
        e->ooo_last = ix == e->ooo_last ? BUF_NONE : e->ooo_last;
        e->ooo_count--;
        if (old >= f->len) {
            buf_put(p, ix);
            continue;
        }
        f->at += old;
        f->seq += old;
        f->len -= old;
        f->next = BUF_NONE;
        b->rcv_nxt += f->len;
        if (tail == BUF_NONE)
            head = ix;
        else
            p->bufs[tail].next = ix;
        tail = ix;
    }
    tcp_sack_merged(e, b->rcv_nxt);
    tcp_ext_release(t, b);
    return head;
}
