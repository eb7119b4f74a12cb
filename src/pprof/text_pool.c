// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/text_pool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_FIRST = 64 };

void text_pool_free(struct text_pool *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        free(t->texts[i]);
    free(t->texts);
    intern_free(&t->keys);
    *t = (struct text_pool){.n = 0};
}

static bool make_room(struct text_pool *t)
{
    if (t->n < t->room)
        return true;
    const uint32_t room = t->room == 0 ? TEXTS_FIRST : 2 * t->room;
    char **texts = realloc(t->texts, room * sizeof(*texts));
    if (texts == NULL)
        return false;
    t->texts = texts;
    t->room = room;
    return true;
}

const char *text_pool_keep(struct text_pool *t, const char *text, size_t len)
{
    const uint32_t known = intern_find(&t->keys, text, len);
    if (known != INTERN_FAILED)
        return t->texts[known];
    char *copy = make_room(t) ? strndup(text, len) : NULL;
    if (copy == NULL || intern_put(&t->keys, text, len) == INTERN_FAILED) {
        free(copy);
        return NULL;
    }
    return t->texts[t->n++] = copy;
}

// clean: removes `.`, `..` and empty parts from an absolute path, in place.
static void clean(char *path)
{
    char *to = path;
    for (const char *from = path; *from != '\0';) {
        const char *part = from + strspn(from, "/");
        const size_t len = strcspn(part, "/");
        from = part + len;
        if (len == 2 && part[0] == '.' && part[1] == '.') {
            while (to > path && *--to != '/')
                continue;
        } else if (len != 0 && !(len == 1 && part[0] == '.')) {
            *to++ = '/';
            memmove(to, part, len);
            to += len;
        }
    }
    *to = '\0';
}

const char *text_pool_path(struct text_pool *t, const char *directory, const char *file)
{
    char path[PATH_MAX];
    const bool whole = file[0] == '/' || directory == NULL;
    const int len =
        snprintf(path, sizeof(path), "%s%s%s", whole ? "" : directory, whole ? "" : "/", file);
    if (len >= (int)sizeof(path))
        return NULL;
    if (path[0] == '/')
        clean(path);
    return text_pool_keep(t, path, strlen(path));
}
