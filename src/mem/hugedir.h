// SPDX-License-Identifier: BSD-3-Clause
// hugedir.h: a directory of ours with one hugetlbfs per page size, and who owns which file in it.
//
//   DIR/NAME.lock   flock of the living owner, its pid as text; the kernel lets go of it at kill -9
//   DIR/.made     how many components of DIR one of us made: whoever leaves last removes them
//   DIR/2M, DIR/1G  hugetlbfs, mounted by us where it is not (source "c10m": whoever leaves last
//                   unmounts), with one file NAME per owner
#pragma once
#include "base/base.h"
#include "base/err.h"

enum { HUGEDIR_PATH_BYTES = 256, HUGEDIR_NAME_BYTES = 64 };

// /run/lock/c10m.lock (0600, never removed) is locked while one of us comes, mounts or goes, for a
// few system calls: root alone can open it.

struct hugedir {
    char dir[HUGEDIR_PATH_BYTES];
    char name[HUGEDIR_NAME_BYTES];
    int lock_fd;
    unsigned removed;  // files of dead owners that open removed
};

// hugedir_open: makes DIR, removes the files of dead owners of any name (their pages are free
// again), and takes NAME. -1: NAME belongs to a living process (*e names its pid), or a file
// operation failed; nothing is left behind.
int hugedir_open(struct hugedir *d, const char *dir, const char *name, struct err *e);

// hugedir_create: an empty file NAME on the hugetlbfs of page_bytes (PAGE_2M, PAGE_1G), mounted if
// it is not: needs root then. Returns its descriptor, or -1.
int hugedir_create(struct hugedir *d, size_t page_bytes, struct err *e);

// hugedir_close: removes the files of NAME and of dead owners; the last living one unmounts what we
// mounted and removes the directories that we made.
void hugedir_close(struct hugedir *d);

// hugedir_abandon: the same while the files are still mapped: the kernel takes their pages, and the
// mount, when the process ends, which is to be at once.
void hugedir_abandon(struct hugedir *d);
