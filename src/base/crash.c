// SPDX-License-Identifier: BSD-3-Clause
#include "base/crash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log_target.h"
#include "base/own_thread.h"

enum { PLACE_BYTES = 256, LINE_BYTES = 512, STACK_BYTES = 32 << 10, NEAR_BYTES = 64 << 10 };

static const struct {
    int number;
    const char *name;
} caught[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
              {SIGFPE, "SIGFPE"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}};

static bool is_on;
static volatile sig_atomic_t handed_over[NSIG];  // to the main thread, by another process

// The program's first instruction and the byte behind its last one: of the linker.
extern const char __executable_start[], etext[];

static const char *name_of(int number)
{
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++)
        if (caught[i].number == number)
            return caught[i].name;
    return "?";
}

static bool has_address(int number)
{
    return number == SIGSEGV || number == SIGBUS;
}

// overflowed: whether the thread wrote just below or above its stack pointer, where no stack is.
static bool overflowed(int number, const siginfo_t *info, const ucontext_t *context)
{
    const uintptr_t top = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
    const uintptr_t at = (uintptr_t)info->si_addr;
    return number == SIGSEGV && (at > top ? at - top : top - at) < NEAR_BYTES;
}

static void say(int number, const siginfo_t *info, const ucontext_t *context)
{
    const uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    const uintptr_t start = (uintptr_t)__executable_start, end = (uintptr_t)etext;
    const bool inside = at >= start && at < end;
    const struct own_thread *t = own_thread_current();
    char place[PLACE_BYTES] = "a thread", address[64] = "", text[LINE_BYTES];
    if (t != NULL && t->place != NULL)
        t->place(t, place, sizeof(place));
    if (has_address(number))
        snprintf(address, sizeof(address), " at address 0x%lx%s", (unsigned long)info->si_addr,
                 overflowed(number, info, context) ? " (the stack overflowed)" : "");
    snprintf(text, sizeof(text), "%s: %s%s, instruction 0x%lx of %s: the process ends", place,
             name_of(number), address, (unsigned long)(inside ? at - start : at),
             inside ? "the program" : "a library");
    log_target_crash(text);
}

// is_own: whether this thread itself is at fault. abort() sends the signal as a process would.
static bool is_own(int number, const siginfo_t *info)
{
    return info->si_code > 0 || (number == SIGABRT && info->si_code == SI_TKILL &&
                                 info->si_pid == getpid() && !handed_over[number]);
}

// end_by: the signal comes again, now without a handler: with the same instruction, or, where that
// is behind the thread, from the thread itself.
static void end_by(int number)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(number, &standard, NULL);
    if (number == SIGABRT || number == SIGTRAP)
        syscall(SYS_tgkill, getpid(), gettid(), number);
}

// hand_over: the main thread blocks the signal from when this handler returns, and has it pending.
static void hand_over(int number, ucontext_t *context)
{
    const pid_t pid = getpid();
    if (gettid() == pid)
        sigaddset(&context->uc_sigmask, number);
    handed_over[number] = 1;
    syscall(SYS_tgkill, pid, pid, number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    if (is_own(number, info)) {
        say(number, info, context);
        end_by(number);
    } else {
        hand_over(number, context);
    }
    errno = before;
}

void crash_catch(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++)
        sigaction(caught[i].number, &action, NULL);
    is_on = true;
}

// The stack lies beside the thread's variables, so that no one has to free it.
void crash_stack(void)
{
    static _Thread_local char bytes[STACK_BYTES] __attribute__((aligned(64)));
    const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof(bytes)};
    if (is_on)
        CHECK(sigaltstack(&stack, NULL) == 0);
}

void crash_signals(sigset_t *set)
{
    for (unsigned i = 0; is_on && i < ARRAY_LEN(caught); i++)
        sigaddset(set, caught[i].number);
}
