// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_port.h"

#include <string.h>

#include "drivers/eal.h"
#include "drivers/port_table.h"
#include "net/net.h"
#include "server/server_conf.h"
#include "server/server_memory.h"

// The contents of the file. Strings of `params` point into `conf`.
static struct {
    struct conf conf;
    struct server_params params;
    struct ip_addr first, hop, link;
    struct mac_addr hop_mac;  // all zero: unknown
} own;

// The next hop to `to`: `to` itself if it is on the link, or that of the longest matching route, or
// the gateway; all zero: none.
static struct ip_addr next_hop(const struct net_config *n, const struct ip_addr *to)
{
    int best = -1;
    struct ip_addr hop = n->gateway6;
    if (ip_is_v4(to))
        hop = n->gateway == 0 ? (struct ip_addr){{0}} : ip_from_v4(n->gateway);
    for (unsigned i = 0; i < n->n_locals; i++)
        if (ip_in_prefix(to, &n->locals[i].addr, n->locals[i].prefix_bits) &&
            n->locals[i].prefix_bits > best) {
            best = n->locals[i].prefix_bits;
            hop = *to;
        }
    for (unsigned i = 0; i < n->n_routes; i++)
        if (ip_in_prefix(to, &n->routes[i].prefix, n->routes[i].prefix_bits) &&
            n->routes[i].prefix_bits > best) {
            best = n->routes[i].prefix_bits;
            hop = n->routes[i].via;
        }
    return hop;
}

// The first address of the port in the server's family; NULL: there is none.
static const struct ip_addr *own_address(const struct load_options *o, const struct net_config *n)
{
    for (unsigned i = 0; i < n->n_locals; i++)
        if (ip_is_v4(&n->locals[i].addr) != o->v6 && !net_local_is_none(&n->locals[i]))
            return &n->locals[i].addr;
    return NULL;
}

// Whether `a` is one of the clients' addresses.
static bool is_clients(const struct ip_addr *a, uint32_t hosts)
{
    return memcmp(a->b, own.first.b, 12) == 0 && ip_to_v4(a) - ip_to_v4(&own.first) < hosts;
}

static int check_addresses(const struct load_options *o, const struct net_config *n,
                           struct err *err)
{
    const uint32_t hosts = load_host(load_all(o) - 1) + 1 + (o->flood != 0 ? LOAD_FLOOD_HOSTS : 0);
    const struct ip_addr *const taken[] = {&o->server, &own.hop};
    char from[IP_TEXT_BYTES], other[IP_TEXT_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(taken); i++)
        if (is_clients(taken[i], hosts))
            return err_set(
                err,
                "--connections %u: the clients need %u addresses starting with %s, but %s "
                "is in use; see --clients",
                o->connections, hosts, ip_text(&own.first, from), ip_text(taken[i], other));
    for (unsigned i = 0; i < n->n_statics; i++)
        if (ip_equal(&n->statics[i].addr, &own.hop))
            own.hop_mac = n->statics[i].mac;
    return 0;
}

static int check_port(const struct load_options *o, struct err *err)
{
    const struct server_params *p = &own.params;
    if (p->n_ports != 1)
        return err_set(err, "--config %s: expected one [port], found %u", o->config, p->n_ports);
    if (p->ports[0].n_members != 0)
        return err_set(err, "port %s: a load generator has no bonds: name a member as the port",
                       p->ports[0].port.name);
    const struct net_config *n = &p->ports[0].net;
    const struct port_params *wire = server_inner_port(&p->ports[0]);
    if (strcmp(wire->driver, "ring") == 0)
        return err_set(
            err, "port %s: both ends of a ring are in this process; omit --config and --server",
            wire->name);
    const struct ip_addr *link = own_address(o, n);
    if (link == NULL)
        return err_set(err, "port %s: expected an IPv%d address", p->ports[0].port.name,
                       o->v6 ? 6 : 4);
    own.link = *link;
    own.first = ip_is_zero(&o->clients) ? *link : o->clients;
    own.hop = next_hop(n, &o->server);
    if (ip_is_zero(&own.hop)) {
        char text[IP_TEXT_BYTES];
        return err_set(err, "--server %s: no route: port %s has no gateway",
                       ip_text(&o->server, text), p->ports[0].port.name);
    }
    return check_addresses(o, n, err);
}

int load_port_read(const struct load_options *o, FILE *errors)
{
    struct conf_errors found;
    struct err err = {.text = ""};
    conf_errors_init(&found);
    const int bad = conf_load(&own.conf, o->config, o->sets, o->n_sets, &found);
    if (bad != 0)
        fputs(text_str(&found.lines), errors);
    conf_errors_free(&found);
    if (bad == 0 &&
        (server_machine_from(&own.params, &own.conf, &err) != 0 || check_port(o, &err) != 0))
        fprintf(errors, "c10m load: %s\n", err.text);
    return bad != 0 || err.text[0] != '\0' ? -1 : 0;
}

static int start_eal(struct load_run *r, const char *prefix, struct err *err)
{
    struct eal_params e;
    own.params.n_workers = 1;
    own.params.prefix = prefix;
    own.params.telemetry = false;
    server_eal_params(&own.params, &e);
    e.main_cpu = own.params.worker_cpu[0];
    e.workers = 0;
    e.in_memory = true;
    if (eal_start(&e, err) != 0)
        return -1;
    r->eal_up = true;
    return 0;
}

static int open_port(struct load_run *r, struct err *err)
{
    struct server_port_params *pp = &own.params.ports[0];
    const bool jumbo = server_has_jumbo(&own.params);
    const uint32_t n = jumbo ? own.params.jumbo_packets : own.params.packets;
    r->pool = (jumbo ? pkt_pool_create_jumbo : pkt_pool_create)("load_client", n, -1);
    if (r->pool == NULL)
        return err_set(err, "no memory for %u packets", n);
    pp->port.queues = 1;
    pp->port.pools[0] = r->pool;
    if (driver_wraps(pp->port.driver))
        pp->port.wraps = &pp->inner;
    r->port = port_open(&pp->port, err);
    return r->port == NULL ? -1 : 0;
}

int load_port_set_up(struct load_run *r, const char *prefix, struct err *err)
{
    if (start_eal(r, prefix, err) != 0 || open_port(r, err) != 0)
        return -1;
    struct load_params lp = {
        .port = r->port,
        .pool = r->pool,
        .hop_mac = own.hop_mac,
        .hop = own.hop,
        .link = own.link,
        .server = r->o.server,
        .first = own.first,
        .server_port = r->o.server_port,
        .shared = true,
    };
    load_run_params(&r->o, &lp);
    r->load = load_new(&lp, err);
    return r->load == NULL ? -1 : 0;
}
