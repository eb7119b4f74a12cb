// SPDX-License-Identifier: BSD-3-Clause
#include "base/corelocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

static int taken(int fd, unsigned core, int pid, struct err *err)
{
    char record[RECORD_BYTES] = "", name[RECORD_BYTES] = "";
    if (pread(fd, record, sizeof(record) - 1, (off_t)core * RECORD_BYTES) < 0)
        record[0] = '\0';
    sscanf(record, "%*d %63s", name);
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
