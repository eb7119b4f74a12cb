// SPDX-License-Identifier: BSD-3-Clause
// The proxy without a stack: both peers are played by the test.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "unit/check.h"
#include "unit/fake_stack.h"

struct pair {
    struct c10m_service *s;
    struct c10m_conn *client, *upstream;
};

static struct c10m_service *service(const char *const *params)
{
    char err[128];
    struct c10m_service *s = fake_service_new(&app_proxy, params, err, sizeof(err));
    assert_non_null(s);
    fake_tells_aborts(s);
    return s;
}

static const char *const plain[] = {"upstream", "10.1.2.3:8080", NULL};

// A client, and a connection to upstream that waits for an answer.
static struct pair begin_with(const char *const *params)
{
    struct pair p = {.s = service(params)};
    p.client = fake_open(p.s);
    p.upstream = fake_connected(p.s);
    assert_non_null(p.upstream);
    return p;
}

static struct pair begin(void)
{
    return begin_with(plain);
}

static void done(struct pair *p)
{
    fake_close(p->client);
    fake_close(p->upstream);
    fake_service_free(p->s);
}

static void each_client_gets_a_connection_to_upstream(void **state)
{
    static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3};
    struct pair p = begin();
    assert_memory_equal(p.upstream->peer_addr, v4, 16);
    assert_int_equal(p.upstream->peer_port, 8080);
    done(&p);
    const char *const params[] = {"upstream", "[fd00::99]:443", NULL};
    static const uint8_t v6[16] = {0xfd, [15] = 0x99};
    p = begin_with(params);
    assert_memory_equal(p.upstream->peer_addr, v6, 16);
    assert_int_equal(p.upstream->peer_port, 443);
    done(&p);
}

static void nothing_is_read_from_the_client_before_upstream_answers(void **state)
{
    struct pair p = begin();
    fake_feed(p.client, "hello", 5, 1);
    assert_int_equal(p.client->data_calls, 0);
    fake_answer(p.upstream);
    assert_int_equal(p.upstream->out.len, 5);
    assert_memory_equal(p.upstream->out.at, "hello", 5);
    assert_int_equal(fake_counter(p.s, "connected"), 1);
    assert_int_equal(fake_counter(p.s, "bytes_up"), 5);
    done(&p);
}

static uint8_t byte_at(size_t i, unsigned seed)
{
    return (uint8_t)(i * 131 + seed + (i >> 8) * 7);
}

static void feed_some(struct c10m_conn *c, size_t *at, size_t len, size_t all, unsigned seed)
{
    uint8_t bytes[4096];
    size_t n = len < all - *at ? len : all - *at;
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(*at + i, seed);
    if (n != 0)
        fake_feed(c, bytes, n, 0);
    *at += n;
}

static void check_bytes(const struct c10m_conn *c, size_t all, unsigned seed)
{
    assert_int_equal(c->out.len, all);
    for (size_t i = 0; i < all; i++)
        assert_int_equal(c->out.at[i], byte_at(i, seed));
}

static void bytes_go_both_ways_in_order_whatever_the_room(void **state)
{
    enum { ALL = 100000 };
    static const size_t rooms[] = {1, 7, 1460, 65536, SIZE_MAX};
    for (unsigned r = 0; r < sizeof(rooms) / sizeof(rooms[0]); r++) {
        const size_t all = rooms[r] < 8 ? 3000 : ALL;
        struct pair p = begin();
        size_t up = 0, down = 0;
        p.client->send_room = rooms[r];
        p.upstream->send_room = rooms[(r + 1) % 5];
        fake_answer(p.upstream);
        while (up < all || down < all) {
            feed_some(p.client, &up, 1460, all, 1);
            feed_some(p.upstream, &down, 4096, all, 2);
            fake_ack(p.upstream, 3000);
            fake_ack(p.client, 5);
        }
        fake_drain(p.upstream);
        fake_drain(p.client);
        check_bytes(p.upstream, all, 1);
        check_bytes(p.client, all, 2);
        assert_int_equal(fake_counter(p.s, "bytes_up"), all);
        assert_int_equal(fake_counter(p.s, "bytes_down"), all);
        done(&p);
    }
}

