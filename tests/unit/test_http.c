// SPDX-License-Identifier: BSD-3-Clause
// The http application on a fake stack: what a client sees.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

#define HOST     "Host: a\r\n"
#define GET_ROOT "GET / HTTP/1.1\r\n" HOST "\r\n"

enum { BIG_BYTES = 300000, SMALL_MAX = 1024 };

static char root[TEMP_PATH_BYTES];
static char big[BIG_BYTES];

static int make_root(void **state)
{
    static const struct temp_entry entries[] = {
        {"index.html", "<p>hello</p>", NULL},
        {"a.txt", "text a", NULL},
        {"empty", "", NULL},
        {"sub/", NULL, NULL},
        {"sub/index.html", "sub", NULL},
    };
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char)(i * 7 + i / 255);
    temp_tree_file(root, "big.bin", big, BIG_BYTES);
    temp_tree_file(root, "inline.bin", big, SMALL_MAX);
    temp_tree_file(root, "by-ref.bin", big, SMALL_MAX + 1);
    return 0;
}

static int remove_root(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct c10m_service *serve_with(const char *key, const char *value, char *err, size_t n)
{
    static const char *params[5];
    params[0] = "root", params[1] = root, params[2] = key, params[3] = value, params[4] = NULL;
    return fake_service_new(&app_http, params, err, n);
}

static struct c10m_service *serve(void)
{
    char err[256];
    struct c10m_service *s = serve_with(NULL, NULL, err, sizeof(err));
    if (s == NULL)
        fail_msg("init: %s", err);
    return s;
}

// Sends `request` on a new connection; exactly one answer, with this status, and whether it stays
// open.
static void expect(const char *request, int status, bool stays)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, request, strlen(request), 0);
    struct answer a = only_answer(c, strncmp(request, "HEAD ", 5) == 0);
    if (a.status != status || c->shut == stays)
        fail_msg("%d, shut %d for\n%s", a.status, c->shut, request);
    assert_int_equal(c->in.len, 0);
    if (!stays)
        assert_field(&a, "Connection", "close");
    fake_close(c);
    fake_service_free(s);
}

static void get_answers_the_file_and_all_its_fields(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
    struct answer a = only_answer(c, false);
    assert_int_equal(a.status, 200);
    assert_body(&a, "<p>hello</p>", 12);
    assert_field(&a, "Content-Type", "text/html; charset=utf-8");
    assert_field(&a, "Server", "c10m");
    assert_field(&a, "Connection", NULL);
    assert_non_null(answer_field(&a, "Last-Modified"));
    assert_non_null(answer_field(&a, "ETag"));
    assert_false(c->shut);
    fake_close(c);
    fake_service_free(s);
}

