// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "mem/block.h"
#include "mem/buf.h"
#include "sock/sock_internal.h"
#include "tcp/tcp_trace.h"
#include "tcp/tcp_view.h"

static inline const struct c10m_app *app_of(const struct c10m_conn *c)
{
    return c->k->services[c->b->service].app;
}

// queue_append: appends to the queue of unconsumed data. Small segments share a buffer, because a
// buffer takes 2 KiB. TCP reserved the buffers before it acknowledged the data.
static void queue_append(struct c10m_conn *c, const uint8_t *data, uint32_t len)
{
    struct buf_pool *p = &c->k->tcp->bufs;
    struct block *b = c->b;
    b->rcvq_bytes += len;
    while (len != 0) {
        uint32_t room = 0;
        uint8_t *tail = b->rcvq_tail == BUF_NONE ? NULL : buf_tail(p, b->rcvq_tail, &room);
        if (room == 0) {
            const uint32_t ix = buf_get(p);
            CHECK(ix != BUF_NONE);
            if (b->rcvq_tail == BUF_NONE)
                b->rcvq_head = ix;
            else
                p->bufs[b->rcvq_tail].next = ix;
            b->rcvq_tail = ix;
            continue;
        }
        const uint32_t n = MIN(room, len);
        memcpy(tail, data, n);
        p->bufs[b->rcvq_tail].len += n;
        data += n;
        len -= n;
    }
}

void sock_consume(struct c10m_conn *c, uint32_t n)
{
    struct buf_pool *p = &c->k->tcp->bufs;
    struct block *b = c->b;
    CHECK(n <= b->rcvq_bytes);
    b->rcvq_bytes -= n;
    while (n != 0) {
        const uint32_t ix = b->rcvq_head;
        struct buf *f = &p->bufs[ix];
        if (n < f->len) {
            f->at += n;
            f->len -= n;
            return;
        }
        n -= f->len;
        b->rcvq_head = f->next;
        buf_put(p, ix);
    }
    if (b->rcvq_head == BUF_NONE)
        b->rcvq_tail = BUF_NONE;
}

// queue_front: the first bytes of the queue, at most SOCK_OFFER_MAX, as one range. The data is
// copied only if one buffer does not hold all of it.
static const uint8_t *queue_front(struct c10m_conn *c, uint32_t *len)
{
    const struct buf *bufs = c->k->tcp->bufs.bufs;
    uint32_t ix = c->b->rcvq_head, got = 0;
    *len = MIN(c->b->rcvq_bytes, (uint32_t)SOCK_OFFER_MAX);
    if (bufs[ix].len >= *len)
        return bufs[ix].at;
    for (; got < *len; ix = bufs[ix].next) {
        const uint32_t n = MIN(bufs[ix].len, *len - got);
        memcpy(c->k->scratch + got, bufs[ix].at, n);
        got += n;
    }
    return c->k->scratch;
}

static inline bool takes_data(const struct c10m_conn *c)
{
    return !(c->b->flags & (BF_PAUSED | BF_ABORT));
}

static void offer_queue(struct c10m_conn *c)
{
    while (c->b->rcvq_bytes != 0 && takes_data(c)) {
        uint32_t len;
        const uint8_t *front = queue_front(c, &len);
        const bool all = len == c->b->rcvq_bytes;
        const size_t n = app_of(c)->data(c, front, len);
        CHECK(n <= len);
        sock_consume(c, (uint32_t)n);
        if (n == 0 || (n < len && all))
            break;
    }
    tcp_window_update(c->k->tcp, c->ix);
}

// tell_unread: calls unread() if the unread data of a paused connection, `before` bytes until now,
// has passed a multiple of C10M_UNREAD_BYTES.
static void tell_unread(struct c10m_conn *c, uint32_t before)
{
    if (app_of(c)->unread == NULL || (c->b->flags & (BF_PAUSED | BF_ABORT)) != BF_PAUSED ||
        before / C10M_UNREAD_BYTES == c->b->rcvq_bytes / C10M_UNREAD_BYTES)
        return;
    app_of(c)->unread(c);
}

// note_shut: counts that the receive window closes: all of the announced window was received, and
// there is no room to announce more, so that the next ACK announces a zero window.
static void note_shut(struct c10m_conn *c)
{
    struct block *b = c->b;
    const uint32_t limit = tcp_rcv_limit(c->k->tcp, b);
    if (b->rcv_nxt != b->rcv_adv || b->rcvq_bytes + MIN(limit / 2, (uint32_t)b->mss) <= limit ||
        (b->agreed & BA_SHUT) != 0)
        return;
    b->agreed |= BA_SHUT;
    c->k->tcp->stats->c.window_closed++;
}

