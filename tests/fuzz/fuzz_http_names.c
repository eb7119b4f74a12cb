// SPDX-License-Identifier: BSD-3-Clause
// fuzz_http_names.c: what strangers name themselves and us: PROXY headers, the hosts that they ask
// for, and the paths that patterns are held against.
//
//   input: [which] bytes
//
// A verdict on a PROXY header does not depend on what follows it, nor on how it is cut. The form of
// an authority is its own form. A pattern matches what a plain recursion says that it matches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/names.h"
#include "app/http/path.h"
#include "app/http/preface.h"
#include "app/http/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void need(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz_http_names: not so: %s\n", what);
    abort();
}

static void preface(const uint8_t *data, size_t len)
{
    struct http_client whole, cut;
    size_t used = 0, used_cut = 0;
    const enum http_preface verdict = http_preface_read(data, len, &used, &whole);
    enum http_preface first = HTTP_PREFACE_MORE;
    for (size_t n = 0; n <= len && first == HTTP_PREFACE_MORE; n++) {
        uint8_t *copy = malloc(n == 0 ? 1 : n);
        need(copy != NULL, "memory");
        memcpy(copy, data, n);
        first = http_preface_read(copy, n, &used_cut, &cut);
        free(copy);
    }
    need(first == verdict, "the first verdict is the last one");
    if (verdict != HTTP_PREFACE_DONE)
        return;
    need(used == used_cut && used <= len && used <= HTTP_PREFACE_BYTES_MAX, "its length");
    need(whole.known == cut.known, "the client");
    need(!whole.known ||
             (whole.port == cut.port && memcmp(whole.addr, cut.addr, sizeof(cut.addr)) == 0),
         "the client's address");
}

static struct http_text text(const char *s)
{
    return (struct http_text){(const uint8_t *)s, strlen(s)};
}

static void names(const uint8_t *data, size_t len)
{
    static struct http_names table;
    char form[HTTP_NAME_MAX + 1], again[HTTP_NAME_MAX + 1];
    if (table.n == 0) {
        need(http_names_add(&table, text("a.b"), 1) == NULL, "a name");
        need(http_names_add(&table, text("*.a.b"), 2) == NULL, "all below it");
        need(http_names_add(&table, text("*.c.a.b"), 3) == NULL, "all below that");
        need(http_names_add(&table, text("[fd00::1]"), 4) == NULL, "an address");
    }
    const struct http_text t = {data, len};
    const unsigned host = http_names_find(&table, t);
    const size_t n = http_name_form(t, form);
    need(host <= 4 && n <= HTTP_NAME_MAX, "the host is one of them");
    need(n != 0 || host == 0, "what has no form is nobody's");
    if (n == 0 || form[n - 1] == '.')
        return;
    const struct http_text made = {(const uint8_t *)form, n};
    need(http_name_form(made, again) == n && memcmp(form, again, n) == 0, "one form");
    need(http_names_find(&table, made) == host, "one host");
}

static bool matches(const char *pattern, const char *path)
{
    if (*pattern == '*')
        return matches(pattern + 1, path) || (*path != '\0' && matches(pattern, path + 1));
    return *pattern == *path && (*pattern == '\0' || matches(pattern + 1, path + 1));
}

static void globs(const uint8_t *data, size_t len)
{
    char pattern[9] = "", path[17] = "";
    const size_t n = len < 8 ? len : 8, m = len - n < 16 ? len - n : 16;
    memcpy(pattern, data, n);
    memcpy(path, data + n, m);
    need(http_glob(pattern, text(path)) == matches(pattern, path), "the pattern matches");
}

static void paths(const uint8_t *data, size_t len)
{
    enum { MAX = 4096 };
    static char key[HTTP_PATH_ROOM(MAX)], again[HTTP_PATH_ROOM(3 * MAX)];
    if (len > MAX)
        return;
    const int n = http_path(data, len, key);
    if (n < 0)
        return;
    need((size_t)n <= HTTP_PATH_ROOM(len) && key[0] == '/', "a key");
    need(http_path((const uint8_t *)key, (size_t)n, again) == n &&
             memcmp(key, again, (size_t)n) == 0,
         "a key is its own key");
    key[n] = '\0';
    need(strstr(key, "//") == NULL && strstr(key, "/../") == NULL && strstr(key, "/./") == NULL,
         "a key is clean");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static void (*const parsers[])(const uint8_t *data, size_t len) = {preface, names, globs,
                                                                       paths};
    if (len != 0)
        parsers[data[0] % 4](data + 1, len - 1);
    return 0;
}
