// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_conf.h"

#include <string.h>

#include "drivers/bond.h"
#include "pkt/port.h"
#include "server/adoption.h"
#include "server/loopback_port.h"
#include "server/port_places.h"
#include "server/server_memory.h"

static const char *service_param(const void *conf, const char *key)
{
    return conf_service_param(conf, key);
}

// records_of: how many records fit in so many bytes, rounded down to a power of two; 0: none.
static uint32_t records_of(uint32_t bytes)
{
    const uint32_t records = bytes / sizeof(struct trace_record);
    return records == 0 ? 0 : 1u << (31 - __builtin_clz(records));
}

static_assert((int)CONF_ADOPT_AUTO == (int)SERVER_ADOPT_AUTO &&
                  (int)CONF_ADOPT_REQUIRE == (int)SERVER_ADOPT_REQUIRE,
              "p->adopt is the key's word");

static_assert((int)CONF_IDLE_POLL == (int)IDLE_POLL && (int)CONF_IDLE_PAUSE == (int)IDLE_PAUSE &&
                  (int)CONF_IDLE_MONITOR == (int)IDLE_MONITOR &&
                  (int)CONF_IDLE_INTERRUPT == (int)IDLE_INTERRUPT,
              "p->idle is the key's word");

static void fill_machine(struct server_params *p, const struct conf *c)
{
    static const enum pages_kind pages[] = {
        [CONF_HUGEPAGE_AUTO] = PAGES_AUTO,
        [CONF_HUGEPAGE_1G] = PAGES_1G,
        [CONF_HUGEPAGE_2M] = PAGES_2M,
        [CONF_HUGEPAGE_NONE] = PAGES_NONE,
    };
    p->prefix = c->control.name;
    p->huge_dir = c->memory.hugetlbfs;
    p->telemetry = c->control.telemetry;
    p->adopt = (uint8_t)c->control.adopt;
    p->pages = pages[c->memory.hugepage];
    p->linux_cpu = c->cpu.linux_cpus.id[0];
    p->n_linux_cpus = MIN(c->cpu.linux_cpus.n, (uint32_t)SERVER_WORKERS_MAX);
    for (unsigned i = 0; i < p->n_linux_cpus; i++)
        p->linux_cpus[i] = c->cpu.linux_cpus.id[i];
    p->calls = (enum call_mode)c->control.seccomp;
    p->n_workers = conf_workers(c);
    p->idle = (uint8_t)c->cpu.idle;
    p->idle_after_us = c->cpu.idle_after_us;
    p->cpus_shared = c->cpu.workers_per_core > 1;
    for (unsigned i = 0; i < p->n_workers; i++)
        p->worker_cpu[i] = c->cpu.workers.id[i % c->cpu.workers.n];
    p->connections = c->memory.connections;
    p->time_wait = c->memory.time_wait;
    p->time_wait6 = c->memory.time_wait6;
    p->syn_received = c->memory.syn_received;
    p->extensions = c->memory.extension_records;
    p->reassembly = c->memory.reassembly;
    p->flight_logs = c->memory.flight_logs;
    p->packets = c->memory.packets;
    p->jumbo_packets = c->memory.jumbo_packets;
    p->buffers = c->memory.buffers;
    p->trace_ring = records_of(c->control.trace_ring);
    p->image_bytes_max = c->memory.image_bytes;
}

// share_of: as tcp_config has it, where 0 is no limit.
static uint32_t share_of(uint32_t ppm)
{
    return ppm < 1000000 ? ppm : 0;
}

