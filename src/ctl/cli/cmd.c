// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "c10m/tree.h"

// command: the options and the help of a command.
struct command {
    const char *name, *usage, *short_options;
};

// options: the parsed options. The operands are argv[optind..argc).
struct options {
    const char *socket;
    bool is_long;
};

static const struct command cat_command = {
    "cat", "usage: c10m cat [-s SOCKET] PATH...\n\nPrint entries of a running server's tree.\n\n",
    "+s:h"};
static const struct command ls_command = {
    "ls",
    "usage: c10m ls [-l] [-s SOCKET] [PATH...]\n\n"
    "List entries of a running server's tree (default: its root).\n\n"
    "  -l, --long                print type and mode, owner, group, time of creation and name\n",
    "+ls:h"};
static const struct command write_command = {
    "write",
    "usage: c10m write [-s SOCKET] PATH [VALUE]\n\n"
    "Write to an entry of a running server's tree. One write is one command: VALUE and a newline,\n"
    "or, without VALUE, everything from standard input. c10m cat PATH prints the values that the\n"
    "entry accepts.\n\n",
    "+s:h"};

const char *ctl_cmd_socket(void)
{
    const char *set = getenv("C10M_SOCKET");
    return set != NULL && set[0] != '\0' ? set : CTL_SOCKET_DEFAULT;
}

static void print_usage(FILE *to, const struct command *c)
{
    fprintf(to,
            "%s"
            "  -s, --socket SOCKET       connect to this socket of the server (default: "
            "$C10M_SOCKET, or\n"
            "                            " CTL_SOCKET_DEFAULT ")\n"
            "  -h, --help                print this text\n"
            "\nExit status: 0 success, 1 failure, 2 invalid usage.\n",
            c->usage);
}

