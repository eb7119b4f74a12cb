// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"

enum { BYTES = 1 << 20 };  // more than a pipe holds

static uint8_t sent[BYTES], got[BYTES];

static pthread_t writer;

static void nothing(int signal)
{
    (void)signal;
}

// A reader that takes odd pieces until it has all, and interrupts the writer at each: a write that
// waits for room ends with what it has written so far, or with EINTR.
static void *reader(void *arg)
{
    const int fd = *(const int *)arg;
    size_t at = 0;
    for (ssize_t n; at < BYTES && (n = read(fd, got + at, 4093)) > 0;) {
        at += (size_t)n;
        pthread_kill(writer, SIGUSR1);
    }
    return NULL;
}

static void writes_that_are_interrupted_lose_no_byte(void **state)
{
    (void)state;
    int fd[2];
    pthread_t thread;
    const struct sigaction interrupt = {.sa_handler = nothing};  // no SA_RESTART
    for (size_t i = 0; i < BYTES; i++)
        sent[i] = (uint8_t)(i * 2654435761u >> 13);
    writer = pthread_self();
    assert_int_equal(sigaction(SIGUSR1, &interrupt, NULL), 0);
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&thread, NULL, reader, &fd[0]), 0);
    const int rc = io_write_all(fd[1], sent, BYTES);
    close(fd[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rc, 0);
    assert_memory_equal(got, sent, BYTES);
    close(fd[0]);
}

static void a_reader_that_is_gone_is_an_error(void **state)
{
    (void)state;
    int fd[2];
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    close(fd[0]);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(io_write_all(fd[1], "x", 1), -EPIPE);
    assert_int_equal(io_write_all(fd[1], "x", 0), 0);
    close(fd[1]);
    assert_int_equal(io_write_all(fd[1], "x", 1), -EBADF);
}

static bool number_of(const char *text, uint64_t *out)
{
    char path[] = "/tmp/test_io.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    close(fd);
    const bool ok = io_read_number(path, out);
    unlink(path);
    return ok;
}

static void a_file_says_its_number(void **state)
{
    (void)state;
    uint64_t n;
    assert_true(number_of("512\n", &n));
    assert_int_equal(n, 512);
    assert_true(number_of("18446744073709551615", &n));
    assert_true(n == UINT64_MAX);
    assert_true(number_of("7 of 9\n", &n));
    assert_int_equal(n, 7);
}

static void what_is_no_number_is_none(void **state)
{
    (void)state;
    uint64_t n = 1;
    assert_false(number_of("", &n));
    assert_int_equal(n, 0);
    n = 1;
    assert_false(number_of("max\n", &n));
    assert_int_equal(n, 0);
    n = 1;
    assert_false(io_read_number("/nonexistent/file", &n));
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_that_are_interrupted_lose_no_byte),
        cmocka_unit_test(a_reader_that_is_gone_is_an_error),
        cmocka_unit_test(a_file_says_its_number),
        cmocka_unit_test(what_is_no_number_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
