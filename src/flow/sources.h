// SPDX-License-Identifier: BSD-3-Clause
// sources.h: how many connections each source has open to each service, of one worker. A source is
// an IPv4 address, or 64 bits of an IPv6 prefix: who has one such address has the whole subnet of
// it (RFC 4291 2.5.4). A chained hash over places for as many pairs of source and service as there
// can be connections, so that it is never full. Looked at when a connection opens or closes, never
// in between.
//
//   bucket[hash & mask] -> place -> place -> SOURCE_NONE    place: source, service, connections
//
// The hash is keyed: nobody can aim at one chain. One owner.
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/siphash.h"

enum {
    SOURCE_NONE = 0,  // places are numbered from 1: a block that is all zero holds none
    SOURCE_SERVICE_BITS = 5,
    SOURCE_COUNT_BITS = 27,  // of connections
};

struct sources;

// sources_footprint: bytes for connections, 1 to 2^SOURCE_COUNT_BITS - 1, a multiple of CACHE_LINE.
// sources_init: places it in mem.
size_t sources_footprint(uint32_t connections);
struct sources *sources_init(void *mem, uint32_t connections, struct siphash_key secret);

// sources_count: connections of source `who` to the service, below 2^SOURCE_SERVICE_BITS.
uint32_t sources_count(const struct sources *s, uint64_t who, uint8_t service);

// sources_enter: one more; returns the place, for sources_leave: one fewer. At most `connections`
// are in.
uint32_t sources_enter(struct sources *s, uint64_t who, uint8_t service);
void sources_leave(struct sources *s, uint32_t place);

// sources_now: pairs of source and service that have a connection.
uint32_t sources_now(const struct sources *s);
