// SPDX-License-Identifier: BSD-3-Clause
// eal.h: starts and stops DPDK's environment abstraction layer (EAL). A struct replaces its command
// line. EAL gets one lcore for the control thread, one lcore for each worker, and a fixed amount of
// memory.
#pragma once
#include "base/err.h"

enum { EAL_WORKERS_MAX = 64, EAL_NODES_MAX = 8, EAL_PCI_MAX = 16 };

struct eal_params {
    const char *file_prefix;  // of DPDK's files; processes with different prefixes are independent
    unsigned main_cpu;        // the first Linux core: the calling thread is pinned to it as lcore 0
    unsigned workers;         // worker i is lcore i + 1 on worker_cpu[i]
    unsigned worker_cpu[EAL_WORKERS_MAX];
    bool hugepages;                        // false: 4 KiB pages, no secondary process, slower
    uint64_t memory_bytes[EAL_NODES_MAX];  // packet memory per NUMA node; rounded up to pages
    const char *huge_dir;  // if huge_dir/2M or huge_dir/1G is a hugetlbfs, it is used; may be NULL
    bool in_memory;        // no file on hugetlbfs: no secondary process, no stale files
    bool telemetry;        // DPDK's own telemetry socket
    const char *pci_allow[EAL_PCI_MAX];  // PCI addresses that may be opened; none: no PCI scan
};

// eal_start: starts EAL. The control thread calls it, once in the life of a process. It first
// removes the directories under /run/dpdk and the hugepage files that killed processes left. The
// threads that EAL creates block every signal; the caller's signal mask does not change. Returns 0,
// or -1 with the reason and the remedy in *err.
int eal_start(const struct eal_params *params, struct err *err);

// eal_stop: releases everything and removes the directory and the hugepage files. All workers must
// have returned.
void eal_stop(void);

// eal_leave_devices: eal_stop() will close no device of DPDK. For a process that ends afterwards,
// and that has a device whose driver might not return.
void eal_leave_devices(void);

// eal_give: DPDK's directory becomes that user's. For a process that gives up root. Returns 0, or
// -1 with *err.
int eal_give(unsigned uid, unsigned gid, struct err *err);

// eal_abandon: removes the directory and the files while they are in use. For a process that ends
// immediately afterwards.
void eal_abandon(void);

// eal_worker_launch: runs fn(arg) on the core of that worker. Returns 0, or -1 with the reason in
// *err.
int eal_worker_launch(unsigned worker, int (*fn)(void *arg), void *arg, struct err *err);

// eal_worker_join: waits until that worker's function has returned, and returns its result.
int eal_worker_join(unsigned worker);

// eal_memory_bytes: the bytes of memory that EAL holds, for the ledger. With hugepages these are
// bytes of hugetlbfs.
uint64_t eal_memory_bytes(void);

// eal_page_bytes: the page size of that memory: 4 KiB, 2 MiB or 1 GiB. 0 before eal_start().
uint64_t eal_page_bytes(void);
