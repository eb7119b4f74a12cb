// SPDX-License-Identifier: BSD-3-Clause
// The model is that of the Linux Kernel Procfs Guide (E. Mouw, 2001). What it has, what it is here,
// and the test that shows it; those without a file name are below.
//
//     create_proc_entry(name, mode, parent)   tree_file         create_makes_a_file_with_its_mode
//     ... name with directories in it                           test_tree: a_path_over_several_...
//     create_proc_read_entry                  tree_file_ro      a_read_only_entry_takes_one_call
//     proc_mkdir                              tree_dir          a_directory_holds_others
//     proc_symlink                            tree_link         a_symlink_tells_its_target
//     proc_mknod                              tree_ops.next     what_is_a_device_there_is_a_stream
//     remove_proc_entry                       tree_remove       removal_waits_for_readers_with_...
//     read_proc: page, start, off, count, eof tree_ops.read     any_portions_give_the_same_bytes
//     write_proc: buffer, count               tree_ops.write    a_write_is_bounded_and_not_...
//     data: one callback, many files          `data`            one_callback_serves_many_files_...
//     entry->mode, uid, gid                   tree_chmod, chown
//     mode_and_owner_at_creation_and_later entry->owner = THIS_MODULE              tree_own
//     who_owns_... and those after it
//
// A device file of procfs leads into a driver; there is no kernel between reader and server here,
// and what a character device is for, data without end or size, is a stream: a file that is
// rendered while it is read.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "c10m/tree.h"
#include "tree/access.h"
#include "unit/check.h"

enum { LINES = 5000, MANY = 20000 };

static struct tree *tree;
static struct tree_node *root;
static struct tree_session session;

static int setup(void **state)
{
    tree = tree_create();
    root = tree_root(tree);
    tree_session_init(&session, tree);
    return tree == NULL;
}

static int teardown(void **state)
{
    tree_session_close(&session);
    tree_destroy(tree);
    return 0;
}

// ---- what the files below show

static unsigned released;

static int number_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "value %d\n", *(int *)data);
}

static char written[TREE_WRITE_BYTES_MAX];
static size_t written_bytes;

static int number_write(const char *buf, size_t n, void *data)
{
    memcpy(written, buf, n);
    written_bytes = n;
    return 0;
}

static void release(void *data)
{
    released++;
}

static const struct tree_ops number_ops = {
    .read = number_read, .write = number_write, .release = release};

static int lines_read(struct tree_out *out, void *data)
{
    for (int i = 0; i < LINES; i++)
        tree_printf(out, "line %d of %d\n", i, LINES);
    return 0;
}

static struct tree_handle *opened(struct tree_node *node, unsigned how)
{
    struct tree_handle *h = NULL;
    assert_int_equal(tree_open(&session, node, how, &h), 0);
    return h;
}

// text_of: the whole text behind h, read as `dd bs=portion` does: until 0 bytes come.
static char *text_of(struct tree_handle *h, size_t portion, size_t *n)
{
    char *text = malloc(1 << 20);
    const char *data;
    ssize_t got;
    *n = 0;
    while ((got = tree_read(h, *n, portion, &data)) > 0) {
        assert_true((size_t)got <= portion && *n + (size_t)got < 1 << 20);
        memcpy(text + *n, data, (size_t)got);
        *n += (size_t)got;
    }
    assert_int_equal(got, 0);
    text[*n] = '\0';
    return text;
}

static void assert_shows(struct tree_node *node, const char *want)
{
    size_t n;
    struct tree_handle *h = opened(node, TREE_READ);
    char *text = text_of(h, SIZE_MAX / 2, &n);
    assert_string_equal(text, want);
    free(text);
    tree_close(h);
}

// ---- the functions of the guide

static void create_makes_a_file_with_its_mode_under_its_parent(void **state)
{
    static int value = 1;
    struct tree_node *dir = tree_dir(root, "dir");
    struct tree_node *file = tree_file(dir, "file", 0640, &number_ops, &value);
    assert_non_null(file);
    assert_int_equal(tree_stat(file).mode, 0640);
    assert_int_equal(tree_stat(file).kind, TREE_FILE);
    assert_ptr_equal(tree_lookup(dir, "file"), file);
    assert_null(tree_lookup(root, "file"));
}