static void fill_tcp(struct tcp_config *t, const struct conf_tcp *c)
{
    static const enum tcp_ecn ecn[] = {
        [CONF_ECN_OFF] = TCP_ECN_OFF,
        [CONF_ECN_ACCEPT] = TCP_ECN_ACCEPT,
        [CONF_ECN_ON] = TCP_ECN_ON,
    };
    *t = tcp_config_default();
    t->rto_min_ms = c->rto_min_ms;
    t->rto_initial_ms = c->rto_initial_ms;
    t->rto_max_ms = c->rto_max_ms;
    t->syn_retries = c->syn_retries;
    t->synack_retries = c->synack_retries;
    t->retries1 = c->retries1;
    t->retries = c->retries;
    t->time_wait_ms = c->time_wait_ms;
    t->fin_wait2_ms = c->fin_wait2_ms;
    t->delayed_ack_ms = c->delayed_ack_ms;
    t->window_scale = (uint8_t)c->window_scale;
    t->initial_window = c->initial_window;
    t->pacing_rtt_ms = c->pacing_rtt_ms;
    t->rst_per_s = c->rst_rate_per_s;
    static const uint8_t cookies[] = {[CONF_COOKIES_OFF] = TCP_COOKIES_OFF,
                                      [CONF_COOKIES_AUTO] = TCP_COOKIES_AUTO,
                                      [CONF_COOKIES_ALWAYS] = TCP_COOKIES_ALWAYS};
    t->syn_cookies = cookies[c->syn_cookies];
    t->invalid_ack_ms = c->invalid_ack_ms;
    t->prefix_share_ppm = share_of(c->prefix_share_ppm);
    t->service_share_ppm = share_of(c->service_share_ppm);
    t->accept_wait_us = c->accept_wait_ms != CONF_UNLIMITED ? c->accept_wait_ms * 1000 : UINT32_MAX;
    t->ack_merge = c->ack_merge;
    t->quick_ack = c->quick_ack;
    t->timestamps = c->timestamps;
    t->sack = c->sack;
    t->ecn = (uint8_t)ecn[c->ecn];
    t->black_hole_detection = c->black_hole_detection;
    t->rfc1337 = c->rfc1337;
    t->large = c->large_segments == CONF_LARGE_ON;
}

static uint32_t caps_of(uint32_t offloads)
{
    static const struct {
        enum conf_offload offload;
        uint32_t caps;
    } rows[] = {
        {CONF_RX_CHECKSUM, PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM},
        {CONF_TX_CHECKSUM, PORT_TX_IP_CKSUM | PORT_TX_L4_CKSUM},
        {CONF_MULTI_SEGMENT, PORT_MULTI_SEG},
        {CONF_TSO, PORT_TSO},
        {CONF_RSS, PORT_RSS},
    };
    uint32_t caps = 0;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        if (offloads & rows[i].offload)
            caps |= rows[i].caps;
    return caps;
}

static void fill_device(struct port_params *p, const struct conf_port *c)
{
    static const struct mac_addr none;
    *p = (struct port_params){
        .name = c->name,
        .driver = c->driver,
        .device = c->device,
        .capture = c->capture,
        .attach = c->attach,
        .memif_client = c->role == 1,
        .memif_id = c->id,
        .has_mac = memcmp(&c->mac, &none, sizeof(none)) != 0,
        .mac = c->mac,
        .mtu = (uint16_t)c->mtu,
        .queues = (uint16_t)c->queues,
        .has_offloads = (c->offloads & CONF_SET_GIVEN) != 0,
        .offloads = caps_of(c->offloads),
        .rx_ring = c->rx_ring,
        .tx_ring = c->tx_ring,
        .open_ms = c->open_ms,
        .node = -1,
        .seed = c->seed,
        .loss_ppm = c->loss_ppm,
        .reorder_ppm = c->reorder_ppm,
        .duplicate_ppm = c->duplicate_ppm,
        .corrupt_ppm = c->corrupt_ppm,
        .delay_ms = c->delay_ms,
        .vlan = (uint16_t)c->vlan,
    };
    for (unsigned i = 0; i < c->host_address.n; i++) {
        const struct conf_prefix *h = &c->host_address.at[i];
        if (ip_is_v4(&h->addr)) {
            p->has_host = true;
            p->host_v4 = ip_to_v4(&h->addr);
            p->host_prefix = (uint8_t)h->bits;
        } else {
            p->host6 = h->addr;
            p->host6_prefix = (uint8_t)h->bits;
        }
    }
}

// The addresses of IPv4 come first.
static void fill_locals(struct net_config *n, const struct conf_prefixes *list)
{
    for (unsigned family = 0; family < 2; family++)
        for (unsigned i = 0; i < list->n; i++)
            if (ip_is_v4(&list->at[i].addr) == (family == 0))
                n->locals[n->n_locals++] =
                    (struct net_local){list->at[i].addr, (uint8_t)list->at[i].bits};
}

