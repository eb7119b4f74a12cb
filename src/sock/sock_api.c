// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/app.h that an application makes on a connection.
#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "mem/block.h"
#include "mem/buf.h"
#include "sock/sock_internal.h"

enum {
    // Kept free for in-order data, which TCP acknowledges without a check for room (tcp_input).
    SEND_RESERVE = BURST_MAX * 5,
    // A reference costs more than the copy of fewer bytes, and a segment holds only two ranges.
    REF_MIN = 256,
};

void *c10m_state(struct c10m_conn *c)
{
    return c->b->app;
}

struct c10m_service *c10m_service_of(struct c10m_conn *c)
{
    return &c->k->services[c->b->service];
}

static bool may_send(const struct block *b)
{
    if (b->flags & (BF_FIN_QUEUED | BF_ABORT))
        return false;
    return b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT || b->state == TCP_SYN_SENT ||
           b->state == TCP_SYN_RECEIVED;
}

size_t c10m_send_room(const struct c10m_conn *c)
{
    const struct tcp *t = c->k->tcp;
    const struct block *b = c->b;
    const uint32_t limit = tcp_snd_limit(t, b), used = b->snd_end - b->snd_una;
    if (!may_send(b) || used >= limit || t->bufs.n_free_data <= SEND_RESERVE)
        return 0;
    const size_t free_bytes = (size_t)(t->bufs.n_free_data - SEND_RESERVE) * BUF_BYTES;
    return MIN((size_t)(limit - used), free_bytes);
}

static void queue_buf(struct c10m_conn *c, uint32_t ix)
{
    struct block *b = c->b;
    c->k->tcp->bufs.bufs[ix].seq = b->snd_end;
    if (b->snd_head == BUF_NONE) {
        b->snd_head = ix;
    } else {
        if (b->snd_head == b->snd_tail)
            b->snd_cur = b->snd_head;
        c->k->tcp->bufs.bufs[b->snd_tail].next = ix;
    }
    b->snd_tail = ix;
}

// send_fast: the common case: nothing is unacknowledged, and one buffer holds all of the data.
// Returns false in all other cases, without any change.
static inline bool send_fast(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct tcp *t = c->k->tcp;
    struct block *b = c->b;
    if (b->snd_head != BUF_NONE)  // unacknowledged data is queued
        return false;
    if (b->state != TCP_ESTABLISHED)  // the connection is opening or closing
        return false;
    if (len - 1 >= BUF_BYTES)  // no byte, or more than one buffer holds
        return false;
    if (len > t->services[b->service].snd_limit)  // more than may be unacknowledged
        return false;
    if (b->flags & (BF_FIN_QUEUED |  // no data may follow our FIN
                    BF_ABORT |       // a RST will be sent
                    BF_EXT))         // the extension record may have another limit or a cork
        return false;
    if (t->bufs.n_free_data <= SEND_RESERVE)  // too few free buffers
        return false;
    const uint32_t ix = buf_get(&t->bufs);
    struct buf *f = &t->bufs.bufs[ix];
    copy_bytes(buf_room(&t->bufs, ix), data, len);
    f->len = (uint32_t)len;
    f->seq = b->snd_end;
    b->snd_head = b->snd_tail = ix;
    b->snd_end += (uint32_t)len;
    tcp_dirty_block(t, b, c->ix);
    return true;
}

// want_write: not all of len bytes could be queued; the application is told when there is room. A
// connection that may not send any more has no limit that could be counted.
static void want_write(struct c10m_conn *c, size_t len)
{
    const struct tcp *t = c->k->tcp;
    const uint32_t used = c->b->snd_end - c->b->snd_una, limit = tcp_snd_limit(t, c->b);
    const bool limited = used >= limit || len > limit - used;
    c->b->flags |= BF_WANT_WRITE;
    t->stats->c.sends_limited += may_send(c->b) && limited;
    t->stats->c.sends_no_buffer += may_send(c->b) && !limited;
}

static NOINLINE size_t send_full(struct c10m_conn *c, const void *data, size_t len)
{
    struct buf_pool *p = &c->k->tcp->bufs;
    struct block *b = c->b;
    const uint8_t *from = data;
    size_t room = c10m_send_room(c);
    if (unlikely(len > room)) {
        tcp_ooo_relieve(c->k->tcp);
        room = c10m_send_room(c);
    }
    if (unlikely(len > room)) {
        want_write(c, len);
        tcp_dirty(c->k->tcp, c->ix);  // arms the retry timer if nothing is in flight
        len = room;
    }
    for (size_t left = len; left != 0;) {
        uint32_t space = 0;
        uint8_t *tail = NULL;
        if (b->snd_tail != BUF_NONE && !p->bufs[b->snd_tail].ends_record)
            tail = buf_tail(p, b->snd_tail, &space);
        if (space == 0) {
            const uint32_t ix = buf_get(p);
            CHECK(ix != BUF_NONE);
            queue_buf(c, ix);
            continue;
        }
        const uint32_t n = (uint32_t)MIN((size_t)space, left);
        memcpy(tail, from, n);
        p->bufs[b->snd_tail].len += n;
        b->snd_end += n;
        from += n;
        left -= n;
    }
    if (likely(len != 0))
        tcp_dirty(c->k->tcp, c->ix);
    return len;
}