static void a_slow_upstream_pauses_the_client_and_nothing_is_kept_between(void **state)
{
    struct pair p = begin();
    uint8_t bytes[4096] = {0};
    p.upstream->send_room = 1000;
    fake_answer(p.upstream);
    fake_feed(p.client, bytes, 4096, 0);
    assert_int_equal(p.upstream->out.len, 1000);
    assert_int_equal(p.client->in.len, 3096);
    assert_true(p.client->paused);
    const unsigned calls = p.client->data_calls;
    fake_feed(p.client, bytes, 4096, 100);
    assert_int_equal(p.client->data_calls, calls);
    fake_ack(p.upstream, 10);
    assert_int_equal(p.upstream->out.len, 1010);
    fake_drain(p.upstream);
    assert_int_equal(p.upstream->out.len, 8192);
    assert_false(p.client->paused);
    done(&p);
}

static void a_fin_is_carried_over_behind_the_bytes_before_it(void **state)
{
    struct pair p = begin();
    p.upstream->send_room = 3;
    fake_answer(p.upstream);
    fake_feed(p.client, "question", 8, 0);
    fake_end(p.client);
    assert_false(p.upstream->shut);
    fake_drain(p.upstream);
    assert_true(p.upstream->shut);
    assert_int_equal(p.upstream->out.len, 8);
    assert_false(p.client->shut);
    // The other direction goes on.
    fake_feed(p.upstream, "answer", 6, 2);
    assert_int_equal(p.client->out.len, 6);
    fake_end(p.upstream);
    assert_true(p.client->shut);
    fake_lost(p.upstream, C10M_CLOSED);
    assert_false(p.client->aborted);
    fake_lost(p.client, C10M_CLOSED);
    assert_int_equal(fake_counter(p.s, "client_aborts") + fake_counter(p.s, "upstream_aborts"), 0);
    done(&p);
}

static void a_fin_before_upstream_answers_is_carried_over_then(void **state)
{
    struct pair p = begin();
    fake_end(p.client);
    assert_false(p.upstream->shut);
    fake_answer(p.upstream);
    assert_true(p.upstream->shut);
    done(&p);
    p = begin();
    fake_feed(p.client, "x", 1, 0);
    fake_end(p.client);
    fake_answer(p.upstream);
    assert_true(p.upstream->shut);
    assert_int_equal(p.upstream->out.len, 1);
    done(&p);
}

static void a_reset_is_carried_over_either_way(void **state)
{
    static const enum c10m_close whys[] = {C10M_RESET, C10M_TIMED_OUT};
    for (unsigned i = 0; i < 2; i++) {
        struct pair p = begin();
        fake_answer(p.upstream);
        fake_lost(p.client, whys[i]);
        assert_true(p.upstream->aborted && p.upstream->closed);
        assert_int_equal(fake_counter(p.s, "client_aborts"), 1);
        assert_int_equal(fake_counter(p.s, "upstream_aborts"), 0);
        done(&p);
        p = begin();
        fake_answer(p.upstream);
        fake_lost(p.upstream, whys[i]);
        assert_true(p.client->aborted && p.client->closed);
        assert_int_equal(fake_counter(p.s, "upstream_aborts"), 1);
        assert_int_equal(fake_counter(p.s, "client_aborts"), 0);
        done(&p);
    }
}

// We have ended upstream's direction first, and would be in TIME-WAIT if its FIN came.
static void a_reset_behind_a_fin_is_carried_over_too(void **state)
{
    struct pair p = begin();
    fake_answer(p.upstream);
    fake_feed(p.client, "ask", 3, 0);
    fake_end(p.client);
    assert_true(p.upstream->shut);
    assert_false(p.upstream->aborted);  // who ends may still read
    fake_feed(p.upstream, "answer", 6, 0);
    assert_int_equal(p.client->out.len, 6);
    fake_lost(p.client, C10M_RESET);
    assert_true(p.upstream->aborted && p.upstream->closed);
    done(&p);
}

