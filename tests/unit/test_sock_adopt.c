// SPDX-License-Identifier: BSD-3-Clause
// State that another version of an application left in its connections: what the application
// converts goes on, what it does not understand is refused.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "seed.h"
#include "sock/sock_adopt.h"
#include "tcp/tcp_adopt.h"
#include "tcp_lose.h"
#include "tcp_pair.h"

enum { A, B, BYTES = 300000, CONNECTIONS = 6, OLD = 7, NEW = 9, MASK = 0x5a };

// What the application of end A was asked, and what it answers.
static struct {
    unsigned calls;
    uint32_t version;
    unsigned refuses;  // every so many calls; 0: never
    const struct c10m_service *service;
} asked;

static void turn_over(uint8_t *state)
{
    for (unsigned i = 0; i < C10M_STATE_BYTES; i++)
        state[i] ^= MASK;
}

// from_old: the other version keeps each byte turned over. It spoils what it refuses.
static bool from_old(const struct c10m_service *s, uint32_t version, void *state)
{
    assert_int_equal((uintptr_t)state % 64, 0);
    asked.service = s;
    asked.version = version;
    turn_over(state);
    return ++asked.calls % (asked.refuses != 0 ? asked.refuses : UINT32_MAX) != 0;
}

static struct c10m_app app_new;

// world: connections between A and B, over a bad link, in both directions. A keeps version OLD.
struct world {
    struct pair *p;
    struct sock_states states;
};

static void run_version(struct world *w, uint32_t version,
                        bool (*adopt)(const struct c10m_service *, uint32_t, void *))
{
    struct c10m_service *s = &w->p->e[A].services[0];
    if (s->app != &app_new)
        app_new = *s->app;
    app_new.adopts = true;
    app_new.adopted = NULL;
    app_new.state_version = version;
    app_new.adopt = adopt;
    s->app = &app_new;
}

static struct world world_new(uint64_t seed)
{
    struct world w = {.p = pair_new(seed)};
    memset(&asked, 0, sizeof(asked));
    w.p->loss_pm = 30;
    w.p->reorder_pm = 100;
    for (unsigned i = 0; i < 2; i++)
        w.p->e[i].role = (struct role){.source = BYTES, .shut = true};
    for (unsigned i = 0; i < CONNECTIONS; i++)
        end_connect(&w.p->e[i % 2], w.p->e[!(i % 2)].v4, PAIR_PORT);
    run_version(&w, OLD, NULL);
    sock_states_note(&w.states, w.p->e[A].services, 1);
    return w;
}

// told: connections of end A that its application knows.
static unsigned told(const struct end *e)
{
    unsigned n = 0;
    for (uint32_t ix = 0; ix < e->sizes.blocks; ix++)
        n += e->tcp.blocks[ix].state != TCP_FREE && (e->tcp.blocks[ix].flags & BF_IN_APP) != 0;
    return n;
}

// turn_all: what is there was written by the other version.
static void turn_all(struct end *e)
{
    for (uint32_t ix = 0; ix < e->sizes.blocks; ix++)
        if (e->tcp.blocks[ix].flags & BF_IN_APP)
            turn_over(e->tcp.blocks[ix].app);
}

// restart: A's process ends, and the next one adopts its connections as far as TCP is concerned.
static void restart(struct end *e)
{
    const struct tcp_adopt_params p = {.n_locals = 1, .services = 1};
    struct tcp_adopted out;
    void *scratch = calloc(1, tcp_adopt_footprint(&e->tcp));
    tcp_lose(&e->tcp, e->sizes.wheel);
    tcp_adopt(&e->tcp, &p, scratch, &out);
    free(scratch);
    memset(e->shadows, 0, e->sizes.blocks * sizeof(e->shadows[0]));
}

static unsigned adopt(struct world *w)
{
    struct end *e = &w->p->e[A];
    restart(e);
    const struct sock_change c = sock_states_begin(&w->states, e->services, 1);
    const unsigned refused = sock_adopt(&e->sock, &w->states, c);
    sock_states_end(&w->states, e->services, 1);
    end_check_pools(e);
    return refused;
}

static void assert_all_arrives(struct world *w)
{
    pair_run(w->p, 4000 * 1000);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(w->p->e[i].role.received, (uint64_t)BYTES * CONNECTIONS);
        assert_int_equal(w->p->e[i].role.closed, CONNECTIONS);
        assert_false(w->p->e[i].role.wrong);
    }
    pair_free(w->p, true);
}

