// SPDX-License-Identifier: BSD-3-Clause
// options.h: what the command lines of all benchmarks share: the walk over the options with its
// messages, and values of the same kind.
#pragma once
#include <getopt.h>

#include "base/base.h"

enum bench_taken {
    BENCH_TAKEN,
    BENCH_WRONG,    // the value is not what is expected
    BENCH_UNKNOWN,  // this benchmark has no such option
};

// The options that every benchmark has: --cpus ('u'), --json ('j') and --help ('h'), for the end of
// its option table, and the help of two of them.
#define BENCH_SHARED_OPTIONS                                                                       \
    {"cpus", required_argument, NULL, 'u'}, {"json", no_argument, NULL, 'j'},                      \
        {"help", no_argument, NULL, 'h'},                                                          \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }
#define BENCH_CPUS_HELP "  --cpus A,B          CPUs of the client and of the server (default 0,1)\n"
#define BENCH_JSON_HELP "  --json              print one JSON object instead of the table\n"

// bench_cli: the command line of one benchmark.
struct bench_cli {
    const char *name, *help;
    const struct option *table;                 // --help, 'h', among them
    enum bench_taken (*take)(int c, void *to);  // the value is optarg
    const char *(*expected)(int c);
};

// bench_cli_parse: gives each option to cli->take(). 0: go on; 1: help was printed; 2: bad usage,
// said on stderr.
int bench_cli_parse(int argc, char **argv, const struct bench_cli *cli, void *to);

// bench_unit: the factor of a k or M at *at, which is skipped; 1: there is none.
uint32_t bench_unit(char **at);

// bench_list: values with commas between them, at most `max`. one: reads value i and moves *text
// behind it. Returns how many; 0: one is wrong, or they are too many.
unsigned bench_list(const char *text, unsigned max, bool (*one)(char **text, unsigned i, void *to),
                    void *to);

// bench_cpus: two different CPUs.
bool bench_cpus(const char *text, unsigned *client, unsigned *server);
#define BENCH_CPUS_EXPECTED "two different CPUs, as 0,1"
