// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_clean.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/local/mountpoint.h"
#include "server/server_check.h"

// connect_to: returns 0 if a process listens on the socket, or errno.
static int connect_to(const char *path, int type)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path))
        return ENAMETOOLONG;
    strcpy(at.sun_path, path);
    const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int why = fd < 0 || connect(fd, (const void *)&at, sizeof(at)) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return why;
}

static bool is_socket(const char *path)
{
    struct stat st;
    return path[0] != '\0' && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

// Removes a socket on which no process listens. If a process listens, it fails and nothing is
// removed.
static int clean_socket(const char *path, int type, struct text *said, struct err *err)
{
    if (!is_socket(path))
        return 0;
    const int why = connect_to(path, type);
    if (why == 0 || why == EAGAIN)
        return err_set(err, "%s: a running server uses this socket: stop it first", path);
    if (why != ECONNREFUSED)
        return err_set(err, "%s: %s", path, strerror(why));
    if (unlink(path) != 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    text_printf(said, "removed socket %s\n", path);
    return 0;
}

static int clean_mount(const struct conf *c, struct text *said, struct err *err)
{
    if (c->control.mount[0] == '\0')
        return 0;
    const int n = ctl_mountpoint_clear(c->control.mount, err);
    if (n > 0)
        text_printf(said, "unmounted %s\n", c->control.mount);
    return n < 0 ? -1 : 0;
}

static void clean_directory(const char *path, struct text *said)
{
    if (path[0] != '\0' && rmdir(path) == 0)
        text_printf(said, "removed directory %s\n", path);
}

int ctl_clean(const struct conf *c, struct text *said, struct err *err)
{
    char socket[2 * CONF_PATH_BYTES];
    conf_socket_path(c, socket, sizeof(socket));
    const int owner = server_clean_check(c->control.name, err);
    if (owner != 0 || clean_socket(socket, SOCK_STREAM, said, err) != 0 ||
        clean_socket(c->agent.socket, SOCK_SEQPACKET, said, err) != 0 ||
        clean_mount(c, said, err) != 0 ||
        server_clean(c->control.name, c->memory.hugetlbfs, said, err) != 0)
        return -1;
    clean_directory(c->control.mount, said);
    clean_directory(c->control.run_dir, said);
    return 0;
}