// deliver_queued: data that the application cannot take in place, because it has paused or because
// older data is unconsumed.
static NOINLINE void deliver_queued(struct c10m_conn *c, const uint8_t *data, uint32_t len,
                                    bool offer)
{
    if (unlikely(is_orphan(c->b))) {  // the application closed earlier in the same burst
        c->b->flags |= BF_ABORT;
        return;
    }
    const uint32_t before = c->b->rcvq_bytes;
    const bool waits = !takes_data(c);
    queue_append(c, data, len);
    if (offer)
        offer_queue(c);
    if (offer && waits)
        tell_unread(c, before);
    note_shut(c);
    sock_note_readable(c);
}

static inline void deliver(struct c10m_conn *c, const uint8_t *data, uint32_t len)
{
    c->k->tcp->stats->c.bytes_received += len;
    if (unlikely(c->b->rcvq_bytes != 0 || !takes_data(c))) {
        deliver_queued(c, data, len, true);
        return;
    }
    const size_t n = app_of(c)->data(c, data, len);
    CHECK(n <= len);
    if (unlikely(n != len))
        deliver_queued(c, data + n, len - (uint32_t)n, false);
}

// deliver_chain: moves the buffers of the out-of-order queue to the queue of unconsumed data.
// Data that fits in the last buffer of that queue is copied instead.
static void deliver_chain(struct c10m_conn *c, uint32_t head)
{
    struct buf_pool *p = &c->k->tcp->bufs;
    struct block *b = c->b;
    const uint32_t before = b->rcvq_bytes;
    const bool waits = !takes_data(c);
    for (uint32_t ix = head, next; ix != BUF_NONE; ix = next) {
        struct buf *f = &p->bufs[ix];
        uint32_t room = 0;
        if (b->rcvq_tail != BUF_NONE)
            buf_tail(p, b->rcvq_tail, &room);
        next = f->next;
        c->k->tcp->stats->c.bytes_received += f->len;
        if (f->len <= room) {
            queue_append(c, f->at, f->len);
            buf_put(p, ix);
            continue;
        }
        f->next = BUF_NONE;
        if (b->rcvq_tail == BUF_NONE)
            b->rcvq_head = ix;
        else
            p->bufs[b->rcvq_tail].next = ix;
        b->rcvq_tail = ix;
        b->rcvq_bytes += f->len;
    }
    if (unlikely(is_orphan(b))) {
        sock_drop_unread(c);
        b->flags |= BF_ABORT;
        return;
    }
    offer_queue(c);
    if (waits)
        tell_unread(c, before);
    note_shut(c);
    sock_note_readable(c);
}

static void tell_end(struct c10m_conn *c)
{
    struct block *b = c->b;
    if ((b->flags & (BF_PEER_FIN | BF_END_TOLD | BF_ABORT)) != BF_PEER_FIN || b->rcvq_bytes != 0)
        return;
    b->flags |= BF_END_TOLD;
    if (unlikely(is_orphan(b)))
        return;
    if (app_of(c)->end != NULL)
        app_of(c)->end(c);
    else if (!sock_pulls(c))
        tcp_close(c->k->tcp, c->ix);
}

static bool is_over(const struct c10m_conn *c)
{
    const struct block *b = c->b;
    if (b->state != TCP_CLOSED && b->state != TCP_TIME_WAIT)
        return false;
    // An application that pulls can still read data that arrived before an error, as on Linux.
    if (b->rcvq_bytes != 0 && b->close_why != C10M_ABORTED && !(b->flags & BF_ABORT) &&
        sock_pulls(c))
        return false;
    // An orderly close is reported after the application has read everything. TCP may have reached
    // CLOSED already, by later segments of the same burst.
    return b->close_why != C10M_CLOSED || ((b->flags & BF_PEER_FIN) && b->rcvq_bytes == 0);
}

static void finish(struct c10m_conn *c)
{
    if ((c->b->flags & BF_IN_APP) && app_of(c)->close != NULL)
        app_of(c)->close(c, (enum c10m_close)c->b->close_why);
    point_close(c->k->tcp->trace, tcp_traced(c->k->tcp, c->b), c->b->close_why);
    tcp_free(c->k->tcp, c->ix);
}

