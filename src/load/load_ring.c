// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_ring.h"

#include "drivers/ring.h"
#include "load/load_service.h"
#include "net/net.h"

enum {
    SERVER_V4 = 0x0a000001,   // 10.0.0.1
    GATEWAY_V4 = 0x0a0000fe,  // 10.0.0.254: the client
    CLIENT_V4 = 0x0a400000,   // 10.64.0.0 and following
};

// The addresses of IPv6.
static const struct ip_addr server_v6 = {{0xfd, 0x99, [15] = 1}};
static const struct ip_addr gateway_v6 = {{0xfd, 0x99, [14] = 0xff, [15] = 0xfe}};
static const struct ip_addr client_v6 = {{0xfd, 0x99, [7] = 1}};  // fd99:0:0:1:: and following

static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}};

static void make_net(bool v6, struct net_config *n)
{
    const struct ip_addr gateway = v6 ? gateway_v6 : ip_from_v4(GATEWAY_V4);
    net_config_default(n);
    n->n_locals = 1;
    n->locals[0] =
        v6 ? (struct net_local){server_v6, 64} : (struct net_local){ip_from_v4(SERVER_V4), 24};
    if (v6)
        n->gateway6 = gateway;
    else
        n->gateway = GATEWAY_V4;
    n->n_statics = 1;
    n->statics[0] = (struct net_static){gateway, client_mac};
}

// The server's end of the ring, wrapped by a fault port if faults are set.
static void make_port(const struct load_options *o, struct server_params *p)
{
    struct server_port_params *pp = &p->ports[0];
    struct port_params *wire = &pp->port;
    if (load_faults_on(&o->faults)) {
        pp->port = (struct port_params){.name = "trouble",
                                        .driver = "fault",
                                        .queues = 1,
                                        .node = -1,
                                        .seed = o->seed,
                                        .loss_ppm = o->faults.loss_ppm,
                                        .reorder_ppm = o->faults.reorder_ppm,
                                        .duplicate_ppm = o->faults.duplicate_ppm,
                                        .corrupt_ppm = o->faults.corrupt_ppm,
                                        .delay_ms = o->faults.delay_ms};
        p->packets += 2 * FAULT_HOLD;
        wire = &pp->inner;
    }
    *wire = (struct port_params){.name = "wire",
                                 .driver = "ring",
                                 .queues = 1,
                                 .node = -1,
                                 .rx_ring = load_ring_slots(o),
                                 .tx_ring = load_ring_slots(o)};
    make_net(o->v6, &pp->net);
    p->n_ports = 1;
}

// The most connections of the server at the same time. For full connections: those in the window,
// and about as many whose last ACK is being retransmitted.
static uint32_t open_at_once(const struct load_options *o)
{
    if (!load_has_full(o))
        return o->connections;
    const uint64_t lives = MIN((uint64_t)o->rate * o->life_s, (uint64_t)o->connections);
    return o->hold + (uint32_t)(lives + lives / 8) + MAX(8 * o->window, 16384u);
}

// TIME-WAIT records of the server: one for each address and port if it closes first.
static uint32_t time_waits(const struct load_options *o)
{
    const bool servers = load_has_full(o) && o->closer == LOAD_BY_SERVER;
    return servers ? o->connections : MIN(load_all(o), 65536u);
}

static void make_params(const struct load_options *o, const struct c10m_app *app,
                        const char *prefix, struct server_params *p)
{
    server_params_default(p);
    p->prefix = prefix;
    p->pages = o->pages;
    p->linux_cpu = o->client_cpu;
    p->n_workers = o->workers;
    p->cpus_shared = o->workers > 1;
    for (unsigned i = 0; i < o->workers; i++)
        p->worker_cpu[i] = o->server_cpu;
    // The hash does not distribute connections evenly among workers: an eighth more, plus a
    // constant for small numbers.
    const uint32_t open = open_at_once(o);
    p->connections = open + (o->workers > 1 ? open / 8 + 1024 : 0);
    p->time_wait = time_waits(o);
    p->tcp.time_wait_ms = o->time_wait_s * 1000;
    p->packets = 4 * load_ring_slots(o);
    p->extra_packet_bytes = 4ull * load_ring_slots(o) * 2560 + (2 << 20);  // the client's packets
    make_port(o, p);
    load_service(o, app, p);
}

static int far_end(struct load_run *r, struct err *err)
{
    struct port *server_end = server_port(r->server, 0), *wrapped = fault_inner(server_end);
    struct port_params far = {.name = "client",
                              .driver = "ring",
                              .queues = 1,
                              .node = -1,
                              .has_mac = true,
                              .mac = client_mac};
    r->pool = pkt_pool_create("load_client", 4 * load_ring_slots(&r->o), -1);
    if (r->pool == NULL)
        return err_set(err, "no memory for the client's packets");
    far.pools[0] = r->pool;
    r->port = ring_open_far(wrapped != NULL ? wrapped : server_end, &far, err);
    if (r->port == NULL)
        return -1;
    struct load_params lp = {
        .port = r->port,
        .pool = r->pool,
        .hop_mac = server_end->mac,
        .server = r->o.v6 ? server_v6 : ip_from_v4(SERVER_V4),
        .first = r->o.v6 ? client_v6 : ip_from_v4(CLIENT_V4),
        .server_port = r->o.server_port,
    };
    load_run_params(&r->o, &lp);
    r->load = load_new(&lp, err);
    if (r->load == NULL)
        return -1;
    return r->o.lockstep ? 0 : server_run(r->server, err);
}

int load_ring_set_up(struct load_run *r, const struct c10m_app *app, const char *prefix,
                     struct err *err)
{
    static struct server_params p;
    make_params(&r->o, app, prefix, &p);
    r->server = server_start(&p, err);
    return r->server == NULL ? -1 : far_end(r, err);
}
