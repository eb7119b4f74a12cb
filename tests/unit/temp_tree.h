// SPDX-License-Identifier: BSD-3-Clause
// temp_tree.h: a directory of small files for one test.
#pragma once
#include <stddef.h>

struct temp_entry {
    const char *path;  // "a/b.txt"; ends in '/': a directory. Parents come first.
    const char *text;  // the file's content
    const char *link;  // not NULL: a symbolic link to this instead
};

enum { TEMP_PATH_BYTES = 64 };

// temp_tree_make: makes a directory with n entries, writes its path to root[TEMP_PATH_BYTES].
void temp_tree_make(char *root, const struct temp_entry *entries, size_t n);
// temp_tree_file: one more file, of len bytes.
void temp_tree_file(const char *root, const char *path, const void *bytes, size_t len);
void temp_tree_remove(const char *root);
