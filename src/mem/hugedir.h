// SPDX-License-Identifier: BSD-3-Clause
// hugedir.h: a directory with one hugetlbfs for each page size, and the owners of the files in it.
//
//   DIR/NAME.lock   locked (flock) by the living owner, with its pid; the kernel unlocks it when
//                   the process ends, also by SIGKILL
//   DIR/.made       how many components of DIR were created here; the last process removes them
//   DIR/2M, DIR/1G  hugetlbfs with one file NAME for each owner. A process mounts it if it is not
//                   mounted (source "c10m"); the last process unmounts it
#pragma once
#include "base/base.h"
#include "base/err.h"

enum { HUGEDIR_PATH_BYTES = 256, HUGEDIR_NAME_BYTES = 64 };

// /run/lock/c10m.lock (0600, never removed) is locked for a few system calls while a process opens,
// mounts or closes. Only root can open it.

struct hugedir {
    char dir[HUGEDIR_PATH_BYTES];
    char name[HUGEDIR_NAME_BYTES];
    int lock_fd;
    unsigned removed;  // files of dead owners that hugedir_open() removed
};

// hugedir_open: creates DIR, removes all files of dead owners, which frees their pages, and locks
// NAME. -1: NAME belongs to a living process (*e has its pid), or a file operation failed; nothing
// is left behind.
int hugedir_open(struct hugedir *d, const char *dir, const char *name, struct err *e);

// hugedir_dead_bytes: bytes in pages of page_bytes that files of dead owners hold below DIR, of
// ours and of DPDK's, which the start of a server frees. 0: none, or this user may not look.
uint64_t hugedir_dead_bytes(const char *dir, size_t page_bytes);

// hugedir_create: creates an empty file NAME on the hugetlbfs of page_bytes (PAGE_2M, PAGE_1G),
// which it mounts if needed (as root). Returns a descriptor, or -1.
int hugedir_create(struct hugedir *d, size_t page_bytes, struct err *e);

// hugedir_close: removes the files of NAME and of dead owners. The last living process also
// unmounts and removes what was mounted and created here.
void hugedir_close(struct hugedir *d);

// hugedir_abandon: the same while the files are still mapped, for a process that is about to end.
// The kernel frees the pages and the mount when it does.
void hugedir_abandon(struct hugedir *d);
