// SPDX-License-Identifier: BSD-3-Clause
// conn_walk.h: walks over all connections of a server, and over its half-open and TIME-WAIT
// records, in slices, while the workers go on. Any thread, while the memory of the workers exists;
// tcp/tcp_view.h says what may be inconsistent.
//
//   worker 0: half-open --> blocks --> TIME-WAIT --> TIME-WAIT of IPv6 --> worker 1: ... --> end
//
// Blocks that were never used are not looked at.
#pragma once
#include "server/server.h"

enum { CONN_LOOKS_MAX = 8192 };  // of a slice on the control thread: a millisecond or less

enum conn_kind { CONN_SYN, CONN_BLOCK, CONN_TIME_WAIT, CONN_TIME_WAIT6, CONN_KINDS };

// conn_seen: an entry, as a copy. Of a block, the application's line is not copied.
struct conn_seen {
    unsigned worker;
    enum conn_kind kind;
    uint32_t ix;             // its place in its pool
    const struct tcp *view;  // tcp_view_begin()
    union {
        struct syn_record syn;
        struct block block;
        struct time_wait6 time_wait;  // of IPv4 only time_wait.w
    };
};

// conn_place: where a walk is; all zero: at the beginning.
struct conn_place {
    uint32_t step;  // CONN_KINDS of them for each worker
    uint32_t ix;
};

// conn_see: is shown an entry. False: the walk is to stop before this one.
typedef bool conn_see(void *arg, const struct conn_seen *seen);

// conn_walk: shows the entries from *at on; looks at *looks places at most, free ones included, and
// subtracts them. False: there are no more entries.
bool conn_walk(const struct server *s, struct conn_place *at, unsigned *looks, conn_see *see,
               void *arg);

// conn_walk_all: shows all entries to see() until *over; see() returns true unless it has found
// that *over is set. Not for the control thread.
void conn_walk_all(const struct server *s, const struct shared_bool *over, conn_see *see,
                   void *arg);

// conn_local_ix: the index of its local address.
static inline uint16_t conn_local_ix(const struct conn_seen *seen)
{
    if (seen->kind == CONN_SYN)
        return seen->syn.key.local_ix;
    return seen->kind == CONN_BLOCK ? seen->block.key.local_ix : seen->time_wait.w.local_ix;
}
