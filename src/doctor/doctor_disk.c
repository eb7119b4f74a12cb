// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define NEW_SUFFIX ".c10m-new"

enum { NEW_BYTES = PATH_MAX + (int)sizeof(NEW_SUFFIX) };

static void folder_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const int len = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(out, PATH_MAX, "%.*s", len, slash == NULL ? "." : path);
}

static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const int rc = fsync(fd);
    close(fd);
    return rc;
}

// target_of: the file that is to be replaced: what a symbolic link names. -1 with errno.
static int target_of(const char *path, char out[PATH_MAX])
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return realpath(path, out) == NULL ? -1 : 0;
    if (snprintf(out, PATH_MAX, "%s", path) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

// write_new: a file of this process alone: what another one left under the name goes, and what it
// puts there meanwhile, a link to a file elsewhere for example, is refused.
static int write_new(const char *path, const char *text, const struct stat *like)
{
    unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    const int written = io_write_all(fd, text, strlen(text));
    const bool ok = written == 0 && fchown(fd, like->st_uid, like->st_gid) == 0 &&
                    fchmod(fd, like->st_mode & 0777) == 0 && fsync(fd) == 0;
    const int why = written != 0 ? -written : errno;
    close(fd);
    if (!ok)
        unlink(path);
    errno = why;
    return ok ? 0 : -1;
}

static int remove_file(const char *path, struct err *err)
{
    if ((unlink(path) != 0 && errno != ENOENT) || sync_folder(path) != 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    return 0;
}

int doctor_disk_replace(const char *path, const char *text, struct err *err)
{
    char target[PATH_MAX], new[NEW_BYTES];
    struct stat like = {.st_mode = S_IFREG | 0644, .st_uid = geteuid(), .st_gid = getegid()};
    if (text == NULL)
        return remove_file(path, err);
    if (target_of(path, target) != 0)
        return err_set(err, "%s: %s", path,
                       errno == ENOENT ? "it is a symbolic link to nothing" : strerror(errno));
    if (stat(target, &like) != 0 && errno != ENOENT)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (!S_ISREG(like.st_mode))
        return err_set(err, "%s: it is no regular file", path);
    snprintf(new, sizeof(new), "%s" NEW_SUFFIX, target);
    if (write_new(new, text, &like) != 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (rename(new, target) != 0) {
        const int why = errno;
        unlink(new);
        return err_set(err, "%s: %s", path, strerror(why));
    }
    return sync_folder(target) == 0 ? 0 : err_set(err, "%s: %s", path, strerror(errno));
}

void doctor_disk_clean(const char *path)
{
    char target[PATH_MAX], new[NEW_BYTES];
    if (target_of(path, target) != 0)
        return;
    snprintf(new, sizeof(new), "%s" NEW_SUFFIX, target);
    unlink(new);
}
