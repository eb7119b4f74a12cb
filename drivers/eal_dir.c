// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/eal_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lockfile.h"
#include "drivers/hugefiles.h"

static const char LOCK_FILE[] = EAL_DIR_LOCK;

void eal_dir_root(char out[EAL_DIR_BYTES])
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"), *xdg = getenv("XDG_RUNTIME_DIR");
    const char *dir = runtime != NULL ? runtime
                      : getuid() == 0 ? "/var/run"
                      : xdg != NULL   ? xdg
                                      : "/tmp";
    snprintf(out, EAL_DIR_BYTES, "%s/dpdk", dir);
}

static void remove_dir(int parent, const char *name)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(fd, e->d_name, 0);
    closedir(d);
    unlinkat(parent, name, AT_REMOVEDIR);
}

// lock_of: locks the lock file of NAME and returns its descriptor, or -1. errno EWOULDBLOCK: its
// owner is alive; ENOENT: c10m did not create the directory.
static int lock_of(int parent, const char *name, int flags)
{
    char path[EAL_DIR_BYTES];
    if (snprintf(path, sizeof(path), "%s/%s", name, LOCK_FILE) >= (int)sizeof(path)) {
        errno = ENOENT;
        return -1;
    }
    return lockfile_take(openat(parent, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600),
                         false);
}

void eal_dir_remove_files(const char *prefix, const char *huge_dir)
{
    static const uint64_t page_bytes[] = {2u << 20, 1u << 30};
    struct hugepages pages;
    for (unsigned i = 0; i < ARRAY_LEN(page_bytes); i++)
        if (hugepages_read(page_bytes[i], &pages)) {
            hugefiles_remove(pages.mount, prefix);
            hugepages_prefer(&pages, huge_dir);
            hugefiles_remove(pages.mount, prefix);
        }
}

static unsigned remove_dead(int parent, const char *own, const char *huge_dir)
{
    unsigned n = 0;
    DIR *d = fdopendir(dup(parent));
    if (d == NULL)
        return 0;
    rewinddir(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, own) == 0)
            continue;
        const int fd = lock_of(parent, e->d_name, 0);
        if (fd < 0)
            continue;
        eal_dir_remove_files(e->d_name, huge_dir);
        remove_dir(parent, e->d_name);
        close(fd);
        n++;
    }
    closedir(d);
    return n;
}

static long owner_pid(int parent, const char *name)
{
    char path[EAL_DIR_BYTES];
    snprintf(path, sizeof(path), "%s/%s", name, LOCK_FILE);
    return lockfile_owner(openat(parent, path, O_RDONLY | O_CLOEXEC));
}

long eal_dir_owner(const char *root, const char *prefix)
{
    const int parent = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return 0;
    flock(parent, LOCK_EX);
    const int fd = lock_of(parent, prefix, 0);
    const long owner = fd < 0 && errno == EWOULDBLOCK ? owner_pid(parent, prefix) : 0;
    if (fd >= 0)
        close(fd);
    close(parent);
    return owner;
}

int eal_dir_open(struct eal_dir *d, const char *root, const char *prefix, const char *huge_dir,
                 struct err *err)
{
    *d = (struct eal_dir){.lock_fd = -1};
    mkdir(root, 0700);
    const int parent = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return 0;
    // Only one process at a time may create its lock file or look at those of other processes.
    flock(parent, LOCK_EX);
    mkdirat(parent, prefix, 0700);
    d->lock_fd = lock_of(parent, prefix, O_CREAT);
    const bool taken = d->lock_fd < 0 && errno == EWOULDBLOCK;
    if (taken)
        err_set(err,
                "%s/%s: in use by the running process %ld: stop it or choose "
                "another [control] name",
                root, prefix, owner_pid(parent, prefix));
    if (taken)
        err_key(err, "control.name");
    if (d->lock_fd >= 0) {
        snprintf(d->path, sizeof(d->path), "%s/%s", root, prefix);
        lockfile_sign(d->lock_fd);
        d->removed = remove_dead(parent, prefix, huge_dir);
    }
    close(parent);
    return taken ? -1 : 0;
}

int eal_dir_give(const struct eal_dir *d, unsigned uid, unsigned gid, struct err *err)
{
    char above[EAL_DIR_BYTES];
    struct stat st;
    if (d->path[0] == '\0')
        return 0;
    snprintf(above, sizeof(above), "%.*s", (int)(strrchr(d->path, '/') - d->path), d->path);
    if (chown(d->path, uid, gid) == 0 && stat(above, &st) == 0 &&
        chmod(above, (st.st_mode & 07777) | S_IXUSR | S_IXGRP | S_IXOTH) == 0)
        return 0;
    return err_set(err, "%s: it cannot be given to another user: %s", d->path, strerror(errno));
}

void eal_dir_close(struct eal_dir *d)
{
    if (d->path[0] == '\0')
        return;
    remove_dir(AT_FDCWD, d->path);
    close(d->lock_fd);
    d->path[0] = '\0';
}
