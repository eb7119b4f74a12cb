// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/serve_prof.h"

#include "base/log.h"
#include "prof/prof_kinds.h"
#include "prof/recorder.h"

static void on_timer(void *arg, uint64_t periods);

// set_timer: period 0: no timer.
static void set_timer(struct serve_prof *k, uint32_t period_ms)
{
    struct err err;
    if (period_ms == k->period_ms)
        return;
    ctl_loop_remove(k->loop, k->timer_fd);
    k->timer_fd = period_ms == 0 ? -1 : ctl_loop_timer(k->loop, period_ms, on_timer, k, &err);
    k->period_ms = k->timer_fd < 0 ? 0 : period_ms;
    if (period_ms != 0 && k->timer_fd < 0)
        log_line(LOG_WARN, "profiles do not end: %s", err.text);
}

static void on_timer(void *arg, uint64_t periods)
{
    struct serve_prof *k = arg;
    set_timer(k, prof_turn(k->prof, prof_clock_ms()));
}

static void on_started(void *arg)
{
    set_timer(arg, PROF_SLICE_MS);
}

// ---- the flight recorder

static void on_flight(void *arg, uint64_t periods)
{
    struct serve_prof *k = arg;
    if (recorder_tick(k->recorder))
        return;
    ctl_loop_remove(k->loop, k->flight_fd);
    k->flight_fd = -1;
}

static void on_flight_started(void *arg)
{
    struct serve_prof *k = arg;
    struct err err;
    if (k->flight_fd >= 0)
        return;
    k->flight_fd = ctl_loop_timer(k->loop, RECORDER_TICK_MS, on_flight, k, &err);
    if (k->flight_fd < 0)
        log_line(LOG_WARN, "the flight recorder does not look: %s", err.text);
}

static void close_flight(struct serve_prof *k)
{
    if (k->flight_fd >= 0)
        ctl_loop_remove(k->loop, k->flight_fd);
    recorder_free(k->recorder);
}

// ---- the files of the flags

static void on_left(void *arg, uint64_t periods)
{
    struct serve_prof *k = arg;
    k->left_rc = prof_files_poll(k->left, k->left_err);
    if (k->left_rc != PROF_FILES_WAIT)
        ctl_loop_stop(k->loop);
}

int serve_prof_write(struct serve_prof *k, struct prof_files *files, struct err *err)
{
    if (files == NULL || !prof_files_any(files))
        return 0;
    k->left = files;
    k->left_err = err;
    k->left_rc = PROF_FILES_WAIT;
    prof_files_stop(files, err);
    const int fd = ctl_loop_timer(k->loop, PROF_SLICE_MS, on_left, k, err);
    if (fd < 0)
        return -1;
    if (ctl_loop_run(k->loop) != 0)
        err_set(err, "the control loop failed");
    ctl_loop_remove(k->loop, fd);
    k->left = NULL;
    if (k->left_rc == PROF_FILES_WAIT)
        return prof_files_leave(files, "incomplete: a further signal ended the server", err);
    return k->left_rc;
}

int serve_prof_open(struct serve_prof *k, struct ctl_loop *loop, const struct ctl_shown *shown,
                    struct err *err)
{
    struct prof_params p = {
        .shown = {shown->server, shown->version, shown->stalls, shown->fill, shown->stages, NULL},
        .kinds = prof_kinds,
        .n_kinds = prof_n_kinds,
        .started = on_started,
        .arg = k};
    *k = (struct serve_prof){.loop = loop, .timer_fd = -1, .flight_fd = -1};
    k->recorder = p.shown.recorder = recorder_new(&p.shown, on_flight_started, k);
    if (k->recorder == NULL)
        return err_set(err, "no memory for the flight recorder");
    k->prof = prof_new(&p, err);
    if (k->prof == NULL)
        return -1;
    k->files = ctl_prof_files_new(shown->tree, k->prof, err);
    return k->files == NULL ? -1 : 0;
}

void serve_prof_close(struct serve_prof *k)
{
    if (k->recorder == NULL)
        return;
    if (k->prof != NULL)
        set_timer(k, 0);
    ctl_prof_files_free(k->files);
    prof_free(k->prof);
    close_flight(k);
    *k = (struct serve_prof){.timer_fd = -1, .flight_fd = -1};
}
