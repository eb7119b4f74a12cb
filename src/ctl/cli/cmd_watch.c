// SPDX-License-Identifier: BSD-3-Clause
// cmd_watch.c: c10m watch: reads entries at an interval, similar to watch(1).
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "ctl/cli/cmd.h"

enum {
    TEXT_BYTES_MAX = 16 * 1024 * 1024,  // text of one reading
    LINE_BYTES_MAX = 4096,              // one line on a terminal
};

// watch: now and before are the last two readings.
struct watch {
    const char *socket;
    char **paths;
    int n_paths;
    double seconds;
    unsigned long rounds;  // 0: no limit
    bool differences, terminal;
    struct text now, before;
};

static const char usage[] =
    "usage: c10m watch [-d] [-n SECONDS] [-c COUNT] [-s SOCKET] PATH...\n"
    "\n"
    "Print entries of a running server's tree at an interval until Ctrl-C. Each reading replaces\n"
    "the previous one on a terminal, and follows it elsewhere.\n"
    "\n"
    "  -d, --differences         highlight changes on a terminal; elsewhere print only the lines\n"
    "                            that changed\n"
    "  -n, --interval SECONDS    seconds between two readings, 0.1 to 86400 (default: 2)\n"
    "  -c, --count COUNT         end after COUNT readings (default: at Ctrl-C)\n"
    "  -s, --socket SOCKET       connect to this socket of the server (default: $C10M_SOCKET, or\n"
    "                            " CTL_SOCKET_DEFAULT ")\n"
    "  -h, --help                print this text\n"
    "\nExit status: 0 success, 1 failure, 2 invalid usage, 130 ended by Ctrl-C.\n";

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static bool number_get(const char *text, double min, double max, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && *value >= min && *value <= max;
}

