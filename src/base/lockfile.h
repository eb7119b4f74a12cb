// SPDX-License-Identifier: BSD-3-Clause
// lockfile.h: a file that a process locks (flock) while it lives. It contains the pid of the owner.
#pragma once
#include <stdbool.h>

// lockfile_open: opens a file of this user (mode 0600), also in a directory that others can write.
// A file of another user is removed: it could prevent a start. -1 with errno; EEXIST: it could not
// be removed. A container without init has no /run/lock: the last directory of path is created.
int lockfile_open(const char *path);

// lockfile_take: locks fd and returns it. wait: until the lock is free. -1: fd was closed, errno
// says why (EWOULDBLOCK: the owner lives). fd -1: returns -1 and leaves errno.
int lockfile_take(int fd, bool wait);

// lockfile_sign: writes the pid of this process into the locked file. -1 with errno.
int lockfile_sign(int fd);

// lockfile_owner: reads the pid from fd and closes fd. 0: none, or fd is -1.
long lockfile_owner(int fd);
