// SPDX-License-Identifier: BSD-3-Clause
// Connections that another process left in memory of another layout are copied, and go on.
#include "adopt_world.h"
#include "tcp/tcp_move.h"
#include "tcp_lose.h"

// image: what a process left, at another address.
struct image {
    struct tcp_left left;
    uint8_t *fate;
    void *parts[8];
    unsigned n;
};

static void *copy_of(struct image *m, const void *from, size_t bytes)
{
    uint8_t *at = aligned_alloc(CACHE_LINE, ALIGN_UP(bytes, CACHE_LINE));
    memcpy(at, from, bytes);
    m->parts[m->n++] = at;
    return at;
}

// rebase: a copy of the buffers points into itself, as memory does that is mapped where it was.
static void rebase(struct tcp_left *l, const struct buf_pool *from)
{
    struct buf_pool p;
    buf_place(&p, l->buffers, l->n_buffers, l->n_refs);
    for (uint32_t ix = 0; ix < l->n_buffers; ix++)
        p.bufs[ix].at = (const uint8_t *)((uintptr_t)p.room + (uintptr_t)from->bufs[ix].at -
                                          (uintptr_t)from->room);
}

static struct image image_of(const struct tcp *t)
{
    struct image m = {.n = 0};
    struct tcp_left *l = &m.left;
    l->n_blocks = t->block_pool->count;
    l->n_syns = t->syn_pool->count;
    l->n_time_wait = t->tw4.capacity;
    l->n_time_wait6 = t->tw6.capacity;
    l->n_exts = t->ext_pool->count;
    l->n_flights = t->flights.small_free->count;
    l->n_buffers = t->bufs.data_count;
    l->n_refs = t->bufs.count - t->bufs.data_count;
    l->blocks = copy_of(&m, t->blocks, l->n_blocks * sizeof(struct block));
    l->syns = copy_of(&m, t->syns, l->n_syns * sizeof(struct syn_record));
    l->time_wait = copy_of(&m, t->tw4.records, l->n_time_wait * sizeof(struct time_wait));
    l->time_wait6 = copy_of(&m, t->tw6.records, l->n_time_wait6 * sizeof(struct time_wait6));
    l->exts = copy_of(&m, t->exts, l->n_exts * sizeof(struct ext));
    l->flights = copy_of(&m, t->flights.small, flight_footprint(l->n_flights));
    l->buffers = copy_of(&m, t->bufs.bufs, buf_footprint(l->n_buffers, l->n_refs));
    rebase(l, &t->bufs);
    m.fate = malloc(l->n_blocks);
    return m;
}

static void image_free(struct image *m)
{
    for (unsigned i = 0; i < m->n; i++)
        free(m->parts[i]);
    free(m->fate);
}

// wipe: what a new process has: nothing.
static void wipe(struct tcp *t)
{
    memset(t->blocks, 0, t->block_pool->count * sizeof(struct block));
    memset(t->rounds, 0, t->block_pool->count * sizeof(t->rounds[0]));
    memset(t->syns, 0, t->syn_pool->count * sizeof(struct syn_record));
    memset(t->tw4.records, 0, t->tw4.capacity * sizeof(struct time_wait));
    memset(t->tw6.records, 0, t->tw6.capacity * sizeof(struct time_wait6));
    memset(t->exts, 0xcc, t->ext_pool->count * sizeof(struct ext));
    memset(t->bufs.room, 0xcc, (size_t)t->bufs.data_count * BUF_STRIDE);
}

static void add(struct tcp_adopted *to, const struct tcp_adopted *from)
{
    to->connections += from->connections;
    to->half_open_refused += from->half_open_refused;
    to->time_wait_refused += from->time_wait_refused;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        to->refused[r] += from->refused[r];
}

static const struct tcp_move_map same = {.n_services = 1, .n_locals = 1};

