// SPDX-License-Identifier: BSD-3-Clause
// top_core.c: the view of one core: stages as bars, reasons of drops, queues, pools.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/top_drops.h"
#include "top/top_view.h"

enum { FIRST = TOP_HEAD_ROWS - 2, STAGES_AT = FIRST + 4, LEFT_MIN = 40, POOLS_MAX = 16 };

// Three lines: the state of the worker and its figures.
static void draw_about(struct top_grid *g, const struct top_row *row)
{
    const bool stalled = strcmp(row->now->state, "stalled") == 0;
    static const char *const told[] = {"for_ms", "cpu", "node", "connections_max"};
    char s[TOP_COLUMNS][TOP_SHORT_BYTES];
    uint64_t value;
    for (unsigned c = TOP_rx_pps; c < TOP_COLUMNS; c++)
        top_cell(s[c], row, c);
    unsigned at = top_put(g, FIRST, 0, TOP_BOLD, "core %s  ", row->now->name);
    at = top_put(g, FIRST, at, stalled ? TOP_ALARM : TOP_BOLD, "%s", row->now->state);
    if (row->now->stalled[0] != '\0')
        top_put(g, FIRST, at, TOP_ALARM, "%s", row->now->stalled + strlen("stalled"));
    for (unsigned i = 0; i < ARRAY_LEN(told) && row->now->stalled[0] == '\0'; i++)
        if (top_list_find(&row->now->status, told[i], &value))
            at = top_put(g, FIRST, at, TOP_PLAIN, "  %s %lu", told[i], (unsigned long)value);
    top_put(g, FIRST + 1, 0, TOP_PLAIN,
            "packets/s %s in %s out  bits/s %s in %s out  p50 %s  p99.9 %s", s[TOP_rx_pps],
            s[TOP_tx_pps], s[TOP_rx_bps], s[TOP_tx_bps], s[TOP_p50], s[TOP_p99_9]);
    top_put(g, FIRST + 2, 0, TOP_PLAIN,
            "open %s  new/s %s  half-open %s  time-wait %s  resent/s %s  busy %s %%", s[TOP_conns],
            s[TOP_cps], s[TOP_syns], s[TOP_waits], s[TOP_retrans], s[TOP_busy]);
}

// Stages in columns [0, end): name, share, cycles per packet, bar. Returns the next free row.
static unsigned draw_stages(struct top_grid *g, const struct top_row *row, unsigned end)
{
    uint64_t cycles[STAGE_COUNT];
    char text[TOP_SHORT_BYTES];
    const double total = (double)top_stages(row, cycles);
    const double packets = (double)top_grown_name(
        &row->now->counters, row->before == NULL ? NULL : &row->before->counters, "rx_packets");
    unsigned y = STAGES_AT;
    top_paint(g, y, 0, end, TOP_HEAD);
    top_put(g, y++, 0, TOP_HEAD, "%-13s %6s %6s", "stage", "share", "cyc/p");
    for (unsigned i = 0; i < STAGE_COUNT; i++, y++) {
        const double share = total > 0 ? (double)cycles[i] / total : 0;
        const unsigned from = 28, room = end > from ? end - from : 0;
        const unsigned bar = (unsigned)lround(share * room);
        top_put(g, y, 0, TOP_PLAIN, "%-13s %5.1f%% %6s", stat_stage_names[i].name, 100 * share,
                top_short(text, packets > 0 ? (double)cycles[i] / packets : NAN));
        for (unsigned k = 0; k < bar; k++)
            top_put(g, y, from + k, i == STAGE_idle ? TOP_DIM : TOP_BAR, "#");
    }
    return y;
}

static unsigned draw_drops(struct top_grid *g, const struct top_row *row, double seconds,
                           unsigned y, unsigned x, unsigned rows)
{
    static struct top_drop drops[TOP_DROPS_MAX];
    const unsigned n = top_drops_sum(row, 1, drops);
    top_paint(g, y, x, g->cols, TOP_HEAD);
    top_drops_head(g, y++, x);
    for (unsigned i = 0; i < n && i < rows; i++, y++)
        if (i + 1 == rows && n > rows)
            top_put(g, y, x, TOP_DIM, "and %u more reasons", n - i);
        else
            top_drops_put(g, y, x, &drops[i], seconds);
    if (n == 0)
        top_put(g, y++, x, TOP_PLAIN, "nothing dropped");
    return y;
}

// The lines of cores/N/queues, from row y and column x on.
static void draw_queues(struct top_grid *g, const struct top_row *row, unsigned y, unsigned x)
{
    const struct top_list *q = &row->now->queues;
    const unsigned end = g->rows > TOP_FOOT_ROWS ? g->rows - TOP_FOOT_ROWS : 0;
    char value[TOP_SHORT_BYTES];
    if (y + 1 >= end || !q->present)
        return;
    top_paint(g, y, x, g->cols, TOP_HEAD);
    top_put(g, y++, x, TOP_HEAD, "queues");
    for (unsigned i = 0; i < q->n && y < end; i++, y++)
        top_put(g, y, x, TOP_PLAIN, "%-29.29s %6s", q->pairs[i].name,
                top_short(value, (double)q->pairs[i].value));
}

// draw_pools: the highest use of each pool since the start, in columns [0, end), the fullest first.
static void draw_pools(struct top_grid *g, const struct top_row *row, unsigned y, unsigned end)
{
    struct top_pool pools[POOLS_MAX];
    const unsigned n = top_fullest(&row->now->pools, "_used_high", pools, POOLS_MAX);
    const unsigned last = g->rows > TOP_FOOT_ROWS ? g->rows - TOP_FOOT_ROWS : 0;
    unsigned x = 0;
    if (n == 0 || y + 1 >= last)
        return;
    top_paint(g, y, 0, end, TOP_HEAD);
    top_put(g, y++, 0, TOP_HEAD, "pools, highest use");
    for (unsigned i = 0; i < n && y < last; i++) {
        char text[TOP_NAME_BYTES + 16];
        const int len =
            snprintf(text, sizeof(text), "%s %.1f%%", pools[i].name, 100 * pools[i].share);
        if (x != 0 && x + 2 + (unsigned)len > end) {
            x = 0;
            y++;
        }
        if (y < last)
            x = top_put(g, y, x == 0 ? 0 : x + 2, TOP_PLAIN, "%s", text);
    }
}

void top_draw_core(struct top_grid *g, const struct top_figures *f, const struct top_row *row)
{
    const bool beside = g->cols >= LEFT_MIN + TOP_DROP_COLS;
    const unsigned x = beside ? g->cols - TOP_DROP_COLS : 0;
    draw_about(g, row);
    unsigned y = draw_stages(g, row, beside ? x - 2 : g->cols);
    if (beside)
        draw_pools(g, row, y, x - 2);
    y = draw_drops(g, row, f->seconds, beside ? STAGES_AT : y, x,
                   row->now->queues.present ? STAGE_COUNT / 2 : STAGE_COUNT);
    draw_queues(g, row, y, x);
}
