// SPDX-License-Identifier: BSD-3-Clause
#include "mem/hugedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/lockfile.h"
#include "mem/page_supply.h"

enum {
    PATH_BYTES = HUGEDIR_PATH_BYTES + HUGEDIR_NAME_BYTES + 16,
};

static const char MOUNT_SOURCE[] = "c10m";
static const char MADE_FILE[] = "/.made";
static const char LOCK_SUFFIX[] = ".lock";
static const char KEEP_SUFFIX[] = ".keep";
static const char NEXT_SUFFIX[] = ".next";
static const char *const SIZE_DIRS[] = {"2M", "1G", "4K"};

static const char *size_dir(size_t page_bytes)
{
    return SIZE_DIRS[page_bytes == PAGE_2M ? 0 : page_bytes == PAGE_1G ? 1 : 2];
}

static const char *type_of(size_t page_bytes)
{
    return page_bytes == PAGE_4K ? "tmpfs" : "hugetlbfs";
}

static void lock_path(char out[PATH_BYTES], const char *dir, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s%s", dir, name, LOCK_SUFFIX);
}

static void keep_path(char out[PATH_BYTES], const char *dir, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s%s", dir, name, KEEP_SUFFIX);
}

static bool is_kept(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    keep_path(path, dir, name);
    return access(path, F_OK) == 0;
}

static void file_path(char out[PATH_BYTES], const char *dir, const char *size, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s/%s", dir, size, name);
}

static void next_path(char out[PATH_BYTES], const char *dir, const char *size, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s/%s%s", dir, size, name, NEXT_SUFFIX);
}

// make_dirs: mkdir -p. *made: how many directories it created.
static int make_dirs(const char *dir, unsigned *made)
{
    char path[HUGEDIR_PATH_BYTES];
    for (const char *end = dir; *end != '\0';) {
        end = strchrnul(end + 1, '/');
        snprintf(path, sizeof(path), "%.*s", (int)(end - dir), dir);
        if (mkdir(path, 0755) == 0)
            ++*made;
        else if (errno != EEXIST)
            return -1;
    }
    return 0;
}

static void remove_dirs(const char *dir, unsigned made)
{
    char path[HUGEDIR_PATH_BYTES];
    snprintf(path, sizeof(path), "%s", dir);
    for (; made > 0 && rmdir(path) == 0; made--)
        *strrchr(path, '/') = '\0';
}

// enter: takes the lock that serializes creating, mounting and removing by all c10m processes.
// There is one lock for all DIR of a user, because directories above a DIR are created and removed
// as well. Returns the descriptor, or -1.
static int enter(void)
{
    char path[64] = "/run/lock/c10m.lock";
    if (geteuid() != 0)
        snprintf(path, sizeof(path), "/run/lock/c10m-%u.lock", (unsigned)geteuid());
    return lockfile_take(lockfile_open(path), true);
}

static unsigned made_read(const char *dir)
{
    char path[PATH_BYTES];
    uint64_t n;
    snprintf(path, sizeof(path), "%s%s", dir, MADE_FILE);
    io_read_number(path, &n);
    return (unsigned)n;
}

static void made_write(const char *dir, unsigned n)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s%s", dir, MADE_FILE);
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return;
    fprintf(f, "%u\n", n);
    fclose(f);
}

// make: creates DIR, and records how many directories above it were created, so that the last
// process can remove them.
static int make(const char *dir)
{
    unsigned made = 0;
    if (make_dirs(dir, &made) != 0) {
        const int why = errno;
        remove_dirs(dir, made);
        errno = why;
        return -1;
    }
    if (made > 0)
        made_write(dir, made);
    return 0;
}

// try_lock: returns the descriptor of the locked file, or -1. errno EWOULDBLOCK: a living process
// has the lock. The caller holds the lock of enter().
static int try_lock(const char *path, int flags)
{
    return lockfile_take(open(path, O_RDWR | O_CLOEXEC | flags, 0644), false);
}

static unsigned remove_files(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    unsigned n = 0;
    for (unsigned i = 0; i < ARRAY_LEN(SIZE_DIRS); i++) {
        file_path(path, dir, SIZE_DIRS[i], name);
        n += unlink(path) == 0;
        next_path(path, dir, SIZE_DIRS[i], name);
        unlink(path);
    }
    return n;
}

// remove_if_dead: removes the files of the owner of lock_file, unless that process lives or they
// are kept.
static unsigned remove_if_dead(const char *dir, const char *lock_file)
{
    char path[PATH_BYTES], name[HUGEDIR_NAME_BYTES];
    const size_t len = strlen(lock_file) - (sizeof(LOCK_SUFFIX) - 1);
    if (len >= sizeof(name))
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)len, lock_file);
    lock_path(path, dir, name);
    const int fd = is_kept(dir, name) ? -1 : try_lock(path, 0);
    if (fd < 0)
        return 0;
    const unsigned n = remove_files(dir, name);
    unlink(path);
    close(fd);
    return n;
}

