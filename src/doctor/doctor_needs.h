// SPDX-License-Identifier: BSD-3-Clause
// doctor_needs.h: what a configuration takes of the machine: cores, NICs, pages.
#pragma once
#include "base/pci_address.h"
#include "conf/conf.h"
#include "doctor/doctor_cpus.h"
#include "doctor/doctor_host.h"
#include "server/server_fit.h"

enum { DOCTOR_NODES_MAX = 64 };

// doctor_nic: a port of driver pci on a device of the PCI bus.
struct doctor_nic {
    char address[PCI_ADDRESS_BYTES];  // in full
    const char *port;
    unsigned queues;
};

struct doctor_needs {
    const struct server_params *params;
    bool exclusive;    // [cpu] exclusive
    const char *user;  // [control] user, seccomp and landlock: off or not
    bool seccomp, landlock;
    struct doctor_cpus online, workers, linux_cpus;
    unsigned n_nics;
    struct doctor_nic nics[SERVER_DEVICES_MAX];
    uint64_t packet_bytes;                         // of DPDK, on all nodes together
    uint64_t node_packet_bytes[DOCTOR_NODES_MAX];  // of it on each NUMA node
};

// doctor_needs_of: what a server of these parameters takes, on this machine. `connections = max`
// becomes what the memory holds now. *p and *c stay the caller's, which keeps them.
void doctor_needs_of(struct doctor_needs *n, struct server_params *p, const struct conf *c,
                     const struct doctor_host *h);

// doctor_needs_online: reads again which CPUs are online: a change may have taken some off line.
void doctor_needs_online(struct doctor_needs *n, const struct doctor_host *h);

// doctor_memory: the pages that it needs, and those that there are now.
void doctor_memory(const struct doctor_needs *n, const struct doctor_host *h,
                   struct server_need *out);

// doctor_nodes: the number of NUMA nodes, at least 1.
unsigned doctor_nodes(const struct doctor_host *h);

// doctor_server_runs: the living process that is the server of this name; 0: there is none.
long doctor_server_runs(const struct doctor_needs *n, const struct doctor_host *h);
