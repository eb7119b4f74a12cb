// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_check.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/corelocks.h"
#include "base/log_target.h"
#include "confine/identity.h"
#include "ctl/local/mountpoint.h"
#include "server/idle_mode.h"
#include "server/server_check.h"

enum { PATH_BYTES = 2 * CONF_PATH_BYTES };

// ---- removal of files that the checks have created

static bool is_there(const char *path)
{
    struct stat st;
    return path[0] != '\0' && lstat(path, &st) == 0;
}

static void check_services(const struct conf *c, const struct server_params *p, bool agent,
                           struct server_findings *f)
{
    bool was[CONF_SERVICES_MAX];
    for (unsigned i = 0; i < c->n_services; i++)
        was[i] = is_there(c->services[i].access_log);
    server_check_services(p, agent, f);
    for (unsigned i = 0; i < c->n_services; i++)
        if (!was[i] && c->services[i].access_log[0] != '\0')
            unlink(c->services[i].access_log);
}

// ---- directories

// dir_check: whether `path` is a directory in which files can be created, or can be created itself.
// levels: the number of directories that may be created. Returns 0, or -1 with the reason in *err.
static int dir_check(const char *path, unsigned levels, struct err *err)
{
    char at[PATH_BYTES];
    struct stat st;
    snprintf(at, sizeof(at), "%s", path);
    for (; stat(at, &st) != 0; levels--) {
        char *slash = strrchr(at, '/');
        if (errno != ENOENT || slash == NULL || levels == 0)
            return err_set(err, "%s: %s", path, strerror(errno));
        slash[slash == at] = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(err, "%s: %s is not a directory", path, at);
    return access(at, W_OK | X_OK) == 0 ? 0 : err_set(err, "%s: %s: %s", path, at, strerror(errno));
}

// find_missing: the server runs without it, unless [control] required is on.
static void find_missing(const struct conf *c, const struct err *err, struct server_findings *f)
{
    if (c->control.required)
        server_find_error(f, err);
    else
        server_find_warning(f, err);
}

// Without run_dir a server runs without a control socket.
static void check_directories(const struct conf *c, const struct conf_parts *parts,
                              struct server_findings *f)
{
    struct err err;
    if (parts->hugetlbfs && c->memory.hugepage != CONF_HUGEPAGE_NONE &&
        dir_check(c->memory.hugetlbfs, UINT_MAX, &err) != 0) {
        err_key(&err, "memory.hugetlbfs");
        server_find_error(f, &err);
    }
    if (dir_check(c->control.run_dir, 1, &err) != 0) {
        err_append(&err, ": there would be no control socket");
        err_key(&err, "control.run_dir");
        find_missing(c, &err, f);
    }
}

static void check_cores(const struct conf *c, const struct server_params *p,
                        struct server_findings *f)
{
    struct err err;
    const int fd = corelocks_open();
    for (unsigned i = 0; i < p->n_workers; i++) {
        if (corelocks_look_others(p->worker_cpu[i], &err) == 0)
            continue;
        err_key(&err, "cpu.workers");
        server_find_warning(f, &err);
    }
    for (unsigned i = 0; i < p->n_workers && fd >= 0; i++) {
        if (corelocks_look(fd, p->worker_cpu[i], &err) == 0)
            continue;
        err_key(&err, "cpu.workers");
        if (c->cpu.exclusive)
            server_find_error(f, &err);
        else
            server_find_warning(f, &err);
    }
    if (fd >= 0)
        close(fd);
}

static void check_log(const struct conf *c, struct server_findings *f)
{
    struct err err;
    if (log_target_try(c->control.log, &err) == 0)
        return;
    err_key(&err, "control.log");
    server_find_error(f, &err);
}

static void check_doubts(const struct server_params *p, struct server_findings *f)
{
    struct err err;
    if (server_adopt_doubt(p, &err))
        server_find_warning(f, &err);
    if (idle_mode_doubt(p, &err))
        server_find_warning(f, &err);
    for (unsigned i = 0; i < p->n_ports; i++)
        if (server_has_doubt(p, i, &err))
            server_find_warning(f, &err);
}

// ---- mount, HTTP

static void check_mount(const struct conf *c, struct server_findings *f)
{
    const char *at = c->control.mount;
    struct err err;
    if (at[0] == '\0')
        return;
    if (access("/dev/fuse", R_OK | W_OK) != 0)
        err_set(&err, "%s: /dev/fuse: %s (modprobe fuse)", at, strerror(errno));
    else if (ctl_mountpoint_check(at, &err) == 0)
        return;
    err_append(&err, ": there would be no tree");
    err_key(&err, "control.mount");
    find_missing(c, &err, f);
}

static int try_bind(const struct conf_endpoint *at)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(at->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at->port)};
    const bool is_v4 = ip_is_v4(&at->addr);
    const int yes = 1;
    v4.sin_addr.s_addr = htonl(is_v4 ? ip_to_v4(&at->addr) : 0);
    memcpy(&v6.sin6_addr, at->addr.b, sizeof(v6.sin6_addr));
    const int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (!is_v4)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
    const int rc =
        is_v4 ? bind(fd, (const void *)&v4, sizeof(v4)) : bind(fd, (const void *)&v6, sizeof(v6));
    const int why = rc == 0 ? 0 : -errno;
    close(fd);
    return why;
}