static void fill_net(struct net_config *n, const struct conf_port *c, uint32_t icmp_rate_per_s)
{
    net_config_default(n);
    n->n_locals = 0;
    fill_locals(n, &c->address);
    n->n_statics = (uint8_t)c->neighbor.n;
    for (unsigned i = 0; i < c->neighbor.n; i++)
        n->statics[i] = (struct net_static){c->neighbor.at[i].addr, c->neighbor.at[i].mac};
    n->gateway = ip_is_zero(&c->gateway) ? 0 : ip_to_v4(&c->gateway);
    n->gateway6 = c->gateway6;
    n->n_routes = (uint8_t)c->route.n;
    for (unsigned i = 0; i < c->route.n; i++)
        n->routes[i] = (struct net_route){c->route.at[i].to.addr, (uint8_t)c->route.at[i].to.bits,
                                          c->route.at[i].via};
    n->arp_entries = c->arp_entries;
    n->arp_rate_per_s = c->arp_rate_per_s;
    n->icmp_rate_per_s = icmp_rate_per_s;
    n->icmp_errors_per_s = MIN(n->icmp_errors_per_s, icmp_rate_per_s);
}

static const struct conf_port *port_named(const struct conf *c, const char *name)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (strcmp(c->ports[i].name, name) == 0)
            return &c->ports[i];
    return NULL;
}

static bool is_wrapped(const struct conf *c, const struct conf_port *port)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        if (driver_wraps(c->ports[i].driver) && strcmp(c->ports[i].wraps, port->name) == 0)
            return true;
    return false;
}

static bool is_member(const struct conf *c, const struct conf_port *port)
{
    for (unsigned i = 0; i < c->n_ports; i++)
        for (unsigned m = 0; m < c->ports[i].members.n; m++)
            if (strcmp(c->ports[i].members.at[m], port->name) == 0)
                return true;
    return false;
}

static uint8_t hash_of(uint32_t hash)
{
    static const uint8_t hashes[] = {BOND_HASH_L2, BOND_HASH_L23, BOND_HASH_L34};
    return hashes[hash];
}

static int fill_members(struct server_port_params *pp, const struct conf *c,
                        const struct conf_port *cp, struct err *err)
{
    pp->port.lacp = cp->mode == CONF_LACP;
    pp->port.lacp_fast = cp->lacp_rate == 1;
    pp->port.bond_hash = hash_of(cp->hash);
    pp->port.primary = -1;
    pp->n_members = cp->members.n;
    for (unsigned m = 0; m < cp->members.n; m++) {
        const struct conf_port *member = port_named(c, cp->members.at[m]);
        if (member == NULL)
            return err_set(err, "port %s: member %s is not there", cp->name, cp->members.at[m]);
        fill_device(&pp->members[m], member);
        pp->members[m].mtu = pp->port.mtu;
        if (strcmp(cp->primary, member->name) == 0)
            pp->port.primary = (int)m;
    }
    return 0;
}

static void fill_linux(struct server_port_params *pp, const struct conf_port *c)
{
    pp->linux_name = c->linux_name[0] != '\0' ? c->linux_name : NULL;
    pp->linux_rate = c->linux_rate;
    pp->net.to_linux = pp->linux_name != NULL;
    pp->net.to_linux_echo = c->linux_icmp;
}

static void fill_follow(struct server_port_params *pp, const struct conf_port *c)
{
    if (c->follow[0] == '\0')
        return;
    pp->follow = c->follow;
    pp->net.changes = true;
    port_places_fill(&pp->net);
}

// fill_parent: the parent's device is told the VLANs of all ports on its link.
static int fill_parent(struct server_params *p, struct server_port_params *pp,
                       const struct conf_port *cp, struct err *err)
{
    for (pp->parent = 0; pp->parent < p->n_ports; pp->parent++)
        if (strcmp(p->ports[pp->parent].port.name, cp->parent) == 0)
            break;
    if (pp->parent == p->n_ports)
        return err_set(err, "port %s: parent %s is not there", cp->name, cp->parent);
    struct server_port_params *parent = &p->ports[pp->parent];
    parent->port.vlans[parent->port.n_vlans++] = (uint16_t)cp->vlan;
    parent->inner.vlans[parent->inner.n_vlans++] = (uint16_t)cp->vlan;
    for (unsigned m = 0; m < parent->n_members; m++)
        parent->members[m].vlans[parent->members[m].n_vlans++] = (uint16_t)cp->vlan;
    return 0;
}

