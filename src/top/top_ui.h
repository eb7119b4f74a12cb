// SPDX-License-Identifier: BSD-3-Clause
// top_ui.h: the state of the user interface, and how keys change it. No side effects.
#pragma once
#include "top/top_model.h"

// Keys that are not characters.
enum top_key {
    TOP_KEY_NONE = 0,
    TOP_KEY_ESC = 27,
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
};

#define TOP_INTERVAL_S_MIN 0.1
#define TOP_INTERVAL_S_MAX 3600.0

// The page below the sums; keys 1 to 4.
enum top_page { TOP_PAGE_CORES, TOP_PAGE_SERVICES, TOP_PAGE_PORTS, TOP_PAGE_DROPS, TOP_PAGES };

// top_ui: initially all zero except sort and interval_s.
struct top_ui {
    enum top_column sort;
    enum top_page shows;
    bool reverse, paused, help, zoom, quit;
    bool stale;                     // the figures are from a server that does not answer now
    char trouble[160];              // error line; "": no error
    char selected[TOP_CORE_BYTES];  // "": the first row
    unsigned first;                 // first visible row of the table
    unsigned page;                  // rows of the table that fit, set by top_draw()
    double interval_s;
};

// top_ui_key: processes a key, a character or an enum top_key. f->rows must be in the order shown.
// Returns whether a reading should be taken at once (the interval has changed or the pause has
// ended).
bool top_ui_key(struct top_ui *ui, int key, const struct top_figures *f);

// top_ui_row: the index of the selected row; f->n_rows if there are no rows.
unsigned top_ui_row(const struct top_ui *ui, const struct top_figures *f);
