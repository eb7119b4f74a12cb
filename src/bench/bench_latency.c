// SPDX-License-Identifier: BSD-3-Clause
// Measures the latency at half of the maximum rate, at the client and from rx to tx, and compares
// it with an idle loop on the server's core.
//
// The idle loop cannot run at the same time on the same core, so slices of the two alternate:
// disturbances by the host affect both. An idle pass is as long as the median turn, so that a pass
// is interrupted as often as a turn and the quantiles of both can be subtracted.
#include <rte_cycles.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "bench/bench_main.h"
#include "bench/bench_prof.h"
#include "bench/options.h"
#include "bench/paced_setup.h"

enum { ROUNDS = 20, MAX_SHARE = 5, ABOVE_IDLE_US_MAX = 10, STALL_LINES = 20 };

static const char help[] =
    "usage: c10m bench latency [OPTIONS]\n"
    "\n"
    "Find the maximum rate of the server's echo service, then send requests at half of that rate "
    "in an\n"
    "open loop. The output has the latency at the client, from the time at which a request was "
    "due, and\n"
    "the time from rx to tx in the server, beside an idle loop on the server's core in "
    "alternating\n"
    "slices. It then lists every stall of the server of more than 100 us, with its cause.\n"
    "\n"
    "  --connections N     number of connections (default 10k)\n"
    "  --seconds S         seconds for the whole measurement (default 10)\n" BENCH_CPUS_HELP
        BENCH_JSON_HELP;

struct result {
    // requests per second; cycles per request; busy share of the server
    double rate_max, cycles_max, busy_max;
    double rate, busy;  // at half of the maximum
    uint64_t late;
    struct paced_sum all, calm;
    struct latency idle;   // passes of the idle loop
    struct latency waits;  // turns of the worker without work
};

static void add(struct paced_sum *to, const struct paced_sum *from)
{
    to->slices += from->slices;
    to->sent += from->sent;
    to->lost += from->lost;
    latency_sum(&to->latency, &from->latency);
    latency_sum(&to->turns, &from->turns);
}

static int measure(const struct bench_server_options *o, struct paced_setup *st, struct result *r,
                   struct err *err)
{
    static struct paced_result one;
    if (paced_run(st->paced, 0, o->seconds / MAX_SHARE, &one, err) != 0)
        return -1;
    r->rate_max = one.rate;
    r->cycles_max = one.cycles;
    r->busy_max = one.busy_share;
    const double each = o->seconds * (1 - 1.0 / MAX_SHARE) / (2 * ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (paced_run(st->paced, r->rate_max / 2, each, &one, err) != 0 ||
            paced_idle(st->paced, MAX(latency_at(&one.all.turns, 0.5), 1u), each, &r->idle, err) !=
                0)
            return -1;
        add(&r->all, &one.all);
        add(&r->calm, &one.calm);
        latency_sum(&r->waits, &one.idle);
        r->rate += one.rate / ROUNDS;
        r->busy += one.busy_share / ROUNDS;
        r->late += one.client_late;
    }
    return 0;
}

static double us_at(const struct latency *l, double quantile)
{
    return (double)latency_at(l, quantile) * 1e6 / (double)rte_get_tsc_hz();
}

static void print_json_latency(const char *name, const struct latency *l)
{
    printf(",\"%s_us\":{", name);
    for (unsigned i = 0; i < LATENCY_QUANTILES; i++)
        printf("\"%s\":%.2f,", latency_quantiles[i].name, us_at(l, latency_quantiles[i].at));
    printf("\"max\":%.2f}", us_at(l, 1));
}

static void print_json(const struct result *r, double above, bool held)
{
    printf("{\"bench\":\"latency\",\"max_requests_per_s\":%.0f,\"max_busy_share\":%.3f,"
           "\"cycles_per_request\":%.1f,\"requests_per_s\":%.0f,\"busy_share\":%.3f,"
           "\"requests\":%llu,\"lost\":%llu,\"slices\":%llu,\"calm_slices\":%llu,"
           "\"calm_lost\":%llu,\"client_late\":%llu",
           r->rate_max, r->busy_max, r->cycles_max, r->rate, r->busy,
           (unsigned long long)r->all.sent, (unsigned long long)r->all.lost,
           (unsigned long long)r->all.slices, (unsigned long long)r->calm.slices,
           (unsigned long long)r->calm.lost, (unsigned long long)r->late);
    print_json_latency("client", &r->all.latency);
    print_json_latency("rx_to_tx", &r->all.turns);
    print_json_latency("idle_loop", &r->idle);
    print_json_latency("idle_turns", &r->waits);
    print_json_latency("calm_client", &r->calm.latency);
    print_json_latency("calm_rx_to_tx", &r->calm.turns);
    printf(",\"p99_9_above_idle_us\":%.2f,\"held\":%s}\n", above, held ? "true" : "false");
}

