// SPDX-License-Identifier: BSD-3-Clause
#include "server/server.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "drivers/eal.h"
#include "drivers/port_table.h"
#include "drivers/vlan.h"
#include "flow/flow_table.h"
#include "flow/sources.h"
#include "flow/wheel.h"
#include "pkt/pkt.h"
#include "server/app_threads.h"
#include "server/capture_reader.h"
#include "server/idle_mode.h"
#include "server/linux_port.h"
#include "server/loopback_port.h"
#include "server/server_internal.h"
#include "server/server_log.h"
#include "server/server_memory.h"
#include "server/service_fault.h"
#include "server/wall_clock.h"
#include "sock/sock.h"
#include "wire/seg.h"

void server_params_default(struct server_params *p)
{
    *p = (struct server_params){
        .prefix = "c10m",
        .huge_dir = "/run/c10m/huge",
        .n_workers = 1,
        .worker_cpu = {1},
        .connections = 65536,
        .time_wait = 65536,
        .syn_received = 16384,
        .extensions = 16384,
        .flight_logs = 16384,
        .packets = 16384,
        .jumbo_packets = 4096,
        .buffers = 8192,
        .trace_ring = 1 << 18,
        .tcp = tcp_config_default(),
        .large_if_cut = true,
    };
}

void server_ledger(const struct server_params *p, struct ledger *out)
{
    struct region r[REGION_COUNT];
    server_regions(p, r);
    for (unsigned i = 0; i < REGION_COUNT; i++) {
        if (r[i].bytes == 0)
            continue;
        ledger_add(out, r[i].name, r[i].count * p->n_workers, r[i].bytes * p->n_workers,
                   r[i].per_connection, r[i].purpose);
    }
    if (server_has_jumbo(p))
        ledger_add(out, "jumbo_packets", (uint64_t)p->jumbo_packets * p->n_workers,
                   server_jumbo_bytes(p), false, "packets of ports with jumbo frames (DPDK)");
    ledger_add(out, "packets", (uint64_t)p->packets * p->n_workers,
               server_packet_bytes(p) - server_jumbo_bytes(p), false,
               "packet pools, the ports' drivers (DPDK)");
}

int server_service_init(struct server *s, unsigned i, struct err *err)
{
    const struct server_service_params *sp = &s->params.services[i];
    struct c10m_service *sv = &s->services[i];
    *sv = (struct c10m_service){.name = sp->name,
                                .app = sp->app,
                                .param = sp->param,
                                .conf = sp->conf,
                                .image_bytes_max = s->params.image_bytes_max,
                                .image_store = s->images,
                                .image_owner = adoption_image_owner(s, i),
                                .ix = (uint8_t)i};
    if (sock_service_init(sv, err) == 0)
        return 0;
    return service_fault_key(sv->name, sv->app->name, err);
}

static int start_services(struct server *s, struct err *err)
{
    for (unsigned i = 0; i < s->params.n_services; i++) {
        if (server_service_init(s, i, err) != 0)
            return -1;
        s->n_inited++;
    }
    return 0;
}

static void allow_pci(const struct server_params *p, struct eal_params *e)
{
    const struct port_params *port;
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; (port = server_device(&p->ports[i], k)) != NULL; k++)
            if (n < EAL_PCI_MAX && driver_device(port->driver) == DEVICE_PCI &&
                strncmp(port->device, "net_", 4) != 0)
                e->pci_allow[n++] = port->device;
}

void server_eal_params(const struct server_params *p, struct eal_params *e)
{
    *e = (struct eal_params){
        .file_prefix = p->prefix,
        .main_cpu = p->linux_cpu,
        .workers = p->n_workers,
        .hugepages = p->pages != PAGES_NONE,
        .memory_bytes = {server_packet_bytes(p)},
        .huge_dir = p->huge_dir,
        .telemetry = p->telemetry,
    };
    for (unsigned i = 0; i < p->n_workers; i++)
        e->worker_cpu[i] = p->worker_cpu[i];
    allow_pci(p, e);
}

