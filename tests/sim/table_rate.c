// SPDX-License-Identifier: BSD-3-Clause
// Rows about rates: a path filled, shared, with losses, with reordering, with marks.
#include <math.h>
#include <stdio.h>

#include "table.h"

enum { S = TABLE_S, MS = TABLE_MS };

// ---- fill ----

static void fill(enum tcp_congestion congestion, const char *name)
{
    enum { START_S = 5, END_S = 25 };
    struct table_setup setup = table_default();
    setup.congestion = (uint8_t)congestion;
    struct table_world *t = table_begin(&table_gigabit, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    char what[64];
    table_run(t, (uint64_t)START_S * S);
    const uint64_t received = f->received, dropped = f->dropped_segs;
    const uint64_t rtos = table_stats(t)->rto_fired;
    snprintf(what, sizeof(what), "%s: the first 5 s (slow start)", name);
    table_say(TABLE_HARD, dropped <= 8700, what, "at most a window, two BDP, lost: 8,600",
              "%.0f Mb/s, %llu lost, %llu timeouts", table_mbit(received, (uint64_t)START_S * S),
              (unsigned long long)dropped, (unsigned long long)rtos);
    table_run(t, (uint64_t)END_S * S);
    const double mbit = table_mbit(f->received - received, (uint64_t)(END_S - START_S) * S);
    const double share = 100 * mbit / table_full_mbit(1000);
    snprintf(what, sizeof(what), "%s: 5 s to 25 s", name);
    table_say(TABLE_HARD, share >= 90, what, ">= 90 % of 941 Mb/s",
              "%.0f Mb/s, %.1f %%, %llu lost, %llu timeouts", mbit, share,
              (unsigned long long)(f->dropped_segs - dropped),
              (unsigned long long)(table_stats(t)->rto_fired - rtos));
    table_end(t);
}

static void row_fill(void)
{
    fill(TCP_CUBIC, "CUBIC");
    fill(TCP_NEWRENO, "NewReno");
}

// ---- share ----

static double jain(const double *x, unsigned n)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return sum * sum / ((double)n * squares);
}

// n flows, each begun gap_ns after the one before, measured from from_s to to_s: rates in Mb/s.
static void share(const struct table_path *path, enum tcp_congestion congestion, unsigned n,
                  uint64_t gap_ns, unsigned from_s, unsigned to_s, double *rates)
{
    struct table_setup setup = table_default();
    setup.congestion = (uint8_t)congestion;
    struct table_world *t = table_begin(path, &setup);
    uint64_t before[TABLE_FLOWS_MAX];
    for (unsigned i = 0; i < n; i++)
        table_add(t, i * gap_ns, UINT64_MAX);
    table_run(t, (uint64_t)from_s * S);
    for (unsigned i = 0; i < n; i++)
        before[i] = t->flows[i].received;
    table_run(t, (uint64_t)to_s * S);
    for (unsigned i = 0; i < n; i++)
        rates[i] = table_mbit(t->flows[i].received - before[i], (uint64_t)(to_s - from_s) * S);
    table_end(t);
}

static void shares(enum tcp_congestion congestion, const char *name)
{
    const enum table_weight weight = congestion == TCP_CUBIC ? TABLE_HARD : TABLE_PLAIN;
    struct table_path path = table_hundred;
    path.jitter_ns = 200000;  // or all would move in lockstep, and the seed would mean nothing
    char what[64];
    double r[4];
    // Who loses when is chance: what each has in a minute differs by a third.
    const unsigned until_s = congestion == TCP_CUBIC ? 420 : 140;
    share(&path, congestion, 2, 2ull * S, 20, until_s, r);
    snprintf(what, sizeof(what), "%s: two, begun 2 s apart", name);
    table_say(weight, fabs(r[0] - r[1]) <= 0.2 * fmax(r[0], r[1]), what,
              "within 20 % of each other from 20 s on", "%.1f and %.1f Mb/s to %u s", r[0], r[1],
              until_s);
    share(&path, congestion, 4, 1ull * S, 20, 80, r);
    snprintf(what, sizeof(what), "%s: four, begun 1 s apart", name);
    table_say(weight, jain(r, 4) >= 0.9, what, "Jain's index >= 0.9",
              "%.1f %.1f %.1f %.1f Mb/s: %.3f", r[0], r[1], r[2], r[3], jain(r, 4));
    path.more_ns[1] = 60 * MS;
    share(&path, congestion, 2, 0, 20, 80, r);
    snprintf(what, sizeof(what), "%s: two, of 20 ms and of 80 ms", name);
    table_say(TABLE_PLAIN, true, what, "Reno: (RTT ratio)^2, CUBIC: less (RFC 9438 5.2)",
              "%.1f and %.1f Mb/s, %.1f : 1", r[0], r[1], r[0] / r[1]);
}