static void a_server_that_stops_is_nobodys_abort(void **state)
{
    struct pair p = begin();
    fake_answer(p.upstream);
    fake_lost(p.client, C10M_ABORTED);
    assert_true(p.upstream->closed);
    assert_int_equal(fake_counter(p.s, "client_aborts") + fake_counter(p.s, "upstream_aborts"), 0);
    done(&p);
}

static void a_connect_that_fails_resets_the_client(void **state)
{
    static const enum c10m_close whys[] = {C10M_REFUSED, C10M_UNREACHABLE, C10M_TIMED_OUT};
    for (unsigned i = 0; i < 3; i++) {
        struct pair p = begin();
        fake_feed(p.client, "hello", 5, 0);
        fake_lost(p.upstream, whys[i]);
        assert_true(p.client->aborted && p.client->closed);
        assert_int_equal(fake_counter(p.s, "failed"), 1);
        assert_int_equal(fake_counter(p.s, "connected"), 0);
        assert_int_equal(fake_counter(p.s, "upstream_aborts"), 0);
        done(&p);
    }
}

static void a_connect_that_cannot_begin_resets_the_client(void **state)
{
    struct c10m_service *s = service(plain);
    fake_refuse_connects(s, 1, -ENOBUFS);
    struct c10m_conn *c = fake_open(s);
    assert_true(c->aborted && c->closed);
    assert_null(fake_connected(s));
    assert_int_equal(fake_counter(s, "failed"), 1);
    fake_close(c);
    c = fake_open(s);
    assert_false(c->aborted);
    struct c10m_conn *u = fake_connected(s);
    assert_non_null(u);
    fake_close(c);
    fake_close(u);
    fake_service_free(s);
}

static void an_upstream_that_does_not_answer_in_time_is_given_up(void **state)
{
    const char *const params[] = {"upstream", "10.0.0.1:1", "connect_timeout_ms", "500", NULL};
    struct pair p = begin_with(params);
    fake_advance(p.upstream, 499);
    assert_false(p.upstream->aborted);
    fake_advance(p.upstream, 1);
    assert_true(p.upstream->closed && p.client->closed);
    assert_int_equal(fake_counter(p.s, "failed"), 1);
    assert_int_equal(fake_counter(p.s, "given_up"), 0);
    done(&p);
    // One that answered is no more bound by that time.
    const char *const no_idle[] = {
        "upstream", "10.0.0.1:1", "connect_timeout_ms", "500", "idle_timeout_ms", "off", NULL};
    p = begin_with(no_idle);
    fake_answer(p.upstream);
    fake_advance(p.upstream, 100000000);
    assert_false(p.upstream->aborted || p.client->aborted);
    done(&p);
}

static void a_client_that_leaves_takes_the_open_connect_along(void **state)
{
    struct pair p = begin();
    fake_lost(p.client, C10M_RESET);
    assert_true(p.upstream->closed);
    assert_int_equal(fake_counter(p.s, "given_up"), 1);
    assert_int_equal(fake_counter(p.s, "failed"), 0);
    assert_int_equal(fake_counter(p.s, "client_aborts"), 0);
    done(&p);
}

static void advance_both(struct pair *p, uint64_t ms)
{
    for (; ms != 0; ms--) {
        if (!p->client->closed)
            fake_advance(p->client, 1);
        if (!p->upstream->closed)
            fake_advance(p->upstream, 1);
    }
}

static void a_pair_in_which_nothing_moves_is_reset_after_the_idle_time(void **state)
{
    const char *const params[] = {"upstream", "10.0.0.1:1", "idle_timeout_ms", "1000", NULL};
    struct pair p = begin_with(params);
    fake_answer(p.upstream);
    advance_both(&p, 999);
    assert_false(p.client->aborted || p.upstream->aborted);
    advance_both(&p, 251);
    assert_true(p.client->closed && p.upstream->closed);
    assert_int_equal(fake_counter(p.s, "idle"), 1);
    assert_int_equal(fake_counter(p.s, "client_aborts") + fake_counter(p.s, "upstream_aborts"), 0);
    done(&p);
}

