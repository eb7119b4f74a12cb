// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_move.h"

#include <stdlib.h>
#include <string.h>

#include "tcp/tcp_adopt_judge.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_time_wait.h"

enum { FATE_FREE = UINT8_MAX };  // else enum tcp_refusal

// ---- keys

// translate: the key with this process's address. False: there is none.
static bool translate(const struct tcp_move_map *map, struct flow_key *key)
{
    if (key->local_ix >= map->n_locals || map->local[key->local_ix] == TCP_MOVE_NONE)
        return false;
    key->local_ix = map->local[key->local_ix];
    return true;
}

// can_move: whether there is a worker for the half-open record.
static bool can_move(const struct tcp_move_map *map, const struct syn_record *r)
{
    struct flow_key key = r->key;
    return r->listen == TCP_LISTEN_NONE && r->service < map->n_services &&
           map->service[r->service] != TCP_MOVE_NONE && translate(map, &key);
}

// ---- look

// view: the earlier worker as the judge wants it.
struct view {
    struct tcp *t;
    struct index_pool *exts, *small, *large;
};

static struct index_pool *pool_of(uint32_t count)
{
    struct index_pool *p = calloc(1, sizeof(*p));
    if (p != NULL)
        p->count = count;
    return p;
}

static void view_free(struct view *v)
{
    free(v->t);
    free(v->exts);
    free(v->small);
    free(v->large);
}

static struct flight_pool flights_of(const struct tcp_left *left)
{
    return (struct flight_pool){.small = left->flights,
                                .large = left->flights + (size_t)left->n_flights * FLIGHT_BYTES};
}

static struct buf_pool buffers_of(const struct tcp_left *left)
{
    struct buf_pool p;
    buf_place(&p, left->buffers, left->n_buffers, left->n_refs);
    return p;
}

static bool view_init(struct view *v, const struct tcp_left *left, const struct tcp_move_map *map,
                      const struct tcp *like)
{
    *v = (struct view){.t = aligned_alloc(_Alignof(struct tcp), sizeof(struct tcp)),
                       .exts = pool_of(left->n_exts),
                       .small = pool_of(left->n_flights),
                       .large = pool_of(flight_large(left->n_flights))};
    if (v->t == NULL || v->exts == NULL || v->small == NULL || v->large == NULL) {
        view_free(v);
        return false;
    }
    struct tcp *t = v->t;
    memset(t, 0, sizeof(*t));
    t->blocks = left->blocks;
    t->bufs = buffers_of(left);
    t->exts = left->exts;
    t->ext_pool = v->exts;
    t->flights = flights_of(left);
    t->flights.small_free = v->small;
    t->flights.large_free = v->large;
    t->now = like->now;
    t->cfg = like->cfg;
    t->n_services = map->n_services;
    return true;
}

// is_image: tcp_adopt() asks what is one.
static bool is_image(void *arg, uint8_t service, const uint8_t *at, uint32_t len)
{
    return true;
}

static bool in_hand(const struct tcp_left *left, uint32_t ix)
{
    for (unsigned i = 0; i < left->n_hand; i++)
        if (left->hand[i] == ix)
            return true;
    return false;
}

// fate_of: of block ix, which is not FREE. The judge claims for a whole one what it holds.
static enum tcp_refusal fate_of(struct tcp_judge *j, const struct tcp_left *left,
                                const struct tcp_move_map *map, uint32_t ix)
{
    const struct block *b = &left->blocks[ix];
    if (in_hand(left, ix))
        return TCP_REFUSED_IN_HAND;
    const enum tcp_refusal why = tcp_judge_block(j, ix);
    if (why != TCP_ADOPTED)
        return why;
    if (map->local[b->key.local_ix] == TCP_MOVE_NONE)
        return TCP_REFUSED_KEY;
    return map->service[b->service] == TCP_MOVE_NONE && !block_is_refused(b) ? TCP_REFUSED_SERVICE
                                                                             : TCP_ADOPTED;
}

