// SPDX-License-Identifier: BSD-3-Clause
// test_arena.c: the claims of mem/ledger.h, page_supply.h, hugedir.h and arena.h. With root and
// memory to spare, 2 MiB pages are reserved for the test and given back; else those tests are
// skipped.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "mem/arena.h"
#include "mem/hugedir.h"
#include "mem/ledger.h"

enum { TEST_PAGES = 8 };

static const char NR_2M[] = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

static char root[64];  // of this test run: fake /sys and hugepage directories
static long pages_added;

static long read_pages(void)
{
    long n = -1;
    FILE *f = fopen(NR_2M, "r");
    if (f == NULL)
        return -1;
    if (fscanf(f, "%ld", &n) != 1)
        n = -1;
    fclose(f);
    return n;
}

static void add_pages(long n)
{
    const long before = read_pages();
    FILE *f = fopen(NR_2M, "w");
    if (f == NULL || before < 0)
        return;
    fprintf(f, "%ld\n", before + n);
    if (fclose(f) == 0)
        pages_added += read_pages() - before;
}

static int set_up(void **state)
{
    snprintf(root, sizeof(root), "/tmp/c10m-test-arena-%d", (int)getpid());
    add_pages(TEST_PAGES);
    return mkdir(root, 0755);
}

static int tear_down(void **state)
{
    char command[128];
    if (pages_added > 0)
        add_pages(-pages_added);
    snprintf(command, sizeof(command), "rm -rf --one-file-system %s", root);
    return system(command);
}

static void need_pages(void)
{
    if (pages_added < TEST_PAGES)
        skip();
}

static const char *in_root(const char *name)
{
    static char path[4][128];
    static unsigned at;
    char *p = path[at++ % 4];
    snprintf(p, 128, "%s/%s", root, name);
    return p;
}

