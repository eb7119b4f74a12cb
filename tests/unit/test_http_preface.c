// SPDX-License-Identifier: BSD-3-Clause
// The PROXY header: its two versions, who may send it, and what becomes of the address.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/apps.h"
#include "app/http/clients.h"
#include "app/http/preface.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

#define T(s)  s, sizeof(s) - 1
#define SIG   "\r\n\r\n\0\r\nQUIT\n"
#define ADDR4 "\xc0\x00\x02\x01\xc0\x00\x02\x02\x30\x39\x00\x50"
#define ADDR6                                                                                      \
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2\x30\x39\0"   \
    "\x50"
#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

static const struct {
    const char *text;
    size_t len;
    enum http_preface verdict;
    const char *client;  // NULL: none known
} rows[] = {
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 12345 80\r\n"), HTTP_PREFACE_DONE, "::ffff:192.0.2.1 12345"},
    {T("PROXY TCP6 2001:db8::1 2001:db8::2 65535 0\r\n"), HTTP_PREFACE_DONE, "2001:db8::1 65535"},
    {T("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n"), HTTP_PREFACE_DONE, "::ffff:192.0.2.1 1"},
    {T("PROXY UNKNOWN\r\n"), HTTP_PREFACE_DONE, NULL},
    {T("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"), HTTP_PREFACE_DONE, NULL},
    {T("PROXY UNKNOWN   x\r\n"), HTTP_PREFACE_DONE, NULL},
    {T(""), HTTP_PREFACE_MORE, NULL},
    {T("PROX"), HTTP_PREFACE_MORE, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 12345 80\r"), HTTP_PREFACE_MORE, NULL},
    {T("proxy TCP4 192.0.2.1 192.0.2.2 12345 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY  TCP4 192.0.2.1 192.0.2.2 12345 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 12345 80 \r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 12345 80 1\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 12345\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 65536 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 012 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 -1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 1 80x\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.256 192.0.2.2 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 fd00::1 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP6 192.0.2.1 fd00::1 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP5 192.0.2.1 192.0.2.2 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY UDP4 192.0.2.1 192.0.2.2 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 1 80\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1 192.0.2.2 1 80\rx"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY TCP4 192.0.2.1\t192.0.2.2 1 80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY UNKNOWN \x80\r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY \r\n"), HTTP_PREFACE_BAD, NULL},
    {T("PROXY UNKNOWNx\r\n"), HTTP_PREFACE_BAD, NULL},
    {T(GET), HTTP_PREFACE_BAD, NULL},
    {T("POST"), HTTP_PREFACE_BAD, NULL},
    {T("\r\nGET"), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\x11\x00\x0c" ADDR4), HTTP_PREFACE_DONE, "::ffff:192.0.2.1 12345"},
    {T(SIG "\x21\x11\x00\x10" ADDR4 "\x04\0\1x"), HTTP_PREFACE_DONE, "::ffff:192.0.2.1 12345"},
    {T(SIG "\x21\x21\x00\x24" ADDR6), HTTP_PREFACE_DONE, "2001:db8::1 12345"},
    {T(SIG "\x20\x00\x00\x00"), HTTP_PREFACE_DONE, NULL},
    {T(SIG "\x20\x11\x00\x0c" ADDR4), HTTP_PREFACE_DONE, NULL},
    {T(SIG "\x21\x00\x00\x03xyz"), HTTP_PREFACE_DONE, NULL},
    {T(SIG "\x21\x31\x00\x00"), HTTP_PREFACE_DONE, NULL},
    {T(SIG), HTTP_PREFACE_MORE, NULL},
    {T(SIG "\x21\x11\x00\x0c\xc0\x00"), HTTP_PREFACE_MORE, NULL},
    {T(SIG "\x21\x11\x00\x0b" ADDR4), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\x21\x00\x23" ADDR6), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\x12\x00\x0c" ADDR4), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\xff\x00\x00"), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x22\x11\x00\x0c" ADDR4), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x11\x11\x00\x0c" ADDR4), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\x11\x03\xf1"), HTTP_PREFACE_BAD, NULL},  // 1009 bytes behind the 16
    {T(SIG "\x21\x11\xff\xff"), HTTP_PREFACE_BAD, NULL},
    {T(SIG "\x21\x11\x03\xf0"), HTTP_PREFACE_MORE, NULL},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

// On a copy of exactly its length.
static enum http_preface read_copy(const char *text, size_t len, size_t *used,
                                   struct http_client *client)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    memcpy(copy, text, len);
    const enum http_preface verdict = http_preface_read(copy, len, used, client);
    free(copy);
    return verdict;
}

static void each_header_has_its_verdict_however_it_is_cut(void **state)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct http_client client;
        enum http_preface verdict = HTTP_PREFACE_MORE;
        size_t used = 0;
        for (size_t n = 0; n <= rows[i].len && verdict == HTTP_PREFACE_MORE; n++)
            verdict = read_copy(rows[i].text, n, &used, &client);
        if (verdict != rows[i].verdict)
            fail_msg("row %zu: %d", i, verdict);
        if (verdict == HTTP_PREFACE_DONE)
            assert_int_equal(used, rows[i].len);
        assert_int_equal(read_copy(rows[i].text, rows[i].len, &used, &client), rows[i].verdict);
        if (verdict != HTTP_PREFACE_DONE)
            continue;
        char text[128], addr[INET6_ADDRSTRLEN];
        inet_ntop(AF_INET6, client.addr, addr, sizeof(addr));
        snprintf(text, sizeof(text), "%s %u", addr, client.port);
        assert_int_equal(client.known, rows[i].client != NULL);
        if (client.known)
            assert_string_equal(text, rows[i].client);
    }
}

