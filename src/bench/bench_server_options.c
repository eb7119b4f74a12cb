#include "bench/bench_server_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 1000000, CYCLES_MAX = 10000000, WORKERS_MAX = 64 };

// A number in [min, max], with k or M behind it.
static bool number(const char *text, const char **end, double min, double max, double *out)
{
    char *after;
    *out = strtod(text, &after);
    if (after == text)
        return false;
    if (*after == 'k' || *after == 'K')
        *out *= 1e3, after++;
    else if (*after == 'm' || *after == 'M')
        *out *= 1e6, after++;
    *end = after;
    return *out >= min && *out <= max;
}

static bool one(const char *text, double min, double max, double *out)
{
    const char *end;
    return number(text, &end, min, max, out) && *end == '\0';
}

static unsigned list(const char *text, double min, double max, double *out)
{
    for (unsigned n = 0; n < STAND_LIST_MAX;) {
        if (!number(text, &text, min, max, &out[n++]))
            return 0;
        if (*text == '\0')
            return n;
        if (*text++ != ',')
            return 0;
    }
    return 0;
}

static bool parse_option(int c, struct stand_options *o)
{
    double v, many[STAND_LIST_MAX];
    switch (c) {
    case 'n':
        if (!one(optarg, 64, CONNECTIONS_MAX, &v))
            return false;
        o->connections = (uint32_t)v;
        return true;
    case 's':
        return one(optarg, 0.001, 3600, &o->seconds);
    case 'u':
        return sscanf(optarg, "%u,%u", &o->client_cpu, &o->server_cpu) == 2 &&
               o->client_cpu != o->server_cpu;
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

static const char *expected(int c)
{
    switch (c) {
    case 'n':
        return "a number from 64 to 1M (k: thousands, M: millions)";
    case 's':
        return "a number from 0.001 to 3600";
    case 'u':
        return "two different CPUs, as 0,1";
    case 'r':
        return "at most 16 rates of 1k to 1000M packets a second, as 1M,10M";
    case 'c':
        return "a number from 0 to 10M";
    default:
        return "at most 16 numbers from 1 to 64, as 1,2,4,8";
    }
}
static_assert(STAND_LIST_MAX == 16 && CONNECTIONS_MAX == 1000000 && CYCLES_MAX == 10000000 &&
                  WORKERS_MAX == 64,
              "as said above");

static const struct option table[] = {{"connections", required_argument, NULL, 'n'},
                                      {"seconds", required_argument, NULL, 's'},
                                      {"cpus", required_argument, NULL, 'u'},
                                      {"json", no_argument, NULL, 'j'},
                                      {"help", no_argument, NULL, 'h'},
                                      {"rates", required_argument, NULL, 'r'},
                                      {"cycles", required_argument, NULL, 'c'},
                                      {"workers", required_argument, NULL, 'w'},
                                      {"share", no_argument, NULL, 'x'},
                                      {NULL, 0, NULL, 0}};

int stand_options_parse(int argc, char **argv, const char *help, struct stand_options *o)
{
    int c, index = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (c == '?')
            return 2;
        if (strchr("rcwx", c) != NULL && strchr(o->takes, c) == NULL) {
            fprintf(stderr, "c10m bench %s: --%s: no such option\n", o->name, table[index].name);
            return 2;
        }
        if (!parse_option(c, o)) {
            fprintf(stderr, "c10m bench %s: --%s: expected %s, got \"%s\"\n", o->name,
                    table[index].name, expected(c), optarg);
            return 2;
        }
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "c10m bench %s: %s: no such argument\n", o->name, argv[optind]);
    return 2;
}
