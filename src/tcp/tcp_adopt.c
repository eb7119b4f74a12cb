// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_adopt.h"

#include <string.h>

#include "tcp/tcp_adopt_judge.h"
#include "tcp/tcp_adopt_refuse.h"
#include "tcp/tcp_cc.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_time_wait.h"

const char *tcp_refusal_name(enum tcp_refusal r)
{
#define NAME(name, text, help) text,
    static const char *const names[] = {"adopted", TCP_REFUSALS(NAME)};
#undef NAME
    return names[r];
}

const char *tcp_refusal_help(enum tcp_refusal r)
{
#define HELP(name, text, help) help,
    static const char *const helps[] = {"adopted", TCP_REFUSALS(HELP)};
#undef HELP
    return helps[r];
}

// ---- pass 1: blocks

// detach: what the earlier process had in its wheel and lists is not there any more.
static void detach(struct block *b)
{
    b->wheel_xmit_ms = b->wheel_slow_ms = b->wheel_movable = 0;
    b->dirty_next = BLOCK_NONE;
    b->source = SOURCE_NONE;
}

// has_owner: whether a connection or record with this key was adopted before.
static bool has_owner(const struct tcp *t, const struct flow_key *key)
{
    return tcp_owner(t, key) != FLOW_NONE;
}

// has_room: a connection by Fast Open is one of a limited number until its handshake is complete.
static bool has_room(const struct tcp *t, const struct block *b)
{
    const struct tcp_service *sv = &t->services[b->service];
    return !tcp_is_pending(b) || sv->fast_open_now < sv->fast_open;
}

// enter_table: hash: of the key.
static enum tcp_refusal enter_table(struct tcp *t, const struct block *b, uint32_t ix,
                                    uint64_t hash)
{
    if (b->key.zero == BLOCK_HAS_NO_ENTRY)
        return TCP_ADOPTED;
    if (tcp_owner_by(t, &b->key, hash) != FLOW_NONE)
        return TCP_REFUSED_KEY;
    return has_room(t, b) && flow_insert(t->table, hash, flow_index(FLOW_BLOCK, ix))
               ? TCP_ADOPTED
               : TCP_REFUSED_ROOM;
}

static void count_ext(struct tcp *t, const struct block *b)
{
    struct ext *e = &t->exts[b->ext];
    e->hold.source = tcp_source_place(t, &b->key.remote);
    t->ooo_of[e->hold.source].exts++;
    t->stats->c.ext_records_now++;
    if (e->ooo_head != BUF_NONE)
        ooo_adopt(t, b, e);
}

static void count_flight(struct tcp *t, const struct block *b)
{
    if (b->flight & FLIGHT_LARGE)
        t->stats->c.flight_logs_large_now++;
    else
        t->stats->c.flight_logs_now++;
}

static void count_source(struct tcp *t, struct block *b)
{
    if (t->sources == NULL || t->services[b->service].source_max == 0)
        return;
    b->source = sources_enter(t->sources, source_of(&b->key.remote), b->service);
    t->stats->c.sources_now = sources_now(t->sources);
}

// count_prefix: in_prefix says that a peer opened the connection, whatever process it was.
static void count_prefix(struct tcp *t, struct block *b)
{
    if (t->prefixes == NULL)
        b->in_prefix = false;
    else if (b->in_prefix)
        prefixes_enter(t->prefixes, &b->key.remote);
}

static void count_block(struct tcp *t, struct block *b)
{
    struct core_counters *c = &t->stats->c;
    t->services[b->service].connections++;
    t->services[b->service].fast_open_now += tcp_is_pending(b);
    c->connections_now++;
    c->connections6_now += !ip_is_v4(&b->key.remote);
    c->established_now += b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT;
    c->orphans_now += is_orphan(b);
    count_source(t, b);
    count_prefix(t, b);
    if (b->flags & BF_EXT)
        count_ext(t, b);
    if (b->has_flight)
        count_flight(t, b);
}

