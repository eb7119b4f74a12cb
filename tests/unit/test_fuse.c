// SPDX-License-Identifier: BSD-3-Clause
// Claims about the FUSE mount, tried through the real mount: the server is this process, the
// readers are children of it. Everything happens in a mount namespace of its own, so that whatever
// a failing test leaves mounted ends with the process.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/event_loop.h"
#include "ctl/local/fuse_mount.h"
#include "tree/access.h"
#include "unit/check.h"

enum {
    OUTPUT_BYTES = 64 * 1024,
    CHILD_MS_MAX = 20000,  // a child that takes longer is killed and its test fails
    NOBODY = 65534,
    LONG_BYTES = 300007,
};

static struct ctl_loop loop;
static struct tree *tree;
static struct tree_node *root;
static struct ctl_fuse *fuse;
static struct err e;
static char base[32], mnt[128];

// ---- the tree that is served

static int number = 42;
static char last_write[64];

static int number_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "value %d\n", *(int *)data);
}

static int number_write(const char *buf, size_t n, void *data)
{
    char text[16] = "";
    char *end;
    snprintf(last_write, sizeof(last_write), "%.*s", (int)MIN(n, sizeof(last_write) - 1), buf);
    memcpy(text, buf, MIN(n, sizeof(text) - 1));
    long value = strtol(text, &end, 10);
    if (end == text || (*end != '\0' && *end != '\n'))
        return -EINVAL;
    if (value < 0 || value > 100)
        return -ERANGE;
    *(int *)data = (int)value;
    return 0;
}

static int remove_write(const char *buf, size_t n, void *data)
{
    char path[64];
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(buf, "\n"), buf);
    return tree_remove(root, path) == 0 ? 0 : -errno;
}

static size_t sink_bytes;

static int sink_write(const char *buf, size_t n, void *data)
{
    sink_bytes += n;
    return 0;
}

static int long_read(struct tree_out *out, void *data)
{
    for (int i = 0; i < LONG_BYTES; i++) {
        char c = (char)('a' + i % 23);
        tree_put(out, &c, 1);
    }
    return 0;
}

static int failing_read(struct tree_out *out, void *data)
{
    return -ENODEV;
}

// slow_next: SLOW_LINES lines, each after SLOW_CALLS calls that had nothing.
enum { SLOW_LINES = 200, SLOW_CALLS = 100 };

static unsigned slow_calls;

static int slow_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    slow_calls++;
    if (++*at % SLOW_CALLS == 0)
        tree_printf(out, "line %u\n", *at / SLOW_CALLS);
    return *at < SLOW_LINES * SLOW_CALLS;
}

static unsigned never_calls;

static int never_next(struct tree_out *out, void *cursor, void *data)
{
    never_calls++;
    return 1;
}

static void tree_fill(void)
{
    static const struct tree_ops ops_slow = {.next = slow_next, .cursor_bytes = sizeof(unsigned)};
    static const struct tree_ops ops_never = {.next = never_next};
    static const struct tree_ops ops_number = {.read = number_read, .write = number_write};
    static const struct tree_ops ops_remove = {.write = remove_write};
    static const struct tree_ops ops_sink = {.write = sink_write};
    number = 42;
    sink_bytes = 0;
    assert_non_null(tree_file(root, "ctl/number", 0644, &ops_number, &number));
    assert_non_null(tree_file(root, "ctl/remove", 0200, &ops_remove, NULL));
    assert_non_null(tree_file(root, "ctl/sink", 0222, &ops_sink, NULL));
    assert_non_null(tree_file_ro(root, "long", long_read, NULL));
    assert_non_null(tree_file(root, "slow", 0444, &ops_slow, NULL));
    assert_non_null(tree_file(root, "never", 0444, &ops_never, NULL));
    assert_non_null(tree_file_ro(root, "failing", failing_read, NULL));
    assert_non_null(tree_file_ro(root, "ro", number_read, &number));
    assert_non_null(tree_file(root, "secret", 0600, &ops_number, &number));
    assert_non_null(tree_link(root, "n", "ctl/number"));
}

