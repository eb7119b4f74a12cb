// SPDX-License-Identifier: BSD-3-Clause
// options.h: the command line parser of all benchmarks.
#pragma once
#include <getopt.h>

#include "base/base.h"

enum bench_taken {
    BENCH_TAKEN,
    BENCH_WRONG,    // the value is not what is expected
    BENCH_UNKNOWN,  // the benchmark does not have this option
};

// The common options --cpus ('u'), --json ('j') and --help ('h'), for the end of an option table,
// and the help texts of --cpus, and of --json and --go. bench_main() replaces --go by --json.
#define BENCH_SHARED_OPTIONS                                                                       \
    {"cpus", required_argument, NULL, 'u'}, {"json", no_argument, NULL, 'j'},                      \
        {"help", no_argument, NULL, 'h'},                                                          \
    {                                                                                              \
        NULL, 0, NULL, 0                                                                           \
    }
#define BENCH_CPUS_HELP "  --cpus A,B          CPUs of the client and of the server (default 0,1)\n"
#define BENCH_JSON_HELP                                                                            \
    "  --json              print one JSON object instead of the table\n"                           \
    "  --go                print Go's benchmark format, for benchstat (go_text.h)\n"

// bench_cli: the command line of one benchmark.
struct bench_cli {
    const char *name, *help;
    const struct option *table;                 // includes --help, 'h'
    enum bench_taken (*take)(int c, void *to);  // the value is optarg
    const char *(*expected)(int c);
};

// bench_cli_parse: calls cli->take() for each option. Returns 0: continue; 1: help was printed; 2:
// wrong usage, with a message on stderr.
int bench_cli_parse(int argc, char **argv, const struct bench_cli *cli, void *to);

// bench_unit: returns the factor of a suffix k or M at *at and skips it; 1: no suffix.
uint32_t bench_unit(char **at);

// bench_list: parses at most `max` values separated by commas. one: parses value i and moves *text
// after it. Returns the number of values; 0: a value is invalid, or there are too many.
unsigned bench_list(const char *text, unsigned max, bool (*one)(char **text, unsigned i, void *to),
                    void *to);

// bench_cpus: parses two different CPUs.
bool bench_cpus(const char *text, unsigned *client, unsigned *server);
#define BENCH_CPUS_EXPECTED "two different CPUs, such as 0,1"
