// SPDX-License-Identifier: BSD-3-Clause
// converts.c: the server with a converter from the layout that age_layout.py makes of what a server
// has left: as if a program before had written it, whose records had their halves the other way
// round. The environment variable C10M_OLD_TYPES names the file with that layout's first lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c10m/main.h"
#include "server/adoption_convert.h"

static char types[1024];

static void swap_halves(void *now, const void *then, size_t bytes)
{
    memcpy(now, (const uint8_t *)then + bytes / 2, bytes / 2);
    memcpy((uint8_t *)now + bytes / 2, then, bytes / 2);
}

static void block(void *now, const void *then)
{
    swap_halves(now, then, sizeof(struct block));
}

static void ext(void *now, const void *then)
{
    swap_halves(now, then, sizeof(struct ext));
}

static void syn(void *now, const void *then)
{
    swap_halves(now, then, sizeof(struct syn_record));
}

static void time_wait(void *now, const void *then)
{
    swap_halves(now, then, sizeof(struct time_wait));
}

static void time_wait6(void *now, const void *then)
{
    swap_halves(now, then, sizeof(struct time_wait6));
}

static const struct adoption_converter from_0 = {
    .types = types,
    .block = {sizeof(struct block), block},
    .ext = {sizeof(struct ext), ext},
    .syn = {sizeof(struct syn_record), syn},
    .time_wait = {sizeof(struct time_wait), time_wait},
    .time_wait6 = {sizeof(struct time_wait6), time_wait6},
};
const struct adoption_converter *const adoption_converters[] = {&from_0, NULL};

int main(int argc, char **argv)
{
    static const struct c10m_app *const none[] = {NULL};
    const char *path = getenv("C10M_OLD_TYPES");
    FILE *f = path == NULL ? NULL : fopen(path, "r");
    if (f == NULL || fread(types, 1, sizeof(types) - 1, f) == 0) {
        fprintf(stderr, "C10M_OLD_TYPES: expected a file with the first lines of the layout\n");
        return 2;
    }
    fclose(f);
    return c10m_main(argc, argv, none);
}
