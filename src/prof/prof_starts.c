// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_starts.h"

#include <stdio.h>
#include <string.h>

// place_of: the entry of the client; that of the one that was idle longest becomes a new one's.
static unsigned place_of(struct prof_starts *s, const char *client)
{
    unsigned rested = 0;
    for (unsigned i = 0; i < PROF_STARTS_CLIENTS; i++) {
        if (strncmp(s->of[i].client, client, PROF_STARTS_CLIENT_BYTES - 1) == 0)
            return i;
        if (s->of[i].next_ms < s->of[rested].next_ms)
            rested = i;
    }
    snprintf(s->of[rested].client, PROF_STARTS_CLIENT_BYTES, "%s", client);
    s->of[rested].next_ms = 0;
    return rested;
}

uint32_t prof_starts_take(struct prof_starts *s, const char *client, uint64_t now_ms)
{
    const uint64_t burst_ms = (uint64_t)(PROF_STARTS_BURST - 1) * PROF_STARTS_MS;
    uint64_t *next_ms = &s->of[place_of(s, client)].next_ms;
    const uint64_t at_ms = MAX(*next_ms, now_ms);
    if (at_ms - now_ms > burst_ms)
        return (uint32_t)(at_ms - now_ms - burst_ms);
    *next_ms = at_ms + PROF_STARTS_MS;
    return 0;
}
