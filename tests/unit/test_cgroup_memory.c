// SPDX-License-Identifier: BSD-3-Clause
// What control groups leave of the machine's memory, on planted files.
#include <stdio.h>
#include <string.h>

#include "mem/cgroup_memory.h"
#include "unit/check.h"
#include "unit/temp_tree.h"

enum { TOTAL = 8000000, AVAILABLE = 6000000, LINUX = 1000000 };

static char root[TEMP_PATH_BYTES], proc[TEMP_PATH_BYTES + 8], groups[TEMP_PATH_BYTES + 8];

static const struct temp_entry entries[] = {
    {"proc/", NULL, NULL},
    {"proc/self/", NULL, NULL},
    {"groups/", NULL, NULL},
    {"groups/system.slice/", NULL, NULL},
    {"groups/system.slice/c10m.service/", NULL, NULL},
};

static int begin(void **state)
{
    (void)state;
    temp_tree_make(root, entries, ARRAY_LEN(entries));
    snprintf(proc, sizeof(proc), "%s/proc", root);
    snprintf(groups, sizeof(groups), "%s/groups", root);
    return 0;
}

static int end(void **state)
{
    (void)state;
    temp_tree_remove(root);
    return 0;
}

static void put(const char *path, const char *text)
{
    temp_tree_file(root, path, text, strlen(text));
}

static void is_in(const char *group)
{
    char text[1200];
    snprintf(text, sizeof(text), "4:memory:/other\n0::%s\n", group);
    put("proc/self/cgroup", text);
}

static struct memory_4k bound(void)
{
    struct memory_4k m = {TOTAL, AVAILABLE, LINUX};
    cgroup_memory_bound(&m, proc, groups);
    return m;
}

static void assert_unbound(void)
{
    const struct memory_4k m = bound();
    assert_int_equal(m.total_bytes, TOTAL);
    assert_int_equal(m.available_bytes, AVAILABLE);
    assert_int_equal(m.linux_bytes, LINUX);
}

static void the_own_group_bounds(void **state)
{
    (void)state;
    is_in("/system.slice/c10m.service");
    put("groups/system.slice/c10m.service/memory.max", "2000000\n");
    put("groups/system.slice/c10m.service/memory.current", "500000\n");
    const struct memory_4k m = bound();
    assert_int_equal(m.total_bytes, 2000000);
    assert_int_equal(m.available_bytes, 1500000);
    assert_int_equal(m.linux_bytes, LINUX);
}

static void each_group_above_bounds_too(void **state)
{
    (void)state;
    is_in("/system.slice/c10m.service");
    put("groups/system.slice/c10m.service/memory.max", "max\n");
    put("groups/system.slice/c10m.service/memory.current", "500000\n");
    put("groups/system.slice/memory.max", "3000000\n");
    put("groups/system.slice/memory.current", "2900000\n");
    struct memory_4k m = bound();
    assert_int_equal(m.total_bytes, 3000000);
    assert_int_equal(m.available_bytes, 100000);
    assert_int_equal(m.linux_bytes, 100000);
    put("groups/memory.max", "2500000\n");  // the root of a container
    put("groups/memory.current", "2450000\n");
    m = bound();
    assert_int_equal(m.total_bytes, 2500000);
    assert_int_equal(m.available_bytes, 50000);
}

// The files that the server has read are in its group's page cache.
static void what_the_kernel_drops_is_available(void **state)
{
    (void)state;
    is_in("/system.slice/c10m.service");
    put("groups/system.slice/c10m.service/memory.max", "2000000\n");
    put("groups/system.slice/c10m.service/memory.current", "1900000\n");
    put("groups/system.slice/c10m.service/memory.stat",
        "anon 100000\nfile 1800000\nshmem 300000\ninactive_anon 1\nactive_anon 2\n"
        "inactive_file 1400000\nactive_file 100000\n");
    assert_int_equal(bound().available_bytes, 1500000);
    put("groups/system.slice/c10m.service/memory.current", "1000\n");  // counted at another moment
    assert_int_equal(bound().available_bytes, 2000000);
}

static void a_group_that_is_over_its_limit_leaves_nothing(void **state)
{
    (void)state;
    is_in("/system.slice/c10m.service");
    put("groups/system.slice/c10m.service/memory.max", "2000000\n");
    put("groups/system.slice/c10m.service/memory.current", "2000001\n");
    assert_int_equal(bound().available_bytes, 0);
    put("groups/system.slice/c10m.service/memory.max", "0\n");
    assert_int_equal(bound().total_bytes, 0);
}

static void without_a_limit_nothing_changes(void **state)
{
    (void)state;
    assert_unbound();  // no file at all
    is_in("/");
    assert_unbound();
    is_in("/system.slice/c10m.service");
    assert_unbound();  // no memory controller
    put("groups/system.slice/c10m.service/memory.max", "max\n");
    put("groups/system.slice/c10m.service/memory.current", "7000000\n");
    assert_unbound();
    put("proc/self/cgroup", "4:memory:/system.slice\n");  // version 1
    put("groups/system.slice/memory.max", "1000\n");
    assert_unbound();
}

// In a namespace whose root is not above the process only what is mounted is known.
static void a_group_outside_has_the_limit_of_the_root(void **state)
{
    (void)state;
    put("groups/memory.max", "2500000\n");
    put("groups/memory.current", "0\n");
    is_in("/../../etc");
    assert_int_equal(bound().total_bytes, 2500000);
    is_in("/of/another/machine");
    assert_int_equal(bound().total_bytes, 2500000);
    char far[1101] = "/";
    memset(far + 1, 'x', sizeof(far) - 2);
    is_in(far);
    assert_int_equal(bound().total_bytes, 2500000);
}

int main(void)
{
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HERE(the_own_group_bounds),
        HERE(each_group_above_bounds_too),
        HERE(what_the_kernel_drops_is_available),
        HERE(a_group_that_is_over_its_limit_leaves_nothing),
        HERE(without_a_limit_nothing_changes),
        HERE(a_group_outside_has_the_limit_of_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