static bool is_lock_file(const char *name)
{
    const size_t len = strlen(name), suffix = sizeof(LOCK_SUFFIX) - 1;
    return len > suffix && strcmp(name + len - suffix, LOCK_SUFFIX) == 0;
}

// remove_dead: removes the files of all owners whose process has ended. *living: how many live, or
// have kept their files.
static unsigned remove_dead(const char *dir, unsigned *living)
{
    char path[PATH_BYTES + NAME_MAX];
    unsigned n = 0;
    *living = 0;
    DIR *d = opendir(dir);
    if (d == NULL)
        return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (!is_lock_file(e->d_name))
            continue;
        n += remove_if_dead(dir, e->d_name);
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        *living += access(path, F_OK) == 0;
    }
    closedir(d);
    return n;
}

// is_ours: whether it is a file system with such pages, which is in memory.
static bool is_ours(const struct statfs *s, size_t page_bytes)
{
    const long type = page_bytes == PAGE_4K ? TMPFS_MAGIC : HUGETLBFS_MAGIC;
    return s->f_type == type && (size_t)s->f_bsize == page_bytes;
}

static int take_lock(struct hugedir *d, struct err *e)
{
    char path[PATH_BYTES];
    lock_path(path, d->dir, d->name);
    d->lock_fd = try_lock(path, O_CREAT);
    if (d->lock_fd < 0 && errno == EWOULDBLOCK) {
        err_set(e,
                "%s: in use by the running process %ld: stop it or choose another [control] name",
                path, lockfile_owner(open(path, O_RDONLY | O_CLOEXEC)));
        return err_key(e, "control.name");
    }
    if (d->lock_fd < 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    if (lockfile_sign(d->lock_fd) != 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    if (!d->keep)
        hugedir_drop(d);  // files under our name without a lock file, or kept
    return 0;
}

void hugedir_drop_next(const struct hugedir *d)
{
    char path[PATH_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(SIZE_DIRS); i++) {
        next_path(path, d->dir, SIZE_DIRS[i], d->name);
        unlink(path);
    }
}

// is_marked: whether the eight bytes at `mark` of the file are not 0.
static bool is_marked(int fd, uint64_t mark)
{
    uint64_t at;
    return pread(fd, &at, sizeof(at), (off_t)mark) == (ssize_t)sizeof(at) && at != 0;
}

void hugedir_settle(const struct hugedir *d, uint64_t mark)
{
    char next[PATH_BYTES], path[PATH_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(SIZE_DIRS); i++) {
        next_path(next, d->dir, SIZE_DIRS[i], d->name);
        file_path(path, d->dir, SIZE_DIRS[i], d->name);
        const int fd = open(next, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && is_marked(fd, mark))
            rename(next, path);
        if (fd >= 0)
            close(fd);
    }
    hugedir_drop_next(d);  // of a start that did not come so far
}

void hugedir_drop(struct hugedir *d)
{
    char path[PATH_BYTES];
    d->removed += remove_files(d->dir, d->name);
    keep_path(path, d->dir, d->name);
    unlink(path);
    d->keep = false;
}

int hugedir_keep(struct hugedir *d, struct err *e)
{
    char path[PATH_BYTES];
    keep_path(path, d->dir, d->name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    close(fd);
    d->keep = true;
    return 0;
}

// open_kept: the file NAME, or NAME.next, with such pages that its owner keeps or kept; -1: errno.
static int open_kept(const char *dir, const char *name, bool next, size_t page_bytes, int access,
                     struct hugedir_kept *out)
{
    char path[PATH_BYTES];
    struct stat st;
    struct statfs s;
    errno = ENOENT;
    if (!is_kept(dir, name))
        return -1;
    (next ? next_path : file_path)(path, dir, size_dir(page_bytes), name);
    const int fd = open(path, access | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fstatfs(fd, &s) == 0 &&
        is_ours(&s, page_bytes)) {
        *out =
            (struct hugedir_kept){page_bytes, (uint64_t)st.st_size, (uint64_t)st.st_blocks * 512};
        return fd;
    }
    close(fd);
    errno = ENOENT;
    return -1;
}

// open_huge: the one in hugepages; -1: errno.
static int open_huge(const char *dir, const char *name, bool next, int access,
                     struct hugedir_kept *out)
{
    const int fd = open_kept(dir, name, next, PAGE_2M, access, out);
    return fd >= 0 || errno != ENOENT ? fd : open_kept(dir, name, next, PAGE_1G, access, out);
}

int hugedir_reopen(const struct hugedir *d, struct hugedir_kept *out)
{
    return open_huge(d->dir, d->name, false, O_RDWR, out);
}

int hugedir_reopen_4k(const struct hugedir *d, struct hugedir_kept *out)
{
    return open_kept(d->dir, d->name, false, PAGE_4K, O_RDWR, out);
}

int hugedir_look(const char *dir, const char *name, uint64_t mark, struct hugedir_kept *out)
{
    const int fd = open_huge(dir, name, true, O_RDONLY, out);
    if (fd >= 0 && is_marked(fd, mark))
        return fd;
    if (fd >= 0)
        close(fd);
    return open_huge(dir, name, false, O_RDONLY, out);
}

// unmount_ours: unmounts `path` if a c10m process mounted it. A mount in use stays, unless flags
// has MNT_DETACH.
static void unmount_ours(const char *path, int flags)
{
    struct mntent m;
    char buf[4096];
    bool ours = false;
    FILE *f = setmntent("/proc/self/mounts", "re");
    if (f == NULL)
        return;
    while (getmntent_r(f, &m, buf, sizeof(buf)) != NULL)
        if (strcmp(m.mnt_dir, path) == 0)
            ours = strcmp(m.mnt_fsname, MOUNT_SOURCE) == 0 &&
                   (strcmp(m.mnt_type, "hugetlbfs") == 0 || strcmp(m.mnt_type, "tmpfs") == 0);
    endmntent(f);
    if (ours)
        umount2(path, flags);
}

static void remove_all(const char *dir, int flags)
{
    char path[PATH_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(SIZE_DIRS); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, SIZE_DIRS[i]);
        unmount_ours(path, flags);
        rmdir(path);
    }
    const unsigned made = made_read(dir);
    snprintf(path, sizeof(path), "%s%s", dir, MADE_FILE);
    unlink(path);
    remove_dirs(dir, made);
}

// leave: removes our files, and DIR if no other process uses it. The caller holds the lock of
// enter(). flags: of umount2().
static void leave(struct hugedir *d, int flags)
{
    char path[PATH_BYTES];
    unsigned living;
    if (d->lock_fd >= 0) {
        if (!d->keep)
            hugedir_drop(d);
        lock_path(path, d->dir, d->name);
        if (!d->keep)
            unlink(path);
        close(d->lock_fd);
        d->lock_fd = -1;
    }
    remove_dead(d->dir, &living);
    if (living == 0)
        remove_all(d->dir, flags);
}

int hugedir_open(struct hugedir *d, const char *dir, const char *name, bool keep, struct err *e)
{
    *d = (struct hugedir){.lock_fd = -1, .keep = keep && is_kept(dir, name)};
    if (dir[0] != '/' || strlen(dir) >= sizeof(d->dir) || dir[strlen(dir) - 1] == '/')
        return err_set(e,
                       "%s: expected an absolute path of less than %d bytes without a last slash",
                       dir, HUGEDIR_PATH_BYTES);
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
        strlen(name) >= sizeof(d->name))
        return err_set(e, "\"%s\": expected a file name of less than %d bytes", name,
                       HUGEDIR_NAME_BYTES);
    snprintf(d->dir, sizeof(d->dir), "%s", dir);
    snprintf(d->name, sizeof(d->name), "%s", name);
    unsigned living;
    const int fd = enter();
    if (fd < 0)
        return err_set(e, "the lock of hugetlbfs in /run/lock: %s", strerror(errno));
    if (make(dir) != 0) {
        err_set(e, "%s: cannot make this directory: %s", dir, strerror(errno));
        close(fd);
        return -1;
    }
    d->removed = remove_dead(dir, &living);
    const int rc = take_lock(d, e);
    if (rc != 0)
        leave(d, 0);
    close(fd);
    return rc;
}

static uint64_t bytes_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_blocks * 512 : 0;
}

