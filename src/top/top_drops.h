// SPDX-License-Identifier: BSD-3-Clause
// top_drops.h: the drop reasons of one core or of all cores, sorted by rate in descending order.
#pragma once
#include "top/top_grid.h"
#include "top/top_model.h"

enum { TOP_DROPS_MAX = 512, TOP_DROP_COLS = 36 };

// top_drop: a reason. grown: packets since the previous sample; total: packets since the start.
struct top_drop {
    const char *name;
    uint64_t grown, total;
};

// top_drops_sum: sets drops[TOP_DROPS_MAX] to the reasons in n rows with a total above 0, and
// returns their number. The names are valid as long as the sample.
unsigned top_drops_sum(const struct top_row *rows, unsigned n, struct top_drop *drops);

// top_drops_head, top_drops_put: print the heading and a line, TOP_DROP_COLS wide, at row y from
// column x.
void top_drops_head(struct top_grid *g, unsigned y, unsigned x);
void top_drops_put(struct top_grid *g, unsigned y, unsigned x, const struct top_drop *d,
                   double seconds);
