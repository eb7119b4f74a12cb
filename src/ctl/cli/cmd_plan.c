// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/pci_address.h"
#include "base/topology.h"
#include "mem/ledger.h"
#include "mem/page_supply.h"
#include "pkt/port.h"
#include "server/idle_mode.h"
#include "server/server_fit.h"
#include "server/server_memory.h"

enum { CPUS_MAX = 1024, ROLE_BYTES = 32, PATH_BYTES = 512, LIST_BYTES = 4096 };

void ctl_plan(const struct server_params *p, struct text *out)
{
    struct ledger l = {0};
    text_printf(out, "linux core %u\n", p->linux_cpu);
    for (unsigned i = 0; i < p->n_workers; i++)
        text_printf(out, "worker %u on core %u, %u connections\n", i, p->worker_cpu[i],
                    (p->connections + p->n_workers - 1) / p->n_workers);
    idle_mode_render(p, out);
    server_ledger(p, &l);
    ledger_render(&l, p->connections, out);
}

static bool is_linux(const struct server_params *p, unsigned cpu)
{
    for (unsigned i = 0; i < p->n_linux_cpus; i++)
        if (p->linux_cpus[i] == cpu)
            return true;
    return cpu == p->linux_cpu;
}

static bool is_worker(const struct server_params *p, unsigned cpu)
{
    for (unsigned i = 0; i < p->n_workers; i++)
        if (p->worker_cpu[i] == cpu)
            return true;
    return false;
}

static void role_of(const struct server_params *p, unsigned cpu, char out[ROLE_BYTES])
{
    unsigned n = 0, first = 0;
    for (unsigned i = p->n_workers; i-- > 0;)
        if (p->worker_cpu[i] == cpu) {
            n++;
            first = i;
        }
    const char *also = is_linux(p, cpu) ? "linux, " : "";
    if (n > 1)
        snprintf(out, ROLE_BYTES, "%s%u workers", also, n);
    else if (n == 1)
        snprintf(out, ROLE_BYTES, "%sworker %u", also, first);
    else
        snprintf(out, ROLE_BYTES, "%s", is_linux(p, cpu) ? "linux" : "-");
}

// "32768 KiB of 0-1".
static void cache_text(const struct cpu_place *place, unsigned level, struct text *out)
{
    for (unsigned i = 0; i < place->n_caches; i++) {
        const struct cpu_cache *c = &place->caches[i];
        if (c->level == level && c->type != 'I') {
            text_printf(out, "%" PRIu64 " KiB of %s", c->bytes >> 10, c->shared);
            return;
        }
    }
    text_printf(out, "-");
}

static void number_text(int n, struct text *out)
{
    if (n < 0)
        text_printf(out, "%8s", "-");
    else
        text_printf(out, "%8d", n);
}

static void cpu_line(const struct server_params *p, const struct cpu_place *place, struct text *out)
{
    char role[ROLE_BYTES];
    struct text cache;
    role_of(p, place->cpu, role);
    text_printf(out, "%-5u %-18s", place->cpu, role);
    number_text(place->node, out);
    number_text(place->package, out);
    number_text(place->core, out);
    text_printf(out, "  %-12s", place->has_siblings ? place->siblings : "-");
    for (unsigned level = 2; level <= 3; level++) {
        text_init(&cache, 256);
        cache_text(place, level, &cache);
        text_printf(out, level == 2 ? " %-20s" : " %s", text_str(&cache));
        text_free(&cache);
    }
    text_printf(out, "\n");
}

// Who else works on the core of a worker.
static void sibling_doubt(const struct server_params *p, const struct cpu_place *place,
                          struct text *out)
{
    char role[ROLE_BYTES];
    for (unsigned other = 0; other < CPUS_MAX; other++) {
        if (other == place->cpu || !topology_list_has(place->siblings, other))
            continue;
        if (is_worker(p, other) && other < place->cpu)
            continue;  // said of the other one
        role_of(p, other, role);
        if (is_worker(p, other) || is_linux(p, other))
            text_printf(out, "note: CPU %u (worker) shares its core with CPU %u (%s)\n", place->cpu,
                        other, role);
        else
            text_printf(out,
                        "note: CPU %u (worker) shares its core with CPU %u: leave that one idle\n",
                        place->cpu, other);
    }
}

// The device's node: a NIC by its PCI address, an interface by its name; -1: it has none.
static int port_node(const char *sys_root, const struct port_params *port)
{
    char dir[PATH_BYTES / 2], address[PCI_ADDRESS_BYTES], line[32], *end;
    if (port->device == NULL || strpbrk(port->device, "/") != NULL)
        return -1;
    pci_address_full(port->device, address);
    if (driver_device(port->driver) == DEVICE_PCI)
        snprintf(dir, sizeof(dir), "%.100s/bus/pci/devices/%s", sys_root, address);
    else
        snprintf(dir, sizeof(dir), "%.100s/class/net/%.100s/device", sys_root, port->device);
    io_read_line(dir, "numa_node", line, sizeof(line));
    const long node = strtol(line, &end, 10);
    return end == line || node < 0 ? -1 : (int)node;
}

