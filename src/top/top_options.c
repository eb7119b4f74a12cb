// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl/cli/client.h"
#include "top/top_view.h"

static const char usage[] =
    "usage: c10m top [OPTIONS]\n\n"
    "Show a live view of a running server, core by core.\n\n"
    "  -d, --delay SECONDS       seconds between readings, 0.1 to 3600 (default 1)\n"
    "  -n, --iterations N        end after N readings (default: at Ctrl-C or q)\n"
    "  -b, --batch               print a table of plain text for each reading; needs no terminal\n"
    "  -w, --width COLUMNS       width of the batch's lines, 1 to 512 (default: as needed)\n"
    "  -s, --socket PATH         connect to this socket (default: $C10M_SOCKET, or\n"
    "                            " CTL_SOCKET_DEFAULT ")\n"
    "  -m, --mount DIR           read the tree mounted at DIR instead of the socket (default: "
    "if\n"
    "                            there is no socket, " TOP_MOUNT_DEFAULT ")\n"
    "  -h, --help                print this text; in the view, the key h lists the keys\n";

static bool seconds_of(const char *text, double *to)
{
    char *end;
    *to = strtod(text, &end);
    return end != text && *end == '\0' && *to >= TOP_INTERVAL_S_MIN && *to <= TOP_INTERVAL_S_MAX;
}

static bool number_of(const char *text, unsigned long max, unsigned *to)
{
    char *end;
    errno = 0;
    const unsigned long n = strtoul(text, &end, 10);
    *to = (unsigned)n;
    return errno == 0 && text[0] != '-' && end != text && *end == '\0' && n >= 1 && n <= max;
}

static int bad(const char *option, const char *value, const char *expected)
{
    fprintf(stderr, "c10m top: %s %s: expected %s\n", option, value, expected);
    return 2;
}

static int apply_option(int c, const char *value, struct top_options *o)
{
    switch (c) {
    case 'd':
        return seconds_of(value, &o->interval_s) ? 0 : bad("-d", value, "0.1 to 3600 seconds");
    case 'n':
        return number_of(value, 1000000000, &o->iterations) ? 0
                                                            : bad("-n", value, "a number from 1");
    case 'w':
        return number_of(value, TOP_COLS_MAX, &o->cols) ? 0 : bad("-w", value, "1 to 512 columns");
    case 's':
        o->socket = value;
        return 0;
    case 'm':
        o->mount = value;
        return 0;
    case 'b':
        o->batch = true;
        return 0;
    case 'h':
        fputs(usage, stdout);
        return -1;
    default:
        fputs(usage, stderr);
        return 2;
    }
}

int top_options_parse(int argc, char **argv, struct top_options *o)
{
    static const struct option table[] = {
        {"delay", required_argument, NULL, 'd'},  {"iterations", required_argument, NULL, 'n'},
        {"batch", no_argument, NULL, 'b'},        {"width", required_argument, NULL, 'w'},
        {"socket", required_argument, NULL, 's'}, {"mount", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    *o = (struct top_options){.interval_s = 1, .cols = top_width()};
    optind = 1;
    for (int c, rc; (c = getopt_long(argc, argv, "d:n:bw:s:m:h", table, NULL)) != -1;)
        if ((rc = apply_option(c, optarg, o)) != 0)
            return rc;
    if (o->socket != NULL && o->mount != NULL)
        return bad("-m", o->mount, "either -s or -m, not both");
    if (optind == argc)
        return 0;
    fprintf(stderr, "c10m top: %s: unexpected argument\n", argv[optind]);
    return 2;
}
