// SPDX-License-Identifier: BSD-3-Clause
// A host: a server's worker, placed by the server's own code, over a port that is the wire.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_memory.h"
#include "sim.h"

enum { HOUSE_NS = 5000000, IDLE_NS = 20000000 };

static struct sim_host *host_of(struct port *p)
{
    return p->priv;
}

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct sim_host *h = host_of(p);
    uint16_t got = 0;
    while (got < n && sim_wire_take(h->world, h->id, &pkts[got]))
        got++;
    return got;
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct sim_host *h = host_of(p);
    if (h->plan->tx_full_ppm != 0 && sim_chance(&h->rng, h->plan->tx_full_ppm) &&
        sim_fault_on(h->world, FAULT_TX_FULL)) {
        n = (uint16_t)rng_below(&h->rng, n + 1u);
        sim_cover.fault[FAULT_TX_FULL]++;
    }
    for (uint16_t i = 0; i < n; i++)
        sim_wire_send(h->world, h->id, pkts[i]);
    return n;
}

static void no_stats(struct port *p, struct port_stats *out)
{
    *out = (struct port_stats){0};
}

static void no_close(struct port *p) {}

static const struct port_ops ops = {.driver = "sim",
                                    .rx_burst = rx_burst,
                                    .tx_burst = tx_burst,
                                    .stats = no_stats,
                                    .close = no_close};

static void set_service(struct sim_host *h, unsigned i, const char *name, uint16_t port)
{
    const struct sim_host_plan *pl = h->plan;
    struct server_service_params *sp = &h->server.params.services[i];
    sp->name = name;
    sp->app = sim_app_of(pl);
    sp->tcp = (struct tcp_service){.ports = {port},
                                   .n_ports = 1,
                                   .local_ix = UINT16_MAX,
                                   .nodelay = pl->nodelay,
                                   .congestion = pl->congestion,
                                   .pulls = pl->pulls,
                                   .rcv_limit = pl->rcv_limit,
                                   .snd_limit = pl->snd_limit,
                                   .rcv_initial = pl->rcv_initial,
                                   .snd_initial = pl->snd_initial,
                                   .keepalive_ms = pl->keepalive_ms,
                                   .keepalive_interval_ms = pl->keepalive_interval_ms,
                                   .keepalive_probes = pl->keepalive_probes,
                                   .user_timeout_ms = pl->user_timeout_ms,
                                   .connections_max = pl->connections};
    h->server.services[i] =
        (struct c10m_service){.name = name, .app = sp->app, .data = h, .ix = (uint8_t)i};
}

static void set_params(struct sim_host *h, const struct sim_plan *plan)
{
    const struct sim_host_plan *pl = h->plan;
    struct server_params *p = &h->server.params;
    server_params_default(p);
    p->pages = PAGES_NONE;
    p->connections = pl->connections;
    p->time_wait = pl->time_wait;
    p->syn_received = pl->syn_received;
    p->extensions = pl->extensions;
    p->flight_logs = pl->flight_logs;
    p->buffers = pl->buffers;
    p->tcp = pl->tcp;
    p->n_ports = 1;
    struct net_config *nc = &p->ports[0].net;
    net_config_default(nc);
    nc->n_locals = 1;
    nc->locals[0] = (struct net_local){sim_addr(plan, h->id), plan->v6 ? 64 : 24};
    nc->arp_entries = 64;
    for (unsigned i = 0; pl->statics && i < plan->n_hosts; i++)
        if (i != h->id)
            nc->statics[nc->n_statics++] =
                (struct net_static){sim_addr(plan, i), {{2, 0, 0, 0, 0, (uint8_t)(i + 1)}}};
    p->n_services = 3;
    set_service(h, 0, "all", SIM_PORT);
    set_service(h, 1, "few", SIM_PORT_FEW);
    set_service(h, 2, "draining", SIM_PORT_DRAINING);
    p->services[1].tcp.connections_max = pl->few_max;
    p->services[2].tcp.state = TCP_SERVICE_DRAINING;
}

// Its clock begins where the plan says: the wheel's too.
static void start_clock(struct sim_host *h)
{
    struct tcp *t = &h->w->tcp;
    const uint32_t ms = (uint32_t)(h->plan->clock_us / 1000);
    const uint64_t entries = server_timers(h->plan->connections, h->plan->syn_received);
    t->wheel = wheel_init(t->wheel, entries, ms);
    t->now = clock_at_us(h->plan->clock_us);
    t->sweep_ms = ms;
}

