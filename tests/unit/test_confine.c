// SPDX-License-Identifier: BSD-3-Clause
// Filters of system calls, the line of a violation, and the change of the user. What cannot be
// undone is done in a child process, whose end is judged.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "confine/call_filter.h"
#include "confine/identity.h"
#include "confine/violation.h"

// Its abort() makes calls of its own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER true
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER false
#endif

enum { SAID_BYTES = 4096 };

static char said[SAID_BYTES];

// in_child: what wait() says of a child that runs act(arg) and exits with its result; its stderr is
// in `said`.
static int in_child(int (*act)(const void *arg), const void *arg)
{
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fds[1], STDERR_FILENO);
        syscall(SYS_exit_group, act(arg));
    }
    close(fds[1]);
    ssize_t n;
    size_t used = 0;
    while ((n = read(fds[0], said + used, sizeof(said) - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool ended_by_violation(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void here(const void *arg, char *text, size_t n)
{
    snprintf(text, n, "thread of test %s", (const char *)arg);
}

static const struct violation_place place = {here, "one"};

// filtered: a case: which filter, and what is done under it.
struct filtered {
    int (*make)(struct call_filter *f, const struct call_list *list, enum call_mode mode,
                struct err *err);
    struct call_list list;
    enum call_mode mode;
    int (*act)(void);
};

static int act_filtered(const void *arg)
{
    const struct filtered *c = arg;
    struct call_filter filter = {0};
    struct err err;
    if (c->make(&filter, &c->list, c->mode, &err) != 0)
        return 100;
    violation_catch();
    violation_accept(&place);
    if (call_filter_load(&filter, false) != 0)
        return 101;
    return c->act();
}

static int act_nothing(void)
{
    return 0;
}
static int act_socket(void)
{
    return socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 0 : 1;
}
static int act_socket_alg(void)
{
    return socket(AF_ALG, SOCK_SEQPACKET, 0) >= 0 ? 1 : 0;
}
static int act_socket_unknown(void)
{
    return socket(AF_MAX + 1000, SOCK_DGRAM, 0) >= 0 ? 1 : 0;
}
static int act_stderr(void)
{
    return write(STDERR_FILENO, "x", 1) == 1 ? 0 : 1;
}
static int act_stdout(void)
{
    return write(STDOUT_FILENO, "", 0) == 0 ? 0 : 1;
}
static int act_open(void)
{
    return open("/dev/null", O_RDONLY) >= 0 ? 0 : 1;
}
static int act_exec(void)
{
    char *const none[] = {NULL};
    return execve("/nowhere/at/all", none, none) == 0 ? 1 : 0;
}
static int act_fork(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0 ? 0 : 1;
}
static int act_umount(void)
{
    return syscall(SYS_umount2, "/nowhere/at/all", 0) == 0 ? 1 : 0;
}
static int act_abort(void)
{
    abort();
}

static void *nothing(void *arg)
{
    return arg;
}

static int act_thread(void)
{
    pthread_t t;
    return pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0 ? 0 : 1;
}

static int worker(int (*act)(void), enum call_mode mode, int allowed)
{
    struct filtered c = {call_filter_worker, {0}, mode, act};
    if (allowed >= 0)
        call_list_add(&c.list, &allowed, 1);
    return in_child(act_filtered, &c);
}

static int control(int (*act)(void), enum call_mode mode, int except)
{
    struct filtered c = {call_filter_control, {0}, mode, act};
    if (except >= 0)
        call_list_add(&c.list, &except, 1);
    return in_child(act_filtered, &c);
}

static void a_worker_may_end_and_write_to_stderr(void **state)
{
    (void)state;
    assert_int_equal(worker(act_nothing, CALLS_ON, -1), 0);
    assert_int_equal(worker(act_stderr, CALLS_ON, -1), 0);
    assert_string_equal(said, "x");
}

static void a_worker_may_make_the_calls_of_its_list_only(void **state)
{
    (void)state;
    assert_true(ended_by_violation(worker(act_socket, CALLS_ON, -1)));
    assert_int_equal(worker(act_socket, CALLS_ON, SYS_socket), 0);
    assert_true(ended_by_violation(worker(act_socket, CALLS_ON, SYS_sendto)));
    assert_true(ended_by_violation(worker(act_open, CALLS_ON, -1)));
}

static void a_worker_writes_nowhere_else_unless_its_list_has_write(void **state)
{
    (void)state;
    assert_true(ended_by_violation(worker(act_stdout, CALLS_ON, -1)));
    assert_int_equal(worker(act_stdout, CALLS_ON, SYS_write), 0);
}

static void a_failed_check_ends_a_worker_as_without_a_filter(void **state)
{
    (void)state;
    if (HAS_SANITIZER)
        skip();
    const int status = worker(act_abort, CALLS_ON, -1);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void the_line_of_a_violation_names_thread_and_call(void **state)
{
    (void)state;
    assert_true(ended_by_violation(worker(act_socket, CALLS_ON, -1)));
    assert_string_equal(said, "c10m: thread of test one: the system call socket (41) is not "
                              "allowed (seccomp): the process ends\n");
}

static void log_mode_makes_the_call(void **state)
{
    (void)state;
    assert_int_equal(worker(act_socket, CALLS_LOG, -1), 0);
    assert_int_equal(control(act_exec, CALLS_LOG, -1), 0);
}

static void off_is_no_filter(void **state)
{
    (void)state;
    assert_int_equal(worker(act_open, CALLS_OFF, -1), 0);
    assert_int_equal(control(act_exec, CALLS_OFF, -1), 0);
}

static void other_threads_start_no_programs_and_no_processes(void **state)
{
    (void)state;
    assert_true(ended_by_violation(control(act_exec, CALLS_ON, -1)));
    assert_true(ended_by_violation(control(act_fork, CALLS_ON, -1)));
    assert_true(ended_by_violation(control(act_umount, CALLS_ON, -1)));
}

static void other_threads_open_files_and_make_threads(void **state)
{
    (void)state;
    assert_int_equal(control(act_open, CALLS_ON, -1), 0);
    assert_int_equal(control(act_thread, CALLS_ON, -1), 0);
}

static void an_exception_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(control(act_umount, CALLS_ON, SYS_umount2), 0);
}

static void sockets_are_of_families_that_are_used(void **state)
{
    (void)state;
    assert_int_equal(control(act_socket, CALLS_ON, -1), 0);
    assert_true(ended_by_violation(control(act_socket_alg, CALLS_ON, -1)));
    assert_true(ended_by_violation(control(act_socket_unknown, CALLS_ON, -1)));
}

static void a_list_has_each_call_once(void **state)
{
    (void)state;
    struct call_list list = {.n = 0};
    const int some[] = {SYS_read, SYS_write, SYS_read};
    call_list_add(&list, some, 3);
    call_list_add(&list, some, 2);
    assert_int_equal(list.n, 2);
}

// A SIGSYS that a process sends is no violation: it is pending for the main thread, which blocks it
// from then on.
static int act_sent(const void *arg)
{
    sigset_t pending;
    (void)arg;
    violation_catch();
    violation_accept(&place);
    raise(SIGSYS);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGSYS) == 1 ? 0 : 1;
}

static void a_sent_sigsys_is_handed_to_the_main_thread(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_sent, NULL), 0);
    assert_string_equal(said, "");
}

static void auto_without_such_a_user_changes_nothing(void **state)
{
    (void)state;
    struct identity who;
    struct err err;
    assert_int_equal(identity_find(&who, IDENTITY_AUTO, &err), 0);
    assert_int_equal(who.changes, geteuid() == 0 && who.uid != 0);
}

static void an_unknown_user_is_an_error(void **state)
{
    (void)state;
    struct identity who;
    struct err err;
    assert_int_equal(identity_find(&who, "no-such-user", &err), -1);
    assert_string_equal(err.text, "there is no user no-such-user");
}

static void root_stays_root(void **state)
{
    (void)state;
    struct identity who;
    struct err err;
    if (geteuid() != 0)
        skip();
    assert_int_equal(identity_find(&who, "root", &err), 0);
    assert_false(who.changes);
}

// has_line: whether /proc/self/task/TID/status has a line that begins so.
static bool has_line(int tid, const char *begin)
{
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = strncmp(line, begin, strlen(begin)) == 0;
    if (f != NULL)
        fclose(f);
    return found;
}

static void *wait_here(void *tid)
{
    __atomic_store_n((int *)tid, gettid(), __ATOMIC_RELEASE);
    for (;;)
        pause();
    return NULL;
}

// The codes tell which expectation was not met.
static int act_take(const void *arg)
{
    const uint64_t kept = *(const uint64_t *)arg;
    struct identity who;
    struct err err;
    pthread_t thread;
    int tid = 0;
    if (pthread_create(&thread, NULL, wait_here, &tid) != 0)
        return 1;
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    if (identity_find(&who, "nobody", &err) != 0 || !who.changes ||
        identity_take(&who, kept, &err) != 0)
        return 2;
    if (geteuid() != who.uid || getegid() != who.gid || setuid(0) == 0)
        return 3;
    if (!has_line(tid, "CapEff:\t0000000000000000") || !has_line(tid, "CapPrm:\t0000000000000000"))
        return 4;
    if (!has_line(gettid(), kept == 0 ? "CapEff:\t0000000000000000" : "CapEff:\t0000000000001000"))
        return 5;
    char uid[32];
    snprintf(uid, sizeof(uid), "Uid:\t%u\t%u\t%u", who.uid, who.uid, who.uid);
    return has_line(tid, uid) && has_line(gettid(), uid) ? 0 : 6;
}

static void all_threads_lose_root_and_one_keeps_what_it_needs(void **state)
{
    (void)state;
    const uint64_t none = 0, net_admin = UINT64_C(1) << 12;
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(act_take, &none), 0);
    assert_int_equal(in_child(act_take, &net_admin), 0);
}

