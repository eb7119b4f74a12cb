// SPDX-License-Identifier: BSD-3-Clause
// top_ui.h: what a person at the live view has chosen, and what keys do to it. Pure.
#pragma once
#include "top/top_model.h"

// Keys that are no character.
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

// What stands below the sums; keys 1 to 4.
enum top_page { TOP_PAGE_CORES, TOP_PAGE_SERVICES, TOP_PAGE_PORTS, TOP_PAGE_DROPS, TOP_PAGES };

// top_ui: zeroed but for sort and interval_s is a good begin.
struct top_ui {
    enum top_column sort;
    enum top_page shows;
    bool reverse, paused, help, zoom, quit;
    bool stale;                     // what is shown is of a server that is not there now
    char trouble[160];              // a line about it; "": all is well
    char selected[TOP_CORE_BYTES];  // "": the first row
    unsigned first;                 // row of the table that is the screen's first
    unsigned page;                  // rows of the table that fit: the view says
    double interval_s;
};

// top_ui_key: `key` is a character or an enum top_key. Of f->rows, in the order shown. Returns
// whether a new reading should be made at once (the interval changed, or the pause ended).
bool top_ui_key(struct top_ui *ui, int key, const struct top_figures *f);

// top_ui_row: the row that is selected; f->n_rows where there are none.
unsigned top_ui_row(const struct top_ui *ui, const struct top_figures *f);
