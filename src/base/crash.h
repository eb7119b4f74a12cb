// SPDX-License-Identifier: BSD-3-Clause
// crash.h: the last line of a process that ends by a fault of its own: SIGSEGV, SIGBUS, SIGILL,
// SIGFPE, SIGTRAP, or SIGABRT from abort(). It names the thread, what the thread was doing and the
// instruction; then the kernel ends the process and writes a core dump, as without it.
//
//     c10m: error: worker on CPU 1, stage app of service web, application http: SIGSEGV at address
//     0x10, instruction 0x4f2a1c of the program: the process ends
//
//     addr2line -fie c10m 0x4f2a1c
//
// The same signals from another process keep their meaning (base/signals.h): the handler hands them
// over to the main thread, which blocks them then and reads them from its signalfd.
//
// If the stack of a thread overflows, the line says so: "SIGSEGV at address 0x10 (the stack
// overflowed)". A thread that has not called crash_stack() ends without a line then.
#pragma once
#include <signal.h>

// crash_catch: installs the handler. Main thread, once, while it blocks these signals.
void crash_catch(void);

// crash_stack: gives the calling thread a second stack, for the handler alone. Called by
// own_thread_begin().
void crash_stack(void);

// crash_signals: adds the signals that a thread accepts, after crash_catch(), to set. Called by
// own_thread_begin(): only its threads say what they were doing; any other thread that accepts them
// is "a thread".
void crash_signals(sigset_t *set);