static void check_http(const struct conf *c, struct server_findings *f)
{
    const struct conf_endpoint *at = &c->control.http;
    char addr[IP_TEXT_BYTES];
    struct err err;
    const int rc = at->port == 0 ? 0 : try_bind(at);
    if (rc == 0)
        return;
    err_set(&err, "%s port %u: %s: there would be no HTTP", ip_text(&at->addr, addr), at->port,
            strerror(-rc));
    err_key(&err, "control.http");
    find_missing(c, &err, f);
}

// answerer: the id of the process that listens on the control socket. 0: none; -1: an unknown
// process.
static long answerer(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = 0};
    socklen_t n = sizeof(peer);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || path[0] == '\0')
        return 0;
    snprintf(at.sun_path, sizeof(at.sun_path), "%.*s", (int)sizeof(at.sun_path) - 1, path);
    const bool yes = connect(fd, (const void *)&at, sizeof(at)) == 0;
    const bool busy = !yes && errno == EAGAIN;
    if (yes && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0 || peer.pid == 0))
        peer.pid = -1;
    close(fd);
    return busy ? -1 : (long)peer.pid;
}

// A server that has the name and listens on the socket is the server of this configuration. A
// server that has only one of the two is another one, and conflicts with this configuration.
static bool is_running(const struct conf *c, const struct server_params *p,
                       struct server_findings *f)
{
    char path[PATH_BYTES];
    struct err err;
    const long owner = server_owner(p);
    conf_socket_path(c, path, sizeof(path));
    const long there = answerer(path);
    if (owner != 0 && (path[0] == '\0' || there == owner || there == -1)) {
        err_set(&err,
                "this server is already running (process %ld): devices, pages, mount and "
                "sockets are not checked",
                owner);
        server_find_warning(f, &err);
        return true;
    }
    if (owner != 0) {
        err_set(&err, "%s: the running process %ld has this name: stop it or choose another one",
                c->control.name, owner);
        err_key(&err, "control.name");
        server_find_error(f, &err);
    }
    if (there != 0) {
        err_set(&err,
                "%s: another server uses this socket: each server needs its own [control] "
                "socket or run_dir",
                path);
        err_key(&err, "control.socket");
        server_find_error(f, &err);
    }
    return false;
}

static void check_has_ports(const struct server_params *p, struct server_findings *f)
{
    struct err err;
    if (server_has_ports(p, &err) != 0)
        server_find_error(f, &err);
}

static void check_user(const struct conf *c, struct server_findings *f)
{
    struct identity who;
    struct err err;
    if (identity_find(&who, c->control.user, &err) == 0)
        return;
    err_key(&err, "control.user");
    server_find_error(f, &err);
}

// If it is unknown whether the server runs, the objects that it would use are not checked.
static void check_here(const struct conf *c, const struct server_params *p,
                       const struct conf_parts *parts, struct server_findings *f)
{
    check_log(c, f);
    if (!parts->identity || is_running(c, p, f)) {
        check_services(c, p, false, f);
        return;
    }
    check_user(c, f);
    check_directories(c, parts, f);
    if (parts->cpu)
        check_cores(c, p, f);
    check_services(c, p, true, f);
    if (parts->ports)
        check_has_ports(p, f);
    server_check_ports(p, f);
    check_doubts(p, f);
    if (parts->memory)
        server_check_memory(p, f);
    if (parts->mount)
        check_mount(c, f);
    if (parts->http)
        check_http(c, f);
}

// root_may: whether the error is one of permissions that root does not have.
static bool root_may(const char *line)
{
    return geteuid() != 0 &&
           (strstr(line, strerror(EACCES)) != NULL || strstr(line, strerror(EPERM)) != NULL);
}

// Prints the lines. Returns how many of them would also fail for root.
static unsigned print_lines(const char *before, struct text *t, FILE *to)
{
    unsigned n = 0;
    char *save = NULL, *line = t->len == 0 ? NULL : strtok_r(t->data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        n += !root_may(line);
        fprintf(to, "%s%s\n", root_may(line) ? "warning: not root: " : before, line);
    }
    return n;
}

unsigned ctl_check(const struct conf *c, const struct server_params *p, struct conf_places *places,
                   const struct conf_parts *parts, FILE *to)
{
    static const struct conf_parts all = {.identity = true,
                                          .cpu = true,
                                          .memory = true,
                                          .hugetlbfs = true,
                                          .mount = true,
                                          .http = true,
                                          .ports = true};
    struct server_findings f;
    server_findings_init(&f, places);
    check_here(c, p, parts != NULL ? parts : &all, &f);
    const unsigned n = print_lines("error: ", &f.errors, to);
    print_lines("warning: ", &f.warnings, to);
    server_findings_free(&f);
    return n;
}
