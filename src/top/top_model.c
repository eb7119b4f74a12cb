// SPDX-License-Identifier: BSD-3-Clause
// top_model.c: computes figures from two samples.
#include "top/top_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP_COLUMN_INFO(name, key, group, head, width, rank, kind, help)                           \
    {#name, key, group, head, width, rank, TOP_##kind, help},
const struct top_column_info top_columns[TOP_COLUMNS] = {TOP_COLUMN_TABLE(TOP_COLUMN_INFO)};
#undef TOP_COLUMN_INFO

// bucket: a line `bucket_le_NS COUNT` of cores/N/latency.
struct bucket {
    uint64_t ns, count;
};

static int by_time(const void *a, const void *b)
{
    const struct bucket *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static unsigned take_buckets(const struct top_list *now, const struct top_list *before,
                             struct bucket *to)
{
    static const char head[] = "bucket_le_";
    unsigned n = 0, at = 0;
    for (unsigned i = 0; i < now->n; i++) {
        const char *name = now->pairs[i].name;
        if (strncmp(name, head, sizeof(head) - 1) != 0)
            continue;
        // Both lists are sorted by time, and a bucket does not disappear, so the index only
        // increases.
        const struct top_pair *q = top_list_same(before, at, name);
        at = q == NULL ? at : (unsigned)(q - before->pairs) + 1;
        const uint64_t was = q == NULL ? 0 : q->value, is = now->pairs[i].value;
        if (is > was)
            to[n++] = (struct bucket){strtoull(name + sizeof(head) - 1, NULL, 10), is - was};
    }
    return n;
}

double top_latency_ns(const struct top_list *const *now, const struct top_list *const *before,
                      unsigned n, double quantile)
{
    size_t room = 1, used = 0;
    for (unsigned i = 0; i < n; i++)
        room += now[i]->n;
    struct bucket *all = malloc(room * sizeof(*all));
    if (all == NULL)
        return NAN;
    double packets = 0, seen = 0, at = NAN;
    for (unsigned i = 0; i < n; i++)
        used += take_buckets(now[i], before[i], all + used);
    qsort(all, used, sizeof(*all), by_time);
    for (size_t i = 0; i < used; i++)
        packets += (double)all[i].count;
    for (size_t i = 0; i < used && isnan(at); i++) {
        seen += (double)all[i].count;
        if (seen >= quantile * packets)
            at = (double)all[i].ns;
    }
    free(all);
    return at;
}

uint64_t top_stages(const struct top_row *row, uint64_t cycles[STAGE_COUNT])
{
    uint64_t total = 0;
    for (unsigned i = 0; i < STAGE_COUNT; i++) {
        char name[TOP_NAME_BYTES];
        snprintf(name, sizeof(name), "%s_cycles", stat_stage_names[i].name);
        cycles[i] = top_grown_name(&row->now->cycles,
                                   row->before == NULL ? NULL : &row->before->cycles, name);
        total += cycles[i];
    }
    return total;
}

static double grown(const struct top_row *row, const char *name)
{
    return (double)top_grown_name(&row->now->counters,
                                  row->before == NULL ? NULL : &row->before->counters, name);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static void cycle_figures(struct top_row *row, double packets)
{
    uint64_t cycles[STAGE_COUNT];
    const uint64_t total = top_stages(row, cycles);
    const uint64_t busy = total - cycles[STAGE_idle];
    row->fig[TOP_busy] = 100 * ratio((double)busy, (double)total);
    row->fig[TOP_cpp] = ratio((double)(busy - cycles[STAGE_app]), packets);
    row->fig[TOP_app] = ratio((double)cycles[STAGE_app], packets);
}

static void row_figures(struct top_row *row, double seconds)
{
    const struct top_list *c = &row->now->counters;
    const struct top_list *latency[] = {&row->now->latency};
    const struct top_list *earlier[] = {row->before == NULL ? NULL : &row->before->latency};
    const struct {
        enum top_column column;
        double amount;
    } rates[] = {{TOP_rx_pps, grown(row, "rx_packets")},
                 {TOP_tx_pps, grown(row, "tx_packets")},
                 {TOP_rx_bps, 8 * grown(row, "rx_bytes")},
                 {TOP_tx_bps, 8 * grown(row, "tx_bytes")},
                 {TOP_cps, grown(row, "conns_opened_passive") + grown(row, "conns_opened_active")},
                 {TOP_drops, grown(row, "dropped") + grown(row, "dropped_tx")},
                 {TOP_retrans, grown(row, "tx_retransmits_segs")}};
    for (unsigned i = 0; i < ARRAY_LEN(rates); i++)
        row->fig[rates[i].column] = ratio(rates[i].amount, seconds);
    row->fig[TOP_core] = row->fig[TOP_state] = NAN;
    row->fig[TOP_conns] = (double)top_list_get(c, "connections_now");
    row->fig[TOP_syns] = (double)top_list_get(c, "syn_records_now");
    row->fig[TOP_waits] = (double)top_list_get(c, "time_wait_now");
    cycle_figures(row, grown(row, "rx_packets"));
    row->fig[TOP_p50] = top_latency_ns(latency, earlier, 1, 0.5);
    row->fig[TOP_p99_9] = top_latency_ns(latency, earlier, 1, 0.999);
}

static bool fell(const struct top_core *now, const struct top_core *before)
{
    return top_list_fell(&now->counters, &before->counters) ||
           top_list_fell(&now->drops, &before->drops) ||
           top_list_get(&now->cycles, "total_cycles") <
               // the file also has shares, which may decrease
               top_list_get(&before->cycles, "total_cycles");
}

static const struct top_core *same_core(const struct top_sample *s, unsigned at, const char *name)
{
    if (s == NULL)
        return NULL;
    for (unsigned i = 0; i < s->n_cores; i++) {
        const struct top_core *c = &s->cores[(at + i) % s->n_cores];
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

// Sums of the rows where a sum has a meaning; ratios are computed from the sums.
static void total_figures(struct top_figures *f)
{
    struct top_row *t = &f->total;
    double busy = 0, handling = 0, app = 0, cycles = 0, packets = 0;
    for (unsigned c = 0; c < TOP_COLUMNS; c++)
        t->fig[c] = 0;
    for (unsigned i = 0; i < f->n_rows; i++) {
        struct top_row *r = &f->rows[i];
        uint64_t stage[STAGE_COUNT];
        const double sum = (double)top_stages(r, stage);
        for (unsigned c = 0; c < TOP_COLUMNS; c++)
            t->fig[c] += isnan(r->fig[c]) ? 0 : r->fig[c];
        cycles += sum;
        busy += sum - (double)stage[STAGE_idle];
        handling += sum - (double)stage[STAGE_idle] - (double)stage[STAGE_app];
        app += (double)stage[STAGE_app];
        packets += grown(r, "rx_packets");
    }
    t->fig[TOP_core] = t->fig[TOP_state] = NAN;
    t->fig[TOP_busy] = 100 * ratio(busy, cycles);
    t->fig[TOP_cpp] = ratio(handling, packets);
    t->fig[TOP_app] = ratio(app, packets);
}

static void total_latency(struct top_figures *f)
{
    static const struct top_list *now[TOP_CORES_MAX], *before[TOP_CORES_MAX];
    for (unsigned i = 0; i < f->n_rows; i++) {
        now[i] = &f->rows[i].now->latency;
        before[i] = f->rows[i].before == NULL ? NULL : &f->rows[i].before->latency;
    }
    f->total.fig[TOP_p50] = top_latency_ns(now, before, f->n_rows, 0.5);
    f->total.fig[TOP_p99_9] = top_latency_ns(now, before, f->n_rows, 0.999);
}

// Sets *pool to the pool whose size is in pair p, and its share that the line `figure` says. False
// if p is not a size, or if the size is 0.
static bool pool_of(const struct top_list *pools, const struct top_pair *p, const char *figure,
                    struct top_pool *pool)
{
    static const char tail[] = "_size";
    char used[TOP_NAME_BYTES + 16];
    const size_t n = strlen(p->name), t = sizeof(tail) - 1;
    if (n <= t || strcmp(p->name + n - t, tail) != 0 || p->value == 0)
        return false;
    snprintf(pool->name, sizeof(pool->name), "%.*s", (int)(n - t), p->name);
    snprintf(used, sizeof(used), "%s%s", pool->name, figure);
    pool->share = (double)top_list_get(pools, used) / (double)p->value;
    return true;
}

unsigned top_fullest(const struct top_list *pools, const char *figure, struct top_pool *fullest,
                     unsigned max)
{
    unsigned n = 0;
    struct top_pool pool;
    for (unsigned i = 0; i < pools->n; i++) {
        if (!pool_of(pools, &pools->pairs[i], figure, &pool))
            continue;
        unsigned at = n;
        while (at > 0 && fullest[at - 1].share < pool.share)
            at--;
        if (at == max)
            continue;
        n = MIN(n + 1, max);
        memmove(&fullest[at + 1], &fullest[at], (n - 1 - at) * sizeof(pool));
        fullest[at] = pool;
    }
    return n;
}

static double told(const struct top_list *l, const char *name)
{
    uint64_t value;
    return top_list_find(l, name, &value) ? (double)value : NAN;
}

int top_compute(struct top_figures *f, const struct top_sample *now,
                const struct top_sample *before)
{
    if (f->rows == NULL && (f->rows = calloc(TOP_CORES_MAX, sizeof(f->rows[0]))) == NULL)
        return -ENOMEM;
    if (before != NULL && before->uptime_s > now->uptime_s)
        before = NULL;  // the server was restarted
    f->now = now;
    f->before = before;
    f->since_start = before == NULL;
    f->seconds = now->uptime_s - (before == NULL ? 0 : before->uptime_s);
    f->n_rows = now->n_cores;
    for (unsigned i = 0; i < f->n_rows; i++) {
        struct top_row *r = &f->rows[i];
        r->now = &now->cores[i];
        r->before = same_core(before, i, r->now->name);
        if (r->before != NULL && fell(r->now, r->before))
            r->before = NULL;
        row_figures(r, f->seconds);
    }
    total_figures(f);
    total_latency(f);
    f->reserved_bytes = told(&now->arenas, "total_reserved_bytes");
    f->connections_max = told(&now->arenas, "connections");
    return 0;
}

void top_figures_free(struct top_figures *f)
{
    free(f->rows);
    *f = (struct top_figures){0};
}

// order: the sort criterion of top_sort(), passed by qsort_r().
struct order {
    enum top_column by;
    bool reverse;
};

static int compare(const void *a, const void *b, void *arg)
{
    const struct top_row *x = a, *y = b;
    const struct order *o = arg;
    const double p = x->fig[o->by], q = y->fig[o->by];
    int rc = 0;
    if (o->by == TOP_state)
        rc = strcmp(x->now->state, y->now->state);
    else if (isnan(p) != isnan(q))
        return isnan(p) ? 1 : -1;
    else if (o->by != TOP_core)
        rc = (p < q) - (p > q);
    if (rc == 0)
        return (x->now < y->now) != (o->by == TOP_core && o->reverse) ? -1 : 1;
    return o->reverse ? -rc : rc;
}

void top_sort(struct top_figures *f, enum top_column by, bool reverse)
{
    struct order o = {by, reverse};
    qsort_r(f->rows, f->n_rows, sizeof(f->rows[0]), compare, &o);
}
