// SPDX-License-Identifier: BSD-3-Clause
// unwind.h: from the registers of an interrupted function to its callers. For a signal handler:
// reads nothing but the stack within its bounds, and mapped tables (cfi.h); where a function has no
// entry in these, it follows the frame pointer.
#pragma once
#include "pprof/loaded.h"

// unwind_registers: instruction, stack and frame pointer.
struct unwind_registers {
    uint64_t ip, sp, fp;
};

// unwind_memory: the code of the process, and the bounds of this stack.
struct unwind_memory {
    const struct loaded_file *files;
    unsigned n_files;
    uint64_t stack_low, stack_high;
};

// unwind: addresses[0] is ip; the others lie in the call instructions of the callers (return
// address less 1). At most max >= 1. Ends at the outermost function, or where the stack makes no
// sense. Returns how many.
unsigned unwind(const struct unwind_memory *m, struct unwind_registers r, uint64_t *addresses,
                unsigned max);
