// SPDX-License-Identifier: BSD-3-Clause
// page_supply.h: which pages are free, and which page size an arena uses. Reads /sys, changes
// nothing.
#pragma once
#include "base/base.h"
#include "base/err.h"

#define PAGE_4K ((size_t)4096)
#define PAGE_2M ((size_t)2 << 20)
#define PAGE_1G ((size_t)1 << 30)

enum { PAGE_COMMAND_BYTES = 160 };
enum pages_kind { PAGES_AUTO, PAGES_1G, PAGES_2M, PAGES_NONE };

// page_count: the kernel's pages of one size. free: without those reserved for a mapping that has
// not touched them yet.
struct page_count {
    uint64_t total;
    uint64_t free;
};

struct page_supply {
    struct page_count of_2m, of_1g;
    int node;              // -1: all NUMA nodes
    bool has_spare;        // spare_bytes is known
    uint64_t spare_bytes;  // in 4 KiB pages, which may be made into hugepages
};

// What Linux keeps when 4 KiB pages are made into hugepages: the kernel, the page cache of the
// files served, what else runs. A tenth of the machine's memory, but at least 1 GiB (in MiB here),
// and at most half of the memory of a small machine.
enum { LINUX_KEEPS_PERCENT = 10, LINUX_KEEPS_MIB_MIN = 1024, LINUX_KEEPS_PERCENT_MAX = 50 };

// memory_4k: the memory of the machine that is not in hugepages, from /proc/meminfo.
struct memory_4k {
    uint64_t total_bytes;
    uint64_t available_bytes;  // MemAvailable
    uint64_t linux_bytes;      // of the available bytes, what Linux keeps
};

// memory_4k_read: according to proc_root ("/proc"). All 0: there is no such file.
void memory_4k_read(struct memory_4k *m, const char *proc_root);

// page_plan: the pages of one reservation: of a piece, and of what lies beside it.
struct page_plan {
    size_t piece_page_bytes, beside_page_bytes;  // PAGE_4K: no hugepages
    uint64_t of_2m, of_1g;                       // pages needed
    bool fits;                                   // they are free
};

// page_supply_read: reads the pages of NUMA node `node` (-1: all) below sys_root ("/sys"). A page
// size that the kernel does not support counts 0.
void page_supply_read(struct page_supply *h, const char *sys_root, int node);

// page_supply_spare: adds to *h the memory that may become hugepages, so that no message proposes
// more pages than the machine can make.
void page_supply_spare(struct page_supply *h, const struct memory_4k *m);

// page_supply_plan: the pages for `bytes` in one piece, and of either size for leave_bytes beside
// it (DPDK's packets). PAGES_AUTO: the piece has pages of 1 GiB if rounding up wastes less than 2 %
// or there are not enough 2 MiB pages; else of 2 MiB. PAGES_NONE: 4 KiB.
void page_supply_plan(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                      uint64_t leave_bytes, struct page_plan *out);

// page_supply_missing: pages of that size that are needed and not free.
uint64_t page_supply_missing(const struct page_supply *h, const struct page_plan *plan,
                             size_t page_bytes);

// page_supply_can: whether the memory that may become hugepages is enough for all that are missing.
bool page_supply_can(const struct page_supply *h, const struct page_plan *plan);

// page_supply_command: the command after which the pages of that size are there.
void page_supply_command(const struct page_supply *h, const struct page_plan *plan,
                         size_t page_bytes, char out[PAGE_COMMAND_BYTES]);

// page_supply_choose: the page size of the piece of page_supply_plan(). -1: not enough pages; *e
// has the numbers and the command that adds pages, or says that this machine has not the memory.
int page_supply_choose(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                       uint64_t leave_bytes, size_t *page_bytes, struct err *e);