static void look_all(struct tcp_judge *j, const struct tcp_left *left,
                     const struct tcp_move_map *map, uint8_t *fate, struct tcp_adopted *out)
{
    for (uint32_t ix = 0; ix < left->n_blocks; ix++) {
        const struct block *b = &left->blocks[ix];
        fate[ix] = b->state == TCP_FREE ? FATE_FREE : (uint8_t)fate_of(j, left, map, ix);
        if (fate[ix] != FATE_FREE && fate[ix] != TCP_ADOPTED && !block_is_refused(b))
            out->refused[fate[ix]]++;
    }
}

static struct time_wait_ring ring_of(const struct tcp_left *left, bool v6)
{
    return v6 ? (struct time_wait_ring){.records = (uint8_t *)left->time_wait6,
                                        .record_bytes = sizeof(struct time_wait6),
                                        .capacity = left->n_time_wait6}
              : (struct time_wait_ring){.records = (uint8_t *)left->time_wait,
                                        .record_bytes = sizeof(struct time_wait),
                                        .capacity = left->n_time_wait};
}

// waits: whether it is a live record of this family's ring, and its key. Only then has it all bytes
// of the family's address.
static bool waits(const struct time_wait *w, bool v6, struct flow_key *key)
{
    if (w->live != 1 || w->is_v6 != v6)
        return false;
    *key = time_wait_key(w);
    return true;
}

// count_gone: the records that no worker takes.
static void count_gone(const struct tcp_left *left, const struct tcp_move_map *map,
                       struct tcp_adopted *out)
{
    for (uint32_t ix = 0; ix < left->n_syns; ix++)
        out->half_open_refused += left->syns[ix].live != 0 && !can_move(map, &left->syns[ix]);
    for (unsigned v6 = 0; v6 < 2; v6++) {
        const struct time_wait_ring g = ring_of(left, v6);
        for (uint32_t ix = 0; ix < g.capacity; ix++) {
            const struct time_wait *w = time_wait_at(&g, ix);
            struct flow_key key;
            out->time_wait_refused += w->live != 0 && !(waits(w, v6, &key) && translate(map, &key));
        }
    }
}

int tcp_move_look(const struct tcp_left *left, const struct tcp_move_map *map,
                  const struct tcp *like, uint8_t *fate, struct tcp_adopted *out)
{
    const struct tcp_adopt_params p = {
        .n_locals = map->n_locals, .services = UINT32_MAX, .is_image = is_image};
    struct tcp_judge j;
    struct view v;
    *out = (struct tcp_adopted){.connections = 0};
    if (!view_init(&v, left, map, like))
        return -1;
    void *scratch = calloc(1, tcp_judge_footprint(v.t));
    if (scratch != NULL) {
        tcp_judge_init(&j, v.t, &p, scratch);
        look_all(&j, left, map, fate, out);
        count_gone(left, map, out);
    }
    free(scratch);
    view_free(&v);
    return scratch != NULL ? 0 : -1;
}

// ---- take

// taking: of one earlier worker.
struct taking {
    struct tcp *t;
    const struct tcp_left *left;
    const struct tcp_move_map *map;
    struct buf_pool bufs;  // the earlier ones
    struct flight_pool flights;
    struct tcp_adopted *out;
};

// is_mine: whether the connection is at home with t. Translates its key.
static bool is_mine(const struct tcp *t, const struct tcp_move_map *map, struct flow_key *key)
{
    const uint16_t was = key->local_ix;
    return translate(map, key) &&
           (t->homes == NULL || tcp_home_at(t->homes, key, &map->addr[was]) == t->homes->self);
}