// take: t takes what is at home with it, and adopts it.
static struct tcp_adopted take(struct tcp *t, const struct image *m, const struct tcp_move_map *map)
{
    const struct tcp_adopt_params p = {.n_locals = 1, .services = 1};
    struct tcp_adopted all, more;
    void *scratch = calloc(1, tcp_adopt_footprint(t));
    assert_int_equal(tcp_move_take(t, &m->left, (uint8_t *const *)&m->fate, 1, map, &all), 0);
    tcp_adopt(t, &p, scratch, &more);
    free(scratch);
    add(&all, &more);
    return all;
}

// move: the process of e ends, and the next one copies what it left.
static struct tcp_adopted move_with(struct end *e, struct image *m, const struct tcp_move_map *map)
{
    struct tcp_adopted all;
    assert_int_equal(tcp_move_look(&m->left, map, &e->tcp, m->fate, &all), 0);
    wipe(&e->tcp);
    tcp_lose(&e->tcp, e->sizes.wheel);
    const struct tcp_adopted more = take(&e->tcp, m, map);
    add(&all, &more);
    image_free(m);
    memset(e->shadows, 0, e->sizes.blocks * sizeof(e->shadows[0]));
    return all;
}

static struct tcp_adopted move(struct end *e)
{
    struct image m = image_of(&e->tcp);
    return move_with(e, &m, &same);
}

static void connections_go_on_in_another_place(void **state)
{
    (void)state;
    assert_go_on(test_rng(__func__), move);
}

static void whatever_was_written_nothing_is_held_twice_or_lost(void **state)
{
    struct rng rng = test_rng(__func__);
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        struct pair *p = busy(rng_u64(&rng), 6);
        pair_run_for(p, 5 + rng_below(&rng, 60));
        for (unsigned k = 0; k < 4; k++) {
            scribble(&rng, &p->e[A]);
            move(&p->e[A]);
            assert_whole(&p->e[A]);
        }
        pair_free(p, false);
    }
}

// next_end: where a process with other sizes begins.
static struct end *next_end(const struct end *before, const struct pair_sizes *sizes)
{
    struct end *e = aligned_alloc(_Alignof(struct end), sizeof(*e));
    end_init(e, before->v4, sizes);
    e->tcp.now = before->tcp.now;
    return e;
}

static unsigned alive(const struct tcp *t)
{
    unsigned n = 0;
    for (uint32_t ix = 0; ix < t->block_pool->count; ix++)
        n += t->blocks[ix].state != TCP_FREE && !block_is_refused(&t->blocks[ix]);
    return n;
}

static void those_without_room_are_counted_and_hold_nothing(void **state)
{
    static const struct pair_sizes small[] = {
        {.blocks = 3}, {.bufs = 8}, {.exts = 1}, {.flights = 1}, {.no_flights = 1}};
    struct rng rng = test_rng(__func__);
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        struct pair *p = busy(rng_u64(&rng), 8);
        struct tcp_adopted looked;
        pair_run_for(p, 5 + rng_below(&rng, 60));
        struct image m = image_of(&p->e[A].tcp);
        const unsigned before = alive(&p->e[A].tcp);
        struct end *to = next_end(&p->e[A], &small[i % ARRAY_LEN(small)]);
        assert_int_equal(tcp_move_look(&m.left, &same, &to->tcp, m.fate, &looked), 0);
        const struct tcp_adopted out = take(&to->tcp, &m, &same);
        assert_int_equal(refused(&looked), 0);
        assert_int_equal(out.connections + out.refused[TCP_REFUSED_ROOM], before);
        assert_int_equal(alive(&to->tcp), out.connections);
        assert_whole(to);
        image_free(&m);
        end_fini(to, false);
        free(to);
        pair_free(p, false);
    }
}

