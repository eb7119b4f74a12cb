// SPDX-License-Identifier: BSD-3-Clause
#include "server/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// series: a ring of points. `before` is what was counted at the end of the last one.
struct series {
    unsigned room, looks_a_point, looks;
    uint64_t n;                   // points so far: number i is in at_ns[i % room]
    uint64_t *at_ns;              // [room]
    float *figures;               // [room][n_cores][HISTORY_FIGURES]
    uint64_t begin_ns;            // 0: nothing was counted yet
    struct history_core *before;  // [n_cores]
};

struct change {
    uint64_t at_ns, unix_s;
    bool on;
    uint8_t kind;
    char subject[VERDICT_SUBJECT_BYTES];
    char sentence[VERDICT_SENTENCE_BYTES];
};

static_assert(VERDICT_KINDS <= UINT8_MAX, "a change keeps its kind in a byte");

struct history {
    unsigned n_cores;
    struct series fine, coarse;
    uint64_t n_changes;
    struct change changes[HISTORY_CHANGES];
};

static const char *const figure_names[HISTORY_FIGURES] = {
#define FIGURE_NAME(name, help) #name,
    HISTORY_FIGURE_TABLE(FIGURE_NAME)
#undef FIGURE_NAME
};

static int series_init(struct series *s, unsigned room, unsigned looks_a_point, unsigned n_cores)
{
    *s = (struct series){.room = room, .looks_a_point = looks_a_point};
    s->at_ns = calloc(room, sizeof(*s->at_ns));
    s->figures = calloc((size_t)room * n_cores * HISTORY_FIGURES, sizeof(*s->figures));
    s->before = aligned_alloc(CACHE_LINE, n_cores * sizeof(*s->before));
    return s->at_ns == NULL || s->figures == NULL || s->before == NULL ? -1 : 0;
}

static void series_fini(struct series *s)
{
    free(s->at_ns);
    free(s->figures);
    free(s->before);
}

struct history *history_new(unsigned n_cores)
{
    struct history *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return NULL;
    h->n_cores = n_cores;
    if ((series_init(&h->fine, HISTORY_FINE_POINTS, 1, n_cores) |
         series_init(&h->coarse, HISTORY_COARSE_POINTS, HISTORY_COARSE_LOOKS, n_cores)) == 0)
        return h;
    history_free(h);
    return NULL;
}

void history_free(struct history *h)
{
    if (h == NULL)
        return;
    series_fini(&h->fine);
    series_fini(&h->coarse);
    free(h);
}

void history_look(const struct server *s, unsigned worker, struct history_core *out)
{
    static struct core_stats copy;
    const struct worker *w = server_worker(s, worker);
    stat_snapshot(&copy, w->stats);
    *out = (struct history_core){.rx_packets = copy.c.rx_packets,
                                 .tx_packets = copy.c.tx_packets,
                                 .rx_bytes = copy.c.rx_bytes,
                                 .tx_bytes = copy.c.tx_bytes,
                                 .opened = copy.c.conns_opened_passive + copy.c.conns_opened_active,
                                 .dropped = stat_dropped_rx(&copy) + stat_dropped_tx(&copy),
                                 .connections = copy.c.connections_now,
                                 .idle_cycles = copy.cycles[STAGE_idle],
                                 .app_cycles = copy.cycles[STAGE_app],
                                 .tsc_hz = worker_tsc_hz(w)};
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        out->cycles += copy.cycles[i];
    latency_snapshot(&out->latency, &w->busy);
}

static double ratio(uint64_t is, uint64_t was, double over)
{
    return over > 0 && is >= was ? (double)(is - was) / over : NAN;
}

static void latency_figures(const struct history_core *now, const struct history_core *before,
                            float *to)
{
    static struct latency grown;
    grown = now->latency;
    latency_since(&grown, &before->latency);
    const bool any = latency_count(&grown) > 0 && now->tsc_hz > 0;
    to[HISTORY_p50_s] = any ? (float)((double)latency_at(&grown, 0.5) / (double)now->tsc_hz) : NAN;
    to[HISTORY_p99_9_s] =
        any ? (float)((double)latency_at(&grown, 0.999) / (double)now->tsc_hz) : NAN;
}

