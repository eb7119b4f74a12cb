// SPDX-License-Identifier: BSD-3-Clause
// tree_walk.h: from a path to an entry, for doors that the kernel does not guard: what it checks on
// the mount (default_permissions) is checked here, by the same rules.
//
// A path is relative to the root of the tree, with or without a leading /. Symlinks are followed,
// relative to where they lie; nothing leads out of the tree: an absolute target and a .. above the
// root are -EXDEV, as with openat2's RESOLVE_BENEATH. Control thread only.
#pragma once
#include <sys/types.h>

#include "tree/door.h"

enum {
    WALK_LINKS_MAX = 16,     // symlinks followed for one path, then -ELOOP
    WALK_GROUPS_MAX = 1024,  // of one user; those beyond count as not his
};

// ctl_who: who asks. groups are the supplementary ones.
struct ctl_who {
    uid_t uid;
    gid_t gid;
    uint32_t n_groups;
    gid_t *groups;
};

enum { MAY_READ = 4, MAY_WRITE = 2, MAY_SEARCH = 1 };

// ctl_may: whether `who` has every right of `want` (MAY_*) by mode, owner and group. The first
// class that fits decides: owner, group, others. root has all, as on the mount.
bool ctl_may(const struct ctl_who *who, const struct tree_stat *s, unsigned want);

// ctl_walk: *node = the entry at path[0..n) if `who` may search every directory on the way. follow:
// also a symlink at the end of the path. 0, or -ENOENT, -ENOTDIR, -EACCES, -ELOOP, -EXDEV,
// -ENAMETOOLONG (a name; the path with its symlinks resolved).
int ctl_walk(struct tree *t, const struct ctl_who *who, const char *path, size_t n, bool follow,
             struct tree_node **node);
