// SPDX-License-Identifier: BSD-3-Clause
#include "hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/toeplitz.h"
#include "drivers/port_table.h"

enum { JUMBO_PACKETS = 1024 };

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct hosts_wire *w = p->priv;
    const uint16_t got = (uint16_t)MIN(w->n_queue, n);
    memcpy(pkts, w->queue, got * sizeof(pkts[0]));
    w->n_queue -= got;
    memmove(w->queue, w->queue + got, w->n_queue * sizeof(pkts[0]));
    return got;
}

static int rx_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    const struct hosts_wire *w = p->priv;
    *slots = w->slots;
    return w->cannot_count ? -1 : (int)w->n_queue;
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct hosts_wire *from = p->priv;
    struct hosts_wire *to = from->peer;
    n = MIN(n, from->takes);
    for (uint16_t i = 0; i < n; i++) {
        if (from->refuses != NULL && from->refuses(pkts[i]))
            return i;
        if (to->end->deaf) {
            to->end->dropped++;
            pkt_free(pkts[i]);
            continue;
        }
        CHECK(to->n_queue < HOSTS_QUEUE_MAX);
        pkts[i]->m.ol_flags = 0;
        to->queue[to->n_queue++] = pkts[i];
    }
    return n;
}

static void no_stats(struct port *p, struct port_stats *out)
{
    *out = (struct port_stats){0};
}

static void no_close(struct port *p) {}

static const struct port_ops ops = {.driver = "wire",
                                    .rx_burst = rx_burst,
                                    .rx_waiting = rx_waiting,
                                    .tx_burst = tx_burst,
                                    .stats = no_stats,
                                    .close = no_close};

struct ip_addr hosts_addr(unsigned i, bool v6)
{
    const struct ip_addr six = {{0xfd, [15] = (uint8_t)(i + 1)}};
    return v6 ? six : ip_from_v4(HOSTS_V4 + i);
}

static struct mac_addr mac_of(unsigned i, unsigned wire)
{
    return (struct mac_addr){{2, 0, 0, 0, (uint8_t)wire, (uint8_t)(i + 1)}};
}

static struct ip_addr addr_by(unsigned i, unsigned wire)
{
    return ip_from_v4(HOSTS_V4 + (wire << 8) + i);
}

// The second wire has no IPv6.
static void set_net(struct net_config *nc, unsigned i, unsigned wire)
{
    net_config_default(nc);
    nc->arp_entries = 64;
    nc->n_locals = nc->n_statics = wire == 0 ? 2 : 1;
    nc->locals[0] = (struct net_local){addr_by(i, wire), 24};
    nc->locals[1] = (struct net_local){hosts_addr(i, true), 64};
    nc->statics[0] = (struct net_static){addr_by(!i, wire), mac_of(!i, wire)};
    nc->statics[1] = (struct net_static){hosts_addr(!i, true), mac_of(!i, wire)};
}

static void set_services(struct server *s, const struct c10m_app *const apps[3])
{
    struct server_params *p = &s->params;
    for (unsigned i = 0; i < 3 && apps[i] != NULL; i++) {
        struct server_service_params *sp = &p->services[p->n_services++];
        sp->name = apps[i]->name;
        sp->app = apps[i];
        sp->tcp = (struct tcp_service){.ports = {(uint16_t)(HOSTS_PORT + i)},
                                       .n_ports = 1,
                                       .local_ix = UINT16_MAX,
                                       .nodelay = true,
                                       .pulls = apps[i]->data == NULL,
                                       .rcv_limit = 65536,
                                       .snd_limit = 65536,
                                       .keepalive_interval_ms = 75000,
                                       .keepalive_probes = 9,
                                       .connections_max = 4096};
        s->services[i] =
            (struct c10m_service){.name = apps[i]->name, .app = apps[i], .ix = (uint8_t)i};
    }
}

static void place_wires(struct hosts *h, unsigned i)
{
    struct server *s = &h->e[i].server;
    for (unsigned k = 0; k < HOSTS_WIRES; k++) {
        struct hosts_wire *w = &h->e[i].wires[k];
        w->end = &h->e[i];
        w->peer = &h->e[!i].wires[k];
        w->takes = UINT16_MAX;
        w->port = (struct port){
            .ops = &ops, .name = "wire", .mac = mac_of(i, k), .mtu = 1500, .queues = 1, .priv = w};
        if (s->params.ports[k].port.mtu != 0)
            w->port.mtu = s->params.ports[k].port.mtu;
        w->port.name[4] = k == 0 ? '\0' : '2';
    }
    s->ports[0] = &h->e[i].wires[0].port;
}

