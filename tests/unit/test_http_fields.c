// SPDX-License-Identifier: BSD-3-Clause
// The fields that matter now and then: dates, ranges, conditions, codings.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/date.h"
#include "app/http/fields.h"
#include "app/http/range.h"
#include "unit/check.h"

enum { NOW = 1795246434, MODIFIED = 784111777 };  // 2026-11-21, and RFC 9110's 1994-11-06 08:49:37
#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"

static void dates_of_all_three_forms_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t unix_s;  // -1: none
    } rows[] = {
        {DATE, MODIFIED},
        {"Sunday, 06-Nov-94 08:49:37 GMT", MODIFIED},
        {"Sun Nov  6 08:49:37 1994", MODIFIED},
        {"Sun Nov 16 08:49:37 1994", MODIFIED + 10 * 86400},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Tue, 29 Feb 2000 23:59:60 GMT", 951868800},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
        {"Thursday, 21-Nov-75 00:00:00 GMT", 3341520000},  // 2075: 49 years ahead
        {"Thursday, 21-Nov-77 00:00:00 GMT", 248918400},   // 1977: it would be 51
        {"", -1},
        {"Sun", -1},
        {"Sun, 06 Nov 1994 08:49:37", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT ", -1},
        {"Sun, 06 Nov 1994 08:49:37 UTC", -1},
        {"Sun, 6 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 06 nov 1994 08:49:37 GMT", -1},
        {"sun, 06 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 31 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 00 Nov 1994 08:49:37 GMT", -1},
        {"Wed, 29 Feb 2100 08:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 24:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:60:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:49:61 GMT", -1},
        {"Sun, 06 Nov 1969 08:49:37 GMT", -1},
        {"Sun, 06-Nov-94 08:49:37 GMT", -1},
        {"Sunday, 06 Nov 1994 08:49:37 GMT", -1},
        {"1994-11-06T08:49:37Z", -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t unix_s = 0;
        bool good = http_date_parse(rows[i].text, strlen(rows[i].text), NOW, &unix_s);
        if (good != (rows[i].unix_s >= 0) || (good && unix_s != (uint64_t)rows[i].unix_s))
            fail_msg("%s: %d, %llu", rows[i].text, good, (unsigned long long)unix_s);
    }
}

static void each_date_written_is_read_as_the_same(void **state)
{
    for (uint64_t s = 0; s < 8000000000; s += 86400 * 13 + 7919) {
        uint64_t back;
        assert_true(http_date_parse(http_date(s), HTTP_DATE_BYTES, NOW, &back));
        assert_int_equal(back, s);
    }
}

static void ranges_are_what_rfc_9110_section_14_says(void **state)
{
    static const struct {
        const char *value;
        uint32_t size;
        enum http_range_verdict verdict;
        const char *ranges;  // "first+bytes ..."
    } rows[] = {
        {"bytes=0-0", 10, HTTP_RANGE_PARTS, "0+1 "},
        {"bytes=0-9", 10, HTTP_RANGE_PARTS, "0+10 "},
        {"BYTES=2-5", 10, HTTP_RANGE_PARTS, "2+4 "},
        {"bytes=9-", 10, HTTP_RANGE_PARTS, "9+1 "},
        {"bytes=5-1000", 10, HTTP_RANGE_PARTS, "5+5 "},
        {"bytes=5-99999999999999999999999999", 10, HTTP_RANGE_PARTS, "5+5 "},
        {"bytes=-3", 10, HTTP_RANGE_PARTS, "7+3 "},
        {"bytes=-30", 10, HTTP_RANGE_PARTS, "0+10 "},
        {"bytes=0-1,4-5", 10, HTTP_RANGE_PARTS, "0+2 4+2 "},
        {"bytes= 4-5 ,, 0-1 ,", 10, HTTP_RANGE_PARTS, "4+2 0+2 "},
        {"bytes=0-1,20-30", 10, HTTP_RANGE_PARTS, "0+2 "},
        {"bytes=0-5,4-7", 10, HTTP_RANGE_PARTS, "0+6 4+4 "},
        {"bytes=10-", 10, HTTP_RANGE_UNSATISFIED, ""},
        {"bytes=-0", 10, HTTP_RANGE_UNSATISFIED, ""},
        {"bytes=4294967296-", 10, HTTP_RANGE_UNSATISFIED, ""},
        {"bytes=1-4294967296", 10, HTTP_RANGE_PARTS, "1+9 "},
        {"bytes=10-11,99999999999-", 10, HTTP_RANGE_UNSATISFIED, ""},
        {"bytes=0-0", 0, HTTP_RANGE_UNSATISFIED, ""},
        {"bytes=-1", 0, HTTP_RANGE_WHOLE, ""},
        {"bytes=0-9,0-9", 10, HTTP_RANGE_WHOLE, "*"},
        {"bytes=5-4", 10, HTTP_RANGE_WHOLE, "*"},
        {"bytes=0-1,5-4", 10, HTTP_RANGE_WHOLE, "*"},
        {"bytes=", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=,", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=-", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=1", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=a-b", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=0-1-2", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=0 - 1", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes =0-1", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes", 10, HTTP_RANGE_WHOLE, ""},
        {"lines=0-1", 10, HTTP_RANGE_WHOLE, ""},
        {"", 10, HTTP_RANGE_WHOLE, ""},
        {"bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,10-10,11-11,12-12,13-13,14-14,15-15", 20,
         HTTP_RANGE_PARTS, "*"},
        {"bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8,9-9,10-10,11-11,12-12,13-13,14-14,15-15,16-16",
         20, HTTP_RANGE_WHOLE, "*"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_range ranges[HTTP_RANGES_MAX];
        unsigned n;
        char text[512] = "";
        struct http_text value = {(const uint8_t *)rows[i].value, strlen(rows[i].value)};
        enum http_range_verdict verdict = http_ranges(value, rows[i].size, ranges, &n);
        for (unsigned k = 0; k < n; k++)
            sprintf(text + strlen(text), "%u+%u ", ranges[k].first, ranges[k].bytes);
        if (verdict != rows[i].verdict ||
            (rows[i].ranges[0] != '*' && strcmp(text, rows[i].ranges) != 0))
            fail_msg("%s of %u: %d, %s", rows[i].value, rows[i].size, verdict, text);
    }
}

// The fields of a GET with these lines; kept until the next call.
static struct http_text fields_of(const char *lines)
{
    static char head[2048];
    struct http_request r = {0};
    int n = snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
    assert_int_equal(http_parse(&r, (const uint8_t *)head, (size_t)n, 8192), HTTP_DONE);
    return http_fields_of(&r, (const uint8_t *)head);
}

static void conditions_are_judged_in_the_order_of_rfc_9110_section_13_2_2(void **state)
{
    static const struct {
        const char *lines;
        enum http_condition verdict;
    } rows[] = {
        {"", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: \"tag\"\r\n", HTTP_UNCHANGED},
        {"If-None-Match: W/\"tag\"\r\n", HTTP_UNCHANGED},
        {"If-None-Match: *\r\n", HTTP_UNCHANGED},
        {"If-None-Match: \"a,b\" , W/\"x\",\"tag\"\r\n", HTTP_UNCHANGED},
        {"If-None-Match: \"x\"\r\nIF-NONE-MATCH: \"tag\"\r\n", HTTP_UNCHANGED},
        {"If-None-Match: \"\"\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: \"Tag\"\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: \"tag\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: tag\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: w/\"tag\"\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: \"x,\"tag\"\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match:\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Match: \"tag\"\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Match: *\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Match: W/\"tag\"\r\n", HTTP_FAILED},  // strong comparison
        {"If-Match: \"x\"\r\n", HTTP_FAILED},
        {"If-Match: \"tag\"\r\nIf-None-Match: \"tag\"\r\n", HTTP_UNCHANGED},
        {"If-Match: \"x\"\r\nIf-None-Match: \"tag\"\r\n", HTTP_FAILED},
        {"If-Modified-Since: " DATE "\r\n", HTTP_UNCHANGED},
        {"If-Modified-Since: Mon, 07 Nov 1994 08:49:37 GMT\r\n", HTTP_UNCHANGED},
        {"If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Modified-Since: yesterday\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Modified-Since: " DATE "\r\nIf-Modified-Since: " DATE "\r\n", HTTP_CONDITIONS_HOLD},
        {"If-None-Match: \"x\"\r\nIf-Modified-Since: " DATE "\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Unmodified-Since: " DATE "\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", HTTP_FAILED},
        {"If-Unmodified-Since: never\r\n", HTTP_CONDITIONS_HOLD},
        {"If-Match: \"tag\"\r\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n",
         HTTP_CONDITIONS_HOLD},
    };
    const struct http_representation of = {{(const uint8_t *)"\"tag\"", 5}, MODIFIED};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (http_conditions(fields_of(rows[i].lines), &of, NOW) != rows[i].verdict)
            fail_msg("not %d: %s", rows[i].verdict, rows[i].lines);
}

// RFC 9110 section 14.2: many small ranges, and more than two that overlap, are an attack.
static void ranges_that_cost_more_than_the_whole_are_the_whole(void **state)
{
    static const struct {
        const char *value;
        enum http_range_verdict verdict;
    } rows[] = {
        {"bytes=0-9,5-14", HTTP_RANGE_PARTS},
        {"bytes=0-9,0-9", HTTP_RANGE_PARTS},
        {"bytes=0-9,9-18,18-27", HTTP_RANGE_WHOLE},
        {"bytes=0-9,5-14,3-3", HTTP_RANGE_WHOLE},
        {"bytes=0-9,20-29,5-6,25-26", HTTP_RANGE_WHOLE},
        {"bytes=0-0,0-0,0-0", HTTP_RANGE_WHOLE},
        {"bytes=0-9,10-19,20-29,-10", HTTP_RANGE_PARTS},
        {"bytes=0-,0-", HTTP_RANGE_WHOLE},
        {"bytes=-1,999-999,998-", HTTP_RANGE_WHOLE},
        {"bytes=1-1,3-3,5-5,7-7,9-9,11-11,13-13,15-15,17-17,19-19,21-21,23-23,25-25,27-27,29-29,31-"
         "31",
         HTTP_RANGE_PARTS},
        {"bytes=1-1,3-3,5-5,7-7,9-9,11-11,13-13,15-15,17-17,19-19,21-21,23-23,25-25,27-27,29-29,31-"
         "31,33-33",
         HTTP_RANGE_WHOLE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_range ranges[HTTP_RANGES_MAX];
        unsigned n;
        struct http_text value = {(const uint8_t *)rows[i].value, strlen(rows[i].value)};
        if (http_ranges(value, 1000, ranges, &n) != rows[i].verdict)
            fail_msg("%s", rows[i].value);
    }
}

static void if_range_wants_the_same_and_a_strong_validator(void **state)
{
    const struct http_representation of = {{(const uint8_t *)"\"tag\"", 5}, MODIFIED};
    assert_true(http_range_holds(fields_of(""), &of, NOW));
    assert_true(http_range_holds(fields_of("If-Range: \"tag\"\r\n"), &of, NOW));
    assert_true(http_range_holds(fields_of("If-Range: " DATE "\r\n"), &of, NOW));
    assert_false(http_range_holds(fields_of("If-Range: \"tog\"\r\n"), &of, NOW));
    assert_false(http_range_holds(fields_of("If-Range: W/\"tag\"\r\n"), &of, NOW));
    assert_false(http_range_holds(fields_of("If-Range: *\r\n"), &of, NOW));
    assert_false(http_range_holds(fields_of("If-Range:\r\n"), &of, NOW));
    assert_false(
        http_range_holds(fields_of("If-Range: Mon, 07 Nov 1994 08:49:37 GMT\r\n"), &of, NOW));
    assert_false(http_range_holds(fields_of("If-Range: " DATE "\r\n"), &of, MODIFIED + 1));
}

static void gzip_is_chosen_as_the_qualities_say(void **state)
{
    static const struct {
        const char *value;
        bool gzip;
    } rows[] = {
        {"gzip", true},
        {"deflate, GZIP", true},
        {"x-gzip", true},
        {"*", true},
        {"gzip;q=0.5", true},
        {"gzip ; q=1.000", true},
        {"br;q=1.0, gzip;q=0.8, *;q=0.1", true},
        {"identity, gzip", true},
        {"identity;q=0, gzip;q=0.001", true},
        {"*;q=0, gzip", true},
        {"", false},
        {"deflate", false},
        {"gzip;q=0", false},
        {"gzip;q=0.000", false},
        {"*, gzip;q=0", false},
        {"*;q=0", false},
        {"identity, gzip;q=0.5", false},
        {"gzip;q=1.5", false},
        {"gzip;q=x", false},
        {"gzip;q=", false},
        {"gzip;q=0.0001", false},
        {"gzipped", false},
        {"gzip;x=1", false},
        {"gzip;q:1", false},
        {"gzip;q=5", false},
        {"gzip;q=0.:", false},
        {"gzip;q=0.9, identity;q=0.8", true},
        {"gzip;q=0.8, identity;q=0.9", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "Accept-Encoding: %s\r\n", rows[i].value);
        if ((http_prefers(fields_of(line), HTTP_GZIP) == HTTP_GZIP) != rows[i].gzip)
            fail_msg("not %d: %s", rows[i].gzip, rows[i].value);
    }
    assert_int_equal(http_prefers(fields_of("Accept: gzip\r\n"), HTTP_GZIP), HTTP_AS_IS);
    assert_int_equal(http_prefers(fields_of("Accept-Encoding: br\r\nX: y\r\n"
                                            "Accept-Encoding: gzip\r\n"),
                                  HTTP_GZIP),
                     HTTP_GZIP);
}

static void of_two_codings_the_one_with_the_higher_weight_is_chosen(void **state)
{
    static const struct {
        const char *value;
        enum http_packed both, gzip, br;  // where both are offered, and where one is
    } rows[] = {
        {"gzip, br", HTTP_BR, HTTP_GZIP, HTTP_BR},
        {"gzip, deflate, br, zstd", HTTP_BR, HTTP_GZIP, HTTP_BR},
        {"BR", HTTP_BR, HTTP_AS_IS, HTTP_BR},
        {"*", HTTP_BR, HTTP_GZIP, HTTP_BR},
        {"br;q=0.5, gzip", HTTP_GZIP, HTTP_GZIP, HTTP_BR},
        {"br;q=0.5, gzip;q=0.5", HTTP_BR, HTTP_GZIP, HTTP_BR},
        {"br;q=0, *", HTTP_GZIP, HTTP_GZIP, HTTP_AS_IS},
        {"br;q=0.4, gzip;q=0.3, identity;q=0.5", HTTP_AS_IS, HTTP_AS_IS, HTTP_AS_IS},
        {"br;q=0.4, gzip;q=0.6, identity;q=0.5", HTTP_GZIP, HTTP_GZIP, HTTP_AS_IS},
        {"brotli, brr, b r", HTTP_AS_IS, HTTP_AS_IS, HTTP_AS_IS},
        {"br;q=2", HTTP_AS_IS, HTTP_AS_IS, HTTP_AS_IS},
        {"", HTTP_AS_IS, HTTP_AS_IS, HTTP_AS_IS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "Accept-Encoding: %s\r\n", rows[i].value);
        if (http_prefers(fields_of(line), HTTP_GZIP | HTTP_BR) != rows[i].both ||
            http_prefers(fields_of(line), HTTP_GZIP) != rows[i].gzip ||
            http_prefers(fields_of(line), HTTP_BR) != rows[i].br ||
            http_prefers(fields_of(line), 0) != HTTP_AS_IS)
            fail_msg("%s", rows[i].value);
    }
}

static void lengths_do_not_overflow(void **state)
{
    assert_int_equal(http_content_length(fields_of("Content-Length: 007\r\n")), 7);
    assert_true(http_content_length(fields_of("Content-Length: 18446744073709551615\r\n")) ==
                UINT64_MAX);
    assert_true(http_content_length(fields_of("Content-Length: 18446744073709551617\r\n")) ==
                UINT64_MAX);
    assert_true(http_content_length(fields_of(
                    "Content-Length: 99999999999999999999999999999999\r\n")) == UINT64_MAX);
}

static void only_100_continue_can_be_expected(void **state)
{
    assert_true(http_expects_continue(fields_of("Expect: 100-Continue\r\n")));
    assert_false(http_expects_continue(fields_of("Expect: 100-continue, x\r\n")));
    assert_false(http_expects_continue(fields_of("Expect: 100-continue\r\nExpect: x\r\n")));
    assert_false(http_expects_continue(fields_of("Expect: 200-ok\r\n")));
    assert_false(http_expects_continue(fields_of("Expect:\r\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_of_all_three_forms_are_read),
        cmocka_unit_test(each_date_written_is_read_as_the_same),
        cmocka_unit_test(ranges_are_what_rfc_9110_section_14_says),
        cmocka_unit_test(conditions_are_judged_in_the_order_of_rfc_9110_section_13_2_2),
        cmocka_unit_test(ranges_that_cost_more_than_the_whole_are_the_whole),
        cmocka_unit_test(if_range_wants_the_same_and_a_strong_validator),
        cmocka_unit_test(gzip_is_chosen_as_the_qualities_say),
        cmocka_unit_test(of_two_codings_the_one_with_the_higher_weight_is_chosen),
        cmocka_unit_test(lengths_do_not_overflow),
        cmocka_unit_test(only_100_continue_can_be_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
