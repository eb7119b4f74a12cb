// SPDX-License-Identifier: BSD-3-Clause
// hugedir.h: a directory with one hugetlbfs for each page size, and the owners of the files in it.
//
//   DIR/NAME.lock   locked (flock) by the living owner, with its pid; the kernel unlocks it when
//                   the process ends, also by SIGKILL
//   DIR/NAME.keep   the files of NAME stay when its owner dies, for the next start of NAME
//   DIR/.made       how many components of DIR were created here; the last process removes them
//   DIR/2M, DIR/1G  hugetlbfs with one file NAME for each owner, and perhaps NAME.next, which
//                   replaces it. A process mounts it if it is not mounted (source "c10m"); the last
//                   process unmounts it
//   DIR/4K          tmpfs, in the same way, for what outlives a process in common pages
#pragma once
#include "base/base.h"
#include "base/err.h"

enum { HUGEDIR_PATH_BYTES = 256, HUGEDIR_NAME_BYTES = 64 };

// /run/lock/c10m.lock, for users other than root /run/lock/c10m-UID.lock (0600, never removed), is
// locked for a few system calls while a process opens, mounts or closes.

struct hugedir {
    char dir[HUGEDIR_PATH_BYTES];
    char name[HUGEDIR_NAME_BYTES];
    int lock_fd;
    unsigned removed;  // files of dead owners that hugedir_open() removed
    bool keep;         // with hugedir_keep()
};

// hugedir_open: creates DIR, removes the files of dead owners that are not kept, which frees their
// pages, and locks NAME. keep: what a dead owner of NAME kept stays as well; else it is removed.
// -1: NAME belongs to a living process (*e has its pid), or a file operation failed; nothing is
// left behind.
int hugedir_open(struct hugedir *d, const char *dir, const char *name, bool keep, struct err *e);

// hugedir_keep: from now on the file NAME outlives this process, also one that is killed.
// hugedir_drop: removes the file NAME, and it is not kept any more.
int hugedir_keep(struct hugedir *d, struct err *e);
void hugedir_drop(struct hugedir *d);

// hugedir_kept: a file that a dead owner kept: its pages, its length, and how much of that is in
// memory. What is not, the kernel would provide anew, or end the process by SIGBUS.
struct hugedir_kept {
    size_t page_bytes;
    uint64_t bytes, held_bytes;
};

// hugedir_reopen: opens the file NAME that a dead owner kept. Returns a descriptor, or -1: there is
// none. hugedir_look: opens it to read, or the one that has replaced it (hugedir_create_next()),
// also while its owner lives; -1: errno is ENOENT if there is none.
int hugedir_look(const char *dir, const char *name, uint64_t mark, struct hugedir_kept *out);
int hugedir_reopen(const struct hugedir *d, struct hugedir_kept *out);

// hugedir_reopen_4k: the file NAME on the tmpfs, as hugedir_reopen().
int hugedir_reopen_4k(const struct hugedir *d, struct hugedir_kept *out);

// hugedir_dead_bytes: bytes in pages of page_bytes that files of dead owners hold below DIR, of
// ours and of DPDK's, which the start of a server frees. 0: none, or this user may not look.
uint64_t hugedir_dead_bytes(const char *dir, size_t page_bytes);

// hugedir_create: creates an empty file NAME on the hugetlbfs of page_bytes (PAGE_2M, PAGE_1G), or
// on the tmpfs (PAGE_4K), which it mounts if needed (as root). Returns a descriptor, or -1.
int hugedir_create(const struct hugedir *d, size_t page_bytes, struct err *e);

// hugedir_create_next: the same for a file that is to replace NAME. It does so when its owner
// stores something other than 0 in the eight bytes at `mark`, which a process without rights in DIR
// can do. hugedir_settle: NAME is the one that the dead owner had last, and there is no other any
// more. hugedir_drop_next: removes it.
int hugedir_create_next(const struct hugedir *d, size_t page_bytes, struct err *e);
void hugedir_settle(const struct hugedir *d, uint64_t mark);
void hugedir_drop_next(const struct hugedir *d);

// hugedir_close: removes the files of NAME, unless they are kept, and of dead owners. The last
// living process also unmounts and removes what was mounted and created here, unless something is
// kept.
void hugedir_close(struct hugedir *d);

// hugedir_abandon: the same while the files are still mapped, for a process that is about to end.
// The kernel frees the pages and the mount when it does.
void hugedir_abandon(struct hugedir *d);
