// SPDX-License-Identifier: BSD-3-Clause
#include "unit/temp_tree.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void need(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

void temp_tree_file(const char *root, const char *path, const void *bytes, size_t len)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    FILE *f = fopen(full, "w");
    need(f != NULL, full);
    need(fwrite(bytes, 1, len, f) == len && fclose(f) == 0, full);
}

void temp_tree_make(char *root, const struct temp_entry *entries, size_t n)
{
    snprintf(root, TEMP_PATH_BYTES, "%s", "/tmp/c10m-test-app-XXXXXX");
    need(mkdtemp(root) != NULL, root);
    for (size_t i = 0; i < n; i++) {
        const struct temp_entry *e = &entries[i];
        char full[PATH_MAX];
        snprintf(full, sizeof(full), "%s/%s", root, e->path);
        if (e->link != NULL)
            need(symlink(e->link, full) == 0, full);
        else if (e->path[strlen(e->path) - 1] == '/')
            need(mkdir(full, 0755) == 0, full);
        else
            temp_tree_file(root, e->path, e->text, strlen(e->text));
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void temp_tree_remove(const char *root)
{
    need(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, root);
}
