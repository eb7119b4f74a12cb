#include "base/lockfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

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
