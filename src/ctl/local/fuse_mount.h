// SPDX-License-Identifier: BSD-3-Clause
// fuse_mount.h: the FUSE mount: the tree as a file system. The control loop serves it; there is
// no separate thread.
//
//     reader --> kernel --> /dev/fuse --> ctl_loop --> tree (lookup, open = snapshot, read, write)
//                                            ^--> eventfd: the next piece of a stream that is read
//
// Settings for the kernel: no caching (attribute and entry timeout 0, direct_io); the kernel checks
// mode, owner and group (default_permissions) for all users (allow_other); sizes are 0 as in /proc.
// Creating, renaming and removing entries and changing attributes fail with EPERM. Truncation
// succeeds without effect, because `echo >` requests it.
//
// The control thread must not access the mount, because it would wait for itself.
#pragma once
#include "base/err.h"
#include "ctl/event_loop.h"
#include "tree/access.h"

enum {
    FUSE_REQUESTS_A_WAKE = 16,                          // answered before other sources are served
    FUSE_REQUEST_BYTES_MAX = 2 * TREE_WRITE_BYTES_MAX,  // data bytes; a write over the tree's limit
                                                        // is refused as a whole and not split
};

struct ctl_fuse;

// ctl_fuse_start: mounts t at `path` (see mountpoint.h) and serves it from loop. Returns NULL with
// the reason in *e (no /dev/fuse, unusable path, error of libfuse); then nothing is left behind,
// and the server can continue without the mount. loop and t must outlive it.
struct ctl_fuse *ctl_fuse_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                struct err *e);

// ctl_fuse_stop: unmounts (readers with open files get ENOTCONN), closes all handles, and removes
// the directories that ctl_fuse_start() created. NULL is allowed.
void ctl_fuse_stop(struct ctl_fuse *f);

// ctl_fuse_leave: as ctl_fuse_stop(), for a process that may not unmount: the mount stays, and has
// nobody who serves it.
void ctl_fuse_leave(struct ctl_fuse *f);

// ctl_fuse_serving: whether the mount is served. False after another process has unmounted it or
// aborted the connection, which is logged.
bool ctl_fuse_serving(const struct ctl_fuse *f);