// copy_buf: buffer ix, whose bytes are valid from `from` on. BUF_NONE: no room.
static uint32_t copy_buf(struct taking *k, uint32_t ix, const uint8_t *from, uint32_t len)
{
    const struct buf *b = &k->bufs.bufs[ix];
    struct buf_pool *to = &k->t->bufs;
    const uint32_t copy = buf_is_ref(&k->bufs, ix) ? buf_get_ref(to, b->at, b->len) : buf_get(to);
    if (copy == BUF_NONE)
        return BUF_NONE;
    struct buf *c = &to->bufs[copy];
    c->seq = b->seq;
    c->len = b->len;
    c->ends_record = b->ends_record;
    if (buf_is_ref(&k->bufs, ix))
        return copy;
    uint8_t *at = buf_room(to, copy) + (from - buf_room(&k->bufs, ix));
    memcpy(at, from, len);
    c->at = at;
    return copy;
}

// copy_chain: a queue that the judge has found whole. pages: its buffers have no first byte, and
// are copied as they are. False: no room.
static bool copy_chain(struct taking *k, uint32_t from, bool pages, uint32_t *head, uint32_t *tail)
{
    struct buf *bufs = k->t->bufs.bufs;
    *head = *tail = BUF_NONE;
    for (uint32_t ix = from; ix != BUF_NONE; ix = k->bufs.bufs[ix].next) {
        const struct buf *b = &k->bufs.bufs[ix];
        const uint32_t copy = pages ? copy_buf(k, ix, buf_room(&k->bufs, ix), BUF_BYTES)
                                    : copy_buf(k, ix, b->at, b->len);
        if (copy == BUF_NONE)
            return false;
        if (*tail == BUF_NONE)
            *head = copy;
        else
            bufs[*tail].next = copy;
        *tail = copy;
    }
    return true;
}

// link_runs: the last page of each run is the copy of what it was. Runs and pages are in order.
static void link_runs(struct taking *k, const struct ext *from, struct ext *e)
{
    struct ooo_run *runs = ooo_runs(&k->t->bufs, e);
    uint32_t was = from->ooo_head, is = e->ooo_head;
    for (unsigned i = 0; i < e->ooo_runs; i++) {
        for (; was != runs[i].last; was = k->bufs.bufs[was].next)
            is = k->t->bufs.bufs[is].next;
        runs[i].last = is;
    }
}

static bool copy_out_of_order(struct taking *k, const struct ext *from, struct ext *e)
{
    uint32_t tail;
    if (from->ooo_head == BUF_NONE)
        return true;
    if (!copy_chain(k, from->ooo_head, true, &e->ooo_head, &tail))
        return false;
    e->ooo_table = copy_buf(k, from->ooo_table, buf_room(&k->bufs, from->ooo_table), BUF_BYTES);
    if (e->ooo_table == BUF_NONE)
        return false;
    link_runs(k, from, e);
    return true;
}

static bool copy_ext(struct taking *k, const struct block *from, struct block *b)
{
    if (!(from->flags & BF_EXT))
        return true;
    b->ext = index_pool_get(k->t->ext_pool);
    if (b->ext == INDEX_NONE)
        return false;
    const struct ext *was = &k->left->exts[from->ext];
    struct ext *e = &k->t->exts[b->ext];
    *e = *was;
    e->hold = (struct ext_hold){.source = 0};
    e->ooo_head = e->ooo_table = BUF_NONE;
    return copy_out_of_order(k, was, e);
}

static bool copy_flight(struct taking *k, const struct block *from, struct block *b)
{
    if (!from->has_flight)
        return true;
    const uint32_t large = from->flight & FLIGHT_LARGE;
    struct flight_pool *to = &k->t->flights;
    const uint32_t ix = index_pool_get(large ? to->large_free : to->small_free);
    if (ix == INDEX_NONE)
        return false;
    b->flight = ix | large;
    b->has_flight = true;
    memcpy(flight_at(to, b->flight), flight_at(&k->flights, from->flight),
           large ? FLIGHT_LARGE_BYTES : FLIGHT_BYTES);
    return true;
}

