// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_loop_options.h"

#include <stdlib.h>
#include <string.h>

#include "bench/options.h"

enum { CONNECTIONS_MAX = 50000000 };

static bool parse_count(char **text, unsigned i, void *to)
{
    const char *from = *text;
    unsigned long long v = strtoull(from, text, 10);
    if (*text == from)
        return false;
    v *= bench_unit(text);
    ((uint32_t *)to)[i] = (uint32_t)v;
    return v >= 2 && v <= CONNECTIONS_MAX;
}

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);
    *out = (uint32_t)v;
    return end != text && *end == '\0' && v >= min && v <= max;
}

static bool parse_option(int c, struct bench_options *o)
{
    char *end;
    uint32_t seed;
    switch (c) {
    case 'c':
        o->count_n = bench_list(optarg, BENCH_COUNTS_MAX, parse_count, o->counts);
        return o->count_n != 0;
    case 's':
        o->seconds = strtod(optarg, &end);
        return end != optarg && *end == '\0' && o->seconds > 0 && o->seconds <= 3600;
    case 'b':
        return parse_u32(optarg, 2, FEED_BATCH_MAX, &o->batch) && o->batch % 2 == 0;
    case 'p':
        return parse_u32(optarg, FEED_PAYLOAD_MIN, FEED_PAYLOAD_MAX, &o->payload);
    case 'o':
        o->order = strcmp(optarg, "turn") == 0 ? FEED_IN_TURN : FEED_RANDOM;
        return o->order == FEED_IN_TURN || strcmp(optarg, "random") == 0;
    case 'r':
        if (!parse_u32(optarg, 0, UINT32_MAX, &seed))
            return false;
        o->seed = seed;
        return true;
    case 'u':
        return bench_cpus(optarg, &o->client_cpu, &o->server_cpu);
    default:
        o->json = true;
        return true;
    }
}

static enum bench_taken take(int c, void *to)
{
    return parse_option(c, to) ? BENCH_TAKEN : BENCH_WRONG;
}

static const char *expected(int c)
{
    switch (c) {
    case 'c':
        return "at most 16 numbers from 2 to 50M (k: thousands, M: millions), such as 1k,10M";
    case 's':
        return "a number above 0, at most 3600";
    case 'b':
        return "an even number from 2 to 8192";
    case 'p':
        return "a number from 8 to 1460";
    case 'o':
        return "random or turn";
    case 'r':
        return "a number from 0 to 4294967295";
    default:
        return BENCH_CPUS_EXPECTED;
    }
}
static_assert(BENCH_COUNTS_MAX == 16 && CONNECTIONS_MAX == 50000000 && FEED_BATCH_MAX == 8192 &&
                  FEED_PAYLOAD_MIN == 8 && FEED_PAYLOAD_MAX == 1460,
              "as said above");

int bench_options_parse(int argc, char **argv, const char *name, const char *help,
                        struct bench_options *o)
{
    static const struct option table[] = {
        {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"batch", required_argument, NULL, 'b'},
        {"payload", required_argument, NULL, 'p'},
        {"order", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 'r'},
        BENCH_SHARED_OPTIONS,
    };
    const struct bench_cli cli = {name, help, table, take, expected};
    return bench_cli_parse(argc, argv, &cli, o);
}
