// SPDX-License-Identifier: BSD-3-Clause
#include "server/core_name.h"

#include <stdio.h>

#include "server/server.h"

void server_core_name(const struct server *s, unsigned w, char out[CORE_NAME_BYTES])
{
    unsigned before = 0;
    const unsigned cpu = server_worker(s, w)->cpu;
    for (unsigned i = 0; i < w; i++)
        before += server_worker(s, i)->cpu == cpu;
    if (before == 0)
        snprintf(out, CORE_NAME_BYTES, "%u", cpu);
    else
        snprintf(out, CORE_NAME_BYTES, "%u.%u", cpu, before);
}
