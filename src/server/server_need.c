// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <unistd.h>

#include "base/topology.h"
#include "server/server_fit.h"
#include "server/server_memory.h"

enum { PACKETS_NODE = 0, PATH_BYTES = 512 };  // server_eal_params(): memory_bytes[0]

static bool has_nodes(const char *sys_root)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/devices/system/node/node1", sys_root);
    return access(path, F_OK) == 0;
}

// add: pages of one node; those of the same size and node are one row.
static void add(struct server_need *n, const char *sys_root, int node, size_t page_bytes,
                uint64_t bytes)
{
    struct page_supply here;
    unsigned i = 0;
    while (i < n->n_pages && (n->pages[i].node != node || n->pages[i].page_bytes != page_bytes))
        i++;
    if (i == n->n_pages) {
        page_supply_read(&here, sys_root, node);
        n->n_pages++;
        n->pages[i] =
            (struct server_pages){.page_bytes = page_bytes,
                                  .node = node,
                                  .have = page_bytes == PAGE_1G ? here.of_1g : here.of_2m};
        if (node < 0)
            n->pages[i].have.free += page_bytes == PAGE_1G ? n->supply.dead_1g : n->supply.dead_2m;
    }
    n->pages[i].needed += bytes / page_bytes + (bytes % page_bytes != 0);
}

static void judge(struct server_need *n)
{
    const struct page_supply *all = &n->supply.pages;
    struct page_plan missing = {0};
    for (unsigned i = 0; i < n->n_pages; i++) {
        struct server_pages *row = &n->pages[i];
        const bool gib = row->page_bytes == PAGE_1G;
        const struct page_supply here = {.of_2m = row->have, .of_1g = row->have, .node = row->node};
        const struct page_plan plan = {.of_2m = gib ? 0 : row->needed,
                                       .of_1g = gib ? row->needed : 0};
        const uint64_t more = page_supply_missing(&here, &plan, row->page_bytes);
        *(gib ? &missing.of_1g : &missing.of_2m) += more;
        if (more != 0)
            page_supply_command(&here, &plan, row->page_bytes, row->command);
    }
    const struct page_supply none = {
        .node = -1, .has_spare = all->has_spare, .spare_bytes = all->spare_bytes};
    if (missing.of_2m != 0 || missing.of_1g != 0)
        n->fits = page_supply_can(&none, &missing) ? SERVER_FITS_AFTER : SERVER_FITS_NOT;
}

void server_need_read(const struct server_params *p, const char *sys_root, const char *proc_root,
                      struct server_need *n)
{
    const uint64_t arena = server_arena_bytes(p), packets = server_packet_bytes(p);
    struct page_plan plan;
    struct cpu_place place;
    *n = (struct server_need){.bytes = arena + packets, .fits = SERVER_FITS_NOW};
    server_supply_read(&n->supply, sys_root, proc_root, p->huge_dir);
    page_supply_plan(&n->supply.pages, p->pages, arena, packets, &plan);
    if (p->pages == PAGES_NONE) {
        n->fits = n->bytes <= n->supply.of_4k.available_bytes ? SERVER_FITS_NOW : SERVER_FITS_NOT;
        return;
    }
    const bool nodes = has_nodes(sys_root);
    const int here = nodes && topology_read(sys_root, p->linux_cpu, &place) ? place.node : -1;
    add(n, sys_root, nodes ? here : -1, plan.piece_page_bytes, arena);
    add(n, sys_root, nodes ? PACKETS_NODE : -1, plan.beside_page_bytes, packets);
    judge(n);
}

static void pages_text(const struct server_pages *row, struct text *out)
{
    char a[2][LEDGER_GROUPED_BYTES];
    text_printf(out, "%s pages of %s", ledger_grouped(a[0], row->needed),
                row->page_bytes == PAGE_1G ? "1 GiB" : "2 MiB");
    if (row->node >= 0)
        text_printf(out, " on NUMA node %d", row->node);
    text_printf(out, " needed, %s free", ledger_grouped(a[1], row->have.free));
}

void server_need_text(const struct server_need *n, struct text *out)
{
    const struct memory_4k *m = &n->supply.of_4k;
    char a[3][LEDGER_GROUPED_BYTES];
    bool first = true;
    if (n->n_pages == 0)
        text_printf(out, "%s bytes in 4 KiB pages needed, %s available",
                    ledger_grouped(a[0], n->bytes), ledger_grouped(a[1], m->available_bytes));
    for (unsigned i = 0; i < n->n_pages; i++) {
        text_printf(out, "%s", i == 0 ? "" : ", ");
        pages_text(&n->pages[i], out);
    }
    if (n->fits == SERVER_FITS_NOW)
        text_printf(out, ": it fits");
    else if (n->fits == SERVER_FITS_NOT && n->n_pages == 0)
        text_printf(out, ": it does not fit in this machine");
    else if (n->fits == SERVER_FITS_NOT)
        text_printf(out,
                    ": it does not fit in this machine: %s bytes may become pages, %s of the "
                    "available %s are left to Linux",
                    ledger_grouped(a[0], n->supply.pages.spare_bytes),
                    ledger_grouped(a[1], m->linux_bytes), ledger_grouped(a[2], m->available_bytes));
    for (unsigned i = 0; i < n->n_pages && n->fits == SERVER_FITS_AFTER; i++) {
        if (n->pages[i].command[0] == '\0')
            continue;
        text_printf(out, "%s%s", first ? ": " : " && ", n->pages[i].command);
        first = false;
    }
}
