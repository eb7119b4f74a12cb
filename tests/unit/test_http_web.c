// SPDX-License-Identifier: BSD-3-Clause
// What the configuration makes of a site: hosts, redirects, fields, pages, listings, packed files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>

#include "app/apps.h"
#include "app/http/date.h"
#include "app/http/service.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

enum { BIG_BYTES = 200000, PARAMS_MAX = 24 };

static char root[TEMP_PATH_BYTES], other[TEMP_PATH_BYTES], big[BIG_BYTES];
static struct c10m_service *service;
static struct c10m_conn *conn;
static char err[512];

// `printf 'plain text\n' | gzip -n`
static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x2b,
                                 0xc8, 0x49, 0xcc, 0xcc, 0x53, 0x28, 0x49, 0xad, 0x28, 0xe1, 0x02,
                                 0x00, 0x22, 0x36, 0x29, 0xf7, 0x0b, 0x00, 0x00, 0x00};

static void make_older(const char *name, long seconds)
{
    char path[TEMP_PATH_BYTES + 64];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(stat(path, &st), 0);
    struct utimbuf times = {st.st_atime, st.st_mtime - seconds};
    assert_int_equal(utime(path, &times), 0);
}

static int make_roots(void **state)
{
    static const struct temp_entry entries[] = {
        {"index.html", "<p>one</p>", NULL},
        {"404.html", "<p>gone</p>", NULL},
        {"plain.txt", "plain text\n", NULL},
        {"both.txt", "plain text\n", NULL},
        {"both.txt.br", "brotli", NULL},
        {"old.txt", "plain text\n", NULL},
        {"old.txt.br", "brotli", NULL},
        {"only.txt", "plain text\n", NULL},
        {"only.txt.br", "brotli", NULL},
        {"img/", NULL, NULL},
        {"img/a[1].png", "png", NULL},
        {"img/<b>.png", "png", NULL},
        {"img/sub/", NULL, NULL},
        {"moved/", NULL, NULL},
        {"moved/file", "hidden", NULL},
        {"x", "x", NULL},
        {"empty/", NULL, NULL},
        {"empty/index.html.br", "b", NULL},
    };
    static const struct temp_entry others[] = {{"index.html", "<p>two</p>", NULL},
                                               {"404.html", "<p>two gone</p>", NULL}};
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    temp_tree_make(other, others, sizeof(others) / sizeof(others[0]));
    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char)(i * 7 + i / 255);
    temp_tree_file(root, "big.bin", big, BIG_BYTES);
    temp_tree_file(root, "both.txt.gz", packed, sizeof(packed));
    make_older("old.txt.br", 10);
    return 0;
}

static int remove_roots(void **state)
{
    temp_tree_remove(root);
    temp_tree_remove(other);
    return 0;
}

static void hang_up(void)
{
    if (conn != NULL)
        fake_close(conn);
    if (service != NULL)
        fake_service_free(service);
    conn = NULL;
    service = NULL;
}

// A service with these keys, in which @ is the other root; NULL: err.
static char values[PARAMS_MAX][1024];

static struct c10m_service *serve(const char *const *keys)
{
    const char *params[PARAMS_MAX + 1];
    unsigned n = 0;
    hang_up();
    for (; keys[n] != NULL; n++) {
        char *to = values[n];
        for (const char *p = keys[n]; *p != '\0'; p++)
            to += *p == '@' ? sprintf(to, "%s", other) : sprintf(to, "%c", *p);
        *to = '\0';
        params[n] = strcmp(values[n], "ROOT") == 0 ? root : values[n];
    }
    params[n] = NULL;
    return service = fake_service_new(&app_http, params, err, sizeof(err));
}

#define SERVE(...)                                                                                 \
    do {                                                                                           \
        if (serve((const char *const[]){__VA_ARGS__, NULL}) == NULL)                               \
            fail_msg("%s", err);                                                                   \
    } while (0)