static int start_eal(struct server *s, struct err *err)
{
    struct eal_params e;
    server_eal_params(&s->params, &e);
    if (eal_start(&e, err) != 0)
        return -1;
    s->eal_up = true;
    return 0;
}

static int start_jumbo_pools(struct server *s, struct err *err)
{
    for (unsigned i = 0; i < s->params.n_workers; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker%u_jumbo", i);
        s->jumbo_pools[i] = pkt_pool_create_jumbo(name, s->params.jumbo_packets, -1);
        if (s->jumbo_pools[i] == NULL) {
            err_set(err, "worker %u: no memory for %u jumbo packets", i, s->params.jumbo_packets);
            return err_key(err, "memory.jumbo_packets");
        }
    }
    return 0;
}

static int start_pools(struct server *s, struct err *err)
{
    for (unsigned i = 0; i < s->params.n_workers; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker%u", i);
        s->pools[i] = pkt_pool_create(name, s->params.packets, -1);
        if (s->pools[i] == NULL) {
            err_set(err, "worker %u: no memory for %u packets", i, s->params.packets);
            return err_key(err, "memory.packets");
        }
    }
    return server_has_jumbo(&s->params) ? start_jumbo_pools(s, err) : 0;
}

// port_at_fault: a port that is around another one opens that under its own name.
static int port_at_fault(const struct server_port_params *pp, struct err *err)
{
    char key[ERR_KEY_BYTES];
    const char *last = strrchr(err->key, '.');
    if (!driver_wraps(pp->port.driver) || last == NULL)
        return -1;
    snprintf(key, sizeof(key), "port.%s%s", pp->inner.name, last);
    memcpy(err->key, key, sizeof(key));
    return -1;
}

int server_parent(const struct server_params *p, unsigned i)
{
    return driver_has_parent(p->ports[i].port.driver) ? (int)p->ports[i].parent : -1;
}

// start_trunk: the port that workers use, if ports of VLANs are on the link of port i.
static int start_trunk(struct server *s, unsigned i, struct err *err)
{
    if (s->params.ports[i].port.n_vlans == 0)
        return 0;
    s->trunks[i] = vlan_trunk_open(s->ports[i]);
    return s->trunks[i] != NULL ? 0 : err_set(err, "no memory");
}

// data_port: the port whose bursts the workers use, without the handoff.
static struct port *data_port(const struct server *s, unsigned i)
{
    return s->trunks[i] != NULL ? s->trunks[i] : s->ports[i];
}

// give_members: a bond opens its members; replug.c opens one again by the same parameters.
static void give_members(struct server *s, struct server_port_params *pp)
{
    pp->port.members = pp->members;
    pp->port.n_members = pp->n_members;
    for (unsigned m = 0; m < pp->n_members; m++) {
        pp->members[m].rss_key = s->rss_key;
        pp->members[m].waits = pp->port.waits;
        pp->members[m].queues = pp->port.queues;
        memcpy(pp->members[m].pools, pp->port.pools, sizeof(pp->port.pools));
    }
}

static int start_ports(struct server *s, struct err *err)
{
    for (unsigned i = 0; i < s->params.n_ports; i++) {
        struct server_port_params *pp = &s->params.ports[i];
        pp->port.queues = (uint16_t)server_port_queues(&s->params, i);
        for (unsigned w = 0; w < pp->port.queues; w++)
            pp->port.pools[w] = server_pool(s, i, w);
        if (driver_wraps(pp->port.driver))
            pp->port.wraps = &pp->inner;
        if (server_parent(&s->params, i) >= 0)
            pp->port.parent = s->trunks[pp->parent];
        pp->port.rss_key = pp->inner.rss_key = s->rss_key;
        pp->port.waits = idle_mode_of(&s->params) == IDLE_INTERRUPT;
        give_members(s, pp);
        s->ports[i] = port_open(&pp->port, err);
        if (s->ports[i] == NULL)
            return port_at_fault(pp, err);
        if (start_trunk(s, i, err) != 0)
            return -1;
        if (s->params.n_workers == 1)
            continue;
        const uint32_t out_max = server_handoff_out_max(&s->params, i);
        s->handoffs[i] = handoff_open(data_port(s, i), handoff_slots(out_max), out_max,
                                      s->params.n_workers, s->rss_key);
        if (s->handoffs[i] == NULL)
            return err_set(err, "no memory");
    }
    return 0;
}

