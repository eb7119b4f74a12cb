// SPDX-License-Identifier: BSD-3-Clause
// signals.h: the meaning of each signal to a command that holds files, mounts or locks that outlive
// it.
//
//     SIGINT SIGTERM SIGQUIT SIGXCPU     end
//     SIGHUP                             a server reloads its configuration, other commands end
//     SIGUSR1                            a server opens its logs again, `c10m load` ends its
//                                        requests, other commands ignore it
//     SIGUSR2                            a server ends for a restart, other commands ignore it
//     SIGSEGV SIGBUS SIGILL SIGFPE       from another process: clean up, then end by that signal;
//     SIGABRT SIGTRAP SIGSYS             from a fault of this process: base/crash.h
//     others that would end a process    ignored
//
// SIGKILL cannot be caught: `c10m clean`, or the next start, removes what it leaves behind.
#pragma once
#include <signal.h>
#include <stdbool.h>

enum signal_meaning {
    SIGNAL_NONE,
    SIGNAL_END,
    SIGNAL_HANGUP,
    SIGNAL_REOPEN,
    SIGNAL_RESTART,
    SIGNAL_CRASH
};

// signal_meaning: the meaning of a signal; SIGNAL_NONE: it is ignored or does not end a process.
enum signal_meaning signal_meaning(int signal_number);

// signals_ignore: ignores the signals that have no meaning here. A driver that uses one installs
// its handler later. Main thread.
void signals_ignore(void);

// signals_hold: calls signals_ignore(), and blocks the signals that have a meaning in this thread
// and in those that it creates, for signalfd and signals_asked(). Main thread, once, before it
// creates a thread.
void signals_hold(void);

// signals_held: the set of blocked signals.
void signals_held(sigset_t *out);

// signals_asked: whether a signal that asks to end is pending or was recorded (base/interrupt.h).
// Any thread.
bool signals_asked(void);

// signals_end_by: ends the process by the crash signal that another process sent: `crash`, or the
// pending one. Returns if there is none. Call it after everything was released.
void signals_end_by(int crash);
