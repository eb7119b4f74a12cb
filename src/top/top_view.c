// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

unsigned top_width(void)
{
    unsigned width = 0;
    for (unsigned c = 0; c < TOP_COLUMNS; c++)
        width += top_columns[c].width;
    return width;
}

unsigned top_fit(unsigned cols, enum top_column fit[TOP_COLUMNS])
{
    bool out[TOP_COLUMNS] = {false};
    for (unsigned width = top_width(); width > cols;) {
        unsigned worst = 0;
        for (unsigned c = 0; c < TOP_COLUMNS; c++)
            if (!out[c] && (out[worst] || top_columns[c].rank > top_columns[worst].rank))
                worst = c;
        if (out[worst] || top_columns[worst].rank == 0)
            break;
        out[worst] = true;
        width -= top_columns[worst].width;
    }
    unsigned n = 0;
    for (unsigned c = 0; c < TOP_COLUMNS; c++)
        if (!out[c])
            fit[n++] = c;
    return n;
}

const char *top_cell(char out[TOP_SHORT_BYTES], const struct top_row *row, enum top_column c)
{
    if (top_columns[c].kind == TOP_TIME)
        return top_short_ns(out, row->fig[c]);
    if (top_columns[c].kind == TOP_SHARE && !isnan(row->fig[c])) {
        snprintf(out, TOP_SHORT_BYTES, "%.*f", row->fig[c] < 9.95 ? 1 : 0, row->fig[c]);
        return out;
    }
    return top_short(out, row->fig[c]);
}

