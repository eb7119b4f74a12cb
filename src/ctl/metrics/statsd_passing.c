// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/metrics/statsd_passing.h"

#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

static struct statsd_passing_name *find(struct statsd_passing *p, const char *name, uint64_t hash)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->at[i].hash == hash && strcmp(p->at[i].name, name) == 0)
            return &p->at[i];
    return NULL;
}

static struct statsd_passing_name *add(struct statsd_passing *p, const char *name, uint64_t hash)
{
    if (p->n == p->room) {
        const uint32_t room = p->room == 0 ? 64 : 2 * p->room;
        struct statsd_passing_name *more = reallocarray(p->at, room, sizeof(*more));
        if (more == NULL)
            return NULL;
        p->at = more;
        p->room = room;
    }
    struct statsd_passing_name *at = &p->at[p->n];
    *at = (struct statsd_passing_name){.name = strdup(name), .hash = hash};
    p->n += at->name != NULL;
    return at->name != NULL ? at : NULL;
}

void statsd_passing_see(struct statsd_passing *p, const char *name)
{
    static const struct siphash_key key;
    const uint64_t hash = siphash_bytes(&key, name, strlen(name));
    struct statsd_passing_name *at = find(p, name, hash);
    if (at == NULL && (at = add(p, name, hash)) == NULL)
        return;
    at->seen = true;
    at->zeros = STATSD_ZEROS;
}

static void drop(struct statsd_passing *p, uint32_t i)
{
    free(p->at[i].name);
    p->at[i] = p->at[--p->n];
}

const char *statsd_passing_next(struct statsd_passing *p, uint32_t *i)
{
    while (*i < p->n) {
        struct statsd_passing_name *at = &p->at[*i];
        if (!at->seen && at->zeros == 0) {
            drop(p, *i);
            continue;
        }
        ++*i;
        if (!at->seen) {
            at->zeros--;
            return at->name;
        }
        at->seen = false;
    }
    return NULL;
}

void statsd_passing_free(struct statsd_passing *p)
{
    while (p->n > 0)
        drop(p, p->n - 1);
    free(p->at);
    *p = (struct statsd_passing){.n = 0};
}
