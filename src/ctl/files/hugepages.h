// SPDX-License-Identifier: BSD-3-Clause
// hugepages.h: the hugepages of the host by NUMA node and size, and those of this process. Control
// thread.
#pragma once
#include "base/text.h"

enum { HUGE_NODES_MAX = 16, HUGE_SIZES_MAX = 4 };

// ctl_hugepages_render: appends for each size SIZE (2048kB, 1048576kB) the numbers of pages
// all_SIZE_total, _free, _reserved (for mappings that have not touched them), _surplus and _mapped
// (by this process), then node_N_SIZE_total, _free, _surplus and _mapped. Reads sys_root ("/sys")
// and proc ("/proc"); values that cannot be read are 0.
void ctl_hugepages_render(const char *sys_root, const char *proc, struct text *out);
