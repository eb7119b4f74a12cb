// SPDX-License-Identifier: BSD-3-Clause
// signals.h: what each signal means to a command that holds what outlives it: files, mounts, locks.
//
//     SIGINT SIGTERM SIGQUIT SIGXCPU     asks to end
//     SIGHUP                             a server reads its configuration again, others end
//     SIGSEGV SIGBUS SIGILL SIGFPE       sent by somebody else: asks to end, and the process then
//     SIGABRT SIGTRAP SIGSYS             ends by it; from a fault of its own: the kernel ends it
//     all others that would end it       ignored
//
// SIGKILL cannot be taken: `c10m clean` removes what that leaves, and so does the next start.
#pragma once
#include <signal.h>
#include <stdbool.h>

enum signal_meaning { SIGNAL_NONE, SIGNAL_END, SIGNAL_HANGUP, SIGNAL_CRASH };

// signal_meaning: SIGNAL_NONE: it is ignored, or does not end a process anyway.
enum signal_meaning signal_meaning(int signal_number);

// signals_ignore: those that nobody uses have no effect from here on. What a driver uses it asks
// for itself, later. Main thread.
void signals_ignore(void);

// signals_hold: signals_ignore(), and those that mean something wait until somebody reads them
// (signalfd) or asks (signals_asked): in this thread and all that it makes. Main thread, before it
// makes any, once.
void signals_hold(void);

// signals_held: the set of them.
void signals_held(sigset_t *out);

// signals_asked: one that asks to end is waiting, or has come (base/interrupt.h). Any thread.
bool signals_asked(void);

// signals_end_by: ends the process by the signal that somebody sent to crash it: `crash`, or the
// one that waits. Returns if there is none. Everything has been given back.
void signals_end_by(int crash);