// The only answer to a request, on a connection of its own.
static struct answer ask(const char *method_and_target, const char *host, const char *fields)
{
    char text[9000];
    snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", method_and_target, host,
             fields);
    if (conn != NULL)
        fake_close(conn);
    conn = fake_open(service);
    fake_feed(conn, text, strlen(text), 0);
    fake_drain(conn);
    return only_answer(conn, strncmp(method_and_target, "HEAD ", 5) == 0);
}

static void assert_text(const struct answer *a, int status, const char *text)
{
    if (a->status != status || a->body_len != strlen(text) ||
        memcmp(a->body, text, a->body_len) != 0)
        fail_msg("%d %.*s, not %d %s", a->status, (int)a->body_len, a->body, status, text);
}

static void each_host_has_its_files(void **state)
{
    SERVE("root", "ROOT", "host", "two.org, *.two.org, [fd00::2] @\nthree.org -\n");
    static const struct {
        const char *target, *host, *body;
    } rows[] = {
        {"GET /", "one.org", "<p>one</p>"},
        {"GET /", "", "<p>one</p>"},
        {"GET /", "two.org", "<p>two</p>"},
        {"GET /", "TWO.org:8080", "<p>two</p>"},
        {"GET /", "two.org.", "<p>two</p>"},
        {"GET /", "www.two.org", "<p>two</p>"},
        {"GET /", "xtwo.org", "<p>one</p>"},
        {"GET /", "[fd00:0::2]:80", "<p>two</p>"},
        {"GET http://two.org/", "one.org", "<p>two</p>"},  // RFC 9112 section 3.2.2
        {"GET http://one.org/", "two.org", "<p>one</p>"},
        {"GET HTTP://Two.org:80", "two.org", "<p>two</p>"},
        {"GET http://two.org?q", "one.org", "<p>two</p>"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct answer a = ask(rows[i].target, rows[i].host, "");
        assert_text(&a, 200, rows[i].body);
    }
    struct answer a = ask("GET /x", "two.org", "");
    assert_int_equal(a.status, 404);
    a = ask("GET /", "two.org", "Host: one.org\r\n");
    assert_int_equal(a.status, 400);
    a = ask("GET /", "two.org/", "");
    assert_int_equal(a.status, 400);
    a = ask("GET /", "three.org", "");
    assert_text(&a, 421, "Misdirected Request");
    hang_up();
}

// One connection asks for several.
static void the_host_is_the_requests_not_the_connections(void **state)
{
    SERVE("root", "ROOT", "host", "two.org @\n");
    const char *text =
        "GET / HTTP/1.1\r\nHost: one.org\r\n\r\nGET / HTTP/1.1\r\nHost: two.org\r\n\r\n"
        "GET / HTTP/1.1\r\nX: y\r\nHost: one.org\r\n\r\nGET / HTTP/1.0\r\n\r\n";
    static const char *const bodies[] = {"<p>one</p>", "<p>two</p>", "<p>one</p>", "<p>one</p>"};
    size_t at = 0;
    conn = fake_open(service);
    fake_feed(conn, text, strlen(text), 0);
    for (unsigned i = 0; i < 4; i++) {
        struct answer a = next_answer(conn, &at, false);
        assert_text(&a, 200, bodies[i]);
    }
    hang_up();
}

static void without_a_default_host_others_are_misdirected(void **state)
{
    SERVE("host", "two.org @\n");
    struct answer a = ask("GET /", "two.org", "");
    assert_text(&a, 200, "<p>two</p>");
    a = ask("GET /", "one.org", "");
    assert_text(&a, 421, "Misdirected Request");
    assert_false(conn->shut);
    a = ask("GET /\\", "one.org", "");
    assert_int_equal(a.status, 400);
    hang_up();
}

static void paths_that_have_moved_take_the_rest_and_the_query_along(void **state)
{
    static const struct {
        const char *target, *host;
        int status;
        const char *location;
    } rows[] = {
        {"GET /a", "o", 301, "/b"},
        {"GET /a?q=1", "o", 301, "/b?q=1"},
        {"GET /%61", "o", 301, "/b"},
        {"GET //a", "o", 301, "/b"},
        {"POST /a", "o", 301, "/b"},
        {"GET /a/", "o", 404, NULL},
        {"GET /own?q", "o", 302, "https://example.org/?own"},
        {"GET /moved/file", "o", 308, "https://example.org/new/file"},
        {"GET /moved/", "o", 308, "https://example.org/new/"},
        {"GET /moved/a%20b/../c[1]?x=y&z", "o", 308, "https://example.org/new/c%5B1%5D?x=y&z"},
        {"GET /moved/%0d%0aX:%20y", "o", 308, "https://example.org/new/%0D%0AX:%20y"},
        {"GET /moved/..%2f..", "o", 308, "https://example.org/new/..%2F.."},
        {"GET /moved", "o", 404, NULL},
        {"GET /slash//evil.org/", "o", 307, "/evil.org/"},
        {"GET /slash///evil.org", "o", 307, "/evil.org"},
        {"GET /flat/anything", "o", 303, "/x"},
        {"GET /x", "o", 200, NULL},
        {"GET /a", "two.org", 301, "/b"},
        {"GET /", "two.org", 301, "http://o/"},
        {"GET /deep/er", "two.org", 301, "http://o/deep/er"},
        {"DELETE /deep/er", "two.org", 301, "http://o/deep/er"},
        {"OPTIONS *", "two.org", 204, NULL},
        {"GET /../x", "two.org", 400, NULL},
    };
    SERVE("root", "ROOT", "host", "two.org -\n", "redirect",
          "/a 301 /b\n/own 302 https://example.org/?own\n/moved/* 308 https://example.org/new/*\n"
          "/slash/* 307 /*\n/flat/* 303 /x\ntwo.org/* 301 http://o/*\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct answer a = ask(rows[i].target, rows[i].host, "");
        if (a.status != rows[i].status)
            fail_msg("%s: %d", rows[i].target, a.status);
        assert_field(&a, "Location", rows[i].location);
    }
    // Content is read to its end; the answer goes also where there is room for one byte at a time.
    const char *text =
        "POST /moved/x?y HTTP/1.1\r\nHost: o\r\nContent-Length: 2\r\n\r\nab"
        "HEAD /moved/x?y HTTP/1.1\r\nHost: o\r\n\r\nGET /x HTTP/1.1\r\nHost: o\r\n\r\n";
    fake_close(conn);
    conn = fake_open_narrow(service, 1);
    size_t at = 0;
    fake_feed(conn, text, strlen(text), 1);
    fake_drain(conn);
    struct answer a = next_answer(conn, &at, false);
    assert_text(&a, 308, "Permanent Redirect");
    assert_field(&a, "Location", "https://example.org/new/x?y");
    a = next_answer(conn, &at, true);
    assert_field(&a, "Location", "https://example.org/new/x?y");
    assert_int_equal(next_answer(conn, &at, false).status, 200);
    hang_up();
}

// The form of a path may be three times as long as the path.
static void a_location_that_would_be_too_long_is_414(void **state)
{
    char target[8000] = "GET /moved/";
    SERVE("root", "ROOT", "redirect", "/moved/* 301 /new/*\n");
    memset(target + 11, '|', 7000);
    struct answer a = ask(target, "o", "");
    assert_int_equal(a.status, 414);
    assert_false(conn->shut);
    memset(target + 11 + 1000, '\0', 7000 - 1000);
    a = ask(target, "o", "");
    assert_int_equal(a.status, 301);
    hang_up();
}

static void fields_and_times_go_by_the_path(void **state)
{
    char expires[64];
    SERVE("root", "ROOT", "host", "two.org @\n", "header",
          "/* X-All: yes\n*.png Cache-Control: public, immutable\ntwo.org/* X-Two: \"; a\n",
          "expires", "/img/* 2m\n*.txt 1h\n/plain.txt 1s\n");
    struct answer a = ask("GET /", "one.org", "");
    assert_field(&a, "X-All", "yes");
    assert_field(&a, "X-Two", NULL);
    assert_field(&a, "Expires", NULL);
    assert_field(&a, "Cache-Control", NULL);
    a = ask("GET /", "two.org", "");
    assert_field(&a, "X-All", "yes");
    assert_field(&a, "X-Two", "\"; a");
    a = ask("GET /plain.txt", "one.org", "");
    assert_field(&a, "Cache-Control", "max-age=3600");
    uint64_t date, until;
    snprintf(expires, sizeof(expires), "%s", answer_field(&a, "Expires"));
    assert_true(http_date_parse(expires, strlen(expires), 2000000000, &until));
    snprintf(expires, sizeof(expires), "%s", answer_field(&a, "Date"));
    assert_true(http_date_parse(expires, strlen(expires), 2000000000, &date));
    assert_int_equal(until, date + 3600);
    // RFC 9110 section 15.4.5: a 304 has what a 200 has of these.
    a = ask("GET /plain.txt", "one.org", "If-None-Match: *\r\n");
    assert_int_equal(a.status, 304);
    assert_field(&a, "Cache-Control", "max-age=3600");
    assert_non_null(answer_field(&a, "Expires"));
    a = ask("GET /plain.txt", "one.org", "Range: bytes=0-1\r\n");
    assert_int_equal(a.status, 206);
    assert_field(&a, "Cache-Control", "max-age=3600");
    assert_field(&a, "X-All", "yes");
    a = ask("GET /both.txt", "one.org", "Accept-Encoding: br\r\n");
    assert_field(&a, "Cache-Control", "max-age=3600");
    assert_field(&a, "Vary", "Accept-Encoding");
    a = ask("GET /missing", "one.org", "");
    assert_field(&a, "X-All", NULL);
    hang_up();
}

static void the_page_of_a_status_is_the_hosts_own(void **state)
{
    SERVE("root", "ROOT", "host", "two.org @\nthree.org -\n", "error_page",
          "404 /404.html\n405 two.org/index.html\n");
    struct answer a = ask("GET /missing", "one.org", "");
    assert_text(&a, 404, "<p>gone</p>");
    assert_field(&a, "Content-Type", "text/html; charset=utf-8");
    assert_field(&a, "ETag", NULL);
    assert_field(&a, "Last-Modified", NULL);
    a = ask("HEAD /missing", "one.org", "");
    assert_field(&a, "Content-Length", "11");
    a = ask("GET /missing", "two.org", "Range: bytes=0-1\r\n");
    assert_text(&a, 404, "<p>two gone</p>");
    a = ask("DELETE /", "two.org", "");
    assert_text(&a, 405, "<p>two</p>");
    assert_field(&a, "Allow", "GET, HEAD, OPTIONS");
    a = ask("DELETE /", "one.org", "");
    assert_text(&a, 405, "Method Not Allowed");
    a = ask("GET /404.html", "one.org", "");
    assert_text(&a, 200, "<p>gone</p>");
    a = ask("GET /", "three.org", "");
    assert_text(&a, 421, "Misdirected Request");
    hang_up();
    SERVE("root", "ROOT", "error_page", "404 /big.bin\n");
    a = ask("GET /missing", "o", "");
    assert_int_equal(a.status, 404);
    assert_body(&a, big, BIG_BYTES);
    hang_up();
    assert_null(
        serve((const char *const[]){"root", "ROOT", "error_page", "404 /none.html\n", NULL}));
    assert_non_null(strstr(err, "error_page = 404 /none.html: there is no such file"));
    assert_null(serve((const char *const[]){"root", "ROOT", "error_page", "404 no.org/x\n", NULL}));
}

static void directories_are_listed_if_that_is_wanted(void **state)
{
    SERVE("root", "ROOT");
    struct answer a = ask("GET /img/", "o", "");
    assert_int_equal(a.status, 404);
    SERVE("root", "ROOT", "listing", "on");
    a = ask("GET /img/", "o", "");
    assert_int_equal(a.status, 200);
    assert_field(&a, "Content-Type", "text/html; charset=utf-8");
    assert_non_null(answer_field(&a, "ETag"));
    assert_non_null(memmem(a.body, a.body_len, "<a href=\"./a%5B1%5D.png\">a[1].png</a>", 37));
    assert_non_null(memmem(a.body, a.body_len, "./sub/", 6));
    assert_null(memmem(a.body, a.body_len, "<b>", 3));
    char etag[128], fields[256];
    snprintf(etag, sizeof(etag), "%s", answer_field(&a, "ETag"));
    snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", etag);
    a = ask("GET /img/", "o", fields);
    assert_int_equal(a.status, 304);
    a = ask("GET /img?x", "o", "");
    assert_int_equal(a.status, 301);
    assert_field(&a, "Location", "/img/?x");
    a = ask("GET /", "o", "");
    assert_text(&a, 200, "<p>one</p>");
    a = ask("GET /img/sub/", "o", "");
    assert_int_equal(a.status, 200);
    a = ask("GET /empty/", "o", "Accept-Encoding: br\r\n");  // a listing is no index.html
    assert_int_equal(a.status, 200);
    assert_field(&a, "Content-Encoding", NULL);
    hang_up();
}

static void of_the_packed_files_the_client_gets_what_it_prefers(void **state)
{
    static const struct {
        const char *target, *accept, *coding;
    } rows[] = {
        {"GET /both.txt", "gzip, br", "br"},
        {"GET /both.txt", "gzip", "gzip"},
        {"GET /both.txt", "br;q=0.5, gzip", "gzip"},
        {"GET /both.txt", "br;q=0, gzip;q=0", NULL},
        {"GET /both.txt", "identity", NULL},
        {"GET /only.txt", "gzip, br", "br"},
        {"GET /only.txt", "gzip", NULL},
        {"GET /old.txt", "gzip, br", NULL},  // its .br is older than it is
        {"GET /both.txt.br", "br", NULL},
    };
    SERVE("root", "ROOT");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char fields[128];
        snprintf(fields, sizeof(fields), "Accept-Encoding: %s\r\n", rows[i].accept);
        struct answer a = ask(rows[i].target, "o", fields);
        assert_int_equal(a.status, 200);
        assert_field(&a, "Content-Encoding", rows[i].coding);
        assert_field(&a, "Vary", i < 7 ? "Accept-Encoding" : NULL);
        if (rows[i].coding == NULL && i < 8)
            assert_body(&a, "plain text\n", 11);
        else if (rows[i].coding == NULL || rows[i].coding[0] == 'b')
            assert_body(&a, "brotli", 6);
        else
            assert_body(&a, packed, sizeof(packed));
    }
    hang_up();
}

