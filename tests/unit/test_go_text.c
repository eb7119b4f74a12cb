// SPDX-License-Identifier: BSD-3-Clause
// From the JSON of the benchmarks to Go's benchmark format.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/go_text.h"
#include "bench/go_unit.h"
#include "unit/check.h"

static void becomes(const char *json, const char *lines)
{
    struct text out;
    text_init(&out, GO_TEXT_BYTES_MAX);
    assert_int_equal(go_text(json, "echo", 2, &out), 0);
    assert_string_equal(text_str(&out), lines);
    text_free(&out);
}

static void a_row_of_an_array_is_a_line(void **state)
{
    becomes("{\"bench\":\"echo\",\"batch\":64,\"rows\":[{\"connections\":1000,\"ratio\":0.5},"
            "{\"connections\":2000,\"ratio\":0.25,\"held\":true}]}\n",
            "BenchmarkEcho/connections=1000-2\t1\t0.5 ratio\n"
            "BenchmarkEcho/connections=2000-2\t1\t0.25 ratio\n");
}

static void an_object_without_arrays_is_a_line(void **state)
{
    becomes("{\"bench\":\"hop\",\"cpu\":0,\"tsc_hz\":24,\"round_trip_cycles\":{\"median\":110.5},"
            "\"round_trip_ns\":45}",
            "BenchmarkEcho-2\t1\t110.5 round-trip-median-cycles\t45 round-trip-ns\n");
}

static void arrays_of_other_names_are_in_the_name_of_the_line(void **state)
{
    becomes(
        "{\"pages\":[{\"page_bytes\":4096,\"transparent\":false,\"random_ns\":1}],\"curve\":[]}",
        "BenchmarkEcho/pages/page_bytes=4096/transparent=false-2\t1\t1 random-ns\n");
}

static void costs_in_ns_are_lines_of_their_own(void **state)
{
    becomes("{\"ns\":{\"l1\":1.25,\"hop\":null}}", "BenchmarkEcho/l1-2\t1\t1.25 ns/op\n");
}

static void what_follows_from_other_numbers_is_left_out(void **state)
{
    becomes("{\"budget\":[{\"a\":[1,{\"b\":\"]}\"}]}],\"x_us\":2}", "BenchmarkEcho-2\t1\t2 x-us\n");
}

static void rates_are_better_when_they_are_higher(void **state)
{
    becomes("{\"mpps\":1.5,\"gb_per_s\":3,\"requests_per_s\":7,\"cycles_per_packet\":9}",
            "Unit packets/s better=higher\nUnit GB/s better=higher\nUnit requests/s better=higher\n"
            "BenchmarkEcho-2\t1\t1500000 packets/s\t3 GB/s\t7 requests/s\t9 cycles/packet\n");
}

static void what_is_no_result_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[",
        "{",
        "{\"a\"}",
        "{\"a\":1",
        "{\"a\":1}}",
        "{\"a\":[1]}",
        "{\"a\":{\"b\":1}",
        "{\"a\":\"x}",
        "{\"budget\":[",
        "{\"budget\":\"",
        "{\"a\\\":1}",
        "warning: {}",
        "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct text out;
        text_init(&out, GO_TEXT_BYTES_MAX);
        assert_int_equal(go_text(bad[i], "echo", 2, &out), -1);
        assert_int_equal(out.len, 0);
        text_free(&out);
    }
}

static void long_names_and_texts_are_refused(void **state)
{
    char json[4096] = "{\"";
    struct text out;
    memset(json + 2, 'a', 3000);
    strcpy(json + 3002, "\":1}");
    text_init(&out, GO_TEXT_BYTES_MAX);
    assert_int_equal(go_text(json, "echo", 2, &out), -1);
    strcpy(json + 2 + 60, "\":1}");
    assert_int_equal(go_text(json, "echo", 2, &out), 0);
    text_free(&out);
    text_init(&out, 10);
    assert_int_equal(go_text(json, "echo", 2, &out), -1);
    text_free(&out);
}

static void units_follow_from_names(void **state)
{
    static const struct {
        const char *parent, *key, *unit;
        double factor;
    } cases[] = {
        {NULL, "cycles_per_packet", "cycles/packet", 1},
        {NULL, "median_cycles_per_packet", "median-cycles/packet", 1},
        {NULL, "server_mpps", "server-packets/s", 1e6},
        {NULL, "one_core_pps", "one-core-packets/s", 1},
        {"client_us", "p99_9", "client-p99-9-us", 1},
        {"stages", "rx", "stages-rx", 1},
        {NULL, "lost", "lost", 1},
        {NULL, "ns", "ns/op", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char unit[GO_UNIT_MAX];
        double factor;
        assert_true(go_unit(cases[i].parent, cases[i].key, unit, &factor));
        assert_string_equal(unit, cases[i].unit);
        assert_true(factor == cases[i].factor);
    }
}

static int status_seen;

static int prints_json(int argc, char **argv)
{
    assert_string_equal(argv[argc - 1], "--json");
    printf("{\"x_ns\":1}\n");
    return status_seen;
}

static void a_benchmark_that_fails_prints_no_result(void **state)
{
    char name[] = "echo", seconds[] = "--seconds", go[] = "--go";
    char *argv[] = {name, seconds, go, NULL};
    assert_true(go_text_wanted(3, argv));
    status_seen = 1;
    assert_int_equal(go_text_run(3, argv, prints_json), 1);
    assert_false(go_text_wanted(3, argv));
    status_seen = 0;
    assert_int_equal(go_text_run(3, argv, prints_json), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_an_array_is_a_line),
        cmocka_unit_test(an_object_without_arrays_is_a_line),
        cmocka_unit_test(arrays_of_other_names_are_in_the_name_of_the_line),
        cmocka_unit_test(costs_in_ns_are_lines_of_their_own),
        cmocka_unit_test(what_follows_from_other_numbers_is_left_out),
        cmocka_unit_test(rates_are_better_when_they_are_higher),
        cmocka_unit_test(what_is_no_result_is_refused),
        cmocka_unit_test(long_names_and_texts_are_refused),
        cmocka_unit_test(units_follow_from_names),
        cmocka_unit_test(a_benchmark_that_fails_prints_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