static void row_share(void)
{
    shares(TCP_CUBIC, "CUBIC");
    shares(TCP_NEWRENO, "NewReno");
}

// ---- loss ----

struct lossy {
    double mbit;
    uint64_t timeouts, lost, again;
};

// Eight flows that do not meet: the mean rate, the sums of the others.
static struct lossy lossy(const struct table_path *path, const struct table_setup *setup,
                          unsigned until_s)
{
    struct table_world *t = table_begin(path, setup);
    struct lossy l = {0};
    for (unsigned i = 0; i < TABLE_FLOWS_MAX; i++)
        table_add(t, i * 10ull * MS, UINT64_MAX);
    table_run(t, (uint64_t)until_s * S);
    for (unsigned i = 0; i < TABLE_FLOWS_MAX; i++) {
        l.mbit += table_mbit(t->flows[i].received, (uint64_t)until_s * S) / TABLE_FLOWS_MAX;
        l.lost += t->flows[i].dropped_segs;
        l.again += t->flows[i].again_segs;
    }
    l.timeouts = table_stats(t)->rto_fired;
    table_end(t);
    return l;
}

static double timeouts_percent(const struct lossy *l)
{
    return 100 * (double)l->timeouts / (double)MAX(l->lost, 1u);
}

static void row_loss(void)
{
    enum { UNTIL_S = 200 };
    const struct table_path path = {.rtt_ns = 20 * MS, .loss_ppm = 10000};
    const double p = 0.01, rtt_s = 0.02;
    // Segments in flight: Mathis et al., with delayed acknowledgments of two segments sqrt(3/4 p),
    // without sqrt(3/2 p); RFC 9438 5.1, equation 6.
    const double mathis = sqrt(1.5 / p), cubic = 1.054 * pow(rtt_s / p, 0.75);
    const double one_mbit = TABLE_MSS * 8 / rtt_s / 1e6;
    struct table_setup old = table_default();
    old.tcp.sack = false;
    old.congestion = TCP_NEWRENO;
    char expected[96];
    const struct table_setup setup = table_default();
    const struct lossy reno = lossy(&path, &old, UNTIL_S), l = lossy(&path, &setup, UNTIL_S);
    table_say(TABLE_PLAIN, true, "NewReno without SACK", "",
              "%.2f Mb/s, %llu timeouts, %llu lost: %.2f %%", reno.mbit,
              (unsigned long long)reno.timeouts, (unsigned long long)reno.lost,
              timeouts_percent(&reno));
    table_say(TABLE_HARD, timeouts_percent(&l) <= 0.1 * timeouts_percent(&reno),
              "default: timeouts a loss", "<= a tenth of those",
              "%llu timeouts, %llu lost: %.2f %%", (unsigned long long)l.timeouts,
              (unsigned long long)l.lost, timeouts_percent(&l));
    snprintf(expected, sizeof(expected), "Mathis %.2f to %.2f, CUBIC alone %.2f Mb/s",
             mathis * one_mbit / sqrt(2), mathis * one_mbit, cubic * one_mbit);
    table_say(TABLE_HARD, l.mbit >= mathis * one_mbit / sqrt(2), "default: rate", expected,
              "%.2f Mb/s, %llu sent again", l.mbit, (unsigned long long)l.again);
    struct table_setup late = setup;
    late.gap_ns = 5 * MS;
    const struct lossy slow = lossy(&path, &late, UNTIL_S);
    table_say(TABLE_HARD, slow.mbit >= 0.8 * l.mbit, "... a worker that turns every 5 ms only",
              "as a round trip of 25 ms: 80 % of that", "%.2f Mb/s, %llu timeouts", slow.mbit,
              (unsigned long long)slow.timeouts);
}

// ---- reordering ----

