// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_convert.h"

#include <stdlib.h>
#include <string.h>

#include "tcp/tcp_time_wait.h"

const struct adoption_converter *adoption_converter_of(const char *types, size_t bytes)
{
    for (const struct adoption_converter *const *c = adoption_converters; *c != NULL; c++)
        if (strlen((*c)->types) == bytes && memcmp((*c)->types, types, bytes) == 0)
            return *c;
    return NULL;
}

// convert: n records of `bytes` in place of those of the earlier program at `then`, which stay if
// the structure is the same.
static void *convert(struct converted *mem, const struct adoption_record *r, void *then, uint32_t n,
                     size_t bytes)
{
    if (r->to == NULL || then == NULL)
        return then;
    uint8_t *now = aligned_alloc(CACHE_LINE, ALIGN_UP(n * bytes + 1, CACHE_LINE));
    mem->of[mem->n++] = now;
    mem->failed |= now == NULL;
    for (size_t i = 0; now != NULL && i < n; i++) {
        memset(now + i * bytes, 0, bytes);
        r->to(now + i * bytes, (uint8_t *)then + i * r->bytes);
    }
    return now;
}

int adoption_convert(const struct adoption_converter *c, struct tcp_left *left,
                     struct converted *mem)
{
    left->blocks = convert(mem, &c->block, left->blocks, left->n_blocks, sizeof(*left->blocks));
    left->exts = convert(mem, &c->ext, left->exts, left->n_exts, sizeof(*left->exts));
    left->syns = convert(mem, &c->syn, left->syns, left->n_syns, sizeof(*left->syns));
    left->time_wait =
        convert(mem, &c->time_wait, left->time_wait, left->n_time_wait, sizeof(*left->time_wait));
    left->time_wait6 = convert(mem, &c->time_wait6, left->time_wait6, left->n_time_wait6,
                               sizeof(*left->time_wait6));
    return mem->failed ? -1 : 0;
}

void converted_free(struct converted *mem)
{
    while (mem->n > 0)
        free(mem->of[--mem->n]);
}
