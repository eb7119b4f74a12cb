// SPDX-License-Identifier: BSD-3-Clause
// corelocks.h: records which process has which core. All servers of a user share one file,
// /run/lock/c10m-UID.cores, which is never removed. Each core has a record in it: pid and name of
// its process, locked with fcntl while that process lives. Only this user can open the file:
// whoever can open one can lock it, and could keep others from starting for ever. So a user's
// server does not see those of other users. Root can open all files, and is told of them, but no
// user but root itself can keep root from a core.
#pragma once
#include "base/err.h"

enum { CORELOCKS_CORE_MAX = 1023, CORELOCKS_NAME_BYTES = 48 };

// corelocks_open: opens the file. Returns a descriptor, or -1 with errno. A process opens it only
// once at a time: closing any descriptor of the file releases all its locks.
int corelocks_open(void);

// corelocks_take: locks `core` for this process under `name`, until fd is closed. -1: another
// living process has it, or the file cannot be written; *err says which.
int corelocks_take(int fd, unsigned core, const char *name, struct err *err);

// corelocks_look: as corelocks_take(), but does not lock the core.
int corelocks_look(int fd, unsigned core, struct err *err);

// corelocks_look_others: whether a server of another user has the core, as far as this process may
// see. -1: *err names it. No reason not to start: a user may say what he likes.
int corelocks_look_others(unsigned core, struct err *err);