static void state_of_the_same_version_is_left_alone(void **state)
{
    struct world w = world_new(1);
    (void)state;
    run_version(&w, OLD, from_old);
    pair_run_for(w.p, 20);
    assert_int_equal(adopt(&w), 0);
    assert_int_equal(asked.calls, 0);
    assert_all_arrives(&w);
}

static void what_the_application_converts_goes_on(void **state)
{
    struct world w = world_new(2);
    (void)state;
    pair_run_for(w.p, 20);
    const unsigned n = told(&w.p->e[A]);
    assert_true(n > 0);
    turn_all(&w.p->e[A]);
    run_version(&w, NEW, from_old);
    assert_int_equal(adopt(&w), 0);
    assert_int_equal(asked.calls, n);
    assert_int_equal(asked.version, OLD);
    assert_ptr_equal(asked.service, &w.p->e[A].services[0]);
    assert_int_equal(adopt(&w), 0);  // they are of its version now
    assert_int_equal(asked.calls, n);
    assert_all_arrives(&w);
}

static void a_version_back_is_another_version(void **state)
{
    struct world w = world_new(3);
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        pair_run_for(w.p, 10);
        turn_all(&w.p->e[A]);
        run_version(&w, i % 2 ? OLD : NEW, from_old);
        assert_int_equal(adopt(&w), 0);
        assert_int_equal(asked.version, i % 2 ? NEW : OLD);
    }
    assert_all_arrives(&w);
}

static void what_it_refuses_is_reset_and_the_others_go_on(void **state)
{
    struct world w = world_new(4);
    struct end *a = &w.p->e[A], *b = &w.p->e[B];
    (void)state;
    pair_run_for(w.p, 20);
    const unsigned n = told(a), now = (unsigned)a->stats.c.connections_now;
    assert_true(n >= 2);
    turn_all(a);
    asked.refuses = 2;
    run_version(&w, NEW, from_old);
    assert_int_equal(adopt(&w), n / 2);
    assert_int_equal(told(a), n - n / 2);
    assert_int_equal(a->stats.c.connections_now, now);
    const uint64_t before = a->stats.c.rst_sent;
    pair_run_for(w.p, 2);  // reset in the first turns
    assert_true(a->stats.c.rst_sent >= before + n / 2);
    assert_int_equal(a->tcp.services[0].connections, a->stats.c.connections_now);
    pair_run(w.p, 4000 * 1000);
    // `close` of the refused ones is not called.
    assert_int_equal(a->role.closed, CONNECTIONS - n / 2);
    assert_int_equal(b->role.closed, CONNECTIONS);
    assert_false(a->role.wrong || b->role.wrong);
    pair_free(w.p, true);
}

static void without_a_callback_all_are_reset(void **state)
{
    struct world w = world_new(5);
    (void)state;
    pair_run_for(w.p, 20);
    run_version(&w, NEW, NULL);
    const unsigned n = told(&w.p->e[A]);
    assert_true(n > 0);
    assert_int_equal(adopt(&w), n);
    assert_int_equal(told(&w.p->e[A]), 0);
    pair_run_for(w.p, 2);
    assert_int_equal(w.p->e[A].stats.c.established_now, 0);
    pair_run(w.p, 4000 * 1000);
    assert_int_equal(w.p->e[B].role.closed, CONNECTIONS);
    assert_int_equal(w.p->e[B].role.why, C10M_RESET);
    pair_free(w.p, true);
}

// looked: what `adopted` was asked for.
static struct {
    unsigned calls, found, refuses;
    uint64_t first;  // handle
} looked;

static bool look(struct c10m_conn *c)
{
    if (looked.calls++ == 0)
        looked.first = c10m_handle(c);
    looked.found += c10m_find(c, looked.first) != NULL;
    assert_true(c10m_send_queued(c) <= BYTES);
    return looked.calls > looked.refuses;
}

static void the_application_looks_at_each_and_what_it_does_not_continue_is_reset(void **state)
{
    struct world w = world_new(7);
    struct end *a = &w.p->e[A], *b = &w.p->e[B];
    (void)state;
    memset(&looked, 0, sizeof(looked));
    pair_run_for(w.p, 20);
    const unsigned n = told(a);
    assert_true(n >= 2);
    app_new.adopted = look;
    assert_int_equal(adopt(&w), 0);
    assert_int_equal(looked.calls, n);
    assert_int_equal(looked.found, n);
    looked.calls = looked.found = 0;
    looked.refuses = 1;
    assert_int_equal(adopt(&w), 1);
    assert_int_equal(looked.found, 1);  // only before it was refused
    assert_int_equal(told(a), n - 1);
    pair_run(w.p, 4000 * 1000);
    assert_int_equal(a->role.closed, CONNECTIONS - 1);
    assert_int_equal(b->role.closed, CONNECTIONS);
    pair_free(w.p, true);
}

