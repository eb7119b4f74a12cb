// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/thread_stack.h"

#include <inttypes.h>
#include <stdio.h>

uintptr_t stack_low_of(const struct own_thread *t)
{
    if (t->stack_low != 0)
        return t->stack_low;
    char line[256];
    uintptr_t low, limit, found = UINTPTR_MAX;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f != NULL && found == UINTPTR_MAX && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw", &low, &limit) == 2 &&
            low < t->stack_high && t->stack_high <= limit)
            found = low;
    if (f != NULL)
        fclose(f);
    return found;
}