static void a_read_only_entry_takes_one_call(void **state)
{
    static int value = 3;
    struct tree_node *file = tree_file_ro(root, "a/b", number_read, &value);
    struct tree_handle *h;
    assert_shows(file, "value 3\n");
    assert_int_equal(tree_stat(file).mode, 0444);
    assert_int_equal(tree_open(&session, file, TREE_WRITE, &h), -EACCES);
}

static void a_directory_holds_others(void **state)
{
    struct tree_node *dir = tree_dir(tree_dir(root, "a"), "b/c");
    assert_int_equal(tree_stat(dir).kind, TREE_DIR);
    assert_int_equal(tree_stat(tree_lookup(root, "a")).links, 3);
}

static void a_symlink_tells_its_target(void **state)
{
    struct tree_node *link = tree_link(root, "self", "cores/2");
    assert_string_equal(tree_target(link), "cores/2");
    assert_int_equal(tree_stat(link).kind, TREE_LINK);
}

// Data without an end, as of a device.
static int ticks_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    tree_printf(out, "tick %u\n", ++*at);
    return 1;
}

static void what_is_a_device_there_is_a_stream(void **state)
{
    const struct tree_ops ops = {.next = ticks_next, .cursor_bytes = sizeof(unsigned)};
    struct tree_handle *h = opened(tree_file(root, "ticks", 0444, &ops, NULL), TREE_READ);
    const char *data;
    uint64_t off = 0;
    for (unsigned i = 1; i <= 1000; i++) {
        char want[32];
        snprintf(want, sizeof(want), "tick %u\n", i);
        const ssize_t n = tree_read(h, off, 64, &data);
        assert_int_equal(n, strlen(want));
        assert_memory_equal(data, want, (size_t)n);
        off += (uint64_t)n;
    }
    assert_true(tree_usage(tree).snapshot_bytes < 64);  // what was read is not kept
}

static void removal_waits_for_readers_with_the_release_of_the_data(void **state)
{
    static int value = 5;
    size_t n;
    released = 0;
    struct tree_handle *a = opened(tree_file(root, "f", 0444, &number_ops, &value), TREE_READ);
    struct tree_handle *b = opened(tree_lookup(root, "f"), TREE_READ);
    assert_int_equal(tree_remove(root, "f"), 0);
    assert_null(tree_lookup(root, "f"));
    tree_close(a);
    assert_int_equal(released, 0);
    char *text = text_of(b, 3, &n);
    assert_string_equal(text, "value 5\n");
    free(text);
    tree_close(b);
    assert_int_equal(released, 1);
}

// As cat, less (which seeks), dd bs=17 and pread.
static void any_portions_give_the_same_bytes_and_then_the_end(void **state)
{
    static const size_t portions[] = {1, 17, 4096, 65536};
    size_t n, whole_n;
    const char *data;
    struct tree_handle *h = opened(tree_file_ro(root, "lines", lines_read, NULL), TREE_READ);
    char *whole = text_of(h, SIZE_MAX / 2, &whole_n);
    for (unsigned i = 0; i < ARRAY_LEN(portions); i++) {
        char *text = text_of(h, portions[i], &n);
        assert_int_equal(n, whole_n);
        assert_memory_equal(text, whole, n);
        free(text);
    }
    for (size_t at = whole_n; at > 0; at -= MIN(at, 12345u)) {  // backwards
        assert_true(tree_read(h, at - 1, 1, &data) == 1);
        assert_int_equal(*data, whole[at - 1]);
    }
    assert_int_equal(tree_read(h, whole_n, 1, &data), 0);
    assert_int_equal(tree_read(h, whole_n + 1000000, 1, &data), 0);
    free(whole);
}

