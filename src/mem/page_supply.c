// SPDX-License-Identifier: BSD-3-Clause
#include "mem/page_supply.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/io.h"
#include "mem/ledger.h"

enum { PATH_BYTES = 512, WASTE_PERCENT_MAX = 2 };

static uint64_t read_number(const char *dir, const char *file)
{
    char path[PATH_BYTES];
    uint64_t n = 0;
    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
        return 0;
    io_read_number(path, &n);
    return n;
}

// The kernel keeps promised pages for the whole machine only; a node is given the worse of both.
static struct page_count read_pool(const char *sys_root, int node, size_t page_bytes)
{
    char dir[PATH_BYTES / 2];
    snprintf(dir, sizeof(dir), "%s/kernel/mm/hugepages/hugepages-%zukB", sys_root,
             page_bytes / 1024);
    uint64_t free = read_number(dir, "free_hugepages");
    const uint64_t promised = read_number(dir, "resv_hugepages");
    free -= MIN(free, promised);
    if (node < 0)
        return (struct page_count){read_number(dir, "nr_hugepages"), free};
    snprintf(dir, sizeof(dir), "%s/devices/system/node/node%d/hugepages/hugepages-%zukB", sys_root,
             node, page_bytes / 1024);
    const uint64_t here = read_number(dir, "free_hugepages");
    return (struct page_count){read_number(dir, "nr_hugepages"), MIN(free, here)};
}

void page_supply_read(struct page_supply *h, const char *sys_root, int node)
{
    h->node = node;
    h->of_2m = read_pool(sys_root, node, PAGE_2M);
    h->of_1g = read_pool(sys_root, node, PAGE_1G);
}

static uint64_t pages_for(uint64_t bytes, size_t page_bytes)
{
    return bytes / page_bytes + (bytes % page_bytes != 0);
}

static bool fits(const struct page_supply *h, size_t page_bytes, uint64_t bytes,
                 uint64_t leave_bytes)
{
    uint64_t left_2m = h->of_2m.free, left_1g = h->of_1g.free;
    uint64_t *left = page_bytes == PAGE_1G ? &left_1g : &left_2m;
    const uint64_t needed = pages_for(bytes, page_bytes);
    if (needed > *left)
        return false;
    *left -= needed;
    return left_2m >= pages_for(leave_bytes, PAGE_2M) || left_1g >= pages_for(leave_bytes, PAGE_1G);
}

static bool wastes_little(uint64_t bytes)
{
    const uint64_t rounded = pages_for(bytes, PAGE_1G) * PAGE_1G;
    return (rounded - bytes) * 100 < bytes * WASTE_PERCENT_MAX;
}

// refuse: "2 MiB pages: 1,280 needed, 64 free: sysctl vm.nr_hugepages=1280". Others may hold pages:
// what is missing is added to what there is.
static int refuse(const struct page_supply *h, size_t page_bytes, uint64_t bytes,
                  uint64_t leave_bytes, struct err *e)
{
    const bool gib = page_bytes == PAGE_1G;
    const struct page_count *p = gib ? &h->of_1g : &h->of_2m;
    const uint64_t needed = pages_for(bytes, page_bytes) + pages_for(leave_bytes, page_bytes);
    const uint64_t want = p->total + (needed > p->free ? needed - p->free : 0);
    char a[LEDGER_GROUPED_BYTES], b[LEDGER_GROUPED_BYTES], command[PATH_BYTES / 2];
    if (h->node >= 0)
        snprintf(command, sizeof(command),
                 "echo %" PRIu64 " > /sys/devices/system/node/node%d/hugepages/hugepages-%zukB/"
                 "nr_hugepages",
                 want, h->node, page_bytes / 1024);
    else if (gib)
        snprintf(command, sizeof(command),
                 "echo %" PRIu64 " > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                 want);
    else
        snprintf(command, sizeof(command), "sysctl vm.nr_hugepages=%" PRIu64, want);
    return err_set(e, "%s pages: %s needed, %s free: %s", gib ? "1 GiB" : "2 MiB",
                   ledger_grouped(a, needed), ledger_grouped(b, p->free), command);
}

int page_supply_choose(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                       uint64_t leave_bytes, size_t *page_bytes, struct err *e)
{
    const bool fits_1g = fits(h, PAGE_1G, bytes, leave_bytes);
    const bool fits_2m = fits(h, PAGE_2M, bytes, leave_bytes);
    if (kind == PAGES_NONE) {
        *page_bytes = PAGE_4K;
        return 0;
    }
    if (kind == PAGES_1G || (kind == PAGES_AUTO && fits_1g && (wastes_little(bytes) || !fits_2m))) {
        *page_bytes = PAGE_1G;
        return fits_1g ? 0 : refuse(h, PAGE_1G, bytes, leave_bytes, e);
    }
    *page_bytes = PAGE_2M;
    return fits_2m ? 0 : refuse(h, PAGE_2M, bytes, leave_bytes, e);
}
