// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_clean.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/local/mountpoint.h"
#include "server/device_locks.h"
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

// cleaning: said gets a line for each thing that is removed; dry: that would be.
struct cleaning {
    bool dry, keep;
    struct text *said;
};

static const char *verb(const struct cleaning *k, const char *done, const char *would)
{
    return k->dry ? would : done;
}

// Removes a socket on which no process listens. If a process listens, it fails and nothing is
// removed.
static int clean_socket(const struct cleaning *k, const char *path, int type, struct err *err)
{
    if (!is_socket(path))
        return 0;
    const int why = connect_to(path, type);
    if (why == 0 || why == EAGAIN)
        return err_set(err, "%s: a running server uses this socket: stop it first", path);
    if (why != ECONNREFUSED)
        return err_set(err, "%s: %s", path, strerror(why));
    if (!k->dry && unlink(path) != 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    text_printf(k->said, "%s socket %s\n", verb(k, "removed", "would remove"), path);
    return 0;
}

static int clean_mount(const struct cleaning *k, const char *mount, struct err *err)
{
    if (mount[0] == '\0')
        return 0;
    const int n = k->dry ? ctl_mountpoint_is_dead(mount) : ctl_mountpoint_clear(mount, err);
    if (n > 0)
        text_printf(k->said, "%s %s\n", verb(k, "unmounted", "would unmount"), mount);
    return n < 0 ? -1 : 0;
}

static int clean_files(const struct cleaning *k, const struct conf *c, struct err *err)
{
    if (!k->dry)
        return server_clean(c->control.name, c->memory.hugetlbfs, k->keep, k->said, err);
    server_clean_look(c->control.name, c->memory.hugetlbfs, k->said);
    return 0;
}

static void clean_directory(const struct cleaning *k, const char *path)
{
    struct stat st;
    if (path[0] == '\0')
        return;
    if (k->dry && lstat(path, &st) == 0)
        text_printf(k->said, "would remove directory %s, if it is empty then\n", path);
    if (!k->dry && rmdir(path) == 0)
        text_printf(k->said, "removed directory %s\n", path);
}

int ctl_clean(const struct conf *c, enum clean_what what, struct text *said, struct err *err)
{
    const struct cleaning k = {what == CLEAN_LOOK, what == CLEAN_KEEP, said};
    char socket[2 * CONF_PATH_BYTES];
    conf_socket_path(c, socket, sizeof(socket));
    const int owner = server_clean_check(c->control.name, err);
    if (owner != 0 || clean_socket(&k, socket, SOCK_STREAM, err) != 0 ||
        clean_socket(&k, c->agent.socket, SOCK_SEQPACKET, err) != 0 ||
        clean_mount(&k, c->control.mount, err) != 0 || clean_files(&k, c, err) != 0)
        return -1;
    device_locks_clean(k.dry, said);
    clean_directory(&k, c->control.mount);
    clean_directory(&k, c->control.run_dir);
    return 0;
}
