// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.h: the directory of a DPDK process under /run/dpdk, and its owner. DPDK does not remove
// the directory. The owner holds a lock (flock) on the file "c10m.lock" in it. The kernel releases
// the lock when the process ends, also when the process is killed.
#pragma once
#include "base/err.h"

enum { EAL_DIR_BYTES = 256 };

#define EAL_DIR_LOCK "c10m.lock"

struct eal_dir {
    char path[EAL_DIR_BYTES];  // empty: no directory is held
    int lock_fd;
    unsigned removed;  // directories of dead processes that eal_dir_open removed
};

// eal_dir_root: the parent of all such directories, which DPDK chooses: the first that applies of
// $RUNTIME_DIRECTORY, /var/run (for root), $XDG_RUNTIME_DIR and /tmp, followed by "/dpdk".
void eal_dir_root(char out[EAL_DIR_BYTES]);

// eal_dir_open: creates ROOT/PREFIX and locks it for this process. It also removes the directories
// of dead c10m processes below ROOT, and their files on hugetlbfs (huge_dir as in struct
// eal_params). Returns -1 if a living process holds ROOT/PREFIX; *err has its pid. It is no error
// if the directory cannot be created: DPDK reports that, if it needs the directory.
int eal_dir_open(struct eal_dir *d, const char *root, const char *prefix, const char *huge_dir,
                 struct err *err);

// eal_dir_remove_files: removes the files of PREFIX that no living process holds, on every
// hugetlbfs.
void eal_dir_remove_files(const char *prefix, const char *huge_dir);

// eal_dir_owner: the pid of the living process that holds ROOT/PREFIX; 0: there is none, or this
// process has no right to see it.
long eal_dir_owner(const char *root, const char *prefix);

// eal_dir_give: the directory becomes that user's, who may then open devices again: EAL looks for
// other processes in it. The directory above it may be entered by all users from then on, but not
// listed. Returns 0, or -1 with *err.
int eal_dir_give(const struct eal_dir *d, unsigned uid, unsigned gid, struct err *err);

// eal_dir_close: removes the directory and its contents. Call it after rte_eal_cleanup().
void eal_dir_close(struct eal_dir *d);
