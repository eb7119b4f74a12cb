// SPDX-License-Identifier: BSD-3-Clause
// Connections that an application opens, and those of others that a callback reaches: on real TCPs
// in virtual time; the proxy over them.
#include <errno.h>
#include <string.h>

#include "app/apps.h"
#include "check.h"
#include "seed.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

enum { SERVER, PEER };

// ---- an application that does what the test asks for

static struct {
    uint64_t handles[64];
    unsigned n, closes, datas;
    int rc;
    uint16_t port;
    void (*on_data)(struct c10m_conn *c);
} seen;

static void note_open(struct c10m_conn *c)
{
    assert_ptr_equal(c10m_find(c, c10m_handle(c)), c);
    for (unsigned i = 0; i < seen.n; i++)
        if (seen.handles[i] == c10m_handle(c))
            return;
    seen.handles[seen.n++] = c10m_handle(c);
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)data;
    seen.datas++;
    if (seen.on_data != NULL)
        seen.on_data(c);
    return len;
}

static void note_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    (void)why;
    seen.closes++;
}

static const struct c10m_app noter = {
    .name = "noter", .open = note_open, .data = on_data, .close = note_close};

static struct pair *noters(unsigned n)
{
    memset(&seen, 0, sizeof(seen));
    struct pair_sizes sizes = {.blocks = 64, .syns = 64};
    struct pair *p = pair_new(1);
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t v4 = p->e[i].v4;
        end_fini(&p->e[i], true);
        end_init(&p->e[i], v4, &sizes);
    }
    p->e[SERVER].services[0].app = &noter;
    p->e[PEER].role.shut_on_end = true;
    for (unsigned i = 0; i < n; i++)
        end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
    pair_run_for(p, 100);
    assert_int_equal(seen.n, n);
    return p;
}

// Every connection of the peer says one byte; that starts seen.on_data.
static void one_byte(struct pair *p, uint32_t ix)
{
    struct end *e = &p->e[PEER];
    struct c10m_conn c = {&e->sock, &e->tcp.blocks[ix], ix, 0};
    assert_int_equal(c10m_send(&c, "x", 1), 1);
    pair_run_for(p, 100);
}

static void abort_all(struct c10m_conn *c)
{
    for (unsigned i = 0; i < seen.n; i++) {
        struct c10m_conn *o = c10m_find(c, seen.handles[i]);
        assert_non_null(o);
        assert_ptr_equal(c10m_find(c, seen.handles[i]), o);
        c10m_abort(o);
    }
    assert_int_equal(seen.closes, 0);  // never inside the callback
}

static void what_a_callback_aborts_is_told_and_gone_in_the_same_turn(void **state)
{
    struct pair *p = noters(C10M_OTHERS_MAX + 1);
    seen.on_data = abort_all;
    one_byte(p, 0);
    assert_int_equal(seen.datas, 1);
    assert_int_equal(seen.closes, C10M_OTHERS_MAX + 1);
    assert_int_equal(p->e[PEER].role.closed, C10M_OTHERS_MAX + 1);
    assert_int_equal(p->e[PEER].role.why, C10M_RESET);
    pair_free(p, true);
}

static void reach_too_many(struct c10m_conn *c)
{
    const uint8_t addr[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2};
    struct c10m_conn *made;
    unsigned found = 0;
    for (unsigned i = 0; i < seen.n; i++)
        found += c10m_find(c, seen.handles[i]) != NULL;
    assert_int_equal(found, C10M_OTHERS_MAX + 1);  // c itself is none of the others
    assert_int_equal(c10m_connect(c, addr, 9, &made), -ENOBUFS);
}

static void one_more_than_the_limit_is_not_found_and_the_next_event_begins_anew(void **state)
{
    struct pair *p = noters(C10M_OTHERS_MAX + 3);
    seen.on_data = reach_too_many;
    one_byte(p, 0);
    one_byte(p, 1);
    assert_int_equal(seen.datas, 2);
    pair_free(p, false);
}

static void find_stale(struct c10m_conn *c)
{
    assert_null(c10m_find(c, seen.handles[1]));
    assert_null(c10m_find(c, 0));
    assert_null(c10m_find(c, UINT64_MAX));
    assert_null(c10m_find(c, c10m_handle(c) + (UINT64_C(1) << 48)));
    assert_null(c10m_find(c, c10m_handle(c) + (UINT64_C(1) << 32)));
    assert_null(c10m_find(c, c10m_handle(c) + 64));
}

static void close_second(struct c10m_conn *c)
{
    c10m_abort(c10m_find(c, seen.handles[1]));
}

static void a_stale_handle_finds_nobody_even_where_the_block_lives_again(void **state)
{
    struct pair *p = noters(2);
    seen.on_data = close_second;
    one_byte(p, 0);
    assert_int_equal(seen.closes, 1);
    seen.on_data = find_stale;
    one_byte(p, 0);
    end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
    pair_run_for(p, 100);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.handles[2] % 32, seen.handles[1] % 32);  // the same block, of 16
    one_byte(p, 0);
    assert_int_equal(seen.datas, 3);
    pair_free(p, false);
}

