// SPDX-License-Identifier: BSD-3-Clause
// bare.h: the bare loop: only the memory accesses of a TCP echo, as fast as possible. It is the
// limit with which the server is compared. So it must contain all memory accesses that every server
// needs, and nothing else.
//
// A request with payload: read the headers and one cache line of the table, write three of the four
// cache lines of the block, allocate a packet, copy headers and payload to it, and keep a copy of
// the payload in a buffer until it is acknowledged. A pure ACK: read the headers and one cache line
// of the table, access two cache lines of the block, and free the buffer. IPv4 header checksums are
// computed. There are no TCP checksums, timers, options or states.
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
    uint32_t connections;  // maximum
    uint32_t kept;         // maximum of replies not acknowledged yet
};

// bare_new: allocates table, blocks and buffers in the largest pages that are free. Returns NULL
// with the reason in *err on failure.
struct bare *bare_new(const struct bare_params *params, struct err *err);
void bare_free(struct bare *b);

// bare_add: adds connection number `index` (below params.connections, each once) with this peer,
// established, with sequence number 1 in both directions. Returns false if the table has no free
// place within its search length.
bool bare_add(struct bare *b, uint32_t index, uint32_t remote_v4, uint16_t remote_port);

// bare_turn: processes one burst; ctx is the struct bare.
struct turn_loop_work bare_turn(void *ctx);

// bare_dropped: the number of packets without a connection, out of sequence, or without room.
uint64_t bare_dropped(const struct bare *b);

// bare_page_bytes: page size of the blocks in bytes. With pages below 2 MiB the results are not
// comparable.
size_t bare_page_bytes(const struct bare *b);
size_t bare_memory_bytes(const struct bare *b);
