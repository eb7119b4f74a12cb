// SPDX-License-Identifier: BSD-3-Clause
#include "mem/page_supply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

// read_pool: the kernel counts reserved pages (resv_hugepages) for the whole machine only. A node
// therefore gets the smaller of its free pages and the machine's free pages less the reserved ones.
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
    *h = (struct page_supply){.node = node};
    h->of_2m = read_pool(sys_root, node, PAGE_2M);
    h->of_1g = read_pool(sys_root, node, PAGE_1G);
}

static uint64_t read_meminfo(const char *proc_root, const char *name)
{
    char path[PATH_BYTES], line[256];
    uint64_t kib = 0;
    snprintf(path, sizeof(path), "%s/meminfo", proc_root);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    const size_t len = strlen(name);
    while (kib == 0 && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, name, len) == 0 && sscanf(line + len, ": %" SCNu64, &kib) != 1)
            kib = 0;
    fclose(f);
    return kib << 10;
}

void memory_4k_read(struct memory_4k *m, const char *proc_root)
{
    m->available_bytes = read_meminfo(proc_root, "MemAvailable");
    m->total_bytes = read_meminfo(proc_root, "MemTotal");
    const uint64_t least =
        MIN((uint64_t)LINUX_KEEPS_MIB_MIN << 20, m->total_bytes / 100 * LINUX_KEEPS_PERCENT_MAX);
    m->linux_bytes =
        MIN(MAX(m->total_bytes / 100 * LINUX_KEEPS_PERCENT, least), m->available_bytes);
}

void page_supply_spare(struct page_supply *h, const struct memory_4k *m)
{
    h->has_spare = m->total_bytes != 0;
    h->spare_bytes = m->available_bytes - m->linux_bytes;
}

static uint64_t pages_for(uint64_t bytes, size_t page_bytes)
{
    return bytes / page_bytes + (bytes % page_bytes != 0);
}

// beside: the page size for leave_bytes, which DPDK allocates in addition to the piece. The piece
// takes `taken` pages of piece_bytes. 2 MiB if enough of those are free, then 1 GiB, else the
// piece's page size (and *free is false). DPDK chooses in the same order.
static size_t beside(const struct page_supply *h, size_t piece_bytes, uint64_t taken,
                     uint64_t leave_bytes, bool *free)
{
    uint64_t left_2m = h->of_2m.free, left_1g = h->of_1g.free;
    uint64_t *left = piece_bytes == PAGE_1G ? &left_1g : &left_2m;
    *left -= MIN(taken, *left);
    *free = true;
    if (left_2m >= pages_for(leave_bytes, PAGE_2M))
        return PAGE_2M;
    if (left_1g >= pages_for(leave_bytes, PAGE_1G))
        return PAGE_1G;
    *free = false;
    return piece_bytes;
}

static void plan_of(const struct page_supply *h, size_t page_bytes, uint64_t bytes,
                    uint64_t leave_bytes, struct page_plan *out)
{
    const bool gib = page_bytes == PAGE_1G;
    const uint64_t piece = pages_for(bytes, page_bytes);
    *out = (struct page_plan){.piece_page_bytes = page_bytes};
    out->beside_page_bytes = beside(h, page_bytes, piece, leave_bytes, &out->fits);
    out->fits = out->fits && piece <= (gib ? h->of_1g.free : h->of_2m.free);
    *(gib ? &out->of_1g : &out->of_2m) = piece;
    *(out->beside_page_bytes == PAGE_1G ? &out->of_1g : &out->of_2m) +=
        pages_for(leave_bytes, out->beside_page_bytes);
}

static bool wastes_little(uint64_t bytes)
{
    const uint64_t rounded = pages_for(bytes, PAGE_1G) * PAGE_1G;
    return (rounded - bytes) * 100 < bytes * WASTE_PERCENT_MAX;
}

