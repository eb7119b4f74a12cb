// SPDX-License-Identifier: BSD-3-Clause
// The limit for opening a device. A driver that does not return is a process that waits.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/open_watch.h"
#include "unit/check.h"

enum { LONG_MS = 600000 };

static void a_driver_that_returns_is_not_disturbed(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        open_watch_end(open_watch_begin(LONG_MS, "port a"));
    open_watch_end(NULL);
}

static void a_driver_that_does_not_return_ends_the_process_with_its_name(void **state)
{
    (void)state;
    int said[2];
    assert_int_equal(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(said[1], STDERR_FILENO);
        open_watch_begin(100, "port a: device 0000:01:00.0, driver net_x");
        for (;;)
            pause();
    }
    close(said[1]);
    char text[512] = "";
    for (size_t n = 0, got; n < sizeof(text) - 1; n += got)
        if ((got = (size_t)MAX(read(said[0], text + n, sizeof(text) - 1 - n), 0)) == 0)
            break;
    close(said[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_non_null(strstr(text, "port a: device 0000:01:00.0, driver net_x"));
    assert_non_null(strstr(text, "100 ms (open_ms)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_returns_is_not_disturbed),
        cmocka_unit_test(a_driver_that_does_not_return_ends_the_process_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