static void give_back_ext(struct tcp *t, uint32_t ix)
{
    const struct ext *e = &t->exts[ix];
    buf_put_chain(&t->bufs, e->ooo_head);
    if (e->ooo_table != BUF_NONE)
        buf_put(&t->bufs, e->ooo_table);
    index_pool_put(t->ext_pool, ix);
}

static void give_back_flight(struct tcp *t, uint32_t flight)
{
    index_pool_put(flight & FLIGHT_LARGE ? t->flights.large_free : t->flights.small_free,
                   flight & ~FLIGHT_LARGE);
}

// give_back: what block ix has got so far, and the block.
static void give_back(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    buf_put_chain(&t->bufs, b->snd_head);
    buf_put_chain(&t->bufs, b->rcvq_head);
    if (b->ext != EXT_NONE)
        give_back_ext(t, b->ext);
    if (b->has_flight)
        give_back_flight(t, b->flight);
    *b = (struct block){.generation = b->generation, .dirty_next = BLOCK_NONE};
    index_pool_put(t->block_pool, ix);
}

// begin: a new life of block ix, which holds nothing yet.
static struct block *begin(struct taking *k, uint32_t ix, const struct block *from,
                           const struct flow_key *key)
{
    struct block *b = &k->t->blocks[ix];
    const uint16_t generation = (uint16_t)(b->generation + 1);
    *b = *from;
    b->generation = generation;
    tcp_next_round(k->t, b, ix);
    b->key = *key;
    b->snd_head = b->snd_tail = b->snd_cur = b->rcvq_head = b->rcvq_tail = BUF_NONE;
    b->ext = EXT_NONE;
    b->has_flight = false;
    const uint8_t service = from->service < k->map->n_services ? k->map->service[from->service]
                                                               : (uint8_t)TCP_MOVE_NONE;
    b->service = service == TCP_MOVE_NONE ? 0 : service & 31;
    return b;
}

static bool copy_parts(struct taking *k, const struct block *from, struct block *b)
{
    const bool all = copy_chain(k, from->snd_head, false, &b->snd_head, &b->snd_tail) &&
                     copy_chain(k, from->rcvq_head, false, &b->rcvq_head, &b->rcvq_tail) &&
                     copy_ext(k, from, b) && copy_flight(k, from, b);
    b->snd_cur = b->snd_head;
    return all;
}

// is_reset: whether the peer gets a RST in the first turns (tcp_adopt_drop()).
static bool is_reset(enum tcp_refusal fate)
{
    return fate == TCP_REFUSED_IN_HAND || fate == TCP_REFUSED_SERVICE;
}

static void take_block(struct taking *k, const struct block *from, const struct flow_key *key,
                       enum tcp_refusal fate)
{
    struct tcp *t = k->t;
    const uint32_t ix = index_pool_get(t->block_pool);
    if (ix == INDEX_NONE) {
        k->out->refused[TCP_REFUSED_ROOM] += fate == TCP_ADOPTED && !block_is_refused(from);
        return;
    }
    struct block *b = begin(k, ix, from, key);
    if (is_reset(fate)) {
        tcp_adopt_drop(b);
        if (b->state == TCP_FREE)
            index_pool_put(t->block_pool, ix);
    } else if (!copy_parts(k, from, b)) {
        give_back(t, ix);
        k->out->refused[TCP_REFUSED_ROOM]++;
    }
}

static void take_blocks(struct taking *k, const uint8_t *fate, bool resets)
{
    for (uint32_t ix = 0; ix < k->left->n_blocks; ix++) {
        const struct block *b = &k->left->blocks[ix];
        struct flow_key key = b->key;
        if (fate[ix] != FATE_FREE && (resets ? is_reset(fate[ix]) : fate[ix] == TCP_ADOPTED) &&
            is_mine(k->t, k->map, &key))
            take_block(k, b, &key, fate[ix]);
    }
}

// ---- half-open records

