// SPDX-License-Identifier: BSD-3-Clause
// hugepages.h: the host's huge pages by NUMA node and size, and how many of them this process
// has. Control thread.
#pragma once
#include "base/text.h"

enum { HUGE_NODES_MAX = 16, HUGE_SIZES_MAX = 4 };

// ctl_hugepages_render: for each size SIZE (2048kB, 1048576kB) all_SIZE_total, _free, _reserved
// (promised to mappings that have not touched them), _surplus and _mapped (by this process), then
// node_N_SIZE_total, _free, _surplus and _mapped. In pages. From sys_root ("/sys") and proc
// ("/proc"); what cannot be read is 0.
void ctl_hugepages_render(const char *sys_root, const char *proc, struct text *out);
