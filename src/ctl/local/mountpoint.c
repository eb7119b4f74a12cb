// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FSTYPE_BYTES = 64 };

// dirs_make: mkdir -p of path. *made_from: as in struct ctl_mountpoint. Returns 0 or -errno.
static int dirs_make(char *path, size_t *made_from)
{
    *made_from = 0;
    for (char *slash = path; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        int rc = mkdir(path, 0755) == 0 ? 0 : -errno;
        if (rc == 0 && *made_from == 0)
            *made_from = strlen(path);
        if (slash != NULL)
            *slash = '/';
        if (rc != 0 && rc != -EEXIST)
            return rc;
    }
    return 0;
}

// dirs_remove: rmdir of path and of its parents down to length made_from. Stops at a directory that
// cannot be removed.
static void dirs_remove(char *path, size_t made_from)
{
    while (made_from > 0 && strlen(path) >= made_from) {
        rmdir(path);
        *strrchr(path, '/') = '\0';
    }
}

// unescape: decodes \OOO (octal) of mountinfo in place (proc(5)).
static void unescape(char *s)
{
    char *to = s;
    for (; *s != '\0'; s++, to++) {
        bool escaped = s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
                       s[3] >= '0' && s[3] <= '7';
        *to = escaped ? (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0')) : *s;
        s += escaped ? 3 : 0;
    }
    *to = '\0';
}

// mount_at: whether something is mounted exactly on `path`, and the type of the topmost mount.
// Reads mountinfo, because accessing the path would ask the process that serves the mount.
static bool mount_at(const char *path, char type[FSTYPE_BYTES])
{
    bool found = false;
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f != NULL && getline(&line, &room, f) > 0) {
        char *save, *at = NULL, *word = strtok_r(line, " ", &save);
        for (int i = 0; word != NULL && strcmp(word, "-") != 0; i++) {
            at = i == 4 ? word : at;
            word = strtok_r(NULL, " ", &save);
        }
        word = word == NULL ? NULL : strtok_r(NULL, " ", &save);
        if (at == NULL || word == NULL)
            continue;
        unescape(at);
        if (strcmp(at, path) == 0) {
            snprintf(type, FSTYPE_BYTES, "%s", word);
            found = true;
        }
    }
    free(line);
    if (f != NULL)
        fclose(f);
    return found;
}

// probe: a stat that hangs if the process that serves the mount hangs, so a separate thread makes
// it. If it hangs, the thread is abandoned and ends with that process or with this one.
struct probe {
    char path[PATH_MAX];
    int result;        // 0 or errno; read after the thread has ended
    atomic_bool left;  // set by the first one to finish, thread or caller; the second one frees
};

static bool probe_leave(struct probe *p)
{
    return atomic_exchange_explicit(&p->left, true, memory_order_acq_rel);
}

static void *probe_main(void *arg)
{
    struct probe *p = arg;
    struct stat st;
    p->result = stat(p->path, &st) == 0 ? 0 : errno;
    if (probe_leave(p))
        free(p);
    return NULL;
}

// mount_probe: returns 0 (the mount answers), ENOTCONN (no process serves it), ETIMEDOUT, or
// another errno.
static int mount_probe(const char *path)
{
    pthread_t thread;
    struct timespec until;
    struct probe *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return ENOMEM;
    snprintf(p->path, sizeof(p->path), "%s", path);
    int rc = pthread_create(&thread, NULL, probe_main, p);
    if (rc != 0) {
        free(p);
        return rc;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOUNT_PROBE_MS / 1000;
    bool late = pthread_timedjoin_np(thread, NULL, &until) != 0;
    if (late)
        pthread_detach(thread);
    if (!probe_leave(p))
        return ETIMEDOUT;
    rc = late ? ETIMEDOUT : p->result;
    free(p);
    return rc;
}

// stale_clear: detaches all stale FUSE mounts from path. Returns how many, or -1 with *e.
static int stale_clear(const char *path, struct err *e)
{
    char type[FSTYPE_BYTES];
    int i = 0;
    for (; i < MOUNTS_STALE_MAX && mount_at(path, type); i++) {
        if (strncmp(type, "fuse", 4) != 0)
            return err_set(e, "%s: a %s is mounted there", path, type);
        int rc = mount_probe(path);
        if (rc == 0)
            return err_set(e, "%s: another process serves this mount: stop it or use another path",
                           path);
        if (rc == ETIMEDOUT)
            return err_set(e, "%s: the %s mount there does not answer: stop its process", path,
                           type);
        if (rc != ENOTCONN)
            return err_set(e, "%s: %s", path, strerror(rc));
        if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
            return err_set(e, "%s: the mount of a killed server cannot be detached: %s", path,
                           strerror(errno));
    }
    return mount_at(path, type)
               ? err_set(e, "%s: more than %d stale mounts", path, MOUNTS_STALE_MAX)
               : i;
}

static int empty_check(const char *path, struct err *e)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return err_set(e, "%s: %s", path, strerror(errno));
    int n = 0;
    while (n <= 2 && readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n <= 2 ? 0 : err_set(e, "%s: not empty; a mount would hide its contents", path);
}

// resolve: sets mp->path to mp->given with symlinks resolved in all names but the last. The last
// name is not resolved, because it may be a mount, but must not be a symlink; readlink does not
// access the mount.
static int resolve(struct ctl_mountpoint *mp, struct err *e)
{
    char above[PATH_MAX], target[2];
    const char *name = strrchr(mp->given, '/') + 1;
    memcpy(above, mp->given, sizeof(above));
    above[name - mp->given] = '\0';
    if (readlink(mp->given, target, sizeof(target)) >= 0)
        return err_set(e, "%s: is a symlink; use the path of the directory", mp->given);
    if (realpath(above, mp->path) == NULL)
        return err_set(e, "%s: %s", above, strerror(errno));
    size_t n = strlen(mp->path), name_len = strlen(name);
    if (n + 1 + name_len >= sizeof(mp->path))
        return err_set(e, "%s: path too long", mp->given);
    if (n > 1)
        mp->path[n++] = '/';
    memcpy(mp->path + n, name, name_len + 1);
    return 0;
}

static int given_set(struct ctl_mountpoint *mp, const char *path, struct err *e)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (path[0] != '/' || n < 2 || n >= sizeof(mp->given))
        return err_set(e, "%.64s: expected an absolute path below / as mount point", path);
    memcpy(mp->given, path, n);
    mp->given[n] = '\0';
    const char *name = strrchr(mp->given, '/') + 1;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return err_set(e, "%s: a mount point must end with a name", mp->given);
    return 0;
}

