// SPDX-License-Identifier: BSD-3-Clause
// lockfile.h: a file that a process holds locked (flock) as long as it lives, however it ends, with
// its process number in it for those who find it taken.
#pragma once
#include <stdbool.h>

// lockfile_open: a file of this user alone (0600) in a directory that may be writable by all: what
// another user put there goes, or he could stop a start. -1 with errno; EEXIST: it could not be
// removed.
int lockfile_open(const char *path);

// lockfile_take: locks fd and returns it. wait: until it can be had. -1: closed, and errno says why
// (EWOULDBLOCK: its owner lives). fd -1, of an open that failed: -1, errno stays.
int lockfile_take(int fd, bool wait);

// lockfile_sign: writes this process's number into the locked file. -1: errno says why.
int lockfile_sign(int fd);

// lockfile_owner: the number in the file that fd reads, which is closed; 0: none. fd -1: 0.
long lockfile_owner(int fd);
