// SPDX-License-Identifier: BSD-3-Clause
// The parts of the benchmarks whose answers are known beforehand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/chase.h"
#include "bench/costs.h"
#include "bench/micro_print.h"
#include "bench/subprocess.h"
#include "bench/svg.h"
#include "tests/unit/check.h"

// Follows the chain once around; how many different nodes it met, each once.
static uint32_t nodes_met(const struct chase *c, uint8_t *seen)
{
    memset(seen, 0, c->n);
    uint32_t met = 0;
    const uint8_t *at = c->next;
    do {
        const uint64_t number = *(const uint64_t *)(const void *)(at + sizeof(void *));
        assert_in_range(number, 0, c->n - 1);
        assert_int_equal(seen[number]++, 0);
        met++;
        at = *(const uint8_t *const *)(const void *)at;
    } while (at != c->next);
    return met;
}

static void a_chain_is_one_cycle_through_every_node(void **state)
{
    (void)state;
    static const size_t strides[] = {CACHE_LINE, 4096, 192};
    enum { N = 500 };
    struct rng rng = {7};
    uint8_t *mem = aligned_alloc(4096, ALIGN_UP((size_t)N * 4096, 4096)), *seen = malloc(N);
    assert_non_null(mem);
    assert_non_null(seen);
    for (unsigned i = 0; i < ARRAY_LEN(strides); i++) {
        struct chase c;
        chase_init(&c, mem, N, strides[i], &rng);
        assert_int_equal(nodes_met(&c, seen), N);
        chase_init(&c, mem, 1, strides[i], &rng);
        assert_int_equal(nodes_met(&c, seen), 1);
    }
    free(seen);
    free(mem);
}

static void a_walk_goes_on_where_the_last_one_ended(void **state)
{
    (void)state;
    enum { N = 16 };
    struct rng rng = {7};
    struct chase c;
    uint8_t *mem = aligned_alloc(CACHE_LINE, N * CACHE_LINE);
    assert_non_null(mem);
    chase_init(&c, mem, N, CACHE_LINE, &rng);
    const uint8_t *first = c.next;
    assert_true(chase_cycles(&c, 8) > 0);
    assert_ptr_not_equal(c.next, first);
    assert_true(chase_cycles(&c, 8) > 0);
    assert_ptr_equal(c.next, first);
    free(mem);
}

static void the_budget_is_time_over_cost(void **state)
{
    (void)state;
    struct machine_costs c = {.tsc_hz = 2e9};
    c.ns[COST_DRAM] = 125;
    struct text t;
    text_init(&t, 1 << 16);
    costs_budget_json(&c, &t);
    assert_string_equal(text_str(&t),
                        "[{\"packets_per_s\":1000000,\"cycles\":2000.0,\"dram\":8.00},"
                        "{\"packets_per_s\":10000000,\"cycles\":200.0,\"dram\":0.80}]");
    text_free(&t);
    costs_budget(&c, &t);
    assert_non_null(strstr(text_str(&t), "125.00         8.0         0.8\n"));
    assert_null(strstr(text_str(&t), "system call"));  // was not measured
    text_free(&t);
}

static void threads_on_a_cpu_that_is_not_there_are_no_measurement(void **state)
{
    (void)state;
    assert_true(cost_hop_cycles(0, 1023, true) < 0);
    assert_true(cost_hop_cycles(1023, 0, true) < 0);
    double trip;
    assert_false(cost_line_trips(0, 1023, &trip, 1));
    assert_true(cost_switch_cycles(1023, true) < 0);
}

static void gos_text_has_what_benchstat_reads(void **state)
{
    (void)state;
    static const struct micro flow = {.name = "FlowFind"},
                              sum = {.name = "Checksum", .bytes = true};
    static struct micro_result r = {.m = &flow, .size = 10000000, .counted = true};
    const struct micro_row row = {.ops = 640000, .ns = 31.4159, .bytes = 24, .allocations = 2};
    char line[256], fields[5][32];
    micro_go_line(line, sizeof(line), &r, &row);
    assert_string_equal(line, "BenchmarkFlowFind/10M-1 \t   640000\t      31.416 ns/op\t"
                              "      24 B/op\t       2 allocs/op");
    r = (struct micro_result){.m = &sum, .size = 1460};
    micro_go_line(line, sizeof(line), &r, &row);  // nobody counted: nothing is claimed
    assert_int_equal(sscanf(line, "%31s %31s %31s %31s %31s", fields[0], fields[1], fields[2],
                            fields[3], fields[4]),
                     4);
    assert_string_equal(fields[0], "BenchmarkChecksum/1460B-1");
    assert_string_equal(fields[3], "ns/op");
}

