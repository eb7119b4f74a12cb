// SPDX-License-Identifier: BSD-3-Clause
// Names of hosts, patterns of paths, media types from a file, pages of directories.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/listing.h"
#include "app/http/mime.h"
#include "app/http/names.h"
#include "app/http/rules.h"
#include "unit/check.h"
#include "unit/temp_tree.h"

static struct http_text text(const char *s)
{
    return (struct http_text){(const uint8_t *)s, strlen(s)};
}

static void an_authority_has_one_form(void **state)
{
    static const char *const rows[][2] = {
        {"example.org", "example.org"},
        {"EXAMPLE.Org:80", "example.org"},
        {"example.org.", "example.org"},
        {"example.org.:8080", "example.org"},
        {"a", "a"},
        {"", ""},
        {":80", ""},
        {"[::1]", "[::1]"},
        {"[0:0::0:1]:80", "[::1]"},
        {"[FD00::A]", "[fd00::a]"},
        {"[::ffff:192.0.2.1]", "[::ffff:192.0.2.1]"},
        {"[v1.x]", ""},
        {"[::1", ""},
        {"a b", ""},
        {"u@a", ""},
        {"a:b", ""},
        {"192.0.2.1:8080", "192.0.2.1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char form[HTTP_NAME_MAX + 1];
        size_t n = http_name_form(text(rows[i][0]), form);
        if (n != strlen(rows[i][1]) || memcmp(form, rows[i][1], n) != 0)
            fail_msg("%s became %.*s", rows[i][0], (int)n, form);
    }
    char form[HTTP_NAME_MAX + 1], name[300];
    memset(name, 'a', sizeof(name));
    assert_int_equal(http_name_form((struct http_text){(uint8_t *)name, 253}, form), 253);
    assert_int_equal(http_name_form((struct http_text){(uint8_t *)name, 254}, form), 0);
    memset(name, ':', sizeof(name));
    name[0] = '[';
    name[299] = ']';
    assert_int_equal(http_name_form((struct http_text){(uint8_t *)name, 300}, form), 0);
}

static void the_exact_name_counts_then_the_longest_that_ends_so_then_the_default(void **state)
{
    static const struct {
        const char *authority;
        unsigned host;
    } rows[] = {
        {"example.org", 1},
        {"EXAMPLE.ORG:8080", 1},
        {"www.example.org", 2},
        {"a.example.org", 3},
        {"b.a.example.org", 3},
        {"x.deep.example.org", 4},
        {"deep.example.org", 3},
        {"xexample.org", 0},
        {"example.org.evil", 0},
        {"org", 0},
        {".example.org", 3},
        {"[fd00:0:0::1]:80", 5},
        {"[fd00::2]", 0},
        {"", 0},
        {":80", 0},
        {"192.0.2.1", 6},
        {"a.b.c.d.e.f.g", 0},
        {"example.org%2e", 0},
        {"%65xample.org", 0},
        {"-.org", 7},
        {"x.-.org", 0},
    };
    struct http_names names = {0};
    assert_int_equal(http_names_find(&names, text("a.b")), 0);
    assert_null(http_names_add(&names, text("Example.org"), 1));
    assert_null(http_names_add(&names, text("www.example.org"), 2));
    assert_null(http_names_add(&names, text("*.example.org"), 3));
    assert_null(http_names_add(&names, text("*.deep.example.org"), 4));
    assert_null(http_names_add(&names, text("[FD00::1]"), 5));
    assert_null(http_names_add(&names, text("192.0.2.1"), 6));
    assert_null(http_names_add(&names, text("-.org"), 7));
    assert_string_equal(http_names_add(&names, text("EXAMPLE.ORG"), 8), "given twice");
    assert_string_equal(http_names_add(&names, text("*.example.org"), 8), "given twice");
    assert_non_null(http_names_add(&names, text("a b"), 8));
    assert_non_null(http_names_add(&names, text(""), 8));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (http_names_find(&names, text(rows[i].authority)) != rows[i].host)
            fail_msg("%s is %u", rows[i].authority,
                     http_names_find(&names, text(rows[i].authority)));
    http_names_free(&names);
}

static void as_many_names_as_there_is_room_for_are_each_found(void **state)
{
    struct http_names names = {0};
    char name[32];
    for (unsigned i = 0; i < HTTP_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "h%u.example", i);
        assert_null(http_names_add(&names, text(name), i % 256));
    }
    assert_non_null(http_names_add(&names, text("one.more"), 1));
    for (unsigned i = 0; i < 2 * HTTP_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "h%u.example", i);
        assert_int_equal(http_names_find(&names, text(name)), i < HTTP_NAMES_MAX ? i % 256 : 0);
    }
    http_names_free(&names);
}

