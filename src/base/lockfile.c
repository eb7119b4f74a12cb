// SPDX-License-Identifier: BSD-3-Clause
#include "base/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// is_ours: whether only root and this user can open or lock the file.
static bool is_ours(const struct stat *s)
{
    return S_ISREG(s->st_mode) && s->st_uid == geteuid() && (s->st_mode & 077) == 0;
}

static int open_or_create(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

// make_dir_of: the directory of path, which all users may write, as Linux's /run/lock.
static int make_dir_of(const char *path)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
    return mkdir(dir, 0755) == 0 ? chmod(dir, 01777) : -1;
}

int lockfile_open(const char *path)
{
    struct stat s;
    if (lstat(path, &s) == 0 && !is_ours(&s))
        remove(path);
    int fd = open_or_create(path);
    if (fd < 0 && errno == ENOENT && make_dir_of(path) == 0)
        fd = open_or_create(path);
    if (fd < 0 || (fstat(fd, &s) == 0 && is_ours(&s)))
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

int lockfile_take(int fd, bool wait)
{
    if (fd < 0)
        return -1;
    while (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
        const int why = errno;
        if (why == EINTR)
            continue;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

int lockfile_sign(int fd)
{
    return ftruncate(fd, 0) == 0 && dprintf(fd, "%ld\n", (long)getpid()) > 0 ? 0 : -1;
}

long lockfile_owner(int fd)
{
    char pid[24] = "";
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, pid, sizeof(pid) - 1);
    close(fd);
    return n > 0 ? strtol(pid, NULL, 10) : 0;
}
