// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_memory.h"

#include <string.h>

#include "drivers/port_table.h"
#include "flow/flow_table.h"
#include "flow/sources.h"
#include "flow/wheel.h"
#include "pkt/pkt.h"
#include "pkt/port.h"
#include "server/adoption.h"
#include "server/app_threads.h"
#include "server/linux_port.h"
#include "server/server_log.h"
#include "sock/sock.h"
#include "worker/handoff.h"

uint32_t server_share(const struct server_params *p, uint32_t total)
{
    return MAX((total + p->n_workers - 1) / p->n_workers, 1u);
}

uint32_t server_part(const struct server_params *p, uint32_t limit, unsigned w)
{
    return limit / p->n_workers + (w < limit % p->n_workers);
}

static uint64_t net_bytes(const struct server_params *p)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        bytes += server_port_net_bytes(&p->ports[i].net);
    return bytes;
}

uint64_t server_port_net_bytes(const struct net_config *c)
{
    return ALIGN_UP(net_footprint(c), CACHE_LINE) + WORKER_TX_MAX * sizeof(struct pkt *);
}

static uint64_t xmit_deadlines_bytes(uint32_t connections)
{
    return ALIGN_UP(((uint64_t)connections + 63) / 64 * sizeof(uint64_t), CACHE_LINE);
}

static_assert((int)PORT_MTU_SMALL == 1900, "conf_is_jumbo() and the help of mtu have it");

bool server_is_jumbo(const struct server_params *p, unsigned i)
{
    const int parent = server_parent(p, i);  // its driver receives, also what is too long for this
    return server_inner_port(&p->ports[parent >= 0 ? (unsigned)parent : i])->mtu > PORT_MTU_SMALL;
}

bool server_has_jumbo(const struct server_params *p)
{
    bool has = false;
    for (unsigned i = 0; i < p->n_ports; i++)
        has |= server_is_jumbo(p, i);
    return has;
}

uint32_t server_handoff_out_max(const struct server_params *p, unsigned i)
{
    return handoff_out_max(server_is_jumbo(p, i) ? p->jumbo_packets : p->packets, p->n_ports);
}

static uint64_t handoff_bytes(const struct server_params *p)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->n_ports && p->n_workers != 1; i++)
        bytes += handoff_footprint(handoff_slots(server_handoff_out_max(p, i)), p->n_workers);
    return bytes;
}

// uses_datagrams: an application opens ports, or a service has some, whose paths are stored.
static bool uses_datagrams(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].app->packet != NULL)
            return true;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (p->ports[i].net.n_udp != 0)
            return true;
    return false;
}

uint64_t server_udp_footprint(const struct server_params *p)
{
    return uses_datagrams(p) ? ALIGN_UP(sizeof(struct udp_table), CACHE_LINE) : 0;
}

static bool limits_sources(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].tcp.source_max != 0)
            return true;
    return false;
}

static bool has_ip6(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (!ip_is_v4(&p->ports[i].net.locals[k].addr))
                return true;
    return false;
}

uint32_t server_time_wait6(const struct server_params *p)
{
    if (p->time_wait6 != 0)
        return server_share(p, p->time_wait6);
    return has_ip6(p) ? server_share(p, p->time_wait) : 0;
}

int server_within(const struct server_params *p, struct err *err)
{
    const uint32_t shares[] = {server_share(p, p->connections), server_share(p, p->time_wait),
                               server_time_wait6(p), server_share(p, p->syn_received)};
    uint64_t sum = 0;
    for (unsigned i = 0; i < ARRAY_LEN(shares); i++)
        sum += shares[i];
    if (sum <= FLOW_CAPACITY_MAX)
        return 0;
    static const char *const keys[] = {"connections", "time_wait", "time_wait6", "syn_received"};
    unsigned largest = 0;
    for (unsigned i = 1; i < ARRAY_LEN(shares); i++)
        if (shares[i] > shares[largest])
            largest = i;
    err_set(err,
            "[memory] connections + time_wait + time_wait6 + syn_received = %u + %u + %u + "
            "%u for each worker: expected at most %d in all, what its flow table holds",
            shares[0], shares[1], shares[2], shares[3], FLOW_CAPACITY_MAX);
    return err_key(err, "memory.%s", keys[largest]);
}

