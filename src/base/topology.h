// SPDX-License-Identifier: BSD-3-Clause
// topology.h: the place of a CPU: core, hyper-thread siblings, caches and NUMA node, from /sys.
#pragma once
#include "base/base.h"

enum { TOPOLOGY_CACHES_MAX = 6, TOPOLOGY_LIST_BYTES = 64 };

struct cpu_cache {
    unsigned level;
    char type;  // 'D'ata, 'I'nstruction, 'U'nified
    uint64_t bytes;
    char shared[TOPOLOGY_LIST_BYTES];  // CPUs that share it, as "0-3,8"
};

// cpu_place: what the kernel reports of one CPU; 0 or empty where it reports nothing.
struct cpu_place {
    unsigned cpu;
    int node;                            // NUMA node; -1: not reported
    int package, core;                   // -1: not reported
    char siblings[TOPOLOGY_LIST_BYTES];  // CPUs of its core, including this one
    bool has_siblings;                   // it shares its core
    unsigned n_caches;
    struct cpu_cache caches[TOPOLOGY_CACHES_MAX];
};

// topology_read: reads CPU number `cpu` below sys_root ("/sys"). False: there is no such CPU.
bool topology_read(const char *sys_root, unsigned cpu, struct cpu_place *out);

// topology_list_next: the next range of a list of CPUs as the kernel writes it ("0-3,8"), ended by
// NUL or newline; moves *list behind it. 1, 0 at the end, or -1: it is no list.
int topology_list_next(const char **list, unsigned long *from, unsigned long *to);

// topology_list_has: the list, as far as it is one, has the CPU.
bool topology_list_has(const char *list, unsigned cpu);

// topology_cache_bytes: size of the data cache of that level; 0: it has none, or it is not
// reported.
uint64_t topology_cache_bytes(const struct cpu_place *p, unsigned level);

// topology_nodes: the number of online NUMA nodes, at least 1.
unsigned topology_nodes(const char *sys_root);
