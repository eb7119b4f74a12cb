// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mem/hugedir.h"
#include "server/server_memory.h"

enum { EXTENSION_SHARE = 64, EXTENSIONS_MIN = 16384 };  // config/default.conf: extension_records

void server_supply_read(struct server_supply *s, const char *sys_root, const char *proc_root,
                        const char *huge_dir)
{
    page_supply_read(&s->pages, sys_root, -1);
    s->dead_2m = huge_dir == NULL ? 0 : hugedir_dead_bytes(huge_dir, PAGE_2M) / PAGE_2M;
    s->dead_1g = huge_dir == NULL ? 0 : hugedir_dead_bytes(huge_dir, PAGE_1G) / PAGE_1G;
    s->pages.of_2m.free += s->dead_2m;
    s->pages.of_1g.free += s->dead_1g;
    memory_4k_read(&s->of_4k, proc_root);
    page_supply_spare(&s->pages, &s->of_4k);
    s->possible = s->pages;
    s->possible.of_2m.free += s->pages.spare_bytes / PAGE_2M;
}

void server_fit_to(struct server_params *p, uint32_t connections)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].tcp.connections_max == p->connections)
            p->services[i].tcp.connections_max = connections;
    p->connections = connections;
    if (p->extensions == 0)
        p->extensions =
            MIN(connections, MAX(connections / EXTENSION_SHARE, (uint32_t)EXTENSIONS_MIN));
    if (p->flight_logs == 0)
        p->flight_logs = p->extensions;
}

static bool fits(const struct server_params *like, const struct page_supply *pages,
                 uint64_t bytes_4k, uint32_t connections)
{
    static struct server_params p;
    p = *like;
    server_fit_to(&p, connections);
    if (server_within(&p, NULL) != 0)
        return false;
    const uint64_t arena = server_arena_bytes(&p), packets = server_packet_bytes(&p);
    size_t page_bytes;
    if (p.pages == PAGES_NONE)
        return arena + packets <= bytes_4k;
    return page_supply_choose(pages, p.pages, arena, packets, &page_bytes, NULL) == 0;
}

uint32_t server_fit(const struct server_params *p, const struct page_supply *pages,
                    uint64_t bytes_4k)
{
    uint32_t low = p->n_workers, high = SERVER_CONNECTIONS_MAX;
    if (!fits(p, pages, bytes_4k, low))
        return 0;
    while (low < high) {  // low fits
        const uint32_t mid = low + (high - low + 1) / 2;
        if (fits(p, pages, bytes_4k, mid))
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

int server_fit_max(struct server_params *p, struct err *err)
{
    struct server_supply s;
    if (p->connections != 0)
        return 0;
    server_supply_read(&s, "/sys", "/proc", p->huge_dir);
    const uint32_t n = server_fit(p, &s.pages, s.pages.spare_bytes);
    if (n != 0) {
        server_fit_to(p, n);
        return 0;
    }
    if (server_fit(p, &s.possible, 0) == 0)
        err_set(err, "connections = max: this machine has memory for none: make the rest of "
                     "[memory] smaller (c10m plan)");
    else
        err_set(err,
                "connections = max: %" PRIu64 " free pages of 2 MiB and %" PRIu64
                " of 1 GiB hold none: sysctl vm.nr_hugepages=%" PRIu64
                " makes pages of all free memory but Linux's part (c10m plan)",
                s.pages.of_2m.free, s.pages.of_1g.free,
                s.pages.of_2m.total + s.possible.of_2m.free - s.pages.of_2m.free);
    return err_key(err, "memory.connections");
}
