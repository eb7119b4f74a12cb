// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_needs.h"

#include <string.h>

#include "base/topology.h"
#include "server/server_check.h"
#include "server/server_memory.h"

static_assert((int)DOCTOR_NODES_MAX >= (int)EAL_NODES_MAX, "each node of EAL's list has a place");

static void take_nic(struct doctor_needs *n, const struct port_params *port, const char *name,
                     unsigned queues)
{
    if (driver_device(port->driver) != DEVICE_PCI || strncmp(port->device, "net_", 4) == 0 ||
        n->n_nics == ARRAY_LEN(n->nics))
        return;
    struct doctor_nic *nic = &n->nics[n->n_nics++];
    pci_address_full(port->device, nic->address);
    nic->port = name;
    nic->queues = queues;
}

static void take_nics(struct doctor_needs *n, const struct server_params *p)
{
    const struct port_params *port;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; (port = server_device(&p->ports[i], k)) != NULL; k++)
            take_nic(n, port, p->ports[i].n_members != 0 ? port->name : p->ports[i].port.name,
                     server_port_queues(p, i));
}

void doctor_needs_online(struct doctor_needs *n, const struct doctor_host *h)
{
    char line[DOCTOR_CPUS_TEXT_BYTES];
    doctor_line(h, "/sys/devices/system/cpu/online", line, sizeof(line));
    if (!doctor_cpus_parse_list(&n->online, line) || doctor_cpus_count(&n->online) == 0)
        n->online = doctor_cpus_or(&n->workers, &n->linux_cpus);
}

static void take_cpus(struct doctor_needs *n, const struct server_params *p,
                      const struct doctor_host *h)
{
    for (unsigned i = 0; i < p->n_workers; i++)
        doctor_cpus_add(&n->workers, p->worker_cpu[i]);
    for (unsigned i = 0; i < p->n_linux_cpus; i++)
        doctor_cpus_add(&n->linux_cpus, p->linux_cpus[i]);
    doctor_cpus_add(&n->linux_cpus, p->linux_cpu);
    doctor_needs_online(n, h);
}

// As many connections as fit; if none do, as few as there can be: the rows say what is missing.
static void take_connections(struct server_params *p, const struct doctor_host *h)
{
    char sys[DOCTOR_PATH_BYTES], proc[DOCTOR_PATH_BYTES];
    struct server_supply s;
    if (p->connections != 0)
        return;
    server_supply_read(&s, doctor_path(h, sys, "/sys"), doctor_path(h, proc, "/proc"),
                       h->root[0] == '\0' ? p->huge_dir : NULL);
    const uint32_t n = server_fit(p, &s.pages, s.pages.spare_bytes);
    server_fit_to(p, MAX(n, p->n_workers));
}

void doctor_needs_of(struct doctor_needs *n, struct server_params *p, const struct conf *c,
                     const struct doctor_host *h)
{
    static struct eal_params eal;
    *n = (struct doctor_needs){.params = p,
                               .exclusive = c->cpu.exclusive,
                               .user = c->control.user,
                               .seccomp = c->control.seccomp != CONF_SECCOMP_OFF,
                               .landlock = c->control.landlock};
    take_connections(p, h);
    take_cpus(n, p, h);
    take_nics(n, p);
    n->packet_bytes = server_packet_bytes(p);
    server_eal_params(p, &eal);
    for (unsigned i = 0; i < EAL_NODES_MAX; i++)
        n->node_packet_bytes[i] = eal.memory_bytes[i];
}

void doctor_memory(const struct doctor_needs *n, const struct doctor_host *h,
                   struct server_need *out)
{
    char sys[DOCTOR_PATH_BYTES], proc[DOCTOR_PATH_BYTES];
    server_need_read(n->params, doctor_path(h, sys, "/sys"), doctor_path(h, proc, "/proc"), out);
}

unsigned doctor_nodes(const struct doctor_host *h)
{
    char sys[DOCTOR_PATH_BYTES];
    return MIN(topology_nodes(doctor_path(h, sys, "/sys")), (unsigned)DOCTOR_NODES_MAX);
}

long doctor_server_runs(const struct doctor_needs *n, const struct doctor_host *h)
{
    return h->root[0] != '\0' ? 0 : server_owner(n->params);
}
