// SPDX-License-Identifier: BSD-3-Clause
// heap_memory.h: the memory of a server as samples of a profile: each region of mem/ledger, and
// within it what mem/pools counts as used, by owner; the images of services, the rings of dumps,
// and the heap of libc.
//
//   innermost:  what -> state -> app -> service -> region    in use, of a connection
//               what -> region                               in use, of the server
//               free WHAT -> region                          reserved only
//
// reserved_space of a region is its line of mem/ledger, and inuse_objects of a pool is its
// POOL_used_now of mem/pools, except for what changes while both are read.
#pragma once
#include "prof/reading.h"

enum { HEAP_ALLOC_OBJECTS, HEAP_ALLOC_SPACE, HEAP_INUSE_OBJECTS, HEAP_INUSE_SPACE, HEAP_RESERVED };
enum { HEAP_TYPES = HEAP_RESERVED + 1 };

// heap_memory: the read function of a reading. Any thread.
void heap_memory(const struct reading *r, int64_t sign);

// heap_objects: entries of all pools that are in use.
uint64_t heap_objects(const struct prof_shown *s);
