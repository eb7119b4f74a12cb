// SPDX-License-Identifier: BSD-3-Clause
// What the http application shows in the tree: apps/NAME/files and limits.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "tree/access.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/temp_tree.h"

enum { MANY = 1000 };

static char root[TEMP_PATH_BYTES], err[512];
static struct c10m_service *service;
static struct tree *tree;
static struct tree_node *dir;
static struct tree_session session;

static const struct temp_entry entries[] = {
    {.path = "index.html", .text = "<h1>hello</h1>"},
    {.path = "a b.txt", .text = "four"},
    {.path = "sub/"},
    {.path = "sub/index.html", .text = "x"},
    {.path = ".hidden", .text = "no"},
    {.path = "odd one", .link = "missing"},
};

static int setup(void **state)
{
    temp_tree_make(root, entries, ARRAY_LEN(entries));
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof(name), "sub/%04d.txt", i);
        temp_tree_file(root, name, "1234567", 7);
    }
    static const char *const params[] = {"root", root, "body_bytes_max", "1234", NULL};
    service = fake_service_new(&app_http, params, err, sizeof(err));
    tree = tree_create();
    dir = tree_dir(tree_root(tree), "apps/web");
    tree_session_init(&session, tree);
    return service == NULL || app_http.tree(service, dir) != 0;
}

static int teardown(void **state)
{
    tree_session_close(&session);
    tree_destroy(tree);
    fake_service_free(service);
    temp_tree_remove(root);
    return 0;
}

// shown: all of an entry's text, from memory that the next call uses again.
static const char *shown(const char *name)
{
    static char text[1 << 20];
    struct tree_handle *h;
    const char *data;
    size_t n = 0;
    ssize_t got;
    assert_int_equal(tree_open(&session, tree_lookup(dir, name), TREE_READ, &h), 0);
    while ((got = tree_read(h, n, 4096, &data)) > 0 || got == -EAGAIN) {
        if (got < 0)
            continue;
        memcpy(text + n, data, (size_t)got);
        n += (size_t)got;
    }
    assert_int_equal(got, 0);
    tree_close(h);
    text[n] = '\0';
    return text;
}

static void files_are_the_files_that_are_served_each_once(void **state)
{
    const char *text = shown("files");
    unsigned lines = 0;
    for (const char *p = text; *p != '\0'; p++)
        lines += *p == '\n';
    assert_non_null(strstr(text, "/a%20b.txt 4 "));
    assert_non_null(strstr(text, "/sub/0999.txt 7 "));
    assert_null(strstr(text, "hidden"));
    for (int i = 0; i < MANY; i++) {
        char line[32];
        snprintf(line, sizeof(line), "/sub/%04d.txt 7 ", i);
        const char *first = strstr(text, line);
        assert_non_null(first);
        assert_null(strstr(first + 1, line));
    }
    assert_in_range(lines, MANY + 3, MANY + 5);  // a directory's index under two names
}

static void limits_are_those_in_force(void **state)
{
    const char *text = shown("limits");
    assert_non_null(strstr(text, "body_bytes_max 1234\n"));
    assert_non_null(strstr(text, "keepalive_timeout_ms 60000\n"));
}

static void what_is_not_served_is_shown_with_its_reason(void **state)
{
    char line[128];
    assert_string_equal(shown("skipped"), "/odd%20one No such file or directory\n");
    snprintf(line, sizeof(line), "\nhosts 1\nfiles %d\n", MANY + 3);
    assert_non_null(strstr(shown("site"), line));
    snprintf(line, sizeof(line), "\nbytes %d\nfiles_hidden 0\nentries_skipped 1\n",
             MANY * 7 + 14 + 4 + 1);
    assert_non_null(strstr(shown("site"), line));
    assert_non_null(strstr(shown("site"), "version 1\n"));
    assert_non_null(strstr(shown("site"), "\nversions_before 0\nbytes_before 0\n"));
    assert_string_equal(shown("before"), "");
}

static void replaced_files_are_shown_until_they_are_released(void **state)
{
    char text[512];
    struct c10m_conn *c = fake_open(service);
    static const char get[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    fake_feed(c, get, strlen(get), 0);
    temp_tree_file(root, "more", "12345", 5);
    assert_int_equal(fake_reload(service, text, sizeof(text)), 0);
    assert_string_equal(shown("before"), "1 1 1003 7019\n");
    assert_non_null(strstr(shown("site"), "version 2\n"));
    assert_non_null(strstr(shown("site"), "\nfiles_new 1\nfiles_changed 0\nfiles_removed 0\n"));
    assert_non_null(
        strstr(shown("site"), "\nconnections_before 1\nversions_before 1\nbytes_before 7019\n"));
    fake_close(c);
    assert_string_equal(shown("before"), "1 0 1003 7019\n");
    assert_int_equal(fake_release(service), 1);
    assert_string_equal(shown("before"), "");
}

// What was read before would be of other files than what would follow.
static void a_list_that_a_reload_replaces_ends_with_an_error(void **state)
{
    char text[512];
    struct tree_handle *h;
    const char *data;
    assert_int_equal(tree_open(&session, tree_lookup(dir, "files"), TREE_READ, &h), 0);
    assert_true(tree_read(h, 0, 16, &data) > 0);
    assert_int_equal(fake_reload(service, text, sizeof(text)), 0);
    assert_int_equal(fake_release(service), 1);
    size_t n = 16;
    ssize_t got;
    while ((got = tree_read(h, n, 4096, &data)) > 0 || got == -EAGAIN)
        n += got > 0 ? (size_t)got : 0;
    assert_int_equal(got, -ESTALE);
    tree_close(h);
}

static void a_name_that_is_taken_is_an_error(void **state)
{
    assert_int_equal(app_http.tree(service, dir), -1);
    assert_string_equal(tree_error(dir), "files: exists already");
}

int main(void)
{
#define SHOW(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        SHOW(files_are_the_files_that_are_served_each_once),
        SHOW(limits_are_those_in_force),
        SHOW(what_is_not_served_is_shown_with_its_reason),
        SHOW(replaced_files_are_shown_until_they_are_released),
        SHOW(a_list_that_a_reload_replaces_ends_with_an_error),
        SHOW(a_name_that_is_taken_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
