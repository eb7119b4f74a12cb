// SPDX-License-Identifier: BSD-3-Clause
// top_drops.h: why packets were dropped: the reasons of one core or of all, those that grow most
// first.
#pragma once
#include "top/top_grid.h"
#include "top/top_model.h"

enum { TOP_DROPS_MAX = 512, TOP_DROP_COLS = 36 };

// top_drop: a reason: since the sample before, and since the start.
struct top_drop {
    const char *name;
    uint64_t grown, total;
};

// top_drops_sum: the reasons of n rows that dropped anything, into drops[TOP_DROPS_MAX]; returns
// how many. The names live as long as the sample.
unsigned top_drops_sum(const struct top_row *rows, unsigned n, struct top_drop *drops);

// top_drops_head, top_drops_put: the heading and a line, TOP_DROP_COLS wide, at row y from column
// x.
void top_drops_head(struct top_grid *g, unsigned y, unsigned x);
void top_drops_put(struct top_grid *g, unsigned y, unsigned x, const struct top_drop *d,
                   double seconds);