static void a_write_is_bounded_and_not_terminated(void **state)
{
    static int value;
    char *heap = malloc(TREE_WRITE_BYTES_MAX);  // its end is the end: sanitizers see a byte too far
    struct tree_handle *h = opened(tree_file(root, "f", 0200, &number_ops, &value), TREE_WRITE);
    memset(heap, '7', TREE_WRITE_BYTES_MAX);
    assert_int_equal(tree_write(h, heap, TREE_WRITE_BYTES_MAX), 0);
    assert_int_equal(written_bytes, TREE_WRITE_BYTES_MAX);
    assert_int_equal(tree_write(h, heap, TREE_WRITE_BYTES_MAX + 1), -EFBIG);
    assert_int_equal(tree_write(h, heap + TREE_WRITE_BYTES_MAX - 1, 1), 0);
    assert_int_equal(written_bytes, 1);
    free(heap);
}

static void one_callback_serves_many_files_by_the_data_pointer(void **state)
{
    static int values[100];
    char path[32], want[32];
    for (int i = 0; i < 100; i++) {
        values[i] = i * i;
        snprintf(path, sizeof(path), "n/%d", i);
        assert_non_null(tree_file_ro(root, path, number_read, &values[i]));
    }
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "%d", i);
        snprintf(want, sizeof(want), "value %d\n", i * i);
        assert_shows(tree_lookup(tree_lookup(root, "n"), path), want);
    }
}

static void mode_and_owner_at_creation_and_later(void **state)
{
    static int value;
    struct tree_node *dir = tree_dir(root, "dir");
    tree_chown(dir, 12, 34);
    struct tree_node *file = tree_file(dir, "f", 0600, &number_ops, &value);
    assert_int_equal(tree_stat(file).uid, 12);
    assert_int_equal(tree_stat(file).gid, 34);
    assert_int_equal(tree_chmod(file, 0444), 0);
    tree_chown(file, 56, 78);
    const struct tree_stat s = tree_stat(file);
    assert_true(s.mode == 0444 && s.uid == 56 && s.gid == 78);
    assert_int_equal(tree_stat(dir).uid, 12);
}

// ---- owners

static unsigned gone;

static void on_gone(void *arg)
{
    assert_int_equal(released, *(unsigned *)arg);  // everything was released before
    gone++;
}

static int values[3];

// owned_tree: apps/x with three files, all of an owner; made below it after it was owned.
static struct tree_owner *owned_tree(void)
{
    struct tree_node *dir = tree_dir(root, "apps/x");
    struct tree_owner *o = tree_owner_new(dir, "x");
    released = gone = 0;
    assert_int_equal(tree_own(dir, o), 0);
    assert_non_null(tree_file(dir, "a", 0644, &number_ops, &values[0]));
    assert_non_null(tree_file(dir, "sub/b", 0644, &number_ops, &values[1]));
    assert_non_null(tree_file(dir, "sub/c", 0644, &number_ops, &values[2]));
    assert_int_equal(tree_owner_entries(o), 5);
    return o;
}

static struct tree_node *at(const char *path)
{
    char copy[256], *save;
    struct tree_node *node = root;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *p = strtok_r(copy, "/", &save); p != NULL && node != NULL;
         p = strtok_r(NULL, "/", &save))
        node = tree_lookup(node, p);
    return node;
}

