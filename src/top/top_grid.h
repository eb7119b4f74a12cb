// SPDX-License-Identifier: BSD-3-Clause
// top_grid.h: a screen of text as an array of cells, and figures short enough for its columns.
// Pure.
#pragma once
#include <stdarg.h>

#include "base/base.h"

enum { TOP_ROWS_MAX = 512, TOP_COLS_MAX = 512, TOP_SHORT_BYTES = 8 };

enum top_look {
    TOP_PLAIN,
    TOP_BOLD,
    TOP_DIM,
    TOP_HEAD,   // heading of the table
    TOP_PICK,   // what is chosen: the column sorted by, the row selected
    TOP_ALARM,  // wants attention
    TOP_BAR,
    TOP_LOOKS,
};

struct top_grid {
    unsigned rows, cols;
    char cell[TOP_ROWS_MAX][TOP_COLS_MAX];
    uint8_t look[TOP_ROWS_MAX][TOP_COLS_MAX];  // enum top_look
};

// top_grid_clear: rows x cols blanks; more than the maxima becomes these.
void top_grid_clear(struct top_grid *g, unsigned rows, unsigned cols);

// top_put: writes text into row `row` from column `col` on; what lies outside of the grid is cut,
// and what is no printable ASCII becomes '?'. Returns the column behind it, as if nothing were cut.
unsigned top_put(struct top_grid *g, unsigned row, unsigned col, enum top_look look,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

// top_put_right: the same, ending before column `end`.
void top_put_right(struct top_grid *g, unsigned row, unsigned end, enum top_look look,
                   const char *text);

// top_paint: gives cells [col, end) of a row a look.
void top_paint(struct top_grid *g, unsigned row, unsigned col, unsigned end, enum top_look look);

// top_line: row `row` without blanks at its end, terminated, in `out`.
void top_line(const struct top_grid *g, unsigned row, char out[TOP_COLS_MAX + 1]);

// top_short: a figure in at most 5 characters: 0.3, 42, 9999, 12.3k, 1.23M (powers of 1000); "-" of
// NAN. top_short_ns: a time: 850n, 12.3u, 1.23m, 4.50s. Return `out`.
const char *top_short(char out[TOP_SHORT_BYTES], double value);
const char *top_short_ns(char out[TOP_SHORT_BYTES], double ns);
