// SPDX-License-Identifier: BSD-3-Clause
// The example applications over a stack that the test plays: src/app/examples.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "examples.h"
#include "unit/check.h"
#include "unit/fake_stack.h"

static struct c10m_service *service;

static struct c10m_conn *begin_narrow(const struct c10m_app *app, size_t room)
{
    static const char *const params[] = {NULL};
    char err[128];
    service = fake_service_new(app, params, err, sizeof(err));
    assert_non_null(service);
    return fake_open_narrow(service, room);
}

static struct c10m_conn *begin(const struct c10m_app *app)
{
    return begin_narrow(app, 65536);
}

static void done(struct c10m_conn *c)
{
    fake_close(c);
    fake_service_free(service);
}

static void ask(struct c10m_conn *c, const char *target, size_t piece)
{
    char head[8192];
    const int n = snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    fake_feed(c, head, (size_t)n, piece);
}

// Whether all that was sent ends with that text.
static bool ends_with(const struct c10m_conn *c, const char *text)
{
    const size_t n = strlen(text);
    return c->out.len >= n && memcmp(c->out.at + c->out.len - n, text, n) == 0;
}

static unsigned answers(const struct c10m_conn *c, const char *status)
{
    unsigned n = 0;
    if (c->out.len == 0)
        return 0;
    const uint8_t *at = c->out.at, *end = at + c->out.len;
    while ((at = memmem(at, (size_t)(end - at), status, strlen(status))) != NULL) {
        at++;
        n++;
    }
    return n;
}

// ---- requests

static void a_text_is_padded_on_the_left_by_request(void **state)
{
    static const struct c10m_app *const apps[] = {&app_leftpad, &app_leftpad_fast};
    for (unsigned i = 0; i < 2; i++)
        for (size_t piece = 0; piece < 3; piece++) {
            struct c10m_conn *c = begin(apps[i]);
            ask(c, "/v1/leftpad/?str=test&len=10&chr=*", piece);
            assert_int_equal(answers(c, "HTTP/1.1 200 OK\r\n"), 1);
            assert_true(ends_with(c, "\r\n\r\n{\"str\":\"******test\"}\n"));
            ask(c, "/v1/leftpad/?chr=%2a&str=a+%22&len=5", piece);
            assert_true(ends_with(c, "\r\n\r\n{\"str\":\"**a \\\"\"}\n"));
            assert_false(c->shut);
            done(c);
        }
}

static void requests_of_a_pipeline_are_answered_in_order(void **state)
{
    struct c10m_conn *c = begin(&app_leftpad_fast);
    static const char both[] = "GET /v1/leftpad/?str=a HTTP/1.1\r\n\r\n"
                               "GET /v1/leftpad/?str=b HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    fake_feed(c, both, sizeof(both) - 1, 0);
    assert_int_equal(answers(c, "HTTP/1.1 "), 2);
    assert_true(ends_with(c, "{\"str\":\"b\"}\n"));
    assert_true(c->shut);
    assert_int_equal(c->in.len, 0);
    done(c);
}

static void wrong_arguments_get_an_error(void **state)
{
    static const char *const targets[] = {
        "/v1/leftpad/",
        "/v1/leftpad/?len=4",
        "/v1/leftpad/?str=a&len=4001",
        "/v1/leftpad/?str=a&len=-1",
        "/v1/leftpad/?str=a&len=",
        "/v1/leftpad/?str=a&len=99999999999999999999",
        "/v1/leftpad/?str=a&chr=ab",
        "/v1/leftpad/?str=a&chr=",
        "/v1/leftpad/?str=%0a",
        "/v1/leftpad/?str=%4",
        "/v1/leftpad/?str=%zz",
        "/v1/leftpad/?xstr=a",
    };
    struct c10m_conn *c = begin(&app_leftpad);
    for (unsigned i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        ask(c, targets[i], 0);
        assert_int_equal(answers(c, "HTTP/1.1 400 Bad Request\r\n"), i + 1);
        assert_int_equal(answers(c, "HTTP/1.1 "), i + 1);
    }
    ask(c, "/v2/", 0);
    assert_int_equal(answers(c, "HTTP/1.1 404 Not Found\r\n"), 1);
    done(c);
}

