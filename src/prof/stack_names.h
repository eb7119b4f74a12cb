// SPDX-License-Identifier: BSD-3-Clause
// stack_names.h: a call stack in words, for a line of the log. Slow (pprof/symbols.h): not for the
// control thread or a worker.
#pragma once
#include "base/base.h"

enum {
    STACK_FUNCTION_BYTES = 64,
    STACK_CALLS_BYTES = 256,
    STACK_CALLS_MAX = 5,  // functions that are named
};

// stack_names: function: the innermost one of the program itself, not of a library: "-": unknown.
// calls: the innermost function, and who called it: "clock_nanosleep, called by wait, on_data".
struct stack_names {
    char function[STACK_FUNCTION_BYTES];
    char calls[STACK_CALLS_BYTES];
};

// stack_names_find: of n addresses, innermost first (pprof/stack_look.h). Where the name is not
// known, calls has the address in its file, for addr2line.
void stack_names_find(const uint64_t *addresses, unsigned n, struct stack_names *out);
