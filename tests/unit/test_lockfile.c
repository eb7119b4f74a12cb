// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/corelocks.h"
#include "base/lockfile.h"
#include "check.h"

static char dir[32], lock_dir[48], path[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/c10m-lock.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(lock_dir, sizeof(lock_dir), "%s/lock", dir);
    snprintf(path, sizeof(path), "%s/file", lock_dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove(path);
    remove(lock_dir);
    return remove(dir);
}

static mode_t mode_of(const char *name)
{
    struct stat s;
    assert_int_equal(stat(name, &s), 0);
    return s.st_mode & 07777;
}

static void a_missing_directory_is_made_for_all_users(void **state)
{
    (void)state;
    const int fd = lockfile_open(path);
    assert_true(fd >= 0);
    assert_int_equal(mode_of(lock_dir), 01777);
    assert_int_equal(mode_of(path), 0600);
    close(fd);
}

static void only_the_last_directory_is_made(void **state)
{
    (void)state;
    char deeper[80];
    snprintf(deeper, sizeof(deeper), "%s/none/file", lock_dir);
    assert_int_equal(lockfile_open(deeper), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(access(lock_dir, F_OK), -1);
}

static void the_second_owner_is_refused_and_reads_the_first(void **state)
{
    (void)state;
    const int first = lockfile_take(lockfile_open(path), false);
    assert_true(first >= 0);
    assert_int_equal(lockfile_sign(first), 0);
    assert_int_equal(lockfile_take(lockfile_open(path), false), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    assert_int_equal(lockfile_owner(open(path, O_RDONLY | O_CLOEXEC)), getpid());
    close(first);
    const int second = lockfile_take(lockfile_open(path), false);
    assert_true(second >= 0);
    close(second);
}

// A file that others can lock could prevent each start.
static void a_file_that_others_can_open_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(mkdir(lock_dir, 0755), 0);
    const int theirs = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(fchmod(theirs, 0644), 0);
    assert_true(lockfile_take(theirs, false) >= 0);
    const int fd = lockfile_take(lockfile_open(path), false);
    assert_true(fd >= 0);
    assert_int_equal(mode_of(path), 0600);
    close(fd);
    close(theirs);
}

enum { CORE = CORELOCKS_CORE_MAX, OTHER = 64196 };

// take_as_other: a process of another user that has the core until it is killed.
static pid_t take_as_other(void)
{
    int ready[2];
    char byte;
    struct err err;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool took =
            setuid(OTHER) == 0 && corelocks_take(corelocks_open(), CORE, "web\033[2J", &err) == 0;
        if (write(ready[1], took ? "y" : "n", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void root_sees_who_has_a_core_and_no_control_characters(void **state)
{
    (void)state;
    struct err err;
    char want[120];
    if (geteuid() != 0 || access("/run/lock", W_OK) != 0)
        skip();
    assert_int_equal(corelocks_look_others(CORE, &err), 0);
    const pid_t other = take_as_other();
    snprintf(want, sizeof(want),
             "core %d: the running server web??2J of user %d (process %d) has it", CORE, OTHER,
             (int)other);
    assert_int_equal(corelocks_look_others(CORE - 1, &err), 0);
    assert_int_equal(corelocks_look_others(CORE, &err), -1);
    assert_string_equal(err.text, want);
    // It is no reason for root not to start.
    const int fd = corelocks_open();
    assert_int_equal(corelocks_take(fd, CORE, "own", &err), 0);
    close(fd);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    assert_int_equal(corelocks_look_others(CORE, &err), 0);
    snprintf(want, sizeof(want), "/run/lock/c10m-%d.cores", OTHER);
    remove(want);
}

// A file of that name that another user could write says nothing.
static void a_file_that_is_not_its_users_is_ignored(void **state)
{
    (void)state;
    struct err err;
    char name[64];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (geteuid() != 0 || access("/run/lock", W_OK) != 0)
        skip();
    snprintf(name, sizeof(name), "/run/lock/c10m-%d.cores", OTHER);
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // root's
    const pid_t child = fork();
    if (child == 0) {
        _exit(fcntl(fd, F_SETLK, &lock) == 0 ? (pause(), 0) : 1);
    }
    for (int i = 0; i < 5000 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK; i++) {
        lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
        usleep(1000);
    }
    assert_int_equal(lock.l_pid, child);
    assert_int_equal(corelocks_look_others(CORE, &err), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(fd);
    remove(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_directory_is_made_for_all_users, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_last_directory_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(the_second_owner_is_refused_and_reads_the_first, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_others_can_open_is_replaced, setup, teardown),
        cmocka_unit_test(root_sees_who_has_a_core_and_no_control_characters),
        cmocka_unit_test(a_file_that_is_not_its_users_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
