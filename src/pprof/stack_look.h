// SPDX-License-Identifier: BSD-3-Clause
// stack_look.h: one look at the call stack of another thread of this process, whether it computes
// or waits: a signal makes the thread write its stack down itself. (A sampler, sampler.h,
// interrupts a thread for each so many of its CPU seconds, and never sees one that waits.)
//
//     reader:  stack_look() --SIGPROF--> thread: sample_signal.c fills in the look --> reader
//
// A system call in which the thread waits may return early, with EINTR.
#pragma once
#include "base/own_thread.h"

enum { STACK_LOOK_DEPTH = 32 };  // addresses; the outermost are left out

// stack_look: the addresses of the thread's innermost functions, innermost first, at most max, as
// unwind() has them. Waits up to wait_ms for the thread; a signal to a thread that a kernel call or
// a hypervisor holds takes longer. Returns how many; 0: no answer, or the thread does not run. Not
// for the thread itself. Allocates, and reads the program's tables the first time: not for the
// control thread. One caller at a time.
unsigned stack_look(struct own_thread *t, uint64_t *addresses, unsigned max, unsigned wait_ms);
