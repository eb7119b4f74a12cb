// SPDX-License-Identifier: BSD-3-Clause
// hugefiles.h: what EAL uses of the host's hugepages: how many are free, where hugetlbfs is
// mounted, and the files that processes leave there.
#pragma once
#include "base/base.h"

enum { HUGE_PATH_BYTES = 256 };

struct hugepages {
    uint64_t page_bytes;
    uint64_t total, free;         // pages
    char mount[HUGE_PATH_BYTES];  // mount point of a hugetlbfs with this page size; empty: none
};

// hugepages_read: fills *out for pages of page_bytes. False: the kernel has no such pages.
bool hugepages_read(uint64_t page_bytes, struct hugepages *out);

// hugepages_prefer: sets h->mount to DIR/2M or DIR/1G, if that is a hugetlbfs of h's page size.
// hugepages_read() ignores mounts of c10m processes: the last user of such a directory unmounts it,
// and files of other processes would prevent that.
void hugepages_prefer(struct hugepages *h, const char *dir);

// hugefiles_remove: removes the files "PREFIXmap_*" in dir that no living process holds. EAL holds
// a shared lock (flock) on each file that it uses, so a file that can be locked exclusively is
// stale.
void hugefiles_remove(const char *dir, const char *prefix);

// hugefiles_abandon: removes the files "PREFIXmap_*" in dir while this process still holds them.
// For a process that ends immediately afterwards.
void hugefiles_abandon(const char *dir, const char *prefix);
