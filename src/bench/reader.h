// SPDX-License-Identifier: BSD-3-Clause
// reader.h: reads net/tcp of a server again and again, one piece a call, as the control thread does
// for somebody who reads the file: what does it cost the worker? Or all of the tree, as somebody
// does who watches.
#pragma once
#include "ctl/files/tree_files.h"
#include "server/connections.h"
#include "tree/door.h"

struct bench_reader {
    const struct server *server;
    struct conns_cursor at;
    struct text text;
    uint64_t pieces, bytes, passes;  // so far
    uint64_t cycles, cycles_max;     // of all pieces, of the longest
    // The whole tree; a pass is a piece.
    struct ctl_shown shown;
    struct tree_door door;
    uint64_t next_tsc;
};

enum { BENCH_READER_TREE_MS = 100 };  // between two readings of the tree

// bench_reader_init: at the beginning of the table. bench_reader_piece: the next piece; arg is the
// reader. bench_reader_busy: a piece of the same work on a block of its own: what it costs the
// worker that the other core is busy at all (they may be threads of one, or share a cache's or the
// memory's bandwidth). bench_reader_tree: every file of the tree, if BENCH_READER_TREE_MS have
// passed since it was last read. bench_reader_free: its memory.
void bench_reader_init(struct bench_reader *r, const struct server *server);
void bench_reader_piece(void *arg);
void bench_reader_busy(void *arg);
void bench_reader_tree(void *arg);
void bench_reader_free(struct bench_reader *r);