static int setup_unmounted(void **state)
{
    strcpy(base, "/tmp/c10m-test-XXXXXX");
    if (mkdtemp(base) == NULL || chmod(base, 0755) != 0)
        return -1;
    snprintf(mnt, sizeof(mnt), "%s/run/proc", base);
    tree = tree_create();
    root = tree_root(tree);
    tree_fill();
    return ctl_loop_init(&loop, &e);
}

static int setup(void **state)
{
    if (setup_unmounted(state) != 0)
        return -1;
    fuse = ctl_fuse_start(&loop, tree, mnt, &e);
    if (fuse == NULL)
        print_error("%s\n", e.text);
    return fuse == NULL;
}

static int teardown(void **state)
{
    char command[256];
    ctl_fuse_stop(fuse);
    fuse = NULL;
    ctl_loop_fini(&loop);
    uint64_t handles = tree_usage(tree).handles;
    tree_destroy(tree);
    while (umount2(mnt, MNT_DETACH) == 0)
        handles++;  // a mount that the stop should have taken away
    snprintf(command, sizeof(command), "rm -rf --one-file-system %s", base);
    return system(command) != 0 || handles != 0;
}

// ---- children, served while they run

static bool child_done;

static void on_child(void *arg, uint32_t events)
{
    child_done = true;
}

static void on_late(void *arg, uint64_t periods)
{
    kill(*(pid_t *)arg, SIGKILL);
}

