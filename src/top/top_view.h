// SPDX-License-Identifier: BSD-3-Clause
// top_view.h: draws figures into a text grid of any size. No side effects.
//
//     +--------------------------------------------------------+
//     | problems (verdict), or the error of the connection     |
//     | version, uptime, cores, interval                       |
//     | sums: packets, bits, drops                             |
//     | connections, busy share, latency                       |
//     | memory                                                 |
//     | headings: a line of groups, a line of columns          |
//     | the cores, as many as fit   (or one core, or the help) |
//     | keys                                                   |
//     +--------------------------------------------------------+
#pragma once
#include "top/top_grid.h"
#include "top/top_ui.h"

enum { TOP_HEAD_ROWS = 7, TOP_FOOT_ROWS = 1 };

// top_draw: draws the whole screen into g, whose size is set. f NULL: there is no sample yet. Keeps
// the selected row visible (sets ui->first) and sets ui->page to the number of rows that fit.
void top_draw(struct top_grid *g, const struct top_figures *f, struct top_ui *ui);

// top_fit: the columns of the table that fit into `cols`, in their order. Returns how many.
unsigned top_fit(unsigned cols, enum top_column fit[TOP_COLUMNS]);

// top_width: the width of all columns.
unsigned top_width(void);

// top_draw_core: draws figures, stages, drops and queues of one core, from row TOP_HEAD_ROWS - 2
// on.
void top_draw_core(struct top_grid *g, const struct top_figures *f, const struct top_row *row);

// top_draw_page: draws services, ports or the drops of all cores, from row TOP_HEAD_ROWS - 2 on.
void top_draw_page(struct top_grid *g, const struct top_figures *f, enum top_page page);

// top_cell: formats the figure of a column for its cell.
const char *top_cell(char out[TOP_SHORT_BYTES], const struct top_row *row, enum top_column c);
