// SPDX-License-Identifier: BSD-3-Clause
// sources.h: the number of open connections by source and service, of one worker. A source is an
// IPv4 address or an IPv6 /64, because a host with one IPv6 address controls its whole subnet (RFC
// 4291 2.5.4). A chained hash with places for as many pairs of source and service as there can be
// connections, so that it is never full. It is accessed only when a connection opens or closes.
//
//   bucket[hash & mask] -> place -> place -> SOURCE_NONE    place: source, service, connections
//
// The hash is keyed, so that nobody can lengthen one chain. One owner.
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/siphash.h"

enum {
    SOURCE_NONE = 0,  // places are numbered from 1: a zeroed block has none
    SOURCE_SERVICE_BITS = 5,
    SOURCE_COUNT_BITS = 27,  // of connections
};

struct sources;

// sources_footprint: bytes for `connections`, 1 to 2^SOURCE_COUNT_BITS - 1; a multiple of
// CACHE_LINE. sources_init: places it in mem.
size_t sources_footprint(uint32_t connections);
struct sources *sources_init(void *mem, uint32_t connections, struct siphash_key secret);

// sources_count: connections of source `who` to service < 2^SOURCE_SERVICE_BITS.
uint32_t sources_count(const struct sources *s, uint64_t who, uint8_t service);

// sources_enter: counts one more connection and returns its place. sources_leave: counts one fewer.
// At most `connections` are counted at a time.
uint32_t sources_enter(struct sources *s, uint64_t who, uint8_t service);
void sources_leave(struct sources *s, uint32_t place);

// sources_now: pairs of source and service with a connection.
uint32_t sources_now(const struct sources *s);
