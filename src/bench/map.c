// SPDX-License-Identifier: BSD-3-Clause
#include "bench/map.h"

#include <linux/mman.h>
#include <stdio.h>
#include <sys/mman.h>

static const size_t gib = (size_t)1 << 30, two_mib = (size_t)2 << 20;

static bool try_map(struct bench_map *m, size_t bytes, size_t page_bytes, int flags)
{
    size_t rounded = ALIGN_UP(bytes, page_bytes);
    void *at =
        mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (at == MAP_FAILED)
        return false;
    *m = (struct bench_map){.at = at, .bytes = rounded, .page_bytes = page_bytes};
    return true;
}

static void touch(struct bench_map *m)
{
    for (size_t at = 0; at < m->bytes; at += 4096)
        ((volatile uint8_t *)m->at)[at] = 0;
}

bool bench_map(struct bench_map *m, size_t bytes)
{
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

// Returns the number of bytes of the range that are in transparent hugepages.
static size_t transparent_bytes(const struct bench_map *m)
{
    FILE *f = fopen("/proc/self/smaps", "re");
    unsigned long long from, to, kib, sum = 0;
    const uintptr_t at = (uintptr_t)m->at;
    bool inside = false;
    char line[512];
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            inside = from < at + m->bytes && to > at;
        else if (inside && sscanf(line, "AnonHugePages: %llu", &kib) == 1)
            sum += kib << 10;
    }
    if (f != NULL)
        fclose(f);
    return (size_t)sum;
}

// Trims the range to multiples of 2 MiB, because hugepages are aligned to their size.
static bool map_transparent(struct bench_map *m, size_t bytes)
{
    if (!try_map(m, ALIGN_UP(bytes, two_mib) + two_mib, 4096, 0))
        return false;
    const uintptr_t at = (uintptr_t)m->at, first = ALIGN_UP(at, two_mib);
    const uintptr_t end = at + m->bytes, last = end / two_mib * two_mib;
    if (first != at)
        munmap(m->at, first - at);
    if (end != last)
        munmap((void *)last, end - last);
    *m = (struct bench_map){(void *)first, last - first, two_mib, true};
    madvise(m->at, m->bytes, MADV_HUGEPAGE);
    touch(m);
    if (transparent_bytes(m) >= m->bytes)
        return true;
    bench_unmap(m);
    return false;
}

bool bench_map_of(struct bench_map *m, size_t bytes, size_t page_bytes)
{
    *m = (struct bench_map){.at = NULL};
    bool ok = page_bytes == gib       ? try_map(m, bytes, gib, MAP_HUGETLB | MAP_HUGE_1GB)
              : page_bytes == two_mib ? try_map(m, bytes, two_mib, MAP_HUGETLB | MAP_HUGE_2MB)
                                      : try_map(m, bytes, 4096, 0);
    if (!ok)
        return page_bytes == two_mib && map_transparent(m, bytes);
    if (page_bytes == 4096)
        madvise(m->at, m->bytes, MADV_NOHUGEPAGE);
    touch(m);
    return true;
}

void bench_unmap(struct bench_map *m)
{
    if (m->at != NULL)
        munmap(m->at, m->bytes);
    m->at = NULL;
}
