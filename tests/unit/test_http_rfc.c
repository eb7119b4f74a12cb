// SPDX-License-Identifier: BSD-3-Clause
// The http application on a fake stack, by the RFCs: validators, ranges, codings, content.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/other_parser.h"
#include "unit/temp_tree.h"

#define HOST "Host: a\r\n"

enum { BIG_BYTES = 300000 };

static char root[TEMP_PATH_BYTES];
static char big[BIG_BYTES];

// `printf 'plain text\n' | gzip -n`, and one that is the gzip of something else.
static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x2b,
                                 0xc8, 0x49, 0xcc, 0xcc, 0x53, 0x28, 0x49, 0xad, 0x28, 0xe1, 0x02,
                                 0x00, 0x22, 0x36, 0x29, 0xf7, 0x0b, 0x00, 0x00, 0x00};

static int make_root(void **state)
{
    static const struct temp_entry entries[] = {
        {"index.html", "<p>hello</p>", NULL},
        {"ten", "0123456789", NULL},
        {"empty", "", NULL},
        {"plain.txt", "plain text\n", NULL},
        {"other", "plain tex", NULL},
        {"sub/", NULL, NULL},
        {"sub/index.html", "plain text\n", NULL},
    };
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char)(i * 7 + i / 255);
    temp_tree_file(root, "big.bin", big, BIG_BYTES);
    temp_tree_file(root, "plain.txt.gz", packed, sizeof(packed));
    temp_tree_file(root, "sub/index.html.gz", packed, sizeof(packed));
    temp_tree_file(root, "other.gz", packed, sizeof(packed));
    return 0;
}

