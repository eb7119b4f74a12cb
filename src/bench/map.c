#include "bench/map.h"

#include <linux/mman.h>
#include <sys/mman.h>

static bool try_map(struct bench_map *m, size_t bytes, size_t page_bytes, int flags)
{
    size_t rounded = ALIGN_UP(bytes, page_bytes);
    void *at =
        mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (at == MAP_FAILED)
        return false;
    *m = (struct bench_map){at, rounded, page_bytes};
    return true;
}

static void touch(struct bench_map *m)
{
    for (size_t at = 0; at < m->bytes; at += 4096)
        ((volatile uint8_t *)m->at)[at] = 0;
}

bool bench_map(struct bench_map *m, size_t bytes)
{
    const size_t gib = (size_t)1 << 30, two_mib = (size_t)2 << 20;
    bool gib_fits = ALIGN_UP(bytes, gib) - bytes <= bytes / 4;
    bool ok = (gib_fits && try_map(m, bytes, gib, MAP_HUGETLB | MAP_HUGE_1GB)) ||
              try_map(m, bytes, two_mib, MAP_HUGETLB | MAP_HUGE_2MB);
    if (!ok) {
        ok = try_map(m, ALIGN_UP(bytes, two_mib), 4096, 0);
        if (ok)
            madvise(m->at, m->bytes, MADV_HUGEPAGE);
    }
    if (ok)
        touch(m);
    return ok;
}

void bench_unmap(struct bench_map *m)
{
    if (m->at != NULL)
        munmap(m->at, m->bytes);
    m->at = NULL;
}
