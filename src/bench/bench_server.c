// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_server.h"

#include <stdio.h>

#include "base/clock.h"
#include "bench/measure.h"
#include "drivers/hugefiles.h"
#include "drivers/port_table.h"
#include "drivers/ring.h"
#include "net/net.h"

uint64_t bench_busy_cycles;

static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return c10m_send(c, data, len);
}

static size_t busy_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    for (const uint64_t start = tsc_read(); tsc_read() - start < bench_busy_cycles;)
        ;
    return c10m_send(c, data, len);
}

const struct c10m_app bench_echo_app = {.name = "bench-echo", .data = echo_data};
const struct c10m_app bench_busy_app = {.name = "bench-busy", .data = busy_data};

void bench_server_params(struct server_params *p, const char *prefix, const struct c10m_app *app,
                         uint32_t connections, uint32_t batch, unsigned client_cpu,
                         unsigned server_cpu)
{
    server_params_default(p);
    p->prefix = prefix;
    p->linux_cpu = client_cpu;
    p->worker_cpu[0] = server_cpu;
    p->connections = connections;
    p->packets = bench_pool_packets(batch);
    // No packet is lost on the wire, but the client may be interrupted for longer than the usual
    // RTO.
    p->tcp.rto_min_ms = p->tcp.rto_initial_ms = p->tcp.rto_max_ms;
    p->n_ports = 1;
    struct server_port_params *pp = &p->ports[0];
    pp->port = (struct port_params){.name = "wire", .driver = "ring", .node = -1};
    pp->port.rx_ring = pp->port.tx_ring = bench_slots(batch);
    net_config_default(&pp->net);
    pp->net.n_locals = 1;
    pp->net.locals[0] = (struct net_local){ip_from_v4(BENCH_SERVER_V4), 24};
    pp->net.gateway = BENCH_SERVER_V4 + 253;
    pp->net.n_statics = 1;
    pp->net.statics[0] = (struct net_static){ip_from_v4(pp->net.gateway), {{2, 0, 0, 0, 0, 9}}};
    p->n_services = 1;
    p->services[0] = (struct server_service_params){
        .name = "echo",
        .app = app,
        .tcp = {.ports = {BENCH_SERVER_PORT},
                .n_ports = 1,
                .local_ix = UINT16_MAX,
                .nodelay = true,
                .rcv_limit = 65536,
                .snd_limit = 65536,
                .connections_max = connections},
    };
}

void bench_pages(struct server_params *p, const char *name)
{
    struct ledger l = {0};
    struct hugepages pages = {0};
    server_ledger(p, &l);
    if (hugepages_read(2 << 20, &pages) && pages.free * pages.page_bytes > ledger_bytes(&l))
        return;
    if (hugepages_read(1 << 30, &pages) && pages.free * pages.page_bytes > 2 * ledger_bytes(&l))
        return;
    p->pages = PAGES_NONE;
    fprintf(stderr,
            "c10m bench %s: warning: %llu MiB of hugepages are not free (sysctl vm.nr_hugepages): "
            "4 KiB pages are used, the results are too low\n",
            name, (unsigned long long)(ledger_bytes(&l) >> 20));
}

struct port *bench_client_open(const struct server *s, struct pkt_pool *pool, struct err *err)
{
    struct port_params far = {.name = "client", .driver = "ring", .queues = 1, .node = -1};
    for (unsigned q = 0; q < PORT_QUEUES_MAX; q++)
        far.pools[q] = pool;
    far.has_mac = true;
    far.mac = server_params_of(s)->ports[0].net.statics[0].mac;
    if (pool != NULL)
        return ring_open_far(server_port(s, 0), &far, err);
    err_set(err, "no memory for the client's packets");
    return NULL;
}

struct turn_loop_work bench_turn(void *ctx)
{
    struct worker *w = ctx;
    const uint64_t tx = w->stats->c.tx_packets;
    worker_turn_now(w);
    return (struct turn_loop_work){w->n_rx, (uint32_t)(w->stats->c.tx_packets - tx)};
}

// Creates the same state as a handshake, with the sequence numbers of the feed.
bool bench_install(struct tcp *t, struct feed_conn c)
{
    const struct flow_key key = {ip_from_v4(c.remote_v4), 0, 0, c.remote_port, BENCH_SERVER_PORT};
    const uint32_t ix = tcp_block_new(t, &key, 0, FLOW_NONE);
    if (ix == BLOCK_NONE)
        return false;
    struct block *b = &t->blocks[ix];
    b->snd_una = b->snd_nxt = b->snd_max = b->snd_end = FEED_ISS + 1;
    b->rcv_nxt = FEED_ISS + 1;
    b->rcv_adv = b->rcv_nxt + 65535;
    b->snd_wl1 = FEED_ISS;
    b->snd_wnd = 65535;
    b->mss = 1460;
    b->cwnd = 10 * 1460;
    b->flags |= BF_IN_APP;
    tcp_set_state(b, STEP_PASSIVE_DONE);
    return true;
}

void bench_uninstall_all(struct worker *w)
{
    for (uint32_t i = 0; i < w->block_count; i++) {
        struct block *b = &w->tcp.blocks[i];
        if (b->state == TCP_FREE)
            continue;
        tcp_set_state(b, STEP_END);
        tcp_free(&w->tcp, i);
    }
    index_pool_turn_end(w->tcp.block_pool);
}
