// SPDX-License-Identifier: BSD-3-Clause
// `c10m plan`: how many connections a memory holds, and what a made-up machine's cores are.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/cli/cmd_plan.h"
#include "server/server_fit.h"
#include "server/server_memory.h"
#include "tests/unit/check.h"

#define GIB ((uint64_t)1 << 30)

static char root[64];

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_cpu(unsigned cpu, unsigned core, unsigned node, const char *siblings)
{
    char name[128], text[16];
    const unsigned values[] = {core, node};
    const char *const files[] = {"core_id", "physical_package_id"};
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology/%s", cpu, files[i]);
        snprintf(text, sizeof(text), "%u\n", values[i]);
        put(name, text);
    }
    snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    put(name, siblings);
    snprintf(name, sizeof(name), "devices/system/cpu/cpu%u/node%u/x", cpu, node);
    put(name, "");
}

// Two nodes of two cores of two threads; a NIC on the second node; 8 GiB of which 7 are free.
static int make_machine(void **state)
{
    (void)state;
    strcpy(root, "/tmp/c10m-plan-XXXXXX");
    assert_non_null(mkdtemp(root));
    put_cpu(0, 0, 0, "0,4\n");
    put_cpu(1, 1, 0, "1,5\n");
    put_cpu(2, 2, 1, "2,6\n");
    put_cpu(3, 3, 1, "3,7\n");
    put_cpu(4, 0, 0, "0,4\n");
    put_cpu(5, 1, 0, "1,5\n");
    put("devices/system/cpu/isolated", "2-3\n");
    put("bus/pci/devices/0000:17:00.0/numa_node", "1\n");
    put("meminfo", "MemTotal:        8388608 kB\nMemFree:          100 kB\n"
                   "MemAvailable:    7340032 kB\n");
    put("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "600\n");
    put("kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "512\n");
    put("kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "0\n");
    return 0;
}

static int remove_machine(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static struct server_params server_of_max(void)
{
    static struct server_params p;
    server_params_default(&p);
    p.huge_dir = root;  // not what a killed server of this machine has left
    p.connections = p.extensions = p.flight_logs = 0;
    p.time_wait = 1000000;
    p.syn_received = 262144;
    return p;
}

static struct page_supply pages_of(uint64_t bytes)
{
    return (struct page_supply){.of_2m = {bytes / PAGE_2M, bytes / PAGE_2M}, .node = -1};
}

static void twenty_free_gib_hold_fifty_million_connections(void **state)
{
    (void)state;
    const struct server_params p = server_of_max();
    const struct page_supply s = pages_of(20 * GIB);
    assert_true(server_fit(&p, &s, 0) >= 50000000);
}

static void one_more_connection_would_not_fit(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {GIB, 3 * GIB, 20 * GIB};
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        static struct server_params p;
        p = server_of_max();
        p.n_workers = 1 + i;
        const struct page_supply s = pages_of(sizes[i]);
        const uint32_t n = server_fit(&p, &s, 0);
        server_fit_to(&p, n);
        const uint64_t packets = ALIGN_UP(server_packet_bytes(&p), PAGE_2M);
        assert_true(ALIGN_UP(server_arena_bytes(&p), PAGE_2M) + packets <= sizes[i]);
        p = server_of_max();
        p.n_workers = 1 + i;
        server_fit_to(&p, n + 64 * p.n_workers);  // pieces are whole lines and chunks
        assert_true(ALIGN_UP(server_arena_bytes(&p), PAGE_2M) + packets > sizes[i]);
    }
}

static void what_holds_no_connection_is_said(void **state)
{
    (void)state;
    const struct server_params p = server_of_max();
    const struct page_supply none = pages_of(0), few = pages_of(16 << 20);
    assert_int_equal(server_fit(&p, &none, UINT64_MAX), 0);
    assert_int_equal(server_fit(&p, &few, UINT64_MAX), 0);
}

static void more_memory_than_a_configuration_takes_is_left(void **state)
{
    (void)state;
    const struct server_params p = server_of_max();
    const struct page_supply s = pages_of(4096 * GIB);
    assert_int_equal(server_fit(&p, &s, 0), SERVER_CONNECTIONS_MAX);
}

static void four_kib_pages_count_where_no_hugepages_are_wanted(void **state)
{
    (void)state;
    static struct server_params p;
    p = server_of_max();
    p.pages = PAGES_NONE;
    const struct page_supply none = pages_of(0);
    const uint32_t n = server_fit(&p, &none, 4 * GIB);
    server_fit_to(&p, n);
    assert_in_range(server_arena_bytes(&p) + server_packet_bytes(&p), 4 * GIB - (1 << 20), 4 * GIB);
}

static void records_that_follow_connections_are_chosen_with_them(void **state)
{
    (void)state;
    static struct server_params p;
    p = server_of_max();
    p.n_services = 2;
    p.services[1].tcp.connections_max = 7;  // of its own
    server_fit_to(&p, 6400000);
    assert_int_equal(p.connections, 6400000);
    assert_int_equal(p.extensions, 100000);
    assert_int_equal(p.flight_logs, 100000);
    assert_int_equal(p.services[0].tcp.connections_max, 6400000);
    assert_int_equal(p.services[1].tcp.connections_max, 7);
    p = server_of_max();
    p.extensions = 5;
    server_fit_to(&p, 100);
    assert_int_equal(p.extensions, 5);
    assert_int_equal(p.flight_logs, 5);
}

static void linux_keeps_a_part_of_what_is_made_pages(void **state)
{
    (void)state;
    struct server_supply s;
    server_supply_read(&s, root, root, NULL);
    assert_int_equal(s.of_4k.available_bytes, 7 * GIB);
    assert_int_equal(s.of_4k.linux_bytes,
                     (uint64_t)LINUX_KEEPS_MIB_MIN << 20);  // a tenth is less
    assert_int_equal(s.pages.of_2m.free, 512);
    assert_int_equal(s.possible.of_2m.free, 512 + (7 * 1024 - 1024) / 2);
    server_supply_read(&s, "/nowhere", "/nowhere", NULL);
    assert_int_equal(s.of_4k.available_bytes, 0);
    assert_int_equal(s.possible.of_2m.free, 0);
}

// What a killed server left on hugetlbfs; here in a directory of ordinary files.
static void pages_of_killed_servers_can_be_had(void **state)
{
    (void)state;
    char dir[80], path[128];
    struct server_supply s;
    if (geteuid() != 0)
        skip();  // others may not look
    snprintf(dir, sizeof(dir), "%s/huge", root);
    snprintf(path, sizeof(path), "%s/2M", dir);
    assert_int_equal(mkdir(dir, 0700) | mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/2M/killed", dir);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 3 * PAGE_2M), 0);
    close(fd);
    server_supply_read(&s, root, root, dir);
    assert_int_equal(s.dead_2m, 3);
    assert_int_equal(s.pages.of_2m.free, 512 + 3);
    assert_int_equal(s.possible.of_2m.free, 512 + 3 + (7 * 1024 - 1024) / 2);
}

static void has(const struct text *t, const char *line)
{
    if (strstr(text_str(t), line) == NULL)
        fail_msg("\"%s\" is not in:\n%s", line, text_str(t));
}

// need: the line of ctl_plan_need() for a server whose tables take about `gib` GiB, and its status.
static int need(enum pages_kind pages, uint32_t connections, struct text *t)
{
    static struct server_params p;
    text_init(t, 1 << 16);
    p = server_of_max();
    p.pages = pages;
    p.linux_cpu = 2;  // of node 1
    server_fit_to(&p, connections);
    return ctl_plan_need(&p, root, root, t);
}

static uint64_t pages_needed_of(uint32_t connections)
{
    static struct server_params p;
    p = server_of_max();
    server_fit_to(&p, connections);
    return ALIGN_UP(server_arena_bytes(&p), PAGE_2M) / PAGE_2M +
           ALIGN_UP(server_packet_bytes(&p), PAGE_2M) / PAGE_2M;
}

static void expect(const char *want, const char *a, const char *b, const struct text *t)
{
    char line[512];
    snprintf(line, sizeof(line), want, a, b);
    has(t, line);
}

static void a_plan_that_fits_says_so(void **state)
{
    (void)state;
    char n[LEDGER_GROUPED_BYTES];
    struct text t;
    ledger_grouped(n, pages_needed_of(100000));
    assert_int_equal(need(PAGES_2M, 100000, &t), 0);
    expect("this configuration: %s pages of 2 MiB needed, 512 free: it fits\n", n, "", &t);
    text_free(&t);
}

static void a_plan_names_the_command_that_makes_it_fit(void **state)
{
    (void)state;
    char n[LEDGER_GROUPED_BYTES], command[32];
    struct text t;
    const uint64_t needed = pages_needed_of(8000000);
    ledger_grouped(n, needed);
    snprintf(command, sizeof(command), "%llu", (unsigned long long)(600 + needed - 512));
    assert_int_equal(need(PAGES_2M, 8000000, &t), 0);
    expect("this configuration: %s pages of 2 MiB needed, 512 free: sysctl vm.nr_hugepages=%s\n", n,
           command, &t);
    text_free(&t);
}

// 7 GiB are available, of which 1 stays Linux's.
static void a_plan_never_proposes_the_whole_memory(void **state)
{
    (void)state;
    struct text t;
    assert_int_equal(need(PAGES_2M, 30000000, &t), -1);
    has(&t, "needed, 512 free: it does not fit in this machine: 6,442,450,944 bytes may become "
            "pages, 1,073,741,824 of the available 7,516,192,768 are left to Linux\n");
    assert_null(strstr(text_str(&t), "sysctl"));
    text_free(&t);
    assert_int_equal(need(PAGES_1G, 30000000, &t), -1);
    assert_null(strstr(text_str(&t), "echo"));
    text_free(&t);
}

static void a_plan_without_hugepages_looks_at_4k_pages(void **state)
{
    (void)state;
    struct text t;
    assert_int_equal(need(PAGES_NONE, 100000, &t), 0);
    has(&t, " bytes in 4 KiB pages needed, 7,516,192,768 available: it fits\n");
    text_free(&t);
    assert_int_equal(need(PAGES_NONE, 40000000, &t), -1);
    has(&t, " available: it does not fit in this machine\n");
    text_free(&t);
}

static void a_plan_of_two_nodes_names_both(void **state)
{
    (void)state;
    struct text t;
    put("devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "300\n");
    put("devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "10\n");
    put("devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "300\n");
    put("devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "300\n");
    assert_int_equal(need(PAGES_2M, 100000, &t), 0);
    has(&t, " pages of 2 MiB on NUMA node 1 needed, 300 free, ");
    has(&t, " pages of 2 MiB on NUMA node 0 needed, 10 free: echo ");
    has(&t, " > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages\n");
    assert_null(strstr(text_str(&t), "node1/hugepages"));
    text_free(&t);
}

static void the_capacity_names_the_command_that_makes_room(void **state)
{
    (void)state;
    static struct server_params p;
    struct text t;
    text_init(&t, 1 << 16);
    p = server_of_max();
    ctl_plan_capacity(&p, root, root, &t);
    has(&t, "free now: 512 pages of 2 MiB, 0 of 1 GiB; 7,516,192,768 bytes in 4 KiB pages, of "
            "which Linux keeps 1,073,741,824 (a tenth of the machine's memory, at least 1 GiB)\n");
    has(&t, "sysctl vm.nr_hugepages=3672\n");  // 600 + 3072
    text_free(&t);
}

static void the_core_map_says_who_shares_what(void **state)
{
    (void)state;
    static struct server_params p;
    struct text t;
    server_params_default(&p);
    p.linux_cpu = 0;
    p.n_workers = 3;
    p.worker_cpu[0] = 1;
    p.worker_cpu[1] = 2;
    p.worker_cpu[2] = 5;
    p.n_ports = 1;
    p.ports[0].port = (struct port_params){.name = "x", .driver = "pci", .device = "0000:17:00.0"};
    text_init(&t, 1 << 16);
    ctl_plan_cores(&p, root, &t);
    has(&t, "\n0     linux                    0       0       0  0,4 ");
    has(&t, "\n2     worker 1                 1       1       2  2,6 ");
    has(&t, "\n3     -                        1       1       3  3,7 ");
    has(&t, "note: CPU 1 (worker) shares its core with CPU 5 (worker 2)\n");
    has(&t, "note: CPU 2 (worker) shares its core with CPU 6: leave that one idle\n");
    has(&t, "note: CPU 1 is not isolated");
    assert_null(strstr(text_str(&t), "note: CPU 2 is not isolated"));
    has(&t, "port x: driver pci, NUMA node 1\n");
    has(&t, "note: worker 0 is on node 0, port x on node 1\n");
    assert_null(strstr(text_str(&t), "note: worker 1 is on node"));
    text_free(&t);
}

static void dpdk_may_open_the_pci_device_of_a_wrapped_port(void **state)
{
    (void)state;
    static struct server_params p;
    struct eal_params e;
    server_params_default(&p);
    p.n_workers = 1;
    p.n_ports = 2;
    p.ports[0].port = (struct port_params){.name = "x", .driver = "fault"};
    p.ports[0].inner = (struct port_params){.name = "y", .driver = "pci", .device = "0000:17:00.0"};
    p.ports[1].port = (struct port_params){.name = "z", .driver = "pci", .device = "net_null0"};
    server_eal_params(&p, &e);
    assert_string_equal(e.pci_allow[0], "0000:17:00.0");
    assert_null(e.pci_allow[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twenty_free_gib_hold_fifty_million_connections),
        cmocka_unit_test(one_more_connection_would_not_fit),
        cmocka_unit_test(what_holds_no_connection_is_said),
        cmocka_unit_test(more_memory_than_a_configuration_takes_is_left),
        cmocka_unit_test(four_kib_pages_count_where_no_hugepages_are_wanted),
        cmocka_unit_test(records_that_follow_connections_are_chosen_with_them),
        cmocka_unit_test(linux_keeps_a_part_of_what_is_made_pages),
        cmocka_unit_test(pages_of_killed_servers_can_be_had),
        cmocka_unit_test(a_plan_that_fits_says_so),
        cmocka_unit_test(a_plan_names_the_command_that_makes_it_fit),
        cmocka_unit_test(a_plan_never_proposes_the_whole_memory),
        cmocka_unit_test(a_plan_without_hugepages_looks_at_4k_pages),
        cmocka_unit_test(the_capacity_names_the_command_that_makes_room),
        cmocka_unit_test(the_core_map_says_who_shares_what),
        cmocka_unit_test(a_plan_of_two_nodes_names_both),
        cmocka_unit_test(dpdk_may_open_the_pci_device_of_a_wrapped_port),
    };
    return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