static int fill_port(struct server_params *p, const struct conf *c, const struct conf_port *cp,
                     struct err *err)
{
    const struct conf_port *addressed = cp;
    if (p->n_ports == WORKER_PORTS_MAX) {
        err_set(err, "more than %d ports", WORKER_PORTS_MAX);
        return err_key(err, "port.%s.driver", cp->name);
    }
    struct server_port_params *pp = &p->ports[p->n_ports];
    fill_device(&pp->port, cp);
    if (driver_has_parent(cp->driver) && fill_parent(p, pp, cp, err) != 0)
        return -1;
    if (driver_has_members(cp->driver) && fill_members(pp, c, cp, err) != 0)
        return -1;
    if (driver_wraps(cp->driver)) {
        const struct conf_port *inner = port_named(c, cp->wraps);
        if (inner == NULL)
            return err_set(err, "port %s: wraps %s, which is not there", cp->name, cp->wraps);
        fill_device(&pp->inner, inner);
        if (cp->address.n == 0)
            addressed = inner;
    }
    fill_net(&pp->net, addressed, c->tcp.icmp_rate_per_s);
    fill_linux(pp, cp);
    fill_follow(pp, addressed);
    p->n_ports++;
    return 0;
}

// A parent is opened before the ports on its link.
static int fill_ports(struct server_params *p, const struct conf *c, struct err *err)
{
    p->n_ports = 0;
    for (unsigned later = 0; later < 2; later++)
        for (unsigned i = 0; i < c->n_ports; i++) {
            const struct conf_port *cp = &c->ports[i];
            if (!is_wrapped(c, cp) && !is_member(c, cp) &&
                driver_has_parent(cp->driver) == (later == 1) && fill_port(p, c, cp, err) != 0)
                return -1;
        }
    return 0;
}

static uint16_t local_index(const struct server_params *p, const struct ip_addr *a)
{
    uint16_t ix = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++, ix++)
            if (ip_equal(&p->ports[i].net.locals[k].addr, a))
                return ix;
    return UINT16_MAX;
}

// Every port's net gets the list, because it answers datagrams to ports without a service.
static int fill_udp(struct server_params *p, const struct server_service_params *sp, uint8_t ix,
                    struct err *err)
{
    if (sp->app->datagram == NULL) {
        err_set(err, "service %s: application %s has no UDP", sp->name, sp->app->name);
        return err_key(err, "service.%s.udp", sp->name);
    }
    for (unsigned i = 0; i < p->n_ports; i++) {
        struct net_config *n = &p->ports[i].net;
        for (unsigned k = 0; k < sp->tcp.n_ports; k++) {
            if (n->n_udp == NET_UDP_PORTS_MAX) {
                err_set(err, "more than %d UDP ports", NET_UDP_PORTS_MAX);
                return err_key(err, "service.%s.udp", sp->name);
            }
            n->udp[n->n_udp++] = (struct net_udp_port){sp->tcp.ports[k], sp->tcp.local_ix, ix};
        }
    }
    return 0;
}

static uint8_t congestion_of(uint32_t c)
{
    return c == CONF_NEWRENO ? TCP_NEWRENO : TCP_CUBIC;
}