// Takes the regions of one worker from the arena, in the order of enum region_id.
static int carve(struct server *s, unsigned worker, uint8_t *mem[REGION_COUNT], struct err *err)
{
    struct region r[REGION_COUNT];
    server_regions(&s->params, r);
    for (unsigned i = 0; i < REGION_COUNT; i++) {
        mem[i] = NULL;
        if (r[i].bytes == 0)
            continue;
        mem[i] = arena_carve(s->arena, r[i].name, r[i].bytes, CACHE_LINE);
        if (mem[i] == NULL)
            return err_set(err, "worker %u: %s: %llu bytes do not fit the arena", worker, r[i].name,
                           (unsigned long long)r[i].bytes);
    }
    return 0;
}

static void init_tcp(struct server *s, struct worker *w, uint8_t *mem[REGION_COUNT], uint8_t *spare)
{
    const struct server_params *p = &s->params;
    struct tcp *t = &w->tcp;
    const uint32_t n = server_share(p, p->connections), tw = server_share(p, p->time_wait);
    const uint32_t syn = server_share(p, p->syn_received), ext = server_share(p, p->extensions);
    t->stats = w->stats;
    t->blocks = (struct block *)mem[REGION_BLOCKS];
    t->block_pool = index_pool_init(mem[REGION_FREE_BLOCKS], n);
    t->table = (struct flow_table *)spare;
    CHECK(mem[REGION_FLOW_TABLE_EXTRA] == NULL ||  // the records' part fits into the first one
          mem[REGION_FLOW_TABLE] + flow_footprint(n) == mem[REGION_FLOW_TABLE_EXTRA]);
    flow_init(t->table, mem[REGION_FLOW_TABLE], n + tw + server_time_wait6(p) + syn,
              s->keys.of[SECRET_FLOW_TABLE]);
    t->wheel = wheel_init(mem[REGION_WHEEL], server_timers(n, syn), t->now.ms);
    t->xmit_runs = (uint64_t *)mem[REGION_XMIT_DEADLINES];
    t->rounds = (uint32_t *)mem[REGION_ROUNDS];
    t->syns = (struct syn_record *)mem[REGION_SYN_RECORDS];
    t->syn_pool = index_pool_init(&t->syns[syn], syn);
    tcp_time_wait_init(t, mem[REGION_TIME_WAIT], tw, mem[REGION_TIME_WAIT6], server_time_wait6(p));
    t->listens = (struct listen_table *)mem[REGION_LISTENERS];
    t->exts = (struct ext *)mem[REGION_EXTENSIONS];
    t->ext_pool = index_pool_init(&t->exts[ext], ext);
    flight_pool_init(&t->flights, mem[REGION_FLIGHTS], server_share(p, p->flight_logs));
    if (mem[REGION_SOURCES] != NULL)
        t->sources = sources_init(mem[REGION_SOURCES], n, s->keys.of[SECRET_SOURCES]);
    t->prefixes = prefixes_init(mem[REGION_PREFIXES], s->keys.of[SECRET_PREFIXES]);
    buf_init(&t->bufs, mem[REGION_BUFFERS], p->buffers, p->buffers * REFS_PER_BUFFER);
    t->dirty_head = t->dirty_tail = t->touched = BLOCK_NONE;
    t->sweep_ms = t->now.ms;
    t->out = w->out;
    t->sacks_in = (const struct seq_range(*)[SEG_SACK_MAX])w->rx.sacks;
    t->sacks_out = w->sacks_out;
    t->pieces_out = w->pieces_out;
    t->places = w->places;
    tcp_set_keys(t, &s->keys);
    t->cfg = p->tcp;
    t->n_services = p->n_services;
    for (unsigned i = 0; i < p->n_services; i++) {
        struct tcp_service *sv = &t->services[i];
        *sv = p->services[i].tcp;
        sv->connections_max = server_part(p, sv->connections_max, w->id);
        sv->source_max = server_part(p, sv->source_max, w->id);
    }
    tcp_set_limits(t);
    w->block_count = n;
}

