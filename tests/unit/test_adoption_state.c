// SPDX-License-Identifier: BSD-3-Clause
// The state with which the memory that outlives a server begins: what another process, or a file
// that is not of a server, may have written there.
#include <string.h>

#include "check.h"
#include "server/adoption_state.h"

static union {
    struct adoption a;
    char bytes[ADOPTION_STATE_BYTES];
} state_;

static int begin(void **state)
{
    (void)state;
    memset(&state_, 0, sizeof(state_));
    memcpy(state_.a.magic, ADOPTION_MAGIC, sizeof(state_.a.magic));
    strcpy(state_.a.layout, "version 1\nblock 256\n");
    shared_u32_store(&state_.a.complete, 1);
    return 0;
}

static const char *differs(const char *layout)
{
    static char line[128];
    return adoption_differs(&state_.a, layout, line);
}

static void the_same_layout_is_adopted(void **state)
{
    (void)state;
    assert_null(differs("version 1\nblock 256\n"));
}

static void the_first_line_that_differs_is_named(void **state)
{
    (void)state;
    assert_string_equal(differs("version 1\nblock 512\n"), "block 512");
    assert_string_equal(differs("version 1\nblock 256\nmore\n"), "more");
    assert_string_equal(differs("version 1\n"), "block 256");
}

static void what_is_not_the_state_of_a_server_that_ran_is_refused(void **state)
{
    (void)state;
    shared_u32_store(&state_.a.complete, 0);
    assert_non_null(strstr(differs(""), "while it started"));
    state_.a.magic[7] = 0;
    assert_non_null(strstr(differs(""), "not the state"));
}

static void a_layout_without_an_end_is_refused(void **state)
{
    (void)state;
    memset(state_.a.layout, 'x', ADOPTION_LAYOUT_BYTES);
    assert_non_null(strstr(differs(""), "no end"));
}

static void the_clock_goes_on_and_never_back(void **state)
{
    (void)state;
    state_.a.epoch_us = 1000;
    state_.a.clock_us = 500;
    assert_int_equal(adoption_clock_at(&state_.a, 2000), 1000);
    assert_int_equal(adoption_clock_at(&state_.a, 1100), 501);
    assert_int_equal(adoption_clock_at(&state_.a, 900), 501);  // before it was 0
    state_.a.epoch_us = UINT64_MAX;
    assert_int_equal(adoption_clock_at(&state_.a, 900), 501);
}

int main(void)
{
#define HERE(test) cmocka_unit_test_setup(test, begin)
    const struct CMUnitTest tests[] = {
        HERE(the_same_layout_is_adopted),
        HERE(the_first_line_that_differs_is_named),
        HERE(what_is_not_the_state_of_a_server_that_ran_is_refused),
        HERE(a_layout_without_an_end_is_refused),
        HERE(the_clock_goes_on_and_never_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
