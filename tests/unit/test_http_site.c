// SPDX-License-Identifier: BSD-3-Clause
// Loading a directory: what is served, what is refused, and with which words.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/apps.h"
#include "app/http/path.h"
#include "app/http/site_load.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/temp_tree.h"

// A service that only carries images: the site is loaded as http's init would.
static struct http_site site;
static const struct http_site_params *next_limits;
static const struct http_site_params no_limits = {
    .files_max = UINT32_MAX, .bytes_max = UINT64_MAX, .now_s = 2000000000};

static int load_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct http_site_params params = *next_limits;
    params.root = c10m_service_param(s, "root");
    int rc = http_site_load(&site, s, &params, err, err_bytes);
    if (rc != 0)
        http_site_free(&site);
    return rc;
}

static size_t no_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static const struct c10m_app loader = {.name = "loader", .init = load_init, .data = no_data};

static char err[512];

static struct c10m_service *load(const char *root, const struct http_site_params *limits)
{
    const char *params[] = {"root", root, NULL};
    next_limits = limits;
    return fake_service_new(&loader, params, err, sizeof(err));
}

static void unload(struct c10m_service *s)
{
    http_site_free(&site);
    fake_service_free(s);
}

// The reply for a key, or NULL.
static const struct http_reply *reply_for(const char *key)
{
    uint32_t i = http_site_find(&site, &site.hosts[0], key, strlen(key));
    return i == HTTP_REPLY_NONE ? NULL : &site.replies[i];
}

static void assert_served(const char *key, const char *text)
{
    const struct http_reply *r = reply_for(key);
    if (r == NULL)
        fail_msg("%s is not served", key);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->body_bytes, strlen(text));
    assert_memory_equal(r->body, text, strlen(text));
}

static bool head_has(const char *key, const char *line)
{
    const struct http_reply *r = reply_for(key);
    assert_non_null(r);
    return memmem(r->head, r->head_bytes, line, strlen(line)) != NULL;
}

static void all_regular_files_below_the_root_are_served(void **state)
{
    static const struct temp_entry entries[] = {
        {"index.html", "top", NULL},  {"empty.txt", "", NULL},
        {"no-extension", "n", NULL},  {"a b%.css", "odd", NULL},
        {"sub/", NULL, NULL},         {"sub/index.html", "sub", NULL},
        {"sub/deep/", NULL, NULL},    {"sub/deep/x.JSON", "{}", NULL},
        {".well-known/", NULL, NULL}, {".well-known/security.txt", "s", NULL},
    };
    char root[TEMP_PATH_BYTES];
    temp_tree_make(root, entries, sizeof(entries) / sizeof(entries[0]));
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    assert_served("/", "top");
    assert_served("/index.html", "top");
    assert_served("/empty.txt", "");
    assert_served("/no-extension", "n");
    assert_served("/a%20b%25.css", "odd");
    assert_served("/sub/", "sub");
    assert_served("/sub/index.html", "sub");
    assert_served("/sub/deep/x.JSON", "{}");
    assert_served("/.well-known/security.txt", "s");
    assert_int_equal(reply_for("/sub")->status, 301);
    assert_true(head_has("/sub", "Location: /sub/\r\n"));
    assert_null(reply_for("/sub/deep"));  // no index: nothing to redirect to
    assert_null(reply_for("/sub/deep/"));
    assert_null(reply_for("/Index.html"));
    assert_null(reply_for("/a b%.css"));
    assert_null(reply_for(""));
    assert_true(head_has("/", "Content-Type: text/html; charset=utf-8\r\n"));
    assert_true(head_has("/", "Content-Length: 3\r\n"));
    assert_true(head_has("/sub/deep/x.JSON", "Content-Type: application/json\r\n"));
    assert_true(head_has("/no-extension", "Content-Type: application/octet-stream\r\n"));
    assert_true(head_has("/", "ETag: \"3-"));
    unload(s);
}

