// SPDX-License-Identifier: BSD-3-Clause
// eal_dir.h: the directory of a DPDK process under /run/dpdk, which DPDK does not remove, and its
// owner. The owner holds a lock (flock) on the file "c10m.lock" in the directory. The kernel
// releases the lock when the process ends, also by kill -9.
#pragma once
#include "base/err.h"

enum { EAL_DIR_BYTES = 256 };

struct eal_dir {
    char path[EAL_DIR_BYTES];  // empty: no directory is held
    int lock_fd;
    unsigned removed;  // directories of dead processes that eal_dir_open removed
};

// eal_dir_root: the directory above, as DPDK chooses it: $RUNTIME_DIRECTORY, /var/run for root,
// $XDG_RUNTIME_DIR, /tmp; then "/dpdk".
void eal_dir_root(char out[EAL_DIR_BYTES]);

// eal_dir_open: makes ROOT/PREFIX, takes it for this process, and removes the directories of dead
// processes of ours beside it, their files on hugetlbfs too (huge_dir as in struct eal_params). -1:
// a living process has the name (err names its pid). A directory that cannot be made is left to
// DPDK to complain about, if it needs it.
int eal_dir_open(struct eal_dir *d, const char *root, const char *prefix, const char *huge_dir,
                 struct err *err);

// eal_dir_remove_files: the files of PREFIX on every hugetlbfs that no living process holds.
void eal_dir_remove_files(const char *prefix, const char *huge_dir);

// eal_dir_owner: the living process that has ROOT/PREFIX; 0: none, or none that may be seen.
long eal_dir_owner(const char *root, const char *prefix);

// eal_dir_close: removes the directory with what is in it. After rte_eal_cleanup().
void eal_dir_close(struct eal_dir *d);