static void figures_of(const struct history_core *now, const struct history_core *b, double seconds,
                       float *to)
{
    const double packets = (double)(now->rx_packets - b->rx_packets);
    const double cycles = (double)(now->cycles - b->cycles);
    const uint64_t busy = now->cycles - now->idle_cycles, was_busy = b->cycles - b->idle_cycles;
    to[HISTORY_rx_pps] = (float)ratio(now->rx_packets, b->rx_packets, seconds);
    to[HISTORY_tx_pps] = (float)ratio(now->tx_packets, b->tx_packets, seconds);
    to[HISTORY_rx_bps] = (float)(8 * ratio(now->rx_bytes, b->rx_bytes, seconds));
    to[HISTORY_tx_bps] = (float)(8 * ratio(now->tx_bytes, b->tx_bytes, seconds));
    to[HISTORY_connections] = (float)now->connections;
    to[HISTORY_opened_ps] = (float)ratio(now->opened, b->opened, seconds);
    to[HISTORY_stack_cycles] =
        (float)ratio(busy - now->app_cycles, was_busy - b->app_cycles, packets);
    to[HISTORY_app_cycles] = (float)ratio(now->app_cycles, b->app_cycles, packets);
    to[HISTORY_busy_percent] = (float)(100 * ratio(busy, was_busy, cycles));
    to[HISTORY_drops_ps] = (float)ratio(now->dropped, b->dropped, seconds);
    latency_figures(now, b, to);
}

static void series_take(struct series *s, unsigned n_cores, uint64_t now_ns,
                        const struct history_core *cores)
{
    if (s->begin_ns != 0 && ++s->looks < s->looks_a_point)
        return;
    if (s->begin_ns != 0) {
        const unsigned at = (unsigned)(s->n++ % s->room);
        s->at_ns[at] = now_ns;
        for (unsigned c = 0; c < n_cores; c++)
            figures_of(&cores[c], &s->before[c], (double)(now_ns - s->begin_ns) / 1e9,
                       &s->figures[((size_t)at * n_cores + c) * HISTORY_FIGURES]);
    }
    memcpy(s->before, cores, n_cores * sizeof(*cores));
    s->begin_ns = now_ns;
    s->looks = 0;
}

void history_take(struct history *h, uint64_t now_ns, const struct history_core *cores)
{
    series_take(&h->fine, h->n_cores, now_ns, cores);
    series_take(&h->coarse, h->n_cores, now_ns, cores);
}

void history_change(struct history *h, const struct verdict_item *item, uint64_t now_ns,
                    uint64_t unix_s)
{
    struct change *c = &h->changes[h->n_changes++ % HISTORY_CHANGES];
    *c = (struct change){
        .at_ns = now_ns, .unix_s = unix_s, .on = item->active, .kind = (uint8_t)item->kind};
    memcpy(c->subject, item->subject, sizeof(c->subject));
    memcpy(c->sentence, item->sentence, sizeof(c->sentence));
}

static const struct series *series_of(const struct history *h, bool coarse)
{
    return coarse ? &h->coarse : &h->fine;
}

static unsigned place_of(const struct series *s, unsigned i)
{
    return (unsigned)((s->n - MIN(s->n, (uint64_t)s->room) + i) % s->room);
}

unsigned history_points(const struct history *h, bool coarse)
{
    const struct series *s = series_of(h, coarse);
    return (unsigned)MIN(s->n, (uint64_t)s->room);
}

double history_at(const struct history *h, bool coarse, unsigned i, unsigned core,
                  enum history_figure f)
{
    const struct series *s = series_of(h, coarse);
    return s->figures[((size_t)place_of(s, i) * h->n_cores + core) * HISTORY_FIGURES + f];
}

uint64_t history_age_ms(const struct history *h, bool coarse, unsigned i, uint64_t now_ns)
{
    const struct series *s = series_of(h, coarse);
    return (now_ns - MIN(s->at_ns[place_of(s, i)], now_ns)) / 1000000;
}

// ---- as text

static const char *severity_of(const struct change *c)
{
    return verdict_severities[verdict_kinds[c->kind].severity];
}

static void json_string(struct text *out, const char *s)
{
    text_put(out, "\"", 1);
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            text_put(out, "\\", 1);
        text_put(out, (unsigned char)*s < ' ' ? "?" : s, 1);
    }
    text_put(out, "\"", 1);
}

static void json_number(struct text *out, double value)
{
    if (isnan(value))
        text_put(out, "null", 4);
    else
        text_printf(out, "%.4g", value);
}

static void json_point(const struct history *h, bool coarse, unsigned i, unsigned core,
                       struct text *out)
{
    text_printf(out, "%s[", i == 0 ? "" : ",");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
        text_put(out, ",", f > 0);
        json_number(out, history_at(h, coarse, i, core, f));
    }
    text_put(out, "]", 1);
}

static void json_series(const struct history *h, bool coarse, uint64_t now_ns, struct text *out)
{
    const unsigned n = history_points(h, coarse);
    text_printf(out, ",\n\"%s\":{\"age_ms\":[", coarse ? "coarse" : "fine");
    for (unsigned i = 0; i < n; i++)
        text_printf(out, "%s%" PRIu64, i == 0 ? "" : ",", history_age_ms(h, coarse, i, now_ns));
    text_printf(out, "],\"cores\":[");
    for (unsigned c = 0; c < h->n_cores; c++) {
        text_printf(out, "%s\n[", c == 0 ? "" : ",");
        for (unsigned i = 0; i < n; i++)
            json_point(h, coarse, i, c, out);
        text_put(out, "]", 1);
    }
    text_printf(out, "]}");
}

