// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_main.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/cli/client.h"
#include "top/top_options.h"
#include "top/top_term.h"
#include "top/top_view.h"

// top: three samples in rotation: the one shown, the previous one, and the one being read.
struct top {
    struct top_options options;
    struct top_source *source;
    struct top_sample samples[3];
    int now, before;  // indices of samples; -1: none yet
    struct top_figures figures;
    struct top_ui ui;
    struct top_grid grid;
    unsigned taken;  // number of readings
};

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say_trouble(struct top *t, int rc)
{
    t->ui.stale = true;
    if (rc == -EPROTO)
        snprintf(t->ui.trouble, sizeof(t->ui.trouble), "%s: not a c10m server", t->source->name);
    else
        snprintf(t->ui.trouble, sizeof(t->ui.trouble), "no server at %s: %s", t->source->name,
                 strerror(-rc));
}

// Takes a sample and computes its figures. Returns 0, or -errno: then the old figures stay, marked
// as stale.
static int read_sample(struct top *t)
{
    int next = 0;
    while (next == t->now || next == t->before)
        next++;
    int rc = top_sample_take(&t->samples[next], t->source);
    if (rc == 0)
        rc = top_compute(&t->figures, &t->samples[next], t->now < 0 ? NULL : &t->samples[t->now]);
    if (rc != 0) {
        say_trouble(t, rc);
        return rc;
    }
    t->before = t->now;
    t->now = next;
    t->taken++;
    t->ui.stale = false;
    t->ui.trouble[0] = '\0';
    return 0;
}

static const struct top_figures *shown(struct top *t)
{
    if (t->now < 0)
        return NULL;
    top_sort(&t->figures, t->ui.sort, t->ui.reverse);
    return &t->figures;
}

static void print_batch(struct top *t)
{
    char line[TOP_COLS_MAX + 1];
    top_grid_clear(&t->grid, TOP_HEAD_ROWS + t->figures.n_rows + TOP_FOOT_ROWS, t->options.cols);
    top_draw(&t->grid, shown(t), &t->ui);
    for (unsigned y = 0; y + TOP_FOOT_ROWS < t->grid.rows; y++) {
        top_line(&t->grid, y, line);
        puts(line);
    }
    puts("");
    fflush(stdout);
}

// Takes a first reading, then prints a table for each further one. If the server ends, it waits for
// a new one.
static int run_batch(struct top *t)
{
    bool said = false;
    if (read_sample(t) != 0) {
        if (top_signal() == 0)
            fprintf(stderr, "c10m top: %s\n", t->ui.trouble);
        return 1;
    }
    for (unsigned n = 0; t->options.iterations == 0 || n < t->options.iterations;) {
        if (!top_sleep(t->ui.interval_s))
            return 0;
        const bool there = read_sample(t) == 0;
        if (there) {
            print_batch(t);
            n++;
        } else if (!said && top_signal() == 0)
            fprintf(stderr, "c10m top: %s\n", t->ui.trouble);
        said = !there;
        if (ferror(stdout))
            return 1;
    }
    return 0;
}

static void draw(struct top *t)
{
    unsigned rows, cols;
    top_term_size(&rows, &cols);
    top_grid_clear(&t->grid, rows, cols);
    top_draw(&t->grid, shown(t), &t->ui);
    top_term_show(&t->grid);
}

// The second reading follows the first one early, because the first one only gives means since the
// start.
static double pause_s(const struct top *t)
{
    return t->taken == 1 && !t->ui.stale ? fmin(t->ui.interval_s, 0.5) : t->ui.interval_s;
}

static int run_screen(struct top *t)
{
    static const struct top_figures none;
    double read_at = -1e9;
    while (!t->ui.quit) {
        const double left = read_at + pause_s(t) - clock_s();
        if (left <= 0 && !t->ui.paused) {
            if (read_sample(t) == 0 && t->options.iterations > 0 &&
                t->taken > t->options.iterations)
                t->ui.quit = true;
            read_at = clock_s();
            draw(t);
            continue;
        }
        const int key = top_term_wait(t->ui.paused ? 3600 : left);
        if (key == TOP_KEY_END_ASKED)
            break;
        if (key > 0)
            top_ui_key(&t->ui, key, t->now < 0 ? &none : &t->figures);
        if (key != TOP_KEY_NONE)
            draw(t);
    }
    return 0;
}

static void free_top(struct top *t)
{
    if (t->source != NULL)
        t->source->close(t->source);
    for (unsigned i = 0; i < ARRAY_LEN(t->samples); i++)
        top_sample_free(&t->samples[i]);
    top_figures_free(&t->figures);
    free(t);
}

static int run(struct top *t)
{
    struct err e;
    top_signals();
    if (t->options.batch)
        return run_batch(t);
    if (top_term_open(&e) != 0) {
        fprintf(stderr, "c10m top: %s\n", e.text);
        return 1;
    }
    const int rc = run_screen(t);
    top_term_close();
    return rc;
}

// The source of the options; by default the socket, or the mount if only that exists.
static struct top_source *source_of(const struct top_options *o)
{
    const char *socket = o->socket != NULL ? o->socket : getenv("C10M_SOCKET");
    if (o->mount != NULL)
        return top_source_dir(o->mount);
    if (socket != NULL)
        return top_source_sock(socket);
    if (access(CTL_SOCKET_DEFAULT, F_OK) != 0 && access(TOP_MOUNT_DEFAULT "/version", F_OK) == 0)
        return top_source_dir(TOP_MOUNT_DEFAULT);
    return top_source_sock(CTL_SOCKET_DEFAULT);
}

int top_main(int argc, char **argv)
{
    struct top_options options;
    int rc = top_options_parse(argc, argv, &options);
    if (rc != 0)
        return rc < 0 ? 0 : rc;
    struct top *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        perror("c10m top");
        return 1;
    }
    t->options = options;
    t->now = t->before = -1;
    t->ui.interval_s = options.interval_s;
    t->source = source_of(&options);
    if (t->source == NULL)
        perror("c10m top");
    rc = t->source == NULL ? 1 : run(t);
    free_top(t);
    if (top_signal() != 0) {  // end the process by the same signal
        signal(top_signal(), SIG_DFL);
        raise(top_signal());
    }
    return rc;
}
