// SPDX-License-Identifier: BSD-3-Clause
// Measures cycles per packet and stage for growing numbers of connections and for all page sizes.
// For each combination, a separate server runs in a separate process, with tables of matching size.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "bench/bench_main.h"
#include "bench/bench_pair.h"
#include "bench/bench_server.h"
#include "bench/costs.h"
#include "bench/subprocess.h"
#include "bench/svg.h"
#include "mem/page_supply.h"

enum { SLICES = 21, ROWS_MAX = 4 * BENCH_COUNTS_MAX };

static const char help[] =
    "usage: c10m bench growth [OPTIONS]\n"
    "\n"
    "Measure the cycles per received packet of the server's echo service, in total and by stage, "
    "for\n"
    "several numbers of connections and page sizes. A client in lockstep feeds it, as in\n"
    "`c10m bench echo`. The stages are those of the slice at the lower decile, which the host did "
    "not\n"
    "disturb.\n"
    "\n"
    "  --pages LIST        page sizes of auto, none, 2M, 1G, such as none,2M,1G (default auto)\n"
    "  --svg FILE          write a plot to FILE\n"
    "  --connections LIST  numbers of connections (default 1k,10k,100k,1M,10M)\n"
    "  --seconds S         seconds for each of them (default 2)\n" BENCH_LOOP_HELP;

struct task {
    struct bench_options o;  // with one number of connections
    enum pages_kind pages;
};

struct row {
    enum pages_kind pages;
    uint32_t connections;
    double median, low;         // cycles per packet: median of the slices, lower decile
    double stages[STAGE_idle];  // stages of the slice at the lower decile
    double mpps;                // at the median
    double tsc_hz;
};

struct slice {
    double cycles;
    double stages[STAGE_idle];
};

static const struct {
    const char *name;
    enum pages_kind pages;
} kinds[] = {{"auto", PAGES_AUTO}, {"none", PAGES_NONE}, {"2M", PAGES_2M}, {"1G", PAGES_1G}};

static const char *kind_name(enum pages_kind pages)
{
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].pages == pages)
            return kinds[i].name;
    return "";
}

static int by_cycles(const void *a, const void *b)
{
    const double x = ((const struct slice *)a)->cycles, y = ((const struct slice *)b)->cycles;
    return (x > y) - (x < y);
}

static int one_slice(const struct bench_options *o, struct bench_pair *pair, struct slice *out,
                     struct err *err)
{
    static struct core_stats before, after;
    struct bench_row row = {0};
    stat_snapshot(&before, pair->w->stats);
    if (bench_slice(&pair->server, pair->feed, o->seconds / SLICES, &row, err) != 0)
        return -1;
    stat_snapshot(&after, pair->w->stats);
    const double packets = (double)(after.c.rx_packets - before.c.rx_packets);
    out->cycles = (double)row.cycles / (double)row.packets;
    for (unsigned s = 0; s < STAGE_idle; s++)
        out->stages[s] = (double)(after.cycles[s] - before.cycles[s]) / packets;
    return 0;
}

static int measure_pair(const struct bench_options *o, struct bench_pair *pair, struct row *out,
                        struct err *err)
{
    static struct slice slices[SLICES];
    for (unsigned i = 0; i < SLICES; i++)
        if (one_slice(o, pair, &slices[i], err) != 0)
            return -1;
    qsort(slices, SLICES, sizeof(slices[0]), by_cycles);
    out->median = slices[SLICES / 2].cycles;
    out->low = slices[SLICES / 10].cycles;
    memcpy(out->stages, slices[SLICES / 10].stages, sizeof(out->stages));
    return 0;
}

