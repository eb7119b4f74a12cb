// SPDX-License-Identifier: BSD-3-Clause
// Claims about the registry of the control tree: c10m/tree.h and tree/access.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "c10m/tree.h"
#include "tree/access.h"
#include "unit/check.h"

// thing: what the callbacks below serve.
struct thing {
    int value;
    int reads, writes, releases;
    int read_result, write_result;
    size_t fill_bytes;  // rendered in place of the value, if not 0
    char got[64];
    size_t got_bytes;
    struct tree_node *remove_on_write;  // in the write callback
    struct tree_node *parent;           // where release makes an entry "successor"
};

// Things lie in static memory: the tree releases them in teardown, after the test has returned.
static struct tree *tree;
static struct tree_node *root;
static struct tree_session session;

static int thing_read(struct tree_out *out, void *data)
{
    struct thing *t = data;
    t->reads++;
    for (size_t i = 0; i < t->fill_bytes; i += 1024) {
        char kilobyte[1024];
        memset(kilobyte, 'a' + (int)(i / 1024 % 26), sizeof(kilobyte));
        tree_put(out, kilobyte, MIN(sizeof(kilobyte), t->fill_bytes - i));
    }
    if (t->fill_bytes == 0)
        tree_printf(out, "value %d\n", t->value);
    return t->read_result;
}

static int thing_write(const char *buf, size_t n, void *data)
{
    struct thing *t = data;
    t->writes++;
    t->got_bytes = n;
    memcpy(t->got, buf, MIN(n, sizeof(t->got)));
    if (t->remove_on_write != NULL)
        tree_remove_node(t->remove_on_write);
    return t->write_result;
}

static void thing_release(void *data)
{
    struct thing *t = data;
    t->releases++;
    if (t->parent != NULL)
        assert_non_null(tree_dir(t->parent, "successor"));
}

static const struct tree_ops thing_ops = {
    .read = thing_read, .write = thing_write, .release = thing_release};

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

static struct tree_node *find(const char *path)
{
    char copy[4096], *save;
    snprintf(copy, sizeof(copy), "%s", path);
    struct tree_node *node = root;
    for (char *p = strtok_r(copy, "/", &save); p != NULL; p = strtok_r(NULL, "/", &save)) {
        node = tree_lookup(node, p);
        if (node == NULL)
            return NULL;
    }
    return node;
}

static struct tree_handle *opened(struct tree_node *node, unsigned how)
{
    struct tree_handle *h = NULL;
    assert_int_equal(tree_open(&session, node, how, &h), 0);
    return h;
}

static void assert_reads(struct tree_handle *h, const char *want)
{
    const char *data = NULL;
    const ssize_t n = tree_read(h, 0, SIZE_MAX, &data);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(data, want, (size_t)n);
}

// assert_refused: a creation failed with that errno, said why, and left nothing behind.
static void assert_refused(const struct tree_node *node, int code, uint64_t entries)
{
    int got = errno;
    assert_null(node);
    assert_int_equal(got, code);
    assert_int_not_equal(strlen(tree_error(root)), 0);
    assert_int_equal(tree_usage(tree).entries, entries);
}

// ---- making entries

static void a_path_over_several_directories_makes_them(void **state)
{
    static struct thing t = {.value = 7};
    struct tree_node *node = tree_file(root, "cores/0/state", 0644, &thing_ops, &t);
    assert_non_null(node);
    assert_ptr_equal(find("cores/0/state"), node);
    struct tree_stat dir = tree_stat(find("cores/0"));
    assert_int_equal(dir.kind, TREE_DIR);
    assert_int_equal(dir.mode, 0555);
    assert_int_equal(tree_stat(find("cores")).links, 3);
    struct tree_stat st = tree_stat(node);
    assert_int_equal(st.kind, TREE_FILE);
    assert_int_equal(st.mode, 0644);
    assert_int_equal(st.links, 1);
    assert_int_equal(st.uid, geteuid());
    assert_int_equal(st.gid, getegid());
    assert_non_null(tree_file_ro(find("cores"), "1/state", thing_read, &t));
    assert_int_equal(tree_stat(find("cores")).links, 4);
    assert_int_equal(tree_usage(tree).entries, 6);
}

static void one_callback_serves_many_files_by_their_data(void **state)
{
    static struct thing a = {.value = 1}, b = {.value = 2};
    tree_file_ro(root, "a", thing_read, &a);
    tree_file_ro(root, "b", thing_read, &b);
    assert_reads(opened(find("a"), TREE_READ), "value 1\n");
    assert_reads(opened(find("b"), TREE_READ), "value 2\n");
    assert_int_equal(a.reads + b.reads, 2);
}

static void a_read_only_file_cannot_be_opened_for_writing(void **state)
{
    static struct thing t = {0};
    struct tree_handle *h;
    struct tree_node *node = tree_file_ro(root, "ro", thing_read, &t);
    assert_int_equal(tree_stat(node).mode, 0444);
    assert_int_equal(tree_open(&session, node, TREE_WRITE, &h), -EACCES);
    assert_int_equal(tree_open(&session, node, TREE_READ | TREE_WRITE, &h), -EACCES);
    assert_int_equal(t.reads, 0);
}