static void draw_uptime(char *out, size_t bytes, double seconds)
{
    const unsigned long s = (unsigned long)seconds;
    if (s >= 86400)
        snprintf(out, bytes, "%lu d %02lu:%02lu:%02lu", s / 86400, s / 3600 % 24, s / 60 % 60,
                 s % 60);
    else
        snprintf(out, bytes, "%02lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
}

// The problems, most severe first, as many as fit; the others are counted.
static void draw_verdicts(struct top_grid *g, const struct top_verdicts *v)
{
    unsigned at = 0, i = 0;
    if (!v->told)
        return;
    if (v->n == 0)
        top_put(g, 0, 0, TOP_BOLD, "%s", v->word);
    for (; i < v->n; i++) {
        const unsigned left = v->n - i - 1 + v->more;
        const size_t need = strlen(v->at[i].sentence) + (i > 0 ? 2 : 0) + (left > 0 ? 10 : 0);
        if (i > 0 && at + need > g->cols)
            break;
        at = top_put(g, 0, at, TOP_PLAIN, "%s", i > 0 ? "; " : "");
        at = top_put(g, 0, at, strcmp(v->at[i].severity, "note") == 0 ? TOP_BOLD : TOP_ALARM, "%s",
                     v->at[i].sentence);
    }
    if (v->n - i + v->more > 0)
        top_put(g, 0, at, TOP_PLAIN, "; %u more", v->n - i + v->more);
}

static void draw_first(struct top_grid *g, const struct top_figures *f, const struct top_ui *ui)
{
    char uptime[48];
    draw_uptime(uptime, sizeof(uptime), f->now->uptime_s);
    top_put(g, 1, 0, TOP_BOLD, "%s   up %s   %u core%s   every %g s", f->now->version, uptime,
            f->n_rows, f->n_rows == 1 ? "" : "s", ui->interval_s);
    if (ui->paused)
        top_put_right(g, 1, g->cols, TOP_ALARM, "paused");
    else if (f->since_start)
        top_put_right(g, 1, g->cols, TOP_DIM, "means since start");
}

// The sums: two lines.
static void draw_sums(struct top_grid *g, const struct top_figures *f)
{
    char s[TOP_COLUMNS][TOP_SHORT_BYTES], max[TOP_SHORT_BYTES];
    const struct top_row *t = &f->total;
    for (unsigned c = TOP_rx_pps; c < TOP_COLUMNS; c++)
        top_cell(s[c], t, c);
    unsigned at = top_put(g, 2, 0, TOP_PLAIN, "packets/s in %s out %s   bits/s in %s out %s   ",
                          s[TOP_rx_pps], s[TOP_tx_pps], s[TOP_rx_bps], s[TOP_tx_bps]);
    top_put(g, 2, at, t->fig[TOP_drops] > 0 ? TOP_ALARM : TOP_PLAIN, "drops/s %s", s[TOP_drops]);
    top_put(g, 3, 0, TOP_PLAIN,
            "connections %s of %s   new/s %s   busy %s %%   latency p50 %s p99.9 %s", s[TOP_conns],
            top_short(max, f->connections_max), s[TOP_cps], s[TOP_busy], s[TOP_p50], s[TOP_p99_9]);
}

static unsigned draw_bytes(struct top_grid *g, unsigned at, double bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    for (bytes /= 1024; bytes >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
        bytes /= 1024;
    return top_put(g, 4, at, TOP_PLAIN, "%.*f %s", bytes < 10 && bytes != floor(bytes), bytes,
                   units[unit]);
}

static void draw_memory(struct top_grid *g, const struct top_figures *f)
{
    struct top_pool fullest[3];
    uint64_t page;
    unsigned at = top_put(g, 4, 0, TOP_PLAIN, "memory ");
    if (isnan(f->reserved_bytes))
        at = top_put(g, 4, at, TOP_PLAIN, "-");
    else
        at = draw_bytes(g, at, f->reserved_bytes);
    if (top_list_find(&f->now->arenas, "arena_page_bytes", &page)) {
        at = draw_bytes(g, top_put(g, 4, at, TOP_PLAIN, ", "), (double)page);
        at = top_put(g, 4, at, TOP_PLAIN, " pages");
    }
    const unsigned n = top_fullest(&f->now->pools, "_used_now", fullest, ARRAY_LEN(fullest));
    for (unsigned i = 0; i < n; i++) {
        at = top_put(g, 4, at, TOP_PLAIN, i == 0 ? "   fullest: " : ", ");
        at = top_put(g, 4, at, fullest[i].share >= 0.9 ? TOP_ALARM : TOP_PLAIN, "%s %.*f%%",
                     fullest[i].name, fullest[i].share < 0.0995, 100 * fullest[i].share);
    }
}

// The name of a group is right-aligned above its columns, if it fits.
static void draw_groups(struct top_grid *g, const enum top_column *fit, unsigned n)
{
    unsigned at = 0;
    for (unsigned i = 0; i < n;) {
        const char *group = top_columns[fit[i]].group;
        unsigned end = at, columns = 0;
        for (; i + columns < n && strcmp(top_columns[fit[i + columns]].group, group) == 0;
             columns++)
            end += top_columns[fit[i + columns]].width;
        if (strlen(group) < end - at)
            top_put_right(g, TOP_HEAD_ROWS - 2, end, TOP_HEAD, group);
        at = end;
        i += columns;
    }
}

static void draw_heads(struct top_grid *g, const enum top_column *fit, unsigned n,
                       const struct top_ui *ui)
{
    unsigned at = 0;
    top_paint(g, TOP_HEAD_ROWS - 2, 0, g->cols, TOP_HEAD);
    top_paint(g, TOP_HEAD_ROWS - 1, 0, g->cols, TOP_HEAD);
    draw_groups(g, fit, n);
    for (unsigned i = 0; i < n; at += top_columns[fit[i++]].width) {
        const struct top_column_info *c = &top_columns[fit[i]];
        const enum top_look look = fit[i] == ui->sort ? TOP_PICK : TOP_HEAD;
        if (c->kind == TOP_TEXT)
            top_put(g, TOP_HEAD_ROWS - 1, at, look, "%s", c->head);
        else
            top_put_right(g, TOP_HEAD_ROWS - 1, at + c->width, look, c->head);
    }
}

static void draw_row(struct top_grid *g, unsigned y, const struct top_row *row,
                     const enum top_column *fit, unsigned n)
{
    const bool stalled = strcmp(row->now->state, "stalled") == 0;
    char text[TOP_SHORT_BYTES];
    unsigned at = 0;
    for (unsigned i = 0; i < n; at += top_columns[fit[i++]].width) {
        const unsigned width = top_columns[fit[i]].width;
        if (fit[i] == TOP_core)
            top_put(g, y, at, TOP_PLAIN, "%.*s", (int)width - 1, row->now->name);
        else if (fit[i] == TOP_state)
            top_put(g, y, at, stalled ? TOP_ALARM : TOP_PLAIN, "%.*s", (int)width - 1,
                    row->now->state);
        else
            top_put_right(g, y, at + width,
                          fit[i] == TOP_drops && row->fig[TOP_drops] > 0 ? TOP_ALARM : TOP_PLAIN,
                          top_cell(text, row, fit[i]));
    }
}

// Scrolls by the smallest number of rows that makes the selected row visible.
static void scroll(struct top_ui *ui, const struct top_figures *f, unsigned page)
{
    const unsigned at = top_ui_row(ui, f);
    ui->page = page;
    if (at < ui->first)
        ui->first = at;
    if (page > 0 && at >= ui->first + page)
        ui->first = at - page + 1;
    if (ui->first + page > f->n_rows)
        ui->first = f->n_rows > page ? f->n_rows - page : 0;
}

static void draw_table(struct top_grid *g, const struct top_figures *f, struct top_ui *ui)
{
    enum top_column fit[TOP_COLUMNS];
    const unsigned n = top_fit(g->cols, fit);
    const unsigned fixed = TOP_HEAD_ROWS + TOP_FOOT_ROWS;
    const unsigned page = g->rows > fixed ? g->rows - fixed : 0;
    draw_heads(g, fit, n, ui);
    scroll(ui, f, page);
    for (unsigned i = 0; i < page && ui->first + i < f->n_rows; i++) {
        draw_row(g, TOP_HEAD_ROWS + i, &f->rows[ui->first + i], fit, n);
        if (ui->selected[0] != '\0' && ui->first + i == top_ui_row(ui, f))
            top_paint(g, TOP_HEAD_ROWS + i, 0, g->cols, TOP_PICK);
    }
}

static const char *const help_lines[] = {
    "q       quit (closes help and zoom first)     Esc   close help and zoom",
    "h ?     this help                             p     pause and resume",
    "up down page keys, k j   select a core        + -   longer, shorter interval",
    "Enter z zoom into the selected core           r     reverse the order",
    "s right next column to sort by                S left  previous column",
    "1 cores   2 services   3 ports   4 drops, with the meaning of each reason",
    "",
    "Sort by a column; the same key again reverses the order:",
};

static void draw_help(struct top_grid *g)
{
    unsigned y = TOP_HEAD_ROWS - 2;
    for (unsigned i = 0; i < ARRAY_LEN(help_lines); i++)
        top_put(g, y++, 0, TOP_PLAIN, "%s", help_lines[i]);
    const unsigned room = g->rows > y + TOP_FOOT_ROWS ? g->rows - y - TOP_FOOT_ROWS : 0;
    const bool pairs = room < TOP_COLUMNS;  // two in a line, truncated
    for (unsigned c = 0; c < TOP_COLUMNS; c++) {
        const unsigned at = pairs && c % 2 != 0 ? g->cols / 2 : 0;
        const unsigned line = pairs ? c / 2 : c;
        const int cut = pairs ? (int)(g->cols / 2) - 5 : 200;
        if (line < room)
            top_put(g, y + line, at, TOP_PLAIN, " %c  %.*s", top_columns[c].key, MAX(cut, 0),
                    top_columns[c].help);
    }
}

void top_draw(struct top_grid *g, const struct top_figures *f, struct top_ui *ui)
{
    const unsigned foot = g->rows > 0 ? g->rows - 1 : 0;
    if (f != NULL) {
        if (!ui->stale)
            draw_verdicts(g, &f->now->verdicts);
        draw_first(g, f, ui);
        draw_sums(g, f);
        draw_memory(g, f);
        if (ui->help)
            draw_help(g);
        else if (ui->zoom && f->n_rows > 0)
            top_draw_core(g, f, &f->rows[top_ui_row(ui, f)]);
        else if (ui->shows != TOP_PAGE_CORES)
            top_draw_page(g, f, ui->shows);
        else
            draw_table(g, f, ui);
    }
    if (ui->stale || f == NULL)
        for (unsigned y = 0; y < foot; y++)
            top_paint(g, y, 0, g->cols, TOP_DIM);
    if (ui->trouble[0] != '\0')
        top_put(g, 0, 0, TOP_ALARM, "%s; trying again", ui->trouble);
    top_paint(g, foot, 0, g->cols, TOP_HEAD);
    top_put(g, foot, 0, TOP_HEAD, "%s",
            ui->zoom ? "q back   up down other cores   p pause   + - interval   h help"
            : ui->shows != TOP_PAGE_CORES
                ? "q back   1 cores   2 services   3 ports   4 drops   p pause   h help"
                : "q quit  h help  2 services  3 ports  4 drops  s sort  Enter zoom  p pause  + -");
}