static void put_number(const char *dir, const char *file, unsigned long n)
{
    char command[512], path[400];
    snprintf(command, sizeof(command), "mkdir -p %s", dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%lu\n", n);
    fclose(f);
}

static void ledger_sums_and_divides(void **state)
{
    struct ledger l = {0};
    struct text t;
    ledger_add(&l, "blocks", 1000, 256000, true, "connection blocks");
    ledger_add(&l, "flow_table", 1000, 7530, true, "finds them");
    ledger_add(&l, "buffers", 10, 21120, false, "data");
    ledger_add(&l, "blocks", 1000, 256000, true, "connection blocks");
    assert_int_equal(l.n, 3);
    assert_int_equal(ledger_bytes(&l), 540650);
    assert_int_equal(ledger_connection_bytes(&l), 519530);
    text_init(&t, 10000);
    ledger_render(&l, 2000, &t);
    const char *s = text_str(&t);
    assert_non_null(strstr(s, "512,000"));
    assert_non_null(strstr(s, "540,650"));
    assert_non_null(strstr(s, "259.76"));
    assert_non_null(strstr(s, "2112.00"));
    text_free(&t);
}

static void empty_ledger_is_a_table_of_zero_bytes(void **state)
{
    struct ledger l = {0};
    struct text t;
    text_init(&t, 10000);
    ledger_render(&l, 0, &t);
    assert_non_null(strstr(text_str(&t), "total"));
    assert_null(strstr(text_str(&t), "per connection"));
    assert_int_equal(ledger_bytes(&l), 0);
    text_free(&t);
}

static void numbers_are_grouped_by_three(void **state)
{
    char s[LEDGER_GROUPED_BYTES];
    assert_string_equal(ledger_grouped(s, 0), "0");
    assert_string_equal(ledger_grouped(s, 999), "999");
    assert_string_equal(ledger_grouped(s, 1280), "1,280");
    assert_string_equal(ledger_grouped(s, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void free_pages_are_without_the_promised_and_by_node(void **state)
{
    struct page_supply h;
    char dir[256];
    const char *sys = in_root("sys");
    snprintf(dir, sizeof(dir), "%s/kernel/mm/hugepages/hugepages-2048kB", sys);
    put_number(dir, "nr_hugepages", 100);
    put_number(dir, "free_hugepages", 90);
    put_number(dir, "resv_hugepages", 30);
    snprintf(dir, sizeof(dir), "%s/devices/system/node/node1/hugepages/hugepages-2048kB", sys);
    put_number(dir, "nr_hugepages", 50);
    put_number(dir, "free_hugepages", 45);
    page_supply_read(&h, sys, -1);
    assert_int_equal(h.of_2m.total, 100);
    assert_int_equal(h.of_2m.free, 60);
    assert_int_equal(h.of_1g.free, 0);
    page_supply_read(&h, sys, 1);
    assert_int_equal(h.of_2m.total, 50);
    assert_int_equal(h.of_2m.free, 45);
    page_supply_read(&h, sys, 0);
    assert_int_equal(h.of_2m.free, 0);
    page_supply_read(&h, "/nowhere", -1);
    assert_int_equal(h.of_2m.free + h.of_1g.free, 0);
}

// choose: the page size that is taken, or 0 and the error in e.
static size_t choose(uint64_t free_2m, uint64_t free_1g, enum pages_kind kind, uint64_t bytes,
                     uint64_t leave, struct err *e)
{
    struct page_supply h = {.of_2m = {free_2m, free_2m}, .of_1g = {free_1g, free_1g}, .node = -1};
    size_t page = 0;
    e->text[0] = '\0';
    int rc = page_supply_choose(&h, kind, bytes, leave, &page, e);
    assert_int_equal(rc == 0, e->text[0] == '\0');
    return rc == 0 ? page : 0;
}

static void page_size_wastes_little_or_is_the_only_one(void **state)
{
    struct err e;
    const uint64_t g = PAGE_1G;
    assert_int_equal(choose(2000, 4, PAGES_AUTO, 2 * g, 0, &e), PAGE_1G);
    assert_int_equal(choose(2000, 4, PAGES_AUTO, 2 * g - g / 32, 0, &e), PAGE_1G);
    assert_int_equal(choose(2000, 4, PAGES_AUTO, 2 * g + 1, 0, &e), PAGE_2M);
    assert_int_equal(choose(1024, 4, PAGES_AUTO, 2 * g + 1, 0, &e), PAGE_1G);
    assert_int_equal(choose(2000, 1, PAGES_AUTO, 2 * g, 0, &e), PAGE_2M);
    assert_int_equal(choose(2000, 4, PAGES_2M, 2 * g, 0, &e), PAGE_2M);
    assert_int_equal(choose(2000, 4, PAGES_1G, 1, 0, &e), PAGE_1G);
    assert_int_equal(choose(0, 0, PAGES_NONE, 2 * g, g, &e), PAGE_4K);
    assert_int_equal(choose(1, 0, PAGES_AUTO, PAGE_2M, 0, &e), PAGE_2M);
}

static void pages_for_others_are_left_free(void **state)
{
    struct err e;
    const uint64_t g = PAGE_1G;
    assert_int_equal(choose(512, 0, PAGES_AUTO, g / 2, g / 2, &e), PAGE_2M);
    assert_int_equal(choose(511, 0, PAGES_AUTO, g / 2, g / 2, &e), 0);
    assert_string_equal(e.text, "2 MiB pages: 512 needed, 511 free: sysctl vm.nr_hugepages=512");
    assert_int_equal(choose(256, 1, PAGES_AUTO, g / 2, g / 2, &e), PAGE_2M);
    assert_int_equal(choose(256, 1, PAGES_AUTO, g, g / 2, &e), PAGE_1G);
}

static void refusal_says_what_is_missing_and_the_command(void **state)
{
    struct err e;
    size_t page;
    assert_int_equal(choose(64, 0, PAGES_AUTO, 1280 * PAGE_2M, 0, &e), 0);
    assert_string_equal(e.text, "2 MiB pages: 1,280 needed, 64 free: sysctl vm.nr_hugepages=1280");
    assert_int_equal(choose(64, 1, PAGES_1G, PAGE_1G + 1, 0, &e), 0);
    assert_string_equal(e.text,
                        "1 GiB pages: 2 needed, 1 free: "
                        "echo 2 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
    struct page_supply h = {.of_2m = {100, 64}, .node = 1};  // 36 are somebody's
    assert_int_equal(page_supply_choose(&h, PAGES_AUTO, 80 * PAGE_2M, 0, &page, &e), -1);
    assert_string_equal(e.text,
                        "2 MiB pages: 80 needed, 64 free: echo 116 > "
                        "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
}

// Of 8 GiB, a tenth and at least 1 GiB is not made into pages; of 1 GiB half is not.
static void refusal_proposes_no_more_pages_than_the_machine_can_make(void **state)
{
    struct err e;
    size_t page;
    const struct memory_4k m = {8ull << 30, 7ull << 30, 1ull << 30};
    struct page_supply h = {.of_2m = {100, 100}, .node = -1};
    page_supply_spare(&h, &m);
    assert_int_equal(page_supply_choose(&h, PAGES_2M, 3172 * PAGE_2M, 0, &page, &e), -1);
    assert_string_equal(e.text, "2 MiB pages: 3,172 needed, 100 free: sysctl vm.nr_hugepages=3172");
    assert_int_equal(page_supply_choose(&h, PAGES_2M, 3173 * PAGE_2M, 0, &page, &e), -1);
    assert_null(strstr(e.text, "sysctl"));
    assert_non_null(strstr(e.text, "3,173 needed, 100 free, and this machine has memory for "
                                   "3,072 more"));
    assert_int_equal(page_supply_choose(&h, PAGES_1G, UINT64_MAX, UINT64_MAX, &page, &e), -1);
    assert_null(strstr(e.text, "echo"));
}

// What lies beside the piece may have pages of the other size, which are there.
static void refusal_asks_for_the_missing_size_only(void **state)
{
    struct err e;
    assert_int_equal(choose(64, 0, PAGES_1G, PAGE_1G, 64 * PAGE_2M, &e), 0);
    assert_string_equal(e.text,
                        "1 GiB pages: 1 needed, 0 free: "
                        "echo 1 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
}

static struct arena *open_arena(const char *dir, const char *name, enum pages_kind pages,
                                uint64_t bytes, struct err *e)
{
    const struct arena_params p = {dir, name, pages, bytes, 0, -1, false, 0};
    e->text[0] = '\0';
    struct arena *a = arena_open(&p, e);
    assert_int_equal(a != NULL, e->text[0] == '\0');
    return a;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static void carving_is_aligned_zeroed_bounded_and_told_by_name(struct arena *a)
{
    const uint64_t all = arena_reserved_bytes(a);
    unsigned n;
    assert_int_equal(all % arena_page_bytes(a), 0);
    uint8_t *x = arena_carve(a, "one", 100, 64), *y = arena_carve(a, "two", 1000, 4096);
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal((uintptr_t)y % 4096, 0);
    assert_true(y >= x + 100);
    assert_true(all_zero(x, 100) && all_zero(y, 1000));
    assert_int_equal(arena_carved_bytes(a), 4096 + 1000);
    assert_null(arena_carve(a, "three", all, 64));
    assert_null(arena_carve(a, "three", UINT64_MAX, 64));
    const uint64_t rest = all - ALIGN_UP(arena_carved_bytes(a), 64);
    assert_null(arena_carve(a, "three", rest + 1, 64));
    uint8_t *z = arena_carve(a, "one", rest, 64);
    assert_non_null(z);
    assert_true(all_zero(z, rest));
    memset(z, 0xff, rest);
    assert_null(arena_carve(a, "one", 1, 1));
    assert_non_null(arena_carve(a, "one", 0, 1));
    const struct arena_row *rows = arena_rows(a, &n);
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].name, "one");
    assert_int_equal(rows[0].bytes, 100 + rest);
    assert_int_equal(rows[1].bytes, 1000);
}

static void four_kib_pages_need_no_hugepages_no_directory_no_root(void **state)
{
    struct err e;
    struct arena *a = open_arena("/proc/nowhere", "x", PAGES_NONE, 1000000, &e);
    assert_non_null(a);
    assert_int_equal(arena_page_bytes(a), 4096);
    carving_is_aligned_zeroed_bounded_and_told_by_name(a);
    arena_close(a);
    arena_close(NULL);
}

// hugetlb_kb: hugepages that this process has touched, whoever else uses some at the same time.
static long hugetlb_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (kb < 0 && fgets(line, sizeof(line), f) != NULL)
        sscanf(line, "HugetlbPages: %ld", &kb);
    fclose(f);
    return kb;
}

static void assert_gone(const char *dir)
{
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(errno, ENOENT);
}

static void hugepages_are_touched_at_open_and_everything_is_given_back(void **state)
{
    need_pages();
    struct err e;
    struct arena *a = open_arena(in_root("a/b"), "srv", PAGES_2M, 3 * PAGE_2M + 1, &e);
    assert_non_null(a);
    assert_int_equal(hugetlb_kb(), 4 * PAGE_2M / 1024);
    assert_int_equal(access(in_root("a/b/2M/srv"), F_OK), 0);
    assert_int_equal(arena_reserved_bytes(a), 4 * PAGE_2M);
    carving_is_aligned_zeroed_bounded_and_told_by_name(a);
    arena_close(a);
    assert_int_equal(hugetlb_kb(), 0);
    assert_gone(in_root("a"));
}

static void memory_of_a_node_is_bound_to_it(void **state)
{
    need_pages();
    struct err e = {.text = ""};
    struct arena_params p = {in_root("n"), "srv", PAGES_2M, PAGE_2M, 0, 0, false, 0};
    struct arena *a = arena_open(&p, &e);
    assert_non_null(a);
    arena_close(a);
    p.node = 1023;
    assert_null(arena_open(&p, &e));
    assert_non_null(strstr(e.text, "node1023"));
    assert_gone(in_root("n"));
}

static void too_few_pages_leave_nothing_behind(void **state)
{
    struct err e;
    assert_null(open_arena(in_root("b"), "srv", PAGES_AUTO, 1ull << 50, &e));
    assert_non_null(strstr(e.text, "2 MiB pages: 536,870,912 needed"));
    assert_non_null(strstr(e.text, "needed, "));
    assert_null(strstr(e.text, "sysctl"));  // no machine has so much
    assert_gone(in_root("b"));
}

static void bad_names_and_directories_are_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", "../x"};
    struct err e;
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        assert_null(open_arena(in_root("c"), names[i], PAGES_2M, 1, &e));
    char longest[400];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(open_arena(in_root("c"), longest, PAGES_2M, 1, &e));
    longest[0] = '/';
    assert_null(open_arena(longest, "srv", PAGES_2M, 1, &e));
    assert_null(open_arena("relative", "srv", PAGES_2M, 1, &e));
    assert_null(open_arena("/", "srv", PAGES_2M, 1, &e));
    assert_null(open_arena("", "srv", PAGES_2M, 1, &e));
    assert_null(open_arena("/proc/nowhere/x", "srv", PAGES_2M, 1, &e));
    assert_non_null(strstr(e.text, "/proc/nowhere/x"));
    assert_gone(in_root("c"));
}

static void wake(int signal_number) {}

// start_owner: a process that holds an arena, filled; it has been opened when this returns.
static pid_t start_owner(const char *dir, const char *name)
{
    int ready[2];
    char ok = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct err e;
        signal(SIGTERM, wake);
        const struct arena_params p = {dir, name, PAGES_2M, 2 * PAGE_2M, 0, -1, false, 0};
        struct arena *a = arena_open(&p, &e);
        ok = a != NULL;
        if (ok)
            memset(arena_carve(a, "all", 2 * PAGE_2M, 64), 0xff, 2 * PAGE_2M);
        if (write(ready[1], &ok, 1) != 1)
            _exit(1);
        pause();
        arena_close(a);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void kill_owner(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void stop_owner(pid_t pid)
{
    int status;
    do
        kill(pid, SIGTERM);  // again: it may not yet have paused
    while (usleep(2000) == 0 && waitpid(pid, &status, WNOHANG) == 0);
    assert_int_equal(status, 0);
}

// two_leave: of two owners one leaves, then the other; nothing stays behind them.
static void two_leave(const char *dir, bool second_first, void (*first_ends)(pid_t))
{
    pid_t pid[2];
    pid[0] = start_owner(dir, "one");
    pid[1] = start_owner(dir, "two");
    first_ends(pid[second_first]);
    char kept[160];
    snprintf(kept, sizeof(kept), "%s/2M/%s", dir, second_first ? "one" : "two");
    const bool there = access(kept, F_OK) == 0;
    stop_owner(pid[!second_first]);
    assert_true(there);
    assert_gone(dir);
}

static void last_owner_out_unmounts_and_removes_in_either_order(void **state)
{
    need_pages();
    two_leave(in_root("h"), false, stop_owner);
    two_leave(in_root("h/deep"), true, stop_owner);
    assert_gone(in_root("h"));
}

static void killed_owner_does_not_keep_the_mount(void **state)
{
    need_pages();
    two_leave(in_root("i/deep"), false, kill_owner);
    two_leave(in_root("i/deep"), true, kill_owner);
    assert_gone(in_root("i"));
}

// keep_owner: a process that keeps its arena, with one byte in it, and is killed. Its pages stay.
static void keep_owner(const char *dir, const char *name)
{
    int status;
    const pid_t pid = fork();
    if (pid == 0) {
        struct err e;
        const struct arena_params p = {dir, name, PAGES_2M, PAGE_2M, 0, -1, true, 0};
        struct arena *a = arena_open(&p, &e);
        if (a == NULL || arena_is_kept(a))
            _exit(1);
        *(uint8_t *)arena_carve(a, "all", PAGE_2M, 64) = 42;
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static struct arena *open_kept(const char *dir, const char *name, uint64_t bytes)
{
    struct err e;
    const struct arena_params p = {dir, name, PAGES_2M, bytes, 0, -1, true, 0};
    struct arena *a = arena_open(&p, &e);
    assert_non_null(a);
    return a;
}

static void what_a_killed_process_kept_is_the_next_ones_at_the_same_address(void **state)
{
    need_pages();
    keep_owner(in_root("h"), "srv");
    struct arena *a = open_kept(in_root("h"), "srv", PAGE_2M);
    assert_true(arena_is_kept(a));
    uint8_t *at = arena_carve(a, "all", PAGE_2M, 64);
    assert_null(arena_fault(a));
    assert_int_equal(*at, 42);
    *at = 43;
    arena_close(a);  // without arena_drop(): it is kept once more
    a = open_kept(in_root("h"), "srv", 4 * PAGE_2M);
    assert_true(arena_is_kept(a));
    assert_int_equal(arena_reserved_bytes(a), PAGE_2M);  // its own size
    assert_ptr_equal(arena_carve(a, "all", PAGE_2M, 64), at);
    assert_int_equal(*at, 43);
    arena_drop(a);
    arena_close(a);
    assert_int_equal(hugetlb_kb(), 0);
    assert_gone(in_root("h"));
}

static struct arena *open_next(struct arena *kept, uint64_t bytes)
{
    struct err e;
    const struct arena_params p = {"", "srv", PAGES_2M, bytes, 0, -1, true, 0};
    struct arena *a = arena_open_next(kept, &p, &e);
    if (a == NULL)
        fail_msg("%s", e.text);
    return a;
}

static void another_arena_takes_the_place_of_a_kept_one_in_one_step(void **state)
{
    uint64_t pages = 1;
    need_pages();
    keep_owner(in_root("h"), "srv");
    for (pages = 2; pages <= 3; pages++) {  // there are two addresses
        struct arena *was = open_kept(in_root("h"), "srv", PAGE_2M);
        assert_true(arena_is_kept(was));
        struct arena *a = open_next(was, pages * PAGE_2M);
        assert_int_equal(access(in_root("h/2M/srv.next"), F_OK), 0);
        uint8_t **at = arena_carve(a, "all", PAGE_2M, 64);
        assert_true(all_zero((uint8_t *)at, PAGE_2M));
        *at = (uint8_t *)at;  // as [control] adopt stores it
        arena_succeed(a);
        arena_free_pages(was);
        arena_close(was);
        arena_close(a);
        a = open_kept(in_root("h"), "srv", PAGE_2M);
        assert_int_equal(arena_reserved_bytes(a), pages * PAGE_2M);
        assert_ptr_equal(arena_carve(a, "all", PAGE_2M, 64), at);
        assert_ptr_equal(*at, at);
        arena_close(a);
    }
    struct arena *a = open_kept(in_root("h"), "srv", PAGE_2M);
    arena_drop(a);
    arena_close(a);
    assert_int_equal(hugetlb_kb(), 0);
    assert_gone(in_root("h"));
}

static void an_arena_that_does_not_take_the_place_leaves_the_kept_one(void **state)
{
    need_pages();
    keep_owner(in_root("h"), "srv");
    for (int killed = 0; killed < 2; killed++) {
        const pid_t pid = fork();
        int status;
        if (pid == 0) {
            struct arena *was = open_kept(in_root("h"), "srv", PAGE_2M);
            struct arena *a = open_next(was, 2 * PAGE_2M);
            if (killed)
                raise(SIGKILL);
            arena_close(a);
            arena_close(was);
            _exit(access(in_root("h/2M/srv.next"), F_OK) == 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(killed ? WIFSIGNALED(status) : status == 0);
        struct arena *a = open_kept(in_root("h"), "srv", PAGE_2M);
        assert_int_equal(*(uint8_t *)arena_carve(a, "all", PAGE_2M, 64), 42);
        assert_gone(in_root("h/2M/srv.next"));
        if (killed)
            arena_drop(a);
        arena_close(a);
    }
    assert_int_equal(hugetlb_kb(), 0);
    assert_gone(in_root("h"));
}

// A hole would be filled with zeros, or end the process by SIGBUS if no page is free.
static void a_file_that_is_not_whole_is_not_mapped_and_stays(void **state)
{
    char path[160];
    need_pages();
    keep_owner(in_root("h"), "srv");
    snprintf(path, sizeof(path), "%s", in_root("h/2M/srv"));
    assert_int_equal(truncate(path, 3 * PAGE_2M), 0);
    struct arena *a = open_kept(in_root("h"), "srv", 3 * PAGE_2M);
    assert_true(arena_is_kept(a));
    assert_string_equal(arena_fault(a), "its file has 2,097,152 of 6,291,456 bytes");
    arena_close(a);
    assert_int_equal(truncate(path, 0), 0);
    a = open_kept(in_root("h"), "srv", PAGE_2M);
    assert_string_equal(arena_fault(a), "its file has 0 of 0 bytes");
    arena_close(a);
    assert_int_equal(access(path, F_OK), 0);
    a = open_kept(in_root("h"), "srv", PAGE_2M);
    arena_drop(a);
    arena_close(a);
    assert_gone(in_root("h"));
}

static void what_was_kept_stays_beside_others_and_goes_when_its_name_does_not_keep(void **state)
{
    struct err e;
    need_pages();
    keep_owner(in_root("h"), "srv");
    arena_close(open_arena(in_root("h"), "other", PAGES_2M, 1, &e));
    assert_int_equal(access(in_root("h/2M/srv"), F_OK), 0);
    struct arena *a = open_arena(in_root("h"), "srv", PAGES_2M, PAGE_2M, &e);
    assert_non_null(a);
    assert_false(arena_is_kept(a));
    assert_true(all_zero(arena_carve(a, "all", PAGE_2M, 64), PAGE_2M));
    arena_close(a);
    assert_int_equal(hugetlb_kb(), 0);
    assert_gone(in_root("h"));
}

static void directory_that_was_there_stays(void **state)
{
    need_pages();
    assert_int_equal(mkdir(in_root("j"), 0755), 0);
    struct err e;
    arena_close(open_arena(in_root("j"), "srv", PAGES_2M, 1, &e));
    assert_int_equal(rmdir(in_root("j")), 0);
}

// opens_the_lock_as_nobody: 0 if that is refused.
static int opens_the_lock_as_nobody(void)
{
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        _exit(open("/run/lock/c10m.lock", O_RDONLY) >= 0 || errno != EACCES);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void no_other_user_can_hold_the_lock_of_a_start(void **state)
{
    struct hugedir d;
    struct err e = {0};
    if (geteuid() != 0)
        skip();
    assert_int_equal(hugedir_open(&d, in_root("locked"), "one", false, &e), 0);
    hugedir_close(&d);
    assert_int_equal(opens_the_lock_as_nobody(), 0);
}

static void owners_that_come_and_go_at_once_leave_nothing(void **state)
{
    need_pages();
    int status, failed = 0;
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            struct err e = {.text = ""};
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            const struct arena_params p = {in_root("k/deep"), name, PAGES_2M, 1, 0, -1, false, 0};
            for (int n = 0; n < 50; n++) {
                struct arena *a = arena_open(&p, &e);
                if (a == NULL)
                    fprintf(stderr, "%s\n", e.text);
                if (a == NULL)
                    _exit(1);
                arena_close(a);
            }
            _exit(0);
        }
    while (wait(&status) > 0)
        failed += status != 0;
    assert_int_equal(failed, 0);
    assert_gone(in_root("k"));
}

static void name_of_a_living_process_is_refused_with_its_pid(void **state)
{
    need_pages();
    struct err e;
    char pid_text[32];
    const pid_t pid = start_owner(in_root("d"), "srv");
    snprintf(pid_text, sizeof(pid_text), "process %d", (int)pid);
    struct arena *refused = open_arena(in_root("d"), "srv", PAGES_2M, 1, &e);
    const bool named = strstr(e.text, pid_text) != NULL;
    struct arena *other = open_arena(in_root("d"), "other", PAGES_2M, 1, &e);
    arena_close(other);
    const bool kept = access(in_root("d/2M/srv"), F_OK) == 0;
    kill_owner(pid);
    assert_null(refused);
    assert_true(named);
    assert_non_null(other);
    assert_true(kept);
    arena_close(open_arena(in_root("d"), "srv", PAGES_2M, 1, &e));
    assert_gone(in_root("d"));
}

static void files_of_killed_processes_of_any_name_are_removed(void **state)
{
    need_pages();
    struct err e;
    const pid_t one = start_owner(in_root("e"), "one"), two = start_owner(in_root("e"), "two");
    kill_owner(one);
    kill_owner(two);
    assert_int_equal(access(in_root("e/2M/one"), F_OK), 0);
    assert_int_equal(access(in_root("e/2M/two"), F_OK), 0);
    struct arena *a = open_arena(in_root("e"), "one", PAGES_2M, 2 * PAGE_2M, &e);
    assert_non_null(a);
    assert_int_equal(arena_stale_removed(a), 2);
    assert_gone(in_root("e/2M/two"));
    assert_gone(in_root("e/two.lock"));
    assert_true(all_zero(arena_carve(a, "all", PAGE_2M, 64), PAGE_2M));
    arena_close(a);
    assert_gone(in_root("e"));
}

// give_up: root without the right to mount, or nobody.
static bool give_up(bool root_still)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct c[2];
    if (!root_still)
        return setuid(65534) == 0;
    if (syscall(SYS_capget, &h, c) != 0)
        return false;
    c[0].effective &= ~(1U << CAP_SYS_ADMIN);
    return syscall(SYS_capset, &h, c) == 0;
}

static void assert_refused(bool root_still, const char *why)
{
    int status;
    const char *dir = in_root("f");
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct err e;
        const struct arena_params p = {dir, "srv", PAGES_2M, 1, 0, -1, false, 0};
        if (!give_up(root_still))
            _exit(2);
        _exit(arena_open(&p, &e) == NULL && strstr(e.text, why) != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rmdir(dir), 0);
}

static void directory_without_the_right_to_mount_is_an_error_that_says_so(void **state)
{
    need_pages();
    assert_refused(true, "as root: mount");
}

static void user_who_is_not_root_is_told_that_hugepages_need_root(void **state)
{
    need_pages();
    assert_refused(false, "hugepages need root");
}

static void mount_of_somebody_else_is_used_and_left(void **state)
{
    need_pages();
    struct err e;
    assert_int_equal(mkdir(in_root("g"), 0755), 0);
    assert_int_equal(mkdir(in_root("g/2M"), 0755), 0);
    assert_int_equal(mount("theirs", in_root("g/2M"), "hugetlbfs", 0, "pagesize=2M"), 0);
    struct arena *a = open_arena(in_root("g"), "srv", PAGES_2M, 1, &e);
    arena_close(a);
    const int unmounted = umount(in_root("g/2M"));
    assert_non_null(a);
    assert_int_equal(unmounted, 0);
    assert_int_equal(rmdir(in_root("g/2M")), 0);
    assert_int_equal(rmdir(in_root("g")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledger_sums_and_divides),
        cmocka_unit_test(empty_ledger_is_a_table_of_zero_bytes),
        cmocka_unit_test(numbers_are_grouped_by_three),
        cmocka_unit_test(free_pages_are_without_the_promised_and_by_node),
        cmocka_unit_test(page_size_wastes_little_or_is_the_only_one),
        cmocka_unit_test(pages_for_others_are_left_free),
        cmocka_unit_test(refusal_says_what_is_missing_and_the_command),
        cmocka_unit_test(refusal_proposes_no_more_pages_than_the_machine_can_make),
        cmocka_unit_test(refusal_asks_for_the_missing_size_only),
        cmocka_unit_test(four_kib_pages_need_no_hugepages_no_directory_no_root),
        cmocka_unit_test(hugepages_are_touched_at_open_and_everything_is_given_back),
        cmocka_unit_test(memory_of_a_node_is_bound_to_it),
        cmocka_unit_test(too_few_pages_leave_nothing_behind),
        cmocka_unit_test(bad_names_and_directories_are_refused),
        cmocka_unit_test(name_of_a_living_process_is_refused_with_its_pid),
        cmocka_unit_test(files_of_killed_processes_of_any_name_are_removed),
        cmocka_unit_test(last_owner_out_unmounts_and_removes_in_either_order),
        cmocka_unit_test(killed_owner_does_not_keep_the_mount),
        cmocka_unit_test(what_a_killed_process_kept_is_the_next_ones_at_the_same_address),
        cmocka_unit_test(a_file_that_is_not_whole_is_not_mapped_and_stays),
        cmocka_unit_test(another_arena_takes_the_place_of_a_kept_one_in_one_step),
        cmocka_unit_test(an_arena_that_does_not_take_the_place_leaves_the_kept_one),
        cmocka_unit_test(what_was_kept_stays_beside_others_and_goes_when_its_name_does_not_keep),
        cmocka_unit_test(directory_that_was_there_stays),
        cmocka_unit_test(owners_that_come_and_go_at_once_leave_nothing),
        cmocka_unit_test(no_other_user_can_hold_the_lock_of_a_start),
        cmocka_unit_test(directory_without_the_right_to_mount_is_an_error_that_says_so),
        cmocka_unit_test(user_who_is_not_root_is_told_that_hugepages_need_root),
        cmocka_unit_test(mount_of_somebody_else_is_used_and_left),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
