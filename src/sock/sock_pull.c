// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/socket.h that read received data, show sent data, and end a connection.
#include <string.h>

#include "c10m/socket.h"
#include "mem/block.h"
#include "mem/buf.h"
#include "sock/sock_internal.h"

void sock_drop_unread(struct c10m_conn *c)
{
    buf_put_chain(&c->k->tcp->bufs, c->b->rcvq_head);
    c->b->rcvq_head = c->b->rcvq_tail = BUF_NONE;
    c->b->rcvq_bytes = 0;
}

void sock_note_readable(struct c10m_conn *c)
{
    struct sock *k = c->k;
    if (!sock_pulls(c))
        return;
    for (unsigned i = k->n_readable; i != 0; i--)
        if (k->readable[i - 1] == c->ix)
            return;
    CHECK(k->n_readable < SOCK_READABLE_MAX);
    k->readable[k->n_readable++] = c->ix;
}

size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n)
{
    const struct buf *bufs = c->k->tcp->bufs.bufs;
    uint8_t *to = buf;
    size_t got = 0;
    if (off >= c->b->rcvq_bytes)
        return 0;
    n = MIN(n, c->b->rcvq_bytes - off);
    if (buf == NULL)
        return n;
    for (uint32_t ix = c->b->rcvq_head; got < n; ix = bufs[ix].next) {
        if (off >= bufs[ix].len) {
            off -= bufs[ix].len;
            continue;
        }
        const size_t some = MIN(bufs[ix].len - off, n - got);
        memcpy(to + got, bufs[ix].at + off, some);
        got += some;
        off = 0;
    }
    return got;
}

size_t c10m_read(struct c10m_conn *c, void *buf, size_t n)
{
    n = MIN(n, (size_t)c->b->rcvq_bytes);
    if (n == 0)
        return 0;
    c10m_peek(c, 0, buf, n);
    sock_consume(c, (uint32_t)n);
    if (c->b->state != TCP_CLOSED && c->b->state != TCP_TIME_WAIT)
        tcp_window_update(c->k->tcp, c->ix);
    return n;
}

void c10m_end_record(struct c10m_conn *c)
{
    if (c->b->snd_tail != BUF_NONE)
        c->k->tcp->bufs.bufs[c->b->snd_tail].ends_record = 1;
}

bool c10m_peer_closed(const struct c10m_conn *c)
{
    return (c->b->flags & BF_PEER_FIN) != 0;
}

int c10m_shut_read(struct c10m_conn *c)
{
    return tcp_sockopt_set(c->k->tcp, c->ix, SOCKOPT_DEAF, 1);
}

void c10m_close(struct c10m_conn *c)
{
    if (!(c->b->flags & BF_IN_APP))
        return;
    const bool unread = c->b->rcvq_bytes != 0;
    sock_drop_unread(c);
    tcp_orphan(c->k->tcp, c->ix, unread);
}

int c10m_soft_error(const struct c10m_conn *c)
{
    return tcp_soft_error(c->k->tcp, c->b);
}

int c10m_take_soft_error(struct c10m_conn *c)
{
    const int error = c10m_soft_error(c);
    if (error != 0)
        tcp_clear_soft_error(c->k->tcp, c->b);
    return error;
}

int c10m_error(const struct c10m_conn *c)
{
    const struct block *b = c->b;
    return b->state == TCP_CLOSED && b->close_why != C10M_CLOSED ? b->error : 0;
}