static void take_half_open(struct taking *k, const struct syn_record *from)
{
    struct tcp *t = k->t;
    struct flow_key key = from->key;
    if (from->live != 1 || !can_move(k->map, from) || !is_mine(t, k->map, &key))
        return;
    const uint32_t ix = index_pool_get(t->syn_pool);
    if (ix == INDEX_NONE) {
        k->out->half_open_refused++;
        return;
    }
    struct syn_record *r = &t->syns[ix];
    *r = *from;
    r->key = key;
    r->service = k->map->service[from->service];
    r->wheel_ms = 0;
}

// ---- TIME-WAIT records

// waiting: pointers to the live records of one family that are at home, in the order of their ends.
struct waiting {
    struct time_wait **of;
    size_t n;
};

static void gather(struct waiting *all, const struct tcp *t, const struct tcp_move_map *map,
                   const struct time_wait_ring *from, bool v6)
{
    for (uint32_t ix = 0; ix < from->capacity; ix++) {
        struct time_wait *w = time_wait_at(from, ix);
        struct flow_key key;
        if (waits(w, v6, &key) && is_mine(t, map, &key))
            all->of[all->n++] = w;
    }
}

static int by_end(const void *a, const void *b)
{
    const uint32_t x = (*(struct time_wait *const *)a)->expires_ms;
    const uint32_t y = (*(struct time_wait *const *)b)->expires_ms;
    return x == y ? 0 : time_before(x, y) ? -1 : 1;
}

// place: the youngest that fit, the first to end at the begin of the ring.
static void place(struct time_wait_ring *to, const struct waiting *all,
                  const struct tcp_move_map *map, struct tcp_adopted *out)
{
    const size_t extra = all->n > to->capacity ? all->n - to->capacity : 0;
    out->time_wait_refused += (uint32_t)extra;
    for (size_t i = extra; i < all->n; i++) {
        struct time_wait *w = time_wait_at(to, (uint32_t)(i - extra));
        memcpy(w, all->of[i], to->record_bytes);
        w->local_ix = map->local[w->local_ix];
        w->again = 0;  // it lies where its time says
    }
}

static int take_waiting(struct tcp *t, const struct tcp_left *left, unsigned n,
                        const struct tcp_move_map *map, bool v6, struct tcp_adopted *out)
{
    struct waiting all = {.n = 0};
    size_t most = 1;
    for (unsigned i = 0; i < n; i++)
        most += ring_of(&left[i], v6).capacity;
    all.of = malloc(most * sizeof(all.of[0]));
    if (all.of == NULL)
        return -1;
    for (unsigned i = 0; i < n; i++) {
        const struct time_wait_ring from = ring_of(&left[i], v6);
        gather(&all, t, map, &from, v6);
    }
    qsort(all.of, all.n, sizeof(all.of[0]), by_end);
    place(v6 ? &t->tw6 : &t->tw4, &all, map, out);
    free(all.of);
    return 0;
}

static struct taking taking_of(struct tcp *t, const struct tcp_left *left,
                               const struct tcp_move_map *map, struct tcp_adopted *out)
{
    return (struct taking){.t = t,
                           .left = left,
                           .map = map,
                           .bufs = buffers_of(left),
                           .flights = flights_of(left),
                           .out = out};
}

// Those that are only reset come last: they take no block of one that goes on.
int tcp_move_take(struct tcp *t, const struct tcp_left *left, uint8_t *const *fate, unsigned n,
                  const struct tcp_move_map *map, struct tcp_adopted *out)
{
    *out = (struct tcp_adopted){.connections = 0};
    for (unsigned i = 0; i < 2 * n; i++) {
        struct taking k = taking_of(t, &left[i % n], map, out);
        take_blocks(&k, fate[i % n], i >= n);
        for (uint32_t ix = 0; i < n && ix < left[i].n_syns; ix++)
            take_half_open(&k, &left[i].syns[ix]);
    }
    return take_waiting(t, left, n, map, false, out) != 0 ||
                   take_waiting(t, left, n, map, true, out) != 0
               ? -1
               : 0;
}