static void what_is_no_request_closes_the_connection(void **state)
{
    static const struct {
        const char *sent, *status;
    } cases[] = {
        {"POST / HTTP/1.1\r\n\r\n", "405 "},
        {"\x16\x03\x01", "405 "},
        {"GET / HTTP/2.0\r\n\r\n", "400 "},
        {"GET  HTTP/1.1\r\n\r\n", "400 "},
        {"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", "400 "},
        {"GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", "400 "},
        {"GET /\r\n\r\n", "400 "},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct c10m_conn *c = begin(&app_leftpad);
        fake_feed(c, cases[i].sent, strlen(cases[i].sent), 0);
        assert_int_equal(answers(c, cases[i].status), 1);
        assert_true(c->shut);
        done(c);
    }
}

static void a_head_without_end_is_refused(void **state)
{
    struct c10m_conn *c = begin(&app_leftpad);
    char *head = malloc(ASK_HEAD_BYTES_MAX + 1);
    memset(head, 'a', ASK_HEAD_BYTES_MAX + 1);
    memcpy(head, "GET /", 5);
    fake_feed(c, head, ASK_HEAD_BYTES_MAX - 1, 100);
    assert_int_equal(c->out.len, 0);
    fake_feed(c, head + 5, 1, 0);
    assert_int_equal(answers(c, "HTTP/1.1 431 "), 1);
    assert_true(c->shut);
    free(head);
    done(c);
}

static void a_silent_client_is_reset(void **state)
{
    struct c10m_conn *c = begin(&app_leftpad);
    fake_feed(c, "GET", 3, 0);
    fake_advance(c, ASK_IDLE_MS + 1);
    assert_true(c->aborted);
    done(c);
    c = begin(&app_leftpad);
    for (unsigned i = 0; i < 3; i++) {
        ask(c, "/v1/leftpad/?str=a", 0);
        fake_drain(c);
        fake_advance(c, ASK_IDLE_MS + 1);
        assert_false(c->aborted);
    }
    done(c);
}

static void an_answer_waits_for_room(void **state)
{
    struct c10m_conn *c = begin_narrow(&app_leftpad_fast, 9000);
    for (unsigned i = 0; i < 5; i++)
        ask(c, "/v1/leftpad/?str=a&len=4000", 0);
    assert_true(answers(c, "200 OK") < 5);
    fake_drain(c);
    assert_int_equal(answers(c, "200 OK"), 5);
    done(c);
    c = begin_narrow(&app_leftpad_fast, 100);  // it will never have the room
    ask(c, "/v1/leftpad/?str=a", 0);
    assert_true(c->aborted);
    done(c);
}

// ---- answers that come later

static void the_sieve_works_in_steps(void **state)
{
    struct c10m_conn *c = begin(&app_sieve);
    ask(c, "/primes?n=1000", 0);
    assert_int_equal(c->out.len, 0);
    fake_advance(c, 1);
    assert_int_equal(c->out.len, 0);
    for (unsigned i = 0; i < 200; i++)
        fake_advance(c, 1);
    assert_true(ends_with(c, "\n7907\n7919\n"));
    ask(c, "/primes?n=3", 0);
    fake_advance(c, 1);
    assert_true(ends_with(c, "\r\n\r\n2\n3\n5\n"));
    ask(c, "/primes?n=1001", 0);
    assert_int_equal(answers(c, "400 "), 1);
    done(c);
}

static void sieves_are_limited_and_come_back(void **state)
{
    enum { CLIENTS = 9 };
    struct c10m_conn *c[CLIENTS] = {begin(&app_sieve)};
    for (unsigned i = 1; i < CLIENTS; i++)
        c[i] = fake_open(service);
    for (unsigned i = 0; i < CLIENTS; i++)
        ask(c[i], "/primes", 0);
    assert_int_equal(answers(c[CLIENTS - 1], "503 "), 1);
    fake_close(c[0]);  // in the middle of its work
    c[0] = fake_open(service);
    ask(c[0], "/primes", 0);
    assert_int_equal(answers(c[0], "503 "), 0);
    for (unsigned i = 1; i < CLIENTS; i++)
        fake_close(c[i]);
    done(c[0]);
}