static void names_that_begin_with_a_dot_are_left_out(void **state)
{
    static const struct temp_entry entries[] = {
        {"a", "a", NULL},
        {".htpasswd", "secret", NULL},
        {".git/", NULL, NULL},
        {".git/config", "secret", NULL},
    };
    char root[TEMP_PATH_BYTES];
    temp_tree_make(root, entries, 4);
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    assert_served("/a", "a");
    assert_null(reply_for("/.htpasswd"));
    assert_null(reply_for("/.git/config"));
    unload(s);
}

// Loads `entries` and expects a refusal whose line holds `word` (and names `path`).
static void refused(const struct temp_entry *entries, size_t n,
                    const struct http_site_params *limits, const char *path, const char *word)
{
    char root[TEMP_PATH_BYTES];
    temp_tree_make(root, entries, n);
    struct c10m_service *s = load(root, limits);
    temp_tree_remove(root);
    assert_null(s);
    if (strstr(err, word) == NULL || strstr(err, path) == NULL)
        fail_msg("not the words for %s (%s): %s", path, word, err);
}

// Exactly one entry was skipped: this one, for this reason, with a warning.
static void assert_skipped(const struct c10m_service *s, const char *path, const char *why)
{
    const char *last;
    assert_int_equal(site.skipped, 1);
    assert_string_equal(site.skips[0].path, path);
    assert_non_null(strstr(site.skips[0].reason, why));
    assert_int_equal(fake_warnings(s, &last), 1);
    if (strstr(last, path) == NULL || strstr(last, why) == NULL)
        fail_msg("not the words for %s (%s): %s", path, why, last);
}

static void links_are_followed_inside_the_root_and_skipped_outside(void **state)
{
    static const struct temp_entry inside[] = {
        {"d/", NULL, NULL},
        {"d/f.txt", "text", NULL},
        {"l.txt", NULL, "d/f.txt"},
        {"e", NULL, "d"},
    };
    char root[TEMP_PATH_BYTES];
    temp_tree_make(root, inside, 4);
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    assert_served("/l.txt", "text");
    assert_served("/e/f.txt", "text");
    unload(s);
    static const struct {
        struct temp_entry entry;
        const char *why;
    } rows[] = {
        {{"out", NULL, "/etc/passwd"}, "leaves the root"},
        {{"up", NULL, ".."}, "leaves the root"},
        {{"loop", NULL, "."}, "directory that contains it"},
        {{"nowhere", NULL, "missing"}, "No such file"},
        {{"self", NULL, "self"}, "Too many levels"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char key[64];
        temp_tree_make(root, &rows[i].entry, 1);
        temp_tree_file(root, "good", "text", 4);
        s = load(root, &no_limits);
        temp_tree_remove(root);
        assert_non_null(s);
        assert_served("/good", "text");
        snprintf(key, sizeof(key), "/%s", rows[i].entry.path);
        assert_null(reply_for(key));
        assert_skipped(s, key, rows[i].why);
        unload(s);
    }
}

static void a_link_to_a_sibling_whose_name_begins_like_the_root_leaves_it(void **state)
{
    static const struct temp_entry entries[] = {
        {"root/", NULL, NULL},
        {"root-secret", "secret", NULL},
        {"root/l", NULL, "../root-secret"},
    };
    char top[TEMP_PATH_BYTES], root[TEMP_PATH_BYTES + 8];
    temp_tree_make(top, entries, 3);
    snprintf(root, sizeof(root), "%s/root", top);
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(top);
    assert_non_null(s);
    assert_null(reply_for("/l"));
    assert_skipped(s, "/l", "leaves the root");
    unload(s);
}

static void limits_are_refused_with_the_name_of_what_is_above_them(void **state)
{
    static const struct temp_entry two[] = {{"a", "12345", NULL}, {"b", "67890", NULL}};
    const struct http_site_params one_file = {.files_max = 1, .bytes_max = UINT64_MAX};
    const struct http_site_params nine_bytes = {.files_max = 10, .bytes_max = 9};
    const struct http_site_params exact = {.files_max = 2, .bytes_max = 10};
    refused(two, 2, &one_file, "/", "files_max = 1");
    refused(two, 2, &nine_bytes, "/", "bytes_max = 9");
    fake_image_limit(9);
    refused(two, 2, &no_limits, "/", "[memory] image_bytes");
    char root[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 8];
    temp_tree_make(root, two, 2);
    struct c10m_service *s = load(root, &exact);
    assert_non_null(s);
    assert_int_equal(site.files, 2);
    assert_int_equal(site.bytes, 10);
    unload(s);
    snprintf(path, sizeof(path), "%s/a", root);
    assert_null(load(path, &no_limits));
    assert_non_null(strstr(err, "not a directory"));
    temp_tree_remove(root);
    assert_null(load(root, &no_limits));
    assert_non_null(strstr(err, strerror(ENOENT)));
}

static void make_pipe(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_socket(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    close(fd);
}

static void make_device(const char *path)
{
    assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(1, 3)), 0);
}