static int remove_root(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct c10m_service *serve_with(const char *key, const char *value)
{
    char err[256];
    const char *params[] = {"root",           root,       "echo_path", "/echo",
                            "headers_path",   "/headers", key,         value,
                            "body_bytes_max", "1000",     NULL};
    struct c10m_service *s;
    if (key == NULL)
        params[6] = "files_max", params[7] = "100";
    s = fake_service_new(&app_http, params, err, sizeof(err));
    if (s == NULL)
        fail_msg("init: %s", err);
    return s;
}

static struct c10m_service *serve(void)
{
    return serve_with(NULL, NULL);
}

// One conversation on a connection of its own; the text is kept until the next call.
static struct c10m_service *service;
static struct c10m_conn *conn;

static void hang_up(void)
{
    if (conn == NULL)
        return;
    fake_close(conn);
    fake_service_free(service);
    conn = NULL;
}

static void feed(const char *text)
{
    fake_feed(conn, text, strlen(text), 0);
}

static void say(const char *request)
{
    hang_up();
    service = serve();
    conn = fake_open(service);
    feed(request);
}

// The only answer to a request line and fields.
static struct answer ask(const char *method_and_target, const char *fields)
{
    char text[2048];
    snprintf(text, sizeof(text), "%s HTTP/1.1\r\n" HOST "%s\r\n", method_and_target, fields);
    say(text);
    return only_answer(conn, strncmp(method_and_target, "HEAD ", 5) == 0);
}

static void assert_status(const struct answer *a, int status)
{
    if (a->status != status)
        fail_msg("%d instead of %d", a->status, status);
}

static void a_file_is_not_sent_again_while_its_tag_is_the_same(void **state)
{
    char etag[128], fields[256], modified[128];
    struct answer a = ask("GET /ten", "");
    snprintf(etag, sizeof(etag), "%s", answer_field(&a, "ETag"));
    snprintf(modified, sizeof(modified), "%s", answer_field(&a, "Last-Modified"));
    snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", etag);
    for (int head = 0; head < 2; head++) {
        a = ask(head ? "HEAD /ten" : "GET /ten", fields);
        assert_status(&a, 304);
        assert_body(&a, "", 0);
        assert_field(&a, "ETag", etag);
        assert_field(&a, "Content-Type", NULL);
        assert_field(&a, "Content-Length", NULL);
        assert_false(conn->shut);
        assert_int_equal(fake_counter(service, "responses_3xx"), 1);
    }
    a = ask("GET /ten", "If-None-Match: \"else\"\r\n");
    assert_status(&a, 200);
    snprintf(fields, sizeof(fields), "If-Modified-Since: %s\r\n", modified);
    a = ask("GET /ten", fields);
    assert_status(&a, 304);
    a = ask("GET /ten", "If-Match: \"else\"\r\n");
    assert_status(&a, 412);
    snprintf(fields, sizeof(fields), "If-Match: %s\r\n", etag);
    a = ask("GET /ten", fields);
    assert_status(&a, 200);
    a = ask("GET /ten", "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    assert_status(&a, 412);
    a = ask("GET /missing", "If-Match: \"else\"\r\nIf-None-Match: *\r\n");
    assert_status(&a, 404);
    hang_up();
}

static void one_range_is_answered_206(void **state)
{
    struct answer a = ask("GET /ten", "Range: bytes=2-4\r\n");
    assert_status(&a, 206);
    assert_body(&a, "234", 3);
    assert_field(&a, "Content-Range", "bytes 2-4/10");
    assert_field(&a, "Accept-Ranges", "bytes");
    assert_non_null(answer_field(&a, "ETag"));
    assert_field(&a, "Content-Type", "application/octet-stream");
    a = ask("GET /ten", "Range: bytes=-3\r\n");
    assert_body(&a, "789", 3);
    assert_field(&a, "Content-Range", "bytes 7-9/10");
    a = ask("GET /big.bin", "Range: bytes=1000-200999\r\n");
    assert_status(&a, 206);
    assert_body(&a, big + 1000, 200000);
    assert_int_equal(fake_counter(service, "body_bytes"), 200000);
    a = ask("GET /ten", "Range: bytes=10-\r\n");
    assert_status(&a, 416);
    assert_field(&a, "Content-Range", "bytes */10");
    hang_up();
}

static void a_range_counts_only_where_it_is_defined(void **state)
{
    struct answer a = ask("HEAD /ten", "Range: bytes=2-4\r\n");
    assert_status(&a, 200);
    assert_field(&a, "Content-Length", "10");
    a = ask("GET /ten", "Range: bytes=2-4\r\nRange: bytes=2-4\r\n");
    assert_status(&a, 200);
    a = ask("GET /ten", "Range: bytes=4-2\r\n");
    assert_status(&a, 200);
    assert_body(&a, "0123456789", 10);
    a = ask("GET /missing", "Range: bytes=2-4\r\n");
    assert_status(&a, 404);
    a = ask("GET /empty", "Range: bytes=-5\r\n");
    assert_status(&a, 200);
    a = ask("GET /sub", "Range: bytes=0-1\r\n");
    assert_status(&a, 301);
    hang_up();
}

static void if_range_gives_the_whole_of_what_has_changed(void **state)
{
    char fields[256];
    struct answer a = ask("GET /ten", "");
    snprintf(fields, sizeof(fields), "Range: bytes=2-4\r\nIf-Range: %s\r\n",
             answer_field(&a, "ETag"));
    a = ask("GET /ten", fields);
    assert_status(&a, 206);
    a = ask("GET /ten", "Range: bytes=2-4\r\nIf-Range: \"else\"\r\n");
    assert_status(&a, 200);
    assert_body(&a, "0123456789", 10);
    a = ask("GET /ten", "Range: bytes=20-\r\nIf-Range: \"else\"\r\n");
    assert_status(&a, 200);
    hang_up();
}

// RFC 9110 section 13.2.2: step 5, Range, comes last, and only if the method would have answered.
static void conditions_come_before_ranges(void **state)
{
    char etag[128], fields[256];
    struct answer a = ask("GET /ten", "");
    snprintf(etag, sizeof(etag), "%s", answer_field(&a, "ETag"));
    snprintf(fields, sizeof(fields), "Range: bytes=2-4\r\nIf-Match: %s\r\n", etag);
    a = ask("GET /ten", fields);
    assert_status(&a, 206);
    assert_body(&a, "234", 3);
    a = ask("GET /ten", "Range: bytes=2-4\r\nIf-Match: \"else\"\r\n");
    assert_status(&a, 412);
    snprintf(fields, sizeof(fields), "Range: bytes=2-4\r\nIf-None-Match: %s\r\n", etag);
    a = ask("GET /ten", fields);
    assert_status(&a, 304);
    assert_field(&a, "Content-Range", NULL);
    a = ask("GET /ten", "Range: bytes=20-\r\nIf-None-Match: \"else\"\r\n");
    assert_status(&a, 416);
    hang_up();
}

struct http_part {
    unsigned first, bytes, size;
    const char *content;
};

// A multipart body of n parts with these ranges and bytes.
static void assert_parts(const struct answer *a, const char *type, const struct http_part *parts,
                         unsigned n)
{
    char boundary[80], head[256];
    assert_status(a, 206);
    assert_field(a, "Content-Range", NULL);
    assert_int_equal(
        sscanf(answer_field(a, "Content-Type"), "multipart/byteranges; boundary=%79s", boundary),
        1);
    const char *p = a->body, *end = a->body + a->body_len;
    for (unsigned i = 0; i <= n; i++) {
        int len = i == n ? snprintf(head, sizeof(head), "\r\n--%s--\r\n", boundary)
                         : snprintf(head, sizeof(head),
                                    "\r\n--%s\r\nContent-Type: %s\r\nContent-Range: bytes "
                                    "%u-%u/%u\r\n\r\n",
                                    boundary, type, parts[i].first,
                                    parts[i].first + parts[i].bytes - 1, parts[i].size);
        assert_true(end - p >= len);
        assert_memory_equal(p, head, (size_t)len);
        p += len;
        if (i == n)
            break;
        assert_true(end - p >= (long)parts[i].bytes);
        assert_memory_equal(p, parts[i].content + parts[i].first, parts[i].bytes);
        p += parts[i].bytes;
    }
    assert_ptr_equal(p, end);
}

static void several_ranges_are_answered_as_multipart(void **state)
{
    static const char ten[] = "0123456789";
    struct answer a = ask("GET /ten", "Range: bytes=1-2,-1,4-5\r\n");
    assert_parts(&a, "application/octet-stream",
                 (struct http_part[]){{1, 2, 10, ten}, {9, 1, 10, ten}, {4, 2, 10, ten}}, 3);
    a = ask("GET /big.bin", "Range: bytes=0-99999,299999-,200000-201023,200000-201024\r\n");
    assert_parts(&a, "application/octet-stream",
                 (struct http_part[]){{0, 100000, BIG_BYTES, big},
                                      {299999, 1, BIG_BYTES, big},
                                      {200000, 1024, BIG_BYTES, big},
                                      {200000, 1025, BIG_BYTES, big}},
                 4);
    hang_up();
}

// What one answer leaves in the connection's state may not be seen in the next.
static void each_answer_on_a_connection_is_of_its_own_kind(void **state)
{
    static const struct {
        const char *request;
        int status;
        const char *body;  // NULL: several parts
    } rows[] = {
        {"GET /ten HTTP/1.1\r\n" HOST "Range: bytes=1-2,4-5\r\n\r\n", 206, NULL},
        {"GET /ten HTTP/1.1\r\n" HOST "Range: bytes=2-4\r\n\r\n", 206, "234"},
        {"GET /ten HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n", 304, ""},
        {"GET /ten HTTP/1.1\r\n" HOST "Range: bytes=20-\r\n\r\n", 416, ""},
        {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab", 200, "ab"},
        {"GET /headers HTTP/1.1\r\n" HOST "\r\n", 200, HOST},
        {"GET /empty HTTP/1.1\r\n" HOST "\r\n", 200, ""},
        {"GET /ten HTTP/1.1\r\n" HOST "\r\n", 200, "0123456789"},
    };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    for (size_t i = 0; i < ROWS * ROWS; i++) {
        const size_t pair[] = {i / ROWS, i % ROWS};
        char text[512];
        snprintf(text, sizeof(text), "%s%s", rows[pair[0]].request, rows[pair[1]].request);
        say(text);
        size_t at = 0;
        for (unsigned k = 0; k < 2; k++) {
            struct answer a = next_answer(conn, &at, false);
            assert_status(&a, rows[pair[k]].status);
            if (a.status == 416)
                assert_field(&a, "Content-Range", "bytes */10");
            else if (rows[pair[k]].body != NULL)
                assert_body(&a, rows[pair[k]].body, strlen(rows[pair[k]].body));
            else
                assert_parts(
                    &a, "application/octet-stream",
                    (struct http_part[]){{1, 2, 10, "0123456789"}, {4, 2, 10, "0123456789"}}, 2);
        }
        assert_int_equal(at, conn->out.len);
    }
    hang_up();
}

static void the_packed_file_goes_to_those_who_accept_it(void **state)
{
    char plain[64];
    struct answer a = ask("GET /plain.txt", "");
    assert_body(&a, "plain text\n", 11);
    assert_field(&a, "Vary", "Accept-Encoding");
    assert_field(&a, "Content-Encoding", NULL);
    snprintf(plain, sizeof(plain), "%s", answer_field(&a, "ETag"));
    static const char *const targets[] = {"GET /plain.txt", "GET /sub/", "GET /sub/index.html"};
    static const char *const types[] = {"text/plain; charset=utf-8", "text/html; charset=utf-8",
                                        "text/html; charset=utf-8"};
    for (unsigned i = 0; i < 3; i++) {
        a = ask(targets[i], "Accept-Encoding: gzip\r\n");
        assert_status(&a, 200);
        assert_body(&a, packed, sizeof(packed));
        assert_field(&a, "Content-Encoding", "gzip");
        assert_field(&a, "Content-Type", types[i]);
        assert_field(&a, "Vary", "Accept-Encoding");
        assert_string_not_equal(answer_field(&a, "ETag"), plain);
    }
    a = ask("GET /plain.txt", "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n");
    assert_status(&a, 206);
    assert_body(&a, "\x1f\x8b", 2);
    assert_field(&a, "Content-Encoding", "gzip");
    a = ask("GET /plain.txt", "Accept-Encoding: gzip;q=0\r\n");
    assert_body(&a, "plain text\n", 11);
    a = ask("GET /plain.txt.gz", "Accept-Encoding: gzip\r\n");
    assert_field(&a, "Content-Encoding", NULL);
    assert_field(&a, "Content-Type", "application/gzip");
    a = ask("GET /other", "Accept-Encoding: gzip\r\n");  // not what other.gz holds
    assert_body(&a, "plain tex", 9);
    assert_field(&a, "Vary", NULL);
    hang_up();
}

static void a_304_of_the_packed_file_needs_its_own_tag(void **state)
{
    char fields[256], etag[64];
    struct answer a = ask("GET /plain.txt", "Accept-Encoding: gzip\r\n");
    snprintf(etag, sizeof(etag), "%s", answer_field(&a, "ETag"));
    snprintf(fields, sizeof(fields), "If-None-Match: %s\r\n", etag);
    a = ask("GET /plain.txt", fields);
    assert_status(&a, 200);
    snprintf(fields, sizeof(fields), "If-None-Match: %s\r\nAccept-Encoding: gzip\r\n", etag);
    a = ask("GET /plain.txt", fields);
    assert_status(&a, 304);
    assert_field(&a, "Vary", "Accept-Encoding");
    hang_up();
}

static void content_is_read_to_its_end_and_the_connection_stays(void **state)
{
    static const char *const requests[] = {
        "GET /ten HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
        "POST /ten HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
        "GET /ten HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "PUT /ten HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nT: x\r\n\r\n",
    };
    static const int statuses[] = {200, 405, 200, 405};
    for (size_t i = 0; i < 4; i++) {
        char text[512];
        snprintf(text, sizeof(text), "%sGET /empty HTTP/1.1\r\n" HOST "\r\n", requests[i]);
        say(text);
        size_t at = 0;
        assert_int_equal(next_answer(conn, &at, false).status, statuses[i]);
        assert_int_equal(next_answer(conn, &at, false).status, 200);
        assert_int_equal(at, conn->out.len);
        assert_false(conn->shut);
    }
    hang_up();
}

static void nothing_is_answered_before_the_content_has_come(void **state)
{
    const char *text = "GET /ten HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhell";
    say(text);
    assert_int_equal(conn->out.len, 0);
    assert_int_equal(conn->in.len, 0);
    fake_feed(conn, "o", 1, 0);
    struct answer a = only_answer(conn, false);
    assert_status(&a, 200);
    hang_up();
}

static void post_is_answered_with_its_content(void **state)
{
    char text[2048], content[1001];
    memset(content, 'x', 1000);
    content[1000] = '\0';
    snprintf(text, sizeof(text), "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n%s",
             content);
    say(text);
    struct answer a = only_answer(conn, false);
    assert_status(&a, 200);
    assert_body(&a, content, 1000);
    assert_field(&a, "Content-Type", "application/octet-stream");
    assert_int_equal(fake_counter(service, "content_bytes"), 1000);
    assert_false(conn->shut);
    say("POST /echo HTTP/1.1\r\n" HOST
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n");
    a = only_answer(conn, false);
    assert_body(&a, "abcde", 5);
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
    a = only_answer(conn, false);
    assert_body(&a, "", 0);
    say("POST /echo HTTP/1.1\r\n" HOST "\r\n");
    a = only_answer(conn, false);
    assert_status(&a, 411);
    say("POST /%65cho?x HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx");
    a = only_answer(conn, false);
    assert_body(&a, "x", 1);
    a = ask("GET /echo", "");
    assert_status(&a, 405);
    assert_field(&a, "Allow", "POST, OPTIONS");
    a = ask("OPTIONS /echo", "");
    assert_status(&a, 204);
    assert_field(&a, "Allow", "POST, OPTIONS");
    hang_up();
}

static void the_field_lines_are_answered_as_they_came(void **state)
{
    struct answer a = ask("GET /headers", "X-Odd:  a\tb  \r\nx-odd: c\r\n");
    assert_status(&a, 200);
    static const char want[] = HOST "X-Odd:  a\tb  \r\nx-odd: c\r\n";
    assert_body(&a, want, sizeof(want) - 1);
    assert_field(&a, "Cache-Control", "no-store");
    assert_field(&a, "Content-Type", "text/plain; charset=iso-8859-1");
    a = ask("HEAD /headers", "");
    assert_field(&a, "Content-Length", "9");
    a = ask("DELETE /headers", "");
    assert_status(&a, 405);
    assert_field(&a, "Allow", "GET, HEAD, OPTIONS");
    hang_up();
}

static void those_paths_are_off_by_default(void **state)
{
    char err[256];
    const char *params[] = {"root", root, NULL};
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    struct c10m_conn *c = fake_open(s);
    const char *text = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx"
                       "GET /headers HTTP/1.1\r\n" HOST "\r\n";
    size_t at = 0;
    fake_feed(c, text, strlen(text), 0);
    assert_int_equal(next_answer(c, &at, false).status, 405);
    assert_int_equal(next_answer(c, &at, false).status, 404);
    fake_close(c);
    fake_service_free(s);
}

static void a_path_that_a_file_has_or_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {"/ten", "/", "/sub", "ten", "/a?b", "/%zz", "", "/../x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char err[256];
        const char *params[] = {"root", root, "echo_path", bad[i], NULL};
        assert_null(fake_service_new(&app_http, params, err, sizeof(err)));
        assert_non_null(strstr(err, bad[i]));
    }
    char err[256];
    const char *params[] = {"root", root, "echo_path", "/x", "headers_path", "/x", NULL};
    assert_null(fake_service_new(&app_http, params, err, sizeof(err)));
}

static void continue_is_said_where_the_content_is_wanted(void **state)
{
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    size_t at = 0;
    struct answer a = next_answer(conn, &at, true);
    assert_status(&a, 100);
    assert_int_equal(a.head_len, strlen("HTTP/1.1 100 Continue\r\n\r\n"));
    assert_int_equal(at, conn->out.len);
    fake_feed(conn, "ab", 2, 0);
    a = next_answer(conn, &at, false);
    assert_status(&a, 200);
    assert_body(&a, "ab", 2);
    assert_false(conn->shut);
    // A higher layer knows the answer already: the content need not come.
    say("POST /ten HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    a = only_answer(conn, false);
    assert_status(&a, 405);
    assert_true(conn->shut);
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n");
    a = only_answer(conn, false);
    assert_status(&a, 413);
    say("POST /echo HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab");
    a = only_answer(conn, false);
    assert_status(&a, 200);
    say("GET /ten HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n");
    a = only_answer(conn, false);
    assert_status(&a, 200);
    assert_false(conn->shut);
    say("GET /ten HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n");
    a = only_answer(conn, false);
    assert_status(&a, 417);
    assert_false(conn->shut);
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: tea\r\n\r\nab");
    a = only_answer(conn, false);
    assert_status(&a, 417);
    assert_true(conn->shut);
    hang_up();
}

static void content_that_cannot_be_trusted_ends_the_connection(void **state)
{
    static const struct {
        const char *fields_and_content;
        int status;
    } rows[] = {
        {"Transfer-Encoding: chunked\r\n\r\nx\r\n", 400},
        {"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n", 400},
        {"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 413},
        {"Transfer-Encoding: chunked\r\n\r\n3e9\r\n", 413},
        {"Content-Length: 1001\r\n\r\n", 413},
        {"Content-Length: 18446744073709551617\r\n\r\n", 413},
        {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400},
        {"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400},
        {"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const char *const starts[] = {"POST /echo", "GET /ten"};
        for (unsigned k = 0; k < 2; k++) {
            char text[512];
            snprintf(text, sizeof(text),
                     "%s HTTP/1.1\r\n" HOST "%sGET /ten HTTP/1.1\r\n" HOST "\r\n", starts[k],
                     rows[i].fields_and_content);
            say(text);
            struct answer a = only_answer(conn, false);
            if (a.status != rows[i].status || !conn->shut)
                fail_msg("%d, shut %d: %s", a.status, conn->shut, text);
            assert_field(&a, "Connection", "close");
            assert_int_equal(conn->in.len, 0);
            assert_int_equal(fake_counter(service, "requests_refused"), a.status == 400);
            assert_int_equal(fake_counter(service, "content_too_long"), a.status == 413);
        }
    }
    hang_up();
}

static void each_form_of_target_has_its_methods(void **state)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET http://b/ten HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        {"GET http://b:80/ten HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        {"GET HTTP://[::1]:80/ten HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        {"GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        {"GET http://b?q HTTP/1.1\r\nHost: a\r\n\r\n", 200},
        {"OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n", 204},
        {"GET http://b/ten HTTP/1.1\r\n\r\n", 400},
        {"GET http://u@b/ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET http://b:x/ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET http:///ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET http://:80/ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET ftp://b/ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 405},
        {"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"CONNECT :80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"CONNECT /ten HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"TRACE /ten HTTP/1.1\r\nHost: a\r\n\r\n", 405},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        say(rows[i].request);
        struct answer a = only_answer(conn, false);
        if (a.status != rows[i].status || conn->shut != (a.status == 400))
            fail_msg("%d, shut %d: %s", a.status, conn->shut, rows[i].request);
    }
    hang_up();
}

static void without_a_hold_the_answer_is_503(void **state)
{
    hang_up();
    service = serve_with("holds_max", "2");
    struct c10m_conn *c[3];
    size_t at = 0;
    const char *begun = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na";
    const char *ranges = "GET /ten HTTP/1.1\r\n" HOST "Range: bytes=0-0,2-2\r\n\r\n";
    for (unsigned i = 0; i < 3; i++) {
        c[i] = fake_open(service);
        from_source(c[i], i);
        fake_feed(c[i], begun, strlen(begun), 0);
    }
    struct answer a = only_answer(c[2], false);
    assert_status(&a, 503);
    assert_field(&a, "Retry-After", "1");
    assert_true(c[2]->shut);  // where its content ends is not looked for
    assert_int_equal(fake_counter(service, "holds_empty"), 1);
    fake_close(c[2]);
    c[2] = fake_open(service);
    fake_feed(c[2], ranges, strlen(ranges), 0);
    a = next_answer(c[2], &at, false);
    assert_status(&a, 503);
    assert_false(c[2]->shut);
    fake_feed(c[0], "b", 1, 0);  // one is given back by its answer
    assert_status((a = only_answer(c[0], false), &a), 200);
    fake_feed(c[2], ranges, strlen(ranges), 0);
    a = next_answer(c[2], &at, false);
    assert_status(&a, 206);
    fake_close(c[1]);  // and one by its connection's end
    c[1] = fake_open(service);
    fake_feed(c[0], begun, strlen(begun), 0);
    fake_feed(c[1], begun, strlen(begun), 0);
    assert_int_equal(c[1]->out.len, 0);
    for (unsigned i = 0; i < 3; i++)
        fake_close(c[i]);
    fake_service_free(service);
}

// Whoever sends content to a page slowly holds a connection, and nothing that others need.
static void content_that_nobody_wants_takes_no_hold(void **state)
{
    static const char *const begun[] = {
        "POST /ten HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na",
        "PUT /sub HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\na",
        "GET /ten HTTP/1.1\r\n" HOST "Range: bytes=1-2\r\nContent-Length: 2\r\n\r\na",
        "GET /ten HTTP/1.1\r\n" HOST "If-None-Match: *\r\nContent-Length: 2\r\n\r\na",
        "GET /missing HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na",
    };
    static const char *const ends[] = {"b", "b\r\n0\r\n\r\n", "b", "b", "b"};
    static const int statuses[] = {405, 405, 200, 304, 404};
    const char *post = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na";
    enum { N = 40 };
    for (unsigned logs = 0; logs < 2; logs++) {
        hang_up();
        service = logs ? serve_with("access_log", "/dev/null") : serve_with("holds_max", "1");
        struct c10m_conn *c[N], *echo = fake_open(service);
        for (unsigned i = 0; i < N; i++) {
            c[i] = fake_open(service);
            fake_feed(c[i], begun[i % 5], strlen(begun[i % 5]), 0);
            assert_int_equal(c[i]->out.len, 0);
        }
        fake_feed(echo, post, strlen(post), 0);
        assert_int_equal(echo->out.len, 0);  // it has its hold
        for (unsigned i = 0; i < N; i++) {
            fake_feed(c[i], ends[i % 5], strlen(ends[i % 5]), 1);
            struct answer a = only_answer(c[i], false);
            assert_status(&a, statuses[i % 5]);
            if (a.status == 405)
                assert_field(&a, "Allow", "GET, HEAD, OPTIONS");
            assert_false(c[i]->shut);
            fake_close(c[i]);
        }
        assert_int_equal(fake_counter(service, "holds_empty"), 0);
        fake_close(echo);
        fake_service_free(service);
    }
}

// Lines of the log take holds only as long as half of them are free; then they are bare.
static void lines_of_the_log_leave_half_of_the_holds_to_those_who_need_them(void **state)
{
    char err[256];
    const char *params[] = {"root",      root,        "holds_max", "4", "access_log",
                            "/dev/null", "echo_path", "/echo",     NULL};
    const char *wants[] = {"POST /ten HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na",
                           "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na"};
    hang_up();
    service = fake_service_new(&app_http, params, err, sizeof(err));
    struct c10m_conn *c[11];
    for (unsigned i = 0; i < 11; i++) {
        c[i] = fake_open(service);
        from_source(c[i], i);
        fake_feed(c[i], wants[i >= 9], strlen(wants[i >= 9]), 0);
    }
    assert_int_equal(fake_counter(service, "log_bare"), 7);
    assert_int_equal(fake_counter(service, "holds_empty"), 0);
    for (unsigned i = 0; i < 11; i++) {
        fake_feed(c[i], "b", 1, 0);
        assert_int_equal(only_answer(c[i], false).status, i >= 9 ? 200 : 405);
        fake_close(c[i]);
    }
    fake_service_free(service);
}

static void the_redirect_of_a_directory_keeps_the_query(void **state)
{
    char target[1200], want[1200], query[200];
    memset(query, 'q', sizeof(query) - 1);
    query[sizeof(query) - 1] = '\0';
    const char *queries[] = {"", "?", "?a=b&c", "?a?b=/../\xc3%zz[]", query};
    query[0] = '?';
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < 3; k++) {
            static const char *const forms[] = {"GET /sub", "GET http://a/x/..//%73ub",
                                                "HEAD //sub"};
            snprintf(target, sizeof(target), "%s%s", forms[k], queries[i]);
            snprintf(want, sizeof(want), "/sub/%s", queries[i]);
            struct answer a = ask(target, "");
            assert_status(&a, 301);
            assert_field(&a, "Location", want);
            assert_body(&a, "Moved Permanently", k == 2 ? 0 : 17);
            assert_false(conn->shut);
            assert_int_equal(fake_counter(service, "responses_3xx"), 1);
            assert_int_equal(fake_counter(service, "body_bytes"), k == 2 ? 0 : 17);
        }
    }
    // As long as a head may be.
    static const char end[] = " HTTP/1.1\r\n" HOST "\r\n";
    enum { QUERY = 8192 - (sizeof("GET /sub") - 1) - (sizeof(end) - 1) };
    char *text = malloc(8193), *long_query = malloc(QUERY + 1);
    memset(long_query, '?', QUERY);
    long_query[QUERY] = '\0';
    snprintf(text, 8193, "GET /sub%s%s", long_query, end);
    say(text);
    struct answer a = only_answer(conn, false);
    assert_status(&a, 301);
    snprintf(text, 8193, "Location: /sub/%s", long_query);
    assert_non_null(memmem(a.head, a.head_len, text, strlen(text)));
    free(long_query);
    free(text);
    hang_up();
}

static void holds_that_would_take_all_memory_are_refused(void **state)
{
    char err[256];
    const char *params[] = {"root",    root,        "echo_path", "/echo", "body_bytes_max",
                            "1048576", "holds_max", "1025",      NULL};
    assert_null(fake_service_new(&app_http, params, err, sizeof(err)));
    assert_non_null(strstr(err, "holds_max = 1025 of 1048576 bytes"));
    params[2] = "files_max", params[3] = "100";  // nothing is answered with content: no buffers
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    assert_non_null(s);
    fake_service_free(s);
}

static void each_worker_has_holds_of_its_own(void **state)
{
    const char *begun = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\na";
    struct c10m_conn *c[3];
    fake_workers(3);
    service = serve_with("holds_max", "1");
    for (unsigned i = 0; i < 3; i++) {
        c[i] = fake_open(service);
        c[i]->worker = i;
        fake_feed(c[i], begun, strlen(begun), 0);
        assert_int_equal(c[i]->out.len, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        fake_feed(c[i], "b", 1, 0);
        struct answer a = only_answer(c[i], false);
        assert_body(&a, "ab", 2);
        fake_close(c[i]);
    }
    fake_service_free(service);
}

static void content_that_takes_too_long_is_answered_408(void **state)
{
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 20\r\n\r\n");
    for (unsigned i = 0; i < 29; i++) {
        if (i < 19)
            fake_feed(conn, "x", 1, 0);
        fake_advance(conn, 1000);
    }
    assert_int_equal(conn->out.len, 0);
    fake_advance(conn, 1001);
    struct answer a = only_answer(conn, false);
    assert_status(&a, 408);
    assert_true(conn->shut);
    assert_int_equal(fake_counter(service, "body_timeouts"), 1);
    // The time begins anew when the client is told to send.
    hang_up();
    service = serve();
    conn = fake_open_narrow(service, 1);
    feed("POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 20\r\n\r\n");
    fake_advance(conn, 20000);
    fake_drain(conn);
    conn->send_room = SIZE_MAX;
    fake_advance(conn, 29999);
    assert_int_equal(fake_counter(service, "body_timeouts"), 0);
    fake_advance(conn, 2);
    assert_int_equal(fake_counter(service, "body_timeouts"), 1);
    hang_up();
}

static void content_that_ends_early_is_not_answered(void **state)
{
    say("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 20\r\n\r\nx");
    fake_end(conn);
    assert_true(conn->shut);
    assert_int_equal(conn->out.len, 0);
    hang_up();
}

// The conversation that is cut, squeezed and repeated.
static const char talk[] =
    "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
    "GET /big.bin HTTP/1.1\r\n" HOST "Range: bytes=0-1,5-1500,10-20\r\n\r\n"
    "GET /ten HTTP/1.1\r\n" HOST "Range: bytes=50-\r\n\r\n"
    "GET /sub?a=b HTTP/1.1\r\n" HOST "\r\n"
    "POST /ten HTTP/1.1\r\n" HOST "Transfer-Encoding: ,chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
    "GET /headers HTTP/1.1\r\n" HOST "X: y\r\n\r\n"
    "POST /echo HTTP/1.1\r\n" HOST
    "Transfer-Encoding: chunked\r\n\r\n4;x=\"y\"\r\n\r\n\r\n\r\n1\r\nz\r\n0\r\nA: b\r\n\r\n"
    "GET /plain.txt HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\nIf-None-Match: *\r\n\r\n"
    "GET /big.bin HTTP/1.1\r\n" HOST "Range: bytes=-2000\r\n\r\n"
    "PUT /ten HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n;";
static const int talk_statuses[] = {100, 200, 206, 416, 301, 405, 200, 200, 304, 206, 400};

static void answers_do_not_depend_on_how_requests_are_cut_nor_on_the_room(void **state)
{
    struct c10m_service *s = serve();
    struct c10m_conn *whole = hold_talk(s, talk, sizeof(talk) - 1, sizeof(talk) - 1, 0, SIZE_MAX);
    size_t at = 0;
    for (size_t i = 0; i < sizeof(talk_statuses) / sizeof(talk_statuses[0]); i++)
        assert_int_equal(next_answer(whole, &at, i == 0).status, talk_statuses[i]);
    assert_int_equal(at, whole->out.len);
    assert_true(whole->shut);
    for (size_t cut = 0; cut < sizeof(talk); cut++) {
        static const size_t pieces[] = {0, 1, 7}, rooms[] = {SIZE_MAX, 1, 100};
        for (unsigned k = 0; k < 9; k++) {
            if (k / 3 == 1 && cut % 64 != 0)
                continue;  // a room of one byte is slow: enough places
            struct c10m_conn *c =
                hold_talk(s, talk, sizeof(talk) - 1, cut, pieces[k % 3], rooms[k / 3]);
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

static void another_parser_reads_the_same_answers(void **state)
{
    enum { N = sizeof(talk_statuses) / sizeof(talk_statuses[0]) };
    struct c10m_service *s = serve();
    struct c10m_conn *c = hold_talk(s, talk, sizeof(talk) - 1, sizeof(talk) - 1, 0, SIZE_MAX);
    int statuses[N + 1];
    assert_int_equal(read_responses(c->out.at, c->out.len, statuses, N + 1), N);
    for (int i = 0; i < N; i++)
        assert_int_equal(statuses[i], talk_statuses[i]);
    assert_int_equal(read_responses(c->out.at, c->out.len - 1, statuses, N + 1), -1);
    fake_close(c);
    fake_service_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_not_sent_again_while_its_tag_is_the_same),
        cmocka_unit_test(one_range_is_answered_206),
        cmocka_unit_test(a_range_counts_only_where_it_is_defined),
        cmocka_unit_test(if_range_gives_the_whole_of_what_has_changed),
        cmocka_unit_test(conditions_come_before_ranges),
        cmocka_unit_test(several_ranges_are_answered_as_multipart),
        cmocka_unit_test(each_answer_on_a_connection_is_of_its_own_kind),
        cmocka_unit_test(the_packed_file_goes_to_those_who_accept_it),
        cmocka_unit_test(a_304_of_the_packed_file_needs_its_own_tag),
        cmocka_unit_test(content_is_read_to_its_end_and_the_connection_stays),
        cmocka_unit_test(nothing_is_answered_before_the_content_has_come),
        cmocka_unit_test(post_is_answered_with_its_content),
        cmocka_unit_test(the_field_lines_are_answered_as_they_came),
        cmocka_unit_test(those_paths_are_off_by_default),
        cmocka_unit_test(a_path_that_a_file_has_or_that_is_none_is_refused),
        cmocka_unit_test(continue_is_said_where_the_content_is_wanted),
        cmocka_unit_test(content_that_cannot_be_trusted_ends_the_connection),
        cmocka_unit_test(each_form_of_target_has_its_methods),
        cmocka_unit_test(without_a_hold_the_answer_is_503),
        cmocka_unit_test(content_that_nobody_wants_takes_no_hold),
        cmocka_unit_test(lines_of_the_log_leave_half_of_the_holds_to_those_who_need_them),
        cmocka_unit_test(the_redirect_of_a_directory_keeps_the_query),
        cmocka_unit_test(holds_that_would_take_all_memory_are_refused),
        cmocka_unit_test(each_worker_has_holds_of_its_own),
        cmocka_unit_test(content_that_takes_too_long_is_answered_408),
        cmocka_unit_test(content_that_ends_early_is_not_answered),
        cmocka_unit_test(answers_do_not_depend_on_how_requests_are_cut_nor_on_the_room),
        cmocka_unit_test(another_parser_reads_the_same_answers),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