// is_held: whether a living process has locked the lock file of the owner of `file`. A file without
// a lock file is DPDK's, which locks the file itself.
static bool is_held(const char *dir, const char *name, const char *file)
{
    char path[2 * PATH_BYTES + NAME_MAX];
    size_t len = strlen(name);
    const size_t suffix = sizeof(NEXT_SUFFIX) - 1;
    if (len > suffix && strcmp(name + len - suffix, NEXT_SUFFIX) == 0)
        len -= suffix;
    snprintf(path, sizeof(path), "%s/%.*s%s", dir, (int)len, name, LOCK_SUFFIX);
    if (access(path, F_OK) != 0)
        snprintf(path, sizeof(path), "%s", file);
    const int fd = try_lock(path, 0);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

uint64_t hugedir_dead_bytes(const char *dir, size_t page_bytes)
{
    char below[PATH_BYTES], path[PATH_BYTES + NAME_MAX + 1];
    uint64_t bytes = 0;
    snprintf(below, sizeof(below), "%s/%s", dir, size_dir(page_bytes));
    DIR *d = opendir(below);
    const int fd = d == NULL ? -1 : enter();
    for (const struct dirent *e; fd >= 0 && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", below, e->d_name);
        if (bytes_of(path) != 0 && !is_held(dir, e->d_name, path))
            bytes += bytes_of(path);
    }
    if (fd >= 0)
        close(fd);
    if (d != NULL)
        closedir(d);
    return bytes;
}

// mount_with: a file system without limits of its own: what it holds is counted before.
static int mount_with(const char *path, size_t page_bytes)
{
    char options[64];
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (page_bytes != PAGE_4K) {
        snprintf(options, sizeof(options), "pagesize=%s,mode=0700", size_dir(page_bytes));
        return mount(MOUNT_SOURCE, path, "hugetlbfs", flags, options);
    }
    if (mount(MOUNT_SOURCE, path, "tmpfs", flags, "size=0,nr_inodes=0,mode=0700,huge=advise") == 0)
        return 0;
    return mount(MOUNT_SOURCE, path, "tmpfs", flags, "size=0,nr_inodes=0,mode=0700");
}

// is_apart: whether a file system is mounted there. A tmpfs around it has a limit.
static bool is_apart(const char *path)
{
    char around[PATH_BYTES + 3];
    struct stat at, up;
    snprintf(around, sizeof(around), "%s/..", path);
    return stat(path, &at) == 0 && stat(around, &up) == 0 && at.st_dev != up.st_dev;
}

static int mount_size(const struct hugedir *d, size_t page_bytes, struct err *e)
{
    char path[PATH_BYTES];
    struct statfs s;
    file_path(path, d->dir, size_dir(page_bytes), "");
    path[strlen(path) - 1] = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(e, "%s: %s", path, strerror(errno));
    const bool fits = statfs(path, &s) == 0 && is_ours(&s, page_bytes);
    if (fits && (page_bytes != PAGE_4K || is_apart(path)))
        return 0;
    if (mount_with(path, page_bytes) == 0 || fits)
        return 0;
    const int why = errno;
    if (page_bytes == PAGE_4K)
        return err_set(e, "%s: cannot mount tmpfs: %s", path, strerror(why));
    return err_set(e,
                   "hugepages need root: cannot mount hugetlbfs: %s: as root: mount -t hugetlbfs "
                   "-o pagesize=%s %s %s",
                   strerror(why), size_dir(page_bytes), MOUNT_SOURCE, path);
}

// create: the empty file at `path`, where a file system with such pages is mounted if needed.
static int create(const struct hugedir *d, const char *path, size_t page_bytes, struct err *e)
{
    struct statfs s;
    const int dir_fd = enter();
    if (dir_fd < 0)
        return err_set(e, "the lock of hugetlbfs in /run/lock: %s", strerror(errno));
    const int mounted = mount_size(d, page_bytes, e);
    close(dir_fd);
    if (mounted != 0)
        return -1;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    // An administrator may have unmounted it between the check and the open.
    if (fstatfs(fd, &s) == 0 && is_ours(&s, page_bytes))
        return fd;
    unlink(path);
    close(fd);
    return err_set(e, "%s: the %s of this page size was unmounted during the start: start again",
                   path, type_of(page_bytes));
}

int hugedir_create(const struct hugedir *d, size_t page_bytes, struct err *e)
{
    char path[PATH_BYTES];
    file_path(path, d->dir, size_dir(page_bytes), d->name);
    return create(d, path, page_bytes, e);
}

int hugedir_create_next(const struct hugedir *d, size_t page_bytes, struct err *e)
{
    char path[PATH_BYTES];
    next_path(path, d->dir, size_dir(page_bytes), d->name);
    return create(d, path, page_bytes, e);
}

static void close_with(struct hugedir *d, int flags)
{
    const int fd = enter();
    if (fd >= 0) {
        leave(d, flags);
        close(fd);
    } else if (d->lock_fd >= 0) {
        close(d->lock_fd);  // this process may not remove the files: another one may
        d->lock_fd = -1;
    }
}

void hugedir_close(struct hugedir *d)
{
    close_with(d, 0);
}

void hugedir_abandon(struct hugedir *d)
{
    close_with(d, MNT_DETACH);
}