static void make_huge(const char *path)
{
    FILE *f = fopen(path, "w");
    fclose(f);
    assert_int_equal(truncate(path, (off_t)C10M_SEND_REF_BYTES_MAX + 1), 0);
}

static void make_ten_bytes(const char *path)
{
    FILE *f = fopen(path, "w");
    fputs("1234567890", f);
    fclose(f);
}

// One entry that cannot be served is no reason not to serve the others.
static void one_odd_entry_is_skipped_and_the_others_are_served(void **state)
{
    static const struct temp_entry good[] = {{"a", "12345", NULL}, {"z", "1234", NULL}};
    static const struct {
        void (*make)(const char *path);
        uint64_t bytes_max;
        const char *why;
    } rows[] = {
        {make_pipe, UINT64_MAX, "neither a file nor a directory"},
        {make_socket, UINT64_MAX, "neither a file nor a directory"},
        {make_device, UINT64_MAX, "neither a file nor a directory"},
        {make_huge, UINT64_MAX, "more than 1073741824 bytes"},
        {make_ten_bytes, 9, "more than bytes_max"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_site_params limits = {.files_max = 2, .bytes_max = rows[i].bytes_max};
        char root[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 8];
        if (rows[i].make == make_device && geteuid() != 0)
            continue;
        temp_tree_make(root, good, 2);
        snprintf(path, sizeof(path), "%s/m\n", root);
        rows[i].make(path);
        struct c10m_service *s = load(root, &limits);
        temp_tree_remove(root);
        if (s == NULL)
            fail_msg("%s", err);
        assert_served("/a", "12345");
        assert_served("/z", "1234");
        assert_null(reply_for("/m%0A"));
        assert_skipped(s, "/m%0A", rows[i].why);
        unload(s);
    }
}

static void many_odd_entries_are_counted_and_some_are_named(void **state)
{
    enum { N = HTTP_SKIPPED_MAX + 10 };
    char root[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 16];
    const char *last;
    temp_tree_make(root, NULL, 0);
    temp_tree_file(root, "good", "text", 4);
    for (unsigned i = 0; i < N; i++) {
        snprintf(path, sizeof(path), "%s/p%u", root, i);
        make_pipe(path);
    }
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    assert_served("/good", "text");
    assert_int_equal(site.skipped, N);
    assert_int_equal(fake_warnings(s, &last), HTTP_WARNINGS_MAX + 1);
    assert_non_null(strstr(last, "266 entries skipped"));
    unload(s);
}

static void directories_are_read_to_a_depth_and_names_to_a_length(void **state)
{
    char root[TEMP_PATH_BYTES], path[1024] = "", name[256];
    temp_tree_make(root, NULL, 0);
    for (unsigned i = 0; i <= HTTP_DEPTH_MAX; i++) {
        char full[2048];
        struct c10m_service *s = load(root, &no_limits);
        assert_non_null(s);
        unload(s);
        strcat(path, "/d");
        snprintf(full, sizeof(full), "%s%s", root, path);
        assert_int_equal(mkdir(full, 0755), 0);
    }
    struct c10m_service *s = load(root, &no_limits);
    assert_non_null(s);
    assert_skipped(s, path, "directories deep");
    unload(s);
    temp_tree_remove(root);
    temp_tree_make(root, NULL, 0);
    for (unsigned i = 0; i < 100; i++)
        memcpy(name + i * 2, "\xc3\xa9", 3);  // 200 bytes, 600 in a URL
    struct temp_entry long_file = {name, "x", NULL};
    temp_tree_file(root, name, "x", 1);
    s = load(root, &no_limits);
    assert_non_null(s);
    assert_int_equal(site.skipped, 0);
    unload(s);
    temp_tree_remove(root);
    temp_tree_make(root, NULL, 0);
    char directory[512];
    snprintf(directory, sizeof(directory), "%s/%s", root, name);
    assert_int_equal(mkdir(directory, 0755), 0);
    snprintf(directory, sizeof(directory), "%s/%s", name, long_file.path);
    temp_tree_file(root, directory, "x", 1);
    s = load(root, &no_limits);
    assert_non_null(s);
    assert_int_equal(site.skipped, 1);
    assert_non_null(strstr(site.skips[0].reason, "1024 bytes in a URL"));
    assert_string_equal(site.skips[0].path + strlen(site.skips[0].path) - 6, "%C3%A9");
    unload(s);
    temp_tree_remove(root);
}

static void a_thousand_files_are_each_found_and_nothing_else_is(void **state)
{
    char root[TEMP_PATH_BYTES], name[32], text[32];
    temp_tree_make(root, NULL, 0);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "%u.txt", i);
        temp_tree_file(root, name, name, strlen(name));
    }
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    assert_true(site.hosts[0].mask + 1 >= 2 * 1000);
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "/%u.txt", i);
        snprintf(text, sizeof(text), "%u.txt", i);
        if (i < 1000)
            assert_served(name, text);
        else
            assert_null(reply_for(name));
    }
    unload(s);
}

