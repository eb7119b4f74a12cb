// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_drops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_rate(const void *a, const void *b)
{
    const struct top_drop *x = a, *y = b;
    if (x->grown != y->grown)
        return x->grown < y->grown ? 1 : -1;
    return (x->total < y->total) - (x->total > y->total);
}

unsigned top_drops_sum(const struct top_row *rows, unsigned n_rows, struct top_drop *drops)
{
    unsigned n = 0, kept = 0;
    for (unsigned c = 0; c < n_rows; c++) {
        const struct top_list *now = &rows[c].now->drops;
        const struct top_core *before = rows[c].before;
        for (unsigned i = 0; i < now->n && i < TOP_DROPS_MAX; i++) {
            if (i >= n)  // all cores have the same reasons in the same order
                drops[n++] = (struct top_drop){.name = now->pairs[i].name};
            if (strcmp(drops[i].name, now->pairs[i].name) != 0)
                continue;
            drops[i].total += now->pairs[i].value;
            drops[i].grown += top_grown(now, before == NULL ? NULL : &before->drops, i);
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (drops[i].total > 0)
            drops[kept++] = drops[i];
    qsort(drops, kept, sizeof(*drops), by_rate);
    return kept;
}

void top_drops_head(struct top_grid *g, unsigned y, unsigned x)
{
    top_put(g, y, x, TOP_HEAD, "%-22s %6s %6s", "dropped because", "/s", "sum");
}

void top_drops_put(struct top_grid *g, unsigned y, unsigned x, const struct top_drop *d,
                   double seconds)
{
    char rate[TOP_SHORT_BYTES], total[TOP_SHORT_BYTES];
    top_put(g, y, x, d->grown > 0 ? TOP_ALARM : TOP_PLAIN, "%-22.22s %6s %6s", d->name,
            top_short(rate, seconds > 0 ? (double)d->grown / seconds : NAN),
            top_short(total, (double)d->total));
}