static void a_write_only_file_cannot_be_opened_for_reading(void **state)
{
    static struct thing t = {0};
    struct tree_handle *h;
    struct tree_ops ops = {.write = thing_write};
    struct tree_node *node = tree_file(root, "wo", 0200, &ops, &t);
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), -EACCES);
    assert_int_equal(tree_write(opened(node, TREE_WRITE), "x", 1), 0);
    assert_int_equal(t.writes, 1);
}

static void ops_are_copied(void **state)
{
    static struct thing t = {.value = 3};
    struct tree_ops ops = {.read = thing_read};
    struct tree_node *node = tree_file(root, "f", 0444, &ops, &t);
    memset(&ops, 0xff, sizeof(ops));
    assert_reads(opened(node, TREE_READ), "value 3\n");
}

static void a_symlink_keeps_its_target_and_is_not_opened(void **state)
{
    struct tree_handle *h;
    char target[] = "cores/0";
    struct tree_node *node = tree_link(root, "first", target);
    memset(target, 'x', sizeof(target) - 1);
    assert_string_equal(tree_target(node), "cores/0");
    assert_int_equal(tree_stat(node).kind, TREE_LINK);
    assert_int_equal(tree_stat(node).mode, 0777);
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), -ELOOP);
    assert_null(tree_target(root));
}

