// SPDX-License-Identifier: BSD-3-Clause
// fuse_ops.h: the operations of the FUSE protocol on the tree. The userdata of the session is the
// struct ctl_fuse_mount. Inode numbers are the ids of entries.
//
// A read of a stream without data is deferred: ctl_fuse_ops_resume() works on it, one piece per
// call, and other requests and sources of the loop are served in between. A read of an idle stream
// (tree_idle()) rests until ctl_fuse_ops_rested().
#pragma once
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "tree/access.h"

// put_off: a deferred read.
struct put_off {
    TAILQ_ENTRY(put_off) link;
    fuse_req_t req;
    struct tree_handle *handle;
    size_t size;
    off_t off;
};

// ctl_fuse_files: the open handles and the deferred reads. wake(arg) is called when there is a
// deferred read, rest(arg) when a read begins to rest.
struct ctl_fuse_files {
    struct tree_session session;
    TAILQ_HEAD(put_off_list, put_off) put_off, resting;
    void (*wake)(void *arg);
    void (*rest)(void *arg);
    void *arg;
};

extern const struct fuse_lowlevel_ops ctl_fuse_ops;

// ctl_fuse_ops_resume: does one piece of work for the oldest deferred read; answers EINTR if its
// reader was interrupted. False: no deferred reads are left.
bool ctl_fuse_ops_resume(struct ctl_fuse_files *d);

// ctl_fuse_ops_rested: makes resting reads deferred reads again.
void ctl_fuse_ops_rested(struct ctl_fuse_files *d);

// ctl_fuse_ops_drop: answers all waiting reads with EIO.
void ctl_fuse_ops_drop(struct ctl_fuse_files *d);
