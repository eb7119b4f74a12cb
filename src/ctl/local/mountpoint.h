// SPDX-License-Identifier: BSD-3-Clause
// mountpoint.h: the directory of a mount: it is created if missing, stale mounts of a killed server
// are detached, and it is removed at the end. Control thread only.
#pragma once
#include <limits.h>

#include "base/err.h"

enum {
    MOUNT_PROBE_MS = 2000,  // time for an existing mount to answer
    MOUNTS_STALE_MAX = 16,  // most stale mounts on one path that are detached
};

// ctl_mountpoint: the path as given, and with symlinks resolved. made_from: length of the first
// directory of `given` that was created (0: all existed). The directory of a stale mount counts as
// created, because the killed server could not remove it.
struct ctl_mountpoint {
    char given[PATH_MAX];
    char path[PATH_MAX];
    size_t made_from;
};

// ctl_mountpoint_prepare: makes `path` (absolute) an empty directory and stores it in *mp. Missing
// directories are created with mode 0755. A stale FUSE mount, whose process was killed, is
// detached. Fails if there is another mount, a FUSE mount that is served or does not answer within
// MOUNT_PROBE_MS, or a directory that is not empty. Returns 0, or -1 with *e and nothing left
// behind.
int ctl_mountpoint_prepare(struct ctl_mountpoint *mp, const char *path, struct err *e);

// ctl_mountpoint_check: whether ctl_mountpoint_prepare() would succeed, without any change. Returns
// 0, or -1 with *e.
int ctl_mountpoint_check(const char *path, struct err *e);

// ctl_mountpoint_undo: detaches a stale mount, and removes the directories that
// ctl_mountpoint_prepare() created, if they are empty.
void ctl_mountpoint_undo(struct ctl_mountpoint *mp);

// ctl_mountpoint_is_dead: whether there is a stale FUSE mount at `path`.
bool ctl_mountpoint_is_dead(const char *path);

// ctl_mountpoint_clear: detaches the stale FUSE mounts at `path`. Returns how many, or -1 with *e:
// a mount is served, or is not a FUSE mount.
int ctl_mountpoint_clear(const char *path, struct err *e);
