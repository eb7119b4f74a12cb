// SPDX-License-Identifier: BSD-3-Clause
// page_supply.h: which pages are free, and which of them an arena takes. Reads /sys, changes
// nothing.
#pragma once
#include "base/base.h"
#include "base/err.h"

#define PAGE_4K ((size_t)4096)
#define PAGE_2M ((size_t)2 << 20)
#define PAGE_1G ((size_t)1 << 30)

enum pages_kind { PAGES_AUTO, PAGES_1G, PAGES_2M, PAGES_NONE };

// page_count: the kernel's pages of one size. free: without those promised to a mapping that has
// not touched them yet.
struct page_count {
    uint64_t total;
    uint64_t free;
};

struct page_supply {
    struct page_count of_2m, of_1g;
    int node;  // -1: of all NUMA nodes
};

// page_supply_read: what there is on NUMA node `node` (-1: all) according to sys_root ("/sys"). A
// size that the kernel does not know has none.
void page_supply_read(struct page_supply *h, const char *sys_root, int node);

// page_supply_choose: the page size for `bytes` in one piece, of which `leave_bytes` more must stay
// free in pages of either size for others (DPDK's packets). PAGES_AUTO: 1 GiB where rounding up
// wastes less than 2 % or 2 MiB pages do not suffice; else 2 MiB. PAGES_NONE: ordinary 4 KiB pages.
// -1: not enough of them; *e holds the arithmetic and the command that makes it fit.
int page_supply_choose(const struct page_supply *h, enum pages_kind kind, uint64_t bytes,
                       uint64_t leave_bytes, size_t *page_bytes, struct err *e);