static void loops_are_found_in_steps(void **state)
{
    static const struct c10m_app *const apps[] = {&app_loops, &app_loops_fast};
    for (unsigned i = 0; i < 2; i++) {
        struct c10m_conn *c = begin(apps[i]);
        ask(c, "/loops?n=5", 0);
        for (unsigned step = 0; step < 5; step++) {
            assert_int_equal(c->out.len, 0);
            fake_advance(c, 1);
        }
        assert_true(ends_with(c, "{\"analyses\":5,\"blocks\":1639,\"loops\":497,\"irreducible\":0,"
                                 "\"depth\":4}\n"));
        ask(c, "/loops?n=0", 0);
        assert_int_equal(answers(c, "400 "), 1);
        done(c);
    }
}

static void a_client_that_has_ended_still_gets_its_answer(void **state)
{
    struct c10m_conn *c = begin(&app_loops_fast);
    ask(c, "/loops?n=2", 0);
    fake_end(c);
    assert_false(c->shut);
    fake_advance(c, 1);
    fake_advance(c, 1);
    assert_int_equal(answers(c, "200 OK"), 1);
    assert_true(c->shut);
    done(c);
}

static void a_draining_service_finishes_its_answers(void **state)
{
    struct c10m_conn *idle = begin(&app_sieve), *busy = fake_open(service);
    ask(busy, "/primes?n=2", 0);
    fake_service_drains(idle);
    fake_service_drains(busy);
    assert_true(idle->shut);
    assert_false(busy->shut);
    fake_advance(busy, 1);
    assert_true(ends_with(busy, "2\n3\n"));
    assert_true(busy->shut);
    fake_close(idle);
    done(busy);
}

// ---- elvis

static void elvis_sends_the_stream_back(void **state)
{
    static const char in[] = "elvis, eelvis; elvi", out[] = "Elvis, eElvis; elvi";
    for (size_t piece = 0; piece < sizeof(in); piece++) {
        struct c10m_conn *c = begin(&app_elvis);
        fake_feed(c, in, sizeof(in) - 1, piece);
        fake_end(c);
        assert_int_equal(c->out.len, sizeof(out) - 1);
        assert_memory_equal(c->out.at, out, sizeof(out) - 1);
        assert_true(c->shut);
        done(c);
    }
}

static void elvis_takes_no_more_than_it_can_send(void **state)
{
    struct c10m_conn *c = begin_narrow(&app_elvis, 50);
    for (unsigned i = 0; i < 1000; i++)
        fake_feed(c, "xelvis", 6, 0);
    assert_in_range(c->out.len, 40, 50);
    for (unsigned i = 0; i < 1000; i++)
        fake_ack(c, SIZE_MAX);
    fake_end(c);
    fake_drain(c);
    assert_int_equal(c->out.len, 6000);
    assert_int_equal(answers(c, "xElvis"), 1000);
    assert_true(c->shut);
    done(c);
}

static void elvis_resets_a_client_that_does_nothing(void **state)
{
    struct c10m_conn *c = begin(&app_elvis);
    fake_advance(c, 60001);
    assert_true(c->aborted);
    done(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_padded_on_the_left_by_request),
        cmocka_unit_test(requests_of_a_pipeline_are_answered_in_order),
        cmocka_unit_test(wrong_arguments_get_an_error),
        cmocka_unit_test(what_is_no_request_closes_the_connection),
        cmocka_unit_test(a_head_without_end_is_refused),
        cmocka_unit_test(a_silent_client_is_reset),
        cmocka_unit_test(an_answer_waits_for_room),
        cmocka_unit_test(the_sieve_works_in_steps),
        cmocka_unit_test(sieves_are_limited_and_come_back),
        cmocka_unit_test(loops_are_found_in_steps),
        cmocka_unit_test(a_client_that_has_ended_still_gets_its_answer),
        cmocka_unit_test(a_draining_service_finishes_its_answers),
        cmocka_unit_test(elvis_sends_the_stream_back),
        cmocka_unit_test(elvis_takes_no_more_than_it_can_send),
        cmocka_unit_test(elvis_resets_a_client_that_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
