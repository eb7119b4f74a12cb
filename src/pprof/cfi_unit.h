// SPDX-License-Identifier: BSD-3-Clause
// cfi_unit.h: finds a function's entry in .eh_frame.
#pragma once
#include "pprof/cfi_cursor.h"
#include "pprof/loaded.h"

enum { CFI_RBP = 6, CFI_RSP = 7, CFI_RETURN = 16 };  // numbers of the x86-64 ABI

// cfi_unit: one function's entry (FDE) and what it shares with others (CIE).
struct cfi_unit {
    uint64_t start;  // of the function
    uint64_t code_align;
    int64_t data_align;
    struct cursor common, own;  // instructions
};

// cfi_unit_at: the entry of the function with this address. False: there is none, or it is encoded
// in a way that ld and compilers do not use.
bool cfi_unit_at(const struct loaded_file *f, uint64_t address, struct cfi_unit *out);
