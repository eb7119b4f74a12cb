// SPDX-License-Identifier: BSD-3-Clause
// elf_functions.h: the functions in the symbol table of one file.
#pragma once
#include <elfutils/libdwfl.h>

#include "base/base.h"

struct elf_function {
    uint64_t start, limit;
    const char *name;  // lives as long as the module
};

// elf_functions: by address. Starts zeroed.
struct elf_functions {
    struct elf_function *all;
    unsigned n;
};

// elf_functions_load: reads the module's table; without memory it has none. Addresses are those of
// the process. elf_functions_free frees what it holds.
void elf_functions_load(struct elf_functions *f, Dwfl_Module *module);
void elf_functions_free(struct elf_functions *f);

// elf_functions_at: the name of the function that contains the address; NULL: none. A function
// without a size ends at the next one.
const char *elf_functions_at(const struct elf_functions *f, uint64_t address);
