// SPDX-License-Identifier: BSD-3-Clause
#include "bench/go_unit.h"

#include <stdio.h>
#include <string.h>

// Units that may end the name of an object; they go to the end of the whole name.
static const char *const ends[] = {"_cycles", "_ns", "_us", "_bytes"};

// Names whose end stands for another unit.
static const struct {
    const char *end, *unit;
    double factor;
} shorts[] = {{"mpps", "packets/s", 1e6}, {"pps", "packets/s", 1}, {"gb_per_s", "GB/s", 1}};

// Where `end` begins in text, or NULL.
static const char *ending(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0 ? text + n - m : NULL;
}

static int join(const char *parent, const char *key, char *out)
{
    if (parent == NULL)
        return snprintf(out, GO_UNIT_MAX, "%s", key);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        const char *end = ending(parent, ends[i]);
        if (end != NULL)
            return snprintf(out, GO_UNIT_MAX, "%.*s_%s%s", (int)(end - parent), parent, key, end);
    }
    return snprintf(out, GO_UNIT_MAX, "%s_%s", parent, key);
}

static double expand_short(char out[GO_UNIT_MAX])
{
    for (size_t i = 0; i < ARRAY_LEN(shorts); i++) {
        const char *end = ending(out, shorts[i].end);
        if (end == NULL)
            continue;
        snprintf(out + (end - out), GO_UNIT_MAX - (size_t)(end - out), "%s", shorts[i].unit);
        return shorts[i].factor;
    }
    return 1;
}

static void expand_per(char *out)
{
    char *per = strstr(out, "_per_");
    if (per == NULL)
        return;
    *per = '/';
    memmove(per + 1, per + 5, strlen(per + 5) + 1);
}

bool go_unit(const char *parent, const char *key, char out[GO_UNIT_MAX], double *factor)
{
    const int n = join(parent, key, out);
    if (n < 0 || n + 16 > GO_UNIT_MAX)
        return false;
    if (strcmp(out, "ns") == 0)
        strcpy(out, "ns/op");
    *factor = expand_short(out);
    expand_per(out);
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
    return true;
}

bool go_unit_more_is_better(const char *unit)
{
    return ending(unit, "/s") != NULL || strstr(unit, "/s-") != NULL;
}