static void a_line_may_have_107_bytes_and_no_more(void **state)
{
    char text[200];
    struct http_client client;
    size_t used;
    memset(text, 'x', sizeof(text));
    memcpy(text, "PROXY UNKNOWN ", 14);
    memcpy(text + 105, "\r\n", 2);
    assert_int_equal(read_copy(text, 107, &used, &client), HTTP_PREFACE_DONE);
    assert_int_equal(used, 107);
    memcpy(text + 105, "x\r\n", 3);
    assert_int_equal(read_copy(text, 106, &used, &client), HTTP_PREFACE_MORE);
    assert_int_equal(read_copy(text, 107, &used, &client), HTTP_PREFACE_BAD);
    assert_int_equal(read_copy(text, 108, &used, &client), HTTP_PREFACE_BAD);
}

static void clients_are_found_by_their_handle_until_they_are_removed(void **state)
{
    enum { N = 1000 };
    struct http_clients c;
    struct http_client client = {.port = 1, .known = true}, seen;
    assert_true(http_clients_init(&c, 2, N));
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < N; i++) {
            client.port = (uint16_t)i;
            assert_true(http_clients_add(&c, 1, (uint64_t)i << 32 | round, &client));
        }
        assert_false(http_clients_add(&c, 1, 7, &client));
        assert_null(http_clients_find(&c, 0, (uint64_t)5 << 32 | round));
        assert_null(http_clients_find(&c, 1, 7));
        http_clients_remove(&c, 1, 7);
        unsigned looked = 0;
        for (uint32_t i = 0; i < N; i++)
            looked += http_clients_look(&c, 1, i, &seen);
        assert_int_equal(looked, N);
        assert_false(http_clients_look(&c, 0, 0, &seen));
        for (uint32_t k = 0; k < N; k++) {
            const uint32_t i = k * 7 % N;
            assert_int_equal(http_clients_find(&c, 1, (uint64_t)i << 32 | round)->port, i);
            http_clients_remove(&c, 1, (uint64_t)i << 32 | round);
            assert_null(http_clients_find(&c, 1, (uint64_t)i << 32 | round));
        }
        assert_false(http_clients_look(&c, 1, 0, &seen));
    }
    http_clients_free(&c);
}

static char root[TEMP_PATH_BYTES];

static int make_root(void **state)
{
    static const struct temp_entry entries[] = {{"index.html", "<p>hello</p>", NULL}};
    temp_tree_make(root, entries, 1);
    return 0;
}