// options_get: returns -1: continue; otherwise the exit status.
static int options_get(int argc, char **argv, struct watch *w)
{
    static const struct option table[] = {
        {"differences", no_argument, NULL, 'd'}, {"interval", required_argument, NULL, 'n'},
        {"count", required_argument, NULL, 'c'}, {"socket", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    int given;
    double count = 0;
    optind = 1;
    while ((given = getopt_long(argc, argv, "+dn:c:s:h", table, NULL)) != -1) {
        bool good = true;
        if (given == 'd')
            w->differences = true;
        else if (given == 'n')
            good = number_get(optarg, 0.1, 86400, &w->seconds);
        else if (given == 'c')
            good = number_get(optarg, 1, 1e9, &count) && count == floor(count);
        else if (given == 's')
            w->socket = optarg;
        else {
            fputs(usage, given == 'h' ? stdout : stderr);
            return given == 'h' ? 0 : 2;
        }
        if (!good) {
            fprintf(stderr, "c10m watch: -%c: expected %s, got \"%s\"\n", given,
                    given == 'n' ? "0.1 to 86400 seconds" : "a number of readings from 1", optarg);
            return 2;
        }
    }
    w->rounds = (unsigned long)count;
    w->paths = argv + optind;
    w->n_paths = argc - optind;
    if (w->n_paths > 0)
        return -1;
    fprintf(stderr, "c10m watch: expected a PATH\n\n%s", usage);
    return 2;
}

// read_all: reads all paths, each with its name as heading if there are several.
static int read_all(struct watch *w, struct ctl_client *c, struct err *e)
{
    int first = 0;
    for (int i = 0; i < w->n_paths; i++) {
        if (w->n_paths > 1)
            text_printf(&w->now, "%s%s:\n", i == 0 ? "" : "\n", w->paths[i]);
        const int rc = ctl_client_get(c, w->paths[i], &w->now, e);
        if (rc == -EPIPE || rc == -ETIMEDOUT || rc == -EPROTO)
            return rc;
        if (rc != 0)
            text_printf(&w->now, "%s\n", e->text);
        first = first == 0 ? rc : first;
    }
    return first;
}

// reading: reads once. If the server has closed the connection, connects again once.
static int reading(struct watch *w, struct ctl_client *c, struct err *e)
{
    for (int tries = 0;; tries++) {
        int rc = 0;
        text_free(&w->now);
        if (c->fd < 0)
            rc = ctl_client_open(c, w->socket, CLIENT_TIMEOUT_MS, e);
        if (rc != 0)
            return rc;
        rc = read_all(w, c, e);
        if (rc != -EPIPE && rc != -ETIMEDOUT && rc != -EPROTO)
            return rc;
        ctl_client_close(c);
        if (rc != -EPIPE || tries == 1)
            return rc;
    }
}

// ---- output

// next_line: returns the next line of *at, its length in *n, and moves *at after it. NULL: there is
// none.
static const char *next_line(const char **at, size_t *n)
{
    const char *line = *at;
    if (line == NULL || *line == '\0')
        return NULL;
    *n = strcspn(line, "\n");
    *at += *n + (line[*n] == '\n');
    return line;
}

// put_line: prints one line of at most `columns`, control characters as ?, tabs as blanks.
// Characters that differ from `old` are inverse.
static void put_line(const char *line, size_t n, const char *old, size_t old_n, unsigned columns)
{
    bool inverse = false;
    for (size_t i = 0, column = 0; i < n && i < LINE_BYTES_MAX && column < columns; i++, column++) {
        const bool differs = old != NULL && (i >= old_n || line[i] != old[i]);
        if (differs != inverse)
            fputs(differs ? "\033[7m" : "\033[27m", stdout);
        inverse = differs;
        const unsigned char ch = (unsigned char)line[i];
        if (ch == '\t')
            for (putchar(' '); (column + 1) % 8 != 0 && column + 1 < columns; column++)
                putchar(' ');
        else
            putchar(ch < ' ' || ch == 0x7f ? '?' : ch);
    }
    if (inverse)
        fputs("\033[27m", stdout);
    fputs("\033[K", stdout);
}

static void draw(const struct watch *w, const char *trouble)
{
    struct winsize size = {0};
    char head[256], when[32] = "";
    struct tm tm;
    const time_t now = time(NULL);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 3 || size.ws_col < 10)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    if (localtime_r(&now, &tm) != NULL)
        strftime(when, sizeof(when), "%H:%M:%S", &tm);
    snprintf(head, sizeof(head), "%s  every %g s  %s%s", when, w->seconds, w->paths[0],
             w->n_paths > 1 ? " ..." : "");
    fputs("\033[H", stdout);
    put_line(head, strlen(head), NULL, 0, size.ws_col);
    fputs("\r\n", stdout);
    const char *at = text_str(&w->now), *old_at = w->differences ? text_str(&w->before) : NULL;
    const bool compare = w->differences && w->before.len > 0;
    if (trouble != NULL)
        put_line(trouble, strlen(trouble), NULL, 0, size.ws_col);
    for (unsigned row = trouble != NULL ? 2 : 1; row < size.ws_row; row++) {
        size_t n = 0, old_n = 0;
        const char *line = next_line(&at, &n);
        const char *old = compare ? next_line(&old_at, &old_n) : NULL;
        if (line == NULL)
            break;
        fputs(row == 1 ? "" : "\r\n", stdout);
        put_line(line, n, compare && old == NULL ? "" : old, old_n, size.ws_col);
    }
    fputs("\033[J", stdout);
    fflush(stdout);
}

static void print(const struct watch *w)
{
    const char *at = text_str(&w->now), *old_at = text_str(&w->before);
    const char *line;
    size_t n, old_n;
    while ((line = next_line(&at, &n)) != NULL) {
        const char *old = next_line(&old_at, &old_n);
        if (!w->differences || old == NULL || old_n != n || memcmp(line, old, n) != 0)
            printf("%.*s\n", (int)n, line);
    }
    fflush(stdout);
}

// pause_until: sleeps until `due`, one interval after the last due time. If a reading took longer,
// the next one follows at once.
static void pause_until(struct timespec *due, double seconds)
{
    struct timespec now;
    due->tv_sec += (time_t)seconds;
    due->tv_nsec += (long)((seconds - floor(seconds)) * 1e9);
    if (due->tv_nsec >= 1000000000) {
        due->tv_sec++;
        due->tv_nsec -= 1000000000;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > due->tv_sec || (now.tv_sec == due->tv_sec && now.tv_nsec > due->tv_nsec))
        *due = now;
    else
        while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL) == EINTR)
            ;
}

// watch_run: on a terminal, an error is shown and the reading is repeated; elsewhere an error ends
// the command.
static int watch_run(struct watch *w, struct ctl_client *c)
{
    struct timespec due;
    struct err e;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (unsigned long round = 0; !interrupted; round++) {
        const int rc = reading(w, c, &e);
        const bool no_server = c->fd < 0;
        if (interrupted)
            break;
        if (rc != 0 && (!w->terminal || (round == 0 && no_server))) {
            fprintf(stderr, "c10m watch: %s\n", e.text);
            return 1;
        }
        if (w->terminal)
            draw(w, no_server ? e.text : NULL);
        else
            print(w);
        if (w->rounds != 0 && round + 1 == w->rounds)
            return 0;
        text_free(&w->before);
        const struct text swap = w->before;
        w->before = w->now;
        w->now = swap;
        pause_until(&due, w->seconds);
    }
    return 130;
}

int ctl_watch_main(int argc, char **argv)
{
    struct watch w = {.socket = ctl_cmd_socket(), .seconds = 2};
    struct ctl_client c = {.fd = -1};
    const int status = options_get(argc, argv, &w);
    if (status >= 0)
        return status;
    text_init(&w.now, TEXT_BYTES_MAX);
    text_init(&w.before, TEXT_BYTES_MAX);
    w.terminal = isatty(STDOUT_FILENO) == 1;
    const struct sigaction act = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &act, NULL);
    if (w.terminal)
        fputs("\033[2J", stdout);
    const int result = watch_run(&w, &c);
    if (w.terminal)
        fputs("\r\n", stdout);
    ctl_client_close(&c);
    text_free(&w.now);
    text_free(&w.before);
    return result;
}
