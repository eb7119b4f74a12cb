// SPDX-License-Identifier: BSD-3-Clause
// EAL from a struct: what is refused before it starts, and what holds after.
#include <fcntl.h>
#include <rte_eal.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "drivers/eal_dir.h"
#include "drivers/hugefiles.h"
#include "unit/pkt_env.h"

static void too_much_memory_is_refused_with_the_arithmetic(void **state)
{
    struct hugepages two;
    if (!hugepages_read(2 << 20, &two))
        skip();
    const uint64_t tib = (uint64_t)1 << 40;
    struct eal_params p = {.file_prefix = "c10mtesteal", .hugepages = true, .memory_bytes = {tib}};
    struct err e = {.text = ""};
    assert_int_equal(eal_start(&p, &e), -1);
    char needed[64];
    snprintf(needed, sizeof(needed), "%llu needed", (unsigned long long)(tib >> 21));
    assert_non_null(strstr(e.text, needed));
    assert_non_null(strstr(e.text, "sysctl vm.nr_hugepages="));
}

static void too_many_workers_and_long_names_are_refused(void **state)
{
    struct eal_params p = {.file_prefix = "x", .workers = EAL_WORKERS_MAX + 1};
    struct err e = {.text = ""};
    assert_int_equal(eal_start(&p, &e), -1);
    assert_non_null(strstr(e.text, "at most 64"));
    p.workers = 0;
    p.file_prefix = "0123456789012345678901234567890123456789012345678901234567890123";
    assert_int_equal(eal_start(&p, &e), -1);
    assert_non_null(strstr(e.text, "at most 63 characters"));
}

static int make(const char *dir, const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
}

static bool exists(const char *dir, const char *name)
{
    char path[300];
    struct stat s;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return stat(path, &s) == 0;
}

static void only_files_of_this_name_that_nobody_holds_are_removed(void **state)
{
    char dir[] = "/tmp/c10mtestXXXXXX";
    assert_non_null(mkdtemp(dir));
    close(make(dir, "onemap_0"));
    close(make(dir, "one"));
    close(make(dir, "one2map_0"));
    int held = make(dir, "onemap_1");
    assert_int_equal(flock(held, LOCK_SH), 0);
    hugefiles_remove(dir, "one");
    assert_false(exists(dir, "onemap_0"));
    assert_true(exists(dir, "onemap_1"));
    assert_true(exists(dir, "one"));
    assert_true(exists(dir, "one2map_0"));
    close(held);
    hugefiles_remove(dir, "one");
    assert_false(exists(dir, "onemap_1"));
    hugefiles_remove(dir, "one2");
    char path[300];
    snprintf(path, sizeof(path), "%s/one", dir);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
    hugefiles_remove("/no/such/directory", "one");
}

// hold: a process that has taken root/name, until it is killed.
static pid_t hold(const char *root, const char *name)
{
    int ready[2];
    char ok;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct eal_dir d;
        struct err e;
        ok = eal_dir_open(&d, root, name, NULL, &e) == 0 && d.path[0] != '\0';
        _exit(write(ready[1], &ok, 1) == 1 && pause());
    }
    assert_int_equal(read(ready[0], &ok, 1), 1);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(ok, 1);
    return pid;
}

static void directories_of_killed_processes_go_at_the_next_start(void **state)
{
    char root[] = "/tmp/c10mtestXXXXXX", text[32];
    struct eal_dir d;
    struct err e = {.text = ""};
    assert_non_null(mkdtemp(root));
    const pid_t dead = hold(root, "any-name"), living = hold(root, "other");
    kill(dead, SIGKILL);
    waitpid(dead, NULL, 0);
    char path[300];
    snprintf(path, sizeof(path), "%s/stranger", root);  // another DPDK program
    assert_int_equal(mkdir(path, 0700), 0);
    close(make(root, "any-name/config"));
    const int refused = eal_dir_open(&d, root, "other", NULL, &e);
    snprintf(text, sizeof(text), "process %d:", (int)living);
    const bool names_pid = strstr(e.text, text) != NULL;
    eal_dir_close(&d);
    const bool kept = exists(root, "other/c10m.lock");
    const int opened = eal_dir_open(&d, root, "mine", NULL, &e);
    kill(living, SIGKILL);
    waitpid(living, NULL, 0);
    assert_int_equal(refused, -1);
    assert_true(names_pid && kept);
    assert_int_equal(opened, 0);
    assert_int_equal(d.removed, 1);
    assert_false(exists(root, "any-name"));
    assert_true(exists(root, "other"));
    assert_true(exists(root, "stranger"));
    eal_dir_close(&d);
    assert_false(exists(root, "mine"));
    assert_int_equal(eal_dir_open(&d, root, "other", NULL, &e), 0);  // a killed one's name
    eal_dir_close(&d);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(root), 0);
}

static void the_memory_asked_for_is_there_and_no_more(void **state)
{
    assert_int_equal(eal_memory_bytes(), 128 << 20);
    assert_int_equal(eal_page_bytes(), 4096);
}

struct report {
    int cpu;
    bool blocked;
};

static int look_around(void *arg)
{
    struct report *r = arg;
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    r->cpu = sched_getcpu();
    r->blocked =
        sigismember(&set, SIGTERM) && sigismember(&set, SIGIO) && sigismember(&set, SIGRTMIN);
    return 7;
}

static void a_worker_runs_on_its_core_with_every_signal_blocked(void **state)
{
    struct report r = {-1, false};
    struct err e;
    assert_int_equal(eal_worker_launch(0, look_around, &r, &e), 0);
    assert_int_equal(eal_worker_join(0), 7);
    assert_int_equal(r.cpu, 1 % (int)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(r.blocked);
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    assert_false(sigismember(&set, SIGTERM));
}

static void a_worker_that_does_not_exist_does_not_start(void **state)
{
    struct err e = {.text = ""};
    assert_int_equal(eal_worker_launch(5, look_around, NULL, &e), -1);
    assert_non_null(strstr(e.text, "worker 5"));
}

int main(void)
{
    const struct CMUnitTest before[] = {
        cmocka_unit_test(too_much_memory_is_refused_with_the_arithmetic),
        cmocka_unit_test(too_many_workers_and_long_names_are_refused),
        cmocka_unit_test(only_files_of_this_name_that_nobody_holds_are_removed),
        cmocka_unit_test(directories_of_killed_processes_go_at_the_next_start),
    };
    const struct CMUnitTest after[] = {
        cmocka_unit_test(the_memory_asked_for_is_there_and_no_more),
        cmocka_unit_test(a_worker_runs_on_its_core_with_every_signal_blocked),
        cmocka_unit_test(a_worker_that_does_not_exist_does_not_start),
    };
    int failed = cmocka_run_group_tests_name("before EAL", before, NULL, NULL);
    pkt_env_start(1);
    failed += cmocka_run_group_tests_name("with EAL", after, NULL, NULL);
    char dir[256];
    snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
    failed += !exists(dir, "");
    eal_stop();
    if (exists(dir, ""))
        failed += fprintf(stderr, "eal_stop() left %s behind\n", dir) > 0;
    return failed;
}
