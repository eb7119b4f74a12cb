// SPDX-License-Identifier: BSD-3-Clause
// store_hook.h: a call before each store to memory of code that the compiler instruments for
// ThreadSanitizer (-fsanitize=thread, without linking its run time: store_hook.c stands in for it).
// With it a test ends a "process" at any store: what is stored before is in memory, and nothing
// after it.
#pragma once
#include <setjmp.h>
#include <stdint.h>

// store_hook_n: stores so far. store_hook_end: the call before store number store_hook_n ==
// store_hook_end jumps to store_hook_dead; 0: none.
extern uint64_t store_hook_n, store_hook_end;
extern jmp_buf store_hook_dead;