// homes: of two workers.
static struct tcp_homes homes_of(const struct end *e, unsigned self)
{
    struct rng rng = {7};
    uint8_t key[TOEPLITZ_KEY_BYTES_MAX];
    for (unsigned i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)rng_u64(&rng);
    struct tcp_homes h = {.workers = 2, .self = self, .local = {ip_from_v4(e->v4)}};
    toeplitz_init(&h.hash, key);
    h.entries[0] = TOEPLITZ_ENTRIES;
    return h;
}

static void each_goes_to_the_worker_that_gets_its_packets(void **state)
{
    enum { CONNECTIONS = 14 };
    struct rng rng = test_rng(__func__);
    (void)state;
    struct pair *p = busy(rng_u64(&rng), CONNECTIONS);
    pair_run_for(p, 40);
    struct image m = image_of(&p->e[A].tcp);
    const unsigned before = alive(&p->e[A].tcp);
    unsigned n[2];
    struct tcp_adopted out;
    struct tcp_move_map map = same;
    map.addr[0] = ip_from_v4(p->e[A].v4);
    assert_int_equal(tcp_move_look(&m.left, &map, &p->e[A].tcp, m.fate, &out), 0);
    for (unsigned w = 0; w < 2; w++) {
        struct end *to = next_end(&p->e[A], NULL);
        const struct tcp_homes homes = homes_of(&p->e[A], w);
        to->tcp.homes = &homes;
        out = take(&to->tcp, &m, &map);
        n[w] = alive(&to->tcp);
        assert_int_equal(out.connections, n[w]);
        for (uint32_t ix = 0; ix < to->tcp.block_pool->count; ix++)
            if (to->tcp.blocks[ix].state != TCP_FREE)
                assert_int_equal(tcp_home(&homes, &to->tcp.blocks[ix].key), w);
        assert_whole(to);
        end_fini(to, false);
        free(to);
    }
    assert_true(n[0] != 0 && n[1] != 0);
    assert_int_equal(n[0] + n[1], before);
    image_free(&m);
    pair_free(p, false);
}

static void what_was_in_hand_or_has_no_service_is_reset(void **state)
{
    static const struct tcp_move_map gone = {
        .n_services = 1, .n_locals = 1, .service = {TCP_MOVE_NONE}};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct raw *r = raw_new(NULL);
        raw_open(r);
        const uint32_t hand = (uint32_t)(raw_block(r) - r->e.tcp.blocks);
        struct image m = image_of(&r->e.tcp);
        m.left.hand = &hand;
        m.left.n_hand = i == 0;
        const struct tcp_adopted out = move_with(&r->e, &m, i == 0 ? &same : &gone);
        assert_int_equal(out.refused[i == 0 ? TCP_REFUSED_IN_HAND : TCP_REFUSED_SERVICE], 1);
        assert_int_equal(refused(&out), 1);
        assert_true(raw_wait(r, 10) < 10);
        assert_true((r->e.out[0].flags & SEG_RST) != 0);
        raw_turn(r, 1);
        raw_free(r, true);
    }
}

static void an_address_that_is_gone_takes_its_connections(void **state)
{
    static const struct tcp_move_map gone = {
        .n_services = 1, .n_locals = 1, .local = {TCP_MOVE_NONE}};
    (void)state;
    struct raw *r = raw_new(NULL);
    raw_open(r);
    struct image m = image_of(&r->e.tcp);
    const struct tcp_adopted out = move_with(&r->e, &m, &gone);
    assert_int_equal(out.refused[TCP_REFUSED_KEY], 1);
    assert_null(raw_block(r));
    raw_free(r, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_go_on_in_another_place),
        cmocka_unit_test(whatever_was_written_nothing_is_held_twice_or_lost),
        cmocka_unit_test(those_without_room_are_counted_and_hold_nothing),
        cmocka_unit_test(each_goes_to_the_worker_that_gets_its_packets),
        cmocka_unit_test(what_was_in_hand_or_has_no_service_is_reset),
        cmocka_unit_test(an_address_that_is_gone_takes_its_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
