#include "hosts.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/port_table.h"

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct hosts_end *e = p->priv;
    const uint16_t got = (uint16_t)MIN(e->n_queue, n);
    memcpy(pkts, e->queue, got * sizeof(pkts[0]));
    e->n_queue -= got;
    memmove(e->queue, e->queue + got, e->n_queue * sizeof(pkts[0]));
    return got;
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct hosts_end *to = ((struct hosts_end *)p->priv)->peer;
    for (uint16_t i = 0; i < n; i++) {
        if (to->deaf) {
            to->dropped++;
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
                                    .tx_burst = tx_burst,
                                    .stats = no_stats,
                                    .close = no_close};

struct ip_addr hosts_addr(unsigned i, bool v6)
{
    const struct ip_addr six = {{0xfd, [15] = (uint8_t)(i + 1)}};
    return v6 ? six : ip_from_v4(HOSTS_V4 + i);
}

static struct mac_addr mac_of(unsigned i)
{
    return (struct mac_addr){{2, 0, 0, 0, 0, (uint8_t)(i + 1)}};
}

static void set_net(struct net_config *nc, unsigned i)
{
    net_config_default(nc);
    nc->n_locals = 2;
    nc->locals[0] = (struct net_local){hosts_addr(i, false), 24};
    nc->locals[1] = (struct net_local){hosts_addr(i, true), 64};
    nc->arp_entries = 64;
    nc->n_statics = 2;
    nc->statics[0] = (struct net_static){hosts_addr(!i, false), mac_of(!i)};
    nc->statics[1] = (struct net_static){hosts_addr(!i, true), mac_of(!i)};
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

static void place(struct hosts *h, unsigned i, const struct c10m_app *const apps[3],
                  void (*set)(struct server_params *p, unsigned end))
{
    struct hosts_end *e = &h->e[i];
    struct server *s = &e->server;
    struct server_params *p = &s->params;
    struct err err = {""};
    server_params_default(p);
    p->pages = PAGES_NONE;
    p->connections = 512;
    p->time_wait = 512;
    p->syn_received = 512;
    p->extensions = 64;
    p->buffers = 1024;
    p->n_ports = 1;
    p->ports[0].port.name = "wire";
    set_net(&p->ports[0].net, i);
    set_services(s, apps);
    if (set != NULL)
        set(p, i);
    s->secret = (struct siphash_key){i + 1, 2};
    e->peer = &h->e[!i];
    e->port = (struct port){
        .ops = &ops, .name = "wire", .mac = mac_of(i), .mtu = 1500, .queues = 1, .priv = e};
    s->ports[0] = &e->port;
    if (p->n_ports == 2) {  // set has added the way to itself
        p->ports[1].port.queues = 1;
        s->ports[1] = port_open(&p->ports[1].port, &err);
        CHECK(s->ports[1] != NULL);
    }
    s->pools[0] = pkt_pool_create(i == 0 ? "end0" : "end1", 2048, -1);
    CHECK(s->pools[0] != NULL);
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
        pkt_free_bulk(e->queue, e->n_queue);
        port_close(e->server.ports[1]);
        for (unsigned p = 0; p < e->w->n_ports; p++) {
            pkt_free_bulk(e->w->ports[p].tx.pkts, e->w->ports[p].tx.n);
            net_drain(e->w->ports[p].net);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        CHECK(pkt_pool_free_count(h->e[i].server.pools[0]) == 2048);
        pkt_pool_destroy(h->e[i].server.pools[0]);
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

uint32_t hosts_connect(struct hosts *h, unsigned i, uint16_t port)
{
    struct tcp *t = &h->e[i].w->tcp;
    const struct ip_addr to = hosts_addr(!i, false);
    uint32_t ix;
    t->now = clock_at_us(h->now_us);
    CHECK(tcp_connect(t, &to, port, 0, 0, &ix) == 0);
    t->blocks[ix].flags |= BF_IN_APP;
    return ix;
}
