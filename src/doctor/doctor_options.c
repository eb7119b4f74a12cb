// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_options.h"

#include <getopt.h>
#include <string.h>

static const char *const command_names[] = {"check", "fix", "undo", "explain"};

static void usage(FILE *to)
{
    fputs(
        "usage: c10m doctor check [OPTIONS] [ROW...]\n"
        "       c10m doctor fix [OPTIONS] [ROW...]\n"
        "       c10m doctor undo [OPTIONS]\n"
        "       c10m doctor explain [OPTIONS] ROW\n\n"
        "Judge this machine for a configuration: what would stop a server, or slow it down.\n"
        "check and explain need no root and change nothing. fix prints each change before it "
        "makes it\n"
        "and records what was there; undo restores exactly that.\n\n"
        "  -c, --config FILE         read this configuration (default: the defaults of the keys)\n"
        "  -s, --set SECTION.KEY=V   override one key of the configuration; may be repeated\n"
        "      --json                print JSON: check and explain one object, fix and undo a "
        "line for\n"
        "                            each event\n"
        "      --dry-run             fix, undo: print the changes, make none\n"
        "      --force               also take a NIC that carries the default route or the "
        "session\n"
        "      --root DIR            look at the /sys, /proc and /etc below DIR (for tests)\n"
        "  -h, --help                print this text\n\n"
        "Rows:\n\n",
        to);
    for (unsigned i = 0; i < doctor_n_rows; i++)
        fprintf(to, "    %-15s %s\n", doctor_rows[i].name, doctor_rows[i].help);
}

static int bad(const char *what, const char *word)
{
    fprintf(stderr, "c10m doctor: %s%s%s (c10m doctor --help)\n", word, word[0] == '\0' ? "" : ": ",
            what);
    return 2;
}

static int take_option(int c, struct doctor_options *o)
{
    if (c == 'c')
        o->file = optarg;
    else if (c == 's' && o->n_sets < DOCTOR_SETS_MAX)
        o->sets[o->n_sets++] = optarg;
    else if (c == 'j')
        o->json = true;
    else if (c == 'f')
        o->force = true;
    else if (c == 'd')
        o->dry_run = true;
    else if (c == 'r')
        o->root = strcmp(optarg, "/") == 0 ? "" : optarg;
    else
        return c == 'h' ? 1 : 2;
    return 0;
}

static int take_row(const char *name, struct doctor_options *o)
{
    const struct doctor_row *row = doctor_row_find(name);
    if (row == NULL)
        return bad("no such row", name);
    if (o->asked.n == ARRAY_LEN(o->asked.rows))
        return bad("too many rows", name);
    o->asked.rows[o->asked.n++] = row;
    return 0;
}

static int take_command(const char *name, struct doctor_options *o)
{
    for (unsigned i = 0; i < ARRAY_LEN(command_names); i++) {
        if (strcmp(name, command_names[i]) != 0)
            continue;
        o->command = i;
        return 0;
    }
    return bad("check, fix, undo or explain was expected", name);
}

static int check_words(const struct doctor_options *o)
{
    if (o->command == DOCTOR_EXPLAIN && o->asked.n != 1)
        return bad("explain: one ROW was expected", "");
    if (o->command == DOCTOR_UNDO && o->asked.n != 0)
        return bad("undo takes no ROW: it restores all that was changed", "");
    if (o->dry_run && o->command != DOCTOR_FIX && o->command != DOCTOR_UNDO)
        return bad("only fix and undo change anything", "--dry-run");
    return 0;
}

int doctor_options_parse(int argc, char **argv, struct doctor_options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'}, {"set", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},         {"force", no_argument, NULL, 'f'},
        {"dry-run", no_argument, NULL, 'd'},      {"root", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int c, rc = 0;
    *o = (struct doctor_options){.root = ""};
    optind = 1;
    while (rc == 0 && (c = getopt_long(argc, argv, "c:s:h", table, NULL)) != -1)
        rc = take_option(c, o);
    if (rc != 0 || optind == argc) {
        usage(rc == 1 ? stdout : stderr);
        return rc == 1 ? 1 : 2;
    }
    rc = take_command(argv[optind++], o);
    while (rc == 0 && optind < argc)
        rc = take_row(argv[optind++], o);
    return rc != 0 ? rc : check_words(o);
}
