// SPDX-License-Identifier: BSD-3-Clause
// fuse_ops.h: the requests of the FUSE protocol, each answered from the tree. The session's
// userdata is the struct ctl_fuse_door; a node's number is the entry's id.
//
// A read of a stream that has nothing to hand yet is put off: ctl_fuse_ops_resume works on it, one
// piece a call, while other requests and the other sources of the loop have their turn. Where
// nothing comes (tree_idle) it rests until ctl_fuse_ops_rested.
#pragma once
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "tree/door.h"

// put_off: a read that waits for its stream.
struct put_off {
    TAILQ_ENTRY(put_off) link;
    fuse_req_t req;
    struct tree_handle *handle;
    size_t size;
    off_t off;
};

// ctl_fuse_door: the handles, and what is put off; wake(arg) is called when there is something,
// rest(arg) when something begins to rest.
struct ctl_fuse_door {
    struct tree_door door;
    TAILQ_HEAD(put_off_list, put_off) put_off, resting;
    void (*wake)(void *arg);
    void (*rest)(void *arg);
    void *arg;
};

extern const struct fuse_lowlevel_ops ctl_fuse_ops;

// ctl_fuse_ops_resume: one piece of work for the read that waits longest; EINTR if its reader was
// interrupted. False: none waits any more.
bool ctl_fuse_ops_resume(struct ctl_fuse_door *d);

// ctl_fuse_ops_rested: what rests is put off again.
void ctl_fuse_ops_rested(struct ctl_fuse_door *d);

// ctl_fuse_ops_drop: answers all that wait with EIO.
void ctl_fuse_ops_drop(struct ctl_fuse_door *d);
