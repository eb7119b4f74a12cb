// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void top_grid_clear(struct top_grid *g, unsigned rows, unsigned cols)
{
    g->rows = MIN(rows, (unsigned)TOP_ROWS_MAX);
    g->cols = MIN(cols, (unsigned)TOP_COLS_MAX);
    memset(g->cell, ' ', sizeof(g->cell));
    memset(g->look, TOP_PLAIN, sizeof(g->look));
}

unsigned top_put(struct top_grid *g, unsigned row, unsigned col, enum top_look look,
                 const char *format, ...)
{
    char text[TOP_COLS_MAX + 1];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    unsigned i = 0;
    for (; text[i] != '\0'; i++)
        if (row < g->rows && col + i < g->cols) {
            g->cell[row][col + i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
            g->look[row][col + i] = (uint8_t)look;
        }
    return col + i;
}

void top_put_right(struct top_grid *g, unsigned row, unsigned end, enum top_look look,
                   const char *text)
{
    const unsigned n = (unsigned)strlen(text);
    top_put(g, row, end > n ? end - n : 0, look, "%s", text);
}

void top_paint(struct top_grid *g, unsigned row, unsigned col, unsigned end, enum top_look look)
{
    for (; row < g->rows && col < MIN(end, g->cols); col++)
        g->look[row][col] = (uint8_t)look;
}

void top_line(const struct top_grid *g, unsigned row, char out[TOP_COLS_MAX + 1])
{
    unsigned n = row < g->rows ? g->cols : 0;
    while (n > 0 && g->cell[row][n - 1] == ' ')
        n--;
    if (n > 0)
        memcpy(out, g->cell[row], n);
    out[n] = '\0';
}

// Three digits and a unit. If rounding gives 1000, the next unit is used.
static const char *with_unit(char out[TOP_SHORT_BYTES], double value, const char *units)
{
    const unsigned last = (unsigned)strlen(units) - 1;
    unsigned unit = 0;
    while (value >= 999.5 && unit < last) {
        value /= 1000;
        unit++;
    }
    if (value > 9999)
        return strcpy(out, "huge");
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, TOP_SHORT_BYTES, "%.*f%c", digits, value, units[unit]);
    return out;
}

const char *top_short(char out[TOP_SHORT_BYTES], double value)
{
    if (isnan(value) || value < 0)
        return strcpy(out, "-");
    const double whole = round(value);
    if (value < 9.95 && fabs(value - whole) >= 0.05)
        snprintf(out, TOP_SHORT_BYTES, "%.1f", value);
    else if (whole < 10000)
        snprintf(out, TOP_SHORT_BYTES, "%.0f", whole);
    else
        with_unit(out, value / 1000, "kMGTPE");
    return out;
}

const char *top_short_ns(char out[TOP_SHORT_BYTES], double ns)
{
    if (isnan(ns) || ns < 0)
        return strcpy(out, "-");
    if (ns < 999.5)
        snprintf(out, TOP_SHORT_BYTES, "%.0fn", ns);
    else
        with_unit(out, ns / 1000, "ums");
    return out;
}
