// SPDX-License-Identifier: BSD-3-Clause
#include "bench/subprocess.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"

enum { RESULT_BYTES_MAX = 64 << 10 };

static size_t read_all(int fd, void *p, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t r = read(fd, (uint8_t *)p + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    return got;
}

static _Noreturn void child(int fd, int (*fn)(const void *, void *, struct err *), const void *arg,
                            size_t bytes)
{
    struct err err = {.text = ""};
    void *result = calloc(1, bytes);
    CHECK(result != NULL);
    const int32_t rc = fn(arg, result, &err);
    int told = io_write_all(fd, &rc, sizeof(rc));
    if (told == 0)
        told = rc == 0 ? io_write_all(fd, result, bytes) : io_write_all(fd, &err, sizeof(err));
    fflush(NULL);
    _exit(told == 0 ? 0 : 1);
}

static int take(int fd, pid_t pid, void *result, size_t bytes, struct err *err)
{
    int32_t rc = -1;
    int status = 0;
    const bool began = read_all(fd, &rc, sizeof(rc)) == sizeof(rc);
    bool whole = began;
    struct err said = {.text = ""};
    if (began && rc == 0)
        whole = read_all(fd, result, bytes) == bytes;
    else if (began)
        whole = read_all(fd, &said, sizeof(said)) == sizeof(said);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (whole && rc == 0)
        return 0;
    if (whole)
        return err_set(err, "%s", said.text);
    return WIFSIGNALED(status) ? err_set(err, "ended by signal %d", WTERMSIG(status))
                               : err_set(err, "ended without a result");
}

int bench_subprocess(int (*fn)(const void *arg, void *result, struct err *err), const void *arg,
                     void *result, size_t bytes, struct err *err)
{
    int fd[2];
    CHECK(bytes <= RESULT_BYTES_MAX);
    if (pipe(fd) != 0)
        return err_set(err, "pipe: %s", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(fd[1], fn, arg, bytes);
    }
    close(fd[1]);
    const int rc =
        pid < 0 ? err_set(err, "fork: %s", strerror(errno)) : take(fd[0], pid, result, bytes, err);
    close(fd[0]);
    return rc;
}