// settle: runs what a callback may have requested: offering data again, end, abort, close.
static void settle(struct c10m_conn *c)
{
    for (int i = 0; (c->due & DUE_RESUME) && i < SOCK_ROUNDS_MAX; i++) {
        c->due &= (uint8_t)~DUE_RESUME;
        offer_queue(c);
    }
    tell_end(c);
    if (unlikely(c->b->flags & BF_ABORT))
        tcp_abort(c->k->tcp, c->ix);
    if (unlikely(is_over(c)))
        finish(c);
}

static bool settle_reached(struct c10m_conn *c, bool may_resume)
{
    if (!(c->due & DUE_SETTLE))
        return false;
    c->due &= (uint8_t) ~(DUE_SETTLE | (may_resume ? 0 : DUE_RESUME));
    if (c->b->state != TCP_FREE)
        settle(c);
    return true;
}

// settle_others: settles the connections that root's callbacks reached, and those that their
// callbacks reached, including root. The loop ends, because each connection gets end() and close()
// only once.
static void settle_others(struct c10m_conn *root)
{
    struct sock *k = root->k;
    bool again = true;
    for (unsigned round = 0; again; round++) {
        again = settle_reached(root, round < SOCK_ROUNDS_MAX);
        for (unsigned i = 0; i < k->n_others; i++)
            again |= settle_reached(&k->others[i], round < SOCK_ROUNDS_MAX);
    }
    k->n_others = 0;
}

static NOINLINE void settle_all(struct c10m_conn *c)
{
    settle(c);
    if (c->due & DUE_OTHERS)
        settle_others(c);
}

// all_taken: whether the peer has acknowledged all data and our FIN. Only for a connection that
// the application knows.
static bool all_taken(const struct block *b)
{
    const uint16_t both = BF_IN_APP | BF_FIN_QUEUED;
    return (b->flags & both) == both && b->snd_una == b->snd_end + 1;
}

// pop_listener_mark: reads the listener's number from the application state of the block, and
// clears it there.
static NOINLINE void pop_listener_mark(struct c10m_conn *c)
{
    uint32_t mark = 0;
    if (!(c->b->flags & BF_IN_APP)) {  // an active open has no listener
        memcpy(&mark, c->b->app, sizeof(mark));
        memset(c->b->app, 0, sizeof(mark));
    }
    c->k->opened = c->ix;
    c->k->opened_by = (int)mark - 1;
}

static void tell_open(struct c10m_conn *c)
{
    const bool listens = c->k->tcp->listens != NULL;
    if (unlikely(listens))
        pop_listener_mark(c);
    c->b->flags |= BF_IN_APP;
    point_open(c->k->tcp->trace, tcp_traced(c->k->tcp, c->b));
    if (app_of(c)->open != NULL)
        app_of(c)->open(c);
    if (unlikely(listens))
        c->k->opened = BLOCK_NONE;
}

// other_events: every combination of events except data alone.
static NOINLINE void other_events(struct c10m_conn *c, const struct tcp_verdict *v,
                                  const uint8_t *data)
{
    const uint16_t events = v->events;
    if ((events & TCP_EV_OPEN) && !is_orphan(c->b) && !(c->b->flags & BF_ABORT))
        tell_open(c);
    if (events & TCP_EV_DATA)
        deliver(c, data, v->data_len);
    if (events & TCP_EV_CHAIN)
        deliver_chain(c, v->chain);
    if (events & TCP_EV_PEER_FIN)
        c->b->flags |= BF_PEER_FIN;
    if (events & (TCP_EV_PEER_FIN | TCP_EV_CLOSED))
        sock_note_readable(c);
    if ((events & TCP_EV_SENT) && (c->b->flags & BF_WANT_WRITE)) {
        c->b->flags &= (uint16_t)~BF_WANT_WRITE;
        if (app_of(c)->writable != NULL)
            app_of(c)->writable(c);
    }
    if ((events & TCP_EV_SENT) && app_of(c)->drained != NULL && all_taken(c->b))
        app_of(c)->drained(c);
    if ((events & TCP_EV_APP_TIMER) && app_of(c)->timer != NULL && (c->b->flags & BF_IN_APP))
        app_of(c)->timer(c);
}

