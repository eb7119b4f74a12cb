// ctl_fuse_ops.h: the requests of the FUSE protocol, each answered from the tree. The session's
// userdata is the struct tree_door that keeps the handles; a node's number is the entry's id.
#pragma once
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

extern const struct fuse_lowlevel_ops ctl_fuse_ops;