static void who_owns_an_entry_in_use_cannot_leave(void **state)
{
    struct tree_owner *o = owned_tree();
    struct tree_handle *h = opened(at("apps/x/sub/b"), TREE_READ);
    assert_int_equal(tree_owner_open(o), 1);
    assert_int_equal(tree_leave(o), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(tree_error(root), "x: its entries are open 1 times");
    assert_non_null(at("apps/x/sub/b"));
    assert_int_equal(released, 0);
    tree_close(h);
    assert_int_equal(tree_leave(o), 0);
    assert_int_equal(released, 3);
    assert_null(at("apps/x"));
    assert_non_null(at("apps"));  // it was not his
}

static void a_directory_or_a_removed_file_held_open_is_in_use(void **state)
{
    struct tree_owner *o = owned_tree();
    struct tree_handle *dir = opened(at("apps/x/sub"), TREE_READ);
    assert_int_equal(tree_leave(o), -1);
    tree_close(dir);
    struct tree_handle *file = opened(at("apps/x/a"), TREE_READ);
    assert_int_equal(tree_remove(root, "apps/x/a"), 0);
    assert_int_equal(tree_owner_entries(o), 5);
    assert_int_equal(tree_leave(o), -1);
    tree_close(file);
    assert_int_equal(tree_owner_entries(o), 4);
    assert_int_equal(tree_leave(o), 0);
    assert_int_equal(released, 3);
}

static void who_leaves_later_is_gone_after_the_last_reader(void **state)
{
    static unsigned all = 3;
    size_t n;
    struct tree_owner *o = owned_tree();
    struct tree_handle *a = opened(at("apps/x/a"), TREE_READ);
    struct tree_handle *b = opened(at("apps/x/sub/b"), TREE_READ | TREE_WRITE);
    tree_leave_later(o, on_gone, &all);
    assert_null(at("apps/x"));  // nobody comes any more
    assert_int_equal(released, 1);
    char *text = text_of(a, 17, &n);  // who is there reads on, and writes nothing any more
    assert_string_equal(text, "value 0\n");
    free(text);
    assert_int_equal(tree_write(b, "1", 1), -EIO);
    tree_close(a);
    assert_int_equal(gone, 0);
    tree_close(b);
    assert_int_equal(gone, 1);
}

static void who_leaves_later_with_nothing_in_use_is_gone_at_once(void **state)
{
    static unsigned all = 3, none = 0;
    tree_leave_later(owned_tree(), on_gone, &all);
    assert_int_equal(gone, 1);
    released = 0;
    tree_leave_later(tree_owner_new(root, "idle"), on_gone, &none);
    assert_int_equal(gone, 2);
}

static void an_entry_has_one_owner_and_the_root_none(void **state)
{
    struct tree_owner *x = owned_tree(), *y = tree_owner_new(root, "y");
    assert_int_equal(tree_own(at("apps/x/a"), y), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(tree_error(root), "a: belongs to x already");
    assert_int_equal(tree_own(root, y), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(tree_own(at("apps/x"), x), 0);  // once more does nothing
    assert_int_equal(tree_owner_entries(x), 5);
    // What was there before belongs to it as well, what is another's stays his.
    assert_int_equal(tree_own(at("apps"), y), 0);
    assert_int_equal(tree_owner_entries(y), 1);
    assert_int_equal(tree_owner_entries(x), 5);
    assert_int_equal(tree_leave(y), 0);  // and takes what lies below along
    assert_int_equal(released, 3);
    assert_int_equal(tree_owner_entries(x), 0);
    assert_int_equal(tree_leave(x), 0);
}

static void handles_that_are_open_when_it_is_owned_count(void **state)
{
    static int value;
    struct tree_node *f = tree_file(root, "f", 0644, &number_ops, &value);
    struct tree_handle *h = opened(f, TREE_READ);
    struct tree_owner *o = tree_owner_new(root, "late");
    assert_int_equal(tree_own(f, o), 0);
    assert_int_equal(tree_owner_open(o), 1);
    assert_int_equal(tree_leave(o), -1);
    tree_close(h);
    assert_int_equal(tree_leave(o), 0);
}

static struct tree_owner *leaver;
static int leave_result;

static int leave_write(const char *buf, size_t n, void *data)
{
    leave_result = tree_leave(leaver);
    return 0;
}

static void a_callback_cannot_leave_under_its_own_feet(void **state)
{
    const struct tree_ops ops = {.write = leave_write};
    struct tree_node *f = tree_file(root, "leave", 0200, &ops, NULL);
    leaver = tree_owner_new(root, "self");
    assert_int_equal(tree_own(f, leaver), 0);
    assert_int_equal(tree_write(opened(f, TREE_WRITE), "1", 1), 0);
    assert_int_equal(leave_result, -1);
    assert_non_null(at("leave"));
}

// Many entries in a directory that is another's, and in many: a removal one by one would move
// MANY * MANY / 2 names, and take minutes.
static void leaving_takes_time_in_proportion_to_the_entries(void **state)
{
    static int value;
    struct tree_owner *o = tree_owner_new(root, "many");
    char path[64];
    released = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "shared/%d", i);
        struct tree_node *f = tree_file(root, path, 0444, &number_ops, &value);
        assert_int_equal(i % 2 == 0 ? tree_own(f, o) : 0, 0);
    }
    const clock_t begin = clock();
    assert_int_equal(tree_leave(o), 0);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 2);
    assert_int_equal(released, MANY / 2);
    assert_null(at("shared/0"));
    assert_non_null(at("shared/1"));
    assert_int_equal(tree_stat(at("shared")).links, 2);
}