static void names_are_refused_that_no_path_can_spell(void **state)
{
    static const char *const bad[] = {"",   "/",   "/a",   "a/",     "a//b", ".",
                                      "..", "a/.", "../a", "a/../b", "a\nb", "a\x7f"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(tree_dir(root, bad[i]), EINVAL, 1);
    assert_refused(tree_dir(root, NULL), EINVAL, 1);
    assert_null(tree_dir(NULL, "a"));
    assert_int_equal(errno, EINVAL);
    assert_non_null(tree_dir(root, "..."));
    assert_non_null(tree_dir(root, ".hidden and with spaces"));
    assert_non_null(tree_dir(root, "\xc3\xa9"));
}

static void a_name_takes_its_limit_and_not_one_byte_more(void **state)
{
    char name[TREE_NAME_BYTES_MAX + 2];
    memset(name, 'n', sizeof(name));
    name[TREE_NAME_BYTES_MAX + 1] = '\0';
    assert_refused(tree_dir(root, name), ENAMETOOLONG, 1);
    assert_non_null(strstr(tree_error(root), "256 bytes, at most 255"));
    name[TREE_NAME_BYTES_MAX] = '\0';
    assert_non_null(tree_dir(root, name));
    assert_non_null(tree_lookup(root, name));
}

static void a_path_takes_its_depth_and_not_one_more_also_below_another_parent(void **state)
{
    char path[2 * TREE_DEPTH_MAX + 8] = "d";
    for (int i = 1; i < TREE_DEPTH_MAX; i++)
        strcat(path, "/d");
    assert_non_null(tree_dir(root, path));
    assert_refused(tree_dir(find(path), "e"), ENAMETOOLONG, TREE_DEPTH_MAX + 1);
    strcat(path, "/d");
    assert_refused(tree_dir(root, path), ENAMETOOLONG, TREE_DEPTH_MAX + 1);
}

static void a_link_target_has_one_to_1023_bytes(void **state)
{
    char target[TREE_LINK_BYTES_MAX + 2];
    memset(target, 't', sizeof(target));
    target[TREE_LINK_BYTES_MAX + 1] = '\0';
    assert_refused(tree_link(root, "l", target), ENAMETOOLONG, 1);
    assert_refused(tree_link(root, "l", ""), EINVAL, 1);
    assert_refused(tree_link(root, "l", NULL), EINVAL, 1);
    target[TREE_LINK_BYTES_MAX] = '\0';
    assert_non_null(tree_link(root, "l", target));
}

static void modes_that_the_callbacks_cannot_honor_are_refused(void **state)
{
    struct tree_ops r = {.read = thing_read}, w = {.write = thing_write}, none = {0};
    assert_refused(tree_file(root, "f", 0644, &r, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 0644, &w, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 0002, &r, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 0004, &w, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 01444, &r, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 0100444, &r, NULL), EINVAL, 1);
    assert_refused(tree_file(root, "f", 0444, NULL, NULL), EINVAL, 1);
    assert_refused(tree_file_ro(root, "f", NULL, NULL), EINVAL, 1);
    assert_non_null(tree_file(root, "f", 0, &none, NULL));
}

static void a_name_in_use_is_refused_and_what_was_there_stays(void **state)
{
    static struct thing t = {.value = 1};
    struct tree_node *node = tree_file_ro(root, "a/b", thing_read, &t);
    assert_refused(tree_file_ro(root, "a/b", thing_read, NULL), EEXIST, 3);
    assert_refused(tree_dir(root, "a"), EEXIST, 3);
    assert_refused(tree_link(root, "a/b", "x"), EEXIST, 3);
    assert_ptr_equal(find("a/b"), node);
}

static void a_file_has_no_entries_below_it(void **state)
{
    static struct thing t = {0};
    struct tree_node *node = tree_file_ro(root, "f", thing_read, &t);
    tree_link(root, "l", "f");
    assert_refused(tree_dir(root, "f/x"), ENOTDIR, 3);
    assert_refused(tree_dir(root, "f/x/y/z"), ENOTDIR, 3);
    assert_refused(tree_dir(root, "l/x"), ENOTDIR, 3);
    assert_refused(tree_dir(node, "x"), ENOTDIR, 3);
    assert_null(tree_lookup(node, "x"));
    assert_int_equal(errno, ENOTDIR);
    assert_null(tree_lookup(root, "none"));
    assert_int_equal(errno, ENOENT);
}

static void a_full_tree_refuses_undoes_the_path_and_takes_again_after_a_removal(void **state)
{
    char name[32];
    for (int i = 1; i < TREE_ENTRIES_MAX - 1; i++) {
        snprintf(name, sizeof(name), "%d/%d", i % 10, i);
        if (tree_usage(tree).entries == TREE_ENTRIES_MAX - 1)
            break;
        assert_non_null(tree_dir(root, name));
    }
    assert_int_equal(tree_usage(tree).entries, TREE_ENTRIES_MAX - 1);
    assert_refused(tree_dir(root, "new/one"), ENOSPC, TREE_ENTRIES_MAX - 1);
    assert_null(find("new"));
    assert_non_null(tree_dir(root, "last"));
    assert_refused(tree_dir(root, "more"), ENOSPC, TREE_ENTRIES_MAX);
    assert_int_equal(tree_usage(tree).entries_refused, 2);
    assert_int_equal(tree_remove(root, "5"), 0);
    assert_non_null(tree_dir(root, "new/one"));
}

// ---- owner and mode

static void owner_and_mode_can_change_and_new_entries_inherit_the_owner(void **state)
{
    static struct thing t = {0};
    struct tree_node *app = tree_dir(root, "apps/http");
    tree_chown(app, 1000, 2000);
    struct tree_node *node = tree_file(app, "deep/limit", 0600, &thing_ops, &t);
    assert_int_equal(tree_stat(node).uid, 1000);
    assert_int_equal(tree_stat(node).gid, 2000);
    assert_int_equal(tree_stat(find("apps/http/deep")).uid, 1000);
    assert_int_equal(tree_stat(find("apps")).uid, geteuid());
    assert_int_equal(tree_chmod(node, 0640), 0);
    assert_int_equal(tree_stat(node).mode, 0640);
    assert_int_equal(tree_chmod(app, 0500), 0);
    assert_int_equal(tree_stat(app).mode, 0500);
}

static void chmod_refuses_what_creation_refuses(void **state)
{
    static struct thing t = {0};
    struct tree_node *node = tree_file_ro(root, "ro", thing_read, &t);
    assert_int_equal(tree_chmod(node, 0644), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(tree_chmod(node, 04444), -1);
    assert_int_equal(tree_stat(node).mode, 0444);
    assert_int_equal(tree_chmod(root, 01777), -1);
    assert_int_equal(tree_chmod(tree_link(root, "l", "ro"), 0644), -1);
    assert_int_equal(errno, EINVAL);
}

// ---- reading

static void a_snapshot_is_of_the_moment_of_the_open(void **state)
{
    static struct thing t = {.value = 1};
    struct tree_node *node = tree_file_ro(root, "f", thing_read, &t);
    struct tree_handle *before = opened(node, TREE_READ);
    t.value = 22;
    struct tree_handle *after = opened(node, TREE_READ);
    assert_reads(before, "value 1\n");
    assert_reads(after, "value 22\n");
    assert_reads(before, "value 1\n");
    assert_int_equal(t.reads, 2);
}

static void a_long_text_can_be_read_in_any_portion_and_at_any_offset(void **state)
{
    static struct thing t = {.fill_bytes = 100003};
    struct tree_handle *h = opened(tree_file_ro(root, "f", thing_read, &t), TREE_READ);
    size_t got = 0;
    const char *data;
    for (ssize_t n; (n = tree_read(h, got, 17, &data)) > 0; got += (size_t)n) {
        for (size_t i = 0; i < (size_t)n; i++)
            assert_int_equal(data[i], 'a' + (int)((got + i) / 1024 % 26));
    }
    assert_int_equal(got, t.fill_bytes);
    assert_int_equal(tree_read(h, 100002, 17, &data), 1);
    assert_int_equal(tree_read(h, 100003, 17, &data), 0);
    assert_int_equal(tree_read(h, UINT64_MAX, 17, &data), 0);
    assert_int_equal(tree_read(h, 0, 0, &data), 0);
    assert_int_equal(t.reads, 1);
}

static void an_error_of_the_read_callback_is_the_error_of_the_open(void **state)
{
    static struct thing t = {.read_result = -ENODEV};
    struct tree_handle *h;
    struct tree_node *node = tree_file_ro(root, "f", thing_read, &t);
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), -ENODEV);
    t.read_result = 5;  // no errno: the callback's mistake
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), -EIO);
    assert_int_equal(tree_usage(tree).handles, 0);
    assert_int_equal(tree_usage(tree).snapshot_bytes, 0);
}

