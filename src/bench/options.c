// SPDX-License-Identifier: BSD-3-Clause
#include "bench/options.h"

#include <stdio.h>

int bench_cli_parse(int argc, char **argv, const struct bench_cli *cli, void *to)
{
    int c, index = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", cli->table, &index)) != -1) {
        if (c == 'h') {
            fputs(cli->help, stdout);
            return 1;
        }
        if (c == '?')
            return 2;
        const enum bench_taken taken = cli->take(c, to);
        if (taken == BENCH_TAKEN)
            continue;
        fprintf(stderr, "c10m bench %s: --%s: ", cli->name, cli->table[index].name);
        if (taken == BENCH_UNKNOWN)
            fprintf(stderr, "no such option\n");
        else
            fprintf(stderr, "expected %s, got \"%s\"\n", cli->expected(c), optarg);
        return 2;
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "c10m bench %s: %s: unexpected argument\n", cli->name, argv[optind]);
    return 2;
}

uint32_t bench_unit(char **at)
{
    const char c = **at;
    const uint32_t unit = c == 'k' || c == 'K' ? 1000 : c == 'm' || c == 'M' ? 1000000 : 1;
    *at += unit != 1;
    return unit;
}

unsigned bench_list(const char *text, unsigned max, bool (*one)(char **text, unsigned i, void *to),
                    void *to)
{
    char *at = (char *)text;
    for (unsigned n = 0; n < max;) {
        if (!one(&at, n++, to))
            return 0;
        if (*at == '\0')
            return n;
        if (*at++ != ',')
            return 0;
    }
    return 0;
}

bool bench_cpus(const char *text, unsigned *client, unsigned *server)
{
    return sscanf(text, "%u,%u", client, server) == 2 && *client != *server;
}
