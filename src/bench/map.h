// map.h: memory for a benchmark: the largest pages that are free.
#pragma once
#include "base/base.h"

struct bench_map {
    void *at;
    size_t bytes;       // mapped
    size_t page_bytes;  // 1 GiB, 2 MiB, or 4 KiB with transparent huge pages asked for
};

// bench_map: zeroed and touched memory of at least `bytes`; tries 1 GiB pages (if they waste at
// most a quarter), 2 MiB pages, ordinary ones. False: there is not so much.
bool bench_map(struct bench_map *m, size_t bytes);
void bench_unmap(struct bench_map *m);
