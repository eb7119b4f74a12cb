// SPDX-License-Identifier: BSD-3-Clause
// Request targets and keys.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/path.h"
#include "unit/check.h"

// The key of a target, whose bytes and whose key's room are exactly as long as promised.
static char *key_of(const char *target, size_t len)
{
    static char text[512];
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    char *key = malloc(HTTP_PATH_ROOM(len));
    assert_non_null(copy);
    assert_non_null(key);
    memcpy(copy, target, len);
    int n = http_path(copy, len, key);
    assert_true(n >= -1 && n <= (int)HTTP_PATH_ROOM(len) && n < (int)sizeof(text));
    if (n >= 0)
        memcpy(text, key, (size_t)n);
    text[n < 0 ? 0 : n] = '\0';
    free(copy);
    free(key);
    return n < 0 ? NULL : text;
}

static void targets_become_their_keys(void **state)
{
    static const char *const rows[][2] = {
        {"/", "/"},
        {"/index.html", "/index.html"},
        {"/a/b/", "/a/b/"},
        {"/%61%2E%7e%5F", "/a.~_"},
        {"/a%20b", "/a%20b"},
        {"/%c3%a9", "/%C3%A9"},
        {"/%21%3a%40", "/!:@"},
        {"/!$&'()*+,;=:@", "/!$&'()*+,;=:@"},
        {"/%3f%23%25", "/%3F%23%25"},
        {"/a%2fb", "/a%2Fb"},
        {"/a%5Cb", "/a%5Cb"},
        // Slashes that follow each other are one.
        {"//", "/"},
        {"///", "/"},
        {"/a//b", "/a/b"},
        {"/a///", "/a/"},
        {"//index.html", "/index.html"},
        {"//etc/passwd", "/etc/passwd"},
        {"http://a//b", "/b"},
        // As browsers send them.
        {"/img/a[1].png", "/img/a%5B1%5D.png"},
        {"/a|b^c'd", "/a%7Cb%5Ec'd"},
        {"/a?b[]=1&c=`{|}^\\'\"<>", "/a"},
        // Bytes beyond ASCII, as nginx takes them.
        {"/\xc3\xa9?\xff", "/%C3%A9"},
        {"/\x80", "/%80"},
        {"/?", "/"},
        {"/a?b=/../c%zz", "/a"},
        {"/a?b?c", "/a"},
        // Dot segments.
        {"/.", "/"},
        {"/./", "/"},
        {"/./a", "/a"},
        {"/a/.", "/a/"},
        {"/a/./b", "/a/b"},
        {"/a/..", "/"},
        {"/a/../", "/"},
        {"/a/../b", "/b"},
        {"/a/b/../../c", "/c"},
        {"/a/b/..", "/a/"},
        {"/a/%2e%2E/b", "/b"},
        {"/a/.%2e?x", "/"},
        {"/a//..", "/"},
        {"/a//../b", "/b"},
        {"//../..//", NULL},
        {"/a//../../b", NULL},
        {"/...", "/..."},
        {"/..a", "/..a"},
        {"/a..", "/a.."},
        {"/.a", "/.a"},
        {"/..%2f", "/..%2F"},
        {"/a/..%2f..%2fb", "/a/..%2F..%2Fb"},
        // Absolute form.
        {"http://a", "/"},
        {"http://a/", "/"},
        {"HTTP://a:80/b", "/b"},
        {"http://[::1]:8080/b?c", "/b"},
        {"http://a?b", "/"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *key = key_of(rows[i][0], strlen(rows[i][0]));
        if (key == NULL && rows[i][1] == NULL)
            continue;  // above the root
        if (key == NULL || rows[i][1] == NULL || strcmp(key, rows[i][1]) != 0)
            fail_msg("%s became %s, not %s", rows[i][0], key == NULL ? "(bad)" : key,
                     rows[i][1] == NULL ? "(bad)" : rows[i][1]);
    }
}

static void malformed_targets_and_those_above_the_root_are_refused(void **state)
{
    static const char *const rows[] = {
        "*",           "a",
        "a/b",         "",
        "?",           "http:/a",
        "http://",     "http:///a",
        "https://a/",  "http://u@a/",
        "http://a b",  "ftp://a/",
        "/%",          "/%4",
        "/%zz",        "/%4g",
        "/%00",        "/a%00.html",
        "/a b",        "/a\tb",
        "/a\\b",       "/a\"b",
        "/<a>",        "/a\x7f",
        "/a`b",        "/{a}",
        "/a?b\x7f",    "/a#b",
        "/a?b#c",      "/a?b c",
        "/\x1f",       "/a?\t",
        "/..",         "/../",
        "/../a",       "/a/../..",
        "/a/../../b",  "/%2e%2e/a",
        "/./..",       "/.%2e/",
        "/a/../../",   "/../../../../etc/passwd",
        "http://a/..", "http://a/../b",
        "http://a\\b",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (key_of(rows[i], strlen(rows[i])) != NULL)
            fail_msg("%s was taken", rows[i]);
    assert_null(key_of("/a\0b", 4));
}

static bool ends_in(const char *text, const char *tail)
{
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

static void every_target_of_six_bytes_from_a_hard_alphabet_gives_a_clean_key(void **state)
{
    static const char alphabet[] = "/.%2eEfF?a\\";
    enum { N = sizeof(alphabet) - 1 };
    char target[8] = "/", again[16];
    for (unsigned i = 0; i < N * N * N * N * N * N; i++) {
        unsigned rest = i;
        for (unsigned j = 1; j < 7; j++, rest /= N)
            target[j] = alphabet[rest % N];
        const char *key = key_of(target, 7);
        if (key == NULL)
            continue;
        bool dots = strstr(key, "/../") != NULL || strstr(key, "/./") != NULL ||
                    ends_in(key, "/..") || ends_in(key, "/.");
        bool slashes = strstr(key, "//") != NULL;
        if (key[0] != '/' || dots || slashes || strchr(key, '\\') != NULL ||
            strchr(key, '?') != NULL)
            fail_msg("%s became %s", target, key);
        snprintf(again, sizeof(again), "%s", key);
        assert_string_equal(key_of(again, strlen(again)), again);  // a key is its own key
    }
}

// The URL standard: a browser leaves raw what is in neither the C0 control percent-encode set nor
// the one of the part; nginx takes what is above ASCII.
static void each_byte_is_taken_where_a_browser_sends_it_or_nginx_takes_it(void **state)
{
    for (unsigned b = 0; b < 256; b++) {
        const char path[] = {'/', 'a', (char)b, 'b'}, query[] = {'/', '?', (char)b, 'b'};
        const bool clean = b > ' ' && b != 0x7f && b != '#';
        const bool in_path = clean && (b >= 0x80 || memchr("\"<>`{}\\%", (int)b, 8) == NULL);
        if ((key_of(path, 4) != NULL) != in_path || (key_of(query, 4) != NULL) != clean)
            fail_msg("byte 0x%02x", b);
    }
}

static void a_file_name_has_the_key_that_its_url_has(void **state)
{
    char key[64];
    assert_int_equal(http_path_encode("/a b/\xc3\xa9%.html", key, sizeof(key)), 21);
    assert_memory_equal(key, "/a%20b/%C3%A9%25.html", 21);
    assert_string_equal(key_of("/a%20b/%c3%a9%25.html", 21), "/a%20b/%C3%A9%25.html");
    assert_int_equal(http_path_encode("/abc", key, 4), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_become_their_keys),
        cmocka_unit_test(malformed_targets_and_those_above_the_root_are_refused),
        cmocka_unit_test(every_target_of_six_bytes_from_a_hard_alphabet_gives_a_clean_key),
        cmocka_unit_test(each_byte_is_taken_where_a_browser_sends_it_or_nginx_takes_it),
        cmocka_unit_test(a_file_name_has_the_key_that_its_url_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