static void init_homes(struct server *s, struct worker *w)
{
    toeplitz_init(&w->homes.hash, s->rss_key);
    w->homes.workers = s->params.n_workers;
    w->homes.self = w->id;
    if (s->params.n_workers > 1)
        w->tcp.homes = &w->homes;
}

// fill_devices: what is sent to an address of a port comes by that, also where it comes back by the
// loop's (Linux's rt_iif).
static void fill_devices(const struct server_params *p, struct net_config *loop)
{
    for (unsigned k = 0; loop->loops && k < loop->n_locals; k++)
        for (unsigned i = p->n_ports; i-- > 0;)
            for (unsigned l = 0; l < p->ports[i].net.n_locals; l++)
                if (ip_equal(&p->ports[i].net.locals[l].addr, &loop->locals[k].addr))
                    loop->device_of[k] = (uint8_t)(i + 1);
}

static int init_ports(struct server *s, struct worker *w, uint8_t *mem, struct err *err)
{
    uint16_t local = 0, mss[WORKER_PORTS_MAX], mss6[WORKER_PORTS_MAX];
    w->n_ports = s->params.n_ports;
    for (unsigned i = 0; i < w->n_ports; i++) {
        struct worker_port *wp = &w->ports[i];
        struct net_config *nc = &s->params.ports[i].net;
        wp->port = s->handoffs[i] != NULL ? handoff_port(s->handoffs[i]) : data_port(s, i);
        wp->queue = (uint16_t)w->id;
        nc->mac = wp->port->mac;
        nc->caps = wp->port->caps;
        nc->chain_max = wp->port->chain_max;
        nc->mtu = wp->port->mtu;
        nc->local_ix_first = local;
        nc->keys = s->keys;
        nc->open = w->udp;
        nc->reasm = w->reasm;
        nc->port = (uint8_t)i;
        nc->quiet = w->id != 0;  // all hear ARP, one speaks for all
        for (unsigned k = 0; nc->loops && k < nc->n_statics; k++)
            nc->statics[k].mac = nc->mac;
        fill_devices(&s->params, nc);
        for (unsigned k = 0; k < nc->n_locals; k++) {
            w->locals[local] = w->homes.local[local] = nc->locals[k].addr;
            w->homes.entries[local] =
                wp->port->caps & PORT_RSS ? wp->port->rss_entries : TOEPLITZ_ENTRIES;
            w->port_of_local[local++] = (uint8_t)i;
        }
        wp->net = net_init(mem, nc, server_pool(s, i, w->id), w->stats, err);
        if (wp->net == NULL)
            return -1;
        wp->tx.pkts = (struct pkt **)(mem + ALIGN_UP(net_footprint(nc), CACHE_LINE));
        wp->tx.room = WORKER_TX_MAX;
        mem += server_port_net_bytes(nc);
        mss[i] = net_mss(wp->net);
        mss6[i] = net_mss6(wp->net);
        w->tcp.cfg.large |= s->params.large_if_cut && (nc->caps & PORT_TSO) != 0;
    }
    tcp_lanes_init(&w->tcp, w->port_of_local, w->n_ports);
    tcp_lanes_mss(&w->tcp, mss, mss6);
    w->sock.locals = w->locals;
    w->sock.shown = w->homes.local;
    w->sock.n_locals = local;
    w->tcp.same = server_loopback_same(&s->params, w);
    return 0;
}

