// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/top_source.h"

struct dir_source {
    struct top_source source;
    int dir;  // descriptor of the mount's root, or -1
};

// The root is opened again after a failure, because the mount of a server that has ended is stale.
static int root_of(struct dir_source *d)
{
    if (d->dir < 0)
        d->dir = open(d->source.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return d->dir < 0 ? -errno : 0;
}

static int failed(struct dir_source *d, int error)
{
    if (error != -ENOENT && d->dir >= 0) {
        close(d->dir);
        d->dir = -1;
    }
    return error;
}

static int read_all(int fd, struct text *out)
{
    char piece[16384];
    ssize_t n;
    while ((n = read(fd, piece, sizeof(piece))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        const int rc = n < 0 ? -errno : text_put(out, piece, (size_t)n);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int dir_read(struct top_source *s, const char *path, struct text *out)
{
    struct dir_source *d = (struct dir_source *)s;
    int rc = root_of(d);
    if (rc != 0)
        return rc;
    const int fd = openat(d->dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(d, -errno);
    rc = read_all(fd, out);
    close(fd);
    return rc == 0 ? 0 : failed(d, rc);
}

static int dir_list(struct top_source *s, const char *path, struct text *out)
{
    struct dir_source *d = (struct dir_source *)s;
    int rc = root_of(d);
    if (rc != 0)
        return rc;
    const int fd = openat(d->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        rc = -errno;
        if (fd >= 0)
            close(fd);
        return failed(d, rc);
    }
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            text_printf(out, "%s\n", e->d_name);
    closedir(dir);
    return out->error;
}

static void dir_close(struct top_source *s)
{
    struct dir_source *d = (struct dir_source *)s;
    if (d->dir >= 0)
        close(d->dir);
    free(d);
}

struct top_source *top_source_dir(const char *dir)
{
    struct dir_source *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return NULL;
    d->source = (struct top_source){dir_read, dir_list, dir_close, dir};
    d->dir = -1;
    return &d->source;
}