void server_regions(const struct server_params *p, struct region *regions)
{
    const uint32_t n = server_share(p, p->connections), tw = server_share(p, p->time_wait);
    const uint32_t syn = server_share(p, p->syn_received), ext = server_share(p, p->extensions);
    const uint32_t flights = server_share(p, p->flight_logs);
    const uint32_t tw6 = server_time_wait6(p);
    const uint64_t table = flow_footprint(n);
    const struct region list[REGION_COUNT] = {
        [REGION_BLOCKS] = {"blocks", "connection blocks [TCB | socket | app]", n,
                           (uint64_t)n * sizeof(struct block), true},
        [REGION_FREE_BLOCKS] = {"free_blocks", "list of free blocks", n, index_pool_footprint(n),
                                true},
        [REGION_FLOW_TABLE] = {"flow_table", "flow table, connections' part", n, table, true},
        [REGION_WHEEL] = {"wheel", "timer entries", server_timers(n, syn),
                          wheel_footprint(server_timers(n, syn)), true},
        [REGION_FLOW_TABLE_EXTRA] = {"flow_table_extra", "flow table, the records' part",
                                     (uint64_t)tw + tw6 + syn,
                                     flow_footprint(n + tw + tw6 + syn) - table, false},
        [REGION_XMIT_DEADLINES] = {"xmit_deadlines", "bits: an xmit deadline runs", n,
                                   xmit_deadlines_bytes(n), true},
        [REGION_ROUNDS] = {"rounds", "how often a block's generation came round", n,
                           ALIGN_UP((uint64_t)n * sizeof(uint32_t), CACHE_LINE), true},
        [REGION_SYN_RECORDS] = {"syn_records", "half-open connections", syn,
                                (uint64_t)syn * sizeof(struct syn_record) +
                                    index_pool_footprint(syn),
                                false},
        [REGION_TIME_WAIT] = {"time_wait", "TIME-WAIT records", tw,
                              ALIGN_UP((uint64_t)tw * sizeof(struct time_wait), CACHE_LINE), false},
        [REGION_TIME_WAIT6] = {"time_wait6", "TIME-WAIT records over IPv6", tw6,
                               (uint64_t)tw6 * sizeof(struct time_wait6), false},
        [REGION_EXTENSIONS] = {"extensions", "extension records: recovery, out of order", ext,
                               (uint64_t)ext * sizeof(struct ext) + index_pool_footprint(ext),
                               false},
        [REGION_FLIGHTS] = {"flights", "logs of what is in flight", flights,
                            flight_footprint(flights), false},
        [REGION_SOURCES] = {"sources", "connections of each address", n,
                            limits_sources(p) ? sources_footprint(n) : 0, true},
        [REGION_PREFIXES] = {"prefixes", "connections of each /24 or /48, about",
                             2ull * PREFIX_CELLS, ALIGN_UP(sizeof(struct prefixes), CACHE_LINE),
                             false},
        [REGION_BUFFERS] = {"buffers", "data not yet consumed or acknowledged", p->buffers,
                            buf_footprint(p->buffers, p->buffers * REFS_PER_BUFFER), false},
        [REGION_NET] = {"net", "neighbors, packets to send", p->n_ports, net_bytes(p), false},
        [REGION_HANDOFF] = {"handoff", "packets on their way between workers",
                            handoff_slots(handoff_out_max(p->packets, p->n_ports)),
                            handoff_bytes(p), false},
        [REGION_REASSEMBLY] = {"reassembly", "datagrams that come in fragments", p->reassembly,
                               p->reassembly != 0 ? reasm_footprint(p->reassembly) : 0, false},
        [REGION_LOG] = {"log", "records on their way to the access log", LOG_RING_UNITS,
                        server_logs(p) ? server_log_footprint() : 0, false},
        [REGION_MESSAGES] = {"messages", "between threads of applications and the worker",
                             (uint64_t)server_threads(p) * 2 * C10M_MESSAGES_MAX,
                             server_thread_footprint(p), false},
        [REGION_UDP] = {"udp_ports", "UDP ports opened while running, paths", UDP_PORTS_MAX,
                        server_udp_footprint(p), false},
        [REGION_LISTENERS] = {"listeners", "opened while running", TCP_LISTENINGS_MAX,
                              server_threads(p) != 0 ? sizeof(struct listen_table) : 0, false},
        [REGION_LINUX] = {"linux", "packets on their way to Linux and back, their rates",
                          linux_port_footprint(p) / linux_box_footprint(), linux_port_footprint(p),
                          false},
        [REGION_TRACE] = {"trace", "records of what the worker does", p->trace_ring,
                          p->trace_ring != 0 ? trace_ring_footprint(p->trace_ring) : 0, false},
        [REGION_WORKER] = {"worker", "the loop's arrays and counters", 1,
                           ALIGN_UP(sizeof(struct worker), CACHE_LINE) + sizeof(struct core_stats) +
                               SOCK_OFFER_MAX + ALIGN_UP(sizeof(struct flow_table), CACHE_LINE),
                           false},
    };
    for (unsigned i = 0; i < REGION_COUNT; i++)
        regions[i] = list[i];
}

uint64_t server_arena_bytes(const struct server_params *p)
{
    struct region r[REGION_COUNT];
    uint64_t bytes = adoption_bytes(p);
    server_regions(p, r);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        bytes += ALIGN_UP(r[i].bytes, CACHE_LINE) * p->n_workers;
    return bytes;
}

unsigned server_port_queues(const struct server_params *p, unsigned port)
{
    const unsigned most = MIN(p->n_workers, (unsigned)PORT_QUEUES_MAX);
    const unsigned wanted = p->ports[port].port.queues;
    return wanted == 0 ? most : MIN(wanted, most);
}

// Bytes of DPDK memory that the drivers of all ports may take.
static uint64_t port_bytes(const struct server_params *p)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct port_params *device;
        for (unsigned k = 0; (device = server_device(&p->ports[i], k)) != NULL; k++)
            bytes += port_memory_bytes(device, server_port_queues(p, i));
    }
    return bytes;
}

// pool_bytes: a packet takes the header, headroom and room of an mbuf, and the header of the pool's
// element; the pool its cache and ring.
static uint64_t pool_bytes(uint32_t packets, uint32_t room)
{
    enum { PER_PACKET = 128 + PKT_HEADROOM + 128, PER_POOL = 1 << 20 };
    return (uint64_t)packets * (PER_PACKET + room) + PER_POOL;
}

uint64_t server_jumbo_bytes(const struct server_params *p)
{
    return server_has_jumbo(p) ? p->n_workers * pool_bytes(p->jumbo_packets, PKT_JUMBO_ROOM) : 0;
}

uint64_t server_packet_bytes(const struct server_params *p)
{
    return p->extra_packet_bytes + port_bytes(p) + server_jumbo_bytes(p) +
           p->n_workers * pool_bytes(p->packets, PKT_ROOM);
}
