// SPDX-License-Identifier: BSD-3-Clause
// top_view.h: figures laid out into a grid of text, whatever its size. Pure.
//
//     +--------------------------------------------------------+
//     | what is wrong (verdict), or why nothing can be read    |
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

// top_draw: the whole screen into g, which has its size. f NULL: nothing has been read yet. Keeps
// the selected row visible (ui->first) and says how many rows fit (ui->page).
void top_draw(struct top_grid *g, const struct top_figures *f, struct top_ui *ui);

// top_fit: the columns that fit into `cols`, in their order; returns how many.
unsigned top_fit(unsigned cols, enum top_column fit[TOP_COLUMNS]);

// top_width: what all columns take.
unsigned top_width(void);

// top_draw_core: one core's figures, stages, drops and queues, from row TOP_HEAD_ROWS - 2 on.
void top_draw_core(struct top_grid *g, const struct top_figures *f, const struct top_row *row);

// top_draw_page: services, ports or drops of all cores, from row TOP_HEAD_ROWS - 2 on.
void top_draw_page(struct top_grid *g, const struct top_figures *f, enum top_page page);

// top_cell: the figure of a column as its cell shows it.
const char *top_cell(char out[TOP_SHORT_BYTES], const struct top_row *row, enum top_column c);
