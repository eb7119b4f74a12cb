// SPDX-License-Identifier: BSD-3-Clause
// cfi.h: how to get from a function to its caller at one address, from the tables that compilers
// write for exceptions (.eh_frame, "call frame information", DWARF 5 section 6.4). Every function
// of the program and of its libraries has them, also where it keeps no frame pointer: in a function
// that has none, before it is set, after it was restored.
//
// Async-signal-safe: reads mapped memory only, and never outside of the file's image.
#pragma once
#include "pprof/loaded.h"

enum cfi_base { CFI_SP, CFI_FP };

// cfi_row: the caller's stack pointer is base + offset; the return address lies 8 below it.
struct cfi_row {
    enum cfi_base base;
    int64_t offset;
    bool outermost;  // there is no caller
    bool fp_saved;   // the caller's frame pointer lies at caller's stack pointer + fp_offset; else
                     // it is still in its register
    int64_t fp_offset;  // negative
};

// cfi_row_at: the row of an address in the code of f. False: there is none, or it uses something
// that is not supported here (expressions, other registers).
bool cfi_row_at(const struct loaded_file *f, uint64_t address, struct cfi_row *out);
