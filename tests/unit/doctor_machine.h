// SPDX-License-Identifier: BSD-3-Clause
// doctor_machine.h: a machine made of files, with a kernel that answers writes as Linux does:
// twelve CPUs on two NUMA nodes, two NICs, an IOMMU, four interrupts.
#pragma once
#include "doctor/doctor_host.h"

#define NIC_A "0000:01:00.0"  // ixgbe, eth1, node 0
#define NIC_B "0000:02:00.0"  // igb, eth0, node 1: carries the default route

struct doctor_machine {
    char root[64];
    unsigned steps;       // writes, runs and replaced files so far
    unsigned stop_at;     // the process ends at this step; 0: never
    bool stop_after;      // ... when the step is done, else before it
    uint64_t pages_most;  // of 2 MiB that a node can get
    bool refuse_bind;     // vfio-pci takes no device
    bool keep_module;     // modprobe -r does not unload
};

extern struct doctor_machine machine;

void machine_make(void);
void machine_remove(void);

// machine_host: its files, and its kernel.
void machine_host(struct doctor_host *h);

// machine_put: a file with what is above it. machine_link: a symbolic link. machine_delete: a file,
// a link or a directory with what is in it.
void machine_put(const char *path, const char *text);
void machine_link(const char *path, const char *target);
void machine_delete(const char *path);

// machine_snapshot: all files, links and directories with what they hold, as text; the caller frees
// it. Not what programs did that ran (/ran).
char *machine_snapshot(void);
