// SPDX-License-Identifier: BSD-3-Clause
// dump_files.h: frames of the live server in the tree, as pcapng:
//
//     ports/NAME/dump   every frame of a port: each reader has a capture of his own while he reads
//     dump/new          written to: makes dump/NAME, a capture with a filter and limits for one
//                       reader; read: what it takes
//     dump/NAME         read: the capture, until its limit; "stop" written to it ends it in order
//     dump/status       captures at work, what they hold, limits that were hit
//
// A capture begins at its first read, when every worker knows of it, and ends with its reader, its
// limit or "stop"; what the workers had copied until then is still handed over, and then the
// statistics. All of it is root's. Control thread only.
#pragma once
#include "ctl/event_loop.h"
#include "server/server.h"
#include "tree/door.h"

enum {
    DUMP_NAME_BYTES = 32,
    DUMP_FILTER_BYTES_MAX = 1024,  // of the expression, that is shown only
    DUMP_SNAP_DEFAULT = 262144,
    DUMP_BUFFER_BYTES = 256 * 1024,  // blocks made ahead of one reader
    DUMP_FRAMES_A_CALL = 256,
    DUMP_UNREAD_MS = 10000,  // a capture that nobody reads goes
    DUMP_CHECK_MS = 1000,
    DUMP_WAIT_MS = 1000,  // how long a worker's next turn is waited for
};

struct ctl_dump;

// ctl_dump_start: makes the entries; ring_bytes: of each worker and capture. Needs a timer of loop.
// NULL: *e. loop, tree and server outlive it.
struct ctl_dump *ctl_dump_start(struct ctl_loop *loop, struct tree *t, struct server *s,
                                uint32_t ring_bytes, struct err *e);

// ctl_dump_stop: the doors are closed; removes the entries. NULL: nothing.
void ctl_dump_stop(struct ctl_dump *d);
