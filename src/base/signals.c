// SPDX-License-Identifier: BSD-3-Clause
#include "base/signals.h"

#include <pthread.h>

#include "base/base.h"
#include "base/interrupt.h"

static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGXCPU};
static const int crashing[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
static const int unused[] = {SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF,
                             SIGIO,   SIGPWR,  SIGSTKFLT, SIGXFSZ};

static bool is_among(const int *list, unsigned n, int signal_number)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == signal_number)
            return true;
    return false;
}

enum signal_meaning signal_meaning(int signal_number)
{
    if (signal_number == SIGHUP)
        return SIGNAL_HANGUP;
    if (signal_number == SIGUSR1)
        return SIGNAL_REOPEN;
    if (signal_number == SIGUSR2)
        return SIGNAL_RESTART;
    if (is_among(ending, ARRAY_LEN(ending), signal_number))
        return SIGNAL_END;
    return is_among(crashing, ARRAY_LEN(crashing), signal_number) ? SIGNAL_CRASH : SIGNAL_NONE;
}

void signals_ignore(void)
{
    for (unsigned i = 0; i < ARRAY_LEN(unused); i++)
        signal(unused[i], SIG_IGN);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        signal(s, SIG_IGN);
}

void signals_held(sigset_t *out)
{
    sigemptyset(out);
    for (int s = 1; s < SIGRTMIN; s++)
        if (signal_meaning(s) != SIGNAL_NONE)
            sigaddset(out, s);
}

void signals_hold(void)
{
    sigset_t set;
    signals_held(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signals_ignore();
}

// waiting: the lowest pending signal that has this meaning, or 0.
static int waiting(enum signal_meaning meaning)
{
    sigset_t set;
    if (sigpending(&set) != 0)
        return 0;
    for (int s = 1; s < SIGRTMIN; s++)
        if (sigismember(&set, s) == 1 && signal_meaning(s) == meaning)
            return s;
    return 0;
}

bool signals_asked(void)
{
    return interrupted() || waiting(SIGNAL_END) != 0 || waiting(SIGNAL_CRASH) != 0;
}

void signals_end_by(int crash)
{
    sigset_t set;
    if (crash == 0)
        crash = waiting(SIGNAL_CRASH);
    if (crash == 0)
        return;
    signal(crash, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, crash);
    raise(crash);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
