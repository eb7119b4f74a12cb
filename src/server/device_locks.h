// SPDX-License-Identifier: BSD-3-Clause
// device_locks.h: records which process has which device: a kernel interface of a network
// namespace, or a PCI device. Each has the file /run/lock/c10m-UID.DEVICE, locked (flock) by the
// process that uses it and removed by that at its end; of a killed process the file is left and the
// lock is not. Only this user can open the files, so servers of two users do not see each other. A
// TAP that the server creates has a mark of its own (drivers/tap_mark.h). Control thread.
#pragma once
#include "server/server.h"

enum { DEVICE_LOCK_PATH_BYTES = 96 };

struct device_locks {
    unsigned n;
    struct device_lock {
        int fd;
        char path[DEVICE_LOCK_PATH_BYTES];
    } at[SERVER_DEVICES_MAX];
};

// device_locks_take: locks the devices of all ports of p. -1: another living process has one; *err
// names it. What was locked stays so until device_locks_release(). A file that cannot be made locks
// nothing, and a server starts without it.
int device_locks_take(struct device_locks *l, const struct server_params *p, struct err *err);

// device_locks_look: whether another process has the device of this port: -1 and *err. Locks
// nothing.
int device_locks_look(const struct port_params *device, struct err *err);

// device_locks_clean: removes the files that no process has locked, of this user, or of all users
// if this process is root's. said: gets a line for each; dry: for those that would be removed.
void device_locks_clean(bool dry, struct text *said);

// device_locks_release: the devices have been closed. More than once does nothing.
void device_locks_release(struct device_locks *l);