static int fill_service(struct server_params *p, const struct conf *c,
                        const struct conf_service *cs, const struct c10m_app *const *apps,
                        struct err *err)
{
    struct server_service_params *sp = &p->services[p->n_services++];
    for (; *apps != NULL && strcmp((*apps)->name, cs->app) != 0; apps++)
        ;
    if (*apps == NULL)
        return err_set(err, "service %s: no application %s", cs->name, cs->app);
    *sp = (struct server_service_params){
        .name = cs->name, .app = *apps, .param = service_param, .conf = cs};
    sp->tcp = (struct tcp_service){
        .n_ports = (uint8_t)cs->port.n,
        .local_ix = ip_is_zero(&cs->address) ? UINT16_MAX : local_index(p, &cs->address),
        .nodelay = cs->nodelay,
        .fast_open = cs->fast_open,
        .pulls = (*apps)->data == NULL,
        .congestion = congestion_of(cs->congestion == CONF_CONGESTION_AUTO ? c->tcp.congestion
                                                                           : cs->congestion),
        .rcv_limit = cs->receive_buffer,
        .snd_limit = cs->send_buffer,
        .rcv_initial = MIN(cs->receive_buffer, cs->receive_buffer_initial),
        .snd_initial = MIN(cs->send_buffer, cs->send_buffer_initial),
        .keepalive_ms = cs->keepalive_ms,
        .keepalive_interval_ms = cs->keepalive_interval_ms,
        .keepalive_probes = cs->keepalive_probes,
        .user_timeout_ms = cs->user_timeout_ms,
        .connections_max =
            cs->limit_connections != 0 ? cs->limit_connections : c->memory.connections,
        .source_max = cs->source_connections,
    };
    if (!ip_is_zero(&cs->address) && sp->tcp.local_ix == UINT16_MAX)
        return err_set(err, "service %s: its address is on no port", cs->name);
    for (unsigned k = 0; k < cs->port.n; k++)
        sp->tcp.ports[k] = cs->port.at[k];
    return cs->udp ? fill_udp(p, sp, (uint8_t)(p->n_services - 1), err) : 0;
}

static const char *agent_param(const void *conf, const char *key)
{
    return conf_agent_param(conf, key);
}

// The agent is a service without a port. It listens where its clients ask for it, with Linux's
// defaults.
static int fill_agent(struct server_params *p, const struct conf *c,
                      const struct c10m_app *const *apps, struct err *err)
{
    const struct conf_agent *ca = &c->agent;
    for (; *apps != NULL && strcmp((*apps)->name, "agent") != 0; apps++)
        ;
    if (*apps == NULL || p->n_services == TCP_SERVICES_MAX)
        return err_set(err, *apps == NULL ? "no application agent" : "too many services");
    p->services[p->n_services++] = (struct server_service_params){
        .name = "agent",
        .app = *apps,
        .param = agent_param,
        .conf = ca,
        .tcp = {.local_ix = UINT16_MAX,
                .pulls = true,
                .rcv_limit = ca->receive_buffer,
                .snd_limit = ca->send_buffer,
                .keepalive_interval_ms = 75000,
                .keepalive_probes = 9,
                .connections_max = c->memory.connections},
    };
    return 0;
}

int server_machine_from(struct server_params *p, const struct conf *c, struct err *err)
{
    memset(p, 0, sizeof(*p));
    fill_machine(p, c);
    fill_tcp(&p->tcp, &c->tcp);
    p->large_if_cut = c->tcp.large_segments == CONF_LARGE_AUTO;
    return fill_ports(p, c, err);
}

int server_params_from(struct server_params *p, const struct conf *c,
                       const struct c10m_app *const *apps, struct err *err)
{
    if (server_machine_from(p, c, err) != 0)
        return -1;
    for (unsigned i = 0; i < c->n_services; i++)
        if (fill_service(p, c, &c->services[i], apps, err) != 0)
            return -1;
    if (c->agent.socket[0] != '\0' && fill_agent(p, c, apps, err) != 0)
        return -1;
    server_loopback_add(p);
    return server_within(p, err);
}

void server_settings_from(struct order_settings *o, const struct conf *c, uint32_t connections)
{
    fill_tcp(&o->cfg, &c->tcp);
    for (unsigned i = 0; i < c->n_services && i < TCP_SERVICES_MAX; i++) {
        const struct conf_service *s = &c->services[i];
        o->services[i].connections_max =
            s->limit_connections != 0 ? s->limit_connections : connections;
        o->services[i].source_max = s->source_connections;
        o->services[i].keepalive_ms = s->keepalive_ms;
        o->services[i].keepalive_interval_ms = s->keepalive_interval_ms;
        o->services[i].keepalive_probes = s->keepalive_probes;
        o->services[i].user_timeout_ms = s->user_timeout_ms;
    }
}
