// SPDX-License-Identifier: BSD-3-Clause
// What the service manager gets: a test plays it at the other end of NOTIFY_SOCKET.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "base/notify.h"
#include "check.h"

static int manager = -1;
static char got[4 * NOTIFY_BYTES_MAX];

// begin_at: listens at an abstract name (name[0] is 0) or a path, and sets NOTIFY_SOCKET to
// `variable`.
static void begin_at(const struct sockaddr_un *at, size_t path_bytes, const char *variable)
{
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    const socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_bytes);
    assert_int_equal(bind(manager, (const struct sockaddr *)at, n), 0);
    setenv("NOTIFY_SOCKET", variable, 1);
}

static void begin(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char variable[64];
    const int n = snprintf(variable, sizeof(variable), "@c10m-notify-%d", (int)getpid());
    memcpy(at.sun_path + 1, variable + 1, (size_t)n - 1);
    begin_at(&at, (size_t)n, variable);
}

static int end(void **state)
{
    (void)state;
    notify_close();
    unsetenv("NOTIFY_SOCKET");
    if (manager >= 0)
        close(manager);
    manager = -1;
    return 0;
}

static const char *next(void)
{
    const ssize_t n = recv(manager, got, sizeof(got) - 1, 0);
    got[n < 0 ? 0 : n] = '\0';
    return got;
}

static void manager_is_told_state_and_status(void **state)
{
    begin();
    notify_open();
    assert_true(notify_say("READY=1", "serving %u services", 3U));
    assert_string_equal(next(), "READY=1\nSTATUS=serving 3 services");
    assert_true(notify_say("", "stalled"));
    assert_string_equal(next(), "STATUS=stalled");
    notify_watchdog();
    assert_string_equal(next(), "WATCHDOG=1");
}

static void manager_may_have_a_path(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/c10m-notify-%d", (int)getpid());
    begin_at(&at, strlen(at.sun_path) + 1, at.sun_path);
    notify_open();
    assert_true(notify_say("STOPPING=1", "stopping"));
    assert_string_equal(next(), "STOPPING=1\nSTATUS=stopping");
    unlink(at.sun_path);
}

static void text_cannot_add_an_assignment(void **state)
{
    begin();
    notify_open();
    assert_true(notify_say("", "%s", "a file\nMAINPID=1\n"));
    assert_string_equal(next(), "STATUS=a file MAINPID=1 ");
}

static void text_that_is_too_long_is_cut(void **state)
{
    static char longer[2 * NOTIFY_BYTES_MAX];
    begin();
    notify_open();
    memset(longer, 'x', sizeof(longer) - 1);
    assert_true(notify_say("READY=1", "%s", longer));
    assert_int_equal(strlen(next()), NOTIFY_BYTES_MAX - 1);
    assert_int_equal(strncmp(got, "READY=1\nSTATUS=xxx", 18), 0);
}

static void without_a_manager_nothing_happens(void **state)
{
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "1000000", 1);
    notify_open();
    assert_true(notify_say("READY=1", "serving"));
    notify_watchdog();
    assert_int_equal(notify_watchdog_us(), 0);
}

static void manager_that_is_not_there_is_no_reason_to_end(void **state)
{
    static const char *const bad[] = {"@nobody-is-here", "/nonexistent/socket", "relative", "@",
                                      ""};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        setenv("NOTIFY_SOCKET", bad[i], 1);
        notify_open();
        assert_true(notify_say("READY=1", "serving"));
    }
}

static void manager_that_has_gone_is_noticed(void **state)
{
    begin();
    notify_open();
    close(manager);
    manager = -1;
    assert_false(notify_say("READY=1", "serving"));
}

static uint64_t watchdog_of(const char *usec, const char *pid)
{
    begin();
    setenv("WATCHDOG_USEC", usec, 1);
    if (pid != NULL)
        setenv("WATCHDOG_PID", pid, 1);
    notify_open();
    const uint64_t us = notify_watchdog_us();
    end(NULL);
    return us;
}

static void watchdog_of_another_process_is_not_ours(void **state)
{
    char own[24];
    snprintf(own, sizeof(own), "%d", (int)getpid());
    assert_int_equal(watchdog_of("3000000", NULL), 3000000);
    assert_int_equal(watchdog_of("3000000", own), 3000000);
    assert_int_equal(watchdog_of("3000000", "1"), 0);
    assert_int_equal(watchdog_of("soon", own), 0);
    assert_int_equal(watchdog_of("-1", own), 0);
}

static void processes_that_we_start_have_no_manager(void **state)
{
    begin();
    setenv("WATCHDOG_USEC", "1000000", 1);
    notify_open();
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(manager_is_told_state_and_status, end),
        cmocka_unit_test_teardown(manager_may_have_a_path, end),
        cmocka_unit_test_teardown(text_cannot_add_an_assignment, end),
        cmocka_unit_test_teardown(text_that_is_too_long_is_cut, end),
        cmocka_unit_test_teardown(without_a_manager_nothing_happens, end),
        cmocka_unit_test_teardown(manager_that_is_not_there_is_no_reason_to_end, end),
        cmocka_unit_test_teardown(manager_that_has_gone_is_noticed, end),
        cmocka_unit_test_teardown(watchdog_of_another_process_is_not_ours, end),
        cmocka_unit_test_teardown(processes_that_we_start_have_no_manager, end),
    };
    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