static void the_tree_ends_with_owners_in_it(void **state)
{
    owned_tree();
    tree_owner_new(root, "without entries");
    tree_destroy(tree);
    assert_int_equal(released, 3);
    assert_int_equal(setup(state), 0);
}

// ---- who may have how much open

static int opens_as(struct tree_node *node, uint32_t uid, int times)
{
    struct tree_handle *h;
    int n = 0;
    while (n < times && tree_open_as(&session, node, TREE_WRITE, uid, &h) == 0)
        n++;
    return n;
}

static void a_user_has_so_many_handles_and_root_the_last(void **state)
{
    static int value;
    struct tree_handle *h;
    struct tree_node *f = tree_file(root, "f", 0222, &number_ops, &value);
    assert_int_equal(opens_as(f, 1000, TREE_HANDLES_MAX), TREE_HANDLES_USER_MAX);
    assert_int_equal(tree_open_as(&session, f, TREE_WRITE, 1000, &h), -EMFILE);
    assert_int_equal(tree_usage(tree).handles_refused, 2);
    int others = 0;
    for (uint32_t uid = 2000; uid < 2010; uid++)
        others += opens_as(f, uid, TREE_HANDLES_MAX);
    assert_int_equal(others, TREE_HANDLES_MAX - TREE_HANDLES_ROOT - TREE_HANDLES_USER_MAX);
    assert_int_equal(tree_open_as(&session, f, TREE_WRITE, 3000, &h), -ENFILE);
    assert_int_equal(opens_as(f, 0, TREE_HANDLES_MAX), TREE_HANDLES_ROOT);
    assert_int_equal(tree_open(&session, f, TREE_WRITE, &h), -ENFILE);
}

static int full_read(struct tree_out *out, void *data)
{
    static const char kilobytes[64 * 1024];
    int rc = 0;
    for (int i = 0; i < TREE_SNAPSHOT_BYTES_MAX / (int)sizeof(kilobytes); i++)
        rc |= tree_put(out, kilobytes, sizeof(kilobytes));
    return rc;
}

static void texts_of_others_leave_room_for_roots(void **state)
{
    enum { ALL = TREE_SNAPSHOTS_BYTES_MAX - TREE_SNAPSHOTS_ROOT_BYTES };
    struct tree_node *f = tree_file_ro(root, "full", full_read, NULL);
    struct tree_handle *h;
    for (int i = 0; i < ALL / TREE_SNAPSHOT_BYTES_MAX; i++)
        assert_int_equal(tree_open_as(&session, f, TREE_READ, 1000, &h), 0);
    assert_int_equal(tree_open_as(&session, f, TREE_READ, 1000, &h), -ENOBUFS);
    assert_int_equal(tree_open_as(&session, f, TREE_READ, 0, &h), 0);
    assert_int_equal(tree_open_as(&session, f, TREE_READ, 1000, &h), -ENOBUFS);
    assert_int_equal(tree_open_as(&session, f, TREE_READ, 0, &h), 0);
    assert_int_equal(tree_open_as(&session, f, TREE_READ, 0, &h), -ENOBUFS);
}

