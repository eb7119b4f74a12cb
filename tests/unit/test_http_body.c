// SPDX-License-Identifier: BSD-3-Clause
// The content of a request: by length and in chunks, every rule, cut at every byte.
#include <stdlib.h>
#include <string.h>

#include "app/http/body.h"
#include "unit/check.h"

#define T(s) s, sizeof(s) - 1

static const struct http_body_limits limits = {100, 60};

struct row {
    const char *text;
    size_t len;
    int verdict;
    const char *content;
};

static const struct row rows[] = {
    {T("0\r\n\r\n"), HTTP_DONE, ""},
    {T("5\r\nhello\r\n0\r\n\r\n"), HTTP_DONE, "hello"},
    {T("2\r\nhe\r\n00003\r\nllo\r\n000\r\n\r\n"), HTTP_DONE, "hello"},
    {T("a\r\n0123456789\r\n0\r\n\r\n"), HTTP_DONE, "0123456789"},
    {T("A\r\n0123456789\r\n0\r\n\r\n"), HTTP_DONE, "0123456789"},
    {T("2\r\n\r\n\r\n0\r\n\r\n"), HTTP_DONE, "\r\n"},
    {T("1;a\r\nx\r\n0;b=c\r\n\r\n"), HTTP_DONE, "x"},
    {T("1;a;b=\"q \\\" ;\t,:\";c=d\r\nx\r\n0\r\n\r\n"), HTTP_DONE, "x"},
    {T("1 ; a = b ;c\r\nx\r\n0\r\n\r\n"), HTTP_DONE, "x"},
    {T("0\r\nA: b\r\nC:\r\n\r\n"), HTTP_DONE, ""},
    {T("0\r\nContent-Length: 5\r\n\r\n"), HTTP_DONE, ""},  // of no effect
    {T("64\r\n"), HTTP_MORE, ""},
    {T("5\r\nhel"), HTTP_MORE, "hel"},
    {T("0\r\n\r"), HTTP_MORE, ""},
    // Sizes.
    {T("\r\n"), 400, ""},
    {T("x\r\n"), 400, ""},
    {T("0x1\r\n"), 400, ""},
    {T("+1\r\n"), 400, ""},
    {T("-1\r\n"), 400, ""},
    {T(" 1\r\n"), 400, ""},
    {T("1 \r\n"), 400, ""},
    {T("1 1\r\n"), 400, ""},
    {T("1_0\r\n"), 400, ""},
    {T("1\0\r\n"), 400, ""},
    {T("65\r\n"), 413, ""},
    {T("ffffffffffffffff1\r\n"), 413, ""},
    {T("10000000000000000\r\n"), 413, ""},
    {T("5\r\nhello\r\n60\r\n"), 413, "hello"},
    // Line ends.
    {T("1\nx\r\n"), 400, ""},
    {T("1\r\rx\r\n"), 400, ""},
    {T("1\r\nx\n"), 400, "x"},
    {T("1\r\nxy\r\n"), 400, "x"},
    {T("1\r\nx0\r\n\r\n"), 400, "x"},
    {T("0\r\n\n"), 400, ""},
    {T("0\n\r\n"), 400, ""},
    {T("0\r\nA: b\n\r\n"), 400, ""},
    // Extensions and trailers.
    {T("1;\r\nx\r\n"), 400, ""},
    {T("1;=\r\nx\r\n"), 400, ""},
    {T("1;a=\r\nx\r\n"), 400, ""},
    {T("1;a \r\nx\r\n"), 400, ""},
    {T("1;a=\"b\r\nx\r\n"), 400, ""},
    {T("1;a=\"\nb\"\r\nx\r\n"), 400, ""},
    {T("1;a b\r\nx\r\n"), 400, ""},
    {T("0\r\n: b\r\n"), 400, ""},
    {T("0\r\nA : b\r\n"), 400, ""},
    {T("0\r\nA\r\n"), 400, ""},
    {T("0\r\nA: b\r\n folded\r\n"), 400, ""},
    {T("0\r\nA: \0\r\n"), 400, ""},
    {T("0\r\nA: "
       "0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n"),
     431, ""},
    {T("1;a=0123456789012345678901234567890123456789012345678901234567890123456789\r\n"), 413, ""},
    // 60 are allowed: from a semicolon on, zeros in front of a size, and all behind the last chunk.
    {T("1;a=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nx\r\n0\r\n\r\n"), HTTP_DONE,
     "x"},
    {T("1;a=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nx\r\n0\r\n\r\n"), 431, "x"},
    {T("1;a=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nx\r\n0\r\n\r\n"), 413,
     "x"},
    {T("1;a=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nx\r\n0\r\n\r\n"), 413,
     ""},
    {T("00000000000000000000000000000000000000000000000000000000000000000000000000"), 413, ""},
};

// Reads `text` in two pieces and returns the verdict; the content goes to got.
static int read_cut(struct http_body b, const char *text, size_t len, size_t cut, char *got,
                    size_t *end)
{
    size_t pieces[] = {cut, len - cut}, at = 0, n = 0;
    int verdict = HTTP_MORE;
    for (unsigned i = 0; i < 2 && verdict == HTTP_MORE; i++) {
        uint8_t *copy = malloc(pieces[i] + 1);
        assert_non_null(copy);
        memcpy(copy, text + at, pieces[i]);
        for (size_t done = 0; verdict == HTTP_MORE && done < pieces[i];) {
            size_t used;
            struct http_text run;
            verdict = http_body_read(&b, &limits, copy + done, pieces[i] - done, &used, &run);
            assert_true(used > 0);
            memcpy(got + n, run.s, run.n);
            n += run.n;
            done += used;
            at += used;
        }
        free(copy);
    }
    got[n] = '\0';
    *end = at;
    return verdict;
}

static void each_chunked_content_has_its_verdict_however_it_is_cut(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_body b;
        http_body_begin(&b, true, 0);
        for (size_t cut = 0; cut <= rows[i].len; cut++) {
            char got[256];
            size_t end;
            int verdict = read_cut(b, rows[i].text, rows[i].len, cut, got, &end);
            if (verdict != rows[i].verdict || strcmp(got, rows[i].content) != 0)
                fail_msg("row %zu cut at %zu: %d, \"%s\":\n%s", i, cut, verdict, got, rows[i].text);
            if (verdict == HTTP_DONE)
                assert_int_equal(end, rows[i].len);
        }
    }
}

static void content_of_known_length_ends_there(void **state)
{
    for (size_t cut = 0; cut <= 7; cut++) {
        struct http_body b;
        char got[256];
        size_t end;
        http_body_begin(&b, false, 5);
        assert_int_equal(read_cut(b, "helloGE", 7, cut, got, &end), HTTP_DONE);
        assert_string_equal(got, "hello");
        assert_int_equal(end, 5);
    }
}

static void many_small_chunks_are_no_extras(void **state)
{
    struct http_body b;
    size_t used;
    struct http_text run;
    http_body_begin(&b, true, 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(http_body_read(&b, &limits, (const uint8_t *)"1\r\nx", 4, &used, &run),
                         HTTP_MORE);
        assert_int_equal(run.n, 1);
        assert_int_equal(http_body_read(&b, &limits, (const uint8_t *)"\r\n", 2, &used, &run),
                         HTTP_MORE);
    }
    assert_int_equal(http_body_read(&b, &limits, (const uint8_t *)"1", 1, &used, &run), 413);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_chunked_content_has_its_verdict_however_it_is_cut),
        cmocka_unit_test(content_of_known_length_ends_there),
        cmocka_unit_test(many_small_chunks_are_no_extras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
