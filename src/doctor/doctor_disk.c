// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { PATH_BYTES = 600 };

static void folder_of(const char *path, char out[PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    const int len = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(out, PATH_BYTES, "%.*s", len, slash == NULL ? "." : path);
}

static int sync_folder(const char *path)
{
    char folder[PATH_BYTES];
    folder_of(path, folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const int rc = fsync(fd);
    close(fd);
    return rc;
}

static int write_new(const char *path, const char *text, const struct stat *like)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    const int written = io_write_all(fd, text, strlen(text));
    const bool ok = written == 0 && fchmod(fd, like->st_mode & 07777) == 0 &&
                    fchown(fd, like->st_uid, like->st_gid) == 0 && fsync(fd) == 0;
    const int why = written != 0 ? -written : errno;
    close(fd);
    errno = why;
    return ok ? 0 : -1;
}

int doctor_disk_replace(const char *path, const char *text, struct err *err)
{
    char new[PATH_BYTES];
    struct stat like = {.st_mode = 0644, .st_uid = geteuid(), .st_gid = getegid()};
    if (text == NULL) {
        if ((unlink(path) != 0 && errno != ENOENT) || sync_folder(path) != 0)
            return err_set(err, "%s: %s", path, strerror(errno));
        return 0;
    }
    snprintf(new, sizeof(new), "%.500s.c10m-new", path);
    if (stat(path, &like) != 0 && errno != ENOENT)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (write_new(new, text, &like) != 0 || rename(new, path) != 0) {
        const int why = errno;
        unlink(new);
        return err_set(err, "%s: %s", path, strerror(why));
    }
    return sync_folder(path) == 0 ? 0 : err_set(err, "%s: %s", path, strerror(errno));
}
