// SPDX-License-Identifier: BSD-3-Clause
// top_page.c: the pages for the whole server: services, ports, and the drops of all cores with the
// help text of each reason.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/top_drops.h"
#include "top/top_view.h"

enum { FIRST = TOP_HEAD_ROWS - 2, HELP_AT = TOP_DROP_COLS + 2 };

static unsigned last_row(const struct top_grid *g)
{
    return g->rows > TOP_FOOT_ROWS ? g->rows - TOP_FOOT_ROWS : 0;
}

static const struct top_list *counted_before(const struct top_items *before, const char *name)
{
    for (unsigned i = 0; before != NULL && i < before->n; i++)
        if (strcmp(before->at[i].name, name) == 0)
            return &before->at[i].counters;
    return NULL;
}

static const char *rate(char out[TOP_SHORT_BYTES], uint64_t grown, double factor, double seconds)
{
    return top_short(out, seconds > 0 ? factor * (double)grown / seconds : NAN);
}

// moving: a counter of an application and its growth.
struct moving {
    const char *name;
    uint64_t grown;
};

static int by_growth(const void *a, const void *b)
{
    const uint64_t x = ((const struct moving *)a)->grown, y = ((const struct moving *)b)->grown;
    return (x < y) - (x > y);
}

// The counters with the highest growth, as many as fit.
static void draw_moving(struct top_grid *g, unsigned y, unsigned x, const struct top_list *now,
                        const struct top_list *before, double seconds)
{
    struct moving *all = malloc((now->n + 1) * sizeof(*all));
    char text[TOP_SHORT_BYTES];
    unsigned n = 0;
    for (unsigned i = 0; all != NULL && i < now->n; i++) {
        const char *name = now->pairs[i].name;
        const size_t len = strlen(name);
        const uint64_t grown = top_grown(now, before, i);
        if (grown > 0 && !(len > 4 && strcmp(name + len - 4, "_now") == 0))
            all[n++] = (struct moving){name, grown};
    }
    if (n > 0)
        qsort(all, n, sizeof(*all), by_growth);
    for (unsigned i = 0; i < n; i++) {
        rate(text, all[i].grown, 1, seconds);
        if (x + strlen(all[i].name) + strlen(text) + 3 > g->cols)
            break;
        x = top_put(g, y, x, TOP_PLAIN, "%s%s %s", i > 0 ? "  " : "", all[i].name, text);
    }
    free(all);
}

static void draw_services(struct top_grid *g, const struct top_figures *f)
{
    const struct top_items *items = &f->now->services;
    char open[TOP_SHORT_BYTES], max[TOP_SHORT_BYTES];
    unsigned y = FIRST;
    top_paint(g, y, 0, g->cols, TOP_HEAD);
    top_put(g, y++, 0, TOP_HEAD, "%-16s %-9s %6s %6s  %s", "service", "state", "open", "of",
            "fastest counters, per second");
    for (unsigned i = 0; i < items->n && y < last_row(g); i++, y++) {
        const struct top_item *it = &items->at[i];
        const uint64_t now = top_list_get(&it->status, "connections_now");
        const uint64_t most = top_list_get(&it->status, "connections_max");
        const bool is_open = strcmp(it->word, "open") == 0, full = most > 0 && now >= most;
        top_put(g, y, 0, TOP_PLAIN, "%-16.16s", it->name);
        top_put(g, y, 17, is_open ? TOP_PLAIN : TOP_ALARM, "%-9.9s", it->word);
        top_put(g, y, 27, full ? TOP_ALARM : TOP_PLAIN, "%6s %6s", top_short(open, (double)now),
                top_short(max, (double)most));
        draw_moving(g, y, 42, &it->counters,
                    counted_before(f->before == NULL ? NULL : &f->before->services, it->name),
                    f->seconds);
    }
}

static void draw_ports(struct top_grid *g, const struct top_figures *f)
{
    static const struct {
        const char *name;
        double factor;
    } rates[] = {{"rx_packets", 1}, {"tx_packets", 1}, {"rx_bytes", 8}, {"tx_bytes", 8}};
    static const char *const losses[] = {"rx_missed", "rx_nombuf", "rx_errors", "tx_errors"};
    const struct top_items *items = &f->now->ports;
    char text[TOP_SHORT_BYTES];
    unsigned y = FIRST;
    top_paint(g, y, 0, g->cols, TOP_HEAD);
    top_put(g, y++, 0, TOP_HEAD, "%-9s%-10s%-5s%7s%7s%7s%7s%7s%7s%7s%7s", "port", "driver", "link",
            "pps in", "out", "bps in", "out", "missed", "nombuf", "rx err", "tx err");
    for (unsigned i = 0; i < items->n && y < last_row(g); i++, y++) {
        const struct top_item *it = &items->at[i];
        const struct top_list *before =
            counted_before(f->before == NULL ? NULL : &f->before->ports, it->name);
        top_put(g, y, 0, TOP_PLAIN, "%-8.8s %-9.9s ", it->name, it->word);
        top_put(g, y, 19, strcmp(it->link, "down") == 0 ? TOP_ALARM : TOP_PLAIN, "%-4.4s",
                it->link);
        unsigned at = 24;
        for (unsigned k = 0; k < ARRAY_LEN(rates); k++, at += 7)
            top_put_right(g, y, at + 7, TOP_PLAIN,
                          rate(text, top_grown_name(&it->counters, before, rates[k].name),
                               rates[k].factor, f->seconds));
        for (unsigned k = 0; k < ARRAY_LEN(losses); k++, at += 7)
            top_put_right(g, y, at + 7,
                          top_grown_name(&it->counters, before, losses[k]) > 0 ? TOP_ALARM
                                                                               : TOP_PLAIN,
                          top_short(text, (double)top_list_get(&it->counters, losses[k])));
    }
}

// The help text to the right of the number, in as many lines as needed. Returns the next free row.
static unsigned draw_reason_help(struct top_grid *g, unsigned y, const char *help)
{
    const size_t room = g->cols > HELP_AT + 10 ? g->cols - HELP_AT : 10;
    do {
        size_t n = strlen(help);
        if (n > room) {
            for (n = room; n > 0 && help[n] != ' '; n--)
                ;
            n = n == 0 ? room : n;
        }
        if (y < last_row(g))
            top_put(g, y, HELP_AT, TOP_DIM, "%.*s", (int)n, help);
        y++;
        help += n + (help[n] == ' ');
    } while (*help != '\0');
    return y;
}

static void draw_drops(struct top_grid *g, const struct top_figures *f)
{
    static struct top_drop drops[TOP_DROPS_MAX];
    const unsigned n = top_drops_sum(f->rows, f->n_rows, drops);
    unsigned y = FIRST;
    top_paint(g, y, 0, g->cols, TOP_HEAD);
    top_drops_head(g, y, 0);
    top_put(g, y++, HELP_AT, TOP_HEAD, "meaning");
    for (unsigned i = 0; i < n && y < last_row(g); i++) {
        top_drops_put(g, y, 0, &drops[i], f->seconds);
        y = draw_reason_help(g, y, top_help(f->now, drops[i].name));
    }
    if (n == 0)
        top_put(g, y, 0, TOP_PLAIN, "nothing dropped");
}

void top_draw_page(struct top_grid *g, const struct top_figures *f, enum top_page page)
{
    if (page == TOP_PAGE_SERVICES)
        draw_services(g, f);
    else if (page == TOP_PAGE_PORTS)
        draw_ports(g, f);
    else if (page == TOP_PAGE_DROPS)
        draw_drops(g, f);
}