static unsigned n_changes(const struct history *h)
{
    return (unsigned)MIN(h->n_changes, (uint64_t)HISTORY_CHANGES);
}

static const struct change *change_at(const struct history *h, unsigned i)
{
    return &h->changes[(h->n_changes - n_changes(h) + i) % HISTORY_CHANGES];
}

static void json_changes(const struct history *h, uint64_t now_ns, struct text *out)
{
    text_printf(out, ",\n\"verdicts\":[");
    for (unsigned i = 0; i < n_changes(h); i++) {
        const struct change *c = change_at(h, i);
        text_printf(out,
                    "%s\n{\"age_ms\":%" PRIu64 ",\"unix_s\":%" PRIu64
                    ",\"on\":%s,\"kind\":\"%s\",\"subject\":",
                    i == 0 ? "" : ",", (now_ns - MIN(c->at_ns, now_ns)) / 1000000, c->unix_s,
                    c->on ? "true" : "false", verdict_kinds[c->kind].name);
        json_string(out, c->subject);
        text_printf(out, ",\"severity\":\"%s\",\"sentence\":", severity_of(c));
        json_string(out, c->sentence);
        text_put(out, "}", 1);
    }
    text_printf(out, "]}\n");
}

void history_json(const struct history *h, const char (*names)[HISTORY_NAME_BYTES], uint64_t now_ns,
                  struct text *out)
{
    text_printf(out, "{\"figures\":[");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        text_printf(out, "%s\"%s\"", f == 0 ? "" : ",", figure_names[f]);
    text_printf(out, "],\n\"cores\":[");
    for (unsigned c = 0; c < h->n_cores; c++) {
        text_put(out, ",", c > 0);
        json_string(out, names[c]);
    }
    text_put(out, "]", 1);
    json_series(h, true, now_ns, out);
    json_series(h, false, now_ns, out);
    json_changes(h, now_ns, out);
}

static void lines(const struct history *h, bool coarse, unsigned i,
                  const char (*names)[HISTORY_NAME_BYTES], uint64_t now_ns, struct text *out)
{
    for (unsigned c = 0; c < h->n_cores; c++) {
        text_printf(out, "%.1f %s", (double)history_age_ms(h, coarse, i, now_ns) / 1e3, names[c]);
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            const double value = history_at(h, coarse, i, c, f);
            if (isnan(value))
                text_printf(out, " -");
            else
                text_printf(out, " %.4g", value);
        }
        text_put(out, "\n", 1);
    }
}

void history_figures_render(const struct history *h, const char (*names)[HISTORY_NAME_BYTES],
                            uint64_t now_ns, struct text *out)
{
    const unsigned fine = history_points(h, false);
    const uint64_t fine_ms = fine == 0 ? 0 : history_age_ms(h, false, 0, now_ns);
    text_printf(out, "age_s core");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        text_printf(out, " %s", figure_names[f]);
    text_put(out, "\n", 1);
    for (unsigned i = 0; i < history_points(h, true); i++)
        if (history_age_ms(h, true, i, now_ns) > fine_ms)
            lines(h, true, i, names, now_ns, out);
    for (unsigned i = 0; i < fine; i++)
        lines(h, false, i, names, now_ns, out);
}

void history_changes_render(const struct history *h, struct text *out)
{
    for (unsigned i = 0; i < n_changes(h); i++) {
        const struct change *c = change_at(h, i);
        char at[32];
        struct tm tm;
        const time_t t = (time_t)c->unix_s;
        strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
        text_printf(out, "%s %s %s %s\n", at, severity_of(c), c->on ? "begins" : "ended",
                    c->sentence);
    }
}

// ---- shared

int history_shared_put(struct history_shared *r, const struct history *h,
                       const char (*names)[HISTORY_NAME_BYTES], uint64_t now_ns, struct text *out)
{
    const bool fresh = r->at_ns != 0 && r->text.error == 0 &&
                       now_ns - r->at_ns <= HISTORY_SHARED_MS * UINT64_C(1000000);
    if (!fresh) {
        text_free(&r->text);
        text_init(&r->text, r->limit_bytes);
        r->render(h, names, now_ns, &r->text);
        r->at_ns = now_ns;
    }
    if (r->text.error == 0)
        text_put(out, text_str(&r->text), r->text.len);
    return r->text.error != 0 ? r->text.error : out->error;
}

void history_shared_free(struct history_shared *r)
{
    text_free(&r->text);
    r->at_ns = 0;
}
