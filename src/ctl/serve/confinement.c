// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/confinement.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/log.h"
#include "confine/call_filter.h"
#include "confine/violation.h"
#include "ctl/serve/allowed_files.h"
#include "server/worker_start.h"

enum { NAMES_BYTES = 256, DOTS = 2 };

int confinement_prepare(struct confinement *k, const struct ctl_conf *from,
                        const struct server_params *p, struct err *err)
{
    const char *user = from->conf->control.user;
    *k = (struct confinement){.cleaner = {.fd = -1}, .from = from};
    if (identity_find(&k->who, user, err) != 0)
        return err_key(err, "control.user");
    if (k->who.changes || k->who.lowers)
        return cleaner_start(&k->cleaner, from->conf, p, err);
    if (geteuid() == 0 && strcmp(user, IDENTITY_AUTO) == 0)
        log_line(LOG_INFO, "there is no user %s: the server stays root ([control] user)",
                 IDENTITY_USER);
    return 0;
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (d != NULL && n <= DOTS && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return d != NULL && n <= DOTS;
}

void confinement_run_dir(struct confinement *k, const char *run_dir)
{
    const bool made = mkdir(run_dir, 0755) == 0;
    if (made)
        chmod(run_dir, 0755);  // everybody may look at the tree, whatever the umask
    if (made || is_empty(run_dir))
        k->run_dir = run_dir;
}

// give_files: of run_dir only a directory of the server's own. One that was in use before has to be
// the user's already, as that of a killed server is.
static int give_files(const struct confinement *k, const struct server *s, struct err *err)
{
    if (k->run_dir != NULL && lchown(k->run_dir, k->who.uid, k->who.gid) != 0)
        return err_set(err, "%s: it cannot be given to the user %s: %s", k->run_dir, k->who.name,
                       strerror(errno));
    return server_give(s, k->who.uid, k->who.gid, err);
}

static int become_user(struct confinement *k, const struct server *s, struct err *err)
{
    const uint64_t kept = worker_capabilities(server_params_of(s));
    char names[NAMES_BYTES];
    if (k->who.changes && give_files(k, s, err) != 0)
        return -1;
    cleaner_arm(&k->cleaner);
    k->no_root = true;
    if (identity_take(&k->who, kept, err) != 0)
        return -1;
    identity_capabilities(kept, names, sizeof(names));
    log_line(LOG_INFO, "running as user %u; capabilities of the control thread: at most %s",
             (unsigned)k->who.uid, names);
    return 0;
}

// give_up_root: the rules for files are made as root, who can look into every directory.
static int give_up_root(struct confinement *k, const struct server *s, struct err *err)
{
    struct file_rules rules = {.fd = -1};
    const bool wanted = k->from->conf->control.landlock;
    if (!k->who.changes && !k->who.lowers)
        return 0;
    if (wanted && allowed_files(&rules, k->from->conf, k->from->file, err) != 0)
        return -1;
    if (wanted && rules.version == 0)
        log_line(LOG_INFO, "this kernel has no Landlock: files are not restricted");
    if (become_user(k, s, err) == 0 && file_rules_obey(&rules, err) == 0)
        return 0;
    file_rules_close(&rules);
    return -1;
}

static void control_place(const void *arg, char *text, size_t n)
{
    (void)arg;
    snprintf(text, n, "control thread");
}

// needs_program: whether the end of the process needs fusermount3, a program with root's rights.
static bool needs_program(const struct confinement *k)
{
    if (k->no_root || geteuid() == 0 || k->from->conf->control.mount[0] == '\0')
        return false;
    log_line(LOG_INFO, "seccomp: only workers have a filter, because fusermount3 is to unmount the "
                       "tree: [control] mount = (empty) avoids that");
    return true;
}

static int filter_calls(const struct confinement *k, const struct server_params *p, struct err *err)
{
    static const struct violation_place place = {control_place, NULL};
    // At the end: the kernel refuses it to who is not root, and then the cleaner does it.
    static const int unmounting[] = {SYS_umount2};
    struct call_list except = {.n = 0};
    struct call_filter filter = {0};
    if (p->calls == CALLS_OFF)
        return 0;
    violation_catch();
    if (needs_program(k))
        return 0;
    worker_control_calls(p, &except);
    call_list_add(&except, unmounting, ARRAY_LEN(unmounting));
    if (call_filter_control(&filter, &except, p->calls, err) != 0)
        return -1;
    violation_accept(&place);
    const int rc = call_filter_load(&filter, true);
    call_filter_free(&filter);
    return rc == 0 ? 0 : err_set(err, "seccomp: the filter was not loaded: %s", strerror(-rc));
}

int confinement_begin(struct confinement *k, const struct server *s, struct err *err)
{
    return give_up_root(k, s, err) != 0 ? -1 : filter_calls(k, server_params_of(s), err);
}

void confinement_end(struct confinement *k, bool keeps)
{
    cleaner_finish(&k->cleaner, keeps);
}