static enum tcp_refusal adopt_block(struct tcp_judge *j, uint32_t ix, uint64_t hash)
{
    struct tcp *t = j->t;
    struct block *b = &t->blocks[ix];
    enum tcp_refusal why = tcp_judge_block(j, ix);
    if (why != TCP_ADOPTED)
        return why;
    why = enter_table(t, b, ix, hash);
    if (why != TCP_ADOPTED) {
        tcp_judge_release(j, ix);
        return why;
    }
    detach(b);
    b->snd_cur = b->snd_head;  // a hint: the head is always right
    count_block(t, b);
    return TCP_ADOPTED;
}

static void adopt_or_free(struct tcp_judge *j, uint32_t ix, uint64_t hash, struct tcp_adopted *out)
{
    struct block *b = &j->t->blocks[ix];
    const bool was_free = b->state == TCP_FREE, was_refused = block_is_refused(b);
    if (was_refused)
        tcp_adopt_drop(b);  // the process ended while it refused it, or before its RST
    const enum tcp_refusal why =
        b->state == TCP_FREE ? TCP_REFUSAL_COUNT : adopt_block(j, ix, hash);
    if (why != TCP_ADOPTED)
        tcp_adopt_forget(b);
    if (was_free || was_refused)
        return;
    out->connections += why == TCP_ADOPTED;
    if (why != TCP_ADOPTED)
        out->refused[why]++;
}

// adopt_blocks: with ten million blocks each bucket of the flow table comes from memory: it is
// fetched a burst ahead.
static void adopt_blocks(struct tcp_judge *j, struct tcp_adopted *out)
{
    const struct tcp *t = j->t;
    const uint32_t count = t->block_pool->count;
    uint64_t hash[2][BURST_MAX];
    for (uint32_t first = 0; first < count + BURST_MAX; first += BURST_MAX) {
        if (first < count)
            flow_hash_burst(t->table, &t->blocks[first].key, sizeof(struct block),
                            MIN(count - first, (uint32_t)BURST_MAX), hash[first / BURST_MAX % 2]);
        if (first == 0)
            continue;
        const uint32_t from = first - BURST_MAX;
        for (uint32_t i = 0; i < BURST_MAX && from + i < count; i++)
            adopt_or_free(j, from + i, hash[from / BURST_MAX % 2][i], out);
    }
}

// ---- pass 1: half-open records

static bool adopt_half_open(struct tcp_judge *j, uint32_t ix)
{
    struct tcp *t = j->t;
    struct syn_record *r = &t->syns[ix];
    if (!tcp_judge_half_open(j, r) || has_owner(t, &r->key) ||
        !flow_insert(t->table, flow_hash(t->table, &r->key), flow_index(FLOW_SYN, ix)))
        return false;
    if (!tcp_syn_arm(t, ix)) {
        flow_remove(t->table, flow_hash(t->table, &r->key), flow_index(FLOW_SYN, ix));
        return false;
    }
    struct listening *g = listening_of(t, r);
    if (g != NULL)
        g->half_open++;
    t->stats->c.syn_records_now++;
    return true;
}

static void adopt_half_open_all(struct tcp_judge *j, struct tcp_adopted *out)
{
    struct tcp *t = j->t;
    for (uint32_t i = 0; t->listens != NULL && i < TCP_LISTENINGS_MAX; i++)
        t->listens->at[i].half_open = 0;
    for (uint32_t ix = 0; ix < t->syn_pool->count; ix++) {
        struct syn_record *r = &t->syns[ix];
        const bool was_live = r->live != 0;
        r->wheel_ms = 0;
        if (was_live && adopt_half_open(j, ix)) {
            out->half_open++;
            continue;
        }
        out->half_open_refused += was_live;
        *r = (struct syn_record){.child = BLOCK_NONE};
    }
}

// ---- pass 1: TIME-WAIT records

static uint32_t ring_place(const struct time_wait_ring *g, uint32_t from, uint32_t i)
{
    return (uint32_t)(((uint64_t)from + i) % g->capacity);
}

static void refuse_time_wait(struct time_wait *w, struct tcp_adopted *out)
{
    record_live(&w->live, false);
    out->time_wait_refused++;
}