// A process that root made another user's, with capabilities, as a service manager does.
static int act_lower(const void *arg)
{
    const uint64_t *kept = arg;
    struct identity who;
    struct err err;
    if (identity_find(&who, "nobody", &err) != 0 || identity_take(&who, kept[0], &err) != 0)
        return 1;
    if (identity_find(&who, IDENTITY_AUTO, &err) != 0 || who.changes || !who.lowers)
        return 2;
    if (identity_take(&who, kept[1], &err) != 0)
        return 3;
    if (!has_line(gettid(), "CapPrm:\t0000000000001000"))
        return 4;
    identity_no_capabilities();
    if (identity_find(&who, IDENTITY_AUTO, &err) != 0 || who.lowers)
        return 5;
    return has_line(gettid(), "CapPrm:\t0000000000000000") ? 0 : 6;
}

static void another_user_gives_up_what_its_parent_gave_it(void **state)
{
    (void)state;
    // Of net_admin and sys_admin net_admin is kept; net_raw, which it has not, is not gained.
    const uint64_t kept[] = {UINT64_C(1) << 12 | UINT64_C(1) << 21, UINT64_C(1) << 12 | UINT64_C(1)
                                                                                            << 13};
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(act_lower, kept), 0);
}

static void capabilities_are_named(void **state)
{
    (void)state;
    char text[64];
    identity_capabilities(UINT64_C(1) << 12 | UINT64_C(1) << 13, text, sizeof(text));
    assert_string_equal(text, "cap_net_admin, cap_net_raw");
    identity_capabilities(0, text, sizeof(text));
    assert_string_equal(text, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_may_end_and_write_to_stderr),
        cmocka_unit_test(a_worker_may_make_the_calls_of_its_list_only),
        cmocka_unit_test(a_worker_writes_nowhere_else_unless_its_list_has_write),
        cmocka_unit_test(a_failed_check_ends_a_worker_as_without_a_filter),
        cmocka_unit_test(the_line_of_a_violation_names_thread_and_call),
        cmocka_unit_test(log_mode_makes_the_call),
        cmocka_unit_test(off_is_no_filter),
        cmocka_unit_test(other_threads_start_no_programs_and_no_processes),
        cmocka_unit_test(other_threads_open_files_and_make_threads),
        cmocka_unit_test(an_exception_is_allowed),
        cmocka_unit_test(sockets_are_of_families_that_are_used),
        cmocka_unit_test(a_list_has_each_call_once),
        cmocka_unit_test(a_sent_sigsys_is_handed_to_the_main_thread),
        cmocka_unit_test(auto_without_such_a_user_changes_nothing),
        cmocka_unit_test(an_unknown_user_is_an_error),
        cmocka_unit_test(root_stays_root),
        cmocka_unit_test(all_threads_lose_root_and_one_keeps_what_it_needs),
        cmocka_unit_test(another_user_gives_up_what_its_parent_gave_it),
        cmocka_unit_test(capabilities_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