static int remove_root(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct c10m_service *serve(const char *from, const char *most, const char *log)
{
    static char err[512];
    const char *params[] = {"root",
                            root,
                            "proxy_protocol",
                            "on",
                            "access_log",
                            log,
                            "proxy_connections_max",
                            most,
                            "proxy_from",
                            from,
                            NULL};
    if (from == NULL)
        params[8] = NULL;
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    if (s == NULL)
        print_message("%s\n", err);
    return s;
}

static void feed(struct c10m_conn *c, const char *text, size_t len, size_t piece)
{
    fake_feed(c, text, len, piece);
}

static void the_address_of_the_header_is_the_one_in_the_log(void **state)
{
    static const char one[] = "PROXY TCP4 198.51.100.9 192.0.2.2 12345 80\r\n" GET GET;
    static const char two[] = SIG "\x21\x21\x00\x24" ADDR6 GET;
    static const char local[] = SIG "\x20\x00\x00\x00" GET;
    char log[TEMP_PATH_BYTES + 16], text[4096];
    snprintf(log, sizeof(log), "%s/log", root);
    for (size_t piece = 0; piece < 4; piece++) {
        unlink(log);
        struct c10m_service *s = serve(NULL, "2", log);
        struct c10m_conn *c[3];
        static const struct {
            const char *text;
            size_t len;
        } talks[] = {{T(one)}, {T(two)}, {T(local)}};
        for (unsigned i = 0; i < 3; i++) {
            c[i] = fake_open(s);
            feed(c[i], talks[i].text, talks[i].len, piece);
            size_t at = 0;
            assert_int_equal(next_answer(c[i], &at, false).status, 200);
        }
        feed(c[0], GET, sizeof(GET) - 1, piece);
        fake_log_end(s);
        assert_int_equal(fake_counter(s, "proxy_headers"), 3);
        for (unsigned i = 0; i < 3; i++)
            fake_close(c[i]);
        fake_service_free(s);
        FILE *f = fopen(log, "r");
        assert_non_null(f);
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
        unsigned lines = 0;
        for (const char *p = text; (p = strstr(p, "198.51.100.9 - - [")) != NULL; p++)
            lines++;
        assert_int_equal(lines, 3);
        assert_non_null(strstr(text, "2001:db8::1 - - ["));
        assert_non_null(strstr(text, "192.0.2.7 - - ["));  // the peer itself
    }
}

static void who_sends_no_header_is_reset_without_an_answer(void **state)
{
    struct c10m_service *s = serve(NULL, "100", "");
    struct c10m_conn *c = fake_open(s);
    feed(c, GET, sizeof(GET) - 1, 0);
    assert_true(c->aborted);
    assert_int_equal(c->out.len, 0);
    assert_int_equal(fake_counter(s, "proxy_refused"), 1);
    assert_int_equal(fake_counter(s, "requests"), 0);
    fake_close(c);
    fake_service_free(s);
}

// A byte now and then does not move the deadline.
static void a_header_that_does_not_end_in_time_is_a_reset(void **state)
{
    struct c10m_service *s = serve(NULL, "100", "");
    struct c10m_conn *silent = fake_open(s), *slow = fake_open(s), *good = fake_open(s);
    static const char line[] = "PROXY TCP4 192.0.2.1 192.0.2.2 12345 80\r\n";
    for (unsigned i = 0; i < 9; i++) {
        feed(slow, line + i, 1, 0);
        fake_advance(slow, 1000);
        fake_advance(silent, 1000);
        fake_advance(good, 1000);
    }
    assert_false(slow->aborted || silent->aborted);
    feed(good, line, sizeof(line) - 1, 0);
    fake_advance(slow, 1001);
    fake_advance(silent, 1001);
    fake_advance(good, 9000);  // its request has its own time
    assert_true(slow->aborted && silent->aborted);
    assert_int_equal(fake_counter(s, "proxy_refused"), 2);
    feed(good, GET, sizeof(GET) - 1, 0);
    assert_int_equal(only_answer(good, false).status, 200);
    fake_close(silent);
    fake_close(slow);
    fake_close(good);
    fake_service_free(s);
}

static void only_those_who_are_named_may_send_one(void **state)
{
    static const struct {
        const char *from;
        bool good;
    } tries[] = {
        {"192.0.2.7/32", true},
        {"192.0.2.0/24", true},
        {"192.0.2.6/31", true},
        {"192.0.2.8/29", false},
        {"10.0.0.0/8", false},
        {"10.0.0.0/8, 192.0.2.7/32", true},
        {"::ffff:192.0.2.0/120", true},
        {"fd00::/8", false},
        {"0.0.0.0/0", true},
        {"192.0.2.7/30, fd00::/8", true},
    };
    static const char line[] = "PROXY UNKNOWN\r\n" GET;
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        struct c10m_service *s = serve(tries[i].from, "100", "");
        assert_non_null(s);
        struct c10m_conn *c = fake_open(s);
        feed(c, line, sizeof(line) - 1, 0);
        if (c->aborted == tries[i].good)
            fail_msg("%s", tries[i].from);
        assert_int_equal(fake_counter(s, "proxy_refused"), !tries[i].good);
        fake_close(c);
        fake_service_free(s);
    }
    assert_null(serve("192.0.2.7", "100", ""));
    assert_null(serve("192.0.2.7/33", "100", ""));
    assert_null(serve("x/8", "100", ""));
}

static void more_clients_than_there_are_records_are_reset(void **state)
{
    static const char line[] = "PROXY TCP4 192.0.2.1 192.0.2.2 12345 80\r\n" GET;
    static const char unknown[] = "PROXY UNKNOWN\r\n" GET;
    struct c10m_service *s = serve(NULL, "2", "");
    struct c10m_conn *c[4];
    for (unsigned i = 0; i < 4; i++) {
        c[i] = fake_open(s);
        feed(c[i], i == 3 ? unknown : line, strlen(i == 3 ? unknown : line), 0);
        assert_int_equal(c[i]->aborted, i == 2);
    }
    assert_int_equal(fake_counter(s, "proxy_full"), 1);
    fake_close(c[0]);
    c[0] = fake_open(s);
    feed(c[0], line, sizeof(line) - 1, 0);
    assert_false(c[0]->aborted);
    for (unsigned i = 0; i < 4; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_header_has_its_verdict_however_it_is_cut),
        cmocka_unit_test(a_line_may_have_107_bytes_and_no_more),
        cmocka_unit_test(clients_are_found_by_their_handle_until_they_are_removed),
        cmocka_unit_test(the_address_of_the_header_is_the_one_in_the_log),
        cmocka_unit_test(who_sends_no_header_is_reset_without_an_answer),
        cmocka_unit_test(a_header_that_does_not_end_in_time_is_a_reset),
        cmocka_unit_test(only_those_who_are_named_may_send_one),
        cmocka_unit_test(more_clients_than_there_are_records_are_reset),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
