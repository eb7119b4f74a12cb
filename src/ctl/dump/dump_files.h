// SPDX-License-Identifier: BSD-3-Clause
// dump_files.h: frames of the live server in the tree, as pcapng:
//
//     ports/NAME/dump   all frames of a port: each reader has a separate capture
//     dump/new          a write creates dump/NAME, a capture with a filter and limits for one
//                       reader; a read prints the syntax
//     dump/NAME         read: the capture, up to its limit; writing "stop" ends it
//     dump/status       active captures, their memory, and limits that were reached
//
// A capture begins at its first read, when all workers copy frames, and ends with its reader, its
// limit or "stop". Frames that the workers have copied until then are still passed on, followed by
// the statistics. The entries belong to root. Control thread only.
#pragma once
#include "ctl/event_loop.h"
#include "server/server.h"
#include "tree/access.h"

enum {
    DUMP_NAME_BYTES = 32,
    DUMP_FILTER_BYTES_MAX = 1024,  // text of the filter, which is only displayed
    DUMP_SNAP_DEFAULT = 262144,
    DUMP_BUFFER_BYTES = 256 * 1024,  // most bytes prepared for one reader
    DUMP_FRAMES_A_CALL = 256,
    DUMP_UNREAD_MS = 10000,  // a capture without reads is removed after this time
    DUMP_CHECK_MS = 1000,
    DUMP_WAIT_MS = 1000,  // most time to wait for the next turn of a worker
};

struct ctl_dump;

// ctl_dump_start: creates the entries. ring_bytes: for each worker and capture. Uses a timer of
// loop. Returns NULL with the reason in *e on failure. loop, t and s must outlive it.
struct ctl_dump *ctl_dump_start(struct ctl_loop *loop, struct tree *t, struct server *s,
                                uint32_t ring_bytes, struct err *e);

// ctl_dump_stop: removes the entries. Call it after the mount and the sockets are closed. NULL is
// allowed.
void ctl_dump_stop(struct ctl_dump *d);