int ctl_mountpoint_prepare(struct ctl_mountpoint *mp, const char *path, struct err *e)
{
    if (given_set(mp, path, e) != 0)
        return -1;
    int rc = dirs_make(mp->given, &mp->made_from);
    if (rc != 0)
        err_set(e, "%s: cannot be created: %s", mp->given, strerror(-rc));
    if (rc == 0)
        rc = resolve(mp, e);
    if (rc == 0)
        rc = stale_clear(mp->path, e);
    if (rc > 0)  // left behind by the server that was killed
        mp->made_from = strlen(mp->given);
    if (rc >= 0)
        rc = empty_check(mp->path, e);
    if (rc != 0)
        dirs_remove(mp->given, mp->made_from);
    return rc == 0 ? 0 : -1;
}

// can_make: whether `path` is a directory, or can be created. Returns 0, or -1 with *e.
static int can_make(const char *path, struct err *e)
{
    char at[PATH_MAX];
    struct stat st;
    snprintf(at, sizeof(at), "%s", path);
    while (stat(at, &st) != 0) {
        char *slash = strrchr(at, '/');
        if (errno != ENOENT || slash == NULL)
            return err_set(e, "%s: cannot be created: %s", path, strerror(errno));
        slash[slash == at] = '\0';
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(e, "%s: cannot be created: %s", path, strerror(ENOTDIR));
    if (strcmp(at, path) != 0 && access(at, W_OK | X_OK) != 0)
        return err_set(e, "%s: cannot be created: %s", path, strerror(errno));
    return 0;
}

int ctl_mountpoint_check(const char *path, struct err *e)
{
    struct ctl_mountpoint mp = {.made_from = 0};
    char type[FSTYPE_BYTES], above[PATH_MAX];
    struct stat st;
    if (given_set(&mp, path, e) != 0)
        return -1;
    snprintf(above, sizeof(above), "%s", mp.given);
    *strrchr(above, '/') = '\0';
    if (above[0] != '\0' && stat(above, &st) != 0)
        return can_make(mp.given, e);
    if (resolve(&mp, e) != 0)
        return -1;
    if (mount_at(mp.path, type)) {
        const int rc = strncmp(type, "fuse", 4) != 0 ? 0 : mount_probe(mp.path);
        if (rc == ENOTCONN)  // of a killed server; ctl_mountpoint_prepare() would detach it
            return 0;
        return err_set(e, "%s: a %s is mounted there", mp.path, type);
    }
    return lstat(mp.path, &st) == 0 ? empty_check(mp.path, e) : can_make(mp.path, e);
}

void ctl_mountpoint_undo(struct ctl_mountpoint *mp)
{
    stale_clear(mp->path, NULL);
    dirs_remove(mp->given, mp->made_from);
}

int ctl_mountpoint_clear(const char *path, struct err *e)
{
    struct ctl_mountpoint mp = {.made_from = 0};
    char type[FSTYPE_BYTES];
    if (given_set(&mp, path, e) != 0)
        return -1;
    // Parent directories may be missing. Only stale mounts are detached.
    if (resolve(&mp, NULL) != 0 || !mount_at(mp.path, type))
        return 0;
    return stale_clear(mp.path, e);
}

bool ctl_mountpoint_is_dead(const char *path)
{
    struct ctl_mountpoint mp = {.made_from = 0};
    char type[FSTYPE_BYTES];
    return given_set(&mp, path, NULL) == 0 && resolve(&mp, NULL) == 0 && mount_at(mp.path, type) &&
           strncmp(type, "fuse", 4) == 0 && mount_probe(mp.path) == ENOTCONN;
}
