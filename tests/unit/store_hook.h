// SPDX-License-Identifier: BSD-3-Clause
// store_hook.h: a call before each store to memory of code that the compiler instruments for
// ThreadSanitizer (-fsanitize=thread, without linking its run time: store_hook.c stands in for it).
//
// A test watches the memory that outlives a process. Before a store there, what is in memory is
// what a process leaves that ends at this moment. The test lets another process go on with it, on
// the spot: the stores of that one are kept, and undone before the interrupted code goes on.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_range {
    const void *at;
    size_t bytes;
};

// store_hook_watch: from now on calls before() before a store to one of the n ranges, after `skip`
// such stores have passed. before() returns how many pass next. r stays the caller's and in place.
// n = 0: watches nothing.
void store_hook_watch(const struct store_range *r, unsigned n, uint64_t skip,
                      uint64_t (*before)(void));

// store_hook_n: stores to watched memory since store_hook_watch(), including the present one.
extern uint64_t store_hook_n;

// For before(). store_hook_keep: keeps what the stores that follow overwrite, except on the stack
// below before(), and in `except`. store_hook_undo: puts it back.
void store_hook_keep(struct store_range except);
void store_hook_undo(void);
