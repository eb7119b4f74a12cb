// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/http/date.h"
#include "app/http/path.h"
#include "app/http/reply.h"

bool http_entries_add(struct http_entries *e, const char *name, bool directory, uint64_t bytes,
                      uint64_t modified_s)
{
    if (e->n == e->room) {
        const unsigned room = e->room == 0 ? 16 : e->room * 2;
        struct http_entry *at = realloc(e->at, room * sizeof(*at));
        if (at == NULL)
            return false;
        e->at = at;
        e->room = room;
    }
    e->at[e->n] = (struct http_entry){strdup(name), bytes, modified_s, directory};
    return e->at[e->n++].name != NULL;
}

void http_entries_free(struct http_entries *e)
{
    for (unsigned i = 0; i < e->n; i++)
        free(e->at[i].name);
    free(e->at);
    *e = (struct http_entries){0};
}

// Directories first.
static int by_name(const void *a, const void *b)
{
    const struct http_entry *x = a, *y = b;
    if (x->directory != y->directory)
        return x->directory ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void put_escaped(FILE *f, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (strchr("&<>\"'", c) != NULL || c < 0x20 || c == 0x7f)
            fprintf(f, "&#%u;", c < 0x20 || c == 0x7f ? 0xfffd : c);
        else
            fputc(c, f);
    }
}

static void put_entry(FILE *f, const struct http_entry *e)
{
    const char *slash = e->directory ? "/" : "";
    char url[HTTP_KEY_BYTES_MAX + 1] = "";
    const int n = http_path_encode(e->name, url, sizeof(url) - 1);
    url[n < 0 ? 0 : n] = '\0';
    fputs("<tr><td><a href=\"./", f);  // "./": a colon in the name must not look like a URL scheme
    put_escaped(f, url);
    fprintf(f, "%s\">", slash);
    put_escaped(f, e->name);
    fprintf(f, "%s</a></td><td>%.*s</td>", slash, HTTP_DATE_BYTES, http_date(e->modified_s));
    if (e->directory)
        fputs("<td></td></tr>\n", f);
    else
        fprintf(f, "<td>%llu</td></tr>\n", (unsigned long long)e->bytes);
}

static void put_page(FILE *f, const char *path, struct http_entries *e)
{
    if (e->n > 1)
        qsort(e->at, e->n, sizeof(e->at[0]), by_name);
    fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", f);
    put_escaped(f, path);
    fputs("</title></head>\n<body><h1>", f);
    put_escaped(f, path);
    fputs("</h1>\n<table>\n", f);
    if (strcmp(path, "/") != 0)
        fputs("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n", f);
    for (unsigned i = 0; i < e->n; i++)
        put_entry(f, &e->at[i]);
    fputs("</table></body></html>\n", f);
}

char *http_listing(const char *path, struct http_entries *e, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);
    if (f == NULL)
        return NULL;
    put_page(f, path, e);
    const bool good = !ferror(f);
    if (fclose(f) == 0 && good)
        return text;
    free(text);
    return NULL;
}