static double ordered(uint32_t late_ppm, uint64_t *needless, uint64_t *segs, uint64_t *timeouts)
{
    enum { UNTIL_S = 30 };
    const struct table_setup setup = table_default();
    struct table_path path = table_hundred;
    path.late_ppm = late_ppm;
    path.late_ns = 10 * MS;
    struct table_world *t = table_begin(&path, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    table_run(t, (uint64_t)UNTIL_S * S);
    const double mbit = table_mbit(f->received, (uint64_t)UNTIL_S * S);
    *needless = f->again_segs > f->dropped_segs ? f->again_segs - f->dropped_segs : 0;
    *segs = f->segs;
    *timeouts = table_stats(t)->rto_fired;
    table_end(t);
    return mbit;
}

static void row_reorder(void)
{
    uint64_t needless, segs, timeouts;
    const double clean = ordered(0, &needless, &segs, &timeouts);
    table_say(TABLE_PLAIN, true, "in order: 100 Mb/s, 20 ms, 30 s", "94 Mb/s",
              "%.1f Mb/s, %llu needless of %llu, %llu timeouts", clean,
              (unsigned long long)needless, (unsigned long long)segs, (unsigned long long)timeouts);
    const double mixed = ordered(50000, &needless, &segs, &timeouts);
    table_say(TABLE_HARD, mixed >= 0.8 * clean, "5 % late by up to 10 ms",
              ">= 80 % of the rate in order", "%.1f Mb/s: %.0f %%", mixed, 100 * mixed / clean);
    table_say(TABLE_HARD, (double)needless <= 0.01 * (double)segs, "... sent again needlessly",
              "<= 1 % of the segments (RFC 8985 6.2: the window grows)",
              "%llu of %llu, %llu timeouts", (unsigned long long)needless, (unsigned long long)segs,
              (unsigned long long)timeouts);
}

// ---- acknowledgments lost ----

static void row_acks(void)
{
    enum { START_S = 5, END_S = 35 };
    double mbit[2];
    for (unsigned lossy = 0; lossy < 2; lossy++) {
        const struct table_setup setup = table_default();
        struct table_path path = table_hundred;
        path.ack_loss_ppm = lossy ? 200000 : 0;
        struct table_world *t = table_begin(&path, &setup);
        const struct table_flow *f = table_add(t, 0, UINT64_MAX);
        table_run(t, (uint64_t)START_S * S);
        const uint64_t received = f->received;
        table_run(t, (uint64_t)END_S * S);
        mbit[lossy] = table_mbit(f->received - received, (uint64_t)(END_S - START_S) * S);
        table_end(t);
    }
    table_say(TABLE_HARD, mbit[1] >= 0.9 * mbit[0], "every fifth acknowledgment lost, 5 s to 35 s",
              ">= 90 % of the rate without", "%.1f Mb/s of %.1f", mbit[1], mbit[0]);
}

// ---- marks ----

static void row_ecn(void)
{
    enum { START_S = 5, END_S = 35 };
    struct table_setup setup = table_default();
    struct table_path path = table_hundred;
    setup.tcp.ecn = TCP_ECN_ON;
    path.mark_bytes = 60000;
    struct table_world *t = table_begin(&path, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    table_run(t, (uint64_t)START_S * S);
    const uint64_t received = f->received, dropped = f->dropped_segs, marked = f->marked;
    t->queue_sum_bytes = t->queue_seen = 0;
    table_run(t, (uint64_t)END_S * S);
    const double mbit = table_mbit(f->received - received, (uint64_t)(END_S - START_S) * S);
    const uint64_t lost = f->dropped_segs - dropped;
    table_say(TABLE_HARD, lost == 0 && mbit >= 0.7 * table_full_mbit(100),
              "marks from 60 KB of queue on, 5 s to 35 s",
              "nothing lost, >= 70 % (a BDP is 250 KB)",
              "%.1f Mb/s, %llu marks, %llu lost, %llu KB queued", mbit,
              (unsigned long long)(f->marked - marked), (unsigned long long)lost,
              (unsigned long long)(t->queue_sum_bytes / MAX(t->queue_seen, 1u) / 1000));
    table_end(t);
}

const struct table_row table_rate_rows[] = {
    {"fill", "1 Gb/s, 50 ms, a queue of one BDP (6.25 MB), one flow", row_fill},
    {"share", "flows that share a bottleneck with a queue of one BDP", row_share},
    {"loss", "1 % random loss, 20 ms, eight flows that do not meet, 200 s", row_loss},
    {"reorder", "reordering, 100 Mb/s, 20 ms", row_reorder},
    {"acks", "lost acknowledgments, 100 Mb/s, 20 ms", row_acks},
    {"ecn", "a queue that marks (RFC 3168), 100 Mb/s, 20 ms", row_ecn},
    {NULL, NULL, NULL},
};