static void join_handoffs(struct server *s, struct worker *w, uint8_t *mem)
{
    for (unsigned i = 0; i < s->params.n_ports && s->handoffs[i] != NULL; i++) {
        const uint32_t slots = handoff_slots(server_handoff_out_max(&s->params, i));
        handoff_join(s->handoffs[i], w->id, mem, server_pool(s, i, w->id), w->stats);
        mem += handoff_footprint(slots, s->params.n_workers);
    }
}

// start_tsc: where the workers' clock is 0: now, or before the server whose connections are
// adopted.
static uint64_t start_tsc(const struct server *s)
{
    const unsigned __int128 us = adoption_clock_us(s);
    return tsc_read() - (uint64_t)(us * rte_get_tsc_hz() / 1000000);
}

int server_init_worker(struct server *s, unsigned id, struct err *err)
{
    uint8_t *mem[REGION_COUNT] = {NULL};
    struct adoption_neighbors neighbors = {.n = {0}};
    if (carve(s, id, mem, err) != 0)
        return -1;
    adoption_prepare(s, id, mem, &neighbors);
    struct worker *w = (struct worker *)mem[REGION_WORKER];
    uint8_t *at = mem[REGION_WORKER] + ALIGN_UP(sizeof(*w), CACHE_LINE);
    w->id = id;
    w->cpu = s->params.worker_cpu[id];
    w->stats = (struct core_stats *)at;
    at += sizeof(struct core_stats);
    w->sock.scratch = at;
    at += SOCK_OFFER_MAX;
    w->clock.us_per_tick_q32 = (uint64_t)(((unsigned __int128)1000000 << 32) / rte_get_tsc_hz());
    w->clock.start_tsc = s->workers[0] == NULL ? start_tsc(s) : s->workers[0]->clock.start_tsc;
    w->tcp.now = worker_now(&w->clock, tsc_read());
    w->stall_cycles = WORKER_STALL_US * rte_get_tsc_hz() / 1000000;
    if (mem[REGION_TRACE] != NULL)
        w->trace = trace_ring_init(mem[REGION_TRACE], s->params.trace_ring, &w->at);
    w->log = mem[REGION_LOG] == NULL ? NULL : server_log_init(mem[REGION_LOG]);
    server_thread_init(&s->params, w, mem[REGION_MESSAGES]);
    w->sock.tcp = &w->tcp;
    w->sock.services = s->services;
    shared_u8_store(&w->sock.serving, SOCK_SERVING_NONE);
    w->wall_us = &s->wall_us;
    w->idle_wait = (struct idle){.busy_seen = UINT64_MAX, .wake.fd = -1};
    init_tcp(s, w, mem, at);
    init_homes(s, w);
    w->udp = (struct udp_table *)mem[REGION_UDP];
    if (w->udp != NULL)
        udp_table_init(w->udp, s->keys.of[SECRET_UDP_PATHS]);
    if (s->params.reassembly != 0)
        w->reasm = reasm_init(mem[REGION_REASSEMBLY], s->params.reassembly,
                              s->keys.of[SECRET_REASSEMBLY], &w->stats->c);
    join_handoffs(s, w, mem[REGION_HANDOFF]);
    const int rc = init_ports(s, w, mem[REGION_NET], err);
    adoption_neighbors_give(&neighbors, w);
    if (rc != 0)
        return -1;
    if (mem[REGION_LINUX] != NULL)
        linux_ports_join(s, w, mem[REGION_LINUX]);
    s->workers[id] = w;
    return 0;
}

// Checked between two steps. Each step takes a second at most.
static bool goes_on(struct err *err)
{
    return !signals_asked() || err_set(err, "%s", SERVER_ASKED_TO_END) == 0;
}

void server_draw(struct server *s)
{
    CHECK(getrandom(&s->keys, sizeof(s->keys), 0) == sizeof(s->keys));
    do
        CHECK(getrandom(s->rss_key, sizeof(s->rss_key), 0) == sizeof(s->rss_key));
    while (!toeplitz_spreads(s->rss_key));
}