// The port that a peer chooses and the number of lives that he makes a block have are his. 65,536
// lives later, from the same port of other addresses, the handle named one of his connections.
static void a_handle_names_nobody_a_hundred_thousand_lives_later(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = 4, .tw = 1});
    struct tcp *t = &r->e.tcp;
    uint64_t first = 0, before = 0;
    for (uint32_t life = 0; life <= 100000; life++) {
        const struct flow_key key = {ip_from_v4(0x0b000000 + life), 0, 0, 40000, PAIR_PORT};
        raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key = key;
        raw_turn(r, 0);
        const uint32_t ack = r->e.out[0].seq + 1;
        raw_seg(r, SEG_ACK, 101, ack, 0, 0)->key = key;
        raw_turn(r, 0);
        struct c10m_conn c = {&r->e.sock, raw_block(r), 0, 0};
        assert_non_null(c.b);
        c.ix = (uint32_t)(c.b - t->blocks);
        const uint64_t handle = c10m_handle(&c);
        first = life == 0 ? handle : first;
        assert_true(life == 0 || (handle != first && handle != before));
        sock_begin(&r->e.sock);
        assert_ptr_equal(c10m_at(&r->e.sock.core, handle)->b, c.b);
        assert_true(life == 0 || c10m_at(&r->e.sock.core, first) == NULL);
        before = handle;
        raw_seg(r, SEG_RST, 101, ack, 0, 0)->key = key;
        raw_turn(r, 0);
    }
    raw_free(r, true);
}

static void connect_to_v6(struct c10m_conn *c)
{
    const uint8_t v6[16] = {0xfd, [15] = 1};
    struct c10m_conn *made;
    assert_int_equal(c10m_connect(c, v6, 9, &made), -ENETUNREACH);
    const struct ip_addr locals[] = {ip_from_v4(1), ip_from_v4(2), {{0xfd, [15] = 2}}};
    c->k->locals = locals;
    c->k->n_locals = 3;
    assert_int_equal(c10m_connect(c, v6, 9, &made), 0);
    assert_int_equal(made->b->key.local_ix, 2);
    c10m_abort(made);
}

static void the_first_local_address_of_the_family_is_taken_where_there_is_one(void **state)
{
    struct pair *p = noters(1);
    seen.on_data = connect_to_v6;
    one_byte(p, 0);
    assert_int_equal(seen.datas, 1);
    assert_int_equal(seen.closes, 1);
    pair_free(p, false);
}

// ---- the proxy: clients and upstream are both at PEER

static const char *proxy_param(const void *conf, const char *key)
{
    const char *const *p = conf;
    for (; *p != NULL; p += 2)
        if (strcmp(p[0], key) == 0)
            return p[1];
    return NULL;
}

static struct pair *proxied(uint64_t seed, const char *const *params)
{
    struct err err = {.text = ""};
    struct pair *p = pair_new(seed);
    struct c10m_service *s = &p->e[SERVER].services[0];
    s->app = &app_proxy;
    s->param = proxy_param;
    s->conf = params;
    assert_int_equal(sock_service_init(s, &err), 0);
    return p;
}

static void done(struct pair *p)
{
    sock_service_fini(&p->e[SERVER].services[0]);
    pair_free(p, true);
}

static uint64_t counter(const struct pair *p, const char *name)
{
    const struct c10m_service *s = &p->e[SERVER].services[0];
    for (int i = 0; i < s->n_counters; i++)
        if (strcmp(s->counters[i].name, name) == 0)
            return p->e[SERVER].sock.counters[0][i];
    fail_msg("no counter %s", name);
    return 0;
}

static const char *const to_peer[] = {"upstream", "10.0.0.2:7", NULL};

static void bytes_are_relayed_in_the_turn_that_brings_them(void **state)
{
    struct pair *p = proxied(1, to_peer);
    const uint32_t ix = end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
    pair_run_for(p, 100);
    assert_int_equal(p->e[PEER].role.opened, 2);
    struct c10m_conn c = {&p->e[PEER].sock, &p->e[PEER].tcp.blocks[ix], ix, 0};
    const uint8_t bytes[] = {role_byte(0), role_byte(1), role_byte(2)};
    assert_int_equal(c10m_send(&c, bytes, 3), 3);
    // Two links of 500 us, and turns every 200.
    pair_run_for(p, 2);
    assert_int_equal(p->e[PEER].role.received, 3);
    assert_int_equal(counter(p, "bytes_up"), 3);
    c10m_shutdown(&c);
    p->e[PEER].role.shut_on_end = true;
    pair_run(p, 200000);
    assert_int_equal(p->e[PEER].role.ended, 2);
    done(p);
}

