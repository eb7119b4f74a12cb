// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/mime.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/http/chars.h"

static const struct {
    const char *extension, *type;
} builtin[] = {
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/markdown; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"xml", "application/xml"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"webmanifest", "application/manifest+json"},
    {"wasm", "application/wasm"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"ico", "image/x-icon"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"otf", "font/otf"},
    {"mp3", "audio/mpeg"},
    {"ogg", "audio/ogg"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
};

struct type {
    char extension[HTTP_EXTENSION_MAX + 1];
    char text[HTTP_TYPE_BYTES_MAX + sizeof("; charset=utf-8")];
    unsigned order;
};

struct http_types {
    struct type *at;  // by extension, then by order
    unsigned n, room;
};

static int by_extension(const void *a, const void *b)
{
    const struct type *x = a, *y = b;
    const int d = strcmp(x->extension, y->extension);
    return d != 0 ? d : (x->order > y->order) - (x->order < y->order);
}

static bool is_token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!http_is((uint8_t)text[i], HTTP_TCHAR))
            return false;
    return n != 0;
}

static bool is_type(const char *text, size_t n)
{
    const char *slash = memchr(text, '/', n);
    return slash != NULL && n <= HTTP_TYPE_BYTES_MAX && is_token(text, (size_t)(slash - text)) &&
           is_token(slash + 1, n - (size_t)(slash + 1 - text));
}

// Returns NULL, or what was expected.
static const char *add(struct http_types *types, const char *type, size_t type_n,
                       const char *extension, size_t n)
{
    if (n > HTTP_EXTENSION_MAX || memchr(extension, '/', n) != NULL)
        return "expected extensions of at most 32 characters without a slash";
    if (types->n == HTTP_TYPES_MAX)
        return "expected at most 65536 extensions";
    if (types->n == types->room) {
        const unsigned room = types->room == 0 ? 256 : types->room * 2;
        struct type *at = realloc(types->at, room * sizeof(*at));
        if (at == NULL)
            return "no memory";
        types->at = at;
        types->room = room;
    }
    struct type *t = &types->at[types->n];
    t->order = types->n++;
    for (size_t i = 0; i < n; i++)
        t->extension[i] = (char)tolower((unsigned char)extension[i]);
    t->extension[n] = '\0';
    const bool utf8 = (type_n > 5 && strncasecmp(type, "text/", 5) == 0) ||
                      (type_n == 22 && strncasecmp(type, "application/javascript", 22) == 0);
    snprintf(t->text, sizeof(t->text), "%.*s%s", (int)type_n, type, utf8 ? "; charset=utf-8" : "");
    return NULL;
}
static_assert(HTTP_EXTENSION_MAX == 32 && HTTP_TYPES_MAX == 65536, "messages above");

static const char *read_line(struct http_types *types, const char *line, size_t n)
{
    static const char blanks[] = " \t\r";
    const char *comment = memchr(line, '#', n), *end = comment != NULL ? comment : line + n;
    const char *type = NULL;
    size_t type_n = 0;
    for (const char *p = line; p < end;) {
        const char *word = p;
        while (p < end && strchr(blanks, *p) == NULL)
            p++;
        const size_t len = (size_t)(p - word);
        p += p < end;
        if (len == 0)
            continue;
        if (type != NULL) {
            const char *wrong = add(types, type, type_n, word, len);
            if (wrong != NULL)
                return wrong;
            continue;
        }
        type = word;
        type_n = len;
        if (!is_type(type, type_n))
            return "expected TYPE/SUBTYPE and extensions, or # comment";
    }
    return NULL;
}

static int read_lines(struct http_types *types, const char *path, FILE *f, char *err,
                      size_t err_bytes)
{
    char *line = NULL;
    size_t room = 0, bytes = 0;
    const char *wrong = NULL;
    unsigned number = 0;
    for (ssize_t n; wrong == NULL && (n = getline(&line, &room, f)) >= 0;) {
        number++;
        bytes += (size_t)n;
        n -= n > 0 && line[n - 1] == '\n';
        wrong = bytes > HTTP_TYPES_BYTES_MAX            ? "expected at most 4 MiB"
                : memchr(line, '\0', (size_t)n) != NULL ? "expected a line of text"
                                                        : read_line(types, line, (size_t)n);
    }
    if (wrong == NULL && ferror(f))
        wrong = strerror(errno);
    free(line);
    if (wrong != NULL)
        snprintf(err, err_bytes, "mime_types: %s:%u: %s", path, number, wrong);
    return wrong == NULL ? 0 : -1;
}

struct http_types *http_types_read(const char *path, char *err, size_t err_bytes)
{
    struct http_types *types = calloc(1, sizeof(*types));
    FILE *f = fopen(path, "re");
    if (types == NULL || f == NULL) {
        snprintf(err, err_bytes, "mime_types = %s: %s", path, strerror(errno));
        if (f != NULL)
            fclose(f);
        free(types);
        return NULL;
    }
    const int rc = read_lines(types, path, f, err, err_bytes);
    fclose(f);
    if (rc != 0) {
        http_types_free(types);
        return NULL;
    }
    if (types->n != 0)
        qsort(types->at, types->n, sizeof(types->at[0]), by_extension);
    return types;
}

void http_types_free(struct http_types *types)
{
    if (types != NULL)
        free(types->at);
    free(types);
}

// The last type with this extension, or NULL.
static const char *find(const struct http_types *types, const char *extension)
{
    struct type key = {.order = UINT32_MAX};
    const size_t n = strlen(extension);
    unsigned low = 0, high = types->n;
    if (n > HTTP_EXTENSION_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++)
        key.extension[i] = (char)tolower((unsigned char)extension[i]);
    while (low < high) {
        const unsigned mid = (low + high) / 2;
        if (by_extension(&types->at[mid], &key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && strcmp(types->at[low - 1].extension, key.extension) == 0
               ? types->at[low - 1].text
               : NULL;
}

const char *http_mime(const struct http_types *types, const char *name)
{
    static const char unknown[] = "application/octet-stream";
    const char *dot = strrchr(name, '.');
    if (dot != NULL && types != NULL) {
        const char *text = find(types, dot + 1);
        return text == NULL ? unknown : text;
    }
    for (size_t i = 0; dot != NULL && i < sizeof(builtin) / sizeof(builtin[0]); i++)
        if (strcasecmp(dot + 1, builtin[i].extension) == 0)
            return builtin[i].type;
    return unknown;
}