// For debuggers (scripts/gdb), which find everything from here. Nothing else reads it.
static struct server *server_started __attribute__((used));

struct server *server_start(const struct server_params *p, struct err *err)
{
    struct server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        err_set(err, "no memory");
        return NULL;
    }
    server_started = s;
    s->params = *p;
    server_draw(s);
    bool ok = adoption_open(s, err) == 0 && goes_on(err) && start_services(s, err) == 0 &&
              goes_on(err) && start_eal(s, err) == 0 && goes_on(err) && start_pools(s, err) == 0 &&
              start_ports(s, err) == 0 && linux_ports_open(s, err) == 0 && goes_on(err);
    for (unsigned i = 0; ok && i < p->n_workers; i++)
        ok = server_init_worker(s, i, err) == 0 && goes_on(err);
    ok = ok && idle_mode_start(s, err) == 0 && adoption_enter(s, err) == 0 && goes_on(err);
    if (!ok) {
        server_stop(s);
        return NULL;
    }
    return s;
}

static int launch(struct server *s, unsigned id, struct err *err)
{
    struct worker *w = s->workers[id];
    s->starts[id] =
        (struct worker_start){.worker = w,
                              .run = s->params.cpus_shared ? worker_run_shared : worker_run,
                              .filter = &s->worker_filter,
                              .place = {worker_place, w}};
    return eal_worker_launch(id, worker_begin, &s->starts[id], err);
}

static void control_place(const struct own_thread *t, char *text, size_t n)
{
    snprintf(text, n, "the control thread");
}

int server_run(struct server *s, struct err *err)
{
    server_wall_follow(s);
    s->control.place = control_place;
    own_thread_begin(&s->control);
    if (worker_filter(&s->params, &s->worker_filter, err) != 0)
        return -1;
    adoption_complete(s);
    for (; s->n_launched < s->params.n_workers; s->n_launched++)
        if (launch(s, s->n_launched, err) != 0)
            return -1;
    return linux_ports_start(s, err) != 0 ? -1 : server_threads_start(s, err);
}

int server_give(const struct server *s, unsigned uid, unsigned gid, struct err *err)
{
    return s->eal_up ? eal_give(uid, gid, err) : 0;
}

bool server_can_keep(const struct server *s)
{
    return s->adoption_done && s->params.pages != PAGES_NONE;
}

void server_keep(struct server *s)
{
    s->keeps = server_can_keep(s);
}

bool server_stays(const struct server *s)
{
    return adoption_stays(s);
}

void server_serves(struct server *s)
{
    s->serves = true;
    adoption_serves(s);
}

void server_stop_workers(struct server *s)
{
    const enum worker_order order = adoption_stays(s) ? WORKER_KEEP : WORKER_STOP;
    server_threads_stop(s);
    linux_ports_stop(s);
    // From the last to the first: workers with queues send the last packets of the others.
    const bool ran = s->n_launched != 0;
    while (s->n_launched > 0) {
        shared_u32_store(&s->workers[--s->n_launched]->order, order);
        worker_wake(s->workers[s->n_launched]);
        eal_worker_join(s->n_launched);
    }
    for (unsigned i = 0; ran && i < s->params.n_ports && s->handoffs[i] != NULL; i++)
        handoff_flush(s->handoffs[i]);
}

