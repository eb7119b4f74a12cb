// SPDX-License-Identifier: BSD-3-Clause
// fuse_door.h: the FUSE door: the tree as a mounted file system, served by the control loop,
// without a thread of its own.
//
//     reader --> kernel --> /dev/fuse --> ctl_loop --> tree (lookup, open = snapshot, read, write)
//                                            ^--> eventfd: the next piece of a stream that is read
//
// What the kernel is told: nothing is cached (attribute and entry time 0, direct_io), it checks
// mode, owner and group itself (default_permissions) for any user (allow_other), sizes are 0 as in
// /proc. Making, renaming and removing entries and changing attributes is EPERM; truncation is
// accepted and does nothing, as `echo >` asks for it.
//
// The mount is never touched from the thread that serves it: that thread would wait for itself.
#pragma once
#include "base/err.h"
#include "ctl/event_loop.h"
#include "tree/door.h"

enum {
    FUSE_REQUESTS_A_WAKE = 16,  // answered before other sources get their turn
    FUSE_REQUEST_BYTES_MAX = 2 * TREE_WRITE_BYTES_MAX,  // of data: so one write over the tree's
                                                        // limit is refused whole, never cut in two
};

struct ctl_fuse;

// ctl_fuse_start: mounts t at `path` (mountpoint.h says what may be there) and serves it from
// loop. NULL with *e: no /dev/fuse, a path that cannot be used, or libfuse's own words; nothing is
// left behind, and a server goes on without the mount. loop and t outlive it.
struct ctl_fuse *ctl_fuse_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                struct err *e);

// ctl_fuse_stop: unmounts (readers that hold files open get ENOTCONN), closes all handles, removes
// the directories that start made. NULL: nothing.
void ctl_fuse_stop(struct ctl_fuse *f);

// ctl_fuse_serving: false once somebody else has unmounted it or cut the connection (logged); the
// server goes on without it.
bool ctl_fuse_serving(const struct ctl_fuse *f);
