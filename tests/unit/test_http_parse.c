// SPDX-License-Identifier: BSD-3-Clause
// The head of a request: every rule, cut at every byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/http/date.h"
#include "app/http/request_parse.h"
#include "app/http/scan.h"
#include "unit/check.h"

#define G    "GET / HTTP/1.1\r\n"
#define H    "Host: a\r\n"
#define E    "\r\n"

#define T(s) s, sizeof(s) - 1

struct head {
    const char *text;
    size_t len;
    int verdict;
};

static const struct head heads[] = {
    // Complete heads.
    {T(G H E), HTTP_DONE},
    {T("GET / HTTP/1.0\r\n\r\n"), HTTP_DONE},
    {T("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), HTTP_DONE},  // a higher minor version is 1.1 to us
    {T("\r\n" G H E), HTTP_DONE},
    {T("HEAD /a?b=c HTTP/1.1\r\nHost:a\r\n\r\n"), HTTP_DONE},
    {T("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), HTTP_DONE},
    {T("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"), HTTP_DONE},
    {T("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"), HTTP_DONE},
    {T(G "hOsT: a\r\n\r\n"), HTTP_DONE},
    {T(G "Host:\r\n\r\n"), HTTP_DONE},
    {T(G "Host: [::1]:80\r\n\r\n"), HTTP_DONE},
    {T(G "Host: \t a \t \r\n\r\n"), HTTP_DONE},
    {T(G H "X:\r\n\r\n"), HTTP_DONE},
    {T(G H "X: tab\there, \x80\xff\r\n\r\n"), HTTP_DONE},
    {T(G H "!#$%&'*+-.^_`|~09azAZ: v\r\n\r\n"), HTTP_DONE},
    {T(G H "Transfer-Encoding: Chunked\r\n\r\n"), HTTP_DONE},
    {T(G H "Content-Length: 99999999999999999999999999\r\n\r\n"),
     HTTP_DONE},  // never computed with
    // Not yet complete.
    {T(""), HTTP_MORE},
    {T("\r"), HTTP_MORE},
    {T("GET / HTTP/1.1"), HTTP_MORE},
    {T(G H "\r"), HTTP_MORE},
    {T(G H), HTTP_MORE},
    // The request line.
    {T("\r\n\r\n" G H E), 400},
    {T("GET /\r\n"), 400},  // HTTP/0.9
    {T("GET\r\n"), 400},
    {T("GET  HTTP/1.1\r\n"), 400},
    {T("GET / HTTP/1.1 \r\n"), 400},
    {T(" GET / HTTP/1.1\r\n"), 400},
    {T("G@T / HTTP/1.1\r\n"), 400},
    {T("GET\t/\tHTTP/1.1\r\n"), 400},
    {T("GET / http/1.1\r\n"), 400},
    {T("GET / HTTP/1.\r\n"), 400},
    {T("GET / HTTP/11\r\n"), 400},
    {T("GET / HTTP/1.10\r\n"), 400},
    {T("GET / HTTP/a.1\r\n"), 400},
    {T("GET / HTTP/2\r\n"), 400},
    {T("GET / HTTP/2.0\r\n"), 505},
    {T("GET / HTTP/0.9\r\n"), 505},
    {T("PRI * HTTP/2.0\r\n"), 505},
    {T("GET / HTTP/9.9\r\n"), 505},
    {T("M * HTTP/1.1\r\n"), 501},
    {T("* HTTP/1.1\r\n"), 400},
    {T("get / HTTP/1.1\r\n"), 501},
    {T("BREW / HTTP/1.1\r\n"), 501},
    {T("GETS / HTTP/1.1\r\n"), 501},
    // Line ends and bad bytes.
    {T("GET / HTTP/1.1\nHost: a\n\n"), 400},
    {T(G "Host: a\n\r\n"), 400},
    {T(G "Host: a\rX: b\r\n\r\n"), 400},
    {T(G "Host: a\r\r\n\r\n"), 400},
    {T(G H "\n"), 400},
    {T(G H "X: a\0b\r\n\r\n"), 400},
    {T("G\0T / HTTP/1.1\r\n\r\n"), 400},
    {T(G H "X: a\x7f\r\n\r\n"), 400},
    {T(G H "X: a\x01\r\n\r\n"), 400},
    {T("\x16\x03\x01\x02"), 400},  // TLS
    // Fields.
    {T(G E), 400},  // no Host
    {T(G H H E), 400},
    {T("GET / HTTP/1.0\r\n" H H E), 400},
    {T(G "Host: a b\r\n\r\n"), 400},
    {T(G "Host: a/b\r\n\r\n"), 400},
    {T(G "Host: u@a\r\n\r\n"), 400},
    {T(G "Host: a:b\r\n\r\n"), 400},
    {T(G "Host: a:1:2\r\n\r\n"), 400},
    {T(G "Host: [::1\r\n\r\n"), 400},
    {T(G "Host: []\r\n\r\n"), 400},
    {T(G "Host: [::1]a\r\n\r\n"), 400},
    {T(G "Host: a%2\r\n\r\n"), 400},
    {T(G "Host: a%zz\r\n\r\n"), 400},
    {T(G "Host: a%g0\r\n\r\n"), 400},
    {T(G "Host: a%0g\r\n\r\n"), 400},
    {T(G "Host: a]b\r\n\r\n"), 400},
    {T(G "Host: a[b\r\n\r\n"), 400},
    {T(G "Host: [::1%25e]\r\n\r\n"), 400},
    {T(G "Host: [[::1]\r\n\r\n"), 400},
    {T(G "Host: [a@]\r\n\r\n"), 400},
    {T(G "Host: a%00:90\r\n\r\n"), HTTP_DONE},
    {T(G "Host: [::1]:9\r\n\r\n"), HTTP_DONE},
    {T(G "Host: a,b\r\n\r\n"), HTTP_DONE},
    {T(G "Host: a%2f:\r\n\r\n"), HTTP_DONE},
    {T(G "Host : a\r\n\r\n"), 400},
    {T(G H "X : a\r\n\r\n"), 400},
    {T(G H ": a\r\n\r\n"), 400},
    {T(G H "X\r\n\r\n"), 400},
    {T(G H "X: a\r\n folded\r\n\r\n"), 400},
    {T(G H "X: a\r\n\tfolded\r\n\r\n"), 400},
    {T(G " Host: a\r\n\r\n"), 400},
    {T(G H "X(: a\r\n\r\n"), 400},
    {T(G H "\x80: a\r\n\r\n"), 400},
    // Bodies.
    {T(G H "Content-Length:\r\n\r\n"), 400},
    {T(G H "Content-Length: -1\r\n\r\n"), 400},
    {T(G H "Content-Length: +1\r\n\r\n"), 400},
    {T(G H "Content-Length: 1 1\r\n\r\n"), 400},
    {T(G H "Content-Length: 0x1\r\n\r\n"), 400},
    {T(G H "Content-Length: 1, 1\r\n\r\n"), 400},
    {T(G H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"), 400},
    {T(G H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked, gzip\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: xchunked\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding:\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501},
    // RFC 9110 section 5.6.1.2: empty elements are none.
    {T(G H "Transfer-Encoding: chunked,\r\n\r\n"), HTTP_DONE},
    {T(G H "Transfer-Encoding: ,\t, chunked , ,\r\n\r\n"), HTTP_DONE},
    {T(G H "Transfer-Encoding: ,gzip,,chunked\r\n\r\n"), 501},
    {T(G H "Transfer-Encoding: ,\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked, chunked\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked,,chunked\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked,\r\nTransfer-Encoding: ,\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked;q=1\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: \"chunked\"\r\n\r\n"), 400},
    {T(G H "Transfer-Encoding: chunked chunked\r\n\r\n"), 400},
    // RFC 9112 section 6.3: a length beside a coding is judged before the coding.
    {T(G H "Transfer-Encoding: gzip, chunked\r\nContent-Length: 0\r\n\r\n"), 400},
    {T(G H "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 400},
    {T("GET / HTTP/1.0\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 400},
    {T("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
};

// Parses `text` as it arrives in pieces; each offer is a copy of exactly its length.
static int parse_pieces(const char *text, size_t len, size_t first, size_t piece,
                        struct http_request *r, size_t max)
{
    *r = (struct http_request){0};
    int verdict = HTTP_MORE;
    for (size_t n = first; verdict == HTTP_MORE; n += piece) {
        if (n > len)
            n = len;
        uint8_t *copy = malloc(n == 0 ? 1 : n);
        assert_non_null(copy);
        memcpy(copy, text, n);
        verdict = http_parse(r, copy, n, max);
        free(copy);
        if (n == len)
            break;
    }
    return verdict;
}

static bool same(const struct http_request *a, const struct http_request *b)
{
    return a->line == b->line && a->at == b->at && a->target_off == b->target_off &&
           a->target_bytes == b->target_bytes && a->method == b->method && a->flags == b->flags;
}

static void each_head_has_its_verdict_however_it_is_cut(void **state)
{
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        const struct head *h = &heads[i];
        size_t len = h->len;
        struct http_request whole, r;
        int verdict = parse_pieces(h->text, len, len, 1, &whole, 8192);
        if (verdict != h->verdict)
            fail_msg("head %zu: %d instead of %d:\n%s", i, verdict, h->verdict, h->text);
        for (size_t cut = 0; cut <= len; cut++) {
            assert_int_equal(parse_pieces(h->text, len, cut, len, &r, 8192), h->verdict);
            if (h->verdict == HTTP_DONE)
                assert_true(same(&r, &whole));
        }
        assert_int_equal(parse_pieces(h->text, len, 0, 1, &r, 8192), h->verdict);
        if (h->verdict == HTTP_DONE) {
            assert_true(same(&r, &whole));
            assert_int_equal(r.at, len);
        }
    }
}

static void the_head_ends_where_the_next_request_begins(void **state)
{
    const char *text = G H E "GET /next HTTP/1.1\r\n";
    struct http_request r = {0};
    assert_int_equal(http_parse(&r, (const uint8_t *)text, strlen(text), 8192), HTTP_DONE);
    assert_int_equal(r.at, strlen(G H E));
    assert_int_equal(r.target_bytes, 1);
    assert_int_equal(text[r.target_off], '/');
}

static struct http_request parsed(const char *text)
{
    struct http_request r = {0};
    assert_int_equal(http_parse(&r, (const uint8_t *)text, strlen(text), 8192), HTTP_DONE);
    return r;
}

static bool keeps(const char *text)
{
    struct http_request r = parsed(text);
    return http_keep_alive(&r);
}

static void a_connection_stays_as_rfc_9112_section_9_3_says(void **state)
{
    assert_true(keeps(G H E));
    assert_false(keeps(G H "Connection: close\r\n\r\n"));
    assert_false(keeps(G H "Connection: Upgrade , CLOSE,\r\n\r\n"));
    assert_true(keeps(G H "Connection: closed, xclose, clos\r\n\r\n"));
    assert_false(keeps("GET / HTTP/1.0\r\n\r\n"));
    assert_true(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    assert_false(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"));
    assert_true(keeps(G H "Content-Length: 000\r\n\r\n"));
    assert_true(keeps(G H "Content-Length: 010\r\n\r\n"));
    assert_true(keeps(G H "Transfer-Encoding: chunked\r\n\r\n"));
}

// A head of exactly `len` bytes, padded in a field or in the target.
static char *head_of(size_t len, bool in_target)
{
    const char *before = in_target ? "GET /" : G H "X: ";
    const char *after = in_target ? " HTTP/1.1\r\n" H E : "\r\n\r\n";
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, 'a', len);
    memcpy(text, before, strlen(before));
    memcpy(text + len - strlen(after), after, strlen(after) + 1);
    return text;
}

static void a_head_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    static const size_t limits[] = {HTTP_HEAD_BYTES_MIN, 8192, HTTP_HEAD_BYTES_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct http_request r;
        for (size_t over = 0; over < 40; over++) {
            char *text = head_of(limits[i] + over, false);
            size_t len = limits[i] + over;
            int expected = over == 0 ? HTTP_DONE : 431;
            assert_int_equal(parse_pieces(text, len, len, 1, &r, limits[i]), expected);
            assert_int_equal(parse_pieces(text, len, len - over - 50, 1, &r, limits[i]), expected);
            free(text);
        }
        char *text = head_of(limits[i] * 2, true);
        assert_int_equal(parse_pieces(text, limits[i] * 2, limits[i] * 2, 1, &r, limits[i]), 414);
        assert_int_equal(parse_pieces(text, limits[i] - 1, 0, 100, &r, limits[i]), HTTP_MORE);
        assert_int_equal(parse_pieces(text, limits[i], 0, 100, &r, limits[i]), 414);
        free(text);
    }
}

// RFC 9112 section 3: 501 whether the method ends within the limit or not.
static void a_method_longer_than_any_known_is_501(void **state)
{
    static const struct {
        const char *start;
        int verdict;
    } rows[] = {{"", 501},        {"GET /", 414},     {"HEAD /", 414}, {"BREW /", 501},
                {"\r\n", 501},    {"\r\nGET /", 414}, {"G@T /", 400},  {"GET@", 400},
                {"DELETE ", 414}, {" ", 400}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[8193];
        struct http_request r;
        const size_t n = strlen(rows[i].start);
        memset(text, 'M', sizeof(text));
        memcpy(text, rows[i].start, n);
        for (size_t piece = 1; piece < 9000; piece *= 7)
            if (parse_pieces(text, 8192, piece, piece, &r, 8192) != rows[i].verdict)
                fail_msg("not %d: %s", rows[i].verdict, rows[i].start);
        assert_int_equal(parse_pieces(text, 8191, 8191, 1, &r, 8192), HTTP_MORE);
    }
}

static void a_head_in_single_bytes_is_scanned_once(void **state)
{
    struct http_request r = {0};
    char *text = head_of(8192, false);
    for (size_t n = 1; n < 8192; n++) {
        size_t before = r.at;
        assert_int_equal(http_parse(&r, (const uint8_t *)text, n, 8192), HTTP_MORE);
        assert_true(r.at >= before && r.at + 1u >= n);  // all but a CR that may end a line
    }
    assert_int_equal(http_parse(&r, (const uint8_t *)text, 8192, 8192), HTTP_DONE);
    free(text);
}

static void the_scan_finds_each_control_at_each_place(void **state)
{
    for (unsigned b = 0; b < 256; b++) {
        bool control = (b < 32 && b != '\t') || b == 127;
        assert_int_equal(http_is_control((uint8_t)b), control);
        for (size_t len = 1; len <= 50; len++) {
            for (size_t at = 0; at < len; at++) {
                uint8_t text[50];
                memset(text, 'a', sizeof(text));
                text[at] = (uint8_t)b;
                if (http_scan(text, text + len) != text + (control ? at : len))
                    fail_msg("byte %u at %zu of %zu", b, at, len);
            }
        }
    }
}

static void dates_are_those_of_the_c_library(void **state)
{
    static const uint64_t times[] = {0,          59,         86399,      86400,      951782399,
                                     951782400,  784111777,  1709164800, 1709251199, 1735689599,
                                     1735689600, 4102444799, 4107542400, 4294967295, 253402300799};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        char expected[64];
        time_t t = (time_t)times[i];
        strftime(expected, sizeof(expected), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&t));
        assert_int_equal(strlen(expected), HTTP_DATE_BYTES);
        assert_memory_equal(http_date(times[i]), expected, HTTP_DATE_BYTES);
    }
    for (time_t t = 0; t < 4000000000; t += 86400 * 13 + 4567) {
        char expected[64];
        strftime(expected, sizeof(expected), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&t));
        assert_memory_equal(http_date((uint64_t)t), expected, HTTP_DATE_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_head_has_its_verdict_however_it_is_cut),
        cmocka_unit_test(the_head_ends_where_the_next_request_begins),
        cmocka_unit_test(a_connection_stays_as_rfc_9112_section_9_3_says),
        cmocka_unit_test(a_head_may_be_as_long_as_the_limit_and_no_longer),
        cmocka_unit_test(a_method_longer_than_any_known_is_501),
        cmocka_unit_test(a_head_in_single_bytes_is_scanned_once),
        cmocka_unit_test(the_scan_finds_each_control_at_each_place),
        cmocka_unit_test(dates_are_those_of_the_c_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