static void entity_tags_depend_on_the_content_alone(void **state)
{
    static const struct temp_entry entries[] = {
        {"a", "same text", NULL}, {"b", "same text", NULL}, {"c", "same texu", NULL}};
    char root[TEMP_PATH_BYTES];
    temp_tree_make(root, entries, 3);
    struct c10m_service *s = load(root, &no_limits);
    temp_tree_remove(root);
    assert_non_null(s);
    char tag[64];
    snprintf(tag, sizeof(tag), "ETag: \"9-%016llx\"\r\n",
             (unsigned long long)http_path_hash("same text", 9));
    assert_true(head_has("/a", tag));
    assert_true(head_has("/b", tag));
    assert_false(head_has("/c", tag));
    unload(s);
}

static void media_types_go_by_the_last_extension(void **state)
{
    assert_string_equal(http_mime(NULL, "a.html"), "text/html; charset=utf-8");
    assert_string_equal(http_mime(NULL, "A.PNG"), "image/png");
    assert_string_equal(http_mime(NULL, "a.tar.gz"), "application/gzip");
    assert_string_equal(http_mime(NULL, "a.html.bak"), "application/octet-stream");
    assert_string_equal(http_mime(NULL, "html"), "application/octet-stream");
    assert_string_equal(http_mime(NULL, "a."), "application/octet-stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_regular_files_below_the_root_are_served),
        cmocka_unit_test(names_that_begin_with_a_dot_are_left_out),
        cmocka_unit_test(links_are_followed_inside_the_root_and_skipped_outside),
        cmocka_unit_test(a_link_to_a_sibling_whose_name_begins_like_the_root_leaves_it),
        cmocka_unit_test(limits_are_refused_with_the_name_of_what_is_above_them),
        cmocka_unit_test(one_odd_entry_is_skipped_and_the_others_are_served),
        cmocka_unit_test(many_odd_entries_are_counted_and_some_are_named),
        cmocka_unit_test(directories_are_read_to_a_depth_and_names_to_a_length),
        cmocka_unit_test(a_thousand_files_are_each_found_and_nothing_else_is),
        cmocka_unit_test(entity_tags_depend_on_the_content_alone),
        cmocka_unit_test(media_types_go_by_the_last_extension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