static void a_text_takes_its_limit_and_over_it_the_open_fails(void **state)
{
    static struct thing t = {.fill_bytes = TREE_SNAPSHOT_BYTES_MAX};
    struct tree_handle *h;
    const char *data;
    struct tree_node *node = tree_file_ro(root, "f", thing_read, &t);
    h = opened(node, TREE_READ);
    assert_int_equal(tree_read(h, 0, SIZE_MAX, &data), TREE_SNAPSHOT_BYTES_MAX);
    tree_close(h);
    t.fill_bytes++;
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), -EFBIG);
    assert_int_equal(tree_usage(tree).snapshots_refused, 1);
}

static void all_snapshots_together_are_bounded_and_a_close_makes_room(void **state)
{
    static struct thing t = {.fill_bytes = TREE_SNAPSHOT_BYTES_MAX}, small = {0};
    struct tree_handle *h, *some[TREE_SNAPSHOTS_BYTES_MAX / TREE_SNAPSHOT_BYTES_MAX];
    struct tree_node *node = tree_file_ro(root, "f", thing_read, &t);
    struct tree_node *other = tree_file_ro(root, "small", thing_read, &small);
    for (unsigned i = 0; i < ARRAY_LEN(some); i++)
        some[i] = opened(node, TREE_READ);
    assert_int_equal(tree_usage(tree).snapshot_bytes, TREE_SNAPSHOTS_BYTES_MAX);
    assert_int_equal(tree_open(&session, other, TREE_READ, &h), -ENOBUFS);
    tree_close(some[3]);
    assert_reads(opened(other, TREE_READ), "value 0\n");
}

static void handles_are_bounded_and_counted(void **state)
{
    static struct thing t = {0};
    struct tree_handle *h, *last = NULL;
    struct tree_node *node = tree_file(root, "f", 0644, &thing_ops, &t);
    for (int i = 0; i < TREE_HANDLES_MAX; i++)
        last = opened(node, TREE_WRITE);
    assert_int_equal(tree_open(&session, node, TREE_WRITE, &h), -ENFILE);
    assert_int_equal(tree_usage(tree).handles_refused, 1);
    tree_close(last);
    opened(node, TREE_WRITE);
    assert_int_equal(tree_usage(tree).handles, TREE_HANDLES_MAX);
    tree_session_close(&session);
    assert_int_equal(tree_usage(tree).handles, 0);
}

// ---- writing

static void a_write_hands_over_exactly_its_bytes(void **state)
{
    static struct thing t = {0};
    struct tree_handle *h = opened(tree_file(root, "f", 0200, &thing_ops, &t), TREE_WRITE);
    assert_int_equal(t.reads, 0);
    char *exact = malloc(3);  // a byte more, or a terminator looked for, is ASan's to see
    memcpy(exact, "a\0b", 3);
    assert_int_equal(tree_write(h, exact, 3), 0);
    free(exact);
    assert_int_equal(t.got_bytes, 3);
    assert_memory_equal(t.got, "a\0b", 3);
    assert_int_equal(tree_write(h, "", 0), 0);
    assert_int_equal(t.writes, 1);
}

static void a_write_takes_its_limit_and_not_one_byte_more(void **state)
{
    static struct thing t = {0};
    static char big[TREE_WRITE_BYTES_MAX + 1];
    struct tree_handle *h = opened(tree_file(root, "f", 0200, &thing_ops, &t), TREE_WRITE);
    assert_int_equal(tree_write(h, big, TREE_WRITE_BYTES_MAX), 0);
    assert_int_equal(tree_write(h, big, TREE_WRITE_BYTES_MAX + 1), -EFBIG);
    assert_int_equal(t.writes, 1);
    assert_int_equal(tree_usage(tree).writes_refused, 1);
}

static void an_error_of_the_write_callback_reaches_the_writer(void **state)
{
    static struct thing t = {.write_result = -ERANGE};
    struct tree_node *node = tree_file(root, "f", 0644, &thing_ops, &t);
    struct tree_handle *h = opened(node, TREE_WRITE);
    assert_int_equal(tree_write(h, "5", 1), -ERANGE);
    t.write_result = 1;
    assert_int_equal(tree_write(h, "5", 1), -EIO);
    assert_int_equal(tree_write(opened(node, TREE_READ), "5", 1), -EBADF);
    assert_int_equal(t.writes, 2);
}

// ---- removing