// options_get: returns -1: continue; otherwise the exit status.
static int options_get(int argc, char **argv, const struct command *c, int min, int max,
                       struct options *o)
{
    static const struct option table[] = {{"socket", required_argument, NULL, 's'},
                                          {"long", no_argument, NULL, 'l'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int given;
    *o = (struct options){.socket = ctl_cmd_socket()};
    optind = 1;
    while ((given = getopt_long(argc, argv, c->short_options, table, NULL)) != -1) {
        if (given == 's')
            o->socket = optarg;
        else if (given == 'l' && strchr(c->short_options, 'l') != NULL)
            o->is_long = true;
        else {
            print_usage(given == 'h' ? stdout : stderr, c);
            return given == 'h' ? 0 : 2;
        }
    }
    const int n = argc - optind;
    if (n >= min && n <= max)
        return -1;
    fprintf(stderr, "c10m %s: %s\n\n", c->name, n < min ? "expected a PATH" : "too many arguments");
    print_usage(stderr, c);
    return 2;
}

static int connect_or_say(struct ctl_client *c, const struct command *cmd, const struct options *o)
{
    struct err e;
    if (ctl_client_open(c, o->socket, CLIENT_TIMEOUT_MS, &e) == 0)
        return 0;
    fprintf(stderr, "c10m %s: %s\n", cmd->name, e.text);
    return -1;
}

// lost: whether the connection is unusable after this error.
static bool lost(int rc)
{
    return rc == -EPIPE || rc == -ETIMEDOUT || rc == -EPROTO;
}

// ---- cat

static int stdout_sink(void *arg, const char *data, size_t n)
{
    (void)arg;
    return io_write_all(STDOUT_FILENO, data, n);
}

int ctl_cat_main(int argc, char **argv)
{
    struct options o;
    struct ctl_client c;
    struct err e;
    int status = options_get(argc, argv, &cat_command, 1, argc, &o);
    if (status >= 0)
        return status;
    if (connect_or_say(&c, &cat_command, &o) != 0)
        return 1;
    ctl_client_timeout(&c, 0);  // a stream may be silent for a long time
    status = 0;
    for (int i = optind; i < argc; i++) {
        const int rc = ctl_client_read(&c, argv[i], 0, 0, stdout_sink, NULL, &e);
        if (rc != 0) {
            fprintf(stderr, "c10m cat: %s\n", e.text);
            status = 1;
        }
        if (lost(rc))
            break;
    }
    ctl_client_close(&c);
    return status;
}

// ---- ls

static const char kind_letter[] = "d-l";

static void mode_text(const struct wire_entry *entry, char out[11])
{
    out[0] = kind_letter[entry->kind];
    for (int i = 0; i < 9; i++)
        out[1 + i] = (entry->mode >> (8 - i) & 1) != 0 ? "rwxrwxrwx"[i] : '-';
    out[10] = '\0';
}

static void print_entry(const struct wire_entry *entry, const char *name, int name_bytes,
                        bool is_long)
{
    if (is_long) {
        char mode[11], when[32] = "";
        struct tm tm;
        const time_t made = (time_t)entry->made_s;
        mode_text(entry, mode);
        if (localtime_r(&made, &tm) != NULL)
            strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
        printf("%s %5u %5u %s ", mode, entry->uid, entry->gid, when);
    }
    printf("%.*s%s", name_bytes, name, entry->kind == 0 ? "/" : "");
    if (is_long && entry->target_bytes > 0)
        printf(" -> %.*s", entry->target_bytes, entry->target);
    putchar('\n');
}

static void list_one(void *arg, const struct wire_entry *entry)
{
    const struct options *o = arg;
    print_entry(entry, entry->name, entry->name_bytes, o->is_long);
}

// ls_path: prints the entries of a directory, or the entry itself. heading: prints the path first.
static int ls_path(struct ctl_client *c, const char *path, struct options *o, bool heading,
                   struct err *e)
{
    struct wire_entry entry;
    int rc = ctl_client_stat(c, path, o->is_long, &entry, e);
    if (rc == 0 && entry.kind != 0) {
        print_entry(&entry, path, (int)strlen(path), o->is_long);
        return 0;
    }
    if (rc != 0)
        return rc;
    if (heading)
        printf("%s:\n", path);
    return ctl_client_list(c, path, list_one, o, e);
}

int ctl_ls_main(int argc, char **argv)
{
    struct options o;
    struct ctl_client c;
    struct err e;
    int status = options_get(argc, argv, &ls_command, 0, argc, &o);
    if (status >= 0)
        return status;
    if (connect_or_say(&c, &ls_command, &o) != 0)
        return 1;
    const int n = argc - optind;
    status = 0;
    for (int i = 0; i < (n == 0 ? 1 : n); i++) {
        const int rc = ls_path(&c, n == 0 ? "" : argv[optind + i], &o, n > 1, &e);
        if (rc != 0) {
            fprintf(stderr, "c10m ls: %s\n", e.text[0] == ':' ? e.text + 2 : e.text);
            status = 1;
        }
        if (lost(rc))
            break;
    }
    ctl_client_close(&c);
    return fflush(stdout) == 0 ? status : 1;
}

// ---- write

// value_get: the text to be written: the argument and a newline, or all of stdin.
static int value_get(const char *argument, struct text *text)
{
    char buf[4096];
    ssize_t n;
    if (argument != NULL)
        return text_printf(text, "%s\n", argument);
    while ((n = read(STDIN_FILENO, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text_put(text, buf, (size_t)n);
    }
    return text->error;
}

int ctl_write_main(int argc, char **argv)
{
    struct options o;
    struct ctl_client c;
    struct text value;
    struct err e;
    const int status = options_get(argc, argv, &write_command, 1, 2, &o);
    if (status >= 0)
        return status;
    text_init(&value, 2 * TREE_WRITE_BYTES_MAX);
    int rc = value_get(optind + 1 < argc ? argv[optind + 1] : NULL, &value);
    if (rc != 0) {
        fprintf(stderr, "c10m write: value: %s\n", strerror(-rc));
        text_free(&value);
        return 1;
    }
    rc = connect_or_say(&c, &write_command, &o);
    if (rc == 0) {
        rc = ctl_client_write(&c, argv[optind], text_str(&value), value.len, &e);
        if (rc != 0)
            fprintf(stderr, "c10m write: %s\n", e.text);
        ctl_client_close(&c);
    }
    text_free(&value);
    return rc == 0 ? 0 : 1;
}
