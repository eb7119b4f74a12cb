// SPDX-License-Identifier: BSD-3-Clause
// corelocks.h: which process's workers have which core: one file for all servers of a user,
// /run/lock/c10m-UID.cores, never removed. A core is a record of it, locked (fcntl) as long as its
// process lives, however it ends; in it stand number and name of that process. Its user alone can
// open the file, so servers of two users do not see each other.
#pragma once
#include "base/err.h"

enum { CORELOCKS_CORE_MAX = 1023, CORELOCKS_NAME_BYTES = 48 };

// corelocks_open: a descriptor, -1 with errno. Once in a process at a time: closing any descriptor
// of the file gives back what the process has locked in it.
int corelocks_open(void);

// corelocks_take: core is this process's, called name, from here on until fd is closed. -1: another
// living process has it, or the file cannot be written (*err says which).
int corelocks_take(int fd, unsigned core, const char *name, struct err *err);

// corelocks_look: the same without taking it.
int corelocks_look(int fd, unsigned core, struct err *err);
