// SPDX-License-Identifier: BSD-3-Clause
// mountpoint.h: the directory that a mount goes onto: made if missing, freed of what a killed
// server left, given back at the end. Control thread only.
#pragma once
#include <limits.h>

#include "base/err.h"

enum {
    MOUNT_PROBE_MS = 2000,  // how long a mount found at the path may take to answer
    MOUNTS_STALE_MAX = 16,  // dead mounts over each other that are cleared away
};

// ctl_mountpoint: the path as given and without symlinks; made_from = length of the first directory
// of `given` that did not exist and was made (0: all existed). What a dead mount lay on counts as
// made: the server that was killed could not remove it.
struct ctl_mountpoint {
    char given[PATH_MAX];
    char path[PATH_MAX];
    size_t made_from;
};

// ctl_mountpoint_prepare: makes *mp the empty directory `path` (absolute). Missing directories are
// made, mode 0755. A dead FUSE mount there (its process was killed) is detached; a living one, any
// other mount, a directory with something in it, or a FUSE mount that does not answer within
// MOUNT_PROBE_MS is refused. 0, or -1 with *e and nothing left behind.
int ctl_mountpoint_prepare(struct ctl_mountpoint *mp, const char *path, struct err *e);

// ctl_mountpoint_check: what ctl_mountpoint_prepare() would refuse, with nothing made or detached.
// 0, or -1 with *e.
int ctl_mountpoint_check(const char *path, struct err *e);

// ctl_mountpoint_undo: detaches a dead mount that is still there, and removes the directories that
// prepare made, as far as they are empty.
void ctl_mountpoint_undo(struct ctl_mountpoint *mp);

// ctl_mountpoint_clear: detaches the dead FUSE mounts at `path`; how many. -1 with *e: one is
// served, or is none of ours.
int ctl_mountpoint_clear(const char *path, struct err *e);
