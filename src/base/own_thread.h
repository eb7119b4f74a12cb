// SPDX-License-Identifier: BSD-3-Clause
// own_thread.h: a thread that profiles may interrupt (pprof/sampler.h): its id, its stack, and
// where its samples go. The thread fills it in; the one who made the thread owns it.
#pragma once
#include "base/shared.h"

// own_thread: starts zeroed, outlives its thread.
struct own_thread {
    // What the thread is doing, for the last line of a crash (base/crash.h): fills in text of n
    // bytes. Written by its owner before it begins; called in a signal handler of the thread: it
    // may use snprintf() for integers and strings. NULL: not known.
    void (*place)(const struct own_thread *t, char *text, size_t n);

    // Written by the thread, read by the control thread.
    struct shared_u32 tid;  // 0: it does not run. Release in own_thread_begin(): the stack is known
    uintptr_t stack_low, stack_high;  // low 0: see /proc/self/maps; a worker does not allocate

    // The control thread writes where samples go, the signal handler in the thread reads it and
    // says that it is using it (pprof/sample_signal.c). NULL: nowhere.
    struct shared_ptr samples;
    struct shared_u32 sampling;

    // The same for a single look at the stack (pprof/stack_look.h). NULL: nobody looks.
    struct shared_ptr look;
};

// own_thread_begin: says that the calling thread is t, and accepts SIGPROF in it, which is ignored
// unless a profile is being taken, and the signals of base/crash.h, for which it gets a stack.
// own_thread_end: it is none any more. Called by the thread itself.
void own_thread_begin(struct own_thread *t);
void own_thread_end(void);

// own_thread_current: what the calling thread is; NULL: it never said. For a signal handler, too.
struct own_thread *own_thread_current(void);