// The application has closed it: its state means nothing any more.
static void an_orphan_goes_on_with_any_version(void **state)
{
    struct raw *r = raw_new(NULL);
    struct sock_states st = {.version = {OLD}};
    struct c10m_app other = *r->e.services[0].app;
    (void)state;
    r->e.role = (struct role){.source = 20000};
    raw_open(r);
    raw_turn(r, 1);
    tcp_orphan(&r->e.tcp, 0, false);
    raw_turn(r, 1);
    restart(&r->e);
    other.adopts = true;
    other.state_version = NEW;
    r->e.services[0].app = &other;
    const struct sock_change c = sock_states_begin(&st, r->e.services, 1);
    assert_int_equal(c.other, 1);
    assert_int_equal(sock_adopt(&r->e.sock, &st, c), 0);
    assert_non_null(raw_block(r));
    raw_free(r, false);
}

// assert_stripped: no block of e that is refused names anything but its addresses and ports.
static void assert_stripped(const struct end *e)
{
    for (uint32_t ix = 0; ix < e->sizes.blocks; ix++) {
        const struct block *b = &e->tcp.blocks[ix];
        if (b->state == TCP_FREE || !block_is_refused(b))
            continue;
        assert_int_equal(b->snd_head & b->snd_tail & b->snd_cur & b->rcvq_head & b->rcvq_tail,
                         BUF_NONE);
        assert_int_equal(b->ext, EXT_NONE);
        assert_int_equal(b->has_flight, 0);
        assert_int_equal(b->snd_una, b->snd_end);
        assert_int_equal(b->keepalive_ms | b->linger_at_ms | b->rto_at_ms | b->rcvq_bytes, 0);
    }
}

// Its images may be freed at once, and its buffers are for the others.
static void what_is_refused_holds_nothing_and_sends_its_rst_alone(void **state)
{
    struct raw *r = raw_new(NULL);
    struct sock_states st = {.version = {OLD}};
    struct c10m_app other = *r->e.services[0].app;
    (void)state;
    r->sack = true;
    r->e.role = (struct role){.source = 20000, .hold = true};
    raw_open(r);
    raw_send(r, SEG_ACK, 0, 1000);
    raw_seg(r, SEG_ACK, r->seq + 5000, r->ack, 6000, 1000);  // out of order
    raw_turn(r, 1);
    const struct block *b = raw_block(r);
    const uint32_t max = b->snd_max;
    assert_true(b->has_flight && (b->flags & BF_EXT) && b->snd_head != BUF_NONE);
    restart(&r->e);
    other.adopts = true;
    other.state_version = NEW;
    r->e.services[0].app = &other;
    const struct sock_change c = sock_states_begin(&st, r->e.services, 1);
    assert_int_equal(sock_adopt(&r->e.sock, &st, c), 1);
    assert_stripped(&r->e);
    assert_int_equal(r->e.tcp.bufs.n_free_data, r->e.tcp.bufs.data_count);
    end_check_pools(&r->e);
    raw_turn(r, 0);  // before its timer, of a connection that had bytes to send
    assert_int_equal(r->e.tcp.n_out, 0);
    raw_turn(r, 2);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(r->e.out[0].flags & SEG_RST, SEG_RST);
    assert_int_equal(r->e.out[0].seq, max);
    assert_null(raw_block(r));
    raw_free(r, true);
}

// The next process must not believe what is left of it.
static void what_was_being_refused_is_refused_whatever_is_left_of_it(void **state)
{
    struct world w = world_new(8);
    struct end *a = &w.p->e[A];
    (void)state;
    pair_run_for(w.p, 20);
    const unsigned n = told(a);
    assert_true(n > 0);
    for (uint32_t ix = 0; ix < a->sizes.blocks; ix++) {
        struct block *b = &a->tcp.blocks[ix];
        if (b->flags & BF_IN_APP)
            b->flags = (uint16_t)((b->flags & ~BF_IN_APP) | BF_ABORT);
    }
    assert_int_equal(adopt(&w), 0);  // refused before
    assert_int_equal(told(a), 0);
    assert_stripped(a);
    const uint64_t before = a->stats.c.rst_sent;
    pair_run_for(w.p, 2);
    assert_true(a->stats.c.rst_sent >= before + n);
    pair_run(w.p, 4000 * 1000);
    pair_free(w.p, true);
}