static void refuse_broken(const struct tcp_judge *j, const struct time_wait_ring *g, bool v6,
                          struct tcp_adopted *out)
{
    for (uint32_t ix = 0; ix < g->capacity; ix++) {
        struct time_wait *w = time_wait_at(g, ix);
        if (w->live && !tcp_judge_time_wait(j, w, v6))
            refuse_time_wait(w, out);
    }
}

// first_to_end: a live record that ends first; the ring's capacity: none is live.
static uint32_t first_to_end(const struct time_wait_ring *g)
{
    uint32_t first = g->capacity;
    for (uint32_t ix = 0; ix < g->capacity; ix++) {
        const struct time_wait *w = time_wait_at(g, ix);
        if (w->live && (first == g->capacity ||
                        time_before(w->expires_ms, time_wait_at(g, first)->expires_ms)))
            first = ix;
    }
    return first;
}

// ring_head: the first of those that end first. They lie side by side, perhaps over the end of the
// array.
static uint32_t ring_head(const struct time_wait_ring *g)
{
    const uint32_t first = first_to_end(g);
    uint32_t head = first;
    for (uint32_t i = 1; i < g->capacity && first < g->capacity; i++) {
        const uint32_t ix = ring_place(g, first, g->capacity - i);
        const struct time_wait *w = time_wait_at(g, ix);
        if (w->live && w->expires_ms != time_wait_at(g, first)->expires_ms)
            break;
        head = w->live ? ix : head;
    }
    return head;
}

// is_copy: whether w is one of the two that a process leaves which is killed in
// tcp_time_wait_move(), and the other was adopted before.
static bool is_copy(const struct tcp *t, const struct time_wait_ring *g, enum flow_kind kind,
                    const struct time_wait *w)
{
    const struct flow_key key = time_wait_key(w);
    const uint32_t handle = tcp_owner(t, &key);
    if (handle == FLOW_NONE || flow_index_kind(handle) != kind)
        return false;
    const struct time_wait *other = time_wait_at(g, flow_index_ix(handle));
    return other->expires_ms == w->expires_ms && other->snd_nxt == w->snd_nxt &&
           other->rcv_nxt == w->rcv_nxt;
}

// enter_time_wait: record ix becomes the youngest of the ring, at its end.
static bool enter_time_wait(struct tcp *t, struct time_wait_ring *g, enum flow_kind kind,
                            uint32_t ix)
{
    const struct flow_key key = time_wait_key(time_wait_at(g, ix));
    const uint32_t to = ring_place(g, g->head, g->used);
    if (has_owner(t, &key) ||
        !flow_insert(t->table, flow_hash(t->table, &key), flow_index(kind, to)))
        return false;
    if (to != ix)
        tcp_time_wait_move(g, ix, to);
    g->used++;
    t->stats->c.time_wait_now++;
    return true;
}

// adopt_ring: the ring begins with the record that ends first, and has no gap: its head and its
// length were with the process.
static void adopt_ring(struct tcp_judge *j, struct time_wait_ring *g, enum flow_kind kind,
                       struct tcp_adopted *out)
{
    refuse_broken(j, g, kind == FLOW_TIME_WAIT6, out);
    const uint32_t head = ring_head(g);
    g->used = 0;
    g->head = head < g->capacity ? head : 0;
    for (uint32_t i = 0; head < g->capacity && i < g->capacity; i++) {
        const uint32_t ix = ring_place(g, head, i);
        struct time_wait *w = time_wait_at(g, ix);
        if (!w->live)
            continue;
        if (is_copy(j->t, g, kind, w))
            record_live(&w->live, false);
        else if (enter_time_wait(j->t, g, kind, ix))
            out->time_wait++;
        else
            refuse_time_wait(w, out);
    }
}

// ---- pass 2: free lists

static bool is_held(const uint64_t *bits, uint32_t ix)
{
    return bits[ix / 64] >> ix % 64 & 1;
}

static bool is_block_held(const struct tcp *t, uint32_t ix)
{
    return t->blocks[ix].state != TCP_FREE;
}

// fill: the indices of [from, to) that `held` has no bit for, the lowest last, because it is
// returned first. Returns how many.
static uint32_t fill(uint32_t *list, const uint64_t *held, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (uint32_t ix = to; ix-- > from;)
        if (!is_held(held, ix))
            list[n++] = ix;
    return n;
}