// port_line: the device of port i, or that of a member of it.
static void port_line(const struct server_params *p, unsigned i, const struct port_params *port,
                      const char *sys_root, const int *nodes_of_workers, struct text *out)
{
    const char *name = p->ports[i].n_members != 0 ? port->name : p->ports[i].port.name;
    const int node = port_node(sys_root, port);
    text_printf(out, "port %s: driver %s", name, port->driver);
    if (node < 0)
        text_printf(out, ", of no NUMA node\n");
    else
        text_printf(out, ", NUMA node %d\n", node);
    for (unsigned w = 0; node >= 0 && w < p->n_workers; w++)
        if (nodes_of_workers[w] >= 0 && nodes_of_workers[w] != node)
            text_printf(out, "note: worker %u is on node %d, port %s on node %d\n", w,
                        nodes_of_workers[w], name, node);
}

static void port_lines(const struct server_params *p, const char *sys_root,
                       const int *nodes_of_workers, struct text *out)
{
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct port_params *port;
        for (unsigned k = 0; (port = server_device(&p->ports[i], k)) != NULL; k++)
            if (!p->ports[i].net.loops)
                port_line(p, i, port, sys_root, nodes_of_workers, out);
    }
}

void ctl_plan_cores(const struct server_params *p, const char *sys_root, struct text *out)
{
    struct cpu_place place;
    struct text notes;
    char isolated[LIST_BYTES], dir[PATH_BYTES / 2];
    int nodes[SERVER_WORKERS_MAX];
    text_init(&notes, 1 << 16);
    snprintf(dir, sizeof(dir), "%.200s/devices/system/cpu", sys_root);
    io_read_line(dir, "isolated", isolated, sizeof(isolated));
    for (unsigned w = 0; w < p->n_workers; w++)
        nodes[w] = topology_read(sys_root, p->worker_cpu[w], &place) ? place.node : -1;
    text_printf(out, "%-5s %-18s%8s%8s%8s  %-12s %-20s %s\n", "cpu", "runs", "node", "package",
                "core", "siblings", "L2", "L3");
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!topology_read(sys_root, cpu, &place))
            continue;
        if (place.core < 0 && place.n_caches == 0 && !is_worker(p, cpu) && !is_linux(p, cpu))
            continue;  // offline
        cpu_line(p, &place, out);
        if (!is_worker(p, cpu))
            continue;
        sibling_doubt(p, &place, &notes);
        if (!topology_list_has(isolated, cpu))
            text_printf(&notes,
                        "note: CPU %u is not isolated (isolcpus): Linux may put others there\n",
                        cpu);
    }
    port_lines(p, sys_root, nodes, &notes);
    text_printf(out, "%s", text_str(&notes));
    text_free(&notes);
}

// The arithmetic of one number of connections.
static void sum_line(const struct server_params *like, uint32_t n, uint64_t have_bytes,
                     struct text *out)
{
    static struct server_params p;
    char a[4][LEDGER_GROUPED_BYTES];
    struct ledger l = {0};
    p = *like;
    server_fit_to(&p, MAX(n, p.n_workers));
    server_ledger(&p, &l);
    const uint64_t all = ledger_bytes(&l), each = ledger_connection_bytes(&l);
    text_printf(out,
                "    %s bytes = %s connections x %.2f + %s apart (records, buffers, packets); %.1f "
                "%% of what is there\n",
                ledger_grouped(a[0], all), ledger_grouped(a[1], p.connections),
                (double)each / p.connections, ledger_grouped(a[2], all - each),
                have_bytes == 0 ? 0 : 100.0 * (double)all / (double)have_bytes);
}

static uint64_t pages_bytes(const struct page_supply *s)
{
    return s->of_2m.free * PAGE_2M + s->of_1g.free * PAGE_1G;
}

int ctl_plan_need(const struct server_params *p, const char *sys_root, const char *proc_root,
                  struct text *out)
{
    struct server_need n;
    server_need_read(p, sys_root, proc_root, &n);
    text_printf(out, "this configuration: ");
    server_need_text(&n, out);
    text_printf(out, "\n");
    return n.fits == SERVER_FITS_NOT ? -1 : 0;
}

void ctl_plan_capacity(const struct server_params *p, const char *sys_root, const char *proc_root,
                       struct text *out)
{
    struct server_supply s;
    char a[3][LEDGER_GROUPED_BYTES];
    server_supply_read(&s, sys_root, proc_root, p->huge_dir);
    const uint64_t spare = s.pages.spare_bytes;
    const bool in_4k = p->pages == PAGES_NONE;
    const uint64_t have_now = in_4k ? spare : pages_bytes(&s.pages);
    const uint32_t now = server_fit(p, &s.pages, spare);
    text_printf(out,
                "free now: %" PRIu64 " pages of 2 MiB, %" PRIu64
                " of 1 GiB; %s bytes in 4 KiB pages, of which Linux keeps %s (a tenth of the "
                "machine's memory, at least 1 GiB)\n",
                s.pages.of_2m.free, s.pages.of_1g.free,
                ledger_grouped(a[0], s.of_4k.available_bytes),
                ledger_grouped(a[1], s.of_4k.linux_bytes));
    text_printf(out, "with the %s free now (connections = max): %s connections\n",
                in_4k ? "4 KiB pages" : "hugepages", ledger_grouped(a[0], now));
    if (now != 0)
        sum_line(p, now, have_now, out);
    if (in_4k)
        return;
    const uint32_t possible = server_fit(p, &s.possible, 0);
    text_printf(out,
                "with the memory free now: %s connections, in pages made by: sysctl "
                "vm.nr_hugepages=%" PRIu64 "\n",
                ledger_grouped(a[0], possible),
                s.pages.of_2m.total + s.possible.of_2m.free - s.pages.of_2m.free);
    if (possible != 0)
        sum_line(p, possible, pages_bytes(&s.possible), out);
}
