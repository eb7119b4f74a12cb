// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *option, *kind;
} rows[] = {[PROF_FILE_CPU] = {"cpuprofile", "profile"},
            [PROF_FILE_MEM] = {"memprofile", "heap"},
            [PROF_FILE_TRACE] = {"trace", "trace"}};

int prof_files_option(const char *name)
{
    for (int i = 0; i < PROF_FILE_KINDS; i++)
        if (strcmp(rows[i].option, name) == 0)
            return i;
    return -1;
}

bool prof_files_any(const struct prof_files *f)
{
    bool any = false;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        any |= f->paths[i] != NULL;
    return any;
}

static int fail(const struct prof_files *f, unsigned i, const char *why, struct err *err)
{
    char text[ERR_TEXT_BYTES];  // why may be in *err
    memccpy(text, why, '\0', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    return err_set(err, "--%s %s: %s", rows[i].option, f->paths[i], text);
}

int prof_files_open(struct prof_files *f, struct err *err)
{
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        f->fds[i] = -1;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++) {
        if (f->paths[i] == NULL)
            continue;
        f->fds[i] = open(f->paths[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        // Not blocking only now: the open waits for the reader of a pipe.
        if (f->fds[i] < 0 || fcntl(f->fds[i], F_SETFL, O_WRONLY | O_NONBLOCK) != 0)
            return fail(f, i, strerror(errno), err);
    }
    return 0;
}

static int start(struct prof_files *f, unsigned i, struct err *err)
{
    struct prof_order order = {
        .kind = prof_kind_named(f->prof, rows[i].kind), .client = "flag", .root = true};
    if (order.kind == NULL)
        return fail(f, i, "there is no such profile", err);
    order.whole = order.kind->timed;
    order.query.seconds = order.kind->timed ? PROF_SECONDS_MAX : 0;
    if (prof_start(f->prof, &order, prof_clock_ms(), &f->runs[i], err) != 0)
        return fail(f, i, err->text, err);
    return 0;
}

int prof_files_begin(struct prof_files *f, struct prof *prof, struct err *err)
{
    if (f == NULL)
        return 0;
    f->prof = prof;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        if (f->paths[i] != NULL && i != PROF_FILE_MEM && start(f, i, err) != 0)
            return -1;
    return 0;
}

static bool is_over(struct prof_run *run)
{
    return prof_phase(run) == PROF_READY || prof_phase(run) == PROF_FAILED;
}

// put: writes a part of the result. Returns PROF_FILES_WAIT if there is more, 0, or -1 with *err.
static int put(struct prof_files *f, unsigned i, struct err *err)
{
    const struct text *t = prof_result(f->runs[i]);
    const size_t left = t->len - f->written[i];
    const ssize_t n =
        write(f->fds[i], text_str(t) + f->written[i], MIN(left, (size_t)PROF_FILES_SLICE_BYTES));
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return fail(f, i, strerror(errno), err);
    f->written[i] += (size_t)MAX(n, 0);
    return f->written[i] < t->len ? PROF_FILES_WAIT : 0;
}

static int close_file(struct prof_files *f, unsigned i, struct err *err)
{
    const int fd = f->fds[i];
    f->fds[i] = -1;
    return fd < 0 || close(fd) == 0 ? 0 : fail(f, i, strerror(errno), err);
}

static void end_run(struct prof_files *f, unsigned i)
{
    if (f->runs[i] != NULL)
        prof_end(f->runs[i]);
    f->runs[i] = NULL;
}

// go_on: does a part of what is left of file i. Returns as put().
static int go_on(struct prof_files *f, unsigned i, struct err *err)
{
    struct prof_run *run = f->runs[i];
    if (run == NULL)
        return 0;
    if (!is_over(run))
        return PROF_FILES_WAIT;
    const int rc =
        prof_phase(run) == PROF_FAILED ? fail(f, i, prof_error(run), err) : put(f, i, err);
    if (rc == PROF_FILES_WAIT)
        return rc;
    end_run(f, i);
    return close_file(f, i, err) == 0 ? rc : -1;
}

static void wait_a_slice(const struct prof_files *f)
{
    usleep(PROF_SLICE_MS * 1000);
    if (f->prof != NULL)
        prof_turn(f->prof, prof_clock_ms());
}

static int start_memory(struct prof_files *f, struct err *err)
{
    const unsigned i = PROF_FILE_MEM;
    if (f->paths[i] == NULL || f->fds[i] < 0 || f->prof == NULL)
        return 0;
    return start(f, i, err);
}

int prof_files_memory(struct prof_files *f, struct err *err)
{
    int rc = start_memory(f, err);
    while (rc == 0 && (rc = go_on(f, PROF_FILE_MEM, err)) == PROF_FILES_WAIT) {
        wait_a_slice(f);
        rc = 0;
    }
    return rc;
}

void prof_files_stop(struct prof_files *f, struct err *err)
{
    if (f == NULL)
        return;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        if (f->runs[i] != NULL)
            prof_stop(f->runs[i]);
    f->failed |= start_memory(f, err) != 0;
}

int prof_files_poll(struct prof_files *f, struct err *err)
{
    bool more = false;
    if (f == NULL)
        return 0;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++) {
        const int rc = go_on(f, i, err);
        more |= rc == PROF_FILES_WAIT;
        f->failed |= rc < 0;
    }
    if (more)
        return PROF_FILES_WAIT;
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        f->failed |= f->paths[i] != NULL && close_file(f, i, err) != 0;
    f->prof = NULL;
    return f->failed ? -1 : 0;
}

int prof_files_leave(struct prof_files *f, const char *why, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; f != NULL && i < PROF_FILE_KINDS; i++) {
        if (f->paths[i] == NULL || f->fds[i] < 0)
            continue;
        end_run(f, i);
        close_file(f, i, err);
        rc = fail(f, i, why, err);
    }
    return rc;
}

int prof_files_end(struct prof_files *f, struct err *err)
{
    int rc;
    prof_files_stop(f, err);
    while ((rc = prof_files_poll(f, err)) == PROF_FILES_WAIT)
        wait_a_slice(f);
    return rc;
}
