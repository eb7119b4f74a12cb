// SPDX-License-Identifier: BSD-3-Clause
// Ends the program with a message if the CPU lacks an instruction set for which the program was
// compiled (meson option `march`). Without this check, SIGILL would end it later.
//
// This file alone is compiled for every x86-64 CPU. meson defines CPU_NEEDS as a row NEED(NAME) for
// each instruction set that the compiler may use in the other files.
#include <stdio.h>
#include <unistd.h>

#define NEED(name)                                                                                 \
    if (!__builtin_cpu_supports(#name))                                                            \
        missing = #name;

// Priority 101 runs it before other constructors, which may already use the instruction sets.
__attribute__((constructor(101))) static void check_cpu(void)
{
    const char *missing = NULL;
    __builtin_cpu_init();
    CPU_NEEDS
    if (missing == NULL)
        return;
    dprintf(
        STDERR_FILENO,
        "c10m: this program was compiled for a CPU with %s, which this CPU does not have. Build "
        "it on this machine, or with -Dmarch=x86-64-v2 for every CPU since 2009\n",
        missing);
    _exit(1);
}
