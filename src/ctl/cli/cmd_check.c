// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_check.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/corelocks.h"
#include "server/server_check.h"

enum { PATH_BYTES = 2 * CONF_PATH_BYTES };

// ---- files that are not there before are not there after

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

// dir_check: `path` is a directory that files can be made in, or can be made.
static void dir_check(const char *key, const char *path, struct server_findings *f)
{
    char at[PATH_BYTES];
    struct stat st;
    snprintf(at, sizeof(at), "%s", path);
    while (stat(at, &st) != 0) {
        char *slash = strrchr(at, '/');
        if (errno != ENOENT || slash == NULL) {
            text_printf(&f->errors, "%s = %s: %s\n", key, path, strerror(errno));
            return;
        }
        slash[slash == at] = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        text_printf(&f->errors, "%s = %s: %s is no directory\n", key, path, at);
    else if (access(at, W_OK | X_OK) != 0)
        text_printf(&f->errors, "%s = %s: %s: %s\n", key, path, at, strerror(errno));
}

static void check_directories(const struct conf *c, struct server_findings *f)
{
    dir_check("[control] run_dir", c->control.run_dir, f);
    if (c->memory.hugepage != CONF_HUGEPAGE_NONE)
        dir_check("[memory] hugetlbfs", c->memory.hugetlbfs, f);
}

static void check_cores(const struct conf *c, const struct server_params *p,
                        struct server_findings *f)
{
    struct err err;
    const int fd = corelocks_open();
    for (unsigned i = 0; i < p->n_workers && fd >= 0; i++)
        if (corelocks_look(fd, p->worker_cpu[i], &err) != 0)
            text_printf(c->cpu.exclusive ? &f->errors : &f->warnings, "%s\n", err.text);
    if (fd >= 0)
        close(fd);
}

// ---- doors: without them a server goes on, with a warning

static void check_mount(const struct conf *c, struct server_findings *f)
{
    if (c->control.mount[0] != '\0' && access("/dev/fuse", R_OK | W_OK) != 0)
        text_printf(&f->warnings, "[control] mount = %s: /dev/fuse: %s (modprobe fuse)\n",
                    c->control.mount, strerror(errno));
}

static void check_http(const struct conf *c, struct server_findings *f)
{
    const struct conf_endpoint *at = &c->control.http;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(at->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at->port)};
    const bool is_v4 = ip_is_v4(&at->addr);
    const int yes = 1;
    if (at->port == 0)
        return;
    v4.sin_addr.s_addr = htonl(is_v4 ? ip_to_v4(&at->addr) : 0);
    memcpy(&v6.sin6_addr, at->addr.b, sizeof(v6.sin6_addr));
    const int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    const int rc = fd < 0  ? -1
                   : is_v4 ? bind(fd, (const void *)&v4, sizeof(v4))
                           : bind(fd, (const void *)&v6, sizeof(v6));
    if (rc != 0)
        text_printf(&f->warnings, "[control] http: port %u: %s: there would be no HTTP\n", at->port,
                    strerror(errno));
    if (fd >= 0)
        close(fd);
}

// answers: somebody listens at the control socket.
static bool answers(const struct conf *c)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char path[PATH_BYTES];
    conf_socket_path(c, path, sizeof(path));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    snprintf(at.sun_path, sizeof(at.sun_path), "%.*s", (int)sizeof(at.sun_path) - 1, path);
    const bool yes =
        path[0] != '\0' && (connect(fd, (const void *)&at, sizeof(at)) == 0 || errno == EAGAIN);
    close(fd);
    return yes;
}

static void check_here(const struct conf *c, const struct server_params *p,
                       struct server_findings *f)
{
    const long owner = server_owner(p);
    if (owner != 0 || answers(c)) {
        text_printf(&f->warnings,
                    "a server of this name or run_dir runs already: devices, pages and doors are "
                    "not looked at\n");
        check_services(c, p, false, f);
        return;
    }
    check_directories(c, f);
    check_cores(c, p, f);
    check_services(c, p, true, f);
    server_check_machine(p, f);
    check_mount(c, f);
    check_http(c, f);
}

static unsigned print_lines(const char *before, struct text *t, FILE *to)
{
    unsigned n = 0;
    char *save = NULL, *line = t->len == 0 ? NULL : strtok_r(t->data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save), n++)
        fprintf(to, "%s%s\n", before, line);
    return n;
}

unsigned ctl_check(const struct conf *c, const struct server_params *p, FILE *to)
{
    struct server_findings f;
    server_findings_init(&f);
    check_here(c, p, &f);
    const bool is_root = geteuid() == 0;
    const unsigned n = print_lines(is_root ? "error: " : "warning: not root: ", &f.errors, to);
    print_lines("warning: ", &f.warnings, to);
    server_findings_free(&f);
    return is_root ? n : 0;
}
