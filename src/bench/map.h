// SPDX-License-Identifier: BSD-3-Clause
// map.h: memory for a benchmark, in the largest pages that are free or in pages of a given size.
#pragma once
#include "base/base.h"

struct bench_map {
    void *at;
    size_t bytes;       // mapped
    size_t page_bytes;  // 1 GiB, 2 MiB, or 4 KiB with madvise(MADV_HUGEPAGE)
    bool transparent;   // set by bench_map_of(): the 2 MiB pages are transparent
};

// bench_map: maps at least `bytes` of zeroed and touched memory in 1 GiB pages (if at most a
// quarter is unused), otherwise in 2 MiB pages, otherwise in 4 KiB pages. Returns false if there
// is not enough memory.
bool bench_map(struct bench_map *m, size_t bytes);

// bench_map_of: the same with pages of page_bytes (4 KiB, 2 MiB, 1 GiB) only. 2 MiB pages may be
// transparent hugepages if they cover the whole memory.
bool bench_map_of(struct bench_map *m, size_t bytes, size_t page_bytes);
void bench_unmap(struct bench_map *m);
