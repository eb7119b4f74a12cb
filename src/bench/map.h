// SPDX-License-Identifier: BSD-3-Clause
// map.h: memory for a benchmark: the largest pages that are free, or pages of one size.
#pragma once
#include "base/base.h"

struct bench_map {
    void *at;
    size_t bytes;       // mapped
    size_t page_bytes;  // 1 GiB, 2 MiB, or 4 KiB with transparent huge pages asked for
    bool transparent;   // of bench_map_of(): 2 MiB pages that the kernel was asked for
};

// bench_map: zeroed and touched memory of at least `bytes`; tries 1 GiB pages (if they waste at
// most a quarter), 2 MiB pages, ordinary ones. False: there is not so much.
bool bench_map(struct bench_map *m, size_t bytes);

// bench_map_of: the same of pages of page_bytes (4 KiB, 2 MiB, 1 GiB) and of no others. 2 MiB
// pages may be transparent ones: then the kernel gave them for all of the memory.
bool bench_map_of(struct bench_map *m, size_t bytes, size_t page_bytes);
void bench_unmap(struct bench_map *m);
