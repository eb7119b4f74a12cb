// SPDX-License-Identifier: BSD-3-Clause
// When requests of an open loop are due, and what they count from.
#include "load/load_schedule.h"
#include "tests/unit/check.h"

#define MS UINT64_C(1000000)

static struct load_schedule d;

static void requests_are_due_at_fixed_times(void **state)
{
    (void)state;
    load_schedule_begin(&d, 1000, 5 * MS);
    assert_int_equal(load_schedule_backlog(&d, 5 * MS), 1);
    assert_int_equal(load_schedule_take(&d), 5 * MS);
    assert_int_equal(load_schedule_backlog(&d, 6 * MS - 1), 0);
    assert_int_equal(load_schedule_backlog(&d, 6 * MS), 1);
    assert_int_equal(load_schedule_take(&d), 6 * MS);
    assert_int_equal(d.late, 0);
}

static void a_rate_that_divides_nothing_is_kept_for_a_day(void **state)
{
    (void)state;
    const uint64_t day_ns = 86400 * 1000 * MS;
    load_schedule_begin(&d, 3000001, 7);
    assert_int_equal(load_schedule_backlog(&d, 7 + day_ns), UINT64_C(86400) * 3000001 + 1);
    assert_int_equal(load_schedule_backlog(&d, 7 + day_ns + 333), UINT64_C(86400) * 3000001 + 1);
    assert_int_equal(load_schedule_backlog(&d, 7 + day_ns + 334), UINT64_C(86400) * 3000001 + 2);
}

static void what_waits_for_the_server_counts_from_its_due_time(void **state)
{
    (void)state;
    load_schedule_begin(&d, 1000, 0);
    for (uint64_t us = 0; us <= 100000; us += 10)  // turns are punctual; nothing can be started
        load_schedule_backlog(&d, us * 1000);
    assert_int_equal(load_schedule_backlog(&d, 100 * MS), 101);
    for (uint64_t k = 0; k <= 100; k++)
        assert_int_equal(load_schedule_take(&d), k * MS);
    assert_int_equal(d.late, 0);
}

static void where_the_client_was_late_it_counts_from_then_and_is_counted(void **state)
{
    (void)state;
    load_schedule_begin(&d, 1000, 0);
    load_schedule_backlog(&d, 0);
    load_schedule_backlog(&d, MS);
    assert_int_equal(load_schedule_backlog(&d, 5 * MS + 10000), 6);  // 2, 3, 4 late, 5 by 10 us
    assert_int_equal(load_schedule_backlog(&d, 6 * MS), 7);
    assert_int_equal(d.late, 3);
    assert_int_equal(d.late_max_ns, 3 * MS + 10000);
    static const uint64_t want[] = {0, MS, 5010000, 5010000, 5010000, 5010000, 6 * MS};
    for (unsigned k = 0; k < ARRAY_LEN(want); k++)
        assert_int_equal(load_schedule_take(&d), want[k]);
}

static void more_late_turns_than_are_kept_never_count_from_too_early(void **state)
{
    (void)state;
    enum { TURNS = 3 * LOAD_SCHEDULE_TURNS_MAX };
    load_schedule_begin(&d, 1000000, 0);
    load_schedule_backlog(&d, 0);
    for (uint64_t t = 1; t <= TURNS; t++)
        load_schedule_backlog(&d, t * MS);
    assert_int_equal(load_schedule_take(&d), 0);
    uint64_t last = 0;
    for (uint64_t k = 1; k <= TURNS * 1000; k++) {
        const uint64_t from_ns = load_schedule_take(&d), turn_ns = (k + 999) / 1000 * MS;
        assert_true(from_ns >= turn_ns && from_ns >= last && from_ns <= TURNS * MS);
        last = from_ns;
    }
    assert_int_equal(d.n <= 1, true);
}

static void what_was_due_for_too_long_is_skipped_once(void **state)
{
    (void)state;
    load_schedule_begin(&d, 1000, 0);
    for (uint64_t ms = 0; ms <= 100; ms++)
        load_schedule_backlog(&d, ms * MS);
    assert_int_equal(load_schedule_skip(&d, 100 * MS, 200), 0);
    assert_int_equal(load_schedule_skip(&d, 100 * MS, 100), 0);
    assert_int_equal(load_schedule_skip(&d, 100 * MS, 40), 60);  // 0 to 59; 60 is due for 40 ms
    assert_int_equal(load_schedule_skip(&d, 100 * MS, 40), 0);
    assert_int_equal(load_schedule_take(&d), 60 * MS);
    assert_int_equal(load_schedule_backlog(&d, 100 * MS), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_due_at_fixed_times),
        cmocka_unit_test(a_rate_that_divides_nothing_is_kept_for_a_day),
        cmocka_unit_test(what_waits_for_the_server_counts_from_its_due_time),
        cmocka_unit_test(where_the_client_was_late_it_counts_from_then_and_is_counted),
        cmocka_unit_test(more_late_turns_than_are_kept_never_count_from_too_early),
        cmocka_unit_test(what_was_due_for_too_long_is_skipped_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