// Who ends while it converts leaves state of two versions.
static void state_of_mixed_versions_is_refused_unseen_even_by_the_old_version(void **state)
{
    struct world w = world_new(6);
    struct end *a = &w.p->e[A];
    (void)state;
    pair_run_for(w.p, 20);
    run_version(&w, NEW, from_old);
    const struct sock_change c = sock_states_begin(&w.states, a->services, 1);
    assert_int_equal(c.other, 1);
    assert_int_equal(c.unknown, 0);
    run_version(&w, OLD, from_old);
    const unsigned n = told(a);
    assert_int_equal(adopt(&w), n);
    assert_int_equal(asked.calls, 0);
    const struct sock_change next = sock_states_begin(&w.states, a->services, 1);
    assert_int_equal(next.other | next.unknown, 0);
    pair_run(w.p, 4000 * 1000);
    pair_free(w.p, true);
}

static void services_are_compared_one_by_one(void **state)
{
    const struct c10m_app one = {.adopts = true, .state_version = 1},
                          two = {.adopts = true, .state_version = 2};
    struct c10m_service s[3] = {{.app = &one}, {.app = &one}, {.app = &two}};
    struct sock_states st;
    (void)state;
    sock_states_note(&st, s, 3);
    s[1].app = &two;
    struct sock_change c = sock_states_begin(&st, s, 3);
    assert_int_equal(c.other, 1 << 1);
    assert_int_equal(c.unknown, 0);
    c = sock_states_begin(&st, s, 3);  // it was not ended
    assert_int_equal(c.other, 1 << 1);
    assert_int_equal(c.unknown, 1 << 1);
    sock_states_end(&st, s, 3);
    c = sock_states_begin(&st, s, 3);
    assert_int_equal(c.other | c.unknown, 0);
}

// What it kept may have been pointers into its process.
static void state_of_an_application_that_did_not_go_on_before_is_unknown(void **state)
{
    const struct c10m_app before = {.adopts = false}, now = {.adopts = true};
    struct c10m_service s = {.app = &before};
    struct sock_states st;
    (void)state;
    sock_states_note(&st, &s, 1);
    struct sock_change c = sock_states_begin(&st, &s, 1);
    assert_int_equal(c.other, 0);  // TCP refuses its connections
    sock_states_end(&st, &s, 1);
    s.app = &now;
    c = sock_states_begin(&st, &s, 1);
    assert_int_equal(c.other, 1);
    assert_int_equal(c.unknown, 1);
    sock_states_end(&st, &s, 1);
    c = sock_states_begin(&st, &s, 1);
    assert_int_equal(c.other, 0);
}

static void whenever_they_are_refused_nothing_is_held(void **state)
{
    struct rng rng = test_rng(__func__);
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct world w = world_new(rng_u64(&rng));
        struct end *a = &w.p->e[A];
        pair_run_for(w.p, 1 + rng_below(&rng, 300));
        run_version(&w, NEW, NULL);
        const unsigned n = told(a);
        assert_int_equal(adopt(&w), n);
        assert_int_equal(told(a), 0);
        assert_stripped(a);
        pair_run(w.p, 4000 * 1000);
        pair_free(w.p, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_of_the_same_version_is_left_alone),
        cmocka_unit_test(what_the_application_converts_goes_on),
        cmocka_unit_test(a_version_back_is_another_version),
        cmocka_unit_test(what_it_refuses_is_reset_and_the_others_go_on),
        cmocka_unit_test(without_a_callback_all_are_reset),
        cmocka_unit_test(the_application_looks_at_each_and_what_it_does_not_continue_is_reset),
        cmocka_unit_test(an_orphan_goes_on_with_any_version),
        cmocka_unit_test(what_is_refused_holds_nothing_and_sends_its_rst_alone),
        cmocka_unit_test(what_was_being_refused_is_refused_whatever_is_left_of_it),
        cmocka_unit_test(state_of_mixed_versions_is_refused_unseen_even_by_the_old_version),
        cmocka_unit_test(services_are_compared_one_by_one),
        cmocka_unit_test(state_of_an_application_that_did_not_go_on_before_is_unknown),
        cmocka_unit_test(whenever_they_are_refused_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
