// SPDX-License-Identifier: BSD-3-Clause
// The regions of a worker and the pools in them.
#include <string.h>

#include "prof/heap_internal.h"
#include "server/server_memory.h"
#include "tcp/tcp_state.h"

// ---- samples

static void begin(const struct heap *h, struct frames *f)
{
    *f = (struct frames){.n = 0};
    frames_core(f, h->r->shown.server, h->worker);
}

static void put_free(const struct heap *h, const char *what, const char *region, uint64_t bytes)
{
    struct frames f;
    begin(h, &f);
    frames_add(&f, "free %s", what);
    frames_add(&f, "%s", region);
    if (bytes != 0)
        heap_put(h, &f, (struct amount){0, 0}, (struct amount){0, 0}, bytes);
}

// ---- pools

// heap_pool: a pool of a region, and what one of its entries is called.
struct heap_pool {
    enum region_id region;
    const char *pool, *what;
};

enum { REGION_PACKETS = REGION_COUNT, REGION_JUMBO };  // DPDK's memory, no regions of the arena

static const struct heap_pool heap_pools[] = {
    {REGION_BLOCKS, "blocks", "connection block"},
    {REGION_FLOW_TABLE, "flow_entries", "flow entry"},
    {REGION_WHEEL, "timers", "timer entry"},
    {REGION_SYN_RECORDS, "syn_records", "half-open record"},
    {REGION_TIME_WAIT, "time_wait", "TIME-WAIT record"},
    {REGION_TIME_WAIT6, "time_wait6", "TIME-WAIT record over IPv6"},
    {REGION_EXTENSIONS, "extensions", "extension record"},
    {REGION_FLIGHTS, "flight_logs", "flight log"},
    {REGION_FLIGHTS, "flight_logs_large", "large flight log"},
    {REGION_BUFFERS, "buffers", "buffer"},
    {REGION_BUFFERS, "references", "image reference"},
    {(enum region_id)REGION_PACKETS, "packets", "packet"},
    {(enum region_id)REGION_JUMBO, "jumbo_packets", "jumbo packet"},
};

static const struct fill_pool *pool_named(const struct heap *h, const char *name)
{
    for (unsigned i = 0; i < h->n_pools; i++)
        if (strcmp(h->pools[i].name, name) == 0)
            return &h->pools[i];
    return NULL;
}

// amount_of: of n entries of a pool in a region of so many bytes.
static struct amount amount_of(const struct fill_pool *p, uint64_t n, uint64_t region_bytes)
{
    if (p->entry_bytes != 0)
        return (struct amount){n, n * p->entry_bytes};
    const uint64_t bytes =
        p->size == 0 ? 0 : (uint64_t)((unsigned __int128)n * region_bytes / p->size);
    return (struct amount){n, bytes};
}

static void put_owned(const struct heap *h, const struct fill_pool *p, const char *region,
                      const char *what, unsigned service, unsigned state, struct amount a)
{
    const struct server *s = h->r->shown.server;
    struct frames f;
    begin(h, &f);
    frames_add(&f, "%s", what);
    frames_add(&f, "state %s", tcp_state_name((enum tcp_state)state));
    if (service < server_params_of(s)->n_services)
        frames_service(&f, s, service);
    frames_label(&f, "state", "%s", tcp_state_name((enum tcp_state)state));
    frames_add(&f, "%s", region);
    heap_put_used(h, &f, a);
}

// put_tallied: what connections hold of the pool. Returns how many entries.
static uint64_t put_tallied(const struct heap *h, const struct fill_pool *p, const char *region,
                            uint64_t region_bytes)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < TALLIES; k++)
        for (unsigned sv = 0; sv <= TALLY_NO_SERVICE; sv++)
            for (unsigned st = 0; st < TCP_STATE_COUNT; st++) {
                const uint64_t n = h->tally->n[sv][st][k];
                if (n == 0 || strcmp(tally_names[k].pool, p->name) != 0)
                    continue;
                put_owned(h, p, region, tally_names[k].what, sv, st, amount_of(p, n, region_bytes));
                sum += n;
            }
    return sum;
}

// put_waiting: packets that a port has not accepted yet. Returns how many.
static uint64_t put_waiting(const struct heap *h, const struct fill_pool *p, const char *region)
{
    const struct worker *w = server_worker(h->r->shown.server, h->worker);
    uint64_t sum = 0;
    for (unsigned i = 0; i < w->n_ports; i++) {
        const uint64_t n = MIN(peek_u32(&w->ports[i].tx.n), p->used - sum);
        struct frames f;
        begin(h, &f);
        frames_add(&f, "packet to send");
        frames_add(&f, "port %s", server_port(h->r->shown.server, i)->name);
        frames_add(&f, "%s", region);
        heap_put_used(h, &f, amount_of(p, n, 0));
        sum += n;
    }
    return sum;
}

