// SPDX-License-Identifier: BSD-3-Clause
// Runs a benchmark with --json into a file without a name, and prints what go_text() makes of it.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/go_text.h"

enum { JSON_BYTES_MAX = 1 << 20 };

bool go_text_wanted(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--go") == 0)
            return true;
    return false;
}

static void ask_for_json(int argc, char **argv)
{
    static char json[] = "--json";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--go") == 0)
            argv[i] = json;
}

// Makes `to` the standard output. Returns the previous one, or -1.
static int turn_output(int to)
{
    fflush(stdout);
    const int before = dup(STDOUT_FILENO);
    if (before < 0 || dup2(to, STDOUT_FILENO) < 0)
        return -1;
    return before;
}

static char *read_all(int fd, char *room)
{
    const ssize_t n = pread(fd, room, JSON_BYTES_MAX - 1, 0);
    room[n < 0 ? 0 : n] = '\0';
    return room;
}

static int print(const char *json, const char *name)
{
    struct text out;
    text_init(&out, GO_TEXT_BYTES_MAX);
    go_text_head(&out);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int rc = go_text(json, name, cpus < 1 ? 1 : (unsigned)cpus, &out);
    if (rc == 0)
        fputs(text_str(&out), stdout);
    else
        fprintf(stderr, "c10m bench %s: its result cannot be written in Go's format\n", name);
    text_free(&out);
    return rc == 0 ? 0 : 1;
}

int go_text_run(int argc, char **argv, int (*run)(int argc, char **argv))
{
    static char json[JSON_BYTES_MAX];
    const char *name = argv[0];
    const int fd = memfd_create("c10m-bench", MFD_CLOEXEC), before = fd < 0 ? -1 : turn_output(fd);
    if (before < 0) {
        fprintf(stderr, "c10m bench %s: no file for the result\n", name);
        return 1;
    }
    ask_for_json(argc, argv);
    const int status = run(argc, argv);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    read_all(fd, json);
    close(fd);
    return status == 0 ? print(json, name) : status;
}
