// SPDX-License-Identifier: BSD-3-Clause
// Claims about the log's targets (base/log_target.h): what each line looks like, and where it goes.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log_target.h"
#include "unit/check.h"

static char dir[32], path[64], other[64];
static int stderr_before;
static char text[4096];

static int setup(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/test_log.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/log", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    unsetenv("JOURNAL_STREAM");
    stderr_before = dup(STDERR_FILENO);
    const int fd = open(other, O_RDWR | O_CREAT | O_APPEND, 0600);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    struct err err;
    log_target_set("stderr", LOG_TIMES_AUTO, "n", &err);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    unlink(path);
    unlink(other);
    return rmdir(dir);
}

static const char *read_file(const char *name)
{
    const int fd = open(name, O_RDONLY);
    assert_true(fd >= 0);
    const ssize_t n = read(fd, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    return text;
}

static void set(const char *target, enum log_times times)
{
    struct err err;
    assert_int_equal(log_target_set(target, times, "web", &err), 0);
}

static void say_each_level(void)
{
    log_set_level(LOG_DEBUG);
    log_line(LOG_ERROR, "an error");
    log_line(LOG_WARN, "a warning");
    log_line(LOG_INFO, "some %d words", 3);
    log_line(LOG_DEBUG, "much");
    log_set_level(LOG_INFO);
    log_line(LOG_DEBUG, "too much");
}

static void stderr_has_the_level_in_words(void **state)
{
    set("stderr", LOG_TIMES_AUTO);
    say_each_level();
    assert_string_equal(read_file(other), "c10m: error: an error\nc10m: warning: a warning\n"
                                          "c10m: some 3 words\nc10m: debug: much\n");
}

static void a_journal_has_it_as_a_priority(void **state)
{
    struct stat st;
    char stream[64];
    fstat(STDERR_FILENO, &st);
    snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    set("stderr", LOG_TIMES_ON);
    say_each_level();
    assert_string_equal(read_file(other), "<3>error: an error\n<4>warning: a warning\n"
                                          "<6>some 3 words\n<7>debug: much\n");
}

static void the_journal_of_another_stream_is_none(void **state)
{
    setenv("JOURNAL_STREAM", "1:2", 1);
    set("stderr", LOG_TIMES_AUTO);
    log_line(LOG_WARN, "a warning");
    assert_string_equal(read_file(other), "c10m: warning: a warning\n");
}

// Year, month and so on are digits, and nothing else is.
static void expect_timed(const char *line, const char *rest)
{
    const char *form = "dddd-dd-ddTdd:dd:dd.dddZ ";
    for (; *form != '\0'; form++, line++)
        assert_true(*form == 'd' ? *line >= '0' && *line <= '9' : *line == *form);
    assert_string_equal(line, rest);
}

static void a_file_has_times_unless_they_are_off(void **state)
{
    struct stat st;
    set(path, LOG_TIMES_AUTO);
    log_line(LOG_WARN, "a warning");
    expect_timed(read_file(path), "c10m: warning: a warning\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0137, 0);
    set("stderr", LOG_TIMES_ON);
    log_line(LOG_INFO, "words");
    expect_timed(read_file(other), "c10m: words\n");
    unlink(path);
    set(path, LOG_TIMES_OFF);
    log_line(LOG_INFO, "words");
    assert_string_equal(read_file(path), "c10m: words\n");
}

static void a_file_has_what_others_write_to_stderr_until_it_is_left(void **state)
{
    set(path, LOG_TIMES_OFF);
    log_line(LOG_INFO, "one");
    log_target_crash("the end");
    assert_int_equal(write(STDERR_FILENO, "two\n", 4), 4);
    set("stderr", LOG_TIMES_AUTO);
    log_line(LOG_INFO, "three");
    assert_string_equal(read_file(path), "c10m: one\nc10m: error: the end\ntwo\n");
    assert_string_equal(read_file(other), "c10m: three\n");
}

static void a_file_that_was_renamed_is_left_when_told_so(void **state)
{
    char old[80];
    struct err err;
    snprintf(old, sizeof(old), "%s.1", path);
    set(path, LOG_TIMES_OFF);
    log_line(LOG_INFO, "one");
    assert_int_equal(rename(path, old), 0);
    log_line(LOG_INFO, "two");
    assert_int_equal(log_target_reopen(&err), 0);
    log_line(LOG_INFO, "three");
    assert_string_equal(read_file(old), "c10m: one\nc10m: two\n");
    assert_string_equal(read_file(path), "c10m: three\n");
    unlink(old);
}

static void a_file_that_cannot_be_opened_again_leaves_the_old_one(void **state)
{
    char old[80];
    struct err err = {.text = ""};
    snprintf(old, sizeof(old), "%s.1", path);
    set(path, LOG_TIMES_OFF);
    assert_int_equal(rename(path, old), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(log_target_reopen(&err), -1);
    assert_non_null(strstr(err.text, "is not opened again: Is a directory"));
    log_line(LOG_INFO, "on");
    assert_string_equal(read_file(old), "c10m: on\n");
    rmdir(path);
    unlink(old);
}

static void what_a_file_does_not_take_goes_to_stderr(void **state)
{
    set("/dev/full", LOG_TIMES_AUTO);
    log_line(LOG_WARN, "no room");
    assert_string_equal(read_file(other), "c10m: warning: no room\n");
}

static int syslog_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (const void *)&at, sizeof(at)), 0);
    return fd;
}

