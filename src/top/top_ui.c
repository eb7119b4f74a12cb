// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_ui.h"

#include <string.h>

unsigned top_ui_row(const struct top_ui *ui, const struct top_figures *f)
{
    for (unsigned i = 0; i < f->n_rows; i++)
        if (strcmp(f->rows[i].now->name, ui->selected) == 0)
            return i;
    return 0;
}

static void select_row(struct top_ui *ui, const struct top_figures *f, int64_t row)
{
    if (f->n_rows == 0)
        return;
    row = MAX(MIN(row, (int64_t)f->n_rows - 1), 0);
    strcpy(ui->selected, f->rows[row].now->name);
}

// Moves the selected row if `key` is one that does. Returns whether it is.
static bool move(struct top_ui *ui, int key, const struct top_figures *f)
{
    const int64_t at = top_ui_row(ui, f), page = MAX(ui->page, 1u);
    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        select_row(ui, f, at - 1);
        return true;
    case TOP_KEY_DOWN:
    case 'j':
        select_row(ui, f, at + 1);
        return true;
    case TOP_KEY_PAGE_UP:
        select_row(ui, f, at - page);
        return true;
    case TOP_KEY_PAGE_DOWN:
        select_row(ui, f, at + page);
        return true;
    case TOP_KEY_HOME:
        select_row(ui, f, 0);
        return true;
    case TOP_KEY_END:
        select_row(ui, f, f->n_rows);
        return true;
    default:
        return false;
    }
}

// The steps of + and -: 0.1, 0.2, 0.5, 1, 2, 5 and so on.
static double step(double now, bool up)
{
    static const double steps[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600};
    double to = up ? TOP_INTERVAL_S_MAX : TOP_INTERVAL_S_MIN;
    for (unsigned i = 0; i < ARRAY_LEN(steps); i++)
        if (up ? steps[i] > now * 1.001 && steps[i] < to : steps[i] < now * 0.999)
            to = steps[i];
    return to;
}

static bool sort_by(struct top_ui *ui, int key)
{
    for (unsigned c = 0; c < TOP_COLUMNS; c++)
        if (top_columns[c].key == key) {
            ui->reverse = ui->sort == c ? !ui->reverse : false;
            ui->sort = c;
            return true;
        }
    return false;
}

static void leave(struct top_ui *ui, int key)
{
    if (key == 'q' && !ui->help && !ui->zoom && ui->shows == TOP_PAGE_CORES)
        ui->quit = true;
    else if (ui->help)
        ui->help = false;
    else if (ui->zoom)
        ui->zoom = false;
    else
        ui->shows = TOP_PAGE_CORES;
}

bool top_ui_key(struct top_ui *ui, int key, const struct top_figures *f)
{
    if (move(ui, key, f))
        return false;
    switch (key) {
    case 'q':
    case TOP_KEY_ESC:
        leave(ui, key);
        return false;
    case '1':
    case '2':
    case '3':
    case '4':
        ui->shows = (enum top_page)(key - '1');
        ui->help = ui->zoom = false;
        return false;
    case 'h':
    case '?':
        ui->help = !ui->help;
        return false;
    case '\n':
    case '\r':
    case 'z':
        ui->zoom = !ui->zoom && f->n_rows > 0;
        ui->help = false;
        ui->shows = TOP_PAGE_CORES;
        select_row(ui, f, top_ui_row(ui, f));
        return false;
    case 's':
    case TOP_KEY_RIGHT:
        ui->sort = (ui->sort + 1) % TOP_COLUMNS;
        ui->reverse = false;
        return false;
    case 'S':
    case TOP_KEY_LEFT:
        ui->sort = (ui->sort + TOP_COLUMNS - 1) % TOP_COLUMNS;
        ui->reverse = false;
        return false;
    case 'r':
        ui->reverse = !ui->reverse;
        return false;
    case 'p':
    case ' ':
        ui->paused = !ui->paused;
        return !ui->paused;
    case '+':
    case '-':
        ui->interval_s = step(ui->interval_s, key == '+');
        return true;
    default:
        sort_by(ui, key);
        return false;
    }
}
