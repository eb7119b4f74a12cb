// SPDX-License-Identifier: BSD-3-Clause
// dwarf_functions.h: the functions in the debugging information of one file, and what was inlined
// into them.
#pragma once
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "base/base.h"

enum { DWARF_FRAMES_MAX = 64 };  // inlined into each other; deeper ones are taken for the last

// dwarf_function: [start, limit) is one of its ranges. Addresses are those of the file.
struct dwarf_function {
    uint64_t start, limit;
    Dwarf_Die die;
};

// dwarf_functions: by address. Starts zeroed. bias: added to addresses of the file gives those of
// the process.
struct dwarf_functions {
    struct dwarf_function *all;
    unsigned n, room;
    uint64_t bias;
};

// dwarf_place: one frame: the function, and the place in the source. file NULL, line 0: unknown.
// Strings live as long as the module; file may be relative to directory (may be NULL).
struct dwarf_place {
    const char *function, *file, *directory;
    unsigned line, first_line;
};

// dwarf_functions_load: finds all functions of the module; none if it has no debugging information.
// dwarf_functions_free frees what it holds.
void dwarf_functions_load(struct dwarf_functions *f, Dwfl_Module *module);
void dwarf_functions_free(struct dwarf_functions *f);

// dwarf_functions_at: the frames at an address of the process, the innermost inlined function
// first, at most max. Returns how many; 0: in none of the functions.
unsigned dwarf_functions_at(const struct dwarf_functions *f, uint64_t address,
                            struct dwarf_place *out, unsigned max);