static int measure(const void *arg, void *result, struct err *err)
{
    const struct task *t = arg;
    struct row *out = result;
    static struct server_params p;
    static struct bench_pair pair;
    static struct core_stats now;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mgrowth%d", (int)getpid());
    *out = (struct row){.pages = t->pages, .connections = t->o.counts[0], .tsc_hz = costs_tsc_hz()};
    bench_pair_params(&t->o, &p, prefix);
    p.pages = t->pages;
    p.extra_packet_bytes = 32u << 20;
    if (t->pages == PAGES_AUTO)
        bench_pages(&p, "growth");
    struct server *s = server_start(&p, err);
    if (s == NULL)
        return -1;
    int rc = bench_pair_join(&t->o, s, &pair, err);
    if (rc == 0) {
        rc = bench_pair_open(&t->o, &pair, t->o.counts[0], err);
        if (rc == 0)
            rc = measure_pair(&t->o, &pair, out, err);
        struct err closing;
        if (bench_pair_close(&pair, &now, &closing) != 0 && rc == 0)
            rc = err_set(err, "%s", closing.text);
    }
    server_stop_workers(s);
    bench_pair_part(&pair);
    server_stop(s);
    out->mpps = out->tsc_hz / out->median / 1e6;
    return rc;
}

static void print_head(const struct bench_options *o)
{
    if (o->json) {
        printf("{\"bench\":\"growth\",\"batch\":%u,\"payload_bytes\":%u,\"rows\":[", o->batch,
               o->payload);
        return;
    }
    printf(
        "growth: request in, reply out, pure ACK in; %u-byte payload, batches of %u; cycles of a "
        "received packet\n%-5s %11s %7s %7s %7s ",
        o->payload, o->batch, "pages", "connections", "Mpps", "median", "decile");
    for (unsigned s = 0; s < STAGE_idle; s++)
        printf(" %*s", (int)MAX(strlen(stat_stage_names[s].name), (size_t)5),
               stat_stage_names[s].name);
    printf("\n");
}

static void print_row(const struct bench_options *o, const struct row *r, bool first)
{
    if (o->json) {
        printf("%s{\"pages\":\"%s\",\"connections\":%u,\"mpps\":%.3f,\"cycles_per_packet\":%.1f,"
               "\"lower_decile_cycles\":%.1f,\"stages\":{",
               first ? "" : ",", kind_name(r->pages), r->connections, r->mpps, r->median, r->low);
        for (unsigned s = 0; s < STAGE_idle; s++)
            printf("%s\"%s\":%.2f", s == 0 ? "" : ",", stat_stage_names[s].name, r->stages[s]);
        printf("}}");
    } else {
        printf("%-5s %11u %7.2f %7.1f %7.1f ", kind_name(r->pages), r->connections, r->mpps,
               r->median, r->low);
        for (unsigned s = 0; s < STAGE_idle; s++)
            printf(" %*.1f", (int)MAX(strlen(stat_stage_names[s].name), (size_t)5), r->stages[s]);
        printf("\n");
    }
    fflush(stdout);
}

static void add_point(struct svg_series *s, double x, double y)
{
    if (s->n == SVG_POINTS_MAX)
        return;
    s->x[s->n] = x;
    s->y[s->n++] = y;
}

// Plots the total for each page size, and the stages for the first page size.
static void make_plot(const struct row *rows, unsigned n, struct svg_plot *p)
{
    static char names[ARRAY_LEN(kinds)][32];
    *p = (struct svg_plot){.title = "c10m: cycles of a received packet",
                           .x_label = "connections, in random order",
                           .y_label = "TSC cycles"};
    for (unsigned i = 0; i < n; i++) {
        if (i == 0 || rows[i].pages != rows[i - 1].pages) {
            snprintf(names[p->n], sizeof(names[0]), "total, pages %s", kind_name(rows[i].pages));
            p->series[p->n] = (struct svg_series){.name = names[p->n], .heavy = true};
            p->n++;
        }
        add_point(&p->series[p->n - 1], rows[i].connections, rows[i].low);
    }
    for (unsigned s = 0; s < STAGE_idle && p->n < SVG_SERIES_MAX; s++, p->n++) {
        p->series[p->n] = (struct svg_series){.name = stat_stage_names[s].name};
        for (unsigned i = 0; i < n && rows[i].pages == rows[0].pages; i++)
            add_point(&p->series[p->n], rows[i].connections, rows[i].stages[s]);
    }
}

