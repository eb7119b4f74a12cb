// SPDX-License-Identifier: BSD-3-Clause
// text_pool.h: copies of strings that do not move, one of each.
#pragma once
#include "pprof/intern.h"

// text_pool: starts zeroed. texts[i] is a copy of key i.
struct text_pool {
    struct intern keys;
    char **texts;
    uint32_t n, room;
};

void text_pool_free(struct text_pool *t);

// text_pool_keep: the text text[0..len), terminated, until text_pool_free(). NULL: no memory.
const char *text_pool_keep(struct text_pool *t, const char *text, size_t len);

// text_pool_path: the path of a file that a compiler wrote as `file` while it ran in `directory`
// (may be NULL), kept as text_pool_keep() does. The parts `.` and `..` and empty ones are removed
// from an absolute path. That is done on the text: where a symbolic link stands before a `..`, the
// result is another file. NULL: no memory, or it is longer than PATH_MAX.
const char *text_pool_path(struct text_pool *t, const char *directory, const char *file);
