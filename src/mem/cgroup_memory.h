// SPDX-License-Identifier: BSD-3-Clause
// cgroup_memory.h: how much memory the control groups of this process permit (cgroup v2: the
// kernel's Documentation/admin-guide/cgroup-v2.rst). A process that takes more is ended by the
// kernel, however much the machine has. Hugepages do not count.
#pragma once
#include "mem/page_supply.h"

// cgroup_memory_bound: lowers *m to what memory.max of the group of this process and of each one
// above it leaves. The group is that of proc_root ("/proc") /self/cgroup, below cgroup_root
// ("/sys/fs/cgroup"). Of a group's memory, what it can drop from the page cache is available.
// Without such files nothing is changed.
void cgroup_memory_bound(struct memory_4k *m, const char *proc_root, const char *cgroup_root);
