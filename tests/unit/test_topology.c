// SPDX-License-Identifier: BSD-3-Clause
// What a CPU's folder of /sys says, from a made-up one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/topology.h"
#include "tests/unit/check.h"

static char root[64];

static void make_dirs(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    make_dirs(path);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_cache(unsigned cpu, unsigned index, const char *level, const char *type,
                      const char *size, const char *shared)
{
    const char *const file[] = {"level", "type", "size", "shared_cpu_list"};
    const char *const text[] = {level, type, size, shared};
    char name[128];
    for (unsigned i = 0; i < ARRAY_LEN(file); i++) {
        snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index,
                 file[i]);
        put(name, text[i]);
    }
}

static int make_tree(void **state)
{
    (void)state;
    strcpy(root, "/tmp/c10m-topology-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("devices/system/cpu/cpu5/topology/physical_package_id", "1\n");
    put("devices/system/cpu/cpu5/topology/core_id", "2\n");
    put("devices/system/cpu/cpu5/topology/thread_siblings_list", "5,13\n");
    put("devices/system/cpu/cpu5/node1/cpulist", "4-7\n");
    put_cache(5, 0, "1\n", "Data\n", "48K\n", "5,13\n");
    put_cache(5, 1, "1\n", "Instruction\n", "32K\n", "5,13\n");
    put_cache(5, 2, "2\n", "Unified\n", "2048K\n", "5,13\n");
    put_cache(5, 3, "3\n", "Unified\n", "36M\n", "4-7,12-15\n");
    put("devices/system/cpu/cpu6/online", "1\n");
    put("devices/system/cpu/cpu6/topology/thread_siblings_list", "6\n");
    put("devices/system/node/node0/cpulist", "0-3\n");
    put("devices/system/node/node1/cpulist", "4-7\n");
    put("devices/system/node/has_cpu", "0-1\n");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static void a_cpu_is_placed_by_core_node_and_caches(void **state)
{
    (void)state;
    struct cpu_place p;
    assert_true(topology_read(root, 5, &p));
    assert_int_equal(p.cpu, 5);
    assert_int_equal(p.node, 1);
    assert_int_equal(p.package, 1);
    assert_int_equal(p.core, 2);
    assert_string_equal(p.siblings, "5,13");
    assert_true(p.has_siblings);
    assert_int_equal(p.n_caches, 4);
    assert_string_equal(p.caches[3].shared, "4-7,12-15");
}

static void a_level_has_the_size_of_its_data_cache(void **state)
{
    (void)state;
    struct cpu_place p;
    assert_true(topology_read(root, 5, &p));
    assert_int_equal(topology_cache_bytes(&p, 1), 48 << 10);
    assert_int_equal(topology_cache_bytes(&p, 2), 2 << 20);
    assert_int_equal(topology_cache_bytes(&p, 3), 36 << 20);
    assert_int_equal(topology_cache_bytes(&p, 4), 0);
}

static void what_the_kernel_does_not_tell_is_empty(void **state)
{
    (void)state;
    struct cpu_place p;
    assert_true(topology_read(root, 6, &p));
    assert_int_equal(p.node, -1);
    assert_int_equal(p.package, -1);
    assert_int_equal(p.n_caches, 0);
    assert_false(p.has_siblings);
    assert_int_equal(topology_cache_bytes(&p, 1), 0);
}

static void a_cpu_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct cpu_place p;
    assert_false(topology_read(root, 7, &p));
    assert_false(topology_read("/nowhere", 0, &p));
}

static void nodes_are_counted_and_there_is_always_one(void **state)
{
    (void)state;
    assert_int_equal(topology_nodes(root), 2);
    assert_int_equal(topology_nodes("/nowhere"), 1);
}

static void a_list_has_its_cpus(void **state)
{
    (void)state;
    assert_true(topology_list_has("0-3,8\n", 2));
    assert_true(topology_list_has("0-3,8\n", 8));
    assert_false(topology_list_has("0-3,8\n", 4));
    assert_false(topology_list_has("", 0));
    assert_false(topology_list_has("(null)", 0));
    static const char *const bad[] = {"3-1", "1-", "-1", "1,x", "1 2", "1-2-3"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        const char *list = bad[i];
        unsigned long from, to;
        int more;
        while ((more = topology_list_next(&list, &from, &to)) == 1)
            ;
        assert_int_equal(more, -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_is_placed_by_core_node_and_caches),
        cmocka_unit_test(a_level_has_the_size_of_its_data_cache),
        cmocka_unit_test(what_the_kernel_does_not_tell_is_empty),
        cmocka_unit_test(a_cpu_that_is_not_there_is_refused),
        cmocka_unit_test(nodes_are_counted_and_there_is_always_one),
        cmocka_unit_test(a_list_has_its_cpus),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
