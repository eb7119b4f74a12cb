// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_seek.h"

#include "tcp/tcp.h"

static struct tcp_place *place_of(const struct tcp *t, uint32_t block, uint32_t region)
{
    const uint32_t all = UINT32_MAX / TCP_SEEK_BYTES;  // sequence numbers wrap
    const uint64_t h = ((uint64_t)block << 32 | (region & all)) * UINT64_C(0x9e3779b97f4a7c15);
    return &t->places[(h >> 32) & (TCP_SEEK_PLACES - 1)];
}

// is_there: whether the buffer of the stored place is still queued. A buffer stays in its queue
// until its last byte is acknowledged, and keeps its first sequence number until its first byte is.
// If that number is not acknowledged, the buffer is therefore still there.
static bool is_there(const struct tcp_place *p, const struct block *b, uint32_t block,
                     uint64_t life, uint32_t seq)
{
    return p->in_use && p->block == block && p->life == life && seq_leq(b->snd_una, p->seq) &&
           seq_leq(p->seq, seq);
}

// nearest: a stored buffer that begins at or before seq.
static uint32_t nearest(const struct tcp *t, const struct block *b, uint32_t block, uint64_t life,
                        uint32_t seq)
{
    const uint32_t region = seq / TCP_SEEK_BYTES;
    for (uint32_t i = 0; i < TCP_SEEK_TRIES; i++) {
        const struct tcp_place *p = place_of(t, block, region - i);
        if (is_there(p, b, block, life, seq))
            return p->buf;
    }
    return b->snd_head;
}

uint32_t tcp_seek(const struct tcp *t, const struct block *b, uint32_t seq)
{
    const struct buf *bufs = t->bufs.bufs;
    if (t->places == NULL || b->snd_head == b->snd_tail)
        return b->snd_head;
    const uint32_t block = (uint32_t)(b - t->blocks);
    const uint64_t life = tcp_life(t, block);
    uint32_t ix = nearest(t, b, block, life, seq), region = bufs[ix].seq / TCP_SEEK_BYTES;
    while (seq - bufs[ix].seq >= bufs[ix].len) {
        ix = bufs[ix].next;
        CHECK(ix != BUF_NONE);
        if (bufs[ix].seq / TCP_SEEK_BYTES == region)
            continue;
        region = bufs[ix].seq / TCP_SEEK_BYTES;
        *place_of(t, block, region) = (struct tcp_place){life, block, bufs[ix].seq, ix, 1};
    }
    const uint32_t wanted = seq / TCP_SEEK_BYTES;
    if (wanted != region)  // the buffer begins in an earlier region and ends in this one
        *place_of(t, block, wanted) = (struct tcp_place){life, block, bufs[ix].seq, ix, 1};
    return ix;
}