static void lines_that_are_none_end_the_start(void **state)
{
    static const char *const rows[][2] = {
        {"host", "two.org\n"},       {"host", "two.org relative/none\n"},
        {"host", "two.org /none\n"}, {"host", "two.org, two.org @\n"},
        {"host", "a @\nA. @\n"},     {"header", "/x\n"},
        {"header", "/x no-colon\n"}, {"expires", "/x\n"},
        {"expires", "/x 1y\n"},      {"expires", "/x 99999d\n"},
        {"redirect", "/x 300 /y\n"}, {"redirect", "/x 301\n"},
        {"error_page", "404\n"},     {"mime_types", "/none\n"},
        {"redirect", "x 301 /y\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (serve((const char *const[]){"root", "ROOT", rows[i][0], rows[i][1], NULL}) != NULL)
            fail_msg("%s = %s", rows[i][0], rows[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_has_its_files),
        cmocka_unit_test(the_host_is_the_requests_not_the_connections),
        cmocka_unit_test(without_a_default_host_others_are_misdirected),
        cmocka_unit_test(paths_that_have_moved_take_the_rest_and_the_query_along),
        cmocka_unit_test(a_location_that_would_be_too_long_is_414),
        cmocka_unit_test(fields_and_times_go_by_the_path),
        cmocka_unit_test(the_page_of_a_status_is_the_hosts_own),
        cmocka_unit_test(directories_are_listed_if_that_is_wanted),
        cmocka_unit_test(of_the_packed_files_the_client_gets_what_it_prefers),
        cmocka_unit_test(lines_that_are_none_end_the_start),
    };
    return cmocka_run_group_tests(tests, make_roots, remove_roots);
}
