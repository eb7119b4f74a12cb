// SPDX-License-Identifier: BSD-3-Clause
// arena.h: memory reserved at start in one piece, carved, never freed before the end.
//
// It lies in a hugetlbfs file of our own, DIR/2M/NAME or DIR/1G/NAME (mem/hugedir.h), bound to a
// NUMA node and touched at once: what is not there fails here and not in a burst. PAGES_NONE:
// ordinary anonymous memory, which the kernel hands out page by page at the first touch. All of it
// reads 0. Control thread only.
#pragma once
#include "base/base.h"
#include "base/err.h"
#include "mem/page_supply.h"

enum { ARENA_ROWS_MAX = 64, ARENA_ROW_NAME_BYTES = 32 };

struct arena_params {
    const char *dir;   // of ours; made if it is not there, e.g. /run/c10m/huge
    const char *name;  // of the file; one living process per name
    enum pages_kind pages;
    uint64_t bytes;
    uint64_t leave_bytes;  // hugepages that must stay free for others (DPDK's packets)
    int node;              // NUMA node; -1: any
};

// arena_row: what was carved under one name.
struct arena_row {
    char name[ARENA_ROW_NAME_BYTES];
    uint64_t bytes;
};

struct arena;

// arena_open: reserves and touches params->bytes. Files of killed owners are removed first. NULL:
// *e says why (not enough pages: how many are missing and the command; the name is in use: the
// pid), and nothing is left behind.
struct arena *arena_open(const struct arena_params *params, struct err *e);

// arena_close: unmaps, unlinks, unmounts what we mounted. NULL: nothing to do.
void arena_close(struct arena *a);

// arena_abandon: removes its file while it is in use: the process is to end at once. NULL: nothing.
void arena_abandon(struct arena *a);

// arena_carve: `bytes` of zeroed memory at a multiple of `align` (a power of two), for `name`,
// whose row it adds to. NULL: they do not fit. With align CACHE_LINE, pieces rounded up to
// CACHE_LINE that add up to the arena's bytes always fit.
void *arena_carve(struct arena *a, const char *name, uint64_t bytes, uint64_t align);

// What `mem/arenas` shows. bytes reserved: whole pages; carved: with the gaps that align made.
const char *arena_name(const struct arena *a);
size_t arena_page_bytes(const struct arena *a);
uint64_t arena_reserved_bytes(const struct arena *a);
uint64_t arena_carved_bytes(const struct arena *a);
unsigned arena_stale_removed(const struct arena *a);  // files of killed owners, removed at open

// arena_rows: the rows in order of the first carve; *n of them.
const struct arena_row *arena_rows(const struct arena *a, unsigned *n);