// The port that `set` has added: the second wire, or the way to itself.
static void place_second(struct hosts *h, unsigned i)
{
    struct server *s = &h->e[i].server;
    struct server_port_params *pp = &s->params.ports[1];
    struct err err = {.text = ""};
    if (pp->port.driver == NULL) {
        set_net(&pp->net, i, 1);
        s->ports[1] = &h->e[i].wires[1].port;
        return;
    }
    pp->port.queues = 1;
    s->ports[1] = port_open(&pp->port, &err);
    CHECK(s->ports[1] != NULL);
}

static void place(struct hosts *h, unsigned i, const struct c10m_app *const apps[3],
                  void (*set)(struct server_params *p, unsigned end))
{
    struct hosts_end *e = &h->e[i];
    struct server *s = &e->server;
    struct server_params *p = &s->params;
    struct err err = {.text = ""};
    server_params_default(p);
    p->pages = PAGES_NONE;
    p->connections = 512;
    p->time_wait = 512;
    p->syn_received = 512;
    p->extensions = 64;
    p->buffers = 1024;
    p->n_ports = 1;
    p->ports[0].port.name = "wire";
    set_net(&p->ports[0].net, i, 0);
    set_services(s, apps);
    if (set != NULL)
        set(p, i);
    s->keys = keys_from((struct siphash_key){i + 1, 2});
    memcpy(s->rss_key, toeplitz_key, sizeof(s->rss_key));
    place_wires(h, i);
    if (p->n_ports == 2)
        place_second(h, i);
    s->pools[0] = pkt_pool_create(i == 0 ? "end0" : "end1", 2048, -1);
    CHECK(s->pools[0] != NULL);
    if (server_has_jumbo(p)) {
        s->jumbo_pools[0] = pkt_pool_create_jumbo(i == 0 ? "jumbo0" : "jumbo1", JUMBO_PACKETS, -1);
        CHECK(s->jumbo_pools[0] != NULL);
    }
    struct region r[REGION_COUNT];
    server_regions(p, r);
    struct arena_params ap = {.name = "hosts", .pages = PAGES_NONE, .node = -1};
    for (unsigned k = 0; k < REGION_COUNT; k++)
        ap.bytes += ALIGN_UP(r[k].bytes, CACHE_LINE);
    s->arena = arena_open(&ap, &err);
    CHECK(s->arena != NULL && server_init_worker(s, 0, &err) == 0);
    e->w = s->workers[0];
}

struct hosts *hosts_new(const struct c10m_app *const apps[2][3],
                        void (*set)(struct server_params *p, unsigned end))
{
    struct hosts *h = calloc(1, sizeof(*h));
    CHECK(h != NULL);
    h->now_us = 1000 * 1000;
    for (unsigned i = 0; i < 2; i++)
        place(h, i, apps[i], set);
    return h;
}

void hosts_free(struct hosts *h)
{
    for (unsigned i = 0; i < 2; i++) {
        struct hosts_end *e = &h->e[i];
        for (unsigned k = 0; k < HOSTS_WIRES; k++)
            pkt_free_bulk(e->wires[k].queue, e->wires[k].n_queue);
        port_close(e->server.ports[1]);
        for (unsigned p = 0; p < e->w->n_ports; p++) {
            pkt_free_bulk(e->w->ports[p].tx.pkts, e->w->ports[p].tx.n);
            net_drain(e->w->ports[p].net);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        CHECK(pkt_pool_free_count(h->e[i].server.pools[0]) == 2048);
        pkt_pool_destroy(h->e[i].server.pools[0]);
        struct pkt_pool *jumbo = h->e[i].server.jumbo_pools[0];
        CHECK(jumbo == NULL || pkt_pool_free_count(jumbo) == JUMBO_PACKETS);
        pkt_pool_destroy(jumbo);
        arena_close(h->e[i].server.arena);
    }
    free(h);
}

void hosts_turn(struct hosts *h, unsigned i)
{
    worker_turn(h->e[i].w, clock_at_us(h->now_us), 0);
}

void hosts_run(struct hosts *h, uint64_t ms)
{
    for (const uint64_t end = h->now_us + ms * 1000; h->now_us < end; h->now_us += 200)
        for (unsigned i = 0; i < 2; i++)
            hosts_turn(h, i);
}

uint32_t hosts_connect_by(struct hosts *h, unsigned i, unsigned wire, uint16_t port)
{
    struct tcp *t = &h->e[i].w->tcp;
    const struct ip_addr to = addr_by(!i, wire);
    const uint16_t local_ix = wire == 0 ? 0 : h->e[i].server.params.ports[0].net.n_locals;
    uint32_t ix;
    t->now = clock_at_us(h->now_us);
    CHECK(tcp_connect(t, &to, port, local_ix, 0, &ix) == 0);
    t->blocks[ix].flags |= BF_IN_APP;
    return ix;
}

uint32_t hosts_connect(struct hosts *h, unsigned i, uint16_t port)
{
    return hosts_connect_by(h, i, 0, port);
}
