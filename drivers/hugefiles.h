// SPDX-License-Identifier: BSD-3-Clause
// hugefiles.h: the host's hugepages as far as EAL's share of them goes: how many are free, where
// they are mounted, and the files that a process leaves there.
#pragma once
#include "base/base.h"

enum { HUGE_PATH_BYTES = 256 };

struct hugepages {
    uint64_t page_bytes;
    uint64_t total, free;         // pages
    char mount[HUGE_PATH_BYTES];  // a hugetlbfs of this page size; empty: none is mounted
};

// hugepages_read: fills out for pages of page_bytes. False: this kernel has no such pages.
bool hugepages_read(uint64_t page_bytes, struct hugepages *out);

// hugepages_prefer: takes the hugetlbfs DIR/2M or DIR/1G, if that is one of h's page size, as
// mount. Those that c10m mounts are not found otherwise: a stranger's file would keep them mounted.
void hugepages_prefer(struct hugepages *h, const char *dir);

// hugefiles_remove: deletes the files "PREFIXmap_*" in dir that no live process holds. EAL keeps a
// shared flock on each file it uses; a file that can be locked exclusively is stale.
void hugefiles_remove(const char *dir, const char *prefix);
// hugefiles_abandon: the same while this process holds them: it is to end at once.
void hugefiles_abandon(const char *dir, const char *prefix);