static void a_pair_in_which_one_side_takes_bytes_is_not_idle(void **state)
{
    const char *const params[] = {"upstream", "10.0.0.1:1", "idle_timeout_ms", "1000", NULL};
    struct pair p = begin_with(params);
    fake_answer(p.upstream);
    for (unsigned i = 0; i < 20; i++) {
        struct c10m_conn *from = i % 2 ? p.client : p.upstream;
        struct c10m_conn *to = i % 2 ? p.upstream : p.client;
        advance_both(&p, 900);
        assert_false(p.client->aborted || p.upstream->aborted);
        fake_feed(from, "x", 1, 0);
        fake_ack(to, 1);
    }
    advance_both(&p, 1251);
    assert_true(p.client->closed && p.upstream->closed);
    done(&p);
}

static void bytes_that_no_side_takes_do_not_keep_a_pair(void **state)
{
    const char *const params[] = {"upstream", "10.0.0.1:1", "idle_timeout_ms", "1000", NULL};
    struct pair p = begin_with(params);
    fake_answer(p.upstream);
    for (unsigned i = 0; i < 25; i++) {
        if (!p.client->closed)
            fake_feed(p.client, "x", 1, 0);
        advance_both(&p, 50);
    }
    assert_true(p.client->closed && p.upstream->closed);
    done(&p);
}

static void expect_init_fails(const char *const *params, const char *part)
{
    char err[128];
    assert_null(fake_service_new(&app_proxy, params, err, sizeof(err)));
    assert_non_null(strstr(err, part));
}

// ---- in another process

// into: the pair, or one of the two, is in another process.
static struct c10m_service *into(struct pair *p, bool client, bool upstream)
{
    struct c10m_service *s = service(plain);
    if (client)
        fake_move(p->client, s);
    if (upstream)
        fake_move(p->upstream, s);
    return s;
}

// gone: the pair is closed; neither process is left.
static void gone(struct pair *p, struct c10m_service *s)
{
    fake_close(p->client);
    fake_close(p->upstream);
    fake_service_free(p->s);
    fake_service_free(s);
}

static void a_pair_goes_on_in_another_process(void **state)
{
    struct pair p = begin();
    (void)state;
    fake_answer(p.upstream);
    fake_feed(p.client, "up", 2, 0);
    struct c10m_service *s = into(&p, true, true);
    assert_true(fake_adopted(p.client));
    assert_true(fake_adopted(p.upstream));
    fake_feed(p.client, "more", 4, 0);
    assert_memory_equal(p.upstream->out.at, "upmore", 6);
    fake_feed(p.upstream, "down", 4, 0);
    assert_memory_equal(p.client->out.at, "down", 4);
    fake_end(p.client);
    assert_true(p.upstream->shut);
    assert_int_equal(fake_counter(s, "bytes_up"), 4);
    gone(&p, s);
}

static void a_connect_under_way_goes_on_in_another_process(void **state)
{
    struct pair p = begin();
    (void)state;
    fake_feed(p.client, "early", 5, 0);
    struct c10m_service *s = into(&p, true, true);
    assert_true(fake_adopted(p.upstream));
    assert_true(fake_adopted(p.client));
    fake_answer(p.upstream);
    assert_memory_equal(p.upstream->out.at, "early", 5);
    gone(&p, s);
}

static void without_its_other_one_a_connection_does_not_go_on(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 2; which++) {
        struct pair p = begin();
        fake_answer(p.upstream);
        struct c10m_service *s = into(&p, which == 0, which == 1);
        assert_false(fake_adopted(which == 0 ? p.client : p.upstream));
        gone(&p, s);
    }
}

// One whose bytes were all relayed, in both directions, needs the other one no more.
static void the_last_acknowledgments_need_no_other_one(void **state)
{
    (void)state;
    for (unsigned ends = 0; ends < 3; ends++) {
        struct pair p = begin();
        fake_answer(p.upstream);
        if (ends > 0)
            fake_end(p.upstream);
        if (ends > 1) {
            fake_end(p.client);
            fake_lost(p.client, C10M_CLOSED);
        }
        struct c10m_service *s = into(&p, false, true);
        assert_int_equal(fake_adopted(p.upstream), ends == 2);
        gone(&p, s);
    }
}