static void print_row(const char *name, const struct result *r, double at)
{
    const double turns = us_at(&r->all.turns, at), idle = us_at(&r->idle, at);
    printf("%-7s %10.2f %10.2f %10.2f %12.2f %10.2f | %10.2f %10.2f\n", name,
           us_at(&r->all.latency, at), turns, idle, turns - idle, us_at(&r->waits, at),
           us_at(&r->calm.latency, at), us_at(&r->calm.turns, at));
}

static void print_table(const struct result *r, double above, bool held)
{
    printf("maximum %.2f M requests/s, %.0f cycles each, the server %.0f %% busy%s\n"
           "half    %.2f M requests/s, the server %.0f %% busy; %llu requests, %llu lost (%llu in "
           "undisturbed slices); the client was late %llu times\n"
           "        all %llu slices of 5 ms                                                | the "
           "%llu undisturbed\n"
           "us          client   rx to tx  idle loop  tx less idle  idle turns |     client   rx "
           "to tx\n",
           r->rate_max / 1e6, r->cycles_max, 100 * r->busy_max,
           r->busy_max < 0.9 ? ": limited by the client" : "", r->rate / 1e6, 100 * r->busy,
           (unsigned long long)r->all.sent, (unsigned long long)r->all.lost,
           (unsigned long long)r->calm.lost, (unsigned long long)r->late,
           (unsigned long long)r->all.slices, (unsigned long long)r->calm.slices);
    for (unsigned i = 0; i < LATENCY_QUANTILES; i++)
        print_row(latency_quantiles[i].name, r, latency_quantiles[i].at);
    print_row("max", r, 1);
    printf("p99.9 from rx to tx is %.2f us above the idle loop's, at most %d promised: %s\n", above,
           ABOVE_IDLE_US_MAX, held ? "held" : "not held");
}

// Returns the last `lines` lines.
static const char *tail(const char *text, unsigned lines)
{
    const char *at = text + strlen(text);
    for (unsigned n = 0; at > text; at--)
        if (at[-1] == '\n' && n++ == lines)
            break;
    return at;
}

static void print_stalls(const struct paced_setup *st)
{
    struct text text;
    text_init(&text, 1 << 20);
    stalls_causes_render(st->stalls, 0, &text);
    printf("stalls of the server of more than 100 us, by cause:\n%s", text_str(&text));
    text_free(&text);
    stalls_render(st->stalls, 0, &text);
    const char *rows = strchr(text_str(&text), '\n') + 1;
    printf("the last stalls:\n%.*s%s", (int)(rows - text_str(&text)), text_str(&text),
           tail(rows, STALL_LINES));
    text_free(&text);
}

static void print(const struct bench_server_options *o, const struct paced_setup *st,
                  const struct result *r)
{
    const double above = us_at(&r->all.turns, 0.999) - us_at(&r->idle, 0.999);
    const bool held = above <= ABOVE_IDLE_US_MAX;
    if (o->json) {
        print_json(r, above, held);
        return;
    }
    print_table(r, above, held);
    print_stalls(st);
}

int bench_latency(int argc, char **argv)
{
    static struct result r;
    struct bench_server_options o = {
        .name = "latency", .connections = 10000, .seconds = 10, .server_cpu = 1, .takes = ""};
    struct paced_setup st = {.w = NULL};
    struct err err = {.text = ""};
    int rc = bench_server_options_parse(argc, argv, help, &o);
    if (rc != 0)
        return rc == 1 ? 0 : 2;
    rc = paced_setup_open(&o, &bench_echo_app, &st, &err);
    if (rc == 0)
        rc = measure(&o, &st, &r, &err);
    if (rc == 0)
        rc = bench_prof_end(&err);
    if (rc == 0)
        print(&o, &st, &r);
    else
        fprintf(stderr, "c10m bench latency: %s\n", err.text);
    paced_setup_close(&st);
    return rc == 0 ? 0 : 1;
}
