// SPDX-License-Identifier: BSD-3-Clause
// topology.h: where a CPU lies: core, hyper-thread siblings, caches, NUMA node. Reads /sys.
#pragma once
#include "base/base.h"

enum { TOPOLOGY_CACHES_MAX = 6, TOPOLOGY_LIST_BYTES = 64 };

struct cpu_cache {
    unsigned level;
    char type;  // 'D'ata, 'I'nstruction, 'U'nified
    uint64_t bytes;
    char shared[TOPOLOGY_LIST_BYTES];  // CPUs that share it, as "0-3,8"
};

// cpu_place: what the kernel tells of one CPU; what it does not tell is 0 or empty.
struct cpu_place {
    unsigned cpu;
    int node;                            // NUMA node; -1: the kernel names none
    int package, core;                   // -1: the same
    char siblings[TOPOLOGY_LIST_BYTES];  // CPUs of its core, itself included
    bool has_siblings;                   // others share its core
    unsigned n_caches;
    struct cpu_cache caches[TOPOLOGY_CACHES_MAX];
};

// topology_read: CPU number `cpu` according to sys_root ("/sys"). False: there is no such CPU.
bool topology_read(const char *sys_root, unsigned cpu, struct cpu_place *out);

// topology_cache_bytes: the data cache of that level. 0: it has none, or the kernel does not tell.
uint64_t topology_cache_bytes(const struct cpu_place *p, unsigned level);

// topology_nodes: NUMA nodes that are online, at least 1.
unsigned topology_nodes(const char *sys_root);