// Its block was in use for another connection before the process ended.
static void a_stranger_is_not_its_other_one(void **state)
{
    struct pair p = begin(), q = begin();
    (void)state;
    fake_answer(p.upstream);
    fake_answer(q.upstream);
    struct c10m_service *s = service(plain);
    fake_move(p.client, s);
    fake_move(q.upstream, s);
    q.upstream->handle = p.upstream->handle;
    memset(q.upstream->state, 0, 8);  // it names nobody
    assert_false(fake_adopted(p.client));
    assert_false(fake_adopted(q.upstream));
    fake_close(p.client);
    fake_close(p.upstream);
    fake_close(q.client);
    fake_close(q.upstream);
    fake_service_free(p.s);
    fake_service_free(q.s);
    fake_service_free(s);
}

static void a_wrong_parameter_is_told(void **state)
{
    static const char *const upstreams[] = {
        "",
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:65536",
        ":80",
        "10.0.0:80",
        "10.0.0.1:8x",
        "10.0.0.1:-1",
        "fd00::1:80",
        "[fd00::1]80",
        "[fd00::1]",
        "[fd00::1",
        "[]:80",
        "[10.0.0.1]:80",
        "example:80",
        "[fd00::1%lo]:80",
        "10.0.0.1: 80",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000]:80",
    };
    expect_init_fails((const char *const[]){NULL}, "upstream: expected");
    for (unsigned i = 0; i < sizeof(upstreams) / sizeof(upstreams[0]); i++)
        expect_init_fails((const char *const[]){"upstream", upstreams[i], NULL},
                          "upstream: expected ADDRESS:PORT");
    static const char *const times[] = {"", "0", "-1", "1s", "1073741825", "off"};
    for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        expect_init_fails(
            (const char *const[]){"upstream", "10.0.0.1:1", "connect_timeout_ms", times[i], NULL},
            "connect_timeout_ms: expected");
        if (strcmp(times[i], "off") != 0)
            expect_init_fails(
                (const char *const[]){"upstream", "10.0.0.1:1", "idle_timeout_ms", times[i], NULL},
                "idle_timeout_ms: expected");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_client_gets_a_connection_to_upstream),
        cmocka_unit_test(nothing_is_read_from_the_client_before_upstream_answers),
        cmocka_unit_test(bytes_go_both_ways_in_order_whatever_the_room),
        cmocka_unit_test(a_slow_upstream_pauses_the_client_and_nothing_is_kept_between),
        cmocka_unit_test(a_fin_is_carried_over_behind_the_bytes_before_it),
        cmocka_unit_test(a_fin_before_upstream_answers_is_carried_over_then),
        cmocka_unit_test(a_reset_is_carried_over_either_way),
        cmocka_unit_test(a_reset_behind_a_fin_is_carried_over_too),
        cmocka_unit_test(a_server_that_stops_is_nobodys_abort),
        cmocka_unit_test(a_connect_that_fails_resets_the_client),
        cmocka_unit_test(a_connect_that_cannot_begin_resets_the_client),
        cmocka_unit_test(an_upstream_that_does_not_answer_in_time_is_given_up),
        cmocka_unit_test(a_client_that_leaves_takes_the_open_connect_along),
        cmocka_unit_test(a_pair_in_which_nothing_moves_is_reset_after_the_idle_time),
        cmocka_unit_test(a_pair_in_which_one_side_takes_bytes_is_not_idle),
        cmocka_unit_test(bytes_that_no_side_takes_do_not_keep_a_pair),
        cmocka_unit_test(a_pair_goes_on_in_another_process),
        cmocka_unit_test(a_connect_under_way_goes_on_in_another_process),
        cmocka_unit_test(without_its_other_one_a_connection_does_not_go_on),
        cmocka_unit_test(the_last_acknowledgments_need_no_other_one),
        cmocka_unit_test(a_stranger_is_not_its_other_one),
        cmocka_unit_test(a_wrong_parameter_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
