// SPDX-License-Identifier: BSD-3-Clause
// top_grid.h: a text screen as an array of cells, and the formatting of figures for its columns. No
// side effects.
#pragma once
#include <stdarg.h>

#include "base/base.h"

enum { TOP_ROWS_MAX = 512, TOP_COLS_MAX = 512, TOP_SHORT_BYTES = 8 };

enum top_look {
    TOP_PLAIN,
    TOP_BOLD,
    TOP_DIM,
    TOP_HEAD,   // heading of the table
    TOP_PICK,   // sort column and selected row
    TOP_ALARM,  // needs attention
    TOP_BAR,
    TOP_LOOKS,
};

struct top_grid {
    unsigned rows, cols;
    char cell[TOP_ROWS_MAX][TOP_COLS_MAX];
    uint8_t look[TOP_ROWS_MAX][TOP_COLS_MAX];  // enum top_look
};

// top_grid_clear: fills a grid of rows x cols with blanks; both are limited to their maxima.
void top_grid_clear(struct top_grid *g, unsigned rows, unsigned cols);

// top_put: writes text to row `row` from column `col` on. Text outside the grid is cut, and bytes
// that are not printable ASCII become '?'. Returns the column after the uncut text.
unsigned top_put(struct top_grid *g, unsigned row, unsigned col, enum top_look look,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

// top_put_right: writes text that ends before column `end`.
void top_put_right(struct top_grid *g, unsigned row, unsigned end, enum top_look look,
                   const char *text);

// top_paint: sets the look of cells [col, end) of a row.
void top_paint(struct top_grid *g, unsigned row, unsigned col, unsigned end, enum top_look look);

// top_line: copies row `row` to `out`, terminated, without trailing blanks.
void top_line(const struct top_grid *g, unsigned row, char out[TOP_COLS_MAX + 1]);

// top_short: formats a figure in at most 5 characters: 0.3, 42, 9999, 12.3k, 1.23M (powers of
// 1000); NAN gives "-". top_short_ns: formats a time: 850n, 12.3u, 1.23m, 4.50s. Both return `out`.
const char *top_short(char out[TOP_SHORT_BYTES], double value);
const char *top_short_ns(char out[TOP_SHORT_BYTES], double ns);
