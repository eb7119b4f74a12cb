// SPDX-License-Identifier: BSD-3-Clause
// reader.h: reads net/tcp of a server repeatedly, one piece per call, as the control thread does
// for a reader of the file, to measure the cost for the worker. Or it reads the whole tree, as a
// monitoring program does.
#pragma once
#include "ctl/files/tree_files.h"
#include "server/connections.h"
#include "tree/access.h"

struct bench_reader {
    const struct server *server;
    struct conns_cursor at;
    struct text text;
    uint64_t pieces, bytes, passes;  // counts so far
    uint64_t cycles, cycles_max;     // sum of all pieces, maximum of a piece
    // For the whole tree, of which a pass is one piece.
    struct ctl_shown shown;
    struct tree_session session;
    uint64_t next_tsc;
};

enum { BENCH_READER_TREE_MS = 100 };  // ms between two readings of the tree

// bench_reader_init: initializes *r at the beginning of the table. bench_reader_piece: reads the
// next piece; arg is the reader. bench_reader_busy: does the same work on a private block, to
// measure the effect of a busy second core (the CPUs may be threads of one core, or share the
// bandwidth of a cache or of memory). bench_reader_tree: reads all files of the tree if
// BENCH_READER_TREE_MS have passed since the last reading. bench_reader_free: frees the memory.
void bench_reader_init(struct bench_reader *r, const struct server *server);
void bench_reader_piece(void *arg);
void bench_reader_busy(void *arg);
void bench_reader_tree(void *arg);
void bench_reader_free(struct bench_reader *r);