static void a_star_is_any_text(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool match;
    } rows[] = {
        {"/a", "/a", true},
        {"/a", "/ab", false},
        {"/a", "/", false},
        {"/a/*", "/a/b/c", true},
        {"/a/*", "/a/", true},
        {"/a/*", "/a", false},
        {"*.png", "/x/y.png", true},
        {"*.png", "/x.pngx", false},
        {"*", "", true},
        {"*", "/a", true},
        {"/*/b*c", "/a/bc", true},
        {"/*/b*c", "/a/bxcx", false},
        {"/*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaac", false},
        {"**", "/", true},
        {"", "", true},
        {"", "a", false},
        {"/a*b*", "/ab", true},
        {"*a", "/ba", true},
        {"*a", "/ab", false},
        {"*/", "/a/b/", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (http_glob(rows[i].pattern, text(rows[i].path)) != rows[i].match)
            fail_msg("%s on %s", rows[i].pattern, rows[i].path);
}

static struct http_types *types_of(const char *content, char *err, size_t err_bytes)
{
    char root[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 16];
    temp_tree_make(root, NULL, 0);
    temp_tree_file(root, "types", content, strlen(content));
    snprintf(path, sizeof(path), "%s/types", root);
    struct http_types *types = http_types_read(path, err, err_bytes);
    temp_tree_remove(root);
    return types;
}

static void media_types_come_from_a_file_as_debian_has_it(void **state)
{
    char err[512];
    struct http_types *types = types_of("# comment\n\n"
                                        "application/x-empty\n"
                                        "text/html\t\t\t\thtml htm shtml\n"
                                        "image/png png # and a comment\r\n"
                                        "application/vnd.x+y;z\n",
                                        err, sizeof(err));
    assert_null(types);  // a parameter is none of a token's characters
    types = types_of("# comment\n\n"
                     "application/x-empty\n"
                     "text/html\t\t\t\thtml htm shtml\n"
                     "  image/png png # and a comment\r\n"
                     "image/x-png PNG\n"
                     "application/gzip tar.gz gz",
                     err, sizeof(err));
    if (types == NULL)
        fail_msg("%s", err);
    assert_string_equal(http_mime(types, "a.shtml"), "text/html; charset=utf-8");
    assert_string_equal(http_mime(types, "a.HTM"), "text/html; charset=utf-8");
    assert_string_equal(http_mime(types, "a.Png"), "image/x-png");  // the later one
    assert_string_equal(http_mime(types, "a.tar.gz"), "application/gzip");
    assert_string_equal(http_mime(types, "a.css"), "application/octet-stream");
    assert_string_equal(http_mime(types, "png"), "application/octet-stream");
    assert_string_equal(http_mime(types, "a."), "application/octet-stream");
    assert_string_equal(http_mime(NULL, "a.css"), "text/css; charset=utf-8");
    http_types_free(types);
    types = types_of("", err, sizeof(err));
    assert_non_null(types);
    assert_string_equal(http_mime(types, "a.html"), "application/octet-stream");
    http_types_free(types);
}

static void a_wrong_line_of_media_types_is_named(void **state)
{
    static const struct {
        const char *content, *place, *word;
    } rows[] = {
        {"text/html html\nhtml text/html\n", "types:2: ", "TYPE/SUBTYPE"},
        {"\n\nfoo\n", "types:3: ", "TYPE/SUBTYPE"},
        {"text/ x\n", "types:1: ", "TYPE/SUBTYPE"},
        {"/html x\n", "types:1: ", "TYPE/SUBTYPE"},
        {"te(xt/html x\n", "types:1: ", "TYPE/SUBTYPE"},
        {"text/html a/b\n", "types:1: ", "slash"},
        {"text/html aaaaaaaaaabbbbbbbbbbccccccccccddd\n", "types:1: ", "32 characters"},
    };
    char err[512];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(types_of(rows[i].content, err, sizeof(err)));
        if (strstr(err, rows[i].place) == NULL || strstr(err, rows[i].word) == NULL)
            fail_msg("%s", err);
    }
    assert_null(http_types_read("/nonexistent/mime", err, sizeof(err)));
    assert_non_null(strstr(err, "/nonexistent/mime: No such file"));
}

static void a_page_of_a_directory_escapes_every_name(void **state)
{
    struct http_entries e = {0};
    size_t len;
    assert_true(http_entries_add(&e, "b<i>&\"'.txt", false, 12, 784111777));
    assert_true(http_entries_add(&e, "a b", false, 3, 0));
    assert_true(http_entries_add(&e, "javascript:x", false, 3, 0));
    assert_true(http_entries_add(&e, "z\n", true, 0, 0));
    char *page = http_listing("/x<y/", &e, &len);
    assert_non_null(page);
    assert_int_equal(strlen(page), len);
    assert_null(strstr(page, "<i>"));
    assert_null(strstr(page, "<y"));
    assert_null(strstr(page, "href=\"javascript:"));
    assert_non_null(strstr(page, "<title>/x&#60;y/</title>"));
    assert_non_null(strstr(page, "<a href=\"./b%3Ci%3E&#38;%22&#39;.txt\">"
                                 "b&#60;i&#62;&#38;&#34;&#39;.txt</a></td>"
                                 "<td>Sun, 06 Nov 1994 08:49:37 GMT</td><td>12</td>"));
    assert_non_null(strstr(page, "<a href=\"./a%20b\">a b</a>"));
    assert_non_null(strstr(page, "<a href=\"./z%0A/\">z&#65533;/</a>"));
    assert_non_null(strstr(page, "<a href=\"../\">"));
    assert_true(strstr(page, "z%0A") < strstr(page, "a%20b"));  // directories first, by name
    assert_true(strstr(page, "a%20b") < strstr(page, "b%3Ci"));
    free(page);
    http_entries_free(&e);
    page = http_listing("/", &e, &len);
    assert_null(strstr(page, "../"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_authority_has_one_form),
        cmocka_unit_test(the_exact_name_counts_then_the_longest_that_ends_so_then_the_default),
        cmocka_unit_test(as_many_names_as_there_is_room_for_are_each_found),
        cmocka_unit_test(a_star_is_any_text),
        cmocka_unit_test(media_types_come_from_a_file_as_debian_has_it),
        cmocka_unit_test(a_wrong_line_of_media_types_is_named),
        cmocka_unit_test(a_page_of_a_directory_escapes_every_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
