// SPDX-License-Identifier: BSD-3-Clause
// tree_walk.h: resolves a path to an entry for the socket and HTTP, and checks permissions by the
// rules of the kernel on the mount (default_permissions).
//
// A path is relative to the root of the tree, with or without a leading /. Symlinks are followed
// relative to their directory. A path cannot leave the tree: an absolute target and a .. above the
// root give -EXDEV, as with RESOLVE_BENEATH of openat2(). Control thread only.
#pragma once
#include <sys/types.h>

#include "tree/access.h"

enum {
    WALK_LINKS_MAX = 16,     // symlinks followed for one path, then -ELOOP
    WALK_GROUPS_MAX = 1024,  // supplementary groups of one user; further ones are ignored
};

// ctl_who: the credentials of a client. groups: the supplementary groups.
struct ctl_who {
    uid_t uid;
    gid_t gid;
    uint32_t n_groups;
    gid_t *groups;
};

enum { MAY_READ = 4, MAY_WRITE = 2, MAY_SEARCH = 1 };

// ctl_may: whether `who` has all rights of `want` (MAY_*) by mode, owner and group. The first
// matching class decides: owner, group, others. root has all rights, as on the mount.
bool ctl_may(const struct ctl_who *who, const struct tree_stat *s, unsigned want);

// ctl_walk: sets *node to the entry at path[0..n) if `who` may search every directory of the path.
// follow: also follow a symlink at the end of the path. Returns 0, or -ENOENT, -ENOTDIR, -EACCES,
// -ELOOP, -EXDEV, -ENAMETOOLONG (a name, or the path with resolved symlinks).
int ctl_walk(struct tree *t, const struct ctl_who *who, const char *path, size_t n, bool follow,
             struct tree_node **node);
