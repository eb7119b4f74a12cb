// SPDX-License-Identifier: BSD-3-Clause
#include "confine/violation.h"

#include <errno.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/base.h"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1  // si_code, <linux/signal.h>
#endif

enum { CALL_NAMES = 512, LINE_BYTES = 512, PLACE_BYTES = 256 };

static char *call_names[CALL_NAMES];  // by number; NULL: there is none
static _Thread_local const struct violation_place *place;

static void line(int call, char *out, size_t n)
{
    char where[PLACE_BYTES] = "a thread";
    const char *name = call >= 0 && call < CALL_NAMES ? call_names[call] : NULL;
    if (place != NULL)
        place->say(place->arg, where, sizeof(where));
    snprintf(out, n,
             "c10m: %s: the system call %s (%d) is not allowed (seccomp): the process ends\n",
             where, name == NULL ? "?" : name, call);
}

static void end_process(int call)
{
    char text[LINE_BYTES];
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    line(call, text, sizeof(text));
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        text[0] = '\0';  // nobody reads it: the process ends all the same
    sigaction(SIGSYS, &standard, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    syscall(SYS_tgkill, getpid(), gettid(), SIGSYS);
}

// hand_over: the main thread blocks the signal from when this handler returns, and has it pending.
static void hand_over(ucontext_t *context)
{
    const pid_t pid = getpid();
    if (gettid() == pid)
        sigaddset(&context->uc_sigmask, SIGSYS);
    syscall(SYS_tgkill, pid, pid, SIGSYS);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    (void)number;
    if (info->si_code == SYS_SECCOMP)
        end_process(info->si_syscall);
    hand_over(context);
    errno = before;
}

void violation_catch(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < CALL_NAMES; i++)
        if (call_names[i] == NULL)
            call_names[i] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
    sigaction(SIGSYS, &action, NULL);
}

void violation_accept(const struct violation_place *p)
{
    sigset_t set;
    place = p;
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
