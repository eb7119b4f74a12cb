// SPDX-License-Identifier: BSD-3-Clause
// eal.h: starts and stops DPDK's environment layer (EAL) from a struct instead of a command line:
// one lcore for the control thread, one per worker, a counted amount of memory, nothing else.
#pragma once
#include "base/err.h"

enum { EAL_WORKERS_MAX = 64, EAL_NODES_MAX = 8, EAL_PCI_MAX = 16 };

struct eal_params {
    const char *file_prefix;  // names DPDK's files: servers of different names can live together
    unsigned main_cpu;        // the first Linux core: the calling thread is pinned to it as lcore 0
    unsigned workers;         // worker i is lcore i + 1 on worker_cpu[i]
    unsigned worker_cpu[EAL_WORKERS_MAX];
    bool hugepages;                        // false: 4 KiB pages, no secondary process, slower
    uint64_t memory_bytes[EAL_NODES_MAX];  // packet memory per NUMA node; rounded up to pages
    const char *huge_dir;  // its hugetlbfs "2M" or "1G" is taken where it is mounted; may be NULL
    bool in_memory;        // no file on hugetlbfs: no secondary process, nothing stale
    bool telemetry;        // DPDK's own telemetry socket
    const char *pci_allow[EAL_PCI_MAX];  // PCI addresses that may be opened; none: no PCI scan
};

// eal_start: brings EAL up; once in a process, by the control thread. What killed processes left
// under /run/dpdk, and their hugepage files, are removed first. Threads that EAL makes have every
// signal blocked; the caller's mask is as before. Returns 0, or -1 with the reason and what to do.
int eal_start(const struct eal_params *params, struct err *err);

// eal_stop: gives everything back, directory and hugepage files included. Workers have returned.
void eal_stop(void);

// eal_abandon: removes directory and files while they are in use: the process is to end at once.
void eal_abandon(void);

// eal_worker_launch: runs fn(arg) on worker i's core. 0, or -1 with the reason.
int eal_worker_launch(unsigned worker, int (*fn)(void *arg), void *arg, struct err *err);

// eal_worker_join: waits until worker i's function has returned; gives its result.
int eal_worker_join(unsigned worker);

// eal_memory_bytes: memory that EAL holds (hugetlb bytes when hugepages are on), for the ledger.
uint64_t eal_memory_bytes(void);

// eal_page_bytes: the size of the pages behind it: 2 MiB, 1 GiB or 4 KiB. 0 before eal_start().
uint64_t eal_page_bytes(void);
