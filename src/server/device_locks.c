// SPDX-License-Identifier: BSD-3-Clause
#include "server/device_locks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lockfile.h"
#include "base/pci_address.h"

#define LOCKS "/run/lock"

// The file may be removed by its last owner between open and lock. device_locks_look() of another
// process locks the file for two system calls, which last longer if the process loses its CPU
// between them: a server that finds the file locked tries again before it names an owner.
enum { TRIES = 8, HELD_TRIES = 20, HELD_PAUSE_US = 10000 };

// path_of: of the device of a port. False: nobody else could want it, or it has a mark of its own.
static bool path_of(const struct port_params *p, char path[DEVICE_LOCK_PATH_BYTES])
{
    struct stat ns;
    char address[PCI_ADDRESS_BYTES];
    const unsigned uid = (unsigned)geteuid();
    const enum driver_device kind = driver_device(p->driver);
    if (p->device == NULL || p->device[0] == '\0' || strchr(p->device, '/') != NULL)
        return false;
    if (kind == DEVICE_PCI && strncmp(p->device, "net_", 4) != 0) {
        pci_address_full(p->device, address);
        snprintf(path, DEVICE_LOCK_PATH_BYTES, LOCKS "/c10m-%u.%.40s", uid, address);
        return true;
    }
    if (kind != DEVICE_INTERFACE || (strcmp(p->driver, "tap") == 0 && !p->attach) ||
        stat("/proc/self/ns/net", &ns) != 0)
        return false;
    snprintf(path, DEVICE_LOCK_PATH_BYTES, LOCKS "/c10m-%u.%.16s@%lu", uid, p->device,
             (unsigned long)ns.st_ino);
    return true;
}

static int taken(const struct port_params *p, const char *path, struct err *err)
{
    err_set(
        err,
        "port %s: device %s: the running server of process %ld has it: each server needs one of "
        "its own",
        p->name, p->device,
        lockfile_owner(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)));
    return err_key(err, "port.%s.device", p->name);
}

static bool is_at(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

// lock: the descriptor of the locked file; -1 with errno (EWOULDBLOCK: its owner lives).
static int lock(const char *path)
{
    unsigned removed = 0, held = 0;
    while (removed < TRIES) {
        const int fd = lockfile_take(lockfile_open(path), false);
        if (fd >= 0 && is_at(fd, path))
            return fd;
        if (fd >= 0) {
            close(fd);
            removed++;
        } else if (errno != EWOULDBLOCK || ++held == HELD_TRIES) {
            return -1;
        } else {
            usleep(HELD_PAUSE_US);
        }
    }
    errno = ENOENT;
    return -1;
}

static int take_devices(struct device_locks *l, const struct server_port_params *pp,
                        struct err *err)
{
    const struct port_params *port;
    for (unsigned k = 0; (port = server_device(pp, k)) != NULL; k++) {
        CHECK(l->n < ARRAY_LEN(l->at));
        struct device_lock *at = &l->at[l->n];
        if (!path_of(port, at->path))
            continue;
        at->fd = lock(at->path);
        if (at->fd < 0 && errno == EWOULDBLOCK)
            return taken(port, at->path, err);
        if (at->fd < 0)
            continue;
        lockfile_sign(at->fd);
        l->n++;
    }
    return 0;
}

int device_locks_take(struct device_locks *l, const struct server_params *p, struct err *err)
{
    *l = (struct device_locks){.n = 0};
    for (unsigned i = 0; i < p->n_ports; i++)
        if (take_devices(l, &p->ports[i], err) != 0)
            return -1;
    return 0;
}

int device_locks_look(const struct port_params *device, struct err *err)
{
    char path[DEVICE_LOCK_PATH_BYTES];
    if (!path_of(device, path))
        return 0;
    // Anybody may put something under this name: a FIFO would block, a file of others say nothing.
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                      st.st_uid == geteuid() && (st.st_mode & 077) == 0;
    const bool held = ours && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return held ? taken(device, path, err) : 0;
}

void device_locks_release(struct device_locks *l)
{
    while (l->n > 0) {
        struct device_lock *at = &l->at[--l->n];
        unlink(at->path);
        close(at->fd);
    }
}

// is_device_lock: c10m-UID.DEVICE; not c10m-UID.cores and c10m-UID.lock, which are never removed.
static bool is_device_lock(const char *name)
{
    unsigned uid;
    int n = 0;
    if (sscanf(name, "c10m-%u.%n", &uid, &n) != 1 || n == 0)
        return false;
    const bool ours = geteuid() == 0 || uid == geteuid();
    return ours && strcmp(name + n, "cores") != 0 && strcmp(name + n, "lock") != 0;
}

// remove_free: the file, unless a process has locked it or another file has taken its place.
static bool remove_free(const char *path, bool dry)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool is_free = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                         flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, path);
    const bool removed = is_free && (dry || unlink(path) == 0);
    if (fd >= 0)
        close(fd);
    return removed;
}

void device_locks_clean(bool dry, struct text *said)
{
    char path[sizeof(LOCKS) + 256];
    DIR *d = opendir(LOCKS);
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof(path), LOCKS "/%s", e->d_name);
        if (is_device_lock(e->d_name) && remove_free(path, dry))
            text_printf(said, "%s lock %s\n", dry ? "would remove" : "removed", path);
    }
    if (d != NULL)
        closedir(d);
}