// Users come and go, in any order and with numbers that share places in the table.
static void handles_are_counted_for_each_of_many_users(void **state)
{
    static int value;
    static struct tree_handle *held[600];
    static uint32_t uid[600];
    struct tree_node *f = tree_file(root, "f", 0222, &number_ops, &value);
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 20000; round++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const unsigned i = random % ARRAY_LEN(held);
        if (held[i] != NULL) {
            tree_close(held[i]);
            held[i] = NULL;
            continue;
        }
        uid[i] = 1 + (uint32_t)(random >> 32) % 64 * 2048;
        assert_int_equal(tree_open_as(&session, f, TREE_WRITE, uid[i], &held[i]), 0);
    }
    tree_session_close(&session);
    assert_int_equal(opens_as(f, 2049, TREE_HANDLES_MAX), TREE_HANDLES_USER_MAX);
    memset(held, 0, sizeof(held));
}

// ---- words and rest

static int refusing_write(const char *buf, size_t n, void *data)
{
    return tree_refuse(ERANGE, "expected 0 to 9, got %.*s", (int)n, buf);
}

static void a_refusal_has_words_until_the_next_request(void **state)
{
    const struct tree_ops ops = {.write = refusing_write};
    struct tree_handle *h = opened(tree_file(root, "f", 0200, &ops, NULL), TREE_WRITE);
    assert_string_equal(tree_reason(), "");
    assert_int_equal(tree_write(h, "12", 2), -ERANGE);
    assert_string_equal(tree_reason(), "expected 0 to 9, got 12");
    tree_reason_clear();
    assert_string_equal(tree_reason(), "");
}

static bool has_something;

static int rare_next(struct tree_out *out, void *cursor, void *data)
{
    if (has_something)
        tree_printf(out, "now\n");
    return 1;
}

static void a_stream_without_anything_is_idle_until_something_comes(void **state)
{
    const struct tree_ops ops = {.next = rare_next};
    struct tree_handle *h = opened(tree_file(root, "rare", 0444, &ops, NULL), TREE_READ);
    const char *data;
    has_something = false;
    assert_int_equal(tree_read(h, 0, 64, &data), -EAGAIN);
    assert_false(tree_idle(h));  // work may lie behind it
    for (int i = 0; i < 1000000 && !tree_idle(h); i++)
        assert_int_equal(tree_read(h, 0, 64, &data), -EAGAIN);
    assert_true(tree_idle(h));
    has_something = true;
    assert_int_equal(tree_read(h, 0, 64, &data), 4);
    assert_false(tree_idle(h));
}

int main(void)
{
#define GUIDE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        GUIDE(create_makes_a_file_with_its_mode_under_its_parent),
        GUIDE(a_read_only_entry_takes_one_call),
        GUIDE(a_directory_holds_others),
        GUIDE(a_symlink_tells_its_target),
        GUIDE(what_is_a_device_there_is_a_stream),
        GUIDE(removal_waits_for_readers_with_the_release_of_the_data),
        GUIDE(any_portions_give_the_same_bytes_and_then_the_end),
        GUIDE(a_write_is_bounded_and_not_terminated),
        GUIDE(one_callback_serves_many_files_by_the_data_pointer),
        GUIDE(mode_and_owner_at_creation_and_later),
        GUIDE(who_owns_an_entry_in_use_cannot_leave),
        GUIDE(a_directory_or_a_removed_file_held_open_is_in_use),
        GUIDE(who_leaves_later_is_gone_after_the_last_reader),
        GUIDE(who_leaves_later_with_nothing_in_use_is_gone_at_once),
        GUIDE(an_entry_has_one_owner_and_the_root_none),
        GUIDE(handles_that_are_open_when_it_is_owned_count),
        GUIDE(a_callback_cannot_leave_under_its_own_feet),
        GUIDE(leaving_takes_time_in_proportion_to_the_entries),
        GUIDE(the_tree_ends_with_owners_in_it),
        GUIDE(a_user_has_so_many_handles_and_root_the_last),
        GUIDE(texts_of_others_leave_room_for_roots),
        GUIDE(handles_are_counted_for_each_of_many_users),
        GUIDE(a_refusal_has_words_until_the_next_request),
        GUIDE(a_stream_without_anything_is_idle_until_something_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
