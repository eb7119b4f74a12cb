// SPDX-License-Identifier: BSD-3-Clause
// The load generator's histogram against sorted values.
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "load/load_histogram.h"
#include "tests/unit/check.h"
#include "tests/unit/seed.h"

enum { VALUES = 20000 };

static struct load_histogram h;
static uint64_t values[VALUES];

static int setup(void **state)
{
    (void)state;
    memset(&h, 0, sizeof(h));
    return 0;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void every_part_is_what_the_sorted_values_say_to_three_digits(void **state)
{
    (void)state;
    static const double parts[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999};
    struct rng rng = test_rng("hdr");
    for (unsigned bits = 4; bits <= 36; bits += 4) {
        setup(NULL);
        for (uint32_t i = 0; i < VALUES; i++) {
            const unsigned mine = 1 + rng_below(&rng, bits);  // all sizes alike
            values[i] = rng_u64(&rng) & ((UINT64_C(1) << mine) - 1);
            load_histogram_add(&h, values[i]);
        }
        qsort(values, VALUES, sizeof(values[0]), by_size);
        for (unsigned k = 0; k < ARRAY_LEN(parts); k++) {
            const double at = parts[k] * VALUES;
            const uint32_t rank = (uint32_t)at + ((uint32_t)at < at);
            const uint64_t exact = values[rank == 0 ? 0 : rank - 1];
            const uint64_t told = load_histogram_ns(&h, parts[k]);
            assert_in_range(told, exact, exact + exact / 1024);
        }
        assert_int_equal(load_histogram_ns(&h, 1), values[VALUES - 1]);
    }
}

static void the_largest_and_the_mean_are_exact(void **state)
{
    (void)state;
    load_histogram_add(&h, 1000001);
    load_histogram_add(&h, 2000006);
    assert_int_equal(load_histogram_ns(&h, 1), 2000006);
    assert_int_equal(load_histogram_ns(&h, 0.9999), 2000006);  // not the end of its bucket
    assert_true(load_histogram_mean_ns(&h) == 1500003.5);
}

static void an_empty_histogram_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(load_histogram_ns(&h, 0), 0);
    assert_int_equal(load_histogram_ns(&h, 0.5), 0);
    assert_int_equal(load_histogram_ns(&h, 1), 0);
    assert_true(load_histogram_mean_ns(&h) == 0);
}

static void buckets_follow_each_other_without_a_hole(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (uint64_t v = 1; v < 1 << 14; v++) {
        const uint32_t b = load_histogram_bucket(v);
        assert_in_range(b, last, last + 1);
        assert_true(v >= 2048 || b == v);
        last = b;
    }
    for (unsigned bit = 11; bit <= LOAD_HISTOGRAM_TOP_BIT; bit++)
        assert_int_equal(load_histogram_bucket(UINT64_C(1) << bit),
                         load_histogram_bucket((UINT64_C(1) << bit) - 1) + 1);
}

static void what_is_longer_than_two_minutes_counts_in_the_last_bucket(void **state)
{
    (void)state;
    const uint64_t end = UINT64_C(2) << LOAD_HISTOGRAM_TOP_BIT;
    assert_int_equal(load_histogram_bucket(end - 1), LOAD_HISTOGRAM_BUCKETS - 1);
    assert_int_equal(load_histogram_bucket(end), LOAD_HISTOGRAM_BUCKETS - 1);
    assert_int_equal(load_histogram_bucket(UINT64_MAX), LOAD_HISTOGRAM_BUCKETS - 1);
    load_histogram_add(&h, 3 * end);
    assert_int_equal(load_histogram_ns(&h, 0.5), end - 1);
    assert_int_equal(load_histogram_ns(&h, 1), 3 * end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_part_is_what_the_sorted_values_say_to_three_digits, setup),
        cmocka_unit_test_setup(the_largest_and_the_mean_are_exact, setup),
        cmocka_unit_test_setup(an_empty_histogram_says_nothing, setup),
        cmocka_unit_test_setup(buckets_follow_each_other_without_a_hole, setup),
        cmocka_unit_test_setup(what_is_longer_than_two_minutes_counts_in_the_last_bucket, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