void c10m_want_writable(struct c10m_conn *c)
{
    c->b->flags |= BF_WANT_WRITE;
    tcp_dirty(c->k->tcp, c->ix);  // arms the retry timer if nothing is in flight
}

size_t c10m_send(struct c10m_conn *c, const void *data, size_t len)
{
    return likely(send_fast(c, data, len)) ? len : send_full(c, data, len);
}

bool c10m_send_ref(struct c10m_conn *c, const struct c10m_image *image, uint64_t off, uint64_t len)
{
    enum { REF_MAX = 1 << 30 };  // comparisons of sequence numbers are valid within 2^31
    struct block *b = c->b;
    const struct tcp *t = c->k->tcp;
    CHECK(off <= image->len && len <= image->len - off);
    if (len == 0)
        return true;
    if (!may_send(b) || b->snd_end - b->snd_una >= tcp_snd_limit(t, b) || len > REF_MAX) {
        want_write(c, SIZE_MAX);
        return false;
    }
    if (len < REF_MIN && c10m_send_room(c) >= len)
        return c10m_send(c, image->bytes + off, len) == len;
    const uint32_t ix = buf_get_ref(&c->k->tcp->bufs, image->bytes + off, (uint32_t)len);
    if (ix == BUF_NONE) {
        want_write(c, 0);
        tcp_dirty(c->k->tcp, c->ix);
        return false;
    }
    queue_buf(c, ix);
    b->snd_end += (uint32_t)len;
    tcp_dirty(c->k->tcp, c->ix);
    return true;
}

uint64_t c10m_send_queued(const struct c10m_conn *c)
{
    const struct block *b = c->b;
    return b->snd_end - (seq_lt(b->snd_end, b->snd_una) ? b->snd_end : b->snd_una);
}

uint32_t c10m_send_taken(const struct c10m_conn *c)
{
    return c->b->snd_una;
}

uint32_t c10m_receive_queued(const struct c10m_conn *c)
{
    return c->b->rcvq_bytes;
}

void c10m_shutdown(struct c10m_conn *c)
{
    tcp_close(c->k->tcp, c->ix);
}

void c10m_abort(struct c10m_conn *c)
{
    c->b->flags |= BF_ABORT;
}

void c10m_pause(struct c10m_conn *c)
{
    c->b->flags |= BF_PAUSED;
}

void c10m_resume(struct c10m_conn *c)
{
    if (sock_pulls(c))
        return;
    c->b->flags &= (uint16_t)~BF_PAUSED;
    c->due |= DUE_RESUME;
}

void c10m_set_timer(struct c10m_conn *c, uint32_t ms)
{
    uint32_t at = 0;
    if (ms != 0) {
        at = c->k->tcp->now.ms + MIN(ms, 1u << 30);
        at = at != 0 ? at : 1;
    }
    c->b->app_timer_at_ms = at;
    tcp_arm_slow(c->k->tcp, c->ix);
}

bool c10m_draining(const struct c10m_conn *c)
{
    return c->k->tcp->services[c->b->service].state == TCP_SERVICE_DRAINING;
}

uint64_t c10m_now_us(const struct c10m_conn *c)
{
    return c->k->tcp->now.us;
}

uint32_t c10m_waited_us(const struct c10m_conn *c)
{
    return c->k->tcp->behind_us;
}

uint32_t c10m_overloaded_us(const struct c10m_conn *c)
{
    const struct tcp *t = c->k->tcp;
    return t->behind_us != 0 && t->queue_full ? MIN(t->behind_us, t->full_us) : 0;
}

uint64_t c10m_unix_us(const struct c10m_conn *c)
{
    return c->k->wall_us + c->k->tcp->now.us;
}

void c10m_peer(const struct c10m_conn *c, uint8_t addr[16], uint16_t *port)
{
    if (addr != NULL)
        memcpy(addr, c->b->key.remote.b, 16);
    if (port != NULL)
        *port = c->b->key.remote_port;
}

void c10m_count(struct c10m_conn *c, int counter, uint64_t n)
{
    if (counter >= 0 && counter < SOCK_COUNTERS_MAX)
        c->k->counters[c->b->service][counter] += n;
}