static void sizes_are_named_shortly(void **state)
{
    (void)state;
    static const struct micro m = {.name = "X"};
    const struct {
        uint32_t size;
        const char *label;
    } rows[] = {{1, "X/1"}, {999, "X/999"}, {1000, "X/1k"}, {1500, "X/1500"}, {2000000, "X/2M"}};
    char label[MICRO_LABEL_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        micro_label(label, &m, rows[i].size);
        assert_string_equal(label, rows[i].label);
    }
}

static void an_allocation_is_counted(void **state)
{
    (void)state;
    if (bench_allocations == NULL)
        skip();
    uint64_t calls[2], bytes[2];
    bench_allocations(&calls[0], &bytes[0]);
    void *volatile p = malloc(1000);
    p = realloc(p, 3000);
    free(p);
    p = aligned_alloc(64, 640);
    free(p);
    bench_allocations(&calls[1], &bytes[1]);
    assert_int_equal(calls[1] - calls[0], 3);
    assert_int_equal(bytes[1] - bytes[0], 4640);
}

struct child_task {
    int what;
};

static int in_child(const void *arg, void *result, struct err *err)
{
    const struct child_task *t = arg;
    *(uint32_t *)result = 0xc10a;
    if (t->what == 2)
        abort();
    return t->what == 1 ? err_set(err, "no such thing") : 0;
}

static void a_child_gives_its_result_or_its_reason(void **state)
{
    (void)state;
    uint32_t result = 0;
    struct err err;
    struct child_task t = {0};
    assert_int_equal(bench_subprocess(in_child, &t, &result, sizeof(result), &err), 0);
    assert_int_equal(result, 0xc10a);
    t.what = 1;
    assert_int_equal(bench_subprocess(in_child, &t, &result, sizeof(result), &err), -1);
    assert_string_equal(err.text, "no such thing");
    t.what = 2;
    assert_int_equal(bench_subprocess(in_child, &t, &result, sizeof(result), &err), -1);
    assert_string_equal(err.text, "ended by signal 6");
}

static unsigned times(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static void a_plot_has_a_line_and_a_name_for_each_series(void **state)
{
    (void)state;
    static struct svg_plot p = {
        .title = "a < b & c", .x_label = "connections", .y_label = "cycles", .n = 2};
    struct text t;
    p.series[0] =
        (struct svg_series){.name = "one", .n = 3, .x = {1000, 1e5, 1e7}, .y = {100, 150, 300}};
    p.series[1] = (struct svg_series){.name = "none"};
    text_init(&t, 1 << 20);
    svg_render(&p, &t);
    const char *s = text_str(&t);
    assert_int_equal(times(s, "<svg "), 1);
    assert_int_equal(times(s, "</svg>"), 1);
    assert_int_equal(times(s, "<polyline "), 1);  // no points, no line
    assert_int_equal(times(s, "<circle "), 3);
    assert_int_equal(times(s, ">one</text>"), 1);
    assert_int_equal(times(s, ">none</text>"), 1);
    assert_non_null(strstr(s, "a &lt; b &amp; c"));
    assert_non_null(strstr(s, ">1k</text>"));
    assert_non_null(strstr(s, ">10M</text>"));
    assert_non_null(strstr(s, ">300</text>"));
    // The first point at the lower left, at a third of the height; the last one at the upper right.
    assert_non_null(strstr(s, "points=\"70.0,293.3 370.0,230.0 670.0,40.0\""));
    text_free(&t);
}

static void a_plot_of_nothing_has_its_axes(void **state)
{
    (void)state;
    static const struct svg_plot p = {.title = "t", .x_label = "x", .y_label = "y"};
    struct text t;
    text_init(&t, 1 << 20);
    svg_render(&p, &t);
    assert_non_null(strstr(text_str(&t), "</svg>"));
    assert_null(strstr(text_str(&t), "nan"));
    assert_null(strstr(text_str(&t), "inf"));
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_one_cycle_through_every_node),
        cmocka_unit_test(a_walk_goes_on_where_the_last_one_ended),
        cmocka_unit_test(the_budget_is_time_over_cost),
        cmocka_unit_test(gos_text_has_what_benchstat_reads),
        cmocka_unit_test(sizes_are_named_shortly),
        cmocka_unit_test(an_allocation_is_counted),
        cmocka_unit_test(a_child_gives_its_result_or_its_reason),
        cmocka_unit_test(a_plot_has_a_line_and_a_name_for_each_series),
        cmocka_unit_test(a_plot_of_nothing_has_its_axes),
        cmocka_unit_test(threads_on_a_cpu_that_is_not_there_are_no_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
