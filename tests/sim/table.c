// SPDX-License-Identifier: BSD-3-Clause
// The table: runs the rows, prints what they say, fails if something does not hold that has to.
#include "table.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/eal.h"

static const char usage[] =
    "usage: table [--seed N] [--list] [ROW...]\n"
    "What loss recovery and congestion control do on known paths, in virtual time, beside what "
    "the\n"
    "RFCs lead one to expect. Exit 1: something does not hold that has to.\n"
    "  --seed N   of what is lost and late (1)\n"
    "  --list     the names of the rows\n";

static unsigned failed, missing;

void table_say(enum table_weight weight, bool holds, const char *what, const char *expected,
               const char *format, ...)
{
    static const char *const verdicts[][2] = {[TABLE_HARD] = {"FAIL", "ok"},
                                              [TABLE_SOFT] = {"not yet", "ok (soft)"},
                                              [TABLE_PLAIN] = {"", ""}};
    char measured[160];
    va_list ap;
    va_start(ap, format);
    vsnprintf(measured, sizeof(measured), format, ap);
    va_end(ap);
    failed += weight == TABLE_HARD && !holds;
    missing += weight == TABLE_SOFT && !holds;
    printf("  %-44s %-52s %-42s %s\n", what, measured, expected, verdicts[weight][holds]);
    fflush(stdout);
}

static const struct table_row *const parts[] = {table_start_rows, table_rate_rows,
                                                table_repair_rows, table_engine_rows};

static bool wanted(const struct table_row *r, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], r->name) == 0)
            return true;
    return n == 0;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned run_rows(char **names, int n)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        for (const struct table_row *r = parts[i]; r->name != NULL; r++) {
            if (!wanted(r, names, n))
                continue;
            const double begin = seconds();
            printf("%s: %s\n", r->name, r->title);
            r->run();
            printf("  %-44s %.1f s\n", "(time)", seconds() - begin);
            runs++;
        }
    return runs;
}

static void list(void)
{
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        for (const struct table_row *r = parts[i]; r->name != NULL; r++)
            printf("%-12s %s\n", r->name, r->title);
}

static int start(void)
{
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mtable%d", (int)getpid());
    const struct eal_params p = {.file_prefix = prefix, .memory_bytes = {384 << 20}};
    struct err e = {.text = ""};
    if (eal_start(&p, &e) == 0 &&
        (table_pool = pkt_pool_create("table", TABLE_PACKETS, -1)) != NULL)
        return 0;
    fprintf(stderr, "%s\n", e.text[0] != 0 ? e.text : "no memory for packets");
    return 1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", 1, NULL, 's'}, {"list", 0, NULL, 'l'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 's':
            table_seed = strtoull(optarg, NULL, 0);
            break;
        case 'l':
            list();
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (start() != 0)
        return 1;
    printf("seed %llu\n", (unsigned long long)table_seed);
    const double begin = seconds();
    const unsigned runs = run_rows(argv + optind, argc - optind);
    printf("%u rows in %.1f s; %u wrong, %u not there yet\n", runs, seconds() - begin, failed,
           missing);
    eal_stop();
    return failed == 0 && runs != 0 ? 0 : 1;
}
