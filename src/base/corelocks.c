// SPDX-License-Identifier: BSD-3-Clause
#include "base/corelocks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/lockfile.h"

enum { RECORD_BYTES = 64 };  // "4194304 NAME\n"

int corelocks_open(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/run/lock/c10m-%u.cores", (unsigned)geteuid());
    return lockfile_open(path);
}

static struct flock record_of(unsigned core)
{
    return (struct flock){.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)core * RECORD_BYTES,
                          .l_len = RECORD_BYTES};
}

// read_name: the name in the record, which another user may have written.
static void read_name(int fd, unsigned core, char name[RECORD_BYTES])
{
    char record[RECORD_BYTES] = "";
    if (pread(fd, record, sizeof(record) - 1, (off_t)core * RECORD_BYTES) < 0)
        record[0] = '\0';
    name[0] = '\0';
    sscanf(record, "%*d %63s", name);
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL)
            *c = '?';
}

static int taken(int fd, unsigned core, int pid, struct err *err)
{
    char name[RECORD_BYTES];
    read_name(fd, core, name);
    return err_set(err, "core %u: the running server %s (process %d) has it", core, name, pid);
}

int corelocks_look(int fd, unsigned core, struct err *err)
{
    struct flock lock = record_of(core);
    if (core > CORELOCKS_CORE_MAX || fcntl(fd, F_GETLK, &lock) != 0)
        return err_set(err, "core %u: its lock: %s", core, strerror(errno));
    return lock.l_type == F_UNLCK ? 0 : taken(fd, core, lock.l_pid, err);
}

int corelocks_take(int fd, unsigned core, const char *name, struct err *err)
{
    char record[RECORD_BYTES];
    struct flock lock = record_of(core);
    if (corelocks_look(fd, core, err) != 0)
        return -1;
    // If two servers lock at the same moment, one succeeds. The other one looks again to name it.
    if (fcntl(fd, F_SETLK, &lock) != 0)
        return corelocks_look(fd, core, err) != 0
                   ? -1
                   : err_set(err, "core %u: its lock: %s", core, strerror(errno));
    memset(record, ' ', sizeof(record));
    const int n = snprintf(record, sizeof(record), "%d %.*s\n", (int)getpid(),
                           CORELOCKS_NAME_BYTES - 1, name);
    if (n > 0 && pwrite(fd, record, (size_t)n, (off_t)core * RECORD_BYTES) == n)
        return 0;
    return err_set(err, "core %u: its lock: %s", core, strerror(errno));
}

// open_of: the file of that name if it is one of another user's that only this user can write; -1.
static int open_of(const char *name, unsigned *uid)
{
    char path[64];
    struct stat st;
    int end = 0;
    if (sscanf(name, "c10m-%u.cores%n", uid, &end) != 1 || end == 0 || name[end] != '\0' ||
        *uid == geteuid())
        return -1;
    snprintf(path, sizeof(path), "/run/lock/c10m-%u.cores", *uid);
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 ||
        (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == *uid && !(st.st_mode & 077)))
        return fd;
    close(fd);
    return -1;
}

static int look_in(int fd, unsigned uid, unsigned core, struct err *err)
{
    struct flock lock = record_of(core);
    char name[RECORD_BYTES];
    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return 0;
    read_name(fd, core, name);
    return err_set(err, "core %u: the running server %s of user %u (process %d) has it", core, name,
                   uid, lock.l_pid);
}

int corelocks_look_others(unsigned core, struct err *err)
{
    DIR *d = opendir("/run/lock");
    int rc = 0;
    for (const struct dirent *e; d != NULL && rc == 0 && (e = readdir(d)) != NULL;) {
        unsigned uid;
        const int fd = open_of(e->d_name, &uid);
        if (fd < 0)
            continue;
        rc = look_in(fd, uid, core, err);
        close(fd);
    }
    if (d != NULL)
        closedir(d);
    return rc;
}