// fork_bound: fork, with a child that ends when this process does.
static pid_t fork_bound(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

// serve: serves the tree until the child is done; its wait status.
static int serve(pid_t child)
{
    int status, pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    assert_true(pidfd >= 0);
    child_done = false;
    assert_int_equal(ctl_loop_add(&loop, pidfd, EPOLLIN, on_child, NULL, &e), 0);
    int late = ctl_loop_timer(&loop, CHILD_MS_MAX, on_late, &child, &e);
    while (!child_done)
        assert_true(ctl_loop_turn(&loop, -1) >= 0);
    ctl_loop_remove(&loop, pidfd);
    ctl_loop_remove(&loop, late);
    close(pidfd);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static char output[OUTPUT_BYTES];

// sh_as: runs a shell command as user uid in the mount point; its exit status; output[] is what it
// said on both streams.
static int sh_as(unsigned uid, const char *command)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/output", base);
    int out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    pid_t child = fork_bound();
    if (child == 0) {
        dup2(out, 1);
        dup2(out, 2);
        bool ok = uid == 0 || (setgid(uid) == 0 && setuid(uid) == 0);
        if (!ok || chdir(mnt) != 0)
            _exit(125);
        execl("/bin/bash", "bash", "-c", command, NULL);
        _exit(126);
    }
    int status = serve(child);
    ssize_t n = pread(out, output, sizeof(output) - 1, 0);
    output[MAX(n, 0)] = '\0';
    close(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int sh(const char *command)
{
    return sh_as(0, command);
}

// assert_fails: the command fails, and says `words`.
static void assert_fails(unsigned uid, const char *command, const char *words)
{
    if (sh_as(uid, command) == 0)
        fail_msg("%s: succeeded", command);
    if (strstr(output, words) == NULL)
        fail_msg("%s: said '%s', not '%s'", command, output, words);
}

// child_main: in a child: f in the mount point, without the server's files: a child that held
// /dev/fuse too would keep the connection alive and wait for itself.
static _Noreturn void child_main(int (*f)(void))
{
    close_range(3, UINT_MAX, 0);
    _exit(chdir(mnt) != 0 ? 255 : f());
}

// in_child: runs f in a child that the tree is served to; fails when f's result is not 0 (the line
// where it gave up).
static void in_child(int (*f)(void))
{
    pid_t child = fork_bound();
    if (child == 0)
        child_main(f);
    int status = serve(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("child ended with status 0x%x", status);
}

// NEED: in a child: gives up when the condition does not hold.
#define NEED(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #cond, strerror(errno));        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

// ---- reading

static void cat_shows_what_the_callback_renders(void **state)
{
    assert_int_equal(sh("cat ctl/number"), 0);
    assert_string_equal(output, "value 42\n");
    number = 7;
    assert_int_equal(sh("cat ctl/number n"), 0);
    assert_string_equal(output, "value 7\nvalue 7\n");
}

static void a_text_longer_than_one_request_is_the_same_in_any_portion(void **state)
{
    char want[128];
    snprintf(want, sizeof(want), "%d\n", LONG_BYTES);
    assert_int_equal(sh("cat long | wc -c"), 0);
    assert_string_equal(output, want);
    assert_int_equal(sh("cmp <(cat long) <(dd if=long bs=17 status=none)"), 0);
    assert_int_equal(sh("cmp <(cat long) <(dd if=long bs=1M status=none)"), 0);
    assert_int_equal(sh("cmp <(cat long) <(dd if=long bs=1 count=2000 status=none; "
                        "dd if=long bs=1000 skip=2 status=none)"),
                     0);
}

static int pread_child(void)
{
    char buf[64];
    int fd = open("long", O_RDONLY);
    NEED(fd >= 0);
    NEED(pread(fd, buf, 17, 23) == 17 && memcmp(buf, "abcdefghijklmnopq", 17) == 0);
    NEED(pread(fd, buf, 5, 1) == 5 && memcmp(buf, "bcdef", 5) == 0);
    NEED(pread(fd, buf, 64, LONG_BYTES - 2) == 2);
    NEED(pread(fd, buf, 64, LONG_BYTES) == 0);
    NEED(pread(fd, buf, 64, (off_t)1 << 40) == 0);
    NEED(lseek(fd, 46, SEEK_SET) == 46 && read(fd, buf, 3) == 3 && memcmp(buf, "abc", 3) == 0);
    return 0;
}

static void pread_gives_what_lies_at_its_offset_and_nothing_past_the_end(void **state)
{
    in_child(pread_child);
}

// ---- streams

static void cat_waits_for_the_pieces_of_a_stream(void **state)
{
    slow_calls = 0;
    assert_int_equal(sh("cmp <(cat slow) <(seq -f 'line %.0f' 200)"), 0);
    assert_int_equal(slow_calls, SLOW_LINES * SLOW_CALLS);
    assert_int_equal(sh("dd if=slow bs=5 status=none | cmp - <(seq -f 'line %.0f' 200)"), 0);
    assert_fails(0, "dd if=slow bs=100 skip=3 count=1 status=none", "");
}

static void who_waits_for_a_stream_holds_nobody_up(void **state)
{
    assert_int_equal(sh("cat never & never=$!; cat slow >/dev/null & a=$!; cat slow >/dev/null & "
                        "b=$!; cat ctl/number; wait $a && wait $b; kill $never; wait $never"),
                     143);
    assert_string_equal(output, "value 42\n");
}

// Spinning on it would be many thousand calls; a slow machine makes them fewer.
static void a_stream_that_has_nothing_is_asked_now_and_then(void **state)
{
    never_calls = 0;
    assert_int_equal(sh("timeout 2 cat never"), 124);
    assert_in_range(never_calls, TREE_IDLE_CALLS, TREE_IDLE_CALLS + 3000);
}

static void a_user_opens_so_many_files_and_no_more(void **state)
{
    char command[256];
    snprintf(command, sizeof(command),
             "i=0; while [ $i -lt %d ]; do exec {fd}<ro || exit 9; i=$((i + 1)); done; "
             "exec {fd}<ro",
             TREE_HANDLES_USER_MAX);
    char script[512];
    snprintf(script, sizeof(script), "bash -c 'ulimit -n 2000; %s' 2>&1", command);
    assert_int_equal(sh_as(NOBODY, script), 1);
    assert_non_null(strstr(output, "Too many open files"));
    assert_int_equal(sh("cat ro"), 0);  // who is root is not kept out by that
}

static int snapshot_child(void)
{
    char buf[64] = "";
    int fd = open("ctl/number", O_RDONLY), w = open("ctl/number", O_WRONLY | O_TRUNC);
    NEED(fd >= 0 && w >= 0);
    NEED(write(w, "9", 1) == 1);
    NEED(pread(fd, buf, sizeof(buf), 0) == 9 && memcmp(buf, "value 42\n", 9) == 0);
    int again = open("ctl/number", O_RDWR);
    NEED(pread(again, buf, sizeof(buf), 0) == 8 && memcmp(buf, "value 9\n", 8) == 0);
    return 0;
}

static void a_reader_sees_the_moment_of_its_open(void **state)
{
    in_child(snapshot_child);
}

static void stat_tells_type_mode_owner_and_size_zero(void **state)
{
    tree_chown(tree_lookup(root, "ro"), 12, 34);
    assert_int_equal(sh("stat -c '%F %a %u %g %s' ro ctl n ctl/remove"), 0);
    assert_string_equal(output, "regular empty file 444 12 34 0\n"
                                "directory 555 0 0 0\n"
                                "symbolic link 777 0 0 10\n"
                                "regular empty file 200 0 0 0\n");
    assert_int_equal(sh("stat -f -c %T . ; readlink n"), 0);
    assert_string_equal(output, "fuseblk\nctl/number\n");
}

static void an_error_of_the_read_callback_reaches_the_reader(void **state)
{
    assert_fails(0, "cat failing", "No such device");
}

static void a_new_mode_owner_and_entry_are_seen_at_once(void **state)
{
    struct tree_node *node = tree_lookup(root, "ro");
    assert_int_equal(sh("test -e later || stat -c '%a %u' ro"), 0);
    assert_string_equal(output, "444 0\n");
    tree_chmod(node, 0400);
    tree_chown(node, 77, 77);
    tree_file_ro(root, "later/on", number_read, &number);
    assert_int_equal(sh("stat -c '%a %u' ro && cat later/on"), 0);
    assert_string_equal(output, "400 77\nvalue 42\n");
}

// ---- writing

static void echo_reaches_the_callback_with_its_newline(void **state)
{
    assert_int_equal(sh("echo 5 > ctl/number"), 0);
    assert_string_equal(output, "");
    assert_string_equal(last_write, "5\n");
    assert_int_equal(number, 5);
    assert_int_equal(sh("echo 6 >> ctl/number && printf 8 > n"), 0);
    assert_int_equal(number, 8);
}

static void an_error_of_the_write_callback_is_what_the_shell_says(void **state)
{
    assert_fails(0, "echo many > ctl/number", "Invalid argument");
    assert_fails(0, "echo 101 > ctl/number", "Numerical result out of range");
    assert_int_equal(number, 42);
    assert_int_equal(sh("echo 100 > ctl/number"), 0);
    assert_int_equal(number, 100);
}

static void a_write_over_the_limit_is_refused_whole_and_at_the_limit_taken_whole(void **state)
{
    assert_fails(0, "head -c 65537 /dev/zero | dd of=ctl/sink bs=65537 iflag=fullblock",
                 "File too large");
    assert_fails(0, "head -c 3M /dev/zero | dd of=ctl/sink bs=3M iflag=fullblock",
                 "File too large");
    assert_int_equal(sink_bytes, 0);
    assert_int_equal(tree_usage(tree).writes_refused, 2);
    assert_int_equal(sh("head -c 65536 /dev/zero | dd of=ctl/sink bs=65536 iflag=fullblock"), 0);
    assert_int_equal(sink_bytes, 65536);
}

static void truncation_is_accepted_and_changes_nothing(void **state)
{
    assert_int_equal(sh(": > ctl/number && truncate -s 0 ctl/number && truncate -s 99 ctl/sink"),
                     0);
    assert_int_equal(number, 42);
    assert_int_equal(sink_bytes, 0);
}

static void nobody_changes_the_tree_from_outside(void **state)
{
    static const char *const commands[] = {
        "touch new",        "mkdir new",      "rm -f ro",         "rmdir ctl",       "mv ro new",
        "ln ro new",        "ln -s ro new",   "mknod new p",      "chmod 666 ro",    "chown 1 ro",
        "touch ctl/number", "echo 1 > new",   "mv ctl/number ro", "cp ro ctl/other", "chgrp 1 ctl",
        "chmod 777 ctl",    "mkfifo ctl/new",
    };
    uint64_t entries = tree_usage(tree).entries;
    for (unsigned i = 0; i < ARRAY_LEN(commands); i++) {
        assert_fails(0, commands[i], "Operation not permitted");
        if (sh_as(NOBODY, commands[i]) == 0)
            fail_msg("nobody: %s: succeeded", commands[i]);
    }
    assert_int_equal(tree_usage(tree).entries, entries);
    assert_int_equal(tree_stat(tree_lookup(root, "ro")).mode, 0444);
}

// ---- permissions

static void modes_and_owners_decide_who_may_read_and_write(void **state)
{
    assert_int_equal(sh_as(NOBODY, "cat ro ctl/number && echo 1 > ctl/sink"), 0);
    assert_string_equal(output, "value 42\nvalue 42\n");
    assert_fails(NOBODY, "cat secret", "Permission denied");
    assert_fails(NOBODY, "echo 5 > ctl/number", "Permission denied");
    assert_fails(NOBODY, "cat ctl/remove", "Permission denied");
    tree_chown(tree_lookup(root, "secret"), NOBODY, 0);
    assert_int_equal(sh_as(NOBODY, "cat secret && echo 3 > secret"), 0);
    assert_int_equal(number, 3);
    tree_chmod(tree_lookup(root, "ctl"), 0500);
    assert_fails(NOBODY, "cat ctl/number", "Permission denied");
    assert_int_equal(sh("cat ctl/number"), 0);
}

static void root_too_cannot_use_a_file_for_what_it_has_no_callback(void **state)
{
    assert_fails(0, "echo 1 > ro", "Permission denied");
    assert_fails(0, "cat ctl/remove", "Permission denied");
}

// ---- directories

static void find_walks_the_whole_tree(void **state)
{
    assert_int_equal(sh("find . | sort"), 0);
    assert_string_equal(output, ".\n./ctl\n./ctl/number\n./ctl/remove\n./ctl/sink\n./failing\n"
                                "./long\n./n\n./never\n./ro\n./secret\n./slow\n");
    assert_fails(0, "ls nowhere", "No such file or directory");
    assert_fails(0, "ls ro/x", "Not a directory");
}

static int big_listing_child(void)
{
    struct dirent *d;
    DIR *dir = opendir("big");
    NEED(dir != NULL);
    for (int i = 0; i < 10; i++)
        NEED((d = readdir(dir)) != NULL);
    int w = open("ctl/remove", O_WRONLY);
    NEED(w >= 0 && write(w, "big/0003", 8) == 8 && write(w, "big/4900", 8) == 8);
    int rest = 0;
    while ((d = readdir(dir)) != NULL)
        rest++;
    NEED(rest == 5000 + 2 - 10);
    rewinddir(dir);
    rest = 0;
    while ((d = readdir(dir)) != NULL)
        rest++;
    NEED(rest == 5000 + 2 - 2);
    return 0;
}

static void a_listing_over_many_requests_is_of_one_moment_and_a_rewind_takes_a_new_one(void **state)
{
    char path[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(path, sizeof(path), "big/%04d", i);
        assert_non_null(tree_file_ro(root, path, number_read, &number));
    }
    in_child(big_listing_child);
}

// ---- removal

static int removal_child(void)
{
    char buf[64];
    struct stat st;
    int fd = open("ro", O_RDONLY), w = open("ctl/number", O_WRONLY),
        r = open("ctl/remove", O_WRONLY);
    NEED(fd >= 0 && w >= 0 && r >= 0);
    NEED(write(r, "ro", 2) == 2);
    NEED(open("ro", O_RDONLY) == -1 && errno == ENOENT);
    NEED(stat("ro", &st) == -1 && errno == ENOENT);
    NEED(fstat(fd, &st) == 0 && st.st_nlink == 0);
    NEED(pread(fd, buf, sizeof(buf), 0) == 9);
    NEED(write(r, "ctl", 3) == 3);
    NEED(write(w, "5", 1) == -1 && errno == EIO);
    NEED(write(r, "long", 4) == -1 && errno == EIO);  // it went with its directory
    NEED(chdir("ctl") == -1 && errno == ENOENT);
    return 0;
}

static void a_file_removed_while_open_can_be_read_on_but_not_opened_or_written(void **state)
{
    in_child(removal_child);
    assert_int_equal(number, 42);
    assert_int_equal(sh("ls"), 0);
    assert_string_equal(output, "failing\nlong\nn\nnever\nsecret\nslow\n");
}

// ---- starting and stopping

static void stop_removes_the_directories_that_start_made_and_only_those(void **state)
{
    struct stat st;
    char above[64];
    snprintf(above, sizeof(above), "%s/run", base);
    ctl_fuse_stop(fuse);
    assert_int_equal(stat(above, &st), -1);
    assert_int_equal(mkdir(above, 0755) | mkdir(mnt, 0755), 0);
    fuse = ctl_fuse_start(&loop, tree, mnt, &e);
    assert_non_null(fuse);
    assert_int_equal(sh("cat ro"), 0);
    ctl_fuse_stop(fuse);
    fuse = NULL;
    assert_int_equal(stat(mnt, &st), 0);
    ctl_fuse_stop(NULL);
}

static int holder_child(void)
{
    char buf[8];
    int fd = open("ro", O_RDONLY);
    NEED(fd >= 0 && open(".", O_RDONLY) >= 0);
    NEED(creat("../ready", 0600) >= 0);
    for (int i = 0; i < 1000 && read(fd, buf, sizeof(buf)) >= 0; i++)
        usleep(10000);
    return errno == ENOTCONN || errno == ECONNABORTED ? 0 : 1;
}

static void stop_does_not_wait_for_readers_and_closes_what_they_hold(void **state)
{
    char ready[128];
    struct stat st;
    int status;
    snprintf(ready, sizeof(ready), "%s/run/ready", base);
    pid_t child = fork_bound();
    if (child == 0)
        child_main(holder_child);
    while (stat(ready, &st) != 0)
        assert_true(ctl_loop_turn(&loop, 100) >= 0);
    while (tree_usage(tree).handles < 2)
        assert_true(ctl_loop_turn(&loop, 100) >= 0);
    ctl_fuse_stop(fuse);
    fuse = NULL;
    assert_int_equal(tree_usage(tree).handles, 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int waiting_child(void)
{
    char buf[8];
    int fd = open("never", O_RDONLY);
    NEED(fd >= 0 && creat("../ready", 0600) >= 0);
    NEED(read(fd, buf, sizeof(buf)) < 0);
    return errno == EIO || errno == ENOTCONN || errno == ECONNABORTED ? 0 : 1;
}

static void stop_ends_a_read_that_waits_for_its_stream(void **state)
{
    int status;
    pid_t child = fork_bound();
    if (child == 0)
        child_main(waiting_child);
    never_calls = 0;
    while (never_calls < TREE_IDLE_CALLS)
        assert_true(ctl_loop_turn(&loop, 100) >= 0);
    ctl_fuse_stop(fuse);
    fuse = NULL;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void an_unmount_by_somebody_else_is_noticed_and_survived(void **state)
{
    assert_int_equal(umount2(mnt, MNT_DETACH), 0);
    for (int i = 0; i < 100 && ctl_fuse_serving(fuse); i++)
        assert_true(ctl_loop_turn(&loop, 10) >= 0);
    assert_false(ctl_fuse_serving(fuse));
    ctl_fuse_stop(fuse);
    fuse = ctl_fuse_start(&loop, tree, mnt, &e);
    assert_non_null(fuse);
    assert_int_equal(sh("cat ro"), 0);
}

// other_server: a second process that serves a tree at mnt; returns once it does.
static pid_t other_server(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork_bound();
    if (child == 0) {
        struct ctl_loop l;
        struct ctl_fuse *f = NULL;
        if (ctl_loop_init(&l, &e) == 0)
            f = ctl_fuse_start(&l, tree, mnt, &e);
        if (f == NULL || write(ready[1], "r", 1) != 1)
            _exit(1);
        _exit(ctl_loop_run(&l));
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void kill_and_reap(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_mount_of_a_killed_server_is_cleared_away_and_mounted_again(void **state)
{
    struct stat st;
    for (int i = 0; i < 3; i++) {
        kill_and_reap(other_server());
        assert_int_equal(stat(mnt, &st), -1);
        assert_int_equal(errno, ENOTCONN);
    }
    fuse = ctl_fuse_start(&loop, tree, mnt, &e);
    if (fuse == NULL)
        fail_msg("%s", e.text);
    assert_int_equal(sh("cat ro"), 0);
    assert_string_equal(output, "value 42\n");
    ctl_fuse_stop(fuse);
    fuse = NULL;
    assert_int_equal(stat(mnt, &st), -1);
    assert_int_equal(errno, ENOENT);  // the killed one could not remove it
}

static void a_living_server_keeps_its_mount(void **state)
{
    pid_t other = other_server();
    struct stat st;
    assert_null(ctl_fuse_start(&loop, tree, mnt, &e));
    assert_non_null(strstr(e.text, mnt));
    assert_non_null(strstr(e.text, "another process serves this mount"));
    assert_int_equal(stat(mnt, &st), 0);
    kill_and_reap(other);
    assert_int_equal(umount2(mnt, MNT_DETACH), 0);
}

static void a_server_that_hangs_does_not_hang_the_next_one(void **state)
{
    pid_t other = other_server();
    assert_int_equal(kill(other, SIGSTOP), 0);
    assert_null(ctl_fuse_start(&loop, tree, mnt, &e));
    assert_non_null(strstr(e.text, "does not answer"));
    kill_and_reap(other);
    assert_int_equal(umount2(mnt, MNT_DETACH), 0);
}

static void the_own_mount_is_refused_a_second_time_without_a_deadlock(void **state)
{
    assert_null(ctl_fuse_start(&loop, tree, mnt, &e));
    assert_non_null(strstr(e.text, "does not answer"));
    assert_int_equal(sh("cat ro"), 0);
}

// refused: start fails, names the path and says why, and leaves nothing behind.
static void refused(const char *path, const char *why)
{
    char above[64];
    struct stat st;
    e.text[0] = '\0';
    assert_null(ctl_fuse_start(&loop, tree, path, &e));
    if (strstr(e.text, why) == NULL)
        fail_msg("%s: said '%s'", path, e.text);
    snprintf(above, sizeof(above), "%s/made", base);
    assert_int_equal(stat(above, &st), -1);
}

static void paths_that_cannot_be_a_mount_point_are_refused_with_words(void **state)
{
    char path[PATH_MAX + 16];
    char file[128], full[64], link[64];
    snprintf(full, sizeof(full), "%s/full", base);
    snprintf(file, sizeof(file), "%s/file", full);
    snprintf(link, sizeof(link), "%s/link", base);
    assert_int_equal(mkdir(full, 0755), 0);
    close(creat(file, 0600));
    assert_int_equal(symlink(full, link), 0);
    refused("run/proc", "absolute path");
    refused("", "absolute path");
    refused("/", "absolute path");
    refused("///", "absolute path");
    refused(full, "not empty");
    refused(file, "Not a directory");
    refused(link, "symlink");
    refused("/proc", "a proc is mounted there");
    snprintf(path, sizeof(path), "%s/file/below/it", full);
    refused(path, "Not a directory");
    snprintf(path, sizeof(path), "%s/made/..", base);
    refused(path, "must end with a name");
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    refused(path, "absolute path");
    snprintf(path, sizeof(path), "%s/made/", base);
    memset(path + strlen(path), 'x', 300);
    path[strlen(base) + 6 + 300] = '\0';
    refused(path, "File name too long");
}

static void the_mount_point_may_have_spaces_a_trailing_slash_and_symlinks_above_it(void **state)
{
    char path[128], link[64];
    snprintf(link, sizeof(link), "%s/li nk", base);
    assert_int_equal(symlink(base, link), 0);
    snprintf(path, sizeof(path), "%s/a b\\c/pr oc//", link);
    fuse = ctl_fuse_start(&loop, tree, path, &e);
    if (fuse == NULL)
        fail_msg("%s", e.text);
    strcpy(mnt, path);
    assert_int_equal(sh("cat ro"), 0);
    ctl_fuse_stop(fuse);
    fuse = NULL;
    kill_and_reap(other_server());
    fuse = ctl_fuse_start(&loop, tree, path, &e);
    assert_non_null(fuse);
    assert_int_equal(sh("cat ro"), 0);
}

static void without_dev_fuse_the_error_says_so_and_nothing_is_left(void **state)
{
    pid_t child = fork_bound();
    if (child == 0) {
        struct stat st;
        bool hidden = unshare(CLONE_NEWNS) == 0 && mount("none", "/dev", "tmpfs", 0, NULL) == 0;
        bool refused_so = hidden && ctl_fuse_start(&loop, tree, mnt, &e) == NULL &&
                          strstr(e.text, "/dev/fuse: No such file") != NULL && stat(mnt, &st) == -1;
        _exit(refused_so ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define FUSE_TEST(f)      cmocka_unit_test_setup_teardown(f, setup, teardown)
#define UNMOUNTED_TEST(f) cmocka_unit_test_setup_teardown(f, setup_unmounted, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FUSE_TEST(cat_shows_what_the_callback_renders),
        FUSE_TEST(a_text_longer_than_one_request_is_the_same_in_any_portion),
        FUSE_TEST(cat_waits_for_the_pieces_of_a_stream),
        FUSE_TEST(who_waits_for_a_stream_holds_nobody_up),
        FUSE_TEST(a_stream_that_has_nothing_is_asked_now_and_then),
        FUSE_TEST(a_user_opens_so_many_files_and_no_more),
        FUSE_TEST(stop_ends_a_read_that_waits_for_its_stream),
        FUSE_TEST(pread_gives_what_lies_at_its_offset_and_nothing_past_the_end),
        FUSE_TEST(a_reader_sees_the_moment_of_its_open),
        FUSE_TEST(stat_tells_type_mode_owner_and_size_zero),
        FUSE_TEST(an_error_of_the_read_callback_reaches_the_reader),
        FUSE_TEST(a_new_mode_owner_and_entry_are_seen_at_once),
        FUSE_TEST(echo_reaches_the_callback_with_its_newline),
        FUSE_TEST(an_error_of_the_write_callback_is_what_the_shell_says),
        FUSE_TEST(a_write_over_the_limit_is_refused_whole_and_at_the_limit_taken_whole),
        FUSE_TEST(truncation_is_accepted_and_changes_nothing),
        FUSE_TEST(nobody_changes_the_tree_from_outside),
        FUSE_TEST(modes_and_owners_decide_who_may_read_and_write),
        FUSE_TEST(root_too_cannot_use_a_file_for_what_it_has_no_callback),
        FUSE_TEST(find_walks_the_whole_tree),
        FUSE_TEST(a_listing_over_many_requests_is_of_one_moment_and_a_rewind_takes_a_new_one),
        FUSE_TEST(a_file_removed_while_open_can_be_read_on_but_not_opened_or_written),
        FUSE_TEST(stop_removes_the_directories_that_start_made_and_only_those),
        FUSE_TEST(stop_does_not_wait_for_readers_and_closes_what_they_hold),
        FUSE_TEST(an_unmount_by_somebody_else_is_noticed_and_survived),
        FUSE_TEST(the_own_mount_is_refused_a_second_time_without_a_deadlock),
        UNMOUNTED_TEST(the_mount_of_a_killed_server_is_cleared_away_and_mounted_again),
        UNMOUNTED_TEST(a_living_server_keeps_its_mount),
        UNMOUNTED_TEST(a_server_that_hangs_does_not_hang_the_next_one),
        UNMOUNTED_TEST(paths_that_cannot_be_a_mount_point_are_refused_with_words),
        UNMOUNTED_TEST(the_mount_point_may_have_spaces_a_trailing_slash_and_symlinks_above_it),
        UNMOUNTED_TEST(without_dev_fuse_the_error_says_so_and_nothing_is_left),
    };
    if (access("/dev/fuse", R_OK | W_OK) != 0) {
        printf("skipped: no /dev/fuse to try the mount with\n");
        return 77;  // meson's word for skipped
    }
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("skipped: no right to mount: %s (run as root)\n", strerror(errno));
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