static void a_removed_name_is_gone_and_its_data_released_once(void **state)
{
    static struct thing t = {0};
    tree_file(root, "a/f", 0644, &thing_ops, &t);
    assert_int_equal(tree_remove(root, "a/f"), 0);
    assert_null(find("a/f"));
    assert_non_null(find("a"));
    assert_int_equal(t.releases, 1);
    assert_int_equal(tree_remove(root, "a/f"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(tree_usage(tree).entries, 2);
}

static void a_directory_goes_with_all_that_is_in_it(void **state)
{
    static struct thing t[3] = {0};
    tree_file(root, "a/b/c/f", 0644, &thing_ops, &t[0]);
    tree_file(root, "a/b/g", 0644, &thing_ops, &t[1]);
    tree_file(root, "a/h", 0644, &thing_ops, &t[2]);
    assert_int_equal(tree_remove(root, "a/b"), 0);
    assert_int_equal(t[0].releases, 1);
    assert_int_equal(t[1].releases, 1);
    assert_int_equal(t[2].releases, 0);
    assert_int_equal(tree_usage(tree).entries, 3);
    assert_int_equal(tree_stat(find("a")).links, 2);
}

static void removal_refuses_paths_that_lead_nowhere(void **state)
{
    static struct thing t = {0};
    tree_file_ro(root, "f", thing_read, &t);
    assert_int_equal(tree_remove(root, "f/x"), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(tree_remove(root, ""), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(tree_remove(root, "../f"), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(tree_remove(NULL, "f"), -1);
    assert_int_equal(errno, EINVAL);
    assert_non_null(find("f"));
}

static void who_holds_a_removed_file_reads_on_and_the_last_close_releases(void **state)
{
    static struct thing t = {.value = 5};
    struct tree_node *node = tree_file(root, "d/f", 0644, &thing_ops, &t);
    uint64_t id = tree_stat(node).id;
    struct tree_handle *a = opened(node, TREE_READ), *b = opened(node, TREE_WRITE), *none;
    assert_int_equal(tree_remove(root, "d"), 0);
    assert_int_equal(t.releases, 0);
    assert_reads(a, "value 5\n");
    assert_int_equal(tree_write(b, "x", 1), -EIO);
    assert_int_equal(t.writes, 0);
    assert_ptr_equal(tree_by_id(tree, id), node);
    assert_int_equal(tree_stat(node).links, 0);
    assert_int_equal(tree_open(&session, node, TREE_READ, &none), -ENOENT);
    tree_close(a);
    assert_int_equal(t.releases, 0);
    tree_close(b);
    assert_int_equal(t.releases, 1);
    assert_null(tree_by_id(tree, id));
}

static void a_name_can_be_made_again_while_its_predecessor_is_held_open(void **state)
{
    static struct thing old = {.value = 1}, new = {.value = 2};
    struct tree_handle *h = opened(tree_file(root, "f", 0644, &thing_ops, &old), TREE_READ);
    tree_remove(root, "f");
    tree_file(root, "f", 0644, &thing_ops, &new);
    assert_reads(h, "value 1\n");
    assert_reads(opened(find("f"), TREE_READ), "value 2\n");
    tree_close(h);
    assert_int_equal(old.releases, 1);
    assert_int_equal(new.releases, 0);
}

static void an_id_is_never_given_to_another_entry(void **state)
{
    uint64_t before = 0;
    assert_int_equal(tree_stat(root).id, TREE_ROOT_ID);
    for (int i = 0; i < 1000; i++) {
        uint64_t id = tree_stat(tree_dir(root, "d")).id;
        assert_true(id > before);
        assert_ptr_equal(tree_by_id(tree, id), find("d"));
        tree_remove(root, "d");
        assert_null(tree_by_id(tree, id));
        before = id;
    }
    assert_null(tree_by_id(tree, 0));
    assert_null(tree_by_id(tree, UINT64_MAX));
    assert_null(tree_by_id(tree, UINT32_MAX));
}

static void a_write_callback_may_remove_its_own_file(void **state)
{
    static struct thing t = {0};
    struct tree_node *node = tree_file(root, "f", 0644, &thing_ops, &t);
    struct tree_handle *h = opened(node, TREE_WRITE);
    t.remove_on_write = node;
    assert_int_equal(tree_write(h, "x", 1), 0);
    assert_null(find("f"));
    assert_int_equal(t.releases, 0);
    tree_close(h);
    assert_int_equal(t.releases, 1);
}

static void a_release_callback_may_make_entries_also_while_its_directory_goes(void **state)
{
    static struct thing t;
    t.parent = root;
    tree_file(root, "a/b/f", 0644, &thing_ops, &t);
    assert_int_equal(tree_remove(root, "a"), 0);
    assert_int_equal(t.releases, 1);
    assert_non_null(find("successor"));
}

static void destroy_releases_everything(void **state)
{
    static struct thing t = {0};
    struct tree *other = tree_create();
    tree_file(tree_root(other), "a/f", 0644, &thing_ops, &t);
    tree_file(tree_root(other), "g", 0644, &thing_ops, &t);
    tree_destroy(other);
    assert_int_equal(t.releases, 2);
    tree_destroy(NULL);
}

// ---- directories

static void a_listing_has_every_entry_once_in_order_of_names(void **state)
{
    enum { N = 1000 };
    char name[32];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%03d", (i * 7) % N);
        assert_non_null(tree_dir(root, name));
    }
    struct tree_handle *h = opened(root, TREE_READ);
    struct tree_dirent e;
    uint64_t pos = 0;
    assert_false(tree_next(h, &pos, &e));
    assert_int_equal(tree_list(h), 0);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "%03d", i);
        assert_true(tree_next(h, &pos, &e));
        assert_string_equal(e.name, name);
        assert_int_equal(e.id, tree_stat(find(name)).id);
        assert_int_equal(e.kind, TREE_DIR);
    }
    assert_false(tree_next(h, &pos, &e));
    pos = UINT64_MAX;
    assert_false(tree_next(h, &pos, &e));
}

static void a_listing_does_not_change_under_its_reader_and_the_next_one_is_new(void **state)
{
    tree_dir(root, "a");
    tree_link(root, "b", "a");
    struct tree_handle *h = opened(root, TREE_READ);
    struct tree_dirent e;
    uint64_t pos = 0;
    tree_list(h);
    tree_remove(root, "a");
    tree_remove(root, "b");
    tree_dir(root, "c");
    assert_true(tree_next(h, &pos, &e));
    assert_true(tree_next(h, &pos, &e));
    assert_string_equal(e.name, "b");
    assert_int_equal(e.kind, TREE_LINK);
    assert_false(tree_next(h, &pos, &e));
    assert_int_equal(tree_list(h), 0);
    pos = 0;
    assert_true(tree_next(h, &pos, &e));
    assert_string_equal(e.name, "c");
}

static void a_directory_held_open_may_be_removed_and_is_then_empty(void **state)
{
    tree_dir(root, "d/e");
    struct tree_handle *h = opened(find("d"), TREE_READ);
    struct tree_dirent e;
    uint64_t pos = 0;
    tree_remove(root, "d");
    assert_int_equal(tree_list(h), 0);
    assert_false(tree_next(h, &pos, &e));
    tree_close(h);
    assert_int_equal(tree_usage(tree).entries, 1);
}

static void files_have_no_listing_and_directories_no_text(void **state)
{
    static struct thing t = {0};
    struct tree_handle *h, *dir = opened(root, TREE_READ);
    const char *data;
    struct tree_dirent e;
    uint64_t pos = 0;
    h = opened(tree_file_ro(root, "f", thing_read, &t), TREE_READ);
    assert_int_equal(tree_list(h), -ENOTDIR);
    assert_false(tree_next(h, &pos, &e));
    assert_int_equal(tree_list(dir), 0);
    assert_int_equal(tree_read(dir, 0, 100, &data), 0);
    assert_int_equal(tree_open(&session, root, TREE_WRITE, &h), -EACCES);
}

// ---- streams

// tale: what numbers_next below serves: the numbers from 0 to `numbers`, so many a piece, and
// nothing in every `pause`th call.
struct tale {
    unsigned numbers, a_piece, pause, calls;
    int result;  // in place of 1, if not 0
    size_t fill_bytes;
};

struct numbers_cursor {
    unsigned at;
};

static int numbers_next(struct tree_out *out, void *cursor, void *data)
{
    struct tale *t = data;
    struct numbers_cursor *c = cursor;
    t->calls++;
    if (t->result != 0)
        return t->result;
    for (size_t i = 0; i < t->fill_bytes; i++)
        tree_put(out, "x", 1);
    if (t->pause != 0 && t->calls % t->pause == 0)
        return 1;
    for (unsigned i = 0; i < t->a_piece && c->at < t->numbers; i++)
        tree_printf(out, "%u\n", c->at++);
    return c->at < t->numbers;
}

static struct tree_node *tale_file(const char *path, struct tale *t)
{
    return tree_file(
        root, path, 0444,
        &(struct tree_ops){.next = numbers_next, .cursor_bytes = sizeof(struct numbers_cursor)}, t);
}

// next_piece: reads at off until there is something; how many bytes.
static ssize_t next_piece(struct tree_handle *h, uint64_t off, const char **data)
{
    ssize_t n;
    while ((n = tree_read(h, off, 7, data)) == -EAGAIN)
        ;
    return n;
}

static void a_stream_is_read_in_order_and_calls_nothing_before_it_is_read(void **state)
{
    static struct tale t = {.numbers = 1000, .a_piece = 13, .pause = 3};
    static char got[8192], want[8192];
    const char *data;
    size_t n = 0, want_bytes = 0;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    assert_int_equal(t.calls, 0);
    for (ssize_t r; (r = next_piece(h, n, &data)) != 0; n += (size_t)r) {
        assert_in_range(r, 1, 7);
        memcpy(got + n, data, (size_t)r);
    }
    for (unsigned i = 0; i < t.numbers; i++)
        want_bytes += (size_t)sprintf(want + want_bytes, "%u\n", i);
    assert_int_equal(n, want_bytes);
    assert_memory_equal(got, want, n);
    const unsigned calls = t.calls;
    assert_int_equal(tree_read(h, n, 100, &data), 0);  // the end stays the end
    assert_int_equal(t.calls, calls);
}

static void a_call_that_renders_nothing_gives_the_others_their_turn(void **state)
{
    static struct tale t = {.numbers = 1, .a_piece = 1, .pause = 1};
    const char *data;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    for (unsigned i = 1; i < 10; i++) {
        assert_int_equal(tree_read(h, 0, 100, &data), -EAGAIN);
        assert_int_equal(t.calls, i);  // one read, one call
    }
    t.pause = 0;
    assert_int_equal(tree_read(h, 0, 100, &data), 2);
}

static void a_stream_begins_anew_at_offset_zero_and_refuses_other_jumps(void **state)
{
    static struct tale t = {.numbers = 100, .a_piece = 10};
    const char *data;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    assert_int_equal(tree_read(h, 5, 100, &data), -EINVAL);
    assert_int_equal(tree_read(h, 0, 100, &data), 20);
    assert_int_equal(tree_read(h, 18, 100, &data), 2);  // within the piece
    assert_memory_equal(data, "9\n", 2);
    assert_int_equal(tree_read(h, 21, 100, &data), -EINVAL);
    assert_int_equal(tree_read(h, UINT64_MAX, 100, &data), -EINVAL);
    assert_int_equal(tree_read(h, 20, 100, &data), 30);
    assert_memory_equal(data, "10\n", 3);
    assert_int_equal(tree_read(h, 19, 100, &data), -EINVAL);  // the piece before has gone
    assert_int_equal(tree_read(h, 0, 100, &data), 20);
    assert_memory_equal(data, "0\n1\n", 4);
    t.numbers = 5;  // another moment
    assert_int_equal(tree_read(h, 0, 100, &data), 10);
    assert_int_equal(tree_read(h, 10, 100, &data), 0);
    assert_int_equal(tree_read(h, 0, 100, &data), 10);  // also after its end
}

static void two_readers_of_a_stream_are_each_where_they_are(void **state)
{
    static struct tale t = {.numbers = 100, .a_piece = 10};
    const char *data;
    struct tree_node *node = tale_file("s", &t);
    struct tree_handle *a = opened(node, TREE_READ), *b = opened(node, TREE_READ);
    assert_int_equal(tree_read(a, 0, 100, &data), 20);
    assert_int_equal(tree_read(a, 20, 100, &data), 30);
    assert_int_equal(tree_read(b, 0, 100, &data), 20);
    assert_int_equal(tree_read(a, 50, 100, &data), 30);
    assert_memory_equal(data, "20\n", 3);
}

static void a_stream_holds_one_piece_and_gives_it_back(void **state)
{
    static struct tale t = {.numbers = 1 << 20, .a_piece = 1000};
    const char *data;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    uint64_t off = 0;
    for (ssize_t n; (n = tree_read(h, off, SIZE_MAX, &data)) != 0; off += (uint64_t)n)
        assert_int_equal(tree_usage(tree).snapshot_bytes, n);
    assert_int_equal(off,
                     10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 90000 * 6 + 900000 * 7 + 48576 * 8);
    tree_close(h);
    assert_int_equal(tree_usage(tree).snapshot_bytes, 0);
}

static void what_goes_wrong_in_a_stream_is_the_error_of_the_read(void **state)
{
    static struct tale t = {.numbers = 10, .a_piece = 10, .result = -ENODEV};
    const char *data;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    assert_int_equal(tree_read(h, 0, 100, &data), -ENODEV);
    t.result = 2;  // neither more nor the end: the callback's mistake
    assert_int_equal(tree_read(h, 0, 100, &data), -EIO);
    t.result = 0;
    t.fill_bytes = TREE_CHUNK_BYTES_MAX;
    assert_int_equal(tree_read(h, 0, 100, &data), -EFBIG);
    assert_int_equal(tree_usage(tree).snapshot_bytes, 0);
}

static void a_stream_that_has_to_wait_says_so_at_once(void **state)
{
    static struct tale t = {.numbers = 10, .a_piece = 10, .result = TREE_LATER};
    const char *data;
    struct tree_handle *h = opened(tale_file("s", &t), TREE_READ);
    assert_false(tree_lives(h));
    assert_int_equal(tree_read(h, 0, 100, &data), -EAGAIN);
    assert_true(tree_idle(h) && tree_lives(h));
    t.result = 0;
    assert_int_equal(tree_read(h, 0, 100, &data), 20);
    assert_true(!tree_idle(h) && tree_lives(h));
}

static unsigned cursors_done;
static void count_done(void *cursor, void *data)
{
    cursors_done += ((const struct numbers_cursor *)cursor)->at;
}

static void who_serves_a_stream_hears_once_of_each_cursor_that_is_done(void **state)
{
    static struct tale t = {.numbers = 10, .a_piece = 1};
    const struct tree_ops ops = {
        .next = numbers_next, .cursor_bytes = sizeof(struct numbers_cursor), .done = count_done};
    const char *data;
    cursors_done = 0;
    struct tree_node *node = tree_file(root, "s", 0444, &ops, &t);
    struct tree_handle *h = opened(node, TREE_READ);
    tree_close(opened(node, TREE_READ));  // was never read
    assert_int_equal(tree_read(h, 0, 100, &data), 2);
    assert_int_equal(tree_read(h, 2, 100, &data), 2);
    assert_int_equal(cursors_done, 0);
    assert_int_equal(tree_read(h, 0, 100, &data), 2);  // begins anew
    assert_int_equal(cursors_done, 2);
    tree_remove_node(node);
    assert_int_equal(cursors_done, 2);
    tree_close(h);
    assert_int_equal(cursors_done, 3);
}

static void a_stream_has_no_read_callback_and_a_small_cursor(void **state)
{
    const uint64_t n = tree_usage(tree).entries;
    const struct tree_ops both = {.read = thing_read, .next = numbers_next};
    const struct tree_ops big = {.next = numbers_next, .cursor_bytes = TREE_CURSOR_BYTES_MAX + 1};
    assert_refused(tree_file(root, "s", 0444, &both, NULL), EINVAL, n);
    assert_refused(tree_file(root, "s", 0444, &big, NULL), EINVAL, n);
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(a_path_over_several_directories_makes_them),
        TREE_TEST(one_callback_serves_many_files_by_their_data),
        TREE_TEST(a_read_only_file_cannot_be_opened_for_writing),
        TREE_TEST(a_write_only_file_cannot_be_opened_for_reading),
        TREE_TEST(ops_are_copied),
        TREE_TEST(a_symlink_keeps_its_target_and_is_not_opened),
        TREE_TEST(names_are_refused_that_no_path_can_spell),
        TREE_TEST(a_name_takes_its_limit_and_not_one_byte_more),
        TREE_TEST(a_path_takes_its_depth_and_not_one_more_also_below_another_parent),
        TREE_TEST(a_link_target_has_one_to_1023_bytes),
        TREE_TEST(modes_that_the_callbacks_cannot_honor_are_refused),
        TREE_TEST(a_name_in_use_is_refused_and_what_was_there_stays),
        TREE_TEST(a_file_has_no_entries_below_it),
        TREE_TEST(a_full_tree_refuses_undoes_the_path_and_takes_again_after_a_removal),
        TREE_TEST(owner_and_mode_can_change_and_new_entries_inherit_the_owner),
        TREE_TEST(chmod_refuses_what_creation_refuses),
        TREE_TEST(a_snapshot_is_of_the_moment_of_the_open),
        TREE_TEST(a_long_text_can_be_read_in_any_portion_and_at_any_offset),
        TREE_TEST(an_error_of_the_read_callback_is_the_error_of_the_open),
        TREE_TEST(a_text_takes_its_limit_and_over_it_the_open_fails),
        TREE_TEST(all_snapshots_together_are_bounded_and_a_close_makes_room),
        TREE_TEST(handles_are_bounded_and_counted),
        TREE_TEST(a_write_hands_over_exactly_its_bytes),
        TREE_TEST(a_write_takes_its_limit_and_not_one_byte_more),
        TREE_TEST(an_error_of_the_write_callback_reaches_the_writer),
        TREE_TEST(a_removed_name_is_gone_and_its_data_released_once),
        TREE_TEST(a_directory_goes_with_all_that_is_in_it),
        TREE_TEST(removal_refuses_paths_that_lead_nowhere),
        TREE_TEST(who_holds_a_removed_file_reads_on_and_the_last_close_releases),
        TREE_TEST(a_name_can_be_made_again_while_its_predecessor_is_held_open),
        TREE_TEST(an_id_is_never_given_to_another_entry),
        TREE_TEST(a_write_callback_may_remove_its_own_file),
        TREE_TEST(a_release_callback_may_make_entries_also_while_its_directory_goes),
        TREE_TEST(destroy_releases_everything),
        TREE_TEST(a_listing_has_every_entry_once_in_order_of_names),
        TREE_TEST(a_listing_does_not_change_under_its_reader_and_the_next_one_is_new),
        TREE_TEST(a_directory_held_open_may_be_removed_and_is_then_empty),
        TREE_TEST(files_have_no_listing_and_directories_no_text),
        TREE_TEST(a_stream_is_read_in_order_and_calls_nothing_before_it_is_read),
        TREE_TEST(a_call_that_renders_nothing_gives_the_others_their_turn),
        TREE_TEST(a_stream_begins_anew_at_offset_zero_and_refuses_other_jumps),
        TREE_TEST(two_readers_of_a_stream_are_each_where_they_are),
        TREE_TEST(a_stream_holds_one_piece_and_gives_it_back),
        TREE_TEST(what_goes_wrong_in_a_stream_is_the_error_of_the_read),
        TREE_TEST(a_stream_that_has_to_wait_says_so_at_once),
        TREE_TEST(who_serves_a_stream_hears_once_of_each_cursor_that_is_done),
        TREE_TEST(a_stream_has_no_read_callback_and_a_small_cursor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
