// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 32 };

static int socket_at(const char *path, struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    strncpy(at->sun_path, path, sizeof(at->sun_path) - 1);
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int memif_socket_connect(const char *path)
{
    struct sockaddr_un at;
    const int fd = socket_at(path, &at);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

// EAGAIN: its backlog is full, so somebody listens.
static bool is_dead(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return false;
    const int fd = memif_socket_connect(path);
    const bool refused = fd < 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

int memif_socket_listen(const char *path, struct err *err)
{
    struct sockaddr_un at;
    const int fd = socket_at(path, &at);
    if (fd >= 0 && is_dead(path))
        unlink(path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    err_set(err, "%s: %s", path,
            errno == EADDRINUSE ? "something else is there, or a server that runs"
                                : strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}