static int write_plot(const char *path, const struct row *rows, unsigned n)
{
    static struct svg_plot plot;
    struct text text;
    make_plot(rows, n, &plot);
    text_init(&text, 1 << 20);
    svg_render(&plot, &text);
    FILE *f = fopen(path, "we");
    bool ok = f != NULL && fputs(text_str(&text), f) >= 0;
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    text_free(&text);
    if (!ok)
        fprintf(stderr, "c10m bench growth: %s: %m\n", path);
    return ok ? 0 : -1;
}

// own: the options that bench_options_parse() does not have.
struct own {
    const char *svg;
    unsigned n_pages;
    enum pages_kind pages[ARRAY_LEN(kinds)];
};

static bool parse_pages(char *list, struct own *own)
{
    own->n_pages = 0;
    for (char *word; (word = strsep(&list, ",")) != NULL;) {
        unsigned i = 0;
        while (i < ARRAY_LEN(kinds) && strcmp(kinds[i].name, word) != 0)
            i++;
        if (i == ARRAY_LEN(kinds) || own->n_pages == ARRAY_LEN(own->pages))
            return false;
        own->pages[own->n_pages++] = kinds[i].pages;
    }
    return true;
}

// Removes the options of this benchmark from argv and updates *argc. Returns false after a message
// if the usage is wrong.
static bool parse_own(int *argc, char **argv, struct own *own)
{
    int left = 0;
    for (int i = 0; i < *argc; i++) {
        const bool svg = strcmp(argv[i], "--svg") == 0, pages = strcmp(argv[i], "--pages") == 0;
        if (!svg && !pages) {
            argv[left++] = argv[i];
            continue;
        }
        if (++i == *argc || (pages && !parse_pages(argv[i], own))) {
            fprintf(stderr, "c10m bench growth: %s: expected %s\n", svg ? "--svg" : "--pages",
                    svg ? "a file" : "page sizes of auto, none, 2M, 1G, such as none,2M");
            return false;
        }
        if (svg)
            own->svg = argv[i];
    }
    *argc = left;
    argv[left] = NULL;
    return true;
}

static int run(const struct bench_options *o, const struct own *own)
{
    static struct row rows[ROWS_MAX];
    unsigned n = 0;
    int rc = 0;
    print_head(o);
    for (unsigned k = 0; k < own->n_pages; k++)
        for (unsigned i = 0; i < o->count_n && !interrupted(); i++) {
            struct task t = {.o = *o, .pages = own->pages[k]};
            struct err err = {.text = ""};
            t.o.counts[0] = o->counts[i];
            t.o.count_n = 1;
            if (bench_subprocess(measure, &t, &rows[n], sizeof(rows[n]), &err) != 0) {
                fprintf(stderr, "c10m bench growth: pages %s, %u connections: %s\n",
                        kind_name(t.pages), t.o.counts[0], err.text);
                rc = -1;
                continue;
            }
            print_row(o, &rows[n], n == 0);
            n++;
        }
    if (o->json)
        printf("]}\n");
    if (own->svg != NULL && write_plot(own->svg, rows, n) != 0)
        rc = -1;
    return rc == 0 && !interrupted() ? 0 : 1;
}

int bench_growth(int argc, char **argv)
{
    struct own own = {.n_pages = 1, .pages = {PAGES_AUTO}};
    struct bench_options o = {.counts = {1000, 10000, 100000, 1000000, 10000000},
                              .count_n = 5,
                              .batch = 1024,
                              .payload = 64,
                              .seconds = 2,
                              .seed = 1,
                              .server_cpu = 1};
    if (!parse_own(&argc, argv, &own))
        return 2;
    const int rc = bench_options_parse(argc, argv, "growth", help, &o);
    return rc == 0 ? run(&o, &own) : rc == 1 ? 0 : 2;
}
