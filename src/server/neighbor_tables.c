// SPDX-License-Identifier: BSD-3-Clause
#include "server/neighbor_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

bool server_has_neighbors(const struct server_params *p, unsigned port)
{
    return !p->ports[port].net.loops;
}

int server_port_toward(const struct server_params *p, const struct ip_addr *a)
{
    int only = -1;
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct net_config *c = &p->ports[i].net;
        if (!server_has_neighbors(p, i))
            continue;
        for (unsigned k = 0; k < c->n_locals; k++)
            if (ip_in_prefix(a, &c->locals[k].addr, c->locals[k].prefix_bits))
                return (int)i;
        only = (int)i;
        n++;
    }
    return n == 1 ? only : -1;
}

// seen: the lines that were printed. Each worker has its own cache, and most entries are equal.
struct seen {
    uint64_t *hashes;
    size_t mask;
};

// Whether the line was printed before. Notes that it is printed now.
static bool seen_line(struct seen *s, const char *line, size_t n)
{
    uint64_t h = 14695981039346656037u;  // FNV-1a
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)line[i]) * 1099511628211u;
    h |= 1;
    for (size_t i = h & s->mask;; i = (i + 1) & s->mask) {
        if (s->hashes[i] == h)
            return true;
        if (s->hashes[i] == 0) {
            s->hashes[i] = h;
            return false;
        }
    }
}

static void put_new(struct text *out, struct seen *seen, const char *lines, size_t n)
{
    for (const char *at = lines, *end; at < lines + n; at = end) {
        const char *newline = memchr(at, '\n', (size_t)(lines + n - at));
        end = newline != NULL ? newline + 1 : lines + n;
        if (!seen_line(seen, at, (size_t)(end - at)))
            text_put(out, at, (size_t)(end - at));
    }
}

// table: how the entries of one family are read and printed.
struct table {
    const char *head;
    uint32_t (*slots)(const struct net *n);
    size_t (*render)(const struct net *n, const char *port, uint32_t *slot, char *out,
                     size_t bytes);
};

static void put_neighbors(struct text *out, struct seen *seen, const struct server *s,
                          const struct worker_port *wp, unsigned port, const struct table *of)
{
    char lines[4096];
    for (uint32_t slot = 0;
         server_has_neighbors(server_params_of(s), port) && slot < of->slots(wp->net);) {
        const size_t n = of->render(wp->net, wp->port->name, &slot, lines, sizeof(lines));
        put_new(out, seen, lines, n);
    }
}

int server_neighbors_render(const struct server *s, enum neighbors_table table, struct text *out)
{
    static const struct table tables[] = {
        [NEIGHBORS_ARP] = {NET_ARP_HEAD, net_arp_slots, net_arp_render},
        [NEIGHBORS_ND] = {"", net_nd_slots, net_nd_render},
    };
    const struct table *of = &tables[table];
    struct seen seen = {NULL, 1};
    size_t slots = 1;
    for (unsigned w = 0; w < server_workers(s); w++)
        for (unsigned p = 0; p < server_worker(s, w)->n_ports; p++)
            slots += of->slots(server_worker(s, w)->ports[p].net);
    while (seen.mask < 2 * slots)
        seen.mask *= 2;
    seen.hashes = calloc(seen.mask, sizeof(seen.hashes[0]));
    if (seen.hashes == NULL)
        return -ENOMEM;
    seen.mask--;
    text_printf(out, "%s", of->head);
    for (unsigned w = 0; w < server_workers(s); w++)
        for (unsigned p = 0; p < server_worker(s, w)->n_ports; p++)
            put_neighbors(out, &seen, s, &server_worker(s, w)->ports[p], p, of);
    free(seen.hashes);
    return 0;
}
