// SPDX-License-Identifier: BSD-3-Clause
// Ends the program with a message if the CPU lacks an instruction set that the program was compiled
// for (meson's option `march`), instead of by SIGILL in the first function that needs it.
//
// This file is compiled for every x86-64 CPU. meson defines CPU_NEEDS as a row NEED(NAME) for each
// instruction set that the compiler may use in the others.
#include <stdio.h>
#include <unistd.h>

#define NEED(name)                                                                                 \
    if (!__builtin_cpu_supports(#name))                                                            \
        missing = #name;

// Before other constructors: any of them may be compiled for the wanted CPU.
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