static void head_answers_the_same_fields_and_no_body(void **state)
{
    static const char *const paths[] = {"/", "/big.bin", "/empty", "/missing", "/sub"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct c10m_service *s = serve();
        struct c10m_conn *get = fake_open(s), *head = fake_open(s);
        char text[128];
        int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        fake_feed(get, text, (size_t)n, 0);
        n = snprintf(text, sizeof(text), "HEAD %s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        fake_feed(head, text, (size_t)n, 0);
        struct answer a = only_answer(get, false), b = only_answer(head, true);
        assert_int_equal(a.head_len, b.head_len);
        assert_memory_equal(a.head, b.head, a.head_len);
        fake_close(get);
        fake_close(head);
        fake_service_free(s);
    }
}

static void bodies_of_each_size_arrive_whole(void **state)
{
    static const struct {
        const char *path;
        size_t len;
    } rows[] = {{"/empty", 0},
                {"/inline.bin", SMALL_MAX},
                {"/by-ref.bin", SMALL_MAX + 1},
                {"/big.bin", BIG_BYTES}};
    for (size_t i = 0; i < 4; i++) {
        struct c10m_service *s = serve();
        struct c10m_conn *c = fake_open(s);
        char text[128];
        int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" HOST "\r\n", rows[i].path);
        fake_feed(c, text, (size_t)n, 0);
        struct answer a = only_answer(c, false);
        assert_int_equal(a.status, 200);
        assert_body(&a, big, rows[i].len);
        assert_int_equal(fake_counter(s, "body_bytes"), rows[i].len);
        fake_close(c);
        fake_service_free(s);
    }
}

static void each_request_has_its_status(void **state)
{
    // Connections that stay.
    expect("GET /a.txt?x=y HTTP/1.1\r\n" HOST "\r\n", 200, true);
    expect("GET http://a/a.txt HTTP/1.1\r\n" HOST "\r\n", 200, true);
    expect("GET /%61.txt HTTP/1.1\r\n" HOST "\r\n", 200, true);
    expect("GET /sub/../a.txt HTTP/1.1\r\n" HOST "\r\n", 200, true);
    expect("GET /sub HTTP/1.1\r\n" HOST "\r\n", 301, true);
    expect("GET /missing HTTP/1.1\r\n" HOST "\r\n", 404, true);
    expect("GET /sub%2findex.html HTTP/1.1\r\n" HOST "\r\n", 404, true);
    expect("GET //a.txt HTTP/1.1\r\n" HOST "\r\n", 200, true);
    expect("GET /..%2f..%2fetc/passwd HTTP/1.1\r\n" HOST "\r\n", 404, true);
    expect("GET /..%5c..%5cetc/passwd HTTP/1.1\r\n" HOST "\r\n", 404, true);
    expect("DELETE / HTTP/1.1\r\n" HOST "\r\n", 405, true);
    expect("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 204, true);
    expect("OPTIONS /x HTTP/1.1\r\n" HOST "\r\n", 204, true);
    expect("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, true);
    // The last one on its connection.
    expect("GET / HTTP/1.0\r\n\r\n", 200, false);
    expect("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 200, false);
    expect("GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200, true);
    expect("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 405, true);
    expect("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, true);
    expect("GET * HTTP/1.1\r\n" HOST "\r\n", 400, false);
    expect("OPTIONS *a HTTP/1.1\r\n" HOST "\r\n", 400, false);
    expect("GET /../etc/passwd HTTP/1.1\r\n" HOST "\r\n", 400, false);
    expect("GET /%2e%2e/etc/passwd HTTP/1.1\r\n" HOST "\r\n", 400, false);
    expect("GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400, false);
    expect("GET / HTTP/1.1\r\n\r\n", 400, false);
    expect("HEAD / HTTP/1.1\r\n\r\n", 400, false);
    expect("GET / HTTP/2.0\r\n", 505, false);
    expect("BREW / HTTP/1.1\r\n", 501, false);
}

static void what_405_and_options_allow_is_said(void **state)
{
    static const char *const requests[] = {"PUT / HTTP/1.1\r\n" HOST "\r\n",
                                           "OPTIONS / HTTP/1.1\r\n" HOST "\r\n"};
    for (size_t i = 0; i < 2; i++) {
        struct c10m_service *s = serve();
        struct c10m_conn *c = fake_open(s);
        fake_feed(c, requests[i], strlen(requests[i]), 0);
        struct answer a = only_answer(c, false);
        assert_field(&a, "Allow", "GET, HEAD, OPTIONS");
        fake_close(c);
        fake_service_free(s);
    }
}

static void http_1_0_hears_that_its_connection_stays(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    const char *text = "GET /a.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    size_t at = 0;
    fake_feed(c, text, strlen(text), 0);
    fake_feed(c, text, strlen(text), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct answer a = next_answer(c, &at, false);
        assert_field(&a, "Connection", "keep-alive");
        assert_body(&a, "text a", 6);
    }
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);  // the flag does not stick
    struct answer a = next_answer(c, &at, false);
    assert_field(&a, "Connection", NULL);
    fake_close(c);
    fake_service_free(s);
}

// The conversation that the next tests cut, squeeze and repeat.
static const char talk[] = "\r\n" GET_ROOT "HEAD /big.bin HTTP/1.1\r\n" HOST "\r\n"
                           "GET /by-ref.bin HTTP/1.1\r\nUser-Agent: x\r\n" HOST "\r\n"
                           "GET /missing HTTP/1.1\r\n" HOST "\r\n"
                           "GET /sub HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                           "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"
                           "GET /inline.bin HTTP/1.1\r\n" HOST "\r\n"
                           "GET /%zz HTTP/1.1\r\n" HOST "\r\nthrown away\0\n";

static void answers_do_not_depend_on_how_requests_are_cut_nor_on_the_room(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *whole = hold_talk(s, talk, sizeof(talk), sizeof(talk), 0, SIZE_MAX);
    static const int statuses[] = {200, 200, 200, 404, 301, 204, 200, 400};
    size_t at = 0;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(next_answer(whole, &at, i == 1).status, statuses[i]);
    assert_int_equal(at, whole->out.len);
    assert_true(whole->shut);
    for (size_t cut = 0; cut <= sizeof(talk); cut++) {
        static const size_t pieces[] = {0, 1, 7}, rooms[] = {SIZE_MAX, 1, 100};
        for (unsigned k = 0; k < 9; k++) {
            if (k / 3 == 1 && cut % 16 != 0)
                continue;  // a room of one byte is slow: enough places
            struct c10m_conn *c =
                hold_talk(s, talk, sizeof(talk), cut, pieces[k % 3], rooms[k / 3]);
            if (c->out.len != whole->out.len || memcmp(c->out.at, whole->out.at, c->out.len) != 0)
                fail_msg("cut %zu, piece %zu, room %zu:\n%.*s", cut, pieces[k % 3], rooms[k / 3],
                         (int)c->out.len, (const char *)c->out.at);
            assert_true(c->shut);
            assert_int_equal(c->in.len, 0);
            fake_close(c);
        }
    }
    fake_close(whole);
    fake_service_free(s);
}

static void a_thousand_pipelined_requests_are_answered_in_order(void **state)
{
    enum { N = 1000 };
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    char *text = malloc(N * 64);
    assert_non_null(text);
    size_t len = 0, at = 0;
    for (unsigned i = 0; i < N; i++)
        len += (size_t)sprintf(text + len, "GET %s HTTP/1.1\r\n" HOST "\r\n",
                               i % 3 == 0   ? "/a.txt"
                               : i % 3 == 1 ? "/by-ref.bin"
                                            : "/missing");
    c->send_room = 5000;
    fake_feed(c, text, len, 0);
    assert_true(c->in.len > 0);  // they wait where they are
    fake_drain(c);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(next_answer(c, &at, false).status, i % 3 == 2 ? 404 : 200);
    assert_int_equal(at, c->out.len);
    assert_int_equal(fake_counter(s, "requests"), N);
    assert_int_equal(fake_counter(s, "responses_2xx"), 667);
    assert_int_equal(fake_counter(s, "responses_4xx"), 333);
    assert_true(fake_counter(s, "sends_short") > 0);
    free(text);
    fake_close(c);
    fake_service_free(s);
}

static void a_megabyte_of_header_is_answered_431_and_thrown_away(void **state)
{
    enum { MEGABYTE = 1 << 20 };
    char *text = malloc(MEGABYTE);
    assert_non_null(text);
    for (unsigned k = 0; k < 2; k++) {
        static const char *const starts[] = {"GET / HTTP/1.1\r\nX: ", "GET /"};
        static const size_t pieces[] = {0, 1460};
        memset(text, 'a', MEGABYTE);
        memcpy(text, starts[k], strlen(starts[k]));
        for (unsigned j = 0; j < 2; j++) {
            struct c10m_service *s = serve();
            struct c10m_conn *c = fake_open(s);
            fake_feed(c, text, MEGABYTE, pieces[j]);
            assert_int_equal(only_answer(c, false).status, k == 0 ? 431 : 414);
            assert_int_equal(fake_counter(s, "heads_too_long"), 1);
            assert_true(c->shut);
            assert_int_equal(c->in.len, 0);
            fake_close(c);
            fake_service_free(s);
        }
    }
    free(text);
}

static void the_head_limit_is_the_parameter(void **state)
{
    char err[256], text[400];
    struct c10m_service *s = serve_with("header_bytes_max", "300", err, sizeof(err));
    assert_non_null(s);
    for (int pad = 0; pad < 2; pad++) {
        struct c10m_conn *c = fake_open(s);
        int n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "X: %0*d\r\n\r\n",
                         300 - 25 - 7 + pad, 0);
        assert_int_equal(n, 300 + pad);
        fake_feed(c, text, (size_t)n, 0);
        assert_int_equal(only_answer(c, false).status, pad == 0 ? 200 : 431);
        fake_close(c);
    }
    fake_service_free(s);
}

static void the_peers_end_closes_after_what_it_asked_for(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    c->send_room = 50;
    fake_feed(c, GET_ROOT GET_ROOT, 2 * strlen(GET_ROOT), 0);
    fake_end(c);
    assert_false(c->shut);
    fake_drain(c);
    size_t at = 0;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(next_answer(c, &at, false).status, 200);
    assert_int_equal(at, c->out.len);
    assert_true(c->shut);
    fake_advance(c, 1000000);
    assert_false(c->aborted);
    fake_close(c);
    c = fake_open(s);
    fake_end(c);
    assert_true(c->shut);
    assert_int_equal(c->out.len, 0);
    fake_close(c);
    fake_service_free(s);
}

static void a_head_that_takes_too_long_is_answered_408(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    for (unsigned i = 0; i < 9; i++) {  // one byte a second
        fake_feed(c, GET_ROOT + i, 1, 0);
        fake_advance(c, 1000);
    }
    fake_feed(c, GET_ROOT + 9, 1, 0);
    assert_int_equal(c->out.len, 0);
    fake_advance(c, 1001);
    struct answer a = only_answer(c, false);
    assert_int_equal(a.status, 408);
    assert_field(&a, "Connection", "close");
    assert_true(c->shut);
    assert_int_equal(c->in.len, 0);
    assert_int_equal(fake_counter(s, "header_timeouts"), 1);
    fake_close(c);
    fake_service_free(s);
}

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *fresh = fake_open(s), *used = fake_open(s);
    fake_advance(fresh, 9999);
    assert_false(fresh->shut);
    fake_advance(fresh, 2);
    assert_true(fresh->shut);
    assert_int_equal(fresh->out.len, 0);
    fake_feed(used, GET_ROOT, strlen(GET_ROOT), 0);
    fake_drain(used);
    fake_advance(used, 59999);
    assert_false(used->shut);
    fake_advance(used, 2);
    assert_true(used->shut);
    assert_int_equal(only_answer(used, false).status, 200);
    assert_int_equal(fake_counter(s, "idle_closed"), 2);
    assert_false(used->aborted);
    fake_advance(used, 5001);  // it neither closes nor speaks
    assert_true(used->aborted);
    fake_close(fresh);
    fake_close(used);
    fake_service_free(s);
}

static void a_slow_head_after_an_idle_time_has_only_the_header_time(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
    fake_drain(c);
    fake_advance(c, 30000);
    size_t at = c->out.len;
    fake_feed(c, GET_ROOT, 5, 0);
    fake_advance(c, 9999);
    assert_int_equal(c->out.len, at);
    fake_advance(c, 2);
    assert_int_equal(next_answer(c, &at, false).status, 408);
    fake_close(c);
    fake_service_free(s);
}

static void the_timer_is_not_set_once_a_request(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    for (unsigned i = 0; i < 10000; i++) {
        fake_feed(c, GET_ROOT, strlen(GET_ROOT), i % 2 == 0 ? 0 : 10);
        fake_drain(c);
        fake_advance(c, 10);
    }
    assert_false(c->shut);
    assert_true(c->timer_sets <=
                25);  // in 100 seconds two for each 10: the idle time's and a slow head's
    assert_int_equal(fake_counter(s, "requests"), 10000);
    fake_close(c);
    fake_service_free(s);
}

static void a_long_answer_may_take_as_long_as_it_makes_progress(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    const char *text = "GET /big.bin HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";
    fake_feed(c, text, strlen(text), 0);
    for (unsigned i = 0; i < 20; i++) {
        fake_advance(c, 50000);
        fake_ack(c, 5000);
    }
    assert_false(c->aborted);
    fake_advance(c, 121000);  // and now none for two write times
    assert_true(c->aborted);
    assert_int_equal(fake_counter(s, "stalled_aborted"), 1);
    fake_close(c);
    fake_service_free(s);
}

static void a_peer_that_takes_nothing_is_reset(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    c->send_room = 10;
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
    fake_advance(c, 59999);
    assert_false(c->aborted);
    fake_advance(c, 140);
    assert_true(c->aborted);
    fake_close(c);
    fake_service_free(s);
}

static void after_the_last_answer_what_comes_is_thrown_away_and_then_reset(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    const char *text = "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n" GET_ROOT;
    fake_feed(c, text, strlen(text), 0);
    fake_drain(c);
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
    assert_int_equal(only_answer(c, false).status, 200);
    assert_int_equal(c->in.len, 0);
    fake_advance(c, 4999);
    assert_false(c->aborted);
    fake_advance(c, 2);
    assert_true(c->aborted);
    fake_close(c);
    fake_service_free(s);
}

// Also where somebody has set it back since.
static void the_date_is_the_time_of_day(void **state)
{
    static const struct {
        uint64_t s;
        const char *date;
    } rows[] = {{1795439648, "Mon, 23 Nov 2026 13:14:08 GMT"},
                {1795439649, "Mon, 23 Nov 2026 13:14:09 GMT"},
                {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"}};
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    const uint64_t was_us = fake_unix_us;
    size_t at = 0;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_unix_us = rows[i].s * 1000000 + 999999;
        fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
        const struct answer a = next_answer(c, &at, false);
        assert_string_equal(answer_field(&a, "Date"), rows[i].date);
        fake_drain(c);
    }
    fake_unix_us = was_us;
    fake_close(c);
    fake_service_free(s);
}

static void an_idle_connection_of_a_service_that_drains_ends(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, GET_ROOT, strlen(GET_ROOT), 0);
    fake_drain(c);
    assert_false(c->shut);
    fake_service_drains(c);
    assert_true(c->shut);
    fake_close(c);
    fake_service_free(s);
}

static void a_request_to_a_service_that_drains_is_answered_and_is_the_last(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, "GET / HT", 8, 0);
    fake_service_drains(c);
    assert_false(c->shut);
    fake_feed(c, GET_ROOT + 8, strlen(GET_ROOT) - 8, 0);
    struct answer a = only_answer(c, false);
    assert_int_equal(a.status, 200);
    assert_field(&a, "Connection", "close");
    assert_true(c->shut);
    fake_close(c);
    fake_service_free(s);
}

static void a_response_that_has_begun_is_sent_whole_before_the_end(void **state)
{
    static const char request[] = "GET /big.bin HTTP/1.1\r\n" HOST "\r\n";
    struct c10m_service *s = serve();
    struct c10m_conn *c = fake_open_narrow(s, 100);
    fake_feed(c, request, sizeof(request) - 1, 0);
    fake_service_drains(c);
    assert_false(c->shut);
    fake_drain(c);
    struct answer a = only_answer(c, false);
    assert_body(&a, big, BIG_BYTES);
    assert_true(c->shut);
    fake_close(c);
    fake_service_free(s);
}

static void bad_parameters_are_refused_with_what_was_expected(void **state)
{
    static const char *const rows[][3] = {
        {"header_bytes_max", "255", "from 256 to 16384"},
        {"header_bytes_max", "16385", "from 256 to 16384"},
        {"header_bytes_max", "", "whole number"},
        {"header_bytes_max", "8k", "whole number"},
        {"header_timeout_ms", "0", "from 1 to"},
        {"header_timeout_ms", "-1", "whole number"},
        {"keepalive_timeout_ms", "99999999999999999999999", "from 1 to"},
        {"files_max", "1", "files_max = 1"},
        {"bytes_max", "300000", "bytes_max = 300000"},
    };
    char err[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(serve_with(rows[i][0], rows[i][1], err, sizeof(err)));
        if (strstr(err, rows[i][0]) == NULL || strstr(err, rows[i][2]) == NULL)
            fail_msg("%s = %s: %s", rows[i][0], rows[i][1], err);
    }
    assert_null(fake_service_new(&app_http, NULL, err, sizeof(err)));
    assert_non_null(strstr(err, "root"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(get_answers_the_file_and_all_its_fields),
        cmocka_unit_test(head_answers_the_same_fields_and_no_body),
        cmocka_unit_test(bodies_of_each_size_arrive_whole),
        cmocka_unit_test(each_request_has_its_status),
        cmocka_unit_test(what_405_and_options_allow_is_said),
        cmocka_unit_test(http_1_0_hears_that_its_connection_stays),
        cmocka_unit_test(answers_do_not_depend_on_how_requests_are_cut_nor_on_the_room),
        cmocka_unit_test(a_thousand_pipelined_requests_are_answered_in_order),
        cmocka_unit_test(a_megabyte_of_header_is_answered_431_and_thrown_away),
        cmocka_unit_test(the_head_limit_is_the_parameter),
        cmocka_unit_test(the_peers_end_closes_after_what_it_asked_for),
        cmocka_unit_test(a_head_that_takes_too_long_is_answered_408),
        cmocka_unit_test(an_idle_connection_is_closed_without_a_word),
        cmocka_unit_test(a_slow_head_after_an_idle_time_has_only_the_header_time),
        cmocka_unit_test(the_timer_is_not_set_once_a_request),
        cmocka_unit_test(a_long_answer_may_take_as_long_as_it_makes_progress),
        cmocka_unit_test(a_peer_that_takes_nothing_is_reset),
        cmocka_unit_test(after_the_last_answer_what_comes_is_thrown_away_and_then_reset),
        cmocka_unit_test(the_date_is_the_time_of_day),
        cmocka_unit_test(an_idle_connection_of_a_service_that_drains_ends),
        cmocka_unit_test(a_request_to_a_service_that_drains_is_answered_and_is_the_last),
        cmocka_unit_test(a_response_that_has_begun_is_sent_whole_before_the_end),
        cmocka_unit_test(bad_parameters_are_refused_with_what_was_expected),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