// Four connections at a time, streams in both directions of each.
static void streams_through_the_proxy_survive_loss_reorder_and_duplicates(void **state)
{
    enum { ROUNDS = 20, BYTES = 60000, CLIENTS = 4 };
    struct rng rng = test_rng(__func__);
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t seed = rng_u64(&rng);
        struct pair *p = proxied(seed, to_peer);
        p->loss_pm = rng_below(&rng, 50);
        p->reorder_pm = rng_below(&rng, 300);
        p->dup_pm = rng_below(&rng, 100);
        p->e[SERVER].tcp.services[0].snd_limit = 4096u << i % 5;
        p->e[SERVER].tcp.services[0].rcv_limit = 4096u << i % 3;
        p->e[PEER].role = (struct role){.source = BYTES, .shut = true};
        p->e[PEER].role.pause_ms = i % 4 == 3 ? 10 : 0;
        for (int k = 0; k < CLIENTS; k++)
            end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
        pair_run(p, 4000 * 1000);
        const char *leak = end_leaks(&p->e[SERVER]);
        if (p->e[PEER].role.received != 2ull * CLIENTS * BYTES || p->e[PEER].role.wrong ||
            p->e[PEER].role.closed != 2 * CLIENTS || leak != NULL)
            fail_msg("round %d seed %llu: received %llu, closed %u why %d, leaks %s", i,
                     (unsigned long long)seed, (unsigned long long)p->e[PEER].role.received,
                     p->e[PEER].role.closed, p->e[PEER].role.why, leak);
        assert_int_equal(counter(p, "connected"), CLIENTS);
        assert_int_equal(counter(p, "bytes_up"), CLIENTS * BYTES);
        assert_int_equal(counter(p, "bytes_down"), CLIENTS * BYTES);
        assert_int_equal(counter(p, "client_aborts") + counter(p, "upstream_aborts"), 0);
        done(p);
    }
}

static void an_upstream_that_nobody_listens_on_resets_the_client(void **state)
{
    const char *const params[] = {"upstream", "10.0.0.2:9999", NULL};
    struct pair *p = proxied(1, params);
    end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
    pair_run(p, 1000);
    assert_int_equal(p->e[PEER].role.closed, 1);
    assert_int_equal(p->e[PEER].role.why, C10M_RESET);
    assert_int_equal(counter(p, "failed"), 1);
    done(p);
}

static void an_abort_is_carried_over_while_bytes_are_queued(void **state)
{
    struct pair *p = proxied(1, to_peer);
    p->e[PEER].role = (struct role){.source = 1 << 20, .hold = true};
    const uint32_t ix = end_connect(&p->e[PEER], p->e[SERVER].v4, PAIR_PORT);
    pair_run_for(p, 5000);
    assert_int_equal(p->e[PEER].role.opened, 2);
    // Both directions are full: all that is kept is within the limits of the service.
    assert_true(p->e[SERVER].tcp.bufs.data_count - p->e[SERVER].tcp.bufs.n_free_data <= 4 * 33);
    struct c10m_conn c = {&p->e[PEER].sock, &p->e[PEER].tcp.blocks[ix], ix, 0};
    p->e[PEER].role.abort_on_timer = true;
    c10m_set_timer(&c, 10);
    pair_run(p, 1000);
    assert_int_equal(p->e[PEER].role.closed, 2);
    assert_int_equal(p->e[PEER].role.why, C10M_RESET);  // the last one to hear of it
    assert_int_equal(counter(p, "client_aborts"), 1);
    done(p);
}

static void a_stop_resets_both_sides_of_each_pair(void **state)
{
    struct pair *p = proxied(1, to_peer);
    struct end *e = &p->e[SERVER];
    for (int k = 0; k < 3; k++)
        end_connect(&p->e[PEER], e->v4, PAIR_PORT);
    pair_run_for(p, 100);
    assert_int_equal(e->services[0].n_counters, 8);
    assert_int_equal(counter(p, "connected"), 3);
    uint32_t cursor = 0;
    e->tcp.n_out = 0;
    assert_true(sock_abort_all(&e->sock, UINT32_MAX, &cursor, e->sizes.blocks, e->sizes.blocks));
    assert_int_equal(e->tcp.n_out, 6);
    for (unsigned i = 0; i < e->tcp.n_out; i++)
        assert_true(e->out[i].flags & SEG_RST);
    assert_int_equal(counter(p, "client_aborts") + counter(p, "upstream_aborts"), 0);
    sock_service_fini(&e->services[0]);
    pair_free(p, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_callback_aborts_is_told_and_gone_in_the_same_turn),
        cmocka_unit_test(one_more_than_the_limit_is_not_found_and_the_next_event_begins_anew),
        cmocka_unit_test(a_stale_handle_finds_nobody_even_where_the_block_lives_again),
        cmocka_unit_test(a_handle_names_nobody_a_hundred_thousand_lives_later),
        cmocka_unit_test(the_first_local_address_of_the_family_is_taken_where_there_is_one),
        cmocka_unit_test(bytes_are_relayed_in_the_turn_that_brings_them),
        cmocka_unit_test(streams_through_the_proxy_survive_loss_reorder_and_duplicates),
        cmocka_unit_test(an_upstream_that_nobody_listens_on_resets_the_client),
        cmocka_unit_test(an_abort_is_carried_over_while_bytes_are_queued),
        cmocka_unit_test(a_stop_resets_both_sides_of_each_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