static void fill_pool(struct index_pool *p, const uint64_t *held)
{
    p->n_free = p->low_water = fill(p->free_list, held, 0, p->count);
    p->n_deferred = 0;
}

static void fill_buffers(struct buf_pool *p, const uint64_t *held)
{
    p->n_free_data = p->low_water = fill(p->free_data, held, 0, p->data_count);
    p->n_free_refs = fill(p->free_refs, held, p->data_count, p->count);
}

// fill_blocks: low_water says up to which index readers look, so it counts from the highest block
// in use.
static void fill_blocks(struct tcp *t)
{
    struct index_pool *p = t->block_pool;
    uint32_t used = 0;
    p->n_free = p->n_deferred = 0;
    for (uint32_t ix = p->count; ix-- > 0;) {
        if (!is_block_held(t, ix))
            p->free_list[p->n_free++] = ix;
        else
            used = MAX(used, ix + 1);
    }
    p->low_water = p->count - used;
}

static void fill_half_open(struct tcp *t)
{
    struct index_pool *p = t->syn_pool;
    uint32_t used = 0;
    p->n_free = p->n_deferred = 0;
    for (uint32_t ix = p->count; ix-- > 0;) {
        if (!t->syns[ix].live)
            p->free_list[p->n_free++] = ix;
        else
            used = MAX(used, ix + 1);
    }
    p->low_water = p->count - used;
}

static void fill_lists(struct tcp_judge *j)
{
    struct tcp *t = j->t;
    fill_blocks(t);
    fill_half_open(t);
    fill_pool(t->ext_pool, j->exts);
    fill_pool(t->flights.small_free, j->small);
    fill_pool(t->flights.large_free, j->large);
    fill_buffers(&t->bufs, j->bufs);
}

// ---- pass 3: deadlines

// arm: output decides what a block has to send, so that one look at each that may have something is
// enough. An idle connection stays where it is.
static void arm(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    const bool sends = b->snd_nxt != b->snd_end || b->snd_una != b->snd_max;
    const bool dirty = (b->flags & (BF_DIRTY | BF_ACK_NOW | BF_ABORT)) != 0 || sends;
    b->flags &= (uint16_t)~BF_DIRTY;
    tcp_arm(t, ix);
    if (block_is_refused(b))
        tcp_adopt_reset_soon(t, ix);
    else
        tcp_arm_slow(t, ix);
    if (b->flags & BF_EXT)
        tcp_cc_timer(t, b, ix);
    if (dirty)
        tcp_dirty(t, ix);
}

static void arm_all(struct tcp *t)
{
    for (uint32_t ix = 0; ix < t->block_pool->count; ix++)
        if (is_block_held(t, ix))
            arm(t, ix);
}

// ----

static void zero_gauges(struct tcp *t)
{
    struct core_counters *c = &t->stats->c;
    c->connections_now = c->connections6_now = c->established_now = c->orphans_now = 0;
    c->syn_records_now = c->time_wait_now = c->ext_records_now = c->sources_now = 0;
    c->flight_logs_now = c->flight_logs_large_now = c->ooo_buffers_now = 0;
    for (uint32_t i = 0; i < t->n_services; i++)
        t->services[i].connections = t->services[i].fast_open_now = 0;
}

size_t tcp_adopt_footprint(const struct tcp *t)
{
    return tcp_judge_footprint(t);
}

void tcp_adopt(struct tcp *t, const struct tcp_adopt_params *p, void *scratch,
               struct tcp_adopted *out)
{
    struct tcp_judge j;
    *out = (struct tcp_adopted){.connections = 0};
    zero_gauges(t);
    tcp_judge_init(&j, t, p, scratch);
    adopt_blocks(&j, out);
    adopt_half_open_all(&j, out);
    adopt_ring(&j, &t->tw4, FLOW_TIME_WAIT, out);
    adopt_ring(&j, &t->tw6, FLOW_TIME_WAIT6, out);
    fill_lists(&j);
    arm_all(t);
    tcp_cookies_expect(t);
}
