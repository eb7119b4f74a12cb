// SPDX-License-Identifier: BSD-3-Clause
// bare.h: the bare loop: only the memory work of a TCP echo, as fast as it can be written. It is
// the limit that the server is compared with, so nothing may be put into it that a server could do
// without, and nothing left out that no server can.
//
// A request with payload: headers, table line, three of the four lines of the block (written), a
// packet allocated, headers and payload copied into it, the payload kept in a buffer of its own
// until it is acknowledged. A pure ACK: headers, table line, two lines of the block, the kept
// buffer given back. IPv4 header checksums are made; TCP checksums, timers, options, states are not
// there.
#pragma once
#include "base/err.h"
#include "bench/turn_loop.h"
#include "pkt/port.h"

struct bare;

struct bare_params {
    struct port *port;  // queue 0
    struct pkt_pool *pool;
    uint32_t local_v4;
    uint16_t local_port;
    uint32_t connections;  // at most
    uint32_t kept;         // replies that are not acknowledged yet, at most
};

// bare_new: table, blocks and kept buffers in the largest pages there are. NULL: err says why.
struct bare *bare_new(const struct bare_params *params, struct err *err);
void bare_free(struct bare *b);

// bare_add: connection number `index` (below params.connections, each once) of that peer,
// established at sequence number 1 both ways. False: no place within the table's search length.
bool bare_add(struct bare *b, uint32_t index, uint32_t remote_v4, uint16_t remote_port);

// bare_turn: one burst; ctx is the struct bare.
struct turn_loop_work bare_turn(void *ctx);

// bare_dropped: packets that were for no connection, out of sequence, or found no room.
uint64_t bare_dropped(const struct bare *b);

// bare_page_bytes: size of the pages under the blocks; below 2 MiB the figures are not comparable.
size_t bare_page_bytes(const struct bare *b);
size_t bare_memory_bytes(const struct bare *b);