// ended: how many entries of the pool were in use once and are not any more; 0: nobody counts them.
// Of connections, those that were established. Those in TIME-WAIT are of both families.
static uint64_t ended(const struct heap *h, const struct fill_pool *p)
{
    const struct core_counters *c = &server_worker(h->r->shown.server, h->worker)->stats->c;
    uint64_t ever = 0;
    if (strcmp(p->name, "blocks") == 0)
        ever = stat_load(&c->conns_opened_passive) + stat_load(&c->conns_opened_active);
    else if (strcmp(p->name, "syn_records") == 0)
        ever = stat_load(&c->synack_sent) - stat_load(&c->synack_retransmits) -
               stat_load(&c->syncookies_sent);
    else if (strcmp(p->name, "packets") == 0)
        ever = stat_load(&c->rx_packets) + stat_load(&c->tx_packets);
    else if (strcmp(p->name, "time_wait") == 0)
        return stat_load(&c->time_wait_expired) + stat_load(&c->time_wait_evicted) +
               stat_load(&c->time_wait_reset) + stat_load(&c->time_wait_recycled);
    return (int64_t)(ever - p->used) > 0 ? ever - p->used : 0;
}

static void put_ended(const struct heap *h, const struct fill_pool *p, const char *what,
                      const char *region, uint64_t region_bytes)
{
    const uint64_t n = ended(h, p);
    struct frames f;
    begin(h, &f);
    frames_add(&f, "%s", what);
    frames_add(&f, "given back");
    frames_add(&f, "%s", region);
    if (n != 0)
        heap_put(h, &f, amount_of(p, n, region_bytes), (struct amount){0, 0}, 0);
}

// put_pool: returns the bytes of the pool's entries.
static uint64_t put_pool(const struct heap *h, const struct heap_pool *hp, const char *region,
                         uint64_t region_bytes)
{
    const struct fill_pool *p = pool_named(h, hp->pool);
    struct frames f;
    if (p == NULL)
        return 0;
    const uint64_t of_conns = put_tallied(h, p, region, region_bytes);
    const uint64_t told =
        of_conns + ((unsigned)hp->region == REGION_PACKETS ? put_waiting(h, p, region) : 0);
    begin(h, &f);
    frames_add(&f, "%s", hp->what);
    frames_add(&f, "%s", region);
    heap_put_used(h, &f, amount_of(p, p->used - MIN(told, p->used), region_bytes));
    put_ended(h, p, hp->what, region, region_bytes);
    const uint64_t all = amount_of(p, p->size, region_bytes).bytes;
    const uint64_t used = amount_of(p, MAX(p->used, told), region_bytes).bytes;
    put_free(h, hp->what, region, all - MIN(used, all));
    return all;
}

// put_region: the pools of a region, and the rest of it: what has no entries.
static void put_region(const struct heap *h, unsigned id, const char *name, uint64_t bytes)
{
    uint64_t in_pools = 0;
    bool has_pool = false;
    struct frames f;
    for (unsigned i = 0; i < ARRAY_LEN(heap_pools); i++)
        if ((unsigned)heap_pools[i].region == id) {
            in_pools += put_pool(h, &heap_pools[i], name, bytes);
            has_pool = true;
        }
    begin(h, &f);
    frames_add(&f,
               id >= REGION_PACKETS ? "drivers and lists of %s"
               : has_pool           ? "lists of %s"
                                    : "%s",
               name);
    if (has_pool)
        frames_add(&f, "%s", name);
    if (bytes > in_pools)
        heap_put_used(h, &f, (struct amount){1, bytes - in_pools});
}

void heap_put_worker(struct heap *h)
{
    const struct server_params *p = server_params_of(h->r->shown.server);
    struct region regions[REGION_COUNT];
    server_regions(p, regions);
    h->n_pools = fill_pools_now(h->r->shown.server, h->worker, h->pools);
    regions[REGION_FLOW_TABLE].bytes += regions[REGION_FLOW_TABLE_EXTRA].bytes;  // one table
    regions[REGION_FLOW_TABLE_EXTRA].bytes = 0;
    for (unsigned i = 0; i < REGION_COUNT; i++)
        if (regions[i].bytes != 0)
            put_region(h, i, regions[i].name, regions[i].bytes);
    const uint64_t jumbo = server_jumbo_bytes(p);
    put_region(h, REGION_PACKETS, "packets", (server_packet_bytes(p) - jumbo) / p->n_workers);
    if (jumbo != 0)
        put_region(h, REGION_JUMBO, "jumbo_packets", jumbo / p->n_workers);
}