void server_stop(struct server *s)
{
    server_stop_workers(s);
    idle_mode_stop(s);
    own_thread_end();
    server_log_drain(s);
    capture_readers_stop(s);
    for (unsigned i = 0; i < s->params.n_workers && s->workers[i] != NULL; i++)
        for (unsigned p = 0; p < s->workers[i]->n_ports; p++)
            net_drain(s->workers[i]->ports[p].net);
    linux_ports_close(s);
    for (unsigned i = s->params.n_ports; i-- > 0;) {
        handoff_close(s->handoffs[i]);
        vlan_trunk_close(s->trunks[i]);
        port_close(s->ports[i]);
    }
    for (unsigned i = 0; i < s->params.n_workers; i++)
        pkt_pool_destroy(s->pools[i]);
    for (unsigned i = 0; i < s->params.n_workers; i++)
        pkt_pool_destroy(s->jumbo_pools[i]);
    if (s->eal_up)
        eal_stop();
    while (s->n_inited-- > 0) {
        s->services[s->n_inited].image_store = NULL;  // what is in it may go on
        sock_service_fini(&s->services[s->n_inited]);
    }
    adoption_end(s);
    arena_close(s->arena);
    adoption_move_close(s->move);
    call_filter_free(&s->worker_filter);
    if (server_started == s)
        server_started = NULL;
    free(s);
}

void server_abandon(struct server *s)
{
    if (s->eal_up)
        eal_abandon();
    arena_abandon(s->arena);
}

const struct server_params *server_params_of(const struct server *s)
{
    return &s->params;
}

const uint8_t *server_rss_key(const struct server *s)
{
    return s->rss_key;
}

unsigned server_workers(const struct server *s)
{
    return s->params.n_workers;
}

struct worker *server_worker(const struct server *s, unsigned i)
{
    return s->workers[i];
}

struct port *server_port(const struct server *s, unsigned i)
{
    return s->ports[i];
}

const struct handoff *server_handoff(const struct server *s, unsigned port)
{
    return s->handoffs[port];
}

const struct c10m_service *server_service(const struct server *s, unsigned i)
{
    return &s->services[i];
}

struct c10m_service *server_service_to_change(const struct server *s, unsigned i)
{
    return (struct c10m_service *)(uintptr_t)&s->services[i];
}

struct ip_addr server_shown_local(const struct server *s, unsigned local_ix)
{
    const struct worker *w = s->workers[0];
    struct ip_addr a = {{0}};
    for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
        n = seq_count_read(&w->locals_changes);
        a = w->sock.shown[local_ix];
        if (seq_count_same(&w->locals_changes, n))
            break;
    }
    return a;
}

unsigned server_port_local(const struct server *s, unsigned port)
{
    unsigned ix = 0;
    for (unsigned i = 0; i < port; i++)
        ix += s->params.ports[i].net.n_locals;
    return ix;
}

void server_port_set(struct server *s, unsigned port, const struct net_settings *to)
{
    struct net_config *nc = &s->params.ports[port].net;
    seq_count_begin(&s->locals_changes);
    memcpy(nc->locals, to->locals, sizeof(nc->locals));
    seq_count_end(&s->locals_changes);
}

struct own_thread *server_control_thread(const struct server *s)
{
    return (struct own_thread *)(uintptr_t)&s->control;
}

struct own_thread *server_app_thread(const struct server *s, unsigned i)
{
    return (struct own_thread *)(uintptr_t)&s->own_threads[i];
}

void server_arenas(const struct server *s, struct text *out)
{
    unsigned n;
    const struct arena_row *rows = arena_rows(s->arena, &n);
    uint64_t per_connection = 0;
    struct region r[REGION_COUNT];
    server_regions(&s->params, r);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        if (r[i].per_connection)
            per_connection += r[i].bytes * s->params.n_workers;
    for (unsigned i = 0; i < n; i++)
        text_printf(out, "%s_bytes %llu\n", rows[i].name, (unsigned long long)rows[i].bytes);
    const unsigned long long arena = arena_reserved_bytes(s->arena), eal = eal_memory_bytes();
    text_printf(out, "packets_bytes %llu\n", eal);
    text_printf(out, "arena_reserved_bytes %llu\n", arena);
    text_printf(out, "arena_page_bytes %zu\n", arena_page_bytes(s->arena));
    text_printf(out, "total_reserved_bytes %llu\n", arena + eal);
    text_printf(out, "connections %u\n", s->params.connections);
    text_printf(out, "per_connection_bytes %.2f\n", (double)per_connection / s->params.connections);
}
