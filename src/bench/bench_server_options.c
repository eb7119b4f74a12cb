// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_server_options.h"

#include <stdlib.h>
#include <string.h>

#include "bench/options.h"

enum { CONNECTIONS_MAX = 1000000, CYCLES_MAX = 10000000, WORKERS_MAX = 64 };

// range: the range of the numbers in a list, and their destination.
struct range {
    double min, max;
    double *out;
};

// Parses a number in the range, with an optional suffix k or M.
static bool number(char **text, unsigned i, void *to)
{
    const struct range *r = to;
    const char *from = *text;
    const double v = strtod(from, text);
    if (*text == from)
        return false;
    r->out[i] = v * bench_unit(text);
    return r->out[i] >= r->min && r->out[i] <= r->max;
}

static unsigned list(const char *text, double min, double max, double *out)
{
    struct range r = {min, max, out};
    return bench_list(text, BENCH_SERVER_LIST_MAX, number, &r);
}

static bool one(const char *text, double min, double max, double *out)
{
    struct range r = {min, max, out};
    return bench_list(text, 1, number, &r) == 1;
}

static bool parse_option(int c, struct bench_server_options *o)
{
    double v, many[BENCH_SERVER_LIST_MAX];
    switch (c) {
    case 'n':
        if (!one(optarg, 64, CONNECTIONS_MAX, &v))
            return false;
        o->connections = (uint32_t)v;
        return true;
    case 's':
        return one(optarg, 0.001, 3600, &o->seconds);
    case 'u':
        return bench_cpus(optarg, &o->client_cpu, &o->server_cpu);
    case 'r':
        o->rate_n = list(optarg, 1000, 1e9, o->rates);
        return o->rate_n != 0;
    case 'c':
        if (!one(optarg, 0, CYCLES_MAX, &v))
            return false;
        o->cycles = (uint32_t)v;
        return true;
    case 'w':
        o->worker_n = list(optarg, 1, WORKERS_MAX, many);
        for (unsigned i = 0; i < o->worker_n; i++)
            o->workers[i] = (uint32_t)many[i];
        return o->worker_n != 0;
    case 'x':
        o->share = true;
        return true;
    default:
        o->json = true;
        return true;
    }
}

static enum bench_taken take(int c, void *to)
{
    const struct bench_server_options *o = to;
    if (strchr("rcwx", c) != NULL && strchr(o->takes, c) == NULL)
        return BENCH_UNKNOWN;
    return parse_option(c, to) ? BENCH_TAKEN : BENCH_WRONG;
}

static const char *expected(int c)
{
    switch (c) {
    case 'n':
        return "a number from 64 to 1M (k: thousands, M: millions)";
    case 's':
        return "a number from 0.001 to 3600";
    case 'u':
        return BENCH_CPUS_EXPECTED;
    case 'r':
        return "at most 16 rates of 1k to 1000M packets per second, such as 1M,10M";
    case 'c':
        return "a number from 0 to 10M";
    default:
        return "at most 16 numbers from 1 to 64, such as 1,2,4,8";
    }
}
static_assert(BENCH_SERVER_LIST_MAX == 16 && CONNECTIONS_MAX == 1000000 && CYCLES_MAX == 10000000 &&
                  WORKERS_MAX == 64,
              "as said above");

static const struct option table[] = {{"connections", required_argument, NULL, 'n'},
                                      {"seconds", required_argument, NULL, 's'},
                                      {"rates", required_argument, NULL, 'r'},
                                      {"cycles", required_argument, NULL, 'c'},
                                      {"workers", required_argument, NULL, 'w'},
                                      {"share", no_argument, NULL, 'x'},
                                      BENCH_SHARED_OPTIONS};

int bench_server_options_parse(int argc, char **argv, const char *help,
                               struct bench_server_options *o)
{
    const struct bench_cli cli = {o->name, help, table, take, expected};
    return bench_cli_parse(argc, argv, &cli, o);
}