struct sim_host *sim_host_new(struct sim_world *w, unsigned id, struct rng *seeds)
{
    struct sim_host *h = calloc(1, sizeof(*h));
    CHECK(h != NULL);
    h->world = w;
    h->plan = &w->plan->hosts[id];
    h->id = id;
    h->rng.state = rng_u64(seeds);
    struct server *s = &h->server;
    s->keys = keys_from((struct siphash_key){rng_u64(seeds), rng_u64(seeds)});
    set_params(h, w->plan);
    h->port = (struct port){.ops = &ops,
                            .name = "sim",
                            .caps = h->plan->caps,
                            .mac = {{2, 0, 0, 0, 0, (uint8_t)(id + 1)}},
                            .mtu = h->plan->mtu,
                            .queues = 1,
                            .priv = h};
    s->ports[0] = &h->port;
    s->pools[0] = w->pool;
    struct region r[REGION_COUNT];
    server_regions(&s->params, r);
    struct arena_params ap = {.name = "sim", .pages = PAGES_NONE, .node = -1};
    for (unsigned i = 0; i < REGION_COUNT; i++)
        ap.bytes += ALIGN_UP(r[i].bytes, CACHE_LINE);
    struct err err = {.text = ""};
    s->arena = arena_open(&ap, &err);
    if (s->arena == NULL || server_init_worker(s, 0, &err) != 0)
        sim_fail("host %u: %s", id, err.text);
    h->w = s->workers[0];
    h->shadows = calloc(h->plan->connections, sizeof(h->shadows[0]));
    CHECK(h->shadows != NULL);
    start_clock(h);
    net_announce(h->w->ports[0].net, h->w->tcp.now, &h->w->ports[0].tx);
    return h;
}

void sim_host_free(struct sim_host *h)
{
    for (unsigned i = 0; i < DROP_COUNT; i++)
        sim_cover.drops[i] += h->w->stats->drops[i];
#define X(name) sim_cover.recovery[COVER_##name] += h->w->stats->c.name;
    COVER_RECOVERY(X)
#undef X
    pkt_free_bulk(h->w->ports[0].tx.pkts, h->w->ports[0].tx.n);
    net_drain(h->w->ports[0].net);
    arena_close(h->server.arena);
    free(h->shadows);
    free(h);
}

uint64_t sim_host_us(const struct sim_host *h, uint64_t ns)
{
    return h->plan->clock_us + ns / 1000;
}

// The world's time at which the host's clock shows ms.
static uint64_t ns_of_ms(const struct sim_host *h, uint32_t ms)
{
    const uint64_t us = sim_host_us(h, h->world->now_ns);
    const int32_t ahead = (int32_t)(ms - (uint32_t)(us / 1000));
    if (ahead <= 0)
        return h->world->now_ns;
    return (us / 1000 + (uint32_t)ahead) * 1000000 - h->plan->clock_us * 1000 + 999;
}

uint64_t sim_host_next(const struct sim_host *h)
{
    const struct tcp *t = &h->w->tcp;
    uint64_t at = sim_wire_next(h->world, h->id);
    if (t->dirty_head != BLOCK_NONE || h->w->ports[0].tx.n != 0)
        at = 0;
    else if (t->wheel->entries != 0)
        at = MIN(at, ns_of_ms(h, wheel_next_ms(t->wheel)));
    if (tcp_time_wait_next_ms(t) != 0)
        at = MIN(at, ns_of_ms(h, tcp_time_wait_next_ms(t)));
    at = MIN(at, h->house_ns + IDLE_NS);
    return MAX(at, h->last_ns + h->plan->gap_ns);
}

void sim_host_turn(struct sim_host *h)
{
    struct sim_world *world = h->world;
    h->last_ns = world->now_ns;
    if (h->plan->stall_ppm != 0 && sim_chance(&h->rng, h->plan->stall_ppm) &&
        sim_fault_on(world, FAULT_STALL)) {
        h->last_ns += rng_below(&h->rng, h->plan->stall_ns + 1);
        sim_cover.fault[FAULT_STALL]++;
    }
    // A real worker would have turned round idly in between.
    if (world->now_ns - h->house_ns >= HOUSE_NS) {
        h->house_ns = world->now_ns;
        h->w->turn = ALIGN_UP(h->w->turn, (uint64_t)WORKER_HOUSE_TURNS);
    }
    h->turns++;
    worker_turn(h->w, clock_at_us(sim_host_us(h, world->now_ns)), tsc_read());
    sim_check_turn(h);
    if (h->plan->adopt_ppm != 0 && sim_chance(&h->rng, h->plan->adopt_ppm) &&
        sim_fault_on(world, FAULT_ADOPT)) {
        sim_adopt(h);
        sim_cover.fault[FAULT_ADOPT]++;
    }
}
