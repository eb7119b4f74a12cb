// SPDX-License-Identifier: BSD-3-Clause
// Claims about the last line of a crash (base/crash.h): processes that end by a fault, or by a
// signal of another process.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/own_thread.h"
#include "base/signals.h"
#include "unit/check.h"

enum { OUTSIDE_STATUS = 7 };

static char said[4096];
static volatile int zero;

static void place(const struct own_thread *t, char *text, size_t n)
{
    snprintf(text, n, "the tested thread");
}

static struct own_thread here = {.place = place}, other = {.place = place};

static void fault(void)
{
    *(volatile int *)(uintptr_t)(0x10 + zero) = 1;
}

static void illegal(void)
{
    __builtin_trap();
}

static int deeper(volatile char *above)
{
    volatile char here_too[1000];
    here_too[0] = above == NULL ? 0 : above[0];
    return zero == 0 ? deeper(here_too) + here_too[0] : 0;
}

static void overflow(void)
{
    zero = deeper(NULL);
}

static void breakpoint(void)
{
    __asm__ volatile("int3");
}

static void *in_thread(void *what)
{
    own_thread_begin(&other);
    (*(void (**)(void))what)();
    return NULL;
}

// unknown: a thread that has said nothing, but accepts the signals of the one who made it.
static void *unknown(void *what)
{
    (*(void (**)(void))what)();
    return NULL;
}

// run_in: what a child of this process does, in a thread of this kind.
static void run_in(void *(*thread)(void *), void (*what)(void))
{
    pthread_t id;
    pthread_create(&id, NULL, thread, &what);
    pthread_join(id, NULL);
}

// ended: the wait status of a child that runs `child`, and what it said in `said`.
static int ended(void (*child)(void *(*thread)(void *), void (*what)(void)),
                 void *(*thread)(void *), void (*what)(void))
{
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(fds[1], STDERR_FILENO);
        signals_hold();
        crash_catch();
        own_thread_begin(&here);
        child(thread, what);
        _exit(0);
    }
    close(fds[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(fds[0], said + n, sizeof(said) - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void expect_crash(int status, int number, const char *begin)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
    const char *line = strstr(said, "c10m: error: ");
    assert_non_null(line);
    assert_memory_equal(line, begin, strlen(begin));
    assert_non_null(strstr(line, ": the process ends\n"));
}

static void a_fault_names_thread_address_and_instruction(void **state)
{
    const int status = ended(run_in, in_thread, fault);
    expect_crash(status, SIGSEGV,
                 "c10m: error: the tested thread: SIGSEGV at address 0x10, instruction 0x");
    assert_non_null(strstr(said, " of the program: "));
}

static void other_faults_do_as_well(void **state)
{
    expect_crash(ended(run_in, in_thread, illegal), SIGILL,
                 "c10m: error: the tested thread: SIGILL, instruction 0x");
    expect_crash(ended(run_in, in_thread, breakpoint), SIGTRAP,
                 "c10m: error: the tested thread: SIGTRAP, instruction 0x");
}

static void a_stack_that_overflows_is_named(void **state)
{
    expect_crash(ended(run_in, in_thread, overflow), SIGSEGV,
                 "c10m: error: the tested thread: SIGSEGV at address 0x");
    assert_non_null(strstr(said, " (the stack overflowed), instruction 0x"));
}

static void abort_is_a_fault(void **state)
{
    expect_crash(ended(run_in, in_thread, abort), SIGABRT,
                 "c10m: error: the tested thread: SIGABRT, instruction 0x");
}

static void a_thread_that_said_nothing_is_a_thread(void **state)
{
    expect_crash(ended(run_in, unknown, fault), SIGSEGV,
                 "c10m: error: a thread: SIGSEGV at address 0x10");
}

// ---- signals of another process

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void *kill_all(void *parameter)
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGILL, SIGABRT};
    const pid_t pid = *(const pid_t *)parameter;
    for (unsigned i = 0; i < 4; i++)
        kill(pid, numbers[i]);
    return NULL;
}

// reads_signals: as the control thread of a server, beside two threads; a process of its own sends
// the signals.
static void reads_signals(void *(*thread)(void *), void (*what)(void))
{
    static void (*wait)(void) = wait_for_ever;
    pthread_t id[2];
    sigset_t held;
    struct signalfd_siginfo got;
    pid_t self = getpid();
    uint64_t seen = 0;
    signals_held(&held);
    const int fd = signalfd(-1, &held, SFD_CLOEXEC);
    pthread_create(&id[0], NULL, in_thread, &wait);
    pthread_create(&id[1], NULL, unknown, &wait);
    if (fork() == 0) {
        kill_all(&self);
        _exit(0);
    }
    while ((seen & (1 << SIGSEGV | 1 << SIGABRT | 1 << SIGILL)) !=
           (1 << SIGSEGV | 1 << SIGABRT | 1 << SIGILL))
        if (read(fd, &got, sizeof(got)) == sizeof(got))
            seen |= UINT64_C(1) << got.ssi_signo;
    _exit(OUTSIDE_STATUS);
}

static void a_signal_of_another_process_reaches_the_main_thread(void **state)
{
    for (unsigned i = 0; i < 20; i++) {
        const int status = ended(reads_signals, NULL, NULL);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), OUTSIDE_STATUS);
        assert_null(strstr(said, "the process ends"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_names_thread_address_and_instruction),
        cmocka_unit_test(other_faults_do_as_well),
        cmocka_unit_test(a_stack_that_overflows_is_named),
        cmocka_unit_test(abort_is_a_fault),
        cmocka_unit_test(a_thread_that_said_nothing_is_a_thread),
        cmocka_unit_test(a_signal_of_another_process_reaches_the_main_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
