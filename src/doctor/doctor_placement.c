// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/topology.h"
#include "doctor/doctor_pci.h"
#include "doctor/doctor_rows.h"
#include "server/server_memory.h"

// ---- NUMA

// cpus_of_node: the workers on it.
static struct doctor_cpus workers_on(const struct doctor *d, unsigned node)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus set;
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
    doctor_line(&d->host, path, line, sizeof(line));
    doctor_cpus_parse_list(&set, line);
    return doctor_cpus_and(&set, &d->needs.workers);
}

static void say_nic_node(const struct doctor *d, const struct doctor_nic *nic,
                         struct doctor_finding *f)
{
    char path[DOCTOR_PATH_BYTES], line[32], list[DOCTOR_CPUS_TEXT_BYTES];
    doctor_line(&d->host, doctor_pci_path(path, nic->address, "numa_node"), line, sizeof(line));
    const long node = line[0] == '\0' ? -1 : strtol(line, NULL, 10);
    if (node < 0) {
        doctor_say(f, DOCTOR_OK, "%s: of no node", nic->address);
        return;
    }
    const struct doctor_cpus near = workers_on(d, (unsigned)node);
    const struct doctor_cpus far = doctor_cpus_less(&d->needs.workers, &near);
    doctor_say(f, DOCTOR_OK, "%s: node %ld", nic->address, node);
    if (doctor_cpus_count(&far) == 0)
        return;
    doctor_say(f, DOCTOR_WARN, "workers on CPUs %s are on another", doctor_cpus_list(&far, list));
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%ld/cpulist", node);
    doctor_line(&d->host, path, list, sizeof(list));
    doctor_advise(f, "take [cpu] workers from CPUs %s, which are on the node of %s", list,
                  nic->address);
}

// DPDK's memory of packets lies where server_eal_params() puts it, whatever the workers' nodes.
static void say_packets(const struct doctor *d, struct doctor_finding *f)
{
    char list[DOCTOR_CPUS_TEXT_BYTES];
    for (unsigned i = 0; i < doctor_nodes(&d->host); i++) {
        const struct doctor_cpus on = workers_on(d, i);
        if (doctor_cpus_count(&on) != 0 && d->needs.node_packet_bytes[i] == 0)
            doctor_say(f, DOCTOR_WARN,
                       "the packets of the workers on CPUs %s are not on their node %u",
                       doctor_cpus_list(&on, list), i);
    }
}

DOCTOR_LOOK(numa)
{
    const unsigned n = doctor_nodes(&d->host);
    if (n == 1) {
        doctor_say(f, DOCTOR_OK, "one node");
        return;
    }
    doctor_say(f, DOCTOR_OK, "%u nodes", n);
    for (unsigned i = 0; i < d->needs.n_nics; i++)
        say_nic_node(d, &d->needs.nics[i], f);
    if (d->needs.params->pages != PAGES_NONE)
        say_packets(d, f);
}

// ---- PCIe

// link: "8.0 GT/s PCIe" and a number of lanes; 0: the device does not say.
struct link {
    double gt_per_s;
    unsigned width;
};

static struct link link_of(const struct doctor *d, const char *address, const char *which)
{
    char path[DOCTOR_PATH_BYTES], file[64], line[64];
    struct link l;
    snprintf(file, sizeof(file), "%s_link_speed", which);
    doctor_line(&d->host, doctor_pci_path(path, address, file), line, sizeof(line));
    l.gt_per_s = strtod(line, NULL);
    snprintf(file, sizeof(file), "%s_link_width", which);
    doctor_line(&d->host, doctor_pci_path(path, address, file), line, sizeof(line));
    l.width = (unsigned)strtoul(line, NULL, 10);
    return l;
}

// 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s on.
static double link_gb_per_s(const struct link *l)
{
    return l->gt_per_s * l->width * (l->gt_per_s < 6 ? 8.0 / 10 : 128.0 / 130);
}

static void say_link(const struct doctor *d, const char *address, struct doctor_finding *f)
{
    const struct link now = link_of(d, address, "current"), max = link_of(d, address, "max");
    if (now.width == 0 || max.width == 0 || now.gt_per_s == 0) {
        doctor_say(f, DOCTOR_UNKNOWN, "%s does not say", address);
        return;
    }
    const bool below = now.width < max.width || now.gt_per_s < max.gt_per_s;
    doctor_say(f, below ? DOCTOR_WARN : DOCTOR_OK, "%s: x%u at %.1f GT/s (%.0f Gb/s)", address,
               now.width, now.gt_per_s, link_gb_per_s(&now));
    if (!below)
        return;
    text_printf(&f->value, " of x%u at %.1f GT/s (%.0f Gb/s)", max.width, max.gt_per_s,
                link_gb_per_s(&max));
    doctor_advise(f,
                  "put %s into a slot with %u lanes of %.1f GT/s; look at the firmware's "
                  "settings of the slot (bifurcation, ASPM)",
                  address, max.width, max.gt_per_s);
}

DOCTOR_LOOK(pcie)
{
    if (d->needs.n_nics == 0)
        doctor_say(f, DOCTOR_NONE, "no port of driver pci");
    for (unsigned i = 0; i < d->needs.n_nics; i++)
        say_link(d, d->needs.nics[i].address, f);
}

// ---- queues

static bool count_rx(void *arg, const char *name)
{
    *(unsigned *)arg += strncmp(name, "rx-", 3) == 0;
    return true;
}

// What the kernel's driver shows; 0: it is not bound to one.
static unsigned kernel_queues(const struct doctor *d, const char *address)
{
    char path[DOCTOR_PATH_BYTES], interface[DOCTOR_NAME_BYTES];
    unsigned n = 0;
    doctor_pci_interface(&d->host, address, interface);
    snprintf(path, sizeof(path), "/sys/class/net/%s/queues", interface);
    if (interface[0] != '\0')
        doctor_each(&d->host, path, count_rx, &n);
    return n;
}

DOCTOR_LOOK(queues)
{
    const struct server_params *p = d->needs.params;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const unsigned queues = server_port_queues(p, i);
        if (p->ports[i].net.loops)
            continue;
        doctor_say(f, queues < p->n_workers ? DOCTOR_WARN : DOCTOR_OK,
                   "port %s: %u queues for %u workers", p->ports[i].port.name, queues,
                   p->n_workers);
        if (queues < p->n_workers)
            doctor_advise(f, "[port %s] queues = auto, or as many workers as queues",
                          p->ports[i].port.name);
    }
    for (unsigned i = 0; i < d->needs.n_nics; i++) {
        const struct doctor_nic *nic = &d->needs.nics[i];
        const unsigned has = kernel_queues(d, nic->address);
        if (has == 0 || has >= p->n_workers)
            continue;
        doctor_say(f, DOCTOR_WARN, "the kernel's driver uses %u queues of %s", has, nic->address);
        doctor_advise(f, "%s may have more: ethtool -l shows how many it can have", nic->address);
    }
    if (f->state == DOCTOR_NONE)
        doctor_say(f, DOCTOR_NONE, "no port");
}
