// The parts of the benchmarks whose answers are known beforehand.
#include <stdlib.h>
#include <string.h>

#include "bench/chase.h"
#include "bench/costs.h"
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
    assert_true(cost_switch_cycles(1023, true) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_one_cycle_through_every_node),
        cmocka_unit_test(a_walk_goes_on_where_the_last_one_ended),
        cmocka_unit_test(the_budget_is_time_over_cost),
        cmocka_unit_test(threads_on_a_cpu_that_is_not_there_are_no_measurement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
