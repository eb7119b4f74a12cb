// SPDX-License-Identifier: BSD-3-Clause
// arena.h: memory that is reserved at start in one piece, divided among its users, and freed at the
// end only.
//
// It is a hugetlbfs file of this server, DIR/2M/NAME or DIR/1G/NAME (mem/hugedir.h), bound to a
// NUMA node. All pages are touched at once, so that missing memory is an error at start and not in
// a burst. With PAGES_NONE it is anonymous memory, which the kernel provides page by page at the
// first access. All of it is zero. Control thread only.
#pragma once
#include "base/base.h"
#include "base/err.h"
#include "mem/page_supply.h"

enum { ARENA_ROWS_MAX = 64, ARENA_ROW_NAME_BYTES = 32 };

struct arena_params {
    const char *dir;   // directory, created if missing, e.g. /run/c10m/huge
    const char *name;  // file name; one living process for each name
    enum pages_kind pages;
    uint64_t bytes;
    uint64_t leave_bytes;  // hugepages to leave free (for DPDK's packets)
    int node;              // NUMA node; -1: any
    // The file outlives this process, until arena_drop(). If a dead process kept one of the same
    // name, the arena is that one, with its contents and its size (arena_is_kept()). It is mapped
    // at the same address by every process that has that address free. Not with PAGES_NONE.
    bool keep;
    uint64_t at_offset;  // with `keep`: where in the arena its user stores the arena's address
};

// arena_row: the memory carved under one name.
struct arena_row {
    char name[ARENA_ROW_NAME_BYTES];
    uint64_t bytes;
};

struct arena;

// arena_open: reserves and touches params->bytes, after removing files of killed processes. NULL:
// *e says why (missing pages: how many, and the command that adds them; name in use: the pid).
// Nothing is then left behind.
struct arena *arena_open(const struct arena_params *params, struct err *e);

// arena_is_kept: whether the arena is one that a dead process kept. arena_fault: why that one
// cannot be used, and nothing may be carved from it; NULL: it can. arena_drop: from now on the file
// is removed at the end.
bool arena_is_kept(const struct arena *a);
const char *arena_fault(const struct arena *a);
void arena_drop(struct arena *a);

// arena_open_next: as arena_open() for an arena that is to replace `kept`, another one of
// params->name that a dead process kept. Both have memory, in pages of the same size. It replaces
// `kept` when its user stores its address at params->at_offset: from then on the next process finds
// the new one. If the user closes it without that, the next process finds `kept`.
//
// arena_succeed: its address was stored: what is left to do. arena_free_pages: of `kept`, which
// nobody looks at any more; it is then closed. Both work in a process without rights in the
// directory.
struct arena *arena_open_next(struct arena *kept, const struct arena_params *params, struct err *e);
void arena_succeed(struct arena *a);
void arena_free_pages(struct arena *kept);

// arena_images: a file that outlives this process together with the arena, for an image_store. If
// *kept, it is the one that lay beside a kept arena, also if `a` is to replace that, else empty.
// Returns a descriptor, or -1: the arena is not one that stays, or *e.
int arena_images(struct arena *a, bool *kept, struct err *e);

// arena_close: unmaps and, unless it is kept, removes the file, and unmounts what arena_open()
// mounted. NULL: does nothing.
void arena_close(struct arena *a);

// arena_abandon: removes the file, unless it is kept, while it is still mapped, for a process that
// is about to end. NULL: does nothing.
void arena_abandon(struct arena *a);

// arena_carve: `bytes` of zeroed memory, aligned to `align` (a power of two), added to the row
// `name`. NULL: the arena is full. With align CACHE_LINE, sizes that are multiples of CACHE_LINE
// always fit if their sum does.
void *arena_carve(struct arena *a, const char *name, uint64_t bytes, uint64_t align);

// For `mem/arenas`. reserved: whole pages; carved: with alignment gaps.
const char *arena_name(const struct arena *a);
size_t arena_page_bytes(const struct arena *a);
uint64_t arena_reserved_bytes(const struct arena *a);
uint64_t arena_carved_bytes(const struct arena *a);
unsigned arena_stale_removed(const struct arena *a);  // files of killed processes, removed at open

// arena_rows: the *n rows, in the order of the first carve.
const struct arena_row *arena_rows(const struct arena *a, unsigned *n);