void page_supply_plan(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                      uint64_t leave_bytes, struct page_plan *out)
{
    struct page_plan of_1g;
    if (kind == PAGES_NONE) {
        *out = (struct page_plan){PAGE_4K, PAGE_4K, 0, 0, true};
        return;
    }
    plan_of(h, PAGE_2M, bytes, leave_bytes, out);
    plan_of(h, PAGE_1G, bytes, leave_bytes, &of_1g);
    if (kind == PAGES_1G ||
        (kind == PAGES_AUTO && of_1g.fits && (wastes_little(bytes) || !out->fits)))
        *out = of_1g;
}

static const struct page_count *count_of(const struct page_supply *h, size_t page_bytes)
{
    return page_bytes == PAGE_1G ? &h->of_1g : &h->of_2m;
}

static uint64_t needed_of(const struct page_plan *plan, size_t page_bytes)
{
    return page_bytes == PAGE_1G ? plan->of_1g : plan->of_2m;
}

uint64_t page_supply_missing(const struct page_supply *h, const struct page_plan *plan,
                             size_t page_bytes)
{
    const uint64_t needed = needed_of(plan, page_bytes), free = count_of(h, page_bytes)->free;
    return needed - MIN(needed, free);
}

bool page_supply_can(const struct page_supply *h, const struct page_plan *plan)
{
    const uint64_t of_2m = page_supply_missing(h, plan, PAGE_2M);
    const uint64_t of_1g = page_supply_missing(h, plan, PAGE_1G);
    // spare_bytes is below 2^63. The two comparisons keep the products from overflowing.
    return !h->has_spare ||
           (of_2m <= h->spare_bytes / PAGE_2M && of_1g <= h->spare_bytes / PAGE_1G &&
            of_2m * PAGE_2M + of_1g * PAGE_1G <= h->spare_bytes);
}

// Other processes may use pages, so the missing pages are added to all existing ones, used or free.
void page_supply_command(const struct page_supply *h, const struct page_plan *plan,
                         size_t page_bytes, char out[PAGE_COMMAND_BYTES])
{
    const uint64_t want = count_of(h, page_bytes)->total + page_supply_missing(h, plan, page_bytes);
    if (h->node >= 0)
        snprintf(out, PAGE_COMMAND_BYTES,
                 "echo %" PRIu64 " > /sys/devices/system/node/node%d/hugepages/hugepages-%zukB/"
                 "nr_hugepages",
                 want, h->node, page_bytes / 1024);
    else if (page_bytes == PAGE_1G)
        snprintf(out, PAGE_COMMAND_BYTES,
                 "echo %" PRIu64 " > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
                 want);
    else
        snprintf(out, PAGE_COMMAND_BYTES, "sysctl vm.nr_hugepages=%" PRIu64, want);
}

// refuse: sets an error such as "2 MiB pages: 1,280 needed, 64 free: sysctl vm.nr_hugepages=1280".
static int refuse(const struct page_supply *h, const struct page_plan *plan, struct err *e)
{
    const size_t page_bytes = page_supply_missing(h, plan, PAGE_1G) != 0 ? PAGE_1G : PAGE_2M;
    char a[LEDGER_GROUPED_BYTES], b[LEDGER_GROUPED_BYTES], command[PAGE_COMMAND_BYTES];
    const char *size = page_bytes == PAGE_1G ? "1 GiB" : "2 MiB";
    ledger_grouped(a, needed_of(plan, page_bytes));
    ledger_grouped(b, count_of(h, page_bytes)->free);
    if (!page_supply_can(h, plan)) {
        char c[LEDGER_GROUPED_BYTES];
        return err_set(e,
                       "%s pages: %s needed, %s free, and this machine has memory for %s "
                       "more: make [memory] smaller (c10m plan)",
                       size, a, b, ledger_grouped(c, h->spare_bytes / page_bytes));
    }
    page_supply_command(h, plan, page_bytes, command);
    return err_set(e, "%s pages: %s needed, %s free: %s", size, a, b, command);
}

int page_supply_choose(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                       uint64_t leave_bytes, size_t *page_bytes, struct err *e)
{
    struct page_plan plan;
    page_supply_plan(h, kind, bytes, leave_bytes, &plan);
    *page_bytes = plan.piece_page_bytes;
    return plan.fits ? 0 : refuse(h, &plan, e);
}