// The block is in hand already (worker/hand.h): it is of the burst, or tcp_icmp() or tcp_timer()
// has touched it.
void sock_event(struct sock *k, const struct tcp_verdict *v, const uint8_t *data)
{
    struct c10m_conn c = {k, &k->tcp->blocks[v->block], v->block, 0};
    if (unlikely(c.b->state == TCP_FREE)) {  // the connection ended earlier in this turn
        if (v->events & TCP_EV_CHAIN)
            buf_put_chain(&k->tcp->bufs, v->chain);
        return;
    }
    shared_u8_store(&k->serving, c.b->service);
    if (likely(v->events == TCP_EV_DATA))
        deliver(&c, data, v->data_len);
    else
        other_events(&c, v, data);
    if (unlikely(c.due || (c.b->flags & (BF_PEER_FIN | BF_ABORT)) || c.b->state != TCP_ESTABLISHED))
        settle_all(&c);
}

void sock_begin(struct sock *k)
{
    k->core.root = (struct c10m_conn){k, NULL, BLOCK_NONE, 0};
    k->root = &k->core.root;
}

void sock_settle(struct sock *k)
{
    if (k->core.root.due & DUE_OTHERS)
        settle_others(&k->core.root);
}

void sock_message(struct sock *k, struct c10m_service *s, void *msg)
{
    shared_u8_store(&k->serving, s->ix);
    sock_begin(k);
    s->app->message(&k->core, s, msg);
    sock_settle(k);
}

void sock_tell(struct sock *k)
{
    for (unsigned i = 0; i < k->n_readable; i++) {
        const uint32_t ix = k->readable[i];
        struct c10m_conn c = {k, &k->tcp->blocks[ix], ix, 0};
        if (c.b->state == TCP_FREE || !(c.b->flags & BF_IN_APP))
            continue;
        shared_u8_store(&k->serving, c.b->service);
        tcp_touch(k->tcp, ix);
        if (app_of(&c)->readable != NULL && !(c.b->flags & BF_ABORT))
            app_of(&c)->readable(&c);
        settle_all(&c);
    }
    k->n_readable = 0;
}

void sock_reset(struct sock *k, uint32_t ix)
{
    struct c10m_conn c = {k, &k->tcp->blocks[ix], ix, 0};
    shared_u8_store(&k->serving, c.b->service);
    tcp_touch(k->tcp, ix);
    tcp_abort(k->tcp, ix);
    finish(&c);
    if (c.due & DUE_OTHERS)
        settle_others(&c);
}

void sock_drain(struct sock *k, uint32_t ix)
{
    struct c10m_conn c = {k, &k->tcp->blocks[ix], ix, 0};
    if (!(c.b->flags & BF_IN_APP) || (c.b->flags & BF_ABORT) || app_of(&c)->drain == NULL)
        return;
    shared_u8_store(&k->serving, c.b->service);
    tcp_touch(k->tcp, ix);
    app_of(&c)->drain(&c);
    settle_all(&c);
}

void sock_shown(struct sock *k, uint32_t ix)
{
    struct c10m_conn c = {k, &k->tcp->blocks[ix], ix, 0};
    if (!(c.b->flags & BF_IN_APP) || (c.b->flags & BF_ABORT) || app_of(&c)->reload == NULL)
        return;
    shared_u8_store(&k->serving, c.b->service);
    tcp_touch(k->tcp, ix);
    app_of(&c)->reload->shown(&c);
    settle_all(&c);
}

static uint32_t with_connections(const struct sock *k, uint32_t services)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < k->tcp->n_services; i++)
        if ((services >> i & 1) != 0 && k->tcp->services[i].connections != 0)
            left |= 1u << i;
    return left;
}

void sock_reset_some(struct sock *k)
{
    struct tcp *t = k->tcp;
    const uint32_t used = tcp_view_used(t->block_pool);
    uint32_t most = SOCK_RESETS_TURN_MAX;
    for (uint32_t n = MIN(used, (uint32_t)SOCK_RESET_LOOKS); n != 0 && most != 0; n--) {
        const uint32_t ix = k->reset_at < used ? k->reset_at : 0;
        const struct block *b = &t->blocks[ix];
        k->reset_at = ix + 1;
        if (b->state == TCP_FREE || (k->resets >> b->service & 1) == 0 ||
            tcp_room(t, b->key.local_ix) == 0)
            continue;
        sock_reset(k, ix);
        most--;
    }
    k->resets = with_connections(k, k->resets);
}

bool sock_abort_all(struct sock *k, uint32_t services, uint32_t *cursor, uint32_t block_count,
                    uint32_t max)
{
    for (uint32_t n = 0; n < max && *cursor < block_count; n++, (*cursor)++) {
        const struct block *b = &k->tcp->blocks[*cursor];
        if (b->state != TCP_FREE && (services >> b->service & 1) != 0)
            sock_reset(k, *cursor);
    }
    return *cursor >= block_count;
}
