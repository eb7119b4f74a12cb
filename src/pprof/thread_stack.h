// SPDX-License-Identifier: BSD-3-Clause
// thread_stack.h: where the stack of another thread ends.
#pragma once
#include "base/own_thread.h"

// stack_low_of: the lowest address of the thread's stack. If the thread did not say it, that of the
// mapping with its high end: the guard below a stack is a mapping of its own. UINTPTR_MAX: unknown,
// and nothing of the stack may be read. Allocates; not for a worker.
uintptr_t stack_low_of(const struct own_thread *t);