static const char *received(int fd)
{
    const ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
    text[MAX(n, 0)] = '\0';
    return text;
}

static void a_syslog_has_facility_name_and_process(void **state)
{
    char target[80], want[64];
    const int fd = syslog_at(path);
    snprintf(target, sizeof(target), "syslog:%s", path);
    set(target, LOG_TIMES_AUTO);
    log_line(LOG_WARN, "a warning");
    received(fd);
    snprintf(want, sizeof(want), " web[%d]: warning: a warning", (int)getpid());
    assert_memory_equal(text, "<28>", 4);
    assert_string_equal(strstr(text, " web"), want);
    close(fd);
}

static void a_syslog_that_is_full_or_gone_holds_nobody_up(void **state)
{
    char target[80];
    int fd = syslog_at(path);
    snprintf(target, sizeof(target), "syslog:%s", path);
    set(target, LOG_TIMES_AUTO);
    for (unsigned i = 0; i < 5000; i++)  // more than any queue of datagrams here
        log_line(LOG_INFO, "line %u", i);
    assert_non_null(strstr(read_file(other), "c10m: line "));
    close(fd);
    unlink(path);
    log_line(LOG_INFO, "nobody is there");
    fd = syslog_at(path);
    log_line(LOG_INFO, "here again");
    assert_non_null(strstr(received(fd), "]: here again"));
    close(fd);
}

static void targets_are_stderr_syslog_or_absolute_paths(void **state)
{
    static const char *const good[] = {"stderr", "syslog", "syslog:/a", "/var/log/c10m.log"};
    static const char *const bad[] = {"", "stdout", "log", "syslogd", "syslog:", "syslog:a", "./a"};
    struct err err = {.text = ""};
    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        assert_true(log_target_check(good[i]));
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(log_target_check(bad[i]));
    assert_int_equal(log_target_set("/nowhere/log", LOG_TIMES_AUTO, "n", &err), -1);
    assert_string_equal(err.text, "the log /nowhere/log: No such file or directory");
    assert_int_equal(log_target_set("syslog:/nowhere", LOG_TIMES_AUTO, "n", &err), -1);
}

static void a_trial_says_the_same_and_creates_nothing(void **state)
{
    struct err err = {.text = ""};
    struct stat st;
    assert_int_equal(log_target_try(path, &err), 0);
    assert_int_equal(stat(path, &st), -1);
    set(path, LOG_TIMES_AUTO);
    assert_int_equal(log_target_try(path, &err), 0);
    assert_int_equal(log_target_try("stderr", &err), 0);
    assert_int_equal(log_target_try("/nowhere/log", &err), -1);
    assert_string_equal(err.text, "the log /nowhere/log: No such file or directory");
    assert_int_equal(log_target_try("syslog:/nowhere", &err), -1);
}

#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(stderr_has_the_level_in_words),
        CLAIM(a_journal_has_it_as_a_priority),
        CLAIM(the_journal_of_another_stream_is_none),
        CLAIM(a_file_has_times_unless_they_are_off),
        CLAIM(a_file_has_what_others_write_to_stderr_until_it_is_left),
        CLAIM(a_file_that_was_renamed_is_left_when_told_so),
        CLAIM(a_file_that_cannot_be_opened_again_leaves_the_old_one),
        CLAIM(what_a_file_does_not_take_goes_to_stderr),
        CLAIM(a_syslog_has_facility_name_and_process),
        CLAIM(a_syslog_that_is_full_or_gone_holds_nobody_up),
        CLAIM(targets_are_stderr_syslog_or_absolute_paths),
        CLAIM(a_trial_says_the_same_and_creates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
